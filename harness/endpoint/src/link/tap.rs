//! Lets text messages through that are not valid UTF-8.
//!
//! The WebSocket library ends a connection on such a message and drops its bytes, as the RFC
//! asks. Here the bytes are the finding, and a device whose connection takes a press of a button
//! should keep it. So the tap follows the frame headers as they come in, renames text messages
//! to binary ones, and remembers which is which. Nothing is buffered, and of payloads only the code of a Close frame is
//! looked at: the library replaces one that no frame may have. It keeps no mask, either.
//!
//! The library also takes a length in more bytes than it needs, which RFC 6455, section 5.2,
//! forbids and other servers refuse: the tap ends the stream there.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use super::masks::Masks;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Between two pieces: long enough for a device to read the first one alone.
const PAUSE: Duration = Duration::from_millis(3);

const OPCODE: u8 = 0x0f;
const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const MASKED: u8 = 0x80;

/// How a response begins that opens a connection.
const SWITCHES: &[u8] = b"HTTP/1.1 101 ";

/// Most bytes of an HTTP request that are remembered.
const MAX_HEAD_BYTES: usize = 16 << 10;

/// How an HTTP request without a body ends.
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// So many pieces of a request are handed on as they come. The library takes more than twice as many small ones for an
/// attack, but TCP has no pieces: a modem that sends single bytes is a good device. What comes later waits for the end
/// of the request.
const PIECES_AT_ONCE: usize = 32;

/// Longest piece of a request.
const HEAD_PIECE_BYTES: usize = 1024;

/// What a message was before the tap renamed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A text message, valid UTF-8 or not.
    Text,
    /// A binary message.
    Binary,
}

/// The HTTP request that came before the frames. The library keeps nothing of one that it refuses, and takes the
/// stream with it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head(Arc<Mutex<Vec<u8>>>);

impl Head {
    /// Adds a piece and tells whether nothing has to be waited for behind it: the request ends in it, or the stream
    /// does, or it is longer than any.
    fn add(&self, piece: &[u8]) -> bool {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_HEAD_BYTES.saturating_sub(bytes.len());
        let looked = (bytes.len() + 1).saturating_sub(END_OF_HEAD.len());
        bytes.extend(&piece[..piece.len().min(room)]);
        let ends = bytes[looked..].windows(END_OF_HEAD.len()).any(|end| end == END_OF_HEAD);
        ends || piece.is_empty() || bytes.len() == MAX_HEAD_BYTES
    }

    /// What has come so far.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A byte stream whose incoming side is renamed once it has been started.
#[derive(Debug)]
pub(crate) struct Tap<S> {
    stream: S,
    head: Head,
    /// How many pieces of it came.
    head_pieces: usize,
    /// What of it waits for the rest.
    waiting: Vec<u8>,
    walker: Option<Walker>,
    pieces: Option<Pieces>,
    /// Whether a response that opens the connection waits for what goes out with it.
    holds: bool,
    held: Vec<u8>,
}

/// What goes out is cut into pieces, each of which leaves alone.
#[derive(Debug)]
struct Pieces {
    /// How many bytes the next one has.
    bytes: usize,
    /// Runs out when it may leave.
    pause: Pin<Box<Sleep>>,
}

impl<S> Tap<S> {
    /// A tap that changes nothing yet: the HTTP handshake comes first.
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            head: Head::default(),
            head_pieces: 0,
            waiting: Vec::new(),
            walker: None,
            pieces: None,
            holds: false,
            held: Vec::new(),
        }
    }

    /// Where the HTTP request is kept until the frames begin.
    pub(crate) fn head(&self) -> Head {
        self.head.clone()
    }

    /// From here on come frames.
    pub(crate) fn start(&mut self) {
        self.head.take();
        self.walker = Some(Walker::default());
    }

    /// Keeps the response that opens the connection until [`send_behind`](Self::send_behind).
    pub(crate) fn hold(&mut self, on: bool) {
        self.holds = on;
    }

    /// Cuts what goes out from here on into pieces of 1, 2, 4 and so many bytes, or no longer.
    pub(crate) fn cut(&mut self, on: bool) {
        self.pieces = on.then(|| Pieces { bytes: 1, pause: Box::pin(sleep(PAUSE)) });
    }

    /// The stream that it listens to.
    pub(crate) fn stream(&self) -> &S {
        &self.stream
    }

    /// What the data message that was just received really was.
    pub(crate) fn next_kind(&mut self) -> Kind {
        self.walker.as_mut().and_then(|walker| walker.kinds.pop_front()).unwrap_or(Kind::Binary)
    }

    /// The code of the Close frame that came.
    pub(crate) fn close_code(&self) -> Option<u16> {
        let [high, low] = self.walker.as_ref()?.close_code[..] else { return None };
        Some(u16::from_be_bytes([high, low]))
    }

    /// The kind of the first frame with data that came behind a Close frame.
    pub(crate) fn behind_close(&self) -> Option<&'static str> {
        self.walker.as_ref()?.behind_close
    }

    /// The masks of the frames so far.
    pub(crate) fn masks(&self) -> Masks {
        self.walker.as_ref().map(|walker| walker.masks).unwrap_or_default()
    }

    /// Whether the last byte read lies inside a frame.
    pub(crate) fn inside_frame(&self) -> bool {
        self.walker.as_ref().is_some_and(|walker| walker.have > 0 || walker.skip > 0)
    }
}

/// Follows the frames of a byte stream, whatever its pieces.
#[derive(Debug, Default)]
struct Walker {
    header: [u8; 14],
    /// Bytes of the header seen, the mask included.
    have: usize,
    /// Bytes of the payload still to come.
    skip: u64,
    /// The data messages begun and not yet asked for.
    kinds: VecDeque<Kind>,
    masks: Masks,
    /// The first two bytes of the payload of a Close frame, as far as they have come.
    close_code: Vec<u8>,
    /// Whether a Close frame has begun.
    is_closed: bool,
    /// The first frame with data behind it.
    behind_close: Option<&'static str>,
    /// The length of a frame that was given in more bytes than it needs, and in how many.
    wasteful: Option<(u64, usize)>,
}

impl Walker {
    /// Renames text to binary in the next piece of the stream, and tells how much of it can be
    /// handed on: less than all of it where a header that is not allowed would be complete.
    fn walk(&mut self, mut piece: &mut [u8]) -> usize {
        let whole = piece.len();
        while !piece.is_empty() {
            if self.skip > 0 {
                let inside = usize::try_from(self.skip).map_or(piece.len(), |n| n.min(piece.len()));
                self.look_for_code(&piece[..inside]);
                self.skip -= inside as u64;
                piece = &mut piece[inside..];
                continue;
            }
            if self.have == 0 {
                self.begin(&mut piece[0]);
            }
            self.header[self.have] = piece[0];
            self.have += 1;
            if let Some(length) = self.complete() {
                if let Some(mask) = self.mask() {
                    self.masks.add(mask);
                }
                if let Some(bytes) = self.wasted(length) {
                    self.wasteful = Some((length, bytes));
                    return whole - piece.len();
                }
                self.skip = length;
                self.have = 0;
            }
            piece = &mut piece[1..];
        }
        whole
    }

    fn begin(&mut self, first: &mut u8) {
        let kind = match *first & OPCODE {
            CONTINUATION => Some("a piece of a message"),
            TEXT => Some("a text frame"),
            BINARY => Some("a binary frame"),
            _ => None,
        };
        if self.is_closed {
            self.behind_close = self.behind_close.or(kind);
        }
        self.is_closed |= *first & OPCODE == CLOSE;
        match *first & OPCODE {
            TEXT => {
                *first = (*first & !OPCODE) | BINARY;
                self.kinds.push_back(Kind::Text);
            }
            BINARY => self.kinds.push_back(Kind::Binary),
            _ => {}
        }
    }

    /// The length of the payload, once the header is complete.
    fn complete(&self) -> Option<u64> {
        if self.have < 2 {
            return None;
        }
        let [_, second, length @ .., _, _, _, _] = &self.header;
        let (wide, length) = match second & !MASKED {
            126 => (2, u64::from(u16::from_be_bytes([length[0], length[1]]))),
            127 => (8, u64::from_be_bytes(*length)),
            short => (0, u64::from(short)),
        };
        let mask = if second & MASKED == 0 { 0 } else { 4 };
        (self.have == 2 + wide + mask).then_some(length)
    }

    /// The mask of the frame whose header is complete.
    fn mask(&self) -> Option<[u8; 4]> {
        let mask = self.header[..self.have].last_chunk()?;
        (self.header[1] & MASKED != 0).then_some(*mask)
    }

    /// Takes what is the code of a Close frame from a piece of a payload; `header` is still that of its frame.
    fn look_for_code(&mut self, piece: &[u8]) {
        let have = self.close_code.len();
        if self.header[0] & OPCODE != CLOSE || have >= 2 {
            return;
        }
        let mask = match self.header[1] & MASKED {
            0 => [0; 4],
            // A control frame has a short length.
            _ => [self.header[2], self.header[3], self.header[4], self.header[5]],
        };
        let bytes = piece.iter().zip(&mask[have..2]).map(|(byte, mask)| byte ^ mask);
        self.close_code.extend(bytes);
    }

    /// In how many bytes the length stands, when fewer would do.
    fn wasted(&self, length: u64) -> Option<usize> {
        let (least, bytes) = match self.header[1] & !MASKED {
            126 => (126, 2),
            127 => (0x1_0000, 8),
            _ => return None,
        };
        (length < least).then_some(bytes)
    }

    /// Why nothing more can be read.
    fn refusal(&self) -> Option<io::Error> {
        let (length, bytes) = self.wasteful?;
        let why = format!(
            "the length {length} of a frame is given in {bytes} more bytes, which is not the \
             shortest form (RFC 6455, section 5.2)"
        );
        Some(io::Error::new(io::ErrorKind::InvalidData, why))
    }
}

impl<S: AsyncWrite + Unpin> Tap<S> {
    /// Sends bytes in one piece with the response that was held back. Where there is none, nothing is sent.
    pub(crate) async fn send_behind(&mut self, bytes: &[u8]) -> bool {
        let mut held = std::mem::take(&mut self.held);
        self.holds = false;
        if held.is_empty() {
            return false;
        }
        held.extend(bytes);
        // Whoever is gone already shows it when it is read from.
        let _ = self.stream.write_all(&held).await;
        true
    }
}

impl<S: AsyncRead + Unpin> Tap<S> {
    /// Reads of the HTTP request what has come; when it came in many pieces already, all that is missing.
    fn poll_head(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut bytes = [0; HEAD_PIECE_BYTES];
            let room = buffer.remaining().saturating_sub(self.waiting.len());
            let mut piece = ReadBuf::new(&mut bytes[..room.min(HEAD_PIECE_BYTES)]);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut piece))?;
            self.head_pieces += 1;
            self.waiting.extend(piece.filled());
            // A full buffer reads nothing, which ends the loop like the end of the stream.
            if self.head.add(piece.filled()) || self.head_pieces <= PIECES_AT_ONCE {
                break;
            }
        }
        buffer.put_slice(&self.waiting);
        self.waiting.clear();
        Poll::Ready(Ok(()))
    }

    /// Reads to the end of the stream, for nobody but the tap itself: as much as is there, and never without end.
    pub(crate) fn poll_rest(&mut self, context: &mut Context<'_>) -> Poll<()> {
        const MOST_READS: usize = 16;
        for _ in 0..MOST_READS {
            let mut bytes = [0; 1024];
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(&mut *self).poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                break;
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Tap<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(error) = self.walker.as_ref().and_then(Walker::refusal) {
            return Poll::Ready(Err(error));
        }
        let Self { stream, walker: Some(walker), .. } = &mut *self else {
            return self.poll_head(context, buffer);
        };
        let before = buffer.filled().len();
        ready!(Pin::new(stream).poll_read(context, buffer))?;
        let good = walker.walk(&mut buffer.filled_mut()[before..]);
        buffer.set_filled(before + good);
        // Nothing read would be the end of the stream.
        match walker.refusal().filter(|_| good == 0) {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tap<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.holds && (!self.held.is_empty() || data.starts_with(SWITCHES)) {
            self.held.extend(data);
            return Poll::Ready(Ok(data.len()));
        }
        let Self { stream, pieces, .. } = &mut *self;
        let Some(pieces) = pieces else {
            return Pin::new(stream).poll_write(context, data);
        };
        ready!(pieces.pause.as_mut().poll(context));
        let piece = &data[..data.len().min(pieces.bytes)];
        let written = ready!(Pin::new(stream).poll_write(context, piece))?;
        pieces.bytes *= 2;
        pieces.pause.as_mut().reset(Instant::now() + PAUSE);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn data_behind_a_close_frame_is_seen() {
        let close = encode(0x88, &[3, 0xe8], Some([1, 2, 3, 4]));
        for (behind, seen) in [
            (vec![], None),
            (encode(0x89, b"ping", Some([5; 4])), None),
            (encode(0x81, b"{}", Some([5; 4])), Some("a text frame")),
            (
                [encode(0x88, &[], Some([0; 4])), encode(0x82, b"x", None)].concat(),
                Some("a binary frame"),
            ),
        ] {
            let mut bytes = [encode(0x81, b"before", None), close.clone(), behind].concat();
            let mut walker = Walker::default();
            walker.walk(&mut bytes);
            assert_eq!(walker.behind_close, seen);
        }
    }

    /// A frame as a device sends it. `None` leaves it unmasked.
    fn encode(first: u8, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
        let masked = if mask.is_some() { MASKED } else { 0 };
        let mut bytes = vec![first];
        match payload.len() {
            short @ 0..126 => bytes.push(masked | short as u8),
            middle @ 126..0x1_0000 => {
                bytes.push(masked | 126);
                bytes.extend((middle as u16).to_be_bytes());
            }
            long => {
                bytes.push(masked | 127);
                bytes.extend((long as u64).to_be_bytes());
            }
        }
        let mask_bytes = mask.unwrap_or_default();
        if mask.is_some() {
            bytes.extend(mask_bytes);
        }
        bytes.extend(payload.iter().enumerate().map(|(i, b)| b ^ mask_bytes[i % 4]));
        bytes
    }

    /// Frames, the size of the pieces in which they arrive.
    fn frames() -> impl Strategy<Value = Vec<(u8, Vec<u8>, Option<[u8; 4]>)>> {
        let first = prop_oneof![Just(0x81), Just(0x01), Just(0x82), Just(0x80), Just(0x89)];
        let length = prop_oneof![4 => 0..20_usize, 2 => 120..300_usize, 1 => 65_530..65_540_usize];
        let payload = (length, any::<u8>()).prop_map(|(length, byte)| vec![byte; length]);
        prop::collection::vec((first, payload, any::<Option<[u8; 4]>>()), 0..8)
    }

    proptest! {
        #[test]
        fn only_the_opcode_of_text_changes(frames in frames(), piece in 1..5_000_usize) {
            let mut walker = Walker::default();
            let (mut given, mut expected, mut kinds) = (vec![], vec![], vec![]);
            for (first, payload, mask) in &frames {
                let renamed = match first & OPCODE {
                    TEXT => { kinds.push(Kind::Text); first + 1 }
                    BINARY => { kinds.push(Kind::Binary); *first }
                    _ => *first,
                };
                given.extend(encode(*first, payload, *mask));
                expected.extend(encode(renamed, payload, *mask));
            }
            for piece in given.chunks_mut(piece) {
                walker.walk(piece);
            }
            prop_assert!(given == expected);
            let masks: Vec<_> = frames.iter().filter_map(|(.., mask)| *mask).collect();
            let same = masks.first().filter(|first| masks.iter().all(|mask| mask == *first));
            prop_assert_eq!((walker.masks.frames, walker.masks.same), (masks.len() as u32, same.copied()));
            prop_assert_eq!(Vec::from(walker.kinds), kinds);
            prop_assert_eq!((walker.have, walker.skip), (0, 0));
        }

        #[test]
        fn the_code_of_a_close_frame_is_seen(
            code: u16, reason in "[a-z]{0,9}", mask: Option<[u8; 4]>, piece in 1..20_usize,
        ) {
            let payload = [&code.to_be_bytes(), reason.as_bytes()].concat();
            let text = encode(0x81, b"{}", mask);
            let mut tap = Tap::new(());
            tap.start();
            for piece in [text, encode(0x88, &payload, mask)].concat().chunks_mut(piece) {
                prop_assert_eq!(tap.close_code().filter(|seen| *seen != code), None);
                tap.walker.as_mut().unwrap().walk(piece);
            }
            prop_assert_eq!(tap.close_code(), Some(code));
        }

        #[test]
        fn a_length_is_given_in_as_few_bytes_as_it_needs(
            frames in frames(), length in 0..0x1_0000_u64, wide: bool, piece in 1..40_usize,
        ) {
            let mut bytes: Vec<u8> = frames.iter().flat_map(|(f, p, m)| encode(*f, p, *m)).collect();
            let before = bytes.len();
            bytes.extend([0x81, MASKED | if wide { 127 } else { 126 }]);
            match wide {
                true => bytes.extend(length.to_be_bytes()),
                false => bytes.extend((length as u16).to_be_bytes()),
            }
            bytes.extend([0; 4]);
            let header = bytes.len();
            let mut walker = Walker::default();
            let mut good = 0;
            for piece in bytes.chunks_mut(piece) {
                good += walker.walk(piece);
                if walker.wasteful.is_some() {
                    break;
                }
            }
            let allowed = !wide && length >= 126;
            prop_assert_eq!(walker.refusal().is_none(), allowed);
            prop_assert_eq!(good, if allowed { header } else { header - 1 });
            prop_assert!(good > before);
        }

        #[test]
        fn any_bytes_keep_their_number_and_never_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..600), piece in 1..40_usize,
        ) {
            let mut walker = Walker::default();
            for piece in bytes.chunks_mut(piece) {
                walker.walk(piece);
            }
            prop_assert!(walker.kinds.len() <= bytes.len());
        }
    }
}
