//! One unit of the transport, before any judgement.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::{BINARY_BYTES_KEPT, MAX_MESSAGE_BYTES};

/// What crossed the link as one unit, in either direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A text message.
    Text(String),
    /// A text message that is not valid UTF-8, as raw bytes.
    NotUtf8(Vec<u8>),
    /// A binary message: audio, as a rule.
    Binary(Vec<u8>),
    /// A WebSocket ping with its data.
    Ping(Vec<u8>),
    /// A WebSocket pong with its data.
    Pong(Vec<u8>),
    /// A text in a WebSocket frame in which no server may send it.
    Odd(OddFrame, String),
}

/// What is wrong with a WebSocket frame of a server, so that a client fails the connection (RFC 6455).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OddFrame {
    /// It is masked (section 5.1).
    Masked,
    /// A bit is set that is reserved for extensions (section 5.2).
    ReservedBit,
    /// Its opcode is one that nobody has defined (section 5.2).
    UnknownOpcode,
    /// It continues a message that has not begun (section 5.4).
    Continuation,
    /// It stands between the fragments of another message (section 5.4).
    Between,
    /// Its text is no UTF-8, but Latin-1 (section 8.1).
    NotUtf8,
    /// It is a ping, of which it says that more of it follows (section 5.5).
    CutPing,
}

impl OddFrame {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Masked,
        Self::ReservedBit,
        Self::UnknownOpcode,
        Self::Continuation,
        Self::Between,
        Self::NotUtf8,
        Self::CutPing,
    ];

    /// As scenarios call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Masked => "masked",
            Self::ReservedBit => "reserved-bit",
            Self::UnknownOpcode => "unknown-opcode",
            Self::Continuation => "continuation",
            Self::Between => "between",
            Self::NotUtf8 => "not-utf8",
            Self::CutPing => "cut-ping",
        }
    }

    /// Whether it is a ping, and no message.
    pub fn is_ping(self) -> bool {
        self == Self::CutPing
    }
}

impl Frame {
    /// The data.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) | Self::Odd(_, text) => text.as_bytes(),
            Self::NotUtf8(bytes) | Self::Binary(bytes) | Self::Ping(bytes) | Self::Pong(bytes) => {
                bytes
            }
        }
    }

    /// Size of the data in bytes.
    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    /// Whether the frame carries no data.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text for people: as it is, or with what is not UTF-8 made visible.
    pub fn display(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::NotUtf8(bytes) => bytes.escape_ascii().to_string(),
            Self::Binary(bytes) => format!("binary frame, {} bytes", bytes.len()),
            Self::Ping(_) => "ping".to_owned(),
            Self::Pong(_) => "pong".to_owned(),
            Self::Odd(how, text) => format!("in a frame that is odd ({}): {text}", how.name()),
        }
    }
}

/// The form in transcript files. Binary data that is audio is cut to its first bytes: it is
/// counted, never judged.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Stored<'a> {
    Text(std::borrow::Cow<'a, str>),
    NotUtf8(String),
    Binary { length: usize, hex: String },
    Ping(String),
    Pong(String),
    Odd { frame: OddFrame, text: std::borrow::Cow<'a, str> },
}

impl Serialize for Frame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => Stored::Text(text.as_str().into()),
            Self::NotUtf8(bytes) => Stored::NotUtf8(to_hex(bytes)),
            Self::Binary(bytes) => Stored::Binary {
                length: bytes.len(),
                hex: to_hex(if bytes.first() == Some(&b'{') {
                    bytes
                } else {
                    &bytes[..bytes.len().min(BINARY_BYTES_KEPT)]
                }),
            },
            Self::Ping(bytes) => Stored::Ping(to_hex(bytes)),
            Self::Pong(bytes) => Stored::Pong(to_hex(bytes)),
            Self::Odd(frame, text) => Stored::Odd { frame: *frame, text: text.as_str().into() },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Frame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = |hex: &str| from_hex(hex).ok_or_else(|| serde::de::Error::custom("odd hex"));
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Text(text) => Self::Text(text.into_owned()),
            Stored::NotUtf8(hex) => Self::NotUtf8(bytes(&hex)?),
            Stored::Binary { length, hex } => {
                let kept = bytes(&hex)?;
                if !(kept.len()..=MAX_MESSAGE_BYTES).contains(&length) {
                    return Err(serde::de::Error::custom("no length of a binary frame"));
                }
                // Zeros that nobody reads take no memory: many lines may tell of long frames.
                let mut data = vec![0; length];
                data[..kept.len()].copy_from_slice(&kept);
                Self::Binary(data)
            }
            Stored::Ping(hex) => Self::Ping(bytes(&hex)?),
            Stored::Pong(hex) => Self::Pong(bytes(&hex)?),
            Stored::Odd { frame, text } => Self::Odd(frame, text.into_owned()),
        })
    }
}

/// Bytes as hexadecimal digits.
pub fn to_hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

/// Bytes of a hexadecimal text, in either case; `None` when it is none.
pub fn from_hex(hex: &str) -> Option<Vec<u8>> {
    HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame() -> impl Strategy<Value = Frame> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..24);
        prop_oneof![
            any::<String>().prop_map(Frame::Text),
            bytes().prop_map(Frame::NotUtf8),
            bytes().prop_map(Frame::Binary),
            bytes().prop_map(Frame::Ping),
            bytes().prop_map(Frame::Pong),
            any::<String>().prop_map(|text| Frame::Odd(OddFrame::Between, text)),
        ]
    }

    proptest! {
        #[test]
        fn a_stored_frame_reads_back_equal(frame in frame()) {
            let line = serde_json::to_string(&frame).unwrap();
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(serde_json::from_str::<Frame>(&line).unwrap(), frame);
        }
    }

    #[test]
    fn a_length_that_no_frame_has_is_refused() {
        let stored = |length: u64| format!(r#"{{"binary":{{"length":{length},"hex":"0102"}}}}"#);
        let read = |length| serde_json::from_str::<Frame>(&stored(length));
        assert_eq!(read(3).unwrap(), Frame::Binary(vec![1, 2, 0]));
        for wrong in [1, MAX_MESSAGE_BYTES as u64 + 1, u64::MAX] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_sign_is_no_hexadecimal_digit() {
        assert_eq!(from_hex("0aFf"), Some(vec![0x0a, 0xff]));
        for wrong in ["+1", "0x", "abc", "é"] {
            assert_eq!(from_hex(wrong), None, "{wrong}");
        }
    }
}
