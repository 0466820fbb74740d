//! How a process ended that nobody had asked to, and whose doing that is.
//!
//! | What it is | How it ended | Whose doing |
//! |---|---|---|
//! | a device | it exited, with whatever code | the device's |
//! | a device | by a signal that programs bring upon themselves, such as SIGSEGV or SIGABRT | the device's |
//! | a device | SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT or SIGSTOP: a person, a service manager, or the system when it runs out of memory | the bench's |
//! | a device under a shell | the code by which a shell tells of such a signal, 128 and its number | as by the signal |
//! | an emulator | a code by which what runs in it can end it | the device's |
//! | an emulator | anything else | the bench's |

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use nix::sys::signal::Signal;

use super::TargetOutput;

/// What shells add to the number of the signal that ended a command.
const OF_A_SIGNAL: i32 = 128;

/// What a program is to the harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// The device.
    #[default]
    Device,
    /// What the device runs in. Codes from this one on are those of what runs in it, if it can end its
    /// emulator at all.
    Emulator {
        /// The first of these codes.
        guest_codes: Option<i32>,
    },
}

/// What is told of the end of a process.
pub(super) fn told(part: Part, status: io::Result<ExitStatus>, shell: bool) -> TargetOutput {
    let status = match status {
        Ok(status) => status,
        Err(error) => return lost(format!("its process ended, cause unknown: {error}")),
    };
    let how = how(status, shell);
    match part {
        Part::Device if is_from_outside(status, shell) => lost(format!(
            "its process {how}: a program does not do that to itself; somebody ended it, or the \
             system ran out of memory (`dmesg` tells)"
        )),
        Part::Emulator { guest_codes } if !is_of_guest(status, guest_codes) => {
            lost(format!("the emulator {how}"))
        }
        Part::Device | Part::Emulator { .. } => TargetOutput::Exited(how),
    }
}

fn lost(why: String) -> TargetOutput {
    TargetOutput::Lost { why, by_reset: false }
}

/// Whether a signal ended it that a program brings upon itself.
pub(super) fn is_crash(status: ExitStatus, shell: bool) -> bool {
    signal(status, shell).is_some() && !is_from_outside(status, shell)
}

/// The signal that ended it, or the command under its shell.
fn signal(status: ExitStatus, shell: bool) -> Option<Signal> {
    let by_shell = status.code().filter(|_| shell).map(|code| code - OF_A_SIGNAL);
    status.signal().or(by_shell).and_then(|number| Signal::try_from(number).ok())
}

/// Whether a signal ended it that others send.
fn is_from_outside(status: ExitStatus, shell: bool) -> bool {
    matches!(
        signal(status, shell),
        Some(
            Signal::SIGKILL
                | Signal::SIGTERM
                | Signal::SIGINT
                | Signal::SIGHUP
                | Signal::SIGQUIT
                | Signal::SIGSTOP
        )
    )
}

/// Whether what runs in an emulator ended it.
fn is_of_guest(status: ExitStatus, guest_codes: Option<i32>) -> bool {
    match (status.code(), guest_codes) {
        (Some(code), Some(first)) => code >= first,
        (_, _) => false,
    }
}

/// How a process ended, for people.
fn how(status: ExitStatus, shell: bool) -> String {
    match (status.code(), status.signal()) {
        (Some(127), _) if shell => "exited with code 127 (no such command)".to_owned(),
        (Some(126), _) if shell => "exited with code 126 (not executable)".to_owned(),
        (Some(code), _) => match Signal::try_from(code - OF_A_SIGNAL) {
            Ok(signal) if shell => format!("exited with code {code} ({})", signal.as_str()),
            _ => format!("exited with code {code}"),
        },
        (None, Some(number)) => match Signal::try_from(number) {
            Ok(signal) => format!("ended by signal {number} ({})", signal.as_str()),
            Err(_) => format!("ended by signal {number}"),
        },
        (None, None) => format!("ended: {status}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const EMULATOR: Part = Part::Emulator { guest_codes: None };
    const QEMU: Part = Part::Emulator { guest_codes: Some(2) };

    /// The status of a process that exited, and of one that a signal ended, as `wait` gives it.
    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    fn killed(signal: Signal) -> ExitStatus {
        ExitStatus::from_raw(signal as i32)
    }

    #[rstest]
    #[case::by_a_signal(killed(Signal::SIGSEGV), false, "ended by signal 11 (SIGSEGV)")]
    #[case::by_a_signal_under_a_shell(exited(139), true, "exited with code 139 (SIGSEGV)")]
    #[case::by_itself(exited(139), false, "exited with code 139")]
    #[case::with_a_code(exited(1), true, "exited with code 1")]
    fn an_end_is_told_with_the_name_of_its_signal(
        #[case] status: ExitStatus,
        #[case] shell: bool,
        #[case] text: &str,
    ) {
        assert_eq!(how(status, shell), text);
    }

    #[rstest]
    #[case::ends(Part::Device, exited(0), false, true)]
    #[case::fails(Part::Device, exited(1), true, true)]
    #[case::crashes(Part::Device, killed(Signal::SIGSEGV), false, true)]
    #[case::aborts(Part::Device, killed(Signal::SIGABRT), true, true)]
    #[case::traps(Part::Device, killed(Signal::SIGTRAP), false, true)]
    #[case::writes_to_nobody(Part::Device, killed(Signal::SIGPIPE), false, true)]
    #[case::is_killed(Part::Device, killed(Signal::SIGKILL), false, false)]
    #[case::is_terminated(Part::Device, killed(Signal::SIGTERM), true, false)]
    #[case::is_interrupted(Part::Device, killed(Signal::SIGINT), false, false)]
    #[case::loses_its_terminal(Part::Device, killed(Signal::SIGHUP), false, false)]
    #[case::is_killed_under_a_shell(Part::Device, exited(137), true, false)]
    #[case::is_terminated_under_a_shell(Part::Device, exited(143), true, false)]
    #[case::crashes_under_a_shell(Part::Device, exited(139), true, true)]
    #[case::has_a_code_of_its_own(Part::Device, exited(137), false, true)]
    #[case::emulator_is_killed(EMULATOR, killed(Signal::SIGKILL), false, false)]
    #[case::emulator_crashes(EMULATOR, killed(Signal::SIGSEGV), false, false)]
    #[case::emulator_fails(EMULATOR, exited(1), false, false)]
    #[case::emulator_ends(EMULATOR, exited(3), false, false)]
    #[case::qemu_is_terminated(QEMU, exited(0), false, false)]
    #[case::qemu_fails(QEMU, exited(1), false, false)]
    #[case::qemu_is_killed(QEMU, killed(Signal::SIGKILL), false, false)]
    #[case::image_panics(QEMU, exited(3), false, true)]
    fn who_is_to_blame_for_an_end(
        #[case] part: Part,
        #[case] status: ExitStatus,
        #[case] shell: bool,
        #[case] is_device: bool,
    ) {
        let told = told(part, Ok(status), shell);
        let blamed = matches!(told, TargetOutput::Exited(_));
        assert_eq!(blamed, is_device, "{told:?}");
    }
}
