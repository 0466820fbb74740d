//! What a run has left in its folder, read back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::transcript::{Entry, Mark, What, read_jsonl};
use mcp_hil_scenario::Case;

use crate::Record;
use crate::error::UserError;
use crate::event::{CaseReport, DutInfo};
use crate::journal::{JOURNAL, Unfinished, whole_lines};

/// Reads the record in a run's folder.
///
/// # Errors
///
/// It is missing, damaged, or another program's.
pub fn read_record(run: &Path) -> Result<Record, UserError> {
    let path = run.join("report.json");
    let text = std::fs::read_to_string(&path).map_err(|error| {
        let hint = match run.join(JOURNAL).exists() {
            true => {
                "the run has not ended, or its process was killed: `mcp-hil replay` judges what is there"
            }
            false => "name the folder of a run, such as `target/mcp-hil/latest`",
        };
        UserError::usage(format!("cannot read `{}`: {error}", path.display()), hint)
    })?;
    Record::read(&text).map_err(|error| {
        UserError::usage(
            format!("`{}`: {error}", path.display()),
            "the file is damaged, or from a different program",
        )
    })
}

/// Reads the record in a run's folder, and refuses one of runs that were joined: what was recorded is in
/// the folders of these.
///
/// # Errors
///
/// Those of [`read_record`], and a folder that holds several joined runs.
pub fn read_single(run: &Path) -> Result<Record, UserError> {
    single(run, read_record(run)?)
}

/// The same of a run whose process was killed, up to the last case that was judged; how far it came is told then.
///
/// # Errors
///
/// Those of [`read_single`], where neither the record nor the journal is there.
pub fn read_single_or_unfinished(run: &Path) -> Result<(Record, Option<String>), UserError> {
    match Unfinished::read(run)? {
        Some(Unfinished { record, why }) => Ok((single(run, record)?, Some(why))),
        None => Ok((read_single(run)?, None)),
    }
}

fn single(run: &Path, record: Record) -> Result<Record, UserError> {
    if record.run.joined.is_empty() {
        return Ok(record);
    }
    Err(UserError::usage(
        format!("`{}` contains several joined runs", run.display()),
        "name one of them; they are in its folder `runs`",
    ))
}

/// Refuses a run of which a transcript is missing.
///
/// # Errors
///
/// The missing file, with its name.
pub fn check_transcripts(record: &Record, run: &Path) -> Result<(), UserError> {
    let named = record.cases.iter().filter_map(|case| case.transcript.as_ref());
    for path in named.map(|name| run.join(name)) {
        if !path.exists() {
            return Err(UserError::usage(
                format!("the transcript `{}` is missing", path.display()),
                "the run's folder is damaged",
            ));
        }
    }
    Ok(())
}

/// How much of each transcript is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Entries may have no end, or be missing: the process that wrote it was killed, or its disk was full.
    MayBeCut,
}

/// What was recorded of one device over one transport.
#[derive(Debug)]
pub struct Recorded {
    /// The device.
    pub dut: String,
    /// How it was run.
    pub target: String,
    /// The transport.
    pub transport: String,
    /// What happened, in its order.
    pub entries: Vec<Entry>,
    /// The inputs that were generated, by the place of the mark that holds them.
    pub inputs: BTreeMap<u64, Case>,
    /// The cases of which entries are missing: what they came to cannot be judged again.
    pub cut: BTreeSet<String>,
}

impl Recorded {
    /// Reads the transcripts of one of the devices in a run's folder, which has `several` or one.
    ///
    /// # Errors
    ///
    /// A missing or damaged file, with its name and line.
    pub fn read(run: &Path, dut: &DutInfo, several: bool) -> Result<Self, UserError> {
        Self::read_as(run, dut, several, Extent::Whole)
    }

    /// The same of a run whose process may have been killed in the middle of an entry.
    ///
    /// # Errors
    ///
    /// Those of [`Recorded::read`], but for an entry that was not written to its end.
    pub fn read_as(
        run: &Path,
        dut: &DutInfo,
        several: bool,
        extent: Extent,
    ) -> Result<Self, UserError> {
        // A run over one transport keeps its transcripts at its root.
        let lane = run.join(&dut.transport);
        let folder = if several { lane } else { run.to_owned() }.join("transcripts");
        // A run that ended before its second transport has no folder for that.
        let (entries, cut) = match folder.exists() {
            true => read_transcripts(&folder, extent)?,
            false => (Vec::new(), BTreeSet::new()),
        };
        Ok(Self {
            dut: dut.name.clone(),
            target: dut.target.clone(),
            transport: dut.transport.clone(),
            entries,
            inputs: BTreeMap::new(),
            cut,
        })
    }

    /// Reads the inputs that its marks hold.
    ///
    /// # Errors
    ///
    /// A mark that holds no scenario.
    pub fn read_inputs(&mut self, catalogue: &Catalogue) -> Result<(), UserError> {
        for entry in &self.entries {
            if let What::Mark { mark: Mark::Generated { scenario, .. } } = &entry.what
                && !scenario.is_empty()
            {
                let file = format!("transcript of {}, seq {}", entry.case, entry.seq);
                let case = Case::reload(&entry.case, &file, scenario, catalogue)?;
                self.inputs.insert(entry.seq, case);
            }
        }
        Ok(())
    }

    /// Whether the transcript of a case holds its input.
    pub fn has_input(&self, case: &str) -> bool {
        self.inputs.values().any(|input| *input.id == *case)
    }

    /// Whether a case belongs to it.
    pub fn ran(&self, case: &CaseReport) -> bool {
        case.dut == self.dut && case.transport == self.transport
    }
}

/// Reads all transcripts of a run, in the order of what happened; with the cases of which some are missing.
fn read_transcripts(
    folder: &Path,
    extent: Extent,
) -> Result<(Vec<Entry>, BTreeSet<String>), UserError> {
    let refuse = |path: &Path, why: String| {
        UserError::usage(
            format!("cannot read `{}`: {why}", path.display()),
            "the run's folder is damaged",
        )
    };
    let files = std::fs::read_dir(folder).map_err(|error| refuse(folder, error.to_string()))?;
    let (mut entries, mut cut) = (Vec::new(), BTreeSet::new());
    for file in files {
        let path = file.map_err(|error| refuse(folder, error.to_string()))?.path();
        let bytes = std::fs::read(&path).map_err(|error| refuse(&path, error.to_string()))?;
        match extent {
            Extent::Whole => {
                let text =
                    String::from_utf8(bytes).map_err(|error| refuse(&path, error.to_string()))?;
                entries.extend(read_jsonl(&text).map_err(|(line, why)| {
                    refuse(&path, format!("line {line} is not an entry: {why}"))
                })?);
            }
            Extent::MayBeCut => {
                // What comes behind a damaged line may be whole.
                let whole = whole_lines(&bytes)
                    .into_iter()
                    .filter_map(|line| read_jsonl(std::str::from_utf8(line).ok()?).ok());
                entries.extend(whole.flatten());
                if bytes.last().is_some_and(|last| *last != b'\n') {
                    cut.extend(entries.last().map(|entry: &Entry| entry.case.to_string()));
                }
            }
        }
    }
    entries.sort_by_key(|entry| entry.seq);
    if extent == Extent::MayBeCut {
        cut.extend(with_gaps(&entries));
    }
    Ok((entries, cut))
}

/// The cases beside a gap in the numbers of entries: what is missing there may be theirs.
fn with_gaps(entries: &[Entry]) -> BTreeSet<String> {
    let gaps = entries.windows(2).filter(|pair| pair[0].seq + 1 != pair[1].seq);
    gaps.flatten().map(|entry| entry.case.to_string()).collect()
}
