//! The same request twice, the second time in another spelling: the answers are the same.
//!
//! No document has to tell what the answer is. Readings that change by themselves are compared by
//! their kind only; text for people is not compared at all.

use proptest::prelude::*;
use proptest::strategy::Union;
use serde_json::{Value, json};

use super::Ground;
use super::json::{ID, any_order, blanks, request, spelled};
use super::parts::Parts;
use super::steps::{self, NO_METHOD, NO_TOOL, SET_VOLUME, put_back};
use crate::scenario::{Answer, Step};

/// Exchanges that belong together.
type Op = Vec<Step>;

/// Most steps of an input, one that puts the settings back aside.
const MOST_STEPS: usize = 19;

/// What is compared of two answers.
#[derive(Debug, Clone, Copy)]
enum Same {
    /// The whole result.
    Result,
    /// That both succeed.
    Success,
    /// That both fail, and under which code.
    Refusal,
    /// That both succeed, and set this level.
    Level(i64),
}

/// Order of members, which characters are escaped, what stands between tokens.
type Spelling = (u32, u32, Vec<&'static str>);

pub(super) fn steps(ground: &Ground, number: u32) -> BoxedStrategy<Op> {
    let requests = requests(ground);
    let touches = ground.has_volume();
    let back = put_back(ground);
    let spellings: [(&'static str, BoxedStrategy<Spelling>); 4] = [
        (
            "jsonrpc.member-order",
            // Odd: objects of two members are turned round.
            (
                (0..12_u32).prop_map(|half| 2 * half + 1),
                Just(0),
                Just(vec![""]),
            )
                .boxed(),
        ),
        (
            "jsonrpc.escapes",
            // All of them, or some.
            (
                Just(0),
                prop_oneof![Just(u32::MAX), proptest::bits::u32::ANY],
                Just(vec![""]),
            )
                .boxed(),
        ),
        ("jsonrpc.whitespace", (Just(0), Just(0), blanks()).boxed()),
        (
            "jsonrpc.whitespace",
            (any_order(), proptest::bits::u32::ANY, blanks()).boxed(),
        ),
    ];
    let kinds: Vec<BoxedStrategy<Op>> = requests
        .iter()
        .flat_map(|request| spellings.iter().map(move |spelling| (request, spelling)))
        .map(|((message, same), (requirement, spelling))| {
            let (message, same, requirement) = (message.clone(), *same, *requirement);
            (spelling.clone(), any::<bool>())
                .prop_map(move |(spelling, whole)| {
                    twice(&message, same, requirement, spelling, whole)
                })
                .boxed()
        })
        .collect();
    // An input tries all changes of one request.
    let own = number as usize % requests.len() * spellings.len();
    let firsts = kinds[own..own + spellings.len()].to_vec();
    Parts {
        firsts,
        others: Union::new(kinds).boxed(),
        more: 4,
    }
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

fn requests(ground: &Ground) -> Vec<(Value, Same)> {
    let call = |tool: &str, arguments: Value| {
        request("tools/call", json!({"name": tool, "arguments": arguments}))
    };
    let mut all = vec![
        (request("tools/list", json!({})), Same::Result),
        (
            request(NO_METHOD, json!({"name": "x", "arguments": {}})),
            Same::Refusal,
        ),
        (
            request("tools/list", json!({"cursor": "", "withUserTools": true})),
            Same::Result,
        ),
    ];
    if ground.has_volume() {
        all.insert(
            1,
            (call(SET_VOLUME, json!({"volume": 63})), Same::Level(63)),
        );
        all.push((call(SET_VOLUME, json!({"volume": 101})), Same::Refusal));
        all.push((call(SET_VOLUME, json!({"level": 50})), Same::Refusal));
    }
    if ground.can("tools") {
        all.insert(1, (call(NO_TOOL, json!({"volume": 1})), Same::Refusal));
    }
    let mut readers = ground.tools().iter();
    let reader = readers.find(|tool| tool.arguments.is_empty() && tool.name.contains(".get_"));
    if let Some(tool) = reader.filter(|_| ground.can("nullary")) {
        all.push((call(&tool.name, json!({})), Same::Success));
    }
    all
}

fn twice(
    message: &Value,
    same: Same,
    requirement: &'static str,
    spelling: Spelling,
    whole: bool,
) -> Op {
    debug_assert_eq!(message["id"], ID);
    let mut first = spelled(message, (0, 0, vec![""]), false);
    let second = spelled(message, spelling, whole);
    match same {
        Same::Result => {
            first.bind.insert("first".into(), "/result".into());
            let second = second.answer(requirement, Answer::Result).shows(
                requirement,
                "/result",
                json!({"$exact": "${first}"}),
            );
            vec![first, second]
        }
        Same::Success => vec![first, second.answer(requirement, Answer::Result)],
        Same::Refusal => {
            first.bind.insert("code".into(), "/error/code".into());
            let second = second
                .answer(requirement, Answer::Refused)
                .if_error(requirement, json!({"code": "${code}"}));
            vec![first, second]
        }
        Same::Level(level) => {
            let other = steps::call(SET_VOLUME, json!({"volume": 40}));
            let shown =
                steps::status().shows(requirement, "/json/audio_speaker/volume", level.into());
            vec![
                first,
                other,
                second.answer(requirement, Answer::Result),
                shown,
            ]
        }
    }
}
