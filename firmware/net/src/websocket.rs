//! The WebSocket protocol of a client (RFC 6455), without sockets.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use edge_ws::{FrameHeader, FrameType};
use reference_device::LARGEST_MESSAGE;

use crate::url::Url;

/// Largest payload of a control frame in bytes (RFC 6455 section 5.5).
pub(crate) const LONGEST_CONTROL: u64 = 125;

/// Bytes of the code that a Close frame begins with (RFC 6455 section 5.5.1).
const CODE_BYTES: usize = 2;
/// Status of a close: a message is too big to be processed (RFC 6455 section 7.4.1).
const TOO_BIG: u16 = 1009;

/// Bits of the first byte of a frame (section 5.2): it is the last of its message, it is a control frame.
const LAST: u8 = 0x80;
const CONTROL: u8 = 0x08;

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
    let mut key: String = (0..21).map(|_| char::from(DIGITS[noise.next() as usize % 64])).collect();
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

/// The frame that closes the connection because a message is too large.
pub(crate) fn refusal(noise: &mut Noise) -> Vec<u8> {
    let mut payload = TOO_BIG.to_be_bytes().to_vec();
    payload.extend(format!("at most {LARGEST_MESSAGE} bytes").into_bytes());
    frame(FrameType::Close, payload, noise)
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
    /// A pong, which nothing answers.
    Pong,
    /// The server closes the connection.
    Close {
        /// It says why.
        has_reason: bool,
    },
    /// A message of so many bytes was announced, for which there is no memory.
    TooLarge(u64),
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
    is_over: bool,
}

impl Decoder {
    /// Takes bytes off the front until something is complete, or all are taken. After a refusal, a
    /// close or something invalid nothing comes any more.
    pub(crate) fn feed(&mut self, bytes: &mut &[u8]) -> Option<Received> {
        loop {
            if self.is_over {
                *bytes = &[];
                return None;
            }
            match self.frame {
                None => {
                    let (first, rest) = bytes.split_first()?;
                    self.header.push(*first);
                    *bytes = rest;
                    let begun = match FrameHeader::deserialize(&self.header) {
                        Ok((header, _)) => {
                            // A control frame is whole (section 5.5); the library does not look.
                            let is_cut = self.header[0] & (LAST | CONTROL) == CONTROL;
                            self.header.clear();
                            match is_cut {
                                true => Err(Received::Invalid),
                                false => self.begin(&header),
                            }
                        }
                        Err(edge_ws::Error::Incomplete(_)) => Ok(()),
                        Err(_) => Err(Received::Invalid),
                    };
                    if let Err(reason) = begun {
                        self.is_over = true;
                        return Some(reason);
                    }
                }
                Some((kind, left)) => {
                    let (now, rest) = bytes.split_at(left.min(bytes.len()));
                    let buffer = match kind {
                        FrameType::Ping | FrameType::Pong | FrameType::Close => &mut self.control,
                        _ => &mut self.message,
                    };
                    buffer.extend_from_slice(now);
                    *bytes = rest;
                    if now.len() < left {
                        self.frame = Some((kind, left - now.len()));
                        return None;
                    }
                    self.frame = None;
                    let received = self.finish(kind);
                    if received.is_some() {
                        return received;
                    }
                }
            }
        }
    }

    /// The header of a frame is there: takes memory for its payload, or none.
    fn begin(&mut self, header: &FrameHeader) -> Result<(), Received> {
        let is_data =
            !matches!(header.frame_type, FrameType::Ping | FrameType::Pong | FrameType::Close);
        let in_order = match header.frame_type {
            FrameType::Continue(_) => self.open.is_some(),
            FrameType::Text(_) | FrameType::Binary(_) => self.open.is_none(),
            _ => header.payload_len <= LONGEST_CONTROL,
        };
        // A server must not mask (section 5.1).
        if header.mask_key.is_some() || !in_order {
            return Err(Received::Invalid);
        }
        if is_data {
            let total = header.payload_len.saturating_add(self.message.len() as u64);
            let is_fragment =
                !matches!(header.frame_type, FrameType::Text(false) | FrameType::Binary(false));
            // It is not larger than the largest message where it counts.
            let length = header.payload_len as usize;
            if total > LARGEST_MESSAGE as u64 || !self.reserve(length, is_fragment) {
                self.message = Vec::new();
                return Err(Received::TooLarge(total));
            }
        }
        self.frame = Some((header.frame_type, header.payload_len as usize));
        Ok(())
    }

    /// Takes memory for so many bytes more. A message in fragments gets all that it may ever need with the
    /// first one: to grow it would have to be there twice, and leave one hole after another in the heap.
    fn reserve(&mut self, length: usize, is_fragment: bool) -> bool {
        let message = &mut self.message;
        let rest = LARGEST_MESSAGE.saturating_sub(message.len());
        (is_fragment && message.try_reserve_exact(rest).is_ok())
            || message.try_reserve_exact(length).is_ok()
    }

    fn finish(&mut self, kind: FrameType) -> Option<Received> {
        match kind {
            FrameType::Ping => Some(Received::Ping(mem::take(&mut self.control))),
            FrameType::Pong => {
                self.control.clear();
                Some(Received::Pong)
            }
            FrameType::Close => {
                self.is_over = true;
                Some(Received::Close { has_reason: self.control.len() > CODE_BYTES })
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
            FrameType::Text(fragmented) => Received::Text { payload, fragmented },
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
        for mut part in bytes.chunks(step) {
            while let Some(received) = decoder.feed(&mut part) {
                all.push(received);
            }
            assert!(part.is_empty());
        }
        all
    }

    #[rstest]
    #[case(1)]
    #[case(3)]
    #[case(1000)]
    fn messages_are_found_however_the_bytes_come(#[case] step: usize) {
        let mut bytes = vec![0x01, 2, b'a', b'b', 0x89, 1, b'p', 0x80, 1, b'c', 0x82, 126, 1, 0];
        bytes.extend([b'x'; 256]);
        bytes.extend([0x81, 0]);
        assert_eq!(
            decode(&bytes, step),
            [
                Received::Ping(b"p".to_vec()),
                Received::Text { payload: b"abc".to_vec(), fragmented: true },
                Received::Binary(vec![b'x'; 256]),
                Received::Text { payload: Vec::new(), fragmented: false },
            ]
        );
    }

    #[rstest]
    #[case::reserved_bit(&[0xc1, 0])]
    #[case::reserved_opcode(&[0x83, 0])]
    #[case::masked(&[0x81, 0x80, 1, 2, 3, 4])]
    #[case::control_in_pieces(&[0x09, 1, b'p'])]
    #[case::continuation_of_nothing(&[0x80, 0])]
    #[case::message_in_message(&[0x01, 0, 0x81, 0])]
    #[case::long_ping(&[0x89, 126, 0, 200])]
    fn what_breaks_the_protocol_ends_the_reading(#[case] bytes: &[u8]) {
        assert_eq!(decode(bytes, 1000), [Received::Invalid]);
    }

    /// The header is enough: no memory is taken for what it announces.
    #[rstest]
    #[case::one_more(&[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0], 65_536)]
    #[case::enormous(&[0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0], 1 << 32)]
    #[case::no_size(&[0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255], u64::MAX)]
    #[case::in_fragments(&[0x01, 1, b'x', 0x80, 126, 0xff, 0xff], 65_536)]
    fn a_message_that_is_too_large_is_refused_before_it_comes(
        #[case] bytes: &[u8],
        #[case] size: u64,
    ) {
        let mut bytes = bytes.to_vec();
        bytes.extend([0x81, 1, b'y']);
        assert_eq!(decode(&bytes, 1000), [Received::TooLarge(size)]);
    }

    #[rstest]
    #[case::whole(&[LARGEST_MESSAGE])]
    #[case::in_fragments(&[60_000, 5_000, 535])]
    #[case::in_many_fragments(&[655; 100])]
    fn the_largest_message_is_taken(#[case] parts: &[usize]) {
        let mut bytes = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let last = u8::from(index + 1 == parts.len()) << 7;
            bytes.extend([last | u8::from(index == 0), 126]);
            bytes.extend(u16::try_from(*part).expect("a length").to_be_bytes());
            bytes.extend(vec![b'x'; *part]);
        }
        let all = decode(&bytes, 1460);
        let [Received::Text { payload, .. }] = &*all else {
            panic!("{} received", all.len());
        };
        let whole: usize = parts.iter().sum();
        assert_eq!((payload.len(), payload.capacity()), (whole, LARGEST_MESSAGE));
    }

    #[test]
    fn what_follows_a_message_is_left() {
        let mut bytes: &[u8] = &[0x81, 1, b'a', 0x81, 1, b'b'];
        let mut decoder = Decoder::default();
        assert!(decoder.feed(&mut bytes).is_some());
        assert_eq!(bytes, [0x81, 1, b'b']);
    }

    #[test]
    fn the_refusal_says_why() {
        let bytes = refusal(&mut Noise::new(7));
        let (header, start) = FrameHeader::deserialize(&bytes).expect("a header");
        let mut payload = bytes[start..].to_vec();
        header.mask(&mut payload, 0);
        assert_eq!(header.frame_type, FrameType::Close);
        assert_eq!(payload, b"\x03\xf1at most 65535 bytes");
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
