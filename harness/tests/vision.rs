//! The cases about pictures, played on paper: what the judge makes of what a camera answers.

#![cfg(not(feature = "hil"))]

use std::sync::Arc;

use mcp_hil_core::capability::Facts;
use mcp_hil_core::catalogue::RequirementId;
use mcp_hil_core::transcript::{Entry, Role, What};
use mcp_hil_core::verdict::Outcome;
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_judge::check::Judge;
use mcp_hil_runner::suite::Suite;
use rstest::rstest;
use serde_json::{Value, json};

fn initialized() -> Value {
    json!({"result": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
        "serverInfo": {"name": "x", "version": "1"}}})
}

fn text(text: &str) -> Value {
    json!({"result": {"content": [{"type": "text", "text": text}], "isError": false}})
}

fn said() -> Value {
    text(r#"{"success":true,"response":"marker7"}"#)
}

fn refused() -> Value {
    json!({"error": {"message": "Image explain URL or token is not set"}})
}

/// Plays a case: for each step the device answers so.
fn broken(case: &str, answers: &[Value]) -> Vec<&'static str> {
    let suite = Suite::load(&[], None).expect("the suite loads");
    let case = suite.cases.iter().find(|known| &*known.id == case);
    let case = case.expect("the case is in the suite");
    let mut facts = Facts::default();
    for (name, value) in
        [("url", "http://h/"), ("token", "hush"), ("other_token", "silence"), ("reply", "marker7")]
    {
        let name = format!("vision.{name}");
        facts.variables.insert(name, value.into());
    }
    let mut judge = Judge::new();
    judge.begin_case(&case.id);
    let mut seq = 0;
    let mut enter = |step: Option<Arc<str>>, what| {
        judge.observe(Entry { seq, at_us: seq * 100, case: case.id.clone(), step, what });
        seq += 1;
    };
    assert_eq!(case.steps.len(), answers.len(), "one answer a step");
    for (at, answer) in answers.iter().enumerate() {
        let id = 1001 + at as u64;
        let call = json!({"name": "self.camera.take_photo", "arguments": {"question": "?"}});
        let request = outbound::request(&id.into(), "tools/call", Some(&call)).to_string();
        let frame = Frame::Text(outbound::envelope("s", &request));
        let role = Role::Stimulus;
        enter(Some(at.to_string().into()), What::Sent { role, frame });
        let mut answer = answer.clone();
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = id.into();
        let frame = Frame::Text(outbound::envelope("s", &answer.to_string()));
        enter(None, What::Received { frame });
    }
    judge
        .end_case(Some(case), &facts)
        .judgements
        .iter()
        .filter(|found| matches!(found.outcome, Outcome::Broken(_)))
        .map(|found| found.requirement)
        .filter(|id| id.area() == "vision")
        .map(RequirementId::slug)
        .collect()
}

#[rstest]
#[case::refused(refused(), &[])]
#[case::is_error(json!({"result": {"content": [], "isError": true}}), &[])]
#[case::taken(said(), &["vision.refused-before"])]
fn without_a_url_it_is_refused(#[case] answer: Value, #[case] wanted: &[&str]) {
    assert_eq!(broken("vision/before", &[answer]), wanted);
}

#[rstest]
#[case::refused(initialized(), refused(), &[])]
#[case::at_once(refused(), refused(), &[])]
#[case::with_the_url_before(initialized(), said(), &[])]
#[case::taken(initialized(), text("a cat"), &["vision.url-http"])]
fn with_another_scheme_it_is_refused(
    #[case] first: Value,
    #[case] answer: Value,
    #[case] wanted: &[&str],
) {
    assert_eq!(broken("vision/not-http", &[first, answer]), wanted);
}

#[rstest]
#[case::passed_on(said(), &[])]
#[case::refused(refused(), &["vision.answer"])]
#[case::made_up(text("a cat"), &["vision.answer"])]
#[case::is_error(json!({"result": {"content": [{"type": "text", "text": "marker7"}], "isError": true}}),
    &["vision.answer"])]
fn what_the_server_says_comes_back(#[case] answer: Value, #[case] wanted: &[&str]) {
    let between = [json!({"result": {}}), json!({"result": {"tools": []}}), refused()];
    let before = [initialized(), said(), said(), refused(), initialized()];
    let answers: Vec<Value> = before.into_iter().chain(between).chain([answer]).collect();
    assert_eq!(broken("vision/photo", &answers), wanted);
}
