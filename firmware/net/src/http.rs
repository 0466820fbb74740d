//! HTTP/1.1, as much as a client without connection reuse needs (RFC 9112). An answer is read as it
//! comes, and memory is taken for no more than [`LARGEST_MESSAGE`] bytes of it.

use alloc::format;
use alloc::vec::Vec;
use core::mem;

use reference_device::{HttpRequest, HttpResponse, LARGEST_MESSAGE};

use crate::url::Url;

/// Headers that an answer may have; one with more is none.
const HEADERS: usize = 64;
/// Longest head of an answer in bytes.
const LONGEST_HEAD: usize = 8 << 10;
/// Longest line before a chunk in bytes.
const LONGEST_CHUNK_LINE: usize = 256;

/// The bytes of a request.
pub(crate) fn request(request: &HttpRequest, url: &Url<'_>) -> Vec<u8> {
    let mut out =
        format!("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method, url.path, url.authority)
            .into_bytes();
    for (name, value) in &request.headers {
        out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    let length = request.body.len();
    if length > 0 {
        out.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
    }
    out.extend_from_slice(b"Connection: close\r\n\r\n");
    out.extend_from_slice(&request.body);
    out
}

/// How far something has been read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress<T> {
    /// More has to come.
    Partial,
    /// This is it.
    Complete(T),
    /// It is no HTTP.
    Invalid,
    /// The body has so many bytes, or more, and is not taken.
    TooLarge(u64),
}

/// Something that is read from a connection piece by piece.
pub(crate) trait Reader {
    /// What comes out.
    type Output;

    /// Takes bytes; how many of them. It takes none that follow what is complete.
    fn feed(&mut self, bytes: &[u8]) -> usize;

    /// How far it is; `ended` says that nothing follows. What is complete is given out once.
    fn progress(&mut self, ended: bool) -> Progress<Self::Output>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    /// The body ends with the connection.
    Close,
}

/// Reads the head of an answer; the output is its status.
#[derive(Debug, Default)]
pub(crate) struct HeadReader {
    bytes: Vec<u8>,
    is_whole: bool,
}

impl HeadReader {
    fn head(&self) -> Progress<(u16, Framing)> {
        if !self.is_whole {
            return match self.bytes.len() < LONGEST_HEAD {
                true => Progress::Partial,
                false => Progress::Invalid,
            };
        }
        head(&self.bytes)
    }
}

impl Reader for HeadReader {
    type Output = u16;

    fn feed(&mut self, bytes: &[u8]) -> usize {
        for (index, byte) in bytes.iter().enumerate() {
            if self.is_whole || self.bytes.len() >= LONGEST_HEAD {
                return index;
            }
            self.bytes.push(*byte);
            self.is_whole = self.bytes.ends_with(b"\n\r\n") || self.bytes.ends_with(b"\n\n");
        }
        bytes.len()
    }

    fn progress(&mut self, ended: bool) -> Progress<u16> {
        match self.head() {
            Progress::Complete((status, _)) => Progress::Complete(status),
            Progress::TooLarge(bytes) => Progress::TooLarge(bytes),
            Progress::Partial if !ended => Progress::Partial,
            Progress::Partial | Progress::Invalid => Progress::Invalid,
        }
    }
}

fn head(bytes: &[u8]) -> Progress<(u16, Framing)> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(_)) = response.parse(bytes) else {
        return Progress::Invalid;
    };
    let Some(status) = response.code else {
        return Progress::Invalid;
    };
    let mut framing = Framing::Close;
    for header in response.headers.iter() {
        let value = core::str::from_utf8(header.value).unwrap_or_default().trim();
        if header.name.eq_ignore_ascii_case("transfer-encoding") {
            framing = Framing::Chunked;
        } else if header.name.eq_ignore_ascii_case("content-length") && framing == Framing::Close {
            match value.parse::<u64>() {
                Ok(length) if length > LARGEST_MESSAGE as u64 => {
                    return Progress::TooLarge(length);
                }
                Ok(length) => framing = Framing::Length(length as usize),
                Err(_) => return Progress::Invalid,
            }
        }
    }
    if matches!(status, 204 | 304) {
        framing = Framing::Length(0);
    }
    Progress::Complete((status, framing))
}

/// Reads a whole answer.
#[derive(Debug, Default)]
pub(crate) struct ResponseReader {
    head: HeadReader,
    status: u16,
    body: Vec<u8>,
    stage: Stage,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Head,
    /// So many bytes of the body are missing.
    Length(usize),
    /// The line that tells the size of a chunk.
    ChunkLine(Vec<u8>),
    /// So many bytes of a chunk are missing, with the line end behind it.
    Chunk(usize),
    Close,
    Complete,
    Invalid,
    TooLarge(u64),
}

impl ResponseReader {
    /// The head is whole, or can be none any more.
    fn behind_head(&mut self) -> Stage {
        match self.head.head() {
            Progress::Partial => Stage::Head,
            Progress::Invalid => Stage::Invalid,
            Progress::TooLarge(bytes) => Stage::TooLarge(bytes),
            Progress::Complete((status, _)) if status < 200 => {
                // Something to be going on with; the answer follows.
                self.head = HeadReader::default();
                Stage::Head
            }
            Progress::Complete((status, framing)) => {
                self.status = status;
                self.head = HeadReader::default();
                match framing {
                    Framing::Length(0) => Stage::Complete,
                    Framing::Length(length) => match self.body.try_reserve_exact(length) {
                        Ok(()) => Stage::Length(length),
                        Err(_) => Stage::TooLarge(length as u64),
                    },
                    Framing::Chunked => Stage::ChunkLine(Vec::new()),
                    Framing::Close => Stage::Close,
                }
            }
        }
    }

    /// The line before a chunk is whole.
    fn chunk(&mut self, line: &[u8]) -> Stage {
        let Ok(httparse::Status::Complete((_, size))) = httparse::parse_chunk_size(line) else {
            return Stage::Invalid;
        };
        // Trailers are not waited for.
        if size == 0 {
            return Stage::Complete;
        }
        let total = size.saturating_add(self.body.len() as u64);
        if total > LARGEST_MESSAGE as u64 || !self.reserve(size as usize) {
            return Stage::TooLarge(total);
        }
        Stage::Chunk(size as usize + 2)
    }

    /// Room for so many bytes more, with some to spare if there is enough.
    fn reserve(&mut self, more: usize) -> bool {
        let body = &mut self.body;
        body.try_reserve(more).is_ok() || body.try_reserve_exact(more).is_ok()
    }

    /// Takes bytes where the body stands; what stage follows, if another one, and how many were taken.
    fn take(&mut self, bytes: &[u8]) -> (Option<Stage>, usize) {
        match &mut self.stage {
            Stage::Head => {
                let taken = self.head.feed(bytes);
                (Some(self.behind_head()), taken)
            }
            Stage::Length(left) => {
                let taken = bytes.len().min(*left);
                self.body.extend_from_slice(&bytes[..taken]);
                *left -= taken;
                ((*left == 0).then_some(Stage::Complete), taken)
            }
            Stage::ChunkLine(line) => {
                line.push(bytes[0]);
                match bytes[0] {
                    b'\n' => {
                        let line = mem::take(line);
                        (Some(self.chunk(&line)), 1)
                    }
                    _ if line.len() >= LONGEST_CHUNK_LINE => (Some(Stage::Invalid), 1),
                    _ => (None, 1),
                }
            }
            Stage::Chunk(left) => {
                let taken = bytes.len().min(*left);
                // The last two bytes are the line end.
                let data = taken.min(left.saturating_sub(2));
                self.body.extend_from_slice(&bytes[..data]);
                *left -= taken;
                let next = (*left == 0).then(|| Stage::ChunkLine(Vec::new()));
                (next, taken)
            }
            Stage::Close => {
                let total = self.body.len() + bytes.len();
                if total > LARGEST_MESSAGE || !self.reserve(bytes.len()) {
                    return (Some(Stage::TooLarge(total as u64)), bytes.len());
                }
                self.body.extend_from_slice(bytes);
                (None, bytes.len())
            }
            Stage::Complete | Stage::Invalid | Stage::TooLarge(_) => (None, 0),
        }
    }
}

impl Reader for ResponseReader {
    type Output = HttpResponse;

    fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let (next, taken) = self.take(&bytes[at..]);
            at += taken;
            match next {
                Some(next) => self.stage = next,
                None if taken == 0 => break,
                None => {}
            }
        }
        at
    }

    fn progress(&mut self, ended: bool) -> Progress<HttpResponse> {
        match self.stage {
            Stage::TooLarge(bytes) => Progress::TooLarge(bytes),
            Stage::Close if ended => self.complete(),
            Stage::Complete => self.complete(),
            Stage::Invalid => Progress::Invalid,
            _ if ended => Progress::Invalid,
            _ => Progress::Partial,
        }
    }
}

impl ResponseReader {
    fn complete(&mut self) -> Progress<HttpResponse> {
        Progress::Complete(HttpResponse { status: self.status, body: mem::take(&mut self.body) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;
    use reference_device::Purpose;
    use rstest::rstest;

    /// Reads an answer that comes in pieces of so many bytes.
    fn response(bytes: &[u8], step: usize, ended: bool) -> Progress<HttpResponse> {
        let mut reader = ResponseReader::default();
        for mut part in bytes.chunks(step) {
            loop {
                match reader.progress(false) {
                    Progress::Partial if !part.is_empty() => {}
                    Progress::Partial => break,
                    done => return done,
                }
                part = &part[reader.feed(part)..];
            }
        }
        reader.progress(ended)
    }

    #[rstest]
    #[case(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, b"ok")]
    #[case(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok and more", 200, b"ok")]
    #[case(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, b"")]
    #[case(b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"")]
    #[case(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        200,
        b"x"
    )]
    #[case(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
        200,
        b"abcde"
    )]
    fn an_answer_ends_where_it_says(
        #[case] bytes: &[u8],
        #[case] status: u16,
        #[case] body: &[u8],
        #[values(1, 7, 1000)] step: usize,
    ) {
        let answer = HttpResponse { status, body: body.to_vec() };
        assert_eq!(response(bytes, step, false), Progress::Complete(answer));
    }

    #[test]
    fn nothing_is_read_before_the_end() {
        let whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        for end in 0..whole.len() - 4 {
            let part = &whole[..end];
            assert_eq!(response(part, 1000, false), Progress::Partial, "{end}");
        }
        assert_eq!(response(&whole[..30], 1000, true), Progress::Invalid);
    }

    #[test]
    fn without_length_the_body_ends_with_the_connection() {
        let bytes = b"HTTP/1.1 500 No\r\n\r\nbroken";
        assert_eq!(response(bytes, 5, false), Progress::Partial);
        let answer = HttpResponse { status: 500, body: b"broken".to_vec() };
        assert_eq!(response(bytes, 5, true), Progress::Complete(answer));
    }

    #[rstest]
    #[case(b"SSH-2.0-OpenSSH\r\n\r\n")]
    #[case(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n")]
    #[case(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")]
    #[case(&[b'x'; LONGEST_HEAD])]
    #[case(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice(), &[b'1'; 256]].concat())]
    fn what_is_no_answer_is_refused(#[case] bytes: &[u8]) {
        assert_eq!(response(bytes, 1000, false), Progress::Invalid);
    }

    /// The announcement is enough: none of these bodies comes, and no memory is taken for it.
    #[rstest]
    #[case::length("Content-Length: 65536\r\n\r\n", 65_536)]
    #[case::enormous("Content-Length: 18446744073709551615\r\n\r\n", u64::MAX)]
    #[case::chunk("Transfer-Encoding: chunked\r\n\r\n10000\r\n", 65_536)]
    #[case::chunks("Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\nffff\r\n", 65_536)]
    fn a_body_that_is_too_large_is_refused_before_it_comes(#[case] rest: &str, #[case] bytes: u64) {
        let answer = format!("HTTP/1.1 200 OK\r\n{rest}");
        let refused = response(answer.as_bytes(), 1000, false);
        assert_eq!(refused, Progress::TooLarge(bytes));
    }

    #[test]
    fn the_largest_body_is_taken_in_any_framing() {
        let body = vec![b'x'; LARGEST_MESSAGE];
        let mut chunks = Vec::new();
        for part in body.chunks(LARGEST_MESSAGE / 2) {
            chunks.extend(format!("{:x}\r\n", part.len()).as_bytes());
            chunks.extend(part);
            chunks.extend(b"\r\n");
        }
        chunks.extend(b"0\r\n\r\n");
        for (headers, rest) in [
            (format!("Content-Length: {LARGEST_MESSAGE}\r\n"), &body),
            ("Transfer-Encoding: chunked\r\n".to_string(), &chunks),
            (alloc::string::String::new(), &body),
        ] {
            let mut bytes = format!("HTTP/1.1 200 OK\r\n{headers}\r\n").into_bytes();
            bytes.extend(rest);
            let answer = HttpResponse { status: 200, body: body.clone() };
            assert_eq!(response(&bytes, 1460, true), Progress::Complete(answer));
        }
        let mut bytes = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        bytes.extend(&body);
        bytes.push(b'x');
        assert_eq!(response(&bytes, 1460, true), Progress::TooLarge(65_536));
    }

    #[test]
    fn what_follows_a_head_stays_where_it_is() {
        let mut reader = HeadReader::default();
        let bytes = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x00";
        assert_eq!(reader.feed(bytes), bytes.len() - 2);
        assert_eq!(reader.progress(false), Progress::Complete(101));
    }

    #[test]
    fn a_request_is_whole() {
        let wanted = HttpRequest {
            purpose: Purpose::Configuration,
            method: "POST",
            url: "http://h:81/ota".to_string(),
            headers: vec![("Device-Id", "a".to_string())],
            body: b"{}".to_vec(),
        };
        let url = Url::read(&wanted.url, "http", 80).expect("an address");
        assert_eq!(
            request(&wanted, &url),
            b"POST /ota HTTP/1.1\r\nHost: h:81\r\nDevice-Id: a\r\nContent-Length: 2\r\n\
              Connection: close\r\n\r\n{}"
        );
    }
}
