//! The MQTT endpoint and its links, against well-behaved, odd and rude clients on 127.0.0.1.

#[path = "mqtt/connecting.rs"]
mod connecting;
mod support;

use std::time::Duration;

use bytes::BytesMut;
use mcp_hil_core::{
    limits::{GATEWAY_PACKET_BYTES, MAX_MESSAGE_BYTES},
    transcript::{Fault, MqttNote},
    wire::Frame,
};
use mcp_hil_endpoint::{Accepted, Endpoint, EndpointError, Incoming, Link, LinkLost, MqttTerms};
use proptest::prelude::*;
use rstest::rstest;
use rumqttc::mqttbytes::{
    QoS,
    v4::{
        ConnAck, Connect, ConnectReturnCode, Disconnect, LastWill, Packet, PingReq, PubAck, PubRel,
        Publish, Subscribe, Unsubscribe,
    },
};
use support::{LATEST, accept, recv};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// Far above any packet here.
const ANY_SIZE: usize = 1 << 26;

async fn endpoint(terms: MqttTerms) -> Endpoint {
    let address = "127.0.0.1:0".parse().unwrap();
    Endpoint::mqtt(address, terms).await.unwrap()
}

/// A client that sends packets, or whatever bytes a test likes.
struct Client {
    stream: TcpStream,
    input: BytesMut,
}

impl Client {
    async fn dial(endpoint: &Endpoint) -> Self {
        Self {
            stream: TcpStream::connect(endpoint.address()).await.unwrap(),
            input: BytesMut::new(),
        }
    }

    async fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    async fn send(&mut self, packet: Packet) {
        self.say(&bytes_of(&packet)).await;
    }

    /// The next packet; `None` when the connection ended.
    async fn next(&mut self) -> Option<Packet> {
        loop {
            if let Ok(packet) = Packet::read(&mut self.input, ANY_SIZE) {
                return Some(packet);
            }
            let read = timeout(LATEST, self.stream.read_buf(&mut self.input));
            match read.await.expect("a packet or an end") {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// The message of the next packet, and the packet.
    async fn message(&mut self) -> (String, Publish) {
        match self.next().await {
            Some(Packet::Publish(publish)) => {
                let text = String::from_utf8(publish.payload.to_vec()).unwrap();
                (text, publish)
            }
            other => panic!("no message: {other:?}"),
        }
    }
}

fn bytes_of(packet: &Packet) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    packet.write(&mut bytes, ANY_SIZE).unwrap();
    bytes.to_vec()
}

fn connect(client_id: &str) -> Connect {
    let mut connect = Connect::new(client_id);
    connect.clean_session = true;
    connect.keep_alive = 0;
    connect
}

fn publish(text: &str, qos: QoS, pkid: u16) -> Packet {
    let mut publish = Publish::new("device-server", qos, text);
    publish.pkid = pkid;
    Packet::Publish(publish)
}

/// A CONNECT packet of any level, without credentials.
fn connect_of_level(name: &str, level: u8, after_level: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x10, 0];
    packet.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
    packet.extend(name.as_bytes());
    packet.push(level);
    packet.extend(after_level);
    packet[1] = u8::try_from(packet.len() - 2).unwrap();
    packet
}

const ACCEPTED: ConnAck = ConnAck { session_present: false, code: ConnectReturnCode::Success };

async fn connected_with(terms: MqttTerms, connect: Connect) -> (Endpoint, Link, Client) {
    let mut endpoint = endpoint(terms).await;
    let mut client = Client::dial(&endpoint).await;
    client.send(Packet::Connect(connect)).await;
    assert_eq!(client.next().await, Some(Packet::ConnAck(ACCEPTED)));
    let link = accept(&mut endpoint).await;
    (endpoint, link, client)
}

async fn connected() -> (Endpoint, Link, Client) {
    connected_with(MqttTerms::default(), connect("me")).await
}

async fn incoming(link: &mut Link) -> Result<Incoming, LinkLost> {
    timeout(LATEST, link.recv()).await.expect("an end")
}

async fn note(link: &mut Link) -> MqttNote {
    match incoming(link).await {
        Ok(Incoming::Note(note)) => note,
        other => panic!("no note: {other:?}"),
    }
}

fn text(text: &str) -> Frame {
    Frame::Text(text.to_owned())
}

#[tokio::test]
async fn messages_are_pushed_to_who_never_subscribed() {
    let id = "GID_x@@@02_00_00_4d_43_50@@@6d63";
    let (_endpoint, mut link, mut client) = connected_with(MqttTerms::default(), connect(id)).await;
    link.send(&text("ä")).await.unwrap();
    link.send(&Frame::NotUtf8(vec![b'x'; 300])).await.unwrap();
    let (first, packet) = client.message().await;
    assert_eq!(first, "ä");
    assert_eq!(packet.topic, "devices/p2p/02_00_00_4d_43_50");
    assert_eq!((packet.qos, packet.retain), (QoS::AtMostOnce, false));
    assert_eq!(client.message().await.0, "x".repeat(300));
}

#[tokio::test]
async fn what_brokers_acknowledge_is_acknowledged() {
    let (_endpoint, mut link, mut client) = connected().await;
    let mut subscribe = Subscribe::new("a/#", QoS::ExactlyOnce);
    subscribe.add("b".to_owned(), QoS::AtMostOnce);
    subscribe.pkid = 7;
    let mut unsubscribe = Unsubscribe::new("a/#");
    unsubscribe.pkid = 8;
    for packet in [
        Packet::Subscribe(subscribe),
        Packet::Unsubscribe(unsubscribe),
        Packet::PingReq,
        publish("one", QoS::AtLeastOnce, 9),
        publish("two", QoS::ExactlyOnce, 10),
        Packet::PubRel(PubRel::new(10)),
        publish("end", QoS::AtMostOnce, 0),
    ] {
        client.send(packet).await;
    }
    let mut seen = Vec::new();
    while seen.last() != Some(&Incoming::Frame(text("end"))) {
        seen.push(incoming(&mut link).await.unwrap());
    }
    let subscribed = |filter: &str| MqttNote::Subscribed { filter: filter.to_owned() };
    assert_eq!(
        seen,
        [
            Incoming::Note(subscribed("a/#")),
            Incoming::Note(subscribed("b")),
            Incoming::Note(MqttNote::Ping),
            Incoming::Note(MqttNote::Qos { qos: 1 }),
            Incoming::Frame(text("one")),
            Incoming::Note(MqttNote::Qos { qos: 2 }),
            Incoming::Frame(text("two")),
            Incoming::Frame(text("end")),
        ]
    );
    // What is owed goes out with what is sent, in order.
    link.send(&text("down")).await.unwrap();
    let mut owed = Vec::new();
    loop {
        match client.next().await {
            Some(Packet::Publish(_)) => break,
            Some(packet) => owed.push(bytes_of(&packet)),
            None => panic!("it closed"),
        }
    }
    assert_eq!(
        owed,
        [
            // QoS 2 is granted as 1.
            &b"\x90\x04\0\x07\x01\0"[..],
            b"\xb0\x02\0\x08",
            b"\xd0\0",
            b"\x40\x02\0\x09",
            b"\x50\x02\0\x0a",
            b"\x70\x02\0\x0a",
        ]
    );
}

#[tokio::test]
async fn pushed_messages_with_qos_1_are_acknowledged_by_their_ids() {
    let (_endpoint, mut link, mut client) = connected().await;
    for expected in [0x0201, 0x0202] {
        link.send_acknowledged(&text("x"), false).await.unwrap();
        let (_, packet) = client.message().await;
        assert_eq!((packet.qos, packet.pkid), (QoS::AtLeastOnce, expected));
    }
    // One that was never pushed counts as nothing.
    for id in [7, 0x0202, 0x0201] {
        client.send(Packet::PubAck(PubAck::new(id))).await;
    }
    client.send(publish("end", QoS::AtMostOnce, 0)).await;
    assert_eq!(note(&mut link).await, MqttNote::Acknowledged);
    assert_eq!(note(&mut link).await, MqttNote::Acknowledged);
    assert_eq!(recv(&mut link).await, Ok(text("end")));
}

#[tokio::test]
async fn odd_publications_are_noted_before_the_message() {
    let terms = MqttTerms { publish_topic: Some("up".to_owned()), ..MqttTerms::default() };
    let mut with_will = connect("me");
    with_will.last_will = Some(LastWill::new("will", "gone", QoS::AtLeastOnce, true));
    let (_endpoint, mut link, mut client) = connected_with(terms, with_will).await;
    assert!(link.handshake().mqtt.as_ref().unwrap().will);
    let own = Publish::new("telemetry", QoS::AtMostOnce, br#"{"temperature":21.5}"#.to_vec());
    client.send(Packet::Publish(own)).await;
    let topic = "telemetry".to_owned();
    assert_eq!(note(&mut link).await, MqttNote::Elsewhere { topic });
    let mut message = br#"{"type":"mcp"}"#.to_vec();
    message.resize(GATEWAY_PACKET_BYTES, b' ');
    let mut odd = Publish::new("down", QoS::AtMostOnce, message);
    odd.retain = true;
    let bytes = odd.size();
    client.send(Packet::Publish(odd)).await;
    let topic = "down".to_owned();
    assert_eq!(note(&mut link).await, MqttNote::Topic { topic });
    assert_eq!(note(&mut link).await, MqttNote::Retained);
    assert_eq!(note(&mut link).await, MqttNote::LargePacket { bytes });
    let frame = recv(&mut link).await.unwrap();
    assert_eq!(frame.len(), GATEWAY_PACKET_BYTES);
    let good = Publish::new("up", QoS::AtMostOnce, vec![0xff]);
    client.send(Packet::Publish(good)).await;
    assert_eq!(recv(&mut link).await, Ok(Frame::NotUtf8(vec![0xff])));
}

#[tokio::test]
async fn a_packet_in_single_bytes_is_one_message() {
    let (_endpoint, mut link, mut client) = connected().await;
    client.stream.set_nodelay(true).unwrap();
    for byte in bytes_of(&publish("in bytes", QoS::AtMostOnce, 0)) {
        client.say(&[byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(recv(&mut link).await, Ok(text("in bytes")));
    // And the other way round.
    link.send_fragments(&text("in pieces"), 2, None).await.unwrap();
    assert_eq!(client.message().await.0, "in pieces");
}

#[rstest]
#[case::disconnect(bytes_of(&Packet::Disconnect), "the device sent DISCONNECT")]
#[case::closed(Vec::new(), "the device closed TCP without DISCONNECT")]
#[case::half(b"\x30\x05\0".to_vec(), "the device closed TCP in the middle of a packet")]
#[case::second_connect(bytes_of(&Packet::Connect(connect("me"))), "CONNECT a second time")]
#[case::connack(b"\x20\x02\0\0".to_vec(), "a packet that only brokers send: CONNACK")]
#[case::suback(b"\x90\x03\0\x01\0".to_vec(), "a packet that only brokers send: SUBACK")]
#[case::qos_3(b"\x36\x07\0\x01a\0\x01{}".to_vec(), "violated the MQTT protocol")]
#[case::packet_id_0(b"\x32\x07\0\x01a\0\0{}".to_vec(), "violated the MQTT protocol")]
#[case::no_topic(b"\x30\x01\0".to_vec(), "violated the MQTT protocol")]
#[case::long_topic(b"\x30\x03\0\x09a".to_vec(), "violated the MQTT protocol")]
#[case::topic_not_utf8(b"\x30\x03\0\x01\xff".to_vec(), "violated the MQTT protocol")]
#[case::no_filter(b"\x82\x02\0\x01".to_vec(), "violated the MQTT protocol")]
#[case::short_puback(b"\x40\x01\0".to_vec(), "violated the MQTT protocol")]
#[case::reserved(b"\xf0\x02\0\0".to_vec(), "violated the MQTT protocol")]
#[case::type_0(b"\0\0".to_vec(), "violated the MQTT protocol")]
#[case::endless_length(b"\x30\xff\xff\xff\xff\x01".to_vec(), "violated the MQTT protocol")]
#[case::sent_again(b"\x8a\x06\0\x01\0\x01a\0".to_vec(), "SUBSCRIBE with the reserved bits 1010")]
#[case::filter(b"\x82\x07\0\x01\0\x02a#\0".to_vec(), "SUBSCRIBE with the topic filter `a#`")]
#[case::huge(b"\x30\xff\xff\xff\x7f".to_vec(), "MAX_MESSAGE_BYTES")]
#[tokio::test]
async fn each_end_is_told(#[case] said: Vec<u8>, #[case] why: &str) {
    let (_endpoint, mut link, mut client) = connected().await;
    // What came before it is not lost.
    client.send(publish("before", QoS::AtMostOnce, 0)).await;
    client.say(&said).await;
    client.stream.shutdown().await.unwrap();
    assert_eq!(recv(&mut link).await, Ok(text("before")));
    let lost = incoming(&mut link).await.unwrap_err();
    assert!(lost.to_string().contains(why), "{lost}");
    assert_eq!(incoming(&mut link).await, Err(lost));
}

#[tokio::test]
async fn the_largest_message_is_taken_and_one_byte_more_is_not() {
    for (length, taken) in [(MAX_MESSAGE_BYTES, true), (MAX_MESSAGE_BYTES + 1, false)] {
        let (_endpoint, mut link, mut client) = connected().await;
        let packet = publish(&"x".repeat(length), QoS::AtMostOnce, 0);
        let writes = tokio::spawn(async move {
            client.send(packet).await;
            client
        });
        assert!(matches!(note(&mut link).await, MqttNote::LargePacket { .. }));
        match recv(&mut link).await {
            Ok(frame) => assert!(taken && frame.len() == length),
            Err(LinkLost::TooLong { .. }) => assert!(!taken),
            Err(other) => panic!("{other}"),
        }
        writes.await.unwrap();
    }
}

#[tokio::test]
async fn who_promises_to_keep_alive_is_held_to_it() {
    let mut promises = connect("me");
    promises.keep_alive = 2;
    let (_endpoint, mut link, mut client) = connected_with(MqttTerms::default(), promises).await;
    client.send(Packet::PingReq).await;
    assert_eq!(note(&mut link).await, MqttNote::Ping);
    // With a paused clock waiting moves time on at once.
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    match link.recv().await {
        Err(LinkLost::KeepAlive { waited_s, keep_alive_s }) => {
            assert_eq!(keep_alive_s, 2);
            assert!(waited_s >= 3, "one and a half times the interval: {waited_s}");
        }
        other => panic!("{other:?}"),
    }
    assert!(began.elapsed() >= Duration::from_secs(3));
}

#[tokio::test]
async fn who_promises_nothing_may_be_silent() {
    let (_endpoint, mut link, mut client) = connected().await;
    tokio::time::pause();
    let day = Duration::from_secs(24 * 3600);
    assert!(timeout(day, link.recv()).await.is_err());
    tokio::time::resume();
    client.send(publish("still here", QoS::AtMostOnce, 0)).await;
    assert_eq!(recv(&mut link).await, Ok(text("still here")));
}

#[tokio::test]
async fn a_second_connection_takes_the_client_id_over() {
    let (mut endpoint, mut first, _old) = connected().await;
    let mut other = Client::dial(&endpoint).await;
    other.send(Packet::Connect(connect("other"))).await;
    let mut bystander = accept(&mut endpoint).await;
    let mut new = Client::dial(&endpoint).await;
    new.send(Packet::Connect(connect("me"))).await;
    let mut second = accept(&mut endpoint).await;
    let lost = incoming(&mut first).await.unwrap_err();
    assert!(lost.to_string().contains("replaced it"), "{lost}");
    drop(first);
    // The end of the old one does not harm the new one, nor anybody else.
    new.send(publish("new", QoS::AtMostOnce, 0)).await;
    assert_eq!(recv(&mut second).await, Ok(text("new")));
    other.send(publish("other", QoS::AtMostOnce, 0)).await;
    assert_eq!(recv(&mut bystander).await, Ok(text("other")));
    let mut third = Client::dial(&endpoint).await;
    third.send(Packet::Connect(connect("me"))).await;
    accept(&mut endpoint).await;
    assert!(incoming(&mut second).await.is_err());
}

#[tokio::test]
async fn who_asks_and_never_reads_is_left() {
    let (_endpoint, mut link, client) = connected().await;
    let (_reads, mut writes) = client.stream.into_split();
    let flood = tokio::spawn(async move {
        let pings = bytes_of(&Packet::PingReq).repeat(32 * 1024);
        while writes.write_all(&pings).await.is_ok() {}
    });
    let lost = loop {
        match incoming(&mut link).await {
            Ok(Incoming::Note(MqttNote::Ping)) => {}
            Ok(other) => panic!("{other:?}"),
            Err(lost) => break lost,
        }
    };
    assert_eq!(lost, LinkLost::Stalled);
    drop(link);
    timeout(LATEST, flood).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_was_dropped_while_it_waited_is_not_lost() {
    let (_endpoint, mut link, mut client) = connected().await;
    let packet = bytes_of(&publish("whole", QoS::AtMostOnce, 0));
    let (head, tail) = packet.split_at(5);
    client.say(head).await;
    assert!(timeout(Duration::from_millis(5), link.recv()).await.is_err());
    client.say(tail).await;
    assert_eq!(recv(&mut link).await, Ok(text("whole")));
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let endpoint = endpoint(MqttTerms::default()).await;
    let error = Endpoint::mqtt(endpoint.address(), MqttTerms::default()).await;
    assert!(matches!(error, Err(EndpointError::Listen { .. })), "{error:?}");
}

/// Runs a test of a property on a runtime of its own.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn messages_come_whole_however_they_are_cut(
        messages in prop::collection::vec("[a-zä]{0,300}", 1..6),
        cuts in prop::collection::vec(1..90_usize, 1..40),
    ) {
        let got = run(async {
            let (_endpoint, mut link, mut client) = connected().await;
            let stream: Vec<u8> = messages
                .iter()
                .flat_map(|message| bytes_of(&publish(message, QoS::AtMostOnce, 0)))
                .collect();
            let (mut rest, mut cuts) = (&stream[..], cuts.iter().cycle());
            client.stream.set_nodelay(true).unwrap();
            while !rest.is_empty() {
                let (part, left) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                client.say(part).await;
                tokio::task::yield_now().await;
                rest = left;
            }
            let mut got = Vec::new();
            while got.len() < messages.len() {
                got.push(recv(&mut link).await.unwrap());
            }
            got
        });
        let wanted: Vec<Frame> = messages.iter().map(|message| text(message)).collect();
        prop_assert_eq!(got, wanted);
    }

    #[test]
    fn any_bytes_after_connect_end_in_words(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let lost = run(async {
            let (_endpoint, mut link, mut client) = connected().await;
            client.say(&bytes).await;
            client.stream.shutdown().await.unwrap();
            loop {
                if let Err(lost) = incoming(&mut link).await {
                    break lost;
                }
            }
        });
        prop_assert!(!matches!(lost, LinkLost::Stalled | LinkLost::Broker(_)), "{}", lost);
    }

    #[test]
    fn any_first_bytes_leave_the_endpoint_standing(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        run(async {
            let mut endpoint = endpoint(MqttTerms::default()).await;
            let mut rude = Client::dial(&endpoint).await;
            let _ = rude.stream.write_all(&bytes).await;
            let _ = rude.stream.shutdown().await;
            let mut client = Client::dial(&endpoint).await;
            client.send(Packet::Connect(connect("me"))).await;
            assert_eq!(client.next().await, Some(Packet::ConnAck(ACCEPTED)));
            while rude.next().await.is_some() {}
            accept(&mut endpoint).await;
        });
    }
}

#[tokio::test]
async fn a_device_may_go_politely_and_come_again() {
    let (mut endpoint, mut link, mut client) = connected().await;
    let mut bytes = BytesMut::new();
    PingReq.write(&mut bytes).unwrap();
    Disconnect.write(&mut bytes).unwrap();
    client.say(&bytes).await;
    assert_eq!(note(&mut link).await, MqttNote::Ping);
    assert!(incoming(&mut link).await.is_err());
    let mut client = Client::dial(&endpoint).await;
    client.send(Packet::Connect(connect("me"))).await;
    let mut link = accept(&mut endpoint).await;
    client.send(publish("again", QoS::AtMostOnce, 0)).await;
    assert_eq!(recv(&mut link).await, Ok(text("again")));
}

#[tokio::test]
async fn what_is_sent_again_is_acknowledged_and_taken_once() {
    let message = |text: &str, dup: bool| match publish(text, QoS::AtLeastOnce, 7) {
        Packet::Publish(publish) => Packet::Publish(Publish { dup, ..publish }),
        _ => unreachable!("it makes messages"),
    };
    let (mut endpoint, mut link, mut client) = connected().await;
    client.send(message("old", false)).await;
    assert_eq!(note(&mut link).await, MqttNote::Qos { qos: 1 });
    assert_eq!(recv(&mut link).await, Ok(text("old")));
    // On the same connection, and on the next one.
    for _ in 0..2 {
        client.send(message("old", true)).await;
        client.send(publish("new", QoS::AtMostOnce, 0)).await;
        assert_eq!(note(&mut link).await, MqttNote::Redelivered);
        assert_eq!(recv(&mut link).await, Ok(text("new")));
        drop((link, client));
        client = Client::dial(&endpoint).await;
        client.send(Packet::Connect(connect("me"))).await;
        assert_eq!(client.next().await, Some(Packet::ConnAck(ACCEPTED)));
        link = accept(&mut endpoint).await;
    }
    // What was lost with the connection, or never sent before, is taken: with the remark.
    client.send(message("lost", true)).await;
    assert_eq!(note(&mut link).await, MqttNote::Duplicate);
    assert_eq!(recv(&mut link).await, Ok(text("lost")));
    // What is owed is sent when nothing else is to be done.
    tokio::select! {
        ack = client.next() => assert!(matches!(ack, Some(Packet::PubAck(ack)) if ack.pkid == 7)),
        other = link.recv() => panic!("{other:?}"),
    }
    // An id may be used again.
    client.send(message("lost", false)).await;
    assert_eq!(note(&mut link).await, MqttNote::Qos { qos: 1 });
    assert_eq!(recv(&mut link).await, Ok(text("lost")));
}
