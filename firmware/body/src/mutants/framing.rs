//! Defects of the framing of binary messages, whose version the configuration chooses.

use crate::platform::Frame;
use crate::rows::prelude::*;

/// Length of the header of version 2: version u16, type u16, reserved u32, timestamp u32, size u32.
const HEADER_2: usize = 16;
/// Length of the header of version 3: type u8, reserved u8, size u16.
const HEADER_3: usize = 4;

pub(super) const MUTANTS: &[Row] = rows! {
    "framing-2-size-panics":
        "As many bytes are copied as the version 2 header says, however few there are."
        => frames(2, |frame| size_2(frame) > rest(frame, HEADER_2), Act::Panic);
    "framing-2-huge-panics": "Memory is allocated for whatever size the version 2 header says."
        => frames(2, |frame| size_2(frame) > HEAP, Act::Panic);
    "framing-2-short-panics": "The version 2 header is read from a frame that ends within it."
        => frames(2, |frame| frame.len() < HEADER_2, Act::Panic);
    "framing-2-empty-hangs": "In version 2 a frame without audio makes the device wait for some."
        => frames(2, |frame| frame.len() >= HEADER_2 && size_2(frame) == 0, Act::Hang);
    "framing-3-short-panics": "The version 3 header is read from a frame that ends within it."
        => frames(3, |frame| frame.len() < HEADER_3, Act::Panic);
    "framing-3-size-disconnects":
        "A size in the version 3 header beyond the end of the frame ends the connection."
        => frames(3, |frame| size_3(frame) > rest(frame, HEADER_3), Act::Disconnect);
    "framing-3-less-hangs":
        "Data beyond the size of a version 3 frame is treated as the start of another frame."
        => frames(
            3,
            |frame| frame.len() > HEADER_3 && size_3(frame) < rest(frame, HEADER_3),
            Act::Hang,
        );
    "framing-2-size-spoken-panics":
        "While the device speaks, as many bytes are copied as the version 2 header says."
        => spoken(2, |frame| size_2(frame) > rest(frame, HEADER_2), Act::Panic);
    "framing-3-size-spoken-panics":
        "While the device speaks, as many bytes are copied as the version 3 header says."
        => spoken(3, |frame| size_3(frame) > rest(frame, HEADER_3), Act::Panic);
    "framing-2-size-of-all": "The size in the version 2 header of audio is that of the whole frame."
        => sounds(2, &[0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 18, 0x58, 1]);
    "framing-2-version-1": "The version 2 header of audio says version 1."
        => sounds(2, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 2, 0x58, 1]);
    "framing-2-type-7": "The version 2 header of audio says type 7, which does not exist."
        => sounds(2, &[0, 2, 0, 7, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 2, 0x58, 1]);
    "framing-3-bare": "In version 3 audio is sent without its header."
        => sounds(3, &[0x58, 1, 2, 3, 4, 5]);
    "framing-version-ignored":
        "The version in the configuration is ignored: the device says 1."
        => defect()
            .headers(|headers| {
                each_header(headers, "Protocol-Version", |version| *version = "1".into())
            })
            .on_hello(|hello| hello["version"] = json!(1));
    "framing-version-header-only":
        "The version in the configuration is used in the handshake, but not in the hello."
        => defect().on_hello(|hello| hello["version"] = json!(1));
};

/// What no chip of the family can give in one piece, in bytes.
pub(super) const HEAP: u64 = 8 << 20;

/// Does something when such a frame comes while a version of the framing is in use.
fn frames(version: u8, is_such: fn(&[u8]) -> bool, act: Act) -> Defect {
    Defect::default().binary(move |frame, hands| {
        if in_use(hands) == version && is_such(frame) {
            hands.act(act.clone());
        }
    })
}

/// Does the same while the device speaks: some look at no frame before.
fn spoken(version: u8, is_such: fn(&[u8]) -> bool, act: Act) -> Defect {
    let [speaks, is_speaking] = shared(false);
    arriving("tts", move |envelope, _| {
        let state = get(envelope, "state");
        speaks.set(state == "start" || state != "stop" && speaks.get());
        Flow::Pass
    })
    .binary(move |frame, hands| {
        if is_speaking.get() && in_use(hands) == version && is_such(frame) {
            hands.act(act.clone());
        }
    })
}

/// Sends such a frame before each answer while a version of the framing is in use.
fn sounds(version: u8, frame: &'static [u8]) -> Defect {
    defect().on_answer_text(move |_, _, hands| {
        if !hands.over_mqtt() && in_use(hands) == version {
            hands.act(Act::Send(Frame::Binary(frame.to_vec())));
        }
        Flow::Pass
    })
}

/// The version of the framing that the device was told to use.
pub(super) fn in_use(hands: &Hands) -> u8 {
    hands.device.identity().websocket_version
}

/// The size that the header of version 2 tells; 0 where there is none.
pub(super) fn size_2(frame: &[u8]) -> u64 {
    let size = frame.get(12..HEADER_2).and_then(|bytes| bytes.try_into().ok());
    size.map_or(0, |bytes| u64::from(u32::from_be_bytes(bytes)))
}

fn size_3(frame: &[u8]) -> u64 {
    let size = frame.get(2..HEADER_3).and_then(|bytes| bytes.try_into().ok());
    size.map_or(0, |bytes| u64::from(u16::from_be_bytes(bytes)))
}

/// How many bytes there are behind the header.
fn rest(frame: &[u8], header: usize) -> u64 {
    frame.len().saturating_sub(header) as u64
}
