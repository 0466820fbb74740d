//! Addresses of servers.

/// The parts of an address `scheme://host:port/path`, as far as a request needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Url<'a> {
    /// Host and, when it is given, port: what the header `Host` says.
    pub(crate) authority: &'a str,
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    /// Path and query; `/` when there is none.
    pub(crate) path: &'a str,
}

impl<'a> Url<'a> {
    /// Reads an address of this scheme; nobody here speaks TLS.
    pub(crate) fn read(url: &'a str, scheme: &str, default_port: u16) -> Option<Url<'a>> {
        let rest = url.strip_prefix(scheme)?.strip_prefix("://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (host, port) = host_and_port(authority, default_port)?;
        let path = path.split('#').next().unwrap_or_default();
        Some(Url { authority, host, port, path: if path.is_empty() { "/" } else { path } })
    }
}

/// The two parts of `host:port`.
pub(crate) fn host_and_port(authority: &str, default_port: u16) -> Option<(&str, u16)> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (authority, default_port),
    };
    (!host.is_empty()).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("ws://10.0.2.2:8000/a/b?c=d", Some(("10.0.2.2", 8000, "/a/b?c=d")))]
    #[case("ws://h", Some(("h", 80, "/")))]
    #[case("ws://h/x#y", Some(("h", 80, "/x")))]
    #[case("wss://h/", None)]
    #[case("ws://:80/", None)]
    #[case("ws://h:99999/", None)]
    #[case("h:80", None)]
    fn addresses_are_taken_apart(#[case] text: &str, #[case] expected: Option<(&str, u16, &str)>) {
        let url = Url::read(text, "ws", 80);
        assert_eq!(url.map(|url| (url.host, url.port, url.path)), expected);
    }
}
