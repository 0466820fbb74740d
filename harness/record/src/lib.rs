//! What a run tells and leaves: one stream of [`event`]s, reporters that fold it, and the record that holds all of
//! it. With it come the [`error`]s that users read, the [`exit`] codes, and [`text`] that fits a terminal.
//!
//! Everything above writes or reads these. They know nothing of how a run comes about.

pub mod about;
pub mod answers;
pub mod case;
pub mod cause;
pub mod error;
pub mod event;
pub mod exit;
pub mod journal;
pub mod names;
pub mod read;
pub mod report;
pub mod reporter;
pub mod shard;
pub mod text;

pub use error::UserError;
pub use journal::{Journal, Unfinished};
pub use report::{Ndjson, ReadError, Record, Recorder, ReportFile};
pub use reporter::{Reporter, Reporters};

/// Program and version, as reports name it.
pub const TOOL: &str = concat!("mcp-hil ", env!("CARGO_PKG_VERSION"));
