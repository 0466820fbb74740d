//! `mcp-hil run --sut gateway`: the harness plays a caller and a device, and judges what somebody
//! else's volume gateway makes of control messages between the two.
//!
//! [`plan`] is read from the arguments, [`wire`] holds both connections, [`conversation`] carries
//! out the rows of the table, [`device`] is what the harness plays to the gateway. Entries are
//! judged by [`mcp_hil_core::check::gateway`]; events, reports and exit codes are those of any run.

pub mod conversation;
pub mod device;
pub mod plan;
pub mod wire;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use mcp_hil_core::capability::Facts;
use mcp_hil_core::catalogue::{Catalogue, RuleSet};
use mcp_hil_core::check::gateway::{GatewayJudge, Table};
use mcp_hil_core::transcript::{BRING_UP, Entry};
use mcp_hil_core::verdict::Verdict;
use tokio::sync::watch;

use crate::dut::Fidelity;
use crate::event::{CaseReport, DutInfo, DutReady, Event, RunStarted, SCHEMA, Summary};
use crate::report::Reporters;
use crate::run::{Book, Recorder, Ruling, RunError, Secret, Tally, exit_code, transcript_name};

use conversation::{Bench, Conversation, End};
use plan::GatewayPlan;
use wire::Wire;

/// What a gateway under test is called in reports, and as kind of target.
pub const GATEWAY: &str = "gateway";

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
    ruling: &Ruling<'_>,
    reporters: &mut Reporters<'_>,
) -> (Vec<CaseReport>, Facts) {
    let table = table();
    let mut judge = GatewayJudge::new(table.clone());
    let mut book = Book::default();
    for recorded in cases {
        let own: Vec<Entry> = entries
            .iter()
            .filter(|entry| *entry.case == *recorded.case)
            .cloned()
            .collect();
        let row = table
            .rows
            .iter()
            .find(|row| case_id(&row.name) == recorded.case);
        if own.is_empty() || row.is_none() && recorded.case != BRING_UP {
            // It was not carried out, or the table has it no more.
            book.add(recorded.clone(), reporters);
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
        book.finish(blank, outcome, ruling, reporters);
    }
    (book.into_cases(), facts())
}

/// What is known of every gateway.
fn facts() -> Facts {
    Facts {
        capabilities: BTreeSet::from([CAPABILITY.to_owned()]),
        ..Facts::default()
    }
}

/// Carries out a plan and reports it as events. `interrupt` turns true on Ctrl-C.
pub async fn run(
    plan: &GatewayPlan,
    reporters: &mut Reporters<'_>,
    interrupt: watch::Receiver<bool>,
) -> Summary {
    let began = Instant::now();
    reporters.event(&Event::RunStarted(RunStarted {
        schema: SCHEMA,
        tool: crate::TOOL.into(),
        run: plan.run.clone(),
        started: plan.started.clone(),
        seed: 0,
        strict: plan.strict,
        rules: plan.rules.iter().map(|name| (*name).to_owned()).collect(),
        duts: vec![DutInfo {
            name: GATEWAY.into(),
            target: GATEWAY.into(),
            transport: plan.output.transport().into(),
            fidelity: "a gateway between a caller and a device that the harness plays".into(),
            level: Fidelity::Unknown.name().to_owned(),
            cannot_show: Vec::new(),
        }],
        cases: plan.rows.len() + 1,
        basis: None,
        joined: Vec::new(),
    }));
    let mut book = Book::default();
    let mut stopped = interrupt.clone();
    let opened = tokio::select! {
        opened = open(plan) => opened,
        _ = stopped.wait_for(|stopped| *stopped) => Err(RunError::NoConnection(String::new())),
    };
    let (error, interrupted) = match opened {
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
            let end = carry_out(plan, &mut conversation, &mut book, reporters).await;
            let interrupted = conversation.is_interrupted();
            let lost = conversation.close().await.map(|error| error.to_string());
            (end.err().or(lost), interrupted)
        }
    };
    let cases = book.into_cases();
    let mut tally = Tally::new(plan.ruling(), plan.whole);
    for case in &cases {
        tally.case(case);
    }
    tally.device(
        GATEWAY,
        plan.output.transport(),
        &facts().capabilities,
        None,
    );
    let mut summary = tally.summary();
    summary.duts = 1;
    summary.took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    summary.interrupted = interrupted;
    summary.bench_error = error;
    summary.folder = plan.folder.display().to_string();
    summary.exit = exit_code(&summary);
    reporters.event(&Event::RunFinished(summary.clone()));
    summary
}

async fn open(plan: &GatewayPlan) -> Result<(Wire, Recorder), RunError> {
    let secrets = [
        (&plan.input.password, "${MCP_HIL_GATEWAY_PASSWORD}"),
        (&plan.token, "${MCP_HIL_TOKEN}"),
    ];
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
    book: &mut Book,
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
    let mut report = blank(
        BRING_UP.into(),
        "The gateway takes a control and calls the device",
    );
    report.took_us = micros(began);
    reporters.event(&Event::DutReady(Box::new(DutReady {
        dut: report.dut.clone(),
        transport: report.transport.clone(),
        server: None,
        identity: None,
        facts: facts(),
        took_us: report.took_us,
    })));
    book.finish(report, outcome, &plan.ruling(), reporters);
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
                book.finish(report, outcome, &plan.ruling(), reporters);
            }
            End::Dead(why) => {
                report.verdict = Verdict::Inconclusive;
                report.reason = Some(why);
                report.transcript = None;
                book.add(report, reporters);
            }
            // Half a case shows nothing.
            End::Interrupted => break,
        }
    }
    Ok(())
}
