//! Serving a device while nothing is wanted of it.
//!
//! A device lives on while a test computes: its pings want answers, or it drops the connection, and it may ask
//! something, hang up, and dial again.

use std::pin::pin;
use std::sync::Arc;

use mcp_hil_endpoint::Accepted;

use super::link::Dialing;
use super::session::{Next, Session};

impl Session {
    /// Serves the device until `stop` is ready. What it does is recorded and judged as ever, at the step.
    pub(super) async fn serve(
        &mut self,
        at: &Arc<str>,
        dialing: &mut Dialing,
        stop: impl Future<Output = ()>,
    ) {
        let mut stop = pin!(stop);
        while self.serve_once(at, dialing, stop.as_mut()).await {}
    }

    /// Takes in the next thing that the device does. Returns whether that came before `stop` was ready.
    pub(super) async fn serve_once(
        &mut self,
        at: &Arc<str>,
        dialing: &mut Dialing,
        stop: impl Future<Output = ()>,
    ) -> bool {
        if self.connection.link.is_some() {
            match self.next_before(Some(at), None, stop).await {
                Next::Seen(_) | Next::Gone => {}
                Next::Deadline | Next::Interrupted => return false,
            }
        } else {
            tokio::select! {
                () = stop => return false,
                accepted = self.ports.endpoint.accept() => match accepted {
                    // It dialed before its power was taken.
                    Accepted::Link(_) if self.bench.is_off => {}
                    Accepted::Link(link) => self.greet(at, dialing, *link).await,
                    Accepted::Refused { peer, .. } if self.is_stranger(peer) => {}
                    Accepted::Refused { why, fault, .. } => self.turned_away(why, fault),
                },
                exchange = self.ports.http.next() => {
                    self.requested(exchange);
                }
                output = self.target.next() => {
                    self.output(output);
                }
            }
        }
        // Who looks into the transcript meanwhile sees all of it.
        self.transcript.recorder.flush();
        true
    }
}
