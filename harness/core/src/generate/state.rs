//! Sequences of commands against a model of the level and of the settings beside it: what the status
//! shows after each, with refused commands and new connections in between that change nothing.
//!
//! Where documents leave the next state open (a level set while muted, a step beyond the bound), the
//! model says so and expects nothing until a command makes it known again.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Ground;
use super::others::{Others, SET_THEME};
use super::parts::mixed;
use super::steps::{self, SET_BRIGHTNESS, SET_VOLUME, call, one_of, put_back, request, step};
use crate::scenario::{Action, Answer, Step};

const UP: &str = "self.audio_speaker.volume_up";
const DOWN: &str = "self.audio_speaker.volume_down";
const MUTE: &str = "self.audio_speaker.mute";
const UNMUTE: &str = "self.audio_speaker.unmute";

/// Most commands of a case: each is followed by a reading.
const COMMANDS: usize = 8;

/// How many steps there may be before a further command, its readings and the end of the case.
const MOST_STEPS: usize = 14;

#[derive(Debug, Clone)]
pub(super) enum Command {
    Set(i64),
    /// By this many; absent means by ten.
    Up(Option<i64>),
    Down(Option<i64>),
    Mute,
    Unmute,
    Brightness(i64),
    Theme(&'static str),
    /// Switches the light on or off.
    Light(bool),
    /// The device has to connect again.
    Redial,
    /// Restarts the device.
    Reboot,
    /// A step of 0, or beyond 100: up or down by this many.
    OddStep(bool, i64),
    /// A call under a string id.
    Nameless(&'static str, Value),
    /// A message that must be refused, and the requirement that it changes nothing.
    Refused(Box<Step>, &'static str),
}

/// What is known of the level, and the requirement that made it so.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Level {
    Known(i64, &'static str),
    /// Muted so many times at this level.
    Muted(i64, usize),
    /// Anything; whether it is muted.
    Open(bool),
}

pub(super) fn steps(ground: &Ground, number: u32) -> BoxedStrategy<Vec<Step>> {
    if !ground.has_volume() {
        return Just(Vec::new()).boxed();
    }
    let alone =
        |commands: BoxedStrategy<Command>| commands.prop_map(|command| vec![command]).boxed();
    let bounds = || one_of(vec![0, 100, 1, 99, 10, 95]);
    let mut kinds = vec![
        alone((0..=100_i64).prop_map(Command::Set).boxed()),
        alone(bounds().prop_map(Command::Set).boxed()),
        alone(refused()),
    ];
    let mut nameless = vec![
        (SET_VOLUME, json!({"volume": 65})),
        (SET_VOLUME, json!({"volume": 0})),
    ];
    if ground.can("volume.step") && ground.callable(UP) && ground.callable(DOWN) {
        let by = || proptest::option::of(prop_oneof![1..=10_i64, 1..=100_i64]);
        kinds.push(alone(by().prop_map(Command::Up).boxed()));
        kinds.push(alone(by().prop_map(Command::Down).boxed()));
        // To the bound exactly, and beyond it.
        let up = (1..=100_i64, 0..=3_i64).prop_map(|(by, more)| {
            vec![
                Command::Set(100 - by),
                Command::Up(Some((by + more * 5).min(100))),
            ]
        });
        let down = (1..=100_i64, 0..=3_i64).prop_map(|(by, more)| {
            vec![
                Command::Set(by),
                Command::Down(Some((by + more * 5).min(100))),
            ]
        });
        kinds.push(loose(up.boxed()));
        kinds.push(loose(down.boxed()));
        let odd = one_of(vec![0, 101, 266, 300, 65_546, i64::from(i32::MAX)]);
        let odd = (any::<bool>(), odd)
            .prop_map(|(up, by)| vec![Command::Set(40), Command::OddStep(up, by)]);
        kinds.push(loose(odd.boxed()));
        nameless.extend([(UP, json!({"step": 10})), (DOWN, json!({}))]);
    }
    let mutes = can_mute(ground);
    if mutes {
        kinds.push(Just(vec![Command::Mute]).boxed());
        kinds.push(Just(vec![Command::Unmute]).boxed());
        // States, not changes: each unmute brings the level of its mutes back.
        let levels = prop_oneof![bounds(), 0..=100_i64];
        let round = (levels, 1..=3_usize).prop_map(|(level, times)| {
            let mutes = std::iter::repeat_n(Command::Mute, times);
            std::iter::once(Command::Set(level))
                .chain(mutes)
                .chain([Command::Unmute])
                .collect()
        });
        kinds.push(loose(round.boxed()));
        let silent = vec![
            Command::Set(45),
            Command::Mute,
            Command::Nameless(UNMUTE, json!({})),
        ];
        kinds.push(loose(Just(silent).boxed()));
        nameless.extend([(MUTE, json!({})), (UNMUTE, json!({}))]);
    }
    if Others::of(ground).brightness {
        kinds.push(alone((0..=100_i64).prop_map(Command::Brightness).boxed()));
    }
    kinds.extend(
        pairs(ground, mutes)
            .into_iter()
            .map(|all| loose(Just(all).boxed())),
    );
    kinds.push(alone(
        one_of(nameless)
            .prop_map(|(tool, arguments)| Command::Nameless(tool, arguments))
            .boxed(),
    ));
    let back = put_back(ground);
    let others = Others::of(ground);
    if others.theme {
        kinds.push(alone(
            one_of(vec!["dark", "light", "mcp-hil"])
                .prop_map(Command::Theme)
                .boxed(),
        ));
    }
    if others.lamp.is_some() {
        kinds.push(alone(any::<bool>().prop_map(Command::Light).boxed()));
    }
    mixed(number, kinds, COMMANDS - 1)
        .prop_map(move |commands: Vec<Vec<Command>>| {
            let mut steps = Vec::new();
            if mutes {
                steps.push(call(UNMUTE, json!({})));
            }
            steps.push(call(SET_VOLUME, json!({"volume": 40})));
            let mut level = Level::Known(40, "volume.set");
            let mut others = others.clone();
            others.begin(&mut steps);
            for command in commands.iter().flatten().take(COMMANDS) {
                if steps.len() > MOST_STEPS {
                    break;
                }
                level = play(command, level, others.lamp.as_deref(), &mut steps);
                others.follow(command, &mut steps);
            }
            others.end(&mut steps);
            if matches!(level, Level::Muted(..) | Level::Open(true)) {
                steps.push(call(UNMUTE, json!({})));
            }
            steps.push(back.clone());
            steps
        })
        .boxed()
}

/// Parts of the model that this device has not got.
pub(super) fn missing(ground: &Ground) -> Vec<&'static str> {
    let steps = ground.can("volume.step") && ground.callable(UP) && ground.callable(DOWN);
    let parts = [
        (steps, "steps of the level"),
        (can_mute(ground), "mute"),
        (ground.can("redial"), "new connections"),
        // Without new connections nothing restarts, either; that is told already.
        (
            ground.can_restart() || !ground.can("redial"),
            "restarts by command",
        ),
    ];
    let missing = parts.into_iter().filter(|(there, _)| !there);
    let missing = missing.map(|(_, name)| name);
    missing.chain(Others::of(ground).missing()).collect()
}

fn can_mute(ground: &Ground) -> bool {
    ground.can("mute") && ground.callable(MUTE) && ground.callable(UNMUTE)
}

/// Commands of which the second must leave alone what the first has set, and the same over a new
/// connection.
fn pairs(ground: &Ground, mutes: bool) -> Vec<Vec<Command>> {
    use Command::{Brightness, Light, Mute, Reboot, Redial, Set, Theme, Unmute, Up};
    let Others {
        brightness: lights,
        theme,
        lamp,
        ..
    } = Others::of(ground);
    let lamp = lamp.is_some();
    let redials = ground.can("redial");
    let out_of_range = || {
        let message = call(SET_VOLUME, json!({"volume": 101}))
            .answer("volume.out-of-range", Answer::Refused)
            .without_effect("volume.out-of-range");
        Command::Refused(Box::new(message), "volume.out-of-range")
    };
    let all = [
        (mutes, vec![Set(45), Mute, Mute, Mute, Unmute]),
        (mutes, vec![Set(30), Mute, out_of_range(), Unmute]),
        (mutes && lights, vec![Set(60), Mute, Brightness(20), Unmute]),
        (
            lights,
            vec![Set(97), Brightness(0), Set(0), Brightness(100)],
        ),
        (redials && mutes, vec![Set(35), Mute, Redial, Unmute]),
        (redials && lights, vec![Brightness(33), Redial]),
        (redials, vec![Set(0), Redial, Set(100), Redial]),
        // What survives is nobody's promise; that all works as before is.
        (
            ground.can_restart() && ground.can("volume.step") && ground.callable(UP),
            vec![Set(40), Reboot, Set(60), Up(Some(10))],
        ),
        (
            theme,
            vec![
                Theme("light"),
                Theme("mcp-hil"),
                Theme("dark"),
                Theme("mcp-hil"),
            ],
        ),
        (
            redials && theme,
            vec![Theme("dark"), Redial, Theme("light"), Redial],
        ),
        (
            lamp && lights,
            vec![Light(true), Brightness(40), Light(false), Brightness(60)],
        ),
        (
            redials && lamp,
            vec![Light(true), Redial, Light(false), Redial],
        ),
    ];
    let able = all.into_iter().filter(|(able, _)| *able);
    able.map(|(_, commands)| commands).collect()
}

/// Commands of which each may be left out when they shrink.
fn loose(commands: BoxedStrategy<Vec<Command>>) -> BoxedStrategy<Vec<Command>> {
    let kept = vec![proptest::bool::weighted(0.9999); COMMANDS];
    (kept, commands)
        .prop_map(|(kept, commands)| {
            let both = commands.into_iter().zip(kept);
            both.filter(|(_, kept)| *kept)
                .map(|(command, _)| command)
                .collect()
        })
        .boxed()
}

/// Messages that change nothing.
fn refused() -> BoxedStrategy<Command> {
    let set = |level: Value| call(SET_VOLUME, json!({"volume": level}));
    let all = [
        (
            set(json!(101)),
            "volume.out-of-range",
            "volume.out-of-range",
        ),
        (set(json!(-1)), "volume.out-of-range", "volume.out-of-range"),
        (
            call(SET_VOLUME, json!({})),
            "volume.missing-level",
            "volume.missing-level",
        ),
        (
            call("self.mcp_hil.set_volume", json!({"volume": 77})),
            "volume.unknown-command",
            "volume.unknown-command",
        ),
        (
            call(SET_VOLUME, json!({"value": 80})),
            "volume.missing-level",
            "volume.missing-level",
        ),
        (
            call("self_mcp_hil_set_volume", json!({"volume": 71})),
            "volume.unknown-command",
            "volume.unknown-command",
        ),
        (
            call("self.mcp_hil.set_volume", json!({"volume": 0})),
            "volume.unknown-command",
            "volume.unknown-command",
        ),
        (
            call("self.mcp_hil.volume_up", json!({"step": 10})),
            "volume.unknown-command",
            "volume.unknown-command",
        ),
        (
            call("self.mcp_hil.mute", json!({})),
            "volume.unknown-command",
            "volume.unknown-command",
        ),
        (
            set(json!("77")),
            "arguments.string-for-integer",
            "arguments.no-effect",
        ),
        (
            set(json!(true)),
            "arguments.boolean-for-integer",
            "arguments.no-effect",
        ),
        (
            set(json!(null)),
            "arguments.null-for-integer",
            "arguments.no-effect",
        ),
        (
            set(json!([77])),
            "arguments.structured-for-integer",
            "arguments.no-effect",
        ),
        (
            set(json!(77.5)),
            "arguments.fraction",
            "arguments.no-effect",
        ),
        (
            call(SET_VOLUME, json!({"VOLUME": 77})),
            "arguments.name-case",
            "arguments.no-effect",
        ),
        (
            call(SET_VOLUME, json!([77])),
            "call.arguments-object",
            "call.arguments-object",
        ),
        (
            request("tools/set_volume", json!({"volume": 77})),
            "errors.method-not-found",
            "arguments.no-effect",
        ),
    ];
    one_of(all.to_vec())
        .prop_map(|(message, refusal, unchanged)| {
            let message = message
                .answer(refusal, Answer::Refused)
                .without_effect(unchanged);
            Command::Refused(Box::new(message), unchanged)
        })
        .boxed()
}

/// Adds the command and a reading to the steps; the level after it.
fn play(command: &Command, level: Level, lamp: Option<&str>, steps: &mut Vec<Step>) -> Level {
    use Level::{Known, Muted, Open};
    let muted = matches!(level, Muted(..) | Open(true));
    match command {
        Command::Set(to) => {
            steps
                .push(call(SET_VOLUME, json!({"volume": to})).answer("volume.set", Answer::Result));
            let level = if muted {
                Open(true)
            } else {
                Known(*to, "volume.set")
            };
            read(level, steps)
        }
        Command::Up(by) => step_by(UP, *by, 1, level, steps),
        Command::Down(by) => step_by(DOWN, *by, -1, level, steps),
        Command::Mute => {
            let (level, requirement) = match level {
                Known(at, _) => (Muted(at, 1), "volume.mute"),
                Muted(at, times) => (Muted(at, times + 1), "volume.mute-idempotent"),
                Open(_) => (Open(true), "volume.mute"),
            };
            steps.push(call(MUTE, json!({})).answer(requirement, Answer::Result));
            read(level, steps)
        }
        Command::Unmute => {
            let message = call(UNMUTE, json!({}));
            match level {
                Muted(at, times) => {
                    let requirement = if times == 1 {
                        "volume.unmute-restores"
                    } else {
                        "volume.mute-idempotent"
                    };
                    steps.push(message.answer(requirement, Answer::Result));
                    read(Known(at, requirement), steps)
                }
                Known(at, _) => {
                    steps.push(message.answer("volume.unmute-alone", Answer::Any));
                    read(Known(at, "volume.unmute-alone"), steps);
                    // A SHOULD: what follows must not be charged as a MUST.
                    Open(false)
                }
                Open(_) => {
                    steps.push(message);
                    Open(false)
                }
            }
        }
        Command::Brightness(to) => {
            steps.push(
                call(SET_BRIGHTNESS, json!({"brightness": to}))
                    .answer("call.success", Answer::Result),
            );
            read(level, steps)
        }
        Command::Theme(theme) => {
            // A display may know other themes only, and say so in any way.
            steps
                .push(call(SET_THEME, json!({"theme": theme})).answer("call.success", Answer::Any));
            read(level, steps)
        }
        Command::Light(on) => {
            let tool = if *on { "turn_on" } else { "turn_off" };
            let tool = format!("{}.{tool}", lamp.unwrap_or_default());
            steps.push(call(&tool, json!({})).answer("call.success", Answer::Result));
            read(level, steps)
        }
        Command::Redial => {
            steps.push(step(Action::Drop { after: Vec::new() }));
            let slug = "session.state-kept";
            match level {
                Known(at, _) => drop(read(Known(at, slug), steps)),
                Muted(..) => {
                    steps.push(steps::status().shows(slug, "/json/audio_speaker", silent()));
                }
                Open(_) => {}
            }
            // A SHOULD: what follows must not be charged as a MUST.
            Open(muted)
        }
        Command::Reboot => {
            steps.push(step(Action::Reboot));
            Open(muted)
        }
        Command::OddStep(up, by) => {
            let (tool, bound, ten) = if *up { (UP, 100, 10) } else { (DOWN, 0, -10) };
            let message = call(tool, json!({"step": by}));
            let Known(at, _) = level else {
                steps.push(message);
                return Open(muted);
            };
            let (requirement, other) = match by {
                0 => ("volume.step-zero", (at + ten).clamp(0, 100)),
                _ => ("volume.step-large", bound),
            };
            steps.push(message.answer(requirement, Answer::Any));
            let shown = json!({"$in": [at, other]});
            steps.push(steps::status().shows(requirement, "/json/audio_speaker/volume", shown));
            Open(false)
        }
        Command::Nameless(tool, arguments) => {
            // One id in a session names one message.
            let id = json!(format!("mcp-hil-state-{}", steps.len())).to_string();
            let message = call(tool, arguments.clone()).under(&id);
            steps.push(
                message
                    .answer("ids.string-rejected", Answer::Refused)
                    .without_effect("ids.string-no-effect"),
            );
            after_refusal(level, "ids.string-no-effect", steps)
        }
        Command::Refused(message, unchanged) => {
            steps.push((**message).clone());
            after_refusal(level, unchanged, steps)
        }
    }
}

/// What is known after a message that changes nothing.
fn after_refusal(level: Level, unchanged: &'static str, steps: &mut Vec<Step>) -> Level {
    match level {
        Level::Known(at, _) => read(Level::Known(at, unchanged), steps),
        other => read(other, steps),
    };
    level
}

fn step_by(tool: &str, by: Option<i64>, sign: i64, level: Level, steps: &mut Vec<Step>) -> Level {
    use Level::{Known, Muted, Open};
    let arguments = by.map_or_else(|| json!({}), |by| json!({"step": by}));
    let message = call(tool, arguments);
    let (plain, saturates) = match sign {
        1 => ("volume.up", "volume.up-saturates"),
        _ => ("volume.down", "volume.down-saturates"),
    };
    let plain = if by.is_none() {
        "volume.step-default"
    } else {
        plain
    };
    match level {
        Known(at, _) => {
            let to = at + sign * by.unwrap_or(10);
            if (0..=100).contains(&to) {
                steps.push(message.answer(plain, Answer::Result));
                return read(Known(to, plain), steps);
            }
            let bound = to.clamp(0, 100);
            steps.push(message.answer(saturates, Answer::Any));
            let shown = json!({"$in": [at, bound]});
            steps.push(steps::status().shows(saturates, "/json/audio_speaker/volume", shown));
            if at == bound {
                Known(at, saturates)
            } else {
                Open(false)
            }
        }
        Muted(..) | Open(true) => {
            steps.push(message);
            Open(true)
        }
        Open(false) => {
            steps.push(message);
            Open(false)
        }
    }
}

/// What the status shows of a muted speaker: not "neither muted nor at level 0".
fn silent() -> Value {
    json!({"$not": {"muted": {"$not": true}, "volume": {"$not": 0}}})
}

/// Adds a reading that shows the level, as far as it is known.
fn read(level: Level, steps: &mut Vec<Step>) -> Level {
    match level {
        Level::Known(at, requirement) => {
            let shown = json!({"volume": at, "muted": {"$not": true}});
            steps.push(steps::status().shows(requirement, "/json/audio_speaker", shown));
        }
        Level::Muted(_, times) => {
            let requirement = if times == 1 {
                "volume.mute"
            } else {
                "volume.mute-idempotent"
            };
            steps.push(steps::status().shows(requirement, "/json/audio_speaker", silent()));
        }
        Level::Open(_) => {}
    }
    level
}
