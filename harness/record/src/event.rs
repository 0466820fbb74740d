//! The one stream of events that a run produces; reporters are folds over it.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::capability::Facts;
use mcp_hil_core::identity::Identity;
use mcp_hil_core::memory::FreeMemory;
use mcp_hil_core::timing::Row;
use serde::{Deserialize, Serialize};

use crate::answers::{AnswerReport, Answers};
use crate::cause::Cause;

pub use crate::case::{CaseReport, Failure, Generated, OUT_OF_BUDGET, OUT_OF_TIME};
use crate::shard::Shard;

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
    /// How many devices are tested at once, where that is more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<usize>,
}

/// A run by this program, with nothing in it.
impl Default for RunStarted {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            tool: crate::TOOL.into(),
            run: String::new(),
            started: String::new(),
            seed: 0,
            strict: false,
            rules: Vec::new(),
            duts: Vec::new(),
            cases: 0,
            basis: None,
            joined: Vec::new(),
            at_once: None,
        }
    }
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
    /// Whether it is the reference device of mcp-hil: then no verdict is about anybody's firmware.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reference: bool,
    /// The declared board that it was judged in the place of, for that was absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place_of: Option<StoodInFor>,
}

/// A declared board that was absent, and for which another device stood in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoodInFor {
    /// Its name.
    pub board: String,
    /// Its file.
    pub file: String,
    /// Why it was not judged itself, in words.
    pub why: String,
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
    /// Cases that did not pass at first, and passed when they were tried again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flaky: usize,
    /// Whether the run does not conform because of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky_fails: bool,
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
    /// What baseline entries covered that stand for more than one case and requirement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covered: Vec<CoveredBy>,
    /// What is wrong, each thing once, the most severe first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// How the answers compare with the reviewed ones; absent where they were not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
    /// What each device (`dut/transport`) showed that it can do, until the end of the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capabilities: BTreeMap<String, BTreeSet<String>>,
    /// How long each device (`dut/transport`) took for its answers, by kind of request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timing: BTreeMap<String, Vec<Row>>,
    /// The free memory that each device (`dut/transport`) told on its console, since it last started.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memory: BTreeMap<String, FreeMemory>,
    /// How often the run waited for an answer of each device (`dut/transport`) one after the other: answers to
    /// messages that were in flight together count once.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub round_trips: BTreeMap<String, u64>,
    /// How many messages to each device (`dut/transport`) were in flight together at most, at the end; nothing for those
    /// that got them one by one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub in_flight: BTreeMap<String, u64>,
    /// The answers of each device (`dut/transport`) that were waited for in vain.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unanswered: BTreeMap<String, Unanswered>,
    /// How long the run took, in microseconds.
    pub took_us: u64,
    /// Whether it was cut short by Ctrl-C.
    pub interrupted: bool,
    /// Why it stopped by itself before its end, in words: `after the first failure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The cases that there was no time for, on each device (`dut/transport`): `--time-budget`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, Vec<String>>,
    /// Why the bench could not carry out the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bench_error: Option<String>,
    /// The exit code.
    pub exit: u8,
    /// The folder with the run's files.
    pub folder: String,
}

/// Answers that were waited for and did not come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unanswered {
    /// How many.
    pub number: u64,
    /// How long, in microseconds, what was waited for together counted once.
    pub waited_us: u64,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// What an entry of the baseline covered that it does not name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoveredBy {
    /// The entry: its case, with its requirement and transport if it names them.
    pub entry: String,
    /// Whether it names no requirement, so that all but a crash is known in its cases.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_requirement: bool,
    /// The failures, `case:requirement` each.
    pub failures: Vec<String>,
}
