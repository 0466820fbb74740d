//! `mcp-hil run --sut gateway`: the harness plays a caller and a device, and judges what somebody
//! else's volume gateway makes of control messages between the two.
//!
//! [`plan`] is read from the arguments, [`wire`] holds both connections, [`conversation`] carries
//! out the rows of the table, [`device`] is what the harness plays to the gateway. Entries are
//! judged by [`mcp_hil_judge::gateway`]; events, reports and exit codes are those of any run.

pub mod conversation;
pub mod device;
pub mod plan;
pub mod wire;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use mcp_hil_core::capability::Facts;
use mcp_hil_core::catalogue::{Catalogue, RuleSet};
use mcp_hil_core::transcript::{BRING_UP, Entry};
use mcp_hil_core::verdict::Verdict;
use mcp_hil_judge::gateway::{GatewayJudge, Table};
use tokio::sync::watch;

use mcp_hil_bench::dut::Fidelity;
use mcp_hil_record::Reporters;
use mcp_hil_record::event::{CaseReport, DutInfo, DutReady, Event, RunStarted, Summary};
use mcp_hil_record::names::GATEWAY;
use mcp_hil_record::names::transcript_name;
use mcp_hil_runner::run::{
    CaseReports, Demands, Driver, DutRunEnd, Recorder, RunError, VerdictPolicy,
};
use mcp_hil_runner::secrets::Secret;

use conversation::{Bench, Conversation, End};
use plan::GatewayPlan;
use wire::Wire;

/// The capability that requirements about gateways need.
pub const CAPABILITY: &str = "sut.gateway";

/// The table of controls that is built in.
pub fn table() -> Arc<Table> {
    let (_, text) = mcp_hil_scenarios::vectors()
        .iter()
        .find(|(path, _)| *path == "vectors/device-control.json")
        .expect("the table is embedded");
    Arc::new(Table::read(text).expect("a test reads the embedded table"))
}

/// The requirements for gateways, and no others.
///
/// # Errors
///
/// A mistake in the embedded file; a test reads it.
pub fn catalogue(rules: &[RuleSet]) -> Result<Catalogue, mcp_hil_core::problem::Problem> {
    let files = mcp_hil_scenarios::requirements().iter().copied();
    let files = files.filter(|(path, _)| path.ends_with("/gateway.toml"));
    Catalogue::load(files, rules.iter().copied())
}

/// The id of a row's case.
pub fn case_id(row: &str) -> String {
    format!("{GATEWAY}/{row}")
}

/// Judges the entries of an earlier run again, case by case in the order in which they ran.
pub fn judge_again(
    cases: &[CaseReport],
    entries: &[Entry],
    policy: &VerdictPolicy<'_>,
    reporters: &mut Reporters<'_>,
) -> (Vec<CaseReport>, Facts) {
    let table = table();
    let mut judge = GatewayJudge::new(table.clone());
    let mut case_reports = CaseReports::default();
    for recorded in cases {
        let own: Vec<Entry> =
            entries.iter().filter(|entry| *entry.case == *recorded.case).cloned().collect();
        let row = table.rows.iter().find(|row| case_id(&row.name) == recorded.case);
        if own.is_empty() || row.is_none() && recorded.case != BRING_UP {
            // It was not carried out, or the table has it no more.
            case_reports.add(recorded.clone(), reporters);
            continue;
        }
        let blank = CaseReport {
            findings: Vec::new(),
            exercised: Vec::new(),
            reason: None,
            known: false,
            ..recorded.clone()
        };
        let outcome = judge.judge(&Arc::from(recorded.case.as_str()), row, &own);
        case_reports.finish(blank, outcome, policy, reporters);
    }
    (case_reports.into_cases(), facts())
}

/// What is known of every gateway.
fn facts() -> Facts {
    Facts { capabilities: BTreeSet::from([CAPABILITY.to_owned()]), ..Facts::default() }
}

/// Carries out a plan and reports it as events. `interrupt` turns true on Ctrl-C.
pub async fn run(
    plan: &GatewayPlan,
    reporters: &mut Reporters<'_>,
    interrupt: watch::Receiver<bool>,
) -> Summary {
    let demands = Demands { whole_suite: plan.whole, ..Demands::default() };
    let folder = plan.folder.display().to_string();
    let mut driver = Driver::begin(started(plan), plan.policy(), demands, folder, reporters);
    let mut case_reports = CaseReports::default();
    let mut stopped = interrupt.clone();
    let opened = tokio::select! {
        opened = open(plan) => opened,
        _ = stopped.wait_for(|stopped| *stopped) => Err(RunError::NoConnection(String::new())),
    };
    (driver.end.bench_error, driver.end.interrupted) = match opened {
        Err(_) if *interrupt.borrow() => (None, true),
        Err(failed) => (Some(failed.to_string()), false),
        Ok((bench, recorder)) => {
            let mut conversation = Conversation::new(
                bench,
                table(),
                recorder,
                plan.deadline,
                plan.connect_deadline,
                interrupt,
            );
            let end = carry_out(plan, &mut conversation, &mut case_reports, reporters).await;
            let interrupted = conversation.is_interrupted();
            let lost = conversation.close().await.map(|error| error.to_string());
            (end.err().or(lost), interrupted)
        }
    };
    let cases = case_reports.into_cases();
    let end = DutRunEnd { cases, facts: Some(facts()), ..DutRunEnd::default() };
    driver.dut_run(GATEWAY, plan.output.transport(), end);
    driver.finish(reporters)
}

/// What a run of the plan says at its beginning.
fn started(plan: &GatewayPlan) -> RunStarted {
    RunStarted {
        run: plan.run.clone(),
        started: plan.started.clone(),
        strict: plan.strict,
        rules: plan.rules.iter().map(|name| (*name).to_owned()).collect(),
        duts: vec![DutInfo {
            name: GATEWAY.into(),
            target: GATEWAY.into(),
            transport: plan.output.transport().into(),
            fidelity: "a gateway between a caller and a device that the harness plays".into(),
            level: Fidelity::Unknown.name().to_owned(),
            cannot_show: Vec::new(),
            reference: false,
            in_place_of: None,
        }],
        // The rows, and the good control before them.
        cases: plan.rows.len() + 1,
        ..RunStarted::default()
    }
}

async fn open(plan: &GatewayPlan) -> Result<(Wire, Recorder), RunError> {
    let secrets =
        [(&plan.input.password, "${MCP_HIL_GATEWAY_PASSWORD}"), (&plan.token, "${MCP_HIL_TOKEN}")];
    let secrets = secrets.into_iter().filter_map(|(value, mark)| {
        let value = value.clone()?;
        Some(Secret { value, mark })
    });
    let recorder = Recorder::new(&plan.folder, secrets.collect())?;
    let wire = Wire::open(plan).await.map_err(RunError::NoConnection)?;
    Ok((wire, recorder))
}

/// Carries out bring-up and all rows.
///
/// # Errors
///
/// No call ever came out.
pub async fn carry_out<B: Bench>(
    plan: &GatewayPlan,
    conversation: &mut Conversation<B>,
    case_reports: &mut CaseReports,
    reporters: &mut Reporters<'_>,
) -> Result<(), String> {
    let began = Instant::now();
    let blank = |id: String, title: &str| CaseReport {
        repro: plan.repro(&id),
        transcript: Some(transcript_name(&id)),
        ..CaseReport::blank(GATEWAY, plan.output.transport(), &id, title)
    };
    let micros = |since: Instant| u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
    let Some(outcome) = conversation.bring_up().await else {
        if conversation.is_interrupted() {
            return Ok(());
        }
        return Err(plan.no_call(conversation.why_silent()));
    };
    let mut report =
        blank(BRING_UP.into(), "The gateway accepts a control message and calls the device");
    report.took_us = micros(began);
    reporters.event(&Event::DutReady(Box::new(DutReady {
        dut: report.dut.clone(),
        transport: report.transport.clone(),
        server: None,
        identity: None,
        facts: facts(),
        took_us: report.took_us,
    })));
    case_reports.finish(report, outcome, &plan.policy(), reporters);
    for row in &plan.rows {
        if conversation.is_interrupted() {
            break;
        }
        let mut report = blank(case_id(&row.name), &row.title);
        reporters.event(&Event::CaseStarted {
            dut: report.dut.clone(),
            transport: report.transport.clone(),
            case: report.case.clone(),
        });
        let began = Instant::now();
        match conversation.row(row).await {
            End::Judged(outcome) => {
                report.took_us = micros(began);
                case_reports.finish(report, outcome, &plan.policy(), reporters);
            }
            End::Dead(why) => {
                report.verdict = Verdict::Inconclusive;
                report.reason = Some(why);
                report.transcript = None;
                case_reports.add(report, reporters);
            }
            // Half a case shows nothing.
            End::Interrupted => break,
        }
    }
    Ok(())
}
