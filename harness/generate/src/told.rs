//! What one tool has set and another one tells.
//!
//! No document says how exact that is: hardware has steps and ends of its own. But what a smaller integer, or one
//! without a sign, makes of a number is a fault.

use std::collections::BTreeSet;

use mcp_hil_core::capability::Told;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_scenario::{Expect, Step};
use serde_json::{Map, Value, json};

use crate::arguments::{Op, value_of};
use crate::context::{Argument, Context, Kind, Tool};
use crate::steps::StepExt as _;
use crate::steps::{call, initialize};

/// Numbers of which each smaller type makes others.
const NUMBERS: [i64; 9] = [-40_000, -300, -129, -100, -7, 200, 300, 40_000, 70_000];

/// What a device brings of which tools that tell what others set: capabilities of their own, as not each of them can
/// show the same faults.
pub fn capabilities_told(context: &Context) -> BTreeSet<&'static str> {
    let ops = context.tools().iter().flat_map(|tool| of_tool(context, tool));
    let expects = ops.flatten().flat_map(|step| step.expect);
    let brings = |expect: Expect| match expect.requirement {
        Id::ArgumentsNarrowed => Some("told.number"),
        Id::ArgumentsByName => Some("told.several"),
        Id::CallSettingTold => Some("told.signed"),
        _ => None,
    };
    expects.filter_map(brings).collect()
}

/// What is set by this tool, and read where another one tells it.
pub(crate) fn of_tool(context: &Context, tool: &Tool) -> Vec<Op> {
    let Some(told) = context.told(&tool.name) else { return Vec::new() };
    let exchanged = exchanged(tool, told);
    let mut ops = integers(tool, told);
    ops.extend(exchanged);
    ops.extend(context.can("reinitialize").then(|| initialized(tool, told)));
    ops.extend(tool.arguments.iter().filter_map(|argument| default(tool, argument, told)));
    ops
}

/// Sets integers of this tool.
fn integers(tool: &Tool, told: &Told) -> Vec<Op> {
    let mut ops = Vec::new();
    for argument in &tool.arguments {
        let Kind::Integer { minimum: Some(low), maximum: Some(high) } = argument.kind else {
            continue;
        };
        let Some(at) = told.places.get(&argument.name) else { continue };
        for number in NUMBERS.into_iter().filter(|number| (low..=high).contains(number)) {
            let mut values = values(tool);
            // Those may be what was told before, or the end of what hardware can do.
            let usual = [Some(number), values[&argument.name].as_i64(), Some(low), Some(high)];
            values.insert(argument.name.clone(), number.into());
            let is_usual = |one: &i64| usual.contains(&Some(*one));
            let narrowed: Vec<i64> =
                left_of(number).into_iter().filter(|one| !is_usual(one)).collect();
            let mut reading = call(&told.reader, json!({}));
            if !narrowed.is_empty() {
                let others = json!({"$not": {"$in": narrowed}});
                reading = reading.shows(Id::ArgumentsNarrowed, at, others);
            }
            // A sign may well be told apart, as a direction.
            if number < 0 && !is_usual(&-number) {
                reading = reading.shows(Id::CallSettingTold, at, json!({"$not": -number}));
            }
            ops.push(vec![call(&tool.name, values.into()), reading]);
        }
    }
    ops
}

/// Sets all arguments, each to another value: no two of them are told for each other.
fn exchanged(tool: &Tool, told: &Told) -> Option<Op> {
    let values = values(tool);
    let mut reading = call(&told.reader, json!({}));
    for (name, at) in &told.places {
        let others = told.places.keys().filter_map(|other| values.get(other));
        let others: Vec<&Value> = others.filter(|other| **other != values[name]).collect();
        if !others.is_empty() && !values[name].is_boolean() {
            reading = reading.shows(Id::ArgumentsByName, at, json!({"$not": {"$in": others}}));
        }
    }
    (!reading.expect.is_empty()).then(|| vec![call(&tool.name, values.into()), reading])
}

/// Sets something, and begins the conversation again: the same is told.
fn initialized(tool: &Tool, told: &Told) -> Op {
    let mut first = call(&told.reader, json!({}));
    let mut second = first.clone();
    for (nth, at) in told.places.values().enumerate() {
        let name = format!("told{nth}");
        first.bind.insert(name.clone(), at.clone());
        let same = json!(format!("${{{name}}}"));
        second = second.shows_as_bound(Id::InitializeToldKept, at, same);
    }
    vec![call(&tool.name, values(tool).into()), first, initialize(), second]
}

/// Sets an argument to its default, and leaves it out: both times the same is told.
fn default(tool: &Tool, argument: &Argument, told: &Told) -> Option<Op> {
    let default = argument.default.clone().filter(|_| !argument.required)?;
    let at = told.places.get(&argument.name)?;
    let usual = values(tool);
    let mut said = usual.clone();
    said.insert(argument.name.clone(), default);
    let mut left_out = usual.clone();
    left_out.remove(&argument.name);
    let set = |values: Map<String, Value>| call(&tool.name, values.into());
    let kept = format!("default-{}", argument.name);
    let outcome = format!("outcome-{}", argument.name);
    let mut said = set(said);
    said.bind.insert(outcome.clone(), "/outcome".into());
    let accepted = json!(format!("${{{outcome}}}"));
    let left_out = set(left_out).shows_as_bound(Id::ArgumentsDefault, "/outcome", accepted);
    let mut first = call(&told.reader, json!({}));
    first.bind.insert(kept.clone(), at.clone());
    let second = call(&told.reader, json!({}));
    let same = json!(format!("${{{kept}}}"));
    let second = second.shows_as_bound(Id::ArgumentsDefaultTold, at, same);
    Some(vec![said, first, set(usual), left_out, second])
}

/// What smaller integers, and those without a sign, make of a number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "that is what is looked for"
)]
fn left_of(number: i64) -> BTreeSet<i64> {
    let (short, long) = (number as u8, number as u16);
    [
        i64::from(short),
        i64::from(short as i8),
        i64::from(long),
        i64::from(long as i16),
        i64::from(number as u32),
    ]
    .into()
}

/// Two calls of a tool that set it to other values each, and what reads them.
pub(crate) struct Readback {
    /// Arguments of the call that is compared.
    pub(crate) arguments: Value,
    /// A call that sets all of it to something else.
    pub(crate) other: Step,
    /// Reads it.
    pub(crate) reading: Step,
    /// Where it stands in what is read.
    pub(crate) places: Vec<String>,
}

/// The same setting twice, for each tool of which another one tells it.
pub(crate) fn readbacks(context: &Context) -> impl Iterator<Item = (&str, Readback)> {
    context.tools().iter().filter_map(|tool| {
        let Told { reader, places, .. } = context.told(&tool.name)?;
        let one = values(tool);
        let other = tool.arguments.iter().map(|argument| {
            let value = match &argument.kind {
                Kind::Integer { minimum: Some(low), .. } => (*low).into(),
                Kind::Boolean => false.into(),
                Kind::Text { choices } => choices.last().map_or("MCP", String::as_str).into(),
                kind => value_of(kind),
            };
            (argument.name.clone(), value)
        });
        let readback = Readback {
            arguments: one.into(),
            other: call(&tool.name, Value::Object(other.collect())),
            reading: call(reader, json!({})),
            places: places.values().cloned().collect(),
        };
        Some((tool.name.as_str(), readback))
    })
}

/// Good values for all arguments, for each of those alike another one where that can be.
fn values(tool: &Tool) -> Map<String, Value> {
    let of = |(nth, argument): (i64, &Argument)| {
        let value = match (&argument.kind, value_of(&argument.kind)) {
            // Far from each other: what hardware makes of one is not another.
            (Kind::Integer { minimum: Some(low), maximum: Some(high) }, _) if nth % 3 > 0 => {
                let fifth = high.saturating_sub(*low) / 5;
                if nth % 3 == 1 { low + fifth } else { high - fifth }.into()
            }
            (Kind::Text { choices }, Value::String(text)) if choices.is_empty() && nth > 0 => {
                format!("{text}-{nth}").into()
            }
            (Kind::Text { choices }, text) => {
                let choice = choices.iter().cycle().nth(usize::try_from(nth).unwrap_or_default());
                choice.map_or(text, |choice| choice.as_str().into())
            }
            (_, value) => value,
        };
        (argument.name.clone(), value)
    };
    (0..).zip(&tool.arguments).map(of).collect()
}
