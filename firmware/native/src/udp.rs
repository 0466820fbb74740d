//! The socket of the audio channel.

use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};

/// Sends datagrams to one place at a time.
#[derive(Debug, Default)]
pub(crate) struct AudioSocket {
    open: Option<(String, u16, UdpSocket)>,
}

impl AudioSocket {
    /// Sends. What cannot be sent is lost, as sound is.
    pub(crate) fn send(&mut self, server: &str, port: u16, bytes: &[u8]) {
        let is_same =
            |(host, number, _): &(String, u16, UdpSocket)| host == server && *number == port;
        if !self.open.as_ref().is_some_and(is_same) {
            self.open = connect(server, port).map(|socket| (server.to_string(), port, socket));
        }
        if let Some((_, _, socket)) = &self.open {
            let _ = socket.send(bytes);
        }
    }
}

fn connect(server: &str, port: u16) -> Option<UdpSocket> {
    let address = (server, port).to_socket_addrs().ok()?.next()?;
    let local = match address {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    let socket = UdpSocket::bind(local).ok()?;
    socket.connect(address).ok()?;
    Some(socket)
}
