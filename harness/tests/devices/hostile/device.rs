//! A scripted device on a thread of its own: small, good, and then bad in one way.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// In what way a device is bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// In none.
    Good,
    /// It connects and goes away, again and again.
    DiesBeforeHello,
    /// It goes away after its hello.
    DiesAfterHello,
    /// It says hello and nothing more.
    NeverAnswers,
    /// It says nothing at all.
    NeverSpeaks,
    /// Its answers are no JSON.
    Garbage,
    /// It sends frames that nobody asked for, as fast as they are taken.
    Floods,
    /// It answers with a message of 64 MiB.
    Huge,
    /// Its answers nest a million deep.
    Deep,
    /// Each page points to another one.
    EndlessPages,
    /// Each page points to itself.
    SameCursor,
    /// Two connections at the same time.
    Twice,
    /// A connection hangs in the midst of a list, and stays open; it dials again.
    Hangs,
    /// Its answer to the second list comes late.
    Late,
    /// Each hello comes twice.
    HelloTwice,
    /// It answers, and closes after each answer.
    ClosesAfterAnswers,
    /// It closes instead of answering.
    ClosesInstead,
    /// Its answers are not UTF-8.
    NotUtf8,
    /// Its answers are binary frames with anything in them.
    BinaryJunk,
    /// Bytes that are no WebSocket frames follow its hello.
    NoWebSocket,
    /// It takes no bytes from the network any more as soon as it is known.
    StopsReading,
    /// Others talk to the port first, and not the WebSocket protocol.
    AfterStrangers,
    /// It asks the backend for things, and goes away unless each is answered as JSON-RPC has it; and
    /// it notifies, which nobody may answer.
    Asks,
    /// Messages of its own types stand around each answer.
    Talks,
}

/// How late is late, and what nothing waits for.
const LATE: Duration = Duration::from_millis(1200);
const NEVER: Duration = Duration::from_secs(3600);

/// How many lists a connection that hangs has answered before.
const HANGS_AT: usize = 4;

/// A device that plays; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Playing(Option<oneshot::Sender<()>>);

impl Drop for Playing {
    fn drop(&mut self) {
        let _ = self.0.take().map(|stop| stop.send(()));
    }
}

/// Starts a device that dials the URL, and dials again whenever its connection ends.
pub(crate) fn play(way: Way, url: &str) -> Playing {
    let (stop, stopped) = oneshot::channel();
    let url = url.to_owned();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            tokio::select! {
                () = live(way, &url) => {}
                _ = stopped => {}
            }
        });
    });
    Playing(Some(stop))
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn live(way: Way, url: &str) {
    if way == Way::AfterStrangers {
        strangers(url).await;
    }
    let pages = Arc::new(AtomicUsize::new(0));
    let again = || async {
        loop {
            // However it ended, a device dials again.
            let _ = connection(way, url, &pages).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    match way {
        Way::Twice => {
            tokio::join!(again(), again());
        }
        _ => again().await,
    }
}

/// Whoever else accepted at a port: a browser, a scanner, somebody who hangs half-way.
async fn strangers(url: &str) {
    let address = url.trim_start_matches("ws://").split('/').next().unwrap();
    let mut open = Vec::new();
    for said in [
        &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 no TLS here\r\n\r\n",
        b"GET /half-way HT",
        b"",
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(said).await.unwrap();
        open.push(stream);
    }
    // They stay, and are in nobody's way.
    tokio::spawn(async move {
        let _open = open;
        std::future::pending::<()>().await;
    });
}

async fn connection(way: Way, url: &str, pages: &AtomicUsize) -> Result<(), Error> {
    let mut request = url.into_client_request()?;
    for (name, value) in [
        ("Protocol-Version", "1"),
        ("Device-Id", "aa:bb:cc:dd:ee:ff"),
        ("Client-Id", "7b94d69a-9808-4c59-9c9b-704333b38aff"),
    ] {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    let (mut socket, _) = connect_async(request).await?;
    let hello = json!({
        "type": "hello", "version": 1, "features": {"mcp": true}, "transport": "websocket",
        "audio_params": {"format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60}
    });
    let hello = Message::text(hello.to_string());
    match way {
        Way::DiesBeforeHello => return Ok(()),
        Way::NeverSpeaks => return std::future::pending().await,
        Way::HelloTwice => socket.send(hello.clone()).await?,
        _ => {}
    }
    socket.send(hello).await?;
    match way {
        Way::DiesAfterHello => return Ok(()),
        Way::NeverAnswers => return read_all(&mut socket).await,
        Way::Floods => loop {
            socket.feed(Message::text(r#"{"type":"listen","state":"detect"}"#)).await?;
        },
        Way::NoWebSocket => {
            let MaybeTlsStream::Plain(stream) = socket.get_mut() else {
                return Ok(());
            };
            stream.write_all(&[0xff; 4096]).await?;
            return read_all(&mut socket).await;
        }
        _ => {}
    }
    let mut session = String::new();
    let mut answered = 0;
    let mut replies = 0;
    // What comes late, and when.
    let (mut held, mut held_until) = (None, Instant::now() + NEVER);
    // What came while the device waited for what it had asked for.
    let mut early = VecDeque::new();
    loop {
        let kept = if replies < 2 { None } else { early.pop_front() };
        let message = match kept {
            Some(message) => message,
            None => match timeout_at(held_until, socket.next()).await {
                Ok(Some(message)) => message?,
                Ok(None) => break,
                Err(_) => {
                    held_until += NEVER;
                    socket.send(held.take().unwrap()).await?;
                    continue;
                }
            },
        };
        let Message::Text(text) = message.clone() else {
            continue;
        };
        let Ok(message) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        if message["type"] == "hello" {
            session = message["session_id"].as_str().unwrap_or_default().to_owned();
            if way == Way::Asks {
                ask(&mut socket, &session).await?;
            }
            continue;
        }
        let payload = &message["payload"];
        let replied = !payload["result"].is_null() || !payload["error"].is_null();
        if way == Way::Asks && replied {
            let known = match payload["id"].as_str() {
                Some("device-1") => payload["result"] == json!({}),
                Some("device-2") => payload["error"]["code"] == -32601,
                _ => false,
            };
            if !known || message["session_id"] != session {
                return Ok(());
            }
            replies += 1;
            continue;
        }
        if way == Way::Asks && replies < 2 {
            early.push_back(Message::text(text));
            continue;
        }
        if message["type"] != "mcp" || !payload["method"].is_string() || !payload["id"].is_i64() {
            continue;
        }
        if way == Way::StopsReading && answered == 8 {
            return std::future::pending().await;
        }
        if way == Way::Hangs
            && payload["method"] == "tools/list"
            && pages.load(Ordering::Relaxed) == HANGS_AT
        {
            pages.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let _open = socket;
                std::future::pending::<()>().await;
            });
            return Ok(());
        }
        answered += 1;
        let mut answer = json!({"jsonrpc": "2.0", "id": payload["id"]});
        match result(way, payload["method"].as_str().unwrap(), pages) {
            Some(result) => answer["result"] = result,
            None => answer["error"] = json!({"code": -32601, "message": "no such method"}),
        }
        let envelope = json!({"session_id": session, "type": "mcp", "payload": answer}).to_string();
        let sent = match way {
            Way::ClosesInstead => return socket.close(None).await,
            Way::Garbage => Message::text(envelope.replace([':', '}'], "%")),
            Way::Huge => return huge(&mut socket).await,
            Way::Deep => Message::text(envelope.replace("\"2.0\"", &"[".repeat(1_000_000))),
            Way::BinaryJunk => Message::binary(vec![0x7b, 0, 0xff, 0x0a]),
            Way::NotUtf8 => {
                let mut bytes = envelope.into_bytes();
                bytes[5] = 0xfe;
                Message::Frame(Frame::message(bytes, OpCode::Data(Data::Text), true))
            }
            _ => Message::text(envelope),
        };
        if way == Way::Late
            && payload["method"] == "tools/list"
            && pages.load(Ordering::Relaxed) == 2
        {
            (held, held_until) = (Some(sent), Instant::now() + LATE);
            continue;
        }
        if way == Way::Talks {
            own_messages(&mut socket, &session).await?;
        }
        socket.send(sent).await?;
        if way == Way::Talks {
            own_messages(&mut socket, &session).await?;
        }
        if way == Way::ClosesAfterAnswers {
            return socket.close(None).await;
        }
    }
    Ok(())
}

/// A ping, a request that no backend knows, and a notification.
async fn ask(socket: &mut Socket, session: &str) -> Result<(), Error> {
    for payload in [
        json!({"jsonrpc": "2.0", "method": "notifications/state_changed", "params": {}}),
        json!({"jsonrpc": "2.0", "id": "device-1", "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": "device-2", "method": "sampling/createMessage",
            "params": {"messages": [], "maxTokens": 1}}),
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "up"}}),
    ] {
        let envelope = json!({"session_id": session, "type": "mcp", "payload": payload});
        socket.send(Message::text(envelope.to_string())).await?;
    }
    Ok(())
}

/// What devices of the family send by themselves, sound among it.
async fn own_messages(socket: &mut Socket, session: &str) -> Result<(), Error> {
    for message in [
        json!({"session_id": session, "type": "listen", "state": "start", "mode": "auto"}),
        json!({"session_id": session, "type": "listen", "state": "detect", "text": "hello"}),
        json!({"session_id": session, "type": "abort", "reason": "wake_word_detected"}),
        json!({"session_id": session, "type": "iot", "update": true, "states": []}),
    ] {
        socket.send(Message::text(message.to_string())).await?;
        socket.send(Message::binary(vec![0x58; 40])).await?;
    }
    Ok(())
}

/// A text message of 64 MiB, as a device writes it that does not build it in memory.
async fn huge(socket: &mut Socket) -> Result<(), Error> {
    let MaybeTlsStream::Plain(stream) = socket.get_mut() else {
        return Ok(());
    };
    let length = (64_u64 << 20).to_be_bytes();
    stream.write_all(&[&[0x81, 0xff][..], &length, &[0; 4]].concat()).await?;
    for _ in 0..64 {
        stream.write_all(&[b' '; 1 << 20]).await?;
    }
    Ok(())
}

async fn read_all(socket: &mut Socket) -> Result<(), Error> {
    while let Some(message) = socket.next().await {
        message?;
    }
    Ok(())
}

/// The result of a method; `None` when there is no such method.
fn result(way: Way, method: &str, pages: &AtomicUsize) -> Option<Value> {
    Some(match method {
        "initialize" => json!({
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "1"}
        }),
        "ping" => json!({}),
        "tools/list" => {
            let page = pages.fetch_add(1, Ordering::Relaxed);
            let mut list = json!({"tools": [{
                "name": format!("self.tool_{}", if way == Way::EndlessPages { page } else { 0 }),
                "description": "Does nothing.",
                "inputSchema": {"type": "object", "properties": {}}
            }]});
            match way {
                Way::EndlessPages => list["nextCursor"] = format!("page-{page}").into(),
                Way::SameCursor => list["nextCursor"] = "again".into(),
                _ => {}
            }
            list
        }
        _ => return None,
    })
}
