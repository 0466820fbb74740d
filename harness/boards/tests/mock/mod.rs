//! A board that is none: PyPI's `esp32-mock-bootloader` on a pseudo-terminal, with a flash memory that a
//! test can fill, spoil and read.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Starts the bootloader with the flash memory of a file, and keeps the file up to date. A fault is
/// `none`, `forgetful` (every block loses a bit), `mute` (blocks are not answered any more) or `genuine`: as
/// a real chip does, its stub hangs when it is overwritten while it runs, and restarts the chip when told.
const BOOTLOADER: &str = r"
import sys
try:
    from esp32_mock_bootloader import chips, protocol, server
except ImportError:
    print('no bootloader', flush=True)
    sys.exit(0)
chip, file, fault, size_id = sys.argv[1:5]
protocol.MOCK_FLASH_ID = int(size_id, 16) << 16 | 0x4020
protocol.FLASH_MOCK_SIZE = 1 << int(size_id, 16)
flash = server.get_flash_image()
flash.data[:] = open(file, 'rb').read().ljust(len(flash.data), b'\xff')
kept = server.FlashImage.end_defl
def end(self):
    kept(self)
    open(file, 'wb').write(self.data)
server.FlashImage.end_defl = end
if fault == 'forgetful':
    good = server.FlashImage.write_defl_block
    def write(self, payload):
        at = self._defl_offset
        good(self, payload)
        self.data[at] ^= 1
    server.FlashImage.write_defl_block = write
if fault == 'mute':
    import time
    def write(self, payload):
        print('mute', flush=True)
        time.sleep(3600)
    server.FlashImage.write_defl_block = write
# On a busy machine its own clock ends a session in the middle: a new one begins where a flasher asks for it.
server._FLASH_END_IDLE_SEC = float('inf')
sessions = []
class Session(server.ChipSession):
    def __init__(self, mode):
        super().__init__(mode)
        sessions.append(self)
server.ChipSession = Session
sync = server.make_sync_response
def synced(*, stub):
    sessions[-1].stub_active = False
    return sync(stub=False)
server.make_sync_response = synced
if fault == 'genuine':
    import time
    answer = server.make_response
    def response(cmd, *args, **named):
        if cmd == protocol.CMD_MEM_BEGIN and named.get('stub'):
            print('the stub is overwritten', flush=True)
            time.sleep(3600)
        made = answer(cmd, *args, **named)
        if cmd == protocol.CMD_FLASH_END and named.get('stub'):
            sessions[-1].stub_active = False
        return made
    server.make_response = response
server.run_pty_server(None, None, chip)
";

pub(crate) struct Mock {
    child: Child,
    /// The port.
    pub(crate) port: PathBuf,
    /// What its flash memory holds; before the first write, what it was given.
    pub(crate) file: PathBuf,
}

impl Mock {
    /// A board with erased flash memory of 4 MB; none where the package is missing.
    pub(crate) fn start(name: &str, chip: &str) -> Option<Self> {
        Self::with(name, chip, "none", 22, &[])
    }

    /// A board with a fault, a flash memory of 2^`size` bytes, and something in it.
    pub(crate) fn with(
        name: &str,
        chip: &str,
        fault: &str,
        size: u8,
        content: &[u8],
    ) -> Option<Self> {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mock-{name}-{chip}.bin"));
        std::fs::write(&file, content).unwrap();
        let python = std::env::var_os("MCP_HIL_PYTHON").unwrap_or_else(|| "python3".into());
        let child = Command::new(python)
            .args(["-c", BOOTLOADER, chip])
            .arg(&file)
            .args([fault, &format!("{size:x}")])
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.ok()?;
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().and_then(Result::ok).unwrap_or_default();
        let port = line.starts_with("/dev/").then(|| PathBuf::from(&line));
        let Some(port) = port else {
            let _ = child.kill();
            let _ = child.wait();
            crate::missing::PYTHON.is_missing(&format!("no `esp32-mock-bootloader`: {line}"));
            return None;
        };
        // What it prints later has to go somewhere.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Some(Self { child, port, file })
    }

    /// What the flash memory holds.
    pub(crate) fn memory(&self) -> Vec<u8> {
        std::fs::read(&self.file).unwrap()
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
