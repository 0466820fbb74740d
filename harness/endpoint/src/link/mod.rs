//! One live connection to a device, over whichever transport.

pub(crate) mod acks;
pub(crate) mod broker;
pub(crate) mod masks;
pub(crate) mod mqtt;
pub(crate) mod packets;
pub(crate) mod tap;
pub(crate) mod websocket;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    time::{Duration, Instant},
};

use mcp_hil_core::{
    limits::MAX_MESSAGE_BYTES,
    transcript::{MqttConnect, MqttNote},
    wire::Frame,
};

pub use masks::Masks;

/// How long a device may leave what was sent to it unread.
pub const SEND_DEADLINE: Duration = Duration::from_secs(10);

/// What the device said when it connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    /// The path it asked for, with the query; empty over MQTT.
    pub path: String,
    /// The headers under lower-case names; values of a repeated one are joined by `, `. None over
    /// MQTT.
    pub headers: BTreeMap<String, String>,
    /// What its CONNECT packet said. None over WebSocket, and where a broker stands between.
    pub mqtt: Option<MqttConnect>,
    /// Where it connected from.
    pub peer: SocketAddr,
}

impl Handshake {
    /// The name that the device gives itself: its `Device-Id`. Over MQTT, where there are no headers, it has none here.
    pub fn device(&self) -> Option<&str> {
        self.headers.get("device-id").map(String::as_str)
    }
}

/// What came over a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// A message from the device.
    Frame(Frame),
    /// Something below the messages that checks want to know of; MQTT only.
    Note(MqttNote),
}

/// Why a link can be used no more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkLost {
    /// The device ended the connection, in the way that the text says.
    #[error("{0}")]
    Closed(String),
    /// The device took leave first, with a Close frame over WebSocket or DISCONNECT over MQTT, as the text says.
    #[error("{how}")]
    Goodbye {
        /// How.
        how: String,
        /// The code of the Close frame.
        code: Option<u16>,
    },
    /// The device sent a message beyond the limit
    /// [`MAX_MESSAGE_BYTES`].
    #[error("the device sent a message longer than MAX_MESSAGE_BYTES ({limit} bytes)")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The device broke the protocol of the transport, in the way that the text says.
    #[error("the device violated the {transport} protocol: {what}")]
    Protocol {
        /// `WebSocket` or `MQTT`.
        transport: &'static str,
        /// What it did.
        what: String,
    },
    /// The device sent a second CONNECT on one connection (MQTT 3.1.1, 3.1.0-2).
    #[error("the device sent CONNECT a second time on one connection")]
    SecondConnect,
    /// The device sent no MQTT packet for longer than it had promised.
    #[error(
        "the device sent nothing, no PINGREQ either, for {waited_s} s: its keep-alive is {keep_alive_s} s"
    )]
    KeepAlive {
        /// How long was waited, in seconds.
        waited_s: u64,
        /// What its CONNECT promised, in seconds.
        keep_alive_s: u16,
    },
    /// The device left what was sent to it unread for [`SEND_DEADLINE`].
    #[error(
        "the device did not read what was sent to it for SEND_DEADLINE ({} s)",
        SEND_DEADLINE.as_secs()
    )]
    Stalled,
    /// The device went on with another connection, and left this one open.
    #[error(
        "the device opened another connection, said hello there, and did not answer on this one any more"
    )]
    Left,
    /// The broker between harness and device is gone; not the device's doing.
    #[error("the connection to the MQTT broker was lost: {0}")]
    Broker(String),
}

impl LinkLost {
    fn too_long() -> Self {
        Self::TooLong { limit: MAX_MESSAGE_BYTES }
    }
}

/// One connection to a device. Dropping it drops TCP, without a word.
#[derive(Debug)]
pub struct Link {
    wire: Wire,
    handshake: Handshake,
    pinged: Option<&'static [u8]>,
    /// What came first, where that was looked at already, and when that was.
    early: Option<(Incoming, Instant)>,
}

/// The transport under a link.
#[derive(Debug)]
pub(crate) enum Wire {
    WebSocket(Box<websocket::WebSocketLink>),
    Mqtt(Box<mqtt::MqttLink>),
    Broker(Box<broker::BrokerLink>),
}

impl Link {
    pub(crate) fn new(wire: Wire, handshake: Handshake) -> Self {
        Self { wire, handshake, pinged: None, early: None }
    }

    /// The same, on which a ping with these data was sent together with the response to the handshake.
    pub(crate) fn pinged(self, data: Option<&'static [u8]>) -> Self {
        Self { pinged: data, ..self }
    }

    /// The data of the ping that was sent together with the response to the handshake.
    pub fn first_ping(&self) -> Option<&'static [u8]> {
        self.pinged
    }

    /// What the device said when it connected.
    pub fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    /// Sends one message and flushes it. [`Frame::NotUtf8`] goes out as a text message; over MQTT
    /// every frame is the payload of a PUBLISH with QoS 0.
    ///
    /// # Errors
    /// The connection is gone, or the device reads nothing for [`SEND_DEADLINE`]. What the device
    /// sent before it closed can still be received after that.
    pub async fn send(&mut self, frame: &Frame) -> Result<(), LinkLost> {
        match &mut self.wire {
            Wire::WebSocket(link) => link.send(frame).await,
            Wire::Mqtt(link) => link.publish(frame.bytes(), None).await,
            Wire::Broker(link) => link.publish(frame.bytes()).await,
        }
    }

    /// Sends one message in pieces of at most `bytes` bytes (at least one): continuation
    /// frames over WebSocket, separate TCP segments over MQTT. A cut may fall inside a character.
    /// Over WebSocket a ping with the data of `ping` comes after the first piece.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_fragments(
        &mut self,
        frame: &Frame,
        bytes: usize,
        ping: Option<&[u8]>,
    ) -> Result<(), LinkLost> {
        match &mut self.wire {
            Wire::WebSocket(link) => link.send_fragments(frame, bytes, ping, false).await,
            Wire::Mqtt(link) => link.publish(frame.bytes(), Some(bytes.max(1))).await,
            Wire::Broker(link) => link.publish(frame.bytes()).await,
        }
    }

    /// The same without a ping; over WebSocket the last of the continuation frames is empty.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_with_empty_end(
        &mut self,
        frame: &Frame,
        bytes: usize,
    ) -> Result<(), LinkLost> {
        match &mut self.wire {
            Wire::WebSocket(link) => link.send_fragments(frame, bytes, None, true).await,
            Wire::Mqtt(_) | Wire::Broker(_) => self.send_fragments(frame, bytes, None).await,
        }
    }

    /// Sends one message in TCP segments of 1, 2, 4 and so many bytes: TCP is a stream, whose pieces mean nothing.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_in_segments(&mut self, frame: &Frame) -> Result<(), LinkLost> {
        match &mut self.wire {
            Wire::WebSocket(link) => link.send_in_segments(frame).await,
            Wire::Mqtt(link) => link.publish(frame.bytes(), Some(1)).await,
            Wire::Broker(link) => link.publish(frame.bytes()).await,
        }
    }

    /// Sends one message with MQTT's QoS 1, and with `dup` the flag of what is sent again; over another transport as
    /// [`send`](Self::send) does.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_acknowledged(&mut self, frame: &Frame, dup: bool) -> Result<(), LinkLost> {
        match &mut self.wire {
            Wire::Mqtt(link) => link.publish_acknowledged(frame.bytes(), dup).await,
            _ => self.send(frame).await,
        }
    }

    /// Sends the first half of a message, whatever that cuts through; through a broker, nothing. The connection is good
    /// for nothing any more.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_half(&mut self, frame: &Frame) -> Result<(), LinkLost> {
        match &mut self.wire {
            Wire::WebSocket(link) => link.send_half(frame).await,
            Wire::Mqtt(link) => link.publish_half(frame.bytes()).await,
            Wire::Broker(_) => Ok(()),
        }
    }

    /// How the frames of the device were masked so far; over WebSocket only.
    pub fn masks(&self) -> Masks {
        match &self.wire {
            Wire::WebSocket(link) => link.masks(),
            _ => Masks::default(),
        }
    }

    /// What data came behind the device's Close frame, which has to be the last (RFC 6455, section 5.5.1), in words; over
    /// WebSocket only.
    pub fn behind_close(&self) -> Option<&'static str> {
        match &self.wire {
            Wire::WebSocket(link) => link.behind_close(),
            Wire::Mqtt(_) | Wire::Broker(_) => None,
        }
    }

    /// Closes the own half of a connection on which a goodbye came, and reads what the device still has to say until it
    /// closes, too, or takes its time for that.
    pub async fn hear_out(&mut self) {
        if let Wire::WebSocket(link) = &mut self.wire {
            link.hear_out().await;
        }
    }

    /// The next thing that comes. Pings are answered here and come out too, so that they are
    /// recorded.
    ///
    /// Cancel-safe: nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// Nothing more can be received; every later call says the same.
    pub async fn recv(&mut self) -> Result<Incoming, LinkLost> {
        if let Some((incoming, _)) = self.early.take() {
            return Ok(incoming);
        }
        self.recv_next().await
    }

    async fn recv_next(&mut self) -> Result<Incoming, LinkLost> {
        match &mut self.wire {
            Wire::WebSocket(link) => link.recv().await.map(Incoming::Frame),
            Wire::Mqtt(link) => link.recv().await,
            Wire::Broker(link) => link.recv().await.map(Incoming::Frame),
        }
    }

    /// Waits until the first thing that comes is there, and it is a hello; that is received all the same. What is
    /// anything else, or has ended before, never says hello. Gives when it came. Cancel-safe.
    pub(crate) async fn says_hello(&mut self) -> Instant {
        if self.early.is_none()
            && let Ok(incoming) = self.recv_next().await
        {
            self.early = Some((incoming, Instant::now()));
        }
        match &self.early {
            Some((Incoming::Frame(Frame::Text(text)), at)) if is_hello(text) => *at,
            _ => std::future::pending().await,
        }
    }

    /// Says goodbye as the protocol of the transport has it: a WebSocket Close frame with code 1000 and a reason, or with
    /// nothing where that is absent. What
    /// the device says afterwards is still received, its own Close frame as [`LinkLost::Goodbye`]. Over
    /// MQTT, where a server has no such word, nothing is sent.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn say_goodbye(&mut self, reason: Option<&str>) -> Result<(), LinkLost> {
        match &mut self.wire {
            Wire::WebSocket(link) => link.say_goodbye(reason).await,
            Wire::Mqtt(_) | Wire::Broker(_) => Ok(()),
        }
    }

    /// Drops the connection at once, without a word.
    pub fn abort(self) {}
}

/// Whether a text is a hello.
fn is_hello(text: &str) -> bool {
    let message: Option<serde_json::Value> = serde_json::from_str(text).ok();
    message.is_some_and(|message| message["type"] == "hello")
}
