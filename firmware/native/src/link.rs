//! One WebSocket connection: dialling, reading with a deadline, sending.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::HandshakeError;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::frame::Frame as RawFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use reference_body::{Event, Frame, LinkOptions, NO_SYSTEM_CODE};

use crate::frames::FrameStream;

/// How long the device waits for the server's answer to its handshake (WebSocket document).
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection.
#[derive(Debug)]
pub(crate) struct Link {
    socket: WebSocket<FrameStream>,
}

impl Link {
    /// Dials; the error is the system's error number.
    pub(crate) fn dial(
        url: &str,
        headers: &[(&str, String)],
        options: LinkOptions,
    ) -> Result<Link, i32> {
        let mut request = url.into_client_request().map_err(|_| NO_SYSTEM_CODE)?;
        if request.uri().scheme_str() != Some("ws") {
            return Err(NO_SYSTEM_CODE);
        }
        let host = request
            .uri()
            .host()
            .unwrap_or_default()
            .trim_matches(['[', ']'])
            .to_string();
        let port = request.uri().port_u16().unwrap_or(80);
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| NO_SYSTEM_CODE)?;
            let value = HeaderValue::from_str(value).map_err(|_| NO_SYSTEM_CODE)?;
            request.headers_mut().insert(name, value);
        }

        let tcp = connect(&host, port).map_err(|error| system_code(&error))?;
        let handshake = tungstenite::client::client(request, FrameStream::new(tcp));
        let (mut socket, _) = handshake.map_err(|error| match error {
            HandshakeError::Failure(tungstenite::Error::Io(error)) => system_code(&error),
            _ => NO_SYSTEM_CODE,
        })?;
        if options.drop_pongs {
            socket.get_mut().drop_pongs();
        }
        if options.watch_fragments {
            socket.get_mut().watch_fragments();
        }
        Ok(Link { socket })
    }

    /// Waits for the next event, `timeout` at most.
    pub(crate) fn read(&mut self, timeout: Duration) -> Event {
        // A timeout of zero would mean none at all.
        let timeout = timeout.max(Duration::from_millis(1));
        if self
            .socket
            .get_ref()
            .tcp()
            .set_read_timeout(Some(timeout))
            .is_err()
        {
            return Event::Closed;
        }
        match self.socket.read() {
            Ok(Message::Text(text)) => {
                let fragmented = self.socket.get_mut().next_was_fragmented();
                Event::Text {
                    text: text.as_str().to_string(),
                    fragmented,
                }
            }
            Ok(Message::Binary(bytes)) => {
                self.socket.get_mut().next_was_fragmented();
                Event::Binary(bytes.to_vec())
            }
            Ok(_) => Event::Nothing,
            Err(tungstenite::Error::Io(error))
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                Event::Nothing
            }
            Err(_) => Event::Closed,
        }
    }

    /// Sends; false when the connection is gone.
    pub(crate) fn send(&mut self, frame: Frame) -> bool {
        let message = match frame {
            Frame::Text(text) => Message::text(text),
            Frame::Binary(bytes) => Message::binary(bytes),
            Frame::RawText(bytes) => {
                Message::Frame(RawFrame::message(bytes, OpCode::Data(Data::Text), true))
            }
        };
        self.socket.send(message).is_ok()
    }
}

/// Sends every text frame back as it came until the connection is gone; the exit code.
pub(crate) fn echo(url: &str) -> Result<u8, String> {
    let mut link = Link::dial(url, &[], LinkOptions::default())
        .map_err(|code| format!("cannot connect to `{url}`: system error {code}"))?;
    loop {
        match link.read(HANDSHAKE_TIMEOUT) {
            Event::Text { text, .. } => {
                if !link.send(Frame::Text(text)) {
                    return Ok(0);
                }
            }
            Event::Binary(_) | Event::Message(_) | Event::Nothing => {}
            Event::Closed => return Ok(0),
        }
    }
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, HANDSHAKE_TIMEOUT) {
            Ok(tcp) => {
                tcp.set_nodelay(true)?;
                tcp.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
                return Ok(tcp);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

pub(crate) fn system_code(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(NO_SYSTEM_CODE)
}
