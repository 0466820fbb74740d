//! What comes to a session, from whichever side: messages, HTTP requests, audio, console lines, the
//! ends of links and processes. Each becomes an entry of the transcript first.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_boards::TargetOutput;
use mcp_hil_core::identity::Identity;
use mcp_hil_core::limits::{
    MAX_BYTES_PER_CASE, MAX_CONSOLE_LINES_PER_CASE, MAX_UNASKED_FRAMES_PER_CASE,
};
use mcp_hil_core::step::{StepKind, beside};
use mcp_hil_core::transcript::{
    Fault, HttpEndpoint, HttpExchange, Mark, MqttNote, Role, TargetEvent, What,
};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::wire::Frame;
use mcp_hil_endpoint::{Accepted, AudioSink, Incoming, Link};
use mcp_hil_judge::check::Seen;

use super::parting::until_anew;
use super::session::{Exchange, Manner, Next, Session};

/// For so long at least a device that has dialed anew may be silent on the connection before.
const LEAST_SILENT: Duration = Duration::from_secs(1);

/// How long the end of a process is waited for after its link was lost.
const EXIT_PATIENCE: Duration = Duration::from_millis(100);

/// How long it may take until the end of a process is told that is on its way out.
const ENDING_PATIENCE: Duration = Duration::from_secs(5);

/// How long the end of a panic is waited for on the console: at 115,200 baud its text takes half a second.
const DUMP_PATIENCE: Duration = Duration::from_secs(1);

/// How often is looked meanwhile whether the device dials again.
const EXIT_LOOK: Duration = Duration::from_millis(5);

/// How long a device that presented wrong credentials is waited for to present the right ones.
const REFUSED_PATIENCE: Duration = Duration::from_secs(2);

/// How long the next packet of audio is waited for, and the first one: devices send one each 60 ms
/// while they listen.
const AUDIO_PATIENCE: Duration = Duration::from_millis(1600);
const FIRST_AUDIO_PATIENCE: Duration = Duration::from_millis(300);

/// How often is looked whether it has come.
const AUDIO_LOOK: Duration = Duration::from_millis(5);

/// Why devices are turned away.
const WRONG_LOGIN: &str =
    "the device presents a user name or password other than those it was given";
const WRONG_VERSION: &str = "the device speaks a version of MQTT other than 3.1.1";
const WRONG_HANDSHAKE: &str =
    "the device's opening handshake is not that of RFC 6455, so that no WebSocket begins";
const WRONG_PACKETS: &str = "the device breaks the rules of MQTT before it is connected";
const WRONG_METHOD: &str =
    "the device requests its configuration with a method other than POST, and gets none";

/// HTTP status of a request whose method is not taken.
const NOT_ALLOWED: u16 = 405;

/// How long an answer is waited for without falling asleep, and how quick a device must be for it.
const STAY_AWAKE: Duration = Duration::from_micros(200);

impl Session {
    /// The next thing that happens, recorded and judged.
    pub(super) async fn next(&mut self, at: Option<&Arc<str>>, until: Instant) -> Next {
        let awake = match self.conversation.median_latency() {
            Some(latency) if latency < STAY_AWAKE => Some(Instant::now() + STAY_AWAKE),
            _ => None,
        };
        self.next_before(at, awake, reach(until)).await
    }

    /// The same, unless `stop` is ready before, which passes for the deadline. The thread stays awake until
    /// the instant.
    pub(super) async fn next_before(
        &mut self,
        at: Option<&Arc<str>>,
        awake: Option<Instant>,
        stop: impl Future<Output = ()>,
    ) -> Next {
        if self.is_interrupted() {
            return Next::Interrupted;
        }
        let waits = self.connection.waits(self.judge.duty());
        // A device that is there on another connection is gone over to before the answer here is given up.
        let half = (self.conversation.patience() / 2).max(LEAST_SILENT);
        let most_silent = self.conversation.late_look(true).min(half);
        let Some(link) = self.connection.link.as_mut() else {
            return Next::Gone;
        };
        let next = tokio::select! {
            () = stay_awake(awake) => Next::Deadline,
            output = self.target.next() => self.output(output),
            exchange = self.ports.http.next() => self.requested(exchange),
            incoming = link.recv() => match incoming {
                Ok(Incoming::Frame(frame)) => self.frame(at, frame),
                Ok(Incoming::Note(note)) => self.note(at, note),
                Err(lost) => {
                    self.lost(lost);
                    Next::Gone
                }
            },
            () = until_anew(&mut self.ports.endpoint, waits, most_silent) => {
                self.dialed_anew();
                Next::Gone
            }
            () = stop => Next::Deadline,
            _ = self.interrupt.changed() => Next::Interrupted,
        };
        if next == Next::Seen(Seen::Hello) && self.transport == Transport::Mqtt {
            // It opens its audio channel, whatever the harness is about to do, and waits.
            let at = at.cloned().unwrap_or_else(|| "hello".into());
            Box::pin(self.say_hello(&at)).await;
        }
        if next == Next::Seen(Seen::Asked) {
            self.reply(at).await;
        }
        next
    }

    /// Answers the request of the device that was seen last, as a backend does.
    async fn reply(&mut self, at: Option<&Arc<str>>) {
        if let Some(answer) = self.judge.take_reply() {
            let at = beside(at.map_or("device", |at| at), StepKind::Reply);
            let frame = self.envelope(&answer.to_string());
            self.send(&at, Role::Reply, frame, Manner::Plain).await;
        }
    }

    pub(super) fn frame(&mut self, at: Option<&Arc<str>>, frame: Frame) -> Next {
        // What the device asked by HTTP before it answered comes first, whichever of the two is
        // looked at first.
        self.drain_http();
        self.connection.unheard = None;
        self.received.bytes += frame.len();
        if self.received.bytes > MAX_BYTES_PER_CASE {
            self.limit("MAX_BYTES_PER_CASE", MAX_BYTES_PER_CASE);
            self.drop_link("the device floods the link");
            return Next::Gone;
        }
        let (_, seen) = self.enter(at, What::Received { frame });
        match seen {
            Seen::Answer(asked) => {
                if asked >= self.received.next_trip {
                    self.received.round_trips += 1;
                    self.received.next_trip = self.transcript.seq;
                }
                self.came_late(asked);
                Next::Seen(seen)
            }
            _ => self.unasked(seen),
        }
    }

    /// Takes in what happened below the messages.
    fn note(&mut self, at: Option<&Arc<str>>, note: MqttNote) -> Next {
        let wanted = note == MqttNote::Acknowledged;
        let (_, seen) = self.enter(at, What::Mqtt { note });
        if wanted {
            self.connection.unacknowledged = self.connection.unacknowledged.saturating_sub(1);
            return Next::Seen(seen);
        }
        self.unasked(seen)
    }

    /// Counts what nobody asked for. A device that does not stop is left.
    fn unasked(&mut self, seen: Seen) -> Next {
        self.received.unasked += 1;
        if self.received.unasked == MAX_UNASKED_FRAMES_PER_CASE {
            self.limit("MAX_UNASKED_FRAMES_PER_CASE", MAX_UNASKED_FRAMES_PER_CASE);
            self.drop_link("the device floods the link");
            return Next::Gone;
        }
        Next::Seen(seen)
    }

    /// Waits for a device to connect. `None` when none does, or the target ends, or the user.
    pub(super) async fn accept(&mut self, wait: Duration) -> Option<Link> {
        let mut until = Instant::now() + wait;
        let mut pulls = self.pulls();
        while !self.is_interrupted() {
            let may_pull = pulls.ready(&mut self.target);
            tokio::select! {
                accepted = self.ports.endpoint.accept() => match accepted {
                    Accepted::Link(link) => return Some(*link),
                    // Nobody that was told here what to present: some stranger's mistake. What came is kept
                    // by the endpoint, for when the device itself does not come.
                    Accepted::Refused { peer, .. } if self.is_stranger(peer) => {}
                    Accepted::Refused { why, fault, .. } => {
                        // It knows no better: waiting to the end would show nothing else. Of another version, that
                        // shows when it comes again.
                        if fault != Fault::Version || self.connection.other_version.is_some() {
                            until = until.min(Instant::now() + REFUSED_PATIENCE);
                        }
                        self.turned_away(why, fault);
                    }
                },
                exchange = self.ports.http.next() => {
                    self.requested(exchange);
                }
                output = self.target.next() => {
                    let ended = match &output {
                        TargetOutput::Exited(_) | TargetOutput::Trouble(_) => true,
                        // A port may come back, and its board dial.
                        TargetOutput::Lost { .. } => self.target.board().is_none(),
                        _ => false,
                    };
                    self.output(output);
                    if ended {
                        return None;
                    }
                }
                () = may_pull => self.pull(&mut pulls).await,
                () = tokio::time::sleep_until(until.into()) => return None,
                _ = self.interrupt.changed() => {}
            }
        }
        None
    }

    /// Whether nobody has told this peer what to present.
    pub(super) fn is_stranger(&self, peer: SocketAddr) -> bool {
        self.terms.exposed && !self.ports.http.told().has(peer.ip())
    }

    /// Takes note of a device that was turned away. One that speaks another version may come with the right one.
    pub(super) fn turned_away(&mut self, why: String, fault: Fault) {
        let reason = match fault {
            Fault::Version => {
                self.connection.other_version = Some(why);
                return;
            }
            Fault::Credentials => WRONG_LOGIN,
            Fault::Handshake => WRONG_HANDSHAKE,
            Fault::Packets => WRONG_PACKETS,
        };
        self.connection.refused = Some(reason);
        self.enter(None, What::Refused { why, fault });
    }

    /// No device came: one that spoke another version is the one that was waited for.
    pub(super) fn nobody_came(&mut self) {
        if let Some(why) = self.connection.other_version.take() {
            self.connection.refused.get_or_insert(WRONG_VERSION);
            self.enter(None, What::Refused { why, fault: Fault::Version });
        }
    }

    /// Takes in an HTTP request of the device, which is answered already.
    pub(super) fn requested(&mut self, exchange: HttpExchange) -> Next {
        let bootstrap = exchange.endpoint == HttpEndpoint::Bootstrap;
        // Who names no device is somebody with a browser.
        let is_device = exchange.header("device-id").is_some();
        if bootstrap && is_device && exchange.status == Some(NOT_ALLOWED) {
            self.connection.refused.get_or_insert(WRONG_METHOD);
        }
        if bootstrap && exchange.status == Some(200) {
            self.device.identity = Identity::of_exchange(&exchange).or(self.device.identity.take());
            self.terms.bootstrapped = true;
        }
        if exchange.endpoint == HttpEndpoint::Vision && exchange.status.is_some() {
            self.connection.explained = Some(Instant::now());
        }
        let before = self.received.bytes;
        self.received.bytes += exchange.body.as_ref().map_or(0, Frame::len);
        if self.received.bytes > MAX_BYTES_PER_CASE
            || self.received.unasked >= MAX_UNASKED_FRAMES_PER_CASE
        {
            // A flood is told of once, and not kept.
            if before <= MAX_BYTES_PER_CASE && self.received.unasked < MAX_UNASKED_FRAMES_PER_CASE {
                self.limit("MAX_BYTES_PER_CASE", MAX_BYTES_PER_CASE);
            }
            return Next::Seen(Seen::Other);
        }
        let exchange = Box::new(exchange);
        let (_, seen) = self.enter(None, What::Http { exchange });
        self.unasked(seen)
    }

    /// Waits until the next packet of audio comes.
    pub(super) async fn wait_for_audio(&mut self, at: &Arc<str>) -> Exchange {
        let packets = |session: &Self| session.ports.audio.as_ref().map_or(0, |a| a.seen().packets);
        let (before, began) = (packets(self), Instant::now());
        let patience = match before {
            // Perhaps the device sends none.
            0 => FIRST_AUDIO_PATIENCE,
            _ => AUDIO_PATIENCE,
        };
        let mut end = Exchange::Settled;
        while end == Exchange::Settled && packets(self) == before && began.elapsed() < patience {
            end = self.listen(at, AUDIO_LOOK).await;
        }
        end
    }

    /// Tells the transcript how the audio stands, whether more has come or not.
    pub(super) fn tell_how_audio_stands(&mut self, at: &Arc<str>) {
        if let Some(seen) = self.ports.audio.as_ref().map(AudioSink::seen) {
            self.transcript.audio_told = seen.packets;
            self.enter(Some(at), What::Audio { seen });
        }
    }

    /// Tells the transcript of the audio that has come since it was last told.
    pub(super) fn tell_of_audio(&mut self) {
        let Some(seen) = self.ports.audio.as_ref().map(AudioSink::seen) else {
            return;
        };
        if seen.packets != self.transcript.audio_told {
            self.transcript.audio_told = seen.packets;
            self.enter(None, What::Audio { seen });
        }
    }

    /// Takes in what the target put out.
    pub(super) fn output(&mut self, output: TargetOutput) -> Next {
        match output {
            TargetOutput::Line(line) => {
                if let Some(log) = &mut self.log {
                    let mut shown = line.clone();
                    self.transcript.recorder.hide(&mut shown);
                    log.push(shown);
                }
                if self.bench.is_off {
                    self.tell_of_bench(format!("console of the device, switched off: {line}"));
                    return Next::Seen(Seen::Other);
                }
                self.received.lines += 1;
                if self.received.lines == MAX_CONSOLE_LINES_PER_CASE {
                    self.limit("MAX_CONSOLE_LINES_PER_CASE", MAX_CONSOLE_LINES_PER_CASE);
                }
                if self.received.lines >= MAX_CONSOLE_LINES_PER_CASE {
                    return Next::Seen(Seen::Other);
                }
                self.device.console.attached = true;
                self.device.console.mcp |= line.contains(" MCP: ");
                self.device.console.tools |= line.contains(" MCP: Add tool: ");
                let (_, seen) = self.enter(None, What::Console { line });
                self.bench.crashed |= seen == Seen::Crash;
                Next::Seen(seen)
            }
            TargetOutput::Exited(how) => {
                self.bench.crashed = true;
                self.bench.gone = Some(format!("it {how}"));
                self.enter(None, What::Target { event: TargetEvent::Exited(how) });
                self.connection.link = None;
                Next::Gone
            }
            TargetOutput::Lost { why, by_reset } => {
                self.bench.gone = Some(why.clone());
                let event = TargetEvent::Lost { why, by_reset };
                let (_, seen) = self.enter(None, What::Target { event });
                if seen != Seen::Taken {
                    return Next::Seen(seen);
                }
                // Whatever is connected still: nobody knows any more in what state it is.
                self.drop_link("the bench lost the device");
                (self.bench.taken, self.bench.spoilt) = (true, true);
                Next::Gone
            }
            TargetOutput::Back(text) => {
                let event = TargetEvent::Back(text);
                self.enter(None, What::Target { event });
                Next::Seen(Seen::Other)
            }
            TargetOutput::Bench(text) => {
                self.tell_of_bench(text);
                Next::Seen(Seen::Other)
            }
            TargetOutput::Trouble(what) => {
                self.drop_link("the bench no longer works");
                let event = TargetEvent::Trouble(what.clone());
                self.enter(None, What::Target { event });
                self.bench.trouble = Some(what);
                Next::Gone
            }
        }
    }

    /// Tells the transcript what was done to the device.
    pub(super) fn tell_of_bench(&mut self, text: String) {
        self.bench.done.push(text.clone());
        let event = TargetEvent::Bench(text);
        self.enter(None, What::Target { event });
    }

    /// Waits a moment after the link was lost: the end of the process, and its last words, come
    /// over another channel.
    pub(super) async fn wait_for_exit(&mut self) {
        let until = Instant::now() + EXIT_PATIENCE;
        // What dials again lives.
        while self.target.is_running() == Some(true) && self.ports.endpoint.waiting() == 0 {
            let look = until.min(Instant::now() + EXIT_LOOK);
            tokio::select! {
                output = self.target.next() => {
                    self.output(output);
                }
                () = tokio::time::sleep_until(look.into()) => {
                    if look == until || self.target.is_ending() {
                        break;
                    }
                }
            }
        }
        self.wait_for_end().await;
        self.drain_console();
    }

    /// Waits until the end of a process is told that has ended, or is about to: whose doing it was has to be
    /// known before the case is judged, and before another process takes its place.
    pub(super) async fn wait_for_end(&mut self) {
        let until = Instant::now() + ENDING_PATIENCE;
        while self.target.is_ending() && Instant::now() < until {
            let look = Instant::now() + EXIT_LOOK;
            tokio::select! {
                output = self.target.next() => {
                    self.output(output);
                }
                () = tokio::time::sleep_until(look.into()) => {}
            }
        }
    }

    /// Waits until the console has shown the end of a panic: a serial line takes its time for it.
    pub(super) async fn wait_for_dump(&mut self) {
        let until = Instant::now() + DUMP_PATIENCE;
        while self.judge.is_dumping() && self.target.is_running() != Some(false) {
            tokio::select! {
                output = self.target.next() => {
                    self.output(output);
                }
                () = tokio::time::sleep_until(until.into()) => return,
            }
        }
    }

    /// Takes in the console lines that were written until now, without waiting, and HTTP requests.
    pub(super) fn drain_console(&mut self) {
        self.drain_http();
        self.target.catch_up();
        while let Some(output) = self.target.try_next() {
            self.output(output);
        }
    }

    /// Takes in the HTTP requests that are there already.
    pub(super) fn drain_http(&mut self) {
        while let Some(exchange) = self.ports.http.try_next() {
            self.requested(exchange);
        }
    }

    pub(super) fn limit(&mut self, name: &str, value: usize) {
        self.enter(
            None,
            What::Mark { mark: Mark::Limit { name: name.to_owned(), value: value as u64 } },
        );
    }
}

/// Keeps the thread from falling asleep for a moment, and never ends: waking up again would cost
/// more than the answer of a quick device takes.
async fn stay_awake(until: Option<Instant>) {
    if let Some(until) = until {
        while Instant::now() < until {
            tokio::task::yield_now().await;
        }
    }
    std::future::pending().await
}

/// Waits until an instant, and exactly so where it is near: the runtime's timer counts whole
/// milliseconds, while the grace after a fence may be fifty microseconds, hundreds of times a run.
async fn reach(until: Instant) {
    const TIMER_TICK: Duration = Duration::from_millis(1);
    if until > Instant::now() + TIMER_TICK {
        return tokio::time::sleep_until(until.into()).await;
    }
    while Instant::now() < until {
        tokio::task::yield_now().await;
    }
}
