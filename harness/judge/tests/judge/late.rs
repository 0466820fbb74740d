//! What a late answer, a second attempt and a state that moves do to verdicts.

use std::sync::Arc;

use mcp_hil_core::capability::Facts;
use mcp_hil_core::catalogue::{Catalogue, RuleSet};
use mcp_hil_core::step::{StepKind, beside};
use mcp_hil_core::transcript::{Entry, Mark, Part, Role, What};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::{Judgement, Outcome};
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_judge::check::{CaseOutcome, Judge, Merged};
use mcp_hil_scenario::Case;
use rstest::rstest;
use serde_json::{Value, json};

const SLUGS: [&str; 4] =
    ["volume.set", "ids.string-no-effect", "ids.string-rejected", "call.success"];

struct Play {
    judge: Judge,
    seq: u64,
    case: Arc<str>,
}

impl Play {
    fn new() -> Self {
        let mut play = Self { judge: Judge::new(), seq: 0, case: "a/a".into() };
        play.judge.begin_case(&play.case);
        play.enter(
            "",
            What::LinkUp {
                transport: Transport::WebSocket,
                mqtt: None,
                session_id: "s".into(),
                path: "/".into(),
                token_given: false,
                headers: [("protocol-version", "1"), ("device-id", "aa:bb:cc:dd:ee:ff")]
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into(),
            },
        );
        let hello = json!({
            "type": "hello", "version": 1, "features": {"mcp": true}, "transport": "websocket",
            "audio_params": {"format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60},
        });
        let frame = Frame::Text(hello.to_string());
        play.enter("", What::Received { frame });
        let hello = Frame::Text(outbound::server_hello(Transport::WebSocket, "s", None));
        let role = Role::Hello;
        play.enter("", What::Sent { role, frame: hello });
        play.judge.end_case(None, &Facts::default());
        play.judge.begin_case(&play.case);
        play
    }

    fn enter(&mut self, step: &str, what: What) {
        let entry = Entry {
            seq: self.seq,
            at_us: self.seq * 1000,
            case: self.case.clone(),
            step: (!step.is_empty()).then(|| step.into()),
            what,
        };
        self.seq += 1;
        self.judge.observe(entry);
    }

    fn ask(&mut self, step: &str, id: impl Into<Value>, method: &str, params: &Value) -> &mut Self {
        let request = outbound::request(&id.into(), method, Some(params)).to_string();
        let frame = Frame::Text(outbound::envelope("s", &request));
        let role = Role::Stimulus;
        self.enter(step, What::Sent { role, frame });
        self
    }

    fn answer(&mut self, id: u64, result: &Value) -> &mut Self {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        let frame = Frame::Text(outbound::envelope("s", &answer));
        self.enter("", What::Received { frame });
        self
    }

    fn mark(&mut self, step: &str, mark: Mark) -> &mut Self {
        self.enter(step, What::Mark { mark });
        self
    }

    /// A call that is answered.
    fn call(&mut self, step: &str, id: u64, tool: &str, arguments: Value) -> &mut Self {
        let params = json!({"name": tool, "arguments": arguments});
        self.ask(step, id, "tools/call", &params);
        self.answer(id, &text("true"))
    }

    /// A reading of the status that shows this brightness and volume.
    fn status(&mut self, step: &str, id: u64, brightness: u8, volume: u8) -> &mut Self {
        let params = json!({"name": "self.get_device_status", "arguments": {}});
        self.ask(step, id, "tools/call", &params);
        let status =
            json!({"audio_speaker": {"volume": volume}, "screen": {"brightness": brightness}});
        self.answer(id, &text(&status.to_string()))
    }

    fn fenced(&mut self, step: &str, id: u64) -> &mut Self {
        self.ask(&beside(step, StepKind::Fence), id, "ping", &json!({}));
        self.answer(id, &json!({}))
    }

    fn end(&mut self, case: Option<&Case>) -> CaseOutcome {
        let outcome = self.judge.end_case(case, &Facts::default());
        self.judge.begin_case(&self.case);
        outcome
    }
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": false})
}

fn case(steps: &str) -> Case {
    let toml: String = SLUGS
        .iter()
        .map(|slug| {
            format!(
                "[[requirement]]\nid = \"{slug}\"\nlevel = \"MUST\"\ntext = \"t.\"\nsource = \"s\"\n\
                 section = \"s\"\nrules = [\"xiaozhi\"]\n\n"
            )
        })
        .collect();
    let catalogue = Catalogue::load([("x.toml", toml.as_str())], RuleSet::DEFAULT);
    let catalogue = catalogue.unwrap_or_else(|problem| panic!("{problem}"));
    let yaml = format!("title: t\nsteps:\n{steps}");
    Case::load("a/a", "a/a.yaml", &yaml, &catalogue).unwrap_or_else(|problem| panic!("{problem}"))
}

/// What is broken, and with `?` what is unclear.
fn told(judgements: &[Judgement]) -> Vec<String> {
    let sign = |outcome: &Outcome| match outcome {
        Outcome::Broken(_) => "",
        _ => "?",
    };
    let told = judgements.iter();
    told.map(|one| format!("{}{}", one.requirement, sign(&one.outcome))).collect()
}

#[test]
fn an_answer_in_a_later_case_is_an_answer() {
    let set = case(
        "  - call: {tool: t, arguments: {volume: 1}}\n    expect: {requirement: volume.set, answer: result}\n",
    );
    let mut play = Play::new();
    play.ask("0", 7, "tools/call", &json!({"name": "t", "arguments": {"volume": 1}}))
        .fenced("0", 8)
        .mark("0", Mark::NoAnswer { waited_ms: 5 });
    let first = play.end(Some(&set));
    assert_eq!(told(&first.judgements), ["jsonrpc.answer-required", "volume.set"]);
    play.case = "b/b".into();
    play.judge.begin_case(&play.case);
    play.answer(7, &text("true"));
    let later = play.end(None);
    assert_eq!(told(&later.withdrawn), ["jsonrpc.answer-required", "volume.set"]);
    assert_eq!(later.withdrawn, first.judgements);
    assert_eq!(told(&later.judgements), [""; 0]);
}

#[test]
fn what_was_refused_for_want_of_room_is_not_missed_behind_the_burst() {
    let set = case(
        "  - burst:\n      - call: {tool: t, arguments: {volume: 1}}\n        \
         expect: {requirement: call.success, answer: result}\n      - request: {method: ping}\n  \
         - call: {tool: u, arguments: {}}\n    expect: {requirement: volume.set, text: \"1\"}\n",
    );
    for (said, is_found) in [("Busy, try again later", false), ("No such level", true)] {
        let mut play = Play::new();
        play.ask("0.0", 7, "tools/call", &json!({"name": "t", "arguments": {"volume": 1}}))
            .ask("0.1", 8, "ping", &json!({}))
            .answer(7, &json!({"content": [{"type": "text", "text": said}], "isError": true}))
            .answer(8, &json!({}))
            .ask("1", 9, "tools/call", &json!({"name": "u", "arguments": {}}))
            .answer(9, &text("50"));
        let told = told(&play.end(Some(&set)).judgements);
        // That it is not done shows behind it as well, and is told once.
        assert!(!told.contains(&"volume.set".to_owned()), "{said}: {told:?}");
        assert_eq!(told.contains(&"call.success".to_owned()), is_found, "{said}: {told:?}");
    }
}

#[test]
fn a_late_answer_that_is_wrong_is_told_in_place_of_the_silence() {
    let set = case(
        "  - call: {tool: t, arguments: {volume: 1}}\n    expect: {requirement: volume.set, answer: result}\n",
    );
    let mut play = Play::new();
    play.ask("0", 7, "tools/call", &json!({"name": "t", "arguments": {"volume": 1}}))
        .fenced("0", 8)
        .mark("0", Mark::NoAnswer { waited_ms: 5 });
    play.end(Some(&set));
    play.case = "b/b".into();
    play.judge.begin_case(&play.case);
    let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
    play.answer(7, &failed);
    let later = play.end(None);
    assert_eq!(told(&later.withdrawn), ["jsonrpc.answer-required", "volume.set"]);
    let found: Vec<_> =
        later.judgements.iter().map(|one| (&*one.case, one.requirement.slug())).collect();
    assert_eq!(found, [("a/a", "volume.set")]);
}

#[test]
fn an_input_that_was_answered_late_leaves_what_another_one_has_shown() {
    let mut merged = Merged::new(&"a/a".into());
    let mut play = Play::new();
    for id in [7, 17] {
        play.ask("0", id, "tools/list", &json!({}))
            .fenced("0", id + 1)
            .mark("0", Mark::NoAnswer { waited_ms: 5 });
        merged.add(Part::Input, play.end(None));
    }
    play.answer(7, &json!({"tools": []}));
    merged.add(Part::Input, play.end(None));
    let outcome = merged.into_outcome();
    assert_eq!(told(&outcome.judgements), ["jsonrpc.answer-required"]);
    let Outcome::Broken(evidence) = &outcome.judgements[0].outcome else {
        panic!("{outcome:?}");
    };
    assert!(evidence.sent.as_ref().is_some_and(|sent| sent.contains("17")), "{evidence:?}");
}

#[test]
fn the_second_fence_counts_as_much_as_the_first() {
    let mut play = Play::new();
    play.ask("0", 7, "tools/list", &json!({}))
        .ask("0.fence", 8, "ping", &json!({}))
        .mark("0.fence", Mark::NoAnswer { waited_ms: 5 })
        .ask(&beside("0", StepKind::FenceAgain), 9, "ping", &json!({}))
        .answer(9, &json!({}))
        .mark("0", Mark::NoAnswer { waited_ms: 5 });
    assert_eq!(told(&play.end(None).judgements), ["jsonrpc.answer-required"]);
    play.ask("0", 17, "tools/list", &json!({}))
        .mark("0", Mark::NoAnswer { waited_ms: 5 })
        .ask("0.fence", 18, "ping", &json!({}))
        .mark("0.fence", Mark::NoAnswer { waited_ms: 5 })
        .ask(&beside("0", StepKind::FenceAgain), 19, "ping", &json!({}))
        .mark(&beside("0", StepKind::FenceAgain), Mark::NoAnswer { waited_ms: 5 });
    assert_eq!(told(&play.end(None).judgements), ["jsonrpc.answer-required?"]);
}

#[test]
fn a_request_that_is_lost_behind_each_of_two_messages_is_the_devices_doing() {
    let lost = |play: &mut Play, step: &str, id: u64| {
        play.enter(step, garbage());
        play.ask(&beside(step, StepKind::Fence), id, "ping", &json!({}))
            .mark(&beside(step, StepKind::Fence), Mark::NoAnswer { waited_ms: 5 })
            .ask(&beside(step, StepKind::FenceAgain), id + 1, "ping", &json!({}))
            .answer(id + 1, &json!({}));
    };
    let mut play = Play::new();
    lost(&mut play, "0", 7);
    assert_eq!(told(&play.end(None).judgements), [""; 0], "a bench may lose one");
    lost(&mut play, "0", 17);
    lost(&mut play, "1", 27);
    let twice = play.end(None);
    assert_eq!(told(&twice.judgements), ["jsonrpc.answer-required"]);
    // They come late, which is no loss.
    play.answer(17, &json!({})).answer(27, &json!({}));
    assert_eq!(play.end(None).withdrawn, twice.judgements);
}

fn garbage() -> What {
    What::Sent { role: Role::Stimulus, frame: Frame::Text("{".into()) }
}

#[test]
fn the_second_attempt_at_a_case_is_what_counts_when_it_went_well() {
    let set = case(
        "  - call: {tool: t, arguments: {volume: 1}}\n    expect: {requirement: volume.set, answer: result}\n",
    );
    let silent = |play: &mut Play, id: u64| {
        play.ask("0", id, "tools/call", &json!({"name": "t", "arguments": {"volume": 1}}))
            .mark("0", Mark::NoAnswer { waited_ms: 5 })
            .ask("0.fence", id + 1, "ping", &json!({}))
            .mark("0.fence", Mark::NoAnswer { waited_ms: 5 });
    };
    let mut play = Play::new();
    silent(&mut play, 7);
    play.mark("again", Mark::SecondAttempt).call("0", 17, "t", json!({"volume": 1}));
    assert_eq!(told(&play.end(Some(&set)).judgements), [""; 0]);
    // Twice is the device's doing.
    silent(&mut play, 27);
    play.mark("again", Mark::SecondAttempt);
    silent(&mut play, 37);
    assert_eq!(
        told(&play.end(Some(&set)).judgements),
        ["jsonrpc.answer-required", "volume.set", "liveness.answers"]
    );
}

#[test]
fn a_device_that_falls_silent_again_in_another_case_is_blamed_though_a_restart_helps() {
    let set = case(
        "  - call: {tool: t, arguments: {volume: 1}}\n    expect: {requirement: volume.set, answer: result}\n",
    );
    let revived = |play: &mut Play, id: u64| {
        play.ask("0", id, "tools/call", &json!({"name": "t", "arguments": {"volume": 1}}))
            .mark("0", Mark::NoAnswer { waited_ms: 5 })
            .ask("0.fence", id + 1, "ping", &json!({}))
            .mark("0.fence", Mark::NoAnswer { waited_ms: 5 })
            .mark("again", Mark::SecondAttempt)
            .call("0", id + 2, "t", json!({"volume": 1}));
        told(&play.end(Some(&set)).judgements)
    };
    let mut play = Play::new();
    assert_eq!(revived(&mut play, 7), [""; 0]);
    play.call("0", 17, "t", json!({"volume": 1}));
    assert_eq!(told(&play.end(Some(&set)).judgements), [""; 0]);
    assert_eq!(revived(&mut play, 27), ["liveness.answers"]);
}

const SHOWS: &str =
    "  - status: {}\n    expect: {requirement: volume.set, json: {audio_speaker: {volume: 40}}}\n";

#[test]
fn of_a_reading_that_was_repeated_the_last_one_counts() {
    let shows = case(SHOWS);
    let mut play = Play::new();
    play.status("0", 7, 50, 70).status("0.settle1", 8, 50, 55).status("0.settle2", 9, 50, 40);
    assert_eq!(told(&play.end(Some(&shows)).judgements), [""; 0]);
    // It stands still elsewhere.
    play.status("0", 17, 50, 40 + 1).status("0.settle1", 18, 50, 55).status(
        "0.settle2",
        19,
        50,
        55,
    );
    let outcome = play.end(Some(&shows));
    assert_eq!(told(&outcome.judgements), ["volume.set"]);
    let Outcome::Broken(evidence) = &outcome.judgements[0].outcome else {
        panic!("{outcome:?}");
    };
    assert!(evidence.received.contains("55"), "{evidence:?}");
}

/// A call under a string id, which changes nothing.
const NAMELESS: &str = "  - request: {method: tools/call, params: {name: t}, id: x}
    expect: {requirement: ids.string-rejected, answer: refused}
    unchanged: ids.string-no-effect
";

/// That call, with what the volume is before and after it.
fn guarded(play: &mut Play, again: &str, before: u8, after: u8, id: u64) {
    let at = match again {
        "" => "0".to_owned(),
        again => format!("0.{again}"),
    };
    play.status(&format!("{at}.before"), id, before, 50);
    let name = format!("x{id}");
    play.ask(&at, name, "tools/call", &json!({"name": "t"}));
    play.fenced(&at, id + 1);
    play.status(&format!("{at}.after"), id + 2, after, 50);
}

#[rstest]
#[case::as_it_was_left(40, 40, 40, &[])]
#[case::changed_by_the_call(77, 40, 40, &["ids.string-no-effect", "ids.string-no-effect"])]
#[case::changed_after_it(77, 77, 40, &["ids.string-no-effect"])]
fn what_a_call_left_as_it_found_it_is_not_charged_to_it(
    #[case] before: u8,
    #[case] after: u8,
    #[case] then: u8,
    #[case] broken: &[&str],
) {
    let reading = "  - call: {tool: self.get_device_status}
    expect: {requirement: ids.string-no-effect, at: /json/audio_speaker/volume, is: 77}
";
    let case = case(&format!("{NAMELESS}{reading}"));
    let mut play = Play::new();
    guarded(&mut play, "", before, after, 10);
    play.status("1", 20, then, 50);
    assert_eq!(told(&play.end(Some(&case)).judgements), broken);
}

#[rstest]
#[case::refused(json!({"content": [{"type": "text", "text": "locked"}], "isError": true}), &["volume.set"])]
#[case::accepted(text("true"), &["ids.string-no-effect"])]
fn what_a_refused_command_has_not_done_is_told_once(
    #[case] result: Value,
    #[case] broken: &[&str],
) {
    let case = case(
        "  - call: {tool: self.audio_speaker.set_volume, arguments: {volume: 40}}
    expect: {requirement: volume.set, answer: result}
  - call: {tool: self.get_device_status}
    expect: {requirement: ids.string-no-effect, at: /json/audio_speaker/volume, is: 40}
",
    );
    let mut play = Play::new();
    play.ask("0", 10, "tools/call", &json!({"name": "self.audio_speaker.set_volume"}));
    play.answer(10, &result);
    play.status("1", 20, 38, 50);
    assert_eq!(told(&play.end(Some(&case)).judgements), broken);
}

#[test]
fn a_setting_that_was_on_its_way_was_not_changed() {
    let string = case(NAMELESS);
    // A fade from 75 to 20 seemed to be the doing of the message; from 67 on it changed nothing.
    let mut play = Play::new();
    guarded(&mut play, "", 67, 66, 10);
    play.status("0.after.settle1", 13, 20, 50);
    guarded(&mut play, "again", 67, 67, 20);
    assert_eq!(told(&play.end(Some(&string)).judgements), [""; 0]);
    // One that is changed again is changed.
    guarded(&mut play, "", 67, 66, 30);
    guarded(&mut play, "again", 67, 66, 40);
    assert_eq!(told(&play.end(Some(&string)).judgements), ["ids.string-no-effect"]);
    guarded(&mut play, "", 67, 66, 50);
    assert_eq!(told(&play.end(Some(&string)).judgements), ["ids.string-no-effect"]);
}
