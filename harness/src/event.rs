//! The one stream of events that a run produces; reporters are folds over it.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::capability::Facts;
use mcp_hil_core::identity::Identity;
use mcp_hil_core::verdict::{Finding, Verdict};
use serde::{Deserialize, Serialize};

use crate::shard::Shard;
use crate::snapshots::{AnswerReport, Answers};

/// Version of the event stream and of `report.json`. It grows when a member changes its meaning
/// or goes away; new members do not change it.
pub const SCHEMA: u32 = 1;

/// Something that happened in a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The plan is made; nothing has run yet.
    RunStarted(RunStarted),
    /// A device is connected and known.
    DutReady(Box<DutReady>),
    /// A case begins.
    CaseStarted {
        /// The device.
        dut: String,
        /// The transport.
        transport: String,
        /// The case.
        case: String,
    },
    /// A case is judged.
    CaseFinished(CaseReport),
    /// An answer that came after a case was judged changed its verdict; replaces the earlier report.
    CaseRevised(CaseReport),
    /// An answer is not as people have reviewed it, or nobody has.
    AnswerChanged(Box<AnswerReport>),
    /// Something that people should know, and that is no verdict.
    Notice {
        /// The text.
        text: String,
    },
    /// The run is over.
    RunFinished(Summary),
}

/// What is going to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunStarted {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Program and version, such as `mcp-hil 0.1.0`.
    pub tool: String,
    /// Name of the run: the name of its folder.
    pub run: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// Seed of whatever is drawn by chance.
    pub seed: u64,
    /// Whether broken SHOULDs fail.
    pub strict: bool,
    /// Names of the rule sets in force.
    pub rules: Vec<String>,
    /// The devices.
    pub duts: Vec<DutInfo>,
    /// How many cases are planned.
    pub cases: usize,
    /// What it stands on, for joining it with others; gateways have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// The runs that it was joined of, each by the name of its folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<String>,
}

/// What the verdicts of a run stand on: only runs on the same are one when they are joined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// SHA-256 of the requirements in force.
    pub requirements: String,
    /// SHA-256 of the cases, as they are carried out.
    pub scenarios: String,
    /// Arguments that change what is tried, or what is said of it, each as it would be typed.
    pub options: Vec<String>,
    /// Known failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// SHA-256 of the image that the device runs, where the harness has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Ids of all selected cases, those of other shards too, in the order in which they run.
    pub selected: Vec<String>,
    /// Whether that is the whole suite.
    pub whole_suite: bool,
    /// Which part of them is this run's; all where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// A device under test, as planned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DutInfo {
    /// Its name: that of its target, or the name in its file.
    pub name: String,
    /// How it is run: `board`, `native`, `qemu`, `qemu-esp`, `esp-emu`, `wokwi`, `exec` or `wait`.
    pub target: String,
    /// The transport.
    pub transport: String,
    /// What the verdicts stand on, in words: `simulation, no board attached`.
    pub fidelity: String,
    /// The same in one of few words: `board`, `emulated chip`, `emulated CPU`, `host process`, or
    /// `unknown`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub level: String,
    /// What no run with it can show, whatever the verdicts say: `flash`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cannot_show: Vec<String>,
}

/// A device under test, as it showed itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DutReady {
    /// The device.
    pub dut: String,
    /// The transport.
    pub transport: String,
    /// `serverInfo.name` and `.version` of its first `initialize` answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<(String, String)>,
    /// What it said of itself when it asked for its configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// What it can do.
    pub facts: Facts,
    /// Microseconds from start to readiness.
    pub took_us: u64,
}

/// A judged case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CaseReport {
    /// The device.
    pub dut: String,
    /// The transport.
    pub transport: String,
    /// The case's id.
    pub case: String,
    /// Its title.
    pub title: String,
    /// Its file, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it of the step that the worst finding is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it does not apply, or why nothing was shown, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether every failing finding is listed in the baseline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// What was found; warnings too.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Slugs of the requirements that were exercised, in order.
    #[serde(default)]
    pub exercised: Vec<String>,
    /// The transcript's file, relative to the run's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// The command that runs this case again.
    pub repro: String,
    /// What became of its inputs, when they were generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<Generated>,
}

/// What became of the generated inputs of a case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generated {
    /// How many inputs were carried out.
    pub inputs: u32,
    /// How many exchanges they had; those of fences and of shrinking are not among them.
    pub exchanges: usize,
    /// Why there were no more of them, when there were fewer than asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Parts that took no part, because the device lacks what they need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What failed, each cause once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
}

/// A failure that generated inputs showed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Slugs of the requirements that its smallest input breaks, the one that was followed first.
    pub requirements: Vec<String>,
    /// Number of the input that showed it first, from 0.
    pub input: u32,
    /// How many inputs showed it.
    pub times: u32,
    /// How many exchanges that first input had.
    pub from: usize,
    /// How many exchanges the smallest one has.
    pub to: usize,
    /// How many smaller inputs were tried.
    pub steps: u32,
    /// How many of them on the twin of the device.
    #[serde(default, skip_serializing_if = "is_none")]
    pub on_twin: u32,
    /// Why no more were tried, when there were more to try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// What a second try from a known state showed, when it did not show the failure again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_try: Option<String>,
    /// The file of the smallest input.
    pub scenario: String,
    /// The command that carries it out.
    pub repro: String,
}

fn is_none(number: &u32) -> bool {
    *number == 0
}

impl CaseReport {
    /// A report about which nothing is known yet: it passes.
    pub fn blank(dut: &str, transport: &str, case: &str, title: &str) -> Self {
        Self {
            dut: dut.to_owned(),
            transport: transport.to_owned(),
            case: case.to_owned(),
            title: title.to_owned(),
            file: None,
            line: None,
            verdict: Verdict::Pass,
            reason: None,
            known: false,
            took_us: 0,
            findings: Vec::new(),
            exercised: Vec::new(),
            transcript: None,
            repro: String::new(),
            generated: None,
        }
    }
}

/// What a run comes to.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Summary {
    /// How many devices ran.
    pub duts: usize,
    /// How many cases were executed (not-applicable ones are not counted here).
    pub cases: usize,
    /// Cases that passed.
    pub passed: usize,
    /// Cases that failed, known failures not counted.
    pub failed: usize,
    /// Cases that failed as the baseline says.
    pub known: usize,
    /// Cases that showed nothing.
    pub inconclusive: usize,
    /// Cases that the bench or the harness broke.
    pub errors: usize,
    /// Cases that do not apply.
    pub not_applicable: usize,
    /// Broken SHOULDs that did not fail a case.
    pub warnings: usize,
    /// Requirements that the devices must meet.
    pub required: usize,
    /// How many of them were exercised.
    pub exercised: usize,
    /// The others, when the whole suite was selected.
    pub unexercised: Vec<String>,
    /// Those that the baseline lists as such; they are not among the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_unexercised: Vec<String>,
    /// Baseline entries that no longer hold, each with the reason.
    pub stale: Vec<String>,
    /// How the answers compare with the reviewed ones; absent where they were not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
    /// What each device (`dut/transport`) showed that it can do, until the end of the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capabilities: BTreeMap<String, BTreeSet<String>>,
    /// How long the run took, in microseconds.
    pub took_us: u64,
    /// Whether it was cut short by Ctrl-C.
    pub interrupted: bool,
    /// Why the bench could not carry out the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bench_error: Option<String>,
    /// The exit code.
    pub exit: u8,
    /// The folder with the run's files.
    pub folder: String,
}
