//! A scripted MQTT device on a thread of its own, which writes its packets byte by byte where it
//! must: small, good, and then bad in one way.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::packets::{packet, string};

/// In what way a device is bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// In none.
    Good,
    /// It speaks MQTT 3.1, subscribes, leaves a will, and sends its packets byte by byte.
    Odd,
    /// It takes its time over each byte that it reads and writes.
    Slow,
    /// It connects and goes away, again and again.
    Dies,
    /// It connects and says nothing more.
    NeverAnswers,
    /// Bytes that are no MQTT packet follow its CONNECT.
    NoMqtt,
    /// It names a packet of 256 MiB.
    HugePacket,
    /// It answers with a message of 5 MiB.
    HugeMessage,
    /// It sends CONNECT instead of its first answer.
    ConnectTwice,
    /// It sends half of an answer, and goes away.
    HalfAnswer,
    /// Its answers are no JSON.
    NotJson,
    /// Its answers are not UTF-8.
    NotUtf8,
    /// It publishes what nobody asked for, as fast as it is taken.
    Floods,
    /// It pings, as fast as that is taken.
    Pings,
    /// It takes no bytes from the network any more as soon as it is known.
    StopsReading,
    /// Two connections with one client id.
    Twice,
    /// It presents another password than it was given.
    WrongPassword,
    /// It speaks a later MQTT.
    Level5,
    /// It speaks TLS.
    Tls,
}

/// A device that plays; it ends soon after this is dropped.
#[derive(Debug)]
pub(crate) struct Playing(pub(super) Arc<AtomicBool>);

impl Drop for Playing {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Starts a device that dials `host:port`, and dials again whenever its connection ends.
pub(crate) fn play(way: Way, address: &str) -> Playing {
    let over = Arc::new(AtomicBool::new(false));
    let times = if way == Way::Twice { 2 } else { 1 };
    for _ in 0..times {
        let (over, address) = (over.clone(), address.to_owned());
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                // However it ended, a device dials again.
                let _ = connection(way, &address, &over);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
    }
    Playing(over)
}

fn connect(way: Way) -> Vec<u8> {
    let (name, level) = match way {
        Way::Odd => ("MQIsdp", 3),
        Way::Level5 => ("MQTT", 5),
        _ => ("MQTT", 4),
    };
    // User name and password, clean session; for the odd one a will, too.
    let flags = if way == Way::Odd { 0xc6 } else { 0xc2 };
    let mut body = string(name);
    body.extend([level, flags, 0, 60]);
    if way == Way::Level5 {
        body.push(0);
    }
    body.extend(string("me"));
    if way == Way::Odd {
        body.extend([string("will"), string("gone")].concat());
    }
    let password = match way {
        Way::WrongPassword => "opensesame1",
        _ => "opensesame",
    };
    body.extend([string("mcp-hil"), string(password)].concat());
    packet(0x10, &body)
}

fn publish(payload: &[u8]) -> Vec<u8> {
    packet(0x30, &[&string("device-server")[..], payload].concat())
}

/// One packet: its first byte and its body. `None` while nothing comes.
fn read(stream: &mut TcpStream, way: Way) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut byte = [0];
    match stream.read(&mut byte) {
        Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        Err(error) => return Err(error),
    }
    let first = byte[0];
    let (mut length, mut shift) = (0, 0);
    loop {
        stream.read_exact(&mut byte)?;
        length |= usize::from(byte[0] & 0x7f) << shift;
        shift += 7;
        if byte[0] & 0x80 == 0 {
            break;
        }
    }
    let mut body = vec![0; length];
    if way == Way::Slow {
        for place in body.chunks_mut(16) {
            stream.read_exact(place)?;
            std::thread::sleep(Duration::from_millis(1));
        }
    } else {
        stream.read_exact(&mut body)?;
    }
    Ok(Some((first, body)))
}

fn write(stream: &mut TcpStream, way: Way, bytes: &[u8]) -> io::Result<()> {
    match way {
        Way::Odd => bytes.iter().try_for_each(|byte| stream.write_all(&[*byte])),
        Way::Slow => bytes.chunks(16).try_for_each(|part| {
            std::thread::sleep(Duration::from_millis(1));
            stream.write_all(part)
        }),
        _ => stream.write_all(bytes),
    }
}

fn connection(way: Way, address: &str, over: &AtomicBool) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    // So that it sees when it is over.
    stream.set_read_timeout(Some(Duration::from_millis(50)))?;
    if way == Way::Tls {
        stream.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")?;
        return stream.read_exact(&mut [0]);
    }
    write(&mut stream, way, &connect(way))?;
    let consent = loop {
        if let Some((_, body)) = read(&mut stream, way)? {
            break body;
        }
        if over.load(Ordering::Relaxed) {
            return Ok(());
        }
    };
    if consent != [0, 0] {
        return Ok(());
    }
    match way {
        Way::Dies => return Ok(()),
        Way::NoMqtt => stream.write_all(&[0xff; 64])?,
        Way::HugePacket => stream.write_all(&[0x30, 0xff, 0xff, 0xff, 0x7f])?,
        Way::Odd => {
            let body = [&[0, 1][..], &string("devices/#"), &[2]].concat();
            write(&mut stream, way, &packet(0x82, &body))?;
        }
        Way::Floods => {
            let message = publish(br#"{"type":"listen","state":"detect"}"#);
            loop {
                stream.write_all(&message)?;
            }
        }
        Way::Pings => {
            let mut reads = stream.try_clone()?;
            // It takes its answers, too.
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while reads.read(&mut buffer).is_ok_and(|length| length > 0) {}
            });
            loop {
                stream.write_all(&[0xc0, 0])?;
            }
        }
        _ => {}
    }
    let mut answered = 0;
    while !over.load(Ordering::Relaxed) {
        if way == Way::StopsReading && answered == 8 {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        }
        let Some((first, body)) = read(&mut stream, way)? else {
            continue;
        };
        let Some(request) = request(first, &body) else {
            continue;
        };
        answered += 1;
        let mut answer = json!({"jsonrpc": "2.0", "id": request["id"]});
        match result(request["method"].as_str().unwrap_or_default()) {
            Some(result) => answer["result"] = result,
            None => answer["error"] = json!({"code": -32601, "message": "no such method"}),
        }
        let envelope = json!({"session_id": "", "type": "mcp", "payload": answer}).to_string();
        match way {
            Way::NeverAnswers | Way::NoMqtt | Way::HugePacket => {}
            Way::HugeMessage => {
                let long = envelope.replace("2.0", &"2".repeat(5 << 20));
                write(&mut stream, way, &publish(long.as_bytes()))?;
            }
            Way::ConnectTwice => write(&mut stream, way, &connect(way))?,
            Way::HalfAnswer => {
                let whole = publish(envelope.as_bytes());
                return write(&mut stream, way, &whole[..whole.len() / 2]);
            }
            Way::NotJson => {
                let garbage = envelope.replace([':', '}'], "%");
                write(&mut stream, way, &publish(garbage.as_bytes()))?;
            }
            Way::NotUtf8 => {
                let mut bytes = envelope.into_bytes();
                bytes[5] = 0xfe;
                write(&mut stream, way, &publish(&bytes))?;
            }
            _ => write(&mut stream, way, &publish(envelope.as_bytes()))?,
        }
    }
    Ok(())
}

/// The JSON-RPC request in a PUBLISH packet.
fn request(first: u8, body: &[u8]) -> Option<Value> {
    if first >> 4 != 3 {
        return None;
    }
    let topic = usize::from(u16::from_be_bytes([*body.first()?, *body.get(1)?]));
    let message: Value = serde_json::from_slice(body.get(2 + topic..)?).ok()?;
    let request = &message["payload"];
    (request["method"].is_string() && request["id"].is_i64()).then(|| request.clone())
}

/// The result of a method; `None` when there is no such method.
fn result(method: &str) -> Option<Value> {
    Some(match method {
        "initialize" => json!({
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "1"}
        }),
        "ping" => json!({}),
        "tools/list" => json!({"tools": [{
            "name": "self.tool",
            "description": "Does nothing.",
            "inputSchema": {"type": "object", "properties": {}}
        }]}),
        _ => return None,
    })
}
