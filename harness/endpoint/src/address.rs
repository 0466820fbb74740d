//! Under which address other machines reach what listens here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::InterfaceFlags;

/// Interfaces that only virtual machines and containers of this host are behind, by the beginnings of their
/// names.
const OF_THIS_HOST: [&str; 12] = [
    "docker", "br-", "veth", "virbr", "lxc", "lxd", "cni", "flannel", "podman", "vmnet", "vboxnet",
    "bridge",
];

/// The networks that this host is in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks {
    /// The address of this host on the default route; none where there is no such route.
    pub outward: Option<Ipv4Addr>,
    /// The interfaces that other machines may be behind.
    pub interfaces: Vec<Interface>,
}

/// A network interface of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name, such as `wlan0`.
    pub name: String,
    /// The address of this host there.
    pub address: Ipv4Addr,
}

/// Looks which networks this host is in. IPv4 only: firmware of the family speaks no other.
pub fn networks() -> Networks {
    let far = outward_address(Ipv4Addr::UNSPECIFIED.into());
    let outward = match far {
        IpAddr::V4(address) if !address.is_loopback() => Some(address),
        _ => None,
    };
    // Where the system does not tell, the default route is all that is known.
    let told = getifaddrs().into_iter().flatten();
    let interfaces = told.filter_map(|told| {
        let address = told.address?.as_sockaddr_in()?.ip();
        let is_up = told.flags.contains(InterfaceFlags::IFF_UP);
        let is_inner = OF_THIS_HOST.iter().any(|start| told.interface_name.starts_with(start));
        let leads_out = is_up
            && !address.is_loopback()
            && !address.is_link_local()
            && (!is_inner || outward == Some(address));
        leads_out.then_some(Interface { name: told.interface_name, address })
    });
    Networks { outward, interfaces: interfaces.collect() }
}

/// What is wrong with the network of this host, where it was listened at an address of it: its interface is down, has no
/// carrier, or has another address now. `None` where nothing is, or where the system does not tell.
pub(crate) fn lost(address: IpAddr) -> Option<String> {
    if address.is_unspecified() {
        return None;
    }
    let here = |told: &InterfaceAddress| {
        let own = told.address.as_ref()?;
        let v4 = own.as_sockaddr_in().map(|own| IpAddr::V4(own.ip()));
        v4.or_else(|| own.as_sockaddr_in6().map(|own| IpAddr::V6(own.ip())))
    };
    let works = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
    let all: Vec<InterfaceAddress> = getifaddrs().ok()?.collect();
    // Any address of the loopback network is this host's, without being listed.
    let own: Vec<_> = all.iter().filter(|told| here(told) == Some(address)).collect();
    match own.first() {
        _ if own.iter().any(|told| told.flags.contains(works)) => None,
        Some(told) => Some(format!(
            "the network of this host is down: its interface `{}`, with the address {address}, has no link",
            told.interface_name
        )),
        None if address.is_loopback() => None,
        None => Some(format!(
            "the network of this host has changed: no interface has the address {address} any more"
        )),
    }
}

/// The address that a device is told to dial. Where one listens on all interfaces, it is the
/// address of the one that leads out of this machine.
pub fn dialable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(outward_address(address.ip()));
    }
    address
}

/// The address under which other machines reach this one, or the loopback address when there is
/// no network. Connecting a UDP socket sends nothing; it only asks the routing table.
fn outward_address(unspecified: IpAddr) -> IpAddr {
    // Addresses reserved for documentation: routed as any other, never used by anybody.
    let (far, loopback) = match unspecified {
        IpAddr::V4(_) => (IpAddr::from([192, 0, 2, 1]), IpAddr::V4(Ipv4Addr::LOCALHOST)),
        IpAddr::V6(_) => {
            (IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]), IpAddr::V6(Ipv6Addr::LOCALHOST))
        }
    };
    UdpSocket::bind((unspecified, 0))
        .and_then(|socket| {
            socket.connect((far, 9))?;
            socket.local_addr()
        })
        .map_or(loopback, |address| address.ip())
}
