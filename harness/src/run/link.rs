//! Getting a device connected: at first, after a drop, after its death.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::check::Seen;
use mcp_hil_core::conversation::Conversation;
use mcp_hil_core::transcript::{Mark, Role, TargetEvent, What};
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_rig::Link;

use super::session::Session;
use crate::random::Random;

/// How long a device may take for its hello (device-protocol 2.3).
const HELLO_DEADLINE: Duration = Duration::from_secs(10);

/// The same for a device that has said none on an earlier connection.
const HELLO_AGAIN: Duration = Duration::from_secs(1);

/// How long a device that was never seen to dial by itself is waited for before it is restarted.
const REDIAL_UNKNOWN: Duration = Duration::from_secs(3);

/// The same for one that does, and for one that does not.
const REDIAL_KNOWN: Duration = Duration::from_secs(10);
const REDIAL_NEVER: Duration = Duration::from_millis(100);

/// How to get a device connected again.
#[derive(Debug)]
pub(crate) struct Dialing {
    /// How long the first connection is waited for.
    pub(crate) deadline: Duration,
    /// Whether a token was given to the device.
    pub(crate) token_given: bool,
    /// Whether it was seen to dial again by itself.
    redials: Option<bool>,
    /// Whether the device hangs, so that only a restart helps.
    wedged: bool,
    /// Whether it once said no hello: later connections wait less for it.
    hello_missed: bool,
    random: Random,
}

impl Dialing {
    pub(crate) fn new(deadline: Duration, token_given: bool, random: Random) -> Self {
        Self {
            deadline,
            token_given,
            redials: None,
            wedged: false,
            hello_missed: false,
            random,
        }
    }

    /// How long the device's hello is waited for.
    fn hello_patience(&self, conversation: &Conversation) -> Duration {
        let patience = if self.hello_missed {
            HELLO_AGAIN
        } else {
            HELLO_DEADLINE
        };
        patience.min(conversation.deadline())
    }

    /// Takes note that the device hangs.
    pub(crate) fn wedged(&mut self) {
        self.wedged = true;
    }
}

impl Session {
    /// Waits for the device to dial and greets it. Returns whether it is connected.
    pub(crate) async fn connect(
        &mut self,
        at: &Arc<str>,
        dialing: &mut Dialing,
        wait: Duration,
    ) -> bool {
        let began = Instant::now();
        let Some(link) = self.accept(wait).await else {
            self.mark(
                at,
                Mark::NoLink {
                    waited_ms: millis(began.elapsed()),
                },
            );
            return false;
        };
        self.greet(at, dialing, link).await;
        self.link.is_some()
    }

    /// Gets the device connected again after a drop: it dials by itself, or it is restarted.
    pub(crate) async fn reconnect(&mut self, at: &Arc<str>, dialing: &mut Dialing) -> bool {
        let wedged = std::mem::take(&mut dialing.wedged) && self.target.is_running().is_some();
        if self.target.is_running() != Some(false) && !wedged {
            let wait = match (dialing.redials, self.target.is_running()) {
                (Some(true), _) => REDIAL_KNOWN,
                (Some(false), _) => REDIAL_NEVER,
                // Nobody but the person at the device can make it dial again.
                (None, None) => dialing.deadline,
                (None, Some(_)) => REDIAL_UNKNOWN,
            };
            if self.target.is_running().is_none() {
                // Talk, not a report: a person stands at the device.
                eprintln!(
                    "waiting up to {} s for the device to dial again",
                    wait.as_secs()
                );
            }
            if let Some(link) = self.accept(wait).await {
                dialing.redials = Some(true);
                self.greet(at, dialing, link).await;
                return self.link.is_some();
            }
            if self.is_interrupted() {
                // Who was not waited for to the end is not accused of staying away.
                return false;
            }
            if dialing.redials != Some(false) && self.target.is_running() != Some(false) {
                self.mark(
                    at,
                    Mark::NoLink {
                        waited_ms: millis(wait),
                    },
                );
                dialing.redials.get_or_insert(false);
                // What a new session shows after a restart, any device shows.
                self.cannot_redial();
            }
        }
        if self.target.is_running() == Some(false) {
            self.cannot_redial();
        }
        self.restart(at, dialing).await
    }

    /// The device does not dial by itself. From here on the facts say so, in a replay too.
    fn cannot_redial(&mut self) {
        if self.facts.capabilities.remove("redial") {
            let facts = Box::new(self.facts.clone());
            self.enter(
                None,
                What::Mark {
                    mark: Mark::Facts(facts),
                },
            );
        }
    }

    /// Restarts the target and waits for it to dial.
    pub(crate) async fn restart(&mut self, at: &Arc<str>, dialing: &mut Dialing) -> bool {
        self.drop_link("the device is restarted");
        if self.is_interrupted() {
            return false;
        }
        self.drain_console();
        match self.target.restart().await {
            Ok(()) => {
                self.enter(
                    Some(at),
                    What::Target {
                        event: TargetEvent::Started,
                    },
                );
                // What dialed before it was restarted is not the device any more.
                while self.endpoint.waiting() > 0 {
                    self.endpoint.accept().await.abort();
                }
                self.connect(at, dialing, dialing.deadline).await
            }
            Err(_) => {
                self.mark(at, Mark::NoLink { waited_ms: 0 });
                false
            }
        }
    }

    /// Records the connection, waits for the device's hello and answers it.
    async fn greet(&mut self, at: &Arc<str>, dialing: &mut Dialing, link: Link) {
        self.session_id = dialing.random.uuid();
        self.initialized = false;
        let handshake = link.handshake();
        let what = What::LinkUp {
            session_id: self.session_id.clone(),
            path: handshake.path.clone(),
            token_given: dialing.token_given,
            headers: handshake.headers.clone(),
        };
        self.link = Some(link);
        self.enter(Some(at), what);
        let until = Instant::now() + dialing.hello_patience(&self.conversation);
        let hello = self.wait_for(at, until, |seen| seen == Seen::Hello).await;
        if !hello && self.link.is_some() && !self.is_interrupted() {
            self.mark(
                at,
                Mark::Skipped {
                    why: "the device sent no hello".into(),
                },
            );
            dialing.hello_missed = true;
        }
        // A device without hello gets its answer all the same: what else it does is worth knowing.
        let frame = Frame::Text(outbound::server_hello(&self.session_id));
        self.send(at, Role::Hello, frame, None).await;
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
