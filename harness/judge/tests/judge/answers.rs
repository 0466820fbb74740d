//! Which request an answer belongs to, and what is told of one that is missing, late or wrong.

use std::collections::BTreeSet;

use mcp_hil_core::capability::Facts;
use mcp_hil_core::catalogue::{Catalogue, RuleSet};
use mcp_hil_core::step::{StepKind, beside};
use mcp_hil_core::transcript::{Role, What};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::Outcome;
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_judge::check::Judge;
use mcp_hil_scenario::Case;
use rstest::rstest;

use super::play::*;

/// A request that gives a token for progress, and progress.
const TOLD: &str =
    r#"> 0 {"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"progressToken":"a"}}}"#;
const PROGRESS: &str = r#"< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":1}}"#;

/// Ids that a float of 64 bits does not tell apart.
const BIG: &str = r#"> 0 {"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}"#;
const BIG_ANSWER: &str = r#"< {"jsonrpc":"2.0","id":9007199254740992,"result":{}}"#;
const NO_ID: &str = r#"< {"jsonrpc":"2.0","error":{"code":-32600,"message":"m"}}"#;
const NEXT_BIG: &str = r#"> 1 {"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}"#;

/// A batch of one request, and the answer to it.
const BATCH: &str = r#"> 0 [{"jsonrpc":"2.0","id":10,"method":"ping"}]"#;
/// A batch that owes nothing, and one that owes two answers.
const NOTES: &str = r#"> 0 [{"jsonrpc":"2.0","method":"notifications/a"}]"#;
const TWO: &str =
    r#"> 0 [{"jsonrpc":"2.0","id":10,"method":"ping"},{"jsonrpc":"2.0","id":11,"method":"ping"}]"#;
const TEN_IN_ARRAY: &str = r#"< [{"jsonrpc":"2.0","id":10,"result":{}}]"#;

#[rstest]
#[case::good(&[PING, PONG], &[])]
#[case::equal_number(&[PING, r#"< {"jsonrpc":"2.0","id":7.0,"result":{}}"#], &[])]
#[case::progress(&[TOLD, PROGRESS, PONG], &[])]
#[case::progress_twice(&[TOLD, PROGRESS, PROGRESS, PONG], &["a/a notifications.progress-increases"])]
#[case::progress_unasked(&[PING, PROGRESS, PONG], &["a/a notifications.progress-token"])]
#[case::progress_too_late(&[TOLD, PONG, PROGRESS], &["a/a notifications.progress-token"])]
#[case::progress_of_no_token(
    &[
        r#"> 0 {"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"progressToken":true}}}"#,
        r#"< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":true,"progress":1}}"#,
        PONG,
    ],
    &[]
)]
#[case::twice(&[PING, PONG, PONG], &["a/a jsonrpc.one-answer"])]
#[case::in_another_envelope(
    &[PING, r#"<< {"session_id":"s","type":"error","payload":{"jsonrpc":"2.0","id":7,"result":{}}}"#],
    &["a/a envelope.answer-type"]
)]
#[case::in_no_envelope(
    &[PING, r#"<< {"jsonrpc":"2.0","id":7,"result":{}}"#],
    &["a/a envelope.type-string"]
)]
#[case::what_nobody_waits_for_in_another_envelope(
    &[PING, PONG, r#"<< {"session_id":"s","type":"log","payload":{"jsonrpc":"2.0","id":7,"result":{}}}"#],
    &[]
)]
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
#[case::batch_answered_in_an_array(&[BATCH, FENCE, TEN_IN_ARRAY, FENCED], &[])]
#[case::batch_answered_late_in_an_array(&[BATCH, FENCE, FENCED, PING, TEN_IN_ARRAY, PONG], &[])]
#[case::batch_refused_in_an_array(
    &[BATCH, r#"< [{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}]"#, FENCE, FENCED],
    &[]
)]
#[case::batch_of_notifications_answered_with_nothing_in_an_array(
    &[NOTES, "< []", FENCE, FENCED],
    &["a/a jsonrpc.batch-empty"]
)]
#[case::batch_of_two_answered_once(&[TWO, FENCE, TEN_IN_ARRAY, FENCED], &["a/a jsonrpc.batch-complete"])]
#[case::batch_of_two_answered_twice(
    &[TWO, r#"< [{"jsonrpc":"2.0","id":11,"result":{}},{"jsonrpc":"2.0","id":10,"result":{}}]"#, FENCE, FENCED],
    &[]
)]
#[case::batch_of_two_refused_as_a_whole(
    &[TWO, r#"< [{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}]"#, FENCE, FENCED],
    &[]
)]
#[case::request_behind_a_batch_answered_in_an_array(
    &[BATCH, FENCE, TEN_IN_ARRAY, FENCED, PING, r#"< [{"jsonrpc":"2.0","id":7,"result":{}}]"#],
    &["a/a envelope.payload-object"]
)]
#[case::request_answered_among_those_of_a_batch(
    &[
        BATCH,
        FENCE,
        r#"< [{"jsonrpc":"2.0","id":10,"result":{}},{"jsonrpc":"2.0","id":8,"result":{}}]"#,
    ],
    &["a/a envelope.payload-object"]
)]
#[case::word_in_an_array_behind_a_batch(
    &[BATCH, FENCE, FENCED, r#"< [{"jsonrpc":"2.0","method":"notifications/x"}]"#],
    &["a/a envelope.payload-object"]
)]
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
#[case::id_of_no_kind_answered_as_null(
    &[r#"> 0 {"jsonrpc":"2.0","id":true,"method":"ping"}"#, NULL_ANSWER, FENCE, FENCED],
    &["a/a ids.boolean-rejected"]
)]
#[case::id_of_no_kind_answered_as_number(
    &[
        r#"> 0 {"jsonrpc":"2.0","id":true,"method":"ping"}"#,
        r#"< {"jsonrpc":"2.0","id":1,"result":{}}"#,
        FENCE,
        FENCED,
    ],
    &["a/a ids.echo", "a/a ids.boolean-rejected"]
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
#[case::note_answered_by_name(
    &[NOTE, PING, r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Unknown: notifications/x"}}"#],
    &["a/a notifications.not-answered"]
)]
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
#[case::rounded_to_an_earlier_id(
    &[BIG, BIG_ANSWER, NEXT_BIG, BIG_ANSWER, FENCE, FENCED],
    &["a/a ids.above-2-53"]
)]
#[case::an_earlier_id_that_is_not_near(
    &[
        r#"> 0 {"jsonrpc":"2.0","id":1001,"method":"ping"}"#,
        r#"< {"jsonrpc":"2.0","id":1001,"result":{}}"#,
        NEXT_BIG,
        r#"< {"jsonrpc":"2.0","id":1001,"result":{}}"#,
        FENCE,
        FENCED,
    ],
    &["a/a jsonrpc.one-answer"]
)]
#[case::empty_message(
    &[PING, r#"< {"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":" "}}"#],
    &["a/a errors.message-not-empty"]
)]
#[case::empty_message_about_no_name(
    &[
        r#"> 0 {"jsonrpc":"2.0","id":7,"method":""}"#,
        r#"< {"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":""}}"#,
    ],
    &[]
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

/// An id that a request of an earlier connection had, which was answered under another one, is used again.
#[test]
fn a_wrong_id_is_told_though_the_right_one_is_used_again_on_the_next_connection() {
    let mut play = Play::new();
    let ping = |step: u64| {
        let fence = step + 1000;
        [
            format!(r#"> {step} {{"jsonrpc":"2.0","id":9007199254,"method":"ping"}}"#),
            r#"< {"jsonrpc":"2.0","id":2147483647,"result":{}}"#.to_owned(),
            format!(r#"> {step}.fence {{"jsonrpc":"2.0","id":{fence},"method":"ping"}}"#),
            format!(r#"< {{"jsonrpc":"2.0","id":{fence},"result":{{}}}}"#),
            format!("? {step}"),
        ]
    };
    let own = [
        r#"> 0 {"jsonrpc":"2.0","id":2147483647,"method":"ping"}"#,
        r#"< {"jsonrpc":"2.0","id":2147483647,"result":{}}"#,
    ];
    play.play(&own).end();
    play.next_case("b/b");
    play.play(&ping(1).each_ref().map(String::as_str));
    play.link_up();
    play.play(&ping(2).each_ref().map(String::as_str));
    // The hello, which this one does not say again, is another matter.
    assert_eq!(play.end(), ["b/b hello.first", "b/b ids.echo", "b/b ids.echo"]);
}

/// A request with its fence; `answer` is the id of what comes before the answer to the fence.
fn asked(play: &mut Play, id: u64, answer: Option<u64>) {
    let no =
        |id| format!(r#"< {{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"no"}}}}"#);
    play.play(&[&format!(r#"> {id} {{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)]);
    if let Some(answer) = answer {
        play.play(&[&no(answer)]);
    }
    let fence = id + 100;
    play.play(&[
        &format!(r#"> {id}.fence {{"jsonrpc":"2.0","id":{fence},"method":"ping"}}"#),
        &format!(r#"< {{"jsonrpc":"2.0","id":{fence},"result":{{}}}}"#),
    ]);
}

#[test]
fn answers_under_the_id_of_the_request_before_are_one_fault() {
    let mut play = Play::new();
    for (id, answer) in [(20, 20), (21, 20), (22, 21), (23, 22)] {
        asked(&mut play, id, Some(answer));
    }
    play.play(&["? 23"]);
    assert_eq!(play.end(), ["a/a ids.error-echo"]);
    // It goes on where the case before has ended, with an id that is settled by now.
    play.next_case("b/b");
    asked(&mut play, 24, Some(23));
    play.play(&["? 24"]);
    assert_eq!(play.end(), ["b/b ids.error-echo"]);
}

#[test]
fn a_second_answer_stays_one_where_another_request_goes_unanswered() {
    let mut play = Play::new();
    asked(&mut play, 20, Some(20));
    // It comes while 21 waits, which gets its own answer at once.
    play.play(&[
        r#"> 21 {"jsonrpc":"2.0","id":21,"method":"ping"}"#,
        r#"< {"jsonrpc":"2.0","id":20,"result":{}}"#,
        r#"< {"jsonrpc":"2.0","id":21,"result":{}}"#,
    ]);
    asked(&mut play, 22, None);
    play.play(&["? 22"]);
    assert_eq!(play.end(), ["a/a jsonrpc.one-answer", "a/a jsonrpc.answer-required"]);
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

/// A variation is held to what its plain form got, and to nothing where that got nothing.
#[rstest]
#[case::alike(Some("\"result\":{}"), "\"result\":{}", &[])]
#[case::both_refused(Some("\"error\":{\"code\":-1,\"message\":\"m\"}"), "\"result\":{\"isError\":true}", &[])]
#[case::refused_now(Some("\"result\":{}"), "\"error\":{\"code\":-1,\"message\":\"m\"}", &["b/b jsonrpc.escapes"])]
#[case::done_now(Some("\"error\":{\"code\":-1,\"message\":\"m\"}"), "\"result\":{}", &["b/b jsonrpc.escapes"])]
#[case::plain_ignored(None, "\"result\":{}", &[])]
fn a_variation_is_judged_by_its_plain_form(
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

/// An id beyond what a double holds may be refused, also by an error that cannot name it; it may not be passed over.
#[rstest]
#[case::given_back(&[r#"< {"jsonrpc":"2.0","id":9007199254740993,"result":{}}"#], &[])]
#[case::refused(&[r#"< {"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32600,"message":"m"}}"#], &[])]
#[case::refused_without_id(&[REFUSAL], &[])]
#[case::rounded(&[r#"< {"jsonrpc":"2.0","id":9007199254740992,"result":{}}"#], &["ids.above-2-53"])]
#[case::passed_over(&[], &["ids.above-2-53"])]
fn an_id_beyond_a_double_comes_back_or_is_refused(#[case] came: &[&str], #[case] broken: &[&str]) {
    let step = "request: {method: ping, id: 9007199254740993}\n    \
                expect: {requirement: ids.above-2-53, answer: any}";
    let sent = r#"> 0 {"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}"#;
    let lines = [&[sent][..], came, &[FENCE, FENCED]].concat();
    let mut found = found_with("ids.above-2-53", step, &lines);
    found.dedup();
    assert_eq!(found, broken);
}

/// What comes under an id that a float has rounded, or under null, is no answer to another request that gets none.
#[rstest]
#[case::few_digits(r#"< {"jsonrpc":"2.0","id":9.00719925474099e15,"result":{}}"#, &["a/a ids.above-2-53"])]
#[case::null(REFUSAL, &[])]
fn of_two_requests_without_an_answer_the_one_with_the_larger_id_is_meant(
    #[case] came: &str,
    #[case] broken: &[&str],
) {
    let lines = [
        r#"> 0.0 {"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}"#,
        r#"> 0.1 {"jsonrpc":"2.0","id":7,"method":"ping"}"#,
        came,
        FENCE,
        FENCED,
    ];
    let found = Play::new().play(&lines).end();
    let about_ids: Vec<&String> = found.iter().filter(|one| one.contains(" ids.")).collect();
    assert_eq!(about_ids, broken);
}

/// An id that cannot be used is null in an error about it, and not left out. MCP 2025-11-25 lets a device do so.
#[rstest]
#[case::null("2024-11-05", r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m"}}"#, &[])]
#[case::escaped("2024-11-05", r#"< {"jsonrpc":"2.0","\u0069d":null,"error":{"code":-32600,"message":"m"}}"#, &[])]
#[case::left_out("2024-11-05", NO_ID, &["a/a jsonrpc.id-member"])]
#[case::of_a_revision_that_allows_it("2025-11-25", NO_ID, &[])]
fn an_error_without_an_id_says_null(
    #[case] version: &str,
    #[case] came: &str,
    #[case] broken: &[&str],
) {
    let opened = format!(
        r#"< {{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{version}","capabilities":{{}},"serverInfo":{{"name":"a","version":"1"}}}}}}"#
    );
    let lines = [
        r#"> 0 {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#,
        &opened,
        r#"> 1 {"jsonrpc":"2.0","id":"a","method":"ping"}"#,
        came,
        FENCE,
        FENCED,
    ];
    let found = Play::new().play(&lines).end();
    let found: Vec<&String> = found.iter().filter(|one| one.contains("jsonrpc.")).collect();
    assert_eq!(found, broken);
}

/// An error without an id may be about a notification, which has none.
#[test]
fn who_answers_a_notification_leaves_out_no_id() {
    let odd = r#"> 1 {"jsonrpc":"2.0","id":"a","method":"ping"}"#;
    let found = Play::new().play(&[NOTE, odd, NO_ID, FENCE, FENCED]).end();
    assert!(!found.iter().any(|one| one.ends_with("jsonrpc.id-member")), "{found:?}");
}

/// Over WebSocket a session may go without its name, in all messages or in none.
#[rstest]
#[case::never_named(["", "", ""], &[])]
#[case::always_named(["s", "s", "s"], &[])]
#[case::named_late(["", "", "s"], &["a/a envelope.session-id"])]
#[case::lost(["s", "", ""], &["a/a envelope.session-id"])]
fn a_session_is_named_in_all_messages_or_in_none(
    #[case] names: [&str; 3],
    #[case] findings: &[&str],
) {
    let mut play = Play::new();
    for (id, name) in names.iter().enumerate() {
        let payload = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        play.play(&[
            &format!(r#"> {id} {{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
            &format!(r#"<< {{"session_id":"{name}","type":"mcp","payload":{payload}}}"#),
        ]);
    }
    assert_eq!(play.end(), findings);
}

/// A device may give back the session that the request named, which is none.
#[rstest]
#[case::none(r#"{"type":"mcp","payload":{"jsonrpc":"2.0","id":7,"method":"ping"}}"#, true)]
#[case::no_text(
    r#"{"session_id":null,"type":"mcp","payload":{"jsonrpc":"2.0","id":7,"method":"ping"}}"#,
    true
)]
#[case::its_own(
    r#"{"session_id":"s","type":"mcp","payload":{"jsonrpc":"2.0","id":7,"method":"ping"}}"#,
    false
)]
fn who_names_no_session_gets_none_back(#[case] asked: &str, #[case] may: bool) {
    let mut play = Play::new();
    play.play(&[
        r#"> 0 {"jsonrpc":"2.0","id":6,"method":"ping"}"#,
        r#"< {"jsonrpc":"2.0","id":6,"result":{}}"#,
    ]);
    let sent = What::Sent { role: Role::Stimulus, frame: Frame::Text(asked.to_owned()) };
    play.enter(Some("1"), sent);
    play.play(&[
        r#"<< {"session_id":"","type":"mcp","payload":{"jsonrpc":"2.0","id":7,"result":{}}}"#,
    ]);
    let found = play.end();
    assert_eq!(!found.contains(&"a/a envelope.session-id".to_owned()), may, "{found:?}");
}

/// Who begins with bare JSON-RPC is told what that is; who forgets an envelope later is not.
#[test]
fn the_client_of_an_mcp_endpoint_is_told_apart() {
    let bare = r#"<< {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"m"}}"#;
    let told = |judge: &mut Judge| -> Vec<String> {
        let found = judge.end_case(None, &Facts::default()).judgements.into_iter();
        found
            .filter(|one| one.requirement.slug() == "envelope.type-string")
            .filter_map(|one| match one.outcome {
                Outcome::Broken(evidence) => Some(evidence.received),
                _ => None,
            })
            .collect()
    };
    let mut first = Play { judge: Judge::new(), seq: 0, case: "a/a".into() };
    first.judge.begin_case(&first.case);
    first.link_up();
    first.play(&[bare]);
    let first = told(&mut first.judge);
    assert!(first[0].starts_with("bare JSON-RPC, as the client of an MCP endpoint"), "{first:?}");
    let mut later = Play::new();
    later.play(&[bare]);
    let later = told(&mut later.judge);
    assert!(later[0].starts_with('{'), "{later:?}");
}

/// A device may say hello while a page is under way, and refuse a page for its rate: there is one page all the same.
#[rstest]
#[case::hello(true)]
#[case::refused(false)]
fn a_page_is_counted_once(#[case] says_hello: bool) {
    let page = beside("list", StepKind::Page(0));
    let ask = |id: u32| {
        format!(r#"> {page} {{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{}}}}"#)
    };
    let tool =
        r#"{"name":"self.a","description":"A","inputSchema":{"type":"object","properties":{}}}"#;
    let list =
        |id: u32| format!(r#"< {{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tool}]}}}}"#);
    let limit =
        r#"< {"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"Too many requests"}}"#;
    let mut play = Play::new();
    play.play(&[&ask(7)]);
    if says_hello {
        let frame = Frame::Text(outbound::server_hello(Transport::WebSocket, "s", None));
        play.enter(Some(&page), What::Sent { role: Role::Hello, frame });
        play.play(&[&list(7)]);
    } else {
        play.play(&[limit, &ask(8), &list(8)]);
    }
    let findings = play.end();
    assert!(!findings.iter().any(|one| one.contains(" list.")), "{findings:?}");
}
