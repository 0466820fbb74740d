//! The bounds, the default and the need of every argument, by the schema of its tool: what `arguments` draws by
//! chance, each once. What is left of the inputs is drawn as there.

use std::collections::BTreeSet;

use mcp_hil_core::capability::only_reads;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::samples::other_case;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::arguments::{
    self, MOST_STEPS, Op, accepts, good_integer, is_step, middle, of_other_types, others, refuser,
    some_of,
};
use crate::context::{Argument, Context, Kind, Tool};
use crate::shown::{shown_at, shown_by};
use crate::steps::StepExt as _;
use crate::steps::{call, put_back, raw, request};
use crate::tool_names::NO_TOOL;
use crate::{lengths, told};
use mcp_hil_scenario::{Answer, Step};

/// How far the bounds of an integer may be apart for all values between them to be tried.
const FEW: i64 = 7;

/// How many tools are called one after the other.
const AT_ONCE: usize = 9;

/// Most arguments of which each is refused once.
const MOST_REFUSED: usize = 6;

/// What a message says of a tool that is not known, or of its arguments.
const UNKNOWN: &str =
    "(?i)unknown|not found|no such|not exist|unsupported|invalid|missing|required|argument|param";

pub(super) fn steps(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    let inputs = inputs(context);
    let at = number as usize;
    let Some(ops) = inputs.get(at) else {
        let further = u32::try_from(at - inputs.len()).unwrap_or(number);
        return arguments::steps(context, further);
    };
    let back = context.has_volume().then(|| put_back(context));
    some_of(ops.clone())
        .prop_map(move |ops| {
            let steps = ops.into_iter().flatten();
            // Nothing to put back where nothing was sent.
            let mut steps: Vec<Step> = steps.collect();
            if !steps.is_empty() {
                steps.extend(back.clone());
            }
            steps
        })
        .boxed()
}

/// How many inputs there are where others get so many: up to twice as many, to come to the end of what the schemas say.
pub(super) fn inputs_of(context: &Context, asked: u32) -> u32 {
    let all = u32::try_from(inputs(context).len()).unwrap_or(asked);
    all.clamp(asked, asked.saturating_mul(2))
}

/// A value that the schema of a number, an array or an object forbids.
fn sampled(context: &Context, tool: &Tool) -> Option<Op> {
    let argument = tool.arguments.iter().find(|one| matches!(one.kind, Kind::Samples(_)))?;
    if tool.arguments.iter().any(|one| one.required && one.kind == Kind::Other) {
        return None;
    }
    let (requirement, values) = of_other_types(argument)?;
    let mut op = allowed(tool, argument);
    op.extend(refuser(context, tool, argument, requirement)(&values.first()?.to_string()));
    Some(op)
}

/// Values that the schema of a number, an array or an object allows.
fn allowed(tool: &Tool, argument: &Argument) -> Op {
    let Kind::Samples(samples) = &argument.kind else { return Op::new() };
    let with = |value: &Value| {
        let mut arguments = others(tool, argument);
        arguments.insert(argument.name.clone(), value.clone());
        // What a text has to mean beyond its pattern, no schema tells.
        let valid = !value.is_string() && tool.is_valid(&argument.name, &arguments);
        let message = call(&tool.name, arguments.into());
        let message = message.answer(Id::ArgumentsSchemaAllowed, Answer::Any);
        match valid {
            true => message.not_invalid(Id::ArgumentsSchemaAllowed),
            false => message,
        }
    };
    [&samples.good].into_iter().chain(&samples.others).map(with).collect()
}

/// All that there is to try, in inputs that are no longer than others.
fn inputs(context: &Context) -> Vec<Vec<Op>> {
    let mut inputs: Vec<Vec<Op>> = Vec::new();
    let tools = context.tools().iter();
    // Few tools have these, so that they come first: few inputs must do.
    let mut judged = BTreeSet::new();
    let is_new = |op: &Op| {
        let requirements = op.iter().flat_map(|step| &step.expect).map(|expect| expect.requirement);
        requirements.filter(|one| judged.insert(*one)).count() > 0
    };
    let told = tools.clone().flat_map(|tool| told::of_tool(context, tool));
    let (leading, told): (Vec<Op>, Vec<Op>) = told.partition(is_new);
    let listed = tools.clone().flat_map(|tool| enumerated(context, tool));
    let first = tools.clone().flat_map(|tool| of_tool(context, tool));
    // They are long: one comes early, the others last.
    let mut sized = lengths::ops(context).into_iter();
    let sampled = tools.clone().find_map(|tool| sampled(context, tool));
    for op in leading
        .into_iter()
        .chain(sized.next())
        .chain(sampled)
        .chain(joined(context))
        .chain(nullary(context))
        .chain(tools.clone().filter_map(|tool| in_part(context, tool)))
        .chain(listed)
        .chain(told)
        .chain(first)
        .chain(misnamed(context))
        .chain(of_further_types(context))
        .chain(sized)
    {
        let taken = |ops: &Vec<Op>| ops.iter().map(Vec::len).sum::<usize>();
        match inputs.last_mut() {
            Some(last) if taken(last) + op.len() <= MOST_STEPS => last.push(op),
            _ => inputs.push(vec![op]),
        }
    }
    inputs
}

fn of_tool(context: &Context, tool: &Tool) -> Vec<Op> {
    let mut ops = Vec::new();
    // What no good value is known for cannot be filled in.
    if tool.arguments.iter().any(|one| one.required && one.kind == Kind::Other) {
        return ops;
    }
    for argument in &tool.arguments {
        if let Kind::Integer { minimum: Some(low), maximum: Some(high) } = argument.kind
            && low <= high
        {
            ops.extend(good_values(context, tool, argument, (low, high)));
            if !is_step(tool) {
                ops.extend(bad_values(context, tool, argument, (low, high)));
                ops.extend(wrapped(context, tool, argument, (low, high)));
            }
        }
        if let Kind::Integer { minimum, maximum } = argument.kind
            && minimum.is_none() != maximum.is_none()
            && !is_step(tool)
        {
            ops.extend(beyond(context, tool, argument, minimum, maximum));
        }
        ops.extend(Some(allowed(tool, argument)).filter(|op| !op.is_empty()));
        if argument.kind == Kind::Boolean {
            ops.push(both(tool, argument));
        }
        ops.extend(without(context, tool, argument));
        // One that the tool may convert; the others come last.
        if let Some((requirement, values)) = of_other_types(argument)
            && !is_step(tool)
        {
            let refuse = refuser(context, tool, argument, requirement);
            ops.extend(values.first().map(|value| refuse(&value.to_string())));
        }
    }
    ops.extend(with_defaults(context, tool));
    ops
}

/// Both values of a boolean.
fn both(tool: &Tool, argument: &Argument) -> Op {
    let with = |value: bool| {
        let mut arguments = others(tool, argument);
        arguments.insert(argument.name.clone(), value.into());
        let valid = tool.is_valid(&argument.name, &arguments);
        let answer = if accepts(tool) { Answer::Result } else { Answer::Any };
        let message = call(&tool.name, arguments.into());
        let message = message.answer(Id::ArgumentsBooleanAccepted, answer);
        match valid && !accepts(tool) {
            true => message.not_invalid(Id::ArgumentsBooleanAccepted),
            false => message,
        }
    };
    [true, false].map(with).into()
}

/// Calls of tools that take nothing, behind one of a tool that nobody knows: what is said of that is not said of them.
fn nullary(context: &Context) -> Vec<Op> {
    let tools = context.tools().iter().filter(|tool| tool.arguments.is_empty());
    let tools: Vec<&Tool> = tools.filter(|_| context.can("nullary")).collect();
    // They may fail for any reason but these: the list has told that they are there, and take nothing.
    let known = |tool: &&Tool| {
        let unknown =
            json!({"$not": {"code": {"$in": [-32601, -32602]}, "message": {"$match": UNKNOWN}}});
        call(&tool.name, json!({}))
            .answer(Id::CallSuccess, Answer::Any)
            .if_error(Id::ListListedKnown, unknown)
    };
    let op = |tools: &[&Tool]| {
        let mut op = vec![call(NO_TOOL, json!({}))];
        op.extend(tools.iter().map(known));
        op
    };
    // Without an id they are notifications, which nobody answers (JSON-RPC 2.0, section 4.1).
    let idless = tools.iter().filter(|tool| only_reads(&tool.name)).take(AT_ONCE);
    let idless: Op = idless.map(|tool| idless_call(&tool.name)).collect();
    let idless = Some(idless).filter(|op| !op.is_empty());
    tools.chunks(AT_ONCE).map(op).chain(idless).collect()
}

/// The name of each tool in other case, which is the name of none. A device may look one of them up in its own way.
fn misnamed(context: &Context) -> Vec<Op> {
    let fillable = |tool: &&Tool| {
        let other = other_case(&tool.name);
        !tool.arguments.iter().any(|one| one.required && one.kind == Kind::Other)
            && context.names().all(|known| known != other)
    };
    let refused = |tool: &Tool| {
        call(&other_case(&tool.name), arguments::values(tool).into())
            .answer(Id::CallNameExact, Answer::Refused)
            .like("unknown-tool")
    };
    let calls: Op = context.tools().iter().filter(fillable).map(refused).collect();
    calls.chunks(AT_ONCE).map(<[Step]>::to_vec).collect()
}

/// A call without an id.
fn idless_call(tool: &str) -> Step {
    let name = json!(tool);
    let payload = format!(
        r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"name":{name},"arguments":{{}}}}}}"#
    );
    raw(payload).answer(Id::NotificationsIdLessCall, Answer::None)
}

/// A required argument under a name that another language would have for it: one of a tool is enough, as they are all
/// looked up alike.
fn joined(context: &Context) -> Option<Op> {
    context.tools().iter().filter(|tool| !is_step(tool)).find_map(|tool| {
        let argument = tool.arguments.iter().find(|one| one.required && one.kind != Kind::Other)?;
        let letters: Vec<char> = argument.name.chars().collect();
        let (half, rest) = letters.split_at(letters.len() / 2);
        let name = match argument.name.contains('_') {
            true => argument.name.replace('_', "-"),
            false => half.iter().chain(&['_']).chain(rest).collect(),
        };
        let taken = tool.arguments.iter().any(|one| one.name == name);
        let mut all = others(tool, argument);
        all.insert(name, arguments::value_of(&argument.kind));
        let fillable = tool.arguments.iter().all(|one| !one.required || one.kind != Kind::Other);
        let message = call(&tool.name, all.into());
        let refused = arguments::refusal(message, Id::ArgumentsMissing).like("missing-argument");
        (fillable && !taken).then(|| vec![refused])
    })
}

/// Most values of an enum that are tried, from its beginning and from its end.
const LISTED: usize = 5;

/// The values that each enum of a tool lists, and others.
fn enumerated(context: &Context, tool: &Tool) -> Vec<Op> {
    // What no good value is known for cannot be filled in.
    if tool.arguments.iter().any(|one| one.required && one.kind == Kind::Other) {
        return Vec::new();
    }
    let lists = |argument: &Argument| match &argument.kind {
        Kind::Text { choices } => of_enum(context, tool, argument, choices),
        _ => Vec::new(),
    };
    tool.arguments.iter().flat_map(lists).collect()
}

/// The values that an enum lists, and others: a strange one, none, and what is nearly one of them.
fn of_enum(context: &Context, tool: &Tool, argument: &Argument, choices: &[String]) -> Vec<Op> {
    let Some(last) = choices.last() else { return Vec::new() };
    let sure = accepts(tool);
    let listed = choices.iter().enumerate();
    let listed = listed.filter(|(at, _)| *at < LISTED || choices.len() - at <= LISTED);
    let good = listed.map(|(_, choice)| {
        let mut arguments = others(tool, argument);
        arguments.insert(argument.name.clone(), choice.as_str().into());
        let valid = tool.is_valid(&argument.name, &arguments);
        let answer = if sure { Answer::Result } else { Answer::Any };
        let message = call(&tool.name, arguments.into()).answer(Id::ArgumentsEnum, answer);
        vec![match !sure && valid {
            true => message.not_invalid(Id::ArgumentsEnum),
            false => message,
        }]
    });
    let mut foreign: Vec<String> = vec!["mcp-hil \"a\\b\"\n".to_owned(), String::new()];
    // A table may be looked up in another way for its first entry, which is often the default; and for those between.
    let few = |at: usize, most: usize| near(&choices[at]).into_iter().take(most);
    for text in near(last).into_iter().chain(few(0, 2)).chain(few(choices.len() / 2, 1)) {
        if !foreign.contains(&text) {
            foreign.push(text);
        }
    }
    let refuse = refuser(context, tool, argument, Id::ArgumentsEnum);
    let foreign = foreign.iter().filter(|text| !choices.contains(text));
    // A string of C ends there.
    let mut cut = others(tool, argument);
    cut.insert(argument.name.clone(), format!("{last}\u{0}mcp-hil").into());
    let cut = call(&tool.name, cut.into()).answer(Id::JsonrpcNulInName, Answer::Refused);
    let foreign = foreign.map(|text| refuse(&json!(text).to_string()));
    good.chain(foreign).chain([vec![cut]]).collect()
}

/// Texts that are nearly this one: in other case, its first half, with more behind it, between blanks.
fn near(text: &str) -> [String; 4] {
    let half = text.chars().take(text.chars().count() / 2).collect();
    [other_case(text), half, format!("{text}mcp-hil"), format!(" {text} ")]
}

/// The values of other types that are not tried with the rest: there may be many, so they come when all else is done,
/// one of each argument in turn.
fn of_further_types(context: &Context) -> Vec<Op> {
    let fillable = |tool: &&Tool| {
        !is_step(tool) && tool.arguments.iter().all(|one| !one.required || one.kind != Kind::Other)
    };
    let tools = context.tools().iter().filter(fillable);
    let further = tools.flat_map(|tool| tool.arguments.iter().map(move |one| (tool, one)));
    let further: Vec<Vec<Op>> = further
        .filter_map(|(tool, argument)| {
            let (requirement, values) = of_other_types(argument)?;
            let refuse = refuser(context, tool, argument, requirement);
            Some(values.iter().skip(1).map(|value| refuse(&value.to_string())).collect())
        })
        .collect();
    let most = further.iter().map(Vec::len).max().unwrap_or(0);
    let nth = |at: usize| further.iter().filter_map(move |ops| ops.get(at)).cloned();
    (0..most).flat_map(nth).collect()
}

/// The bounds, zero, the default, and -1, by which careless code tells that a value is absent.
fn good_values(
    context: &Context,
    tool: &Tool,
    argument: &Argument,
    (low, high): (i64, i64),
) -> Vec<Op> {
    let default = argument.default.as_ref().and_then(mcp_hil_core::wire::as_integer);
    // Last where a refused value that has an effect would show: away from the bounds.
    let between = shown_by(context, tool, argument).map(|_| i64::midpoint(low, high));
    let mut values = vec![low, high];
    // A table of few entries may lack any of them.
    let few = high.checked_sub(low).filter(|range| *range <= FEW).map(|_| low..=high);
    let usual = [Some(0), Some(-1), default].into_iter().flatten();
    // Where a table or a shift may end.
    let powers = (3..7).filter_map(|bit| low.checked_add(1 << bit));
    let powers = powers.filter(|_| between.is_some());
    for value in few.into_iter().flatten().chain(usual).chain(powers).chain(between) {
        if (low..=high).contains(&value) && !values.contains(&value) {
            values.push(value);
        }
    }
    values.into_iter().map(good_integer(context, tool, argument, (low, high))).collect()
}

/// One beyond each bound, and what has the other sign.
fn bad_values(
    context: &Context,
    tool: &Tool,
    argument: &Argument,
    (low, high): (i64, i64),
) -> Vec<Op> {
    let mut values = vec![low.checked_sub(1), high.checked_add(1)];
    values.extend([low.checked_neg(), high.checked_neg(), Some(0)]);
    let mut tried = Vec::new();
    let mut ops = Vec::new();
    for value in values.into_iter().flatten() {
        if (low..=high).contains(&value) || tried.contains(&value) {
            continue;
        }
        tried.push(value);
        let requirement = match value < low {
            true => Id::ArgumentsBelowMinimum,
            false => Id::ArgumentsAboveMaximum,
        };
        let refused = refuser(context, tool, argument, requirement)(&value.to_string());
        ops.push(between_readings(context, tool, refused));
    }
    ops
}

/// One beyond the only bound that there is.
fn beyond(
    context: &Context,
    tool: &Tool,
    argument: &Argument,
    minimum: Option<i64>,
    maximum: Option<i64>,
) -> Option<Op> {
    let below = || Some((Id::ArgumentsBelowMinimum, minimum?.checked_sub(1)?));
    let above = || Some((Id::ArgumentsAboveMaximum, maximum?.checked_add(1)?));
    let (requirement, value) = below().or_else(above)?;
    Some(refuser(context, tool, argument, requirement)(&value.to_string()))
}

/// Values of which a good one is left in 8 and 16 bits, and in these and 32 bits.
fn wrapped(
    context: &Context,
    tool: &Tool,
    argument: &Argument,
    (low, high): (i64, i64),
) -> Vec<Op> {
    let turns = [1 << 16, 1 << 32].map(|turn| i64::midpoint(low, high).checked_add(turn));
    let beyond = turns.into_iter().flatten().filter(|value| *value > high);
    let refused = |value: i64| {
        let requirement = match i32::try_from(value) {
            Ok(_) => Id::ArgumentsAboveMaximum,
            Err(_) => Id::ArgumentsOverflow,
        };
        refuser(context, tool, argument, requirement)(&value.to_string())
    };
    beyond.map(refused).collect()
}

/// What is refused, between two readings of a tool that may tell what this one stores, with other values before.
fn between_readings(context: &Context, tool: &Tool, refused: Op) -> Op {
    let reader = context.reader(&tool.name).filter(|_| shown_at(context, tool).is_none());
    let Some(reader) = reader else { return refused };
    let read = || call(reader, json!({}));
    let least = |kind: &Kind| match kind {
        Kind::Integer { minimum: Some(low), .. } => (*low).into(),
        kind => arguments::value_of(kind),
    };
    let values = tool.arguments.iter().map(|one| (one.name.clone(), least(&one.kind)));
    let before = call(&tool.name, Value::Object(values.collect()));
    [vec![before, read()], refused, vec![read()]].concat()
}

/// What is refused for one of several arguments, between two readings of a tool that may tell the others.
fn in_part(context: &Context, tool: &Tool) -> Option<Op> {
    let reader = context.reader(&tool.name).filter(|_| shown_at(context, tool).is_none())?;
    let named = |value: fn(&Kind) -> Option<Value>| {
        let values = tool.arguments.iter().map(|one| Some((one.name.clone(), value(&one.kind)?)));
        values.collect::<Option<Map<String, Value>>>()
    };
    // Known values before, which those that are refused differ from.
    let before = named(|kind| match kind {
        Kind::Integer { minimum: Some(low), .. } => Some((*low).into()),
        Kind::Other => None,
        kind => Some(arguments::value_of(kind)),
    })?;
    let other = named(|kind| match kind {
        Kind::Integer { maximum: Some(high), .. } => Some((*high).into()),
        Kind::Boolean => Some(false.into()),
        Kind::Text { choices } => Some(choices.last().map_or("mcp-hil-refused", |it| it).into()),
        Kind::Other => None,
        kind => Some(arguments::value_of(kind)),
    })?;
    let refused = tool.arguments.iter().map(|one| {
        let bad = match &one.kind {
            Kind::Integer { maximum: Some(high), .. } => high.checked_add(1).map(Value::from),
            Kind::Text { choices } if choices.is_empty() => None,
            _ => Some(json!("mcp-hil")),
        };
        let mut values = other.clone();
        values.insert(one.name.clone(), bad.unwrap_or_else(|| json!([7])));
        call(&tool.name, values.into())
    });
    let several = tool.arguments.len() > 1 && tool.arguments.len() <= MOST_REFUSED;
    let read = || call(reader, json!({}));
    let first = [call(&tool.name, before.into()), read()];
    several.then(|| first.into_iter().chain(refused).chain([read()]).collect())
}

/// A call without the argument: refused if the schema requires it. One without a default that is not required may
/// be left out, too.
fn without(context: &Context, tool: &Tool, argument: &Argument) -> Vec<Op> {
    let rest = others(tool, argument);
    if argument.required {
        // Behind a good call: what it sent does not stand in for what is missing.
        let mut missing = vec![call(&tool.name, arguments::values(tool).into())];
        missing.extend(arguments::missing_one(context, tool, rest.clone()));
        return std::iter::once(missing).chain(misplaced(context, tool, argument, &rest)).collect();
    }
    if argument.default.is_some() {
        return Vec::new();
    }
    let alone = tool.arguments.len() == 1;
    let answer = if alone { Answer::Result } else { Answer::Any };
    let mut op = middle(context, tool);
    op.push(call(&tool.name, rest.into()).answer(Id::ArgumentsDefault, answer));
    vec![op]
}

/// Calls in which the value of a required argument stands under a name near its own, or beside the arguments: it is as
/// good as left out.
fn misplaced(
    context: &Context,
    tool: &Tool,
    argument: &Argument,
    rest: &Map<String, Value>,
) -> Vec<Op> {
    let value = arguments::value_of(&argument.kind);
    let taken = |name: &str| tool.arguments.iter().any(|one| one.name == name);
    let half: String = argument.name.chars().take(argument.name.chars().count() / 2).collect();
    let near = [format!("{}s", argument.name), format!("x{}", argument.name), half];
    let near = near.into_iter().filter(|name| !name.is_empty() && !taken(name)).map(|name| {
        let mut all = rest.clone();
        all.insert(name, value.clone());
        call(&tool.name, all.into())
    });
    let flat = json!({"name": tool.name, argument.name.as_str(): value});
    // What is called like a parameter of the request is one.
    let free = !["name", "arguments", "_meta"].contains(&argument.name.as_str());
    let flat = (rest.is_empty() && free).then(|| request("tools/call", flat));
    let refused = |message: Step| {
        let mut op = middle(context, tool);
        op.push(arguments::refusal(message, Id::ArgumentsMissing).like("missing-argument"));
        op
    };
    near.chain(flat).map(refused).collect()
}

/// A call with nothing but what is required, where everything else has a default.
fn with_defaults(context: &Context, tool: &Tool) -> Option<Op> {
    let has_default = |one: &&Argument| !one.required && one.default.is_some();
    let number = tool.arguments.iter().filter(has_default).count();
    if number == 0 || number < tool.arguments.len() {
        return None;
    }
    let is_text = tool
        .arguments
        .iter()
        .any(|one| matches!(one.kind, Kind::Text { .. } | Kind::Samples(_) | Kind::Other));
    // What a text is good for, no schema tells.
    let sure = accepts(tool) || !is_text;
    let mut op = middle(context, tool);
    let answer = if sure { Answer::Result } else { Answer::Any };
    op.push(call(&tool.name, json!({})).answer(Id::ArgumentsDefault, answer));
    // One that goes against its own schema is a fault of the list.
    let fits = |one: &Argument, value: &Value| match one.kind {
        Kind::Integer { .. } => mcp_hil_core::wire::as_integer(value).is_some(),
        Kind::Boolean => value.is_boolean(),
        Kind::Text { .. } | Kind::Samples(_) | Kind::Other => true,
    };
    let all: Map<String, Value> = tool
        .arguments
        .iter()
        .filter_map(|one| Some((one.name.clone(), one.default.clone().filter(|it| fits(one, it))?)))
        .collect();
    if all.len() < number {
        return Some(op);
    }
    op.extend(middle(context, tool));
    op.push(call(&tool.name, all.into()).answer(Id::ArgumentsDefault, answer));
    Some(op)
}
