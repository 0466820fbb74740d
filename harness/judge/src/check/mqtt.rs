//! Checks on what lies below the messages of an MQTT link.

use super::sink::{Sink, evidence};
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::limits::GATEWAY_PACKET_BYTES;
use mcp_hil_core::transcript::{Breach, MqttConnect, MqttNote};
use mcp_hil_core::transport::Transport;
use mcp_hil_scenario::area;

/// What every PUBLISH of a device shows; the notes before it tell where it is wrong.
const ON_PUBLISH: [Id; 6] = [
    Id::MqttPackets,
    Id::MqttOneConnect,
    Id::MqttQos,
    Id::MqttQos0,
    Id::MqttRetain,
    Id::MqttPacketSize,
];

/// Messages with QoS 1 that wait for their PUBACK.
#[derive(Debug, Default)]
pub(crate) struct Acknowledgements {
    /// Where they were sent.
    wanted: Vec<u64>,
    /// Whether the next message is marked as one that is sent again.
    is_duplicate: bool,
    /// Whether a message of this case was longer than a packet should be: an answer may quote it.
    has_sent_long: bool,
}

impl Acknowledgements {
    /// A message goes to the device.
    pub(crate) fn sent(&mut self, text: &str) {
        self.has_sent_long |= text.len() > GATEWAY_PACKET_BYTES;
    }

    /// Takes a remark of the link.
    pub(crate) fn note(&mut self, note: &MqttNote, seq: u64, sink: &mut Sink) {
        match note {
            MqttNote::AckWanted => self.wanted.push(seq),
            MqttNote::Acknowledged => {
                // Acknowledgements come in the order of the messages (MQTT 3.1.1, 4.6).
                if !self.wanted.is_empty() {
                    self.wanted.remove(0);
                }
                sink.held(Id::MqttPuback);
                sink.held(Id::MqttPubackOnce);
            }
            MqttNote::AcknowledgedAgain => {
                sink.test_once(Id::MqttPubackOnce, false, || {
                    evidence("one PUBACK for a message with QoS 1", "another one", seq)
                });
            }
            MqttNote::Ping => sink.held(Id::MqttKeepAlive),
            // Legal, and without effect.
            MqttNote::Subscribed { .. } | MqttNote::Redelivered | MqttNote::Elsewhere { .. } => {}
            MqttNote::Duplicate => self.is_duplicate = true,
            MqttNote::Topic { topic } => {
                sink.test_once(Id::MqttPublishTopic, false, || {
                    let received = format!("a message to the topic `{topic}`");
                    evidence("messages to the configured publish_topic", received, seq)
                });
            }
            MqttNote::Qos { qos } => {
                sink.test_once(Id::MqttQos, *qos < 2, || {
                    evidence("QoS 0 or 1", format!("a message with QoS {qos}"), seq)
                });
                sink.test_once(Id::MqttQos0, false, || {
                    evidence("QoS 0", format!("a message with QoS {qos}"), seq)
                });
            }
            MqttNote::Retained => {
                sink.test_once(Id::MqttRetain, false, || {
                    let received = "a message with the retain flag";
                    evidence("messages that are not retained", received, seq)
                });
            }
            // What the harness says of a picture is as long as that, and is given back.
            MqttNote::LargePacket { .. } if area(&sink.case) == "vision" => {}
            MqttNote::LargePacket { .. } if self.has_sent_long => {}
            MqttNote::LargePacket { bytes } => {
                sink.test_once(Id::MqttPacketSize, false, || {
                    evidence(
                        format!("packets of at most {GATEWAY_PACKET_BYTES} bytes"),
                        format!("a PUBLISH packet of {bytes} bytes"),
                        seq,
                    )
                });
            }
        }
    }

    /// Whether the message that has come is marked as one that is sent again.
    pub(crate) fn take_duplicate(&mut self) -> bool {
        std::mem::take(&mut self.is_duplicate)
    }

    /// The link is gone, and with it the duty to acknowledge.
    pub(crate) fn link_down(&mut self) {
        self.wanted.clear();
        self.is_duplicate = false;
    }

    /// What was not acknowledged by the end of the case is not going to be.
    pub(crate) fn end_case(&mut self, sink: &mut Sink) {
        self.has_sent_long = false;
        for seq in self.wanted.drain(..) {
            sink.test(Id::MqttPuback, false, || {
                evidence("PUBACK for a message with QoS 1", "none", seq)
            });
        }
    }
}

/// Judges a CONNECT packet that was accepted.
pub(crate) fn judge_connect(connect: &MqttConnect, seq: u64, sink: &mut Sink) {
    if connect.credentials {
        sink.held(Id::MqttCredentials);
    }
    if connect.publish_topic.is_some() {
        // Broken by the first message to another topic.
        sink.held(Id::MqttPublishTopic);
    }
    judge_keep_alive(connect, seq, sink);
    if let Some(given) = &connect.given_client_id {
        sink.test_once(Id::MqttClientId, connect.client_id == *given, || {
            let received = format!("client id `{}`", connect.client_id);
            evidence(format!("the client id of its configuration, `{given}`"), received, seq)
        });
    }
}

/// Judges the keep-alive of a CONNECT packet: a shorter one than was configured does no harm.
fn judge_keep_alive(connect: &MqttConnect, seq: u64, sink: &mut Sink) {
    let (promised, Some(given)) = (connect.keep_alive_s, connect.given_keep_alive_s) else {
        return;
    };
    let kept = (1..=given).contains(&promised);
    sink.test_once(Id::MqttKeepAliveConfigured, kept, || {
        let received = match promised {
            0 => "none announced".to_owned(),
            promised => format!("{promised} s"),
        };
        evidence(
            format!("the keep-alive of its configuration, {given} s, or a shorter one"),
            received,
            seq,
        )
    });
}

/// A PUBLISH of the device came.
pub(crate) fn judge_publish(sink: &mut Sink) {
    for requirement in ON_PUBLISH {
        sink.held(requirement);
    }
}

/// The link ended because the device broke a rule of MQTT.
pub(crate) fn judge_breach(
    (transport, breach): (Transport, Breach),
    why: &str,
    seq: u64,
    sink: &mut Sink,
) {
    let (requirement, expected) = match (transport, breach) {
        (_, Breach::Left) => (Id::LivenessLinkKept, "the connection stays open"),
        (Transport::WebSocket, _) => (Id::SessionFrames, "frames of RFC 6455"),
        (_, Breach::Malformed) => (Id::MqttPackets, "packets of MQTT 3.1.1"),
        (_, Breach::SecondConnect) => (Id::MqttOneConnect, "one CONNECT on a connection"),
        (_, Breach::KeepAlive) => (Id::MqttKeepAlive, "a packet within the keep-alive interval"),
    };
    sink.test(requirement, false, || evidence(expected, why, seq));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_be_as_long_as_what_it_quotes() {
        let (mut acknowledgements, mut sink) = (Acknowledgements::default(), Sink::default());
        let large = MqttNote::LargePacket { bytes: 9_000 };
        acknowledgements.sent(&"x".repeat(GATEWAY_PACKET_BYTES + 1));
        acknowledgements.note(&large, 1, &mut sink);
        assert!(sink.found.is_empty());
        acknowledgements.end_case(&mut sink);
        acknowledgements.sent("short");
        acknowledgements.note(&large, 2, &mut sink);
        assert_eq!(sink.found.len(), 1);
    }
}
