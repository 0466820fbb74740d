//! A chip with a network card as the machine under the device.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use reference_body::{
    ConnectPlan, Dial, Event, Frame, LinkOptions, NO_SYSTEM_CODE, Platform, Publication,
};
use reference_device::{HttpOutcome, HttpRequest, LARGEST_MESSAGE, Memory};
use smoltcp::phy::Device;

use crate::http::{self, HeadReader, Progress, Reader, ResponseReader};
use crate::link::{self, Link, Protocol};
use crate::mqtt::Client;
use crate::stack::{Machine, Stack, Stream};
use crate::url::{Url, host_and_port};
use crate::websocket::{self, Decoder, Noise};

/// Milliseconds that a server may take for its answer to a handshake (WebSocket document).
const HANDSHAKE_MS: u64 = 10_000;
/// Milliseconds that an HTTP server may take (read timeout of the family's HTTP client).
const HTTP_MS: u64 = 30_000;
/// Milliseconds between two console lines while the network gives no address.
const NO_ADDRESS_MS: u64 = 2_000;
/// Port of an endpoint that names none. It means TLS, which nobody speaks here.
const TLS_PORT: u16 = 8883;

/// Sockets, a clock and a console, made of a network card and a [`Machine`].
pub struct Networked<D, M> {
    stack: Stack<D, M>,
    link: Option<Link>,
    noise: Noise,
}

impl<D, M> core::fmt::Debug for Networked<D, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Networked").finish_non_exhaustive()
    }
}

impl<D: Device, M: Machine> Networked<D, M> {
    /// The network behind a card with this MAC address. Nothing is sent yet.
    pub fn new(device: D, mut machine: M, mac: [u8; 6]) -> Self {
        let noise = Noise::new(machine.seed());
        Networked { stack: Stack::new(device, machine, mac), link: None, noise }
    }

    /// Waits until the network has given an address, however long that takes.
    pub fn bring_up(&mut self) {
        let mut told = self.stack.machine.now_ms();
        loop {
            self.stack.poll();
            if let Some(address) = self.stack.address() {
                let now = self.stack.machine.now_ms();
                let line = format!("I ({now}) esp_netif_handlers: sta ip: {address}");
                return self.stack.machine.print(&line);
            }
            let now = self.stack.machine.now_ms();
            if now >= told + NO_ADDRESS_MS {
                told = now;
                let line = format!("W ({now}) esp_netif_handlers: no address from the network yet");
                self.stack.machine.print(&line);
            }
            self.stack.wait(NO_ADDRESS_MS);
        }
    }

    /// Moves what there is to move on the connection to the server.
    fn pump(&mut self) {
        self.stack.poll();
        let Networked { stack, link, noise } = self;
        let Some(link) = link else { return };
        let is_open = stack.receive(link.stream, |bytes| link.feed(bytes, noise));
        let outgoing = link.take_outgoing(stack.machine.now_ms());
        if !outgoing.is_empty() {
            stack.send(link.stream, &outgoing);
        }
        if !is_open {
            link.closed();
        }
    }

    /// Waits for the network card, until a moment at most; false when it has come.
    fn wait_until(&mut self, limit: u64) -> bool {
        let now = self.stack.machine.now_ms();
        let ping = self.link.as_ref().and_then(Link::ping_due);
        let next = ping.map_or(limit, |ping| ping.min(limit));
        if next > now {
            self.stack.wait(next - now);
        }
        now < limit
    }

    fn dial_websocket(
        &mut self,
        url: &str,
        headers: &[(&'static str, String)],
        options: LinkOptions,
    ) -> Result<Link, i32> {
        let url = Url::read(url, "ws", 80).ok_or(NO_SYSTEM_CODE)?;
        let stream = self.stack.connect(url.host, url.port)?;
        let request = websocket::handshake(&url, headers, &mut self.noise);
        // What follows the head stays where it is, for the connection.
        let answer = self.ask(stream, &request, HANDSHAKE_MS, HeadReader::default());
        if answer != Progress::Complete(101) {
            self.stack.abort(stream);
            return Err(NO_SYSTEM_CODE);
        }
        let protocol = Protocol::Websocket { decoder: Decoder::default(), options };
        Ok(Link::new(stream, protocol))
    }

    fn dial_mqtt(&mut self, plan: &ConnectPlan) -> Result<Link, i32> {
        let endpoint = host_and_port(&plan.settings.endpoint, TLS_PORT);
        let (host, port) = endpoint.filter(|(_, port)| *port != TLS_PORT).ok_or(NO_SYSTEM_CODE)?;
        let mut client = Box::new(Client::new(plan)?);
        let stream = self.stack.connect(host, port)?;
        let limit = self.stack.machine.now_ms() + HANDSHAKE_MS;
        let consent = loop {
            let outgoing = client.take_outgoing();
            if !outgoing.is_empty() && !self.stack.send(stream, &outgoing) {
                break Err(NO_SYSTEM_CODE);
            }
            self.stack.poll();
            let is_open = self.stack.receive(stream, |bytes| {
                // A message that comes before the consent is none for this device.
                let mut rest = bytes;
                while client.consent().is_none() && !rest.is_empty() {
                    client.feed(&mut rest);
                }
                bytes.len() - rest.len()
            });
            if let Some(consent) = client.consent() {
                break consent;
            }
            let now = self.stack.machine.now_ms();
            if !is_open || client.is_closed() || now >= limit {
                break Err(NO_SYSTEM_CODE);
            }
            self.stack.wait(limit - now);
        };
        if let Err(code) = consent {
            self.stack.abort(stream);
            return Err(code);
        }
        let now = self.stack.machine.now_ms();
        let ping = plan.ping_interval_ms().map(|interval| (now + interval, interval));
        Ok(Link::new(stream, Protocol::Mqtt { client, ping }))
    }

    /// Sends a request and reads on until `reader` is content, or it is not to be.
    fn ask<R: Reader>(
        &mut self,
        stream: Stream,
        request: &[u8],
        limit_ms: u64,
        mut reader: R,
    ) -> Progress<R::Output> {
        let limit = self.stack.machine.now_ms() + limit_ms;
        if !self.stack.send(stream, request) {
            return Progress::Invalid;
        }
        loop {
            let is_open = self.stack.receive(stream, |part| reader.feed(part));
            match reader.progress(!is_open) {
                Progress::Partial => {}
                done => return done,
            }
            if !is_open || !self.wait_until(limit) {
                return Progress::Invalid;
            }
            // The connection to the server shows life meanwhile.
            self.pump();
        }
    }
}

impl<D: Device, M: Machine> Platform for Networked<D, M> {
    fn now(&mut self) -> u64 {
        self.stack.machine.now_ms()
    }

    fn pause(&mut self, ms: u64) {
        let limit = self.now() + ms;
        while self.now() < limit {
            self.stack.poll();
            let left = limit.saturating_sub(self.now());
            self.stack.wait(left);
        }
    }

    fn memory(&mut self) -> Option<Memory> {
        self.stack.machine.memory()
    }

    fn has_rom(&self) -> bool {
        M::HAS_ROM
    }

    fn print(&mut self, line: &str) {
        self.stack.machine.print(line);
    }

    fn dial(&mut self, dial: &Dial<'_>) -> Result<(), i32> {
        self.hang_up();
        self.link = Some(match dial {
            Dial::Websocket { url, headers, options } => {
                self.dial_websocket(url, headers, *options)?
            }
            Dial::Mqtt(plan) => self.dial_mqtt(plan)?,
        });
        Ok(())
    }

    fn read(&mut self, patience_ms: u64) -> Event {
        let limit = self.now() + patience_ms;
        loop {
            self.pump();
            match &mut self.link {
                None => return Event::Closed,
                Some(link) => {
                    if let Some(event) = link.next_event() {
                        return event;
                    }
                }
            }
            if !self.wait_until(limit) {
                return Event::Nothing;
            }
        }
    }

    fn send(&mut self, frame: Frame) -> bool {
        let Some(link) = &self.link else { return false };
        let bytes = link::encode(frame, &mut self.noise);
        self.stack.send(link.stream, &bytes)
    }

    fn publish(&mut self, publication: Publication) -> bool {
        let Some(link) = &mut self.link else {
            return false;
        };
        let Protocol::Mqtt { client, .. } = &mut link.protocol else {
            return false;
        };
        let is_published = client.publish(publication);
        let bytes = client.take_outgoing();
        is_published && self.stack.send(link.stream, &bytes)
    }

    fn hang_up(&mut self) {
        if let Some(link) = self.link.take() {
            self.stack.close(link.stream);
        }
    }

    fn request(&mut self, request: &HttpRequest) -> HttpOutcome {
        let url = Url::read(&request.url, "http", 80)?;
        let stream = self.stack.connect(url.host, url.port).ok()?;
        let bytes = http::request(request, &url);
        let answer = self.ask(stream, &bytes, HTTP_MS, ResponseReader::default());
        match answer {
            Progress::Complete(answer) => {
                self.stack.close(stream);
                Some(answer)
            }
            Progress::TooLarge(bytes) => {
                self.stack.abort(stream);
                let now = self.now();
                let line = format!(
                    "E ({now}) HttpClient: Body of {bytes} bytes refused, \
                     at most {LARGEST_MESSAGE} are taken while memory lasts"
                );
                self.print(&line);
                None
            }
            Progress::Partial | Progress::Invalid => {
                self.stack.close(stream);
                None
            }
        }
    }

    fn send_datagram(&mut self, server: &str, port: u16, bytes: &[u8]) {
        self.stack.send_datagram(server, port, bytes);
    }

    fn end(&mut self, code: u8) -> ! {
        self.stack.machine.end(code)
    }
}
