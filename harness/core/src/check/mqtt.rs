//! Checks on what lies below the messages of an MQTT link.

use super::sink::{Sink, evidence};
use crate::limits::GATEWAY_PACKET_BYTES;
use crate::transcript::{Breach, MqttConnect, MqttNote};

/// What every PUBLISH of a device shows; the notes before it tell where it is wrong.
const ON_PUBLISH: [&str; 6] = [
    "mqtt.packets",
    "mqtt.one-connect",
    "mqtt.qos",
    "mqtt.qos-0",
    "mqtt.retain",
    "mqtt.packet-size",
];

/// Messages with QoS 1 that wait for their PUBACK.
#[derive(Debug, Default)]
pub(crate) struct Acknowledgements {
    /// Where they were sent.
    wanted: Vec<u64>,
}

impl Acknowledgements {
    /// Takes a remark of the link.
    pub(crate) fn note(&mut self, note: &MqttNote, seq: u64, sink: &mut Sink) {
        match note {
            MqttNote::AckWanted => self.wanted.push(seq),
            MqttNote::Acknowledged => {
                // Acknowledgements come in the order of the messages (MQTT 3.1.1, 4.6).
                if !self.wanted.is_empty() {
                    self.wanted.remove(0);
                }
                sink.held("mqtt.puback");
            }
            MqttNote::Ping => sink.held("mqtt.keep-alive"),
            // Legal, and without effect.
            MqttNote::Subscribed { .. } | MqttNote::Redelivered => {}
            MqttNote::Topic { topic } => {
                sink.test_once("mqtt.publish-topic", false, || {
                    let received = format!("a message to the topic `{topic}`");
                    evidence("messages to the configured publish_topic", received, seq)
                });
            }
            MqttNote::Qos { qos } => {
                sink.test_once("mqtt.qos", *qos < 2, || {
                    evidence("QoS 0 or 1", format!("a message with QoS {qos}"), seq)
                });
                sink.test_once("mqtt.qos-0", false, || {
                    evidence("QoS 0", format!("a message with QoS {qos}"), seq)
                });
            }
            MqttNote::Retained => {
                sink.test_once("mqtt.retain", false, || {
                    let received = "a message with the retain flag";
                    evidence("messages that are not retained", received, seq)
                });
            }
            MqttNote::LargePacket { bytes } => {
                sink.test_once("mqtt.packet-size", false, || {
                    evidence(
                        format!("packets of at most {GATEWAY_PACKET_BYTES} bytes"),
                        format!("a PUBLISH packet of {bytes} bytes"),
                        seq,
                    )
                });
            }
        }
    }

    /// The link is gone, and with it the duty to acknowledge.
    pub(crate) fn link_down(&mut self) {
        self.wanted.clear();
    }

    /// What was not acknowledged by the end of the case is not going to be.
    pub(crate) fn end_case(&mut self, sink: &mut Sink) {
        for seq in self.wanted.drain(..) {
            sink.test("mqtt.puback", false, || {
                evidence("PUBACK for a message with QoS 1", "none", seq)
            });
        }
    }
}

/// Judges a CONNECT packet that was accepted.
pub(crate) fn judge_connect(connect: &MqttConnect, seq: u64, sink: &mut Sink) {
    if connect.credentials {
        sink.held("mqtt.credentials");
    }
    if connect.publish_topic.is_some() {
        // Broken by the first message to another topic.
        sink.held("mqtt.publish-topic");
    }
    judge_keep_alive(connect, seq, sink);
    if let Some(given) = &connect.given_client_id {
        sink.test_once("mqtt.client-id", connect.client_id == *given, || {
            let received = format!("client id `{}`", connect.client_id);
            evidence(
                format!("the client id of its configuration, `{given}`"),
                received,
                seq,
            )
        });
    }
}

/// Judges the keep-alive of a CONNECT packet: a shorter one than was configured does no harm.
fn judge_keep_alive(connect: &MqttConnect, seq: u64, sink: &mut Sink) {
    let (promised, Some(given)) = (connect.keep_alive_s, connect.given_keep_alive_s) else {
        return;
    };
    let kept = (1..=given).contains(&promised);
    sink.test_once("mqtt.keep-alive-configured", kept, || {
        let received = match promised {
            0 => "none promised".to_owned(),
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
pub(crate) fn judge_breach(breach: Breach, why: &str, seq: u64, sink: &mut Sink) {
    let (requirement, expected) = match breach {
        Breach::Malformed => ("mqtt.packets", "packets of MQTT 3.1.1"),
        Breach::SecondConnect => ("mqtt.one-connect", "one CONNECT on a connection"),
        Breach::KeepAlive => ("mqtt.keep-alive", "a packet within the keep-alive interval"),
    };
    sink.test(requirement, false, || evidence(expected, why, seq));
}
