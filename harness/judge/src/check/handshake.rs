//! Checks on the connection: headers, hello, session id.

use mcp_hil_core::catalogue::RequirementId as Id;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::sink::{Sink, evidence};
use mcp_hil_core::transcript::Party;
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::Evidence;
use mcp_hil_core::wire::Frame;
use mcp_hil_core::wire::as_integer;

/// How the transcript shows a correct `Authorization` header: the token itself is a secret.
pub const AUTHORIZED: &str = "Bearer ${MCP_HIL_WS_TOKEN}";

/// Rates of samples that Opus has, in hertz, and durations of its packets, in whole milliseconds (RFC 6716, section 2).
const OPUS_RATES: [i64; 5] = [8000, 12_000, 16_000, 24_000, 48_000];
const OPUS_MILLISECONDS: [i64; 10] = [5, 10, 15, 20, 40, 60, 80, 90, 100, 120];

/// What is known of the link in a session.
#[derive(Debug, Default)]
pub(crate) struct LinkState {
    number: u64,
    up: bool,
    transport: Transport,
    session_id: String,
    /// The session ids of the earlier links, the latest one last.
    earlier_sessions: Vec<String>,
    protocol_version: Option<String>,
    /// The key of its opening handshake.
    key: Option<String>,
    hello_seen: bool,
    text_seen: bool,
    /// Where the server's hello was sent, while its session lasts.
    server_hello: Option<u64>,
    session_checked: bool,
    /// The device has answered what came after the server's hello, so that it has read that.
    knows_session: bool,
    /// Where the first `initialize` of this link was sent.
    initialize: Option<u64>,
    /// The wrong session id that was told of already.
    session_fault: Option<String>,
    /// One of the device's own messages had the right session id.
    own_right: bool,
    /// A wrong session id in the device's own messages was told of already.
    own_fault: bool,
    /// The last message of the harness under another session id, and that id.
    elsewhere: Option<(String, String)>,
    /// The device has named a session in an `mcp` message: it does not leave that empty throughout.
    names_session: bool,
    /// Where it left that empty before.
    left_empty: Option<u64>,
    /// A further hello of the harness named no session: the device may name none from then on.
    unnamed: bool,
    /// The harness dropped the link and has not restarted the target since.
    dropped: bool,
    /// The harness has closed the link with a Close frame, or is about to.
    closed: bool,
    /// The harness has said goodbye to the session over MQTT, and no other began since.
    dismissed: bool,
}

impl LinkState {
    /// Number of the link in the session, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The version of the binary framing that the device named in the headers of this link.
    pub(crate) fn protocol_version(&self) -> Option<&str> {
        self.protocol_version.as_deref()
    }

    /// Whether no text of the device has come on this link.
    pub(crate) fn has_said_nothing(&self) -> bool {
        !self.text_seen
    }

    /// The session id that the harness gave on this link.
    pub(crate) fn session(&self) -> &str {
        &self.session_id
    }

    /// A message went out, perhaps under another session id, which the device must not take over.
    pub(crate) fn sent(&mut self, text: &str) {
        self.unnamed |= text.contains("\"hello\"") && !text.contains("\"session_id\"");
        let names_ours = || text.contains(&format!("\"session_id\":\"{}\"", self.session_id));
        if text.contains("\"session_id\"") && !names_ours() {
            let envelope: Option<Map<String, Value>> = serde_json::from_str(text).ok();
            let named = envelope.as_ref().and_then(|envelope| envelope.get("session_id"));
            if let Some(named) = named {
                self.elsewhere = Some((named.to_string(), text.to_owned()));
            }
        }
    }

    /// An `initialize` went out.
    pub(crate) fn initialize(&mut self, seq: u64) {
        self.initialize.get_or_insert(seq);
    }

    /// Whether the message at `seq` was the first `initialize` of this link.
    pub(crate) fn opened_by(&self, seq: u64) -> bool {
        self.initialize == Some(seq)
    }

    /// Whether the message at `seq` came behind an `initialize` on this link: before it a device may refuse requests (MCP,
    /// basic/lifecycle).
    pub(crate) fn is_initialized(&self, seq: u64) -> bool {
        self.initialize.is_some_and(|initialize| initialize < seq)
    }

    /// Whether the harness dropped the link and waits for the device to come back by itself.
    pub(crate) fn was_dropped(&self) -> bool {
        self.dropped
    }

    pub(crate) fn is_up(&self) -> bool {
        self.up
    }

    /// Over which transport the device is connected, or was last.
    pub(crate) fn transport(&self) -> Transport {
        self.transport
    }

    /// The requirement that a device connects again after a drop: documents leave it to the
    /// device over WebSocket, and promise it over MQTT.
    pub(crate) fn reconnects(&self) -> Id {
        match self.transport {
            Transport::WebSocket => Id::SessionReconnect,
            Transport::Mqtt => Id::MqttReconnect,
        }
    }

    /// The requirement that a device does not end the connection: documents of its own for each transport.
    pub(crate) fn kept(&self) -> Id {
        match self.transport {
            Transport::WebSocket => Id::LivenessLinkKept,
            Transport::Mqtt => Id::LivenessLinkKeptMqtt,
        }
    }

    /// The device connected.
    pub(crate) fn up(
        &mut self,
        transport: Transport,
        session_id: &str,
        headers: &BTreeMap<String, String>,
        token_given: bool,
        seq: u64,
        sink: &mut Sink,
    ) {
        if self.dropped {
            sink.held(self.reconnects());
        }
        let earlier_key = self.key.take().filter(|_| self.dropped);
        let mut earlier_sessions = std::mem::take(&mut self.earlier_sessions);
        if self.number > 0 {
            earlier_sessions.push(std::mem::take(&mut self.session_id));
        }
        *self = Self {
            transport,
            number: self.number + 1,
            up: true,
            session_id: session_id.to_owned(),
            earlier_sessions,
            protocol_version: headers.get("protocol-version").cloned(),
            key: headers.get("sec-websocket-key").cloned(),
            session_fault: self.session_fault.take(),
            own_fault: self.own_fault,
            names_session: self.names_session,
            left_empty: self.left_empty,
            ..Self::default()
        };
        if transport == Transport::Mqtt {
            // There is no HTTP handshake whose headers could be judged.
            return;
        }
        if token_given {
            let authorization = headers.get("authorization").map(String::as_str);
            // The name of a scheme may be written in any case (RFC 9110, section 11.1).
            let is_it = |given: &str| {
                let parts = given.split_once(' ').zip(AUTHORIZED.split_once(' '));
                parts.is_some_and(|((scheme, token), (bearer, ours))| {
                    scheme.eq_ignore_ascii_case(bearer) && token == ours
                })
            };
            sink.test(Id::HelloHeaderAuthorization, authorization.is_some_and(is_it), || {
                let got = authorization.unwrap_or("absent");
                evidence("header Authorization: Bearer <the token>", got, seq)
            });
        }
        judge_key(headers, seq, sink);
        judge_headers(headers, seq, sink);
        if let (Some(then), Some(now)) = (earlier_key, &self.key) {
            sink.test_once(Id::HelloKeyFresh, then != *now, || {
                evidence("another Sec-WebSocket-Key than on the connection before", now, seq)
            });
        }
    }

    /// The link ended.
    pub(crate) fn down(&mut self, by: Party) {
        self.up = false;
        self.dropped = by == Party::Harness && !self.closed;
    }

    /// Whether the harness has said goodbye to the session over MQTT: copies of the document differ on whether the
    /// device leaves its broker then.
    pub(crate) fn was_dismissed(&self) -> bool {
        self.dismissed
    }

    /// The harness says goodbye with a Close frame. Who takes leave then, for good, does nothing wrong.
    pub(crate) fn closing(&mut self) {
        self.closed = true;
    }

    /// Whether the harness has closed the link with a Close frame, and nothing has connected since.
    pub(crate) fn was_closed(&self) -> bool {
        self.closed
    }

    /// The harness started the target: what connects next does so by that.
    pub(crate) fn restarted(&mut self) {
        self.dropped = false;
        self.closed = false;
    }

    /// The harness sent its hello.
    pub(crate) fn server_hello(&mut self, seq: u64, sink: &mut Sink) {
        self.server_hello = Some(seq);
        (self.knows_session, self.own_right) = (false, false);
        self.dismissed = false;
        if self.transport == Transport::Mqtt {
            // It is an answer to the device's own; MCP needs none (device-protocol 3.2).
            return;
        }
        // The harness speaks first only when it has waited in vain.
        sink.test(Id::HelloFirst, self.hello_seen, || {
            evidence("a hello from the device", "none in time", seq)
        });
        if self.number > 1 {
            sink.test(Id::SessionHelloAgain, self.hello_seen, || {
                evidence("a hello on every connection", "none in time on a new connection", seq)
            });
        }
    }

    /// The device sent its hello.
    pub(crate) fn hello(&mut self, hello: &Map<String, Value>, seq: u64, sink: &mut Sink) {
        if self.transport == Transport::WebSocket {
            let again = self.hello_seen;
            sink.test(Id::HelloOnce, !again, || {
                evidence("one hello on a connection", "a second hello", seq)
            });
            if again {
                return;
            }
            let first = !self.text_seen;
            sink.test(Id::HelloFirst, first, || {
                evidence(
                    "hello as the first message",
                    "another message was received before it",
                    seq,
                )
            });
        }
        // Over MQTT a hello opens the audio channel, any time and as often as it is closed.
        self.hello_seen = true;
        self.text_seen = true;
        self.judge_hello(hello, seq, sink);
    }

    fn judge_hello(&self, hello: &Map<String, Value>, seq: u64, sink: &mut Sink) {
        let shown = |name: &str| hello.get(name).map_or_else(|| "absent".into(), Value::to_string);
        let version = hello.get("version").and_then(as_integer);
        sink.test(Id::HelloVersionNumber, matches!(version, Some(1..=3)), || {
            evidence("version is 1, 2 or 3", format!("version {}", shown("version")), seq)
        });
        if let (Some(version), Some(header)) = (version, &self.protocol_version) {
            sink.test(Id::HelloVersionHeader, *header == version.to_string(), || {
                evidence(
                    format!("the version of the header Protocol-Version, {header}"),
                    format!("version {version}"),
                    seq,
                )
            });
        }
        let transport = hello.get("transport").and_then(Value::as_str);
        let wanted = self.transport.in_hello();
        // The documents speak of "mqtt", devices and gateways of "udp".
        let named = transport == Some(wanted)
            || self.transport == Transport::Mqtt && transport == Some("mqtt");
        sink.test(Id::HelloTransport, named, || {
            evidence(
                format!("transport \"{wanted}\""),
                format!("transport {}", shown("transport")),
                seq,
            )
        });
        if self.transport == Transport::Mqtt {
            sink.test(Id::HelloVersion3, version == Some(3), || {
                evidence("version 3", format!("version {}", shown("version")), seq)
            });
        }
        let mcp = hello.get("features").and_then(|features| features.get("mcp"));
        sink.test(Id::HelloFeaturesMcp, mcp == Some(&Value::Bool(true)), || {
            evidence("features.mcp true", format!("features {}", shown("features")), seq)
        });
        let audio = hello.get("audio_params");
        let positive = |name: &str| {
            audio.and_then(|audio| audio.get(name)).and_then(as_integer).is_some_and(|n| n > 0)
        };
        let format = audio.and_then(|audio| audio.get("format")).is_some_and(Value::is_string);
        let good =
            format && ["sample_rate", "channels", "frame_duration"].into_iter().all(positive);
        sink.test(Id::HelloAudioParams, good, || {
            evidence(
                "audio_params with format, and sample_rate, channels, frame_duration as positive integers",
                format!("audio_params {}", shown("audio_params")),
                seq,
            )
        });
        if let Some(audio) = audio.filter(|audio| good && audio["format"] == "opus") {
            let is_one = |name: &str, all: &[i64]| {
                as_integer(&audio[name]).is_some_and(|number| all.contains(&number))
            };
            let may_be =
                is_one("sample_rate", &OPUS_RATES) && is_one("frame_duration", &OPUS_MILLISECONDS);
            sink.test(Id::HelloOpusParams, may_be, || {
                let expected = format!(
                    "a sample_rate of {OPUS_RATES:?} and a frame_duration of {OPUS_MILLISECONDS:?}"
                );
                evidence(expected, format!("audio_params {audio}"), seq)
            });
        }
    }

    /// Any message but hello came.
    pub(crate) fn message(&mut self, kind: Option<&str>, seq: u64, frame: &Frame, sink: &mut Sink) {
        if !self.hello_seen && !self.text_seen && self.transport == Transport::WebSocket {
            let kind = kind.unwrap_or("none");
            sink.test(Id::HelloFirst, false, || {
                evidence(
                    "hello as the first message",
                    format!("type {kind}: {}", frame.display()),
                    seq,
                )
            });
        }
        self.text_seen = true;
    }

    /// A message that is neither `mcp` nor hello came: where its type carries a session id, it is the
    /// current one (xiaozhi WebSocket, section 4.1).
    pub(crate) fn own_message(&mut self, envelope: &Map<String, Value>, seq: u64, sink: &mut Sink) {
        let kind = envelope.get("type").and_then(Value::as_str);
        if self.server_hello.is_none() || !matches!(kind, Some("listen" | "abort")) {
            return;
        }
        let got = envelope.get("session_id");
        let right = self.is_right(got) || self.may_be_empty(got);
        self.own_right |= self.is_right(got);
        // A wrong one may have been on its way before the device knew the session.
        if self.own_fault || !(right || self.knows_session || self.own_right) {
            return;
        }
        self.own_fault = !right;
        let session = &self.session_id;
        sink.test(Id::SessionOwnMessages, right, || {
            let got = got.map_or_else(|| "absent".to_owned(), Value::to_string);
            evidence(
                format!("session_id \"{session}\" in the message"),
                format!("session_id {got}"),
                seq,
            )
        });
    }

    /// Whether a session id is that of the session.
    fn is_right(&self, got: Option<&Value>) -> bool {
        let got = got.and_then(Value::as_str);
        got == Some(&self.session_id) || self.unnamed && got.is_none_or(str::is_empty)
    }

    /// Whether a session id is empty, and may be: the protocol's authors allow that over WebSocket, where the connection
    /// is the session (see the requirement's note). A device that names it elsewhere has lost it.
    fn may_be_empty(&self, got: Option<&Value>) -> bool {
        let is_empty = got.and_then(Value::as_str) == Some("");
        is_empty && self.transport == Transport::WebSocket && !self.names_session
    }

    /// Whether a session id is that of an earlier link.
    fn is_stale(&self, got: Option<&Value>) -> bool {
        got.and_then(Value::as_str).is_some_and(|got| {
            got != self.session_id && self.earlier_sessions.iter().any(|old| old == got)
        })
    }

    /// The audio channel was closed, by the message `goodbye` of either side: with it ends the
    /// session (device-protocol 3.3). MCP goes on, under the old session id or none.
    /// `session` is what the harness named in its own.
    pub(crate) fn goodbye(&mut self, session: Option<&str>) {
        let ours = session.is_none_or(|session| session == self.session_id);
        if self.transport == Transport::Mqtt && ours {
            self.server_hello = None;
            self.dismissed |= session.is_some();
        }
    }

    /// An `mcp` message came: it must carry the current session id. `asked` is where the message
    /// was sent that it answers.
    pub(crate) fn session_id(
        &mut self,
        envelope: &Map<String, Value>,
        asked: Option<u64>,
        seq: u64,
        sink: &mut Sink,
    ) {
        // Before a hello there is no session yet that could be named.
        let Some(hello) = self.server_hello else {
            return;
        };
        // What the device says by itself may have been on its way before it knew the session.
        self.knows_session |= asked.is_some_and(|asked| asked > hello);
        if !self.knows_session {
            return;
        }
        let got = envelope.get("session_id");
        let may_be_empty = self.may_be_empty(got);
        if may_be_empty {
            self.left_empty.get_or_insert(seq);
        }
        self.names_session |= got.and_then(Value::as_str).is_some_and(|id| !id.is_empty());
        if self.names_session
            && let Some(at) = self.left_empty.take()
        {
            self.session_fault = Some("\"\"".to_owned());
            sink.test(Id::EnvelopeSessionId, false, || {
                let expected = format!("session_id \"{}\", as in other messages", self.session_id);
                evidence(expected, "session_id \"\"", at)
            });
        }
        let right = self.is_right(got) || may_be_empty;
        let stale = self.is_stale(got);
        if !self.earlier_sessions.is_empty() && !self.session_checked {
            self.session_checked = true;
            sink.test(Id::SessionNewId, !stale, || {
                evidence(
                    "the session_id of the new hello",
                    "the session_id of an earlier connection",
                    seq,
                )
            });
        }
        let got = got.map_or_else(|| "absent".to_owned(), Value::to_string);
        if !right && self.session_fault.as_ref() == Some(&got) {
            // The same fault in every message is one fault; the first case that shows it tells.
            return;
        }
        if !right {
            self.session_fault = Some(got.clone());
        }
        let session = &self.session_id;
        sink.test(Id::EnvelopeSessionId, right, || {
            let taken = self.elsewhere.as_ref().filter(|(named, _)| *named == got);
            Evidence {
                sent: taken.map(|(_, text)| text.clone()),
                ..evidence(
                    "the session_id of the server's hello",
                    format!("session_id {got} instead of \"{session}\""),
                    seq,
                )
            }
        });
    }
}

/// Judges the nonce of the opening handshake; the rest of it is right where a connection came of it.
fn judge_key(headers: &BTreeMap<String, String>, seq: u64, sink: &mut Sink) {
    static KEY: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("^[A-Za-z0-9+/]{22}==$").expect("a constant pattern"));
    // A transcript of an earlier version may have neither header.
    let key = headers.get("sec-websocket-key").map(String::as_str);
    sink.test(Id::HelloHandshake, key.is_none_or(|key| KEY.is_match(key)), || {
        evidence("header Sec-WebSocket-Key: 16 bytes in base64", key.unwrap_or_default(), seq)
    });
    // Several of one name are joined by commas, and a host has none (RFC 9112, section 3.2).
    let host = headers.get("host").filter(|host| !host.contains(','));
    sink.test(Id::HelloHandshake, key.is_none() || host.is_some(), || {
        evidence("one header Host", headers.get("host").map_or("absent", String::as_str), seq)
    });
    judge_extensions(headers, seq, sink);
}

/// Judges the form of what extensions are offered (RFC 6455, section 9.1); elements of a list may be empty.
fn judge_extensions(headers: &BTreeMap<String, String>, seq: u64, sink: &mut Sink) {
    static EXTENSIONS: LazyLock<Regex> = LazyLock::new(|| {
        let token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
        let parameter = format!(r#"\s*;\s*{token}(\s*=\s*({token}|"{token}"))?"#);
        let list = format!(r"^[\s,]*{token}({parameter})*(\s*,(\s*{token}({parameter})*)?)*\s*$");
        Regex::new(&list).expect("a constant pattern")
    });
    if let Some(offered) = headers.get("sec-websocket-extensions") {
        sink.test(Id::HelloHandshake, EXTENSIONS.is_match(offered), || {
            evidence("extensions as in RFC 6455, section 9.1", offered.as_str(), seq)
        });
    }
}

fn judge_headers(headers: &BTreeMap<String, String>, seq: u64, sink: &mut Sink) {
    static MAC: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("^(?i)[0-9a-f]{2}(:[0-9a-f]{2}){5}$").expect("a constant pattern")
    });
    static UUID: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$").expect("a constant pattern")
    });
    let got = |name: &str| headers.get(name).map_or("absent", String::as_str).to_owned();
    let value =
        |name: &str| headers.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let version = value("protocol-version");
    sink.test(Id::HelloHeaderProtocolVersion, matches!(version, Some("1" | "2" | "3")), || {
        evidence("header Protocol-Version: 1, 2 or 3", got("protocol-version"), seq)
    });
    for (name, present, form, pattern, what) in [
        ("device-id", Id::HelloHeaderDeviceId, Id::HelloHeaderDeviceIdMac, &MAC, "a MAC address"),
        ("client-id", Id::HelloHeaderClientId, Id::HelloHeaderClientIdUuid, &UUID, "a UUID"),
    ] {
        let there = value(name);
        sink.test(present, there.is_some(), || {
            evidence(format!("a header {name}"), "absent or empty", seq)
        });
        if let Some(there) = there {
            sink.test(form, pattern.is_match(there), || {
                evidence(format!("header {name}: {what}"), there, seq)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::verdict::Outcome;
    use serde_json::json;

    #[test]
    fn a_session_id_that_was_taken_over_is_told_with_the_message_that_named_it() {
        const ELSEWHERE: &str = r#"{"session_id":"x","type":"mcp","payload":{}}"#;
        let mut sink = Sink::default();
        let mut link =
            LinkState { session_id: "s".into(), server_hello: Some(1), ..LinkState::default() };
        for text in [r#"{"session_id":"s","type":"mcp"}"#, ELSEWHERE, r#"{"type":"mcp"}"#] {
            link.sent(text);
        }
        for (seq, named) in [(5, "x"), (6, "y")] {
            let envelope = json!({"session_id": named});
            let envelope = envelope.as_object().expect("an object");
            sink.step = Some(named.into());
            link.session_id(envelope, Some(4), seq, &mut sink);
        }
        let sent = sink.found.iter().map(|judgement| match &judgement.outcome {
            Outcome::Broken(evidence) => evidence.sent.as_deref(),
            other => panic!("{other:?}"),
        });
        assert_eq!(sent.collect::<Vec<_>>(), [Some(ELSEWHERE), None]);
    }
}
