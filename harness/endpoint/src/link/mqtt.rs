//! A live connection over MQTT: the harness is the broker's side and pushes PUBLISH packets on
//! the device's own connection, whether it has subscribed or not (device-protocol 3.1).

use std::{
    collections::{BTreeSet, VecDeque},
    io,
    time::Duration,
};

use bytes::{Buf, BytesMut};
use mcp_hil_core::{
    limits::{GATEWAY_PACKET_BYTES, MAX_MESSAGE_BYTES},
    transcript::MqttNote,
    wire::Frame,
};
use rumqttc::mqttbytes::{
    Error as CodecError, QoS,
    v4::{
        Packet, PingResp, PubAck, PubComp, PubRec, Publish, SubAck, Subscribe, SubscribeReasonCode,
        UnsubAck,
    },
};
use tokio::{
    io::Interest,
    net::TcpStream,
    sync::oneshot,
    time::{Instant, timeout, timeout_at},
};

use super::{
    Incoming, LinkLost, SEND_DEADLINE,
    acks::Acks,
    packets::{Arrived, Taken, fault, name},
};

/// Largest packet that is read: a message of the limit, with its topic and header.
pub(crate) const MAX_PACKET_BYTES: usize = MAX_MESSAGE_BYTES + 128 * 1024;

/// What a device may be late beyond one and a half times its keep-alive (MQTT 3.1.1, 3.1.2.10)
/// before the connection is closed: a busy computer must not pass for a broken device.
const KEEP_ALIVE_SLACK: Duration = Duration::from_secs(4);

/// Most bytes of answers to control packets that may wait for a device that reads nothing.
const MAX_UNSENT_BYTES: usize = 64 * 1024;

/// What the link must know of both ends.
#[derive(Debug)]
pub(crate) struct Terms {
    /// Seconds of the CONNECT packet; 0 is for ever.
    pub(crate) keep_alive_s: u16,
    /// Where messages are pushed to.
    pub(crate) push_topic: String,
    /// Where the device was told to publish.
    pub(crate) publish_topic: Option<String>,
    /// The level of the protocol that the device speaks.
    pub(crate) level: u8,
    /// What was taken in on this connection and on earlier ones. A device must send again there what was not
    /// acknowledged, where it keeps its session (MQTT 3.1.1, 4.4); widespread clients also do in a clean one.
    pub(crate) taken: Taken,
}

/// One MQTT connection to a device, after CONNACK.
#[derive(Debug)]
pub(crate) struct MqttLink {
    stream: TcpStream,
    acks: Acks,
    terms: Terms,
    input: BytesMut,
    output: BytesMut,
    ready: VecDeque<Incoming>,
    heard: Instant,
    packet_id: u16,
    /// Packet ids of pushed messages that wait for their PUBACK.
    unacknowledged: VecDeque<u16>,
    /// Those that were acknowledged. None is used twice on a connection.
    acknowledged: BTreeSet<u16>,
    /// Resolves, with an error, when another connection takes the client id over.
    replaced: oneshot::Receiver<()>,
    lost: Option<LinkLost>,
}

impl MqttLink {
    /// A link over a stream on which CONNECT and CONNACK have passed. `input` is what came after
    /// CONNECT already; `fault` is what was wrong with CONNECT, and ends the link.
    pub(crate) fn new(
        stream: TcpStream,
        input: BytesMut,
        terms: Terms,
        replaced: oneshot::Receiver<()>,
        fault: Option<&str>,
    ) -> Self {
        Self {
            acks: Acks::of(&stream),
            stream,
            terms,
            input,
            output: BytesMut::new(),
            ready: VecDeque::new(),
            heard: Instant::now(),
            // With two bytes that differ, so that who gives back one of them, or takes one for the other, is seen.
            packet_id: 0x0200,
            unacknowledged: VecDeque::new(),
            acknowledged: BTreeSet::new(),
            replaced,
            lost: fault.map(|fault| broke(fault.to_owned())),
        }
    }

    /// Pushes the first half of a message.
    pub(crate) async fn publish_half(&mut self, payload: &[u8]) -> Result<(), LinkLost> {
        let packet = Publish::new(self.terms.push_topic.clone(), QoS::AtMostOnce, payload);
        let mut bytes = BytesMut::new();
        // Writing to memory does not fail.
        let _ = Packet::Publish(packet).write(&mut bytes, usize::MAX);
        let half = bytes.len() / 2;
        let sent = timeout(SEND_DEADLINE, async {
            self.write_out().await?;
            write_all(&self.stream, &bytes[..half]).await
        });
        match sent.await {
            Ok(sent) => sent.map_err(|error| why(&error)),
            Err(_) => Err(LinkLost::Stalled),
        }
    }

    /// Pushes one message; in pieces of `piece` bytes when given.
    pub(crate) async fn publish(
        &mut self,
        payload: &[u8],
        piece: Option<usize>,
    ) -> Result<(), LinkLost> {
        let packet = Publish::new(self.terms.push_topic.clone(), QoS::AtMostOnce, payload);
        self.push(packet, piece).await
    }

    /// Pushes one message with QoS 1, and perhaps with the flag of what is sent again.
    pub(crate) async fn publish_acknowledged(
        &mut self,
        payload: &[u8],
        dup: bool,
    ) -> Result<(), LinkLost> {
        self.packet_id = self.packet_id.checked_add(1).unwrap_or(1);
        let mut packet = Publish::new(self.terms.push_topic.clone(), QoS::AtLeastOnce, payload);
        packet.pkid = self.packet_id;
        packet.dup = dup;
        self.unacknowledged.push_back(self.packet_id);
        self.push(packet, None).await
    }

    async fn push(&mut self, packet: Publish, piece: Option<usize>) -> Result<(), LinkLost> {
        self.lost.clone().map_or(Ok(()), Err)?;
        let mut bytes = BytesMut::new();
        // The size was not chosen by the device: it is ours, and below what the codec can write.
        if Packet::Publish(packet).write(&mut bytes, usize::MAX).is_err() {
            return Ok(());
        }
        let piece = piece.unwrap_or(bytes.len()).max(1);
        let sent = timeout(SEND_DEADLINE, async {
            // What is owed for control packets goes first: packets must not be cut by others.
            self.write_out().await?;
            while bytes.has_remaining() {
                let part = bytes.split_to(piece.min(bytes.len()));
                write_all(&self.stream, &part).await?;
            }
            Ok(())
        })
        .await;
        match sent {
            Ok(Ok(())) => Ok(()),
            // Not kept: what the device sent before it went can still be received.
            Ok(Err(error)) => Err(why(&error)),
            Err(_) => {
                self.lost = Some(LinkLost::Stalled);
                Err(LinkLost::Stalled)
            }
        }
    }

    /// The next message, or remark. Cancel-safe.
    pub(crate) async fn recv(&mut self) -> Result<Incoming, LinkLost> {
        loop {
            if let Some(incoming) = self.ready.pop_front() {
                return Ok(incoming);
            }
            self.lost.clone().map_or(Ok(()), Err)?;
            if let Err(lost) = self.step().await {
                self.lost = Some(lost);
            }
        }
    }

    /// Reads what is there, or waits for it; sends what is owed as far as the device takes it.
    async fn step(&mut self) -> Result<(), LinkLost> {
        while let Some(packet) = self.next_packet()? {
            self.take(packet)?;
        }
        if !self.ready.is_empty() {
            return Ok(());
        }
        self.push_owed()?;
        let interest = if self.output.is_empty() {
            Interest::READABLE
        } else {
            Interest::READABLE | Interest::WRITABLE
        };
        let ready = self.stream.ready(interest);
        let keep_alive = self.keep_alive();
        let ready = tokio::select! {
            ready = async {
                match keep_alive {
                    Some(most) => timeout_at(self.heard + most, ready).await,
                    None => Ok(ready.await),
                }
            } => ready,
            _ = &mut self.replaced => {
                return Err(LinkLost::Closed(
                    "another connection with the same client id replaced it".to_owned(),
                ));
            }
        };
        let Ok(ready) = ready else {
            let waited_s = self.heard.elapsed().as_secs();
            return Err(LinkLost::KeepAlive { waited_s, keep_alive_s: self.terms.keep_alive_s });
        };
        if !ready.map_err(|error| why(&error))?.is_readable() {
            return Ok(());
        }
        match self.stream.try_read_buf(&mut self.input) {
            Ok(0) if self.input.is_empty() => Err(LinkLost::Closed(GONE.to_owned())),
            Ok(0) => {
                Err(LinkLost::Closed("the device closed TCP in the middle of a packet".to_owned()))
            }
            Ok(_) => {
                self.acks.now();
                self.heard = Instant::now();
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(why(&error)),
        }
    }

    fn keep_alive(&self) -> Option<Duration> {
        let promised = Duration::from_secs(self.terms.keep_alive_s.into());
        (!promised.is_zero()).then(|| promised * 3 / 2 + KEEP_ALIVE_SLACK)
    }

    fn next_packet(&mut self) -> Result<Option<(Packet, usize)>, LinkLost> {
        let arrived = Arrived::of(&self.input);
        let before = self.input.len();
        match Packet::read(&mut self.input, MAX_PACKET_BYTES) {
            Ok(packet) => match fault(&packet, &arrived, self.terms.level) {
                Some(why) => Err(broke(format!("{} with {why}", name(&packet)))),
                None => Ok(Some((packet, before - self.input.len()))),
            },
            Err(CodecError::InsufficientBytes(_)) => Ok(None),
            Err(CodecError::PayloadSizeLimitExceeded(_)) => Err(LinkLost::too_long()),
            Err(error) => Err(broke(error.to_string())),
        }
    }

    /// Does what a broker does with a packet.
    fn take(&mut self, (packet, bytes): (Packet, usize)) -> Result<(), LinkLost> {
        match packet {
            Packet::Publish(publish) => self.message(publish, bytes),
            Packet::Subscribe(subscribe) => self.subscribed(&subscribe),
            Packet::Unsubscribe(unsubscribe) => {
                self.owe(&Packet::UnsubAck(UnsubAck::new(unsubscribe.pkid)))
            }
            Packet::PingReq => {
                self.note(MqttNote::Ping);
                let mut answer = BytesMut::new();
                // Writing to memory does not fail.
                let _ = PingResp.write(&mut answer);
                self.owe_bytes(&answer)
            }
            Packet::PubAck(ack) => {
                if let Some(at) = self.unacknowledged.iter().position(|id| *id == ack.pkid) {
                    self.unacknowledged.remove(at);
                    self.acknowledged.insert(ack.pkid);
                    self.note(MqttNote::Acknowledged);
                } else if self.acknowledged.contains(&ack.pkid) {
                    self.note(MqttNote::AcknowledgedAgain);
                }
                Ok(())
            }
            Packet::PubRel(release) => self.owe(&Packet::PubComp(PubComp::new(release.pkid))),
            Packet::Disconnect => {
                let how = "the device sent DISCONNECT".to_owned();
                Err(LinkLost::Goodbye { how, code: None })
            }
            Packet::Connect(_) => Err(LinkLost::SecondConnect),
            other @ (Packet::PubRec(_) | Packet::PubComp(_)) => Err(broke(format!(
                "a packet that belongs to QoS 2, which was not sent: {}",
                name(&other)
            ))),
            other => Err(broke(format!("a packet that only brokers send: {}", name(&other)))),
        }
    }

    fn message(&mut self, publish: Publish, bytes: usize) -> Result<(), LinkLost> {
        let owed = match publish.qos {
            QoS::AtMostOnce => Ok(()),
            QoS::AtLeastOnce => self.owe(&Packet::PubAck(PubAck::new(publish.pkid))),
            QoS::ExactlyOnce => self.owe(&Packet::PubRec(PubRec::new(publish.pkid))),
        };
        let is_again = publish.dup && publish.qos == QoS::AtLeastOnce;
        if publish.qos == QoS::AtLeastOnce
            && self.terms.taken.enter(publish.pkid, &publish.payload)
            && is_again
        {
            self.note(MqttNote::Redelivered);
            return owed;
        }
        if self.is_elsewhere(&publish.topic) && !is_of_protocol(&publish.payload) {
            self.note(MqttNote::Elsewhere { topic: publish.topic });
            return owed;
        }
        if is_again {
            // It may have been lost on an earlier connection. Whoever knows what it answers knows whether it can.
            self.note(MqttNote::Duplicate);
        } else {
            self.remark(&publish, bytes);
        }
        if publish.payload.len() > MAX_MESSAGE_BYTES {
            return Err(LinkLost::too_long());
        }
        let frame = match std::str::from_utf8(&publish.payload) {
            Ok(text) => Frame::Text(text.to_owned()),
            Err(_) => Frame::NotUtf8(publish.payload.to_vec()),
        };
        self.ready.push_back(Incoming::Frame(frame));
        owed
    }

    /// Notes what is odd about a message.
    fn remark(&mut self, publish: &Publish, bytes: usize) {
        if self.is_elsewhere(&publish.topic) {
            self.note(MqttNote::Topic { topic: publish.topic.clone() });
        }
        if publish.retain {
            self.note(MqttNote::Retained);
        }
        if bytes > GATEWAY_PACKET_BYTES {
            self.note(MqttNote::LargePacket { bytes });
        }
        if publish.qos != QoS::AtMostOnce {
            self.note(MqttNote::Qos { qos: publish.qos as u8 });
        }
    }

    fn is_elsewhere(&self, topic: &str) -> bool {
        self.terms.publish_topic.as_ref().is_some_and(|own| own != topic)
    }

    fn subscribed(&mut self, subscribe: &Subscribe) -> Result<(), LinkLost> {
        let granted = subscribe
            .filters
            .iter()
            .map(|filter| match filter.qos {
                QoS::ExactlyOnce => QoS::AtLeastOnce,
                asked => asked,
            })
            .map(SubscribeReasonCode::Success)
            .collect();
        for filter in &subscribe.filters {
            self.note(MqttNote::Subscribed { filter: filter.path.clone() });
        }
        self.owe(&Packet::SubAck(SubAck::new(subscribe.pkid, granted)))
    }

    fn note(&mut self, note: MqttNote) {
        self.ready.push_back(Incoming::Note(note));
    }

    fn owe(&mut self, packet: &Packet) -> Result<(), LinkLost> {
        let mut bytes = BytesMut::new();
        match packet.write(&mut bytes, MAX_PACKET_BYTES) {
            Ok(_) => self.owe_bytes(&bytes),
            // A packet id of 0, in what is to be acknowledged.
            Err(error) => Err(broke(error.to_string())),
        }
    }

    fn owe_bytes(&mut self, bytes: &[u8]) -> Result<(), LinkLost> {
        if self.output.len() + bytes.len() > MAX_UNSENT_BYTES {
            return Err(LinkLost::Stalled);
        }
        self.output.extend_from_slice(bytes);
        Ok(())
    }

    /// Sends of what is owed as much as the socket takes now: waiting here would make receiving
    /// cancel-unsafe.
    fn push_owed(&mut self) -> Result<(), LinkLost> {
        while !self.output.is_empty() {
            match self.stream.try_write(&self.output) {
                Ok(written) => self.output.advance(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // What it sent before it closed can still be read.
                Err(_) => self.output.clear(),
            }
        }
        Ok(())
    }

    async fn write_out(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            self.stream.writable().await?;
            match self.stream.try_write(&self.output) {
                Ok(written) => self.output.advance(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Writes all of a part, each time as much as the socket takes.
async fn write_all(stream: &TcpStream, mut part: &[u8]) -> io::Result<()> {
    while !part.is_empty() {
        match stream.try_write(part) {
            Ok(written) => part = &part[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => stream.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn broke(what: String) -> LinkLost {
    LinkLost::Protocol { transport: "MQTT", what }
}

/// How a connection ends that the device closes or resets: which of them is a matter of what it had not read yet.
const GONE: &str = "the device closed TCP without DISCONNECT";

fn why(error: &io::Error) -> LinkLost {
    LinkLost::Closed(match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => GONE.to_owned(),
        _ => format!("the TCP connection failed: {error}"),
    })
}

/// Whether a text has a member that messages of the family, or those in them, have.
fn is_of_protocol(payload: &[u8]) -> bool {
    let members: Option<serde_json::Map<String, serde_json::Value>> =
        serde_json::from_slice(payload).ok();
    let known = ["type", "session_id", "payload", "jsonrpc"];
    members.is_some_and(|members| known.iter().any(|name| members.contains_key(*name)))
}
