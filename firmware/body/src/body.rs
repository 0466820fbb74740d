//! The body of the device: one loop that reads the connection until something is due.

use crate::prelude::*;

use reference_device::{Device, HttpRequest, Identity, Output, Purpose, State, Transport};

use crate::console::{self, Reset};
use crate::defect::Defect;
use crate::hooks::{Act, Flow, Hands, Inbound, Outbound, Request};
use crate::platform::{ConnectPlan, Dial, Event, Frame, Platform, Publication};

/// Milliseconds between two attempts to dial.
const RECONNECT_PAUSE_MS: u64 = 100;
/// For how many milliseconds the device dials before it gives up.
const RECONNECT_LIMIT_MS: u64 = 3_000;
/// For how many milliseconds a read may last when nothing is due at all.
const IDLE_MS: u64 = 1_000;
/// From a crash at boot to the next boot.
const CRASH_PAUSE_MS: u64 = 200;
/// Nobody listens.
const EXIT_NO_SERVER: u8 = 1;

/// Between two looks at the button, in milliseconds.
const BUTTON_LOOK_MS: u64 = 20;
/// From the reset to the configuration of a stock device, in milliseconds.
const STOCK_STARTS_MS: u64 = 150;
/// Until a stock device connects to its broker again (device-protocol 3.1).
const STOCK_MQTT_PAUSE_MS: u64 = 10_000;

/// When the device dials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Life {
    /// Whenever it has no connection.
    #[default]
    Eager,
    /// As unmodified stock firmware (device-protocol 2.1, 2.2, 3.1): over WebSocket when its button is
    /// pressed and never by itself, over MQTT at boot and ten seconds after a loss.
    Stock {
        /// The button is pressed by itself so many milliseconds after the device got idle.
        button_after_ms: Option<u64>,
    },
}

/// The device with its connection, its clock and its console.
#[derive(Debug)]
pub struct Body<P> {
    platform: P,
    device: Device,
    defect: Option<Defect>,
    delay_ms: u64,
    life: Life,
    /// A button pressed too early has led into the set-up of the wireless network, which ends with the
    /// next boot.
    in_setup: bool,
    /// How often it has booted.
    boots: u32,
    /// When a server last said that a person has to enter a code, for which the device waits.
    activated_at: u64,
    linked: bool,
    hung: bool,
    /// What is to be done later, and when, in milliseconds of the platform's clock.
    schedule: Vec<(u64, Act)>,
}

/// Nobody listens any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenUp;

impl<P: Platform> Body<P> {
    /// A device that gives its answers `delay_ms` milliseconds late.
    pub fn new(platform: P, identity: Identity, mut defect: Option<Defect>, delay_ms: u64) -> Self {
        let mut device = Device::new(identity);
        if let Some(setup) = defect.as_mut().and_then(|defect| defect.setup.as_mut()) {
            setup(&mut device);
        }
        Body {
            platform,
            device,
            defect,
            delay_ms,
            life: Life::Eager,
            in_setup: false,
            boots: 0,
            activated_at: 0,
            linked: false,
            hung: false,
            schedule: Vec::new(),
        }
    }

    /// The same with another life.
    #[must_use]
    pub fn live(mut self, life: Life) -> Self {
        self.life = life;
        if life != Life::Eager {
            // Over MQTT too it takes the button to open a channel.
            self.device.identity_mut().opens_channel = false;
        }
        self
    }

    /// Runs until nobody listens any more; a stock device for ever.
    pub fn run(&mut self) -> GivenUp {
        self.boot(Reset::PowerOn);
        if self.life != Life::Eager {
            loop {
                self.live_as_stock();
            }
        }
        while self.configure() && self.dial() {
            self.converse();
        }
        let uptime = self.now();
        let tag = if self.device.is_configured() {
            self.device.identity().transport.tag()
        } else {
            "Ota"
        };
        self.platform.print(&format!("E ({uptime}) {tag}: Nobody listens, giving up"));
        GivenUp
    }

    /// Waits until the device knows where to dial; false when nobody tells it.
    fn configure(&mut self) -> bool {
        let begin = self.now();
        self.activated_at = begin;
        while !self.device.is_configured() {
            let waited = self.now().saturating_sub(begin.max(self.activated_at));
            if waited >= RECONNECT_LIMIT_MS {
                return false;
            }
            let patience = self.patience().min(RECONNECT_LIMIT_MS - waited);
            self.platform.pause(patience);
            self.run_due();
        }
        true
    }

    /// One connection of a stock device, or one attempt at it.
    fn live_as_stock(&mut self) {
        let Life::Stock { button_after_ms } = self.life else {
            return;
        };
        let begin = self.now();
        let is_mqtt = |device: &Device| device.identity().transport == Transport::Mqtt;
        loop {
            self.run_due();
            let ready = self.device.is_configured() && !self.in_setup;
            if ready && is_mqtt(&self.device) {
                break;
            }
            let waited = self.now().saturating_sub(begin);
            let by_itself = button_after_ms.is_some_and(|after| waited >= after);
            if ready && (self.platform.pressed() || by_itself) {
                break;
            }
            let pause = self.patience().min(BUTTON_LOOK_MS);
            self.platform.pause(pause);
        }
        let boots = self.boots;
        if self.try_to_dial() {
            self.converse();
        }
        if is_mqtt(&self.device) && self.boots == boots {
            let until = self.now() + STOCK_MQTT_PAUSE_MS;
            while self.now() < until && self.device.is_configured() {
                self.platform.pause(BUTTON_LOOK_MS);
                self.run_due();
            }
        }
    }

    /// The button of a stock device that has a connection: listening ends with it, and speaking is cut
    /// short.
    fn button_while_connected(&mut self) {
        if self.life == Life::Eager || !self.platform.pressed() {
            return;
        }
        match self.device.state() {
            State::Speaking => {
                let session = self.device.session_json().to_string();
                let abort = format!(r#"{{"session_id":{session},"type":"abort"}}"#);
                self.send(Frame::Text(abort));
            }
            // Without a Close frame: the socket is dropped.
            _ if self.device.identity().transport == Transport::Websocket => self.hang_up(),
            _ => {}
        }
    }

    fn now(&mut self) -> u64 {
        self.platform.now()
    }

    fn hang_up(&mut self) {
        self.linked = false;
        self.platform.hang_up();
    }

    fn boot(&mut self, reset: Reset) {
        self.boots += 1;
        // Told twice, a start reads as two. No ROM sees the restarts of the body, which are none of the
        // chip: they are always told.
        let told = match reset {
            Reset::Unseen => false,
            Reset::PowerOn => !self.platform.has_rom(),
            _ => true,
        };
        if told {
            for line in console::rom_banner(reset) {
                self.log(line.to_string());
            }
        }
        let longer = self.defect.as_ref().map_or(0, |defect| defect.boot_ms);
        if longer > 0 {
            self.platform.pause(longer);
        }
        let mut now = self.now();
        if self.life != Life::Eager {
            // What is pressed while it starts counts as the wish to set the network up.
            self.platform.pressed();
            self.platform.pause(STOCK_STARTS_MS);
            self.in_setup = self.platform.pressed();
            now = self.now();
        }
        self.look_at_memory();
        self.device.boot(now);
        self.drain(None);
        if self.in_setup {
            let line = "W (0) WifiBoard: Enter WiFi configuration mode";
            self.log(line.to_string());
        }
    }

    /// Dials until it is connected; false when nobody listens.
    fn dial(&mut self) -> bool {
        let begin = self.now();
        while self.now().saturating_sub(begin) < RECONNECT_LIMIT_MS {
            if self.try_to_dial() {
                return true;
            }
            self.platform.pause(RECONNECT_PAUSE_MS);
        }
        false
    }

    /// Dials once, and lets the device know what came of it.
    fn try_to_dial(&mut self) -> bool {
        let now = self.now();
        self.device.dialling(now);
        self.drain(None);
        let dialled = self.dial_once();
        let now = self.now();
        match dialled {
            Ok(()) => {
                self.linked = true;
                self.hung = false;
                self.device.connected(now);
            }
            Err(code) => self.device.dial_failed(code, now),
        }
        self.drain(None);
        dialled.is_ok()
    }

    /// Dials as the device's settings say.
    fn dial_once(&mut self) -> Result<(), i32> {
        let Body { platform, device, defect, .. } = self;
        let dial = match device.identity().transport {
            Transport::Websocket => {
                let mut headers = device.headers();
                let mut options = Default::default();
                if let Some(defect) = defect {
                    options = defect.link;
                    if let Some(hook) = &mut defect.headers {
                        hook(&mut headers);
                    }
                }
                Dial::Websocket { url: &device.identity().url, headers, options }
            }
            Transport::Mqtt => {
                let mut plan = ConnectPlan::new(&device.identity().mqtt);
                if let Some(hook) = defect.as_mut().and_then(|defect| defect.plan.as_mut()) {
                    hook(&mut plan);
                }
                Dial::Mqtt(plan)
            }
        };
        platform.dial(&dial)
    }

    /// Talks until the connection is gone.
    fn converse(&mut self) {
        while self.linked {
            let mut patience = self.patience();
            if self.life != Life::Eager {
                self.button_while_connected();
                patience = patience.min(BUTTON_LOOK_MS);
            }
            if patience > 0 {
                match self.platform.read(patience) {
                    Event::Text { text, fragmented } => self.on_text(text, fragmented),
                    Event::Binary(frame) => self.on_binary(&frame),
                    Event::Message(bytes) => self.on_message(bytes),
                    Event::Refused { bytes } => self.refuse(bytes),
                    Event::Nothing => {}
                    Event::Closed => self.hang_up(),
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
        let hurries = self.life == Life::Eager;
        if hurries && (!was_greeted || self.device.identity().transport == Transport::Mqtt) {
            // A server that hangs up on everybody is not helped by a storm of connections.
            self.platform.pause(RECONNECT_PAUSE_MS);
        }
    }

    /// How long there is nothing to do but to read.
    fn patience(&mut self) -> u64 {
        let due =
            self.schedule.iter().map(|(due, _)| *due).chain(self.device.next_deadline()).min();
        due.map_or(IDLE_MS, |due| due.saturating_sub(self.now()))
    }

    /// When the device wants the time, which a hung one never does.
    fn device_deadline(&self) -> Option<u64> {
        self.device.next_deadline().filter(|_| !self.hung)
    }

    fn run_due(&mut self) {
        let now = self.now();
        if self.device_deadline().is_some_and(|due| due <= now) {
            self.look_at_memory();
            self.device.tick(now);
            self.drain(None);
        }
        while let Some(index) = self.next_due(now) {
            let (_, act) = self.schedule.remove(index);
            self.perform(act);
        }
    }

    /// Tells the device what its machine has left.
    fn look_at_memory(&mut self) {
        if let Some(memory) = self.platform.memory() {
            self.device.set_memory(memory);
        }
    }

    /// The earliest act that is due; of several at one time, the one asked for first.
    fn next_due(&self, now: u64) -> Option<usize> {
        let due = self.schedule.iter().enumerate().filter(|(_, (due, _))| *due <= now);
        due.min_by_key(|(_, (due, _))| *due).map(|(index, _)| index)
    }

    fn on_text(&mut self, text: String, fragmented: bool) {
        if self.hung {
            return;
        }
        let now = self.now();
        if self.defect.is_none() {
            self.device.on_text(&text, now);
            // Its memory is wanted for what the device does now.
            drop(text);
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
        if flow == Flow::Pass && self.linked {
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

    /// A message was too large.
    fn refuse(&mut self, bytes: u64) {
        let now = self.now();
        self.device.refused(bytes, now);
        self.drain(None);
        self.hang_up();
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
                Output::Datagram { server, port, bytes } => {
                    self.send_datagram(&server, port, bytes)
                }
                Output::Http(request) => self.request(request),
                Output::Log(line) => self.log(line),
                Output::Disconnect => self.hang_up(),
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
            Flow::Pass => self.platform.request(&request),
            Flow::Drop => None,
        };
        if request.purpose == Purpose::Activation && outcome.is_some() {
            self.activated_at = self.now();
        }
        let now = self.now();
        self.device.http_done(request.purpose, outcome, now);
    }

    fn send_datagram(&mut self, server: &str, port: u16, mut bytes: Vec<u8>) {
        let hook = self.defect.as_mut().and_then(|d| d.datagram.as_mut());
        if hook.is_none_or(|hook| hook(&mut bytes) == Flow::Pass) {
            self.platform.send_datagram(server, port, &bytes);
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
                Some(_) if self.delay_ms > 0 => {
                    let due = self.now() + self.delay_ms;
                    self.schedule.push((due, Act::Send(frame)));
                }
                _ => self.send(frame),
            }
        }
        self.take_acts(acts);
    }

    fn log(&mut self, mut line: String) {
        let hook = self.defect.as_mut().and_then(|defect| defect.console.as_mut());
        if hook.is_none_or(|hook| hook(&mut line) == Flow::Pass) {
            self.platform.print(&line);
        }
    }

    fn send(&mut self, frame: Frame) {
        if !self.linked {
            return;
        }
        let identity = self.device.identity();
        let sent = match (identity.transport, frame) {
            (Transport::Websocket, frame) => self.platform.send(frame),
            // There are none on this transport.
            (Transport::Mqtt, Frame::Binary(_) | Frame::Close(_)) => true,
            (Transport::Mqtt, Frame::Text(text)) => self.publish(text.into_bytes()),
            (Transport::Mqtt, Frame::RawText(bytes)) => self.publish(bytes),
        };
        if !sent {
            self.hang_up();
        }
    }

    fn publish(&mut self, payload: Vec<u8>) -> bool {
        let mut publication = Publication {
            topic: self.device.identity().mqtt.publish_topic.clone(),
            qos: 0,
            retain: false,
            payload,
        };
        if let Some(hook) = self.defect.as_mut().and_then(|d| d.publication.as_mut()) {
            hook(&mut publication);
        }
        self.platform.publish(publication)
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
                let due = self.now() + delay;
                self.schedule.push((due, act));
            } else {
                self.perform(act);
            }
        }
    }

    fn perform(&mut self, act: Act) {
        match act {
            Act::Send(frame) => self.send(frame),
            Act::Print(line) => self.platform.print(&line),
            Act::Disconnect => self.hang_up(),
            Act::Hang => self.hung = true,
            Act::Pause(ms) => self.platform.pause(ms),
            Act::Exit => self.platform.end(EXIT_NO_SERVER),
            Act::Wake => self.with_defect(|defect, hands| {
                if let Some(hook) = &mut defect.wake {
                    hook(hands);
                }
            }),
            Act::Panic => self.reset(&console::PANIC, Reset::Software),
            Act::Restart => self.reset(&[], Reset::Software),
            Act::Reset(lines, reason) => self.reset(lines, reason),
        }
    }

    /// The chip starts again: nothing is said to the server, and what was planned is forgotten.
    fn reset(&mut self, lines: &[&str], reason: Reset) {
        for line in lines {
            self.platform.print(line);
        }
        self.hang_up();
        self.schedule.clear();
        self.boot(reason);
    }
}

#[cfg(test)]
mod tests;
