//! One message and what becomes of it: an answer, silence that a fence proves, or a device that is silent
//! altogether.
//!
//! A wait that shows something is never short. What keeps a run with a device that ignores much short is
//! order: the fence follows right behind what was ignored before, and an answer that comes later than that
//! revises what was said.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::conversation::Shape;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::step::{FENCES, StepKind, beside};
use mcp_hil_core::timing::Kind;
use mcp_hil_core::transcript::{Mark, Role};
use mcp_hil_core::wire::Frame;
use mcp_hil_judge::check::Seen;

use super::rate;
use super::session::{Exchange, Manner, Next, Session};

/// How long the answer to a message is waited for that need not be answered, once its fence is.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// The method that opens a session.
pub(super) const INITIALIZE: &str = "initialize";

/// A request that is waited for no longer. Its answer may come all the same.
#[derive(Debug)]
pub(super) struct GivenUp {
    shape: Shape,
    kind: Kind,
    pub(super) sent_at: Instant,
}

impl Session {
    /// Sends a frame and waits until it is answered, or its silence is proven by a fence. Where it is refused for the
    /// moment, it is sent again after a while; where too many came before it, what follows comes more slowly.
    pub(super) async fn exchange(
        &mut self,
        at: &Arc<str>,
        role: Role,
        frame: Frame,
        manner: Manner,
    ) -> Exchange {
        let mut end = self.exchange_once(at, role, frame.clone(), manner).await;
        for _ in 0..self.rate.tries() {
            if end != Exchange::Settled || !self.is_worth_a_wait(at) {
                self.flights.refused_alone.extend(self.judge.refused_for_room(at));
                return end;
            }
            if self.judge.is_limited(at) {
                self.rate.slow_down();
                self.flights.end();
            }
            end = self.listen(at, rate::REST).await;
            let Some(again) = self.under_fresh_id(&frame).filter(|_| end == Exchange::Settled)
            else {
                return end;
            };
            end = self.exchange_once(at, role, again, manner).await;
        }
        if self.judge.is_limited(at) {
            self.rate.refute();
        } else if self.judge.is_put_off(at) {
            self.rate.is_never_later = true;
        }
        end
    }

    /// Whether a message may be carried out when it is sent again after a while.
    fn is_worth_a_wait(&self, at: &str) -> bool {
        let is_later = !self.rate.is_never_later && self.judge.is_put_off(at);
        is_later || self.judge.is_limited(at)
    }

    /// A message under another id. Nothing for one whose id is a matter of the case: a session has each id once (MCP,
    /// basic/messages).
    fn under_fresh_id(&mut self, frame: &Frame) -> Option<Frame> {
        let Frame::Text(text) = frame else { return None };
        let id = Duty::of(frame).id?.as_u64().filter(|id| self.conversation.gave(*id))?;
        let (before, behind) = around_number(text, &id.to_string())?;
        let fresh = self.conversation.fresh_id();
        Some(Frame::Text(format!("{before}{fresh}{behind}")))
    }

    async fn exchange_once(
        &mut self,
        at: &Arc<str>,
        role: Role,
        frame: Frame,
        manner: Manner,
    ) -> Exchange {
        let ping = matches!(frame, Frame::Ping(_));
        let sent_at = Instant::now();
        let Some(seq) = self.send(at, role, frame, manner).await else {
            return Exchange::Gone;
        };
        let duty = self.judge.duty().clone();
        if duty.owes != Owes::Answer && !ping {
            let end = self.fence(at, &duty, sent_at).await;
            self.may_have_stirred(at, &duty);
            return end;
        }
        // What the device has ignored before is not waited for: the fence shows whether it does so again.
        let fenced = self.conversation.fence(duty.is_call()).is_some();
        let hurried = !ping && fenced && self.conversation.ignores(&duty);
        let mut confirmed = false;
        if !hurried {
            let until = sent_at + self.conversation.patience_for(&duty);
            match self.wait_for_own(at, (seq, &duty, sent_at), until, ping).await {
                Ok(under_another_id) => confirmed = under_another_id,
                Err(end) => return end,
            }
        }
        if ping {
            self.no_answer(at, sent_at);
            self.conversation.missed();
            return match self.fence(at, &duty, sent_at).await {
                Exchange::Settled => Exchange::Ignored,
                other => other,
            };
        }
        if !confirmed {
            // What seems to have come under another id does not come again.
            self.give_up(seq, &duty, sent_at);
        }
        let end = self.fence(at, &duty, sent_at).await;
        if self.judge.is_answered(at) {
            // It was late, and is an answer.
            self.may_have_stirred(at, &duty);
            return end;
        }
        self.no_answer(at, sent_at);
        if end != Exchange::Settled {
            return end;
        }
        // What was answered under another id is no kind of request that the device ignores.
        if !confirmed {
            self.conversation.missed();
            let shape = self.conversation.shape(&duty);
            self.conversation.was_ignored(shape);
        }
        Exchange::Ignored
    }

    /// Waits for the answer to a message, or the pong to a ping.
    ///
    /// # Errors
    ///
    /// How the exchange ended. Where nothing ended it in time, the value says whether what seems to be the
    /// answer came under another id.
    async fn wait_for_own(
        &mut self,
        at: &Arc<str>,
        (seq, duty, sent_at): (u64, &Duty, Instant),
        mut until: Instant,
        ping: bool,
    ) -> Result<bool, Exchange> {
        let mut confirmed = false;
        loop {
            match self.next(Some(at), until).await {
                Next::Seen(Seen::Answer(answered)) if answered == seq => {
                    self.was_answered(duty, sent_at);
                    self.may_have_stirred(at, duty);
                    return Err(Exchange::Settled);
                }
                Next::Seen(Seen::Pong) if ping => return Err(Exchange::Settled),
                Next::Seen(Seen::Unmatched) if !ping && !confirmed => {
                    // Perhaps the answer under another id: if a fence is answered first and
                    // nothing follows, it was.
                    confirmed = true;
                    let grace = self.conversation.grace(Kind::of(duty), sent_at.elapsed());
                    until = until.min(Instant::now() + grace * 4);
                }
                Next::Seen(Seen::Crash) => {
                    until = until.min(Instant::now() + Duration::from_secs(1));
                }
                // Whoever has what it waited for needs no more time than others.
                Next::Seen(_) if self.connection.explained.is_some_and(|at| at > sent_at) => {
                    until = until.min(Instant::now() + self.conversation.patience());
                }
                Next::Seen(_) => {}
                Next::Gone => return Err(Exchange::Gone),
                Next::Interrupted => return Err(Exchange::Interrupted),
                Next::Deadline => return Ok(confirmed),
            }
        }
    }

    /// Takes note of an answer that was waited for.
    pub(super) fn was_answered(&mut self, duty: &Duty, sent_at: Instant) {
        let shape = self.conversation.shape(duty);
        self.conversation.was_answered(&shape);
        self.conversation.learn(Kind::of(duty), sent_at.elapsed());
    }

    /// Waits no longer for the answer to a request.
    pub(super) fn give_up(&mut self, seq: u64, duty: &Duty, sent_at: Instant) {
        let given_up =
            GivenUp { shape: self.conversation.shape(duty), kind: Kind::of(duty), sent_at };
        self.connection.given_up.insert(seq, given_up);
    }

    /// Takes note of an answer to what was given up: the device does not ignore such requests.
    pub(super) fn came_late(&mut self, seq: u64) {
        if let Some(late) = self.connection.given_up.remove(&seq) {
            self.conversation.was_answered(&late.shape);
            self.conversation.learn(late.kind, late.sent_at.elapsed());
        }
    }

    /// Waits for the answers to what was given up in a hurry in this case, for as long as proves something.
    /// Only now and then: what comes later revises what was said.
    pub(super) async fn wait_for_given_up(&mut self) {
        let patience = self.conversation.patience();
        let given_up = self.connection.given_up.values();
        let latest = given_up.map(|one| one.sent_at + patience).max();
        let Some(until) = latest.filter(|until| *until > Instant::now()) else {
            return;
        };
        if self.patience.looks == 0 {
            return;
        }
        self.patience.looks -= 1;
        let at: Arc<str> = "late-look".into();
        while !self.connection.given_up.is_empty() {
            if !self.wait_for(&at, until, |seen| matches!(seen, Seen::Answer(_))).await {
                return;
            }
        }
    }

    /// Remarks that a message was not answered until now.
    pub(super) fn no_answer(&mut self, at: &Arc<str>, sent_at: Instant) {
        self.received.in_vain.count(sent_at, Instant::now());
        let waited_ms = u64::try_from(sent_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.mark(at, Mark::NoAnswer { waited_ms });
    }

    /// Sends a good request of the same kind as a message that was sent at `sent_at`, and waits for its
    /// answer, then a moment longer. One that is lost is followed by another one with full patience, and that by a
    /// complete `initialize`: a device that had forgotten its session answers it, and good requests from then on. Who
    /// does not is silent.
    pub(super) async fn fence(&mut self, at: &Arc<str>, duty: &Duty, sent_at: Instant) -> Exchange {
        let Some((method, _)) = self.conversation.fence(duty.is_call()) else {
            return Exchange::Settled;
        };
        let patiences = self.conversation.fence_patiences();
        let (mut sent, mut crashed, mut opened) = (Vec::new(), false, false);
        for (side, patience) in FENCES.into_iter().zip(patiences) {
            let opens = side == StepKind::FenceInitialize;
            let may = match side {
                StepKind::FenceInitialize => method != INITIALIZE && self.may_initialize_again(),
                StepKind::FenceRestored => opened,
                _ => true,
            };
            if crashed || !may {
                break;
            }
            let at = beside(at, side);
            let frame = match opens {
                true => self.opening_frame(),
                false => self.fence_frame(duty, opened),
            };
            let kind = Kind::of(&Duty::of(&frame));
            let fence_at = Instant::now();
            let Some(seq) = self.send(&at, Role::Fence, frame, Manner::Plain).await else {
                return Exchange::Gone;
            };
            sent.push((seq, fence_at, kind, opens));
            let mut until = fence_at + patience;
            loop {
                match self.next(Some(&at), until).await {
                    Next::Seen(Seen::Answer(answered)) => {
                        let fence = sent.iter().find(|(seq, ..)| *seq == answered);
                        if let Some((_, fence_at, kind, true)) = fence {
                            self.conversation.learn(*kind, fence_at.elapsed());
                            self.say_initialized(&at).await;
                            opened = true;
                            break;
                        }
                        if let Some((_, fence_at, kind, false)) = fence {
                            self.conversation.learn(*kind, fence_at.elapsed());
                            let kind = Kind::of(duty);
                            let grace = self.conversation.grace(kind, sent_at.elapsed());
                            return self.listen(&at, grace).await;
                        }
                    }
                    Next::Seen(Seen::Crash) => {
                        crashed = true;
                        until = until.min(Instant::now() + Duration::from_secs(1));
                    }
                    Next::Seen(_) => {}
                    Next::Gone => return Exchange::Gone,
                    Next::Interrupted => return Exchange::Interrupted,
                    Next::Deadline => {
                        self.no_answer(&at, fence_at);
                        break;
                    }
                }
            }
        }
        self.conversation.was_silent();
        Exchange::Silent
    }

    /// A good request of the kind of a message. Behind an `initialize` it is no call for a device that has answered none:
    /// whether it is silent, or only leaves calls unanswered, another call does not show.
    fn fence_frame(&mut self, duty: &Duty, opened: bool) -> Frame {
        let is_call = duty.is_call() && (!opened || self.conversation.answers_calls());
        let (method, params) = self.conversation.fence(is_call).unwrap_or_default();
        self.request_frame(&method, params.as_ref())
    }

    /// Waits until all of these messages are answered; what is left is returned, and whether as many answers
    /// came under other ids. Where only such are left as the device has ignored before, the fence shows
    /// whether it does so again.
    pub(super) async fn wait_for_all(
        &mut self,
        at: &Arc<str>,
        open: &[(u64, Arc<str>, Duty)],
    ) -> (Vec<u64>, bool) {
        // Each answer buys time for the next: a slow device works them off one by one.
        let began = Instant::now();
        let mut until = began + self.conversation.patience();
        let mut unmatched = 0;
        let mut open: Vec<&(u64, Arc<str>, Duty)> = open.iter().collect();
        while !open.iter().all(|(.., duty)| self.conversation.ignores(duty)) {
            match self.next(Some(at), until).await {
                Next::Seen(Seen::Answer(seq)) => {
                    if let Some(at) = open.iter().position(|(waiting, ..)| *waiting == seq) {
                        let (.., duty) = open.swap_remove(at);
                        self.was_answered(duty, began);
                    }
                    until = Instant::now() + self.conversation.patience();
                }
                Next::Seen(Seen::Unmatched) => unmatched += 1,
                Next::Seen(Seen::Crash) => {
                    until = until.min(Instant::now() + Duration::from_secs(1));
                }
                Next::Seen(_) => {}
                _ => break,
            }
            if unmatched >= open.len() {
                // Perhaps the answers that are missing, under other ids.
                let grace = self.conversation.grace(Kind::Call, began.elapsed());
                until = until.min(Instant::now() + grace * 4);
            }
        }
        let under_other_ids = unmatched >= open.len();
        (open.into_iter().map(|(seq, ..)| *seq).collect(), under_other_ids)
    }

    /// Waits until the message of a step is answered, although no document makes the device answer
    /// it: what does not answer in turn may have answered the fence first. Where an answer came that belongs
    /// to nobody since so many such were counted, it is most likely this one, and a moment is enough.
    pub(super) async fn wait_for_answer(&mut self, at: &Arc<str>, unmatched: u64) {
        let until = Instant::now()
            + match self.received.unmatched > unmatched {
                true => {
                    (self.conversation.grace(Kind::Call, Duration::ZERO) * 4).min(ANSWER_PATIENCE)
                }
                false => ANSWER_PATIENCE,
            };
        while !self.judge.is_answered(at) {
            let seen = |seen| matches!(seen, Seen::Answer(_));
            if !self.wait_for(at, until, seen).await {
                return;
            }
        }
    }
}

/// What stands before and behind a number in a JSON text, however the member is spelled that holds it; nothing where the
/// number stands in it more than once.
fn around_number<'a>(text: &'a str, number: &str) -> Option<(&'a str, &'a str)> {
    let is_digit = |character: char| character.is_ascii_digit();
    let mut places = text.match_indices(number).filter_map(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + number.len()..]);
        (!before.ends_with(is_digit) && !behind.starts_with(is_digit)).then_some((before, behind))
    });
    places.next().filter(|_| places.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::around_number;

    #[test]
    fn a_number_is_found_where_it_stands_once_by_itself() {
        let spelled = r#"{ "\u0069d" : 1001 , "x": 11001 }"#;
        let around = (r#"{ "\u0069d" : "#, r#" , "x": 11001 }"#);
        assert_eq!(around_number(spelled, "1001"), Some(around));
        assert_eq!(around_number(r#"{"id":1001,"x":"1001"}"#, "1001"), None);
        assert_eq!(around_number(r#"{"id":10010}"#, "1001"), None);
    }
}
