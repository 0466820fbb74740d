//! A place on the way to the broker where packets can be spoiled, for defects that no client
//! library lets a program have.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use bytes::BytesMut;
use rumqttc::mqttbytes::v4::Packet;

/// Sees a packet and its number on the connection, CONNECT being 0; gives the bytes to send.
pub(crate) type Tamper = fn(u64, Packet) -> Vec<u8>;

/// Larger packets than the device's own limit never come.
const PACKET_LIMIT: usize = usize::MAX;

/// Connects to the broker and waits for the client at the endpoint that is given back.
pub(crate) fn start(endpoint: &str, tamper: Tamper) -> io::Result<String> {
    let broker = TcpStream::connect(endpoint)?;
    broker.set_nodelay(true)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let here = listener.local_addr()?.to_string();
    thread::spawn(move || {
        if let Ok((client, _)) = listener.accept() {
            // Whichever side goes first, the other follows.
            let _ = relay(&client, &broker, tamper);
            let _ = client.shutdown(Shutdown::Both);
            let _ = broker.shutdown(Shutdown::Both);
        }
    });
    Ok(here)
}

fn relay(client: &TcpStream, broker: &TcpStream, tamper: Tamper) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (mut down, mut from) = (client.try_clone()?, broker.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut down);
        let _ = down.shutdown(Shutdown::Both);
    });
    let (mut client, mut broker) = (client, broker);
    let mut buffer = BytesMut::new();
    let mut count = 0;
    loop {
        let mut chunk = [0; 16 << 10];
        let length = client.read(&mut chunk)?;
        if length == 0 {
            return Ok(());
        }
        buffer.extend_from_slice(&chunk[..length]);
        while let Ok(packet) = Packet::read(&mut buffer, PACKET_LIMIT) {
            broker.write_all(&tamper(count, packet))?;
            count += 1;
        }
    }
}

/// A packet as it should be.
pub(crate) fn encode(packet: &Packet) -> Vec<u8> {
    let mut out = BytesMut::new();
    // What was read can be written.
    let _ = packet.write(&mut out, PACKET_LIMIT);
    out.to_vec()
}
