//! The WebSocket endpoint: takes connections on any path, with the right token where one is wanted.

use std::net::SocketAddr;

use mcp_hil_core::limits::MAX_MESSAGE_BYTES;
use mcp_hil_core::wire::WEBSOCKET_PATH;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async_with_config,
    tungstenite::{
        Error as WsError,
        error::ProtocolError,
        handshake::server::{ErrorResponse, Request, Response},
        http::StatusCode,
        protocol::WebSocketConfig,
    },
};

use crate::acceptor::{Acceptor, Rejection};
use crate::error::EndpointError;
use crate::guard::Guard;
use crate::headers::headers_by_name;
use crate::link::tap::Tap;
use crate::link::websocket::WebSocketLink;
use crate::link::{Handshake, Link, Wire};
use crate::tls::begins_tls;

/// Size of the read buffer of a connection. It is cleared before each read, so that a larger one
/// makes small messages slower.
const READ_BUFFER_BYTES: usize = 16 * 1024;

/// Headers that only who wants a WebSocket sends.
const UPGRADING: [&str; 3] = ["upgrade", "sec-websocket-key", "sec-websocket-version"];

/// Why whoever begins with a handshake of TLS is refused.
const SPEAKS_TLS: &str = "it speaks TLS, as for an address that begins with `wss://`, and this endpoint does not: give \
                          it the `ws://` address, or put a TLS proxy between";

/// A port on which the harness plays the backend over WebSocket.
#[derive(Debug)]
pub struct WebSocketEndpoint {
    acceptor: Acceptor,
}

impl WebSocketEndpoint {
    /// Listens on `address`; port 0 takes any free one. Whom the guard refuses gets HTTP 401. Must be
    /// called inside a tokio runtime.
    ///
    /// # Errors
    /// The address is in use, not permitted or not of this machine.
    pub(super) async fn bind(address: SocketAddr, guard: Guard) -> Result<Self, EndpointError> {
        let acceptor = Acceptor::bind(address, "WebSocket handshake", move |stream, peer| {
            handshake(stream, peer, guard.clone())
        });
        Ok(Self { acceptor: acceptor.await? })
    }

    /// The URL that a device is told to dial.
    pub fn url(&self) -> String {
        format!("ws://{}{WEBSOCKET_PATH}", self.acceptor.public_address())
    }

    pub(super) fn acceptor(&mut self) -> &mut Acceptor {
        &mut self.acceptor
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.acceptor.address()
    }

    pub(super) async fn close(self) {
        self.acceptor.close().await;
    }
}

async fn handshake(stream: TcpStream, peer: SocketAddr, guard: Guard) -> Result<Link, Rejection> {
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
    let tap = Tap::new(stream);
    let head = tap.head();
    let accepted: Result<WebSocketStream<Tap<TcpStream>>, _> =
        accept_hdr_async_with_config(tap, look, Some(config)).await;
    if let Some(why) = refused {
        return Err(Rejection::credentials(why.to_owned()));
    }
    let mut socket = accepted.map_err(|error| {
        let head = head.take();
        match error {
            _ if begins_tls(&head) => Rejection::other(SPEAKS_TLS.to_owned()),
            WsError::Protocol(error) if is_device(&head, peer, &guard) => {
                Rejection::handshake(error.to_string())
            }
            error => Rejection::other(why_refused(&error)),
        }
    })?;
    socket.get_mut().start();
    match seen {
        Some(handshake) => {
            let wire = Wire::WebSocket(Box::new(WebSocketLink::new(socket)));
            Ok(Link::new(wire, handshake))
        }
        None => {
            let why = "the handshake ended without a request";
            Err(Rejection::other(why.to_owned()))
        }
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
        WsError::Protocol(ProtocolError::HandshakeIncomplete) => {
            "it closed before the WebSocket handshake was complete".to_owned()
        }
        _ => error.to_string(),
    }
}
