//! A console that says whatever a seed decides: through a named pipe, which a device's program passes on.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::dice::Dice;

/// Chatters into the pipe whenever somebody reads it, until it is over.
pub(crate) fn chatter(seed: u64, pipe: &Path, over: Arc<AtomicBool>) {
    let pipe = pipe.to_owned();
    std::thread::spawn(move || {
        let mut console = Console { dice: Dice(!seed), over };
        while !console.over.load(Ordering::Relaxed) {
            if let Ok(mut reader) = reader(&pipe) {
                // The program may have ended: another one may be started.
                let _ = console.talk(&mut reader);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

/// The end of a pipe that somebody reads, which does not wait.
///
/// # Errors
///
/// Nobody reads.
pub(crate) fn reader(pipe: &Path) -> io::Result<File> {
    let nonblock = nix::fcntl::OFlag::O_NONBLOCK.bits();
    OpenOptions::new().write(true).custom_flags(nonblock).open(pipe)
}

struct Console {
    dice: Dice,
    over: Arc<AtomicBool>,
}

impl Console {
    fn talk(&mut self, pipe: &mut File) -> io::Result<()> {
        while !self.over.load(Ordering::Relaxed) {
            let words = self.words();
            self.write(pipe, &words)?;
            std::thread::sleep(Duration::from_millis(self.dice.roll(60)));
        }
        Ok(())
    }

    fn write(&self, pipe: &mut File, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() && !self.over.load(Ordering::Relaxed) {
            match pipe.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Something that a console may say, though few do.
    fn words(&mut self) -> Vec<u8> {
        match self.dice.roll(16) {
            // Millions of bytes without the end of a line, and in as many lines.
            0 => vec![b'a'; 4 << 20],
            1 => b"I (1) main: still here\r\n".repeat(100_000),
            2 => b"\n".repeat(200_000),
            3 => b"\0".repeat(10_000),
            4 => self.dice.bytes(20_000),
            // What a terminal obeys, and what a workflow of GitHub does.
            5 => b"\x1b[2J\x1b]0;title\x07\x1b[31m\x9b5A\r\r\x08\x08::error file=a::b\n::stop-commands::x\n".to_vec(),
            // Half of a character, and of a sequence of control.
            6 => b"I (2) MCP: \xe5\xbd\nI (3) MCP: \x1b[".to_vec(),
            // Crashes of which half is missing, whose numbers are none, and without end.
            7 => b"Guru Meditation Error: Core  0 panic'ed (LoadProhibited). Exception was unhandled.\r\n".to_vec(),
            8 => format!("Backtrace: {}\r\n", "0x400d1234:0x3ffb1230 ".repeat(5_000)).into_bytes(),
            9 => b"Backtrace: 0x:0x zzz 0xffffffffffffffffff:0x0\r\nabort() was called at PC 0x\r\n".to_vec(),
            10 => b"rst:0x10 (RTCWDT_RTC_RESET),boot:0x8 (SPI_FAST_FLASH_BOOT)\r\n".to_vec(),
            11 => b"I (99999999999999999999) SystemInfo: free sram: 99999999999999999999 minimal sram: -1\r\n".to_vec(),
            12 => format!("I (5) MCP: {}\n", "Add tool: self.x ".repeat(2_000)).into_bytes(),
            13 => format!("E (6) MCP: {}{}\n", "{\"a\":".repeat(20_000), "}".repeat(20_000)).into_bytes(),
            14 => b"***ERROR*** A stack overflow in task main has been detected.\r\n".to_vec(),
            _ => b"I (7) Application: STATE: idle\r\n".to_vec(),
        }
    }
}
