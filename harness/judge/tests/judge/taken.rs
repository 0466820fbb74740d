//! What is whose when the bench takes a device away in the middle of a case: a cable, or a process that
//! somebody ended.
//!
//! Each test plays entries and looks at the findings, and at what is told of the bench.

use std::sync::Arc;

use mcp_hil_core::capability::Facts;
use mcp_hil_core::transcript::{Entry, Mark, Party, Role, TargetEvent, What};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::Outcome;
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_judge::check::Judge;
use rstest::rstest;

/// An entry in short.
#[derive(Debug, Clone, Copy)]
enum Did {
    /// The device connected.
    Up,
    /// Its connection ended by itself.
    Down,
    /// The harness dropped its connection.
    Dropped,
    /// A good request went out.
    Asks,
    /// Its answer, under another id.
    AnswersWrongly,
    /// Nothing came for a while.
    Silent,
    /// It did not connect.
    StaysAway,
    /// A line of its console.
    Says(&'static str),
    /// The harness started it.
    Started,
    /// Its port went away, as a cable goes that somebody pulls.
    Lost,
    /// The same, at a port that goes with each reset of the chip.
    LostPerhapsByReset,
    /// Its port is back.
    Back,
    /// It was told to restart.
    ToldToRestart,
}

use Did::*;

const PANIC: Did = Says("Guru Meditation Error: Core  0 panic'ed (LoadProhibited)");
const POWER_ON: Did = Says("rst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)");
const SOFTWARE: Did = Says("rst:0x3 (RTC_SW_SYS_RST),boot:0x8 (SPI_FAST_FLASH_BOOT)");
const WATCHDOG: Did = Says("rst:0x8 (TG1WDT_SYS_RST),boot:0x8 (SPI_FAST_FLASH_BOOT)");
const BROWN_OUT: Did = Says("rst:0xf (BROWN_OUT_RST),boot:0x8 (SPI_FAST_FLASH_BOOT)");

const APP: Did = Says("I (300) main_task: Calling app_main()");

struct Play {
    judge: Judge,
    seq: u64,
    case: Arc<str>,
}

impl Play {
    fn new() -> Self {
        Self { judge: Judge::new(), seq: 0, case: "".into() }
    }

    fn play(&mut self, case: &str, all: &[Did]) -> (Vec<String>, Option<String>) {
        self.case = case.into();
        self.judge.begin_case(&self.case);
        for did in all {
            self.enter(*did);
        }
        let outcome = self.judge.end_case(None, &Facts::default());
        let broken = |outcome: &Outcome| matches!(outcome, Outcome::Broken(_));
        let found = outcome.judgements.iter();
        let found = found.filter(|judgement| broken(&judgement.outcome));
        let slugs = found.map(|judgement| format!("{} {}", judgement.case, judgement.requirement));
        (slugs.collect(), outcome.trouble)
    }

    fn enter(&mut self, did: Did) {
        let target = |event| What::Target { event };
        let mark = |mark| What::Mark { mark };
        let down = |by| What::LinkDown {
            by,
            why: "closed".into(),
            orderly: false,
            code: None,
            breach: None,
        };
        let lost = |by_reset| TargetEvent::Lost { why: "the port went away".into(), by_reset };
        let sent = |text| What::Sent { role: Role::Stimulus, frame: Frame::Text(text) };
        let id = 1000 + self.seq;
        let mut step = None;
        let what = match did {
            Up => What::LinkUp {
                transport: Transport::Mqtt,
                mqtt: None,
                session_id: "s".into(),
                path: String::new(),
                token_given: false,
                headers: Default::default(),
            },
            Down => down(Party::Device),
            Dropped => down(Party::Harness),
            Asks => {
                step = Some(id.to_string().into());
                let payload = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
                sent(outbound::envelope("", &payload))
            }
            AnswersWrongly => {
                // The one before it asked.
                let payload = format!(r#"{{"jsonrpc":"1.0","id":{},"result":{{}}}}"#, id - 1);
                What::Received { frame: Frame::Text(outbound::envelope("", &payload)) }
            }
            Silent => {
                step = Some((id - 1).to_string().into());
                mark(Mark::NoAnswer { waited_ms: 1000 })
            }
            StaysAway => mark(Mark::NoLink { waited_ms: 1000 }),
            Says(line) => What::Console { line: line.into() },
            Started => target(TargetEvent::Started),
            Lost => target(lost(false)),
            LostPerhapsByReset => target(lost(true)),
            Back => target(TargetEvent::Back("the port is back".into())),
            ToldToRestart => sent(outbound::system("", "reboot")),
        };
        self.judge.observe(Entry {
            seq: self.seq,
            at_us: self.seq * 1000,
            case: self.case.clone(),
            step,
            what,
        });
        self.seq += 1;
    }
}

const NONE: &[&str] = &[];
const RESET: &[&str] = &["a liveness.no-reset"];

#[rstest]
#[case::pulled(&[Asks, Lost, Dropped, Silent], NONE, true)]
#[case::pulled_and_back(&[Lost, Dropped, Back, POWER_ON, Up], NONE, true)]
#[case::it_bounces(&[Lost, Back, POWER_ON, POWER_ON, Lost, Back, POWER_ON], NONE, true)]
#[case::a_weak_supply_boots_on_its_watchdog(&[Lost, Dropped, Back, WATCHDOG, Up], NONE, true)]
#[case::the_connection_shows_it_first(&[Asks, Down, Lost], NONE, true)]
#[case::the_silence_shows_it_first(&[Asks, Silent, Asks, Silent, Lost], NONE, true)]
#[case::the_console_shows_it_first(&[POWER_ON, Lost], NONE, true)]
#[case::it_stays_away(&[Lost, Dropped, StaysAway], NONE, true)]
#[case::it_crashed_before(&[PANIC, Lost, Dropped], &["a liveness.no-panic"], true)]
#[case::it_reset_before(&[SOFTWARE, Lost, Back, POWER_ON], RESET, true)]
#[case::it_answered_wrongly_before(&[Asks, AnswersWrongly, Lost], &["a jsonrpc.version"], true)]
#[case::its_own_port_goes_with_the_cable(&[LostPerhapsByReset, Back, POWER_ON, Up], NONE, true)]
#[case::nobody_knows(&[LostPerhapsByReset, Back, Up], NONE, true)]
#[case::its_own_port_goes_with_its_crash(&[LostPerhapsByReset, Back, SOFTWARE, Up], RESET, false)]
#[case::its_own_port_goes_with_its_watchdog(&[LostPerhapsByReset, Back, WATCHDOG], RESET, false)]
#[case::only_the_first_boot_tells(&[LostPerhapsByReset, Back, POWER_ON, WATCHDOG], NONE, true)]
#[case::told_to_restart(&[ToldToRestart, Down, LostPerhapsByReset, Back, SOFTWARE, Up], NONE, false)]
#[case::started_again(&[Dropped, Started, LostPerhapsByReset, Back, POWER_ON, Up], NONE, false)]
#[case::started_again_and_pulled(&[Dropped, Started, Lost, Back, POWER_ON, Up], NONE, true)]
#[case::nothing_happened(&[Asks, Silent, Asks, Down], &["a liveness.link-kept-mqtt"], false)]
#[case::its_own_reset(&[POWER_ON], RESET, false)]
fn what_the_bench_took_is_not_charged(
    #[case] did: &[Did],
    #[case] found: &[&str],
    #[case] is_trouble: bool,
) {
    let mut play = Play::new();
    play.play("before", &[Started, POWER_ON, Up]);
    let (broken, trouble) = play.play("a", did);
    let broken: Vec<&str> = broken
        .iter()
        .map(String::as_str)
        // What a request without an answer comes to is tried elsewhere.
        .filter(|slug| *slug != "a jsonrpc.answer-required")
        .collect();
    assert_eq!(broken, found);
    assert_eq!(trouble.is_some(), is_trouble, "{trouble:?}");
}

#[test]
fn a_device_that_was_taken_away_is_excused_until_it_is_back_and_then_no_longer() {
    let mut play = Play::new();
    play.play("before", &[Started, POWER_ON, Up]);
    let (_, trouble) = play.play("a", &[Asks, Lost, Dropped]);
    assert_eq!(trouble.as_deref(), Some("the port went away"));
    // The case that goes on with it is not spoilt by that any more.
    let next = play.play("b", &[Back, POWER_ON, BROWN_OUT, StaysAway, Up, Asks]);
    assert!(next.0.is_empty() && next.1.is_none(), "{next:?}");
    let (broken, trouble) = play.play("c", &[SOFTWARE]);
    assert_eq!((&*broken, trouble), (&["c liveness.no-reset".to_owned()][..], None));
}

/// A busy host may read the console after the device has connected.
#[rstest]
#[case::the_cable(POWER_ON, NONE)]
#[case::a_reset_of_its_own(WATCHDOG, &["b liveness.no-reset"])]
fn the_boot_that_a_cable_caused_may_be_told_late(#[case] line: Did, #[case] found: &[&str]) {
    let mut play = Play::new();
    play.play("before", &[Started, POWER_ON, Up]);
    play.play("a", &[Asks, Lost, Dropped, Back, Up]);
    assert_eq!(play.play("b", &[line]).0, found);
    // Once.
    assert_eq!(play.play("c", &[POWER_ON]).0, ["c liveness.no-reset"]);
}

/// The harness may have started the device meanwhile, and that boot is on demand, too.
#[rstest]
#[case::the_cable(&[POWER_ON, POWER_ON, Up], NONE)]
#[case::the_cable_after_the_connection(&[POWER_ON, Up, POWER_ON], NONE)]
#[case::a_reset_of_its_own(&[POWER_ON, WATCHDOG, Up], &["b liveness.no-reset"])]
#[case::the_third(&[POWER_ON, POWER_ON, POWER_ON, Up], &["b liveness.no-reset"])]
fn the_boot_that_a_cable_caused_may_be_told_after_a_start(
    #[case] did: &[Did],
    #[case] found: &[&str],
) {
    let mut play = Play::new();
    play.play("before", &[Started, POWER_ON, Up]);
    play.play("a", &[Asks, Lost, Dropped, Back]);
    assert_eq!(play.play("b", &[&[Started], did].concat()).0, found);
}

/// A boot takes a while, and the harness may start the device in the middle of it: what is still on its way of the one
/// boot is no sign of the other.
#[rstest]
#[case::of_the_cable(&[Asks, Lost, Dropped, Back, POWER_ON], &[Started, APP, POWER_ON, APP, Up], NONE)]
#[case::of_a_start(&[Started, POWER_ON], &[Started, APP, SOFTWARE, APP, Up], NONE)]
#[case::and_one_more(&[Started, POWER_ON], &[Started, APP, POWER_ON, APP, POWER_ON], &["b liveness.no-reset"])]
fn a_boot_in_whose_middle_the_harness_starts_the_device_may_end_late(
    #[case] first: &[Did],
    #[case] then: &[Did],
    #[case] found: &[&str],
) {
    let mut play = Play::new();
    play.play("before", &[Started, POWER_ON, APP, Up]);
    play.play("a", first);
    assert_eq!(play.play("b", then).0, found);
}

#[test]
fn a_boot_that_was_seen_in_time_is_not_excused_again() {
    let mut play = Play::new();
    play.play("before", &[Started, POWER_ON, Up]);
    play.play("a", &[Asks, Lost, Dropped, Back, POWER_ON, Up]);
    assert_eq!(play.play("b", &[POWER_ON]).0, ["b liveness.no-reset"]);
}

#[test]
fn what_was_found_in_earlier_cases_stands() {
    let mut play = Play::new();
    let (first, _) = play.play("before", &[Started, POWER_ON, Up, PANIC, Started, POWER_ON, Up]);
    assert_eq!(first, ["before liveness.no-panic"]);
    let (_, trouble) = play.play("a", &[Lost]);
    assert!(trouble.is_some());
}
