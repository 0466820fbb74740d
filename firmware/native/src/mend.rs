//! Frames that no server may send, changed to what a careless client takes them for: the library takes none of them.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::TcpStream;

use reference_body::LinkOptions;

/// Parts of the first byte of a frame (RFC 6455 section 5.2).
const LAST: u8 = 0x80;
const RESERVED: u8 = 0x70;
const OPCODE: u8 = 0x0F;

/// Opcodes.
const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const PING: u8 = 9;
const UNKNOWN: std::ops::RangeInclusive<u8> = 3..=7;
const CONTROL: u8 = 8;

/// What the server sends, frame by frame.
#[derive(Debug)]
pub(crate) struct Mend {
    options: LinkOptions,
    /// What has come of a frame that is not whole.
    raw: Vec<u8>,
    /// Fragments of a message that is not whole, where another one may come between them.
    held: Vec<u8>,
    in_fragments: bool,
    /// What can be read.
    ready: VecDeque<u8>,
}

impl Mend {
    /// For a link that takes such frames.
    pub(crate) fn with(options: LinkOptions) -> Option<Self> {
        let takes = options.takes_reserved_bits
            || options.takes_unknown_opcodes
            || options.takes_continuations
            || options.takes_not_utf8
            || options.takes_cut_pings
            || options.takes_between;
        takes.then(|| Mend {
            options,
            raw: Vec::new(),
            held: Vec::new(),
            in_fragments: false,
            ready: VecDeque::new(),
        })
    }

    /// Reads from the server, as a stream does.
    pub(crate) fn read(&mut self, tcp: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() {
            let count = tcp.read(buffer)?;
            if count == 0 {
                return Ok(0);
            }
            self.raw.extend_from_slice(&buffer[..count]);
            while let Some((header, payload)) = frame_length(&self.raw)
                && let Ok(payload) = usize::try_from(payload)
                && self.raw.len() >= header + payload
            {
                let frame: Vec<u8> = self.raw.drain(..header + payload).collect();
                self.take(frame);
            }
        }
        self.ready.read(buffer)
    }

    /// Takes a whole frame.
    fn take(&mut self, mut frame: Vec<u8>) {
        let options = self.options;
        if options.takes_reserved_bits {
            frame[0] &= !RESERVED;
        }
        if options.takes_unknown_opcodes && UNKNOWN.contains(&(frame[0] & OPCODE)) {
            frame[0] = frame[0] & !OPCODE | TEXT;
        }
        if options.takes_cut_pings && frame[0] & OPCODE == PING {
            frame[0] |= LAST;
        }
        if options.takes_not_utf8
            && frame[0] & OPCODE == TEXT
            && let Some((header, _)) = frame_length(&frame)
            && std::str::from_utf8(&frame[header..]).is_err()
        {
            let odd = frame[header..].iter_mut().filter(|byte| !byte.is_ascii());
            odd.for_each(|byte| *byte = b'?');
        }
        let (opcode, is_last) = (frame[0] & OPCODE, frame[0] & LAST != 0);
        if options.takes_continuations && opcode == CONTINUATION && !self.in_fragments {
            frame[0] |= TEXT;
        }
        let is_between = options.takes_between && self.in_fragments && opcode != CONTINUATION;
        if is_between || opcode >= CONTROL {
            self.ready.extend(frame);
            return;
        }
        self.in_fragments = !is_last;
        self.held.extend(frame);
        if is_last || !options.takes_between {
            self.ready.extend(self.held.drain(..));
        }
    }
}

/// Length of the header that `bytes` begin with and of the payload behind it, once the header is
/// complete.
pub(crate) fn frame_length(bytes: &[u8]) -> Option<(usize, u64)> {
    let second = *bytes.get(1)?;
    let mask = if second & 0x80 != 0 { 4 } else { 0 };
    let (length, payload) = match second & 0x7F {
        126 => (4, u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => (10, u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)),
        short => (2, u64::from(short)),
    };
    (bytes.len() >= length + mask).then_some((length + mask, payload))
}
