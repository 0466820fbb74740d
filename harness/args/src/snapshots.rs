//! What `--snapshots` says.

use clap::ValueEnum;

/// What a run does with answers that are to be reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Compare; a change does not conform, and is left as `.snap.new` (in CI nothing is written, and an
    /// answer that nobody has reviewed does not conform either)
    Check,
    /// Compare, and leave what differs or is new as `.snap.new`; the exit code does not change
    New,
    /// Take the answers as they are for reviewed
    Update,
    /// Nothing
    Off,
}
