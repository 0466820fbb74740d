//! `mcp-hil coverage`: which requirements were exercised, by what, on which device, and which never.
//!
//! Nothing is judged again: what a case exercised stands in the reports of the runs.

mod show;

use std::collections::BTreeSet;
use std::path::Path;

use mcp_hil_core::catalogue::{Level, Requirement};
use serde::Serialize;

use mcp_hil_args::{CoverageArgs, Format};
use mcp_hil_record::Record;
use mcp_hil_record::error::UserError;
use mcp_hil_record::event::{CaseReport, DutReady};
use mcp_hil_record::names::BOTH;
use mcp_hil_record::names::GATEWAY;
use mcp_hil_record::read::read_record;
use mcp_hil_runner::suite::Suite;

/// Version of the JSON form. It grows when a member changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// What some runs exercised.
#[derive(Debug, Serialize)]
pub struct Coverage {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The runs.
    pub runs: Vec<RunShown>,
    /// The requirements of all rule sets that one of the runs was held to, by slug.
    pub requirements: Vec<Covered>,
}

/// A run.
#[derive(Debug, Serialize)]
pub struct RunShown {
    /// Its folder, as given.
    pub folder: String,
    /// Its name.
    pub run: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// The devices over their transports, `native/websocket`.
    pub on: Vec<String>,
}

/// A requirement.
#[derive(Debug, Serialize)]
pub struct Covered {
    /// Its slug.
    pub requirement: String,
    /// Its level.
    pub level: Level,
    /// The document it comes from.
    pub source: String,
    /// The section of that document.
    pub section: String,
    /// The sentence.
    pub text: String,
    /// Where it was exercised.
    pub exercised: Vec<Exercised>,
    /// Where it was not, and why, when that is known.
    pub missed: Vec<Missed>,
    /// Cases of the suite that judge it besides the checks that every transcript gets.
    pub judged_by: Vec<String>,
}

/// What exercised a requirement on a device over a transport.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Exercised {
    /// The device.
    pub dut: String,
    /// The transport.
    pub transport: String,
    /// The cases, in their order; of several runs each once.
    pub cases: Vec<String>,
    /// Those of them in which it does not hold.
    pub broken: Vec<String>,
}

/// A device over a transport that a requirement was not exercised on.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Missed {
    /// The device.
    pub dut: String,
    /// The transport.
    pub transport: String,
    /// What it needs and the device never showed; nothing where the run is to blame.
    pub lacks: Option<String>,
}

/// What runs exercised: the text to print.
///
/// # Errors
///
/// A folder that is not one of a run, or is damaged; the file is named.
pub fn coverage(args: &CoverageArgs) -> Result<String, UserError> {
    let coverage = Coverage::of(args)?;
    match args.format {
        Format::Human => Ok(show::text(&coverage, args.verbose)),
        Format::Json => show::json(&coverage),
    }
}

impl Coverage {
    fn of(args: &CoverageArgs) -> Result<Self, UserError> {
        let mut records: Vec<(&Path, Record)> = Vec::new();
        for run in &args.runs {
            records.push((run, read_record(run)?));
        }
        let mut rules: Vec<String> = Vec::new();
        for rule in records.iter().flat_map(|(_, record)| &record.run.rules) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        let suite = Suite::load(&rules, args.scenarios.as_deref())?;
        let dut_runs = dut_runs(&records);
        let of_gateways = |id: &str| id.starts_with("gateway.");
        let gateways = dut_runs.iter().any(|dut_run| dut_run.is_gateway);
        let devices = dut_runs.iter().any(|dut_run| !dut_run.is_gateway);
        let requirements = suite
            .catalogue
            .iter()
            .filter(|requirement| suite.catalogue.active(&requirement.id).is_some())
            // What is only allowed is never judged.
            .filter(|requirement| requirement.level != Level::May)
            // Devices are not held to what gateways must do, and the other way round.
            .filter(|requirement| match of_gateways(&requirement.id) {
                true => gateways,
                false => devices,
            });
        Ok(Self {
            schema: SCHEMA,
            runs: records.iter().map(|(path, record)| shown(path, record)).collect(),
            requirements: requirements
                .map(|requirement| covered(requirement, &dut_runs, &suite))
                .collect(),
        })
    }
}

impl Covered {
    /// Whether something exercised it somewhere.
    pub fn is_exercised(&self) -> bool {
        !self.exercised.is_empty()
    }
}

/// A device over a transport, in all runs that have it.
struct DutRun<'a> {
    dut: &'a str,
    transport: &'a str,
    is_gateway: bool,
    /// What the device can do; `None` when it never came.
    capabilities: Option<BTreeSet<&'a str>>,
    cases: Vec<&'a CaseReport>,
}

impl DutRun<'_> {
    /// What it lacks for a requirement, if anything; `None` where that is not asked of it.
    fn lacks(&self, requirement: &Requirement) -> Option<Option<String>> {
        let needs = &requirement.needs;
        match (&self.capabilities, self.transport) {
            // The comparison of two transports is a run of one device of its own, without a device.
            (None, BOTH) => needs.iter().any(|need| need == "both-transports").then_some(None),
            (None, _) => Some(None),
            (Some(has), _) => Some(needs.iter().find(|need| !has.contains(need.as_str())).cloned()),
        }
    }
}

fn dut_runs<'a>(records: &'a [(&Path, Record)]) -> Vec<DutRun<'a>> {
    let mut dut_runs: Vec<DutRun<'a>> = Vec::new();
    for (_, record) in records {
        let planned = record.run.duts.iter();
        let planned = planned.map(|info| (&*info.name, &*info.transport, info.target == GATEWAY));
        // The comparison of two transports is a case of neither.
        let cases = record.cases.iter();
        let cases = cases.map(|case| (&*case.dut, &*case.transport, false));
        for (dut, transport, is_gateway) in planned.chain(cases) {
            if !dut_runs.iter().any(|dut_run| (dut_run.dut, dut_run.transport) == (dut, transport))
            {
                dut_runs.push(DutRun {
                    dut,
                    transport,
                    is_gateway,
                    capabilities: None,
                    cases: Vec::new(),
                });
            }
        }
        for dut_run in &mut dut_runs {
            let here =
                |dut: &str, transport: &str| (dut, transport) == (dut_run.dut, dut_run.transport);
            let ready = |ready: &&DutReady| here(&ready.dut, &ready.transport);
            for ready in record.duts.iter().filter(ready) {
                let shown = ready.facts.capabilities.iter().map(String::as_str);
                dut_run.capabilities.get_or_insert_default().extend(shown);
            }
            let cases = record.cases.iter();
            dut_run.cases.extend(cases.filter(|case| here(&case.dut, &case.transport)));
        }
    }
    dut_runs
}

fn shown(path: &Path, record: &Record) -> RunShown {
    let duts = record.run.duts.iter();
    RunShown {
        folder: path.display().to_string(),
        run: record.run.run.clone(),
        started: record.run.started.clone(),
        on: duts.map(|info| format!("{}/{}", info.name, info.transport)).collect(),
    }
}

fn covered(requirement: &Requirement, dut_runs: &[DutRun<'_>], suite: &Suite) -> Covered {
    let slug = requirement.id.as_str();
    let (mut exercised, mut missed) = (Vec::new(), Vec::new());
    for dut_run in dut_runs {
        let (dut, transport) = (dut_run.dut.to_owned(), dut_run.transport.to_owned());
        let (mut cases, mut broken): (Vec<String>, Vec<String>) = Default::default();
        for case in &dut_run.cases {
            let by_case = case.exercised.iter().any(|known| known == slug);
            let found = case.findings.iter().any(|finding| finding.requirement == slug);
            for (applies, list) in [(by_case || found, &mut cases), (found, &mut broken)] {
                if applies && !list.contains(&case.case) {
                    list.push(case.case.clone());
                }
            }
        }
        if !cases.is_empty() {
            exercised.push(Exercised { dut, transport, cases, broken });
        } else if let Some(lacks) = dut_run.lacks(requirement) {
            missed.push(Missed { dut, transport, lacks });
        }
    }
    let judges = suite.cases.iter();
    let judges = judges.filter(|case| case.requirements().iter().any(|one| one.slug() == slug));
    Covered {
        requirement: slug.to_owned(),
        level: requirement.level,
        source: requirement.source.clone(),
        section: requirement.section.clone(),
        text: requirement.text.clone(),
        exercised,
        missed,
        judged_by: judges.map(|case| case.id.to_string()).collect(),
    }
}
