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

/// Events that may wait to be fetched, and the bytes of messages among them beyond which nothing more is
/// taken. So it is one large message at most, or as much as a server sends in a burst.
const MOST_WAITING: usize = 32;
const MOST_WAITING_BYTES: usize = 8 << 10;

/// A live connection.
pub(crate) struct Link {
    pub(crate) stream: Stream,
    pub(crate) protocol: Protocol,
    events: VecDeque<Event>,
    /// Bytes of the messages among them.
    waiting: usize,
    /// What has to be sent without the device's doing.
    outgoing: Vec<u8>,
    /// The server has said goodbye, and the connection is left as it is.
    forsaken: bool,
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
            waiting: 0,
            outgoing: Vec::new(),
            forsaken: false,
        }
    }

    /// Takes bytes from the server; how many. What has come and was not fetched is memory, so beyond a
    /// limit nothing more is taken, and the server has to wait.
    pub(crate) fn feed(&mut self, bytes: &[u8], noise: &mut Noise) -> usize {
        let mut rest = bytes;
        while self.has_room() && !rest.is_empty() {
            let event = match &mut self.protocol {
                Protocol::Websocket { decoder, options } => {
                    let Some(received) = decoder.feed(&mut rest) else {
                        break;
                    };
                    match received {
                        Received::Close { .. } if options.lingers => {
                            if !options.drop_closes {
                                self.outgoing.extend(closing(noise));
                            }
                            self.forsaken = true;
                            None
                        }
                        // Nothing that follows a Close frame can be read.
                        Received::Invalid if self.forsaken => return bytes.len(),
                        received => event(received, *options, &mut self.outgoing, noise),
                    }
                }
                Protocol::Mqtt { client, .. } => match client.feed(&mut rest) {
                    Some(message) => Some(Event::Message(message)),
                    None => ended(client),
                },
            };
            let Some(event) = event else { continue };
            self.waiting += match &event {
                Event::Text { text, .. } => text.len(),
                Event::Binary(bytes) | Event::Message(bytes) => bytes.len(),
                Event::Refused { .. } | Event::Nothing | Event::Closed => 0,
            };
            self.events.push_back(event);
        }
        bytes.len() - rest.len()
    }

    /// Whether more may come before something is fetched.
    fn has_room(&self) -> bool {
        self.events.len() < MOST_WAITING && self.waiting < MOST_WAITING_BYTES
    }

    /// Fetches what has come.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front();
        if self.events.is_empty() {
            self.waiting = 0;
        }
        event
    }

    /// The connection is gone: what has come can still be fetched.
    pub(crate) fn closed(&mut self) {
        // It is told once, however often it is noticed before somebody fetches it.
        if !matches!(self.events.back(), Some(Event::Closed)) {
            self.events.push_back(Event::Closed);
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

/// What the device gets to know of a frame.
fn event(
    received: Received,
    options: LinkOptions,
    outgoing: &mut Vec<u8>,
    noise: &mut Noise,
) -> Option<Event> {
    Some(match received {
        Received::Text { payload, fragmented } => match String::from_utf8(payload) {
            Ok(text) => Event::Text { text, fragmented: fragmented && options.watch_fragments },
            Err(error) if options.takes_any_text => {
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                Event::Text { text, fragmented: fragmented && options.watch_fragments }
            }
            // RFC 6455 section 8.1: such a connection has failed.
            Err(_) => Event::Closed,
        },
        Received::Binary(payload) => Event::Binary(payload),
        Received::Ping(mut payload) => {
            let is_long = payload.len() as u64 == websocket::LONGEST_CONTROL;
            let drops = options.drop_pongs
                || options.drop_long_pongs && is_long
                || options.drop_empty_pongs && payload.is_empty();
            if options.cut_pongs
                && let Some(zero) = payload.iter().position(|byte| *byte == 0)
            {
                payload.truncate(zero);
            }
            if !drops {
                outgoing.extend(websocket::frame(FrameType::Pong, payload, noise));
            }
            return None;
        }
        Received::Pong if options.ends_at_pong => Event::Closed,
        Received::Pong => return None,
        Received::Close { has_reason } => {
            if !(options.drop_closes || has_reason && options.ends_at_reason) {
                outgoing.extend(closing(noise));
            }
            Event::Closed
        }
        Received::TooLarge(bytes) => {
            outgoing.extend(websocket::refusal(noise));
            Event::Refused { bytes }
        }
        Received::Invalid => Event::Closed,
    })
}

/// The Close frame that answers the server's.
fn closing(noise: &mut Noise) -> Vec<u8> {
    websocket::frame(FrameType::Close, Vec::new(), noise)
}

/// How a connection to a broker has ended, if it has.
fn ended(client: &mut Client) -> Option<Event> {
    if let Some(bytes) = client.take_refused() {
        return Some(Event::Refused { bytes });
    }
    client.is_closed().then_some(Event::Closed)
}

/// The bytes of a frame.
pub(crate) fn encode(frame: Frame, noise: &mut Noise) -> Vec<u8> {
    let (kind, payload) = match frame {
        Frame::Text(text) => (FrameType::Text(false), text.into_bytes()),
        Frame::RawText(bytes) => (FrameType::Text(false), bytes),
        Frame::Binary(bytes) => (FrameType::Binary(false), bytes),
        Frame::Close(code) => (FrameType::Close, code.to_be_bytes().to_vec()),
    };
    websocket::frame(kind, payload, noise)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a Close frame of the server leads to: events, and whether something is sent.
    fn closed(options: LinkOptions) -> (usize, bool) {
        let protocol = Protocol::Websocket { decoder: Decoder::default(), options };
        let mut link = Link::new(Stream::default(), protocol);
        link.feed(&[0x88, 2, 3, 0xe8], &mut Noise::new(1));
        let answered = !link.take_outgoing(0).is_empty();
        (link.events.len(), answered)
    }

    #[test]
    fn a_close_frame_is_answered_unless_a_defect_has_it_otherwise() {
        let drops = LinkOptions { drop_closes: true, ..LinkOptions::default() };
        let lingers = LinkOptions { lingers: true, ..drops };
        let (events, answered) = closed(LinkOptions::default());
        assert!(events > 0 && answered);
        let (events, answered) = closed(drops);
        assert!(events > 0 && !answered);
        assert_eq!(closed(lingers), (0, false));
    }
}
