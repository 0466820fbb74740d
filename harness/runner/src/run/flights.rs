//! How many messages may be under way together with a device: see [`super::flight`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::transcript::Role;
use mcp_hil_core::wire::Frame;
use mcp_hil_judge::check::Seen;

use super::session::{Manner, Next, Session};
use super::settings::Settings;

/// How many are tried first.
const FEW: usize = 8;

/// With a quicker device time does not tell whether it works on several requests at once.
const SLOW: Duration = Duration::from_millis(8);

/// A device works on several requests at once, or takes them from a queue that it empties quickly, if so many of
/// them took less than this many times what one takes.
const GAINS: u32 = 4;

/// How often a connection that ends only in flight is believed to be an accident.
const MOST_CUTS: u32 = 2;

/// How many messages may be under way together, and what became of those that were.
#[derive(Debug, Default)]
pub(super) struct Flights {
    /// How many somebody allows for; `None` where nobody said: one.
    limit: Option<u16>,
    /// How many the device was seen to answer in order.
    pub(super) width: usize,
    /// Whether calls are answered by another task than other requests are, in an order of their own.
    pub(super) is_apart: bool,
    /// Whether what need not be answered is sent alone: the device refuses such under no id, and which of several
    /// that is about cannot be seen.
    pub(super) odd_alone: bool,
    /// The same for requests with texts as ids, which some devices refuse so.
    pub(super) texts_alone: bool,
    /// Whether what is longer than any device must take is sent without readings beside it: the connection ended then.
    pub(super) longest_alone: bool,
    /// Whether what need not be answered, and is expected to be, is sent alone: the device did not answer such.
    pub(super) wanted_alone: bool,
    /// Whether messages of this case may be under way together.
    pub(super) is_on: bool,
    /// Whether the settings are read at its end.
    pub(super) reads_kept: bool,
    /// Whether any were.
    pub(super) has_flown: bool,
    /// Whether an answer was missing, or in another place, or nobody's.
    pub(super) is_lost: bool,
    /// Whether the doubt about them is that one was refused under no id, which devices may.
    pub(super) is_excused: bool,
    /// What the settings were at the end of the case before.
    pub(super) settings: Settings,
    /// What messages were refused with when each was sent alone, where that might be for want of room.
    pub(super) refused_alone: BTreeSet<String>,
    /// What one was refused with in flight, perhaps for want of room.
    pub(super) refused: Option<String>,
    /// How often the connection ended in flight, and did not when each message was sent alone.
    cuts: u32,
}

impl Flights {
    /// Up to so many, where somebody said how many.
    pub(super) fn new(limit: Option<u16>) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Whether messages may be under way together with this device.
    pub(super) fn are_open(&self) -> bool {
        self.width > 1
    }

    /// How many the device answers in order that are under way together.
    pub(super) fn width(&self) -> usize {
        self.width.max(1)
    }

    /// Turns to a case or part, in which they may or not.
    pub(super) fn begin(&mut self, is_on: bool, reads_kept: bool) {
        self.is_on = is_on && self.are_open();
        (self.reads_kept, self.has_flown) = (reads_kept && self.is_on, false);
        (self.is_lost, self.is_excused) = (false, false);
        self.refused = None;
    }

    /// Whether a doubt about this case says nothing of the device.
    pub(super) fn is_excused(&self) -> bool {
        self.is_excused
    }

    /// Whether any were in this case.
    pub(super) fn has_flown(&self) -> bool {
        self.is_on && self.has_flown
    }

    /// Whether all that was sent in this case came back in its place.
    pub(super) fn came_back(&self) -> bool {
        !self.is_lost
    }

    /// Takes note of a connection that ended only in flight.
    pub(super) fn was_cut(&mut self) {
        self.cuts += 1;
        if self.cuts >= MOST_CUTS {
            self.end();
        }
    }

    /// What was refused in flight was sent alone meanwhile. A device that did not refuse it then has no room.
    pub(super) fn has_tried_alone(&mut self) {
        let refused = self.refused.take();
        if refused.is_some_and(|refused| !self.refused_alone.contains(&refused)) {
            self.end();
        }
    }

    /// From now on messages are sent one by one.
    pub(super) fn end(&mut self) {
        self.width = 1;
    }
}

/// Which of the requests that are tried together are calls: the first ones, and few, for calls cost a device the most.
fn is_call(place: usize) -> bool {
    place < 2
}

impl Session {
    /// Finds out how many requests the device answers in order that are under way together. Some take one at a
    /// time, lose some, or answer them as they come.
    pub(super) async fn see_how_many_fly(&mut self) {
        let usual = self.conversation.median_latency().unwrap_or_default();
        let most: usize = self.flights.limit.unwrap_or(1).into();
        if most < 2 {
            return;
        }
        for number in [FEW.min(most), most] {
            let began = Instant::now();
            let Some(order) = self.sent_together(number).await else {
                return;
            };
            let in_order =
                |of: &dyn Fn(usize) -> bool| order.iter().filter(|place| of(**place)).is_sorted();
            let is_apart = !in_order(&|_| true);
            let within = in_order(&is_call) && in_order(&|place| !is_call(place));
            let gains = usual < SLOW || began.elapsed() < usual * GAINS;
            if !within || !gains {
                return;
            }
            self.flights.is_apart |= is_apart;
            self.flights.width = number;
        }
    }

    /// Sends good requests back to back. Gives the order in which all of them were answered.
    async fn sent_together(&mut self, number: usize) -> Option<Vec<usize>> {
        let mut frames = Vec::new();
        for place in 0..number {
            let (method, params) = self.conversation.fence(is_call(place))?;
            let at: Arc<str> = format!("in-flight{number}-{place}").into();
            frames.push((at, self.request_frame(&method, params.as_ref())));
        }
        let names: Vec<Arc<str>> = frames.iter().map(|(at, _)| at.clone()).collect();
        let order = self.sent_in_flight(frames).await?;
        // Who refuses any has no room for so many.
        let is_done = |at: &Arc<str>| {
            let view = self.judge.answer_view(at);
            view.is_some_and(|view| view.get("outcome") == Some(&"done".into()))
        };
        names.iter().all(is_done).then_some(order)
    }

    /// Sends requests back to back. Gives the order in which all of them were answered.
    pub(super) async fn sent_in_flight(
        &mut self,
        frames: Vec<(Arc<str>, Frame)>,
    ) -> Option<Vec<usize>> {
        let number = frames.len();
        let mut sent = Vec::new();
        for (at, frame) in frames {
            sent.push(self.send(&at, Role::Probe, frame, Manner::Plain).await?);
        }
        let at: Arc<str> = "in-flight".into();
        let mut order = Vec::new();
        let mut until = Instant::now() + self.conversation.fence_patience();
        while order.len() < number {
            match self.next(Some(&at), until).await {
                Next::Seen(Seen::Answer(seq)) => {
                    order.extend(sent.iter().position(|one| *one == seq));
                    until = Instant::now() + self.conversation.fence_patience();
                }
                Next::Seen(_) => {}
                _ => return None,
            }
        }
        Some(order)
    }
}
