//! Getting a device connected: at first, after a drop, after its death.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_boards::{TargetError, TargetOutput};
use mcp_hil_core::conversation::Conversation;
use mcp_hil_core::step::{StepKind, beside};
use mcp_hil_core::transcript::{Mark, MqttConnect, Role, TargetEvent, What};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_endpoint::Link;
use mcp_hil_judge::check::Seen;

use super::session::{Exchange, Manner, Next, Session};
use crate::plan::USUAL_BINARY_VERSION;
use crate::random::Random;

/// How long a device may take for its hello (device-protocol 2.3).
const HELLO_DEADLINE: Duration = Duration::from_secs(10);

/// The same for a device that has said none on an earlier connection.
const HELLO_AGAIN: Duration = Duration::from_secs(1);

/// How long a device that connects over MQTT may take for a hello before MCP begins without it:
/// it need not say any, but one that does has not long to wait (device-protocol 3.2). An emulated chip
/// takes half a second; and who says none costs a run this much once.
const HELLO_OVER_MQTT: Duration = Duration::from_secs(1);

/// How long a device that is known to dial by itself is waited for at least.
const RECONNECT_KNOWN: Duration = Duration::from_secs(10);

/// The same for one that does not.
const RECONNECT_NEVER: Duration = Duration::from_millis(100);

/// How long a person at the device is not told that it is waited for.
const IN_A_MOMENT: Duration = Duration::from_secs(2);

/// How long a device may at least take to obey when it is told to restart: stock firmware takes a second, one that was
/// seen to stall may stall here, too.
pub(super) const OBEYS: Duration = Duration::from_secs(3);

/// How to get a device connected again.
#[derive(Debug)]
pub(super) struct Dialing {
    /// How long the first connection is waited for.
    pub deadline: Duration,
    /// Whether a token was given to the device.
    pub token_given: bool,
    /// The keep-alive that a configuration tells it over MQTT, in seconds.
    keep_alive_s: u16,
    /// Whether it was seen to dial again by itself.
    reconnects: Option<bool>,
    /// Whether the device hangs, so that only a restart helps.
    wedged: bool,
    /// Whether the server has closed the last connection in due form, after which nothing makes a device
    /// dial again by itself.
    said_goodbye: bool,
    /// Whether it said hello on its last connection; before the first nobody knows.
    says_hello: Option<bool>,
    /// How long a device that was never seen to dial by itself is waited for before it is
    /// restarted.
    reconnect: Duration,
    random: Random,
}

impl Dialing {
    pub(super) fn new(
        deadline: Duration,
        reconnect: Duration,
        token_given: bool,
        keep_alive_s: u16,
        random: Random,
    ) -> Self {
        Self {
            deadline,
            token_given,
            keep_alive_s,
            reconnects: None,
            wedged: false,
            said_goodbye: false,
            says_hello: None,
            reconnect,
            random,
        }
    }

    /// How long the device's hello is waited for.
    fn hello_patience(&self, transport: Transport, conversation: &Conversation) -> Duration {
        let patience = match (transport, self.says_hello) {
            (Transport::WebSocket, Some(false)) => HELLO_AGAIN,
            (Transport::Mqtt, None) => HELLO_OVER_MQTT,
            (Transport::Mqtt, Some(false)) => Duration::ZERO,
            (_, _) => HELLO_DEADLINE,
        };
        patience.min(conversation.deadline())
    }

    /// Whether a fresh session costs nothing but a drop. Over MQTT a device may take a minute to
    /// come back; only one that was seen to come is dropped there.
    pub(super) fn is_quick(&self, session: &Session) -> bool {
        let process = session.target.is_running().is_some();
        let may = process && session.transport == Transport::WebSocket;
        self.reconnects.unwrap_or(may)
    }

    /// Takes note that the server closes the connection in due form.
    pub(super) fn said_goodbye(&mut self) {
        self.said_goodbye = true;
    }

    /// Takes note that the device hangs.
    pub(super) fn wedged(&mut self) {
        self.wedged = true;
    }
}

impl Session {
    /// Waits for the device to dial and greets it. Returns whether it is connected.
    pub(super) async fn connect(
        &mut self,
        at: &Arc<str>,
        dialing: &mut Dialing,
        wait: Duration,
    ) -> bool {
        let began = Instant::now();
        let Some(link) = self.accept(wait).await else {
            self.nobody_came();
            self.mark(at, Mark::NoLink { waited_ms: millis(began.elapsed()) });
            return false;
        };
        self.greet(at, dialing, link).await;
        self.connection.link.is_some()
    }

    /// Gets the device connected again after a drop: it dials by itself, or it is restarted.
    pub(super) async fn reconnect(&mut self, at: &Arc<str>, dialing: &mut Dialing) -> bool {
        if self.bench.trouble.is_some() {
            // Nothing that is waited for can come.
            return false;
        }
        if self.bench.taken && self.target.is_running().is_some() {
            // That says nothing about its reconnecting.
            return self.restart(at, dialing).await;
        }
        let wedged = std::mem::take(&mut dialing.wedged) && self.target.is_running().is_some();
        let said_goodbye = std::mem::take(&mut dialing.said_goodbye);
        if self.target.is_running() != Some(false) && !wedged {
            let is_pulled = self.is_pulled();
            let wait = match (dialing.reconnects, self.target.is_running()) {
                // It comes back when it is made to, as it did at first.
                (Some(true) | None, Some(true)) if is_pulled => {
                    dialing.deadline.max(dialing.reconnect)
                }
                (Some(true), _) => dialing.reconnect.max(RECONNECT_KNOWN),
                (Some(false), _) => RECONNECT_NEVER,
                // Nobody but the person at the device can make it dial again.
                (None, None) => dialing.deadline.max(dialing.reconnect),
                (None, Some(_)) => dialing.reconnect,
            };
            let accepted = match self.target.is_running() {
                Some(_) => self.accept(wait).await,
                None => self.accept_by_hand(wait).await,
            };
            if let Some(link) = accepted {
                dialing.reconnects = Some(true);
                self.greet(at, dialing, link).await;
                return self.connection.link.is_some();
            }
            if self.is_interrupted() {
                // Who was not waited for to the end is not accused of staying away.
                return false;
            }
            self.suspect_bench();
            if self.bench.taken || self.bench.trouble.is_some() {
                // That says nothing about its reconnecting, either.
            } else if is_pulled {
                // Whether the trigger failed or the device, nobody knows.
                self.tell_of_bench(format!("it did not connect within {} s", wait.as_secs()));
            } else if said_goodbye {
                // What was closed in due form need not come back by itself.
            } else if dialing.reconnects != Some(false) && self.target.is_running() != Some(false) {
                self.mark(at, Mark::NoLink { waited_ms: millis(wait) });
                dialing.reconnects.get_or_insert(false);
                // What a new session shows after a restart, any device shows.
                self.lacks("reconnect");
            }
        }
        if self.target.is_running() == Some(false) && !said_goodbye {
            self.lacks("reconnect");
        }
        self.bench.trouble.is_none() && self.restart(at, dialing).await
    }

    /// Waits for a device that only a person can make connect again, and tells that person of a wait that is not over
    /// in a moment.
    async fn accept_by_hand(&mut self, wait: Duration) -> Option<Link> {
        let quietly = wait.min(IN_A_MOMENT);
        if let Some(link) = self.accept(quietly).await {
            return Some(link);
        }
        let rest = wait.saturating_sub(quietly);
        if rest.is_zero() || self.is_interrupted() {
            return None;
        }
        // Talk, not a report.
        mcp_hil_core::notice!(
            "waiting up to {} s for the device to reconnect",
            rest.as_secs_f32().ceil()
        );
        self.accept(rest).await
    }

    /// Gets a device connected again that has refused the message of a step by closing the connection, and has it answer
    /// a good request.
    pub(super) async fn welcome_back(&mut self, at: &Arc<str>, dialing: &mut Dialing) -> Exchange {
        if !self.reconnect(at, dialing).await {
            return Exchange::Gone;
        }
        match self.initialize(&beside(at, StepKind::FenceInitialize)).await {
            Exchange::Settled | Exchange::Ignored => {}
            other => return other,
        }
        let Some((method, params)) = self.conversation.fence(false) else {
            return Exchange::Settled;
        };
        let frame = self.request_frame(&method, params.as_ref());
        let at = beside(at, StepKind::FenceRestored);
        self.exchange(&at, Role::Fence, frame, Manner::Plain).await
    }

    /// Drops the connection in the midst of a message, of which nothing may be left on the next one.
    pub(super) async fn drop_inside(&mut self) {
        let text = "what comes behind this is lost, ".repeat(10);
        let payload = serde_json::json!({"jsonrpc": "2.0", "method": "notifications/mcp_hil", "params": {"text": text}});
        let frame = self.envelope(&payload.to_string());
        if let Some(link) = &mut self.connection.link {
            // Whether it is gone already shows on the next connection.
            let _ = link.send_half(&frame).await;
        }
        self.drop_link("the case asks for it, in the midst of a message");
    }

    /// Decides which version of the framing of binary messages the device is told when it asks for its
    /// configuration next.
    pub(super) fn offer(&mut self, version: u8) {
        self.terms.offered_version = version;
        self.ports.http.offer_binary_version(version);
    }

    /// Puts the device back to the usual configuration, where a case has not come to do so.
    pub(super) async fn offer_the_usual(&mut self, dialing: &mut Dialing) {
        if self.terms.offered_version != USUAL_BINARY_VERSION {
            self.offer(USUAL_BINARY_VERSION);
            self.restart(&"configuration".into(), dialing).await;
        }
    }

    /// Tells the device to restart, and waits until it has connected again. One that does not obey goes
    /// on as it is.
    pub(super) async fn reboot(&mut self, at: &Arc<str>, dialing: &mut Dialing) -> Exchange {
        let message = outbound::system(&self.connection.session_id, "reboot");
        let frame = Frame::Text(message);
        if self.send(at, Role::Stimulus, frame, Manner::Plain).await.is_none() {
            return Exchange::Gone;
        }
        let until = Instant::now() + OBEYS.max(self.conversation.fence_patience());
        loop {
            match self.next(Some(at), until).await {
                Next::Seen(_) => {}
                Next::Gone => break,
                Next::Interrupted => return Exchange::Interrupted,
                Next::Deadline => return Exchange::Settled,
            }
        }
        // Where nothing but the harness starts it again, that says nothing about its reconnecting.
        let back = match self.target.is_running() {
            Some(false) => self.restart(at, dialing).await,
            _ => self.reconnect(at, dialing).await,
        };
        match back {
            true => Exchange::Settled,
            false => Exchange::Gone,
        }
    }

    /// The device has not got a capability after all. From here on the facts say so, in a replay
    /// too.
    fn lacks(&mut self, capability: &str) {
        if self.device.facts.capabilities.remove(capability) {
            let facts = Box::new(self.device.facts.clone());
            self.enter(None, What::Mark { mark: Mark::Facts(facts) });
        }
    }

    /// Restarts the target and waits for it to dial.
    pub(super) async fn restart(&mut self, at: &Arc<str>, dialing: &mut Dialing) -> bool {
        if self.target.board().is_some() {
            return Box::pin(self.recover(at, dialing)).await;
        }
        self.drop_link("the device is restarted");
        if self.is_interrupted() {
            return false;
        }
        self.wait_for_end().await;
        self.drain_console();
        match self.target.restart().await {
            Ok(()) => {
                self.enter(Some(at), What::Target { event: TargetEvent::Started });
                self.ports.endpoint.forget_waiting().await;
                self.connect(at, dialing, dialing.deadline).await
            }
            Err(TargetError::NotOurs) => {
                self.mark(at, Mark::NoLink { waited_ms: 0 });
                false
            }
            Err(refused) => {
                // What started it before does not start any more: no device is accused of that.
                self.output(TargetOutput::Trouble(refused.to_string()));
                false
            }
        }
    }

    /// Records the connection, waits for the device's hello and answers it.
    pub(super) async fn greet(&mut self, at: &Arc<str>, dialing: &mut Dialing, link: Link) {
        // What the device asked for before it connected is known before its connection is.
        self.drain_http();
        self.connection.next_session_id = dialing.random.uuid();
        self.connection.session_id.clear();
        self.connection.connected = true;
        self.bench.taken = false;
        self.connection.initialized = false;
        self.connection.given_up.clear();
        let handshake = link.handshake();
        let what = What::LinkUp {
            transport: self.transport,
            session_id: self.connection.next_session_id.clone(),
            path: handshake.path.clone(),
            token_given: dialing.token_given || self.terms.bootstrapped,
            headers: handshake.headers.clone(),
            mqtt: handshake.mqtt.clone().map(|mqtt| MqttConnect {
                given_keep_alive_s: self.terms.bootstrapped.then_some(dialing.keep_alive_s),
                ..mqtt
            }),
        };
        let keep_alive = handshake.mqtt.as_ref().map(|mqtt| mqtt.keep_alive_s);
        self.terms.told =
            handshake.mqtt.as_ref().is_some_and(|mqtt| mqtt.given_client_id.is_some());
        self.connection.keep_alive = keep_alive.filter(|seconds| *seconds > 0);
        let ping = link.first_ping().map(|data| Frame::Ping(data.to_vec()));
        self.connection.link = Some(link);
        self.connection.unheard = Some(Instant::now());
        self.enter(Some(at), what);
        if let Some(frame) = ping {
            self.enter(None, What::Sent { role: Role::Probe, frame });
        }
        let patience = dialing.hello_patience(self.transport, &self.conversation);
        let until = Instant::now() + patience;
        let hello = self.wait_for(at, until, |seen| seen == Seen::Hello).await;
        dialing.says_hello = Some(hello);
        self.connection.says_hello = hello;
        if self.transport == Transport::Mqtt {
            // Its hello was answered as it came; without one MCP begins all the same.
            if !hello && self.connection.link.is_some() && !self.is_interrupted() {
                // Its channel is opened by a person, or once: nothing follows from that.
                self.lacks("hello");
            }
            return;
        }
        if !hello && self.is_interrupted() {
            // Nobody has waited for its hello, so nothing is to be said of one that had not come.
            return;
        }
        if !hello && self.connection.link.is_some() {
            self.mark(at, Mark::Skipped { why: "the device sent no hello".into() });
        }
        // A device without hello gets its answer all the same: what else it does is worth knowing.
        self.say_hello(at).await;
    }

    /// Sends the server's hello. With it the session begins.
    pub(super) async fn say_hello(&mut self, at: &Arc<str>) {
        self.connection.session_id.clone_from(&self.connection.next_session_id);
        self.tell_of_audio();
        let udp = self.ports.audio.as_ref().map(|audio| {
            audio.renew(self.random.bytes());
            audio.section()
        });
        if let Some(key) = udp.as_ref().and_then(|udp| udp["key"].as_str()) {
            self.transcript.recorder.hide_instead(key, "${MCP_HIL_UDP_KEY}");
        }
        let hello =
            outbound::server_hello(self.transport, &self.connection.session_id, udp.as_ref());
        self.send(at, Role::Hello, Frame::Text(hello), Manner::Plain).await;
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
