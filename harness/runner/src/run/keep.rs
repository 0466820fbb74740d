//! The scenario file that is left of a failure.

use std::path::{Path, PathBuf};

use mcp_hil_core::verdict::Judgement;
use mcp_hil_scenario::{Case, write};

use super::dut_run::DutRun;
use super::property_run::PropertyCase;
use super::search::expected_and_received;
use super::session::Session;
use mcp_hil_args::Described;
use mcp_hil_record::cause::Cause;
use mcp_hil_record::event::Failure;
use mcp_hil_record::report::write_whole;

use crate::plan::Plan;

/// Most characters of evidence in the head of a file.
const EVIDENCE: usize = 400;

impl DutRun<'_, '_> {
    /// Writes the smallest input to a file that carries it out alone.
    pub(super) fn write_down(
        &self,
        session: &mut Session,
        property_case: &PropertyCase<'_>,
        failure: &mut Failure,
        smallest: &Case,
        evidence: &Judgement,
    ) {
        let plan = self.plan;
        let cut = |text: &str| text.chars().take(EVIDENCE).collect::<String>();
        let (expected, received) = expected_and_received(evidence);
        let device = match &session.device.server {
            Some((name, version)) => format!("{name} {version}"),
            None => "a device that reports no name".to_owned(),
        };
        let mut head = vec![
            format!("{}, seed {}, input {}", mcp_hil_record::TOOL, plan.seed, failure.input),
            format!("property:    {}", property_case.property.id),
            format!("target:      {} over {}: {device}", plan.dut.spec(), self.transport.name()),
            format!("requirement: {}", failure.requirements.join(", ")),
            format!("expected:    {}", cut(&expected)),
            format!("received:    {}", cut(&received)),
        ];
        if let Some(second) = &failure.second_try {
            head.push(format!("tried again: {}", cut(second)));
        }
        let case = Case {
            title: format!("{}: {}", property_case.property.title, failure.requirements[0]),
            ..smallest.clone()
        };
        let whole = |path: &Path| {
            let schema = Described::Scenario.first_line(path);
            let schema = schema.trim_start_matches("# ").to_owned();
            write(&case, &[vec![schema], head.clone()].concat())
        };
        let short = property_case.property.id.rsplit('/').next().unwrap_or_default();
        let folder = plan.folder.join("failures");
        let path = free(&folder, short);
        let text = whole(&path);
        session.transcript.recorder.keep(&path, &text);
        let name = path.strip_prefix(&plan.folder).unwrap_or(&path);
        failure.scenario = name.display().to_string();
        failure.repro = plan.repro_file(&path.display().to_string(), self.transport);
        if let Some(folder) = &plan.generation.keep
            && !is_kept(folder, &text)
        {
            let path = free(folder, short);
            session.transcript.recorder.keep(&path, &whole(&path));
        }
    }
}

/// Writes a script that was made small to a file that carries it out alone. `None` if it cannot be written: then the
/// whole script has to do.
pub(super) fn write_script(plan: &Plan, case: &Case, cause: &Cause) -> Option<PathBuf> {
    let folder = plan.folder.join("failures");
    std::fs::create_dir_all(&folder).ok()?;
    let path = free(&folder, &case.id.replace('/', "."));
    let finding = &cause.finding;
    let cut = |text: &str| text.chars().take(EVIDENCE).collect::<String>();
    let head = vec![
        Described::Scenario.first_line(&path).trim_start_matches("# ").to_owned(),
        mcp_hil_record::TOOL.to_string(),
        format!("script:      {}, made small", case.id),
        format!("target:      {} over {}", plan.dut.spec(), cause.transport),
        format!("requirement: {}", finding.requirement),
        format!("expected:    {}", cut(&finding.expected)),
        format!("received:    {}", cut(&finding.received)),
    ];
    let title = format!("{}: {}", case.title, finding.requirement);
    let text = write(&Case { title, ..case.clone() }, &head);
    write_whole(&path, text.as_bytes()).ok()?;
    Some(path)
}

/// The first name of a folder that is not taken.
fn free(folder: &Path, name: &str) -> PathBuf {
    let mut number = 1;
    loop {
        let path = folder.join(format!("{name}-{number}.yaml"));
        if !path.exists() {
            return path;
        }
        number += 1;
    }
}

/// Whether a folder has the same scenario already, whatever its comments say.
fn is_kept(folder: &Path, text: &str) -> bool {
    let plain = |text: &str| -> String {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.collect::<Vec<_>>().join("\n")
    };
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    texts.into_iter().any(|kept| plain(&kept) == plain(text))
}
