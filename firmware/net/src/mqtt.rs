//! The MQTT 3.1.1 client of the device, without sockets: a codec with the device's own opinion of
//! acknowledgements and signs of life.

use alloc::vec::Vec;
use core::mem;

use mqtt_protocol_core::mqtt::Connection;
use mqtt_protocol_core::mqtt::Version;
use mqtt_protocol_core::mqtt::common::Cursor;
use mqtt_protocol_core::mqtt::connection::{ConnectionOptions, Event};
use mqtt_protocol_core::mqtt::packet::v3_1_1::{Connect, Disconnect, Pingreq, Publish};
use mqtt_protocol_core::mqtt::packet::{GenericPacketTrait, Packet, Qos};
use mqtt_protocol_core::mqtt::role;
use reference_body::{ConnectPlan, NO_SYSTEM_CODE, Publication};
use reference_device::LARGEST_MESSAGE;

/// Longest packet of a broker that is no message, in bytes. The device subscribes to nothing: all that
/// it is owed are acknowledgements.
const LONGEST_ANSWER: u32 = 512;
/// Longest topic of a message in bytes. The topic means nothing to the device.
const LONGEST_TOPIC: usize = 512;

/// One connection to a broker.
pub(crate) struct Client {
    connection: Connection<role::Client>,
    plan: ConnectPlan,
    /// Packets that went out.
    count: u64,
    outgoing: Vec<u8>,
    incoming: Incoming,
    /// The content of the message that the codec is being told of.
    content: Vec<u8>,
    message: Option<Vec<u8>>,
    consent: Option<Result<(), i32>>,
    refused: Option<u64>,
    closed: bool,
}

/// The packet that is being read.
#[derive(Debug, Default)]
struct Incoming {
    /// First byte and length, while they are not complete.
    header: Vec<u8>,
    /// Bytes of a message's packet behind its header, and how many are missing. Other packets go to the
    /// codec as they are.
    message: Option<(Vec<u8>, usize)>,
    /// How much is missing of a packet that is no message.
    other: usize,
}

impl Client {
    /// A connection that begins with CONNECT; the error is what the console shows.
    pub(crate) fn new(plan: &ConnectPlan) -> Result<Client, i32> {
        let options = ConnectionOptions::new().maximum_packet_size_recv(LONGEST_ANSWER);
        let mut connection = Connection::with_options(Version::V3_1_1, options);
        connection.set_auto_pub_response(plan.acknowledges);
        let mut client = Client {
            connection,
            plan: plan.clone(),
            count: 0,
            outgoing: Vec::new(),
            incoming: Incoming::default(),
            content: Vec::new(),
            message: None,
            consent: None,
            refused: None,
            closed: false,
        };
        let connect = connect(plan).ok_or(NO_SYSTEM_CODE)?;
        let events = client.connection.checked_send(connect);
        client.handle(events);
        Ok(client)
    }

    /// What the broker said to CONNECT, once it has: the error is its return code.
    pub(crate) fn consent(&self) -> Option<Result<(), i32>> {
        self.consent
    }

    /// Whether the connection has to end.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The bytes of the message that was too large, once; with it the connection has to end.
    pub(crate) fn take_refused(&mut self) -> Option<u64> {
        self.refused.take()
    }

    /// The bytes that have to be sent.
    pub(crate) fn take_outgoing(&mut self) -> Vec<u8> {
        mem::take(&mut self.outgoing)
    }

    /// Takes bytes off the front until a message is complete, or all are taken.
    ///
    /// The codec would copy a message three times. So it is shown the packets of messages without their
    /// content, for it knows what has to be acknowledged and what has been seen before.
    pub(crate) fn feed(&mut self, bytes: &mut &[u8]) -> Option<Vec<u8>> {
        while !bytes.is_empty() && !self.closed {
            if let Some((body, left)) = &mut self.incoming.message {
                let (now, rest) = bytes.split_at((*left).min(bytes.len()));
                body.extend_from_slice(now);
                *left -= now.len();
                *bytes = rest;
                if *left == 0 {
                    let body = mem::take(body);
                    self.incoming.message = None;
                    self.on_message(body);
                    if let Some(message) = self.message.take() {
                        return Some(message);
                    }
                }
            } else if self.incoming.other > 0 {
                let (now, rest) = bytes.split_at(self.incoming.other.min(bytes.len()));
                self.incoming.other -= now.len();
                *bytes = rest;
                self.tell_codec(now);
            } else {
                let (first, rest) = bytes.split_first()?;
                self.incoming.header.push(*first);
                *bytes = rest;
                self.on_header();
            }
        }
        if self.closed {
            *bytes = &[];
        }
        None
    }

    /// One more byte of a packet's header has come.
    fn on_header(&mut self) {
        const PUBLISH: u8 = 0x30;
        let header = &self.incoming.header;
        let Some(length) = remaining_length(header) else {
            // A length has four bytes at most.
            if header.len() > 4 {
                self.closed = true;
            }
            return;
        };
        if header[0] & 0xf0 != PUBLISH || length == 0 {
            self.incoming.other = length;
            let header = mem::take(&mut self.incoming.header);
            return self.tell_codec(&header);
        }
        let mut body = Vec::new();
        let room = LARGEST_MESSAGE + LONGEST_TOPIC + PUBLISH_EXTRA;
        if length > room || body.try_reserve_exact(length).is_err() {
            return self.refuse(length);
        }
        self.incoming.message = Some((body, length));
    }

    /// A packet with a message is complete.
    fn on_message(&mut self, mut body: Vec<u8>) {
        let header = mem::take(&mut self.incoming.header);
        let has_id = header[0] & 0x06 != 0;
        let topic = match body.get(..2) {
            Some(length) => usize::from(u16::from_be_bytes([length[0], length[1]])),
            None => return self.closed = true,
        };
        let start = 2 + topic + if has_id { 2 } else { 0 };
        if start > body.len() {
            self.closed = true;
            return;
        }
        let length = body.len() - start;
        if length > LARGEST_MESSAGE || topic > LONGEST_TOPIC {
            return self.refuse(length.max(topic));
        }
        // First byte, length in at most two bytes, topic and id.
        let mut shown = Vec::with_capacity(3 + start);
        shown.push(header[0]);
        match start {
            0..128 => shown.push(start as u8),
            _ => shown.extend([start as u8 | 0x80, (start >> 7) as u8]),
        }
        shown.extend_from_slice(&body[..start]);
        // The content moves to the front of its own memory.
        body.drain(..start);
        self.content = body;
        self.tell_codec(&shown);
        self.content = Vec::new();
    }

    fn tell_codec(&mut self, bytes: &[u8]) {
        let mut cursor = Cursor::new(bytes);
        while !self.closed && (cursor.position() as usize) < bytes.len() {
            let events = self.connection.recv(&mut cursor);
            self.handle(events);
        }
    }

    /// There is no word for why (MQTT 3.1.1 section 3.14): the device says goodbye, and why on its
    /// console.
    fn refuse(&mut self, bytes: usize) {
        self.refused = Some(bytes as u64);
        let events = self.connection.checked_send(Disconnect::new());
        self.handle(events);
        self.closed = true;
    }

    /// Publishes; false when that cannot be.
    pub(crate) fn publish(&mut self, publication: Publication) -> bool {
        let qos = match publication.qos {
            0 => Qos::AtMostOnce,
            1 => Qos::AtLeastOnce,
            _ => Qos::ExactlyOnce,
        };
        let mut builder =
            Publish::builder().qos(qos).retain(publication.retain).payload(publication.payload);
        builder = match builder.topic_name(publication.topic) {
            Ok(builder) => builder,
            Err(_) => return false,
        };
        if qos != Qos::AtMostOnce {
            match self.connection.acquire_packet_id() {
                Ok(id) => builder = builder.packet_id(id),
                Err(_) => return false,
            }
        }
        let Ok(publish) = builder.build() else {
            return false;
        };
        let events = self.connection.checked_send(publish);
        self.handle(events);
        !self.closed
    }

    /// Shows life.
    pub(crate) fn ping(&mut self) {
        let events = self.connection.checked_send(Pingreq::new());
        self.handle(events);
    }

    fn handle(&mut self, events: Vec<Event>) {
        for event in events {
            match event {
                Event::RequestSendPacket { packet, .. } => self.send(&packet),
                Event::NotifyPacketReceived(Packet::V3_1_1Connack(answer)) => {
                    let code = answer.return_code();
                    self.consent = Some(if code.is_success() { Ok(()) } else { Err(code as i32) });
                }
                Event::NotifyPacketReceived(Packet::V3_1_1Publish(message)) => {
                    let is_read = self.plan.reads_qos1 && (self.plan.reads_dup || !message.dup());
                    if is_read || message.qos() == Qos::AtMostOnce {
                        self.message = Some(mem::take(&mut self.content));
                    }
                }
                Event::RequestClose | Event::NotifyError(_) => self.closed = true,
                // The device has timers of its own.
                Event::RequestTimerReset { .. }
                | Event::RequestTimerCancel(_)
                | Event::NotifyPacketReceived(_)
                | Event::NotifyPacketIdReleased(_) => {}
            }
        }
    }

    fn send(&mut self, packet: &Packet) {
        let bytes = packet.to_continuous_buffer();
        match self.plan.tamper {
            Some(tamper) => self.outgoing.extend(tamper(self.count, &bytes)),
            None => self.outgoing.extend_from_slice(&bytes),
        }
        self.count += 1;
    }
}

/// What a message's packet has besides topic and content: length of the topic, and id.
const PUBLISH_EXTRA: usize = 4;

/// The length that follows the first byte of a packet (MQTT 3.1.1 section 2.2.3), once it is complete.
fn remaining_length(header: &[u8]) -> Option<usize> {
    let mut length = 0;
    for (index, byte) in header.get(1..)?.iter().take(4).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some(length);
        }
    }
    None
}

fn connect(plan: &ConnectPlan) -> Option<Connect> {
    let settings = &plan.settings;
    let mut builder = Connect::builder()
        .clean_session(true)
        .keep_alive(settings.keep_alive_s)
        .client_id(&*settings.client_id)
        .ok()?;
    if !settings.username.is_empty() {
        builder = builder.user_name(&*settings.username).ok()?;
        builder = builder.password(&*settings.password).ok()?;
    }
    builder.build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;
    use reference_device::MqttSettings;
    use rstest::rstest;

    fn plan() -> ConnectPlan {
        ConnectPlan::new(&MqttSettings {
            client_id: "c".to_string(),
            username: "u".to_string(),
            password: "p".to_string(),
            keep_alive_s: 2,
            ..MqttSettings::default()
        })
    }

    /// All messages that bytes bring.
    fn feed(client: &mut Client, mut bytes: &[u8]) -> Vec<Vec<u8>> {
        core::iter::from_fn(|| client.feed(&mut bytes)).collect()
    }

    fn connected(plan: &ConnectPlan) -> Client {
        let mut client = Client::new(plan).expect("a client");
        client.take_outgoing();
        feed(&mut client, &[0x20, 2, 0, 0]);
        assert_eq!(client.consent(), Some(Ok(())));
        client
    }

    #[test]
    fn connect_is_what_the_settings_say() {
        let mut client = Client::new(&plan()).expect("a client");
        assert_eq!(
            client.take_outgoing(),
            b"\x10\x13\x00\x04MQTT\x04\xc2\x00\x02\x00\x01c\x00\x01u\x00\x01p"
        );
        assert_eq!(client.consent(), None);
        feed(&mut client, &[0x20, 2, 0, 5]);
        assert_eq!(client.consent(), Some(Err(5)));
    }

    #[test]
    fn messages_come_without_a_subscription_and_are_acknowledged() {
        let mut client = connected(&plan());
        assert_eq!(feed(&mut client, b"\x30\x04\x00\x01th"), [b"h"]);
        assert!(feed(&mut client, b"\x32\x06\x00\x01t\x00\x07").is_empty());
        let rest = feed(&mut client, b"i\x30\x04\x00\x01tj");
        assert_eq!(rest, [b"i", b"j"]);
        assert_eq!(client.take_outgoing(), b"\x40\x02\x00\x07");
    }

    #[test]
    fn a_plan_may_leave_acknowledgements_out() {
        let mut client = connected(&ConnectPlan { acknowledges: false, ..plan() });
        assert_eq!(feed(&mut client, b"\x32\x06\x00\x01t\x00\x07i"), [b"i"]);
        assert_eq!(client.take_outgoing(), b"");
    }

    #[test]
    fn what_is_published_is_spoilt_on_its_way_only() {
        let mut client = connected(&ConnectPlan {
            tamper: Some(|number, packet| {
                let mut bytes = packet.to_vec();
                bytes.push(u8::try_from(number).expect("few packets"));
                bytes
            }),
            ..plan()
        });
        let sent = client.publish(Publication {
            topic: "t".to_string(),
            qos: 0,
            retain: true,
            payload: b"x".to_vec(),
        });
        assert!(sent);
        client.ping();
        assert_eq!(client.take_outgoing(), b"\x31\x04\x00\x01tx\x01\xc0\x00\x02");
    }

    #[test]
    fn what_is_no_packet_ends_the_connection() {
        let mut client = connected(&plan());
        feed(&mut client, &[0x00, 0x00]);
        assert!(client.is_closed());
    }

    /// A message with this topic and content, and QoS 0, 1 or 2.
    fn message(qos: u8, topic: &str, content: &[u8]) -> Vec<u8> {
        let mut body = u16::try_from(topic.len()).expect("a topic").to_be_bytes().to_vec();
        body.extend(topic.as_bytes());
        if qos > 0 {
            body.extend([0, 7]);
        }
        body.extend(content);
        let mut packet = vec![0x30 | qos << 1];
        let mut length = body.len();
        while length >= 128 {
            packet.push(length as u8 | 0x80);
            length >>= 7;
        }
        packet.push(length as u8);
        packet.extend(body);
        packet
    }

    #[rstest]
    #[case(0, "t", b"")]
    #[case(1, "t", b"\x40\x02\x00\x07")]
    #[case(2, "t", b"\x50\x02\x00\x07")]
    #[case(
        1,
        "a/longer/topic/whose/length/takes/two/bytes/with/what/stands/around/it/123456789012345678901234567890123456789012345678901",
        b"\x40\x02\x00\x07"
    )]
    fn the_largest_message_is_taken_whole(
        #[case] qos: u8,
        #[case] topic: &str,
        #[case] answer: &[u8],
        #[values(1, 1460, 100_000)] step: usize,
    ) {
        let mut client = connected(&plan());
        let content = vec![b'x'; LARGEST_MESSAGE];
        let packet = message(qos, topic, &content);
        let messages: Vec<_> =
            packet.chunks(step).flat_map(|part| feed(&mut client, part)).collect();
        assert!(messages == [content], "{} messages", messages.len());
        assert_eq!((client.take_outgoing(), client.is_closed()), (answer.to_vec(), false));
    }

    #[test]
    fn a_message_that_comes_again_is_taken_once() {
        let mut client = connected(&plan());
        let packet = message(2, "t", b"x");
        assert_eq!(feed(&mut client, &packet), [b"x"]);
        assert!(feed(&mut client, &packet).is_empty());
        assert_eq!(feed(&mut client, b"\x62\x02\x00\x07"), [b""; 0]);
        assert_eq!(client.take_outgoing(), b"\x50\x02\x00\x07\x50\x02\x00\x07\x70\x02\x00\x07");
    }

    /// The length is enough: nothing of the rest comes, and no memory is taken for it.
    #[rstest]
    #[case::message(&[0x30, 0xff, 0xff, 0xff, 0x7f], Some((1 << 28) - 1))]
    #[case::one_more(&message(0, "t", &[b'x'; LARGEST_MESSAGE + 1]), Some(65_536))]
    #[case::topic(&message(0, &"t".repeat(1000), b""), Some(1000))]
    #[case::answer(&[0x40, 0xff, 0xff, 0xff, 0x7f], None)]
    fn what_is_too_large_ends_the_connection(#[case] bytes: &[u8], #[case] refused: Option<u64>) {
        let mut client = connected(&plan());
        assert!(feed(&mut client, bytes).is_empty());
        assert!(client.is_closed());
        assert_eq!(client.take_refused(), refused);
        let goodbye: &[u8] = if refused.is_some() { &[0xe0, 0] } else { &[] };
        assert_eq!(client.take_outgoing(), goodbye);
    }

    #[rstest]
    #[case::no_topic(&[0x30, 1, 0])]
    #[case::short_topic(&[0x30, 3, 0, 2, b't'])]
    #[case::no_id(&[0x32, 3, 0, 1, b't'])]
    #[case::qos_3(&[0x36, 5, 0, 1, b't', 0, 7])]
    #[case::empty(&[0x30, 0])]
    #[case::endless_length(&[0x30, 0x80, 0x80, 0x80, 0x80, 0x80])]
    fn a_malformed_message_ends_the_connection(#[case] bytes: &[u8]) {
        let mut client = connected(&plan());
        assert!(feed(&mut client, bytes).is_empty());
        assert!(client.is_closed());
    }
}
