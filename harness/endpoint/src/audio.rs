//! The audio sink: takes the UDP packets of the audio channel, and keeps counters only.
//!
//! A task of its own drains the socket, so that a flood costs neither memory nor the run.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aes::Aes128;
use ctr::{
    Ctr128BE,
    cipher::{KeyIvInit as _, StreamCipher as _},
};
use mcp_hil_core::{
    transcript::{ALIKE, AudioCounter, AudioSeen},
    wire::{AUDIO_HEADER_BYTES, to_hex},
};
use serde_json::{Value, json};
use tokio::{
    net::UdpSocket,
    sync::watch,
    time::{Instant, sleep},
};

use crate::address::dialable;
use crate::error::EndpointError;
use crate::serving::{Serving, Stop};

/// Bytes of the last packet's audio that are decrypted and shown.
const STARTS_BYTES: usize = 8;

/// How long packets of the channel before may come: they were on their way.
const STRAGGLERS: Duration = Duration::from_millis(200);

/// Most keys of earlier channels that are remembered.
const MAX_EARLIER: usize = 16;

/// Length of the random bytes that make key and stream id of a channel.
const RANDOM_BYTES: usize = 20;

/// A UDP port that takes the audio of a device.
#[derive(Debug)]
pub struct AudioSink {
    address: SocketAddr,
    /// The host as devices see it, where that differs.
    seen_as: Option<String>,
    channel: Arc<Mutex<Channel>>,
    count: Arc<watch::Sender<u64>>,
    serving: Serving,
}

impl AudioSink {
    /// Listens on any free port of `ip`. Key and stream id of the first channel are made of
    /// `random`. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// The address is not permitted or not of this machine.
    pub async fn bind(ip: IpAddr, random: [u8; RANDOM_BYTES]) -> Result<Self, EndpointError> {
        let address = SocketAddr::new(ip, 0);
        let failed = |reason| EndpointError::Listen { address, reason };
        let socket = UdpSocket::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let channel = Arc::new(Mutex::new(Channel::new(random)));
        let count = Arc::new(watch::Sender::new(0));
        let (drained, counted) = (channel.clone(), count.clone());
        let serving = Serving::start(move |stop| drain(socket, drained, counted, stop));
        Ok(Self { address, seen_as: None, channel, count, serving })
    }

    /// Where devices send to.
    pub fn address(&self) -> SocketAddr {
        dialable(self.address)
    }

    /// From now on devices are told this host, which they see instead of the own address.
    pub fn show_as(&mut self, host: String) {
        self.seen_as = Some(host);
    }

    /// Begins a channel with a key of its own; the counters begin anew.
    pub fn renew(&self, random: [u8; RANDOM_BYTES]) {
        let mut channel = self.channel();
        let mut earlier = std::mem::take(&mut channel.earlier);
        if earlier.len() == MAX_EARLIER {
            // The first one may have been kept by mistake for ever.
            earlier.remove(1);
        }
        earlier.iter_mut().for_each(|one| one.start = None);
        earlier.push(Earlier { key: channel.key, start: None });
        let before = Some((channel.nonce, Instant::now()));
        *channel = Channel { before, earlier, ..Channel::new(random) };
        self.count.send_replace(0);
    }

    /// The member `udp` of the server's hello. It holds the key: a secret.
    pub fn section(&self) -> Value {
        let address = self.address();
        let seen_as = self.seen_as.clone();
        let server = seen_as.unwrap_or_else(|| address.ip().to_string());
        let channel = self.channel();
        json!({
            "server": server,
            "port": address.port(),
            "encryption": "aes-128-ctr",
            "key": to_hex(&channel.key),
            "nonce": to_hex(&channel.nonce),
        })
    }

    /// What has come since the channel began.
    pub fn seen(&self) -> AudioSeen {
        let channel = self.channel();
        let idle = channel.last.map(|last| last.elapsed().as_millis());
        AudioSeen {
            idle_ms: idle.map(|idle| u64::try_from(idle).unwrap_or(u64::MAX)),
            starts: channel.starts(),
            old_key: channel.old_key(),
            ..channel.counter.seen.clone()
        }
    }

    /// Waits until the channel has had so many packets. Cancel-safe.
    pub async fn heard(&self, packets: u64) {
        let mut count = self.count.subscribe();
        // The sender is ours: the wait cannot fail.
        let _ = count.wait_for(|count| *count >= packets).await;
    }

    /// Closes the port. When this returns it is free.
    pub async fn close(self) {
        self.serving.end().await;
    }

    fn channel(&self) -> MutexGuard<'_, Channel> {
        lock(&self.channel)
    }
}

/// One channel: what was agreed, and what has come.
struct Channel {
    key: [u8; 16],
    nonce: [u8; AUDIO_HEADER_BYTES],
    /// The nonce of the channel before, and when it ended.
    before: Option<([u8; AUDIO_HEADER_BYTES], Instant)>,
    /// The keys of earlier channels.
    earlier: Vec<Earlier>,
    /// Who sent the first good packet; what others send is not the device's.
    peer: Option<SocketAddr>,
    counter: AudioCounter,
    last: Option<Instant>,
    /// Header and first audio bytes of the last good packet.
    start: Option<([u8; AUDIO_HEADER_BYTES], Vec<u8>)>,
}

/// The key of an earlier channel.
struct Earlier {
    key: [u8; 16],
    /// The first byte of the audio of all packets of this channel, decrypted with that key, and how many there were; none
    /// once another byte has come.
    start: Option<(u8, u64)>,
}

/// Without the key.
impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel").field("seen", &self.counter.seen).finish_non_exhaustive()
    }
}

impl Channel {
    fn new(random: [u8; RANDOM_BYTES]) -> Self {
        let [key @ .., s0, s1, s2, s3] = random;
        let mut nonce = [0; AUDIO_HEADER_BYTES];
        nonce[0] = 1;
        nonce[4..8].copy_from_slice(&[s0, s1, s2, s3]);
        Self {
            key,
            nonce,
            before: None,
            earlier: Vec::new(),
            peer: None,
            counter: AudioCounter::default(),
            last: None,
            start: None,
        }
    }

    fn take(&mut self, datagram: &[u8], from: SocketAddr) {
        if self.peer.is_some_and(|peer| peer != from) {
            return;
        }
        if self.is_straggler(datagram) {
            return;
        }
        self.last = Some(Instant::now());
        if self.counter.count(datagram, &self.nonce).is_none() {
            return;
        }
        self.peer = Some(from);
        self.try_earlier_keys(datagram);
        if let Some((header, audio)) = datagram.split_first_chunk() {
            let (kept, start) = self.start.get_or_insert_default();
            *kept = *header;
            start.clear();
            start.extend_from_slice(&audio[..audio.len().min(STARTS_BYTES)]);
        }
    }

    fn is_straggler(&self, datagram: &[u8]) -> bool {
        self.before.is_some_and(|(nonce, ended)| {
            ended.elapsed() < STRAGGLERS && datagram.get(4..8) == Some(&nonce[4..8])
        })
    }

    /// Decrypts the beginning of a good packet with the keys of earlier channels. Of packets with the same number the
    /// beginnings may be the same.
    fn try_earlier_keys(&mut self, datagram: &[u8]) {
        let is_first = self.counter.seen.packets == 1;
        let is_in_order = self.counter.seen.first_disorder.is_none();
        let Some((header, [first, ..])) = datagram.split_first_chunk() else { return };
        for Earlier { key, start } in &mut self.earlier {
            let mut byte = [*first];
            decrypt(key, header, &mut byte);
            let [byte] = byte;
            *start = match *start {
                None if is_first => Some((byte, 1)),
                Some((same, alike)) if same == byte && is_in_order => Some((same, alike + 1)),
                _ => None,
            };
        }
    }

    /// What shows that the key of an earlier channel is still in use.
    fn old_key(&self) -> Option<String> {
        let mut starts = self.earlier.iter().filter_map(|one| one.start);
        let (same, alike) = starts.find(|(_, alike)| *alike >= ALIKE)?;
        Some(format!(
            "{same:02x} first in the audio of all {alike} packets, decrypted with the key of an earlier hello"
        ))
    }

    fn starts(&self) -> Option<String> {
        let (header, start) = self.start.as_ref()?;
        let mut start = start.clone();
        decrypt(&self.key, header, &mut start);
        Some(to_hex(&start))
    }
}

/// Decrypts the audio of a packet in place: the header is the first counter block.
fn decrypt(key: &[u8; 16], header: &[u8; AUDIO_HEADER_BYTES], audio: &mut [u8]) {
    Ctr128BE::<Aes128>::new(&(*key).into(), &(*header).into()).apply_keystream(audio);
}

/// Takes datagrams until it is told to stop.
async fn drain(
    socket: UdpSocket,
    channel: Arc<Mutex<Channel>>,
    counted: Arc<watch::Sender<u64>>,
    mut stop: Stop,
) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let received = tokio::select! {
            received = socket.recv_from(&mut buffer) => received,
            () = stop.wanted() => return,
        };
        match received {
            Ok((length, from)) => {
                let mut channel = lock(&channel);
                channel.take(&buffer[..length], from);
                counted.send_replace(channel.counter.seen.packets);
            }
            // An earlier answer of the system, or too few buffers: nothing is mended by haste.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}

fn lock(channel: &Mutex<Channel>) -> MutexGuard<'_, Channel> {
    channel.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use mcp_hil_core::wire::from_hex;

    use super::*;

    #[test]
    fn decryption_agrees_with_the_published_vectors() {
        // NIST SP 800-38A, F.5.2 CTR-AES128.Decrypt, blocks 1 and 2.
        let bytes = |hex| from_hex(hex).unwrap();
        let key = bytes("2b7e151628aed2a6abf7158809cf4f3c").try_into().unwrap();
        let counter = bytes("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff").try_into().unwrap();
        let mut text = bytes("874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff");
        decrypt(&key, &counter, &mut text);
        assert_eq!(
            to_hex(&text),
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
        );
    }

    #[test]
    fn the_key_of_the_channel_before_shows_where_it_is_still_used() {
        let from: SocketAddr = "127.0.0.1:9".parse().unwrap();
        let [old, new] = [[1; RANDOM_BYTES], [2; RANDOM_BYTES]].map(Channel::new);
        for (key, shows) in [(old.key, true), (new.key, false)] {
            let mut channel = Channel::new([2; RANDOM_BYTES]);
            channel.earlier = [[7; 16], old.key].map(|key| Earlier { key, start: None }).into();
            for sequence in 1..=8 {
                assert_eq!(channel.old_key(), None);
                let header = [1, 0, 0, 1, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, sequence];
                let mut audio = [0x58];
                decrypt(&key, &header, &mut audio);
                channel.take(&[&header[..], &audio].concat(), from);
            }
            assert_eq!(channel.counter.seen.first_bad, None);
            assert_eq!(channel.old_key().is_some_and(|told| told.starts_with("58 ")), shows);
        }
    }

    #[test]
    fn stragglers_of_the_channel_before_are_not_the_new_one_s() {
        let from: SocketAddr = "127.0.0.1:9".parse().unwrap();
        let packet = |ssrc: u8, sequence: u8| {
            let mut packet = vec![1, 0, 0, 1, ssrc, ssrc, ssrc, ssrc, 0, 0, 0, 0, 0, 0, 0];
            packet.extend([sequence, 0xf8]);
            packet
        };
        let mut channel = Channel::new([2; RANDOM_BYTES]);
        let before = Channel::new([1; RANDOM_BYTES]).nonce;
        channel.before = Some((before, Instant::now()));
        channel.take(&packet(1, 77), from);
        channel.take(&packet(2, 1), from);
        assert_eq!(channel.counter.seen.packets, 1);
        assert_eq!(channel.counter.seen.last_sequence, Some(1));
    }
}
