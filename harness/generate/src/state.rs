//! Sequences of commands against a model of the level and of the settings beside it: what the status
//! shows after each, with refused commands and new connections in between that change nothing.
//!
//! Where documents leave the next state open (a level set while muted, a step beyond the bound), the
//! model says so and expects nothing until a command makes it known again.

use mcp_hil_core::catalogue::RequirementId as Id;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::arguments::some_of;
use crate::command::Command;
use crate::context::{Context, Kind, Tool};
use crate::others::Others;
use crate::parts::mixed;
use crate::steps::StepExt as _;
use crate::steps::{self, call, one_of, put_back, request};
use crate::tool_names::{DOWN, MUTE, SET_BRIGHTNESS, SET_THEME, SET_VOLUME, UNMUTE, UP};
use mcp_hil_scenario::{Action, Answer, Matcher, Step};

/// What only SHOULD be refused: who carries it out is left where it leads.
const TOLERATED: [Id; 2] = [Id::ArgumentsNameCase, Id::IdsStringNoEffect];

/// Where the status shows the speaker.
const SPEAKER: &str = "/json/audio_speaker";

/// Most commands of a case: each is followed by a reading.
const COMMANDS: usize = 8;

/// How many steps there may be before a further command, its readings and the end of the case.
const MOST_STEPS: usize = 14;

/// What is known of the level, and the requirement that made it so.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Level {
    Known(i64, Id),
    /// Muted so many times at this level.
    Muted(i64, usize),
    /// Anything; whether it is muted.
    Open(bool),
}

pub(super) fn steps(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    let sequences = sequences(context, number);
    if knows_mutes(context) {
        return sequences;
    }
    let forgotten = |mut steps: Vec<Step>| {
        steps.iter_mut().for_each(forget_mutes);
        steps
    };
    sequences.prop_map(forgotten).boxed()
}

fn sequences(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    if !context.has_volume() {
        return Just(Vec::new()).boxed();
    }
    let kinds = kinds(context);
    let mutes = can_mute(context);
    let each = number as usize;
    if let Some(levels) = each.checked_sub(kinds.len()).and_then(|nth| levels(context, nth)) {
        return levels;
    }
    let back = put_back(context);
    let others = Others::of(context);
    mixed(number, kinds, COMMANDS - 1)
        .prop_map(move |commands: Vec<Vec<Command>>| {
            let mut steps = Vec::new();
            if mutes {
                steps.push(call(UNMUTE, json!({})));
            }
            steps.push(call(SET_VOLUME, json!({"volume": 40})));
            let mut level = Level::Known(40, Id::VolumeSet);
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

/// Whether nothing but the commands of a sequence mutes the speaker: other inputs may have called another tool for that.
fn knows_mutes(context: &Context) -> bool {
    let is_other = |tool: &Tool| {
        let name = tool.name.as_str();
        name.contains("mute") && ![MUTE, UNMUTE].contains(&name)
    };
    !context.tools().iter().any(is_other)
}

/// Takes back what a reading expects of a speaker that is not muted.
fn forget_mutes(step: &mut Step) {
    let parts = step.expect.iter_mut().flat_map(|expect| &mut expect.parts);
    for (_, matcher) in parts.filter(|(pointer, _)| pointer == SPEAKER) {
        let mut pattern = matcher.pattern().clone();
        let muted = pattern.as_object_mut().and_then(|shown| shown.remove("muted"));
        if let Some(forgotten) = muted.and_then(|_| Matcher::new(pattern).ok()) {
            *matcher = forgotten;
        }
    }
}

/// How many inputs it takes where so many are asked for: each kind of command leads one, if few more must do, and behind
/// them come the levels.
pub(super) fn inputs(context: &Context, asked: u32) -> u32 {
    if !context.has_volume() {
        return asked;
    }
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let kinds = count(kinds(context).len());
    let most = asked.saturating_mul(2);
    let levels = match context.is_quick() {
        true => count(LEVELS.div_ceil(LEVELS_OF_AN_INPUT)),
        false => 0,
    };
    if kinds > most { most } else { (kinds + levels).max(asked) }
}

/// How many levels there are, and how many of them are set and read by one input.
const LEVELS: usize = 101;
const LEVELS_OF_AN_INPUT: usize = 9;

/// Sets and reads some of the levels, all of which come where the device is quick.
fn levels(context: &Context, nth: usize) -> Option<BoxedStrategy<Vec<Step>>> {
    let all: Vec<i64> = (0..).take(LEVELS).collect();
    let some = all.chunks(LEVELS_OF_AN_INPUT).nth(nth).filter(|_| context.is_quick())?.to_vec();
    let back = put_back(context);
    let steps = some_of(some).prop_map(move |levels| {
        let mut steps = Vec::new();
        for level in levels {
            play(&Command::Set(level), Level::Open(false), None, &mut steps);
        }
        steps.push(back.clone());
        steps
    });
    Some(steps.boxed())
}

/// What a case is put together from, as far as this device can do it.
fn kinds(context: &Context) -> Vec<BoxedStrategy<Vec<Command>>> {
    let (mutes, others) = (can_mute(context), Others::of(context));
    let bounds = || one_of(vec![0, 100, 1, 99, 10, 95]);
    let mut kinds = vec![
        alone((0..=100_i64).prop_map(Command::Set).boxed()),
        alone(bounds().prop_map(Command::Set).boxed()),
        alone(refused(context.can("volume.required"))),
    ];
    let mut nameless =
        vec![(SET_VOLUME, json!({"volume": 65})), (SET_VOLUME, json!({"volume": 0}))];
    if can_step(context) {
        kinds.extend(level_steps(greatest_step(context), context.steps_by_ten()));
        nameless.extend([(UP, json!({"step": 10})), (DOWN, json!({}))]);
    }
    if mutes {
        kinds.push(Just(vec![Command::Mute]).boxed());
        kinds.push(Just(vec![Command::Unmute]).boxed());
        // States, not changes: each unmute brings the level of its mutes back.
        let levels = prop_oneof![bounds(), 0..=100_i64];
        let round = (levels, 1..=3_usize).prop_map(|(level, times)| {
            let mutes = std::iter::repeat_n(Command::Mute, times);
            std::iter::once(Command::Set(level)).chain(mutes).chain([Command::Unmute]).collect()
        });
        kinds.push(loose(round.boxed()));
        let silent = vec![Command::Set(45), Command::Mute, Command::Nameless(UNMUTE, json!({}))];
        kinds.push(loose(Just(silent).boxed()));
        nameless.extend([(MUTE, json!({})), (UNMUTE, json!({}))]);
    }
    if others.brightness {
        let (darkest, brightest) = brightnesses(context);
        kinds.push(alone((darkest..=brightest).prop_map(Command::Brightness).boxed()));
    }
    kinds.extend(pairs(context, mutes).into_iter().map(|all| loose(Just(all).boxed())));
    kinds.push(alone(
        one_of(nameless).prop_map(|(tool, arguments)| Command::Nameless(tool, arguments)).boxed(),
    ));
    if others.theme {
        kinds
            .push(alone(one_of(vec!["dark", "light", "mcp-hil"]).prop_map(Command::Theme).boxed()));
    }
    if others.lamp.is_some() {
        kinds.push(alone(any::<bool>().prop_map(Command::Light).boxed()));
    }
    kinds
}

/// Steps up and down: between the bounds, to them and beyond, and by odd numbers; also by none, where that is ten.
fn level_steps(greatest: i64, by_ten: bool) -> [BoxedStrategy<Vec<Command>>; 5] {
    let by = move || {
        let by = proptest::option::of(prop_oneof![1..=greatest.min(10), 1..=greatest]);
        by.prop_map(move |by| by.or((!by_ten).then_some(1)))
    };
    // To the bound exactly, and beyond it.
    let up = (1..=greatest, 0..=3_i64).prop_map(move |(by, more)| {
        vec![Command::Set(100 - by), Command::Up(Some((by + more * 5).min(greatest)))]
    });
    let down = (1..=greatest, 0..=3_i64).prop_map(move |(by, more)| {
        vec![Command::Set(by), Command::Down(Some((by + more * 5).min(greatest)))]
    });
    let odd = one_of(vec![0, 101, 266, 300, 65_546, i64::from(i32::MAX)]);
    let odd =
        (any::<bool>(), odd).prop_map(|(up, by)| vec![Command::Set(40), Command::OddStep(up, by)]);
    [
        alone(by().prop_map(Command::Up).boxed()),
        alone(by().prop_map(Command::Down).boxed()),
        loose(up.boxed()),
        loose(down.boxed()),
        loose(odd.boxed()),
    ]
}

fn alone(commands: BoxedStrategy<Command>) -> BoxedStrategy<Vec<Command>> {
    commands.prop_map(|command| vec![command]).boxed()
}

/// Parts of the model that this device has not got.
pub(super) fn missing(context: &Context) -> Vec<&'static str> {
    let parts = [
        (can_step(context), "volume steps"),
        (can_mute(context), "mute"),
        (context.can("reconnect"), "new connections"),
        // Without new connections nothing restarts, either; that is told already.
        (context.can_restart() || !context.can("reconnect"), "restarts by command"),
    ];
    let missing = parts.into_iter().filter(|(there, _)| !there);
    let missing = missing.map(|(_, name)| name);
    missing.chain(Others::of(context).missing()).collect()
}

fn can_step(context: &Context) -> bool {
    context.can("volume.step") && context.callable(UP) && context.callable(DOWN)
}

/// The greatest step that both tools take by their schemas; 100 where they state none.
fn greatest_step(context: &Context) -> i64 {
    let tools = context.tools().iter().filter(|tool| tool.name == UP || tool.name == DOWN);
    let arguments = tools.flat_map(|tool| &tool.arguments);
    let greatest =
        arguments.filter(|argument| argument.name == "step").filter_map(|step| match step.kind {
            Kind::Integer { maximum, .. } => maximum,
            _ => None,
        });
    greatest.min().unwrap_or(100).clamp(1, 100)
}

/// The least and the greatest brightness that the tool takes by its schema; 0 and 100 where it states none.
fn brightnesses(context: &Context) -> (i64, i64) {
    let tools = context.tools().iter().filter(|tool| tool.name == SET_BRIGHTNESS);
    let mut arguments = tools.flat_map(|tool| &tool.arguments);
    let bounds = arguments.find(|argument| argument.name == "brightness").map(|one| &one.kind);
    let (least, greatest) = match bounds {
        Some(Kind::Integer { minimum, maximum }) => (minimum.unwrap_or(0), maximum.unwrap_or(100)),
        _ => (0, 100),
    };
    (least, greatest.max(least))
}

fn can_mute(context: &Context) -> bool {
    context.can("mute") && context.callable(MUTE) && context.callable(UNMUTE)
}

/// Commands of which the second must leave alone what the first has set, and the same over a new
/// connection.
fn pairs(context: &Context, mutes: bool) -> Vec<Vec<Command>> {
    use Command::{Light, Mute, Reboot, Reconnect, Set, Theme, Unmute, Up};
    let Others { brightness: lights, theme, lamp, .. } = Others::of(context);
    let lamp = lamp.is_some();
    let (darkest, brightest) = brightnesses(context);
    let lit = |to: i64| Command::Brightness(to.clamp(darkest, brightest));
    let reconnects = context.can("reconnect");
    let out_of_range = || {
        let message = call(SET_VOLUME, json!({"volume": 101}))
            .answer(Id::VolumeOutOfRange, Answer::Refused)
            .without_effect(Id::VolumeOutOfRange);
        Command::Refused(Box::new(message), Id::VolumeOutOfRange)
    };
    let unknown = || {
        let message = call("self.mcp_hil.turn_on", json!({}))
            .answer(Id::CallUnknownToolRefused, Answer::Refused)
            .without_effect(Id::StatusKept)
            .like("unknown-tool");
        Command::Refused(Box::new(message), Id::StatusKept)
    };
    let all = [
        (mutes, vec![Set(45), Mute, Mute, Mute, Unmute]),
        (mutes, vec![Set(30), Mute, out_of_range(), Unmute]),
        (mutes && lights, vec![Set(60), Mute, lit(20), Unmute]),
        (lights, vec![Set(97), lit(0), Set(0), lit(100)]),
        (reconnects && mutes, vec![Set(35), Mute, Reconnect, Unmute]),
        (reconnects && lights, vec![lit(33), Reconnect]),
        (reconnects, vec![Set(0), Reconnect, Set(100), Reconnect]),
        // What survives is nobody's promise; that all works as before is.
        (
            context.can_restart() && context.can("volume.step") && context.callable(UP),
            vec![Set(40), Reboot, Set(60), Up(Some(10))],
        ),
        (theme, vec![Theme("light"), Theme("mcp-hil"), Theme("dark"), Theme("mcp-hil")]),
        (reconnects && theme, vec![Theme("dark"), Reconnect, Theme("light"), Reconnect]),
        (theme && lights, vec![lit(40), Theme("light"), lit(60), Theme("dark"), Theme("light")]),
        (lamp && lights, vec![Light(true), lit(40), Light(false), lit(60)]),
        // States, not changes: on twice is on.
        (lamp, vec![Light(true), Light(true), Light(false), Light(false)]),
        (lamp, vec![Light(true), out_of_range(), Light(false), unknown()]),
        (reconnects && lamp, vec![Light(true), Reconnect, Light(false), Reconnect]),
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
            both.filter(|(_, kept)| *kept).map(|(command, _)| command).collect()
        })
        .boxed()
}

/// Messages that change nothing; whether set_volume requires a level. Who has a default for it takes that.
fn refused(requires_level: bool) -> BoxedStrategy<Command> {
    let set = |level: Value| call(SET_VOLUME, json!({"volume": level}));
    let all = [
        (set(json!(101)), Id::VolumeOutOfRange, Id::VolumeOutOfRange),
        (set(json!(-1)), Id::VolumeOutOfRange, Id::VolumeOutOfRange),
        (call(SET_VOLUME, json!({})), Id::VolumeMissingLevel, Id::VolumeMissingLevel),
        (
            call("self.mcp_hil.set_volume", json!({"volume": 77})),
            Id::VolumeUnknownCommand,
            Id::VolumeUnknownCommand,
        ),
        (call(SET_VOLUME, json!({"value": 80})), Id::VolumeMissingLevel, Id::VolumeMissingLevel),
        (
            call("self_mcp_hil_set_volume", json!({"volume": 71})),
            Id::VolumeUnknownCommand,
            Id::VolumeUnknownCommand,
        ),
        (
            call("self.mcp_hil.set_volume", json!({"volume": 0})),
            Id::VolumeUnknownCommand,
            Id::VolumeUnknownCommand,
        ),
        (
            call("self.mcp_hil.volume_up", json!({"step": 10})),
            Id::VolumeUnknownCommand,
            Id::VolumeUnknownCommand,
        ),
        (call("self.mcp_hil.mute", json!({})), Id::VolumeUnknownCommand, Id::VolumeUnknownCommand),
        (set(json!("77")), Id::ArgumentsStringForInteger, Id::ArgumentsNoEffect),
        (set(json!(true)), Id::ArgumentsBooleanForInteger, Id::ArgumentsNoEffect),
        (set(json!(null)), Id::ArgumentsNullForInteger, Id::ArgumentsNoEffect),
        (set(json!([77])), Id::ArgumentsStructuredForInteger, Id::ArgumentsNoEffect),
        (set(json!(77.5)), Id::ArgumentsFraction, Id::ArgumentsNoEffect),
        (call(SET_VOLUME, json!({"VOLUME": 77})), Id::ArgumentsNameCase, Id::ArgumentsNameCase),
        (call(SET_VOLUME, json!([77])), Id::CallArgumentsObject, Id::CallArgumentsObject),
        (
            request("tools/set_volume", json!({"volume": 77})),
            Id::ErrorsMethodNotFound,
            Id::ArgumentsNoEffect,
        ),
    ];
    const LEVELLESS: [Id; 3] =
        [Id::VolumeMissingLevel, Id::ArgumentsNameCase, Id::CallArgumentsObject];
    let all =
        all.into_iter().filter(|(_, refusal, _)| requires_level || !LEVELLESS.contains(refusal));
    one_of(all.collect())
        .prop_map(|(message, refusal, unchanged)| {
            let mut message = message.answer(refusal, Answer::Refused).without_effect(unchanged);
            if refusal == Id::VolumeUnknownCommand {
                message = message.like("unknown-tool");
            }
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
            let message = call(SET_VOLUME, json!({"volume": to}));
            steps.push(message.answer(Id::VolumeSet, Answer::Result));
            let level = if muted { Open(true) } else { Known(*to, Id::VolumeSet) };
            read(level, steps)
        }
        Command::Up(by) => step_by(UP, *by, 1, level, steps),
        Command::Down(by) => step_by(DOWN, *by, -1, level, steps),
        Command::Mute => {
            // Who is muted already may say so.
            let (level, requirement, answer) = match level {
                Known(at, _) => (Muted(at, 1), Id::VolumeMute, Answer::Result),
                Muted(at, times) => (Muted(at, times + 1), Id::VolumeMuteIdempotent, Answer::Any),
                Open(_) => (Open(true), Id::VolumeMute, Answer::Any),
            };
            steps.push(call(MUTE, json!({})).answer(requirement, answer));
            read(level, steps)
        }
        Command::Unmute => unmute(level, steps),
        Command::Brightness(to) => {
            let message = call(SET_BRIGHTNESS, json!({"brightness": to}));
            steps.push(message.answer(Id::CallSuccess, Answer::Result));
            read(level, steps)
        }
        Command::Theme(theme) => {
            // A display may know other themes only, and say so in any way; what it refuses it does not do.
            let message = call(SET_THEME, json!({"theme": theme}));
            let message = message.answer(Id::CallSuccess, Answer::Any);
            steps.push(message.without_effect(Id::StatusKept));
            read(level, steps)
        }
        Command::Light(on) => {
            let tool = if *on { "turn_on" } else { "turn_off" };
            let tool = format!("{}.{tool}", lamp.unwrap_or_default());
            steps.push(call(&tool, json!({})).answer(Id::CallSuccess, Answer::Result));
            read(level, steps)
        }
        Command::Reconnect => {
            steps.push(Step::of(Action::Disconnect {
                after: Vec::new(),
                inside: false,
                pinged: false,
            }));
            steps.push(steps::initialize());
            let slug = Id::SessionStateKept;
            match level {
                Known(at, _) => drop(read(Known(at, slug), steps)),
                Muted(..) => {
                    steps.push(steps::status().shows(slug, SPEAKER, silent()));
                }
                Open(_) => {}
            }
            // A SHOULD: what follows must not be charged as a MUST.
            Open(muted)
        }
        Command::Reboot => {
            steps.push(Step::of(Action::Reboot));
            steps.push(steps::initialize());
            Open(muted)
        }
        Command::OddStep(up, by) => odd_step(*up, *by, level, steps),
        Command::Nameless(tool, arguments) => {
            // One id in a session names one message.
            let id = json!(format!("mcp-hil-state-{}", steps.len())).to_string();
            let message = call(tool, arguments.clone()).under(&id);
            let message = message.answer(Id::IdsStringRejected, Answer::Refused);
            steps.push(message.without_effect(Id::IdsStringNoEffect));
            after_refusal(level, Id::IdsStringNoEffect, steps)
        }
        Command::Refused(message, unchanged) => {
            steps.push((**message).clone());
            after_refusal(level, *unchanged, steps)
        }
    }
}

fn unmute(level: Level, steps: &mut Vec<Step>) -> Level {
    use Level::{Known, Muted, Open};
    let message = call(UNMUTE, json!({}));
    match level {
        Muted(at, times) => {
            let requirement =
                if times == 1 { Id::VolumeUnmuteRestores } else { Id::VolumeMuteIdempotent };
            steps.push(message.answer(requirement, Answer::Result));
            read(Known(at, requirement), steps)
        }
        Known(at, _) => {
            steps.push(message.answer(Id::VolumeUnmuteAlone, Answer::Any));
            read(Known(at, Id::VolumeUnmuteAlone), steps);
            // A SHOULD: what follows must not be charged as a MUST.
            Open(false)
        }
        Open(_) => {
            steps.push(message);
            Open(false)
        }
    }
}

/// A step by nothing, or by more than there is: the device may take it in either of two ways.
fn odd_step(up: bool, by: i64, level: Level, steps: &mut Vec<Step>) -> Level {
    let (tool, bound, ten) = if up { (UP, 100, 10) } else { (DOWN, 0, -10) };
    let message = call(tool, json!({"step": by}));
    let Level::Known(at, _) = level else {
        steps.push(message);
        return Level::Open(matches!(level, Level::Muted(..) | Level::Open(true)));
    };
    let (requirement, other) = match by {
        0 => (Id::VolumeStepZero, (at + ten).clamp(0, 100)),
        _ => (Id::VolumeStepLarge, bound),
    };
    steps.push(message.answer(requirement, Answer::Any));
    let shown = json!({"$in": [at, other]});
    steps.push(steps::status().shows(requirement, "/json/audio_speaker/volume", shown));
    Level::Open(false)
}

/// What is known after a message that changes nothing.
fn after_refusal(level: Level, unchanged: Id, steps: &mut Vec<Step>) -> Level {
    let tolerated = TOLERATED.contains(&unchanged);
    match level {
        Level::Muted(..) if tolerated => {
            steps.push(steps::status().shows(unchanged, SPEAKER, silent()));
        }
        Level::Known(at, _) => drop(read(Level::Known(at, unchanged), steps)),
        other => drop(read(other, steps)),
    }
    match tolerated {
        // A SHOULD: what follows must not be charged as a MUST.
        true => Level::Open(matches!(level, Level::Muted(..) | Level::Open(true))),
        false => level,
    }
}

fn step_by(tool: &str, by: Option<i64>, sign: i64, level: Level, steps: &mut Vec<Step>) -> Level {
    use Level::{Known, Muted, Open};
    let arguments = by.map_or_else(|| json!({}), |by| json!({"step": by}));
    let message = call(tool, arguments);
    let (plain, saturates) = match sign {
        1 => (Id::VolumeUp, Id::VolumeUpSaturates),
        _ => (Id::VolumeDown, Id::VolumeDownSaturates),
    };
    let plain = if by.is_none() { Id::VolumeStepDefault } else { plain };
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
            if at == bound { Known(at, saturates) } else { Open(false) }
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

/// What the status shows of a muted speaker: anything but "not muted" with a level. Some show nothing of it.
fn silent() -> Value {
    json!({"$not": {"muted": false, "volume": {"$not": 0}}})
}

/// Adds a reading that shows the level, as far as it is known.
fn read(level: Level, steps: &mut Vec<Step>) -> Level {
    match level {
        Level::Known(at, requirement) => {
            // A status may well call a level of 0 muted.
            let shown = match at {
                0 => json!({"volume": 0}),
                at => json!({"volume": at, "muted": {"$not": true}}),
            };
            steps.push(steps::status().shows(requirement, SPEAKER, shown));
        }
        Level::Muted(_, times) => {
            let requirement = if times == 1 { Id::VolumeMute } else { Id::VolumeMuteIdempotent };
            steps.push(steps::status().shows(requirement, SPEAKER, silent()));
        }
        Level::Open(_) => {}
    }
    level
}
