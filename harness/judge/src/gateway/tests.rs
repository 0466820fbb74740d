use mcp_hil_core::catalogue::RequirementId as Id;
use std::sync::Arc;

use rstest::rstest;

use super::*;

const TABLE: &str = r#"{"about": [], "level": 37,
  "fence": {"send": {"action": "set_volume", "volume": 41},
    "call": {"tool": "set", "arguments": {"volume": 41}}},
  "rows": [
    {"name": "mute", "title": "t", "requirement": "gateway.action-map", "reply": "value",
      "send": [{"action": "mute", "request_id": "req_7"}],
      "calls": [{"tool": "mute", "arguments": {}, "id": 7}]},
    {"name": "drop", "title": "t", "requirement": "gateway.unknown-action",
      "send": ["no JSON"], "calls": []}]}"#;

const MUTE: &str = "C{\"action\":\"mute\",\"request_id\":\"req_7\"}";
const GOOD: &str = r#"{"request_id":"req_7","result":{"volume":37}}"#;

/// Judges the lines of a case: `C` a control, `F` the fence, `R` a reply, else what came out.
fn findings(row: usize, lines: &[&str]) -> Vec<Id> {
    let table = Arc::new(Table::read(TABLE).unwrap());
    let mut entries = Vec::new();
    for line in lines {
        let (step, what) = match line.split_at(1) {
            ("C", text) => ("0", What::Control { text: text.into() }),
            ("F", _) => ("fence", What::Control { text: table.fence.control("req_9") }),
            ("R", text) => ("0", What::Reply { text: text.into() }),
            _ => ("0", What::Received { frame: Frame::Text((*line).into()) }),
        };
        entries.push(Entry {
            seq: entries.len() as u64,
            at_us: 0,
            case: "gateway/x".into(),
            step: Some(step.into()),
            what,
        });
    }
    let row = &table.rows[row];
    let outcome = GatewayJudge::new(table.clone()).judge(&"gateway/x".into(), Some(row), &entries);
    outcome.judgements.iter().map(|judgement| judgement.requirement).collect()
}

fn call(id: &str, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"type":"mcp","payload":{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}}}"#
    )
}

#[rstest]
#[case::good("7", "mute", GOOD, &[])]
#[case::other_id("8", "mute", GOOD, &[Id::GatewayIdFromRequest])]
#[case::text_id("\"7\"", "mute", GOOD, &[Id::GatewayIdNumeric, Id::GatewayIdFromRequest])]
#[case::id_of_the_fence("9", "mute", GOOD, &[Id::GatewayIdUnique, Id::GatewayIdFromRequest])]
#[case::other_tool("7", "unmute", GOOD, &[Id::GatewayActionMap])]
#[case::silent("7", "mute", "", &[Id::GatewayAnswerReturned])]
#[case::anonymous("7", "mute", r#"{"volume":37}"#, &[Id::GatewayAnswerRequestId])]
#[case::error("7", "mute", r#"{"request_id":"req_7","success":false}"#, &[Id::GatewayAnswerReturned])]
#[case::no_level("7", "mute", r#"{"request_id":"req_7","volume":38}"#, &[Id::GatewayValueReturned])]
#[case::level_in_text("7", "mute", r#"{"request_id":"req_7","text":"{\"volume\":37}"}"#, &[])]
fn a_call_and_its_answer_are_judged(
    #[case] id: &str,
    #[case] tool: &str,
    #[case] reply: &str,
    #[case] expected: &[Id],
) {
    let (call, fence) = (call(id, tool, "{}"), call("9", "set", r#"{"volume":41.0}"#));
    let reply = format!("R{reply}");
    let mut lines = vec![MUTE, &call, "F", &fence];
    if reply.len() > 1 {
        lines.push(&reply);
    }
    assert_eq!(findings(0, &lines), expected);
}

#[test]
fn silence_is_proven_by_the_fence() {
    let fence = call("9", "set", r#"{"volume":41}"#);
    let extra = call("8", "mute", "{}");
    assert_eq!(findings(1, &["C", "F", &fence]), []);
    assert_eq!(findings(1, &["C", &extra, "F", &fence]), [Id::GatewayUnknownAction]);
    assert_eq!(findings(1, &["C", "F"]), [Id::GatewaySurvives]);
    let unclear = findings(0, &[MUTE, "F"]);
    assert_eq!(unclear, [Id::GatewaySurvives, Id::GatewayActionMap]);
    let twice = call("7", "mute", "{}");
    let again = call("8", "mute", "{}");
    let lines = [MUTE, &twice, &again, "F", &fence, &format!("R{GOOD}")];
    assert_eq!(findings(0, &lines), [Id::GatewayOneCall]);
}

#[test]
fn the_form_of_a_call_is_judged() {
    let fence = call("9", "set", r#"{"volume":41}"#);
    let reply = format!("R{GOOD}");
    for (from, to) in [("\"mcp\"", "\"mpc\""), ("2.0", "1.0"), ("{}", "[]")] {
        let odd = call("7", "mute", "{}").replacen(from, to, 1);
        let found = findings(0, &[MUTE, &odd, "F", &fence, &reply]);
        assert_eq!(found[0], Id::GatewayCallShape, "{odd}");
    }
    let found = findings(0, &[MUTE, "{\"no", "F", &fence]);
    assert_eq!(found[0], Id::GatewayCallShape);
}

#[rstest]
#[case("\"level\"", "\"lavel\"")]
#[case("gateway.action-map", "gateway.map")]
#[case("\"name\": \"drop\"", "\"name\": \"mute\"")]
#[case(
    "{\"tool\": \"mute\", \"arguments\": {}",
    "{\"tool\": \"set\", \"arguments\": {\"volume\": 41}"
)]
fn a_mistake_in_the_table_is_refused(#[case] from: &str, #[case] to: &str) {
    assert!(TABLE.contains(from) && Table::read(&TABLE.replace(from, to)).is_err());
}
