//! The WebSocket endpoint, against well-behaved and rude clients on 127.0.0.1.

mod support;

use std::time::Duration;

use futures_util::SinkExt as _;
use mcp_hil_core::transcript::Fault;
use mcp_hil_core::wire::Frame;
use mcp_hil_endpoint::{Accepted, Endpoint, EndpointError, Link};
use rstest::rstest;
use support::{LATEST, accept, endpoint, recv};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest as _, http::StatusCode},
};

#[tokio::test]
async fn the_handshake_is_captured() {
    let mut endpoint = endpoint().await;
    let url = format!("ws://{}/any/path?x=1", endpoint.address());
    let mut request = url.into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("Protocol-Version", "1".parse().unwrap());
    headers.insert("Device-Id", "aa:bb:cc:dd:ee:ff".parse().unwrap());
    headers.append("Authorization", "Bearer one".parse().unwrap());
    headers.append("Authorization", "Bearer two".parse().unwrap());
    let (_client, _) = connect_async(request).await.unwrap();
    let link = accept(&mut endpoint).await;
    let handshake = link.handshake();
    assert_eq!(handshake.path, "/any/path?x=1");
    assert_eq!(handshake.headers["protocol-version"], "1");
    assert_eq!(handshake.headers["device-id"], "aa:bb:cc:dd:ee:ff");
    assert_eq!(handshake.headers["authorization"], "Bearer one, Bearer two");
    assert_eq!(handshake.headers["host"], endpoint.address().to_string());
}

#[tokio::test]
async fn two_connections_at_once_are_two_links() {
    let mut endpoint = endpoint().await;
    let (mut first, _) = connect_async(endpoint.url()).await.unwrap();
    let (mut second, _) = connect_async(endpoint.url()).await.unwrap();
    let mut first_link = accept(&mut endpoint).await;
    let mut second_link = accept(&mut endpoint).await;
    assert_eq!(endpoint.waiting(), 0);
    second.send(Message::text("second")).await.unwrap();
    first.send(Message::text("first")).await.unwrap();
    assert_eq!(recv(&mut first_link).await, Ok(Frame::Text("first".into())));
    assert_eq!(recv(&mut second_link).await, Ok(Frame::Text("second".into())));
}

#[tokio::test]
async fn completed_connections_wait() {
    let mut endpoint = endpoint().await;
    let _first = connect_async(endpoint.url()).await.unwrap();
    let _second = connect_async(endpoint.url()).await.unwrap();
    while endpoint.waiting() < 2 {
        sleep(Duration::from_millis(1)).await;
    }
    // A future that is dropped takes no connection with it.
    drop(endpoint.accept());
    accept(&mut endpoint).await;
    assert_eq!(endpoint.waiting(), 1);
}

/// A device that names itself and wants a WebSocket, in another way than RFC 6455 asks for.
#[rstest]
#[case::version(
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 8\r\n",
    "Version: 13"
)]
#[case::upgrade("Connection: Upgrade\r\nUpgrade: ws\r\nSec-WebSocket-Version: 13\r\n", "Upgrade")]
#[case::connection("Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n", "Connection")]
#[case::no_http(
    "Sec WebSocket Version: 13\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
    "httparse"
)]
#[tokio::test]
async fn a_device_with_another_handshake_is_a_device(#[case] asks: &str, #[case] why: &str) {
    let mut endpoint = endpoint().await;
    let mut device = TcpStream::connect(endpoint.address()).await.unwrap();
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    let head = format!("GET / HTTP/1.1\r\nHost: x\r\n{asks}{key}\r\ndevice-id: aa:bb\r\n\r\n");
    device.write_all(head.as_bytes()).await.unwrap();
    let accepted = timeout(LATEST, endpoint.accept()).await.unwrap();
    let Accepted::Refused { why: told, fault: Fault::Handshake, .. } = accepted else {
        panic!("{accepted:?}")
    };
    assert!(told.contains(why), "{told}");
}

#[rstest]
#[case::plain_http("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "a plain HTTP request")]
#[case::post("POST /x HTTP/1.1\r\nHost: x\r\n\r\n", "a plain HTTP request")]
#[case::no_device(
    "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n",
    "a plain HTTP request"
)]
#[case::no_upgrade("GET / HTTP/1.1\r\nHost: x\r\nDevice-Id: aa\r\n\r\n", "a plain HTTP request")]
#[case::garbage("\u{1}\u{2}\u{3} hello\r\n\r\n", "not an HTTP request")]
#[case::tls("\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}", "it speaks TLS")]
#[case::half("GET / HT", "closed before the WebSocket handshake was complete")]
#[tokio::test]
async fn others_are_refused_with_the_reason(#[case] said: &str, #[case] why: &str) {
    let mut endpoint = endpoint().await;
    let mut other = TcpStream::connect(endpoint.address()).await.unwrap();
    other.write_all(said.as_bytes()).await.unwrap();
    other.shutdown().await.unwrap();
    // The end of the connection is the marker that it has been refused.
    let _ = timeout(LATEST, other.read_to_end(&mut Vec::new())).await.unwrap();
    let refused = loop {
        let refused = endpoint.take_refused();
        if !refused.is_empty() {
            break refused;
        }
        sleep(Duration::from_millis(1)).await;
    };
    assert!(refused[0].contains(why), "{refused:?}");
    assert!(refused[0].contains("127.0.0.1:"), "{refused:?}");
    assert!(endpoint.take_refused().is_empty());
}

#[rstest]
#[case::none(&[], "has no `Authorization: Bearer <token>`")]
#[case::another(&["Bearer secreT"], "a token other than")]
#[case::longer(&["Bearer secret1"], "a token other than")]
#[case::empty(&["Bearer "], "does not begin with `Bearer `")]
#[case::bare(&["secret"], "does not begin with `Bearer `")]
#[case::twice(&["Bearer secret", "Bearer secret"], "a token other than")]
#[tokio::test]
async fn who_has_not_the_token_gets_401(#[case] presented: &[&str], #[case] why: &str) {
    let address = "127.0.0.1:0".parse().unwrap();
    let mut endpoint = Endpoint::guarded_websocket(address, "secret").await.unwrap();
    let mut request = endpoint.url().into_client_request().unwrap();
    for value in presented {
        let value = value.parse().unwrap();
        request.headers_mut().append("Authorization", value);
    }
    match connect_async(request).await {
        Err(Error::Http(response)) => assert_eq!(response.status(), StatusCode::UNAUTHORIZED),
        other => panic!("let in, or cut off: {other:?}"),
    }
    let accepted = timeout(LATEST, endpoint.accept()).await.unwrap();
    let Accepted::Refused { why: told, .. } = accepted else {
        panic!("let in");
    };
    assert!(told.contains(why), "{told}");
    let refused = endpoint.take_refused();
    assert!(refused[0].contains(why), "{refused:?}");
    assert!(!refused[0].to_lowercase().contains("secret"), "{refused:?}");
}

#[tokio::test]
async fn who_has_the_token_is_let_in() {
    let address = "127.0.0.1:0".parse().unwrap();
    let mut endpoint = Endpoint::guarded_websocket(address, "secret").await.unwrap();
    let mut request = endpoint.url().into_client_request().unwrap();
    let value = "Bearer secret".parse().unwrap();
    request.headers_mut().insert("Authorization", value);
    let (mut client, _) = connect_async(request).await.unwrap();
    let mut link = accept(&mut endpoint).await;
    client.send(Message::text("here")).await.unwrap();
    assert_eq!(recv(&mut link).await, Ok(Frame::Text("here".into())));
    assert!(endpoint.take_refused().is_empty());
}

/// TCP has no pieces: a modem may hand on single bytes.
#[tokio::test]
async fn a_handshake_in_single_bytes_is_a_good_one() {
    let mut endpoint = endpoint().await;
    let mut stream = TcpStream::connect(endpoint.address()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                   Device-Id: 02:00:00:00:00:01\r\n\r\n";
    for byte in request.as_bytes() {
        stream.write_all(&[*byte]).await.unwrap();
        sleep(Duration::from_millis(1)).await;
    }
    let mut response = [0; 12];
    stream.read_exact(&mut response).await.unwrap();
    assert_eq!(&response, b"HTTP/1.1 101");
    assert_eq!(accept(&mut endpoint).await.handshake().headers["device-id"], "02:00:00:00:00:01");
}

#[tokio::test]
async fn a_connection_that_hangs_in_its_handshake_keeps_nobody_waiting() {
    let mut endpoint = endpoint().await;
    let _silent = TcpStream::connect(endpoint.address()).await.unwrap();
    let (_client, _) = connect_async(endpoint.url()).await.unwrap();
    accept(&mut endpoint).await;
    assert!(endpoint.take_refused().is_empty());
    // With a paused clock each sleep moves time on at once.
    tokio::time::pause();
    sleep(Duration::from_secs(11)).await;
    let refused = endpoint.take_refused();
    assert!(refused[0].contains("within 10 s"), "{refused:?}");
}

#[tokio::test]
async fn what_came_of_a_handshake_that_hangs_is_told() {
    let mut endpoint = endpoint().await;
    let mut half = TcpStream::connect(endpoint.address()).await.unwrap();
    half.write_all(b"GET /x HTTP/1.1\r\nAuthorization: Bearer secret\r\n").await.unwrap();
    let (_client, _) = connect_async(endpoint.url()).await.unwrap();
    accept(&mut endpoint).await;
    tokio::time::pause();
    sleep(Duration::from_secs(11)).await;
    let refused = endpoint.take_refused();
    assert!(refused[0].contains("within 10 s: `GET /x HTTP/1.1` and 1 headers"), "{refused:?}");
    assert!(!refused[0].contains("secret"), "{refused:?}");
}

/// A device that closes before its request is complete.
#[rstest]
#[case::cut("GET / HTTP/1.1", None)]
#[case::method("POST / HTTP/1.1", Some("the method POST instead of GET; it closed"))]
#[tokio::test]
async fn only_what_breaks_the_rules_is_the_device_s(#[case] line: &str, #[case] why: Option<&str>) {
    let mut endpoint = endpoint().await;
    let mut device = TcpStream::connect(endpoint.address()).await.unwrap();
    let head = format!("{line}\r\nUpgrade: websocket\r\nDevice-Id: aa:bb\r\n");
    device.write_all(head.as_bytes()).await.unwrap();
    device.shutdown().await.unwrap();
    let _ = timeout(LATEST, device.read_to_end(&mut Vec::new())).await.unwrap();
    // Another one that comes to its end is the marker.
    let mut other = TcpStream::connect(endpoint.address()).await.unwrap();
    let head = "GET / HTTP/1.0\r\nUpgrade: websocket\r\nDevice-Id: cc\r\n\r\n";
    other.write_all(head.as_bytes()).await.unwrap();
    let accepted = timeout(LATEST, endpoint.accept()).await.unwrap();
    let Accepted::Refused { why: told, .. } = accepted else { panic!("{accepted:?}") };
    assert_eq!(told.starts_with(why.unwrap_or("\0")), why.is_some(), "{told}");
}

#[tokio::test]
async fn a_ping_comes_in_one_piece_with_the_response_once() {
    let mut endpoint = endpoint().await;
    endpoint.ping_next();
    let head = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    for pinged in [true, false] {
        let mut device = TcpStream::connect(endpoint.address()).await.unwrap();
        device.write_all(head.as_bytes()).await.unwrap();
        let link = accept(&mut endpoint).await;
        let mut answer = [0; 1024];
        let length = timeout(LATEST, device.read(&mut answer)).await.unwrap().unwrap();
        let answer = &answer[..length];
        let end = answer.windows(4).position(|at| at == b"\r\n\r\n").unwrap() + 4;
        assert!(answer.starts_with(b"HTTP/1.1 101 "));
        let data = link.first_ping();
        assert_eq!(data.is_some(), pinged);
        let frame = data.map(|data| [&[0x89, data.len() as u8], data].concat());
        assert_eq!(&answer[end..], frame.unwrap_or_default());
    }
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let endpoint = endpoint().await;
    let error = Endpoint::websocket(endpoint.address()).await.unwrap_err();
    assert!(matches!(error, EndpointError::Listen { .. }));
    let text = error.to_string();
    assert!(text.contains(&format!("`{}`", endpoint.address())), "{text}");
}

#[tokio::test]
async fn an_address_of_another_machine_is_named() {
    let error = Endpoint::websocket("192.0.2.1:0".parse().unwrap()).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot listen on `192.0.2.1:0`: "), "{error}");
}

#[tokio::test]
async fn a_port_is_free_again_after_the_endpoint() {
    let first = endpoint().await;
    let address = first.address();
    drop(first);
    loop {
        if Endpoint::websocket(address).await.is_ok() {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn all_interfaces_give_an_url_that_can_be_dialled() {
    let endpoint = Endpoint::websocket("0.0.0.0:0".parse().unwrap()).await.unwrap();
    assert!(!endpoint.url().contains("0.0.0.0"), "{}", endpoint.url());
    connect_async(endpoint.url()).await.unwrap();
}

/// Links and endpoints are used from spawned tasks.
#[test]
fn futures_are_send() {
    fn is_send<T: Send>(_: impl FnOnce(&'static mut Link, &'static mut Endpoint) -> T) {}
    is_send(|link, endpoint| async move {
        let _ = link.send(&Frame::Text(String::new())).await;
        let _ = link.send_fragments(&Frame::Text(String::new()), 1, None).await;
        let _ = link.recv().await;
        endpoint.accept().await
    });
}
