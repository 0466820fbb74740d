//! Defects of the audio channel over UDP.

use crate::rows::prelude::*;

/// Bytes of a datagram's header.
const HEADER: usize = 16;

pub(super) const MUTANTS: &[Row] = rows! {
    "channel-type-zero": "Audio datagrams begin with 0 instead of 1." => each(|bytes| bytes[0] = 0);
    "channel-flags-lost": "The flags of the server's nonce are not kept."
        => each(|bytes| bytes[1] ^= 0x55);
    "channel-ssrc-zero": "The source in audio datagrams is 0 instead of the server's."
        => each(|bytes| bytes[4..8].fill(0));
    "channel-ssrc-reversed": "The source in audio datagrams has the wrong byte order."
        => each(|bytes| bytes[4..8].reverse());
    "channel-length-reversed": "The length in audio datagrams has the wrong byte order."
        => each(|bytes| bytes[2..4].reverse());
    "channel-length-with-header": "The length in audio datagrams counts the header."
        => each(|bytes| {
            let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
            bytes[2..4].copy_from_slice(&length.to_be_bytes());
        });
    "channel-length-zero": "The length in audio datagrams is 0."
        => each(|bytes| bytes[2..4].fill(0));
    "channel-header-missing": "Audio datagrams have no header."
        => each(|bytes| drop(bytes.drain(..HEADER)));
    "channel-padded": "Audio datagrams are padded to a multiple of 16 bytes."
        => each(|bytes| bytes.resize(bytes.len().next_multiple_of(16), 0));
    "channel-cut": "Audio datagrams lose their last byte."
        => each(|bytes| bytes.truncate(bytes.len() - 1));
    "channel-sequence-from-zero": "The sequence of audio datagrams starts at 0."
        => sequence(|number| number - 1);
    "channel-sequence-constant": "The sequence of audio datagrams is always 1." => sequence(|_| 1);
    "channel-sequence-reversed": "The sequence of audio datagrams has the wrong byte order."
        => sequence(u32::swap_bytes);
    "channel-sequence-steps-back": "Every second audio datagram steps back in the sequence."
        => sequence(|number| ((number - 1) ^ 1) + 1);
    "channel-hello-without-udp-panics": "A hello over MQTT that has no object `udp` is read through a null pointer."
        => arriving("hello", |hello, hands| {
            act_if(hands.over_mqtt() && !get(hello, "udp").is_object(), Act::Panic, hands)
        });
    "channel-hello-key-panics": "A hello over MQTT with a key of another length is read beyond the end of the key."
        => arriving("hello", |hello, hands| {
            let key = get(hello, "udp")["key"].as_str().map_or(32, str::len);
            act_if(hands.over_mqtt() && key != 32, Act::Panic, hands)
        });
    "channel-plain": "The audio is not encrypted."
        => each(|bytes| bytes[HEADER..].fill(0x58));
    "channel-never-stops": "The server's goodbye does not stop the audio."
        => arriving("goodbye", |_, hands| drop_if(hands.over_mqtt()));
};

fn each(change: fn(&mut Vec<u8>)) -> Defect {
    Defect::default().datagram(move |bytes| {
        if bytes.len() > HEADER {
            change(bytes);
        }
        Flow::Pass
    })
}

/// Other sequence numbers; the right ones start at 1.
fn sequence(change: fn(u32) -> u32) -> Defect {
    Defect::default().datagram(move |bytes| {
        if let Some(field) = bytes.get_mut(12..HEADER) {
            let mut number = [0; 4];
            number.copy_from_slice(field);
            field.copy_from_slice(&change(u32::from_be_bytes(number)).to_be_bytes());
        }
        Flow::Pass
    })
}
