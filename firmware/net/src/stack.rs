//! TCP/IP on one network card, polled.

use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::Device;
use smoltcp::socket::{dhcpv4, tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr};

/// What a chip brings besides its network card.
pub trait Machine {
    /// Bytes that a connection keeps for each direction.
    const TCP_BUFFER: usize = 64 << 10;

    /// Whether a ROM tells on the console why the machine starts.
    const HAS_ROM: bool = false;

    /// Milliseconds of a clock that does not go back.
    fn now_ms(&mut self) -> u64;

    /// A number that differs from boot to boot.
    fn seed(&mut self) -> u64;

    /// Waits until the network card has something, so many milliseconds at most. May return early.
    fn idle(&mut self, ms: u64);

    /// Prints a console line and pushes it out.
    fn print(&mut self, line: &str);

    /// Switches off.
    fn end(&mut self, code: u8) -> !;
}

/// Datagrams that may wait to be sent, and their bytes.
const DATAGRAMS: usize = 16;
const DATAGRAM_BYTES: usize = 8 << 10;
/// Milliseconds that a connection may take to stand.
const CONNECT_MS: u64 = 10_000;
/// Milliseconds that what was written may take to be acknowledged when the connection ends.
const FAREWELL_MS: u64 = 1_000;
/// Milliseconds between two looks while something is waited for that no frame may announce.
const LOOK_MS: u64 = 50;
/// First port for connections to servers (RFC 6335).
const FIRST_PORT: u16 = 49_152;

/// Numbers of errors, as the C library of the family has them.
const HOST_UNREACHABLE: i32 = 113;
const TIMED_OUT: i32 = 110;
const REFUSED: i32 = 111;

/// A connection, as a number.
pub(crate) type Stream = SocketHandle;

/// The network card with all that is open on it.
pub(crate) struct Stack<D, M> {
    device: D,
    pub(crate) machine: M,
    interface: Interface,
    sockets: SocketSet<'static>,
    dhcp: SocketHandle,
    audio: SocketHandle,
    /// Connections that end by themselves.
    ending: Vec<Stream>,
    ports: u16,
}

impl<D: Device, M: Machine> Stack<D, M> {
    pub(crate) fn new(mut device: D, mut machine: M, mac: [u8; 6]) -> Self {
        let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(mac)));
        config.random_seed = machine.seed();
        let now = instant(&mut machine);
        let interface = Interface::new(config, &mut device, now);
        let mut sockets = SocketSet::new(Vec::new());
        let dhcp = sockets.add(dhcpv4::Socket::new());
        let buffer = |count, bytes| {
            udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; count], vec![0; bytes])
        };
        // The device listens to no sound.
        let mut socket = udp::Socket::new(buffer(1, 1), buffer(DATAGRAMS, DATAGRAM_BYTES));
        // The port is free: nothing else is open yet.
        let _ = socket.bind(FIRST_PORT - 1);
        let audio = sockets.add(socket);
        let ports = (machine.seed() % 8192) as u16;
        Stack {
            device,
            machine,
            interface,
            sockets,
            dhcp,
            audio,
            ending: Vec::new(),
            ports,
        }
    }

    /// The own address, once the network has given one.
    pub(crate) fn address(&self) -> Option<Ipv4Addr> {
        self.interface.ipv4_addr()
    }

    /// Moves packets.
    pub(crate) fn poll(&mut self) {
        let now = instant(&mut self.machine);
        self.interface
            .poll(now, &mut self.device, &mut self.sockets);
        match self.sockets.get_mut::<dhcpv4::Socket>(self.dhcp).poll() {
            None => {}
            Some(dhcpv4::Event::Configured(config)) => {
                self.interface.update_ip_addrs(|addresses| {
                    addresses.clear();
                    // It is empty.
                    let _ = addresses.push(IpCidr::Ipv4(config.address));
                });
                if let Some(router) = config.router {
                    // There is one route.
                    let _ = self.interface.routes_mut().add_default_ipv4_route(router);
                }
            }
            Some(dhcpv4::Event::Deconfigured) => {
                self.interface
                    .update_ip_addrs(|addresses| addresses.clear());
                self.interface.routes_mut().remove_default_ipv4_route();
            }
        }
        let Stack {
            sockets, ending, ..
        } = self;
        ending.retain(|stream| {
            let socket = sockets.get::<tcp::Socket>(*stream);
            let is_open = socket.is_open() && socket.state() != tcp::State::TimeWait;
            if !is_open {
                sockets.remove(*stream);
            }
            is_open
        });
    }

    /// Waits for the network card, or until the network wants something, so many milliseconds at
    /// most.
    pub(crate) fn wait(&mut self, ms: u64) {
        let now = instant(&mut self.machine);
        let own = self.interface.poll_delay(now, &self.sockets);
        let ms = own.map_or(ms, |own| own.total_millis().min(ms));
        if ms > 0 {
            self.machine.idle(ms);
        }
    }

    /// Connects; the error is the system's error number. Hosts are addresses: nobody resolves names
    /// here.
    pub(crate) fn connect(&mut self, host: &str, port: u16) -> Result<Stream, i32> {
        let address: Ipv4Addr = host.parse().map_err(|_| HOST_UNREACHABLE)?;
        let buffer = || tcp::SocketBuffer::new(vec![0; M::TCP_BUFFER]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(false);
        socket.set_ack_delay(None);
        self.ports = (self.ports + 1) % (u16::MAX - FIRST_PORT);
        let local = FIRST_PORT + self.ports;
        socket
            .connect(self.interface.context(), (address, port), local)
            .map_err(|_| HOST_UNREACHABLE)?;
        let stream = self.sockets.add(socket);
        let limit = self.machine.now_ms() + CONNECT_MS;
        loop {
            self.poll();
            match self.sockets.get::<tcp::Socket>(stream).state() {
                tcp::State::SynSent if self.machine.now_ms() < limit => self.wait(LOOK_MS),
                tcp::State::SynSent => {
                    self.abort(stream);
                    return Err(TIMED_OUT);
                }
                tcp::State::Closed => {
                    self.sockets.remove(stream);
                    return Err(REFUSED);
                }
                _ => return Ok(stream),
            }
        }
    }

    /// Takes what has come, in pieces. False when nothing can come any more.
    pub(crate) fn receive(&mut self, stream: Stream, mut take: impl FnMut(&[u8])) -> bool {
        let socket = self.sockets.get_mut::<tcp::Socket>(stream);
        while socket.can_recv() {
            let taken = socket.recv(|bytes| {
                take(bytes);
                (bytes.len(), ())
            });
            if taken.is_err() {
                break;
            }
        }
        socket.may_recv()
    }

    /// Sends all; false when the connection is gone.
    pub(crate) fn send(&mut self, stream: Stream, mut bytes: &[u8]) -> bool {
        loop {
            let socket = self.sockets.get_mut::<tcp::Socket>(stream);
            let Ok(sent) = socket.send_slice(bytes) else {
                return false;
            };
            bytes = &bytes[sent..];
            self.poll();
            if bytes.is_empty() {
                return true;
            }
            if !self.sockets.get::<tcp::Socket>(stream).can_send() {
                self.wait(LOOK_MS);
            }
        }
    }

    /// Sends a datagram. What finds no room is lost.
    pub(crate) fn send_datagram(&mut self, host: &str, port: u16, bytes: &[u8]) {
        let Ok(address) = host.parse::<Ipv4Addr>() else {
            return;
        };
        let socket = self.sockets.get_mut::<udp::Socket>(self.audio);
        let _ = socket.send_slice(bytes, (address, port));
        self.poll();
    }

    /// Ends a connection once what was written is out.
    pub(crate) fn close(&mut self, stream: Stream) {
        self.sockets.get_mut::<tcp::Socket>(stream).close();
        let limit = self.machine.now_ms() + FAREWELL_MS;
        loop {
            self.poll();
            let socket = self.sockets.get::<tcp::Socket>(stream);
            let is_told = matches!(
                socket.state(),
                tcp::State::FinWait2 | tcp::State::TimeWait | tcp::State::Closed
            );
            if is_told || self.machine.now_ms() >= limit {
                break;
            }
            self.wait(LOOK_MS);
        }
        self.ending.push(stream);
    }

    /// Ends a connection at once.
    pub(crate) fn abort(&mut self, stream: Stream) {
        self.sockets.get_mut::<tcp::Socket>(stream).abort();
        self.poll();
        self.sockets.remove(stream);
    }
}

fn instant(machine: &mut impl Machine) -> Instant {
    Instant::from_millis(i64::try_from(machine.now_ms()).unwrap_or(i64::MAX))
}
