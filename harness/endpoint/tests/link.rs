//! Links, against well-behaved and rude clients on 127.0.0.1.

mod support;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use futures_util::{SinkExt as _, StreamExt as _};
use mcp_hil_core::{limits::MAX_MESSAGE_BYTES, wire::Frame};
use mcp_hil_endpoint::{Link, LinkLost};
use rstest::rstest;
use support::{LATEST, accept, endpoint, recv};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{
        Message,
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};

type Client = WebSocketStream<MaybeTlsStream<TcpStream>>;

const FIN: u8 = 0x80;
const CONTINUE: u8 = 0;
const TEXT: u8 = 1;

async fn connected() -> (Link, Client) {
    let mut endpoint = endpoint().await;
    let (client, _) = connect_async(endpoint.url()).await.unwrap();
    (accept(&mut endpoint).await, client)
}

/// A client that speaks the handshake and then whatever bytes a test likes.
async fn connected_raw() -> (Link, TcpStream) {
    let mut endpoint = endpoint().await;
    let client = raw(endpoint.address()).await;
    (accept(&mut endpoint).await, client)
}

async fn raw(address: SocketAddr) -> TcpStream {
    let mut client = TcpStream::connect(address).await.unwrap();
    let request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(client.read_u8().await.unwrap());
    }
    assert!(answer.starts_with(b"HTTP/1.1 101 "));
    client
}

/// A frame as a device sends it; a mask of zeros leaves the payload readable.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = head(first, payload.len() as u64);
    bytes.extend_from_slice(payload);
    bytes
}

fn head(first: u8, length: u64) -> Vec<u8> {
    let mut bytes = vec![first];
    match length {
        0..126 => bytes.push(FIN | length as u8),
        126..0x1_0000 => {
            bytes.push(FIN | 126);
            bytes.extend((length as u16).to_be_bytes());
        }
        _ => {
            bytes.push(FIN | 127);
            bytes.extend(length.to_be_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes
}

#[tokio::test]
async fn every_kind_of_frame_goes_both_ways() {
    let (mut link, mut client) = connected().await;
    for frame in [
        Frame::Text("{\"a\":\"ä\"}".into()),
        Frame::Binary(vec![0, 255, 1]),
        Frame::Text(String::new()),
        Frame::Text("x".repeat(300_000)),
        Frame::Binary(Vec::new()),
    ] {
        link.send(&frame).await.unwrap();
        let echo = client.next().await.unwrap().unwrap();
        client.send(echo).await.unwrap();
        assert_eq!(recv(&mut link).await, Ok(frame));
    }
}

#[tokio::test]
async fn pings_are_answered_both_ways() {
    let (mut link, mut client) = connected().await;
    client.send(Message::Ping("from device".into())).await.unwrap();
    assert_eq!(recv(&mut link).await, Ok(Frame::Ping(b"from device".to_vec())));
    // The pong is out before the next call.
    let pong = timeout(LATEST, client.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(pong, Message::Pong("from device".into()));

    link.send(&Frame::Ping(b"from us".to_vec())).await.unwrap();
    let ping = client.next().await.unwrap().unwrap();
    assert_eq!(ping, Message::Ping("from us".into()));
    client.flush().await.unwrap();
    assert_eq!(recv(&mut link).await, Ok(Frame::Pong(b"from us".to_vec())));

    link.send(&Frame::Pong(b"unasked".to_vec())).await.unwrap();
    let pong = client.next().await.unwrap().unwrap();
    assert_eq!(pong, Message::Pong("unasked".into()));
}

#[rstest]
#[case(1)]
#[case(2)]
#[case(7)]
#[case(1_000)]
#[case(0)]
#[tokio::test]
async fn fragments_go_out_as_continuation_frames(#[case] bytes: usize) {
    let (mut link, mut client) = connected_raw().await;
    let text = "{\"ä\":\"日本\"}";
    link.send_fragments(&Frame::Text(text.into()), bytes, None).await.unwrap();
    let (mut whole, mut frames) = (Vec::new(), Vec::new());
    loop {
        let first = client.read_u8().await.unwrap();
        let mut part = vec![0; usize::from(client.read_u8().await.unwrap())];
        client.read_exact(&mut part).await.unwrap();
        assert!((1..=bytes.max(1)).contains(&part.len()));
        whole.extend(part);
        frames.push(first);
        if first & FIN != 0 {
            break;
        }
    }
    assert_eq!(String::from_utf8(whole).unwrap(), text);
    assert_eq!(frames.len(), text.len().div_ceil(bytes.max(1)));
    assert_eq!(frames[0] & 0x0f, TEXT);
    assert!(frames[1..].iter().all(|first| first & 0x0f == CONTINUE));
}

#[tokio::test]
async fn a_ping_and_an_empty_piece_go_out_between_fragments() {
    let (mut link, mut client) = connected_raw().await;
    link.send_fragments(&Frame::Text("abc".into()), 2, Some(b"p")).await.unwrap();
    let mut sent = [0; 12];
    client.read_exact(&mut sent).await.unwrap();
    let all = [TEXT, 2, b'a', b'b', FIN | 9, 1, b'p', CONTINUE, 0, FIN | CONTINUE, 1, b'c'];
    assert_eq!(sent, all);
}

#[tokio::test]
async fn the_last_piece_may_be_empty_and_a_piece_may_be_of_binary_data() {
    let (mut link, mut client) = connected_raw().await;
    link.send_with_empty_end(&Frame::Text("abc".into()), 2).await.unwrap();
    link.send_fragments(&Frame::Binary(vec![1, 2]), 1, None).await.unwrap();
    let mut sent = [0; 15];
    client.read_exact(&mut sent).await.unwrap();
    let text = [TEXT, 2, b'a', b'b', CONTINUE, 1, b'c', FIN | CONTINUE, 0];
    assert_eq!(sent, [&text[..], &[2, 1, 1, FIN | CONTINUE, 1, 2]].concat()[..]);
}

#[tokio::test]
async fn an_empty_text_is_one_frame_however_it_is_cut() {
    let (mut link, mut client) = connected().await;
    link.send_fragments(&Frame::Text(String::new()), 3, None).await.unwrap();
    assert_eq!(client.next().await.unwrap().unwrap(), Message::text(""));
}

#[tokio::test]
async fn fragments_of_the_device_are_put_together_with_pings_between() {
    let (mut link, mut client) = connected_raw().await;
    let mut bytes = frame(TEXT, b"one \xc3");
    bytes.extend(frame(FIN | 9, b"ping"));
    bytes.extend(frame(CONTINUE, b"\xa4"));
    bytes.extend(frame(FIN | CONTINUE, b" end"));
    for byte in bytes {
        client.write_all(&[byte]).await.unwrap();
    }
    assert_eq!(recv(&mut link).await, Ok(Frame::Ping(b"ping".to_vec())));
    assert_eq!(recv(&mut link).await, Ok(Frame::Text("one ä end".into())));
}

#[rstest]
#[case::whole(vec![frame(FIN | TEXT, b"\"\xff\xfe\"")])]
#[case::in_parts(vec![frame(TEXT, b"\"\xff"), frame(CONTINUE, b"\xfe"), frame(FIN | CONTINUE, b"\"")])]
#[tokio::test]
async fn text_that_is_not_utf8_keeps_its_bytes_and_the_link(#[case] frames: Vec<Vec<u8>>) {
    let (mut link, mut client) = connected_raw().await;
    client.write_all(&frames.concat()).await.unwrap();
    client.write_all(&frame(FIN | 2, b"\xff")).await.unwrap();
    client.write_all(&frame(FIN | TEXT, b"next")).await.unwrap();
    assert_eq!(recv(&mut link).await, Ok(Frame::NotUtf8(b"\"\xff\xfe\"".to_vec())));
    assert_eq!(recv(&mut link).await, Ok(Frame::Binary(vec![0xff])));
    assert_eq!(recv(&mut link).await, Ok(Frame::Text("next".into())));
}

#[tokio::test]
async fn text_that_is_not_utf8_can_be_sent() {
    let (mut link, mut client) = connected_raw().await;
    link.send(&Frame::NotUtf8(vec![0xff])).await.unwrap();
    let mut bytes = [0; 3];
    client.read_exact(&mut bytes).await.unwrap();
    assert_eq!(bytes, [FIN | TEXT, 1, 0xff]);
}

#[tokio::test]
async fn a_message_of_64_mib_ends_the_link_at_its_first_bytes() {
    let (mut link, mut client) = connected_raw().await;
    client.write_all(&head(FIN | TEXT, 64 << 20)).await.unwrap();
    let lost = recv(&mut link).await.unwrap_err();
    assert_eq!(lost, LinkLost::TooLong { limit: MAX_MESSAGE_BYTES });
    assert!(lost.to_string().contains("MAX_MESSAGE_BYTES (4194304 bytes)"));
    assert_eq!(recv(&mut link).await, Err(lost));
}

#[tokio::test]
async fn endless_fragments_end_the_link_at_the_limit() {
    let (mut link, mut client) = connected_raw().await;
    let flood = tokio::spawn(async move {
        client.write_all(&frame(TEXT, &[b'x'; 1 << 20])).await?;
        loop {
            client.write_all(&frame(CONTINUE, &[b'x'; 1 << 20])).await?;
        }
        #[expect(unreachable_code, reason = "names the type")]
        std::io::Result::Ok(())
    });
    let lost = recv(&mut link).await.unwrap_err();
    assert_eq!(lost, LinkLost::TooLong { limit: MAX_MESSAGE_BYTES });
    link.abort();
    timeout(LATEST, flood).await.unwrap().unwrap().unwrap_err();
}

#[tokio::test]
async fn the_longest_message_gets_through() {
    let (mut link, mut client) = connected_raw().await;
    let text = "x".repeat(MAX_MESSAGE_BYTES);
    let bytes = frame(FIN | TEXT, text.as_bytes());
    tokio::spawn(async move { client.write_all(&bytes).await });
    assert!(recv(&mut link).await == Ok(Frame::Text(text)));
}

#[rstest]
#[case::unmasked(vec![FIN | TEXT, 1, b'x'], "unmasked")]
#[case::reserved_bits(frame(FIN | 0x40 | TEXT, b"x"), "Reserved bits")]
#[case::unknown_opcode(frame(FIN | 3, b"x"), "opcode")]
#[case::nothing_to_continue(frame(FIN | CONTINUE, b"x"), "nothing to continue")]
#[case::text_inside_text([frame(TEXT, b"x"), frame(FIN | TEXT, b"y")].concat(), "a new message began")]
#[case::close_not_utf8(frame(FIN | 8, b"\x03\xe8\xff"), "Close frame is not valid UTF-8")]
#[case::random(vec![b'\n'; 100], "protocol")]
#[tokio::test]
async fn broken_frames_end_the_link_with_the_reason(#[case] bytes: Vec<u8>, #[case] why: &str) {
    let (mut link, mut client) = connected_raw().await;
    client.write_all(&bytes).await.unwrap();
    let lost = recv(&mut link).await.unwrap_err();
    assert!(matches!(lost, LinkLost::Protocol { .. }), "{lost:?}");
    assert!(lost.to_string().to_lowercase().contains(&why.to_lowercase()), "{lost}");
}

#[rstest]
#[case(None, "Close frame without a code")]
#[case(Some(("", 1000)), "Close frame with code 1000")]
#[case(Some(("bye", 1001)), "Close frame with code 1001 and reason `bye`")]
#[tokio::test]
async fn a_close_frame_is_told(#[case] close: Option<(&'static str, u16)>, #[case] text: &str) {
    let (mut link, mut client) = connected().await;
    let code = close.map(|(_, code)| code);
    let close = close
        .map(|(reason, code)| CloseFrame { code: CloseCode::from(code), reason: reason.into() });
    client.send(Message::text("last words")).await.unwrap();
    client.close(close).await.unwrap();
    assert_eq!(recv(&mut link).await, Ok(Frame::Text("last words".into())));
    let lost = recv(&mut link).await.unwrap_err();
    assert_eq!(lost, LinkLost::Goodbye { how: format!("the device sent a {text}"), code });
    assert_eq!(link.send(&Frame::Text("x".into())).await, Err(lost));
    // It was answered, as the RFC asks.
    assert!(timeout(LATEST, client.next()).await.unwrap().unwrap().unwrap().is_close());
}

#[tokio::test]
async fn a_plain_end_of_tcp_is_told() {
    let (mut link, client) = connected_raw().await;
    drop(client);
    let lost = recv(&mut link).await.unwrap_err();
    assert_eq!(lost.to_string(), "the device closed TCP without a Close frame");
}

#[tokio::test]
async fn an_end_inside_a_frame_is_told() {
    let (mut link, mut client) = connected_raw().await;
    client.write_all(&frame(FIN | TEXT, b"whole")).await.unwrap();
    client.write_all(&head(FIN | TEXT, 10)).await.unwrap();
    drop(client);
    assert_eq!(recv(&mut link).await, Ok(Frame::Text("whole".into())));
    let lost = recv(&mut link).await.unwrap_err();
    assert_eq!(lost.to_string(), "the device closed TCP in the middle of a frame");
}

#[tokio::test]
async fn a_reset_is_an_end_like_any_other() {
    let (mut link, client) = connected_raw().await;
    client.set_zero_linger().unwrap();
    drop(client);
    let lost = recv(&mut link).await.unwrap_err();
    assert_eq!(lost.to_string(), "the device closed TCP without a Close frame");
}

#[tokio::test]
async fn a_device_that_never_reads_stalls_the_link() {
    let (mut link, _client) = connected_raw().await;
    let frame = Frame::Text("x".repeat(1 << 20));
    // With a paused clock the deadline passes as soon as nothing else can move.
    tokio::time::pause();
    let lost = loop {
        if let Err(lost) = link.send(&frame).await {
            break lost;
        }
    };
    assert_eq!(lost, LinkLost::Stalled);
    assert_eq!(recv(&mut link).await, Err(LinkLost::Stalled));
}

#[tokio::test]
async fn abort_drops_tcp_without_a_close_frame() {
    let (link, mut client) = connected_raw().await;
    link.abort();
    assert_eq!(timeout(LATEST, client.read(&mut [0; 8])).await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn receiving_can_be_cancelled_anywhere() {
    let (mut link, mut client) = connected_raw().await;
    for byte in frame(FIN | TEXT, b"slow") {
        assert!(timeout(Duration::ZERO, link.recv()).await.is_err());
        client.write_all(&[byte]).await.unwrap();
    }
    assert_eq!(recv(&mut link).await, Ok(Frame::Text("slow".into())));
}

#[tokio::test]
async fn a_goodbye_is_a_close_frame_and_its_answer_is_told() {
    let (mut link, mut client) = connected().await;
    link.say_goodbye(Some("over")).await.unwrap();
    client.send(Message::text("on its way")).await.unwrap();
    let close = timeout(LATEST, client.next()).await.unwrap();
    let Some(Ok(Message::Close(Some(close)))) = close else {
        panic!("a Close frame, got {close:?}");
    };
    assert_eq!((close.code, close.reason.as_str()), (CloseCode::Normal, "over"));
    // The client's library has put its answer by.
    client.flush().await.unwrap();
    assert_eq!(recv(&mut link).await, Ok(Frame::Text("on its way".into())));
    let lost = recv(&mut link).await.unwrap_err();
    assert!(matches!(lost, LinkLost::Goodbye { .. }), "{lost:?}");
}

#[tokio::test]
async fn a_goodbye_may_have_no_code() {
    let (mut link, mut client) = connected_raw().await;
    link.say_goodbye(None).await.unwrap();
    let mut sent = [0; 2];
    client.read_exact(&mut sent).await.unwrap();
    assert_eq!(sent, [FIN | 8, 0]);
}

#[tokio::test]
async fn a_goodbye_that_nobody_answers_ends_as_tcp_does() {
    let (mut link, client) = connected_raw().await;
    link.say_goodbye(Some("")).await.unwrap();
    drop(client);
    let lost = recv(&mut link).await.unwrap_err();
    assert!(matches!(lost, LinkLost::Closed(_)), "{lost:?}");
}

/// A device's TCP holds the second of two small segments back until the first is acknowledged.
#[tokio::test]
async fn what_a_device_sends_in_two_pieces_is_acknowledged_at_once() {
    let (mut link, mut client) = connected_raw().await;
    let mut quickest = Duration::MAX;
    for _ in 0..20 {
        // Who sends puts its acknowledgements off.
        link.send(&Frame::Text("ask".into())).await.unwrap();
        client.read_exact(&mut [0; 5]).await.unwrap();
        client.write_all(&frame(FIN | TEXT, b"audio")).await.unwrap();
        client.write_all(&frame(FIN | TEXT, b"answer")).await.unwrap();
        assert_eq!(recv(&mut link).await.unwrap(), Frame::Text("audio".into()));
        let first = Instant::now();
        assert_eq!(recv(&mut link).await.unwrap(), Frame::Text("answer".into()));
        quickest = quickest.min(first.elapsed());
    }
    // Put off, none is quicker than 40 ms.
    assert!(quickest < Duration::from_millis(30), "{quickest:?}");
}
