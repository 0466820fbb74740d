//! The record of a session: all that was sent, received and logged, in order, with times.
//!
//! A live run writes it, a replay reads it, and the checks see nothing else. One entry is one
//! line of a `transcripts/*.jsonl` file.

mod audio;
mod http;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::capability::Facts;
use crate::transport::Transport;
use crate::wire::Frame;

pub use audio::{ALIKE, AudioCounter, AudioSeen};
pub use http::{HttpEndpoint, HttpExchange, Upload};

/// The case under which the connection is made and the device gets known.
pub const BRING_UP: &str = "session/bring-up";

/// The case under which the settings are put back and the last look for late answers is taken.
pub const CLOSE: &str = "session/close";

/// Begins the ids of generated cases: many inputs, one after the other, are one case.
pub const PROPERTY: &str = "properties/";

/// Begins the ids of cases of the regressions folder.
pub const REGRESSION: &str = "regression/";

/// Begins the ids of cases of a file that was named on the command line.
pub const SCENARIO: &str = "scenario/";

/// Whether the messages of a case were generated, now or once. Those of a suite that people wrote
/// give each id once; generated ones give the same id again in the next input.
pub fn is_generated(case: &str) -> bool {
    [PROPERTY, REGRESSION, SCENARIO].iter().any(|begin| case.starts_with(begin))
}

/// One line of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Position in the session, without gaps.
    pub seq: u64,
    /// Microseconds since the session began.
    pub at_us: u64,
    /// The case that was running.
    pub case: Arc<str>,
    /// The step that was running, such as `2`, `3#1.0` (row 1 of a table) or `2.fence`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Arc<str>>,
    /// The event itself.
    #[serde(flatten)]
    pub what: What,
}

/// An event of a run, as it is written to the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum What {
    /// The harness sent a frame.
    Sent {
        /// Why it was sent.
        role: Role,
        /// The frame.
        frame: Frame,
    },
    /// The device sent a frame.
    Received {
        /// The frame.
        frame: Frame,
    },
    /// The harness, as a caller, sent a control message to the gateway under test.
    Control {
        /// The message.
        text: String,
    },
    /// The gateway under test sent an answer to its caller.
    Reply {
        /// The answer.
        text: String,
    },
    /// The device's console showed a line.
    Console {
        /// The line, without its end, ANSI sequences removed.
        line: String,
    },
    /// A device connected, and its transport's handshake is done.
    LinkUp {
        /// Over which transport.
        #[serde(default)]
        transport: Transport,
        /// The session id that the harness gives in its hello.
        session_id: String,
        /// The path that the device asked for; empty over MQTT.
        path: String,
        /// Whether the device was given a token to present.
        token_given: bool,
        /// The headers that matter, in lower case, the token replaced by its variable's name.
        headers: BTreeMap<String, String>,
        /// What its CONNECT packet said, over MQTT.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mqtt: Option<MqttConnect>,
    },
    /// The link ended.
    LinkDown {
        /// Who ended it.
        by: Party,
        /// How.
        why: String,
        /// Whether the device took leave as its transport asks: with a Close frame, or with DISCONNECT.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        orderly: bool,
        /// The code of its Close frame, over WebSocket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<u16>,
        /// The rule of the transport that the device broke by it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        breach: Option<Breach>,
    },
    /// Something below the messages, over MQTT.
    Mqtt {
        /// What it was.
        note: MqttNote,
    },
    /// A device was turned away.
    Refused {
        /// What it presented, in words; never the password.
        why: String,
        /// For what.
        #[serde(default)]
        fault: Fault,
    },
    /// The device made an HTTP request, and the harness answered it.
    Http {
        /// Request and answer.
        exchange: Box<HttpExchange>,
    },
    /// What has come over the audio channel, as it stands.
    Audio {
        /// The counters.
        seen: AudioSeen,
    },
    /// The target was started or came to its end.
    Target {
        /// What happened to it.
        event: TargetEvent,
    },
    /// A remark of the harness.
    Mark {
        /// The remark.
        mark: Mark,
    },
}

/// What a device's CONNECT packet said, and what it had been told to say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MqttConnect {
    /// Protocol level: 3 is MQTT 3.1, 4 is MQTT 3.1.1.
    pub level: u8,
    /// The client id.
    pub client_id: String,
    /// The client id of its configuration, when it was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_client_id: Option<String>,
    /// The promised longest pause between packets, in seconds; 0 promises nothing.
    pub keep_alive_s: u16,
    /// The keep-alive of its configuration, in seconds, when it has fetched one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_keep_alive_s: Option<u16>,
    /// Whether it asks for a clean session.
    pub clean_session: bool,
    /// Whether it leaves a will.
    pub will: bool,
    /// Whether user name and password were given to it, and so are the right ones.
    pub credentials: bool,
    /// The topic to which it was told to publish, when it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish_topic: Option<String>,
}

/// What happened below the messages of an MQTT link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MqttNote {
    /// The device subscribed. Legal, and without any effect: messages are pushed.
    Subscribed {
        /// The topic filter.
        filter: String,
    },
    /// The device sent PINGREQ.
    Ping,
    /// The harness sent the next message with QoS 1 and wants a PUBACK.
    AckWanted,
    /// The device sent PUBACK for a message of the harness.
    Acknowledged,
    /// The device sent PUBACK once more for a message that it had acknowledged.
    AcknowledgedAgain,
    /// The next message came to a topic that was not the configured one.
    Topic {
        /// The topic.
        topic: String,
    },
    /// Something that is no message of the protocol came to a topic of the device's own, such as telemetry.
    Elsewhere {
        /// The topic.
        topic: String,
    },
    /// The next message came with this QoS, not 0.
    Qos {
        /// 1 or 2.
        qos: u8,
    },
    /// The device sent a message once more that had come already.
    Redelivered,
    /// The next message came with QoS 1 and the flag of those that are sent again, and was not seen before.
    Duplicate,
    /// The next message is to be retained by the broker.
    Retained,
    /// The next message came in a packet that the published gateway does not take
    /// ([`crate::limits::GATEWAY_PACKET_BYTES`]).
    LargePacket {
        /// Size of the whole packet in bytes.
        bytes: usize,
    },
}

/// A rule of the transport that a device broke, so that the link ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Breach {
    /// What it sent is no packet or frame of the transport.
    Malformed,
    /// It sent CONNECT a second time.
    SecondConnect,
    /// It was silent for longer than its keep-alive allows.
    KeepAlive,
    /// It left the connection without a word, open as it was, and opened another one.
    Left,
}

/// What a device is turned away for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Its token, or its user name or password.
    #[default]
    Credentials,
    /// The version of MQTT that it speaks, and it did not come with another one.
    Version,
    /// The opening handshake of its WebSocket.
    Handshake,
    /// What it sent over MQTT before it was connected.
    Packets,
}

/// Why the harness sent a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The server's hello.
    Hello,
    /// What the case is about.
    Stimulus,
    /// A good request whose answer shows that what came before it was dropped.
    Fence,
    /// A reading of the device's state.
    Probe,
    /// The backend's answer to a request of the device. It is no stimulus and nothing is owed for it.
    Reply,
}

/// Who did something to the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Party {
    /// The harness.
    Harness,
    /// The device.
    Device,
    /// Neither: what stands between them, such as a broker.
    Bench,
}

/// What happened to the target as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetEvent {
    /// The harness started it (again): one boot banner is expected.
    Started,
    /// Its process ended by itself.
    Exited(String),
    /// The bench did something to it; nothing that it did itself.
    Bench(String),
    /// The bench took it away: its serial port is gone, or somebody ended the process that it runs in.
    /// What shows from here until it is started or connects again is none of its doing.
    Lost {
        /// How the loss was noticed, in words.
        why: String,
        /// Whether a reset of the chip alone looks the same: its own USB port goes with each.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_reset: bool,
    },
    /// Its serial port is back, as the text says.
    Back(String),
    /// The bench does not do its part any more: what is seen from here on says nothing about the device.
    Trouble(String),
}

/// A remark of the harness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// No answer to the message of this step came within the time.
    NoAnswer {
        /// How long was waited, in milliseconds.
        waited_ms: u64,
    },
    /// A limit of the harness struck.
    Limit {
        /// The limit's name.
        name: String,
        /// Its value.
        value: u64,
    },
    /// A listing ended early.
    ListEnded {
        /// The reason, in words, such as a repeated cursor.
        why: String,
    },
    /// The device did not connect (again) within the time.
    NoLink {
        /// How long was waited, in milliseconds.
        waited_ms: u64,
    },
    /// The case is tried once more on a fresh device, because the device fell silent.
    SecondAttempt,
    /// The messages of the case are sent once more, each alone: what was seen while they were in flight together
    /// leaves a doubt.
    Alone,
    /// This tool refuses whatever it is told to set, for a reason of its own: the setting is locked.
    Locked {
        /// The tool.
        tool: String,
        /// What it said.
        reason: String,
    },
    /// The device accepts `initialize` with this, and not without it, on one connection.
    Insists {
        /// What it insists on: `capabilities.vision`.
        on: String,
    },
    /// The harness says goodbye with a Close frame; whatever ends the connection from here on, it is
    /// not the device that drops it.
    Closing,
    /// The end of the connection after the harness's Close frame.
    Closed {
        /// Whether the device sent a Close frame, too.
        answered: bool,
        /// How the connection ended, in words.
        how: String,
        /// The code of the device's Close frame.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<u16>,
    },
    /// The masks of the device's WebSocket frames on a connection that ends.
    Masks {
        /// How many frames had one.
        frames: u32,
        /// The key that all of them had, in hex.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// By how much each of eight keys in a row was above the one before it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<i32>,
    },
    /// Behind its Close frame the device sent a frame with data.
    BehindClose {
        /// Its kind, in words.
        frame: String,
    },
    /// A step could not be carried out.
    Skipped {
        /// The reason, in words.
        why: String,
    },
    /// What is known of the device from here on.
    Facts(Box<Facts>),
    /// An input begins; it ends where the next one does, or the case. Each is judged for itself.
    Generated {
        /// What becomes of its findings.
        #[serde(default, skip_serializing_if = "Part::is_input")]
        part: Part,
        /// The scenario, as a file has it; empty where nothing is expected.
        scenario: String,
    },
}

/// What becomes of the findings of a part of a generated case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// An input of its own: they count.
    #[default]
    Input,
    /// A failed input is tried again, as it was or made smaller: they count for nothing.
    Trial,
    /// The smallest input that still fails: they stand for those of the input that it came from.
    Smallest,
    /// No input: settings are read or put back. They count.
    Around,
    /// Several inputs in flight together. What leaves a doubt which of them it is about is tried again, each input
    /// alone, and counts then.
    Flight,
}

impl Part {
    fn is_input(&self) -> bool {
        *self == Self::Input
    }
}

impl Entry {
    /// The frame, when one was sent or received.
    pub fn frame(&self) -> Option<&Frame> {
        match &self.what {
            What::Sent { frame, .. } | What::Received { frame } => Some(frame),
            _ => None,
        }
    }

    /// Whether the entry belongs to the step.
    pub fn is_at(&self, step: &str) -> bool {
        self.step.as_deref() == Some(step)
    }
}

/// Reads the lines of a transcript file.
///
/// # Errors
///
/// The first line that is no entry, with its number (from 1) and the reason.
pub fn read_jsonl(text: &str) -> Result<Vec<Entry>, (usize, String)> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| serde_json::from_str(line).map_err(|error| (at + 1, error.to_string())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_reads_back_equal() {
        let entries = [
            What::Sent { role: Role::Stimulus, frame: Frame::Text("{\"a\":\"ä\n\"}".into()) },
            What::Received { frame: Frame::NotUtf8(vec![0x7b, 0xff]) },
            What::LinkDown {
                by: Party::Device,
                why: "closed".into(),
                orderly: true,
                code: Some(1009),
                breach: None,
            },
            What::Mark { mark: Mark::NoAnswer { waited_ms: 10 } },
            What::Mark { mark: Mark::SecondAttempt },
            What::Mark { mark: Mark::Alone },
            What::Mark { mark: Mark::Facts(Box::default()) },
            What::Mark {
                mark: Mark::Generated { part: Part::Input, scenario: "title: t\n".into() },
            },
            What::Mark { mark: Mark::Generated { part: Part::Trial, scenario: String::new() } },
            What::Target { event: TargetEvent::Exited("code 1".into()) },
            What::Target {
                event: TargetEvent::Lost { why: "the port went away".into(), by_reset: true },
            },
            What::Target { event: TargetEvent::Back("the port is back".into()) },
            What::Http {
                exchange: Box::new(HttpExchange {
                    endpoint: HttpEndpoint::Vision,
                    method: "POST".into(),
                    path: "/x?y".into(),
                    headers: [("device-id".into(), "a".into())].into(),
                    body: Some(Frame::NotUtf8(vec![0xff])),
                    upload: Some(Upload { file_bytes: Some(3), ..Upload::default() }),
                    status: Some(413),
                    client_id: None,
                    binary_version: Some(3),
                    problem: Some("too large".into()),
                }),
            },
            What::Audio {
                seen: AudioSeen {
                    packets: 3,
                    first_bad: Some("packet 1: 2 bytes".into()),
                    ..AudioSeen::default()
                },
            },
            What::Http { exchange: Box::new(HttpExchange::unread()) },
        ]
        .map(|what| Entry {
            seq: 3,
            at_us: 99,
            case: "ids/zero".into(),
            step: Some("0".into()),
            what,
        });
        let text: String =
            entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n").collect();
        assert_eq!(read_jsonl(&text).unwrap(), entries);
        assert_eq!(read_jsonl("{}\n").unwrap_err().0, 1);
    }
}
