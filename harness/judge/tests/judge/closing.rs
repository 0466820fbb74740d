//! Connections that the device closes because of a message.

use mcp_hil_core::transcript::{Breach, Party, Role, TargetEvent, What};
use mcp_hil_core::wire::{Frame, OddFrame};
use rstest::rstest;

use super::play::*;

const LIMIT: usize = mcp_hil_core::limits::MAX_OWED_MESSAGE_BYTES;

/// A length that does not fit in 16 bits.
const HUGE: usize = 1 << 16;

/// A play takes 0.1 ms for an entry: so many are more than two seconds.
const ALONE: u64 = 25_000;

/// What the device does once it has closed the connection.
#[derive(Clone, Copy)]
enum Then {
    /// It connects again, and answers.
    Serves,
    /// It connects again, and answers nothing.
    ConnectsOnly,
    /// It is started again.
    IsStarted,
}

#[rstest]
#[case::too_big(LIMIT + 1, Some(1009), Then::Serves, false)]
#[case::not_too_big(LIMIT, Some(1009), Then::Serves, true)]
#[case::for_another_reason(LIMIT + 1, Some(1011), Then::Serves, true)]
#[case::without_a_close_frame(LIMIT + 1, None, Then::Serves, true)]
#[case::far_too_big(HUGE, Some(1011), Then::Serves, false)]
#[case::far_too_big_without_a_close_frame(HUGE, None, Then::Serves, false)]
#[case::far_too_big_taken_for_an_error(HUGE, Some(1002), Then::Serves, true)]
#[case::far_too_big_and_gone(HUGE, None, Then::IsStarted, true)]
#[case::back_without_service(LIMIT + 1, Some(1009), Then::ConnectsOnly, true)]
#[case::gone(LIMIT + 1, Some(1009), Then::IsStarted, true)]
fn a_message_that_is_too_big_may_be_refused_by_closing(
    #[case] bytes: usize,
    #[case] code: Option<u16>,
    #[case] then: Then,
    #[case] accused: bool,
) {
    let mut play = Play::new();
    let frame = Frame::Text("x".repeat(bytes));
    play.enter(Some("0"), What::Sent { role: Role::Stimulus, frame });
    play.enter(None, closed(code));
    match then {
        Then::IsStarted => play.enter(None, What::Target { event: TargetEvent::Started }),
        Then::Serves | Then::ConnectsOnly => {}
    }
    play.link_up();
    play.play(&[r#"> 1 {"jsonrpc":"2.0","id":7,"method":"ping"}"#]);
    if matches!(then, Then::Serves | Then::IsStarted) {
        play.play(&[r#"< {"jsonrpc":"2.0","id":7,"result":{}}"#]);
    }
    assert_eq!(is_accused(&mut play), accused);
}

/// Behind an answer to a later request it has been taken, and a connection that is closed then is another matter.
#[test]
fn a_message_that_was_taken_is_no_reason_to_close() {
    let mut play = Play::new();
    let frame = Frame::Text("x".repeat(LIMIT + 1));
    play.enter(Some("0"), What::Sent { role: Role::Stimulus, frame });
    play.play(&[
        r#"> 1 {"jsonrpc":"2.0","id":7,"method":"ping"}"#,
        r#"< {"jsonrpc":"2.0","id":7,"result":{}}"#,
    ]);
    play.enter(None, closed(Some(1009)));
    play.link_up();
    assert!(is_accused(&mut play));
}

/// On such a text a connection has failed: it may end in any way, and a program with it. One that is killed has crashed.
#[rstest]
#[case::with_its_code(Some(1007), None, &[])]
#[case::with_another(Some(1000), None, &[])]
#[case::without_a_close_frame(None, None, &[])]
#[case::with_the_program(None, Some("exited with code 1"), &["a/a session.reconnect"])]
#[case::by_a_signal_under_a_shell(None, Some("exited with code 134 (SIGABRT)"), &["a/a liveness.no-reset"])]
#[case::by_a_signal(None, Some("ended by signal 11 (SIGSEGV)"), &["a/a liveness.no-reset"])]
fn text_that_is_not_utf_8_may_end_the_connection(
    #[case] code: Option<u16>,
    #[case] ended: Option<&str>,
    #[case] findings: &[&str],
) {
    let mut play = Play::new();
    let frame = Frame::NotUtf8(b"\xff".to_vec());
    play.enter(Some("0"), What::Sent { role: Role::Stimulus, frame });
    play.enter(None, closed(code));
    if let Some(how) = ended {
        play.enter(None, What::Target { event: TargetEvent::Exited(how.to_owned()) });
        play.enter(None, What::Target { event: TargetEvent::Started });
    }
    play.link_up();
    play.play(&[PING, PONG]);
    let mut found = play.end();
    // It says no hello here.
    found.retain(|one| one != "a/a hello.first");
    assert_eq!(found, findings);
}

/// On a frame that no server may send a connection has failed, too. Who answers it has taken it.
#[rstest]
#[case::closed(None, &[])]
#[case::taken(Some(PONG), &["a/a session.odd-frames"])]
fn a_frame_that_no_server_may_send_may_end_the_connection(
    #[case] answer: Option<&str>,
    #[case] findings: &[&str],
) {
    let mut play = Play::new();
    let request =
        r#"{"session_id":"s","type":"mcp","payload":{"jsonrpc":"2.0","id":7,"method":"ping"}}"#;
    let frame = Frame::Odd(OddFrame::Masked, request.to_owned());
    play.enter(Some("0"), What::Sent { role: Role::Stimulus, frame });
    match answer {
        Some(answer) => drop(play.play(&[answer])),
        None => {
            play.enter(None, closed(Some(1002)));
            play.link_up();
        }
    }
    let mut found = play.end();
    found.retain(|one| one != "a/a hello.first");
    assert_eq!(found, findings);
}

/// Who is left alone may sleep, or be restarted by its button. It has to come back by itself.
#[rstest]
#[case::sleeps(ALONE, Some(1000), "", Then::Serves, false)]
#[case::goes_away(ALONE, Some(1001), "", Then::Serves, false)]
#[case::is_restarted(ALONE, None, "! I (9000) Application: Rebooting...", Then::Serves, false)]
#[case::is_in_use(1, Some(1000), "", Then::Serves, true)]
#[case::restarts_when_it_is_asked(
    1,
    None,
    "! I (9000) Application: Rebooting...",
    Then::Serves,
    true
)]
#[case::without_a_word(ALONE, None, "", Then::Serves, true)]
#[case::for_an_error(ALONE, Some(1002), "", Then::Serves, true)]
#[case::serves_no_more(ALONE, Some(1000), "", Then::ConnectsOnly, true)]
#[case::stays_away(ALONE, Some(1000), "", Then::IsStarted, true)]
fn who_is_left_alone_may_end_the_connection(
    #[case] entries: u64,
    #[case] code: Option<u16>,
    #[case] line: &str,
    #[case] then: Then,
    #[case] accused: bool,
) {
    let mut play = Play::new();
    play.play(&[PING, PONG]);
    if !line.is_empty() {
        play.play(&[line]);
    }
    play.seq += entries;
    play.enter(None, closed(code));
    if matches!(then, Then::IsStarted) {
        play.enter(None, What::Target { event: TargetEvent::Started });
    }
    play.link_up();
    play.play(&[r#"> 1 {"jsonrpc":"2.0","id":8,"method":"ping"}"#]);
    if !matches!(then, Then::ConnectsOnly) {
        play.play(&[r#"< {"jsonrpc":"2.0","id":8,"result":{}}"#]);
    }
    assert_eq!(is_accused(&mut play), accused);
}

/// Who opens another connection and leaves the old one open has not closed it.
#[test]
fn who_leaves_a_connection_open_has_refused_nothing() {
    let odd = || Frame::Odd(OddFrame::ReservedBit, "{}".to_owned());
    for (left, accused) in [(false, false), (true, true)] {
        let mut play = Play::new();
        play.enter(Some("0"), What::Sent { role: Role::Stimulus, frame: odd() });
        let What::LinkDown { by, why, orderly, code, .. } = closed(None) else {
            unreachable!("it is one");
        };
        let breach = left.then_some(Breach::Left);
        play.enter(None, What::LinkDown { by, why, orderly, code, breach });
        play.link_up();
        play.play(&[
            r#"> 1 {"jsonrpc":"2.0","id":7,"method":"ping"}"#,
            r#"< {"jsonrpc":"2.0","id":7,"result":{}}"#,
        ]);
        assert_eq!(is_accused(&mut play), accused, "{left}");
    }
}

fn is_accused(play: &mut Play) -> bool {
    play.end().iter().any(|found| found == "a/a liveness.link-kept")
}

fn closed(code: Option<u16>) -> What {
    let why = "the connection ended".to_owned();
    What::LinkDown { by: Party::Device, why, orderly: code.is_some(), code, breach: None }
}
