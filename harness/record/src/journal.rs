//! The events of a run that has not ended, in its folder: what is left where its process is killed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::report::{Ndjson, Record, Recorder};
use super::reporter::Reporter;
use crate::error::UserError;
use crate::event::{Event, SCHEMA};
use crate::text::layout::count;

/// Its name in the folder of a run.
pub const JOURNAL: &str = "unfinished.jsonl";

/// Writes each event as it happens, and takes all of them away once the record of the whole run is there.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    lines: Option<Ndjson<File>>,
}

impl Journal {
    /// The journal in a run's folder. It is added after the record.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), lines: None }
    }
}

impl Reporter for Journal {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let path = self.folder.join(JOURNAL);
        if matches!(event, Event::RunFinished(_)) {
            // Where the record could not be written, this is all that there is.
            return match self.folder.join("report.json").exists() {
                true => fs::remove_file(path),
                false => Ok(()),
            };
        }
        let lines = match &mut self.lines {
            Some(lines) => lines,
            None => self.lines.insert(Ndjson::new(File::create(path)?)),
        };
        lines.event(event)
    }
}

/// A run whose process did not come to its end.
#[derive(Debug)]
pub struct Unfinished {
    /// What was judged until then; its summary is blank.
    pub record: Record,
    /// How far it came and what is missing, in words.
    pub why: String,
}

impl Unfinished {
    /// Reads the journal in a run's folder; `None` where the run has ended, or never began.
    ///
    /// # Errors
    ///
    /// The journal cannot be read, or another program has written it.
    pub fn read(run: &Path) -> Result<Option<Self>, UserError> {
        let path = run.join(JOURNAL);
        if run.join("report.json").exists() || !path.exists() {
            return Ok(None);
        }
        let refuse = |why: String| {
            UserError::usage(
                format!("cannot read `{}`: {why}", path.display()),
                "the file is damaged, or from a different program",
            )
        };
        let bytes = fs::read(&path).map_err(|error| refuse(error.to_string()))?;
        let (mut recorder, mut running) = (Recorder::default(), None);
        let lines = whole_lines(&bytes);
        if lines.is_empty() {
            return Err(UserError::usage(
                format!(
                    "`{}` has no whole line: the run was killed, or its disk was full, before it began",
                    path.display()
                ),
                "there is nothing to judge again; free some space and run it once more",
            ));
        }
        let (mut damaged, number) = (0, lines.len());
        for (at, line) in lines.into_iter().enumerate() {
            let event: Event = match serde_json::from_slice(line) {
                Ok(event) => event,
                // Without the first one nobody knows of what run the others are.
                Err(error) if at == 0 => return Err(refuse(format!("line 1: {error}"))),
                Err(_) => {
                    damaged += 1;
                    continue;
                }
            };
            match &event {
                Event::RunStarted(run) if run.schema != SCHEMA => {
                    return Err(refuse(format!("schema {}: expected {SCHEMA}", run.schema)));
                }
                Event::CaseStarted { case, .. } => running = Some(case.clone()),
                Event::CaseFinished(_) => running = None,
                _ => {}
            }
            recorder.take(&event);
        }
        match recorder.record() {
            Some(record) => {
                let mut why = why(record, running);
                if damaged > 0 {
                    why += &format!("; {damaged} of {number} lines of `{JOURNAL}` are damaged");
                }
                Ok(Some(Self { record: record.clone(), why }))
            }
            None => Err(refuse("its process was killed before anything ran".to_owned())),
        }
    }
}

/// The lines that were written to their end: a process may be killed in the middle of one.
pub fn whole_lines(bytes: &[u8]) -> Vec<&[u8]> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or_default();
    bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
}

/// How far a run came, and what is missing.
fn why(record: &Record, running: Option<String>) -> String {
    let (planned, judged) = (record.run.cases, record.cases.len());
    let during = match running {
        Some(case) => format!(" during the case `{case}`"),
        None => String::new(),
    };
    let missing = planned.saturating_sub(judged);
    format!(
        "the run has no end: its process was killed{during}, its disk was full, or it still runs; {} of {} were judged, {} \
         {} missing, and so is what comes after the last one",
        judged,
        count(planned.max(judged), "case"),
        missing,
        if missing == 1 { "is" } else { "are" },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CaseReport, RunStarted, Summary};

    /// A journal in a folder of its own, after these events.
    fn written(name: &str, events: &[Event]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("mcp-hil-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let mut journal = Journal::new(&folder);
        events.iter().for_each(|event| journal.event(event).unwrap());
        folder
    }

    fn begun() -> Vec<Event> {
        let name = || "x".to_owned();
        vec![
            Event::RunStarted(RunStarted { cases: 3, ..RunStarted::default() }),
            Event::CaseStarted { dut: name(), transport: name(), case: "a/a".into() },
            Event::CaseFinished(CaseReport::blank("x", "x", "a/a", "a")),
            Event::CaseStarted { dut: name(), transport: name(), case: "a/b".into() },
        ]
    }

    #[test]
    fn what_a_killed_run_has_judged_is_read_up_to_the_last_whole_line() {
        let folder = written("killed", &begun());
        let path = folder.join(JOURNAL);
        let mut text = fs::read(&path).unwrap();
        text.extend(b"{\"event\":\"case-fin\xc3");
        fs::write(&path, text).unwrap();
        let unfinished = Unfinished::read(&folder).unwrap().expect("it has not ended");
        assert_eq!(unfinished.record.cases.len(), 1);
        for told in ["during the case `a/b`", "1 of 3 cases were judged, 2 are missing"] {
            assert!(unfinished.why.contains(told), "{}", unfinished.why);
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_line_that_a_full_disk_has_damaged_is_left_out_and_told() {
        let folder = written("full", &begun());
        let path = folder.join(JOURNAL);
        let whole = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let cut = format!("{}\n{}\n{}\n", lines[0], &lines[1][..20], lines[2]);
        fs::write(&path, cut).unwrap();
        let unfinished = Unfinished::read(&folder).unwrap().expect("it has not ended");
        assert_eq!(unfinished.record.cases.len(), 1);
        let told = "1 of 3 lines of `unfinished.jsonl` are damaged";
        assert!(unfinished.why.ends_with(told), "{}", unfinished.why);
        fs::write(&path, &lines[0][..20]).unwrap();
        let refusal = Unfinished::read(&folder).unwrap_err().to_string();
        assert!(refusal.contains("has no whole line"), "{refusal}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_run_that_has_ended_leaves_none_unless_its_record_is_missing() {
        let folder = written("ended", &begun());
        let end = Event::RunFinished(Summary::default());
        Journal::new(&folder).event(&end).unwrap();
        assert!(Unfinished::read(&folder).unwrap().is_some(), "no record was written");
        fs::write(folder.join("report.json"), "{}").unwrap();
        Journal::new(&folder).event(&end).unwrap();
        assert!(!folder.join(JOURNAL).exists());
        assert!(Unfinished::read(&folder).unwrap().is_none());
        fs::remove_dir_all(folder).unwrap();
    }
}
