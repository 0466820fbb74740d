//! HTTP/1.1, as much as a client without connection reuse needs (RFC 9112).

use alloc::format;
use alloc::vec::Vec;

use reference_device::{HttpRequest, HttpResponse};

use crate::url::Url;

/// Headers that an answer may have; one with more is none.
const HEADERS: usize = 64;
/// Longest head of an answer in bytes.
const LONGEST_HEAD: usize = 16 << 10;
/// Longest body of an answer in bytes.
const LONGEST_BODY: usize = 1 << 20;

/// The bytes of a request.
pub(crate) fn request(request: &HttpRequest, url: &Url<'_>) -> Vec<u8> {
    let mut out = format!(
        "{} {} HTTP/1.1\r\nHost: {}\r\n",
        request.method, url.path, url.authority
    )
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

/// How far the answer has been read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress<T> {
    /// More has to come.
    Partial,
    /// This is it.
    Complete(T),
    /// It is no HTTP.
    Invalid,
}

/// The head of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Bytes of the head.
    pub(crate) length: usize,
    framing: Framing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    /// The body ends with the connection.
    Close,
}

/// Reads the head that `bytes` begin with.
pub(crate) fn head(bytes: &[u8]) -> Progress<Head> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let length = match response.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() <= LONGEST_HEAD => return Progress::Partial,
        Ok(httparse::Status::Partial) | Err(_) => return Progress::Invalid,
    };
    let Some(status) = response.code else {
        return Progress::Invalid;
    };
    let mut framing = Framing::Close;
    for header in response.headers.iter() {
        let value = core::str::from_utf8(header.value)
            .unwrap_or_default()
            .trim();
        if header.name.eq_ignore_ascii_case("transfer-encoding") {
            framing = Framing::Chunked;
        } else if header.name.eq_ignore_ascii_case("content-length") && framing == Framing::Close {
            match value.parse() {
                Ok(length) if length <= LONGEST_BODY => framing = Framing::Length(length),
                _ => return Progress::Invalid,
            }
        }
    }
    if matches!(status, 204 | 304) {
        framing = Framing::Length(0);
    }
    Progress::Complete(Head {
        status,
        length,
        framing,
    })
}

/// Reads a whole answer; `ended` says that nothing follows `bytes`.
pub(crate) fn response(bytes: &[u8], ended: bool) -> Progress<HttpResponse> {
    let mut rest = bytes;
    loop {
        let head = match head(rest) {
            Progress::Complete(head) => head,
            Progress::Partial if ended => return Progress::Invalid,
            Progress::Partial => return Progress::Partial,
            Progress::Invalid => return Progress::Invalid,
        };
        rest = &rest[head.length..];
        if head.status < 200 {
            // Something to be going on with; the answer follows.
            continue;
        }
        let body = match head.framing {
            Framing::Length(length) if rest.len() >= length => {
                Progress::Complete(rest[..length].to_vec())
            }
            Framing::Chunked => unchunk(rest),
            Framing::Close if ended => Progress::Complete(rest.to_vec()),
            Framing::Close if rest.len() > LONGEST_BODY => Progress::Invalid,
            Framing::Length(_) | Framing::Close => Progress::Partial,
        };
        return match body {
            Progress::Complete(body) => Progress::Complete(HttpResponse {
                status: head.status,
                body,
            }),
            Progress::Partial if ended => Progress::Invalid,
            Progress::Partial => Progress::Partial,
            Progress::Invalid => Progress::Invalid,
        };
    }
}

/// The content of a body in chunks. Trailers are not waited for.
fn unchunk(mut rest: &[u8]) -> Progress<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let (start, size) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete(found)) => found,
            Ok(httparse::Status::Partial) => return Progress::Partial,
            Err(_) => return Progress::Invalid,
        };
        let Some(size) = usize::try_from(size)
            .ok()
            .filter(|size| body.len() + size <= LONGEST_BODY)
        else {
            return Progress::Invalid;
        };
        if size == 0 {
            return Progress::Complete(body);
        }
        // The data is followed by a line end.
        let Some(data) = rest.get(start..start + size + 2) else {
            return Progress::Partial;
        };
        body.extend_from_slice(&data[..size]);
        rest = &rest[start + size + 2..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;
    use reference_device::Purpose;
    use rstest::rstest;

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
    ) {
        let answer = HttpResponse {
            status,
            body: body.to_vec(),
        };
        assert_eq!(response(bytes, false), Progress::Complete(answer));
    }

    #[test]
    fn nothing_is_read_before_the_end() {
        let whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        for end in 0..whole.len() - 4 {
            assert_eq!(response(&whole[..end], false), Progress::Partial, "{end}");
        }
        assert_eq!(response(&whole[..30], true), Progress::Invalid);
    }

    #[test]
    fn without_length_the_body_ends_with_the_connection() {
        let bytes = b"HTTP/1.1 500 No\r\n\r\nbroken";
        assert_eq!(response(bytes, false), Progress::Partial);
        let answer = HttpResponse {
            status: 500,
            body: b"broken".to_vec(),
        };
        assert_eq!(response(bytes, true), Progress::Complete(answer));
    }

    #[rstest]
    #[case(b"SSH-2.0-OpenSSH\r\n")]
    #[case(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n")]
    #[case(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n")]
    #[case(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")]
    fn what_is_no_answer_is_refused(#[case] bytes: &[u8]) {
        assert_eq!(response(bytes, false), Progress::Invalid);
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
