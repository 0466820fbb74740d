//! What a tool tells of arguments that another one refused.

use rstest::rstest;
use serde_json::json;

use super::play::*;

const SET: &str = "self.alarm.set_alarm";
const GET: &str = "self.alarm.get_alarm";

/// A call and its answer: a text, or `None` for an error.
fn call(id: u32, tool: &str, arguments: &str, told: Option<&str>) -> [String; 2] {
    let answer = match told {
        Some(text) => json!({"jsonrpc": "2.0", "id": id, "result": {
            "content": [{"type": "text", "text": text}], "isError": false}}),
        None => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "no"}}),
    };
    let sent = format!(
        r#"> {id} {{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{
            "name":"{tool}","arguments":{arguments}}}}}"#
    );
    [sent, format!("< {answer}")]
}

/// A reading, a call that sets the hour to 11, and a reading.
#[rstest]
#[case::stored((SET, None), (GET, "{}"), r#"{"hour":11}"#, true)]
#[case::left_as_it_was((SET, None), (GET, "{}"), r#"{"hour":7}"#, false)]
#[case::a_clock((SET, None), (GET, "{}"), r#"{"hour":8}"#, false)]
#[case::accepted((SET, Some("true")), (GET, "{}"), r#"{"hour":11}"#, false)]
#[case::of_something_else((SET, None), ("self.lamp.get_timer", "{}"), r#"{"hour":11}"#, false)]
#[case::another_alarm((SET, None), (GET, r#"{"number":11}"#), r#"{"hour":11}"#, false)]
#[case::in_words((SET, None), (GET, "{}"), "at 11", false)]
fn what_a_refused_call_has_stored_is_found(
    #[case] (setter, set): (&str, Option<&str>),
    #[case] (reader, arguments): (&str, &str),
    #[case] told: &str,
    #[case] found: bool,
) {
    let lines = [
        call(1, reader, "{}", Some(r#"{"hour":7}"#)),
        call(2, setter, r#"{"hour":11,"offset":999}"#, set),
        call(3, reader, arguments, Some(told)),
    ]
    .concat();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let findings = Play::new().play(&lines).end();
    let is_told = findings.iter().any(|one| one.ends_with(" arguments.no-effect"));
    assert_eq!(is_told, found, "{findings:?}");
}

/// A reading, a call with a text and a time that is too long, and a reading.
#[rstest]
#[case::as_text("before", "mcp-hil", true)]
#[case::another_text("before", "expired", false)]
#[case::the_same_text("mcp-hil", "mcp-hil", false)]
#[case::in_an_object(r#"{"at":{"text":"a"}}"#, r#"{"at":{"text":"mcp-hil"}}"#, true)]
#[case::at_another_place(r#"{"at":{"text":"a"}}"#, r#"{"text":"mcp-hil"}"#, false)]
#[case::in_a_list(r#"["a"]"#, r#"["mcp-hil"]"#, false)]
fn a_text_that_was_refused_is_found_in_what_is_told(
    #[case] before: &str,
    #[case] told: &str,
    #[case] found: bool,
) {
    let get = "self.display.get_message";
    let lines = [
        call(1, get, "{}", Some(before)),
        call(2, "self.display.show_message", r#"{"text":"mcp-hil","seconds":601}"#, None),
        call(3, get, "{}", Some(told)),
    ]
    .concat();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let findings = Play::new().play(&lines).end();
    let is_told = findings.iter().any(|one| one.ends_with(" arguments.no-effect"));
    assert_eq!(is_told, found, "{findings:?}");
}

/// A status, a call that sets the hour to 11 and is refused, and a status; before them one that may have been accepted.
#[rstest]
#[case::stored(None, r#"{"alarm":{"hour":11}}"#, true)]
#[case::stored_deep_inside(None, r#"{"alarms":{"first":{"hour":11}}}"#, true)]
#[case::left_as_it_was(None, r#"{"alarm":{"hour":7}}"#, false)]
#[case::a_clock(None, r#"{"clock":{"hour":11}}"#, false)]
#[case::what_was_accepted_before_shows_late(Some(11), r#"{"alarm":{"hour":11}}"#, false)]
#[case::another_one_was_accepted_before(Some(9), r#"{"alarm":{"hour":11}}"#, true)]
fn what_a_refused_call_has_stored_is_found_in_the_status(
    #[case] accepted: Option<u32>,
    #[case] told: &str,
    #[case] found: bool,
) {
    const STATUS: &str = "self.get_device_status";
    let before = accepted.map(|hour| call(1, SET, &format!(r#"{{"hour":{hour}}}"#), Some("true")));
    let lines = [
        call(2, STATUS, "{}", Some(&told.replace("11", "7"))),
        call(3, SET, r#"{"hour":11,"offset":999}"#, None),
        call(4, STATUS, "{}", Some(told)),
    ];
    let lines: Vec<String> = before.into_iter().chain(lines).flatten().collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let findings = Play::new().play(&lines).end();
    let is_told = findings.iter().any(|one| one.ends_with(" arguments.no-effect"));
    assert_eq!(is_told, found, "{findings:?}");
}
