//! An HTTP server that is just enough for the device: one request a connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::Value;

use crate::broker::accept;
use crate::program::PATIENCE;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Posted {
    /// Method and path.
    pub(crate) line: String,
    /// Names and values.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Posted {
    /// The value of a header, empty when it was not sent.
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter();
        let mut found = found.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let value = found.next().map_or("", |(_, value)| value);
        assert!(found.next().is_none(), "`{name}` was sent twice");
        value
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// The port.
pub(crate) struct Web {
    listener: TcpListener,
}

impl Web {
    pub(crate) fn start() -> Web {
        Web { listener: TcpListener::bind("127.0.0.1:0").expect("a port") }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.listener.local_addr().expect("an address"))
    }

    /// Takes the next request and answers it.
    pub(crate) fn answer(&self, status: u16, body: &str) -> Posted {
        self.serve(|_| (status, body.to_string())).expect("the device asks")
    }

    /// Takes the next request, if one comes in time, and answers with what `choose` says.
    pub(crate) fn serve(&self, choose: impl Fn(&Posted) -> (u16, String)) -> Option<Posted> {
        let stream = accept(&self.listener, PATIENCE)?;
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).expect("a request line");
        let mut headers = Vec::new();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).expect("a header");
            match header.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.to_string(), value.to_string())),
                None => break,
            }
        }
        let mut posted = Posted { line: line.trim_end().to_string(), headers, body: Vec::new() };
        let length = posted.header("content-length").parse().unwrap_or(0);
        posted.body.resize(length, 0);
        reader.read_exact(&mut posted.body).expect("the body");
        let (status, body) = choose(&posted);
        let answer = format!(
            "HTTP/1.1 {status} Whatever\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        reader.get_mut().write_all(answer.as_bytes()).expect("a connection");
        Some(posted)
    }
}
