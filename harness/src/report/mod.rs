//! Reports: folds over the one stream of events that a run produces.
//!
//! [`terminal`] writes for people, [`json`] keeps the record and streams events to programs,
//! [`junit`] writes for CI readers. They know neither the run nor each other; [`Reporters`] hands
//! each event to all of them.

pub mod clean;
mod fanout;
pub mod json;
pub mod junit;
pub(crate) mod layout;
mod lines;
mod summary;
pub mod terminal;

use std::path::Path;
use std::sync::Arc;

use mcp_hil_core::catalogue::Catalogue;

pub use fanout::{Reporter, Reporters};
pub use json::{Ndjson, ReadError, Record, RecordFile, Recorder};
pub use junit::JunitFile;
pub use lines::Status;
pub use summary::exit_meaning;
pub use terminal::{Style, Terminal};

/// Adds the reports that lie in the folder of a run.
pub fn add_files(reporters: &mut Reporters<'_>, folder: &Path, catalogue: &Arc<Catalogue>) {
    reporters.add("report.json", RecordFile::new(folder.join("report.json")));
    reporters.add(
        "junit.xml",
        JunitFile::new(folder.join("junit.xml"), catalogue.clone()),
    );
}
