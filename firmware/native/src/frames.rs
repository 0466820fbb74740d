//! A TCP stream that knows where WebSocket frames begin, for defects below the level of messages.
//!
//! Nothing here is on the way of a device without such a defect: both features are off by default.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use reference_body::LinkOptions;

use crate::mend::{Mend, frame_length};

/// Opcodes of a Close frame and of a pong (RFC 6455 section 5.2).
const CLOSE: u8 = 0x8;
const PONG: u8 = 0xA;

/// The first byte of a text in one frame.
const TEXT: u8 = 0x81;

/// The bit of a frame's second byte that says that there is a mask.
const MASKED: u8 = 0x80;

/// Most data of a control frame (RFC 6455 section 5.5).
const LONGEST_CONTROL: u64 = 125;

/// How many bytes are missing of the frame with which the last connection ended.
static CUT_OFF: AtomicU64 = AtomicU64::new(0);

/// Whether the last connection ended between the fragments of a message.
static CUT_APART: AtomicBool = AtomicBool::new(false);

/// The next key of a device that counts them.
static COUNTED: AtomicU32 = AtomicU32::new(0x6d63_7068);

/// What the response to a handshake ends with.
const HEAD_END: &[u8] = b"\r\n\r\n";

/// The stream under the WebSocket library.
#[derive(Debug)]
pub(crate) struct FrameStream {
    tcp: TcpStream,
    /// What is wrong with the frames that are sent; nothing until the handshake is over.
    options: LinkOptions,
    /// What is wrong with the handshake, as long as that goes on.
    opening: Option<LinkOptions>,
    incoming: Option<Watch>,
    /// Bytes that are taken for the rest of a frame.
    skip: u64,
    /// Makes frames good that no server may send.
    mend: Option<Mend>,
    /// How many pings were answered.
    pongs: usize,
}

/// How a data message came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// In fragments.
    pub(crate) fragmented: bool,
    /// With a control frame between them.
    pub(crate) pinged: bool,
    /// With an empty fragment in the middle.
    pub(crate) emptied: bool,
    /// With an empty fragment as its last.
    pub(crate) empty_end: bool,
    /// In several reads.
    pub(crate) split: bool,
}

/// Follows the frames that arrive.
#[derive(Debug, Default)]
struct Watch {
    /// First byte of the frame that is passing, or has passed last.
    opening: u8,
    header: Vec<u8>,
    /// Payload bytes still to pass before the next header.
    payload_left: u64,
    in_fragments: bool,
    /// Whether a control frame came since the first fragment.
    pinged: bool,
    /// Whether an empty fragment came since.
    emptied: bool,
    /// Whether a read ended inside one of its frames.
    split: bool,
    /// Control frames that came between fragments, and have no pong yet.
    inner_pings: usize,
    /// One entry a complete data message.
    messages: VecDeque<Arrival>,
}

impl FrameStream {
    /// The handshake comes first, with these defects.
    pub(crate) fn new(tcp: TcpStream, options: LinkOptions) -> Self {
        let opening = Some(options);
        FrameStream {
            tcp,
            opening,
            options: LinkOptions::default(),
            incoming: None,
            skip: 0,
            mend: None,
            pongs: 0,
        }
    }

    pub(crate) fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    /// From now on, which must be after the handshake, frames are sent with these defects.
    pub(crate) fn send_with(&mut self, options: LinkOptions) {
        self.options = options;
        self.opening = None;
        self.mend = Mend::with(options);
        if options.keeps_rest {
            self.skip = CUT_OFF.swap(0, Ordering::Relaxed);
        }
    }

    /// From now on, which must be after the handshake and before the server's first frame,
    /// [`FrameStream::next_arrival`] tells about every data message.
    pub(crate) fn watch_fragments(&mut self) {
        self.incoming = Some(Watch::default());
    }

    /// Whether pieces of a message are left of the connection before.
    pub(crate) fn has_pieces(&self) -> bool {
        self.options.keeps_pieces && CUT_APART.swap(false, Ordering::Relaxed)
    }

    /// How the data message that the library returned just now came.
    pub(crate) fn next_arrival(&mut self) -> Arrival {
        self.incoming.as_mut().and_then(|watch| watch.messages.pop_front()).unwrap_or_default()
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
            if self.header.is_empty() {
                self.opening = first;
            }
            self.header.push(first);
            bytes = rest;
            if let Some((length, payload)) = frame_length(&self.header) {
                debug_assert_eq!(length, self.header.len());
                self.payload_left = payload;
                self.finish_header(payload == 0);
            }
        }
        let is_cut = self.payload_left > 0 || !self.header.is_empty();
        if !is_cut || is_control(self.opening) {
            return;
        }
        match self.messages.back_mut() {
            Some(message) if self.payload_left > 0 && is_last(self.opening) => message.split = true,
            _ => self.split = true,
        }
    }

    fn finish_header(&mut self, is_empty: bool) {
        let last = is_last(self.opening);
        self.header.clear();
        if is_control(self.opening) {
            self.pinged |= self.in_fragments;
            self.inner_pings += usize::from(self.in_fragments);
            return;
        }
        self.emptied |= self.in_fragments && is_empty && !last;
        if last {
            self.messages.push_back(Arrival {
                fragmented: self.in_fragments,
                pinged: std::mem::take(&mut self.pinged),
                emptied: std::mem::take(&mut self.emptied),
                empty_end: self.in_fragments && is_empty,
                split: std::mem::take(&mut self.split),
            });
        }
        self.in_fragments = !last;
    }
}

/// Whether the frame that begins with `opening` ends its message.
fn is_last(opening: u8) -> bool {
    opening & 0x80 != 0
}

fn is_control(opening: u8) -> bool {
    opening & 0x08 != 0
}

/// Whether the data of a masked frame is text in UTF-8.
fn is_text(frame: &[u8], header: usize) -> bool {
    let mask = frame[header - 4..header].iter().cycle();
    let data: Vec<u8> = frame[header..].iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect();
    std::str::from_utf8(&data).is_ok()
}

/// A whole frame with the defects, or nothing in its place.
fn changed(frame: &[u8], (header, payload): (usize, u64), options: LinkOptions) -> Option<Vec<u8>> {
    let opcode = frame[0] & 0x0F;
    if opcode == CLOSE && options.drop_closes {
        return None;
    }
    let drops = options.drop_pongs
        || options.drop_long_pongs && payload >= LONGEST_CONTROL
        || options.drop_empty_pongs && payload == 0
        || options.drop_binary_pongs && !is_text(frame, header);
    if opcode == PONG && drops {
        return None;
    }
    let mut sent = frame.to_vec();
    if opcode == PONG && options.cut_pongs && frame[1] & MASKED != 0 {
        let (mask, data) = (&frame[header - 4..header], &frame[header..]);
        // A zero byte looks like that of the mask at its place.
        let zero = data.iter().zip(mask.iter().cycle()).position(|(byte, mask)| byte == mask);
        if let Some(end) = zero {
            sent.truncate(header + end);
            sent[1] = MASKED | end as u8;
        }
    }
    if opcode == CLOSE
        && let Some(code) = options.close_code
        && payload >= 2
    {
        for (at, byte) in code.to_be_bytes().into_iter().enumerate() {
            sent[header + at] = byte ^ frame[header - 4 + at];
        }
    }
    if opcode == CLOSE && options.talks_on {
        sent.extend([TEXT, MASKED | 2, 0, 0, 0, 0, b'{', b'}']);
        return Some(sent);
    }
    let key = match options.counted_masks {
        true => Some(COUNTED.fetch_add(1, Ordering::Relaxed)),
        false => options.same_mask.then_some(0),
    };
    if let Some(key) = key.filter(|_| sent[1] & MASKED != 0) {
        let key = key.to_be_bytes();
        for (at, byte) in sent[header..].iter_mut().enumerate() {
            *byte ^= frame[header - 4 + at % 4] ^ key[at % 4];
        }
        sent[header - 4..header].copy_from_slice(&key);
    }
    if options.wide_lengths && sent[1] & !MASKED < 126 {
        let length = sent[1] & !MASKED;
        sent.splice(1..2, [sent[1] & MASKED | 126, 0, length]);
    }
    Some(sent)
}

impl Drop for FrameStream {
    fn drop(&mut self) {
        if let Some(watch) = self.incoming.as_ref().filter(|_| self.options.keeps_rest) {
            CUT_OFF.store(watch.payload_left, Ordering::Relaxed);
        }
        if let Some(watch) = self.incoming.as_ref().filter(|_| self.options.keeps_pieces) {
            // A piece that has begun is one, too, and may be the last.
            let is_apart = watch.in_fragments || watch.payload_left > 0;
            CUT_APART.store(is_apart, Ordering::Relaxed);
        }
    }
}

impl Read for FrameStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut count = match &mut self.mend {
            Some(mend) => mend.read(&mut self.tcp, buffer)?,
            None => self.tcp.read(buffer)?,
        };
        let skipped = count.min(usize::try_from(self.skip).unwrap_or(usize::MAX));
        if skipped > 0 {
            self.skip -= skipped as u64;
            buffer.copy_within(skipped..count, 0);
            count -= skipped;
            if count == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        if self.opening.is_some_and(|options| options.forgets_rest)
            && let Some(end) = buffer[..count].windows(HEAD_END.len()).position(|at| at == HEAD_END)
        {
            return Ok(end + HEAD_END.len());
        }
        if let Some(watch) = &mut self.incoming {
            watch.feed(&buffer[..count]);
        }
        Ok(count)
    }
}

impl Write for FrameStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(opening) = self.opening.filter(|it| it.hostless || it.unfinished) {
            // The library hands over the whole request.
            let request = String::from_utf8_lossy(bytes);
            let lost = |line: &&str| {
                opening.hostless && line.starts_with("Host:")
                    || opening.unfinished && line.trim_end().is_empty()
            };
            let rest = request.split_inclusive("\r\n").filter(|line| !lost(line));
            let mut request: String = rest.collect();
            if opening.unfinished {
                request = request.replacen("GET", "POST", 1);
            }
            self.tcp.write_all(request.as_bytes())?;
            return Ok(bytes.len());
        }
        let options = self.options;
        let pongs = options.drop_pongs || options.drop_long_pongs || options.drop_empty_pongs;
        let pongs =
            pongs || options.drop_inner_pongs || options.drop_binary_pongs || options.ten_pongs;
        let closes = options.drop_closes || options.close_code.is_some() || options.talks_on;
        let masks = options.same_mask || options.counted_masks;
        if !(pongs || closes || options.cut_pongs || options.wide_lengths || masks) {
            return self.tcp.write(bytes);
        }
        // The library hands over whole frames, and each is taken whole: so `bytes` begins with one.
        let Some((header, payload)) = frame_length(bytes) else {
            self.tcp.write_all(bytes)?;
            return Ok(bytes.len());
        };
        let frame = header.saturating_add(usize::try_from(payload).unwrap_or(usize::MAX));
        let frame = frame.min(bytes.len());
        let watch = self.incoming.as_mut().filter(|watch| watch.inner_pings > 0);
        if let Some(watch) = watch
            && options.drop_inner_pongs
            && bytes[0] & 0x0F == PONG
        {
            watch.inner_pings -= 1;
            return Ok(frame);
        }
        if bytes[0] & 0x0F == PONG && options.ten_pongs {
            self.pongs += 1;
            if self.pongs > 10 {
                return Ok(frame);
            }
        }
        if let Some(sent) = changed(&bytes[..frame], (header, payload), options) {
            self.tcp.write_all(&sent)?;
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
        let mut bytes = vec![0x01, 2, b'a', b'b', 0x89, 1, b'p', 0x80, 1, b'c', 0x81, 126, 1, 0];
        bytes.extend([b'x'; 256]);
        bytes.extend([0x82, 0]);
        let (mut whole, mut bytewise) = (Watch::default(), Watch::default());
        whole.feed(&bytes);
        for byte in bytes {
            bytewise.feed(&[byte]);
        }
        let plain = Arrival::default();
        let expected = [Arrival { fragmented: true, pinged: true, ..plain }, plain, plain];
        assert_eq!(whole.messages, expected);
        assert_eq!(bytewise.messages, expected.map(|arrival| Arrival { split: true, ..arrival }));
    }

    #[test]
    fn a_message_is_split_where_a_read_ends_in_it() {
        let mut watch = Watch::default();
        // A cut ping; a text whose payload is cut; one beside whose fragments a ping is cut; one whose first fragment
        // is cut; and one that comes whole.
        let reads: [&[u8]; 9] = [
            &[0x89],
            &[2, b'p'],
            &[b'q', 0x81, 2, b'a'],
            &[b'b', 0x01, 1, b'c', 0x89, 1],
            &[b'p', 0x80, 1, b'd'],
            &[0x01, 2, b'e'],
            &[b'f', 0x80, 0],
            &[0x8A, 0],
            &[0x81, 1, b'g'],
        ];
        for read in reads {
            watch.feed(read);
        }
        let split: Vec<bool> = watch.messages.iter().map(|message| message.split).collect();
        assert_eq!(split, [true, false, true, false]);
    }

    #[test]
    fn frames_are_sent_with_their_defects() {
        let pong = [0x8A, 0x83, 1, 2, 3, 4, b'a' ^ 1, 2, b'c' ^ 3];
        let changed = |options| changed(&pong, (6, 3), options);
        let cut = LinkOptions { cut_pongs: true, ..LinkOptions::default() };
        assert_eq!(changed(cut), Some([0x8A, 0x81, 1, 2, 3, 4, b'a' ^ 1].to_vec()));
        let wide = LinkOptions { wide_lengths: true, ..LinkOptions::default() };
        let expected = [&[0x8A, 0x80 | 126, 0, 3], &pong[2..]].concat();
        assert_eq!(changed(wide), Some(expected));
        let unmasked = LinkOptions { same_mask: true, ..LinkOptions::default() };
        let expected = [0x8A, 0x83, 0, 0, 0, 0, b'a', 0, b'c'];
        assert_eq!(changed(unmasked), Some(expected.to_vec()));
        let empty = LinkOptions { drop_empty_pongs: true, ..LinkOptions::default() };
        assert_eq!(changed(empty), Some(pong.to_vec()));
    }

    #[test]
    fn a_header_is_complete_with_its_mask() {
        assert_eq!(frame_length(&[0x81]), None);
        assert_eq!(frame_length(&[0x81, 0x85, 1, 2, 3]), None);
        assert_eq!(frame_length(&[0x81, 0x85, 1, 2, 3, 4]), Some((6, 5)));
        assert_eq!(frame_length(&[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]), Some((10, 65536)));
    }
}
