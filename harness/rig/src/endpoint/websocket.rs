//! The WebSocket endpoint: takes connections on any path.

use std::net::SocketAddr;

use mcp_hil_core::limits::MAX_MESSAGE_BYTES;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async_with_config,
    tungstenite::{
        Error as WsError,
        error::ProtocolError,
        handshake::server::{ErrorResponse, Request, Response},
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
    /// Listens on `address`; port 0 takes any free one. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// The address is in use, not permitted or not of this machine.
    pub async fn bind(address: SocketAddr) -> Result<Self, RigError> {
        let acceptor = Acceptor::bind(address, "WebSocket handshake", |stream, peer| async move {
            handshake(stream, peer).await.map_err(Refusal::other)
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

async fn handshake(stream: TcpStream, peer: SocketAddr) -> Result<Link, String> {
    stream
        .set_nodelay(true)
        .map_err(|error| format!("TCP_NODELAY: {error}"))?;
    let mut seen = None;
    #[expect(clippy::result_large_err, reason = "the signature is tungstenite's")]
    let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        seen = Some(read_request(request, peer));
        Ok(response)
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    let mut socket: WebSocketStream<Tap<TcpStream>> =
        accept_hdr_async_with_config(Tap::new(stream), look, Some(config))
            .await
            .map_err(|error| why_refused(&error))?;
    socket.get_mut().start();
    match seen {
        Some(handshake) => {
            let wire = Wire::WebSocket(Box::new(WebSocketLink::new(socket)));
            Ok(Link::new(wire, handshake))
        }
        None => Err("the handshake ended without a request".to_owned()),
    }
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
