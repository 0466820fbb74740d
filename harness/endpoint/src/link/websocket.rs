//! A live connection over WebSocket.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::{Sink as _, SinkExt as _, Stream as _};
use mcp_hil_core::wire::{Frame, OddFrame};
use tokio::{io::AsyncWriteExt as _, net::TcpStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Bytes, Error as WsError, Message, Utf8Bytes,
        error::ProtocolError,
        protocol::{
            CloseFrame,
            frame::{
                Frame as WsFrame,
                coding::{CloseCode, Control, Data, OpCode},
            },
        },
    },
};

use super::{
    LinkLost, SEND_DEADLINE,
    acks::Acks,
    masks::Masks,
    tap::{Kind, Tap},
};

/// How long a device may take to close TCP behind its Close frame, before it is not waited for.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// The key of a frame that must not be masked.
const MASK: [u8; 4] = [0x6d, 0x63, 0x70, 0x21];

/// An opcode of a frame with data that means nothing yet (RFC 6455, section 5.2).
const UNKNOWN_OPCODE: u8 = 3;

/// A message of an unknown type in two pieces, between which another one comes.
const OTHER_MESSAGE: (&[u8], &[u8]) = (b"{\"type\":\"mcp-hil-", b"pieces\"}");

/// One WebSocket connection to a device. Dropping it drops TCP, without a Close frame.
#[derive(Debug)]
pub(crate) struct WebSocketLink {
    socket: WebSocketStream<Tap<TcpStream>>,
    acks: Acks,
    /// Set once nothing more can be received; told again to whoever asks again.
    lost: Option<LinkLost>,
}

impl WebSocketLink {
    pub(crate) fn new(socket: WebSocketStream<Tap<TcpStream>>) -> Self {
        Self { acks: Acks::of(socket.get_ref().stream()), socket, lost: None }
    }

    /// Sends one message and flushes it. [`Frame::NotUtf8`] goes out as a text message.
    ///
    /// # Errors
    /// The connection is gone, or the device reads nothing for [`SEND_DEADLINE`]. What the device
    /// sent before it closed can still be received after that.
    pub(crate) async fn send(&mut self, frame: &Frame) -> Result<(), LinkLost> {
        let message = match frame {
            Frame::Text(text) => Message::text(text.as_str()),
            Frame::NotUtf8(bytes) => {
                Message::Frame(WsFrame::message(bytes.clone(), OpCode::Data(Data::Text), true))
            }
            Frame::Binary(bytes) => Message::binary(bytes.clone()),
            Frame::Ping(bytes) => Message::Ping(bytes.clone().into()),
            Frame::Pong(bytes) => Message::Pong(bytes.clone().into()),
            Frame::Odd(how, text) => return self.send_raw(&odd(*how, text)).await,
        };
        self.ready()?;
        let sent = timeout(SEND_DEADLINE, self.socket.send(message)).await;
        self.settle(sent)
    }

    /// Sends one message in TCP segments of 1, 2, 4 and so many bytes, which end in the header of the frame, between that
    /// and the payload, and inside the payload.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) async fn send_in_segments(&mut self, frame: &Frame) -> Result<(), LinkLost> {
        self.socket.get_mut().cut(true);
        let sent = self.send(frame).await;
        self.socket.get_mut().cut(false);
        sent
    }

    /// Sends one fragment of a text message, and half of the other one.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) async fn send_half(&mut self, frame: &Frame) -> Result<(), LinkLost> {
        let (first, rest) = frame.bytes().split_at(frame.bytes().len() / 2);
        let mut bytes = part(first, Data::Text, false);
        let cut = part(rest, Data::Continue, true);
        bytes.extend(&cut[..cut.len() / 2]);
        self.send_raw(&bytes).await
    }

    /// Sends bytes beside the library, which would not send them.
    async fn send_raw(&mut self, bytes: &[u8]) -> Result<(), LinkLost> {
        self.ready()?;
        let tap = self.socket.get_mut();
        let sent = timeout(SEND_DEADLINE, async {
            tap.write_all(bytes).await?;
            tap.flush().await
        })
        .await;
        self.settle(sent.map(|sent| sent.map_err(WsError::Io)))
    }

    /// Sends one message as real continuation frames of at most `bytes` bytes (at least
    /// one), and a ping with the data of `ping`, and an empty piece, after the first. A cut may fall inside a character.
    /// The last piece is empty if `ends_empty` says so.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) async fn send_fragments(
        &mut self,
        frame: &Frame,
        bytes: usize,
        ping: Option<&[u8]>,
        ends_empty: bool,
    ) -> Result<(), LinkLost> {
        self.ready()?;
        let whole = Bytes::copy_from_slice(frame.bytes());
        let kind = match frame {
            Frame::Binary(_) => Data::Binary,
            _ => Data::Text,
        };
        let mut ping = ping.map(Bytes::copy_from_slice);
        let socket = &mut self.socket;
        let sent = timeout(SEND_DEADLINE, async move {
            let (mut at, mut kind) = (0_usize, kind);
            loop {
                let end = whole.len().min(at.saturating_add(bytes.max(1)));
                // A piece of the rest is empty where nothing is left.
                let last = if ends_empty { at == whole.len() } else { end == whole.len() };
                let part = WsFrame::message(whole.slice(at..end), OpCode::Data(kind), last);
                socket.feed(Message::Frame(part)).await?;
                if last {
                    return socket.flush().await;
                }
                if let Some(data) = ping.take() {
                    socket.feed(Message::Ping(data)).await?;
                    let empty = WsFrame::message(Bytes::new(), OpCode::Data(Data::Continue), false);
                    socket.feed(Message::Frame(empty)).await?;
                }
                (at, kind) = (end, Data::Continue);
            }
        })
        .await;
        self.settle(sent)
    }

    /// Sends a Close frame with code 1000, and a reason of at most 123 bytes, or with nothing, and flushes it (RFC 6455,
    /// section 5.5.1).
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) async fn say_goodbye(&mut self, reason: Option<&str>) -> Result<(), LinkLost> {
        self.ready()?;
        let close = reason
            .map(|reason| CloseFrame { code: CloseCode::Normal, reason: Utf8Bytes::from(reason) });
        let message = Message::Close(close);
        let sent = timeout(SEND_DEADLINE, self.socket.send(message)).await;
        self.settle(sent)
    }

    /// The next message. Pings are answered here and come out too, so that they are recorded.
    ///
    /// Cancel-safe: no message is lost when the future is dropped.
    ///
    /// # Errors
    /// Nothing more can be received; every later call says the same.
    pub(crate) async fn recv(&mut self) -> Result<Frame, LinkLost> {
        self.ready()?;
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// How many frames were masked, and the key of all of them where that was the same.
    pub(crate) fn masks(&self) -> Masks {
        self.socket.get_ref().masks()
    }

    /// The kind of the first frame with data that came behind a Close frame.
    pub(crate) fn behind_close(&self) -> Option<&'static str> {
        self.socket.get_ref().behind_close()
    }

    /// Closes the own half, and reads to the end of the other one, or for a moment.
    pub(crate) async fn hear_out(&mut self) {
        let tap = self.socket.get_mut();
        // What is closed already is no trouble.
        let _ = tap.shutdown().await;
        let _ = timeout(LAST_WORDS, poll_fn(|context| tap.poll_rest(context))).await;
    }

    fn ready(&self) -> Result<(), LinkLost> {
        self.lost.clone().map_or(Ok(()), Err)
    }

    fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Result<Frame, LinkLost>> {
        let message = ready!(Pin::new(&mut self.socket).poll_next(context));
        self.acks.now();
        let lost = match message {
            Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => {
                let data = message.into_data();
                return Poll::Ready(Ok(match self.socket.get_mut().next_kind() {
                    // Copied, so that a short message does not hold on to a whole read buffer.
                    Kind::Text => match std::str::from_utf8(&data) {
                        Ok(text) => Frame::Text(text.to_owned()),
                        Err(_) => Frame::NotUtf8(data.to_vec()),
                    },
                    Kind::Binary => Frame::Binary(data.to_vec()),
                }));
            }
            Some(Ok(Message::Ping(data))) => {
                self.push_reply(context);
                return Poll::Ready(Ok(Frame::Ping(data.to_vec())));
            }
            Some(Ok(Message::Pong(data))) => return Poll::Ready(Ok(Frame::Pong(data.to_vec()))),
            Some(Ok(Message::Close(close))) => {
                self.push_reply(context);
                let _ = self.socket.get_mut().poll_rest(context);
                let code = self.socket.get_ref().close_code();
                // In the place of one that no frame may have the library puts another, with a reason of its own.
                let own = close.as_ref().filter(|close| Some(u16::from(close.code)) == code);
                let reason = own.map(|close| close.reason.as_str()).unwrap_or_default();
                LinkLost::Goodbye { how: said_goodbye(code, reason), code }
            }
            // Raw frames are never read.
            Some(Ok(Message::Frame(_))) | None => {
                LinkLost::Closed("the connection is closed".to_owned())
            }
            Some(Err(error)) => self.why(error),
        };
        self.lost = Some(lost.clone());
        Poll::Ready(Err(lost))
    }

    /// Pushes the pong or the Close that the library queued out, as far as the socket takes it
    /// now. The rest goes with the next call: waiting here would make receiving cancel-unsafe.
    fn push_reply(&mut self, context: &mut Context<'_>) {
        let _ = Pin::new(&mut self.socket).poll_flush(context);
    }

    fn settle<E>(&mut self, sent: Result<Result<(), WsError>, E>) -> Result<(), LinkLost> {
        match sent {
            Ok(Ok(())) => Ok(()),
            // Not kept: what the device sent before it went can still be received.
            Ok(Err(error)) => Err(self.why(error)),
            Err(_) => {
                self.lost = Some(LinkLost::Stalled);
                Err(LinkLost::Stalled)
            }
        }
    }

    fn why(&self, error: WsError) -> LinkLost {
        let closed = |how: &str| LinkLost::Closed(how.to_owned());
        // Whether a device that dies closes or resets is a matter of what it had not read yet, and no other defect.
        let gone = || match self.socket.get_ref().inside_frame() {
            true => closed("the device closed TCP in the middle of a frame"),
            false => closed("the device closed TCP without a Close frame"),
        };
        let broke = |what: String| LinkLost::Protocol { transport: "WebSocket", what };
        match error {
            WsError::Capacity(_) => LinkLost::too_long(),
            WsError::Protocol(ProtocolError::ResetWithoutClosingHandshake) => gone(),
            // The tap hides which kind the new message was of.
            WsError::Protocol(ProtocolError::ExpectedFragment(_)) => {
                broke("a new message began before the fragmented one was complete".to_owned())
            }
            WsError::Protocol(error) => broke(error.to_string()),
            // Texts are checked above; only the reason in a Close frame is checked below.
            WsError::Utf8(_) => {
                broke("the reason in its Close frame is not valid UTF-8".to_owned())
            }
            WsError::Io(error) => match error.kind() {
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => gone(),
                // Only the tap says so.
                io::ErrorKind::InvalidData => broke(error.to_string()),
                _ => LinkLost::Closed(format!("the TCP connection failed: {error}")),
            },
            WsError::ConnectionClosed | WsError::AlreadyClosed => {
                closed("the connection is closed")
            }
            other => broke(other.to_string()),
        }
    }
}

/// One frame, as it goes over the wire.
fn part(data: &[u8], kind: Data, last: bool) -> Vec<u8> {
    framed(WsFrame::message(data.to_vec(), OpCode::Data(kind), last))
}

fn framed(frame: WsFrame) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = frame.format(&mut bytes);
    bytes
}

/// A text in a frame of which a client has to fail the connection.
fn odd(how: OddFrame, whole: &str) -> Vec<u8> {
    let text = whole.as_bytes();
    match how {
        OddFrame::Masked => {
            let mut frame = WsFrame::message(text.to_vec(), OpCode::Data(Data::Text), true);
            frame.header_mut().mask = Some(MASK);
            framed(frame)
        }
        OddFrame::ReservedBit => {
            let mut frame = WsFrame::message(text.to_vec(), OpCode::Data(Data::Text), true);
            frame.header_mut().rsv1 = true;
            framed(frame)
        }
        OddFrame::UnknownOpcode => part(text, Data::Reserved(UNKNOWN_OPCODE), true),
        OddFrame::Continuation => part(text, Data::Continue, true),
        OddFrame::Between => {
            let (begin, end) = OTHER_MESSAGE;
            let around = [part(begin, Data::Text, false), part(end, Data::Continue, true)];
            around.join(&part(text, Data::Text, true)[..])
        }
        OddFrame::NotUtf8 => {
            let latin = |character: char| u8::try_from(character).unwrap_or(u8::MAX);
            let bytes: Vec<u8> = whole.chars().map(latin).collect();
            part(&bytes, Data::Text, true)
        }
        OddFrame::CutPing => {
            let kind = OpCode::Control(Control::Ping);
            framed(WsFrame::message(text.to_vec(), kind, false))
        }
    }
}

fn said_goodbye(code: Option<u16>, reason: &str) -> String {
    match code {
        Some(code) if reason.is_empty() => {
            format!("the device sent a Close frame with code {code}")
        }
        Some(code) => {
            format!("the device sent a Close frame with code {code} and reason `{reason}`")
        }
        None => "the device sent a Close frame without a code".to_owned(),
    }
}
