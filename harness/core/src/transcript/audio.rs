//! What came over the audio channel, as counters: audio itself is never kept.

use serde::{Deserialize, Serialize};

use crate::wire::{AUDIO_HEADER_BYTES, AudioHeader};

/// How far a packet may be overtaken by others on the way, in packets.
const WINDOW: u32 = 64;

/// From how many overtaken packets on, and from which part of all, it is the device that sends them
/// in that order, and not the way: devices send one each 60 ms.
const OVERTAKEN: u64 = 4;
const OVERTAKEN_PART: u64 = 3;

/// How many packets show whether they are encrypted: by chance they begin with one byte once in 2^56 times.
pub const ALIKE: u64 = 8;

/// What has come over the audio channel since it was offered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AudioSeen {
    /// Packets, good and bad.
    pub packets: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// What is wrong with the first packet whose header is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_bad: Option<String>,
    /// What is wrong with the first packet whose number is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_disorder: Option<String>,
    /// The byte with which the audio of all packets begins, as it came, where there were enough to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_start: Option<String>,
    /// The byte with which the audio of all packets begins when it is decrypted with the key of an earlier hello, where
    /// there were enough to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_key: Option<String>,
    /// The highest number of a packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sequence: Option<u32>,
    /// Milliseconds from the last packet to this summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// The first bytes of the last good packet's audio, decrypted, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<String>,
}

/// Counts what comes over the audio channel.
#[derive(Debug, Clone, Default)]
pub struct AudioCounter {
    /// What has come.
    pub seen: AudioSeen,
    /// Which of the numbers before the highest have come: bit n is `last_sequence - n`.
    window: u64,
    /// How many packets were overtaken by others.
    overtaken: u64,
    /// The first byte of the audio of the first good packet, as it came, and how many begin with it; none once
    /// another one has come.
    start: Option<(u8, u64)>,
}

impl AudioCounter {
    /// Counts a datagram. Gives its header when that is good.
    pub fn count(
        &mut self,
        datagram: &[u8],
        nonce: &[u8; AUDIO_HEADER_BYTES],
    ) -> Option<AudioHeader> {
        self.seen.packets += 1;
        self.seen.bytes += datagram.len() as u64;
        match AudioHeader::check(datagram, nonce) {
            Ok(header) => {
                self.order(header.sequence);
                self.compare_starts(datagram.get(AUDIO_HEADER_BYTES).copied());
                Some(header)
            }
            Err(why) => {
                let number = self.seen.packets;
                self.seen.first_bad.get_or_insert_with(|| format!("packet {number}: {why}"));
                None
            }
        }
    }

    /// Compares the first bytes of audio. Of packets with the same number these may be the same.
    fn compare_starts(&mut self, start: Option<u8>) {
        let Some(start) = start.filter(|_| self.seen.first_disorder.is_none()) else {
            return;
        };
        let is_first = self.seen.packets == 1;
        self.start = match self.start {
            None if is_first => Some((start, 1)),
            Some((same, alike)) if same == start => Some((same, alike + 1)),
            _ => None,
        };
        self.seen.same_start = self
            .start
            .filter(|(_, alike)| *alike >= ALIKE)
            .map(|(same, alike)| format!("{same:02x} first in the audio of all {alike} packets"));
    }

    /// Looks at a packet's number. On the way packets may be lost or overtake each other.
    fn order(&mut self, sequence: u32) {
        let disorder = match self.seen.last_sequence {
            _ if sequence == 0 => Some("number 0".to_owned()),
            None if sequence > WINDOW => Some(format!("number {sequence} as the first")),
            None => {
                (self.window, self.seen.last_sequence) = (1, Some(sequence));
                None
            }
            Some(last) if sequence > last => {
                self.window = self.window.checked_shl(sequence - last).unwrap_or(0) | 1;
                self.seen.last_sequence = Some(sequence);
                None
            }
            Some(last) => {
                let bit = 1u64.checked_shl(last - sequence).unwrap_or(0);
                let overtaken = self.window & bit == 0 && last - sequence < WINDOW;
                self.window |= bit;
                self.overtaken += u64::from(overtaken);
                let often = self.overtaken >= OVERTAKEN
                    && self.overtaken * OVERTAKEN_PART >= self.seen.packets;
                (!overtaken || often).then(|| format!("number {sequence} after {last}"))
            }
        };
        if let Some(what) = disorder {
            let number = self.seen.packets;
            self.seen.last_sequence.get_or_insert(sequence);
            self.seen.first_disorder.get_or_insert_with(|| format!("packet {number}: {what}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    const NONCE: [u8; 16] = [1, 0, 0, 0, 9, 8, 7, 6, 0, 0, 0, 0, 0, 0, 0, 0];

    fn count(numbers: &[u32]) -> AudioCounter {
        let mut counter = AudioCounter::default();
        for number in numbers {
            let mut datagram = NONCE;
            datagram[12..].copy_from_slice(&number.to_be_bytes());
            counter.count(&datagram, &NONCE);
        }
        counter
    }

    #[rstest]
    #[case::good(&[1, 2, 3], None)]
    #[case::one_lost(&[1, 3], None)]
    #[case::first_lost(&[2, 3], None)]
    #[case::many_lost(&[1, 1000], None)]
    #[case::overtaken(&[1, 3, 2, 4], None)]
    #[case::first_overtaken(&[2, 1], None)]
    #[case::four_of_many_overtaken(&[1, 2, 3, 4, 5, 7, 6, 9, 8, 11, 10, 13, 12], None)]
    #[case::every_second_overtaken(&[2, 1, 4, 3, 6, 5, 8, 7], Some("packet 8: number 7 after 8"))]
    #[case::from_zero(&[0, 1], Some("packet 1: number 0"))]
    #[case::from_far(&[1000, 1001], Some("packet 1: number 1000 as the first"))]
    #[case::standing(&[1, 1], Some("packet 2: number 1 after 1"))]
    #[case::repeated(&[1, 2, 3, 2], Some("packet 4: number 2 after 3"))]
    #[case::again(&[1, 100, 1], Some("packet 3: number 1 after 100"))]
    fn numbers_rise(#[case] numbers: &[u32], #[case] disorder: Option<&str>) {
        let seen = count(numbers).seen;
        assert_eq!(seen.first_disorder.as_deref(), disorder);
        assert_eq!(seen.packets, numbers.len() as u64);
        assert_eq!(seen.last_sequence, numbers.iter().copied().max());
        assert_eq!(seen.first_bad, None);
    }

    #[rstest]
    #[case::the_same(&[7; 8], true)]
    #[case::too_few(&[7; 7], false)]
    #[case::one_other(&[7, 7, 7, 7, 9, 7, 7, 7, 7, 7, 7, 7, 7, 7], false)]
    fn what_begins_with_the_same_byte_shows(#[case] starts: &[u8], #[case] shows: bool) {
        let mut counter = AudioCounter::default();
        for (number, start) in (1_u32..).zip(starts) {
            let mut datagram = NONCE.to_vec();
            datagram[3] = 1;
            datagram[12..].copy_from_slice(&number.to_be_bytes());
            datagram.push(*start);
            assert!(counter.count(&datagram, &NONCE).is_some());
        }
        assert_eq!(counter.seen.same_start.is_some(), shows);
    }

    #[test]
    fn only_the_first_bad_packet_is_kept() {
        let mut counter = count(&[1]);
        for datagram in [&b"abc"[..], b""] {
            assert_eq!(counter.count(datagram, &NONCE), None);
        }
        let seen = counter.seen;
        assert!(seen.first_bad.unwrap().starts_with("packet 2: 3 bytes"));
        assert_eq!((seen.packets, seen.bytes), (3, 19));
    }

    proptest! {
        #[test]
        fn any_numbers_are_counted(numbers in prop::collection::vec(any::<u32>(), 0..99)) {
            prop_assert_eq!(count(&numbers).seen.packets, numbers.len() as u64);
        }

        #[test]
        fn a_good_stream_that_loses_packets_is_in_order(lost in prop::collection::vec(any::<bool>(), 60)) {
            let numbers: Vec<u32> = (1..).zip(lost).filter(|(_, lost)| !lost).map(|(n, _)| n).collect();
            prop_assert_eq!(count(&numbers).seen.first_disorder, None);
        }
    }
}
