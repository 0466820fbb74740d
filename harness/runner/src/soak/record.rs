//! What the rounds of a soak came to, as a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcp_hil_core::memory::FreeMemory;
use mcp_hil_core::timing::Row;
use mcp_hil_record::Record;
use mcp_hil_record::error::UserError;
use mcp_hil_record::event::{CaseReport, DutReady, RunStarted, SCHEMA, Summary};
use mcp_hil_record::report::write_whole;
use serde::{Deserialize, Serialize};

use crate::plan::PART;

/// The file, in the folder of the soak.
const FILE: &str = "soak.json";

/// What the rounds came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SoakRecord {
    /// [`SCHEMA`] of the program that wrote it.
    pub schema: u32,
    /// What is repeated.
    pub run: RunStarted,
    /// How long the rounds took together, in microseconds.
    pub took_us: u64,
    /// The rounds, in order.
    pub rounds: Vec<Round>,
    /// Each case once, with the worst that it came to.
    pub cases: Vec<CaseReport>,
    /// In how many rounds a case was red, and which was the first.
    pub red: BTreeMap<String, Red>,
    /// The device, as it showed itself last.
    pub device: Option<DutReady>,
    /// What it showed that it can do.
    pub capabilities: BTreeSet<String>,
}

/// A round.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Round {
    /// Name of its folder.
    pub name: String,
    /// Its seed.
    pub seed: u64,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// Its exit code.
    pub exit: u8,
    /// How many cases were carried out.
    pub cases: usize,
    /// How many of them are held against the device.
    pub red: usize,
    /// How many SHOULDs were broken.
    pub warnings: usize,
    /// How long the device took for its answers, by kind of request.
    pub timing: Vec<Row>,
    /// The free memory that its console told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<FreeMemory>,
    /// How many bytes its files have.
    pub recorded: u64,
    /// Memory of the harness after it, in KiB, where the system tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness_kib: Option<u64>,
}

/// When a case was red.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Red {
    /// In how many rounds.
    pub rounds: u32,
    /// The name of the first of them.
    pub first: String,
}

impl SoakRecord {
    /// Nothing yet.
    pub(super) fn new(run: RunStarted) -> Self {
        Self {
            schema: SCHEMA,
            run,
            took_us: 0,
            rounds: Vec::new(),
            cases: Vec::new(),
            red: BTreeMap::new(),
            device: None,
            capabilities: BTreeSet::new(),
        }
    }

    /// Reads that of a soak's folder.
    ///
    /// # Errors
    ///
    /// There is none, or it is damaged, or another version of the program wrote it.
    pub fn read(folder: &Path) -> Result<Self, UserError> {
        let path = folder.join(FILE);
        let refuse = |why: String| {
            UserError::usage(
                format!("cannot read `{}`: {why}", path.display()),
                "name the folder of a soak, as it was printed when it began",
            )
        };
        let text = std::fs::read_to_string(&path).map_err(|error| refuse(error.to_string()))?;
        let record: Self =
            serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        match record.schema {
            SCHEMA => Ok(record),
            other => Err(refuse(format!("schema {other}: expected schema {SCHEMA}"))),
        }
    }

    /// Writes it, so that a reader sees the one before or this one, never a part.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn write(&self, folder: &Path) -> std::io::Result<()> {
        write_whole(&folder.join(FILE), &serde_json::to_vec(self)?)
    }

    /// Adds a round.
    pub(super) fn add(&mut self, record: Record, recorded: u64, harness_kib: Option<u64>) {
        let Record { run, duts, cases, summary, .. } = record;
        let Summary { timing, memory, capabilities, .. } = summary;
        self.took_us += summary.took_us;
        self.rounds.push(Round {
            seed: run.seed,
            took_us: summary.took_us,
            exit: summary.exit,
            cases: summary.cases,
            red: cases.iter().filter(|case| case.is_red()).count(),
            warnings: summary.warnings,
            timing: timing.into_values().next().unwrap_or_default(),
            memory: memory.into_values().next(),
            recorded,
            harness_kib,
            name: run.run.clone(),
        });
        self.device = duts.into_iter().next_back().or(self.device.take());
        self.capabilities.extend(capabilities.into_values().flatten());
        for case in cases {
            self.add_case(&run.run, case);
        }
    }

    fn add_case(&mut self, round: &str, mut case: CaseReport) {
        case.belongs_to(&format!("{PART}/{round}"), "", "");
        if case.is_red() {
            let first = || Red { rounds: 0, first: round.to_owned() };
            self.red.entry(case.case.clone()).or_insert_with(first).rounds += 1;
        }
        let Some(known) = self.cases.iter_mut().find(|known| known.case == case.case) else {
            self.cases.push(case);
            return;
        };
        match known.is_red() || !known.findings.is_empty() {
            true => known.join(&case),
            // What is fine is shown as it was last: earlier rounds are deleted.
            false => {
                case.join(known);
                *known = case;
            }
        }
    }

    /// Names of the rounds that somebody will want to look at, beside the last ones: in each, something was found that is
    /// in the report.
    pub(super) fn shown(&self) -> BTreeSet<&str> {
        let files = self.cases.iter().filter(|case| !case.findings.is_empty() || case.is_red());
        let files = files.filter_map(|case| case.transcript.as_deref());
        files.filter_map(|file| file.split('/').nth(1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use mcp_hil_core::verdict::Verdict;

    use super::*;

    fn round(name: &str, verdict: Verdict) -> Record {
        let case = CaseReport {
            verdict,
            transcript: Some("transcripts/ids.large.jsonl".into()),
            ..CaseReport::blank("desk", "websocket", "ids/large", "Large ids")
        };
        Record {
            schema: SCHEMA,
            run: RunStarted { run: name.into(), ..RunStarted::default() },
            duts: Vec::new(),
            cases: vec![case],
            answers: Vec::new(),
            notices: Vec::new(),
            summary: Summary { took_us: 1_000, ..Summary::default() },
        }
    }

    #[test]
    fn a_case_is_shown_with_the_worst_that_it_came_to_and_else_as_it_was_last() {
        let mut soak = SoakRecord::new(RunStarted::default());
        for (name, verdict, shown) in [
            ("round-0001", Verdict::Pass, "round-0001"),
            ("round-0002", Verdict::Pass, "round-0002"),
            ("round-0003", Verdict::Fail, "round-0003"),
            ("round-0004", Verdict::Pass, "round-0003"),
            ("round-0005", Verdict::Fail, "round-0003"),
        ] {
            soak.add(round(name, verdict), 0, None);
            let [case] = &soak.cases[..] else { panic!("{:?}", soak.cases) };
            let file = format!("runs/{shown}/transcripts/ids.large.jsonl");
            assert_eq!(case.transcript.as_ref(), Some(&file), "{name}");
        }
        assert_eq!(soak.shown(), BTreeSet::from(["round-0003"]));
        let red = &soak.red["ids/large"];
        assert_eq!((red.rounds, &*red.first), (2, "round-0003"));
        assert_eq!((soak.rounds.len(), soak.took_us), (5, 5_000));
    }
}
