//! Checks on the audio channel that a device opens over MQTT.

use mcp_hil_core::catalogue::RequirementId as Id;
use serde_json::Value;

use super::sink::{Sink, evidence};
use mcp_hil_core::transcript::AudioSeen;

/// How long after a goodbye packets may still come in, in microseconds: they may have been on
/// their way, and the device reads the goodbye after what came before it.
const GRACE_US: u64 = 500_000;

/// For how long after a goodbye that names another session nothing must have come before the device
/// has obeyed it, in microseconds: it sends a packet each 60 ms while it listens.
const SILENCE_US: u64 = 2_000_000;

/// What is known of the channel.
#[derive(Debug, Default)]
pub(crate) struct Channel {
    /// When the server said goodbye, in microseconds of the session.
    goodbye_us: Option<u64>,
    /// When, in the midst of audio, it said goodbye to another session.
    foreign_us: Option<u64>,
    /// When the last packet came, as far as summaries told.
    last_us: Option<u64>,
    /// Packets of the last summary.
    packets: u64,
    /// Whether a packet of any channel has come.
    has_heard: bool,
    /// What was told of this channel already: header, encryption, key, order, sound after the goodbye.
    told: [bool; 5],
}

impl Channel {
    /// Whether any audio has come in the session.
    pub(crate) fn has_heard(&self) -> bool {
        self.has_heard
    }

    /// The server said hello: the channel is offered anew.
    pub(crate) fn offered(&mut self) {
        *self = Self { has_heard: self.has_heard, ..Self::default() };
    }

    /// The harness sent a text. A goodbye for this session ends the channel.
    pub(crate) fn sent(&mut self, text: &str, session: &str, at_us: u64) {
        // Nearly all messages are none: one look at the text spares the parser.
        if !text.contains("goodbye") {
            return;
        }
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        let says =
            |name: &str, value: &str| message.get(name).and_then(Value::as_str) == Some(value);
        if !says("type", "goodbye") {
            return;
        }
        if says("session_id", session) {
            self.goodbye_us.get_or_insert(at_us);
            self.foreign_us = None;
        } else if self.goodbye_us.is_none()
            && let Some(last) = self.last_us.filter(|last| at_us < last + GRACE_US)
        {
            self.foreign_us = Some(at_us.max(last));
        }
    }

    /// The device said something of its own, or is gone: where its audio stops, that may be why.
    pub(crate) fn unsettled(&mut self) {
        self.foreign_us = None;
    }

    /// A summary of what has come.
    pub(crate) fn heard(&mut self, seen: &AudioSeen, at_us: u64, seq: u64, sink: &mut Sink) {
        if seen.packets < self.packets {
            // A new channel.
            self.told = [false; 5];
        }
        self.packets = seen.packets;
        if seen.packets == 0 {
            return;
        }
        self.has_heard = true;
        let last_us = at_us.saturating_sub(seen.idle_ms.unwrap_or(0).saturating_mul(1000));
        self.last_us = Some(last_us);
        if let Some(foreign) = self.foreign_us {
            let goes_on = last_us > foreign + GRACE_US;
            if goes_on || at_us > foreign + SILENCE_US {
                self.foreign_us = None;
                sink.test(Id::SessionGoodbyeForeign, goes_on, || {
                    let silent_ms = at_us.saturating_sub(last_us) / 1000;
                    evidence(
                        "audio continues after a goodbye that names a different session",
                        format!("none for {silent_ms} ms"),
                        seq,
                    )
                });
            }
        }
        let late = self.goodbye_us.and_then(|goodbye| {
            (at_us > goodbye + GRACE_US).then(|| last_us.saturating_sub(goodbye))
        });
        let rules = [
            (
                Id::ChannelHeader,
                Some(seen.first_bad.clone()),
                "a 16-byte header: 01, flags and ssrc of the nonce, the length of the audio",
            ),
            (
                Id::ChannelEncrypted,
                Some(seen.same_start.clone()),
                "audio whose first byte is another one in each packet, as AES-128-CTR makes it",
            ),
            (
                Id::ChannelEncrypted,
                Some(seen.old_key.clone()),
                "audio encrypted with the key of the last hello",
            ),
            (
                Id::ChannelSequence,
                seen.last_sequence.map(|_| seen.first_disorder.clone()),
                "sequence numbers that start at 1 and increase",
            ),
            (
                Id::ChannelStops,
                late.map(|late_us| {
                    (late_us > GRACE_US).then(|| format!("a packet {} ms after it", late_us / 1000))
                }),
                "no audio after the server's goodbye",
            ),
        ];
        for (told, (requirement, judged, expected)) in self.told.iter_mut().zip(rules) {
            // The counters go on; what they hold is told once.
            let Some(fault) = judged.filter(|_| !*told) else {
                continue;
            };
            *told = fault.is_some();
            sink.test(requirement, fault.is_none(), || {
                evidence(expected, fault.unwrap_or_default(), seq)
            });
        }
    }
}
