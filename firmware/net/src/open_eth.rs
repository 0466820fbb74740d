//! The OpenCores Ethernet MAC, polled: the network card that Espressif's emulator gives its chips,
//! which have no radio there.
//!
//! Registers and descriptors are those of the "Ethernet IP Core Specification" 1.7 of OpenCores, as
//! QEMU's `hw/net/opencores_eth.c` carries them out. A descriptor belongs to the card from the moment
//! its flag says so until the card clears it; the card walks both rings in order.

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

/// What the card and its memory look like from here: offsets are those of the card, in bytes.
pub trait Card {
    /// Reads a register or half a descriptor.
    fn read(&mut self, offset: usize) -> u32;

    /// Writes a register or half a descriptor.
    fn write(&mut self, offset: usize, value: u32);

    /// Where the card finds a buffer, as an address of its own. A buffer has [`BUFFER`] bytes.
    fn address(&self, buffer: usize) -> u32;

    /// Copies the beginning of a buffer out.
    fn load(&mut self, buffer: usize, frame: &mut [u8]);

    /// Fills the beginning of a buffer.
    fn store(&mut self, buffer: usize, frame: &[u8]);
}

/// Bytes of a buffer: the longest frame that the card writes, with its check sequence.
pub const BUFFER: usize = 0x600;
/// Buffers that the card uses, for both directions.
pub const BUFFERS: usize = SENT + RECEIVED;

/// Frames on their way out. The emulator sends while the descriptor is written.
const SENT: usize = 2;
/// Frames that may wait to be read. The card drops what finds no room.
const RECEIVED: usize = 16;
/// Bytes of an Ethernet frame without its check sequence.
const FRAME: usize = 1514;
/// Bytes of the check sequence, which counts as received.
const CHECK: usize = 4;

const MODE: usize = 0x00;
const INTERRUPTS: usize = 0x04;
const INTERRUPT_MASK: usize = 0x08;
const SENT_COUNT: usize = 0x20;
const MAC_LOW: usize = 0x40;
const MAC_HIGH: usize = 0x44;
const DESCRIPTORS: usize = 0x400;

const MODE_RECEIVE: u32 = 1 << 0;
const MODE_SEND: u32 = 1 << 1;
const MODE_FULL_DUPLEX: u32 = 1 << 10;
const MODE_RESET: u32 = 1 << 11;
const MODE_CHECK: u32 = 1 << 13;
const MODE_PAD: u32 = 1 << 15;

/// The descriptor is the card's: ready to be sent, or empty.
const CARDS: u32 = 1 << 15;
/// The last descriptor of its ring.
const LAST: u32 = 1 << 13;
/// To be sent with padding and check sequence.
const PAD: u32 = 1 << 12;
const ADD_CHECK: u32 = 1 << 11;
/// What went wrong while a frame was received, other than that it was for somebody else.
const FAULTS: u32 = 0x7f;
const LENGTH_SHIFT: u32 = 16;

/// The card as a device of the network stack.
#[derive(Debug)]
pub struct OpenEth<C> {
    card: C,
    /// The next descriptor of each ring.
    next_sent: usize,
    next_received: usize,
    /// The frame in hand, in either direction.
    frame: [u8; FRAME],
}

impl<C: Card> OpenEth<C> {
    /// Starts the card with this MAC address.
    pub fn new(mut card: C, mac: [u8; 6]) -> Self {
        card.write(MODE, MODE_RESET);
        card.write(MODE, 0);
        card.write(INTERRUPT_MASK, 0);
        card.write(INTERRUPTS, u32::MAX);
        let [a, b, c, d, e, f] = mac;
        card.write(MAC_LOW, u32::from_be_bytes([c, d, e, f]));
        card.write(MAC_HIGH, u32::from_be_bytes([0, 0, a, b]));
        card.write(SENT_COUNT, SENT as u32);
        for buffer in 0..BUFFERS {
            let address = card.address(buffer);
            card.write(descriptor(buffer) + 4, address);
            let flags = if buffer < SENT { 0 } else { CARDS };
            card.write(descriptor(buffer), flags | last(buffer));
        }
        let mode = MODE_RECEIVE | MODE_SEND | MODE_FULL_DUPLEX | MODE_CHECK | MODE_PAD;
        card.write(MODE, mode);
        OpenEth { card, next_sent: 0, next_received: SENT, frame: [0; FRAME] }
    }

    /// Takes the next frame off its ring; its length. Frames with faults are dropped.
    fn take(&mut self) -> Option<usize> {
        loop {
            let buffer = self.next_received;
            let flags = self.card.read(descriptor(buffer));
            if flags & CARDS != 0 {
                return None;
            }
            let length = ((flags >> LENGTH_SHIFT) as usize).saturating_sub(CHECK);
            let is_whole = flags & FAULTS == 0 && (1..=FRAME).contains(&length);
            if is_whole {
                self.card.load(buffer, &mut self.frame[..length]);
            }
            self.card.write(descriptor(buffer), CARDS | last(buffer));
            self.next_received = if last(buffer) == 0 { buffer + 1 } else { SENT };
            if is_whole {
                return Some(length);
            }
        }
    }

    fn can_send(&mut self) -> bool {
        self.card.read(descriptor(self.next_sent)) & CARDS == 0
    }

    fn send(&mut self, length: usize) {
        let buffer = self.next_sent;
        self.card.store(buffer, &self.frame[..length]);
        let length = (length as u32) << LENGTH_SHIFT;
        let flags = CARDS | PAD | ADD_CHECK | last(buffer) | length;
        self.card.write(descriptor(buffer), flags);
        self.next_sent = if last(buffer) == 0 { buffer + 1 } else { 0 };
    }
}

fn descriptor(buffer: usize) -> usize {
    DESCRIPTORS + 8 * buffer
}

fn last(buffer: usize) -> u32 {
    if buffer == SENT - 1 || buffer == BUFFERS - 1 { LAST } else { 0 }
}

impl<C: Card> Device for OpenEth<C> {
    type RxToken<'a>
        = Received
    where
        C: 'a;
    type TxToken<'a>
        = Sender<'a, C>
    where
        C: 'a;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sender<'_, C>)> {
        // A frame is only taken when an answer to it could be sent.
        if !self.can_send() {
            return None;
        }
        let length = self.take()?;
        let frame = self.frame;
        Some((Received { frame, length }, Sender { device: self }))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sender<'_, C>> {
        self.can_send().then_some(Sender { device: self })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME;
        capabilities
    }
}

/// A frame that came.
#[derive(Debug)]
pub struct Received {
    frame: [u8; FRAME],
    length: usize,
}

/// A place for a frame to be sent.
#[derive(Debug)]
pub struct Sender<'a, C> {
    device: &'a mut OpenEth<C>,
}

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.frame[..self.length])
    }
}

impl<C: Card> TxToken for Sender<'_, C> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let result = fill(&mut self.device.frame[..length]);
        self.device.send(length);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// The card as the emulator carries it out.
    #[derive(Debug)]
    struct Emulated {
        mode: u32,
        mac: [u8; 6],
        descriptors: Vec<u32>,
        buffers: Vec<Vec<u8>>,
        sent_count: usize,
        at_sent: usize,
        at_received: usize,
        wire: Vec<Vec<u8>>,
        dropped: usize,
    }

    const ADDRESS: u32 = 0x3fc8_0000;

    impl Emulated {
        fn new() -> Self {
            Emulated {
                mode: 0xa000,
                mac: [0; 6],
                descriptors: vec![0; 256],
                buffers: vec![vec![0; BUFFER]; BUFFERS],
                sent_count: 64,
                at_sent: 0,
                at_received: 64,
                wire: Vec::new(),
                dropped: 0,
            }
        }

        fn buffer(&mut self, descriptor: usize) -> &mut Vec<u8> {
            let address = self.descriptors[2 * descriptor + 1] - ADDRESS;
            assert_eq!(address as usize % BUFFER, 0);
            &mut self.buffers[address as usize / BUFFER]
        }

        /// A frame arrives.
        fn arrive(&mut self, frame: &[u8], faults: u32) {
            let at = self.at_received;
            let flags = self.descriptors[2 * at];
            if self.mode & MODE_RECEIVE == 0 || flags & CARDS == 0 {
                self.dropped += 1;
                return;
            }
            let length = frame.len().max(60) + CHECK;
            let buffer = self.buffer(at);
            buffer[..length].fill(0);
            buffer[..frame.len()].copy_from_slice(frame);
            self.descriptors[2 * at] = (length as u32) << 16 | (flags & LAST) | faults;
            self.at_received = match flags & LAST {
                0 => at + 1,
                _ => self.sent_count,
            };
        }

        fn look_for_work(&mut self) {
            let at = self.at_sent;
            let flags = self.descriptors[2 * at];
            if self.mode & MODE_SEND == 0 || flags & CARDS == 0 {
                return;
            }
            let length = (flags >> 16) as usize;
            let frame = self.buffer(at)[..length].to_vec();
            self.wire.push(frame);
            self.descriptors[2 * at] &= !CARDS;
            self.at_sent = if flags & LAST == 0 { at + 1 } else { 0 };
        }
    }

    impl Card for Emulated {
        fn read(&mut self, offset: usize) -> u32 {
            match offset {
                MODE => self.mode,
                DESCRIPTORS.. => self.descriptors[(offset - DESCRIPTORS) / 4],
                _ => panic!("nobody has to read {offset:#x}"),
            }
        }

        fn write(&mut self, offset: usize, value: u32) {
            match offset {
                MODE => {
                    if value & !self.mode & MODE_RESET != 0 {
                        *self = Emulated::new();
                    }
                    if value & !self.mode & MODE_RECEIVE != 0 {
                        self.at_received = self.sent_count;
                    }
                    self.mode = value;
                }
                INTERRUPTS | INTERRUPT_MASK => {}
                SENT_COUNT => self.sent_count = value as usize,
                MAC_LOW => self.mac[2..].copy_from_slice(&value.to_be_bytes()),
                MAC_HIGH => self.mac[..2].copy_from_slice(&value.to_be_bytes()[2..]),
                DESCRIPTORS.. => {
                    self.descriptors[(offset - DESCRIPTORS) / 4] = value;
                    self.look_for_work();
                }
                _ => panic!("nobody has to write {offset:#x}"),
            }
        }

        fn address(&self, buffer: usize) -> u32 {
            ADDRESS + (buffer * BUFFER) as u32
        }

        fn load(&mut self, buffer: usize, frame: &mut [u8]) {
            frame.copy_from_slice(&self.buffers[buffer][..frame.len()]);
        }

        fn store(&mut self, buffer: usize, frame: &[u8]) {
            self.buffers[buffer][..frame.len()].copy_from_slice(frame);
        }
    }

    const NOW: Instant = Instant::ZERO;

    fn device() -> OpenEth<Emulated> {
        OpenEth::new(Emulated::new(), [2, 0, 0, 0x4d, 0x43, 0x50])
    }

    fn received(device: &mut OpenEth<Emulated>) -> Option<Vec<u8>> {
        let (received, _) = device.receive(NOW)?;
        Some(received.consume(<[u8]>::to_vec))
    }

    fn frame(number: usize) -> Vec<u8> {
        vec![number as u8; 60 + number]
    }

    #[test]
    fn the_card_knows_its_address_and_listens() {
        let device = device();
        assert_eq!(device.card.mac, [2, 0, 0, 0x4d, 0x43, 0x50]);
        assert_eq!(device.card.mode & 3, MODE_RECEIVE | MODE_SEND);
        assert_eq!(device.card.sent_count, SENT);
    }

    #[test]
    fn frames_are_read_in_order_over_many_rounds() {
        let mut device = device();
        assert_eq!(received(&mut device), None);
        for number in 0..5 * RECEIVED {
            device.card.arrive(&frame(number), 0);
            device.card.arrive(&frame(number + 1), 0);
            assert_eq!(received(&mut device), Some(frame(number)));
            assert_eq!(received(&mut device), Some(frame(number + 1)));
            assert_eq!(received(&mut device), None);
        }
        assert_eq!(device.card.dropped, 0);
    }

    #[test]
    fn a_full_ring_loses_what_comes_last() {
        let mut device = device();
        for number in 0..RECEIVED + 3 {
            device.card.arrive(&frame(number), 0);
        }
        assert_eq!(device.card.dropped, 3);
        for number in 0..RECEIVED {
            assert_eq!(received(&mut device), Some(frame(number)));
        }
        assert_eq!(received(&mut device), None);
        device.card.arrive(&frame(7), 0);
        assert_eq!(received(&mut device), Some(frame(7)));
    }

    #[test]
    fn a_short_frame_comes_padded_and_a_long_one_whole() {
        let mut device = device();
        device.card.arrive(&[5; 42], 0);
        let padded = received(&mut device).expect("a frame");
        assert_eq!(padded.len(), 60);
        assert_eq!(padded[..42], [5; 42]);
        device.card.arrive(&[6; FRAME], 0);
        assert_eq!(received(&mut device), Some(vec![6; FRAME]));
    }

    #[test]
    fn a_frame_with_a_fault_is_passed_over() {
        let mut device = device();
        device.card.arrive(&frame(1), 1 << 1);
        device.card.arrive(&[9; FRAME + 1], 0);
        device.card.arrive(&frame(2), 0);
        assert_eq!(received(&mut device), Some(frame(2)));
    }

    #[test]
    fn what_is_sent_is_on_the_wire_in_order() {
        let mut device = device();
        for number in 0..5 * SENT {
            let sender = device.transmit(NOW).expect("a free place");
            sender.consume(60 + number, |bytes| bytes.fill(number as u8));
        }
        let expected: Vec<_> = (0..5 * SENT).map(frame).collect();
        assert_eq!(device.card.wire, expected);
    }

    #[test]
    fn an_answer_does_not_disturb_what_waits() {
        let mut device = device();
        device.card.arrive(&frame(1), 0);
        device.card.arrive(&frame(2), 0);
        let (received_one, sender) = device.receive(NOW).expect("a frame");
        sender.consume(64, |bytes| bytes.fill(0xaa));
        assert_eq!(received_one.consume(<[u8]>::to_vec), frame(1));
        assert_eq!(received(&mut device), Some(frame(2)));
        assert_eq!(device.card.wire, [vec![0xaa; 64]]);
    }

    #[test]
    fn nothing_is_sent_or_taken_while_the_card_is_busy() {
        let mut device = device();
        device.card.mode &= !MODE_SEND;
        for _ in 0..SENT {
            let sender = device.transmit(NOW).expect("a free place");
            sender.consume(60, |bytes| bytes.fill(1));
        }
        device.card.arrive(&frame(1), 0);
        assert!(device.transmit(NOW).is_none());
        assert!(device.receive(NOW).is_none());
        device.card.mode |= MODE_SEND;
        for _ in 0..SENT {
            device.card.look_for_work();
        }
        assert_eq!(received(&mut device), Some(frame(1)));
    }
}
