//! Reports: folds over the one stream of events that a run produces.
//!
//! [`terminal`] writes for people, [`json`] keeps the record and streams events to programs,
//! [`junit`] writes for CI readers, [`markdown`] and [`github`] for the servers that run them, [`html`] a
//! page for everybody. They know neither the run nor each other; [`Reporters`] hands each event to all of
//! them.

pub mod clean;
mod fanout;
pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub(crate) mod layout;
pub(crate) mod lines;
pub mod markdown;
mod progress;
mod summary;
pub mod terminal;

use std::sync::Arc;

use mcp_hil_core::catalogue::Catalogue;

pub use fanout::{Reporter, Reporters};
pub use github::{Annotations, StepSummary, Workspace};
pub use html::{HtmlFile, Sources};
pub use json::{Ndjson, ReadError, Record, RecordFile, Recorder};
pub use junit::JunitFile;
pub use lines::Status;
pub use markdown::SummaryFile;
pub use progress::Progress;
pub use summary::exit_meaning;
pub use terminal::{Style, Terminal};

/// Adds the reports that lie in the folder of a run.
pub fn add_files(reporters: &mut Reporters<'_>, catalogue: &Arc<Catalogue>, sources: Sources) {
    let [record, junit, page] =
        ["report.json", "junit.xml", "report.html"].map(|name| sources.folder.join(name));
    reporters.add("report.json", RecordFile::new(record));
    reporters.add("junit.xml", JunitFile::new(junit, catalogue.clone()));
    reporters.add(
        "report.html",
        HtmlFile::new(page, catalogue.clone(), sources),
    );
}
