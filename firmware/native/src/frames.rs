//! A TCP stream that knows where WebSocket frames begin, for defects below the level of messages.
//!
//! Nothing here is on the way of a device without such a defect: both features are off by default.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// Opcodes of a Close frame and of a pong (RFC 6455 section 5.2).
const CLOSE: u8 = 0x8;
const PONG: u8 = 0xA;

/// Most data of a control frame (RFC 6455 section 5.5).
const LONGEST_CONTROL: u64 = 125;

/// The stream under the WebSocket library.
#[derive(Debug)]
pub(crate) struct FrameStream {
    tcp: TcpStream,
    /// Control frames with these opcodes are thrown away instead of sent.
    dropped: Vec<u8>,
    /// Of pongs only those are thrown away that have as much data as there may be.
    only_long_pongs: bool,
    incoming: Option<Watch>,
}

/// Follows the frames that arrive.
#[derive(Debug, Default)]
struct Watch {
    header: Vec<u8>,
    /// Payload bytes still to pass before the next header.
    payload_left: u64,
    in_fragments: bool,
    /// One entry a complete data message: whether it came in fragments.
    messages: VecDeque<bool>,
}

impl FrameStream {
    pub(crate) fn new(tcp: TcpStream) -> Self {
        FrameStream { tcp, dropped: Vec::new(), only_long_pongs: false, incoming: None }
    }

    pub(crate) fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    /// From now on, which must be after the handshake, pongs are not sent.
    pub(crate) fn drop_pongs(&mut self) {
        self.dropped.push(PONG);
    }

    /// The same for those with as much data as there may be.
    pub(crate) fn drop_long_pongs(&mut self) {
        self.only_long_pongs = !self.dropped.contains(&PONG);
        self.drop_pongs();
    }

    /// From now on, which must be after the handshake, Close frames are not sent.
    pub(crate) fn drop_closes(&mut self) {
        self.dropped.push(CLOSE);
    }

    /// From now on, which must be after the handshake and before the server's first frame,
    /// [`FrameStream::next_was_fragmented`] tells about every data message.
    pub(crate) fn watch_fragments(&mut self) {
        self.incoming = Some(Watch::default());
    }

    /// Whether the data message that the library returned just now came in fragments.
    pub(crate) fn next_was_fragmented(&mut self) -> bool {
        self.incoming.as_mut().and_then(|watch| watch.messages.pop_front()).unwrap_or(false)
    }
}

impl Watch {
    fn feed(&mut self, mut bytes: &[u8]) {
        while let Some((&first, rest)) = bytes.split_first() {
            if self.payload_left > 0 {
                let passed =
                    bytes.len().min(usize::try_from(self.payload_left).unwrap_or(usize::MAX));
                self.payload_left -= passed as u64;
                bytes = &bytes[passed..];
                continue;
            }
            self.header.push(first);
            bytes = rest;
            if let Some((length, payload)) = frame_length(&self.header) {
                debug_assert_eq!(length, self.header.len());
                self.payload_left = payload;
                self.finish_header();
            }
        }
    }

    fn finish_header(&mut self) {
        let (last, opcode) = (self.header[0] & 0x80 != 0, self.header[0] & 0x0F);
        self.header.clear();
        let is_control = opcode >= 0x8;
        if is_control {
            return;
        }
        if last {
            self.messages.push_back(self.in_fragments);
        }
        self.in_fragments = !last;
    }
}

/// Length of the header that `bytes` begin with and of the payload behind it, once the header is
/// complete.
fn frame_length(bytes: &[u8]) -> Option<(usize, u64)> {
    let second = *bytes.get(1)?;
    let mask = if second & 0x80 != 0 { 4 } else { 0 };
    let (length, payload) = match second & 0x7F {
        126 => (4, u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => (10, u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)),
        short => (2, u64::from(short)),
    };
    (bytes.len() >= length + mask).then_some((length + mask, payload))
}

impl Read for FrameStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.tcp.read(buffer)?;
        if let Some(watch) = &mut self.incoming {
            watch.feed(&buffer[..count]);
        }
        Ok(count)
    }
}

impl Write for FrameStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.dropped.is_empty() {
            return self.tcp.write(bytes);
        }
        // The library hands over whole frames, and each is taken whole: so `bytes` begins with one.
        let length = frame_length(bytes);
        let frame = match length {
            Some((header, payload)) => header + usize::try_from(payload).unwrap_or(usize::MAX),
            None => bytes.len(),
        };
        let frame = frame.min(bytes.len());
        let opcode = bytes.first().map(|first| first & 0x0F);
        let is_spared = opcode == Some(PONG)
            && self.only_long_pongs
            && length.is_none_or(|(_, payload)| payload < LONGEST_CONTROL);
        if is_spared || opcode.is_none_or(|opcode| !self.dropped.contains(&opcode)) {
            self.tcp.write_all(&bytes[..frame])?;
        }
        Ok(frame)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tcp.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_seen_across_control_frames_and_reads() {
        let mut watch = Watch::default();
        let mut bytes = vec![0x01, 2, b'a', b'b', 0x89, 1, b'p', 0x80, 1, b'c', 0x81, 126, 1, 0];
        bytes.extend([b'x'; 256]);
        bytes.extend([0x82, 0]);
        for byte in bytes {
            watch.feed(&[byte]);
        }
        assert_eq!(watch.messages, [true, false, false]);
    }

    #[test]
    fn a_header_is_complete_with_its_mask() {
        assert_eq!(frame_length(&[0x81]), None);
        assert_eq!(frame_length(&[0x81, 0x85, 1, 2, 3]), None);
        assert_eq!(frame_length(&[0x81, 0x85, 1, 2, 3, 4]), Some((6, 5)));
        assert_eq!(frame_length(&[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]), Some((10, 65536)));
    }
}
