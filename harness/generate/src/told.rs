//! What one tool has set and another one tells.
//!
//! No document says how exact that is: hardware has steps and ends of its own. But what a smaller integer, or one
//! without a sign, makes of a number is a fault.

use std::collections::BTreeSet;

use mcp_hil_core::capability::Told;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_scenario::Step;
use serde_json::{Map, Value, json};

use crate::arguments::{Op, value_of};
use crate::context::{Context, Kind, Tool};
use crate::steps::StepExt as _;
use crate::steps::call;

/// Numbers of which each smaller type makes others.
const NUMBERS: [i64; 9] = [-40_000, -300, -129, -100, -7, 200, 300, 40_000, 70_000];

/// Sets integers of this tool, and reads what is told of them.
pub(crate) fn integers(context: &Context, tool: &Tool) -> Vec<Op> {
    let Some(told) = context.told(&tool.name) else { return Vec::new() };
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
            let wrong = left_of(number);
            let wrong: Vec<&i64> =
                wrong.iter().filter(|one| !usual.contains(&Some(**one))).collect();
            let told = call(&told.reader, json!({}));
            let told = told.shows(Id::CallSettingTold, at, json!({"$not": {"$in": wrong}}));
            ops.push(vec![call(&tool.name, values.into()), told]);
        }
    }
    ops
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
        -number,
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

/// Good values for all arguments.
fn values(tool: &Tool) -> Map<String, Value> {
    tool.arguments.iter().map(|one| (one.name.clone(), value_of(&one.kind))).collect()
}
