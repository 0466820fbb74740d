//! A peer that misbehaves by a seed, on a thread of its own, with sockets of its own: what it does next is drawn.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::dice::Dice;
use super::http;
use super::packets::{packet, string};

/// What it speaks, as far as it speaks anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    WebSocket,
    Mqtt,
}

/// Where it goes.
pub(crate) struct Addresses {
    /// For the protocol.
    pub(crate) wire: String,
    /// For configurations and pictures, where it is known.
    pub(crate) http: Option<String>,
}

/// Lets a peer of this seed loose until it is over.
pub(crate) fn play(seed: u64, wire: Wire, at: Addresses, over: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let mut peer = Peer { dice: Dice(seed), wire, at, over };
        while !peer.over.load(Ordering::Relaxed) {
            let ended = match peer.dice.roll(8) {
                0 => peer.strangers(),
                _ => peer.connection(),
            };
            if ended.is_err() {
                // Nobody may listen any more.
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    });
}

struct Peer {
    dice: Dice,
    wire: Wire,
    at: Addresses,
    over: Arc<AtomicBool>,
}

impl Peer {
    fn dial(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(&self.at.wire)?;
        stream.set_nodelay(true)?;
        // So that it sees when it is over, and never waits for one who does not read.
        stream.set_read_timeout(Some(Duration::from_millis(50)))?;
        stream.set_write_timeout(Some(Duration::from_millis(500)))?;
        Ok(stream)
    }

    /// Those who come to the port and are no device.
    fn strangers(&mut self) -> io::Result<()> {
        match self.dice.roll(5) {
            // Two hundred at once, some of which say a little.
            0 => {
                let mut held = (0..200).map(|_| self.dial()).collect::<io::Result<Vec<_>>>()?;
                for stream in held.iter_mut().step_by(3) {
                    let _ = stream.write_all(b"GET /");
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            // Fifty who connect and say nothing.
            1 => (0..50).try_for_each(|_| self.dial().map(drop))?,
            // One byte at a time, and never the last one.
            2 => {
                let mut stream = self.dial()?;
                for byte in b"GET /xiaozhi/v1/ HTTP/1.1\r\nHost: here\r\nUpgr" {
                    stream.write_all(&[*byte])?;
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
            3 => {
                let junk = self.dice.bytes(100_000);
                self.dial()?.write_all(&junk)?;
            }
            _ => {
                let head = format!("GET / HTTP/1.1\r\n{}", "X: y\r\n".repeat(20_000));
                self.dial()?.write_all(head.as_bytes())?;
            }
        }
        Ok(())
    }

    /// A connection as a device makes it, which answers well until it does not.
    fn connection(&mut self) -> io::Result<()> {
        let mut stream = self.dial()?;
        match self.wire {
            Wire::WebSocket => {
                stream.write_all(
                    b"GET /xiaozhi/v1/ HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                      Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                      Authorization: Bearer opensesame\r\n\r\n",
                )?;
                let mut last = [0; 4];
                while &last != b"\r\n\r\n" {
                    last.rotate_left(1);
                    stream.read_exact(&mut last[3..])?;
                }
            }
            Wire::Mqtt => {
                let mut body = string("MQTT");
                body.extend([4, 0xc2, 0, 60]);
                for text in ["me", "mcp-hil", "opensesame"] {
                    body.extend(string(text));
                }
                stream.write_all(&packet(0x10, &body))?;
            }
        }
        let transport = if self.wire == Wire::Mqtt { "udp" } else { "websocket" };
        let hello = json!({"type": "hello", "version": 1, "features": {"mcp": true}, "transport": transport,
            "audio_params": {"format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60}});
        self.say(&mut stream, hello.to_string().as_bytes())?;
        let mut udp = None;
        while !self.over.load(Ordering::Relaxed) {
            let Some(message) = self.hear(&mut stream)? else { continue };
            let Ok(message) = serde_json::from_slice::<Value>(&message) else { continue };
            if let Some(port) = message["udp"]["port"].as_u64() {
                udp = Some(format!("127.0.0.1:{port}"));
            }
            let request = &message["payload"];
            if request["method"].is_null() {
                continue;
            }
            if self.dice.roll(12) == 0 {
                self.misdeed(&mut stream, udp.as_deref())?;
            }
            let answer = json!({"session_id": message["session_id"], "type": "mcp", "payload": answer(request)});
            self.say(&mut stream, answer.to_string().as_bytes())?;
        }
        Ok(())
    }

    /// Something that no device does.
    fn misdeed(&mut self, stream: &mut TcpStream, udp: Option<&str>) -> io::Result<()> {
        if let (Some(http), 0) = (&self.at.http, self.dice.roll(4)) {
            // Whether that is refused, or nobody listens, the connection here goes on.
            let _ = http::misdeed(&mut self.dice, http);
            return Ok(());
        }
        match self.dice.roll(12) {
            0 => Err(io::ErrorKind::ConnectionReset.into()),
            1 => {
                let junk = self.dice.bytes(4_000);
                self.say(stream, &junk)
            }
            2 => self.say(stream, &[b"[".repeat(100_000), b"]".repeat(100_000)].concat()),
            3 => {
                let wide = (0..50_000).map(|at| format!("\"m{at}\":0")).collect::<Vec<_>>();
                self.say(stream, format!("{{{}}}", wide.join(",")).as_bytes())
            }
            4 => {
                let many = self.dice.roll(3_000);
                (0..many).try_for_each(|_| {
                    self.say(stream, br#"{"type":"mcp","payload":{"id":1,"result":{}}}"#)
                })
            }
            5 => self.say(stream, b""),
            6 => {
                // Half of a message, and nothing more for a while.
                let whole = self.framed(&[b'a'; 2_000]);
                stream.write_all(&whole[..1_000])?;
                std::thread::sleep(Duration::from_millis(self.dice.roll(400)));
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            7 => self.say(stream, &vec![b' '; 5 << 20]),
            8 => {
                std::thread::sleep(Duration::from_millis(self.dice.roll(400)));
                Ok(())
            }
            9 if udp.is_some() => {
                let socket = UdpSocket::bind("127.0.0.1:0")?;
                for _ in 0..500 {
                    let junk = self.dice.bytes(1_500);
                    let _ = socket.send_to(&junk, udp.unwrap_or_default());
                }
                Ok(())
            }
            _ => match self.wire {
                Wire::WebSocket => self.bad_frames(stream),
                Wire::Mqtt => self.bad_packets(stream),
            },
        }
    }

    fn bad_frames(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        let odd = match self.dice.roll(9) {
            // Reserved bits, and operations that nobody has defined.
            0 => frame(0xf1, b"{}"),
            1 => frame(0x83, b"{}"),
            2 => frame(0x8f, b"{}"),
            // A length of 2^40 bytes, of which two come.
            3 => [&[0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], b"{}"].concat(),
            // Pieces of a message without end.
            4 => [frame(0x01, b"{"), frame(0x00, b" ").repeat(5_000)].concat(),
            5 => frame(0x00, b"a piece of nothing"),
            6 => frame(0x89, b"ping").repeat(3_000),
            7 => frame(0x89, &[0; 125]).into_iter().chain(frame(0x8a, &[0; 3_000])).collect(),
            // Without a mask; and a farewell whose code is none.
            _ => [&[0x81, 2][..], b"{}", &frame(0x88, &[0, 1])].concat(),
        };
        stream.write_all(&odd)
    }

    fn bad_packets(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        let odd = match self.dice.roll(8) {
            0 => packet(0x00, b"reserved"),
            1 => packet(0xf0, b"reserved"),
            // A length of five bytes; one of 256 MiB.
            2 => vec![0x30, 0xff, 0xff, 0xff, 0xff, 0x7f],
            3 => vec![0x30, 0xff, 0xff, 0xff, 0x7f, 0],
            4 => packet(0xc0, b"").repeat(3_000),
            5 => packet(0x36, &string("device-server")),
            // A topic that is longer than its packet; one that is not UTF-8; a subscription to everything.
            6 => [packet(0x30, &[0xff, 0xff, b'a']), packet(0x30, &[0, 2, 0xc0, 0xc0])].concat(),
            _ => packet(0x82, &[&[0, 0][..], &string("#"), &[9]].concat()),
        };
        stream.write_all(&odd)
    }

    fn framed(&self, message: &[u8]) -> Vec<u8> {
        match self.wire {
            Wire::WebSocket => frame(0x81, message),
            Wire::Mqtt => packet(0x30, &[&string("device-server")[..], message].concat()),
        }
    }

    fn say(&self, stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
        stream.write_all(&self.framed(message))
    }

    /// The next message; `None` while nothing comes, or something that is none.
    fn hear(&self, stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
        let mut first = [0];
        match stream.read(&mut first) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
        let mut byte = || -> io::Result<usize> {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            Ok(byte[0].into())
        };
        let mut length = byte()?;
        match self.wire {
            Wire::WebSocket if length >= 126 => {
                let more = if length == 126 { 2 } else { 8 };
                length =
                    (0..more).try_fold(0, |length, _| Ok::<_, io::Error>(length << 8 | byte()?))?;
            }
            Wire::WebSocket => {}
            Wire::Mqtt => {
                let (mut last, mut shift) = (length, 7);
                length &= 0x7f;
                while last & 0x80 != 0 {
                    last = byte()?;
                    length |= (last & 0x7f) << shift;
                    shift += 7;
                }
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let message = match self.wire {
            Wire::WebSocket => first[0] & 0x0f == 1,
            Wire::Mqtt => first[0] & 0xf0 == 0x30,
        };
        if message && self.wire == Wire::Mqtt {
            let topic = usize::from(u16::from_be_bytes([body[0], body[1]]));
            body.drain(..2 + topic);
        }
        Ok(message.then_some(body))
    }
}

/// What a good device answers.
fn answer(request: &Value) -> Value {
    let text = json!({"content": [{"type": "text", "text": "true"}], "isError": false});
    let result = match request["method"].as_str() {
        Some("initialize") => {
            json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
            "serverInfo": {"name": "chaos", "version": "1"}})
        }
        Some("tools/list") => {
            json!({"tools": [{"name": "self.get_device_status", "description": "status",
            "inputSchema": {"type": "object", "properties": {}}}]})
        }
        Some("tools/call") => text,
        _ => json!({}),
    };
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

/// A frame of WebSocket, with a mask of zeros.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..126 => bytes.push(0x80 | u8::try_from(short).unwrap()),
        middle @ 126..=0xffff => {
            bytes.push(0xfe);
            bytes.extend(u16::try_from(middle).unwrap().to_be_bytes());
        }
        long => {
            bytes.push(0xff);
            bytes.extend((long as u64).to_be_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}
