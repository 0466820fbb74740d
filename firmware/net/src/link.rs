//! The connection to the server over one of the two transports, as far as it needs no sockets.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use edge_ws::FrameType;
use reference_body::{Event, Frame, LinkOptions};

use crate::mqtt::Client;
use crate::stack::Stream;
use crate::websocket::{self, Decoder, Noise, Received};

/// A live connection.
pub(crate) struct Link {
    pub(crate) stream: Stream,
    pub(crate) protocol: Protocol,
    pub(crate) events: VecDeque<Event>,
    /// What has to be sent without the device's doing.
    pub(crate) outgoing: Vec<u8>,
}

/// What is spoken on it.
pub(crate) enum Protocol {
    Websocket {
        decoder: Decoder,
        options: LinkOptions,
    },
    Mqtt {
        client: Box<Client>,
        /// When the next sign of life is due, and how many milliseconds lie between two.
        ping: Option<(u64, u64)>,
    },
}

impl Link {
    pub(crate) fn new(stream: Stream, protocol: Protocol) -> Self {
        Link {
            stream,
            protocol,
            events: VecDeque::new(),
            outgoing: Vec::new(),
        }
    }

    /// Takes bytes from the server.
    pub(crate) fn feed(&mut self, bytes: &[u8], noise: &mut Noise) {
        let Link {
            protocol,
            events,
            outgoing,
            ..
        } = self;
        match protocol {
            Protocol::Websocket { decoder, options } => decoder.feed(bytes, |received| {
                let event = match received {
                    Received::Text {
                        payload,
                        fragmented,
                    } => match String::from_utf8(payload) {
                        Ok(text) => Event::Text {
                            text,
                            fragmented: fragmented && options.watch_fragments,
                        },
                        // RFC 6455 section 8.1: such a connection has failed.
                        Err(_) => Event::Closed,
                    },
                    Received::Binary(payload) => Event::Binary(payload),
                    Received::Ping(payload) => {
                        if !options.drop_pongs {
                            outgoing.extend(websocket::frame(FrameType::Pong, payload, noise));
                        }
                        return;
                    }
                    Received::Close => {
                        outgoing.extend(websocket::frame(FrameType::Close, Vec::new(), noise));
                        Event::Closed
                    }
                    Received::Invalid => Event::Closed,
                };
                events.push_back(event);
            }),
            Protocol::Mqtt { client, .. } => {
                client.feed(bytes);
                while let Some(message) = client.next_message() {
                    events.push_back(Event::Message(message));
                }
                if client.is_closed() {
                    events.push_back(Event::Closed);
                }
            }
        }
    }

    /// The bytes that have to be sent by now.
    pub(crate) fn take_outgoing(&mut self, now: u64) -> Vec<u8> {
        if let Protocol::Mqtt { client, ping } = &mut self.protocol {
            if let Some((due, interval)) = ping
                && *due <= now
            {
                client.ping();
                *due = now + *interval;
            }
            self.outgoing.extend(client.take_outgoing());
        }
        core::mem::take(&mut self.outgoing)
    }

    /// When a sign of life is due, if any.
    pub(crate) fn ping_due(&self) -> Option<u64> {
        match &self.protocol {
            Protocol::Mqtt { ping, .. } => ping.map(|(due, _)| due),
            Protocol::Websocket { .. } => None,
        }
    }
}

/// The bytes of a frame.
pub(crate) fn encode(frame: Frame, noise: &mut Noise) -> Vec<u8> {
    let (kind, payload) = match frame {
        Frame::Text(text) => (FrameType::Text(false), text.into_bytes()),
        Frame::RawText(bytes) => (FrameType::Text(false), bytes),
        Frame::Binary(bytes) => (FrameType::Binary(false), bytes),
    };
    websocket::frame(kind, payload, noise)
}
