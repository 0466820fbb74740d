//! Defects that one value in many shows: no list of examples has it, generated inputs do.

use alloc::rc::Rc;
use core::cell::Cell;

use serde_json::{Value, json};

use super::volume::SET;
use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::float;
use crate::hooks::{Act, Flow};
use crate::prelude::*;

const BRIGHTNESS: &str = "self.screen.set_brightness";

/// 2^41 milliseconds: in autumn 2039.
const TIMER_END: i64 = 1 << 41;

pub(super) const IDS: &[Mutant] = &[
    mutant(
        "id-page-lost",
        "Ids that are multiples of 4096 are taken for no id, and not answered.",
        || {
            ids(|id| {
                let page = (4096..1 << 31).contains(&id) && id % 4096 == 0;
                page.then_some(None)
            })
        },
    ),
    mutant(
        "id-after-2039-rounded",
        "Ids that are times after September 2039 are kept in units of 4 seconds.",
        || {
            ids(|id| {
                (TIMER_END..1 << 53)
                    .contains(&id)
                    .then_some(Some(id / 4096 * 4096))
            })
        },
    ),
    mutant(
        "id-negative-million-positive",
        "Ids of minus one million and less, in 31 bits, come back without their sign.",
        || {
            ids(|id| {
                (-2_000_000_000..=-1_000_000)
                    .contains(&id)
                    .then_some(Some(-id))
            })
        },
    ),
    mutant(
        "id-far-negative-lost",
        "Requests with an id below -2^40 are not answered.",
        || ids(|id| (id < -(1 << 40)).then_some(None)),
    ),
    mutant(
        "id-again-dropped",
        "A request under the id of the request before it is taken for a repetition, and dropped.",
        || {
            let last = Rc::new(Cell::new(None));
            let forget = Rc::clone(&last);
            Defect::default()
                .on_payload(move |payload, _| {
                    let id = payload.get("id").and_then(Value::as_i64);
                    match last.replace(id) == id && id.is_some() {
                        true => Flow::Drop,
                        false => Flow::Pass,
                    }
                })
                .disconnected(move |_| forget.set(None))
        },
    ),
    mutant(
        "id-eleven-digits-as-string",
        "Ids of eleven digits come back as strings.",
        || {
            Defect::default().on_answer(|_, payload, _| {
                if let Some(id) = payload["id"].as_i64()
                    && (10_000_000_000..1_000_000_000_000).contains(&id)
                {
                    payload["id"] = json!(id.to_string());
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "id-whole-double-hangs",
        "A whole id with a point or an exponent, such as 1000.0, makes the device hang.",
        || {
            Defect::default().on_payload(|payload, hands| {
                let id = payload.get("id").filter(|id| id.is_f64());
                if id
                    .and_then(Value::as_f64)
                    .is_some_and(|id| id == float::trunc(id))
                {
                    hands.act(Act::Hang);
                }
                Flow::Pass
            })
        },
    ),
];

pub(super) const ARGUMENTS: &[Mutant] = &[
    mutant(
        "argument-string-first-of-two",
        "Of an array of several texts the first is accepted where a string belongs.",
        || {
            Defect::default().on_argument(|property, value| {
                let is_required = property.type_name() == "string" && property.default().is_none();
                match value.as_array().map(Vec::as_slice) {
                    Some([first, _, ..]) if is_required => Some(first.clone()),
                    _ => Some(value),
                }
            })
        },
    ),
    mutant(
        "argument-before-maximum-refused",
        "The brightness 99 is refused.",
        || {
            brightness(|value| {
                let refused = value == &json!(99);
                refused.then(|| json!(101))
            })
        },
    ),
    mutant(
        "argument-64-is-63",
        "The brightness 64 is rounded down to the next step of the driver's table, 63.",
        || brightness(|value| (value == &json!(64)).then(|| json!(63))),
    ),
    mutant(
        "argument-whole-double-cut",
        "Of a whole number that is spelled with a point or an exponent the first digit counts.",
        || {
            brightness(|value| {
                let whole = value
                    .as_f64()
                    .filter(|number| value.is_f64() && *number == float::trunc(*number));
                let first = whole.filter(|number| (1.0..=100.0).contains(number))?;
                let digits = format!("{first}");
                digits[..1].parse::<i64>().ok().map(Value::from)
            })
        },
    ),
    mutant(
        "argument-far-above-clamped",
        "A level of thousands is taken for the loudest.",
        || {
            Defect::default().on_call(|params, _| {
                let far = params["arguments"]["volume"].as_i64();
                if params["name"] == SET && far.is_some_and(|far| (5000..1 << 31).contains(&far)) {
                    params["arguments"]["volume"] = json!(100);
                }
            })
        },
    ),
    mutant(
        "argument-proto-panics",
        "An unknown argument with the name `__proto__` crashes the device.",
        || {
            Defect::default().on_call(|params, hands| {
                if params["arguments"].get("__proto__").is_some() {
                    hands.act(Act::Panic);
                }
            })
        },
    ),
    mutant(
        "argument-nameless-hangs",
        "An unknown argument whose name is empty makes the device hang.",
        || {
            Defect::default().on_call(|params, hands| {
                if params["arguments"].get("").is_some() {
                    hands.act(Act::Hang);
                }
            })
        },
    ),
];

pub(super) const STRINGS: &[Mutant] = &[
    mutant(
        "string-direction-cuts-error",
        "An error about a name with a mark of the writing direction ends in the middle.",
        || {
            Defect::default().on_answer_text(|_, text, _| {
                if text.contains("\"error\"") && text.contains('\u{202e}') {
                    let end = text.find('\u{202e}').unwrap_or(text.len());
                    text.truncate(end);
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "string-1024-hangs",
        "A string of exactly 1024 bytes makes the device hang.",
        || {
            Defect::default().on_payload(|payload, hands| {
                let text = payload.get("params").map(|params| &params["text"]);
                if text
                    .and_then(Value::as_str)
                    .is_some_and(|text| text.len() == 1024)
                {
                    hands.act(Act::Hang);
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "string-surrogate-in-name-panics",
        "Half a surrogate pair in the name of a tool crashes the device.",
        || {
            Defect::default().inbound(|inbound, hands| {
                let half = inbound.text.contains("\\ud800") || inbound.text.contains("\\udc00");
                if half && inbound.text.contains("tools/call") {
                    hands.act(Act::Panic);
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "string-last-backslash-unescaped",
        "A backslash at the end of a tool's name is not escaped in the error about it.",
        || {
            Defect::default().on_answer_text(|cause, text, _| {
                if cause.tool().ends_with('\\') && text.contains("\"error\"") {
                    *text = text.replacen("\\\\\"", "\\\"", 1);
                }
                Flow::Pass
            })
        },
    ),
];

/// Changes the ids of answers: to another one, or to none at all, which is no answer.
fn ids(change: fn(i64) -> Option<Option<i64>>) -> Defect {
    Defect::default().on_answer(move |_, payload, _| {
        match payload["id"].as_i64().and_then(change) {
            Some(None) => Flow::Drop,
            Some(Some(id)) => {
                payload["id"] = json!(id);
                Flow::Pass
            }
            None => Flow::Pass,
        }
    })
}

/// Changes the argument of `set_brightness`; `None` leaves it as it is.
fn brightness(change: fn(&Value) -> Option<Value>) -> Defect {
    Defect::default().on_call(move |params, _| {
        if params["name"] == BRIGHTNESS
            && let Some(value) = change(&params["arguments"]["brightness"])
        {
            params["arguments"]["brightness"] = value;
        }
    })
}
