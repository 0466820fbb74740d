//! Tests of what is one cause.

use super::*;
use mcp_hil_core::catalogue::Level;

fn finding(slug: &str, seq: u64) -> Finding {
    Finding {
        requirement: slug.into(),
        level: Level::Must,
        verdict: Verdict::Fail,
        step: None,
        expected: format!("what {slug} asks for"),
        received: "something else".into(),
        sent: None,
        seq: Some(seq),
        transcript: None,
        console: Vec::new(),
        places: Vec::new(),
        late: false,
        known: false,
    }
}

fn case(name: &str, findings: Vec<Finding>) -> CaseReport {
    CaseReport {
        findings,
        verdict: Verdict::Fail,
        transcript: Some(format!("{name}.jsonl")),
        ..CaseReport::blank("kitchen", "websocket", name, "")
    }
}

/// The causes in short: the requirement, those beside it, and the cases.
fn told(cases: &[CaseReport]) -> Vec<(String, Vec<String>, Vec<String>)> {
    let short = |cause: Cause| {
        let cases = cause.cases.into_iter().map(|spoilt| spoilt.case).collect();
        (cause.finding.requirement, cause.also, cases)
    };
    causes(cases).into_iter().map(short).collect()
}

fn of(slug: &str, also: &[&str], cases: &[&str]) -> (String, Vec<String>, Vec<String>) {
    let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
    (slug.to_owned(), owned(also), owned(cases))
}

#[test]
fn one_requirement_is_one_cause_in_all_cases() {
    let cases =
        [case("a/b", vec![finding("ids.echo", 1)]), case("c/d", vec![finding("ids.echo", 9)])];
    assert_eq!(told(&cases), [of("ids.echo", &[], &["a/b", "c/d"])]);
}

#[test]
fn what_the_same_messages_break_is_told_with_it() {
    let cases = [case("a/b", vec![finding("ids.echo", 1), finding("errors.code-integer", 1)])];
    assert_eq!(told(&cases), [of("ids.echo", &["errors.code-integer"], &["a/b"])]);
}

#[test]
fn what_is_broken_everywhere_explains_nothing_else() {
    let name = |at: u64| format!("a/{at}");
    let mut cases: Vec<CaseReport> =
        (0..9).map(|at| case(&name(at), vec![finding("envelope.session-id", at)])).collect();
    cases[4].findings.push(finding("ids.echo", 4));
    let told = told(&cases);
    assert_eq!(told.len(), 2, "{told:?}");
}

#[test]
fn what_follows_a_crash_is_the_crash() {
    let crash = finding("liveness.no-panic", 5);
    let cases = [
        case("a/b", vec![finding("liveness.link-kept", 7), crash.clone(), finding("a.b", 6)]),
        case("c/d", vec![finding("list.name", 3)]),
    ];
    assert_eq!(
        told(&cases),
        [
            of("liveness.no-panic", &["a.b", "liveness.link-kept"], &["a/b"]),
            of("list.name", &[], &["c/d"]),
        ]
    );
    // What was wrong before it is another thing.
    let cases = [case("a/b", vec![finding("list.name", 3), crash])];
    assert_eq!(told(&cases).len(), 2);
}

#[test]
fn two_ways_to_break_down_are_two_causes_each_with_what_follows_it() {
    let panic = |line: &str, seq| Finding {
        received: line.into(),
        console: vec![line.into()],
        ..finding("liveness.no-panic", seq)
    };
    let deep = "***ERROR*** A stack overflow in task main has been detected.";
    let wild = "Guru Meditation Error: Core  0 panic'ed (LoadProhibited).";
    let broken = |name: &str, line: &str, slug: &str| {
        let reset = finding("liveness.no-reset", 6);
        case(name, vec![finding(slug, 4), panic(line, 5), reset, finding(slug, 7)])
    };
    let cases = [
        broken("a/deep", deep, "robustness.deep-nesting"),
        broken("b/wild", wild, "jsonrpc.answer-required"),
        case("c/d", vec![panic(deep, 3), finding("jsonrpc.answer-required", 4)]),
    ];
    let all = causes(&cases);
    let leads: Vec<&str> = all.iter().map(|cause| &*cause.finding.received).collect();
    assert_eq!(leads[..2], [deep, wild]);
    let spoilt = |at: usize| all[at].cases.iter().map(|one| &*one.case).collect::<Vec<_>>();
    assert_eq!(spoilt(0), ["a/deep", "c/d"]);
    assert_eq!(spoilt(1), ["b/wild"]);
    let also = ["jsonrpc.answer-required", "liveness.no-reset", "robustness.deep-nesting"];
    assert_eq!(all[0].also, [also[0], also[1], also[2]]);
    assert_eq!(all[1].also, [also[0], also[1]]);
    assert!(!all[0].is_of_same_evidence(&all[1]));
    assert!(!all[0].breaks_down_like(&all[1]) && all[0].breaks_down_like(&all[0]));
    // Of one way, all is one cause.
    let cases = [
        broken("a/deep", deep, "robustness.deep-nesting"),
        broken("b/deep", deep, "robustness.binary"),
    ];
    assert_eq!(causes(&cases).iter().filter(|one| one.finding.received == deep).count(), 1);
}

#[test]
fn known_failures_and_warnings_are_no_causes() {
    let known = Finding { known: true, ..finding("ids.echo", 1) };
    let warning = Finding { verdict: Verdict::Pass, ..finding("ids.zero", 2) };
    assert_eq!(told(&[case("a/b", vec![known, warning])]), []);
}

#[test]
fn a_plain_failure_comes_before_a_variation_and_a_must_before_a_should() {
    let should = Finding { level: Level::Should, ..finding("list.name", 2) };
    let cases = [
        case("a/b", vec![finding("jsonrpc.escapes", 1)]),
        case("c/d", vec![should]),
        case("e/f", vec![finding("arguments.range", 3)]),
        case("g/h", vec![finding("volume.status", 4)]),
    ];
    let slugs: Vec<String> = told(&cases).into_iter().map(|(slug, ..)| slug).collect();
    assert_eq!(slugs, ["volume.status", "arguments.range", "list.name", "jsonrpc.escapes"]);
}

fn sent(message: &str, finding: Finding) -> Finding {
    Finding { sent: Some(message.into()), ..finding }
}

const SET: &str = r#"{"id":7,"method":"tools/call","params":{"name":"set","arguments":{"n":-1}}}"#;
const READ: &str = r#"{"id":8,"method":"tools/call","params":{"name":"self.get_device_status"}}"#;

#[test]
fn one_kind_of_request_that_fails_alike_is_one_cause_in_all_areas() {
    let alike = |slug| sent(SET, Finding { expected: "a refusal".into(), ..finding(slug, 1) });
    let other = SET.replace("-1", "true");
    let other = sent(&other, alike("status.object"));
    let ping = sent(r#"{"id":7,"method":"ping"}"#, alike("mcp.ping"));
    let cases = [
        case("a/b", vec![alike("arguments.range")]),
        case("c/d", vec![alike("volume.out-of-range")]),
        case("e/f", vec![other]),
        case("g/h", vec![ping]),
    ];
    assert_eq!(
        told(&cases),
        [
            of("arguments.range", &["volume.out-of-range"], &["a/b", "c/d"]),
            of("status.object", &[], &["e/f"]),
            of("mcp.ping", &[], &["g/h"]),
        ]
    );
}

#[test]
fn what_fails_alone_is_a_cause_of_its_own_unless_it_is_asked_alike() {
    let taken = |slug, message: &str, seq| {
        sent(message, Finding { expected: "a refusal".into(), ..finding(slug, seq) })
    };
    let other = SET.replace("-1", "{}");
    let cases = [
        case("a/b", vec![taken("arguments.range", SET, 1)]),
        case("c/d", vec![taken("arguments.enum", &other, 2)]),
    ];
    assert_eq!(told(&cases).len(), 2);
    // Where one is never seen without the other, it follows from that.
    let both = vec![taken("arguments.range", SET, 1), taken("arguments.enum", &other, 2)];
    assert_eq!(
        told(&[case("a/b", vec![taken("arguments.range", SET, 1)]), case("c/d", both)]).len(),
        1
    );
    let cases = [
        case("a/b", vec![taken("arguments.range", SET, 1)]),
        case("c/d", vec![taken("arguments.enum", SET, 2)]),
    ];
    assert_eq!(told(&cases).len(), 1);
}

#[test]
fn a_setting_that_is_read_after_a_failure_is_no_second_one() {
    let reading =
        |seq| sent(READ, Finding { expected: "/json/n 5".into(), ..finding("volume.set", seq) });
    let first = sent(SET, finding("arguments.range", 4));
    assert_eq!(told(&[case("a/b", vec![first.clone(), reading(6)])]).len(), 1);
    assert_eq!(told(&[case("a/b", vec![reading(2), first])]).len(), 2);
}

/// What comes of a request for which nothing came, by two requirements.
fn ignored(slug: &str, message: &str, seq: u64) -> Vec<Finding> {
    let silent = |slug, expected: &str, received: &str| {
        let (expected, received) = (expected.into(), received.into());
        sent(message, Finding { expected, received, ..finding(slug, seq) })
    };
    let bare =
        silent("jsonrpc.answer-required", "an answer", "none, though a later one was answered");
    if slug.is_empty() {
        return vec![bare];
    }
    vec![bare, silent(slug, "a refusal", "no answer")]
}

#[test]
fn silence_about_methods_about_calls_and_a_refusal_that_is_missing_are_three_causes() {
    let method = r#"{"id":7,"method":"no/such","params":{}}"#;
    let call = |seq| ignored("call.unknown-tool-refused", SET, seq);
    let taken =
        sent(SET, Finding { expected: "a refusal".into(), ..finding("arguments.overflow", 5) });
    let cases = [
        case("a/b", [ignored("errors.method-not-found", method, 1), call(3)].concat()),
        case("c/d", [ignored("errors.method-not-found", method, 1), call(3)].concat()),
        case("e/f", ignored("errors.method-not-found", method, 1)),
        case("g/h", ignored("arguments.missing", SET, 1)),
        case("i/j", vec![taken]),
    ];
    let told = told(&cases);
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!(told[0].0, "errors.method-not-found");
    assert_eq!(told[1].1, ["arguments.missing", "call.unknown-tool-refused"]);
    assert_eq!(told[2], of("arguments.overflow", &[], &["i/j"]));
}

#[test]
fn a_device_that_needs_vision_is_told_by_that() {
    let bare = r#"{"id":1,"method":"initialize","params":{}}"#;
    let optional = finding("initialize.vision-optional", 5);
    let call = ignored("call.unknown-tool-refused", SET, 9);
    let bring_up = [ignored("", bare, 1), vec![optional], call].concat();
    let told = told(&[case("session/bring-up", bring_up)]);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0].0, "initialize.vision-optional");
    assert_eq!(told[0].1, ["jsonrpc.answer-required"]);
}

#[test]
fn a_setting_that_never_changes_is_a_cause_beside_what_was_wrong_before_it_was_read() {
    let reading =
        |slug, seq| sent(READ, Finding { expected: "/json/n 5".into(), ..finding(slug, seq) });
    let refused =
        || sent(SET, Finding { expected: "a refusal".into(), ..finding("volume.out-of-range", 4) });
    let cases = [
        case("a/b", vec![refused(), reading("volume.out-of-range", 6)]),
        case("c/d", vec![refused(), reading("volume.out-of-range", 6)]),
        case("e/f", vec![reading("volume.set", 2)]),
    ];
    let told = told(&cases);
    let slugs: Vec<&str> = told.iter().map(|(slug, ..)| &**slug).collect();
    assert_eq!(slugs, ["volume.out-of-range", "volume.set"], "{told:?}");
}

#[test]
fn an_odd_value_that_is_seen_twice_is_one_cause() {
    let value =
        |slug, seq, received: &str| Finding { received: received.into(), ..finding(slug, seq) };
    let cases = [
        case("a/b", vec![value("hello.header", 1, "02-00-4d")]),
        case("c/d", vec![value("bootstrap.same", 2, "Device-Id 02-00-4d")]),
        case("e/f", vec![value("vision.same", 3, "absent")]),
        case("g/h", vec![value("channel.same", 4, "absent")]),
    ];
    assert_eq!(told(&cases).len(), 3);
}

#[test]
fn what_says_more_than_that_there_was_no_answer_is_told_first() {
    let silent = |seq| sent(SET, finding("jsonrpc.answer-required", seq));
    let cases = [
        case("a/b", vec![silent(1), sent(SET, finding("call.unknown-tool-refused", 1))]),
        case("c/d", vec![silent(9)]),
    ];
    let one = of("call.unknown-tool-refused", &["jsonrpc.answer-required"], &["a/b", "c/d"]);
    assert_eq!(told(&cases), [one]);
}

#[test]
fn a_value_of_a_wrong_type_is_told_by_its_type() {
    let taken =
        |slug, seq| sent(SET, Finding { expected: "a refusal".into(), ..finding(slug, seq) });
    let cases = [
        case("a/b", vec![taken("arguments.default-wrong-type", 1)]),
        case("c/d", vec![taken("arguments.structured-for-integer", 2)]),
    ];
    let also = ["arguments.default-wrong-type"];
    assert_eq!(told(&cases), [of("arguments.structured-for-integer", &also, &["c/d", "a/b"])]);
}

#[test]
fn a_message_that_could_not_be_read_stands_beside_its_own_request() {
    let broken = |seq| finding("envelope.json", seq);
    let asked = |message: &str, seq| sent(message, finding("errors.message-escaped", seq));
    let findings = vec![broken(1), asked(SET, 1), broken(5), asked(READ, 5)];
    let causes = causes(&[case("a/b", findings)]);
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].finding.sent.as_deref(), Some(SET));
}

#[test]
fn an_answer_of_wrong_form_breaks_nothing_else() {
    let name = |at: u64| format!("a/{at}");
    let mut cases: Vec<CaseReport> =
        (0..9).map(|at| case(&name(at), vec![finding("jsonrpc.result-object", at)])).collect();
    cases[4].findings.push(finding("volume.set", 4));
    assert_eq!(told(&cases).len(), 1);
    cases[4].findings[1].seq = Some(5);
    assert_eq!(told(&cases).len(), 2);
}

#[test]
fn what_could_not_be_tried_because_of_a_cause_is_not_told_beside_it() {
    let unexercised = ["list.name", "hello.same-device (kitchen/ws)"].map(str::to_owned);
    let left = |slug| {
        let causes = causes(&[case("a/b", vec![finding(slug, 1)])]);
        unexplained(&unexercised, &causes).len()
    };
    assert_eq!([left("list.callable"), left("session.reconnect"), left("volume.set")], [1, 0, 2]);
}

#[test]
fn a_call_of_no_tool_is_told_before_one_of_a_name_that_is_none() {
    let taken = |slug: &str, seq| {
        let set = SET.replace("\"set\"", &format!("{seq}"));
        sent(&set, Finding { expected: "a refusal".into(), ..finding(slug, seq) })
    };
    let cases = [
        case("a/b", vec![taken("call.name-type", 1), taken("call.name-type", 2)]),
        case("c/d", vec![taken("call.name-type", 3)]),
        case("e/f", vec![taken("call.unknown-tool-refused", 4)]),
    ];
    let also = ["call.name-type"];
    let all = ["e/f", "a/b", "c/d"];
    assert_eq!(told(&cases), [of("call.unknown-tool-refused", &also, &all)]);
    assert_eq!(told(&cases[..2]), [of("call.name-type", &[], &["a/b", "c/d"])]);
}

#[test]
fn ids_that_are_mixed_up_come_before_a_header_and_an_envelope_explains_a_hello() {
    let cases =
        [case("a/b", vec![finding("hello.header-protocol-version", 1), finding("ids.echo", 9)])];
    let slugs: Vec<String> = told(&cases).into_iter().map(|(slug, ..)| slug).collect();
    assert_eq!(slugs, ["ids.echo", "hello.header-protocol-version"]);
    let cases = [case("a/b", vec![finding("hello.first", 1), finding("envelope.type-string", 9)])];
    assert_eq!(told(&cases), [of("envelope.type-string", &["hello.first"], &["a/b"])]);
}

#[test]
fn a_level_that_the_status_leaves_out_is_told_by_it() {
    let missed = |slug, expected: &str, seq| {
        let (expected, received) = (expected.into(), "absent, in {}".into());
        sent(READ, Finding { expected, received, ..finding(slug, seq) })
    };
    let cases = [
        case("a/b", vec![missed("volume.mute", "/json/n from 0 to 100", 1)]),
        case("c/d", vec![missed("volume.set", "/json/n 0", 2)]),
        case("e/f", vec![missed("volume.zero", "/json/n 0", 3)]),
        case("g/h", vec![missed("screen.brightness", "/json/o 0", 4)]),
    ];
    let found = told(&cases);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!((&*found[0].0, &*found[1].0), ("volume.zero", "screen.brightness"));
    assert_eq!(found[0].1, ["volume.mute", "volume.set"]);
}

#[test]
fn errors_under_the_ids_of_others_are_no_answers_of_an_earlier_session() {
    let stale = |member: &str| Finding {
        received: format!(r#"{{"jsonrpc":"2.0","id":7,"{member}":{{}}}}"#),
        ..finding("session.no-stale-answer", 3)
    };
    let cases = |member| {
        let twice = vec![stale(member), stale(member)];
        [case("a/b", vec![finding("ids.error-echo", 1)]), case("c/d", twice)]
    };
    let one = of("ids.error-echo", &["session.no-stale-answer"], &["a/b", "c/d"]);
    assert_eq!(told(&cases("error")), [one]);
    assert_eq!(told(&cases("result")).len(), 2);
}

#[test]
fn silence_is_one_cause_however_long_it_was_waited_for() {
    let silence = |waited: u32, seq| Finding {
        verdict: Verdict::Inconclusive,
        received: format!("no answer within {waited} ms, and none to the fence"),
        ..finding("jsonrpc.answer-required", seq)
    };
    let cases = [case("a/b", vec![silence(10_001, 1), silence(2_001, 5)])];
    let all = causes(&cases);
    assert_eq!(told(&cases), [of("jsonrpc.answer-required", &[], &["a/b"])]);
    assert!(all[0].finding.received.contains("10001"), "{all:?}");
    let other = Finding { received: "the bench was lost".into(), ..silence(1, 9) };
    assert_eq!(told(&[case("a/b", vec![silence(10_001, 1), other])]).len(), 2);
}

#[test]
fn silence_is_shown_again_where_more_comes_of_it() {
    let silence =
        Finding { verdict: Verdict::Inconclusive, ..finding("jsonrpc.answer-required", 3) };
    let silent = causes(&[case("a/b", vec![silence.clone()])]).remove(0);
    let broken = vec![finding("liveness.link-kept", 2), silence];
    let broken = causes(&[case("a/b", broken)]).remove(0);
    assert_eq!(broken.also, ["jsonrpc.answer-required"]);
    assert!(broken.is_like(&silent) && !silent.is_like(&broken));
    let other = causes(&[case("a/b", vec![finding("ids.echo", 1)])]).remove(0);
    assert!(!other.is_like(&silent));
}

#[test]
fn what_did_not_show_again_is_doubtful() {
    let mut cause = causes(&[case("a/b", vec![finding("ids.echo", 1)])]).remove(0);
    for (shown, is_doubtful) in [
        (Shown::NotTried, false),
        (Shown::Again, false),
        (Shown::AfterOthers, false),
        (Shown::Not(2), true),
    ] {
        cause.shown = shown;
        assert_eq!(cause.is_doubtful(), is_doubtful, "{shown:?}");
    }
    cause.shown = Shown::NotTried;
    let second_try = Some("nothing".to_owned());
    cause.generated = Some(Failure { second_try, ..Failure::default() });
    assert!(cause.is_doubtful());
}

#[test]
fn a_command_that_shows_nothing_is_not_given() {
    let mut cause = causes(&[case("a/b", vec![finding("ids.echo", 1)])]).remove(0);
    cause.repro = "mcp-hil run --only a/b".into();
    assert_eq!(cause.repro(), "mcp-hil run --only a/b");
    cause.shown = Shown::Not(3);
    assert_eq!(cause.repro(), "none: seen once, and not seen again in 3 tries");
}
