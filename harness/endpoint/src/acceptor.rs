//! A port where devices dial in: each connection makes its handshake in a task of its own, so that
//! a port scanner, a browser or a device that hangs half-way keeps nobody else waiting.

use std::{
    collections::VecDeque,
    future::Future,
    mem,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::{sleep, timeout},
};

use mcp_hil_core::transcript::Fault;

use crate::accepted::Accepted;
use crate::address::dialable;
use crate::error::EndpointError;
use crate::link::Link;
use crate::serving::{Serving, Stop};

/// How long a connection may take for its handshake.
pub const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);

/// Most connections that are in their handshake at the same time; further ones are dropped.
pub const MAX_HANDSHAKES: usize = 64;

/// Most completed connections that wait to be accepted; further ones are dropped.
pub const MAX_WAITING: usize = 64;

/// Most refused connections that are remembered with their reason.
const MAX_REFUSED: usize = 100;

/// Why a connection came to nothing.
#[derive(Debug)]
pub(crate) struct Rejection {
    why: String,
    /// What it was turned away for, where that is the device's.
    fault: Option<Fault>,
}

impl Rejection {
    /// What came is no device of this protocol.
    pub(crate) fn other(why: String) -> Self {
        Self { why, fault: None }
    }

    /// A device that does not present what it was given.
    pub(crate) fn credentials(why: String) -> Self {
        Self { why, fault: Some(Fault::Credentials) }
    }

    /// A device whose opening handshake is not one.
    pub(crate) fn handshake(why: String) -> Self {
        Self { why, fault: Some(Fault::Handshake) }
    }

    /// A device whose packets break the rules of the protocol, before it was connected.
    pub(crate) fn packets(why: String) -> Self {
        Self { why, fault: Some(Fault::Packets) }
    }

    /// A device that speaks another version of the protocol, or none that there is.
    pub(crate) fn version(why: String) -> Self {
        Self { why, fault: Some(Fault::Version) }
    }
}

/// A listening port and the connections whose handshake is complete.
#[derive(Debug)]
pub(crate) struct Acceptor {
    address: SocketAddr,
    accepted: mpsc::Receiver<Accepted>,
    /// Of these, the ones that were looked at already.
    early: VecDeque<Accepted>,
    refused: Refused,
    serving: Serving,
}

impl Acceptor {
    /// Listens on `address` and lets each connection make its handshake, which `what` names.
    ///
    /// # Errors
    /// The address is in use, not permitted or not of this machine.
    pub(crate) async fn bind<H, F>(
        address: SocketAddr,
        what: &'static str,
        handshake: H,
    ) -> Result<Self, EndpointError>
    where
        H: Fn(TcpStream, SocketAddr) -> F + Send + 'static,
        F: Future<Output = Result<Link, Rejection>> + Send + 'static,
    {
        let failed = |reason| EndpointError::Listen { address, reason };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (ready, accepted) = mpsc::channel(MAX_WAITING);
        let refused = Refused::default();
        let lost = refused.clone();
        let serving =
            Serving::start(move |stop| accept_all(listener, ready, lost, what, handshake, stop));
        Ok(Self { address, accepted, early: VecDeque::new(), refused, serving })
    }

    /// Where it listens, with the real port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address that a device is told. When it listens on all interfaces, it is that of the
    /// one that leads out of this machine.
    pub(crate) fn public_address(&self) -> SocketAddr {
        dialable(self.address)
    }

    /// The next connection whose handshake is complete, in order of completion. Cancel-safe.
    pub(crate) async fn accept(&mut self) -> Accepted {
        if let Some(accepted) = self.early.pop_front() {
            return accepted;
        }
        match self.accepted.recv().await {
            Some(accepted) => accepted,
            // The acceptor ends only with its runtime; nobody will ever connect.
            None => std::future::pending().await,
        }
    }

    /// Completed connections that were not accepted yet.
    pub(crate) fn waiting(&self) -> usize {
        self.early.len() + self.accepted.len()
    }

    /// Waits until the device of this name has said hello on a connection that was not accepted yet, its latest. Gives
    /// when it did. Cancel-safe; what has connected stays in order.
    pub(crate) async fn hello_again(&mut self, device: &str) -> Instant {
        loop {
            let has_room = self.early.len() < MAX_WAITING;
            let latest = self.early.iter_mut().rev().find_map(|accepted| link_of(accepted, device));
            let hello = async {
                match latest {
                    Some(link) => link.says_hello().await,
                    None => std::future::pending().await,
                }
            };
            let accepted = tokio::select! {
                accepted = self.accepted.recv(), if has_room => accepted,
                at = hello => return at,
            };
            match accepted {
                Some(accepted) => self.early.push_back(accepted),
                // As above.
                None => std::future::pending().await,
            }
        }
    }

    /// Gives up all connections of a device that were looked at but the latest, which is the next to be accepted.
    pub(crate) fn prefer_latest(&mut self, device: &str) {
        let mut latest = None;
        for mut accepted in mem::take(&mut self.early) {
            match link_of(&mut accepted, device) {
                Some(_) => latest = Some(accepted),
                None => self.early.push_back(accepted),
            }
        }
        self.early.extend(latest);
        let to_front = self.early.len().saturating_sub(1);
        self.early.rotate_left(to_front);
    }

    /// The connections refused since the last call: who it was, and why.
    pub(crate) fn take_refused(&mut self) -> Vec<String> {
        self.refused.take()
    }

    /// Closes the port and all connections that were not accepted. When this returns, others can
    /// listen there.
    pub(crate) async fn close(self) {
        drop((self.accepted, self.early));
        self.serving.end().await;
    }
}

/// The connection of a device, if it is that.
fn link_of<'a>(accepted: &'a mut Accepted, device: &str) -> Option<&'a mut Link> {
    match accepted {
        Accepted::Link(link) => (link.handshake().device() == Some(device)).then_some(link),
        Accepted::Refused { .. } => None,
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

/// Accepts until it is told to stop. The handshakes end with it.
async fn accept_all<H, F>(
    listener: TcpListener,
    ready: mpsc::Sender<Accepted>,
    refused: Refused,
    what: &'static str,
    handshake: H,
    mut stop: Stop,
) where
    H: Fn(TcpStream, SocketAddr) -> F,
    F: Future<Output = Result<Link, Rejection>> + Send + 'static,
{
    let mut handshakes = JoinSet::new();
    loop {
        while handshakes.try_join_next().is_some() {}
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.wanted() => break,
        };
        match accepted {
            Ok((_, peer)) if handshakes.len() >= MAX_HANDSHAKES => {
                refused.add(peer, "too many connections are still in their handshake");
            }
            Ok((stream, peer)) => {
                let (ready, refused) = (ready.clone(), refused.clone());
                let made = handshake(stream, peer);
                handshakes.spawn(async move {
                    let accepted = match timeout(HANDSHAKE_DEADLINE, made).await {
                        Ok(Ok(link)) => Accepted::Link(Box::new(link)),
                        Ok(Err(refusal)) => {
                            refused.add(peer, &refusal.why);
                            let Some(fault) = refusal.fault else {
                                return;
                            };
                            Accepted::Refused { why: refusal.why, fault, peer }
                        }
                        Err(_) => {
                            let seconds = HANDSHAKE_DEADLINE.as_secs();
                            refused.add(peer, &format!("no complete {what} within {seconds} s"));
                            return;
                        }
                    };
                    if ready.try_send(accepted).is_err() {
                        refused.add(peer, "too many connections are waiting to be accepted");
                    }
                });
            }
            // The peer was gone before it was accepted, or this process ran out of descriptors.
            // Neither is mended by asking again at once.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
    drop(listener);
    handshakes.shutdown().await;
}
