//! The body of the device on the host: one thread that reads the socket until something is due.

use std::process;
use std::time::{Duration, Instant};

use reference_device::{Device, HttpRequest, Identity, Output, Purpose, State, Transport};

use crate::console::{self, Reset};
use crate::defect::Defect;
use crate::hooks::{Act, Flow, Hands, Inbound, Outbound, Request};
use crate::http;
use crate::line::Line;
use crate::link::{Event, Frame};
use crate::udp::AudioSocket;

/// Between two attempts to dial.
const REDIAL_PAUSE: Duration = Duration::from_millis(100);
/// How long the device dials before it gives up.
const REDIAL_LIMIT: Duration = Duration::from_secs(3);
/// How long a read may last when nothing is due at all.
const IDLE: Duration = Duration::from_secs(1);
/// From a crash at boot to the next boot.
const CRASH_PAUSE_MS: u64 = 200;
/// Nobody listens.
const EXIT_NO_SERVER: u8 = 1;

/// The device with its socket, its clock and its console.
#[derive(Debug)]
pub(crate) struct Body {
    device: Device,
    defect: Option<Defect>,
    delay_ms: u64,
    started: Instant,
    /// When a server last said that a person has to enter a code, for which the device waits.
    activated: Instant,
    link: Option<Line>,
    audio: AudioSocket,
    hung: bool,
    /// What is to be done later, and when, in milliseconds of [`Body::now`].
    schedule: Vec<(u64, Act)>,
}

impl Body {
    pub(crate) fn new(identity: Identity, mut defect: Option<Defect>, delay_ms: u64) -> Self {
        let mut device = Device::new(identity);
        if let Some(setup) = defect.as_mut().and_then(|defect| defect.setup.as_mut()) {
            setup(&mut device);
        }
        Body {
            device,
            defect,
            delay_ms,
            started: Instant::now(),
            activated: Instant::now(),
            link: None,
            audio: AudioSocket::default(),
            hung: false,
            schedule: Vec::new(),
        }
    }

    /// Runs until nobody listens any more; the exit code.
    pub(crate) fn run(&mut self) -> u8 {
        self.boot(Reset::PowerOn);
        while self.configure() && self.dial() {
            self.converse();
        }
        let uptime = self.now();
        let tag = if self.device.is_configured() {
            self.device.identity().transport.tag()
        } else {
            "Ota"
        };
        console::print(&format!("E ({uptime}) {tag}: Nobody listens, giving up"));
        EXIT_NO_SERVER
    }

    /// Waits until the device knows where to dial; false when nobody tells it.
    fn configure(&mut self) -> bool {
        let begin = Instant::now();
        self.activated = begin;
        while !self.device.is_configured() {
            let waited = begin.max(self.activated).elapsed();
            if waited >= REDIAL_LIMIT {
                return false;
            }
            std::thread::sleep(self.patience().min(REDIAL_LIMIT - waited));
            self.run_due();
        }
        true
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn boot(&mut self, reset: Reset) {
        console::print_rom_banner(reset);
        let now = self.now();
        self.device.boot(now);
        self.drain(None);
    }

    /// Dials until it is connected; false when nobody listens.
    fn dial(&mut self) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < REDIAL_LIMIT {
            let now = self.now();
            self.device.dialling(now);
            self.drain(None);
            let dialled = Line::dial(&self.device, self.defect.as_mut());
            let now = self.now();
            match dialled {
                Ok(link) => {
                    self.link = Some(link);
                    self.hung = false;
                    self.device.connected(now);
                    self.drain(None);
                    return true;
                }
                Err(code) => {
                    self.device.dial_failed(code, now);
                    self.drain(None);
                    std::thread::sleep(REDIAL_PAUSE);
                }
            }
        }
        false
    }

    /// Talks until the connection is gone.
    fn converse(&mut self) {
        while self.link.is_some() {
            let patience = self.patience();
            if !patience.is_zero() {
                let event = self
                    .link
                    .as_mut()
                    .map_or(Event::Closed, |link| link.read(patience));
                match event {
                    Event::Text { text, fragmented } => self.on_text(text, fragmented),
                    Event::Binary(frame) => self.on_binary(&frame),
                    Event::Message(bytes) => self.on_message(bytes),
                    Event::Nothing => {}
                    Event::Closed => self.link = None,
                }
            }
            self.run_due();
        }
        self.schedule.clear();
        let was_greeted = self.device.state() != State::Connecting;
        if self.device.is_connected() {
            // After a restart there is nothing left to disconnect.
            let now = self.now();
            self.device.disconnected(now);
            self.drain(None);
        }
        self.with_defect(|defect, hands| {
            if let Some(hook) = &mut defect.disconnected {
                hook(hands);
            }
        });
        if !was_greeted || self.device.identity().transport == Transport::Mqtt {
            // A server that hangs up on everybody is not helped by a storm of connections.
            std::thread::sleep(REDIAL_PAUSE);
        }
    }

    /// How long there is nothing to do but to read.
    fn patience(&self) -> Duration {
        let due = self
            .schedule
            .iter()
            .map(|(due, _)| *due)
            .chain(self.device.next_deadline())
            .min();
        due.map_or(IDLE, |due| {
            Duration::from_millis(due.saturating_sub(self.now()))
        })
    }

    /// When the device wants the time, which a hung one never does.
    fn device_deadline(&self) -> Option<u64> {
        self.device.next_deadline().filter(|_| !self.hung)
    }

    fn run_due(&mut self) {
        let now = self.now();
        if self.device_deadline().is_some_and(|due| due <= now) {
            self.device.tick(now);
            self.drain(None);
        }
        while let Some(index) = self.next_due(now) {
            let (_, act) = self.schedule.remove(index);
            self.perform(act);
        }
    }

    /// The earliest act that is due; of several at one time, the one asked for first.
    fn next_due(&self, now: u64) -> Option<usize> {
        let due = self
            .schedule
            .iter()
            .enumerate()
            .filter(|(_, (due, _))| *due <= now);
        due.min_by_key(|(_, (due, _))| *due).map(|(index, _)| index)
    }

    fn on_text(&mut self, text: String, fragmented: bool) {
        if self.hung {
            return;
        }
        let now = self.now();
        if self.defect.is_none() {
            self.device.on_text(&text, now);
            self.drain(Some(&Request::default()));
            return;
        }
        let cause = Request::read(&text);
        let mut inbound = Inbound { text, fragmented };
        let mut flow = Flow::Pass;
        self.with_defect(|defect, hands| {
            if let Some(hook) = &mut defect.inbound {
                flow = hook(&mut inbound, hands);
            }
        });
        if flow == Flow::Pass && self.link.is_some() {
            self.device.on_text(&inbound.text, now);
            self.drain(Some(&cause));
        }
    }

    /// A message over MQTT; the device judges bytes that are no text.
    fn on_message(&mut self, bytes: Vec<u8>) {
        match String::from_utf8(bytes) {
            Ok(text) => self.on_text(text, false),
            Err(error) if !self.hung => {
                let now = self.now();
                self.device.on_bytes(error.as_bytes(), now);
                self.drain(None);
            }
            Err(_) => {}
        }
    }

    fn on_binary(&mut self, frame: &[u8]) {
        if self.hung {
            return;
        }
        self.with_defect(|defect, hands| {
            if let Some(hook) = &mut defect.binary {
                hook(frame, hands);
            }
        });
        self.device.on_binary(frame);
    }

    /// Does what the device asks for. `cause` is the message that it answers, if any.
    fn drain(&mut self, cause: Option<&Request>) {
        while let Some(output) = self.device.next_output() {
            match output {
                Output::Text(text) => self.send_text(text, cause),
                Output::Binary(frame) => self.send(Frame::Binary(frame)),
                Output::Datagram {
                    server,
                    port,
                    bytes,
                } => self.send_datagram(&server, port, bytes),
                Output::Http(request) => self.request(request),
                Output::Log(line) => self.log(line),
                Output::Disconnect => self.link = None,
                Output::Reboot if self.device.is_configured() => self.perform(Act::Restart),
                // A crash while booting, and perhaps again at the next boot.
                Output::Reboot => {
                    let due = self.now() + CRASH_PAUSE_MS;
                    self.schedule.push((due, Act::Restart));
                }
            }
        }
    }

    /// Makes a request. The device does nothing else meanwhile, as its main task would.
    fn request(&mut self, mut request: HttpRequest) {
        let hook = self.defect.as_mut().and_then(|d| d.http.as_mut());
        let outcome = match hook.map_or(Flow::Pass, |hook| hook(&mut request)) {
            Flow::Pass => http::perform(&request),
            Flow::Drop => None,
        };
        if request.purpose == Purpose::Activation && outcome.is_some() {
            self.activated = Instant::now();
        }
        let now = self.now();
        self.device.http_done(request.purpose, outcome, now);
    }

    fn send_datagram(&mut self, server: &str, port: u16, mut bytes: Vec<u8>) {
        let hook = self.defect.as_mut().and_then(|d| d.datagram.as_mut());
        if hook.is_none_or(|hook| hook(&mut bytes) == Flow::Pass) {
            self.audio.send(server, port, &bytes);
        }
    }

    fn send_text(&mut self, text: String, cause: Option<&Request>) {
        let mut outbound = Outbound { text, cause };
        let mut flow = Flow::Pass;
        let acts = self.ask_defect(|defect, hands| {
            if let Some(hook) = &mut defect.outbound {
                flow = hook(&mut outbound, hands);
            }
        });
        if flow == Flow::Pass {
            let frame = Frame::Text(outbound.text);
            match cause {
                Some(_) if self.delay_ms > 0 => self
                    .schedule
                    .push((self.now() + self.delay_ms, Act::Send(frame))),
                _ => self.send(frame),
            }
        }
        self.take_acts(acts);
    }

    fn log(&mut self, mut line: String) {
        let hook = self
            .defect
            .as_mut()
            .and_then(|defect| defect.console.as_mut());
        if hook.is_none_or(|hook| hook(&mut line) == Flow::Pass) {
            console::print(&line);
        }
    }

    fn send(&mut self, frame: Frame) {
        let topic = &self.device.identity().mqtt.publish_topic;
        if let Some(link) = &mut self.link
            && !link.send(frame, topic, self.defect.as_mut())
        {
            self.link = None;
        }
    }

    fn with_defect(&mut self, hook: impl FnOnce(&mut Defect, &mut Hands)) {
        let acts = self.ask_defect(hook);
        self.take_acts(acts);
    }

    fn ask_defect(&mut self, hook: impl FnOnce(&mut Defect, &mut Hands)) -> Vec<(u64, Act)> {
        let Some(defect) = &mut self.defect else {
            return Vec::new();
        };
        let mut hands = Hands::new(&mut self.device);
        hook(defect, &mut hands);
        hands.into_acts()
    }

    fn take_acts(&mut self, acts: Vec<(u64, Act)>) {
        for (delay, act) in acts {
            if delay > 0 {
                self.schedule.push((self.now() + delay, act));
            } else {
                self.perform(act);
            }
        }
    }

    fn perform(&mut self, act: Act) {
        match act {
            Act::Send(frame) => self.send(frame),
            Act::Print(line) => console::print(&line),
            Act::Disconnect => self.link = None,
            Act::Hang => self.hung = true,
            Act::Exit => process::exit(i32::from(EXIT_NO_SERVER)),
            Act::Wake => self.with_defect(|defect, hands| {
                if let Some(hook) = &mut defect.wake {
                    hook(hands);
                }
            }),
            Act::Panic => {
                console::print_panic();
                self.restart();
            }
            Act::Restart => self.restart(),
        }
    }

    /// The chip starts again: nothing is said to the server, and what was planned is forgotten.
    fn restart(&mut self) {
        self.link = None;
        self.schedule.clear();
        self.boot(Reset::Software);
    }
}
