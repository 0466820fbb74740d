//! Addresses of this host, as devices in an emulator's network see them.

use std::net::IpAddr;

/// An address of the host, as `host:port` or in a URL, as it is seen where this host's loopback is
/// `loopback`. All others are the same there.
pub(super) fn seen(address: &str, loopback: &str) -> String {
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), address),
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, format!(":{port}")),
        _ => (authority, String::new()),
    };
    let is_loopback = host == "localhost"
        || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback() || ip.is_unspecified());
    let host = if is_loopback { loopback } else { host };
    format!("{scheme}{host}{port}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loopback_has_another_address_in_an_emulator() {
        for (here, there) in [
            ("http://127.0.0.1:8003/ota/", "http://10.0.2.2:8003/ota/"),
            ("ws://localhost:1/x", "ws://10.0.2.2:1/x"),
            ("ws://0.0.0.0:1/x:y", "ws://10.0.2.2:1/x:y"),
            ("127.0.0.1:1883", "10.0.2.2:1883"),
            ("127.0.0.1", "10.0.2.2"),
            ("192.168.1.5:1883", "192.168.1.5:1883"),
            ("http://broker.lan/ota", "http://broker.lan/ota"),
        ] {
            assert_eq!(seen(here, "10.0.2.2"), there);
        }
    }
}
