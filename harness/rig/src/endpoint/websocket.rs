//! The WebSocket endpoint: takes connections on any path.
//!
//! Each connection makes its handshake in a task of its own, so that a port scanner, a browser
//! or a device that hangs half-way keeps nobody else waiting.

use std::{
    mem,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use mcp_hil_core::limits::MAX_MESSAGE_BYTES;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::{JoinHandle, JoinSet},
    time::{sleep, timeout},
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async_with_config,
    tungstenite::{
        Error as WsError,
        error::ProtocolError,
        handshake::server::{ErrorResponse, Request, Response},
        protocol::WebSocketConfig,
    },
};

use super::{address::dialable, headers::headers_by_name};
use crate::{
    error::RigError,
    link::{Handshake, Link, tap::Tap},
};

/// How long a connection may take for its WebSocket handshake.
pub const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);

/// Most connections that are in their handshake at the same time; further ones are dropped.
pub const MAX_HANDSHAKES: usize = 64;

/// Most completed connections that wait to be accepted; further ones are dropped.
pub const MAX_WAITING: usize = 64;

/// Most refused connections that are remembered with their reason.
const MAX_REFUSED: usize = 100;

/// Size of the read buffer of a connection. It is cleared before each read, so that a larger one
/// makes small messages slower.
const READ_BUFFER_BYTES: usize = 16 * 1024;

/// A port on which the harness plays the backend over WebSocket.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    links: mpsc::Receiver<Link>,
    refused: Refused,
    acceptor: JoinHandle<()>,
}

impl Endpoint {
    /// Listens on `address`; port 0 takes any free one. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// The address is in use, not permitted or not of this machine.
    pub async fn bind(address: SocketAddr) -> Result<Self, RigError> {
        let failed = |reason| RigError::Listen { address, reason };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (ready, links) = mpsc::channel(MAX_WAITING);
        let refused = Refused::default();
        let acceptor = tokio::spawn(accept_all(listener, ready, refused.clone()));
        Ok(Self {
            address,
            links,
            refused,
            acceptor,
        })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL that a device is told to dial. When it listens on all interfaces, the URL names
    /// the address of the one that leads out of this machine.
    pub fn url(&self) -> String {
        format!("ws://{}/xiaozhi/v1/", dialable(self.address))
    }

    /// The next connection whose handshake is complete, in order of completion.
    ///
    /// Cancel-safe: no connection is lost when the future is dropped.
    pub async fn accept(&mut self) -> Link {
        match self.links.recv().await {
            Some(link) => link,
            // The acceptor ends only with its runtime; nobody will ever connect.
            None => std::future::pending().await,
        }
    }

    /// Completed connections that were not accepted yet.
    pub fn waiting(&self) -> usize {
        self.links.len()
    }

    /// The connections refused since the last call: who it was, and why.
    pub fn take_refused(&mut self) -> Vec<String> {
        self.refused.take()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

/// The list of refused connections; a flood of them is counted only.
#[derive(Debug, Default, Clone)]
pub(super) struct Refused(Arc<Mutex<(Vec<String>, usize)>>);

impl Refused {
    pub(super) fn add(&self, peer: SocketAddr, why: &str) {
        self.add_other(&format!("connection from {peer} refused: {why}"));
    }

    pub(super) fn add_other(&self, what: &str) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (list, more) = &mut *guard;
        if list.len() < MAX_REFUSED {
            list.push(what.to_owned());
        } else {
            *more += 1;
        }
    }

    pub(super) fn take(&self) -> Vec<String> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut list, more) = mem::take(&mut *guard);
        if more > 0 {
            list.push(format!("{more} more connections refused"));
        }
        list
    }
}

/// Accepts for ever. The handshakes end with it.
async fn accept_all(listener: TcpListener, ready: mpsc::Sender<Link>, refused: Refused) {
    let mut handshakes = JoinSet::new();
    loop {
        while handshakes.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((_, peer)) if handshakes.len() >= MAX_HANDSHAKES => {
                refused.add(peer, "too many connections are in their handshake");
            }
            Ok((stream, peer)) => {
                let (ready, refused) = (ready.clone(), refused.clone());
                handshakes.spawn(async move {
                    match timeout(HANDSHAKE_DEADLINE, handshake(stream, peer)).await {
                        Ok(Ok(link)) => {
                            if ready.try_send(link).is_err() {
                                refused.add(peer, "too many connections wait to be accepted");
                            }
                        }
                        Ok(Err(why)) => refused.add(peer, &why),
                        Err(_) => refused.add(
                            peer,
                            &format!(
                                "no complete WebSocket handshake within {} s",
                                HANDSHAKE_DEADLINE.as_secs()
                            ),
                        ),
                    }
                });
            }
            // The peer was gone before it was accepted, or this process ran out of descriptors.
            // Neither is mended by asking again at once.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
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
        Some(handshake) => Ok(Link::new(socket, handshake)),
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
