//! Defects that only time shows.

use crate::rows::prelude::*;

/// How long the device lives before it restarts by itself.
const LIFE_MS: u64 = 2_000;

/// How long a silence is that it does not get over.
const SILENCE_MS: u64 = 1_200;

/// After which time a level is lost.
const FALLS_MS: u64 = 1_000;

pub(super) const MUTANTS: &[Row] = rows! {
    "reset-by-itself": "Two seconds after its first answer the device restarts." => {
        let mut first = once();
        defect().on_answer_text(move |_, _, hands| {
            if first() {
                hands.act_later(LIFE_MS, Act::Restart);
            }
            Flow::Pass
        })
    };
    "volume-falls-back": "A second after it was set the volume is what it was before." => {
        let [level, due] = shared(None);
        defect()
            .on_call(move |params, hands| {
                if params["name"] == SET {
                    level.set(Some(hands.device.board_mut().speaker.volume));
                    hands.act_later(FALLS_MS, Act::Wake);
                }
            })
            .wake(move |hands| if let Some(before) = due.take() {
                hands.device.board_mut().speaker.volume = before;
            })
    };
    "deaf-after-silence": "The first message after more than a second of silence is lost."
        => after_silence(|_| Flow::Drop);
    "drop-after-silence":
        "A connection that was silent for more than a second is closed when a message comes."
        => after_silence(|hands| instead(Act::Disconnect, hands));
    "volume-drifts-in-silence": "A silence of more than a second makes the loudspeaker one percent quieter."
        => after_silence(|hands| {
            let volume = &mut hands.device.board_mut().speaker.volume;
            *volume = volume.saturating_sub(1);
            Flow::Pass
        });
    "slower-with-each-call": "Each call takes three milliseconds longer than the one before." => {
        let mut late = 0;
        defect().on_answer_text(move |cause, text, hands| {
            if cause.tool().is_empty() {
                return Flow::Pass;
            }
            late += 3;
            hands.send_later(late, core::mem::take(text));
            Flow::Drop
        })
    };
};

/// What becomes of the first message after a silence.
fn after_silence(becomes: fn(&mut Hands) -> Flow) -> Defect {
    let mut latest = 0;
    defect().inbound(move |_, hands| {
        let now = hands.device.uptime_ms();
        let silence = now.saturating_sub(core::mem::replace(&mut latest, now));
        if silence > SILENCE_MS { becomes(hands) } else { Flow::Pass }
    })
}
