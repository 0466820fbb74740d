//! The HTTP endpoint, against well-behaved, odd and slow clients on 127.0.0.1.

use std::time::Duration;

use mcp_hil_core::{
    limits::{MAX_HTTP_BODY_BYTES, MAX_HTTP_CONNECTIONS, MAX_UPLOAD_BYTES},
    transcript::{HttpEndpoint, HttpExchange, Upload},
    wire::Frame,
};
use mcp_hil_endpoint::{Configuration, EndpointError, HttpServer, ServerTime};
use rstest::rstest;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{sleep, timeout},
};

/// Far longer than anything here takes: only a broken endpoint waits so long.
const LATEST: Duration = Duration::from_secs(30);

/// A configuration request, in short.
const ASKED: &str = r#"{"version":2,"application":{"name":"xiaozhi","version":"2.4.2"}}"#;

async fn server() -> HttpServer {
    let server = HttpServer::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    server.set_bootstrap(Configuration::WebSocket {
        url: "ws://127.0.0.1:1/".into(),
        token: "hush".into(),
        version: 1,
    });
    server.set_vision(&["see"], "a cat, marker 7");
    server
}

async fn next(server: &mut HttpServer) -> HttpExchange {
    timeout(LATEST, server.next()).await.expect("an exchange")
}

/// Sends the bytes and reads until the server closes.
async fn say(server: &HttpServer, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    // A server that does not want more may close before all is written.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = timeout(LATEST, stream.read_to_end(&mut answer)).await.expect("the server closes");
    String::from_utf8(answer).unwrap()
}

fn post(path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\
         {headers}\r\n{body}"
    )
    .into_bytes()
}

fn body_of(answer: &str) -> serde_json::Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

#[rstest]
#[case::with_slash("/xiaozhi/ota/")]
#[case::without("/xiaozhi/ota")]
#[case::with_query("/xiaozhi/ota/?x=1")]
#[tokio::test]
async fn a_device_gets_its_configuration(#[case] path: &str) {
    let mut server = server().await;
    server.set_clock(|| ServerTime { timestamp_ms: 1_700_000_000_000, timezone_offset: 60 });
    let headers = "Device-Id: aa:bb:cc:dd:ee:ff\r\nX: 1\r\nX: 2\r\n";
    let answer = say(&server, &post(path, headers, ASKED)).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.to_lowercase().contains("content-length:"), "{answer}");
    assert_eq!(
        body_of(&answer),
        serde_json::json!({
            "firmware": {"version": "2.4.2", "url": ""},
            "server_time": {"timestamp": 1_700_000_000_000_u64, "timezone_offset": 60},
            "websocket": {"url": "ws://127.0.0.1:1/", "token": "hush", "version": 1},
        })
    );
    let seen = next(&mut server).await;
    assert_eq!(seen.endpoint, HttpEndpoint::Bootstrap);
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", path));
    assert_eq!(seen.header("device-id"), Some("aa:bb:cc:dd:ee:ff"));
    assert_eq!(seen.header("x"), Some("1, 2"));
    assert_eq!(seen.body, Some(Frame::Text(ASKED.into())));
    assert_eq!((seen.status, seen.problem), (Some(200), None));
    assert!(server.try_next().is_none());
}

#[tokio::test]
async fn an_mqtt_client_id_is_made_for_the_device_and_told_with_the_exchange() {
    let mut server = server().await;
    server.set_bootstrap(Configuration::Mqtt {
        endpoint: "127.0.0.1:1883".into(),
        client_id: None,
        username: "name".into(),
        password: "hush".into(),
        publish_topic: "up".into(),
        subscribe_topic: "down".into(),
        keepalive: 2,
    });
    let headers = "Device-Id: aa:bb:cc:dd:ee:ff\r\nClient-Id: 1-2/+#\"\r\n";
    let answer = say(&server, &post("/xiaozhi/ota/", headers, "{}")).await;
    let id = "GID_mcp_hil@@@aa_bb_cc_dd_ee_ff@@@1-2";
    assert_eq!(body_of(&answer)["mqtt"]["client_id"], id);
    assert_eq!(body_of(&answer)["mqtt"]["keepalive"], 2);
    assert_eq!(body_of(&answer).get("websocket"), None);
    assert_eq!(next(&mut server).await.client_id.as_deref(), Some(id));
    assert!(!format!("{server:?}").contains("hush"));
}

#[rstest]
#[case::activation("POST", "/xiaozhi/ota/activate", HttpEndpoint::Activate, 200, "{}")]
#[case::browser("GET", "/xiaozhi/ota/", HttpEndpoint::Bootstrap, 405, "OTA URL")]
#[case::put("PUT", "/xiaozhi/ota/", HttpEndpoint::Bootstrap, 405, "allow: POST")]
#[case::elsewhere("POST", "/xiaozhi/otax", HttpEndpoint::Other, 404, "nothing here")]
#[case::root("GET", "/", HttpEndpoint::Other, 404, "nothing here")]
#[case::vision_get("GET", "/mcp/vision/explain", HttpEndpoint::Vision, 405, "POST")]
#[case::odd_method("BREW", "/x", HttpEndpoint::Other, 404, "nothing here")]
#[tokio::test]
async fn other_requests_are_answered_and_recorded(
    #[case] method: &str,
    #[case] path: &str,
    #[case] endpoint: HttpEndpoint,
    #[case] status: u16,
    #[case] text: &str,
) {
    let mut server = server().await;
    let request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    let answer = say(&server, request.as_bytes()).await;
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(answer.contains(text), "{answer}");
    let seen = next(&mut server).await;
    assert_eq!((seen.endpoint, seen.status), (endpoint, Some(status)));
    assert_eq!((seen.method.as_str(), seen.path.as_str()), (method, path));
}

#[rstest]
#[case::not_json(b"{\"version\":".to_vec(), Frame::Text("{\"version\":".into()))]
#[case::not_utf8(b"\xff\x00".to_vec(), Frame::NotUtf8(vec![0xff, 0]))]
#[tokio::test]
async fn a_body_that_is_no_json_is_recorded_as_it_is(#[case] body: Vec<u8>, #[case] seen: Frame) {
    let mut server = server().await;
    let mut request = post("/xiaozhi/ota/", "", &"x".repeat(body.len()));
    request.truncate(request.len() - body.len());
    request.extend(body);
    let answer = say(&server, &request).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(next(&mut server).await.body, Some(seen));
}

#[tokio::test]
async fn a_chunked_body_is_put_together() {
    let mut server = server().await;
    let request = "POST /xiaozhi/ota/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3\r\n{\"a\r\n4;x=y\r\n\":1}\r\n0\r\nTrailer: t\r\n\r\n";
    assert!(say(&server, request.as_bytes()).await.starts_with("HTTP/1.1 200 "));
    let seen = next(&mut server).await;
    assert_eq!(seen.body, Some(Frame::Text("{\"a\":1}".into())));
}

#[rstest]
#[case::bootstrap("/xiaozhi/ota/", "", MAX_HTTP_BODY_BYTES)]
#[case::picture(
    "/mcp/vision/explain",
    "Content-Type: multipart/form-data; boundary=b\r\n",
    MAX_UPLOAD_BYTES
)]
#[tokio::test]
async fn a_body_that_is_too_large_gets_413(
    #[case] path: &str,
    #[case] headers: &str,
    #[case] limit: usize,
) {
    let mut server = server().await;
    let start = "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n";
    let body = format!("{start}{}", "x".repeat(limit + 1 - start.len()));
    let answer = say(&server, &post(path, headers, &body)).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let seen = next(&mut server).await;
    assert_eq!((seen.status, seen.body), (Some(413), None));
    let problem = seen.problem.unwrap();
    assert!(problem.contains(&limit.to_string()), "{problem}");
}

#[tokio::test]
async fn a_body_at_the_limit_is_taken() {
    let mut server = server().await;
    let body = "x".repeat(MAX_HTTP_BODY_BYTES);
    let answer = say(&server, &post("/xiaozhi/ota/", "", &body)).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(next(&mut server).await.body, Some(Frame::Text(body)));
}

const PARTS: &str = "--b\r\nContent-Disposition: form-data; name=\"question\"\r\n\r\nwhat's this?\r\n\
    --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"camera.jpg\"\r\n\
    Content-Type: image/jpeg\r\n\r\nJFIF and more\r\n--b--\r\n";

#[rstest]
#[case::right("Bearer see", 200)]
#[case::wrong("Bearer sea", 401)]
#[case::no_scheme("see", 401)]
#[tokio::test]
async fn a_picture_is_explained_to_who_has_the_token(#[case] token: &str, #[case] status: u16) {
    let mut server = server().await;
    let headers =
        format!("Authorization: {token}\r\nContent-Type: multipart/form-data; boundary=b\r\n");
    let answer = say(&server, &post("/mcp/vision/explain", &headers, PARTS)).await;
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert_eq!(answer.contains("a cat, marker 7"), status == 200);
    assert_eq!(body_of(&answer)["success"], status == 200);
    let seen = next(&mut server).await;
    assert_eq!((seen.endpoint, seen.status), (HttpEndpoint::Vision, Some(status)));
    assert_eq!(
        seen.upload,
        Some(Upload {
            question: Some("what's this?".into()),
            file_name: Some("camera.jpg".into()),
            file_type: Some("image/jpeg".into()),
            file_bytes: Some(13),
            starts: Some("4a464946".into()),
            ends: Some(false),
        })
    );
    assert_eq!((seen.body, seen.problem), (None, None));
}

#[rstest]
#[case::no_type("", PARTS, "not multipart/form-data")]
#[case::no_boundary("Content-Type: multipart/form-data\r\n", PARTS, "not multipart/form-data")]
#[case::other_boundary(
    "Content-Type: multipart/form-data; boundary=c\r\n",
    PARTS,
    "not well-formed"
)]
#[case::cut("Content-Type: multipart/form-data; boundary=b\r\n", &PARTS[..120], "not well-formed")]
#[case::empty("Content-Type: multipart/form-data; boundary=b\r\n", "", "not well-formed")]
#[tokio::test]
async fn what_is_no_multipart_gets_400(
    #[case] headers: &str,
    #[case] body: &str,
    #[case] why: &str,
) {
    let mut server = server().await;
    let answer = say(&server, &post("/mcp/vision/explain", headers, body)).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    let problem = next(&mut server).await.problem.unwrap();
    assert!(problem.contains(why), "{problem}");
}

/// A form that has come to its end, in a body that has not.
#[rstest]
#[case::length(format!("Content-Length: {}\r\n", PARTS.len() + 9), PARTS.to_owned(), "9 bytes more")]
#[case::chunk("Transfer-Encoding: chunked\r\n".to_owned(), format!("{:x}\r\n{PARTS}\r\n", PARTS.len()), "last chunk")]
#[tokio::test]
async fn a_body_without_an_end_gets_400(
    #[case] framing: String,
    #[case] body: String,
    #[case] why: &str,
) {
    let mut server = server().await;
    let head = "POST /mcp/vision/explain HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\n";
    let answer = say(&server, format!("{head}{framing}\r\n{body}").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    let problem = next(&mut server).await.problem.unwrap();
    assert!(problem.contains(why), "{problem}");
}

#[rstest]
#[case::garbage("\u{1}\u{2}\u{3} hello\r\n\r\n", Some(400), "not an HTTP/1.1 request")]
#[case::half_head("POST /xiaozhi/ota/ HT", None, "ended before the request was complete")]
#[case::half_body(
    "POST /xiaozhi/ota/ HTTP/1.1\r\nContent-Length: 9\r\n\r\nx",
    Some(400),
    "is incomplete"
)]
#[case::bad_chunk(
    "POST /xiaozhi/ota/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    Some(400),
    "is incomplete"
)]
#[tokio::test]
async fn half_requests_and_noise_are_recorded(
    #[case] said: &str,
    #[case] status: Option<u16>,
    #[case] why: &str,
) {
    let mut server = server().await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(said.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let seen = next(&mut server).await;
    let problem = seen.problem.clone().unwrap();
    assert!(problem.contains(why), "{problem}");
    assert_eq!(seen.status, status, "{seen:?}");
    assert!(say(&server, &post("/xiaozhi/ota/", "", "{}")).await.contains("200 OK"));
}

#[tokio::test]
async fn who_speaks_tls_is_told_apart() {
    let mut server = server().await;
    let answer = say(&server, b"\x16\x03\x01\x00\x05").await;
    assert_eq!(answer, "");
    let refused = server.take_refused();
    assert!(refused[0].contains("it speaks TLS"), "{refused:?}");
    assert!(server.try_next().is_none());
}

#[tokio::test]
async fn too_many_or_too_long_headers_get_431() {
    let mut server = server().await;
    let many: String = (0..100).map(|n| format!("X-{n}: y\r\n")).collect();
    let long = format!("X: {}\r\n", "y".repeat(40_000));
    for headers in [many, long] {
        let answer = say(&server, &post("/xiaozhi/ota/", &headers, "{}")).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
        let seen = next(&mut server).await;
        assert_eq!(seen.status, Some(431));
        assert!(seen.problem.unwrap().contains("headers"));
    }
}

#[tokio::test]
async fn a_probe_of_the_port_is_no_request() {
    let mut server = server().await;
    drop(TcpStream::connect(server.address()).await.unwrap());
    say(&server, b"GET / HTTP/1.1\r\n\r\n").await;
    assert_eq!(next(&mut server).await.method, "GET");
    assert!(server.try_next().is_none());
}

#[rstest]
#[case::silent("", "")]
#[case::half_head("POST /xiaozhi/ota/ HTTP/1.1\r\nHo", "")]
#[case::half_body("POST /xiaozhi/ota/ HTTP/1.1\r\nContent-Length: 9\r\n\r\nx", "/xiaozhi/ota/")]
#[case::half_upload(
    "POST /mcp/vision/explain HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 999\r\n\r\n--b",
    "/mcp/vision/explain"
)]
#[tokio::test]
async fn a_slow_client_is_let_go_and_keeps_nobody_waiting(#[case] said: &str, #[case] path: &str) {
    let mut server = server().await;
    let mut slow = TcpStream::connect(server.address()).await.unwrap();
    slow.write_all(said.as_bytes()).await.unwrap();
    // Others are served meanwhile.
    assert!(say(&server, &post("/xiaozhi/ota/", "", "{}")).await.contains("200 OK"));
    assert_eq!(next(&mut server).await.status, Some(200));
    // With a paused clock each sleep moves time on at once.
    tokio::time::pause();
    sleep(Duration::from_secs(11)).await;
    let seen = server.try_next().unwrap();
    assert_eq!((seen.status, seen.path.as_str()), (None, path));
    assert!(seen.problem.unwrap().contains("within 10 s"));
    assert_eq!(slow.read_to_end(&mut Vec::new()).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn a_crowd_of_connections_is_cut_and_told() {
    let mut server = server().await;
    let mut crowd = Vec::new();
    for _ in 0..=MAX_HTTP_CONNECTIONS {
        crowd.push(TcpStream::connect(server.address()).await.unwrap());
    }
    let mut last = crowd.pop().unwrap();
    assert_eq!(last.read_to_end(&mut Vec::new()).await.unwrap_or(0), 0);
    let refused = server.take_refused();
    assert!(refused[0].contains("too many HTTP connections"), "{refused:?}");
    drop(crowd);
    // Places are free again as soon as the closed ones are noticed.
    timeout(LATEST, async {
        while !say(&server, &post("/xiaozhi/ota/", "", "{}")).await.contains("200 OK") {}
    })
    .await
    .unwrap();
    assert_eq!(next(&mut server).await.status, Some(200));
}

#[tokio::test]
async fn exchanges_that_nobody_takes_are_counted_only() {
    let mut server = server().await;
    for _ in 0..68 {
        say(&server, b"GET / HTTP/1.1\r\n\r\n").await;
    }
    let refused = server.take_refused();
    assert_eq!(refused.len(), 4, "{refused:?}");
    assert!(refused[0].contains("request GET / not kept"), "{refused:?}");
    assert_eq!(next(&mut server).await.status, Some(404));
}

#[tokio::test]
async fn urls_name_what_can_be_dialled_and_a_port_in_use_is_told() {
    let server = HttpServer::bind("0.0.0.0:0".parse().unwrap()).await.unwrap();
    let port = server.address().port();
    for (url, path) in
        [(server.ota_url(), "/xiaozhi/ota/"), (server.vision_url(), "/mcp/vision/explain")]
    {
        assert!(url.starts_with("http://") && !url.contains("0.0.0.0"), "{url}");
        assert!(url.ends_with(&format!(":{port}{path}")), "{url}");
    }
    let taken = HttpServer::bind(server.address()).await.unwrap_err();
    assert!(matches!(taken, EndpointError::Listen { .. }));
}

#[rstest]
#[case::unauthorized("401", "HTTP/1.1 401 ", Some(401))]
#[case::not_found("404", "HTTP/1.1 404 ", Some(404))]
#[case::broken("500", "HTTP/1.1 500 ", Some(500))]
#[case::closed("closed", "", None)]
#[case::cut("cut", "HTTP/1.1 200 ", Some(200))]
#[case::huge("huge", "HTTP/1.1 200 ", Some(200))]
#[case::page("page", "HTTP/1.1 200 ", Some(200))]
#[tokio::test]
async fn a_service_for_pictures_fails_as_its_url_says(
    #[case] how: &str,
    #[case] starts: &str,
    #[case] status: Option<u16>,
) {
    let mut server = server().await;
    let path = format!("/mcp/vision/explain/{how}");
    let form = "--b\r\nContent-Disposition: form-data; name=\"question\"\r\n\r\nwhat?\r\n--b--\r\n";
    let headers = "Content-Type: multipart/form-data; boundary=b\r\nAuthorization: Bearer see\r\n";
    let answer = say(&server, &post(&path, headers, form)).await;
    assert!(answer.starts_with(starts), "{answer}");
    assert_eq!(answer.is_empty(), status.is_none(), "{answer}");
    if let Some((head, body)) = answer.split_once("\r\n\r\n") {
        let length = head.to_lowercase().lines().find_map(|line| {
            line.strip_prefix("content-length: ").and_then(|value| value.parse::<usize>().ok())
        });
        let length = length.expect("its length is announced");
        assert_eq!(length > body.len(), how == "cut", "{length} announced, {} came", body.len());
        assert_eq!(length > 65_535, how == "huge", "{length}");
    }
    let seen = next(&mut server).await;
    assert_eq!((seen.endpoint, seen.status), (HttpEndpoint::Vision, status));
    assert_eq!(seen.upload.and_then(|upload| upload.question).as_deref(), Some("what?"));
    assert!(server.try_next().is_none());
}

/// A client that says that it uses the connection again may take its time for that.
#[tokio::test]
async fn a_connection_that_a_client_keeps_is_not_closed_under_its_next_request() {
    let server = server().await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let request = b"POST /xiaozhi/ota/ HTTP/1.1\r\nHost: x\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\n{}";
    let mut answers = vec![0; 4096];
    for _ in 0..2 {
        stream.write_all(request).await.unwrap();
        let read = timeout(LATEST, stream.read(&mut answers)).await.unwrap().unwrap();
        assert!(String::from_utf8_lossy(&answers[..read]).contains("200 OK"));
        // Twice as long as for others: nothing comes, not even an end.
        let closed = timeout(Duration::from_millis(600), stream.read(&mut answers)).await;
        assert!(closed.is_err(), "{closed:?}");
    }
}

/// Real servers keep connections, so that clients are used to closing them: some are not prepared for the opposite.
#[tokio::test]
async fn a_client_closes_first_unless_it_waits_for_the_server() {
    let server = server().await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let request = b"POST /xiaozhi/ota/ HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";
    let mut answers = vec![0; 4096];
    for _ in 0..2 {
        stream.write_all(request).await.unwrap();
        let read = timeout(LATEST, stream.read(&mut answers)).await.unwrap().unwrap();
        let answer = String::from_utf8_lossy(&answers[..read]);
        assert!(answer.contains("200 OK") && !answer.contains("connection: close"), "{answer}");
    }
    let read = timeout(LATEST, stream.read(&mut answers)).await.expect("the server closes");
    assert_eq!(read.unwrap(), 0);
}
