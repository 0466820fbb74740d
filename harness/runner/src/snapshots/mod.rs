//! Reviewed answers: does a device still say what a person has once looked at?
//!
//! A verdict says that a rule was broken; a snapshot says that an answer *changed*. A scenario marks an
//! answer with `snapshot: <name>`; the run compares it with `<folder>/<device>/<area>/<name>.snap`, in the
//! format of `insta`, and leaves what differs beside it as `.snap.new`, so that `cargo insta review` shows
//! and accepts it. The test package in `snapshots/` compares the same files through `insta` itself.
//!
//! [`answers`] reads what was said off the transcripts, [`redact`] takes out what differs from run to run,
//! [`layout`] and [`mod@file`] write and read, [`reviewed`] knows the folders of a device and of its family,
//! `run::review` compares. What changed is told in words by `mcp_hil_judge::compare::change`.
//! [`capabilities`] does all that with what a device is able to do: one that loses a capability is asked less, and
//! no verdict would say so.
//!
//! `insta` is no part of the program: its settings are variables of the environment, which a process cannot
//! set for itself without `unsafe`, and a folder that cannot be written must not end a run.

pub mod answers;
pub mod capabilities;
pub mod differ;
pub mod file;
pub mod layout;
pub mod name;
pub mod redact;
pub mod reviewed;
mod setup;

pub use redact::Redactions;
pub use setup::Setup;
