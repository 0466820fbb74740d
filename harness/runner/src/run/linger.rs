//! Staying with a device: it is left alone for a while, then asked one good thing after the other.
//!
//! A device that restarts by itself, forgets its connection, sleeps through the first message after a silence, or gets
//! slower with each answer does nothing wrong in the moments that other cases take.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::capability::STATUS_TOOL;
use mcp_hil_core::step::message;
use mcp_hil_core::transcript::Role;
use mcp_hil_scenario::Linger;
use serde_json::{Value, json};

use super::session::{Exchange, Manner, Session};

/// Time from one request of a busy stretch to the next, at least: a quick device would fill the transcript.
const PACE: Duration = Duration::from_millis(10);

/// How long the device is listened to at a time: what it sends by itself, such as audio, is limited for each.
const LISTEN: Duration = Duration::from_secs(10);

impl Session {
    /// Stays with the device for half of the time that the run lingers.
    pub(super) async fn linger(&mut self, what: Linger, at: &Arc<str>) -> Exchange {
        let until = Instant::now() + self.terms.linger / 2;
        let requests = match what {
            Linger::Quiet => Vec::new(),
            Linger::Busy => self.good_requests(),
        };
        for number in 0.. {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.count_anew();
            let began = Instant::now();
            if let Some((method, params)) = requests.get(number % requests.len().max(1)) {
                let frame = self.request_frame(method, params.as_ref());
                let at = message(at, number);
                match self.exchange(&at, Role::Stimulus, frame, Manner::Plain).await {
                    Exchange::Settled | Exchange::Ignored => {}
                    other => return other,
                }
            }
            let rest = if requests.is_empty() { LISTEN } else { PACE };
            match self.listen(at, rest.saturating_sub(began.elapsed()).min(left)).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        Exchange::Settled
    }

    /// Requests that this device is known to answer, and that change nothing.
    fn good_requests(&self) -> Vec<(String, Option<Value>)> {
        let status = self.device.facts.capabilities.contains("status").then(|| {
            let params = json!({"name": STATUS_TOOL, "arguments": {}});
            ("tools/call".to_owned(), Some(params))
        });
        let mut all = Vec::new();
        for request in [self.conversation.fence(false), self.conversation.fence(true), status] {
            all.extend(request.filter(|request| !all.contains(request)));
        }
        all
    }
}
