//! What comes to a session, from whichever side: messages, HTTP requests, audio, console lines, the
//! ends of links and processes. Each becomes an entry of the transcript first.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::check::{Seen, side};
use mcp_hil_core::identity::Identity;
use mcp_hil_core::limits::{
    MAX_BYTES_PER_CASE, MAX_CONSOLE_LINES_PER_CASE, MAX_MESSAGE_BYTES, MAX_UNASKED_FRAMES_PER_CASE,
};
use mcp_hil_core::transcript::{
    Breach, HttpEndpoint, HttpExchange, Mark, MqttNote, Party, Role, TargetEvent, Transport, What,
};
use mcp_hil_core::wire::Frame;
use mcp_hil_rig::{AudioSink, Incoming, Knock, Link, LinkLost, TargetOutput};

use super::session::{Exchange, Manner, Next, Session};

/// How long the end of a process is waited for after its link was lost.
const EXIT_PATIENCE: Duration = Duration::from_millis(100);

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
const WRONG_LOGIN: &str = "the device presents another user name or password than it was given";
const WRONG_METHOD: &str =
    "the device asks for its configuration by another method than POST, and gets none";

/// HTTP status of a request whose method is not taken.
const NOT_ALLOWED: u16 = 405;

/// How long an answer is waited for without falling asleep, and how quick a device must be for it.
const STAY_AWAKE: Duration = Duration::from_micros(200);

impl Session {
    /// The next thing that happens, recorded and judged.
    pub(super) async fn next(&mut self, at: Option<&Arc<str>>, until: Instant) -> Next {
        if self.link.is_none() {
            return Next::Gone;
        }
        if self.is_interrupted() {
            return Next::Interrupted;
        }
        let awake = match self.conversation.median_latency() {
            Some(latency) if latency < STAY_AWAKE => Some(Instant::now() + STAY_AWAKE),
            _ => None,
        };
        let Some(link) = self.link.as_mut() else {
            return Next::Gone;
        };
        let next = tokio::select! {
            () = stay_awake(awake) => Next::Deadline,
            output = self.target.next() => self.output(output),
            exchange = self.http.next() => self.requested(exchange),
            incoming = link.recv() => match incoming {
                Ok(Incoming::Frame(frame)) => self.frame(at, frame),
                Ok(Incoming::Note(note)) => self.note(at, note),
                Err(lost) => {
                    self.lost(lost);
                    Next::Gone
                }
            },
            () = reach(until) => Next::Deadline,
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
            let at = side(at.map_or("device", |at| at), "reply");
            let frame = self.envelope(&answer.to_string());
            self.send(&at, Role::Reply, frame, Manner::Plain).await;
        }
    }

    fn frame(&mut self, at: Option<&Arc<str>>, frame: Frame) -> Next {
        // What the device asked by HTTP before it answered comes first, whichever of the two is
        // looked at first.
        self.drain_http();
        self.bytes += frame.len();
        if self.bytes > MAX_BYTES_PER_CASE {
            self.limit("MAX_BYTES_PER_CASE", MAX_BYTES_PER_CASE);
            self.drop_link("the device floods the link");
            return Next::Gone;
        }
        let (_, seen) = self.enter(at, What::Received { frame });
        match seen {
            Seen::Answer(_) => Next::Seen(seen),
            _ => self.unasked(seen),
        }
    }

    /// Takes in what happened below the messages.
    fn note(&mut self, at: Option<&Arc<str>>, note: MqttNote) -> Next {
        let wanted = note == MqttNote::Acknowledged;
        let (_, seen) = self.enter(at, What::Mqtt { note });
        if wanted {
            self.unacknowledged = self.unacknowledged.saturating_sub(1);
            return Next::Seen(seen);
        }
        self.unasked(seen)
    }

    /// Counts what nobody asked for. A device that does not stop is left.
    fn unasked(&mut self, seen: Seen) -> Next {
        self.unasked += 1;
        if self.unasked == MAX_UNASKED_FRAMES_PER_CASE {
            self.limit("MAX_UNASKED_FRAMES_PER_CASE", MAX_UNASKED_FRAMES_PER_CASE);
            self.drop_link("the device floods the link");
            return Next::Gone;
        }
        Next::Seen(seen)
    }

    /// Waits for a device to connect. `None` when none does, or the target ends, or the user.
    pub(crate) async fn accept(&mut self, wait: Duration) -> Option<Link> {
        let mut until = Instant::now() + wait;
        let mut pulls = self.pulls();
        while !self.is_interrupted() {
            let may_pull = pulls.ready(&mut self.target);
            tokio::select! {
                knock = self.endpoint.accept() => match knock {
                    Knock::Link(link) => return Some(*link),
                    Knock::Refused { why } => {
                        // It knows no better: waiting to the end would show nothing else.
                        until = until.min(Instant::now() + REFUSED_PATIENCE);
                        self.refused = Some(WRONG_LOGIN);
                        self.enter(None, What::Refused { why });
                    }
                },
                exchange = self.http.next() => {
                    self.requested(exchange);
                }
                output = self.target.next() => {
                    let ended = matches!(output, TargetOutput::Exited(_) | TargetOutput::Trouble(_));
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

    /// Takes in an HTTP request of the device, which is answered already.
    fn requested(&mut self, exchange: HttpExchange) -> Next {
        let bootstrap = exchange.endpoint == HttpEndpoint::Bootstrap;
        // Who names no device is somebody with a browser.
        let is_device = exchange.header("device-id").is_some();
        if bootstrap && is_device && exchange.status == Some(NOT_ALLOWED) {
            self.refused.get_or_insert(WRONG_METHOD);
        }
        if bootstrap && exchange.status == Some(200) {
            self.identity = Identity::of_exchange(&exchange).or(self.identity.take());
            self.bootstrapped = true;
        }
        let before = self.bytes;
        self.bytes += exchange.body.as_ref().map_or(0, Frame::len);
        if self.bytes > MAX_BYTES_PER_CASE || self.unasked >= MAX_UNASKED_FRAMES_PER_CASE {
            // A flood is told of once, and not kept.
            if before <= MAX_BYTES_PER_CASE && self.unasked < MAX_UNASKED_FRAMES_PER_CASE {
                self.limit("MAX_BYTES_PER_CASE", MAX_BYTES_PER_CASE);
            }
            return Next::Seen(Seen::Other);
        }
        let exchange = Box::new(exchange);
        let (_, seen) = self.enter(None, What::Http { exchange });
        self.unasked(seen)
    }

    /// Waits until the next packet of audio comes.
    pub(crate) async fn wait_for_audio(&mut self, at: &Arc<str>) -> Exchange {
        let packets = |session: &Self| session.audio.as_ref().map_or(0, |a| a.seen().packets);
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
    pub(crate) fn tell_how_audio_stands(&mut self, at: &Arc<str>) {
        if let Some(seen) = self.audio.as_ref().map(AudioSink::seen) {
            self.audio_told = seen.packets;
            self.enter(Some(at), What::Audio { seen });
        }
    }

    /// Tells the transcript of the audio that has come since it was last told.
    pub(crate) fn tell_of_audio(&mut self) {
        let Some(seen) = self.audio.as_ref().map(AudioSink::seen) else {
            return;
        };
        if seen.packets != self.audio_told {
            self.audio_told = seen.packets;
            self.enter(None, What::Audio { seen });
        }
    }

    /// Takes in what the target put out.
    pub(super) fn output(&mut self, output: TargetOutput) -> Next {
        match output {
            TargetOutput::Line(line) => {
                self.lines += 1;
                if self.lines == MAX_CONSOLE_LINES_PER_CASE {
                    self.limit("MAX_CONSOLE_LINES_PER_CASE", MAX_CONSOLE_LINES_PER_CASE);
                }
                if self.lines >= MAX_CONSOLE_LINES_PER_CASE {
                    return Next::Seen(Seen::Other);
                }
                self.console.0 = true;
                self.console.1 |= line.contains(" MCP: ");
                self.console.2 |= line.contains(" MCP: Add tool: ");
                let (_, seen) = self.enter(None, What::Console { line });
                self.crashed |= seen == Seen::Crash;
                Next::Seen(seen)
            }
            TargetOutput::Exited(how) => {
                self.crashed = true;
                self.enter(
                    None,
                    What::Target {
                        event: TargetEvent::Exited(how),
                    },
                );
                self.link = None;
                Next::Gone
            }
            TargetOutput::Bench(text) => {
                self.tell_of_bench(text);
                Next::Seen(Seen::Other)
            }
            TargetOutput::Trouble(what) => {
                self.drop_link("the bench does not work any more");
                let event = TargetEvent::Trouble(what.clone());
                self.enter(None, What::Target { event });
                self.trouble = Some(what);
                Next::Gone
            }
        }
    }

    /// Tells the transcript what was done to the device.
    pub(super) fn tell_of_bench(&mut self, text: String) {
        let event = TargetEvent::Bench(text);
        self.enter(None, What::Target { event });
    }

    /// Waits a moment after the link was lost: the end of the process, and its last words, come
    /// over another channel.
    pub(crate) async fn wait_for_exit(&mut self) {
        let until = Instant::now() + EXIT_PATIENCE;
        // What dials again lives.
        while self.target.is_running() == Some(true) && self.endpoint.waiting() == 0 {
            let look = until.min(Instant::now() + EXIT_LOOK);
            tokio::select! {
                output = self.target.next() => {
                    self.output(output);
                }
                () = tokio::time::sleep_until(look.into()) => {
                    if look == until {
                        return;
                    }
                }
            }
        }
        self.drain_console();
    }

    /// Waits until the console has shown the end of a panic: a serial line takes its time for it.
    pub(crate) async fn wait_for_dump(&mut self) {
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
    pub(crate) fn drain_console(&mut self) {
        self.drain_http();
        self.target.catch_up();
        while let Some(output) = self.target.try_next() {
            self.output(output);
        }
    }

    /// Takes in the HTTP requests that are there already.
    pub(crate) fn drain_http(&mut self) {
        while let Some(exchange) = self.http.try_next() {
            self.requested(exchange);
        }
    }

    /// The harness drops the link.
    pub(crate) fn drop_link(&mut self, why: &str) {
        if let Some(link) = self.link.take() {
            link.abort();
            self.unacknowledged = 0;
            self.enter(
                None,
                What::LinkDown {
                    by: Party::Harness,
                    why: why.to_owned(),
                    breach: None,
                },
            );
        }
    }

    pub(super) fn lost(&mut self, lost: LinkLost) {
        self.link = None;
        self.unacknowledged = 0;
        let why = lost.to_string();
        let (by, breach) = match lost {
            // Nobody who reads: the device ended the conversation.
            LinkLost::Closed(_) | LinkLost::Stalled => (Party::Device, None),
            LinkLost::TooLong { .. } => {
                self.limit("MAX_MESSAGE_BYTES", MAX_MESSAGE_BYTES);
                (Party::Harness, None)
            }
            LinkLost::SecondConnect => (Party::Device, Some(Breach::SecondConnect)),
            LinkLost::Protocol { .. } => (Party::Device, Some(Breach::Malformed)),
            LinkLost::KeepAlive { .. } => (Party::Device, Some(Breach::KeepAlive)),
            LinkLost::Broker(_) => (Party::Bench, None),
        };
        self.enter(None, What::LinkDown { by, why, breach });
    }

    fn limit(&mut self, name: &str, value: usize) {
        self.enter(
            None,
            What::Mark {
                mark: Mark::Limit {
                    name: name.to_owned(),
                    value: value as u64,
                },
            },
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
