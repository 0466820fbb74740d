//! Ids: every class of JSON number comes back as it was, everything else is refused without effect.
//!
//! An answer under a wrong id must not look like the answer to another request: the values of the classes do not
//! overlap, what becomes of one in a number that is too small for it is never sent together with it, and odd numbers
//! above 2^53 round to even ones, which are never sent.

use mcp_hil_core::catalogue::RequirementId as Id;
use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::Union;
use serde_json::{Value, json};

use crate::context::Context;
use crate::parts::Parts;
use crate::steps::StepExt as _;
use crate::steps::{self, NO_METHOD, one_of};
use crate::tool_names::{NO_TOOL, SET_VOLUME};
use mcp_hil_core::wire::{id_key, narrows_to};
use mcp_hil_scenario::{Action, Answer, Outgoing, Step};

/// What is owed for an id.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Due {
    /// An answer under that id.
    Answer,
    /// Nothing that the documents agree on.
    Life,
    /// Anything but a success.
    UserError,
}

/// An id as it is spelled, and the requirement about it.
#[derive(Debug, Clone)]
struct Given {
    id: String,
    due: Due,
    requirement: Id,
}

/// Ways through a firmware that an id can take.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Good,
    List,
    Call,
    UnknownTool,
    UnknownMethod,
    /// A call whose effect shows.
    Level(u8),
}

/// Largest and smallest integers of 53 bits and a sign.
const MAX_SAFE: i64 = (1 << 53) - 1;

pub(super) fn steps(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    let mut ways = vec![Just(Way::Good).boxed(), Just(Way::List).boxed()];
    if context.can("nullary") {
        ways.push(Just(Way::Call).boxed());
    }
    if context.can("tools") {
        ways.push(Just(Way::UnknownTool).boxed());
    }
    ways.push(Just(Way::UnknownMethod).boxed());
    let levels = context.has_volume();
    if levels {
        ways.push((1..=100_u8).prop_map(Way::Level).boxed());
    }
    let classes = classes();
    let (class, way) = (number as usize % classes.len(), number as usize / classes.len());
    // Every class takes every way within classes times ways draws.
    let first = (classes[class].clone(), ways[way % ways.len()].clone()).boxed();
    let firsts = vec![first];
    let others = (Union::new(classes), Union::new(ways)).boxed();
    // Some inputs send their requests again in another session, until that turns out not to matter.
    let again = proptest::bool::weighted(match number % 4 {
        3 if context.can("reconnect") => 0.9999,
        _ => 0.0001,
    });
    let parts = Parts { firsts, others, more: 5 };
    let back = levels.then(|| steps::put_back(context));
    (any::<bool>(), parts, again)
        .prop_map(move |(burst, parts, again)| {
            let mut seen = BTreeSet::new();
            let mut touched = false;
            let mut steps = Vec::new();
            for (given, way) in &parts {
                let key = serde_json::from_str::<Value>(&given.id).map(|id| id_key(&id));
                let names = given.due == Due::Answer || !key.as_deref().is_ok_and(nameless);
                if names && !seen.insert(key.unwrap_or_else(|_| given.id.clone())) {
                    continue;
                }
                touched |= matches!(way, Way::Level(_));
                steps.push(exchange(given, *way));
            }
            if burst {
                steps = together(steps);
            }
            if again {
                steps = twice(steps);
            }
            if let (Some(back), true) = (&back, touched) {
                steps.push(back.clone());
            }
            steps
        })
        .boxed()
}

/// Whether several messages may have this id: null, booleans and structures name nothing.
fn nameless(key: &str) -> bool {
    key.starts_with(['n', 't', 'f', '[', '{'])
}

/// The requests that are answered, and then once more: an id is used once in a session (MCP, basic/messages), and may come
/// again in the next one.
fn twice(steps: Vec<Step>) -> Vec<Step> {
    let again: Vec<Step> = steps.iter().filter(|step| is_answered(step)).cloned().collect();
    if again.is_empty() {
        return steps;
    }
    let next = [
        Step::of(Action::Disconnect { after: Vec::new(), inside: false, pinged: false }),
        steps::initialize(),
    ];
    steps.into_iter().chain(next).chain(again).collect()
}

/// The id of a step that sends a request under a number.
fn id(step: &Step) -> Option<&Value> {
    match &step.action {
        Action::Send(Outgoing::Request { id, .. }) => id.as_ref().filter(|id| id.is_number()),
        _ => None,
    }
}

/// Whether a step is a request that is owed an answer, whatever that is.
fn is_answered(step: &Step) -> bool {
    id(step).is_some()
        && step.expect.iter().any(|expect| expect.answer.is_some())
        && step.unchanged.is_none()
}

/// Requests that are all owed an answer, sent at once.
fn together(steps: Vec<Step>) -> Vec<Step> {
    let mut ids: Vec<Value> = Vec::new();
    let fits = |step: &Step| {
        let Some(id) = id(step).filter(|_| is_answered(step)) else { return false };
        let fits = ids.iter().all(|other| !narrows_to(other, id) && !narrows_to(id, other));
        if fits {
            ids.push(id.clone());
        }
        fits
    };
    let (legal, rest): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(fits);
    let burst = (!legal.is_empty()).then(|| Step::of(Action::Burst(legal)));
    burst.into_iter().chain(rest).collect()
}

fn exchange(given: &Given, way: Way) -> Step {
    // Whether unknown names are refused is asked elsewhere: here it is the id that has to come back.
    let (message, answer) = match way {
        Way::Good => (steps::good(), Answer::Result),
        Way::List => (steps::list(), Answer::Result),
        Way::Call => (steps::nullary(), Answer::Result),
        Way::UnknownTool => (steps::call(NO_TOOL, json!({})).like("unknown-tool"), Answer::Any),
        Way::UnknownMethod => {
            (steps::request(NO_METHOD, json!({})).like("unknown-method"), Answer::Any)
        }
        Way::Level(level) => (steps::call(SET_VOLUME, json!({"volume": level})), Answer::Result),
    };
    let message = message.under(&given.id);
    match given.due {
        // A device may refuse an id that it cannot give back.
        Due::Answer if given.requirement == Id::IdsAbove253 => {
            message.answer(given.requirement, Answer::Any)
        }
        Due::Answer => message.answer(given.requirement, answer),
        Due::Life => message.lives(given.requirement),
        Due::UserError => {
            let message = message.answer(given.requirement, Answer::Refused);
            match (way, given.requirement) {
                // Null reads as a notification to some; whether those are executed is open.
                (Way::Level(_), Id::IdsNullRejected) => message,
                (Way::Level(_), Id::IdsStringRejected | Id::IdsNumericStringRejected) => {
                    message.without_effect(Id::IdsStringNoEffect)
                }
                (Way::Level(_), requirement) => message.without_effect(requirement),
                _ => message,
            }
        }
    }
}

fn classes() -> Vec<BoxedStrategy<Given>> {
    let mut classes = integers();
    classes.extend(others());
    classes
}

/// Classes of ids that are owed an answer.
fn integers() -> Vec<BoxedStrategy<Given>> {
    let milliseconds = 1_758_893_424_665_i64;
    let all = [
        (Id::IdsEcho, (1..=1000_i64).boxed()),
        (Id::IdsZero, Just(0).boxed()),
        (Id::IdsNegative, one_of(vec![-1, -2, -128, -32_769]).boxed()),
        (Id::IdsMilliseconds, (milliseconds..milliseconds + 1_000_000).boxed()),
        (
            Id::IdsAboveInt32,
            one_of(vec![1 << 31, (1 << 31) + 1, (1 << 32) - 1, 1 << 32, (1 << 32) + 1]),
        ),
        (Id::IdsEcho, one_of(vec![(1 << 31) - 1, (1 << 31) - 2, (1 << 16) * 16, 1 << 30])),
        (Id::IdsNegative, one_of(vec![-(1 << 31), -(1 << 31) + 1, -(1 << 31) - 1, -(1 << 32) - 1])),
        (Id::IdsAboveInt32, (1_i64 << 32..1_000_000_000_000).boxed()),
        (Id::IdsAboveInt32, one_of(vec![MAX_SAFE, MAX_SAFE - 1, 1 << 52, -MAX_SAFE])),
        (Id::IdsMilliseconds, (1_000_000_000_000..10_000_000_000_000_i64).boxed()),
        (Id::IdsNegative, (-1_000_000_000..-1_000_001_i64).boxed()),
        // What counts in pages or sectors takes these for something else.
        (Id::IdsEcho, (300..500_000_i64).prop_map(|page| page * 4096).boxed()),
        (Id::IdsAboveInt32, (10_000_000_000_000..MAX_SAFE).boxed()),
        (Id::IdsNegative, (-MAX_SAFE..-(1_i64 << 33)).boxed()),
        (Id::IdsAbove253, one_of(vec![MAX_SAFE + 2, i64::MAX, i64::MIN + 1, (1 << 60) + 1])),
    ];
    let given = |(requirement, ids): (Id, BoxedStrategy<i64>)| {
        ids.prop_map(move |id| Given { id: id.to_string(), due: Due::Answer, requirement }).boxed()
    };
    all.into_iter().map(given).collect()
}

/// Classes of ids on which the documents do not agree, or that are none.
fn others() -> Vec<BoxedStrategy<Given>> {
    let one_text = |texts: &[&str]| one_of(texts.iter().copied().map(str::to_owned).collect());
    let huge = ["18446744073709551617", "1e30", "-1e30", "1e308", "123456789012345678901234567890"];
    let strings = [
        json!(""),
        json!(" "),
        json!("0x10"),
        json!("1.5"),
        json!("null"),
        json!("a\"b"),
        json!("a\\"),
        json!("\u{0}\n"),
        json!("\u{1F600}"),
        json!("12 "),
        json!("x".repeat(300)),
    ];
    let structures = ["[]", "{}", "[910001]", "[\"x\"]", "[null]", r#"{"id":910002}"#, "[[[[]]]]"];
    let named = "mcp-hil-[a-z0-9]{1,8}".prop_map(|id| json!(id).to_string());
    let numeric = (910_000..920_000_i64, any::<bool>())
        .prop_map(|(id, minus)| json!(if minus { -id } else { id }.to_string()).to_string());
    let all = [
        (Due::Life, Id::IdsFraction, fraction()),
        (Due::Life, Id::IdsEcho, respelled()),
        (Due::Life, Id::IdsAbove253, one_text(&huge)),
        (Due::UserError, Id::IdsStringRejected, named.boxed()),
        (Due::UserError, Id::IdsStringRejected, one_of(strings.map(|id| id.to_string()).to_vec())),
        (Due::UserError, Id::IdsNumericStringRejected, numeric.boxed()),
        (Due::UserError, Id::IdsNullRejected, Just("null".to_owned()).boxed()),
        (Due::UserError, Id::IdsBooleanRejected, one_text(&["true", "false"])),
        (Due::UserError, Id::IdsStructuredRejected, one_text(&structures)),
    ];
    let given = |(due, requirement, ids): (Due, Id, BoxedStrategy<String>)| {
        ids.prop_map(move |id| Given { id, due, requirement }).boxed()
    };
    all.into_iter().map(given).collect()
}

/// Fractions far from every integer that is sent.
fn fraction() -> BoxedStrategy<String> {
    let plain = one_of(vec!["5", "25", "125", "9", "1", "999", "0001", "000001"]);
    let plain = (900_001..999_000_i64, plain, any::<bool>())
        .prop_map(|(whole, part, minus)| format!("{}{whole}.{part}", if minus { "-" } else { "" }));
    let small = one_of(
        ["950000.5e0", "9500005e-1", "0.9500005e6", "95000.05E+1"].map(str::to_owned).to_vec(),
    );
    prop_oneof![plain, small].boxed()
}

/// Integers of 1,000,000 to 1,000,999 in the spelling of fractions and exponents.
fn respelled() -> BoxedStrategy<String> {
    (1_000_000..1_001_000_i64, 0..4_u8)
        .prop_map(|(id, form)| match form {
            0 => format!("{id}.0"),
            1 => format!("{id}e0"),
            2 => format!("{}.{:06}E6", id / 1_000_000, id % 1_000_000),
            _ => format!("{id}0e-1"),
        })
        .boxed()
}
