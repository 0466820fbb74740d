//! Restarts, resets, supplies and closed connections.

use std::collections::BTreeSet;

use mcp_hil_core::capability::Facts;
use mcp_hil_core::transcript::{Mark, MqttNote, Party, Role, TargetEvent, What};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::Outcome;
use mcp_hil_core::wire::Frame;
use rstest::rstest;

use super::play::*;

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
    let down = What::LinkDown {
        by: Party::Device,
        why: "it closed TCP".into(),
        orderly: false,
        code: None,
        breach: None,
    };
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
#[case::clock_and_app(
    &["! I (61000) X: a", "! I (30) X: b", "! I (40) main_task: Calling app_main()"],
    &["a/a liveness.no-reset"]
)]
#[case::clock_alone(
    &["! I (50000) X: a", "! I (60000) X: a", "! I (61000) X: a", "! I (30) X: b", "! I (40) X: c",
      "! I (50) X: d", "! I (61010) X: e"],
    &["a/a liveness.no-reset"]
)]
#[case::a_clock_beside(
    &["! I (61000) X: a", "! I (30) H: b", "! I (40) H: c", "! I (61010) X: d", "! I (50) H: e",
      "! I (61020) X: f"],
    &[]
)]
#[case::a_clock_beside_that_began_before(
    &["! I (10) X: a", "! I (61000) H: b", "! I (20) X: c", "! I (30) X: d", "! I (40) X: e"],
    &[]
)]
#[case::a_clock_that_stands_still(
    &["! I (50000) X: a", "! I (60000) X: a", "! I (61000) X: a", "! I (123) H: b", "! I (123) H: c",
      "! I (123) H: d", "! I (123) H: e"],
    &[]
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
#[case::sanitizer(
    &["! ==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000011"],
    &["a/a liveness.no-panic"]
)]
#[case::undefined(
    &["! /src/main/ota.cc:12:7: runtime error: signed integer overflow", "! E (9) X: a runtime error: no"],
    &["a/a liveness.no-panic"]
)]
#[case::go(&["! panic: runtime error: index out of range [3] with length 3"], &["a/a liveness.no-panic"])]
#[case::rust(
    &["! thread 'main' (4711) panicked at src/main.rs:9:5:"],
    &["a/a liveness.no-panic"]
)]
#[case::the_panic_of_an_earlier_life(
    &["! I (412) crash: Last panic: Guru Meditation Error: Core  0 panic'ed (LoadProhibited)"],
    &[]
)]
#[case::a_panic_that_was_caught(
    &["! recovered: thread 'main' panicked at src/main.rs:9:5", "! http: panic serving 10.0.0.1"],
    &[]
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

/// A restart that was asked for is one boot: lines of a clock beside are none of it, and a line with a new clock may be
/// all that is seen of it.
#[rstest]
#[case::a_clock_beside(&["! I (123) H: a", "! I (61010) X: b"], true)]
#[case::a_clock_that_stands_still(&["! I (123) H: a", "! I (123) H: b"], true)]
#[case::the_clock_alone(&["! I (30) X: a"], false)]
fn a_restart_on_demand_is_one_boot(#[case] lines: &[&str], #[case] banner: bool) {
    let mut play = Play::new();
    play.enter(None, What::Target { event: TargetEvent::Started });
    play.play(&BANNER).play(&["! I (59000) X: a", "! I (60000) X: a", "! I (61000) X: a"]);
    play.link_up();
    play.enter(Some("0"), What::Sent { role: Role::Stimulus, frame: Frame::Text(REBOOT.into()) });
    play.play(lines);
    if banner {
        play.play(&BANNER);
    }
    play.link_up();
    let resets = |play: &mut Play| {
        play.end().into_iter().filter(|found| found.contains(" liveness.no-reset")).count()
    };
    assert_eq!(resets(&mut play), 0);
    play.play(&["! I (50000) X: a"]).play(&BANNER);
    assert_eq!(resets(&mut play), 1);
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

/// The server says goodbye with a Close frame. Who answers it with his own and goes does well, and so does
/// a program that ends with its last conversation.
#[rstest]
#[case::answered(true, Some("exited with code 0"), &[])]
#[case::unanswered(false, None, &["a/a session.close-answered"])]
#[case::dead_of_it(true, Some("ended by signal 11 (SIGSEGV)"), &["a/a liveness.no-reset"])]
#[case::dead_before_it_answers(false, Some("ended by signal 11 (SIGSEGV)"), &["a/a liveness.no-reset"])]
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
    let down = What::LinkDown {
        by: Party::Harness,
        why: "closed".into(),
        orderly: false,
        code: None,
        breach: None,
    };
    play.enter(None, down);
    let how = "as it went".to_owned();
    let mark = Mark::Closed { answered, how, code: None };
    play.enter(Some("0"), What::Mark { mark });
    // That it does not come back by itself is held against nobody.
    let mark = Mark::NoLink { waited_ms: 3000 };
    play.enter(None, What::Mark { mark });
    assert_eq!(play.end(), findings);
}

#[rstest]
#[case::normal(Some(1000), &[])]
#[case::own(Some(4001), &[])]
#[case::none(None, &[])]
#[case::no_status(Some(1005), &["a/a session.close-code"])]
#[case::abnormal(Some(1006), &["a/a session.close-code"])]
#[case::zero(Some(0), &["a/a session.close-code"])]
fn a_close_frame_has_a_code_that_may_be_sent(#[case] code: Option<u16>, #[case] findings: &[&str]) {
    let mut play = Play::new();
    play.play(&[FENCE, FENCED]);
    play.enter(Some("0"), What::Mark { mark: Mark::Closing });
    let mark = Mark::Closed { answered: true, how: "with a Close frame".to_owned(), code };
    play.enter(Some("0"), What::Mark { mark });
    assert_eq!(play.end(), findings);
}

#[rstest]
#[case::fresh(20, None, None, &[])]
#[case::few(7, Some("00000000"), None, &[])]
#[case::constant(8, Some("00000000"), None, &["a/a session.mask-fresh"])]
#[case::counted(8, None, Some(1), &["a/a session.mask-fresh"])]
fn each_frame_has_a_mask_of_its_own(
    #[case] frames: u32,
    #[case] key: Option<&str>,
    #[case] step: Option<i32>,
    #[case] findings: &[&str],
) {
    let mut play = Play::new();
    let mark = Mark::Masks { frames, key: key.map(str::to_owned), step };
    play.enter(None, What::Mark { mark });
    assert_eq!(play.end(), findings);
}

#[test]
fn what_comes_behind_a_close_frame_is_told() {
    let mut play = Play::new();
    let frame = "a text frame".to_owned();
    play.enter(None, What::Mark { mark: Mark::BehindClose { frame } });
    assert_eq!(play.end(), ["a/a session.close-last"]);
}

/// That the process died is often seen only once the next case waits for it.
#[rstest]
#[case::at_once(0, 1)]
#[case::later(20_000, 0)]
fn a_close_frame_that_killed_the_device_is_not_said_to_be_unanswered(
    #[case] later: u64,
    #[case] withdrawn: usize,
) {
    let mut play = Play::new();
    play.play(&[FENCE, FENCED]);
    play.enter(Some("0"), What::Mark { mark: Mark::Closing });
    let how = "without a Close frame".to_owned();
    let mark = Mark::Closed { answered: false, how, code: None };
    play.enter(Some("0"), What::Mark { mark });
    assert_eq!(play.end(), ["a/a session.close-answered"]);
    play.next_case("b/b").seq += later;
    let event = TargetEvent::Exited("ended by signal 6 (SIGABRT)".into());
    play.enter(None, What::Target { event });
    let outcome = play.judge.end_case(None, &Facts::default());
    assert_eq!(outcome.withdrawn.len(), withdrawn);
}

/// What a program that logs as Python does says of an error.
const LOGGED: &str = "2026-01-02 03:04:05,678 - mcp - ERROR - unhashable type";

/// Of requests that nothing answers, the console may say why; of one that answers, complaints explain nothing.
#[rstest]
#[case::deaf("? 0", &["E (10) MCP: Invalid id", LOGGED, "W (12) MCP: Missing name"])]
#[case::answers(PONG, &[])]
fn a_deaf_device_is_told_with_what_its_console_complains_of(
    #[case] came: &str,
    #[case] told: &[&str],
) {
    let mut play = Play::new();
    play.play(&["! E (1) WIFI: before anything was asked", PING]);
    play.play(&["! E (10) MCP: Invalid id", "! I (11) MCP: a message", "! E (11) MCP: Invalid id"]);
    play.play(&["! W (12) MCP: Missing name", &format!("! {LOGGED}"), came]);
    let outcome = play.judge.end_case(None, &Facts::default());
    assert_eq!(outcome.console, told);
}

/// What may have been lost with an earlier connection is nothing that was said on this one.
#[rstest]
#[case::of_this_connection(r#"{"session_id":"s","type":"mcp","payload":{"jsonrpc":"2.0","id":7,"result":{}}}"#, &["a/a mqtt.packets"])]
#[case::of_another_session(
    r#"{"session_id":"old","type":"mcp","payload":{"jsonrpc":"2.0","id":7,"result":{}}}"#,
    &[]
)]
#[case::of_an_earlier_one(r#"{"session_id":"s","type":"mcp","payload":{"jsonrpc":"2.0","id":6,"result":{}}}"#, &[])]
#[case::of_nobody(r#"{"session_id":"s","type":"mcp","payload":{"jsonrpc":"2.0","id":99,"result":{}}}"#, &[])]
#[case::no_answer(r#"{"session_id":"s","type":"listen","state":"nonsense"}"#, &[])]
#[case::no_json("nonsense", &[])]
fn what_is_marked_as_sent_again_is_an_answer_only_where_it_can_be_none_of_before(
    #[case] text: &str,
    #[case] findings: &[&str],
) {
    let mut play = Play::new();
    let mqtt_up = || What::LinkUp {
        transport: Transport::Mqtt,
        mqtt: None,
        session_id: "s".into(),
        path: String::new(),
        token_given: false,
        headers: Default::default(),
    };
    play.enter(None, mqtt_up());
    play.play(&[r#"> 0 {"jsonrpc":"2.0","id":6,"method":"ping"}"#]);
    play.enter(None, mqtt_up());
    play.play(&[PING]);
    play.enter(None, What::Mqtt { note: MqttNote::Duplicate });
    play.play(&[&format!("<< {text}")]);
    let mut found = play.end();
    found.retain(|one| !one.ends_with('?'));
    assert_eq!(found, findings);
}
