//! Arguments, from the input schemas of the tools that may be called: what a schema allows is
//! accepted and shows in the status where there is one, what it forbids is refused without effect.
//!
//! Only what the catalogue judges is expected. A call of several arguments, or with a free text, may
//! be refused for reasons that no schema tells. Steps of the volume beyond their bounds are left out:
//! the documents let a device stop at the bound, or count 0 as left out.

use mcp_hil_core::capability::is_setting;
use mcp_hil_core::catalogue::RequirementId as Id;
use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::context::{Argument, Kind, Tool};
use crate::parts::dealt;
use crate::shown::{shown_at, shown_by};
use crate::steps::StepExt as _;
use crate::steps::{self, as_written, call, object, one_of, put_back, raw_call};
use crate::tool_names::{SET_BRIGHTNESS, SET_VOLUME};
use mcp_hil_scenario::{Answer, Step};

/// Exchanges that belong together.
pub(crate) type Op = Vec<Step>;

/// Most steps of an input, one that puts the settings back aside.
pub(crate) const MOST_STEPS: usize = 19;

/// Operations of an input, unless there are more kinds than that for each.
const MOST_OPS: usize = 7;

pub(super) fn steps(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    // With few draws the order matters: first what shows in the status, then an argument of each type,
    // then further ones of the same types.
    let mut arguments: Vec<(&Tool, &Argument)> = Vec::new();
    for tool in context.tools() {
        arguments.extend(tool.arguments.iter().map(|argument| (tool, argument)));
    }
    let mut types = BTreeSet::new();
    arguments.sort_by_cached_key(|(tool, argument)| {
        let kind = match argument.kind {
            Kind::Integer { .. } => 'i',
            Kind::Boolean => 'b',
            Kind::Text { .. } => 't',
            Kind::Samples(_) => 's',
            Kind::Other => 'o',
        };
        shown_at(context, tool).is_none() && !types.insert((kind, argument.required))
    });
    let kinds: Vec<BoxedStrategy<Op>> = arguments
        .iter()
        .flat_map(|(tool, argument)| of_argument(context, tool, argument))
        .collect();
    let touches = context.has_volume();
    let back = put_back(context);
    dealt(number, &kinds, MOST_OPS)
        .prop_map(move |ops: Vec<Op>| {
            let mut steps = Op::new();
            for op in ops {
                if steps.len() + op.len() <= MOST_STEPS {
                    steps.extend(op);
                }
            }
            if touches && !steps.is_empty() {
                steps.push(back.clone());
            }
            steps
        })
        .boxed()
}

/// What can be tried with one argument of a tool.
fn of_argument(context: &Context, tool: &Tool, argument: &Argument) -> Vec<BoxedStrategy<Op>> {
    let mut kinds = Vec::new();
    match &argument.kind {
        Kind::Integer { minimum, maximum } => {
            kinds.extend(good_integers(context, tool, argument, *minimum, *maximum));
            kinds.extend(bad_integers(context, tool, argument, *minimum, *maximum));
        }
        Kind::Boolean => {
            kinds.extend(good_booleans(tool, argument));
            kinds.extend(wrong_values(context, tool, argument));
        }
        Kind::Text { .. } if argument.default.is_some() => {
            kinds.extend(wrong_values(context, tool, argument));
        }
        Kind::Text { choices } if argument.required => {
            // A good text, so that only its type is wrong; most displays have this theme.
            let text = choices.first().map_or("light", String::as_str);
            let wrong = [
                json!([text, "dark"]),
                json!([text]),
                json!({"name": text}),
                json!(null),
                json!(1),
                json!(2),
                json!(0.5),
                json!(true),
                json!([]),
                json!({}),
            ];
            // All in one input, until it shrinks: few draws must do.
            let refuse = refuser(context, tool, argument, Id::ArgumentsStringWrongType);
            let all = some_of(wrong.map(|value| value.to_string()).to_vec());
            let op = all.prop_map(move |values| values.iter().flat_map(|v| refuse(v)).collect());
            kinds.push(op.boxed());
        }
        Kind::Samples(_) => kinds.extend(wrong_values(context, tool, argument)),
        Kind::Text { .. } | Kind::Other => {}
    }
    if argument.required {
        kinds.push(missing(context, tool, argument));
        kinds.extend(renamed(context, tool, argument));
    } else if argument.default.is_some() && accepts(tool) {
        kinds.push(left_out(context, tool));
    }
    if matches!(argument.kind, Kind::Integer { .. }) {
        kinds.push(extra(tool));
    }
    kinds
}

/// Whether a call that obeys the schema must succeed: it sets something by one argument only, whose values the schema
/// tells.
pub(crate) fn accepts(tool: &Tool) -> bool {
    is_setting(&tool.name)
        && tool.arguments.len() == 1
        && match &tool.arguments[0].kind {
            Kind::Integer { minimum, maximum } => minimum.is_some() && maximum.is_some(),
            Kind::Boolean => true,
            Kind::Text { choices } => !choices.is_empty(),
            Kind::Samples(_) | Kind::Other => false,
        }
}

/// Whether a tool changes the level by a step, whose bounds the documents leave open.
pub(crate) fn is_step(tool: &Tool) -> bool {
    tool.name.ends_with(".volume_up") || tool.name.ends_with(".volume_down")
}

/// A level in the middle, so that a step does not meet its bound.
pub(crate) fn middle(context: &Context, tool: &Tool) -> Op {
    if is_step(tool) && context.has_volume() {
        vec![call(SET_VOLUME, json!({"volume": 50}))]
    } else {
        Vec::new()
    }
}

/// Good values for all required arguments but one.
pub(crate) fn others(tool: &Tool, but: &Argument) -> Map<String, Value> {
    let required = tool.arguments.iter().filter(|one| one.required && one.name != but.name);
    required.map(|one| (one.name.clone(), value_of(&one.kind))).collect()
}

/// Good values for all required arguments.
pub(crate) fn values(tool: &Tool) -> Map<String, Value> {
    let required = tool.arguments.iter().filter(|one| one.required);
    required.map(|one| (one.name.clone(), value_of(&one.kind))).collect()
}

pub(crate) fn value_of(kind: &Kind) -> Value {
    match kind {
        Kind::Integer { minimum, maximum } => match (minimum, maximum) {
            (Some(low), Some(high)) => i64::midpoint(*low, *high).into(),
            (Some(bound), None) | (None, Some(bound)) => (*bound).into(),
            (None, None) => 1.into(),
        },
        Kind::Boolean => true.into(),
        Kind::Text { choices } => choices.first().map_or("mcp-hil", String::as_str).into(),
        Kind::Samples(samples) => samples.good.clone(),
        Kind::Other => Value::Null,
    }
}

/// Makes the call with a good value for one argument, and reads what it has set.
pub(crate) fn good_integer(
    context: &Context,
    tool: &Tool,
    argument: &Argument,
    (low, high): (i64, i64),
) -> impl Fn(i64) -> Op + Clone + 'static {
    let (tool, rest, name) = (tool.clone(), others(tool, argument), argument.name.clone());
    let (before, at) = (middle(context, &tool), shown_by(context, &tool, argument));
    let ranged = context.can("integer");
    move |value: i64| {
        // Where a step ends at a bound, refusing it is as good.
        let sure = accepts(&tool) && (!is_step(&tool) || value <= 50);
        let requirement = match value {
            _ if !ranged => Id::CallSuccess,
            _ if value == low => Id::ArgumentsMinimum,
            _ if value == high => Id::ArgumentsMaximum,
            _ if tool.name == SET_VOLUME && at.is_some() => Id::VolumeSet,
            _ => Id::CallSuccess,
        };
        let mut arguments = rest.clone();
        arguments.insert(name.clone(), value.into());
        let answer = if sure { Answer::Result } else { Answer::Any };
        let valid = !is_step(&tool) && tool.is_valid(&name, &arguments);
        let mut message = call(&tool.name, arguments.into()).answer(requirement, answer);
        if !sure && valid {
            message = message.not_invalid(requirement);
        }
        let mut op = before.clone();
        op.push(message);
        if let Some(at) = at {
            // A backlight may have steps, and never be dark.
            let is_light = tool.name == SET_BRIGHTNESS;
            let requirement = if is_light { Id::CallBrightnessShown } else { requirement };
            op.push(steps::status().shows(requirement, at, value.into()));
        }
        op
    }
}

/// Values from bound to bound.
fn good_integers(
    context: &Context,
    tool: &Tool,
    argument: &Argument,
    minimum: Option<i64>,
    maximum: Option<i64>,
) -> Vec<BoxedStrategy<Op>> {
    let (Some(low), Some(high)) = (minimum, maximum) else {
        return Vec::new();
    };
    if low > high {
        return Vec::new();
    }
    let make = good_integer(context, tool, argument, (low, high));
    let few = |values: Vec<i64>| {
        let make = make.clone();
        some_of(values).prop_map(move |values| values.into_iter().flat_map(&make).collect::<Op>())
    };
    let at =
        |values: [i64; 2]| few(values.into_iter().filter(|v| (low..=high).contains(v)).collect());
    // Where a byte, a table or a shift ends.
    let powers = (0..31).map(|bit| low.saturating_add(1 << bit));
    let powers: Vec<i64> = powers.take_while(|value| *value < high).collect();
    let powers = powers[powers.len().saturating_sub(7)..].to_vec();
    let inside = (low..=high).prop_map(make.clone()).boxed();
    let mut kinds = vec![
        inside,
        at([low, low.saturating_add(1)]).boxed(),
        at([high.saturating_sub(1), high]).boxed(),
    ];
    if !powers.is_empty() && shown_by(context, tool, argument).is_some() {
        kinds.push(few(powers).boxed());
        kinds.extend(whole(context, tool, argument, low, high));
    }
    kinds
}

/// Some of these values; all, until they shrink.
pub(crate) fn some_of<T: std::fmt::Debug + Clone + 'static>(
    values: Vec<T>,
) -> BoxedStrategy<Vec<T>> {
    vec![proptest::bool::weighted(0.9999); values.len()]
        .prop_map(move |kept| {
            let both = values.iter().zip(kept);
            both.filter(|(_, kept)| *kept).map(|(value, _)| value.clone()).collect()
        })
        .boxed()
}

/// Whole numbers that are spelled as fractions or with an exponent: whether they are integers is left
/// open, but not which.
fn whole(
    context: &Context,
    tool: &Tool,
    argument: &Argument,
    low: i64,
    high: i64,
) -> Option<BoxedStrategy<Op>> {
    let at = shown_by(context, tool, argument)?;
    let (first, second) = (low.saturating_add(30), low.saturating_add(50));
    if second > high || !accepts(tool) {
        return None;
    }
    let spelled = [
        (format!("{first}.0"), first),
        (format!("{second}e0"), second),
        (format!("{}E-1", i128::from(first) * 10), first),
        (format!("{second}.000"), second),
    ];
    let (tool, name) = (tool.clone(), argument.name.clone());
    let is_light = tool.name == SET_BRIGHTNESS;
    let requirement = if is_light { Id::CallBrightnessShown } else { Id::ArgumentsNoEffect };
    let op = some_of(spelled.to_vec()).prop_map(move |spelled| {
        let mut op = vec![call(&tool.name, object(&name, low.into()).into())];
        let mut may = vec![json!(low)];
        for (text, value) in spelled {
            let arguments = format!("{{{}:{text}}}", json!(name));
            op.push(raw_call(&tool.name, &arguments).answer(Id::ArgumentsNoEffect, Answer::Any));
            may.push(value.into());
            op.push(steps::status().shows(requirement, at, json!({"$in": may})));
        }
        op
    });
    Some(op.boxed())
}

fn bad_integers(
    context: &Context,
    tool: &Tool,
    argument: &Argument,
    minimum: Option<i64>,
    maximum: Option<i64>,
) -> Vec<BoxedStrategy<Op>> {
    let good = value_of(&argument.kind);
    let middle = good.as_i64().unwrap_or(1);
    let mut kinds = Vec::new();
    let refused = |requirement, values: BoxedStrategy<String>| {
        let refuse = refuser(context, tool, argument, requirement);
        values.prop_map(move |value| refuse(&value)).boxed()
    };
    let texts = |values: &[Value]| likely(values.iter().map(Value::to_string).collect());
    if !is_step(tool) {
        let beyond = beyond_bounds(middle, minimum, maximum);
        kinds.extend(beyond.into_iter().map(|(requirement, values)| refused(requirement, values)));
    }
    let mut fractions =
        vec![format!("{middle}.5"), format!("{middle}.0001"), "0.5".to_owned(), "5e-1".to_owned()];
    // Cut or rounded, these are the bounds.
    fractions.extend(maximum.map(|high| format!("{high}.99")));
    fractions.extend(minimum.map(|low| match low {
        0 => "-0.5".to_owned(),
        1.. => format!("{}.9", low - 1),
        _ => format!("{low}.5"),
    }));
    let fraction = likely(fractions);
    kinds.push(refused(Id::ArgumentsFraction, fraction));
    if argument.default.is_some() {
        kinds.extend(wrong_values(context, tool, argument));
        return kinds;
    }
    let strings = [
        json!(middle.to_string()),
        json!(""),
        json!("loud"),
        json!(format!("{middle} ")),
        json!(format!("{middle}.0")),
    ];
    kinds.push(refused(Id::ArgumentsStringForInteger, texts(&strings)));
    kinds.push(refused(Id::ArgumentsBooleanForInteger, texts(&[json!(true), json!(false)])));
    kinds.push(refused(Id::ArgumentsNullForInteger, texts(&[json!(null)])));
    let structures = [
        json!([middle]),
        json!([]),
        json!({}),
        json!({"value": middle}),
        json!({"v": middle, "w": 1}),
        json!([[middle]]),
    ];
    kinds.push(refused(Id::ArgumentsStructuredForInteger, texts(&structures)));
    kinds
}

/// The first of these values as often as all of them: whatever the bounds, it is refused for its kind alone.
fn likely(values: Vec<String>) -> BoxedStrategy<String> {
    let first = values.first().cloned().unwrap_or_default();
    prop_oneof![Just(first), one_of(values)].boxed()
}

/// Integers below and above the bounds, and some of more bits than a device has, each with the requirement that
/// it be refused.
fn beyond_bounds(
    middle: i64,
    minimum: Option<i64>,
    maximum: Option<i64>,
) -> Vec<(Id, BoxedStrategy<String>)> {
    let mut kinds = Vec::new();
    if let Some(low) = minimum.filter(|low| *low > i64::MIN + 2_000_000) {
        let far = (1..=1_000_000_i64).prop_map(move |less| (low - less).to_string());
        kinds.push((Id::ArgumentsBelowMinimum, Just((low - 1).to_string()).boxed()));
        kinds.push((Id::ArgumentsBelowMinimum, far.boxed()));
    }
    if let Some(high) = maximum.filter(|high| *high < i64::MAX - 2_000_000) {
        let far = (1..=1_000_000_i64).prop_map(move |more| (high + more).to_string());
        kinds.push((Id::ArgumentsAboveMaximum, Just((high + 1).to_string()).boxed()));
        kinds.push((Id::ArgumentsAboveMaximum, far.boxed()));
    }
    if minimum.is_some_and(|low| low > i64::from(i32::MIN))
        && maximum.is_some_and(|high| high < i64::from(i32::MAX))
    {
        // What is left of these in 8, 16, 31, 32 or 64 bits is a good value.
        let wrapped = [1_i128 << 32, 1 << 31, 1 << 53, 1 << 64, 1 << 63, 1 << 40]
            .iter()
            .flat_map(|turn| [i128::from(middle) + turn, i128::from(middle) - turn])
            .filter(|value| *value > i128::from(i32::MAX) || *value < i128::from(i32::MIN))
            .map(|value| value.to_string())
            .chain(
                ["1e20", "-1e20", "1e300", "1e400", "-1e400", "123456789012345678901234567890"]
                    .map(str::to_owned),
            );
        kinds.push((Id::ArgumentsOverflow, one_of(wrapped.collect())));
    }
    kinds
}

/// Makes the call with a bad value, spelled as JSON text, for one argument.
pub(crate) fn refuser(
    context: &Context,
    tool: &Tool,
    argument: &Argument,
    requirement: Id,
) -> impl Fn(&str) -> Op + 'static {
    let (tool, name, rest) = (tool.clone(), argument.name.clone(), others(tool, argument));
    let before = middle(context, &tool);
    move |spelled| {
        let message = match as_written(spelled) {
            Some(value) => {
                let mut arguments = rest.clone();
                arguments.insert(name.clone(), value);
                call(&tool.name, arguments.into())
            }
            None => {
                let mut members: Vec<String> =
                    rest.iter().map(|(name, value)| format!("{}:{value}", json!(name))).collect();
                members.push(format!("{}:{spelled}", json!(name)));
                raw_call(&tool.name, &format!("{{{}}}", members.join(",")))
            }
        };
        let mut op = before.clone();
        op.push(refusal(message, requirement));
        op
    }
}

/// A message that must be refused without effect, with the code for it where there is one.
pub(super) fn refusal(message: Step, requirement: Id) -> Step {
    let effect = match requirement {
        // A SHOULD: who takes the name for the argument carries the call out.
        Id::ArgumentsNameCase => requirement,
        _ => Id::ArgumentsNoEffect,
    };
    let message = message.answer(requirement, Answer::Refused).without_effect(effect);
    match requirement {
        Id::ArgumentsFraction | Id::ArgumentsOverflow => message,
        _ => message.if_error(Id::ArgumentsErrorCode, json!({"code": -32602})),
    }
}

/// Values of other types than that of an argument, and the requirement that they be refused; the one that a
/// careless device converts comes first. For required integers and texts there are requirements of their own.
pub(crate) fn of_other_types(argument: &Argument) -> Option<(Id, Vec<Value>)> {
    if let Kind::Samples(samples) = &argument.kind {
        // Some take null for what is left out.
        let may = |value: &&Value| argument.required || !value.is_null();
        let values: Vec<Value> = samples.bad.iter().filter(may).cloned().collect();
        return Some((Id::ArgumentsSchema, values)).filter(|(_, values)| !values.is_empty());
    }
    let has_default = argument.default.is_some();
    let values = match argument.kind {
        Kind::Boolean => vec![
            json!("true"),
            json!(1),
            json!(0),
            json!(""),
            json!(null),
            json!([true]),
            json!({}),
            json!(0.5),
        ],
        Kind::Text { .. } if has_default => {
            vec![json!(1), json!(true), json!(null), json!(["x"]), json!({})]
        }
        Kind::Integer { .. } if has_default => {
            let good = value_of(&argument.kind);
            vec![
                json!(good.to_string()),
                json!("loud"),
                json!(true),
                json!(null),
                json!([good]),
                json!({}),
            ]
        }
        _ => return None,
    };
    let requirement = match has_default {
        true => Id::ArgumentsDefaultWrongType,
        false => Id::ArgumentsBooleanWrongType,
    };
    Some((requirement, values))
}

fn wrong_values(context: &Context, tool: &Tool, argument: &Argument) -> Option<BoxedStrategy<Op>> {
    let (requirement, values) = of_other_types(argument)?;
    let refuse = refuser(context, tool, argument, requirement);
    Some(one_of(values).prop_map(move |value| refuse(&value.to_string())).boxed())
}

fn good_booleans(tool: &Tool, argument: &Argument) -> Option<BoxedStrategy<Op>> {
    let (tool, name, rest) = (tool.clone(), argument.name.clone(), others(tool, argument));
    let answer = if accepts(&tool) { Answer::Result } else { Answer::Any };
    let make = move |value: bool| {
        let mut arguments = rest.clone();
        arguments.insert(name.clone(), value.into());
        vec![call(&tool.name, arguments.into()).answer(Id::ArgumentsBooleanAccepted, answer)]
    };
    Some(any::<bool>().prop_map(make).boxed())
}

fn missing(context: &Context, tool: &Tool, argument: &Argument) -> BoxedStrategy<Op> {
    let rest = others(tool, argument);
    let mut with_other = rest.clone();
    with_other.insert("mcpHilOther".into(), 50.into());
    let ops = [rest, with_other].map(|arguments| missing_one(context, tool, arguments));
    any::<bool>().prop_map(move |other| ops[usize::from(other)].clone()).boxed()
}

/// A call with these arguments, of which a required one is missing.
pub(crate) fn missing_one(context: &Context, tool: &Tool, arguments: Map<String, Value>) -> Op {
    let mut op = middle(context, tool);
    op.push(refusal(call(&tool.name, arguments.into()), Id::ArgumentsMissing));
    op
}

/// The argument under its name in other case, or with a blank more.
fn renamed(context: &Context, tool: &Tool, argument: &Argument) -> Option<BoxedStrategy<Op>> {
    let name = &argument.name;
    let mut first = name.chars();
    let title: String =
        first.next().into_iter().flat_map(char::to_uppercase).chain(first).collect();
    let names: Vec<String> = [
        name.to_uppercase(),
        title,
        name.to_lowercase(),
        format!("{name} "),
        format!(" {name}"),
        format!("{name}\u{0}"),
    ]
    .into_iter()
    .filter(|other| tool.arguments.iter().all(|one| one.name != *other))
    .collect();
    if names.is_empty() {
        return None;
    }
    let (tool, rest, value) = (tool.clone(), others(tool, argument), value_of(&argument.kind));
    let mut before = middle(context, &tool);
    // Where no script could tell: who carries out the call without the argument has taken no name for it.
    if !context.can("integer") {
        let plain = refusal(call(&tool.name, rest.clone().into()), Id::ArgumentsMissing);
        before.push(plain.control("missing-argument"));
    }
    Some(
        one_of(names)
            .prop_map(move |name| {
                let mut arguments = rest.clone();
                arguments.extend(object(&name, value.clone()));
                let message = refusal(call(&tool.name, arguments.into()), Id::ArgumentsNameCase)
                    .like("missing-argument");
                before.iter().cloned().chain([message]).collect()
            })
            .boxed(),
    )
}

/// A call without the one argument, which has a default.
fn left_out(context: &Context, tool: &Tool) -> BoxedStrategy<Op> {
    let mut op = middle(context, tool);
    op.push(call(&tool.name, json!({})).answer(Id::ArgumentsDefault, Answer::Result));
    Just(op).boxed()
}

/// A good call with an argument that no tool knows.
fn extra(tool: &Tool) -> BoxedStrategy<Op> {
    let good = |one: &Argument| one.required.then(|| (one.name.clone(), value_of(&one.kind)));
    let (name, arguments) =
        (tool.name.clone(), tool.arguments.iter().filter_map(good).collect::<Map<_, _>>());
    let values = one_of(vec![
        json!(true),
        json!(null),
        json!({"deep": [1, 2]}),
        json!("x".repeat(200)),
        json!(1e300),
    ]);
    // Names that mean something to a language, to a device, or to nobody.
    let names =
        ["mcpHilOther", "", "__proto__", "constructor", "name", "arguments", "id", "method"];
    let names = names.map(str::to_owned).to_vec();
    (values, some_of(names), any::<bool>())
        .prop_map(move |(value, names, first)| {
            let other: Map<String, Value> = names
                .into_iter()
                .filter(|name| !arguments.contains_key(name))
                .map(|name| (name, value.clone()))
                .collect();
            let all: Map<String, Value> = match first {
                true => other.into_iter().chain(arguments.clone()).collect(),
                false => arguments.clone().into_iter().chain(other).collect(),
            };
            vec![call(&name, all.into()).answer(Id::ArgumentsExtra, Answer::Any)]
        })
        .boxed()
}
