//! The form of MQTT packets, as far as the codec does not look at it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::BytesMut;
use rumqttc::mqttbytes::{
    QoS,
    v4::{Packet, Subscribe, Unsubscribe},
    valid_filter, valid_topic,
};

/// The first byte of CONNECT.
const CONNECT: u8 = 0x10;

/// The level of the version that came before 3.1.1.
const MQTT_3_1: u8 = 3;

/// What is known of a packet before it is read.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// The low bits of its first byte.
    flags: u8,
    /// The length that it announces.
    length: Option<usize>,
    /// All of it, where it is a SUBSCRIBE packet: the codec does not give back all bits of that.
    subscribe: Vec<u8>,
}

impl Arrived {
    /// Of the packet at the beginning of what came.
    pub(crate) fn of(input: &BytesMut) -> Self {
        const SUBSCRIBE: u8 = 0x80;
        let first = input.first().copied().unwrap_or_default();
        let is_subscribe = first & 0xf0 == SUBSCRIBE;
        let subscribe = if is_subscribe { input.to_vec() } else { Vec::new() };
        Self { flags: first & 0x0f, length: remaining_length(input), subscribe }
    }

    /// Whether a SUBSCRIBE packet has bits beside those of the QoS that it asks for (MQTT 3.1.1, 3.8.3.1).
    fn asks_for_more(&self, subscribe: &Subscribe) -> bool {
        // The filters and their options are the end of the packet.
        let body: usize = subscribe.filters.iter().map(|filter| filter.path.len() + 3).sum();
        let (Some(length), Some(mut at)) =
            (self.length, self.subscribe.iter().skip(1).position(|byte| byte & 0x80 == 0))
        else {
            return false;
        };
        at += 2 + length.saturating_sub(body);
        subscribe.filters.iter().any(|filter| {
            at += filter.path.len() + 3;
            self.subscribe.get(at - 1).is_some_and(|options| options & !0b11 != 0)
        })
    }
}

/// What a packet has that it must not have, of those that the codec takes.
pub(crate) fn fault(packet: &Packet, arrived: &Arrived, level: u8) -> Option<String> {
    let Arrived { flags, length, .. } = arrived;
    if !flags_fit(packet, *flags, level) {
        return Some(format!("the reserved bits {flags:04b} in its first byte"));
    }
    if fixed_length(packet).is_some_and(|fixed| *length != Some(fixed)) {
        return Some(format!("a remaining length of {}", length.unwrap_or_default()));
    }
    let filters: Vec<&str> = match packet {
        Packet::Subscribe(it) if it.pkid != 0 => {
            it.filters.iter().map(|filter| filter.path.as_str()).collect()
        }
        Packet::Unsubscribe(it) if it.pkid != 0 => it.topics.iter().map(String::as_str).collect(),
        Packet::Subscribe(_) | Packet::Unsubscribe(_) => return Some("packet id 0".to_owned()),
        Packet::Publish(it) if it.topic.is_empty() => {
            return Some("an empty topic (4.7.3)".to_owned());
        }
        Packet::Publish(it) if !valid_topic(&it.topic) => {
            return Some(format!("a wildcard in its topic `{}` (3.3.2.1)", it.topic));
        }
        _ => Vec::new(),
    };
    if let Some(filter) = filters.iter().find(|filter| !valid_filter(filter)) {
        return Some(format!("the topic filter `{filter}`, which is none (4.7)"));
    }
    match packet {
        Packet::Unsubscribe(Unsubscribe { topics, .. }) if topics.is_empty() => {
            Some("no topic filter (3.10.3)".to_owned())
        }
        Packet::Subscribe(it) if arrived.asks_for_more(it) => {
            Some("reserved bits beside the QoS that it asks for (3.8.3.1)".to_owned())
        }
        _ => None,
    }
}

/// Whether a packet that is none of CONNECT comes from somebody who speaks MQTT, judged by its first byte.
pub(crate) fn is_of_client(first: u8) -> bool {
    match first {
        // PUBLISH, but with no QoS that there is.
        0x30..=0x3f => first & 0b0110 != 0b0110,
        // SUBSCRIBE, UNSUBSCRIBE, PINGREQ, DISCONNECT.
        _ => [0x82, 0xa2, 0xc0, 0xe0].contains(&first),
    }
}

/// What messages with QoS 1 were taken in, by their packet ids.
#[derive(Debug, Default, Clone)]
pub(crate) struct Taken(Arc<Mutex<HashMap<u16, u64>>>);

impl Taken {
    /// Enters a message; and whether it was the latest with this id already.
    pub(crate) fn enter(&self, packet_id: u16, payload: &[u8]) -> bool {
        let mut hasher = DefaultHasher::new();
        payload.hash(&mut hasher);
        let hash = hasher.finish();
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.insert(packet_id, hash) == Some(hash)
    }
}

/// Whether the low bits of a packet's first byte are what MQTT 3.1.1, 2.2.2 wants.
fn flags_fit(packet: &Packet, flags: u8, level: u8) -> bool {
    match packet {
        // What is sent at most once is not sent again (3.3.1.1).
        Packet::Publish(publish) => !(publish.dup && publish.qos == QoS::AtMostOnce),
        Packet::Subscribe(_) | Packet::Unsubscribe(_) | Packet::PubRel(_) => match level {
            // It knows a DUP bit for these.
            MQTT_3_1 => flags & 0b0111 == 0b0010,
            _ => flags == 0b0010,
        },
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
    const QOS_3: u8 = 0b1_1000;
    let (_, level_at) = head(input)?;
    let flags = input.get_mut(level_at + 1)?;
    if *flags & WILL == 0 && *flags & OF_WILL != 0 {
        *flags &= !OF_WILL;
        return Some(
            "CONNECT has a QoS or a retain flag for a will, and no will (3.1.2.6, 3.1.2.7)",
        );
    }
    if *flags & QOS_3 == QOS_3 {
        *flags &= !QOS_3;
        return Some("CONNECT has a will with QoS 3 (3.1.2.6)");
    }
    (*flags & 1 != 0).then_some("the reserved flag of CONNECT is set (3.1.2.3)")
}

/// Clears the low bits of the first byte of a CONNECT packet, which must not be set and which the codec does not look
/// at. `None` where there are none, or where what came is no CONNECT packet as far as its head shows.
pub(crate) fn reserved_bits(input: &mut BytesMut) -> Option<&'static str> {
    let (body, level_at) = head(input)?;
    let is_connect = [&b"MQTT"[..], b"MQIsdp"].contains(&input.get(body + 2..level_at)?);
    let first = input.first_mut()?;
    if !is_connect || *first & 0xf0 != CONNECT || *first == CONNECT {
        return None;
    }
    *first = CONNECT;
    Some("reserved bits in the first byte of CONNECT are set (2.2.2)")
}

/// How many bytes a CONNECT packet has behind its fields, once all of it is there.
pub(crate) fn surplus(input: &BytesMut) -> Option<usize> {
    const WILL: u8 = 0b100;
    const USER: u8 = 0b1000_0000;
    const PASSWORD: u8 = 0b100_0000;
    let (body, level_at) = head(input)?;
    let packet = input.get(..body + remaining_length(input)?)?;
    let flags = *packet.get(level_at + 1)?;
    let optional = [(WILL, 2), (USER, 1), (PASSWORD, 1)];
    let fields = optional.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, fields)| fields);
    // Level, flags and keep-alive come first, and the client id is always there.
    let mut at = level_at + 4;
    for _ in 0..1 + fields.sum::<usize>() {
        let length = packet.get(at..at + 2)?;
        at += 2 + usize::from(u16::from_be_bytes([length[0], length[1]]));
    }
    packet.len().checked_sub(at).filter(|surplus| *surplus > 0)
}

/// Turns a CONNECT of MQTT 3.1 into one of 3.1.1, which differs in name and level only: the codec
/// knows the latter. Returns the level that the packet named, once its head is complete.
pub(crate) fn modernise(input: &mut BytesMut) -> Option<u8> {
    const OLD: &[u8] = b"\0\x06MQIsdp\x03";
    const NEW: &[u8] = b"\0\x04MQTT\x04";
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

pub(crate) fn name(packet: &Packet) -> &'static str {
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
    use crate::link::mqtt::MAX_PACKET_BYTES;
    use proptest::prelude::*;
    use rumqttc::mqttbytes::v4::{Connect, PubAck, Publish};

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
        let mut qos_3 = connect(0x1e);
        assert!(reserved_flags(&mut qos_3).is_some());
        assert_eq!(qos_3, connect(0x06));
        let mut without_will = connect(0x0a);
        assert!(reserved_flags(&mut without_will).is_some());
        assert_eq!(without_will, connect(0x02));
        assert!(flags_fit(&Packet::PingReq, 0, 4));
        assert!(!flags_fit(&Packet::PingReq, 1, 4));
        let release = Packet::PubRel(rumqttc::mqttbytes::v4::PubRel::new(1));
        for (flags, level, fit) in
            [(0b0010, 4, true), (0b1010, 4, false), (0b1010, 3, true), (0, 4, false), (0, 3, false)]
        {
            assert_eq!(flags_fit(&release, flags, level), fit, "{flags:04b} at level {level}");
        }
        let mut publish = Publish::new("t", QoS::AtMostOnce, "x");
        assert!(flags_fit(&Packet::Publish(publish.clone()), 0, 4));
        publish.dup = true;
        assert!(!flags_fit(&Packet::Publish(publish.clone()), 0b1000, 4));
        publish.qos = QoS::AtLeastOnce;
        assert!(flags_fit(&Packet::Publish(publish), 0b1010, 4));
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

    #[test]
    fn what_is_behind_the_fields_of_connect_is_counted() {
        let packet = |flags: u8, rest: &[u8]| {
            let mut body = b"\0\x04MQTT\x04".to_vec();
            body.extend([flags, 0, 60]);
            body.extend(rest);
            let mut packet = vec![CONNECT, body.len() as u8];
            packet.extend(body);
            // What comes behind the packet is no part of it.
            packet.extend(b"\xc0\0");
            BytesMut::from(&packet[..])
        };
        assert_eq!(surplus(&packet(2, b"\0\x01c")), None);
        assert_eq!(surplus(&packet(2, b"\0\x01c!")), Some(1));
        assert_eq!(surplus(&packet(0xc6, b"\0\x01c\0\x01w\0\0\0\x01u\0\x01p")), None);
        assert_eq!(surplus(&packet(0xc6, b"\0\x01c\0\x01w\0\0\0\x01u\0\x01p\0\0")), Some(2));
        // Too short is another matter.
        assert_eq!(surplus(&packet(0x82, b"\0\x01c")), None);
        let mut bits = packet(2, b"\0\x01c");
        bits[0] = 0x1f;
        assert!(reserved_bits(&mut bits).is_some());
        assert_eq!(bits, packet(2, b"\0\x01c"));
        assert!(reserved_bits(&mut bits).is_none());
    }

    #[test]
    fn subscriptions_have_filters_and_no_other_bits() {
        let of = |bytes: &[u8]| {
            let mut input = BytesMut::from(bytes);
            let arrived = Arrived::of(&input);
            let packet = Packet::read(&mut input, MAX_PACKET_BYTES).unwrap();
            fault(&packet, &arrived, 4)
        };
        assert_eq!(of(b"\x82\x06\0\x01\0\x01a\0"), None);
        assert_eq!(of(b"\x82\x0c\0\x01\0\x01#\x01\0\x03a/+\x02"), None);
        for wrong in [
            &b"\x8a\x06\0\x01\0\x01a\0"[..],
            b"\x80\x06\0\x01\0\x01a\0",
            b"\x82\x06\0\0\0\x01a\0",
            b"\x82\x07\0\x01\0\x02a#\0",
            b"\x82\x05\0\x01\0\0\0",
            b"\x82\x06\0\x01\0\x01a\x08",
            b"\x82\x0a\0\x01\0\x01a\0\0\x01b\x40",
            b"\xa2\x06\0\x01\0\x02+a",
            b"\x30\x05\0\x03a/#",
            b"\x30\x02\0\0",
        ] {
            assert!(of(wrong).is_some(), "{wrong:x?}");
        }
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
