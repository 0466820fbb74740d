//! Entries of the transcript, a method for each kind of entry. Messages are in [`super::traffic`].

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::transcript::{Breach, Entry, Fault, Mark, MqttNote, Party, TargetEvent, What};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::{Evidence, Judgement};
use mcp_hil_core::wire::Inbound;

use super::closing::Ended;
use super::log::Logged;
use super::sink::{Sink, evidence};
use super::trouble::Trouble;
use super::{ENDED_WELL, Judge, Seen, mqtt};

/// How soon a device breaks down that does so at a Close frame, and not at what it does later.
const AT_ONCE_US: u64 = 1_000_000;

/// Frames that show whether each has a masking key of its own.
const MASKED_FRAMES: u32 = 8;

/// Codes that are defined, or are there for libraries and applications (RFC 6455, section 7.4.2).
const CODES: std::ops::RangeInclusive<u16> = 1000..=4999;

/// Codes that stand for what no Close frame tells, and must not be in one (RFC 6455, section 7.4.1).
const NO_CODES: [u16; 3] = [1005, 1006, 1015];

/// Judges the code of the device's Close frame.
fn judge_code(code: Option<u16>, seq: u64, sink: &mut Sink) {
    let Some(code) = code else { return };
    let may_be_sent = CODES.contains(&code) && !NO_CODES.contains(&code);
    sink.test_once(Id::SessionCloseCode, may_be_sent, || {
        let expected = "a Close frame without a code, or with one that may be sent";
        evidence(expected, format!("code {code}"), seq)
    });
}

/// Whether a process ended by what it decided itself, and not by a signal, of which a shell tells with a code.
fn was_its_own(how: &str) -> bool {
    how.starts_with("exited") && !how.contains("(SIG")
}

/// The server's Close frame.
#[derive(Debug, Default)]
pub(super) struct Farewell {
    /// When it was sent.
    since_us: u64,
    /// What was said because it was not answered.
    unanswered: Option<Judgement>,
    /// The device broke down at it.
    dead: bool,
}

impl Judge {
    /// Takes the next entry of the transcript.
    pub fn observe(&mut self, entry: Entry) -> Seen {
        self.sink.step = entry.step.clone();
        self.now_us = entry.at_us;
        self.began.get_or_insert(entry.seq);
        let mut logged = Logged { entry, inbound: None, answers: None, wrong_id: false };
        let seen = self.observe_kind(&mut logged);
        if let Seen::Answer(asked) = seen {
            self.closings.answered(asked, logged.entry.at_us);
            self.setters.answered(asked, &logged);
            self.revise(asked, &logged);
        }
        self.log.push(logged);
        seen
    }

    fn observe_kind(&mut self, logged: &mut Logged) -> Seen {
        let seq = logged.entry.seq;
        match &logged.entry.what {
            What::Sent { role, frame } => self.sent(&logged.entry, *role, frame),
            What::Received { frame } => {
                let inbound = Inbound::read(frame);
                let seen = self.received(seq, frame, &inbound);
                if let Seen::Answer(seq) = seen {
                    logged.answers = Some(seq);
                }
                logged.inbound = Some(inbound);
                return seen;
            }
            What::Console { line } => return self.console_line(seq, line),
            What::LinkUp { .. } => self.link_up(seq, &logged.entry.what),
            What::LinkDown { by, why, orderly, code, breach } => {
                let transport = self.link.transport();
                let ended = Ended {
                    transport,
                    orderly: *orderly,
                    code: *code,
                    is_left: *breach == Some(Breach::Left),
                    at_us: logged.entry.at_us,
                    is_announced: self.console.is_announced(),
                };
                judge_code(*code, seq, &mut self.sink);
                self.link_down(seq, (*by, why), ended, *breach);
            }
            What::Mqtt { note } => {
                self.mqtt.note(note, seq, &mut self.sink);
                return match note {
                    MqttNote::Ping => Seen::KeptAlive,
                    MqttNote::Acknowledged => Seen::Acknowledged,
                    _ => Seen::Other,
                };
            }
            What::Refused { why, fault: Fault::Version } => {
                self.sink.test(Id::MqttPackets, false, || {
                    evidence("a CONNECT of MQTT 3.1.1", why.clone(), seq)
                });
            }
            What::Refused { why, fault: Fault::Credentials } => {
                self.sink.test(Id::MqttCredentials, false, || {
                    let expected = "the user name and password of its configuration";
                    evidence(expected, why.clone(), seq)
                });
            }
            What::Refused { why, fault: Fault::Packets } => {
                self.sink.test(Id::MqttPackets, false, || {
                    evidence("packets of MQTT 3.1.1, the first of them CONNECT", why.clone(), seq)
                });
            }
            What::Refused { why, fault: Fault::Handshake } => {
                self.sink.test(Id::HelloHandshake, false, || {
                    evidence("the opening handshake of RFC 6455", why.clone(), seq)
                });
            }
            What::Http { exchange } => {
                self.bootstrap.exchange(exchange, seq, &mut self.sink);
                self.vision.exchange(exchange, seq, &mut self.sink);
            }
            What::Audio { seen } => {
                self.channel.heard(seen, logged.entry.at_us, seq, &mut self.sink);
            }
            What::Target { event } => return self.target(seq, event),
            What::Mark { mark } => self.marked(&logged.entry, mark),
            // Another judge's: see [`crate::gateway`].
            What::Control { .. } | What::Reply { .. } => {}
        }
        Seen::Other
    }

    fn console_line(&mut self, seq: u64, line: &str) -> Seen {
        self.lists.console_line(seq, line);
        let crash = self.console.line(seq, line, &mut self.sink);
        if self.console.take_own_reset() {
            // The port went with a reset of its own: no trouble, but a finding.
            self.trouble = self.trouble.take().filter(|trouble| !trouble.is_doubtful);
        }
        if crash {
            self.broke_down();
        }
        if crash { Seen::Crash } else { Seen::Other }
    }

    fn link_up(&mut self, seq: u64, what: &What) {
        let What::LinkUp { transport, session_id, path, headers, token_given, mqtt } = what else {
            return;
        };
        self.token_given |= *token_given;
        self.pasts.clear();
        self.farewell = None;
        self.own_ids.connected();
        if std::mem::take(&mut self.restarting) {
            self.identity.forget();
        }
        self.console.connected();
        self.closings.connected(self.now_us);
        let sink = &mut self.sink;
        self.link.up(*transport, session_id, headers, *token_given, seq, sink);
        if *transport == Transport::WebSocket {
            self.identity.connected(headers, seq, sink);
        }
        if let Some(connect) = mqtt {
            mqtt::judge_connect(connect, seq, sink);
        }
        self.bootstrap.link_up(path, headers, seq, sink);
        self.vision.knows(headers);
    }

    fn link_down(
        &mut self,
        seq: u64,
        (by, why): (Party, &str),
        ended: Ended,
        breach: Option<Breach>,
    ) {
        let excused = ended.orderly && self.link.was_dismissed();
        self.link.down(by);
        self.identity.left(by, ended.orderly);
        self.mqtt.link_down();
        self.channel.unsettled();
        if let Some(breach) = breach.filter(|_| !ended.is_left) {
            mqtt::judge_breach((self.link.transport(), breach), why, seq, &mut self.sink);
        } else if by == Party::Device && !self.restarting && !self.console.is_excused() && !excused
        {
            let kept = self.link.kept();
            // What came directly before is most often why.
            let sent = self.log.latest_stimulus(self.now_us.saturating_sub(AT_ONCE_US));
            let evidence = || Evidence {
                sent: sent.clone(),
                ..evidence("the connection stays open", why, seq)
            };
            if !self.closings.ended(ended, kept, evidence, &self.sink) {
                self.sink.test(kept, false, evidence);
            }
        }
    }

    fn target(&mut self, seq: u64, event: &TargetEvent) -> Seen {
        let may_end = self.closings.may_end(self.link.transport());
        if matches!(event, TargetEvent::Started | TargetEvent::Exited(_)) {
            self.closings.stayed_away(&mut self.sink);
        }
        match event {
            TargetEvent::Started => {
                self.console.restarted();
                self.link.restarted();
                self.identity.forget();
            }
            TargetEvent::Lost { why, by_reset } => {
                self.identity.forget();
                let on_demand = self.restarting || self.console.is_starting();
                // With its own USB port a device that restarts on demand goes away, too.
                if !(*by_reset && on_demand) {
                    self.console.taken_away(*by_reset);
                    self.trouble.get_or_insert_with(|| Trouble::new(why, seq, *by_reset));
                    return Seen::Taken;
                }
            }
            TargetEvent::Exited(how) => {
                self.identity.forget();
                self.exited(seq, how, may_end);
            }
            TargetEvent::Bench(_) | TargetEvent::Back(_) => {}
            TargetEvent::Trouble(what) => {
                self.trouble.get_or_insert_with(|| Trouble::new(what, seq, false));
            }
        }
        Seen::Other
    }

    /// The process of the device ended, perhaps with a connection that has failed.
    fn exited(&mut self, seq: u64, how: &str, may_end: bool) {
        if self.restarting {
            // It was told to restart, and whoever starts it again is not its own affair.
        } else if self.link.was_closed() && how == ENDED_WELL {
            // A program may end with its last conversation, in good order.
        } else if self.link.was_dropped() || may_end && was_its_own(how) {
            self.sink.test(self.link.reconnects(), false, || {
                evidence("the device reconnects", format!("its process {how}"), seq)
            });
        } else {
            self.console.exited(seq, how, &mut self.sink);
            self.broke_down();
        }
    }

    fn marked(&mut self, entry: &Entry, mark: &Mark) {
        match mark {
            Mark::SecondAttempt => {
                self.pair_strays(None);
                self.first_attempt = Some(std::mem::take(&mut self.log));
            }
            Mark::Alone => {
                self.pasts.forget(&entry.case);
                self.sink.again();
            }
            Mark::Locked { tool, reason } => {
                self.sink.test_once(Id::CallCarriedOut, false, || {
                    let expected = format!("{tool} sets what its schema allows");
                    evidence(expected, format!("refused: {reason}"), entry.seq)
                });
            }
            Mark::Insists { on } => {
                self.sink.test(Id::InitializeVisionOptional, false, || {
                    evidence(
                        format!("initialize accepted without `{on}` as well"),
                        format!("accepted with `{on}`, but not without it"),
                        entry.seq,
                    )
                });
            }
            Mark::Closing => {
                self.link.closing();
                self.farewell = Some(Farewell { since_us: entry.at_us, ..Farewell::default() });
            }
            Mark::Closed { answered, how, code } => {
                match code {
                    // Nothing that may not be sent was sent.
                    None => self.sink.held(Id::SessionCloseCode),
                    Some(_) => judge_code(*code, entry.seq, &mut self.sink),
                }
                // What came behind its Close frame was told before.
                self.sink.held(Id::SessionCloseLast);
                self.closed(*answered, how, entry.seq);
            }
            Mark::BehindClose { frame } => {
                self.sink.test(Id::SessionCloseLast, false, || {
                    evidence("no data behind the device's Close frame", frame.clone(), entry.seq)
                });
            }
            Mark::Masks { frames, key, step } if *frames >= MASKED_FRAMES => {
                let is_fresh = key.is_none() && step.is_none();
                self.sink.test_once(Id::SessionMaskFresh, is_fresh, || {
                    let received = match (key, step) {
                        (Some(key), _) => format!("{key} in all {frames} frames"),
                        (None, step) => {
                            let step = step.unwrap_or_default();
                            format!("{MASKED_FRAMES} in a row, each the one before and {step}")
                        }
                    };
                    let expected = "another masking key for each frame, which does not follow from the one before";
                    evidence(expected, received, entry.seq)
                });
            }
            Mark::NoLink { waited_ms } if self.link.was_dropped() && !self.console.is_excused() => {
                self.sink.test(self.link.reconnects(), false, || {
                    let received = format!("not within {waited_ms} ms");
                    evidence("the device reconnects by itself", received, entry.seq)
                });
            }
            Mark::Limit { name, value } => {
                let requirement = match name.as_str() {
                    "MAX_MESSAGE_BYTES" => Id::LivenessFrameSize,
                    _ => Id::LivenessNoFlood,
                };
                self.sink.test(requirement, false, || {
                    evidence(format!("below {name} = {value}"), "the limit was exceeded", entry.seq)
                });
            }
            _ => {}
        }
    }

    /// The link was closed with a Close frame, and the device's was waited for.
    fn closed(&mut self, answered: bool, how: &str, seq: u64) {
        let proof = || evidence("a Close frame in answer to the server's", how, seq);
        let dead = self.farewell.as_ref().is_some_and(|farewell| farewell.dead);
        if dead || self.sink.test(Id::SessionCloseAnswered, answered, proof) {
            return;
        }
        let told = |one: &&Judgement| one.requirement == Id::SessionCloseAnswered;
        if let Some(farewell) = &mut self.farewell {
            farewell.unanswered = self.sink.found.iter().rfind(told).cloned();
        }
    }

    /// The device broke down: if that was at a Close frame, then it could not answer that.
    fn broke_down(&mut self) {
        self.identity.forget();
        let now_us = self.now_us;
        let Some(farewell) = &mut self.farewell else { return };
        if now_us.saturating_sub(farewell.since_us) > AT_ONCE_US {
            return;
        }
        farewell.dead = true;
        if let Some(told) = farewell.unanswered.take() {
            self.withdraw(told);
        }
    }

    /// Takes back what was said.
    fn withdraw(&mut self, told: Judgement) {
        // What was said only now was said to nobody.
        match self.sink.found.iter().position(|one| *one == told) {
            Some(at) => drop(self.sink.found.remove(at)),
            None => self.withdrawn.push(told),
        }
    }

    /// Judges the earlier case again that an answer belongs to, if it does.
    fn revise(&mut self, asked: u64, answer: &Logged) {
        let revision = self.pasts.answered(asked, answer, &mut self.controls);
        for withdrawn in revision.withdrawn {
            self.withdraw(withdrawn);
        }
        for one in revision.found {
            self.sink.add(one.requirement, one.case, one.step, one.outcome);
        }
    }
}
