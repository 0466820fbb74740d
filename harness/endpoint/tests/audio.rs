//! The audio sink, against senders on 127.0.0.1.

use std::{net::SocketAddr, time::Duration};

use mcp_hil_endpoint::AudioSink;
use tokio::{net::UdpSocket, time::timeout};

/// Far longer than anything here takes: only a broken sink waits so long.
const LATEST: Duration = Duration::from_secs(30);

/// The key of NIST SP 800-38A, F.5, and a stream id.
const RANDOM: [u8; 20] = [
    0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c,
    1, 2, 3, 4,
];

async fn sink() -> AudioSink {
    AudioSink::bind("127.0.0.1".parse().unwrap(), RANDOM).await.unwrap()
}

#[tokio::test]
async fn devices_are_told_the_host_that_they_see() {
    let mut sink = sink().await;
    assert_eq!(sink.section()["server"], "127.0.0.1");
    sink.show_as("10.0.2.2".to_owned());
    assert_eq!(sink.section()["server"], "10.0.2.2");
}

async fn sender() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").await.unwrap()
}

fn packet(sequence: u32, audio: &[u8]) -> Vec<u8> {
    let mut packet = vec![1, 0, 0, u8::try_from(audio.len()).unwrap(), 1, 2, 3, 4, 0, 0, 0, 0];
    packet.extend(sequence.to_be_bytes());
    packet.extend(audio);
    packet
}

async fn heard(sink: &AudioSink, packets: u64) {
    timeout(LATEST, sink.heard(packets)).await.expect("the packets come");
}

#[tokio::test]
async fn the_hello_section_can_be_used_by_stock_firmware() {
    let sink = sink().await;
    let section = sink.section();
    assert_eq!(section["server"], "127.0.0.1");
    assert_eq!(section["port"], sink.address().port());
    assert_eq!(section["encryption"], "aes-128-ctr");
    assert_eq!(section["key"], "2b7e151628aed2a6abf7158809cf4f3c");
    assert_eq!(section["nonce"], "01000000010203040000000000000000");
    assert!(!format!("{sink:?}").contains("2b7e"));
}

#[tokio::test]
async fn packets_are_counted_and_decrypted() {
    let sink = sink().await;
    assert_eq!(sink.seen().idle_ms, None);
    let sender = sender().await;
    let audio = [0xf8, 0xff, 0xfe];
    for sequence in 1..=3 {
        sender.send_to(&packet(sequence, &audio), sink.address()).await.unwrap();
    }
    heard(&sink, 3).await;
    let seen = sink.seen();
    assert_eq!((seen.packets, seen.bytes), (3, 57));
    assert_eq!((&seen.first_bad, &seen.first_disorder), (&None, &None));
    assert_eq!(seen.last_sequence, Some(3));
    assert!(seen.idle_ms.is_some());
    // openssl enc -aes-128-ctr -K <key> -iv 01000003010203040000000000000003
    assert_eq!(seen.starts.as_deref(), Some("7e9d19"));
}

#[tokio::test]
async fn bad_packets_are_told_and_a_stranger_is_not_heard() {
    let sink = sink().await;
    let (device, stranger) = (sender().await, sender().await);
    device.send_to(&packet(1, b"a"), sink.address()).await.unwrap();
    heard(&sink, 1).await;
    stranger.send_to(b"stranger", sink.address()).await.unwrap();
    device.send_to(b"", sink.address()).await.unwrap();
    device.send_to(&packet(1, b"a"), sink.address()).await.unwrap();
    heard(&sink, 3).await;
    let seen = sink.seen();
    assert_eq!(seen.packets, 3);
    assert!(seen.first_bad.unwrap().starts_with("packet 2: 0 bytes"));
    assert!(seen.first_disorder.unwrap().contains("number 1 after 1"));
}

#[tokio::test]
async fn a_new_channel_begins_anew() {
    let sink = sink().await;
    let first = sender().await;
    first.send_to(&packet(7, b"a"), sink.address()).await.unwrap();
    heard(&sink, 1).await;
    sink.renew([9; 20]);
    assert_eq!(sink.seen().packets, 0);
    assert_eq!(sink.section()["key"], "09".repeat(16));
    // Another port of the device, which still uses the old stream id when nothing of the old
    // channel can be on its way any more.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let second = sender().await;
    second.send_to(&packet(1, b"a"), sink.address()).await.unwrap();
    second.send_to(&packet(2, b"a"), sink.address()).await.unwrap();
    heard(&sink, 1).await;
    assert!(sink.seen().first_bad.unwrap().contains("ssrc 01020304"));
}

#[tokio::test]
async fn a_flood_keeps_counters_only() {
    let sink = sink().await;
    let sender = sender().await;
    let address: SocketAddr = sink.address();
    let datagram = vec![0xff; 1200];
    // The system drops what does not fit.
    for _ in 0..20_000 {
        sender.send_to(&datagram, address).await.unwrap();
    }
    heard(&sink, 1000).await;
    let seen = sink.seen();
    assert!(seen.packets >= 1000 && seen.bytes == seen.packets * 1200);
    assert!(seen.first_bad.unwrap().starts_with("packet 1: type 0xff"));
}
