//! The HTTP endpoint: tells devices their configuration and takes their pictures.
//!
//! Each connection is served by a task of its own, and has ten seconds for each request. It is closed a moment after
//! the answer, if the device has not done so, and later if the device says that it keeps it.

mod configuration;
mod failing;
mod request;
mod upload;

use std::{
    fmt,
    net::SocketAddr,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hyper::{Request, header::CONNECTION, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use mcp_hil_core::{
    limits::{MAX_HTTP_CONNECTIONS, MAX_HTTP_HEAD_BYTES, MAX_HTTP_HEADERS, MAX_HTTP_REQUEST_S},
    transcript::HttpExchange,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};

pub use configuration::{Configuration, ServerTime};

use self::request::{UnderWay, handle, lock};
use crate::acceptor::Refused;
use crate::address::dialable;
use crate::error::EndpointError;
use crate::guard::Told;
use crate::serving::{Serving, Stop};
use crate::tls::begins_tls;

/// Path of the configuration, as the published server has it; `activate` is below it.
const OTA_PATH: &str = "/xiaozhi/ota/";

/// Path of the explanation of pictures, as the published server has it.
const VISION_PATH: &str = "/mcp/vision/explain";

/// How long a connection may take for its request.
const REQUEST_DEADLINE: Duration = Duration::from_secs(MAX_HTTP_REQUEST_S);

/// Why whoever begins with a handshake of TLS is refused.
const SPEAKS_TLS: &str = "it speaks TLS, as for an address that begins with `https://`, and this endpoint does not: \
                          give it the `http://` address";

/// How long a connection stays open after an answer. Servers that devices meet keep it open, so that it is the device
/// that closes it; clients that take the end of the connection for the end of the answer wait this long.
const KEPT_OPEN: Duration = Duration::from_millis(300);

/// The same for a client that says that it will use the connection again: it may be about to.
const KEPT_ALIVE: Duration = Duration::from_secs(30);

/// Most exchanges that wait to be taken; further ones are counted only. Each may hold a body of
/// 1 MiB.
const MAX_WAITING: usize = 64;

/// A port on which the harness plays the HTTP side of the backend.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    exchanges: mpsc::Receiver<HttpExchange>,
    shared: Arc<Shared>,
    serving: Serving,
}

impl HttpServer {
    /// Listens on `address`; port 0 takes any free one. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// The address is in use, not permitted or not of this machine.
    pub async fn bind(address: SocketAddr) -> Result<Self, EndpointError> {
        let failed = |reason| EndpointError::Listen { address, reason };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (done, exchanges) = mpsc::channel(MAX_WAITING);
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            done,
            lost: Refused::default(),
            told: Told::default(),
        });
        let serves = shared.clone();
        let serving = Serving::start(move |stop| accept_all(listener, serves, stop));
        Ok(Self { address, exchanges, shared, serving })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL at which a device asks for its configuration.
    pub fn ota_url(&self) -> String {
        format!("http://{}{OTA_PATH}", dialable(self.address))
    }

    /// The URL to which a device sends its pictures.
    pub fn vision_url(&self) -> String {
        format!("http://{}{VISION_PATH}", dialable(self.address))
    }

    /// Decides what configuration requests get from now on. Before, they get none.
    pub fn set_bootstrap(&self, configuration: Configuration) {
        self.shared.state().configuration = Some(configuration);
    }

    /// Decides which version of the framing of binary messages devices that dial a WebSocket are told
    /// from now on, beside what [`set_bootstrap`](Self::set_bootstrap) said.
    pub fn offer_binary_version(&self, offered: u8) {
        let mut state = self.shared.state();
        if let Some(Configuration::WebSocket { version, .. }) = &mut state.configuration {
            *version = offered;
        }
    }

    /// Tells devices the time with their configuration. `clock` is asked at each request.
    pub fn set_clock(&self, clock: impl Fn() -> ServerTime + Send + Sync + 'static) {
        self.shared.state().clock = Some(Box::new(clock));
    }

    /// Decides with which tokens a picture may come from now on, and what is said about it.
    /// Before, none is right.
    pub fn set_vision(&self, tokens: &[&str], reply: &str) {
        let tokens = tokens.iter().map(|token| format!("Bearer {token}"));
        self.shared.state().vision = Some((tokens.collect(), reply.to_owned()));
    }

    /// The next request that was answered or given up, in order of that.
    ///
    /// Cancel-safe: no exchange is lost when the future is dropped.
    pub async fn next(&mut self) -> HttpExchange {
        match self.exchanges.recv().await {
            Some(exchange) => exchange,
            // `shared` holds a sender: this cannot come.
            None => std::future::pending().await,
        }
    }

    /// The next request, when there is one already.
    pub fn try_next(&mut self) -> Option<HttpExchange> {
        self.exchanges.try_recv().ok()
    }

    /// Who has got its configuration here, now and later.
    pub fn told(&self) -> Told {
        self.shared.told.clone()
    }

    /// The connections dropped and exchanges lost since the last call: whose, and why.
    pub fn take_refused(&mut self) -> Vec<String> {
        self.shared.lost.take()
    }

    /// Stops listening and closes all connections. When this returns, the port is free; a value that is
    /// only dropped gives it back a little later.
    pub async fn close(self) {
        drop(self.exchanges);
        self.serving.end().await;
    }
}

/// What the connections share.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    done: mpsc::Sender<HttpExchange>,
    lost: Refused,
    told: Told,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, exchange: HttpExchange) {
        if let Err(error) = self.done.try_send(exchange) {
            let lost = error.into_inner();
            let what = format!("{} {}", lost.method, lost.path);
            self.lost.add_other(&format!("request {what} not kept: too many are waiting"));
        }
    }
}

/// What requests get.
#[derive(Default)]
struct State {
    configuration: Option<Configuration>,
    clock: Option<Box<dyn Fn() -> ServerTime + Send + Sync>>,
    /// The `Authorization` headers of pictures, and what is said about them.
    vision: Option<(Vec<String>, String)>,
}

/// Shows what is no secret.
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("configuration", &self.configuration).finish_non_exhaustive()
    }
}

/// Accepts until it is told to stop. The connections end with it.
async fn accept_all(listener: TcpListener, shared: Arc<Shared>, mut stop: Stop) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.wanted() => break,
        };
        match accepted {
            Ok((_, peer)) if connections.len() >= MAX_HTTP_CONNECTIONS => {
                shared.lost.add(peer, "too many HTTP connections at once");
            }
            Ok((stream, peer)) => {
                connections.spawn(serve(stream, peer, shared.clone()));
            }
            // The peer was gone before it was accepted, or this process ran out of descriptors.
            // Neither is mended by asking again at once.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// How far a connection is.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Nothing was requested yet.
    Fresh,
    /// A request is being read or answered.
    Busy,
    /// The latest request was answered.
    Idle {
        /// Whether the client means to send another one.
        keeps: bool,
    },
}

impl Phase {
    /// How long it may stay so.
    fn lasts(self) -> Duration {
        match self {
            Self::Fresh | Self::Busy => REQUEST_DEADLINE,
            Self::Idle { keeps: false } => KEPT_OPEN,
            Self::Idle { keeps: true } => KEPT_ALIVE,
        }
    }
}

/// Whether a client says that it means to use the connection again (RFC 9112, section 9.3; HTTP/1.1 does so anyway,
/// and many that never will say nothing).
fn asks_to_keep<B>(request: &Request<B>) -> bool {
    let said = request.headers().get_all(CONNECTION).into_iter();
    said.filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|option| option.trim().eq_ignore_ascii_case("keep-alive"))
}

/// Serves one connection, and records what it came to when that was no answered request.
async fn serve(stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>) {
    let deadline = Instant::now() + REQUEST_DEADLINE;
    let mut first = [0; 2];
    // What comes of nothing, and of an end, shows below.
    let _ = timeout_at(deadline, stream.peek(&mut first)).await;
    if begins_tls(&first) {
        shared.lost.add(peer, SPEAKS_TLS);
        return;
    }
    let under_way = UnderWay::default();
    let (of_service, whole) = (under_way.clone(), shared.clone());
    let phase = Arc::new(watch::Sender::new(Phase::Fresh));
    let mut changes = phase.subscribe();
    let connection = http1::Builder::new()
        // A client may close its side as soon as it has said all.
        .half_close(true)
        .header_read_timeout(None)
        .max_headers(MAX_HTTP_HEADERS)
        .max_buf_size(MAX_HTTP_HEAD_BYTES)
        .serve_connection(
            TokioIo::new(stream),
            service_fn({
                let phase = phase.clone();
                move |request| {
                    let (shared, under_way) = (whole.clone(), of_service.clone());
                    let phase = phase.clone();
                    async move {
                        phase.send_replace(Phase::Busy);
                        let keeps = asks_to_keep(&request);
                        let response = handle(request, peer.ip(), shared, under_way).await;
                        phase.send_replace(Phase::Idle { keeps });
                        response
                    }
                }
            }),
        );
    let mut connection = pin!(connection);
    let mut until = deadline;
    let ended = loop {
        tokio::select! {
            ended = connection.as_mut() => break Some(ended),
            // The other sender lives as long as the connection.
            Ok(()) = changes.changed() => until = Instant::now() + changes.borrow_and_update().lasts(),
            () = sleep_until(until) => {
                if matches!(*phase.borrow(), Phase::Idle { .. }) {
                    connection.as_mut().graceful_shutdown();
                    break timeout(REQUEST_DEADLINE, connection).await.ok();
                }
                break None;
            }
        }
    };
    if matches!(*phase.borrow(), Phase::Idle { .. }) {
        return;
    }
    let (status, problem) = match ended {
        Some(Ok(())) => return,
        Some(Err(error)) if error.is_parse_too_large() => (
            Some(431),
            format!(
                "more than {MAX_HTTP_HEADERS} headers, or a head of more than \
                 {MAX_HTTP_HEAD_BYTES} bytes"
            ),
        ),
        Some(Err(error)) if error.is_parse() => {
            (Some(400), format!("not an HTTP/1.1 request ({error})"))
        }
        Some(Err(error)) => {
            (None, format!("the connection ended before the request was complete ({error})"))
        }
        None => (None, format!("no complete request within {MAX_HTTP_REQUEST_S} s")),
    };
    let exchange = lock(&under_way).take().unwrap_or_else(HttpExchange::unread);
    shared.record(HttpExchange { status, problem: Some(problem), ..exchange });
}
