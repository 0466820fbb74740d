//! Up to 16 messages in flight, of mixed kinds: each request gets one answer, its own, in any order.

use mcp_hil_core::catalogue::RequirementId as Id;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::context::{Context, Kind};
use crate::parts::{Parts, mixed};
use crate::steps::StepExt as _;
use crate::steps::{self, NO_METHOD, call, good, list, one_of, put_back, request};
use crate::tool_names::{NO_TOOL, SET_VOLUME};
use mcp_hil_scenario::{Action, Answer, Outgoing, Step};

/// Most messages in flight.
const IN_FLIGHT: usize = 16;

const SLUG: Id = Id::JsonrpcInFlight;

/// Most tools that are read together.
const READERS: usize = 6;

/// Every so many inputs there is one that reads what several tools tell.
const READINGS: u32 = 8;

/// Where in a row of inputs that one stands: behind those that others need more.
const READING: u32 = 6;

pub(super) fn steps(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    let readings = (number % READINGS == READING).then(|| readings(context)).flatten();
    readings.unwrap_or_else(|| of_all_kinds(context, number))
}

/// Levels that the schema of the volume refuses, with the variation alone of each.
fn bad_levels(context: &Context) -> Vec<(Value, &'static str)> {
    let tool = context.tools().iter().find(|tool| tool.name == SET_VOLUME);
    let kind = tool.and_then(|tool| tool.arguments.iter().find(|one| one.name == "volume"));
    let (is_whole, is_bounded) = match kind.map(|one| &one.kind) {
        Some(Kind::Integer { maximum, .. }) => (true, maximum.is_some_and(|most| most <= 100)),
        _ => (false, false),
    };
    let all = [
        (is_bounded, json!(101), "above-maximum"),
        (true, json!("50"), "string-for-integer"),
        (true, json!(null), "null-for-integer"),
        (is_whole, json!(50.5), "fraction"),
    ];
    let refused = all.into_iter().filter(|(is_refused, ..)| *is_refused);
    refused.map(|(_, level, alone)| (level, alone)).collect()
}

/// Messages of different kinds.
fn of_all_kinds(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    let mut kinds = vec![
        Just(good().answer(SLUG, Answer::Result)).boxed(),
        Just(tools(list())).boxed(),
        "[a-z]{0,8}"
            .prop_map(|name| {
                request(&format!("{NO_METHOD}{name}"), json!({}))
                    .answer(SLUG, Answer::Error)
                    .like("unknown-method")
            })
            .boxed(),
        Just(tools(request("tools/list", json!({"cursor": ""})))).boxed(),
        Just(tools(request("tools/list", json!({"withUserTools": true})))).boxed(),
        one_of(vec!["notifications/mcp_hil", "notifications/initialized"]).prop_map(notify).boxed(),
    ];
    if context.can("nullary") {
        let content = json!({"content": {"$type": "array"}});
        let called = steps::nullary().answer(SLUG, Answer::Result);
        kinds.push(Just(called.shows(SLUG, "/result", content)).boxed());
    }
    if context.can("tools") {
        kinds.push(
            Just(call(NO_TOOL, json!({})).answer(SLUG, Answer::Refused).like("unknown-tool"))
                .boxed(),
        );
    }
    let levels = context.has_volume();
    if levels {
        kinds.push(
            // The bounds have requirements of their own.
            (1..=99_u8)
                .prop_map(|level| {
                    call(SET_VOLUME, json!({"volume": level})).answer(SLUG, Answer::Result)
                })
                .boxed(),
        );
        kinds.push(
            one_of(bad_levels(context))
                .prop_map(|(level, control)| {
                    call(SET_VOLUME, json!({"volume": level}))
                        .answer(SLUG, Answer::Refused)
                        .like(control)
                })
                .boxed(),
        );
        let shown = json!({"audio_speaker": {"volume": {"$type": "number"}}});
        kinds.push(
            Just(
                steps::status()
                    .answer(SLUG, Answer::Result)
                    .shows(SLUG, "/json", shown)
                    .like("status-volume"),
            )
            .boxed(),
        );
    }
    let back = put_back(context);
    crowded(number, kinds)
        .prop_map(move |messages| {
            let is_set = messages.iter().any(sets_level);
            let possible: Vec<_> = messages.iter().flat_map(possible_levels).collect();
            let mut steps = vec![Step::of(Action::Burst(messages))];
            if is_set {
                // Which of them came last is free; another level is not.
                steps.push(steps::status().shows(
                    Id::VolumeSet,
                    "/json/audio_speaker/volume",
                    json!({"$in": possible}),
                ));
                steps.push(back.clone());
            }
            steps
        })
        .boxed()
}

/// Tools that tell something, each alone first, and then all of them twice in flight together.
fn readings(context: &Context) -> Option<BoxedStrategy<Vec<Step>>> {
    let readers: Vec<Step> = context
        .readers()
        .take(READERS)
        .map(|tool| call(&tool.name, json!({})).answer(Id::CallSuccess, Answer::Any))
        .collect();
    if readers.len() < 2 {
        return None;
    }
    let order = (0..readers.len(), any::<bool>());
    let steps = order.prop_map(move |(first, is_turned)| {
        let mut twice = [readers.clone(), readers.clone()].concat();
        twice.rotate_left(first);
        if is_turned {
            twice.reverse();
        }
        let together = Step::of(Action::Burst(twice));
        readers.iter().cloned().chain([together]).collect()
    });
    Some(steps.boxed())
}

/// Messages of which the first is of the kind that the number chooses; every fourth flight is as full as
/// it gets.
fn crowded(number: u32, kinds: Vec<BoxedStrategy<Step>>) -> BoxedStrategy<Vec<Step>> {
    if number % 4 < 3 {
        return mixed(number, kinds, IN_FLIGHT - 1);
    }
    let turn = number as usize;
    let firsts = (0..IN_FLIGHT).map(|at| kinds[(turn + at) % kinds.len()].clone());
    Parts { firsts: firsts.collect(), others: kinds[0].clone(), more: 0 }.boxed()
}

fn tools(message: Step) -> Step {
    message.answer(SLUG, Answer::Result).shows(
        SLUG,
        "/result",
        json!({"tools": {"$type": "array"}}),
    )
}

fn notify(method: &str) -> Step {
    Step::of(Action::Send(Outgoing::Notify { method: method.into(), params: None }))
}

/// Whether a message sets a level with good reason.
fn sets_level(message: &Step) -> bool {
    let is_accepted = message.expect.iter().any(|expect| expect.answer == Some(Answer::Result));
    is_accepted && !possible_levels(message).is_empty()
}

/// The levels that a message can lead to: the one that it sets with good reason, or what a device makes of one
/// that it had to refuse. That it did not refuse it is told of that message, and not of the level.
fn possible_levels(message: &Step) -> Vec<Value> {
    let Action::Send(Outgoing::Request { params: Some(params), .. }) = &message.action else {
        return Vec::new();
    };
    match params.pointer("/arguments/volume") {
        None => Vec::new(),
        Some(Value::Null) => vec![json!(0)],
        Some(Value::String(text)) => {
            text.parse::<u8>().map(|level| json!(level)).into_iter().collect()
        }
        Some(level) => match level.as_f64() {
            Some(number) if number > 100.0 => vec![json!(100), level.clone()],
            Some(number) if number.fract() != 0.0 => {
                vec![json!(number.floor()), json!(number.ceil()), level.clone()]
            }
            _ => vec![level.clone()],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(json!({"volume": 48}), json!([48]))]
    #[case(json!({"volume": 50.5}), json!([50.0, 51.0, 50.5]))]
    #[case(json!({"volume": 101}), json!([100, 101]))]
    #[case(json!({"volume": "50"}), json!([50]))]
    #[case(json!({"volume": null}), json!([0]))]
    #[case(json!({}), json!([]))]
    fn what_had_to_be_refused_explains_a_level(#[case] arguments: Value, #[case] allowed: Value) {
        assert_eq!(json!(possible_levels(&call(SET_VOLUME, arguments))), allowed);
    }
}
