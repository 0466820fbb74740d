//! The same request twice, the second time in another spelling: the answers are the same.
//!
//! No document has to tell what the answer is. Readings that change by themselves are compared by
//! their kind only; text for people is not compared at all.

use mcp_hil_core::capability::is_setting;
use mcp_hil_core::catalogue::RequirementId as Id;
use proptest::prelude::*;
use proptest::strategy::Union;
use serde_json::{Value, json};

use crate::arguments::value_of;
use crate::context::{Argument, Context, Kind, Tool};
use crate::json::{any_order, blanks, request, spelled};
use crate::parts::Parts;
use crate::steps::StepExt as _;
use crate::steps::{self, NO_METHOD, put_back};
use crate::told::{Readback, readbacks};
use crate::tool_names::{NO_TOOL, SET_VOLUME};
use mcp_hil_scenario::Step;

/// Exchanges that belong together.
type Op = Vec<Step>;

/// Most steps of an input, one that puts the settings back aside.
const MOST_STEPS: usize = 19;

/// What is compared of two answers.
#[derive(Debug, Clone)]
enum Same {
    /// The tools of a list.
    Tools,
    /// That both succeed.
    Success,
    /// That both fail, and under which code.
    UserError,
    /// That both succeed, and what a reading shows there after each.
    Shown(Box<Shown>),
}

/// What shows that a call took effect.
#[derive(Debug, Clone)]
struct Shown {
    /// The reading after the plain call, with what is expected there.
    plain: Step,
    /// A call between the two, which sets something else.
    other: Step,
    /// The reading after the second call.
    reading: Step,
    /// Where the reading is compared.
    places: Vec<String>,
}

/// Order of members, which characters are escaped, what stands between tokens.
type Spelling = (u32, u32, Vec<&'static str>);

/// How the second message differs from the first one.
struct Change {
    requirement: Id,
    /// Whether the first one is spelled as usual. Else it has the order and the escapes of the second one: what a device
    /// makes of these has requirements of its own.
    is_plain: bool,
    spelling: BoxedStrategy<Spelling>,
}

pub(super) fn steps(context: &Context, number: u32) -> BoxedStrategy<Op> {
    let requests = requests(context);
    let touches = context.has_volume();
    let back = put_back(context);
    let spellings: [Change; 4] = [
        Change {
            requirement: Id::JsonrpcMemberOrder,
            is_plain: true,
            // Odd: objects of two members are turned round.
            spelling: ((0..12_u32).prop_map(|half| 2 * half + 1), Just(0), Just(vec![""])).boxed(),
        },
        Change {
            requirement: Id::JsonrpcEscapes,
            is_plain: true,
            // All of them, or some.
            spelling: (
                Just(0),
                prop_oneof![Just(u32::MAX), proptest::bits::u32::ANY],
                Just(vec![""]),
            )
                .boxed(),
        },
        Change {
            requirement: Id::JsonrpcWhitespace,
            is_plain: true,
            spelling: (Just(0), Just(0), blanks()).boxed(),
        },
        Change {
            requirement: Id::JsonrpcWhitespace,
            is_plain: false,
            spelling: (any_order(), proptest::bits::u32::ANY, blanks()).boxed(),
        },
    ];
    let kinds: Vec<BoxedStrategy<Op>> = requests
        .iter()
        .enumerate()
        .flat_map(|request| spellings.iter().map(move |spelling| (request, spelling)))
        .map(|((number, (message, same)), change)| {
            let (message, same, requirement) = (message.clone(), same.clone(), change.requirement);
            let is_plain = change.is_plain;
            (change.spelling.clone(), any::<bool>())
                .prop_map(move |(spelling, whole)| {
                    let (order, escapes, _) = spelling;
                    let second = spelled(&message, spelling, whole);
                    let (first, name) = match is_plain {
                        true => (spelled(&message, (0, 0, vec![""]), false), number.to_string()),
                        false => (
                            spelled(&message, (order, escapes, vec![""]), whole),
                            format!("{number}-{order}-{escapes}"),
                        ),
                    };
                    twice(first, second, &name, &same, requirement)
                })
                .boxed()
        })
        .collect();
    // An input tries all changes of one request.
    let own = number as usize % requests.len() * spellings.len();
    let firsts = kinds[own..own + spellings.len()].to_vec();
    Parts { firsts, others: Union::new(kinds).boxed(), more: 4 }
        .prop_map(move |ops: Vec<Op>| {
            let mut steps = Op::new();
            for op in ops {
                if steps.len() + op.len() <= MOST_STEPS {
                    steps.extend(op);
                }
            }
            if touches {
                steps.push(back.clone());
            }
            steps
        })
        .boxed()
}

fn requests(context: &Context) -> Vec<(Value, Same)> {
    let call = |tool: &str, arguments: Value| {
        request("tools/call", json!({"name": tool, "arguments": arguments}))
    };
    let mut all = vec![
        (request("tools/list", json!({})), Same::Tools),
        (request(NO_METHOD, json!({"name": "x", "arguments": {}})), Same::UserError),
        (request("tools/list", json!({"cursor": "", "withUserTools": true})), Same::Tools),
    ];
    if context.has_volume() {
        all.insert(1, (call(SET_VOLUME, json!({"volume": 63})), level(63)));
        all.push((call(SET_VOLUME, json!({"volume": 101})), Same::UserError));
        all.push((call(SET_VOLUME, json!({"level": 50})), Same::UserError));
    }
    if context.can("tools") {
        all.insert(1, (call(NO_TOOL, json!({"volume": 1})), Same::UserError));
    }
    all.extend(readbacks(context).map(|(tool, told)| {
        let Readback { arguments, other, reading, places } = told;
        let shown = Shown { plain: reading.clone(), other, reading, places };
        (call(tool, arguments), Same::Shown(Box::new(shown)))
    }));
    all.extend(several(context).map(|(tool, arguments)| (call(tool, arguments), Same::Success)));
    let mut readers = context.tools().iter();
    let reader = readers.find(|tool| tool.arguments.is_empty() && tool.name.contains(".get_"));
    if let Some(tool) = reader.filter(|_| context.can("nullary")) {
        all.push((call(&tool.name, json!({})), Same::Success));
    }
    all
}

/// The level in the status, which must be this one.
fn level(level: i64) -> Same {
    const SHOWN: &str = "/json/audio_speaker/volume";
    Same::Shown(Box::new(Shown {
        plain: steps::status().shows(Id::VolumeSet, SHOWN, level.into()),
        other: steps::call(SET_VOLUME, json!({"volume": 40})),
        reading: steps::status(),
        places: vec![SHOWN.to_owned()],
    }))
}

/// A tool that sets or reads something by several arguments, with good values for all of them: taken by their places
/// in another order, at least one is of another type or outside its range.
fn several(context: &Context) -> Option<(&str, Value)> {
    let is_such = |tool: &&Tool| {
        let mut places = tool.arguments.iter().zip(tool.arguments.iter().rev());
        let is_known = |one: &Argument| !matches!(one.kind, Kind::Samples(_) | Kind::Other);
        is_setting(&tool.name)
            && tool.arguments.iter().all(is_known)
            && places.any(|(this, other)| !takes(&this.kind, &value_of(&other.kind)))
    };
    let tool = context.tools().iter().find(is_such)?;
    let values = tool.arguments.iter().map(|one| (one.name.clone(), value_of(&one.kind)));
    Some((&tool.name, Value::Object(values.collect())))
}

/// Whether a value is one of a kind.
fn takes(kind: &Kind, value: &Value) -> bool {
    match kind {
        Kind::Integer { minimum, maximum } => value.as_i64().is_some_and(|value| {
            minimum.is_none_or(|low| low <= value) && maximum.is_none_or(|high| value <= high)
        }),
        Kind::Boolean => value.is_boolean(),
        Kind::Text { choices } => {
            let text = value.as_str();
            text.is_some_and(|text| choices.is_empty() || choices.iter().any(|one| one == text))
        }
        Kind::Samples(_) | Kind::Other => true,
    }
}

/// A request and its variation, which is judged by what the plain one got: a wrong answer that both get is no
/// fault of the spelling, and silence to the plain one shows nothing. What is kept of the plain answer has a name
/// for each message, so that none is compared with the answer to another.
fn twice(mut first: Step, second: Step, message: &str, same: &Same, requirement: Id) -> Op {
    let name = |what: &str| format!("{what}{message}");
    let kept = |what: &str| json!(format!("${{{what}{message}}}"));
    if let Same::Tools = same {
        // Each listing may have cursors of its own: MCP calls them opaque (server/utilities/pagination).
        const PAGE: &str = "/result";
        first.bind.insert(name("page"), PAGE.into());
        // The order of tools is a matter of `list.stable`, and not of how the request is spelled.
        let same = json!({"$page": kept("page")});
        return vec![first, second.shows_as_bound(requirement, PAGE, same)];
    }
    first.bind.insert(name("outcome"), "/outcome".into());
    let second = second.shows_as_bound(requirement, "/outcome", kept("outcome"));
    match same {
        Same::Tools | Same::Success => vec![first, second],
        Same::UserError => {
            first.bind.insert(name("code"), "/error/code".into());
            let second = second.if_error(requirement, json!({"code": kept("code")}));
            vec![first, second]
        }
        Same::Shown(shown) => {
            let Shown { mut plain, other, mut reading, places } = Shown::clone(shown);
            for (nth, place) in places.iter().enumerate() {
                let what = format!("shown{nth}-");
                plain.bind.insert(name(&what), place.clone());
                reading = reading.shows_as_bound(requirement, place, kept(&what));
            }
            vec![first, plain, other, second, reading]
        }
    }
}
