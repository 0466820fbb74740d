//! The form of answers, results and lists, and of what the device says by itself.

use mcp_hil_core::transcript::{Mark, What};
use rstest::rstest;

use super::play::*;

#[rstest]
#[case::null(r#"null"#, &["a/a list.next-cursor-not-null"])]
#[case::empty(r#""""#, &[])]
#[case::number("7", &["a/a list.next-cursor-string"])]
fn a_null_cursor_ends_the_list_and_is_a_matter_of_its_own(
    #[case] cursor: &str,
    #[case] findings: &[&str],
) {
    let page =
        format!(r#"< {{"jsonrpc":"2.0","id":1001,"result":{{"tools":[],"nextCursor":{cursor}}}}}"#);
    let mut play = Play::new();
    play.play(&[r#"> 0 {"jsonrpc":"2.0","id":1001,"method":"tools/list"}"#, &page]);
    assert_eq!(play.end(), findings);
}

/// A call, an answer with this `result`, and what is broken.
#[rstest]
#[case::text(r#"{"content":[{"type":"text","text":"true"}],"isError":false}"#, &[])]
#[case::nothing(r#"{"content":[]}"#, &[])]
#[case::image(r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}"#, &[])]
#[case::resource(r#"{"content":[{"type":"resource","resource":{"uri":"x:y","text":""}}]}"#, &[])]
#[case::resource_of_bytes(r#"{"content":[{"type":"resource","resource":{"uri":"x:y","blob":"AA=="}}]}"#, &[])]
#[case::of_later_revisions(r#"{"content":[{"type":"resource_link","uri":"x:y","name":"y"}]}"#, &[])]
#[case::of_no_revision(r#"{"content":[{"type":"json","text":""}]}"#, &["a/a call.content-items"])]
#[case::data_in_lines(r#"{"content":[{"type":"image","mimeType":"image/x","data":"AAAA\nAA==\n"}]}"#, &[])]
#[case::data_not_padded(
    r#"{"content":[{"type":"image","mimeType":"image/x","data":"AAAAA"}]}"#,
    &["a/a call.content-items"]
)]
#[case::no_media_type(
    r#"{"content":[{"type":"image","mimeType":"png","data":"AAAA"}]}"#,
    &["a/a call.content-items"]
)]
#[case::of_another_media_type(
    r#"{"content":[{"type":"image","mimeType":"image/jpeg","data":"iVBORw0KGgo="}]}"#,
    &["a/a call.content-items"]
)]
#[case::no_content(r#"{}"#, &["a/a call.content-array"])]
#[case::text_missing(r#"{"content":[{"type":"text"}]}"#, &["a/a call.content-items"])]
#[case::data_missing(
    r#"{"content":[{"type":"image","mimeType":"image/png"}]}"#,
    &["a/a call.content-items"]
)]
#[case::kind_missing(
    r#"{"content":[{"type":"audio","data":"AA=="}]}"#,
    &["a/a call.content-items"]
)]
#[case::hexadecimal(
    r#"{"content":[{"type":"image","data":"69:00 69","mimeType":"image/png"}]}"#,
    &["a/a call.content-items"]
)]
#[case::resource_empty(r#"{"content":[{"type":"resource","resource":{"uri":"x:y"}}]}"#, &["a/a call.content-items"])]
#[case::resource_nameless(r#"{"content":[{"type":"resource","resource":{"text":""}}]}"#, &["a/a call.content-items"])]
#[case::resource_missing(r#"{"content":[{"type":"resource"}]}"#, &["a/a call.content-items"])]
#[case::no_type(r#"{"content":[{"text":"true"}]}"#, &["a/a call.content-items"])]
#[case::one_of_two(
    r#"{"content":[{"type":"text","text":"true"},{"type":"text"}]}"#,
    &["a/a call.content-items"]
)]
#[case::flag(r#"{"content":[],"isError":"no"}"#, &["a/a call.is-error-boolean"])]
#[case::no_object("true", &[
    "a/a jsonrpc.result-object",
    "a/a call.content-array",
])]
fn the_result_of_a_call_is_judged(#[case] result: &str, #[case] findings: &[&str]) {
    let call = r#"> 0 {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#;
    let answer = format!(r#"< {{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
    assert_eq!(Play::new().play(&[call, &answer]).end(), findings);
}

/// A call whose `params` are a text, and what a device may say to it.
#[rstest]
#[case::error(r#""error":{"code":-32602,"message":"no"}"#, &[])]
#[case::refusal(r#""result":{"content":[{"type":"text","text":"no"}],"isError":true}"#, &[])]
#[case::success(
    r#""result":{"content":[{"type":"text","text":"true"}]}"#,
    &["a/a jsonrpc.params-structured"]
)]
fn a_call_that_is_no_request_may_be_refused_as_calls_are(
    #[case] said: &str,
    #[case] findings: &[&str],
) {
    let call = r#"> 0 {"jsonrpc":"2.0","id":7,"method":"tools/call","params":"t"}"#;
    let answer = format!(r#"< {{"jsonrpc":"2.0","id":7,{said}}}"#);
    assert_eq!(Play::new().play(&[call, &answer]).end(), findings);
}

const INFO: &str = r#""serverInfo":{"name":"n","version":"1"}"#;

#[rstest]
#[case::good(r#""protocolVersion":"2024-11-05","capabilities":{"tools":{}},INFO"#, &[])]
#[case::flag(
    r#""protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":"no"}},INFO"#,
    &["a/a initialize.capability-flags"]
)]
#[case::no_date(
    r#""protocolVersion":"2024-11","capabilities":{"tools":{}},INFO"#,
    &["a/a initialize.protocol-version"]
)]
#[case::date_inside(
    r#""protocolVersion":"v2024-11-05","capabilities":{"tools":{}},INFO"#,
    &["a/a initialize.protocol-version"]
)]
#[case::tools_true(
    r#""protocolVersion":"2024-11-05","capabilities":{"tools":true},INFO"#,
    &["a/a initialize.capabilities-tools"]
)]
#[case::no_version(
    r#""protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"n"}"#,
    &["a/a initialize.server-info"]
)]
#[case::no_name(
    r#""protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"version":"1"}"#,
    &["a/a initialize.server-info"]
)]
fn the_result_of_initialize_is_judged(#[case] members: &str, #[case] findings: &[&str]) {
    let initialize = r#"> 0 {"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#;
    let members = members.replace("INFO", INFO);
    let answer = format!(r#"< {{"jsonrpc":"2.0","id":7,"result":{{{members}}}}}"#);
    assert_eq!(Play::new().play(&[initialize, &answer]).end(), findings);
}

#[test]
fn the_first_initialize_of_a_connection_is_not_refused() {
    let refusal = r#"< {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"no"}}"#;
    let initialize = |params: &str| {
        format!(r#"> 0 {{"jsonrpc":"2.0","id":7,"method":"initialize","params":{params}}}"#)
    };
    let full = initialize(
        r#"{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"n","version":"1"}}"#,
    );
    let found = Play::new().play(&[&full, refusal]).end();
    assert!(found.contains(&"a/a initialize.full".to_owned()), "{found:?}");
    // MCP requires more of clients than this.
    let found = Play::new().play(&[&initialize(r#"{"capabilities":{}}"#), refusal]).end();
    assert!(!found.iter().any(|one| one.starts_with("a/a initialize.")), "{found:?}");
}

#[rstest]
#[case::null_beside_a_result(r#""result":{},"error":null"#, &["a/a jsonrpc.result-xor-error"])]
#[case::null_alone(r#""error":null"#, &["a/a errors.object"])]
#[case::text(r#""error":"no""#, &["a/a errors.object"])]
#[case::both(
    r#""result":{},"error":{"code":"1","message":"no"}"#,
    &["a/a jsonrpc.result-xor-error", "a/a errors.code-integer"]
)]
#[case::no_message(r#""error":{"code":-32600}"#, &["a/a errors.message-string"])]
#[case::whole_number_with_a_point(r#""error":{"code":-32600.0,"message":"no"}"#, &[])]
fn the_form_of_an_answer_is_judged(#[case] members: &str, #[case] findings: &[&str]) {
    let answer = format!(r#"< {{"jsonrpc":"2.0","id":7,{members}}}"#);
    assert_eq!(Play::new().play(&[PING, &answer]).end(), findings);
}

/// A device that takes `initialize` with a service for pictures only.
#[test]
fn what_a_device_insists_on_is_named() {
    let mut play = Play::new();
    let on = "capabilities.vision".to_owned();
    let mark = Mark::Insists { on };
    play.enter(Some("0"), What::Mark { mark });
    assert_eq!(play.end(), ["a/a initialize.vision-optional"]);
}

/// The default of an argument may be its description by mistake, and is a value otherwise.
#[rstest]
#[case::its_own(
    r#"{"q":{"type":"string","description":"What to look for.","default":"What to look for"}}"#,
    true
)]
#[case::the_tools(r#"{"q":{"type":"string","default":"Looks at the world."}}"#, true)]
#[case::url(
    r#"{"url":{"type":"string","default":"The URL of the binary to download and install"}}"#,
    true
)]
#[case::good_url(r#"{"url":{"type":"string","default":"http://h/a file with blanks.bin"}}"#, false)]
#[case::described_url(
    r#"{"url":{"type":"string","description":"Where it is.","default":"the one that was set last"}}"#,
    false
)]
#[case::question(r#"{"q":{"type":"string","default":"What do you see there?"}}"#, false)]
#[case::word(r#"{"theme":{"type":"string","description":"light","default":"light"}}"#, false)]
#[case::curl(r#"{"curl_hair":{"type":"string","default":"not at all, never ever"}}"#, false)]
fn a_description_is_no_default(#[case] properties: &str, #[case] found: bool) {
    let list = r#"> list.p0 {"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}"#;
    let tool = format!(
        r#"{{"name":"self.x","description":"Looks at the world.","inputSchema":{{"type":"object","properties":{properties}}}}}"#
    );
    let answer = format!(r#"< {{"jsonrpc":"2.0","id":7,"result":{{"tools":[{tool}]}}}}"#);
    let findings = Play::new().play(&[list, &answer]).end();
    let expected: &[&str] = match found {
        true => &["a/a list.default-not-description"],
        false => &[],
    };
    assert_eq!(findings, expected);
}

/// A device that says to any call that it went well shows by that no tool that is missing in the list.
#[rstest]
#[case::refuses(r#""error":{"code":-32602,"message":"Unknown tool"}"#, &["b/b list.callable-listed"])]
#[case::fails(r#""result":{"content":[],"isError":true}"#, &["b/b list.callable-listed"])]
#[case::takes_anything(r#""result":{"content":[],"isError":false}"#, &[])]
fn what_can_be_called_shows_where_unknown_tools_are_refused(
    #[case] unknown: &str,
    #[case] findings: &[&str],
) {
    let call = |at: &str, id: u32, tool: &str| {
        format!(
            r#"> {at} {{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}"#
        )
    };
    let answer = |id: u32, rest: &str| format!(r#"< {{"jsonrpc":"2.0","id":{id},{rest}}}"#);
    let list = r#"> list.p0 {"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}"#;
    let tools = r#""result":{"tools":[{"name":"self.x","description":"d","inputSchema":{"type":"object","properties":{}}}]}"#;
    let mut play = Play::new();
    assert_eq!(play.play(&[list, &answer(7, tools)]).end(), [""; 0]);
    let done = r#""result":{"content":[{"type":"text","text":"1"}],"isError":false}"#;
    play.next_case("b/b").play(&[
        &call("0", 8, "self.nobody_has_this"),
        &answer(8, unknown),
        &call("1", 9, "self.battery.get_level"),
        &answer(9, done),
    ]);
    assert_eq!(play.end(), findings);
}

/// What a device does with tools that nobody has is not known before it was asked for one.
#[test]
fn what_is_called_before_any_refusal_was_seen_shows_nothing() {
    let list = r#"> list.p0 {"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}"#;
    let tools = r#"< {"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"self.x","description":"d","inputSchema":{"type":"object","properties":{}}}]}}"#;
    let call = r#"> 0 {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"self.battery.get_level","arguments":{}}}"#;
    let done = r#"< {"jsonrpc":"2.0","id":8,"result":{"content":[{"type":"text","text":"no such tool"}],"isError":false}}"#;
    let mut play = Play::new();
    assert_eq!(play.play(&[list, tools]).end(), [""; 0]);
    play.next_case("b/b").play(&[call, done]);
    assert_eq!(play.end(), [""; 0]);
}

/// MCP 2024-11-05 does not say of which draft a schema is.
#[rstest]
#[case::draft_4(r#"{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true}}"#, &[])]
#[case::draft_7(r#"{"n":{"type":"array","items":[{"type":"string"}]}}"#, &[])]
#[case::none(r#"{"n":{"type":"int"}}"#, &["a/a list.schema-valid"])]
fn a_schema_is_valid_under_any_draft(#[case] properties: &str, #[case] findings: &[&str]) {
    let list = r#"> list.p0 {"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}"#;
    let tool = format!(
        r#"{{"name":"self.x","description":"d","inputSchema":{{"type":"object","properties":{properties}}}}}"#
    );
    let answer = format!(r#"< {{"jsonrpc":"2.0","id":7,"result":{{"tools":[{tool}]}}}}"#);
    assert_eq!(Play::new().play(&[list, &answer]).end(), findings);
}

#[rstest]
#[case::marked(r#"{\"success\":false}"#, true, &[])]
#[case::unmarked(r#"{\"success\": false, \"error\": \"no\"}"#, false, &["a/a call.failure-marked"])]
#[case::not_ok(r#"{\"ok\":false}"#, false, &["a/a call.failure-marked"])]
#[case::success(r#"{\"success\":true}"#, false, &[])]
#[case::in_words("success: false", false, &[])]
fn a_failure_is_marked(#[case] text: &str, #[case] marked: bool, #[case] findings: &[&str]) {
    let call = r#"> 0 {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"self.x","arguments":{}}}"#;
    let answer = format!(
        r#"< {{"jsonrpc":"2.0","id":7,"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":{marked}}}}}"#
    );
    assert_eq!(Play::new().play(&[call, &answer]).end(), findings);
}

#[rstest]
#[case("2024-10-07", true)]
#[case("2024-11-05", true)]
#[case("2025-11-25", true)]
#[case("2026-07-01", true)]
#[case("2024-12-31", false)]
#[case("2026-13-01", false)]
#[case("2023-01-01", false)]
fn a_protocol_version_was_published(#[case] version: &str, #[case] is_known: bool) {
    let params = r#"{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{}}"#;
    let asked =
        format!(r#"> 0 {{"jsonrpc":"2.0","id":7,"method":"initialize","params":{params}}}"#);
    let answer = format!(
        r#"< {{"jsonrpc":"2.0","id":7,"result":{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}},{INFO}}}}}"#
    );
    let wanted: &[&str] = if is_known { &[] } else { &["a/a initialize.version-published"] };
    assert_eq!(Play::new().play(&[&asked, &answer]).end(), wanted);
}

#[rstest]
#[case(r#""result":{},"method":"ping""#)]
#[case(r#""result":{},"params":null"#)]
#[case(r#""error":{"code":-32601,"message":"m"},"method":"x""#)]
fn an_answer_has_no_members_of_a_request(#[case] members: &str) {
    let asked = r#"> 0 {"jsonrpc":"2.0","id":7,"method":"ping","params":{}}"#;
    let answer = format!(r#"< {{"jsonrpc":"2.0","id":7,{members}}}"#);
    assert_eq!(Play::new().play(&[asked, &answer]).end(), ["a/a jsonrpc.answer-members"]);
}

#[test]
fn a_request_of_the_device_is_no_answer_and_the_reply_to_it_no_request() {
    let mut play = Play::new();
    // Both sides count for themselves: the device's id may be one of ours.
    play.play(&[PING, r#"< {"jsonrpc":"2.0","id":7,"method":"ping"}"#]);
    let reply = play.judge.take_reply().expect("a ping is answered");
    assert_eq!(reply["result"], serde_json::json!({}));
    assert!(play.judge.take_reply().is_none(), "once");
    play.play(&[&format!("> 0.reply {reply}"), PONG]);
    assert_eq!(play.end(), [""; 0]);
}

#[test]
fn a_notification_with_an_id_is_told_of_and_not_answered() {
    let mut play = Play::new();
    play.play(&[r#"< {"jsonrpc":"2.0","id":7,"method":"notifications/state_changed"}"#]);
    assert!(play.judge.take_reply().is_none());
    assert_eq!(play.end(), ["a/a notifications.device-no-id"]);
}

const LISTEN: &str = r#"<< {"session_id":"s","type":"listen","state":"start","mode":"auto"}"#;
const LISTEN_ELSEWHERE: &str = r#"<< {"session_id":"x","type":"listen","state":"start"}"#;
const ABORT_NOWHERE: &str = r#"<< {"type":"abort"}"#;
const GOODBYE: &str = r#"<< {"session_id":"x","type":"goodbye"}"#;

#[rstest]
#[case::right(&[PING, PONG, LISTEN], &[])]
#[case::wrong(&[PING, PONG, LISTEN_ELSEWHERE], &["a/a session.own-messages"])]
#[case::behind_a_right_one(&[LISTEN, LISTEN_ELSEWHERE], &["a/a session.own-messages"])]
#[case::absent(&[PING, PONG, ABORT_NOWHERE], &["a/a session.own-messages"])]
#[case::told_once(&[PING, PONG, ABORT_NOWHERE, LISTEN_ELSEWHERE], &["a/a session.own-messages"])]
#[case::before_it_can_know(&[LISTEN_ELSEWHERE, PING, PONG], &[])]
#[case::other_types(&[PING, PONG, GOODBYE], &[])]
fn the_devices_own_messages_carry_the_session_id(
    #[case] lines: &[&str],
    #[case] findings: &[&str],
) {
    assert_eq!(Play::new().play(lines).end(), findings);
}
