//! JSON: the stream of events for programs, and the record of a whole run.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::reporter::Reporter;
use crate::answers::AnswerReport;
use crate::cause::Shown;
use crate::event::{CaseReport, DutReady, Event, RunStarted, SCHEMA, Summary};

/// Writes each event as one line of JSON as soon as it happens.
#[derive(Debug)]
pub struct Ndjson<W>(W);

impl<W: Write + Send> Ndjson<W> {
    /// A stream to a writer.
    pub fn new(out: W) -> Self {
        Self(out)
    }
}

impl<W: Write + Send> Reporter for Ndjson<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        // One write a line: readers never see half an event of a run that is killed.
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.0.write_all(&line)?;
        self.0.flush()
    }
}

/// A whole run: `report.json`, which `replay` reads.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`] of the program that wrote it.
    pub schema: u32,
    /// What was to run.
    pub run: RunStarted,
    /// The devices, as they showed themselves.
    #[serde(default)]
    pub duts: Vec<DutReady>,
    /// The judged cases in the order in which they ran, each with its last verdict.
    #[serde(default)]
    pub cases: Vec<CaseReport>,
    /// Answers that are not as reviewed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerReport>,
    /// What was told that is no verdict.
    #[serde(default)]
    pub notices: Vec<String>,
    /// What it came to.
    pub summary: Summary,
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no record.
    #[error("not the record of a run: {0}")]
    Json(#[from] serde_json::Error),
    /// Another version of the program wrote it.
    #[error("record of schema {found}: expected schema {SCHEMA}")]
    Schema {
        /// Its version.
        found: u32,
    },
}

impl Record {
    /// Takes the end of the run. Where the repro of a cause was tried, it is that of all cases that it spoils.
    fn finish(&mut self, summary: &Summary) {
        self.summary = summary.clone();
        for case in &mut self.cases {
            let mut causes = summary.causes.iter().filter(|cause| cause.shown != Shown::NotTried);
            if let Some(cause) = causes.find(|cause| cause.spoils(case)) {
                case.repro = cause.repro();
            }
        }
    }

    /// Reads a record.
    ///
    /// # Errors
    ///
    /// The text is no record, or one of another schema.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        // The version first: of another schema, nothing else may be trusted to have its meaning.
        let Version { schema: found } = serde_json::from_str(text)?;
        if found != SCHEMA {
            return Err(ReadError::Schema { found });
        }
        Ok(serde_json::from_str(text)?)
    }

    /// Writes the record for programs and people: indented, with a line end.
    ///
    /// # Errors
    ///
    /// The writer did not take it.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        out.write_all(&text)
    }
}

/// Gathers events into a [`Record`].
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    record: Option<Record>,
    early: Vec<String>,
}

impl Recorder {
    /// Takes the next event.
    pub fn take(&mut self, event: &Event) {
        let Some(record) = &mut self.record else {
            match event {
                Event::RunStarted(run) => {
                    self.record = Some(Record {
                        schema: SCHEMA,
                        run: run.clone(),
                        duts: Vec::new(),
                        cases: Vec::new(),
                        answers: Vec::new(),
                        notices: std::mem::take(&mut self.early),
                        summary: Summary::default(),
                    });
                }
                Event::Notice { text } => self.early.push(text.clone()),
                _ => {}
            }
            return;
        };
        match event {
            Event::RunStarted(run) => record.run = run.clone(),
            Event::DutReady(dut) => {
                let same = |known: &&mut DutReady| {
                    (&known.dut, &known.transport) == (&dut.dut, &dut.transport)
                };
                match record.duts.iter_mut().find(same) {
                    Some(known) => *known = (**dut).clone(),
                    None => record.duts.push((**dut).clone()),
                }
            }
            Event::CaseStarted { .. } => {}
            Event::CaseFinished(case) => record.cases.push(case.clone()),
            Event::CaseRevised(case) => {
                let same = |known: &&mut CaseReport| {
                    (&known.case, &known.dut, &known.transport)
                        == (&case.case, &case.dut, &case.transport)
                };
                match record.cases.iter_mut().rev().find(same) {
                    Some(known) => *known = case.clone(),
                    None => record.cases.push(case.clone()),
                }
            }
            Event::AnswerChanged(answer) => record.answers.push((**answer).clone()),
            Event::Notice { text } => record.notices.push(text.clone()),
            Event::RunFinished(summary) => record.finish(summary),
        }
    }

    /// The record so far; none before the run has started.
    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }
}

/// Makes the content of a file of a record.
type Render = dyn Fn(&Record) -> io::Result<Vec<u8>> + Send;

/// A report that is written to a file when the run is over.
pub struct ReportFile {
    path: PathBuf,
    recorder: Recorder,
    render: Box<Render>,
}

impl ReportFile {
    /// What `render` makes of the record, for a file; its folder is made when the file is written.
    pub fn new(
        path: impl Into<PathBuf>,
        render: impl Fn(&Record) -> io::Result<Vec<u8>> + Send + 'static,
    ) -> Self {
        Self { path: path.into(), recorder: Recorder::default(), render: Box::new(render) }
    }

    /// The record itself.
    pub fn record(path: impl Into<PathBuf>) -> Self {
        Self::new(path, |record| {
            let mut text = Vec::new();
            record.write(&mut text)?;
            Ok(text)
        })
    }
}

impl fmt::Debug for ReportFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReportFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Reporter for ReportFile {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.recorder.take(event);
        match (event, self.recorder.record()) {
            (Event::RunFinished(_), Some(record)) => {
                write_file(&self.path, &(self.render)(record)?)
            }
            _ => Ok(()),
        }
    }
}

/// Writes a report and the folders above it, as [`write_whole`] does.
///
/// # Errors
///
/// It could not be written. An earlier one is gone then: it would be taken for that of this run.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let done = write_whole(path, bytes);
    if done.is_err() && path.is_file() {
        let _ = fs::remove_file(path);
    }
    done
}

/// Writes a file and the folders above it. Whoever reads it gets all of it or none, also where the disk is full or this
/// process is killed meanwhile: half a report reads as another one, or as a mistake of its reader.
///
/// # Errors
///
/// It could not be written; what was there before is there still, unless it is a device or a pipe.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    // What a link leads to, and no other file in its place.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let there = fs::metadata(&real).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        return fs::write(real, bytes);
    }
    let mut beside = real.clone().into_os_string();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let access = there.map(|there| there.permissions());
    let done = fs::write(&beside, bytes)
        .and_then(|()| access.map_or(Ok(()), |access| fs::set_permissions(&beside, access)))
        .and_then(|()| fs::rename(&beside, &real));
    if done.is_err() {
        let _ = fs::remove_file(beside);
    }
    done
}

/// How many bytes the files of a folder have.
///
/// # Errors
///
/// The folder, or one below it, cannot be read.
pub fn size(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => size(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_takes_the_place_of_an_earlier_one_and_leaves_nothing_beside_it() {
        let folder = std::env::temp_dir().join(format!("mcp-hil-report-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let (file, link) = (folder.join("deep/er.xml"), folder.join("link.xml"));
        write_file(&file, b"first, and longer").unwrap();
        std::os::unix::fs::symlink("deep/er.xml", &link).unwrap();
        write_file(&link, b"second").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"second");
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.join("deep")).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
