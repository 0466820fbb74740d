//! Staying with a device: it is left alone for a while, then asked one good thing after the other.
//!
//! A device that restarts by itself, forgets its connection, sleeps through the first message after a silence, or gets
//! slower with each answer does nothing wrong in the moments that other cases take. Nor does one from which each call
//! takes a few bytes: that shows where one kind of request goes to it alone, for long enough.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::capability::{STATUS_TOOL, Trust, only_reads};
use mcp_hil_core::step::message;
use mcp_hil_core::transcript::Role;
use mcp_hil_scenario::Linger;
use serde_json::{Value, json};

use super::session::{Exchange, Manner, Session};

/// Time from one request of a busy stretch to the next, at least: a quick device would fill the transcript.
const PACE: Duration = Duration::from_millis(10);

/// Answers to one kind of request before the next kind has its turn, and readings of the free memory meanwhile where the
/// console tells them.
const ANSWERS: usize = 160;
const READINGS: u32 = 5;

/// A tool and a method that no device has: to refuse takes memory, too.
const NO_TOOL: &str = "self.mcp_hil.no_such_tool";
const NO_METHOD: &str = "mcp_hil/no_such_method";

/// How long the device is listened to at a time: what it sends by itself, such as audio, is limited for each.
const LISTEN: Duration = Duration::from_secs(10);

/// A method and its params.
type Request = (String, Option<Value>);

impl Session {
    /// Stays with the device for half of the time that the run lingers.
    pub(super) async fn linger(&mut self, what: Linger, at: &Arc<str>) -> Exchange {
        let until = Instant::now() + self.terms.linger / 2;
        match what {
            Linger::Quiet => self.stay(at, until).await,
            Linger::Busy => {
                let requests = self.good_requests();
                if requests.is_empty() {
                    return self.stay(at, until).await;
                }
                let turns = requests.iter().cycle().take_while(|_| Instant::now() < until);
                for (number, request) in turns.enumerate() {
                    match self.ask_good(at, number, request, PACE).await {
                        Exchange::Settled => {}
                        other => return other,
                    }
                }
                Exchange::Settled
            }
            Linger::Each => self.one_kind_after_the_other(at, until).await,
        }
    }

    /// Listens, and asks nothing.
    async fn stay(&mut self, at: &Arc<str>, until: Instant) -> Exchange {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Exchange::Settled;
            }
            self.count_anew();
            match self.listen(at, LISTEN.min(left)).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
    }

    /// Asks, and then listens until it is time for the next request.
    async fn ask_good(
        &mut self,
        at: &Arc<str>,
        number: usize,
        (method, params): &Request,
        pace: Duration,
    ) -> Exchange {
        self.count_anew();
        let began = Instant::now();
        let frame = self.request_frame(method, params.as_ref());
        let step = message(at, number);
        match self.exchange(&step, Role::Stimulus, frame, Manner::Plain).await {
            Exchange::Settled | Exchange::Ignored => {}
            other => return other,
        }
        self.listen(&step, pace.saturating_sub(began.elapsed())).await
    }

    /// Sends each kind of request by itself, as long as it takes for its share of the free memory to show. Where the time
    /// is not enough for all, other runs begin with other kinds; where it is not enough for one, or nobody would see it,
    /// each is sent once.
    async fn one_kind_after_the_other(&mut self, at: &Arc<str>, until: Instant) -> Exchange {
        let mut kinds = self.kinds_of_requests();
        if let Some(number) = u64::try_from(kinds.len()).ok().filter(|number| *number > 0) {
            kinds.rotate_left((self.random.draw() % number) as usize);
        }
        let readings = u32::try_from(self.memory_readings()).unwrap_or(u32::MAX);
        let left = until.saturating_duration_since(Instant::now());
        let interval = self.transcript.began.elapsed().checked_div(readings);
        let shows = interval.is_some_and(|interval| interval * READINGS <= left);
        let mut number = 0;
        for kind in kinds {
            let enough = self.memory_readings() + READINGS as usize;
            for answers in 0.. {
                let is_enough = answers >= ANSWERS;
                let is_seen = is_enough && self.memory_readings() >= enough;
                if is_seen || (!shows && answers > 0) {
                    break;
                }
                if Instant::now() >= until {
                    return Exchange::Settled;
                }
                // A quick device is not slowed down before it has answered often enough.
                let pace = if is_enough { PACE } else { Duration::ZERO };
                match self.ask_good(at, number, &kind, pace).await {
                    Exchange::Settled => {}
                    other => return other,
                }
                number += 1;
            }
        }
        Exchange::Settled
    }

    /// How often the console has told the free memory.
    fn memory_readings(&self) -> usize {
        self.judge.free_memory().map_or(0, |seen| seen.readings)
    }

    /// A request of each kind that this device is known to answer, and that leaves its settings as they are.
    fn kinds_of_requests(&self) -> Vec<Request> {
        let permission = &self.device.permission;
        let call = |name: &str, arguments: &Value| {
            let params = json!({"name": name, "arguments": arguments});
            ("tools/call".to_owned(), Some(params))
        };
        let names = self.device.tools.iter().filter(|tool| !needs_arguments(tool));
        let names = names.filter_map(|tool| tool["name"].as_str());
        let reading = names.filter(|name| only_reads(name) && permission.allows(name));
        let settings = self.settings_in(self.device.status.as_ref(), permission);
        let mut all = self.good_requests();
        // A board writes each of them to its flash memory, which wears out.
        let settings = settings.calls().filter(|_| permission.trust == Trust::Simulated);
        let calls = reading
            .map(|name| call(name, &json!({})))
            .chain(settings.map(|(tool, arguments)| call(tool, arguments)));
        for request in calls.chain([call(NO_TOOL, &json!({})), (NO_METHOD.to_owned(), None)]) {
            if !all.contains(&request) {
                all.push(request);
            }
        }
        all
    }

    /// Requests that this device is known to answer, and that change nothing.
    fn good_requests(&self) -> Vec<Request> {
        let status = self.device.facts.capabilities.contains("status").then(|| {
            let params = json!({"name": STATUS_TOOL, "arguments": {}});
            ("tools/call".to_owned(), Some(params))
        });
        let mut all = Vec::new();
        for request in [self.conversation.fence(false), self.conversation.fence(true), status] {
            all.extend(request.filter(|request| !all.contains(request)));
        }
        all
    }
}

fn needs_arguments(tool: &Value) -> bool {
    tool["inputSchema"]["required"].as_array().is_some_and(|names| !names.is_empty())
}
