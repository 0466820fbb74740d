//! Hostile text in every place that takes text: names of methods and tools, string arguments,
//! members that mean nothing. The answer is valid JSON, and the device lives.
//!
//! Text is written as JSON spells it, so that lone surrogates can be sent. What no parser need take
//! (those, and more than a few hundred bytes) only has to be survived.

use mcp_hil_core::catalogue::RequirementId as Id;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use crate::context::Context;
use crate::context::Kind;
use crate::parts::Parts;
use crate::steps::StepExt as _;
use crate::steps::{one_of, put_back, raw, raw_call};
use mcp_hil_scenario::{Action, Answer, Outgoing, Step};

/// Where the text stands.
#[derive(Debug, Clone)]
enum Place {
    Method,
    Tool,
    /// An argument of a tool: tool and argument.
    Argument(String, String),
    Member,
    Notification,
    /// A member of a message of a type that nobody knows.
    Stranger,
}

/// Text as JSON spells it between quotes.
#[derive(Debug, Clone)]
struct Text {
    spelled: String,
    /// Whether every parser takes it.
    sound: bool,
}

/// Pieces that every parser takes; those in front have stopped most devices.
const SOUND: [&str; 26] = [
    "\\\"",
    "\\\\",
    "\\n",
    "\\u0001",
    "\\u001b[31m",
    "\u{202e}\u{5d0}\u{627}\u{202c}",
    "\u{1F600}",
    "\\ud83d\\ude00",
    "\u{10ffff}",
    "e\u{301}\u{301}\u{301}",
    "%s%n%d",
    "\\\"}}],\\\"result\\\":{}",
    "\\uffff\\ufffe",
    "\u{feff}",
    "a",
    "\\/",
    "\\r\\t\\b\\f",
    "\\u007f",
    "\u{e9}",
    "\u{4e2d}\u{6587}",
    "\u{200b}\u{200d}",
    "\\u2028\\u2029",
    "'; --",
    "<b>&amp;",
    "\\\\u0041",
    "null",
];

/// A piece that a parser may refuse, with all that is beside it (RFC 8259, section 9).
const NUL: &str = "\\u0000";

/// How many of them one input tries alone.
const ALONE: usize = 15;

/// Pieces with unpredictable results (RFC 8259, section 8.2), and such as no JSON has.
const UNSOUND: [&str; 7] =
    ["\\ud800", "\\udc00", "\\ud83d\\u0041", "\\udc00\\ud800", "\\u12", "\\x41", "\u{1}"];

/// Sizes in bytes at which buffers end.
const EDGES: [usize; 15] =
    [127, 128, 255, 256, 500, 512, 1000, 1023, 1024, 4095, 4096, 8191, 8192, 16_384, 32_768];

/// Longest text, in bytes, that a request carries; beyond, a parser may set a limit.
const SURE: usize = 512;

pub(super) fn steps(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    let mut places = vec![Place::Method];
    if context.can("tools") {
        places.push(Place::Tool);
    }
    places.push(Place::Notification);
    let mut arguments = arguments(context).map(|(tool, argument)| Place::Argument(tool, argument));
    // With few inputs the order matters: an argument of one tool, then the other places.
    places.extend(arguments.next());
    places.extend([Place::Member, Place::Stranger]);
    places.extend(arguments);
    let kinds = [short().boxed(), one_piece(), long(), unsound()];
    let (kind, turn) = (number as usize % kinds.len(), number as usize / kinds.len());
    let place = places[turn % places.len()].clone();
    let just = |spelled: String, sound| Just(Text { spelled, sound }).boxed();
    // Of each kind an input tries what has stopped devices before, whatever chance adds.
    let texts: Vec<BoxedStrategy<Text>> = match kind {
        0 => vec![just(SOUND.concat(), true), short().boxed()],
        1 => {
            let own = SOUND[..ALONE - 1].iter().chain([&NUL]);
            own.map(|piece| just((*piece).to_owned(), true)).collect()
        }
        2 => {
            let sizes = EDGES.iter().chain(&[60_000]);
            sizes.map(|bytes| Just(sized("x", *bytes)).boxed()).collect()
        }
        _ => UNSOUND.iter().map(|piece| just((*piece).to_owned(), false)).collect(),
    };
    let firsts = texts.into_iter().map(|text| (text, Just(place.clone())).boxed()).collect();
    let touches = context.has_volume();
    let back = put_back(context);
    let others = (proptest::strategy::Union::new(kinds), one_of(places)).boxed();
    Parts { firsts, others, more: 3 }
        .prop_map(move |all| {
            let mut steps: Vec<Step> =
                all.iter().map(|(text, place)| exchange(text, place)).collect();
            if touches && all.iter().any(|(_, place)| matches!(place, Place::Argument(..))) {
                steps.push(back.clone());
            }
            steps
        })
        .boxed()
}

/// Tools and their arguments that take any text, where no other is needed.
pub(super) fn arguments(context: &Context) -> impl Iterator<Item = (String, String)> + '_ {
    context.tools().iter().filter_map(|tool| {
        let free = Kind::Text { choices: Vec::new() };
        let argument = tool.arguments.iter().find(|one| one.kind == free)?;
        let mut others = tool.arguments.iter();
        let alone = !others.any(|one| one.required && one.name != argument.name);
        alone.then(|| (tool.name.clone(), argument.name.clone()))
    })
}

/// One piece alone: which one matters.
fn one_piece() -> BoxedStrategy<Text> {
    one_of([&SOUND[..], &[NUL]].concat())
        .prop_map(|piece| Text { spelled: piece.to_owned(), sound: true })
        .boxed()
}

/// A few pieces, or none.
fn short() -> impl Strategy<Value = Text> {
    vec(one_of(SOUND.to_vec()), 0..8)
        .prop_map(|pieces| Text { spelled: pieces.concat(), sound: true })
}

/// Up to 60,000 bytes.
fn long() -> BoxedStrategy<Text> {
    let sizes = prop_oneof![
        2 => one_of(vec![64, 256, 512]),
        2 => Just(60_000_usize),
        1 => one_of(EDGES.to_vec()),
        1 => 1..=60_000_usize,
    ];
    (sizes, one_of(vec!["x", "\\\"", "\\\\", "\u{4e2d}"]))
        .prop_map(|(bytes, piece)| sized(piece, bytes))
        .boxed()
}

/// Text of so many bytes.
fn sized(piece: &str, bytes: usize) -> Text {
    Text { spelled: format!("${{repeat:{piece}:{}}}", bytes / piece.len()), sound: bytes <= SURE }
}

fn unsound() -> BoxedStrategy<Text> {
    (one_of(UNSOUND.to_vec()), one_of(vec!["", "a", "\\\"", "\u{1F600}"]))
        .prop_map(|(piece, before)| Text { spelled: format!("{before}{piece}"), sound: false })
        .boxed()
}

fn exchange(text: &Text, place: &Place) -> Step {
    let Text { spelled, sound } = text;
    let long = spelled.starts_with("${repeat");
    let survived = if long { Id::RobustnessLongString } else { Id::RobustnessUnicode };
    let request = |rest: &str| raw(format!(r#"{{"jsonrpc":"2.0","id":${{id}},{rest}}}"#));
    let notification = |params: &str| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/mcp_hil","params":{{{params}}}}}"#
        );
        raw(text).lives(survived)
    };
    match place {
        // A request would be owed an answer, if only its text is JSON: a parser may set a limit.
        _ if !sound && long => match place {
            Place::Member => notification(&format!(r#""{spelled}":1"#)),
            Place::Tool => {
                let text = format!(
                    r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"name":"mcp_hil.{spelled}","arguments":{{}}}}}}"#
                );
                raw(text).lives(survived)
            }
            Place::Method => {
                raw(format!(r#"{{"jsonrpc":"2.0","method":"notifications/{spelled}"}}"#))
                    .lives(survived)
            }
            Place::Stranger => stranger(spelled).lives(survived),
            // Without a session nothing is owed for the call.
            Place::Argument(tool, argument) => call_of_no_session(tool, argument, spelled),
            Place::Notification => notification(&format!(r#""text":"{spelled}""#)),
        },
        Place::Method => {
            let message = request(&format!(r#""method":"mcp_hil/{spelled}","params":{{}}"#));
            match sound {
                true => {
                    message.answer(Id::ErrorsMessageEscaped, Answer::Error).like("unknown-method")
                }
                false => message.lives(survived),
            }
        }
        Place::Tool => {
            let message = raw_call("mcp_hil.", "{}");
            let message = rename(message, spelled);
            match sound {
                true => message.answer(Id::ErrorsMessageEscaped, Answer::Any).like("unknown-tool"),
                false => message.lives(survived),
            }
        }
        Place::Argument(tool, argument) => {
            let message = raw_call(tool, &format!(r#"{{{}:"{spelled}"}}"#, json!(argument)));
            match sound {
                true => message.answer(Id::ArgumentsStringHostile, Answer::Any),
                false => message.lives(survived),
            }
        }
        Place::Member => {
            let message = request(&format!(
                r#""method":"tools/list","mcpHil":{{"{spelled}":"{spelled}"}},"params":{{}}"#
            ));
            match sound {
                true => message.answer(Id::JsonrpcExtraMembers, Answer::Result),
                false => message.lives(survived),
            }
        }
        Place::Notification => notification(&format!(r#""text":"{spelled}""#)),
        Place::Stranger => stranger(spelled).lives(survived),
    }
}

/// A call with a text that a parser may be too small for. Nothing is owed for it, for it has no session: the device has
/// to survive it.
pub(super) fn call_of_no_session(tool: &str, argument: &str, spelled: &str) -> Step {
    let (tool, argument) = (json!(tool), json!(argument));
    let text = format!(
        r#"{{"type":"mcp","payload":{{"jsonrpc":"2.0","id":${{id}},"method":"tools/call","params":{{"name":{tool},"arguments":{{{argument}:"{spelled}"}}}}}}}}"#
    );
    Step::of(Action::Send(Outgoing::Text(text))).lives(Id::RobustnessLongString)
}

fn stranger(spelled: &str) -> Step {
    Step::of(Action::Send(Outgoing::Text(format!(
        r#"{{"session_id":"${{session}}","type":"mcp-hil","text":"{spelled}"}}"#
    ))))
}

/// Puts the text behind the name `mcp_hil.` of a call.
fn rename(mut message: Step, spelled: &str) -> Step {
    if let Action::Send(Outgoing::PayloadText(text)) = &mut message.action {
        *text = text.replacen("mcp_hil.", &format!("mcp_hil.{spelled}"), 1);
    }
    message
}
