//! The WebSocket endpoint: takes connections on any path, with the right token where one is wanted.

use std::net::SocketAddr;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use std::time::Duration;

use mcp_hil_core::limits::MAX_MESSAGE_BYTES;
use mcp_hil_core::wire::WEBSOCKET_PATH;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async_with_config,
    tungstenite::{
        Error as WsError,
        error::ProtocolError,
        handshake::server::{ErrorResponse, Request, Response},
        http::StatusCode,
        protocol::{WebSocketConfig, frame::Frame as WsFrame},
    },
};

use crate::acceptor::{Acceptor, HANDSHAKE_DEADLINE, Rejection};
use crate::error::EndpointError;
use crate::guard::Guard;
use crate::headers::headers_by_name;
use crate::link::tap::Tap;
use crate::link::websocket::WebSocketLink;
use crate::link::{Handshake, Link, Wire};
use crate::tls::begins_tls;
use crate::unfinished::{breach, what_came};

/// Size of the read buffer of a connection. It is cleared before each read, so that a larger one
/// makes small messages slower.
const READ_BUFFER_BYTES: usize = 16 * 1024;

/// How long a handshake may take: a moment less than until the acceptor gives it up, which knows nothing of what came.
const OWN_DEADLINE: Duration = HANDSHAKE_DEADLINE.saturating_sub(Duration::from_millis(100));

/// The data of a ping that comes directly behind the response to a handshake.
const FIRST_PING: &[u8] = b"behind-101";

/// Headers that only who wants a WebSocket sends.
const UPGRADING: [&str; 3] = ["upgrade", "sec-websocket-key", "sec-websocket-version"];

/// Why whoever begins with a handshake of TLS is refused.
const SPEAKS_TLS: &str = "it speaks TLS, as for an address that begins with `wss://`, and this endpoint does not: give \
                          it the `ws://` address, or put a TLS proxy between";

/// A port on which the harness plays the backend over WebSocket.
#[derive(Debug)]
pub struct WebSocketEndpoint {
    acceptor: Acceptor,
    /// Whether a ping comes directly behind the response to the next handshake.
    pings_next: Arc<AtomicBool>,
}

impl WebSocketEndpoint {
    /// Listens on `address`; port 0 takes any free one. Whom the guard refuses gets HTTP 401. Must be
    /// called inside a tokio runtime.
    ///
    /// # Errors
    /// The address is in use, not permitted or not of this machine.
    pub(super) async fn bind(address: SocketAddr, guard: Guard) -> Result<Self, EndpointError> {
        let pings_next = Arc::new(AtomicBool::new(false));
        let pings = pings_next.clone();
        let acceptor = Acceptor::bind(address, "WebSocket handshake", move |stream, peer| {
            handshake(stream, peer, guard.clone(), pings.clone())
        });
        Ok(Self { acceptor: acceptor.await?, pings_next })
    }

    /// The URL that a device is told to dial.
    pub fn url(&self) -> String {
        format!("ws://{}{WEBSOCKET_PATH}", self.acceptor.public_address())
    }

    pub(super) fn acceptor(&mut self) -> &mut Acceptor {
        &mut self.acceptor
    }

    /// Sends a ping in one piece with the response to the next handshake.
    pub(super) fn ping_next(&self) {
        self.pings_next.store(true, Ordering::Relaxed);
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.acceptor.address()
    }

    pub(super) async fn close(self) {
        self.acceptor.close().await;
    }
}

async fn handshake(
    stream: TcpStream,
    peer: SocketAddr,
    guard: Guard,
    pings_next: Arc<AtomicBool>,
) -> Result<Link, Rejection> {
    stream.set_nodelay(true).map_err(|error| Rejection::other(format!("TCP_NODELAY: {error}")))?;
    let (mut seen, mut refused) = (None, None);
    #[expect(clippy::result_large_err, reason = "the signature is tungstenite's")]
    let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        let handshake = seen.insert(read_request(request, peer));
        refused = guard.refuses(peer.ip(), authorization(handshake));
        match refused {
            None => Ok(response),
            Some(_) => Err(unauthorized()),
        }
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    let mut tap = Tap::new(stream);
    tap.hold(pings_next.load(Ordering::Relaxed));
    let head = tap.head();
    let accepted =
        timeout(OWN_DEADLINE, accept_hdr_async_with_config(tap, look, Some(config))).await;
    if let Some(why) = refused {
        return Err(Rejection::credentials(why.to_owned()));
    }
    let head = head.take();
    let mut socket: WebSocketStream<Tap<TcpStream>> = match accepted {
        Ok(Ok(socket)) => socket,
        Ok(Err(error)) => return Err(why_not(error, &head, peer, &guard)),
        Err(_) => {
            let seconds = HANDSHAKE_DEADLINE.as_secs();
            let how = format!("no complete WebSocket handshake within {seconds} s");
            return Err(unfinished(&how, &head, peer, &guard));
        }
    };
    socket.get_mut().start();
    let is_pinged = socket.get_mut().send_behind(&ping()).await;
    if is_pinged {
        pings_next.store(false, Ordering::Relaxed);
    }
    match seen {
        Some(handshake) => {
            let wire = Wire::WebSocket(Box::new(WebSocketLink::new(socket)));
            Ok(Link::new(wire, handshake).pinged(is_pinged.then_some(FIRST_PING)))
        }
        None => {
            let why = "the handshake ended without a request";
            Err(Rejection::other(why.to_owned()))
        }
    }
}

/// The bytes of a ping.
fn ping() -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = WsFrame::ping(FIRST_PING).format(&mut bytes);
    bytes
}

/// Why a connection came to nothing, with the part of a request that came.
fn why_not(error: WsError, head: &[u8], peer: SocketAddr, guard: &Guard) -> Rejection {
    match error {
        _ if begins_tls(head) => Rejection::other(SPEAKS_TLS.to_owned()),
        WsError::Protocol(ProtocolError::HandshakeIncomplete) | WsError::Io(_) => {
            let how = "it closed before the WebSocket handshake was complete";
            unfinished(how, head, peer, guard)
        }
        WsError::Protocol(error) if is_device(head, peer, guard) => {
            Rejection::handshake(error.to_string())
        }
        error => Rejection::other(why_refused(&error)),
    }
}

/// Why a handshake is refused that did not come to its end. What is merely cut off is nobody's fault that could be told.
fn unfinished(how: &str, head: &[u8], peer: SocketAddr, guard: &Guard) -> Rejection {
    let came = what_came(head);
    match breach(head).filter(|_| is_device(head, peer, guard)) {
        Some(breach) => Rejection::handshake(format!("{breach}; {how}: {came}")),
        None => Rejection::other(format!("{how}: {came}")),
    }
}

/// Whether a request that is no handshake comes from a device all the same, and not from a browser or a port
/// scanner: it wants a WebSocket, says which device it is, and may come in. It need not be good HTTP.
fn is_device(head: &[u8], peer: SocketAddr, guard: &Guard) -> bool {
    let head = String::from_utf8_lossy(head);
    let headers: Vec<(&str, &str)> = head.lines().filter_map(|line| line.split_once(':')).collect();
    let value = |name: &str| {
        let header = headers.iter().find(|(own, _)| own.trim().eq_ignore_ascii_case(name));
        header.map(|(_, value)| value.trim())
    };
    UPGRADING.iter().any(|name| value(name).is_some())
        && value("device-id").is_some()
        && guard.refuses(peer.ip(), value("authorization")).is_none()
}

fn authorization(handshake: &Handshake) -> Option<&str> {
    handshake.headers.get("authorization").map(String::as_str)
}

fn unauthorized() -> ErrorResponse {
    let mut response = ErrorResponse::new(None);
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response
}

fn read_request(request: &Request, peer: SocketAddr) -> Handshake {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    Handshake {
        path: path.to_owned(),
        headers: headers_by_name(request.headers()),
        mqtt: None,
        peer,
    }
}

fn why_refused(error: &WsError) -> String {
    match error {
        WsError::Protocol(
            ProtocolError::MissingConnectionUpgradeHeader
            | ProtocolError::MissingUpgradeWebSocketHeader
            | ProtocolError::WrongHttpMethod
            | ProtocolError::WrongHttpVersion,
        ) => format!("a plain HTTP request, not a WebSocket handshake ({error})"),
        WsError::Protocol(ProtocolError::HttparseError(_)) => {
            format!("not an HTTP request ({error})")
        }
        _ => error.to_string(),
    }
}
