//! What speaks TLS to a port that does not.

/// Whether a connection begins with a handshake of TLS, as far as it has come.
pub(crate) fn begins_tls(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x16, 3])
}
