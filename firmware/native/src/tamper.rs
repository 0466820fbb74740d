//! A place on the way to the broker where packets can be spoiled, for defects that no client
//! library lets a program have.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use reference_body::Tamper;

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
    let mut buffer = Vec::new();
    let mut count = 0;
    loop {
        let mut chunk = [0; 16 << 10];
        let length = client.read(&mut chunk)?;
        if length == 0 {
            return Ok(());
        }
        buffer.extend_from_slice(&chunk[..length]);
        while let Some(end) = packet_length(&buffer).filter(|end| *end <= buffer.len()) {
            broker.write_all(&tamper(count, &buffer[..end]))?;
            buffer.drain(..end);
            count += 1;
        }
    }
}

/// Length of the packet that `bytes` begin with, once its fixed header is complete (MQTT 3.1.1
/// section 2.2.3).
fn packet_length(bytes: &[u8]) -> Option<usize> {
    let mut rest = 0;
    for (index, byte) in bytes.get(1..)?.iter().take(4).enumerate() {
        rest |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some(2 + index + rest);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::packet_length;

    #[test]
    fn a_packet_ends_where_its_header_says() {
        assert_eq!(packet_length(&[0xc0]), None);
        assert_eq!(packet_length(&[0xc0, 0]), Some(2));
        assert_eq!(packet_length(&[0x30, 0x80]), None);
        assert_eq!(packet_length(&[0x30, 0x80, 0x01]), Some(3 + 128));
        assert_eq!(packet_length(&[0x30, 0xff, 0xff, 0xff, 0x7f]), Some(5 + (1 << 28) - 1));
    }
}
