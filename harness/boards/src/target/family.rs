//! The processes that came of one start, whatever group or session they have moved to.

use std::{
    fs,
    os::unix::ffi::OsStrExt as _,
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// How often is looked for members: one may have started another while it was looked for the others.
const LOOKS: usize = 8;

/// What one start is named, so that no other one of this machine has the name.
static STARTS: AtomicU64 = AtomicU64::new(0);

/// All processes that inherited the name of one start in their environment. They end when this is dropped, those that
/// left the process group (`setsid`, a daemon) among them. Where the system does not show the environment of processes,
/// as Linux does in `/proc`, there are none.
#[derive(Debug)]
pub(super) struct Family {
    name: String,
}

impl Family {
    /// The variable that holds the name.
    pub(super) const VARIABLE: &'static str = "MCP_HIL_START";

    /// A family that has nobody yet.
    pub(super) fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let start = STARTS.fetch_add(1, Ordering::Relaxed);
        Self { name: format!("{}-{start}-{now}", std::process::id()) }
    }

    /// What the first process finds in its environment.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The members that run. Those of other users cannot be looked at.
    fn members(&self) -> Vec<Pid> {
        let wanted = format!("{}={}", Self::VARIABLE, self.name);
        let is_member = |pid: i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
        };
        let all = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let number = |name: &[u8]| std::str::from_utf8(name).ok()?.parse().ok();
        let pids = all.filter_map(|entry| number(entry.file_name().as_bytes()));
        pids.filter(|pid| is_member(*pid)).map(Pid::from_raw).collect()
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        for _ in 0..LOOKS {
            let members = self.members();
            if members.is_empty() {
                return;
            }
            for member in members {
                // It may have ended meanwhile.
                let _ = kill(member, Signal::SIGKILL);
            }
        }
    }
}
