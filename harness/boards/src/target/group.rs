//! A process group that ends with the harness, however the harness ends.

use std::os::unix::process::CommandExt as _;
use std::{
    io,
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

/// What the leader of the group runs. It holds the reading end of a pipe whose other end only the
/// harness has. When the harness dies, even by SIGKILL, the read ends and the group is killed,
/// the leader included. Polite signals to the group are not meant for it.
const LEADER: &str = "trap '' HUP INT QUIT TERM; read -r _; kill -9 0";

/// The leader's shell does not start.
#[derive(Debug, thiserror::Error)]
#[error("`sh`, which ends the device's processes with the harness, does not start: {0}")]
pub(super) struct NoShell(io::Error);

/// A process group, led by a shell that does nothing but watch over it.
///
/// The leader is not reaped before the group has been killed, so that the number of the group
/// cannot come to mean another one meanwhile.
#[derive(Debug)]
pub(super) struct Group {
    /// Its standard input is the pipe that must stay open.
    leader: Child,
    id: i32,
    /// Whether its members may live on.
    is_disbanded: bool,
}

impl Group {
    /// An empty group.
    pub(super) fn new() -> io::Result<Self> {
        let leader = Command::new("sh")
            .args(["-c", LEADER, "mcp-hil-group"])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), NoShell(error)))?;
        let id = i32::try_from(leader.id()).map_err(io::Error::other)?;
        Ok(Self { leader, id, is_disbanded: false })
    }

    /// The number of the group.
    pub(super) fn id(&self) -> i32 {
        self.id
    }

    /// Lets its members live on without it.
    pub(super) fn disband(mut self) {
        self.is_disbanded = true;
    }

    /// Sends a signal to all members.
    pub(super) fn signal(&self, signal: Signal) {
        // Fails only when no member is left to hear it.
        let _ = killpg(Pid::from_raw(self.id), signal);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        match self.is_disbanded {
            true => drop(self.leader.kill()),
            false => self.signal(Signal::SIGKILL),
        }
        let _ = self.leader.wait();
    }
}
