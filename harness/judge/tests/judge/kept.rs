//! Settings that nobody sets stay as they are: what the model of them charges, and where it doubts.

use mcp_hil_core::capability::{Facts, STATUS_TOOL};
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::transcript::{BRING_UP, Entry, Party, Role, What};
use mcp_hil_core::verdict::Judgement;
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_judge::check::{Judge, KEPT};
use rstest::rstest;
use serde_json::{Value, json};

/// The last reading of bring-up.
const STILL: &str = "status-still";

const SET: &str = "self.audio_speaker.set_volume";
const THEMES: &str = "self.screen.set_theme";
const OTHER: &str = "self.robot.dance";

/// What the harness does in a case.
enum Does {
    /// A call with its arguments, and whether it is accepted, refused or not answered.
    Call(&'static str, Value, Option<bool>),
    /// A text that is no legal request.
    Says(&'static str),
    /// So many milliseconds pass.
    Waits(u64),
    /// A new connection.
    Reconnects,
}
use Does::{Call, Reconnects, Says, Waits};

struct Play {
    judge: Judge,
    seq: u64,
    at_us: u64,
    case: std::sync::Arc<str>,
}

impl Play {
    fn enter(&mut self, step: &str, what: What) {
        self.seq += 1;
        self.at_us += 1_000;
        let step = Some(step.into());
        let (seq, at_us, case) = (self.seq, self.at_us, self.case.clone());
        self.judge.observe(Entry { seq, at_us, case, step, what });
    }

    fn text(&mut self, step: &str, text: &str) {
        self.enter(step, What::Sent { role: Role::Stimulus, frame: Frame::Text(text.into()) });
    }

    fn call(&mut self, step: &str, tool: &str, arguments: &Value, answer: Option<&Value>) {
        let id = self.seq + 1;
        let params = json!({"name": tool, "arguments": arguments});
        let request = outbound::request(&id.into(), "tools/call", Some(&params)).to_string();
        self.text(step, &outbound::envelope("s", &request));
        if let Some(answer) = answer {
            let mut payload = json!({"jsonrpc": "2.0", "id": id});
            for (name, value) in answer.as_object().into_iter().flatten() {
                payload[name] = value.clone();
            }
            let envelope = json!({"session_id": "s", "type": "mcp", "payload": payload});
            self.enter(step, What::Received { frame: Frame::Text(envelope.to_string()) });
        }
    }

    fn reads(&mut self, step: &str, (volume, theme): (i64, &str)) {
        let status = json!({"audio_speaker": {"volume": volume}, "screen": {"theme": theme}});
        let content = json!([{"type": "text", "text": status.to_string()}]);
        let answer = json!({"result": {"content": content, "isError": false}});
        self.call(step, STATUS_TOOL, &json!({}), Some(&answer));
    }

    fn case(&mut self, number: usize, does: Vec<Does>, shows: (i64, &str)) -> usize {
        self.case = format!("a/{number}").into();
        self.judge.begin_case(&self.case.clone());
        for (at, does) in does.into_iter().enumerate() {
            let step = at.to_string();
            match does {
                Call(tool, arguments, accepted) => {
                    let answer = accepted.map(|accepted| match accepted {
                        true => json!({"result": {"content": [], "isError": false}}),
                        false => json!({"error": {"code": -32602, "message": "no"}}),
                    });
                    self.call(&step, tool, &arguments, answer.as_ref());
                }
                Says(text) => self.text(&step, text),
                Waits(ms) => self.at_us += ms * 1_000,
                Reconnects => self.enter(
                    &step,
                    What::LinkDown {
                        by: Party::Harness,
                        why: "a test".into(),
                        orderly: false,
                        code: None,
                        breach: None,
                    },
                ),
            }
        }
        self.reads(KEPT, shows);
        let outcome = self.judge.end_case(None, &Facts::default());
        let kept = |judgement: &&Judgement| judgement.requirement == Id::StatusKept;
        outcome.judgements.iter().filter(kept).count()
    }
}

fn after_bring_up() -> Play {
    let mut play = Play { judge: Judge::new(), seq: 0, at_us: 0, case: BRING_UP.into() };
    play.judge.begin_case(&play.case.clone());
    play.reads("status", (70, "light"));
    play.reads(STILL, (70, "light"));
    play.judge.end_case(None, &Facts::default());
    play
}

#[rstest]
#[case::nothing(vec![], (70, "light"), 0)]
#[case::read(vec![Call("self.battery.get_level", json!({}), Some(true))], (60, "light"), 1)]
#[case::refused(vec![Call(SET, json!({"volume": 101}), Some(false))], (70, "dark"), 1)]
#[case::an_emotion(vec![Says(r#"{"type":"llm","emotion":"happy"}"#)], (70, "dark"), 1)]
#[case::set(vec![Call(SET, json!({"volume": 30}), Some(true))], (30, "light"), 0)]
#[case::set_the_other(vec![Call(THEMES, json!({"theme": "dark"}), Some(true))], (20, "dark"), 1)]
#[case::still_on_its_way(vec![Call(SET, json!({"volume": 30}), Some(true))], (45, "light"), 0)]
#[case::a_call_without_id(
    vec![Says(r#"{"type":"mcp","payload":{"method":"tools/call","params":{"name":"self.audio_speaker.mute"}}}"#)],
    (0, "light"), 0)]
#[case::a_tool_of_its_own(vec![Call(OTHER, json!({}), Some(true))], (20, "dark"), 0)]
#[case::another_thing_is_set(vec![Call("self.fan.set_speed", json!({"speed": 3}), Some(true))], (20, "light"), 1)]
#[case::a_mode_is_set(vec![Call("self.fan.set_mode", json!({}), Some(true))], (20, "light"), 0)]
#[case::the_screen_is_set(vec![Call("self.screen.set_auto_rotate", json!({}), Some(true))], (70, "dark"), 0)]
#[case::not_answered(vec![Call(OTHER, json!({}), None)], (20, "dark"), 0)]
#[case::what_was_before_mcp(vec![Says(r#"{"type":"iot","commands":[]}"#)], (20, "dark"), 0)]
#[case::a_new_connection(vec![Reconnects], (10, "light"), 0)]
fn what_nothing_sets_stays_as_it_is(
    #[case] does: Vec<Does>,
    #[case] shows: (i64, &str),
    #[case] found: usize,
) {
    assert_eq!(after_bring_up().case(1, does, shows), found);
}

#[test]
fn a_change_is_charged_once() {
    let mut play = after_bring_up();
    assert_eq!(play.case(1, vec![], (70, "dark")), 1);
    assert_eq!(play.case(2, vec![], (70, "dark")), 0);
    assert_eq!(play.case(3, vec![], (70, "light")), 1);
}

#[test]
fn a_level_that_was_asked_before_may_show_late() {
    let levels = |to: [i64; 2]| to.map(|to| Call(SET, json!({"volume": to}), Some(true)));
    let mut play = after_bring_up();
    // It still shows what was before both.
    assert_eq!(play.case(1, levels([30, 70]).into(), (70, "light")), 0);
    assert_eq!(play.case(2, vec![], (30, "light")), 0);
    let mut play = after_bring_up();
    assert_eq!(play.case(1, levels([30, 70]).into(), (70, "light")), 0);
    assert_eq!(play.case(2, vec![Waits(11_000)], (30, "light")), 1);
}

#[test]
fn what_doubt_has_left_is_trusted_again_when_it_shows_or_rests() {
    let mut play = after_bring_up();
    assert_eq!(play.case(1, vec![Reconnects], (70, "light")), 0);
    assert_eq!(play.case(2, vec![], (60, "light")), 1);
    assert_eq!(play.case(3, vec![Call(OTHER, json!({}), Some(true))], (20, "light")), 0);
    assert_eq!(play.case(4, vec![], (25, "light")), 0);
    assert_eq!(play.case(5, vec![Waits(5_000)], (25, "light")), 0);
    assert_eq!(play.case(6, vec![], (20, "light")), 1);
}
