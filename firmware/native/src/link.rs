//! One WebSocket connection: dialling, reading with a deadline, sending.

use std::io::{self, Read as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use tokio_tungstenite::tungstenite::client::{IntoClientRequest, client_with_config};
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::handshake::HandshakeError;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::frame::Frame as RawFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use reference_body::{Event, Frame, LinkOptions, NO_SYSTEM_CODE};
use reference_device::LARGEST_MESSAGE;

use crate::frames::{Arrival, FrameStream};

/// How long the device waits for the server's answer to its handshake (WebSocket document).
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a server that was refused may take to hear of it.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes that the library reads at a time, as on a chip.
const BUFFER: usize = 8 << 10;

/// A connection.
#[derive(Debug)]
pub(crate) struct Link {
    socket: WebSocket<FrameStream>,
    /// What is wrong below the messages.
    options: LinkOptions,
    /// Pieces of a message are left that stand before the next one.
    has_pieces: bool,
    /// The server has said goodbye, and the connection is left as it is.
    forsaken: bool,
}

impl Link {
    /// Dials; the error is the system's error number.
    pub(crate) fn dial(
        url: &str,
        headers: &[(&str, String)],
        options: LinkOptions,
    ) -> Result<Link, i32> {
        let end = url.match_indices('/').nth(2).filter(|_| options.pathless);
        let url = end.map_or(url, |(at, _)| &url[..=at]);
        let mut request = url.into_client_request().map_err(|_| NO_SYSTEM_CODE)?;
        if request.uri().scheme_str() != Some("ws") {
            return Err(NO_SYSTEM_CODE);
        }
        let host = request.uri().host().unwrap_or_default().trim_matches(['[', ']']).to_string();
        let port = request.uri().port_u16().unwrap_or(80);
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| NO_SYSTEM_CODE)?;
            let value = HeaderValue::from_str(value).map_err(|_| NO_SYSTEM_CODE)?;
            request.headers_mut().insert(name, value);
        }

        let tcp = connect(&host, port).map_err(|error| system_code(&error))?;
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER)
            .write_buffer_size(BUFFER)
            .max_frame_size(Some(LARGEST_MESSAGE))
            .max_message_size(Some(LARGEST_MESSAGE));
        let stream = FrameStream::new(tcp, options);
        let handshake = client_with_config(request, stream, Some(config));
        let (mut socket, _) = handshake.map_err(|error| match error {
            HandshakeError::Failure(tungstenite::Error::Io(error)) => system_code(&error),
            _ => NO_SYSTEM_CODE,
        })?;
        socket.get_mut().send_with(options);
        let watches = options.watch_fragments || options.loses_pinged || options.drop_inner_pongs;
        let keeps = options.keeps_rest || options.keeps_pieces;
        let ends = options.loses_empty_end || options.ends_at_binary_pieces;
        if watches || options.loses_emptied || options.loses_split || keeps || ends {
            socket.get_mut().watch_fragments();
        }
        let has_pieces = socket.get_ref().has_pieces();
        Ok(Link { socket, options, has_pieces, forsaken: false })
    }

    /// Waits for the next event, `timeout` at most.
    pub(crate) fn read(&mut self, timeout: Duration) -> Event {
        // A timeout of zero would mean none at all.
        let timeout = timeout.max(Duration::from_millis(1));
        if self.socket.get_ref().tcp().set_read_timeout(Some(timeout)).is_err() {
            return Event::Closed;
        }
        if self.forsaken {
            return self.wait_for_end();
        }
        match self.socket.read() {
            Ok(Message::Text(text)) => {
                let Arrival { fragmented, pinged, emptied, empty_end, split } =
                    self.socket.get_mut().next_arrival();
                let options = self.options;
                if pinged && options.loses_pinged
                    || emptied && options.loses_emptied
                    || empty_end && options.loses_empty_end
                    || split && options.loses_split
                {
                    return Event::Nothing;
                }
                let mut copy = String::new();
                if copy.try_reserve_exact(text.len()).is_err() {
                    return self.refuse(text.len());
                }
                if std::mem::take(&mut self.has_pieces) {
                    copy.push('{');
                }
                copy.push_str(&text);
                Event::Text { text: copy, fragmented }
            }
            Ok(Message::Binary(bytes)) => {
                let arrival = self.socket.get_mut().next_arrival();
                if arrival.fragmented && self.options.ends_at_binary_pieces {
                    return Event::Closed;
                }
                Event::Binary(bytes.to_vec())
            }
            Ok(Message::Pong(_)) if self.options.ends_at_pong => Event::Closed,
            Ok(Message::Close(Some(frame)))
                if self.options.ends_at_reason && !frame.reason.is_empty() =>
            {
                Event::Closed
            }
            Ok(Message::Close(None)) if self.options.ends_at_bare => Event::Closed,
            Ok(Message::Close(_)) => {
                // The library has put the answer by. What the device wants to send next is refused, and would
                // end the connection before that is out.
                let _ = self.socket.flush();
                self.forsaken = self.options.lingers;
                Event::Nothing
            }
            Ok(_) => Event::Nothing,
            Err(tungstenite::Error::Utf8(_)) if self.options.takes_any_text => {
                self.socket.get_mut().next_arrival();
                Event::Text { text: char::REPLACEMENT_CHARACTER.to_string(), fragmented: false }
            }
            Err(tungstenite::Error::Io(error)) if is_early(&error) => Event::Nothing,
            Err(tungstenite::Error::Capacity(CapacityError::MessageTooLong { size, .. })) => {
                self.refuse(size)
            }
            Err(_) => Event::Closed,
        }
    }

    /// Closes the connection because of a message of so many bytes. The server hears of it: a socket that
    /// is closed with something unread in it would take the reason back.
    fn refuse(&mut self, bytes: usize) -> Event {
        if self.options.refuses_silently {
            return Event::Refused { bytes: bytes as u64 };
        }
        let code = match self.options.refuses_as_error {
            true => CloseCode::Protocol,
            false => CloseCode::Size,
        };
        let reason = CloseFrame { code, reason: format!("at most {LARGEST_MESSAGE} bytes").into() };
        // Whoever is gone needs no reason.
        let _ = self.socket.close(Some(reason));
        let _ = self.socket.flush();
        let mut tcp = self.socket.get_ref().tcp();
        let _ = tcp.shutdown(Shutdown::Write);
        let begin = Instant::now();
        let mut unread = [0; BUFFER];
        while let Some(left) = REFUSAL_TIMEOUT.checked_sub(begin.elapsed())
            && !left.is_zero()
            && tcp.set_read_timeout(Some(left)).is_ok()
            && tcp.read(&mut unread).is_ok_and(|count| count > 0)
        {}
        Event::Refused { bytes: bytes as u64 }
    }

    /// Reads on until the server ends the connection.
    fn wait_for_end(&mut self) -> Event {
        let mut rest = [0; 256];
        match self.socket.get_ref().tcp().read(&mut rest) {
            Ok(1..) => Event::Nothing,
            Err(error) if is_early(&error) => Event::Nothing,
            Ok(0) | Err(_) => Event::Closed,
        }
    }

    /// Sends; false when the connection is gone.
    pub(crate) fn send(&mut self, frame: Frame) -> bool {
        if self.forsaken {
            // To the device there is no connection any more; it only does not end it.
            return true;
        }
        let message = match frame {
            Frame::Text(text) => Message::text(text),
            Frame::Binary(bytes) => Message::binary(bytes),
            Frame::RawText(bytes) => {
                Message::Frame(RawFrame::message(bytes, OpCode::Data(Data::Text), true))
            }
            Frame::Close(code) => {
                // What is said to the server after that would end the connection before it has read this.
                self.forsaken = true;
                Message::Close(Some(CloseFrame { code: code.into(), reason: "".into() }))
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
            Event::Refused { .. } | Event::Closed => return Ok(0),
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

/// Whether nothing has come in time. A program that was stopped while it waited, and goes on, is interrupted.
fn is_early(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};

    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

pub(crate) fn system_code(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(NO_SYSTEM_CODE)
}
