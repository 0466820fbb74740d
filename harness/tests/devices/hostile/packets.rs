//! Packets of MQTT, byte by byte.

/// A packet: its first byte, its length, its body.
pub(crate) fn packet(first: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    let mut length = body.len();
    loop {
        let more = if length > 0x7f { 0x80 } else { 0 };
        bytes.push(u8::try_from(length & 0x7f).unwrap() | more);
        length >>= 7;
        if length == 0 {
            break;
        }
    }
    bytes.extend(body);
    bytes
}

/// A text with its length before it.
pub(crate) fn string(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap();
    [&length.to_be_bytes()[..], text.as_bytes()].concat()
}
