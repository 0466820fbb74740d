//! The judge on small transcripts: attribution of answers, proof of silence, lateness.
//!
//! Each test plays a few lines of an exchange (`>` sent, `<` received, `<<` received as it stands
//! there, `!` console, `?` given up) and looks at the findings.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_hil_core::capability::Facts;
use mcp_hil_core::catalogue::{Catalogue, RuleSet};
use mcp_hil_core::transcript::{Entry, Mark, Party, Role, TargetEvent, What};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::Outcome;
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_judge::check::Judge;
use mcp_hil_scenario::Case;
use rstest::rstest;

/// A session with the judge, played line by line.
struct Play {
    judge: Judge,
    seq: u64,
    case: Arc<str>,
}

impl Play {
    fn new() -> Self {
        let mut play = Self { judge: Judge::new(), seq: 0, case: "a/a".into() };
        play.judge.begin_case(&play.case);
        play.link_up();
        let hello = r#"{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket",
            "audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}"#;
        play.enter(None, What::Received { frame: Frame::Text(hello.into()) });
        let hello = Frame::Text(outbound::server_hello(Transport::WebSocket, "s", None));
        play.enter(None, What::Sent { role: Role::Hello, frame: hello });
        play
    }

    fn link_up(&mut self) {
        let headers = [
            ("protocol-version", "1"),
            ("device-id", "aa:bb:cc:dd:ee:ff"),
            ("client-id", "0a1b2c3d-0000-4000-8000-000000000000"),
        ];
        let up = What::LinkUp {
            transport: Transport::WebSocket,
            mqtt: None,
            session_id: "s".into(),
            path: "/".into(),
            token_given: false,
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        };
        self.enter(None, up);
    }

    fn enter(&mut self, step: Option<&str>, what: What) {
        let entry = Entry {
            seq: self.seq,
            at_us: self.seq * 100,
            case: self.case.clone(),
            step: step.map(Arc::from),
            what,
        };
        self.seq += 1;
        self.judge.observe(entry);
    }

    fn play(&mut self, lines: &[&str]) -> &mut Self {
        for line in lines {
            let (sign, rest) = line.split_once(' ').expect("a sign and a rest");
            match sign {
                ">" => {
                    let (step, payload) = rest.split_once(' ').expect("a step and a payload");
                    let role = match step.rsplit('.').next() {
                        Some("fence") => Role::Fence,
                        Some("reply") => Role::Reply,
                        _ => Role::Stimulus,
                    };
                    let frame = Frame::Text(outbound::envelope("s", payload));
                    self.enter(Some(step), What::Sent { role, frame });
                }
                "<" => {
                    let frame = Frame::Text(outbound::envelope("s", rest));
                    self.enter(None, What::Received { frame });
                }
                "<<" => {
                    let frame = Frame::Text(rest.into());
                    self.enter(None, What::Received { frame });
                }
                "!" => self.enter(None, What::Console { line: rest.into() }),
                "?" => {
                    let mark = Mark::NoAnswer { waited_ms: 10 };
                    self.enter(Some(rest), What::Mark { mark });
                }
                other => panic!("unknown sign {other}"),
            }
        }
        self
    }

    /// Ends the case: case and requirement of what is broken, with `?` where it is unclear.
    fn end(&mut self) -> Vec<String> {
        let outcome = self.judge.end_case(None, &Facts::default());
        outcome
            .judgements
            .iter()
            .map(|judgement| {
                let sign = if matches!(judgement.outcome, Outcome::Broken(_)) { "" } else { "?" };
                format!("{} {}{sign}", judgement.case, judgement.requirement)
            })
            .collect()
    }

    fn next_case(&mut self, case: &str) -> &mut Self {
        self.case = case.into();
        self.judge.begin_case(&self.case);
        self
    }
}

const PING: &str = r#"> 0 {"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const PONG: &str = r#"< {"jsonrpc":"2.0","id":7,"result":{}}"#;
const FENCE: &str = r#"> 0.fence {"jsonrpc":"2.0","id":8,"method":"ping"}"#;
const FENCED: &str = r#"< {"jsonrpc":"2.0","id":8,"result":{}}"#;
const STRING: &str = r#"> 0 {"jsonrpc":"2.0","id":"x-1","method":"ping"}"#;
const NOTE: &str = r#"> 0 {"jsonrpc":"2.0","method":"notifications/x"}"#;
const NULL_ID: &str = r#"> 1 {"jsonrpc":"2.0","id":null,"method":"ping"}"#;
const NULL_ANSWER: &str = r#"< {"jsonrpc":"2.0","id":null,"result":{}}"#;
const ID_LESS: &str = r#"> 1 {"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}"#;
const RAW: &str = "> 0 {\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"mcp_hil/\u{1}\"}";
const BEHIND: &str = r#"> 0 {"jsonrpc":"2.0","id":6,"method":"ping"}} {"id":5,"#;
const TWICE: &str = r#"> 0 {"jsonrpc":"2.0","id":6,"id":5,"method":"ping"}"#;
const SIX: &str = r#"< {"jsonrpc":"2.0","id":6,"error":{"code":-32601,"message":"no"}}"#;
const REFUSAL: &str = r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;

#[rstest]
#[case::good(&[PING, PONG], &[])]
#[case::equal_number(&[PING, r#"< {"jsonrpc":"2.0","id":7.0,"result":{}}"#], &[])]
#[case::twice(&[PING, PONG, PONG], &["a/a jsonrpc.one-answer"])]
#[case::id_as_string(
    &[PING, r#"< {"jsonrpc":"2.0","id":"7","result":{}}"#, "? 0", FENCE, FENCED],
    &["a/a ids.echo"]
)]
#[case::error_without_id(
    &[PING, r#"< {"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#, "? 0", FENCE, FENCED],
    &["a/a ids.error-echo"]
)]
#[case::ignored(&[PING, "? 0", FENCE, FENCED], &["a/a jsonrpc.answer-required"])]
#[case::dead(&[PING, "? 0", FENCE, "? 0.fence"], &["a/a jsonrpc.answer-required?"])]
#[case::string_dropped(&[STRING, FENCE, FENCED], &[])]
#[case::string_refused(&[STRING, FENCE, REFUSAL, FENCED], &[])]
#[case::string_refused_with_its_id(
    &[
        STRING,
        r#"< {"jsonrpc":"2.0","id":"x-1","error":{"code":-32600,"message":"no"}}"#,
        FENCE,
        FENCED,
    ],
    &[]
)]
#[case::string_answered(
    &[STRING, r#"< {"jsonrpc":"2.0","id":"x-1","result":{}}"#, FENCE, FENCED],
    &["a/a ids.string-rejected"]
)]
#[case::string_answered_as_number(
    &[STRING, r#"< {"jsonrpc":"2.0","id":0,"result":{}}"#, FENCE, FENCED],
    &["a/a ids.echo", "a/a ids.string-rejected"]
)]
#[case::null_answered_as_null(
    &[PING, "? 0", FENCE, FENCED, NULL_ID, NULL_ANSWER],
    &["a/a ids.null-rejected", "a/a jsonrpc.answer-required"]
)]
#[case::id_less_call_refused_after_a_dropped_request(
    &[PING, "? 0", FENCE, FENCED, ID_LESS, REFUSAL],
    &["a/a notifications.not-answered", "a/a jsonrpc.answer-required"]
)]
#[case::id_less_call_answered_after_a_dropped_string(
    &[STRING, FENCE, FENCED, ID_LESS, NULL_ANSWER],
    &["a/a notifications.not-answered"]
)]
#[case::request_beside_one_with_id_null(
    &[PING, NULL_ID, NULL_ANSWER, "? 0", FENCE, FENCED],
    &["a/a ids.echo"]
)]
#[case::note_answered(&[NOTE, REFUSAL, FENCE, FENCED], &["a/a notifications.not-answered"])]
#[case::unasked(
    &[r#"< {"jsonrpc":"2.0","id":99,"result":{}}"#],
    &["a/a jsonrpc.no-unsolicited-answer"]
)]
#[case::forgiven_text_answered(&[RAW, SIX, FENCE, FENCED], &[])]
#[case::forgiven_text_refused(&[RAW, REFUSAL, FENCE, FENCED], &[])]
#[case::forgiven_text_dropped(&[RAW, FENCE, FENCED], &[])]
#[case::forgiven_text_answered_twice(&[RAW, SIX, SIX, FENCE, FENCED], &["a/a jsonrpc.one-answer"])]
#[case::forgiven_text_answered_as_another(
    &[RAW, r#"< {"jsonrpc":"2.0","id":99,"result":{}}"#, FENCE, FENCED],
    &["a/a jsonrpc.no-unsolicited-answer"]
)]
#[case::text_behind_the_end_answered(&[BEHIND, SIX, FENCE, FENCED], &[])]
#[case::first_of_two_ids(&[TWICE, SIX, FENCE, FENCED], &[])]
#[case::no_code(
    &[PING, r#"< {"jsonrpc":"2.0","id":7,"error":{"message":"m"}}"#],
    &["a/a errors.code-integer"]
)]
#[case::both(
    &[PING, r#"< {"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":"m"}}"#],
    &["a/a jsonrpc.result-xor-error"]
)]
#[case::broken_json_names_its_request(
    &[PING, r#"< {"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"a"b"}}"#],
    &["a/a envelope.json"]
)]
#[case::device_notification(
    &[r#"< {"jsonrpc":"2.0","method":"notifications/state_changed","params":{}}"#],
    &[]
)]
#[case::panic(
    &["! Guru Meditation Error: Core  0 panic'ed (LoadProhibited)."],
    &["a/a liveness.no-panic"]
)]
#[case::log_that_only_sounds_bad(&["! W (1) app: panic mode off, 0 errors, no rebooting"], &[])]
fn a_case_is_judged(#[case] lines: &[&str], #[case] findings: &[&str]) {
    assert_eq!(Play::new().play(lines).end(), findings);
}

#[test]
fn an_answer_that_comes_late_is_charged_to_the_case_that_asked() {
    let mut play = Play::new();
    assert!(play.play(&[STRING, FENCE, FENCED]).end().is_empty());
    let late = r#"< {"jsonrpc":"2.0","id":"x-1","result":{}}"#;
    assert_eq!(play.next_case("b/b").play(&[late]).end(), ["a/a ids.string-rejected"]);
}

#[test]
fn a_second_answer_that_comes_late_is_charged_to_the_case_that_asked() {
    let mut play = Play::new();
    assert!(play.play(&[PING, PONG]).end().is_empty());
    assert_eq!(play.next_case("b/b").play(&[PONG]).end(), ["a/a jsonrpc.one-answer"]);
}

#[test]
fn a_late_refusal_is_no_crime_of_the_next_case() {
    let mut play = Play::new();
    let string = |id| format!(r#"> {id} {{"jsonrpc":"2.0","id":"slow-{id}","method":"ping"}}"#);
    // The device is known to refuse so, and to be slow enough for this to be late.
    play.play(&[PING, FENCE, FENCED, PONG, &string(1), REFUSAL, &string(2)]);
    assert!(play.end().is_empty());
    assert!(play.next_case("b/b").play(&[REFUSAL]).end().is_empty());
}

#[test]
fn an_answer_of_an_earlier_session_is_told_apart() {
    let mut play = Play::new();
    assert!(play.play(&[PING, PONG]).end().is_empty());
    play.link_up();
    let findings = play.play(&[PONG]).end();
    assert!(findings.contains(&"a/a session.no-stale-answer".to_owned()), "{findings:?}");
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
#[case::resource(r#"{"content":[{"type":"resource","resource":{}}]}"#, &[])]
#[case::of_later_revisions(r#"{"content":[{"type":"resource_link"}]}"#, &[])]
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

const STATUS: &str = "self.get_device_status";

#[rstest]
#[case::another_tool("self.x", "{}", r#"{"content":[],"isError":true}"#, &[])]
#[case::good(STATUS, "{}", r#"{"content":[{"type":"text","text":"{}"}],"isError":false}"#, &[])]
#[case::no_text(STATUS, "{}", r#"{"content":[],"isError":false}"#, &["b/b status.object"])]
#[case::failed(STATUS, "{}", r#"{"content":[],"isError":true}"#, &["b/b call.success"])]
#[case::with_arguments(STATUS, r#"{"x":1}"#, r#"{"content":[],"isError":true}"#, &[])]
#[case::arguments_that_are_none(STATUS, "[]", r#"{"content":[],"isError":true}"#, &[])]
fn no_good_reading_of_the_state_fails(
    #[case] tool: &str,
    #[case] arguments: &str,
    #[case] result: &str,
    #[case] findings: &[&str],
) {
    let call = format!(
        r#"> 0 {{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{
            "name":"{tool}","arguments":{arguments}}}}}"#
    );
    let answer = format!(r#"< {{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
    let list = r#"> 0 {"jsonrpc":"2.0","id":6,"method":"tools/list","params":{}}"#;
    let listed = r#"< {"jsonrpc":"2.0","id":6,"result":{"tools":[{"name":"self.get_device_status",
        "description":"d","inputSchema":{"type":"object","properties":{}}}]}}"#;
    let mut play = Play::new();
    assert_eq!(play.play(&[list, listed]).end(), [""; 0]);
    let found = play.next_case("b/b").play(&[&call, &answer]).end();
    assert_eq!(found, findings);
}

const INFO: &str = r#""serverInfo":{"name":"n","version":"1"}"#;

#[rstest]
#[case::good(r#""protocolVersion":"2024-11-05","capabilities":{"tools":{}},INFO"#, &[])]
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
    let initialize = r#"> 0 {"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#;
    let refusal = r#"< {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"no"}}"#;
    let found = Play::new().play(&[initialize, refusal]).end();
    assert!(found.contains(&"a/a initialize.minimal".to_owned()), "{found:?}");
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

#[test]
fn a_finding_shows_what_was_sent_and_what_came() {
    let mut play = Play::new();
    let answer = r#"< {"jsonrpc":"2.0","id":7,"error":{"code":"1","message":"no"}}"#;
    play.play(&[PING, answer]);
    let last = play.seq - 1;
    let outcome = play.judge.end_case(None, &Facts::default());
    let [judgement] = &outcome.judgements[..] else {
        panic!("{outcome:?}");
    };
    let Outcome::Broken(evidence) = &judgement.outcome else {
        panic!("{judgement:?}");
    };
    assert_eq!(evidence.expected, "error.code is an integer");
    assert!(evidence.received.contains(r#""code":"1""#), "{evidence:?}");
    let sent = evidence.sent.as_deref().expect("the request");
    assert!(sent.contains(r#""method":"ping""#), "{sent}");
    assert_eq!(evidence.seq, Some(last));
}

/// An answer under an id that is not the request's, settled at the end of the case.
#[rstest]
#[case::result("7", r#""id":9,"result":{}"#, "ids.echo")]
#[case::error("7", r#""id":9,"error":{"code":-32600,"message":"no"}"#, "ids.error-echo")]
#[case::fraction("7.5", r#""id":8,"result":{}"#, "ids.fraction")]
#[case::beyond_2_53("9007199254740993", r#""id":9007199254740992,"result":{}"#, "ids.above-2-53")]
fn a_wrong_id_is_told_by_what_the_right_one_was(
    #[case] id: &str,
    #[case] members: &str,
    #[case] requirement: &str,
) {
    let ping = format!(r#"> 0 {{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let answer = format!(r#"< {{"jsonrpc":"2.0",{members}}}"#);
    let fence = FENCE.replace(":8,", ":80,");
    let fenced = FENCED.replace(":8,", ":80,");
    let found = Play::new().play(&[&ping, &answer, "? 0", &fence, &fenced]).end();
    assert_eq!(found, [format!("a/a {requirement}")]);
}

const REBOOT: &str = r#"{"session_id":"s","type":"system","command":"reboot"}"#;
const BANNER: [&str; 2] =
    ["! rst:0x3 (RTC_SW_SYS_RST),boot:0x8", "! I (10) main_task: Calling app_main()"];

/// A device that is told to restart ends its connection and boots; by itself it does neither.
#[rstest]
#[case::told(true, &[])]
#[case::by_itself(false, &["a/a liveness.link-kept", "a/a liveness.no-reset"])]
fn a_restart_on_demand_is_no_crash(#[case] told: bool, #[case] findings: &[&str]) {
    let mut play = Play::new();
    let started = TargetEvent::Started;
    play.enter(None, What::Target { event: started });
    play.play(&BANNER);
    if told {
        let frame = Frame::Text(REBOOT.into());
        let role = Role::Stimulus;
        play.enter(Some("0"), What::Sent { role, frame });
    }
    let down = What::LinkDown { by: Party::Device, why: "it closed TCP".into(), breach: None };
    play.enter(None, down);
    play.play(&BANNER);
    play.link_up();
    let found: BTreeSet<String> = play
        .judge
        .end_case(None, &Facts::default())
        .judgements
        .iter()
        .filter(|one| !matches!(one.outcome, Outcome::Held))
        .filter(|one| one.requirement.is_liveness())
        .map(|one| format!("{} {}", one.case, one.requirement))
        .collect();
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, findings);
}

/// What consoles show of resets and supplies, line by line after a boot: each with what is broken, `?`
/// where it is the bench.
#[rstest]
#[case::watchdog(&["! rst:0x8 (TG1WDT_SYS_RST),boot:0x8"], &["a/a liveness.no-reset"])]
#[case::app_alone(&["! I (10) main_task: Calling app_main()"], &["a/a liveness.no-reset"])]
#[case::announced(
    &["! I (99) Application: Rebooting...", "! rst:0x3 (RTC_SW_SYS_RST),boot:0x8",
      "! I (10) main_task: Calling app_main()"],
    &[]
)]
#[case::announced_once(
    &["! I (99) Application: Rebooting...", "! rst:0x3 (RTC_SW_SYS_RST),boot:0x8",
      "! rst:0x3 (RTC_SW_SYS_RST),boot:0x8"],
    &["a/a liveness.no-reset"]
)]
#[case::clock_alone(&["! I (61000) X: a", "! I (30) X: b"], &["a/a liveness.no-reset"])]
#[case::clock_and_app(
    &["! I (61000) X: a", "! I (30) X: b", "! I (40) main_task: Calling app_main()"],
    &["a/a liveness.no-reset"]
)]
#[case::lines_in_the_wrong_order(&["! I (61000) X: a", "! I (60100) X: b"], &[])]
#[case::a_late_line_at_boot(&["! I (900) X: a", "! I (300) X: b"], &[])]
#[case::brown_out(&["! Brownout detector was triggered"], &["a/a liveness.no-brownout?"])]
#[case::brown_out_and_reset(
    &["! Brownout detector was triggered", "! rst:0xf (RTCWDT_BROWN_OUT_RST),boot:0x8"],
    &["a/a liveness.no-brownout?"]
)]
#[case::reset_by_brown_out(
    &["! rst:0xf (BROWN_OUT_RST),boot:0x8"],
    &["a/a liveness.no-brownout?"]
)]
#[case::stack(
    &["! ***ERROR*** A stack overflow in task tcp_receive has been detected."],
    &["a/a liveness.no-panic"]
)]
#[case::riscv(
    &["! Guru Meditation Error: Core  0 panic'ed (Stack protection fault). "],
    &["a/a liveness.no-panic"]
)]
#[case::heap(&["! CORRUPT HEAP: Bad head at 0x3fcebd10"], &["a/a liveness.no-panic"])]
#[case::quoted(
    &["! E (9) MCP: tools/call: Unknown tool: abort() was called at PC 0x1 rst:0x1 (X)",
      "! W (9) Application: Unknown message type: Brownout detector was triggered"],
    &[]
)]
fn resets_and_supplies_are_told_by_the_console(#[case] lines: &[&str], #[case] broken: &[&str]) {
    let mut play = Play::new();
    let started = TargetEvent::Started;
    play.enter(None, What::Target { event: started });
    play.play(&BANNER).play(lines);
    let found: BTreeSet<String> = play.end().into_iter().collect();
    let found: Vec<&str> =
        found.iter().map(String::as_str).filter(|found| found.contains(" liveness.")).collect();
    assert_eq!(found, broken);
}

/// The first line of a start by the harness may carry the new clock before the ROM has said a word.
#[test]
fn a_start_by_the_harness_is_one_boot_whatever_is_logged_before_the_banner() {
    let mut play = Play::new();
    let start = || What::Target { event: TargetEvent::Started };
    play.enter(None, start());
    play.play(&BANNER).play(&["! I (61000) X: a"]);
    play.enter(None, start());
    // The last line of the life before comes late.
    play.play(&["! I (61100) X: b", "! I (13) esp_netif_handlers: sta ip: 10.0.2.15"])
        .play(&BANNER);
    let found = play.end();
    let told = found.iter().any(|found| found.contains(" liveness."));
    assert!(!told, "{found:?}");
    // One boot is on demand, and no more.
    play.play(&BANNER);
    let found = play.end();
    let told = found.iter().any(|found| found.contains(" liveness.no-reset"));
    assert!(told, "{found:?}");
}

/// A text that a parser may refuse may be no request at all, and then is refused under the id null;
/// where only life is asked for, that is no answer to a notification.
#[rstest]
#[case::hard("robustness.long-string", &[])]
#[case::ordinary("notifications.not-answered", &["notifications.not-answered"])]
fn what_is_too_hard_for_a_parser_may_be_refused(
    #[case] requirement: &str,
    #[case] broken: &[&str],
) {
    let step = format!(
        "notify: {{method: notifications/x}}\n    expect: {{requirement: {requirement}, alive: true}}"
    );
    assert_eq!(found_with(requirement, &step, &[NOTE, REFUSAL, FENCE, FENCED]), broken);
}

/// What is broken when a case with this one step is played.
fn found_with(requirement: &str, step: &str, lines: &[&str]) -> Vec<String> {
    let toml = format!(
        "[[requirement]]\nid = \"{requirement}\"\nlevel = \"MUST\"\ntext = \"t\"\nsource = \"s\"\n\
         section = \"1\"\nrules = [\"xiaozhi\"]\n"
    );
    let catalogue = Catalogue::load([("x.toml", toml.as_str())], RuleSet::DEFAULT).unwrap();
    let text = format!("title: t\nsteps:\n  - {step}\n");
    let case = Case::load("properties/x", "x.yaml", &text, &catalogue).unwrap();
    let mut play = Play::new();
    play.next_case("properties/x").play(lines);
    let outcome = play.judge.end_case(Some(&case), &Facts::default());
    let found = outcome.judgements.iter();
    let found = found.map(|judgement| judgement.requirement.to_string());
    found.collect::<BTreeSet<String>>().into_iter().collect()
}

/// What the bench did is no device's; what broke on it is told of the case in which it broke.
#[test]
fn trouble_of_the_bench_spoils_its_case_and_no_other() {
    let mut play = Play::new();
    let target = |event| What::Target { event };
    play.enter(None, target(TargetEvent::Bench("its button was pressed".into())));
    let outcome = play.judge.end_case(None, &Facts::default());
    assert_eq!(outcome.trouble, None);
    play.judge.begin_case(&play.case);
    for what in ["its port went away", "and more"] {
        play.enter(None, target(TargetEvent::Trouble(what.into())));
    }
    let outcome = play.judge.end_case(None, &Facts::default());
    assert_eq!(outcome.trouble.as_deref(), Some("its port went away"));
    play.judge.begin_case(&play.case);
    let outcome = play.judge.end_case(None, &Facts::default());
    assert_eq!(outcome.trouble, None);
}

/// A refusal that cannot be read is a fault of its frame: what was refused is not said to have been accepted.
#[rstest]
#[case::other("call.name-exact", &["envelope.json"])]
#[case::its_own("errors.message-escaped", &["envelope.json", "errors.message-escaped"])]
fn a_refusal_that_cannot_be_read_is_told_of_once(
    #[case] requirement: &str,
    #[case] broken: &[&str],
) {
    let step = format!(
        "call: {{tool: x, arguments: {{}}, id: 7}}\n    expect: {{requirement: {requirement}, answer: refused}}"
    );
    let lines = [
        r#"> 0 {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\n"}}"#,
        r#"<< {"session_id":"s","type":"mcp","payload":{"jsonrpc":"2.0","id":7,"error":{"message":"no "x""}}}"#,
    ];
    assert_eq!(found_with(requirement, &step, &lines), broken);
}

/// The server says goodbye with a Close frame. Who answers it with his own and goes does well, and so does
/// a program that ends with its last conversation.
#[rstest]
#[case::answered(true, Some("exited with code 0"), &[])]
#[case::unanswered(false, None, &["a/a session.close-answered"])]
#[case::dead_of_it(true, Some("ended by signal 11 (SIGSEGV)"), &["a/a liveness.no-reset"])]
fn a_close_frame_is_answered(
    #[case] answered: bool,
    #[case] exit: Option<&str>,
    #[case] findings: &[&str],
) {
    let mut play = Play::new();
    play.play(&[FENCE, FENCED]);
    let mark = Mark::Closing;
    play.enter(Some("0"), What::Mark { mark });
    if let Some(how) = exit {
        let event = TargetEvent::Exited(how.into());
        play.enter(None, What::Target { event });
    }
    let down = What::LinkDown { by: Party::Harness, why: "closed".into(), breach: None };
    play.enter(None, down);
    let how = "as it went".to_owned();
    let mark = Mark::Closed { answered, how };
    play.enter(Some("0"), What::Mark { mark });
    // That it does not come back by itself is held against nobody.
    let mark = Mark::NoLink { waited_ms: 3000 };
    play.enter(None, What::Mark { mark });
    assert_eq!(play.end(), findings);
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

/// A variation is held to what its plain twin got, and to nothing where that got nothing.
#[rstest]
#[case::alike(Some("\"result\":{}"), "\"result\":{}", &[])]
#[case::both_refused(Some("\"error\":{\"code\":-1,\"message\":\"m\"}"), "\"result\":{\"isError\":true}", &[])]
#[case::refused_now(Some("\"result\":{}"), "\"error\":{\"code\":-1,\"message\":\"m\"}", &["b/b jsonrpc.escapes"])]
#[case::done_now(Some("\"error\":{\"code\":-1,\"message\":\"m\"}"), "\"result\":{}", &["b/b jsonrpc.escapes"])]
#[case::plain_ignored(None, "\"result\":{}", &[])]
fn a_variation_is_judged_by_its_plain_twin(
    #[case] plain: Option<&str>,
    #[case] varied: &str,
    #[case] findings: &[&str],
) {
    let toml = "[[requirement]]\nid = \"jsonrpc.escapes\"\nlevel = \"MUST\"\ntext = \"t\"\nsource = \"s\"\n\
         section = \"1\"\nrules = [\"xiaozhi\"]\n";
    let catalogue = Catalogue::load([("x.toml", toml)], RuleSet::DEFAULT).unwrap();
    let text = "title: t\nsteps:\n  - request: {method: x}\n    bind: {outcome: /outcome}\n  \
         - request: {method: x}\n    expect: {requirement: jsonrpc.escapes, at: /outcome, is: '${outcome}', if_bound: true}\n";
    let case = Case::load("b/b", "b.yaml", text, &catalogue).unwrap();
    let mut play = Play::new();
    play.next_case("b/b");
    let sent = |at: u32, id: u32| format!(r#"> {at} {{"jsonrpc":"2.0","id":{id},"method":"x"}}"#);
    let answer = |id: u32, rest: &str| format!(r#"< {{"jsonrpc":"2.0","id":{id},{rest}}}"#);
    play.play(&[&sent(0, 7)]);
    match plain {
        Some(plain) => play.play(&[&answer(7, plain)]),
        None => play.play(&["? 0"]),
    };
    play.play(&[&sent(1, 8), &answer(8, varied)]);
    let outcome = play.judge.end_case(Some(&case), &Facts::default());
    let found: Vec<String> = outcome
        .judgements
        .iter()
        .filter(|judgement| judgement.requirement.slug() == "jsonrpc.escapes")
        .map(|judgement| format!("{} {}", judgement.case, judgement.requirement))
        .collect();
    assert_eq!(found, findings);
}

/// What the device answers to a reading of its state.
fn status(id: u32, text: &str) -> String {
    let content = serde_json::json!([{"type": "text", "text": text}]);
    let result = serde_json::json!({"content": content, "isError": false});
    format!("< {}", serde_json::json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// Two readings during bring-up, of a device that lists the tool.
fn readings(first: &str, last: &str) -> Vec<String> {
    let call = r#""method":"tools/call","params":{"name":"self.get_device_status"}"#;
    let tool = serde_json::json!({"name": "self.get_device_status", "description": "It.",
        "inputSchema": {"type": "object"}});
    let list = serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool]}});
    let lines = [
        r#"> list.p0 {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#.to_owned(),
        format!("< {list}"),
        format!(r#"> status {{"jsonrpc":"2.0","id":2,{call}}}"#),
        status(2, first),
        format!(r#"> status-still {{"jsonrpc":"2.0","id":3,{call}}}"#),
        status(3, last),
    ];
    let mut play = Play::new();
    play.next_case("session/bring-up");
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    play.play(&lines).end()
}

#[rstest]
#[case::the_same(r#"{"audio_speaker":{"volume":70}}"#, r#"{"audio_speaker":{"volume":70.0}}"#, &[])]
#[case::other(r#"{"audio_speaker":{"volume":0}}"#, r#"{"audio_speaker":{"volume":70}}"#,
    &["session/bring-up status.kept"])]
#[case::a_backlight_fades_in(r#"{"screen":{"brightness":3}}"#, r#"{"screen":{"brightness":75}}"#, &[])]
#[case::charge_and_signal(r#"{"battery":{"level":80}}"#, r#"{"battery":{"level":79}}"#, &[])]
#[case::no_object("[70]", "[70]", &["session/bring-up status.object"])]
#[case::no_json("volume 70", "volume 70", &["session/bring-up status.object"])]
#[case::half_a_surrogate_pair(r#"{"screen":{"theme":"\ud800"}}"#, r#"{"screen":{"theme":"\ud800"}}"#, &[])]
fn the_first_status_is_an_object_and_shows_what_later_ones_show(
    #[case] first: &str,
    #[case] last: &str,
    #[case] wanted: &[&str],
) {
    assert_eq!(readings(first, last), wanted);
}

#[rstest]
#[case::own("mcp_hil/second", "Method not implemented: mcp_hil/second", false)]
#[case::of_before("mcp_hil/second", "Method not implemented: mcp_hil/first", true)]
#[case::cut_off("mcp_hil/first_of_many", "Method not implemented: mcp_hil/first", false)]
#[case::says_nothing("mcp_hil/second", "Error", false)]
fn an_error_names_no_method_of_another_request(
    #[case] method: &str,
    #[case] message: &str,
    #[case] is_wrong: bool,
) {
    let request = |id: u32, method: &str| {
        format!(r#"> {id} {{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{}}}}"#)
    };
    let refusal = |id: u32, message: &str| {
        let error = format!(r#"{{"code":-32601,"message":"{message}"}}"#);
        format!(r#"< {{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
    };
    let lines = [
        request(1, "mcp_hil/first"),
        refusal(1, "Method not implemented: mcp_hil/first"),
        request(2, method),
        refusal(2, message),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let found = Play::new().play(&lines).end();
    let wanted: &[&str] = if is_wrong { &["a/a errors.message-own"] } else { &[] };
    assert_eq!(found, wanted);
}

/// The answer to the first request has come under the id of the second one: that is what is wrong.
#[test]
fn an_answer_under_another_id_is_no_error_of_another_request() {
    let lines = [
        r#"> 0 {"jsonrpc":"2.0","id":1,"method":"mcp_hil/first","params":{}}"#,
        r#"> 1 {"jsonrpc":"2.0","id":2,"method":"mcp_hil/second","params":{}}"#,
        r#"< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"No method mcp_hil/first"}}"#,
    ];
    assert_eq!(Play::new().play(&lines).end(), [""; 0]);
}

#[rstest]
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
