//! Reports: folds over the one stream of events that a run produces.
//!
//! [`terminal`] writes for people, [`junit`] for CI readers, [`markdown`] and [`github`] for the servers that run them,
//! [`html`] a page for everybody. They know neither the run nor each other. [`diff`], [`merge`], [`coverage`] and
//! [`baseline`] are made of the records of runs that are over.

mod across;
pub mod baseline;
pub mod coverage;
pub mod diff;
pub mod github;
pub mod html;
pub mod junit;
pub mod lines;
pub mod markdown;
pub mod merge;
mod progress;
mod summary;
pub mod terminal;

use std::sync::Arc;

use mcp_hil_core::catalogue::Catalogue;

use mcp_hil_record::journal::JOURNAL;
use mcp_hil_record::{Journal, ReportFile, Reporters};

pub use github::{Annotations, StepSummary, Workspace};
pub use html::Sources;
pub use lines::Status;
pub use progress::Progress;
pub use summary::exit_meaning;
pub use terminal::{Style, Terminal};

/// Adds the reports that lie in the folder of a run.
pub fn add_files(reporters: &mut Reporters<'_>, catalogue: &Arc<Catalogue>, sources: Sources) {
    let [record, junit, page] =
        ["report.json", "junit.xml", "report.html"].map(|name| sources.folder.join(name));
    let journal = Journal::new(&sources.folder);
    reporters.add("report.json", ReportFile::record(record));
    reporters.add("junit.xml", junit::file(junit, catalogue.clone()));
    reporters.add("report.html", html::file(page, catalogue.clone(), sources));
    // The last one: until all are there, the run has not ended.
    reporters.add(JOURNAL, journal);
}
