//! What a session knows, by what belongs together.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::capability::{Facts, Permission};
use mcp_hil_core::identity::Identity;
use mcp_hil_endpoint::{AudioSink, Endpoint, HttpServer, Link};
use mcp_hil_judge::check::FailureSignature;
use mcp_hil_record::event::Unanswered;
use mcp_hil_scenario::Case;
use serde_json::Value;

use super::exchange::GivenUp;
use super::recorder::Recorder;
use super::settings::Settings;
use super::surrogate::Surrogate;
use crate::plan::USUAL_BINARY_VERSION;

/// How long a console line is waited for: it crosses another channel than the answer did.
const CONSOLE_PATIENCE: Duration = Duration::from_secs(2);

/// How long the acknowledgement of a message is waited for once it is answered.
const ACKNOWLEDGEMENT_PATIENCE: Duration = Duration::from_secs(3);

/// How often a generated case waits for answers that it gave up in a hurry.
pub(super) const LOOKS: u32 = 2;

/// Where the harness listens.
pub(super) struct Ports {
    pub(super) endpoint: Endpoint,
    /// Where the device asks for its configuration and sends its pictures.
    pub(super) http: HttpServer,
    /// Where it sends its audio, over MQTT.
    pub(super) audio: Option<AudioSink>,
}

impl Ports {
    /// Gives them back: when this returns, others can listen on them.
    pub(super) async fn close(self) {
        self.endpoint.close().await;
        self.http.close().await;
        if let Some(audio) = self.audio {
            audio.close().await;
        }
    }
}

/// The connection of the device, or that it has none.
#[derive(Default)]
pub(super) struct Connection {
    pub(super) link: Option<Link>,
    /// Whether a device has ever connected.
    pub(super) connected: bool,
    /// Why one was turned away, if it was: for its password, or for how it asked for its configuration.
    pub(super) refused: Option<&'static str>,
    /// What was wrong with a device that spoke another version of the protocol.
    pub(super) other_version: Option<String>,
    /// The id of the running session; empty until the server's hello was sent.
    pub(super) session_id: String,
    /// The id that the server's next hello gives.
    pub(super) next_session_id: String,
    /// Whether it said hello on its latest connection.
    pub(super) says_hello: bool,
    /// Whether `initialize` was sent on this link.
    pub(super) initialized: bool,
    /// The keep-alive that it promised, in seconds; none over WebSocket.
    pub(super) keep_alive: Option<u16>,
    /// Requests of this link without an answer, by their place in the transcript.
    pub(super) given_up: HashMap<u64, GivenUp>,
    /// Since when something was sent on this link, or since it is there, and nothing has come.
    pub(super) unheard: Option<Instant>,
    /// When a picture was last answered with a status.
    pub(super) explained: Option<Instant>,
    /// Messages of this link whose acknowledgement has not come yet.
    pub(super) unacknowledged: usize,
}

/// A walk of a list: how it begins, and the cursors that its pages brought.
type Walk = ((Option<Value>, Option<Value>), Vec<String>);

/// What is known of the device.
#[derive(Default)]
pub(super) struct KnownDevice {
    /// What it said of itself when it asked for its configuration.
    pub(super) identity: Option<Identity>,
    pub(super) facts: Facts,
    /// The ordinary tools, as it listed them when it got known.
    pub(super) tools: Vec<Value>,
    /// Walks of its lists: the value of `withUserTools` and the first cursor, and the cursors that the pages brought.
    pub(super) walks: Vec<Walk>,
    /// Which of them may be called.
    pub(super) permission: Permission,
    /// What its status told when it got known.
    pub(super) status: Option<Value>,
    /// `serverInfo` of the first `initialize` answer.
    pub(super) server: Option<(String, String)>,
    /// Whether it accepts no `initialize` without `capabilities.vision`.
    pub(super) insists_on_vision: bool,
    /// Whether it accepts no `initialize` without `protocolVersion` and `clientInfo`.
    pub(super) insists_on_client: bool,
    /// The protocol version that it gave for the one of the documents.
    pub(super) agreed: Option<Value>,
    /// Whether it is a board, or may be one.
    pub(super) silicon: bool,
    pub(super) console: ConsoleView,
}

/// What the console has shown so far.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ConsoleView {
    /// There is one: a line came.
    pub(super) attached: bool,
    /// Lines of the MCP server.
    pub(super) mcp: bool,
    /// The list of tools that a boot prints.
    pub(super) tools: bool,
}

/// What the device is told.
pub(super) struct Terms {
    /// Whether it has got its configuration.
    pub(super) bootstrapped: bool,
    /// The version of the framing of binary messages that it is told with it.
    pub(super) offered_version: u8,
    /// Whether it was told what to present over MQTT.
    pub(super) told: bool,
    /// Whether strangers can dial, too.
    pub(super) exposed: bool,
    /// Whether the device runs already, since an earlier run of it.
    pub(super) lives_on: bool,
    /// Whether inputs are generated, which make more of what the device tells.
    pub(super) generates: bool,
    /// How long a run stays with it with nothing but good requests.
    pub(super) linger: Duration,
    /// Variables for scenarios that are known before the device is.
    pub(super) variables: Vec<(&'static str, String)>,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            bootstrapped: false,
            offered_version: USUAL_BINARY_VERSION,
            told: false,
            exposed: false,
            lives_on: false,
            generates: false,
            linger: Duration::ZERO,
            variables: Vec::new(),
        }
    }
}

/// Where entries are written, and what they are stamped with.
pub(super) struct Transcript {
    pub(super) recorder: Recorder,
    pub(super) began: Instant,
    pub(super) seq: u64,
    pub(super) case: Arc<str>,
    /// Packets of audio that it tells of.
    pub(super) audio_told: u64,
}

impl Transcript {
    /// An empty one, that begins now.
    pub(super) fn new(recorder: Recorder) -> Self {
        Self { recorder, began: Instant::now(), seq: 0, case: "".into(), audio_told: 0 }
    }
}

/// How much the device has sent, for limits on it; but for the last ones, since the case began.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// Messages that nothing asked for.
    pub(super) unasked: usize,
    /// Bytes of messages.
    pub(super) bytes: usize,
    /// Lines of the console.
    pub(super) lines: usize,
    /// Responses that belong to no message that waited for one.
    pub(super) unmatched: u64,
    /// Answers to messages that were sent when the answer counted before had come.
    pub(super) round_trips: u64,
    /// From where in the transcript on a message begins another round trip.
    pub(super) next_trip: u64,
    /// The answers that were waited for in vain.
    pub(super) in_vain: InVain,
}

/// Answers that were waited for and did not come, and how long.
#[derive(Debug, Default)]
pub(super) struct InVain {
    number: u64,
    waited: Duration,
    /// Until when what is counted was waited for: several answers may be waited for at once.
    until: Option<Instant>,
}

impl InVain {
    /// Counts an answer that has not come by `now`, to a message sent at `since`.
    pub(super) fn count(&mut self, since: Instant, now: Instant) {
        let since = self.until.map_or(since, |until| until.max(since));
        self.number += 1;
        self.waited += now.saturating_duration_since(since);
        self.until = Some(now);
    }

    /// What it comes to.
    pub(super) fn told(&self) -> Unanswered {
        let waited_us = u64::try_from(self.waited.as_micros()).unwrap_or(u64::MAX);
        Unanswered { number: self.number, waited_us }
    }
}

impl Received {
    /// Counts anew what a device may send unasked.
    pub(super) fn count_anew(&mut self) {
        (self.unasked, self.bytes, self.lines) = (0, 0, 0);
    }
}

/// How long some things are waited for. It shrinks once one of them did not come.
#[derive(Debug)]
pub(super) struct Patience {
    /// A line of the console.
    pub(super) console: Duration,
    /// The acknowledgement of a message that is answered.
    pub(super) acknowledgement: Duration,
    /// How often this case may wait once more for answers that it gave up in a hurry.
    pub(super) looks: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { console: CONSOLE_PATIENCE, acknowledgement: ACKNOWLEDGEMENT_PATIENCE, looks: LOOKS }
    }
}

/// What the bench does to the device.
#[derive(Debug, Default)]
pub(super) struct BenchState {
    /// What broke for good, if anything did.
    pub(super) trouble: Option<String>,
    /// What was done to a board and its port, in words.
    pub(super) done: Vec<String>,
    /// How the device ended, or was lost, since it was started.
    pub(super) gone: Option<String>,
    /// Whether it took the device away, and the device was not brought up afresh since.
    pub(super) taken: bool,
    /// Whether that was in this case, which is spoilt then.
    pub(super) spoilt: bool,
    /// Whether the console told of a panic or reset in this case.
    pub(super) crashed: bool,
    /// Whether its power was taken away on purpose. What its console shows then is no sign of life.
    pub(super) is_off: bool,
}

/// What became of a device that did not answer.
#[derive(Debug)]
pub(super) struct Silence {
    /// How many cases in a row found no device.
    pub(super) dead: usize,
    /// Why the rest is not run, once it is given up.
    pub(super) why: &'static str,
    /// How many silent cases were tried once more.
    pub(super) confirmed: usize,
    /// Why nobody knows what the device is able to do, if nobody does.
    pub(super) unknown: Option<&'static str>,
}

impl Default for Silence {
    fn default() -> Self {
        Self {
            dead: 0,
            why: "the device could not be reached in three cases in a row",
            confirmed: 0,
            unknown: None,
        }
    }
}

/// What the generated inputs of a run share.
#[derive(Default)]
pub(super) struct PropertyRun<'a, 'r> {
    /// How many calls with effects they have made.
    pub(super) spent: u64,
    /// The settings as they were before them.
    pub(super) saved: Option<Settings>,
    /// The latest inputs.
    pub(super) recent: VecDeque<Case>,
    /// What tells their failures from others.
    pub(super) told: Vec<FailureSignature>,
    /// How long failures were followed.
    pub(super) followed: Duration,
    /// Where failures are made small, if not on the device itself.
    pub(super) surrogate: Option<Box<Surrogate<'a, 'r>>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_were_waited_for_together_cost_their_time_once() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut in_vain = InVain::default();
        in_vain.count(at(0), at(5));
        in_vain.count(at(0), at(5));
        in_vain.count(at(3), at(7));
        in_vain.count(at(20), at(22));
        assert_eq!(in_vain.told(), Unanswered { number: 4, waited_us: 9_000_000 });
        assert_eq!(InVain::default().told(), Unanswered::default());
    }
}
