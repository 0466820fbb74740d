//! Defects that have nothing to do with what was asked: crashes, resets, floods, lost connections.

use crate::console::{self, Reset};
use crate::heartbeat::heartbeat;
use crate::platform::Frame;
use crate::rows::prelude::*;

/// Methods that every device has.
const METHODS: [&str; 3] = ["initialize", "tools/list", "tools/call"];

pub(super) const MUTANTS: &[Row] = rows! {
    "panic-at-quote": "A quote in the name of a tool crashes the device."
        => when(|request| request.tool().contains('"')).instead(Act::Panic);
    "panic-at-unknown-method": "An unknown method crashes the device."
        => when(|request| {
            !["", "ping"].contains(&request.method()) && !METHODS.contains(&request.method())
        })
        .instead(Act::Panic);
    "panic-at-error": "The first error answer is written to a freed buffer." => {
        let mut first = once();
        at_error(move |hands| act_if(first(), Act::Panic, hands))
    };
    "panic-at-volume-zero": "set_volume 0 divides by zero."
        => when(|request| is_level(request, 0)).instead(Act::Panic);
    "abort-line": "An assertion fails in another task when a tool is called for the first time."
        => print_once(
            "assert failed: xQueueGenericSend queue.c:937 (pxQueue->pcHead != ((void *)0))",
        );
    "silent-reset": "The device restarts at the thirtieth request without giving a reason."
        => at_answer(30, Act::Restart);
    "silent-reset-late": "The device restarts at the eight hundredth request without giving a reason."
        => at_answer(800, Act::Restart);
    "deaf-after-200": "The device reads nothing more from the two hundredth answer on, each time that it was started."
        => at_answer(200, Act::Hang);
    "silent-late": "The device answers nothing more from the fifteen hundredth request on, until it is restarted."
        => at_answer(1500, Act::Hang);
    "late-panic":
        "A name with a character beyond U+FFFF corrupts the heap: forty answers later the device crashes."
        => late(has_astral, 40, Act::Panic);
    "late-exit":
        "An unused member with a name of 500 bytes or more corrupts the heap: forty-eight answers later the device dies."
        => late(|request| request.longest_name() >= 500, 48, Act::Exit);
    "memory-leak": "Each refused request leaks 256 bytes, and the heartbeat shows it."
        => heartbeat(|text, leaked, _| {
            let is_refusal = text.contains("\"error\":") || text.contains("\"isError\":true");
            leaked + if is_refusal { 256 } else { 0 }
        });
    "memory-leak-status": "Each status call leaks 32 bytes, and the heartbeat shows it."
        => heartbeat(|text, leaked, _| {
            leaked + if text.contains(r#"{\"audio_speaker"#) { 32 } else { 0 }
        });
    "reset-at-reconnect": "The device restarts whenever its connection is lost."
        => defect().disconnected(|hands| hands.act(Act::Restart));
    "watchdog-reset":
        "The device turns interrupts off at the thirtieth request, and a watchdog resets it."
        => at_answer(30, Act::Reset(&[], Reset::Watchdog));
    "interrupt-watchdog": "The device turns interrupts off at the thirtieth request, and panics."
        => at_answer(30, Act::Reset(&console::INTERRUPT_WATCHDOG, Reset::Software));
    "reset-unseen":
        "The device restarts at the thirtieth request, and only the timestamps of its log show it."
        => reset_unseen();
    "stack-overflow": "A stack overflows at the thirtieth request."
        => at_answer(30, Act::Reset(&console::STACK_OVERFLOW, Reset::Software));
    "stack-protection": "A stack overflows at the thirtieth request on a chip with stack protection."
        => at_answer(30, Act::Reset(&console::STACK_PROTECTION, Reset::Software));
    "stack-canary":
        "A stack overflows into its canary in another task when a tool is called for the first time."
        => print_once(concat!(
            "Guru Meditation Error: Core  1 panic'ed (Unhandled debug exception). ",
            "Debug exception reason: Stack canary watchpoint triggered (audio_input)",
        ));
    "error-check-at-set-volume": "set_volume aborts when the settings cannot be stored."
        => tool(SET).instead(Act::Reset(&console::ERROR_CHECK, Reset::Software));
    "brownout-reset": "The supply voltage drops at the thirtieth request."
        => at_answer(30, Act::Reset(&console::BROWN_OUT, Reset::BrownOut));
    "brownout-line": "The brown-out detector triggers when the speaker is loudest."
        => when(|request| is_level(request, 100))
            .with_answer(Act::Print("Brownout detector was triggered".into()));
    "brownout-at-first-call": "The brown-out detector triggers at the first call."
        => print_once("Brownout detector was triggered");
    "watchdog-line": "The task watchdog warns at the first call."
        => print_once(concat!(
            "E (417) task_wdt: Task watchdog got triggered. ",
            "The following tasks/users did not reset the watchdog in time:",
        ));
    "drop-at-unknown-tool": "A call of an unknown tool ends the connection."
        => defect().inbound(|inbound, hands| {
            let request = Request::read(&inbound.text);
            let is_known = hands.device.registry().find(request.tool()).is_some();
            act_if(!request.tool().is_empty() && !is_known, Act::Disconnect, hands)
        });
    "drop-after-error":
        "The first error on a connection is answered, then the connection ends." => {
        let mut first = once();
        at_error(move |hands| {
            if first() {
                hands.act_later(2, Act::Disconnect);
            }
            Flow::Pass
        })
    };
    "drop-at-fortieth": "The connection ends at the fortieth answer."
        => all().nth(40).with_answer_by(|_, hands| hands.act_later(1, Act::Disconnect));
    "exit-at-error": "The device dies at the first error."
        => at_error(|hands| {
            hands.act(Act::Exit);
            Flow::Pass
        });
    "flood-of-audio": "The first call causes 60000 audio frames."
        => calls().first().with_answer_by(|_, hands| {
            (0..60_000).for_each(|_| hands.act(Act::Send(Frame::Binary(vec![0x58; 8]))));
        });
    "flood-of-notifications": "The first call causes 30000 notifications."
        => calls().first().with_answer_by(|_, hands| {
            let text = state_changed(hands, "listening", "listening");
            (0..30_000).for_each(|_| hands.send(text.clone()));
        });
    "frame-too-large": "The error about an unknown method is 6 MiB."
        => when(|request| !METHODS.contains(&request.method()))
            .error(|error| error["message"] = json!("x".repeat(6 << 20)));
    "frame-enormous": "The first list answer is 16 MiB." => {
        let mut first = once();
        method("tools/list").result(move |result| if first() {
            result["_padding"] = json!("x".repeat(16 << 20));
        })
    };
    "close-unanswered":
        "The server's Close frame ends the connection without a Close frame from the device."
        => link(|options| options.drop_closes = true);
    "close-ignored":
        "After the server's Close frame the device leaves the connection as it is, as stock firmware does."
        => link(|options| (options.drop_closes, options.lingers) = (true, true));
    "close-reason-unread":
        "A Close frame of the server with a reason is taken for a broken one: it is not answered."
        => link(|options| options.ends_at_reason = true);
    "close-bare-unread":
        "A Close frame of the server without a code is taken for a broken one: it is not answered."
        => link(|options| options.ends_at_bare = true);
    "pong-disconnects": "A pong that answers no ping is taken for a fault of the server, and ends the connection."
        => link(|options| options.ends_at_pong = true);
    "pong-missing": "WebSocket pings are not answered."
        => link(|options| options.drop_pongs = true);
    "pong-longest-missing": "WebSocket pings with 125 bytes of data, the most there may be, are not answered."
        => link(|options| options.drop_long_pongs = true);
    "pong-eleventh-missing": "Of the WebSocket pings of a connection only the first ten are answered."
        => link(|options| options.ten_pongs = true);
    "pong-empty-missing": "WebSocket pings without data are not answered."
        => link(|options| options.drop_empty_pongs = true);
    "pong-binary-missing": "WebSocket pings whose data is no text in UTF-8 are not answered."
        => link(|options| options.drop_binary_pongs = true);
    "pong-cut-at-zero": "The data of a pong ends before the first zero byte of the ping's."
        => link(|options| options.cut_pongs = true);
    "empty-fragment-ends": "An empty fragment in the middle of a message makes the device forget the message."
        => link(|options| options.loses_emptied = true);
    "empty-end-lost": "A message whose last fragment is empty is waited for, and lost."
        => link(|options| options.loses_empty_end = true);
    "binary-in-fragments-disconnects": "A binary message in fragments ends the connection."
        => link(|options| options.ends_at_binary_pieces = true);
    "split-frame-lost": "A frame is taken for lost when it does not come in one TCP segment."
        => link(|options| options.loses_split = true);
    "pong-between-fragments-missing": "A ping between the fragments of a message is not answered."
        => link(|options| options.drop_inner_pongs = true);
    "ping-ends-fragments": "A ping between the fragments of a message makes the device forget the first ones."
        => link(|options| options.loses_pinged = true);
    "frame-length-wide":
        "The length of a frame is given in 16 bits even where 7 are enough, which RFC 6455 forbids."
        => link(|options| options.wide_lengths = true);
    "frame-mask-constant": "All frames have the same mask." => link(|options| options.same_mask = true);
    "frame-mask-counted": "The masks of frames are counted."
        => link(|options| options.counted_masks = true);
    "close-code-of-none": "A Close frame is answered with the code that stands for none."
        => link(|options| options.close_code = Some(1005));
    "close-code-little-endian": "A Close frame is answered with its code in the wrong byte order."
        => link(|options| options.close_code = Some(1000_u16.swap_bytes()));
    "cut-frame-kept": "The beginning of a connection is taken for the rest of a frame that was cut off by the end of the one before."
        => link(|options| options.keeps_rest = true);
    "cut-message-kept": "The fragments of a message that was cut off by the end of a connection stand before the first message of the next one."
        => link(|options| options.keeps_pieces = true);
    "ping-behind-response-lost": "What comes in one piece with the response to the handshake is lost."
        => link(|options| options.forgets_rest = true);
    "huge-closed-as-error": "A message of more than 65,535 bytes ends the connection with the code of a broken protocol."
        => link(|options| options.refuses_as_error = true);
    "frame-reserved-bit-taken": "Reserved bits of a frame are not looked at."
        => link(|options| options.takes_reserved_bits = true);
    "frame-opcode-taken": "A frame with an opcode that nobody has defined is taken for a text."
        => link(|options| options.takes_unknown_opcodes = true);
    "frame-continuation-taken": "A frame that continues no message is taken for one."
        => link(|options| options.takes_continuations = true);
    "frame-between-taken": "A message between the fragments of another one is taken."
        => link(|options| options.takes_between = true);
    "frame-not-utf8-taken": "A text frame that is not UTF-8 is taken."
        => link(|options| options.takes_not_utf8 = true);
    "frame-cut-ping-answered": "A ping of which it is said that more of it follows is answered."
        => link(|options| options.takes_cut_pings = true);
    "close-talks-on": "Behind the Close frame that answers the server's, one more text is sent."
        => link(|options| options.talks_on = true);
};

/// Does something instead of giving the answer of this number, once.
fn at_answer(number: usize, act: Act) -> Defect {
    all().nth(number).instead_of_answer(act)
}

/// Sees the answers with an error.
fn at_error(mut hook: impl FnMut(&mut Hands) -> Flow + 'static) -> Defect {
    defect().on_answer_text(move |_, text, hands| match text.contains("\"error\":") {
        true => hook(hands),
        false => Flow::Pass,
    })
}

/// Prints a line when the first call is answered.
fn print_once(line: &'static str) -> Defect {
    calls().first().with_answer(Act::Print(line.into()))
}

/// A console whose reader misses what the ROM prints and the start of the application. The device has
/// been up for a minute before it restarts.
fn reset_unseen() -> Defect {
    let [restarted, is_new] = shared(false);
    let mut thirtieth = nth(30);
    defect()
        .console(move |line| {
            if is_new.get() {
                return drop_if(line.contains("main_task: "));
            }
            let boots = ["cpu_start: ", "app_init: ", "main_task: "];
            if !boots.iter().any(|tag| line.contains(tag))
                && let Some((level, rest)) = line.split_once(" (")
                && let Some((uptime, rest)) = rest.split_once(')')
                && let Ok(uptime) = uptime.parse::<u64>()
            {
                *line = format!("{level} ({}){rest}", uptime + 60_000);
            }
            Flow::Pass
        })
        .on_answer_text(move |_, _, hands| {
            if !thirtieth() {
                return Flow::Pass;
            }
            restarted.set(true);
            instead(Act::Reset(&[], Reset::Unseen), hands)
        })
}

/// Does something instead of the answer that comes so many after such a request.
fn late(is_such: fn(&Request) -> bool, answers: usize, act: Act) -> Defect {
    let [spoiled, left] = shared(None);
    defect()
        .inbound(move |inbound, _| {
            if spoiled.get().is_none() && is_such(&Request::read(&inbound.text)) {
                spoiled.set(Some(answers));
            }
            Flow::Pass
        })
        .on_answer_text(move |_, _, hands| {
            let before = left.get();
            left.set(before.and_then(|answers| answers.checked_sub(1)));
            act_if(before == Some(0), act.clone(), hands)
        })
}

fn has_astral(request: &Request) -> bool {
    let is_astral = |name: &str| name.contains(|character| character > '\u{ffff}');
    is_astral(request.method()) || is_astral(request.tool())
}

/// Whether a call sets the volume to this level.
fn is_level(request: &Request, level: u8) -> bool {
    request.tool() == SET && *request.argument("volume") == level
}
