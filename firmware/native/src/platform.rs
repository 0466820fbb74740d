//! The host as the machine under the device: its sockets, its clock, its stdout.

use std::io::{self, Write};
use std::process;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use reference_body::{Dial, Event, Frame, Platform, Publication};
use reference_device::{HttpOutcome, HttpRequest, LARGEST_MESSAGE, Memory};

use crate::http;
use crate::link::Link;
use crate::memory;
use crate::mqtt::MqttLink;
use crate::udp::AudioSocket;

/// The process that the device lives in.
#[derive(Debug)]
pub(crate) struct Host {
    started: Instant,
    line: Option<Line>,
    audio: AudioSocket,
    /// Presses of the button, as lines on standard input tell them.
    button: Option<Receiver<()>>,
}

/// A connection over one of the two transports.
#[derive(Debug)]
enum Line {
    Websocket(Box<Link>),
    Mqtt(MqttLink),
}

impl Host {
    pub(crate) fn new() -> Self {
        Host { started: Instant::now(), line: None, audio: AudioSocket::default(), button: None }
    }

    /// A host whose standard input is the device's button: a line `button` presses it.
    pub(crate) fn with_button() -> Self {
        let (press, button) = mpsc::channel();
        thread::spawn(move || {
            for line in io::stdin().lines().map_while(Result::ok) {
                if line.trim() == "button" && press.send(()).is_err() {
                    return;
                }
            }
        });
        Host { button: Some(button), ..Host::new() }
    }
}

impl Platform for Host {
    fn now(&mut self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn pause(&mut self, ms: u64) {
        thread::sleep(Duration::from_millis(ms));
    }

    fn memory(&mut self) -> Option<Memory> {
        memory::left()
    }

    /// A line at a time, as a serial port would deliver it. A reader who went away does not stop a
    /// device.
    fn print(&mut self, line: &str) {
        let mut out = io::stdout().lock();
        let written = writeln!(out, "{line}").and_then(|()| out.flush());
        if written.is_err() && self.button.is_some() {
            // Such a device lives for ever, and nobody is left who could end it.
            process::exit(1);
        }
    }

    fn dial(&mut self, dial: &Dial<'_>) -> Result<(), i32> {
        self.line = Some(match dial {
            Dial::Websocket { url, headers, options } => {
                Line::Websocket(Box::new(Link::dial(url, headers, *options)?))
            }
            Dial::Mqtt(plan) => {
                memory::allow_mqtt();
                Line::Mqtt(MqttLink::dial(plan)?)
            }
        });
        Ok(())
    }

    fn read(&mut self, patience_ms: u64) -> Event {
        let patience = Duration::from_millis(patience_ms);
        match &mut self.line {
            Some(Line::Websocket(link)) => link.read(patience),
            Some(Line::Mqtt(link)) => link.read(patience),
            None => Event::Closed,
        }
    }

    fn send(&mut self, frame: Frame) -> bool {
        match &mut self.line {
            Some(Line::Websocket(link)) => link.send(frame),
            Some(Line::Mqtt(_)) | None => false,
        }
    }

    fn publish(&mut self, publication: Publication) -> bool {
        match &mut self.line {
            Some(Line::Mqtt(link)) => link.publish(publication),
            Some(Line::Websocket(_)) | None => false,
        }
    }

    fn hang_up(&mut self) {
        self.line = None;
    }

    fn request(&mut self, request: &HttpRequest) -> HttpOutcome {
        match http::perform(request) {
            http::Outcome::Answer(answer) => Some(answer),
            http::Outcome::None => None,
            http::Outcome::TooLarge => {
                // Without a time: the log's clock is that of the device, and began with its latest start.
                self.print(&format!(
                    "HttpClient: Body refused, at most {LARGEST_MESSAGE} bytes are taken"
                ));
                None
            }
        }
    }

    fn send_datagram(&mut self, server: &str, port: u16, bytes: &[u8]) {
        self.audio.send(server, port, bytes);
    }

    fn pressed(&mut self) -> bool {
        let presses = self.button.iter().flat_map(Receiver::try_iter);
        presses.count() > 0
    }

    fn end(&mut self, code: u8) -> ! {
        process::exit(i32::from(code))
    }
}
