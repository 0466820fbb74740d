//! Acknowledges at once what a device has sent.
//!
//! A device's TCP holds a small segment back until the one before it is acknowledged (RFC 896), and this host's would
//! put that off for 40 ms, in the hope of something to send along (RFC 1122, 4.2.3.2). So each answer behind a packet
//! of audio came 40 ms late, and what is late for no reason of the device's makes every wait longer that follows the
//! device's usual time.

use tokio::net::TcpStream;

/// What acknowledges on one connection. Elsewhere than on Linux it does nothing.
#[derive(Debug)]
pub(crate) struct Acks {
    #[cfg(target_os = "linux")]
    stream: Option<std::net::TcpStream>,
}

impl Acks {
    /// For this connection. It shares the socket, which is closed once both are gone.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(stream: &TcpStream) -> Self {
        use std::os::fd::AsFd as _;

        let stream = stream.as_fd().try_clone_to_owned().ok().map(Into::into);
        Self { stream }
    }

    /// For this connection.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(_: &TcpStream) -> Self {
        Self {}
    }

    /// Acknowledges what has come. The system forgets about it with the next segment that it sends, so this is said
    /// anew for everything that comes.
    pub(crate) fn now(&self) {
        #[cfg(target_os = "linux")]
        if let Some(stream) = &self.stream {
            use std::os::linux::net::TcpStreamExt as _;

            // An answer that comes a moment later is no trouble.
            let _ = stream.set_quickack(true);
        }
    }
}
