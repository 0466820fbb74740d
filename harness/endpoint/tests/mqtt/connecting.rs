//! How a device begins a connection, and how it is refused.

use super::*;

#[rstest]
#[case::new("MQTT", 4)]
#[case::old("MQIsdp", 3)]
#[tokio::test]
async fn both_levels_are_spoken(#[case] name: &str, #[case] level: u8) {
    let mut endpoint = endpoint(MqttTerms::default()).await;
    let mut client = Client::dial(&endpoint).await;
    client.say(&connect_of_level(name, level, b"\x02\0\x3c\0\x02me")).await;
    assert_eq!(client.next().await, Some(Packet::ConnAck(ACCEPTED)));
    let mut link = accept(&mut endpoint).await;
    let seen = link.handshake().mqtt.clone().unwrap();
    assert_eq!((seen.level, seen.client_id.as_str()), (level, "me"));
    assert_eq!((seen.keep_alive_s, seen.clean_session), (60, true));
    assert!(!seen.will && !seen.credentials);
    client.send(publish("up", QoS::AtMostOnce, 0)).await;
    assert_eq!(recv(&mut link).await, Ok(text("up")));
    link.send(&text("down")).await.unwrap();
    assert_eq!(client.message().await.0, "down");
}

#[rstest]
#[case::level_5("MQTT", 5, b"\x02\0\x3c\x05\x11\0\0\0\x0a\0\x02me", "level 5: expected 4")]
#[case::level_2("MQTT", 2, b"\x02\0\x3c\0\x02me", "level 2: expected 4")]
#[case::wrong_name("MQIsdp", 4, b"\x02\0\x3c\0\x02me", "does not belong to its level")]
#[case::other_name("AMQP", 4, b"\x02\0\x3c\0\x02me", "does not belong to its level")]
#[tokio::test]
async fn other_levels_are_refused_with_connack_1(
    #[case] name: &str,
    #[case] level: u8,
    #[case] after: &[u8],
    #[case] why: &str,
) {
    let mut endpoint = endpoint(MqttTerms::default()).await;
    let mut client = Client::dial(&endpoint).await;
    client.say(&connect_of_level(name, level, after)).await;
    let refused = ConnAck::new(ConnectReturnCode::RefusedProtocolVersion, false);
    assert_eq!(client.next().await, Some(Packet::ConnAck(refused)));
    assert_eq!(client.next().await, None);
    let told = endpoint.take_refused();
    assert!(told[0].contains(why), "{told:?}");
}

#[tokio::test]
async fn an_empty_client_id_needs_a_clean_session() {
    let mut endpoint = endpoint(MqttTerms::default()).await;
    let mut client = Client::dial(&endpoint).await;
    let mut stays = connect("");
    stays.clean_session = false;
    client.send(Packet::Connect(stays)).await;
    let refused = ConnAck::new(ConnectReturnCode::BadClientId, false);
    assert_eq!(client.next().await, Some(Packet::ConnAck(refused)));
    let turned_away = timeout(LATEST, endpoint.accept()).await.unwrap();
    assert!(matches!(turned_away, Accepted::Refused { fault: Fault::Packets, .. }));
    let mut client = Client::dial(&endpoint).await;
    client.send(Packet::Connect(connect(""))).await;
    assert_eq!(client.next().await, Some(Packet::ConnAck(ACCEPTED)));
    accept(&mut endpoint).await;
}

#[rstest]
#[case::http(b"GET / HTTP/1.1\r\n", "the first packet is not CONNECT")]
#[case::tls(b"\x16\x03\x01\x02\x00\x01", "it uses TLS")]
#[case::ssh(b"SSH-2.0-x\r\n", "the first packet is not CONNECT")]
#[case::post(b"POST / HTTP/1.1\r\n\r\n", "the first packet is not CONNECT")]
#[case::publish_of_noise(b"0\x03\0\x09a", "the first packet is not CONNECT")]
#[case::length(b"\x10\xff\xff\xff\xff\x7f", "not an MQTT CONNECT packet")]
#[case::huge(b"\x10\xff\xff\xff\x7f", "not an MQTT CONNECT packet")]
#[tokio::test]
async fn who_does_not_begin_with_connect_is_refused_at_once(
    #[case] said: &[u8],
    #[case] why: &str,
) {
    let mut endpoint = endpoint(MqttTerms::default()).await;
    let mut client = Client::dial(&endpoint).await;
    client.say(said).await;
    assert_eq!(client.next().await, None);
    let told = endpoint.take_refused();
    assert!(told[0].contains(why), "{told:?}");
}

/// Who speaks MQTT, but not by its rules.
#[rstest]
#[case::ping(b"\xc0\0", "the first packet is not CONNECT (MQTT 3.1.1, 3.1.0), but PINGREQ")]
#[case::publish(b"\x30\x05\0\x01a{}", "but PUBLISH")]
#[case::subscribe(b"\x82\x06\0\x01\0\x01a\0", "but SUBSCRIBE")]
#[case::cut(b"\x10\x0e\0\x04MQTT\x04\x02\0\x3c\0\x09me", "not an MQTT CONNECT packet")]
#[case::nameless(b"\x10\x0c\0\x04MQTT\x04\0\0\x3c\0\0", "an empty client id")]
#[tokio::test]
async fn a_device_that_breaks_mqtt_before_it_is_connected_is_a_device(
    #[case] said: &[u8],
    #[case] why: &str,
) {
    let mut endpoint = endpoint(MqttTerms::default()).await;
    let mut client = Client::dial(&endpoint).await;
    client.say(said).await;
    let accepted = timeout(LATEST, endpoint.accept()).await.unwrap();
    let Accepted::Refused { why: told, fault: Fault::Packets, .. } = accepted else {
        panic!("{accepted:?}")
    };
    assert!(told.contains(why), "{told}");
}

/// The rest of the packet can be read, and so the link is that of a device, and lost.
#[rstest]
#[case::reserved_bits(b"\x11\x0d\0\x04MQTT\x04\x02\0\x3c\0\x01c", "first byte of CONNECT")]
#[case::reserved_flag(b"\x10\x0d\0\x04MQTT\x04\x03\0\x3c\0\x01c", "reserved flag of CONNECT")]
#[case::will_qos_3(b"\x10\x12\0\x04MQTT\x04\x1e\0\x3c\0\x01c\0\x01w\0\0", "a will with QoS 3")]
#[case::more(b"\x10\x0f\0\x04MQTT\x04\x02\0\x3c\0\x01c!!", "bytes behind its last field")]
#[tokio::test]
async fn what_is_wrong_with_connect_ends_the_link(#[case] said: &[u8], #[case] why: &str) {
    let mut endpoint = endpoint(MqttTerms::default()).await;
    let mut client = Client::dial(&endpoint).await;
    client.say(said).await;
    assert_eq!(client.next().await, Some(Packet::ConnAck(ACCEPTED)));
    let mut link = accept(&mut endpoint).await;
    let lost = incoming(&mut link).await.unwrap_err();
    assert!(lost.to_string().contains(why), "{lost}");
}

#[tokio::test]
async fn half_a_connect_ends_in_words_and_keeps_nobody_waiting() {
    let mut endpoint = endpoint(MqttTerms::default()).await;
    let mut half = Client::dial(&endpoint).await;
    half.say(b"\x10\x0e\0\x04MQ").await;
    let mut client = Client::dial(&endpoint).await;
    client.send(Packet::Connect(connect("me"))).await;
    let _link = accept(&mut endpoint).await;
    half.stream.shutdown().await.unwrap();
    assert_eq!(half.next().await, None);
    let told = endpoint.take_refused();
    assert!(told[0].contains("closed before its CONNECT"), "{told:?}");
}

#[rstest]
#[case::user(Some(("mcp", "secret")), "a user name other than")]
#[case::password(Some(("mcp-hil", "secreT")), "a password other than")]
#[case::none(None, "no user name and password")]
#[tokio::test]
async fn wrong_credentials_get_connack_4(#[case] login: Option<(&str, &str)>, #[case] why: &str) {
    let credentials = Some(("mcp-hil".to_owned(), "secret".to_owned()));
    let terms = MqttTerms { credentials, ..MqttTerms::default() };
    let mut endpoint = endpoint(terms).await;
    let mut client = Client::dial(&endpoint).await;
    let mut wrong = connect("me");
    if let Some((user, password)) = login {
        wrong.set_login(user, password);
    }
    client.send(Packet::Connect(wrong)).await;
    let refused = ConnAck::new(ConnectReturnCode::BadUserNamePassword, false);
    assert_eq!(client.next().await, Some(Packet::ConnAck(refused)));
    let accepted = timeout(LATEST, endpoint.accept()).await.unwrap();
    assert!(
        matches!(&accepted, Accepted::Refused { why: told, .. } if told.contains(why)),
        "{accepted:?}"
    );
    assert!(!format!("{accepted:?}").to_lowercase().contains("secret"));

    let mut client = Client::dial(&endpoint).await;
    let mut right = connect("me");
    right.set_login("mcp-hil", "secret");
    client.send(Packet::Connect(right)).await;
    let link = accept(&mut endpoint).await;
    assert!(link.handshake().mqtt.as_ref().unwrap().credentials);
}
