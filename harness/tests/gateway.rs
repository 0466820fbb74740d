//! The judge of gateways is proven as the judge of devices is: our own gateway has no finding, and
//! for each requirement there is a gateway that breaks it and is caught.
//!
//! The defects are in `mutants`, around the gateway. No defect is in the product.

#![cfg(not(feature = "hil"))]

#[path = "gateway/mutants.rs"]
mod mutants;
#[path = "gateway/published.rs"]
mod published;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::time::Duration;

use clap::Parser as _;
use mcp_hil_args::{Cli, Command};
use mcp_hil_core::catalogue::RequirementId;
use mcp_hil_core::gateway::{Gateway, Settings, Step};
use mcp_hil_core::verdict::Verdict;
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_gateway::suite::conversation::{Bench, Conversation, Heard};
use mcp_hil_gateway::suite::plan::GatewayPlan;
use mcp_hil_gateway::suite::{carry_out, table};
use mcp_hil_judge::gateway::REQUIREMENTS;
use mcp_hil_record::Reporters;
use mcp_hil_record::event::CaseReport;
use mcp_hil_runner::run::{CaseReports, Recorder};
use serde_json::{Value, json};
use tokio::sync::watch;

use mutants::{Defect, MUTANTS, Mutant, is_fence};

/// A gateway without sockets.
struct Inside<'a> {
    gateway: Gateway,
    defect: &'a Defect,
    /// Ids that were changed on the way, and what they were.
    ids: BTreeMap<String, Value>,
    coming: VecDeque<Heard>,
    dead: bool,
    flooding: bool,
    /// Whether it starts again when it ended.
    comes_back: bool,
    /// How many controls it answers with an error before its device is there again.
    not_ready: usize,
}

impl Inside<'_> {
    fn reply(&mut self, json: Value) {
        let json = match self.defect {
            Defect::Reply(change) => change(json),
            _ => Some(json),
        };
        let text = json.map(|json| Heard::Reply(json.to_string()));
        self.coming.extend(text);
    }

    fn call(&mut self, payload: Value) {
        let id = payload["id"].clone();
        let sent = match self.defect {
            Defect::Call(change) => change(payload),
            _ => vec![payload],
        };
        for payload in sent {
            self.ids.insert(payload["id"].to_string(), id.clone());
            let bare = matches!(self.defect, Defect::Bare) && !is_fence(&payload);
            let payload = payload.to_string();
            let text = match bare {
                true => payload,
                false => outbound::envelope("s", &payload),
            };
            self.coming.push_back(Heard::Device(Frame::Text(text)));
        }
    }
}

impl Bench for Inside<'_> {
    async fn control(&mut self, text: &str) -> Result<(), String> {
        let read = serde_json::from_str::<Value>(text);
        self.dead |= matches!(self.defect, Defect::Dies) && read.is_err();
        self.flooding |= matches!(self.defect, Defect::Floods) && read.is_err();
        if self.dead {
            return Err("it ended".into());
        }
        if self.not_ready > 0 {
            self.not_ready -= 1;
            let reply = json!({"request_id": "?", "success": false});
            self.coming.push_back(Heard::Reply(reply.to_string()));
            return Ok(());
        }
        let text = match (self.defect, read) {
            (Defect::Control(change), Ok(control)) => match change(control) {
                Some(control) => control.to_string(),
                None => return Ok(()),
            },
            _ => text.to_owned(),
        };
        for step in self.gateway.control(0, &text, 1_758_893_424_665) {
            match step {
                Step::SendToDevice { payload } => self.call(payload),
                Step::Reply(reply) => self.reply(reply.json),
                Step::Log { .. } => {}
            }
        }
        Ok(())
    }

    async fn device(&mut self, text: &str) -> Result<(), String> {
        let mut message: Value = serde_json::from_str(text).expect("the device writes JSON");
        if let Some(id) = self.ids.get(&message["payload"]["id"].to_string()) {
            message["payload"]["id"] = id.clone();
        }
        if let Some(reply) = self.gateway.answer(&message["payload"]) {
            self.reply(reply.json);
        }
        Ok(())
    }

    async fn next(&mut self) -> Heard {
        match self.coming.pop_front() {
            _ if self.flooding => Heard::Reply("{}".into()),
            Some(came) => came,
            None => std::future::pending().await,
        }
    }

    async fn again(&mut self, _: Duration) -> Result<(), String> {
        if !self.comes_back {
            return Err("it does not come back".into());
        }
        (self.dead, self.not_ready) = (false, 2);
        Ok(())
    }

    async fn close(&mut self) {}
}

/// Our gateway with a defect.
fn inside(defect: &Defect) -> Inside<'_> {
    Inside {
        gateway: Gateway::new(Settings::default()),
        defect,
        ids: BTreeMap::new(),
        coming: VecDeque::new(),
        dead: false,
        flooding: false,
        comes_back: false,
        not_ready: 0,
    }
}

/// Runs rows (all where none is named) on our gateway with a defect.
fn run(name: &str, defect: &Defect, rows: &[&str]) -> Vec<CaseReport> {
    try_out(name, inside(defect), rows)
}

/// Runs rows (all where none is named) on a gateway.
fn try_out(name: &str, bench: impl Bench, rows: &[&str]) -> Vec<CaseReport> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gateways").join(name);
    let _ = std::fs::remove_dir_all(&out);
    let mut arguments = vec![
        "mcp-hil".to_owned(),
        "run".into(),
        "--sut=gateway".into(),
        "--strict".into(),
        "--deadline=0.4".into(),
        "--connect-deadline=2".into(),
        "--gateway-in=mqtt://127.0.0.1:1/t".into(),
        "--gateway-out=ws://127.0.0.1:1/".into(),
        format!("--out={}", out.display()),
    ];
    arguments.extend(rows.iter().map(|row| format!("--only=gateway/{row}")));
    let Command::Run(args) = Cli::parse_from(arguments).command else {
        unreachable!("the command is run")
    };
    let plan = GatewayPlan::new(&args).expect("a plan");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let cases = runtime.block_on(async {
        let recorder = Recorder::new(&plan.folder, Vec::new()).expect("the folder can be written");
        let (_stop, interrupt) = watch::channel(false);
        let mut conversation = Conversation::new(
            bench,
            table(),
            recorder,
            plan.deadline,
            plan.connect_deadline,
            interrupt,
        );
        let mut book = CaseReports::default();
        let mut reporters = Reporters::new(std::io::sink());
        carry_out(&plan, &mut conversation, &mut book, &mut reporters)
            .await
            .unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(conversation.close().await.is_none(), "{name}");
        book.into_cases()
    });
    let _ = std::fs::remove_dir_all(&out);
    cases
}

#[test]
fn our_own_gateway_has_no_finding() {
    let cases = run("good", &Defect::No, &[]);
    assert_eq!(cases.len(), table().rows.len() + 1);
    let mut exercised = BTreeSet::new();
    for case in &cases {
        assert_eq!(case.verdict, Verdict::Pass, "{case:#?}");
        assert!(case.findings.is_empty(), "{case:#?}");
        exercised.extend(case.exercised.iter().map(String::as_str));
    }
    assert_eq!(exercised, BTreeSet::from(REQUIREMENTS.map(RequirementId::slug)));
}

#[test]
fn every_mutant_is_killed_by_the_row_that_is_named_for_it() {
    let survivors: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            MUTANTS.iter().map(|mutant| scope.spawn(move || survivals(mutant))).collect();
        let ended = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        ended.flatten().collect()
    });
    assert!(survivors.is_empty(), "{survivors:#?}");
}

/// What was to kill the mutant and did not.
fn survivals(mutant: &Mutant) -> Vec<String> {
    let rows: Vec<&str> = mutant.kills.iter().map(|(row, _)| *row).collect();
    let cases = run(mutant.name, &mutant.defect, &rows);
    let mut alive = Vec::new();
    for (row, requirement) in mutant.kills {
        let case = cases.iter().find(|case| case.case == format!("gateway/{row}"));
        let case = case.unwrap_or_else(|| panic!("{}: {row} did not run", mutant.name));
        let killed = case.verdict == Verdict::Fail
            && case.findings.iter().any(|finding| finding.requirement == *requirement);
        if !killed {
            alive.push(format!("{}: not killed by {requirement}: {case:#?}", mutant.name));
        }
    }
    alive
}

#[test]
fn a_gateway_that_ends_spoils_one_row_when_it_comes_back_and_no_verdict_when_it_does_not() {
    let rows = ["survive-no-json", "survive-no-object", "answer-result"];
    let defect = Defect::Dies;
    let back = Inside { comes_back: true, ..inside(&defect) };
    let verdicts = |cases: Vec<CaseReport>| -> Vec<Verdict> {
        cases.iter().skip(1).map(|case| case.verdict).collect()
    };
    use Verdict::{Fail, Inconclusive, Pass};
    let cases = try_out("comes-back", back, &rows);
    assert_eq!(verdicts(cases), [Fail, Pass, Pass]);
    let cases = try_out("stays-away", inside(&defect), &rows);
    assert_eq!(verdicts(cases), [Fail, Inconclusive, Inconclusive]);
}

#[test]
fn a_gateway_that_sends_without_end_is_left() {
    let cases = run("floods", &Defect::Floods, &["survive-no-json", "survive-no-object"]);
    let verdicts: Vec<Verdict> = cases.iter().map(|case| case.verdict).collect();
    assert_eq!(verdicts, [Verdict::Pass, Verdict::Fail, Verdict::Inconclusive]);
    let reason = cases[2].reason.as_deref().expect("a reason");
    assert!(reason.contains("does not come back"), "{reason}");
}

#[test]
fn every_requirement_has_a_mutant() {
    let killed: BTreeSet<&str> = MUTANTS
        .iter()
        .flat_map(|mutant| mutant.kills.iter().map(|(_, requirement)| *requirement))
        .collect();
    assert_eq!(killed, BTreeSet::from(REQUIREMENTS.map(RequirementId::slug)));
    let names: BTreeSet<&str> = MUTANTS.iter().map(|mutant| mutant.name).collect();
    assert_eq!(names.len(), MUTANTS.len());
}
