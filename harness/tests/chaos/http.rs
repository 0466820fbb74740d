//! What a peer does at the port for configurations and pictures.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use super::dice::Dice;

const OTA: &str = "/xiaozhi/ota/";
const VISION: &str = "/mcp/vision/explain";

/// Does one thing that no device does, and does not wait long for the answer.
pub(crate) fn misdeed(dice: &mut Dice, address: &str) -> io::Result<()> {
    let mut stream = dial(address)?;
    let path = [OTA, VISION, "/", "/../../etc/passwd"][usize::try_from(dice.roll(4)).unwrap()];
    let head = format!("POST {path} HTTP/1.1\r\nHost: here\r\nDevice-Id: 02:00:00:00:00:01\r\n");
    match dice.roll(12) {
        // A length of 2^40 bytes, of which two come; two lengths; one that is none.
        0 => say(&mut stream, &[&head, "Content-Length: 1099511627776\r\n\r\n{}"])?,
        1 => say(&mut stream, &[&head, "Content-Length: 2\r\nContent-Length: 20\r\n\r\n{}"])?,
        2 => say(&mut stream, &[&head, "Content-Length: -1\r\n\r\n{}"])?,
        // Pieces without end; a piece whose size is none.
        3 => {
            say(&mut stream, &[&head, "Transfer-Encoding: chunked\r\n\r\n"])?;
            (0..5_000).try_for_each(|_| stream.write_all(b"1\r\n \r\n"))?;
        }
        4 => say(
            &mut stream,
            &[&head, "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}"],
        )?,
        // One byte at a time, and never the last one.
        5 => {
            say(&mut stream, &[&head, "Content-Length: 100\r\n\r\n"])?;
            for _ in 0..50 {
                stream.write_all(b" ")?;
                std::thread::sleep(Duration::from_millis(4));
            }
        }
        // Parts of a picture without end; a picture of megabytes that nobody asked for.
        6 => {
            let kind =
                "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 400000\r\n\r\n";
            say(&mut stream, &[&head, kind])?;
            let part = "--b\r\nContent-Disposition: form-data; name=\"question\"\r\n\r\n?\r\n";
            stream.write_all(part.repeat(5_000).as_bytes())?;
        }
        7 => {
            let body = dice.bytes(6 << 20);
            say(&mut stream, &[&head, &format!("Content-Length: {}\r\n\r\n", body.len())])?;
            stream.write_all(&body)?;
        }
        8 => {
            let body = "{\"a\":".repeat(50_000);
            say(&mut stream, &[&head, &format!("Content-Length: {}\r\n\r\n{body}", body.len())])?;
        }
        // Many requests before the first answer is read; a protocol of another time.
        9 => say(&mut stream, &[&format!("{head}Content-Length: 2\r\n\r\n{{}}").repeat(500)])?,
        10 => say(&mut stream, &["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0"])?,
        _ => {
            let mut held = (0..100).map(|_| dial(address)).collect::<io::Result<Vec<_>>>()?;
            for stream in &mut held {
                say(stream, &[&head])?;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    // Whether it answers is its own affair.
    let _ = stream.read(&mut [0; 1_024]);
    Ok(())
}

fn dial(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_millis(20)))?;
    stream.set_write_timeout(Some(Duration::from_millis(500)))?;
    Ok(stream)
}

fn say(stream: &mut TcpStream, texts: &[&str]) -> io::Result<()> {
    stream.write_all(texts.concat().as_bytes())
}
