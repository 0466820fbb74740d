//! What real devices do with time: they fade, stall, answer from several tasks, boot slowly and sit behind
//! links that jitter. One at a time, and together as stock firmware shows them.

use reference_device::Device;

use super::forgiving;
use crate::chance::Chance;
use crate::hooks::Outbound;
use crate::rows::prelude::*;

/// How long a backlight fades that takes the same time for each change.
const FADE_MS: u64 = 600;

/// A backlight fades by one percent in so many milliseconds, as on stock boards.
const FADE_STEP_MS: u64 = 5;

/// A volume takes effect at most once in so many milliseconds.
const VOLUME_EVERY_MS: u64 = 300;

/// Between how many milliseconds answers of calls come later than lists.
const TASK_MS: (u64, u64) = (5, 80);

/// What a link takes for a message on average, and by how many milliseconds that varies.
const LINK_MS: (u64, u64) = (30, 40);

/// How late every answer of the slowest device comes, in milliseconds.
const VERY_LATE_MS: u64 = 400;

/// What a slow boot takes longer, in milliseconds.
const SLOW_BOOT_MS: u64 = 2_500;

/// How long after it was last set a screen dims to save power, in milliseconds, and to which percentage.
const DIMS: (u64, u64) = (1_500, 10);

/// The tool whose answer must be out before the device restarts.
const REBOOT: &str = "self.reboot";

pub(super) const VARIANTS: &[Row] = rows! {
    "backlight-fades": "The brightness fades, one percent in 5 ms, and the status shows it fading."
        => Life { fades: true, ..PLAIN }.build();
    "backlight-fades-evenly": "The brightness fades for 600 ms, however far, and the status shows it fading."
        => Life { fades_evenly: true, ..PLAIN }.build();
    "screen-dims": "The screen dims to 10 % 1.5 s after it was last set, as by a power-save timer." => dims();
    "volume-rate-limited":
        "Volume changes take effect at most every 300 ms, and the status shows what is heard."
        => Life { lags: true, ..PLAIN }.build();
    "stalls":
        "Once in 40 messages the device stalls for 250 ms, now and then for one second or three."
        => Life { stalls: true, ..PLAIN }.build();
    "calls-apart": "Calls are answered by another task, 5 to 80 ms later than lists."
        => Life { calls_apart: true, ..PLAIN }.build();
    "boots-slowly": "A start takes 2.5 s longer." => Life { boots_slowly: true, ..PLAIN }.build();
    "link-jitters": "What the device sends takes 30 ms, plus or minus 40, and keeps its order."
        => Life { jitters: true, ..PLAIN }.build();
    "very-slow": "Every answer comes 400 ms late."
        => Life { late_ms: VERY_LATE_MS, ..PLAIN }.build();
    "parser-forgives": "The parser is as lenient as cJSON, and strings end at NUL."
        => Life { forgives: true, ..PLAIN }.build();
    "stock-life":
        "Fades, limits, stalls, two tasks, a slow start, a link that jitters and a lenient parser together, as on stock boards."
        => STOCK.build();
};

/// A device whose time is regular.
const PLAIN: Life = Life {
    fades: false,
    fades_evenly: false,
    lags: false,
    stalls: false,
    calls_apart: false,
    boots_slowly: false,
    jitters: false,
    forgives: false,
    late_ms: 0,
};

/// All at once.
const STOCK: Life = Life {
    fades: true,
    fades_evenly: false,
    lags: true,
    stalls: true,
    calls_apart: true,
    boots_slowly: true,
    jitters: true,
    forgives: true,
    late_ms: 0,
};

/// Which of these a device does.
#[derive(Clone, Copy, Debug)]
struct Life {
    fades: bool,
    fades_evenly: bool,
    lags: bool,
    stalls: bool,
    calls_apart: bool,
    boots_slowly: bool,
    jitters: bool,
    forgives: bool,
    late_ms: u64,
}

impl Life {
    /// The device that lives so.
    fn build(self) -> Defect {
        let mut stalls = Chance::default();
        let mut clock = Clock {
            life: self,
            chance: Chance::default(),
            calls_until: 0,
            others_until: 0,
            latest: 0,
        };
        let mut shown = Shown { life: self, brightness: None, volume: None };
        let mut device = defect()
            .inbound(move |inbound, hands| {
                stalls.seed(hands.device.session_json());
                if let Some(ms) = stalls.stall().filter(|_| self.stalls) {
                    hands.act(Act::Pause(ms));
                }
                if self.forgives {
                    forgiving::read(inbound, hands);
                }
                Flow::Pass
            })
            .outbound(move |outbound, hands| {
                shown.tell(outbound, hands.device);
                clock.send(outbound, hands)
            });
        if self.boots_slowly {
            device.boot_ms = SLOW_BOOT_MS;
        }
        device
    }
}

/// A device whose screen dims by itself.
fn dims() -> Defect {
    let mut lit = 0;
    defect().outbound(move |outbound, hands| {
        let now = hands.device.uptime_ms();
        let tool = outbound.cause.map(Request::tool).unwrap_or_default();
        // A start lights the screen, too.
        if tool == "self.screen.set_brightness" || now < lit {
            lit = now;
        }
        let (after, dimmed) = DIMS;
        if tool == "self.get_device_status" && now - lit >= after {
            let target = u64::from(hands.device.board().screen.brightness);
            replace(&mut outbound.text, "brightness", target, target.min(dimmed));
        }
        Flow::Pass
    })
}

/// When what the device sends arrives.
#[derive(Debug)]
struct Clock {
    life: Life,
    chance: Chance,
    /// When the latest answer to a call arrives, and the latest of all else: neither task overtakes
    /// itself.
    calls_until: u64,
    others_until: u64,
    /// The latest time, in milliseconds since the start.
    latest: u64,
}

impl Clock {
    /// A start begins the time anew: nothing of the life before is on its way any more.
    fn at(&mut self, now: u64) {
        if now < self.latest {
            (self.calls_until, self.others_until) = (0, 0);
        }
        self.latest = now;
    }

    fn send(&mut self, outbound: &mut Outbound, hands: &mut Hands) -> Flow {
        let is_call = |cause: &&Request| cause.method() == "tools/call" && cause.tool() != REBOOT;
        let call = outbound.cause.filter(is_call).is_some();
        let restarts = outbound.cause.is_some_and(|cause| cause.tool() == REBOOT);
        if restarts {
            return Flow::Pass;
        }
        let mut delay = 0;
        if call && self.life.calls_apart {
            let (least, most) = TASK_MS;
            delay += least + self.chance.below(most - least + 1);
        }
        if self.life.jitters {
            let (usual, spread) = LINK_MS;
            delay += (usual + self.chance.below(2 * spread + 1)).saturating_sub(spread);
        }
        if outbound.cause.is_some() {
            delay += self.life.late_ms;
        }
        let now = hands.device.uptime_ms();
        self.at(now);
        let until = match call && self.life.calls_apart {
            true => &mut self.calls_until,
            false => &mut self.others_until,
        };
        *until = (*until).max(now + delay);
        match *until - now {
            0 => Flow::Pass,
            delay => {
                hands.send_later(delay, core::mem::take(&mut outbound.text));
                Flow::Drop
            }
        }
    }
}

/// What the status shows of settings that do not take effect at once.
#[derive(Debug)]
struct Shown {
    life: Life,
    /// What the backlight faded from, towards what, and since when.
    brightness: Option<(u64, u64, u64)>,
    /// What is heard, and since when.
    volume: Option<(u64, u64)>,
}

impl Shown {
    fn tell(&mut self, outbound: &mut Outbound, device: &Device) {
        let Some(cause) = outbound.cause else { return };
        let now = device.uptime_ms();
        let told = cause.tool() == "self.get_device_status";
        if self.life.fades || self.life.fades_evenly {
            let target = u64::from(device.board().screen.brightness);
            let shown = self.faded(target, now);
            if told {
                replace(&mut outbound.text, "brightness", target, shown);
            }
        }
        if self.life.lags {
            let target = u64::from(device.board().speaker.audible());
            let shown = self.heard(target, now);
            if told {
                replace(&mut outbound.text, "volume", target, shown);
            }
        }
    }

    fn faded(&mut self, target: u64, now: u64) -> u64 {
        // A start shows the settings as they are.
        let fading = self.brightness.filter(|(_, _, since)| *since <= now);
        let (from, to, since) = fading.unwrap_or((target, target, now));
        let steps = match self.life.fades_evenly {
            true => from.abs_diff(to) * (now - since).min(FADE_MS) / FADE_MS,
            false => (now - since) / FADE_STEP_MS,
        };
        let shown = match from <= to {
            true => (from + steps).min(to),
            false => from.saturating_sub(steps).max(to),
        };
        if fading.is_none() || to != target {
            self.brightness = Some((shown, target, now));
        }
        shown
    }

    fn heard(&mut self, target: u64, now: u64) -> u64 {
        let (heard, since) = self.volume.unwrap_or((target, now));
        let may = now < since || now - since >= VOLUME_EVERY_MS;
        self.volume = Some(match may && heard != target {
            true => (target, now),
            false => (heard, since),
        });
        self.volume.map_or(target, |(heard, _)| heard)
    }
}

/// Changes a number in the status, which stands as text within the answer.
fn replace(text: &mut String, name: &str, target: u64, shown: u64) {
    if target != shown {
        let (from, to) = (format!("\\\"{name}\\\":{target},"), format!("\\\"{name}\\\":{shown},"));
        *text = text.replacen(&from, &to, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlight_passes_all_values_on_its_way() {
        let mut shown = Shown { life: PLAIN, brightness: None, volume: None };
        assert_eq!(shown.faded(75, 0), 75);
        assert_eq!(shown.faded(20, 100), 75);
        assert_eq!(shown.faded(20, 150), 65);
        // Turned round on its way.
        assert_eq!(shown.faded(70, 160), 63);
        assert_eq!(shown.faded(70, 170), 65);
        assert_eq!(shown.faded(70, 10_000), 70);
        assert_eq!(shown.faded(20, 10_010), 70);
        // A start.
        assert_eq!(shown.faded(20, 5), 20);
        assert_eq!(shown.faded(20, 10_020), 20);
    }

    #[test]
    fn a_volume_is_heard_when_it_may_change_again() {
        let mut shown = Shown { life: PLAIN, brightness: None, volume: None };
        assert_eq!(shown.heard(70, 0), 70);
        assert_eq!(shown.heard(40, 400), 40);
        assert_eq!(shown.heard(50, 500), 40);
        assert_eq!(shown.heard(60, 699), 40);
        assert_eq!(shown.heard(60, 700), 60);
    }

    #[test]
    fn nothing_of_an_earlier_life_keeps_a_started_device_waiting() {
        let mut clock = Clock {
            life: PLAIN,
            chance: Chance::default(),
            calls_until: 7_080,
            others_until: 7_030,
            latest: 7_000,
        };
        clock.at(7_010);
        assert_eq!((clock.calls_until, clock.others_until), (7_080, 7_030));
        clock.at(3);
        assert_eq!((clock.calls_until, clock.others_until), (0, 0));
    }

    #[test]
    fn stalls_come_now_and_then() {
        let mut chance = Chance::default();
        let stalls: Vec<u64> = (0..40_000).filter_map(|_| chance.stall()).collect();
        let of = |ms: u64| stalls.iter().filter(|one| **one == ms).count();
        assert!((900..1_100).contains(&of(250)), "{}", of(250));
        assert!((20..70).contains(&of(1_000)), "{}", of(1_000));
        assert!((3..25).contains(&of(3_000)), "{}", of(3_000));
    }
}
