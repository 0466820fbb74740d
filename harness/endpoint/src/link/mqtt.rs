//! A live connection over MQTT: the harness is the broker's side and pushes PUBLISH packets on
//! the device's own connection, whether it has subscribed or not (device-protocol 3.1).

use std::{collections::VecDeque, io, time::Duration};

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
        UnsubAck, Unsubscribe,
    },
};
use tokio::{
    io::Interest,
    net::TcpStream,
    sync::oneshot,
    time::{Instant, timeout, timeout_at},
};

use super::{Incoming, LinkLost, SEND_DEADLINE, acks::Acks};

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
    /// Whether the device may send what was not acknowledged on an earlier connection. It must where it keeps its
    /// session (MQTT 3.1.1, 4.4); widespread clients also do in a clean one.
    pub(crate) sends_again: bool,
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
            packet_id: 0,
            unacknowledged: VecDeque::new(),
            replaced,
            lost: fault.map(|fault| broke(fault.to_owned())),
        }
    }

    /// Pushes one message; in pieces of `piece` bytes when given.
    pub(crate) async fn publish(
        &mut self,
        payload: &[u8],
        piece: Option<usize>,
        qos: u8,
    ) -> Result<(), LinkLost> {
        self.lost.clone().map_or(Ok(()), Err)?;
        let mut packet = Publish::new(self.terms.push_topic.clone(), QoS::AtMostOnce, payload);
        if qos > 0 {
            self.packet_id = self.packet_id.checked_add(1).unwrap_or(1);
            packet.qos = QoS::AtLeastOnce;
            packet.pkid = self.packet_id;
            self.unacknowledged.push_back(self.packet_id);
        }
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
        let before = self.input.len();
        let flags = self.input.first().map_or(0, |byte| byte & 0x0f);
        let length = remaining_length(&self.input);
        match Packet::read(&mut self.input, MAX_PACKET_BYTES) {
            Ok(packet) if !flags_fit(&packet, flags) => Err(broke(format!(
                "{} with the reserved bits {flags:04b} in its first byte",
                name(&packet)
            ))),
            Ok(packet) if fixed_length(&packet).is_some_and(|fixed| length != Some(fixed)) => {
                Err(broke(format!(
                    "{} with a remaining length of {}",
                    name(&packet),
                    length.unwrap_or_default()
                )))
            }
            Ok(packet) => Ok(Some((packet, before - self.input.len()))),
            Err(CodecError::InsufficientBytes(_)) => Ok(None),
            Err(CodecError::PayloadSizeLimitExceeded(_)) => Err(LinkLost::too_long()),
            Err(error) => Err(broke(error.to_string())),
        }
    }

    /// Does what a broker does with a packet.
    fn take(&mut self, (packet, bytes): (Packet, usize)) -> Result<(), LinkLost> {
        if let Packet::Subscribe(Subscribe { pkid: 0, .. })
        | Packet::Unsubscribe(Unsubscribe { pkid: 0, .. }) = &packet
        {
            return Err(broke(format!("{} with packet id 0", name(&packet))));
        }
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
                    self.note(MqttNote::Acknowledged);
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
        if self.terms.sends_again && publish.dup && publish.qos == QoS::AtLeastOnce {
            // It was taken in before the link fell, or is for a session that is over.
            self.note(MqttNote::Redelivered);
            return self.owe(&Packet::PubAck(PubAck::new(publish.pkid)));
        }
        if self.terms.publish_topic.as_ref().is_some_and(|topic| *topic != publish.topic) {
            self.note(MqttNote::Topic { topic: publish.topic.clone() });
        }
        if publish.retain {
            self.note(MqttNote::Retained);
        }
        if bytes > GATEWAY_PACKET_BYTES {
            self.note(MqttNote::LargePacket { bytes });
        }
        let owed = match publish.qos {
            QoS::AtMostOnce => Ok(()),
            QoS::AtLeastOnce => self.owe(&Packet::PubAck(PubAck::new(publish.pkid))),
            QoS::ExactlyOnce => self.owe(&Packet::PubRec(PubRec::new(publish.pkid))),
        };
        if publish.qos != QoS::AtMostOnce {
            self.note(MqttNote::Qos { qos: publish.qos as u8 });
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

/// Whether the low bits of a packet's first byte are what MQTT 3.1.1, 2.2.2 wants.
fn flags_fit(packet: &Packet, flags: u8) -> bool {
    match packet {
        // What is sent at most once is not sent again (3.3.1.1).
        Packet::Publish(publish) => !(publish.dup && publish.qos == QoS::AtMostOnce),
        // MQTT 3.1 knows a DUP bit for these.
        Packet::Subscribe(_) | Packet::Unsubscribe(_) | Packet::PubRel(_) => {
            flags & 0b0111 == 0b0010
        }
        _ => flags == 0,
    }
}

/// The remaining length of packets that all have the same (MQTT 3.1.1, 3.4, 3.5, 3.6, 3.7, 3.12, 3.14).
fn fixed_length(packet: &Packet) -> Option<usize> {
    match packet {
        Packet::PingReq | Packet::Disconnect => Some(0),
        Packet::PubAck(_) | Packet::PubRec(_) | Packet::PubRel(_) | Packet::PubComp(_) => Some(2),
        _ => None,
    }
}

/// The remaining length that a packet announces (MQTT 3.1.1, 2.2.3), once it is there.
fn remaining_length(input: &BytesMut) -> Option<usize> {
    let mut length = 0;
    for (at, byte) in input.iter().skip(1).take(4).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some(length);
        }
    }
    None
}

/// Where the body of a CONNECT packet begins, and where its level stands.
fn head(input: &BytesMut) -> Option<(usize, usize)> {
    let mut length = input.iter().skip(1).take(4);
    let body = 2 + length.position(|byte| byte & 0x80 == 0)?;
    let name = u16::from_be_bytes([*input.get(body)?, *input.get(body + 1)?]);
    Some((body, body + 2 + usize::from(name)))
}

/// What is wrong with the flags of a CONNECT packet, once they are there. Flags that the codec would refuse are
/// cleared: whose they are is in the rest of the packet.
pub(crate) fn reserved_flags(input: &mut BytesMut) -> Option<&'static str> {
    const WILL: u8 = 0b100;
    const OF_WILL: u8 = 0b11_1000;
    let (_, level_at) = head(input)?;
    let flags = input.get_mut(level_at + 1)?;
    if *flags & WILL == 0 && *flags & OF_WILL != 0 {
        *flags &= !OF_WILL;
        return Some(
            "CONNECT has a QoS or a retain flag for a will, and no will (3.1.2.6, 3.1.2.7)",
        );
    }
    (*flags & 1 != 0).then_some("the reserved flag of CONNECT is set (3.1.2.3)")
}

/// Turns a CONNECT of MQTT 3.1 into one of 3.1.1, which differs in name and level only: the codec
/// knows the latter. Returns the level that the packet named, once its head is complete.
pub(crate) fn modernise(input: &mut BytesMut) -> Option<u8> {
    const OLD: &[u8] = b"\0\x06MQIsdp\x03";
    const NEW: &[u8] = b"\0\x04MQTT\x04";
    const CONNECT: u8 = 0x10;
    let (body, level_at) = head(input)?;
    let level = *input.get(level_at)?;
    if input[0] & 0xf0 != CONNECT || !input[body..].starts_with(OLD) {
        return Some(level);
    }
    let length = input[1..body]
        .iter()
        .rev()
        .fold(0_usize, |sum, byte| (sum << 7) | usize::from(byte & 0x7f));
    let mut shorter = length.checked_sub(OLD.len() - NEW.len())?;
    let mut packet = BytesMut::with_capacity(input.len());
    packet.extend_from_slice(&[input[0]]);
    loop {
        let more = if shorter > 0x7f { 0x80 } else { 0 };
        packet.extend_from_slice(&[(shorter & 0x7f) as u8 | more]);
        shorter >>= 7;
        if shorter == 0 {
            break;
        }
    }
    packet.extend_from_slice(NEW);
    packet.extend_from_slice(&input[body + OLD.len()..]);
    *input = packet;
    Some(level)
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

fn name(packet: &Packet) -> &'static str {
    match packet {
        Packet::Connect(_) => "CONNECT",
        Packet::Publish(_) => "PUBLISH",
        Packet::PubAck(_) => "PUBACK",
        Packet::PubRel(_) => "PUBREL",
        Packet::Subscribe(_) => "SUBSCRIBE",
        Packet::Unsubscribe(_) => "UNSUBSCRIBE",
        Packet::PingReq => "PINGREQ",
        Packet::Disconnect => "DISCONNECT",
        Packet::ConnAck(_) => "CONNACK",
        Packet::SubAck(_) => "SUBACK",
        Packet::UnsubAck(_) => "UNSUBACK",
        Packet::PingResp => "PINGRESP",
        Packet::PubRec(_) => "PUBREC",
        Packet::PubComp(_) => "PUBCOMP",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rumqttc::mqttbytes::v4::Connect;

    #[test]
    fn reserved_bits_are_seen() {
        let connect = |flags: u8| {
            let mut packet = vec![0x10, 13];
            packet.extend(b"\0\x04MQTT\x04");
            packet.extend([flags, 0, 60, 0, 1, b'c']);
            BytesMut::from(&packet[..])
        };
        assert_eq!(reserved_flags(&mut connect(0x02)), None);
        assert!(reserved_flags(&mut connect(0x03)).is_some());
        assert_eq!(reserved_flags(&mut BytesMut::from(&b"\x10\x0d\0\x04MQTT\x04"[..])), None);
        // A will has a QoS; without a will there is none, and the codec gets to read the rest.
        assert_eq!(reserved_flags(&mut connect(0x0e)), None);
        let mut without_will = connect(0x0a);
        assert!(reserved_flags(&mut without_will).is_some());
        assert_eq!(without_will, connect(0x02));
        assert!(flags_fit(&Packet::PingReq, 0));
        assert!(!flags_fit(&Packet::PingReq, 1));
        let release = Packet::PubRel(rumqttc::mqttbytes::v4::PubRel::new(1));
        assert!(flags_fit(&release, 0b0010));
        assert!(flags_fit(&release, 0b1010));
        assert!(!flags_fit(&release, 0));
        let mut publish = Publish::new("t", QoS::AtMostOnce, "x");
        assert!(flags_fit(&Packet::Publish(publish.clone()), 0));
        publish.dup = true;
        assert!(!flags_fit(&Packet::Publish(publish.clone()), 0b1000));
        publish.qos = QoS::AtLeastOnce;
        assert!(flags_fit(&Packet::Publish(publish), 0b1010));
    }

    #[test]
    fn packets_of_one_length_have_it() {
        let length = |bytes: &[u8]| remaining_length(&BytesMut::from(bytes));
        assert_eq!(length(b"\xc0\0"), Some(0));
        // Longer than it need be, which 3.1.1 does not forbid.
        assert_eq!(length(b"\xc0\x80\0"), Some(0));
        assert_eq!(length(b"\xc0\x01\0"), Some(1));
        assert_eq!(length(b"\x30\xac\x02"), Some(300));
        assert_eq!(length(b"\x30\xac"), None);
        assert_eq!(fixed_length(&Packet::PingReq), Some(0));
        assert_eq!(fixed_length(&Packet::PubAck(PubAck::new(1))), Some(2));
    }

    fn old_connect(client_id: &str) -> BytesMut {
        let mut body = b"\0\x06MQIsdp\x03\x02\0\x3c".to_vec();
        body.extend((client_id.len() as u16).to_be_bytes());
        body.extend(client_id.as_bytes());
        let mut packet = vec![0x10];
        let mut length = body.len();
        while length > 0x7f {
            packet.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        packet.push(length as u8);
        packet.extend(body);
        BytesMut::from(&packet[..])
    }

    proptest! {
        #[test]
        fn an_old_connect_reads_as_a_new_one(client_id in "[a-z@]{0,200}") {
            let mut input = old_connect(&client_id);
            prop_assert_eq!(modernise(&mut input), Some(3));
            let Ok(Packet::Connect(connect)) = Packet::read(&mut input, MAX_PACKET_BYTES) else {
                panic!("no CONNECT");
            };
            prop_assert_eq!((connect.client_id, connect.keep_alive), (client_id, 60));
        }

        #[test]
        fn a_new_connect_stays_as_it_is(client_id in ".{0,200}") {
            let mut input = BytesMut::new();
            Connect::new(client_id).write(&mut input).unwrap();
            let before = input.clone();
            prop_assert_eq!(modernise(&mut input), Some(4));
            prop_assert_eq!(input, before);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut input = BytesMut::from(&bytes[..]);
            modernise(&mut input);
            while Packet::read(&mut input, MAX_PACKET_BYTES).is_ok() {}
            prop_assert!(input.len() <= bytes.len());
        }

        #[test]
        fn nearly_good_packets_make_no_panic(
            at in 0..60_usize, byte in any::<u8>(), kind in 1..15_u8, flags in 0..16_u8,
        ) {
            let mut input = BytesMut::new();
            Connect::new("device").write(&mut input).unwrap();
            input[0] = kind << 4 | flags;
            if let Some(place) = input.get_mut(at) {
                *place = byte;
            }
            modernise(&mut input);
            let _ = Packet::read(&mut input, MAX_PACKET_BYTES);
        }
    }
}
