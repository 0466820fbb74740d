//! What a text frame of a device turns out to be.

use serde_json::{Map, Value};

use super::{Frame, scan};
use crate::limits::MAX_JSON_DEPTH;

/// A frame of a device, read as far as it can be read.
#[derive(Debug, Clone, PartialEq)]
pub enum Inbound {
    /// A control frame or audio: not a message.
    NotText,
    /// A binary frame that holds a JSON object: a message in the wrong kind of frame.
    JsonInBinary {
        /// The id found in it.
        id: Option<Value>,
    },
    /// A text frame that is not valid UTF-8.
    NotUtf8 {
        /// The id found in the readable part.
        id: Option<Value>,
    },
    /// A text frame that is not one JSON text.
    NotJson {
        /// The parser's reason, with line and column.
        why: String,
        /// The id found in the raw text.
        id: Option<Value>,
    },
    /// JSON, but no object.
    NotObject,
    /// A JSON object.
    Message(Box<Message>),
}

/// A JSON object that a device sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The envelope with all its members.
    pub envelope: Map<String, Value>,
    /// A member name that stands twice in one of its objects.
    pub duplicate: Option<String>,
    /// Size of the text in bytes.
    pub bytes: usize,
}

/// The payload of an `mcp` envelope by its shape, as JSON-RPC 2.0 sections 4 and 5 tell them apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Payload<'a> {
    /// Has `result` or `error`, or neither but no `method` either.
    Answer(&'a Map<String, Value>),
    /// Has a `method` and an `id`: the device asks the backend something.
    Request(&'a Map<String, Value>),
    /// Has a `method` and no `id`.
    Notification(&'a Map<String, Value>),
    /// An array: answers to a batch.
    Batch(&'a [Value]),
    /// Not an object, or absent.
    Invalid(Option<&'a Value>),
}

impl Inbound {
    /// Reads a frame. Never fails: what cannot be understood is a variant.
    pub fn read(frame: &Frame) -> Self {
        match frame {
            Frame::Text(text) => Self::read_text(text),
            Frame::NotUtf8(bytes) => {
                Self::NotUtf8 { id: scan::recover_id(&String::from_utf8_lossy(bytes)) }
            }
            Frame::Binary(bytes) if bytes.first() == Some(&b'{') => {
                match serde_json::from_slice::<Map<String, Value>>(bytes) {
                    Ok(_) => {
                        Self::JsonInBinary { id: scan::recover_id(&String::from_utf8_lossy(bytes)) }
                    }
                    Err(_) => Self::NotText,
                }
            }
            Frame::Binary(_) | Frame::Ping(_) | Frame::Pong(_) | Frame::Odd(..) => Self::NotText,
        }
    }

    fn read_text(text: &str) -> Self {
        let read = scan::read_json(text).or_else(|error| {
            let whole = scan::without_lone_surrogates(text).ok_or(error)?;
            scan::read_json(&whole)
        });
        match read {
            Ok((Value::Object(envelope), duplicate)) => {
                Self::Message(Box::new(Message { envelope, duplicate, bytes: text.len() }))
            }
            Ok(_) => Self::NotObject,
            Err(error) => Self::NotJson {
                why: if error.to_string().contains("recursion limit") {
                    format!("nested deeper than MAX_JSON_DEPTH ({MAX_JSON_DEPTH})")
                } else {
                    error.to_string()
                },
                id: scan::recover_id(text),
            },
        }
    }

    /// The message, when the frame is one.
    pub fn message(&self) -> Option<&Message> {
        match self {
            Self::Message(message) => Some(message),
            _ => None,
        }
    }

    /// The JSON-RPC payload, when the frame is an `mcp` envelope.
    pub fn payload(&self) -> Option<Payload<'_>> {
        self.message().filter(|message| message.kind() == Some("mcp")).map(Message::payload)
    }
}

impl Message {
    /// The envelope's `type`, when it is a string.
    pub fn kind(&self) -> Option<&str> {
        self.envelope.get("type").and_then(Value::as_str)
    }

    /// The payload by its shape.
    pub fn payload(&self) -> Payload<'_> {
        match self.envelope.get("payload") {
            Some(Value::Object(map)) => {
                let answers = map.contains_key("result") || map.contains_key("error");
                match (answers || !map.contains_key("method"), map.contains_key("id")) {
                    (true, _) => Payload::Answer(map),
                    (false, true) => Payload::Request(map),
                    (false, false) => Payload::Notification(map),
                }
            }
            Some(Value::Array(batch)) => Payload::Batch(batch),
            other => Payload::Invalid(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_million_brackets_are_read_without_harm() {
        let text = "[".repeat(1_000_000);
        let Inbound::NotJson { why, .. } = Inbound::read(&Frame::Text(text)) else {
            panic!("brackets are no JSON")
        };
        assert!(why.contains("nested deeper"), "{why}");
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in any::<String>()) {
            let _ = Inbound::read(&Frame::Text(text)).payload();
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Inbound::read(&Frame::NotUtf8(bytes.clone()));
            let _ = Inbound::read(&Frame::Binary(bytes));
        }
    }
}
