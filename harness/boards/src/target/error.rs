//! Trouble of the bench: never the fault of the device.

use std::io;

use super::group::NoShell;
use crate::board::port::Trouble;

/// Why a device cannot be started, restarted or switched.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum TargetError {
    /// The program that is the device does not start.
    #[error("cannot start the device `{command}`: expected a program that runs, got: {reason}")]
    #[diagnostic(help("{}", start_hint(reason)))]
    Start {
        /// The command line.
        command: String,
        /// What the system said.
        reason: io::Error,
    },
    /// A board, or its port, is not to be had.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Board(#[from] Trouble),
    /// A restart was wanted of a device that the harness did not start.
    #[error(
        "cannot restart the device: expected one that the harness started, got one that is started \
         separately"
    )]
    #[diagnostic(help(
        "restart it by hand, or let the harness start it with `--dut exec:'<command>'`"
    ))]
    NotOurs,
}

fn start_hint(reason: &io::Error) -> &'static str {
    if reason.get_ref().is_some_and(|error| error.is::<NoShell>()) {
        return "install a shell by the name `sh`, or put its folder on PATH; that of busybox is enough";
    }
    match reason.kind() {
        io::ErrorKind::NotFound => {
            "check the path; a name without `/` is looked for in the folders of PATH"
        }
        io::ErrorKind::PermissionDenied => {
            "it must be an executable file (`chmod +x`), on a file system that allows execution"
        }
        io::ErrorKind::ArgumentListTooLong => "shorten the command line or the environment",
        _ => "run the command by hand to see whether it starts",
    }
}
