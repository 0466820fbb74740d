//! TCP/IP on one network card, polled.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use reference_device::Memory;
use smoltcp::config::DNS_MAX_SERVER_COUNT;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::Device;
use smoltcp::socket::{dhcpv4, dns, tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{DnsQueryType, EthernetAddress, HardwareAddress, IpAddress, IpCidr};

/// What a chip brings besides its network card.
pub trait Machine {
    /// Bytes that a connection keeps for each direction.
    const TCP_BUFFER: usize = TCP_BUFFER;

    /// Whether a ROM tells on the console why the machine starts.
    const HAS_ROM: bool = false;

    /// Milliseconds of a clock that does not go back.
    fn now_ms(&mut self) -> u64;

    /// A number that differs from boot to boot.
    fn seed(&mut self) -> u64;

    /// Waits until the network card has something, so many milliseconds at most. May return early.
    fn idle(&mut self, ms: u64);

    /// What is left of the memory, if the machine can tell.
    fn memory(&mut self) -> Option<Memory> {
        None
    }

    /// Prints a console line and pushes it out.
    fn print(&mut self, line: &str);

    /// Switches off.
    fn end(&mut self, code: u8) -> !;
}

/// Bytes that a connection of a chip keeps for each direction: a few segments. A device has two of them
/// at a time, to its server and for an HTTP request.
const TCP_BUFFER: usize = 8 << 10;

/// Datagrams that may wait to be sent, and their bytes.
const DATAGRAMS: usize = 16;
const DATAGRAM_BYTES: usize = 8 << 10;
/// Milliseconds that a connection may take to stand.
const CONNECT_MS: u64 = 10_000;
/// Milliseconds that a name server may take for an answer.
const RESOLVE_MS: u64 = 10_000;
/// Milliseconds that what was written may take to be acknowledged when the connection ends.
const FAREWELL_MS: u64 = 1_000;
/// Milliseconds that a connection may take to end after that. Its buffers are memory.
const LINGER_MS: u64 = 2_000;
/// Milliseconds between two looks while something is waited for that no frame may announce.
const LOOK_MS: u64 = 50;
/// First port for connections to servers (RFC 6335).
const FIRST_PORT: u16 = 49_152;

/// Numbers of errors, as the C library of the family has them.
const HOST_UNREACHABLE: i32 = 113;
const TIMED_OUT: i32 = 110;
const REFUSED: i32 = 111;
const OUT_OF_MEMORY: i32 = 12;

/// A connection, as a number.
pub(crate) type Stream = SocketHandle;

/// The network card with all that is open on it.
pub(crate) struct Stack<D, M> {
    device: D,
    pub(crate) machine: M,
    interface: Interface,
    sockets: SocketSet<'static>,
    dhcp: SocketHandle,
    dns: SocketHandle,
    /// The name that was resolved last, so that not every datagram asks for it again.
    known: Option<(String, Ipv4Addr)>,
    audio: SocketHandle,
    /// Connections that end by themselves, and when that has taken too long.
    ending: Vec<(Stream, u64)>,
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
        // One name at a time; the network tells who is to be asked.
        let dns = sockets.add(dns::Socket::new(&[], vec![None]));
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
            dns,
            known: None,
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
        self.interface.poll(now, &mut self.device, &mut self.sockets);
        match self.sockets.get_mut::<dhcpv4::Socket>(self.dhcp).poll() {
            None => {}
            Some(dhcpv4::Event::Configured(config)) => {
                let servers = config.dns_servers.iter().map(|&server| server.into());
                let servers: Vec<IpAddress> = servers.take(DNS_MAX_SERVER_COUNT).collect();
                self.interface.update_ip_addrs(|addresses| {
                    addresses.clear();
                    // It is empty.
                    let _ = addresses.push(IpCidr::Ipv4(config.address));
                });
                if let Some(router) = config.router {
                    // There is one route.
                    let _ = self.interface.routes_mut().add_default_ipv4_route(router);
                }
                self.sockets.get_mut::<dns::Socket>(self.dns).update_servers(&servers);
            }
            Some(dhcpv4::Event::Deconfigured) => {
                self.interface.update_ip_addrs(|addresses| addresses.clear());
                self.interface.routes_mut().remove_default_ipv4_route();
            }
        }
        let Stack { machine, sockets, ending, .. } = self;
        let now = machine.now_ms();
        ending.retain(|(stream, limit)| {
            let socket = sockets.get_mut::<tcp::Socket>(*stream);
            let is_open = socket.is_open() && socket.state() != tcp::State::TimeWait;
            if is_open && now >= *limit {
                // The next poll tells the other side, and after that it is closed.
                socket.abort();
                return true;
            }
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

    /// The address of a host: the one that stands there, or what the network's name server says.
    fn resolve(&mut self, host: &str) -> Result<Ipv4Addr, i32> {
        if let Ok(address) = host.parse() {
            return Ok(address);
        }
        if let Some((_, address)) = self.known.as_ref().filter(|(name, _)| name == host) {
            return Ok(*address);
        }
        let context = self.interface.context();
        let query = self
            .sockets
            .get_mut::<dns::Socket>(self.dns)
            .start_query(context, host, DnsQueryType::A)
            .map_err(|_| HOST_UNREACHABLE)?;
        let limit = self.machine.now_ms() + RESOLVE_MS;
        loop {
            self.poll();
            let is_late = self.machine.now_ms() >= limit;
            let socket = self.sockets.get_mut::<dns::Socket>(self.dns);
            match socket.get_query_result(query) {
                Err(dns::GetQueryResultError::Pending) if is_late => {
                    socket.cancel_query(query);
                    return Err(TIMED_OUT);
                }
                Err(dns::GetQueryResultError::Pending) => self.wait(LOOK_MS),
                Err(dns::GetQueryResultError::Failed) => return Err(HOST_UNREACHABLE),
                Ok(addresses) => {
                    // There is no other kind here.
                    let IpAddress::Ipv4(address) = addresses.first().ok_or(HOST_UNREACHABLE)?;
                    self.known = Some((host.into(), *address));
                    return Ok(*address);
                }
            }
        }
    }

    /// Connects; the error is the system's error number.
    pub(crate) fn connect(&mut self, host: &str, port: u16) -> Result<Stream, i32> {
        let address = self.resolve(host)?;
        let (Some(receive), Some(send)) = (zeroed(M::TCP_BUFFER), zeroed(M::TCP_BUFFER)) else {
            return Err(OUT_OF_MEMORY);
        };
        let (receive, send) = (tcp::SocketBuffer::new(receive), tcp::SocketBuffer::new(send));
        let mut socket = tcp::Socket::new(receive, send);
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

    /// Gives what has come, in pieces, as long as `take` takes some of it. False when nothing can come
    /// any more, and all was taken.
    pub(crate) fn receive(&mut self, stream: Stream, mut take: impl FnMut(&[u8]) -> usize) -> bool {
        let socket = self.sockets.get_mut::<tcp::Socket>(stream);
        while socket.can_recv() {
            let taken = socket.recv(|bytes| {
                let taken = take(bytes);
                (taken, taken)
            });
            if !taken.is_ok_and(|taken| taken > 0) {
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
        let Ok(address) = self.resolve(host) else {
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
        let limit = self.machine.now_ms() + LINGER_MS;
        self.ending.push((stream, limit));
    }

    /// Ends a connection at once.
    pub(crate) fn abort(&mut self, stream: Stream) {
        self.sockets.get_mut::<tcp::Socket>(stream).abort();
        self.poll();
        self.sockets.remove(stream);
    }
}

/// So many bytes, if there is memory for them.
fn zeroed(length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).ok()?;
    bytes.resize(length, 0);
    Some(bytes)
}

fn instant(machine: &mut impl Machine) -> Instant {
    Instant::from_millis(i64::try_from(machine.now_ms()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use smoltcp::phy::{DeviceCapabilities, Medium, RxToken, TxToken};
    use smoltcp::wire::Ipv4Packet;

    const SERVER: [u8; 4] = [10, 0, 2, 3];
    const NAME: &[u8] = b"\x05bench\x04home\0";

    /// A network with a name server that knows one name.
    #[derive(Default)]
    struct Wire(VecDeque<Vec<u8>>);

    struct Come(Vec<u8>);
    struct Go<'a>(&'a mut Wire);

    impl RxToken for Come {
        fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
            take(&self.0)
        }
    }

    impl TxToken for Go<'_> {
        fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
            let mut frame = vec![0; length];
            let done = fill(&mut frame);
            self.0.0.extend(reply(&frame));
            done
        }
    }

    impl Device for Wire {
        type RxToken<'a> = Come;
        type TxToken<'a> = Go<'a>;

        fn receive(&mut self, _: Instant) -> Option<(Come, Go<'_>)> {
            let frame = self.0.pop_front()?;
            Some((Come(frame), Go(self)))
        }

        fn transmit(&mut self, _: Instant) -> Option<Go<'_>> {
            Some(Go(self))
        }

        fn capabilities(&self) -> DeviceCapabilities {
            let mut capabilities = DeviceCapabilities::default();
            capabilities.medium = Medium::Ethernet;
            capabilities.max_transmission_unit = 1514;
            capabilities
        }
    }

    /// What the name server says to a frame: where it is (RFC 826), and what it knows (RFC 1035).
    fn reply(frame: &[u8]) -> Option<Vec<u8>> {
        const MAC: [u8; 6] = [2, 0, 0, 0, 0, 3];
        let mut reply = frame.to_vec();
        reply.copy_within(6..12, 0);
        reply[6..12].copy_from_slice(&MAC);
        match frame[12..14] {
            [8, 6] if frame[38..42] == SERVER => {
                reply[21] = 2;
                reply[22..28].copy_from_slice(&MAC);
                reply[28..32].copy_from_slice(&SERVER);
                reply[32..42].copy_from_slice(&frame[22..32]);
            }
            [8, 0] if frame[23] == 17 && frame[36..38] == [0, 53] => {
                let is_known = frame.windows(NAME.len()).any(|part| part == NAME);
                reply[44..46].copy_from_slice(if is_known { &[0x81, 0x80] } else { &[0x81, 0x83] });
                if is_known {
                    reply[49] = 1;
                    reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 9, 8, 7]);
                }
                let length = u16::try_from(reply.len()).ok()?;
                reply[16..18].copy_from_slice(&(length - 14).to_be_bytes());
                reply[26..30].copy_from_slice(&frame[30..34]);
                reply[30..34].copy_from_slice(&frame[26..30]);
                reply[34..36].copy_from_slice(&frame[36..38]);
                reply[36..38].copy_from_slice(&frame[34..36]);
                reply[38..40].copy_from_slice(&(length - 34).to_be_bytes());
                // None is allowed over IPv4.
                reply[40..42].fill(0);
                Ipv4Packet::new_unchecked(&mut reply[14..]).fill_checksum();
            }
            _ => return None,
        }
        Some(reply)
    }

    /// A machine whose time passes while it waits.
    struct Clock(u64);

    impl Machine for Clock {
        fn now_ms(&mut self) -> u64 {
            self.0
        }

        fn seed(&mut self) -> u64 {
            7
        }

        fn idle(&mut self, ms: u64) {
            self.0 += ms;
        }

        fn print(&mut self, _: &str) {}

        fn end(&mut self, code: u8) -> ! {
            panic!("switched off with {code}")
        }
    }

    #[test]
    fn names_are_asked_of_the_name_server() {
        let mut stack = Stack::new(Wire::default(), Clock(0), [2, 0, 0, 0, 0, 1]);
        // At first there is no address, and the stack is told so.
        stack.poll();
        stack.interface.update_ip_addrs(|addresses| {
            let own = IpCidr::new(IpAddress::v4(10, 0, 2, 15), 24);
            addresses.push(own).expect("room for one");
        });
        assert_eq!(stack.resolve("10.1.2.3"), Ok(Ipv4Addr::new(10, 1, 2, 3)));
        // Nobody has told whom to ask.
        assert!(stack.resolve("bench.home").is_err());
        let server = IpAddress::Ipv4(SERVER.into());
        stack.sockets.get_mut::<dns::Socket>(stack.dns).update_servers(&[server]);
        assert_eq!(stack.resolve("bench.home"), Ok(Ipv4Addr::new(10, 9, 8, 7)));
        assert_eq!(stack.resolve("nobody.home"), Err(HOST_UNREACHABLE));
        assert_eq!(stack.resolve("..."), Err(HOST_UNREACHABLE));
        // From memory: time stands still.
        let now = stack.machine.now_ms();
        assert_eq!(stack.resolve("bench.home"), Ok(Ipv4Addr::new(10, 9, 8, 7)));
        assert_eq!(stack.machine.now_ms(), now);
    }
}
