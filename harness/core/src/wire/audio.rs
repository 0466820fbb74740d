//! The UDP packets of the audio channel that a device opens over MQTT.
//!
//! A packet is a header of 16 bytes, which is also the counter block of AES-128-CTR, and the
//! encrypted audio: `01 | flags | length u16 | ssrc 4 | timestamp u32 | sequence u32`, numbers in
//! network order (xiaozhi MQTT + UDP, the packet's form).

/// Length of the header in bytes.
pub const AUDIO_HEADER_BYTES: usize = 16;

/// The header of an audio packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AudioHeader {
    /// What the packet is: 1 for audio.
    pub kind: u8,
    /// Flags; as the server's nonce has them.
    pub flags: u8,
    /// Length of the audio that follows, in bytes.
    pub length: u16,
    /// Whose stream it is; as the server's nonce has it.
    pub ssrc: [u8; 4],
    /// Time of the audio, in milliseconds of the device's choice.
    pub timestamp: u32,
    /// Number of the packet in the channel, from 1.
    pub sequence: u32,
}

impl AudioHeader {
    /// Reads the header of a datagram; `None` when it is too short to have one.
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let head = datagram.first_chunk::<AUDIO_HEADER_BYTES>()?;
        let [kind, flags, l0, l1, s0, s1, s2, s3, t0, t1, t2, t3, n0, n1, n2, n3] = *head;
        Some(Self {
            kind,
            flags,
            length: u16::from_be_bytes([l0, l1]),
            ssrc: [s0, s1, s2, s3],
            timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
            sequence: u32::from_be_bytes([n0, n1, n2, n3]),
        })
    }

    /// Reads the header of a datagram and compares it with the nonce that the server gave.
    ///
    /// # Errors
    ///
    /// The first deviation, for people.
    pub fn check(datagram: &[u8], nonce: &[u8; AUDIO_HEADER_BYTES]) -> Result<Self, String> {
        let header = Self::read(datagram)
            .ok_or_else(|| format!("{} bytes, too few for a header of 16", datagram.len()))?;
        let audio = datagram.len() - AUDIO_HEADER_BYTES;
        let [kind, flags, _, _, ssrc @ ..] = *nonce;
        if header.kind != kind {
            return Err(format!("type {:#04x} instead of {kind:#04x}", header.kind));
        }
        if header.flags != flags {
            return Err(format!("flags {:#04x} instead of {flags:#04x}", header.flags));
        }
        if usize::from(header.length) != audio {
            return Err(format!("length {} before {audio} bytes", header.length));
        }
        if header.ssrc != ssrc[..4] {
            let (got, want) = (super::to_hex(&header.ssrc), super::to_hex(&ssrc[..4]));
            return Err(format!("ssrc {got} instead of {want}"));
        }
        Ok(header)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    const NONCE: [u8; 16] = [1, 0, 0, 0, 9, 8, 7, 6, 0, 0, 0, 0, 0, 0, 0, 0];

    fn packet(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = vec![1, 0, 0, 3, 9, 8, 7, 6, 0, 0, 1, 0, 0, 0, 0, 5, 0xa, 0xb, 0xc];
        change(&mut bytes);
        bytes
    }

    #[test]
    fn a_good_packet_is_read() {
        let header = AudioHeader::check(&packet(|_| {}), &NONCE).unwrap();
        assert_eq!((header.timestamp, header.sequence, header.length), (256, 5, 3));
        assert!(
            AudioHeader::check(
                &packet(|b| {
                    b.truncate(16);
                    b[3] = 0
                }),
                &NONCE
            )
            .is_ok()
        );
    }

    #[rstest]
    #[case::short(packet(|b| b.truncate(15)), "too few")]
    #[case::kind(packet(|b| b[0] = 2), "type 0x02")]
    #[case::flags(packet(|b| b[1] = 1), "flags 0x01")]
    #[case::longer(packet(|b| b.push(0)), "length 3 before 4")]
    #[case::shorter(packet(|b| b.truncate(18)), "length 3 before 2")]
    #[case::ssrc(packet(|b| b[4] = 0), "ssrc 00080706 instead of 09080706")]
    fn each_deviation_is_named(#[case] datagram: Vec<u8>, #[case] why: &str) {
        let error = AudioHeader::check(&datagram, &NONCE).unwrap_err();
        assert!(error.contains(why), "{error}");
    }

    proptest! {
        #[test]
        fn any_datagram_is_read_or_refused(
            datagram in prop::collection::vec(any::<u8>(), 0..64),
            nonce in any::<[u8; 16]>(),
        ) {
            let read = AudioHeader::read(&datagram);
            prop_assert_eq!(read.is_some(), datagram.len() >= 16);
            if let Ok(header) = AudioHeader::check(&datagram, &nonce) {
                prop_assert_eq!(Some(header), read);
                prop_assert_eq!(usize::from(header.length) + 16, datagram.len());
            }
        }
    }
}
