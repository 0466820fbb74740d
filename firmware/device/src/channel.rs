//! The audio channel of the MQTT transport: one UDP datagram a frame, encrypted.
//!
//! A datagram is a header of 16 bytes and the frame, enciphered with AES-128 in counter mode; the
//! header is the initial counter. The server gives key and header ("nonce"); the device fills in
//! length, time and sequence: `01 | flags | length u16 | ssrc u32 | timestamp u32 | sequence u32`.

use alloc::string::String;
use alloc::vec::Vec;

use aes::Aes128;
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit, StreamCipher};

use crate::json::{Object, Text};
use crate::limits::LONGEST_SETTING;

/// Bytes of the header, of the key, and of AES's block.
const BLOCK: usize = 16;

/// An open channel.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    pub(crate) server: String,
    pub(crate) port: u16,
    key: [u8; BLOCK],
    nonce: [u8; BLOCK],
    /// Of the datagram that was sent last; the first one is 1.
    sequence: u32,
}

impl Channel {
    /// The channel that a server's hello describes; the error is what the console says.
    pub(crate) fn from_hello(hello: Object<'_>) -> Result<Channel, &'static str> {
        let Some(udp) = hello.object("udp") else {
            return Err("UDP is not specified");
        };
        let server = udp.text("server").and_then(|server| server.copy(LONGEST_SETTING));
        let server = server.unwrap_or_default();
        let port = udp.get("port").and_then(|port| port.as_u64());
        let port = port.and_then(|port| u16::try_from(port).ok()).unwrap_or(0);
        if server.is_empty() || port == 0 {
            return Err("Invalid UDP server or port");
        }
        let (Some(key), Some(nonce)) = (block(udp.text("key")), block(udp.text("nonce"))) else {
            return Err("Invalid AES key or nonce length");
        };
        Ok(Channel { server, port, key, nonce, sequence: 0 })
    }

    /// The datagram for the next frame of `frame_ms` milliseconds.
    pub(crate) fn datagram(&mut self, frame: &[u8], frame_ms: u64) -> Vec<u8> {
        self.sequence = self.sequence.wrapping_add(1);
        let timestamp = u64::from(self.sequence).wrapping_mul(frame_ms) as u32;
        let length = u16::try_from(frame.len()).unwrap_or(u16::MAX);
        let mut header = self.nonce;
        header[2..4].copy_from_slice(&length.to_be_bytes());
        header[8..12].copy_from_slice(&timestamp.to_be_bytes());
        header[12..16].copy_from_slice(&self.sequence.to_be_bytes());
        let mut datagram = Vec::with_capacity(BLOCK + frame.len());
        datagram.extend_from_slice(&header);
        datagram.extend_from_slice(frame);
        Ctr128BE::<Aes128>::new(&self.key.into(), &header.into())
            .apply_keystream(&mut datagram[BLOCK..]);
        datagram
    }
}

/// The 16 bytes that 32 hexadecimal digits spell.
fn block(hex: Option<Text<'_>>) -> Option<[u8; BLOCK]> {
    let mut digits = hex?.chars();
    let mut digit = || digits.next()?.to_digit(16);
    let mut out = [0; BLOCK];
    for byte in &mut out {
        *byte = u8::try_from(digit()? * 16 + digit()?).ok()?;
    }
    digits.next().is_none().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Value;
    use rstest::rstest;

    fn open(udp: &str) -> Result<Channel, &'static str> {
        let text = alloc::format!("{{\"udp\":{udp}}}");
        let hello = Value::read(&text).and_then(Value::as_object);
        Channel::from_hello(hello.expect("an object"))
    }

    const GOOD: &str = r#"{"server":"127.0.0.1","port":8884,
        "key":"2b7e151628aed2a6abf7158809cf4f3c","nonce":"01070000aabbccdd0000000000000000"}"#;

    #[test]
    fn the_header_is_filled_in_and_is_the_counter() {
        let mut channel = open(GOOD).expect("a channel");
        let frame = [7; 40];
        for sequence in 1..=3u32 {
            let datagram = channel.datagram(&frame, 60);
            assert_eq!(datagram.len(), 56);
            assert_eq!(datagram[..8], [1, 7, 0, 40, 0xaa, 0xbb, 0xcc, 0xdd]);
            assert_eq!(datagram[8..12], (sequence * 60).to_be_bytes());
            assert_eq!(datagram[12..16], sequence.to_be_bytes());
            let header: [u8; 16] = datagram[..16].try_into().expect("a header");
            let mut plain = datagram[16..].to_vec();
            Ctr128BE::<Aes128>::new(&channel.key.into(), &header.into())
                .apply_keystream(&mut plain);
            assert_eq!(plain, frame);
        }
    }

    fn hex(text: &str) -> Option<Text<'_>> {
        Value::read(text)?.as_text()
    }

    /// NIST SP 800-38A, F.5.1, first block: the cipher is the one that others mean.
    #[test]
    fn the_cipher_is_aes_128_in_counter_mode() {
        let key = block(hex(r#""2b7e151628aed2a6abf7158809cf4f3c""#)).expect("16 bytes");
        let counter = block(hex(r#""f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff""#)).expect("16 bytes");
        let mut text = block(hex(r#""6bc1bee22e409f96e93d7e117393172a""#)).expect("16 bytes");
        Ctr128BE::<Aes128>::new(&key.into(), &counter.into()).apply_keystream(&mut text);
        assert_eq!(Some(text), block(hex(r#""874d6191b620e3261bef6864990db6ce""#)));
    }

    #[rstest]
    #[case("null")]
    #[case(r#"{"port":1,"key":"2b7e151628aed2a6abf7158809cf4f3c","nonce":"01000000000000000000000000000000"}"#)]
    #[case(r#"{"server":"h","port":0,"key":"2b7e151628aed2a6abf7158809cf4f3c","nonce":"01000000000000000000000000000000"}"#)]
    #[case(r#"{"server":"h","port":65536,"key":"2b7e151628aed2a6abf7158809cf4f3c","nonce":"01000000000000000000000000000000"}"#)]
    #[case(r#"{"server":"h","port":1,"key":"2b7e","nonce":"01000000000000000000000000000000"}"#)]
    #[case(r#"{"server":"h","port":1,"key":"2b7e151628aed2a6abf7158809cf4f3c","nonce":"zz000000000000000000000000000000"}"#)]
    #[case(r#"{"server":"h","port":1,"key":"+b7e151628aed2a6abf7158809cf4f3c","nonce":"01000000000000000000000000000000"}"#)]
    fn a_malformed_section_opens_nothing(#[case] udp: &str) {
        assert!(open(udp).is_err());
    }
}
