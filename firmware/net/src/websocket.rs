//! The WebSocket protocol of a client (RFC 6455), without sockets.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use edge_ws::{FrameHeader, FrameType};

use crate::url::Url;

/// Largest message in bytes: well above what a harness sends, and well below the memory of an
/// emulated board.
const LONGEST_MESSAGE: u64 = 16 << 20;
/// Largest payload of a control frame in bytes (RFC 6455 section 5.5).
const LONGEST_CONTROL: u64 = 125;

/// Numbers for masks and keys. They protect intermediaries, not secrets.
#[derive(Debug)]
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Noise(seed | 1)
    }

    pub(crate) fn next(&mut self) -> u32 {
        // xorshift64* by Marsaglia and Vigna.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
}

/// The request that opens a connection.
pub(crate) fn handshake(url: &Url<'_>, headers: &[(&str, String)], noise: &mut Noise) -> Vec<u8> {
    let mut out = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n",
        url.path,
        url.authority,
        key(noise)
    );
    for (name, value) in headers {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    out.push_str("\r\n");
    out.into_bytes()
}

/// 16 bytes in Base64.
fn key(noise: &mut Noise) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut key: String = (0..21)
        .map(|_| char::from(DIGITS[noise.next() as usize % 64]))
        .collect();
    // The last digit has two bits of 16 bytes; the rest of it must be 0.
    key.push(['A', 'Q', 'g', 'w'][noise.next() as usize % 4]);
    key.push_str("==");
    key
}

/// One frame on its way to the server, masked.
pub(crate) fn frame(kind: FrameType, mut payload: Vec<u8>, noise: &mut Noise) -> Vec<u8> {
    let header = FrameHeader {
        frame_type: kind,
        payload_len: payload.len() as u64,
        mask_key: Some(noise.next()),
    };
    header.mask(&mut payload, 0);
    let mut out = Vec::with_capacity(FrameHeader::MAX_LEN + payload.len());
    out.resize(header.serialized_len(), 0);
    // The buffer is as long as it has to be.
    let _ = header.serialize(&mut out);
    out.append(&mut payload);
    out
}

/// What the server sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A text message; it is not known to be UTF-8.
    Text {
        payload: Vec<u8>,
        /// It came in more than one frame.
        fragmented: bool,
    },
    /// A binary message.
    Binary(Vec<u8>),
    /// A ping to be answered.
    Ping(Vec<u8>),
    /// The server closes the connection.
    Close,
    /// What came is no WebSocket.
    Invalid,
}

/// Reads the frames of a server.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    header: Vec<u8>,
    /// The frame whose payload is being read, and how much of it is missing.
    frame: Option<(FrameType, usize)>,
    control: Vec<u8>,
    message: Vec<u8>,
    /// The kind of the message whose fragments are being read.
    open: Option<FrameType>,
    broken: bool,
}

impl Decoder {
    /// Takes bytes and gives what is complete with them. After something invalid nothing comes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut give: impl FnMut(Received)) {
        while !self.broken {
            match self.frame {
                None => {
                    let Some((first, rest)) = bytes.split_first() else {
                        return;
                    };
                    self.header.push(*first);
                    bytes = rest;
                    match FrameHeader::deserialize(&self.header) {
                        Ok((header, _)) => {
                            self.header.clear();
                            self.begin(&header);
                        }
                        Err(edge_ws::Error::Incomplete(_)) => {}
                        Err(_) => self.broken = true,
                    }
                }
                Some((kind, left)) => {
                    let (now, rest) = bytes.split_at(left.min(bytes.len()));
                    let buffer = match kind {
                        FrameType::Ping | FrameType::Pong | FrameType::Close => &mut self.control,
                        _ => &mut self.message,
                    };
                    buffer.extend_from_slice(now);
                    bytes = rest;
                    if now.len() < left {
                        self.frame = Some((kind, left - now.len()));
                        return;
                    }
                    self.frame = None;
                    if let Some(received) = self.finish(kind) {
                        give(received);
                    }
                }
            }
        }
        give(Received::Invalid);
    }

    fn begin(&mut self, header: &FrameHeader) {
        let is_data = !matches!(
            header.frame_type,
            FrameType::Ping | FrameType::Pong | FrameType::Close
        );
        let longest = if is_data {
            LONGEST_MESSAGE - self.message.len() as u64
        } else {
            LONGEST_CONTROL
        };
        let in_order = match header.frame_type {
            FrameType::Continue(_) => self.open.is_some(),
            FrameType::Text(_) | FrameType::Binary(_) => self.open.is_none(),
            _ => true,
        };
        // A server must not mask (section 5.1).
        if header.mask_key.is_some() || header.payload_len > longest || !in_order {
            self.broken = true;
            return;
        }
        // It is not larger than the longest message.
        let length = header.payload_len as usize;
        // A chip has less memory than that; the server is told by the end of the connection.
        if is_data && self.message.try_reserve_exact(length).is_err() {
            self.broken = true;
            return;
        }
        self.frame = Some((header.frame_type, length));
    }

    fn finish(&mut self, kind: FrameType) -> Option<Received> {
        match kind {
            FrameType::Ping => Some(Received::Ping(mem::take(&mut self.control))),
            FrameType::Pong => {
                self.control.clear();
                None
            }
            FrameType::Close => {
                self.broken = true;
                Some(Received::Close)
            }
            FrameType::Text(true) | FrameType::Binary(true) => {
                self.open = Some(kind);
                None
            }
            FrameType::Continue(false) => None,
            FrameType::Text(false) | FrameType::Binary(false) => Some(self.message(kind)),
            FrameType::Continue(true) => {
                let kind = self.open.take()?;
                Some(self.message(kind))
            }
        }
    }

    fn message(&mut self, kind: FrameType) -> Received {
        let payload = mem::take(&mut self.message);
        match kind {
            FrameType::Text(fragmented) => Received::Text {
                payload,
                fragmented,
            },
            _ => Received::Binary(payload),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use rstest::rstest;

    fn decode(bytes: &[u8], step: usize) -> Vec<Received> {
        let mut decoder = Decoder::default();
        let mut all = Vec::new();
        for part in bytes.chunks(step) {
            decoder.feed(part, |received| all.push(received));
        }
        all
    }

    #[rstest]
    #[case(1)]
    #[case(3)]
    #[case(1000)]
    fn messages_are_found_however_the_bytes_come(#[case] step: usize) {
        let mut bytes = vec![
            0x01, 2, b'a', b'b', 0x89, 1, b'p', 0x80, 1, b'c', 0x82, 126, 1, 0,
        ];
        bytes.extend([b'x'; 256]);
        bytes.extend([0x81, 0]);
        assert_eq!(
            decode(&bytes, step),
            [
                Received::Ping(b"p".to_vec()),
                Received::Text {
                    payload: b"abc".to_vec(),
                    fragmented: true
                },
                Received::Binary(vec![b'x'; 256]),
                Received::Text {
                    payload: Vec::new(),
                    fragmented: false
                },
            ]
        );
    }

    #[rstest]
    #[case::reserved_bit(&[0xc1, 0])]
    #[case::reserved_opcode(&[0x83, 0])]
    #[case::masked(&[0x81, 0x80, 1, 2, 3, 4])]
    #[case::continuation_of_nothing(&[0x80, 0])]
    #[case::message_in_message(&[0x01, 0, 0x81, 0])]
    #[case::long_ping(&[0x89, 126, 0, 200])]
    #[case::enormous(&[0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0])]
    fn what_breaks_the_protocol_ends_the_reading(#[case] bytes: &[u8]) {
        assert_eq!(decode(bytes, 1000), [Received::Invalid]);
    }

    #[test]
    fn frames_are_masked_and_can_be_read_back() {
        let mut noise = Noise::new(7);
        for length in [0, 125, 126, 65_535, 65_536] {
            let bytes = frame(FrameType::Text(false), vec![b'y'; length], &mut noise);
            let (header, start) = FrameHeader::deserialize(&bytes).expect("a header");
            assert_eq!(header.frame_type, FrameType::Text(false));
            let mut payload = bytes[start..].to_vec();
            header.mask(&mut payload, 0);
            assert_eq!(payload, vec![b'y'; length]);
        }
    }

    #[test]
    fn keys_are_16_bytes_and_differ() {
        let mut noise = Noise::new(1);
        let (one, other) = (key(&mut noise), key(&mut noise));
        assert_eq!((one.len(), other.len()), (24, 24));
        assert_ne!(one, other);
    }
}
