//! The WebSocket endpoint: takes connections on any path, with the right token where one is wanted.

use std::{net::SocketAddr, sync::Arc};

use mcp_hil_core::limits::MAX_MESSAGE_BYTES;
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

use super::{
    acceptor::{Acceptor, Refusal},
    headers::headers_by_name,
};
use crate::{
    error::RigError,
    link::{Handshake, Link, Wire, tap::Tap, websocket::WebSocketLink},
};

/// Size of the read buffer of a connection. It is cleared before each read, so that a larger one
/// makes small messages slower.
const READ_BUFFER_BYTES: usize = 16 * 1024;

/// A port on which the harness plays the backend over WebSocket.
#[derive(Debug)]
pub struct WebSocketEndpoint {
    acceptor: Acceptor,
}

impl WebSocketEndpoint {
    /// Listens on `address`; port 0 takes any free one. With a token, only who presents it as
    /// `Authorization: Bearer <token>` is let in; others get HTTP 401. Must be called inside a tokio
    /// runtime.
    ///
    /// # Errors
    /// The address is in use, not permitted or not of this machine.
    pub async fn bind(address: SocketAddr, token: Option<&str>) -> Result<Self, RigError> {
        let wanted: Option<Arc<str>> = token.map(|token| format!("Bearer {token}").into());
        let acceptor = Acceptor::bind(address, "WebSocket handshake", move |stream, peer| {
            handshake(stream, peer, wanted.clone())
        });
        Ok(Self {
            acceptor: acceptor.await?,
        })
    }

    /// The URL that a device is told to dial.
    pub fn url(&self) -> String {
        format!("ws://{}/xiaozhi/v1/", self.acceptor.public_address())
    }

    pub(super) fn acceptor(&mut self) -> &mut Acceptor {
        &mut self.acceptor
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.acceptor.address()
    }
}

async fn handshake(
    stream: TcpStream,
    peer: SocketAddr,
    wanted: Option<Arc<str>>,
) -> Result<Link, Refusal> {
    stream
        .set_nodelay(true)
        .map_err(|error| Refusal::other(format!("TCP_NODELAY: {error}")))?;
    let mut seen = None;
    #[expect(clippy::result_large_err, reason = "the signature is tungstenite's")]
    let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        let handshake = seen.insert(read_request(request, peer));
        match wrong_token(wanted.as_deref(), handshake) {
            None => Ok(response),
            Some(_) => Err(unauthorized()),
        }
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    let accepted: Result<WebSocketStream<Tap<TcpStream>>, _> =
        accept_hdr_async_with_config(Tap::new(stream), look, Some(config)).await;
    if let Some(why) = seen
        .as_ref()
        .and_then(|seen| wrong_token(wanted.as_deref(), seen))
    {
        return Err(Refusal::credentials(why.to_owned()));
    }
    let mut socket = accepted.map_err(|error| Refusal::other(why_refused(&error)))?;
    socket.get_mut().start();
    match seen {
        Some(handshake) => {
            let wire = Wire::WebSocket(Box::new(WebSocketLink::new(socket)));
            Ok(Link::new(wire, handshake))
        }
        None => {
            let why = "the handshake ended without a request";
            Err(Refusal::other(why.to_owned()))
        }
    }
}

/// What is wrong with the token that a device presented, in words without it.
fn wrong_token(wanted: Option<&str>, handshake: &Handshake) -> Option<&'static str> {
    let presented = handshake.headers.get("authorization");
    match (wanted?, presented) {
        (wanted, Some(presented)) if wanted == presented => None,
        (_, None) => Some("its handshake has no `Authorization: Bearer <token>`"),
        (_, Some(presented)) if !presented.starts_with("Bearer ") => {
            Some("its `Authorization` does not begin with `Bearer `")
        }
        _ => Some("it presents another token than it was given"),
    }
}

fn unauthorized() -> ErrorResponse {
    let mut response = ErrorResponse::new(None);
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response
}

fn read_request(request: &Request, peer: SocketAddr) -> Handshake {
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str());
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
