//! How a connection ends: who ends it, and what it leaves behind.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_boards::TargetOutput;
use mcp_hil_core::limits::MAX_MESSAGE_BYTES;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::transcript::{Breach, Mark, Party, What};
use mcp_hil_core::wire::to_hex;
use mcp_hil_endpoint::{Endpoint, Incoming, Link, LinkLost};

use super::session::{Exchange, Session};
use super::state::Connection;

/// How long the answer to a Close frame is waited for at least.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

impl Connection {
    /// The device, and since when it owes an answer here and has said nothing; `None` where it owes none.
    pub(super) fn waits(&self, duty: &Duty) -> Option<(String, Instant)> {
        let owes = self.session_id.is_empty() || duty.owes == Owes::Answer;
        let since = self.unheard.filter(|_| owes)?;
        let device = self.link.as_ref()?.handshake().device()?;
        Some((device.to_owned(), since))
    }
}

/// Waits until a device that owes an answer has dialed anew instead: its socket hung, or it was reset and nobody closed
/// the connection that it had. One that serves both connections is left alone: where it owes nothing, nothing is waited
/// for, and it may be silent for a while. Stock firmware waits ten seconds for the answer to its hello.
pub(super) async fn until_anew(
    endpoint: &mut Endpoint,
    waits: Option<(String, Instant)>,
    most_silent: Duration,
) {
    let Some((device, since)) = waits else {
        return std::future::pending().await;
    };
    let hello = endpoint.hello_again(&device).await;
    tokio::time::sleep_until((hello.max(since) + most_silent).into()).await;
}

impl Session {
    /// Gives a connection up whose device goes on with another one, which is the next to be accepted.
    pub(super) fn dialed_anew(&mut self) {
        let link = self.connection.link.as_ref();
        if let Some(device) = link.and_then(|link| link.handshake().device()) {
            self.ports.endpoint.prefer_latest(device);
        }
        self.lost(LinkLost::Left);
    }

    /// The harness drops the link.
    pub(super) fn drop_link(&mut self, why: &str) {
        if let Some(link) = self.connection.link.take() {
            self.tell_masks(&link);
            link.abort();
            self.connection.unacknowledged = 0;
            self.enter(
                None,
                What::LinkDown {
                    by: Party::Harness,
                    why: why.to_owned(),
                    orderly: false,
                    code: None,
                    breach: None,
                },
            );
        }
    }

    /// The harness says goodbye: a Close frame, which the device answers with its own (RFC 6455, section
    /// 5.5.1). The connection is dropped in the end, whatever came.
    pub(super) async fn close_link(&mut self, at: &Arc<str>, reason: Option<&str>) -> Exchange {
        let Some(mut link) = self.connection.link.take() else {
            return Exchange::Gone;
        };
        self.mark(at, Mark::Closing);
        let patience = self.conversation.late_look(true).max(CLOSE_PATIENCE);
        let until = Instant::now() + patience;
        let mut ended = link.say_goodbye(reason).await.err();
        let how = loop {
            if let Some(lost) = ended {
                break lost;
            }
            tokio::select! {
                biased;
                incoming = link.recv() => match incoming {
                    // What was on its way already.
                    Ok(Incoming::Frame(frame)) => {
                        self.frame(Some(at), frame);
                    }
                    Ok(Incoming::Note(_)) => {}
                    Err(lost) => ended = Some(lost),
                },
                output = self.target.next() => {
                    self.output(output);
                }
                exchange = self.ports.http.next() => {
                    self.requested(exchange);
                }
                () = tokio::time::sleep_until(until.into()) => {
                    let waited = patience.as_secs_f64();
                    ended = Some(LinkLost::Closed(format!("no Close frame within {waited:.1} s")));
                }
                _ = self.interrupt.changed() => return Exchange::Interrupted,
            }
        };
        if matches!(how, LinkLost::Goodbye { .. }) {
            link.hear_out().await;
        }
        self.tell_masks(&link);
        link.abort();
        self.connection.unacknowledged = 0;
        let down = What::LinkDown {
            by: Party::Harness,
            why: "the server has closed it with a Close frame".to_owned(),
            orderly: false,
            code: None,
            breach: None,
        };
        self.enter(None, down);
        let (answered, code) = match &how {
            LinkLost::Goodbye { code, .. } => (true, *code),
            _ => (false, None),
        };
        let how = how.to_string();
        self.mark(at, Mark::Closed { answered, how, code });
        Exchange::Settled
    }

    /// Tells how the frames of a connection that ends were masked, and whether any came too late.
    fn tell_masks(&mut self, link: &Link) {
        let masks = link.masks();
        if masks.frames > 0 {
            let key = masks.same.map(|key| to_hex(&key));
            let mark = Mark::Masks { frames: masks.frames, key, step: masks.step() };
            self.enter(None, What::Mark { mark });
        }
        if let Some(frame) = link.behind_close() {
            self.enter(None, What::Mark { mark: Mark::BehindClose { frame: frame.to_owned() } });
        }
    }

    pub(super) fn lost(&mut self, lost: LinkLost) {
        if let Some(link) = self.connection.link.take() {
            self.tell_masks(&link);
        }
        self.connection.unacknowledged = 0;
        let why = lost.to_string();
        let (orderly, code) = match lost {
            LinkLost::Goodbye { code, .. } => (true, code),
            _ => (false, None),
        };
        let (by, breach) = match lost {
            // Nobody who reads: the device ended the conversation.
            LinkLost::Closed(_) | LinkLost::Goodbye { .. } | LinkLost::Stalled => {
                (Party::Device, None)
            }
            LinkLost::TooLong { .. } => {
                self.limit("MAX_MESSAGE_BYTES", MAX_MESSAGE_BYTES);
                (Party::Harness, None)
            }
            LinkLost::Left => (Party::Device, Some(Breach::Left)),
            LinkLost::SecondConnect => (Party::Device, Some(Breach::SecondConnect)),
            LinkLost::Protocol { .. } => (Party::Device, Some(Breach::Malformed)),
            LinkLost::KeepAlive { .. } => (Party::Device, Some(Breach::KeepAlive)),
            LinkLost::Broker(_) => (Party::Bench, None),
        };
        let lost = (by == Party::Bench).then(|| why.clone());
        self.enter(None, What::LinkDown { by, why, orderly, code, breach });
        if let Some(why) = lost {
            // What the device has answered meanwhile is lost with it.
            self.output(TargetOutput::Lost { why, by_reset: false });
        }
    }
}
