//! Looking for programs, and asking them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// How long a program may take to tell its version. One that does not end is ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// Most bytes that are read of what it says.
const MOST: u64 = 64 * 1024;

/// The program of a name in the folders of PATH.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut all = std::env::split_paths(&path).map(|folder| folder.join(name));
    all.find(|program| program.is_file())
}

/// What a program says on standard output, without space around it; `None` when it does not start,
/// fails, or does not end.
pub(super) fn ask(program: &Path, arguments: &[&str]) -> Option<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let stdout = child.stdout.take()?;
    let (say, heard) = channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.take(MOST).read_to_string(&mut text);
        let _ = say.send(read.map(|_| text));
    });
    let said = heard.recv_timeout(PATIENCE);
    if said.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().ok()?;
    let text = said.ok()?.ok()?;
    status.success().then(|| text.trim().to_owned())
}

/// Whether a file may be written, without opening it.
pub(super) fn can_write(path: &Path) -> bool {
    let status = Command::new("/bin/sh")
        .args(["-c", "test -w \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}
