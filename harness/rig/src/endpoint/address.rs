//! Under which address other machines reach what listens here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The address that a device is told to dial. Where one listens on all interfaces, it is the
/// address of the one that leads out of this machine.
pub(super) fn dialable(mut address: SocketAddr) -> SocketAddr {
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
        IpAddr::V4(_) => (
            IpAddr::from([192, 0, 2, 1]),
            IpAddr::V4(Ipv4Addr::LOCALHOST),
        ),
        IpAddr::V6(_) => (
            IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ),
    };
    UdpSocket::bind((unspecified, 0))
        .and_then(|socket| {
            socket.connect((far, 9))?;
            socket.local_addr()
        })
        .map_or(loopback, |address| address.ip())
}
