//! Who else has a port open.
//!
//! The exclusive access that a terminal grants keeps out who comes later, and nobody who was there before:
//! a `cat` in some window reads what is meant for us. Linux tells who that is in `/proc`, of processes that
//! this user may look at; elsewhere nobody is found.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A process that is being started has all that its parent has open, until it becomes the program that it is to be:
/// who is seen only once is none that reads the port.
const SECOND_LOOK: Duration = Duration::from_millis(50);

/// A process that has a port open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Process id.
    pub pid: u32,
    /// The name of its program.
    pub program: String,
}

impl User {
    /// Some of them, in a line.
    pub(crate) fn list(users: &[Self]) -> String {
        let names = users.iter().map(|user| format!("`{}` (process {})", user.program, user.pid));
        names.collect::<Vec<_>>().join(", ")
    }
}

/// The processes that have a port open, but for this one, those that it was started by, those in `known`,
/// and the one that provides it, where it is a pseudo terminal.
pub fn users_of(port: &Path, known: &[u32]) -> Vec<User> {
    let Ok(port) = port.canonicalize() else {
        return Vec::new();
    };
    let own = ancestors(std::process::id());
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut pids: Vec<u32> = processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| !own.contains(pid) && !known.contains(pid))
        .filter(|pid| uses(*pid, &port))
        .collect();
    if !pids.is_empty() {
        std::thread::sleep(SECOND_LOOK);
        pids.retain(|pid| uses(*pid, &port));
    }
    let mut users: Vec<User> =
        pids.into_iter().map(|pid| User { pid, program: program(pid) }).collect();
    users.sort_by_key(|user| user.pid);
    users
}

/// A process and all that it was started by.
fn ancestors(mut pid: u32) -> Vec<u32> {
    let mut all = Vec::new();
    // A number that came round again must not lead in a circle.
    while pid > 1 && !all.contains(&pid) {
        all.push(pid);
        pid = parent(pid).unwrap_or(0);
    }
    all
}

fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// Whether a process has the port open, and does not play the other end of it.
fn uses(pid: u32, port: &Path) -> bool {
    let folder = PathBuf::from(format!("/proc/{pid}/fd"));
    let Ok(files) = fs::read_dir(&folder) else {
        return false;
    };
    let mut is_open = false;
    for file in files.filter_map(Result::ok) {
        let Ok(target) = fs::read_link(file.path()) else {
            continue;
        };
        if target == port {
            is_open = true;
        } else if target.ends_with("ptmx") && provides(pid, &file.file_name(), port) {
            return false;
        }
    }
    is_open
}

/// Whether an open `ptmx` is the other end of a pseudo terminal.
fn provides(pid: u32, descriptor: &std::ffi::OsStr, port: &Path) -> bool {
    let info = Path::new("/proc").join(pid.to_string()).join("fdinfo");
    let Ok(info) = fs::read_to_string(info.join(descriptor)) else {
        return false;
    };
    let number = info.lines().find_map(|line| line.strip_prefix("tty-index:"));
    number.is_some_and(|number| port == Path::new("/dev/pts").join(number.trim()))
}

fn program(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm"))
        .map_or_else(|_| "a program".to_owned(), |name| name.trim().to_owned())
}
