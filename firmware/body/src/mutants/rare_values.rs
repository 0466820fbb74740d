//! Defects that one value in many shows: no list of examples has it, generated inputs do.

use super::argument_kinds::strings;
use crate::float;
use crate::rows::prelude::*;

/// 2^41 milliseconds: in autumn 2039.
const TIMER_END: i64 = 1 << 41;

pub(super) const IDS: &[Row] = rows! {
    "id-page-lost": "Ids that are multiples of 4096 are treated as no id, and not answered."
        => ids(|id| ((4096..1 << 31).contains(&id) && id % 4096 == 0).then_some(Value::Null));
    "id-after-2039-rounded":
        "Ids that are times after September 2039 are stored in units of 4 seconds."
        => ids(|id| (TIMER_END..1 << 53).contains(&id).then(|| json!(id / 4096 * 4096)));
    "id-negative-million-positive":
        "Ids of minus one million and less, in 31 bits, come back without their sign."
        => ids(|id| (-2_000_000_000..=-1_000_000).contains(&id).then(|| json!(-id)));
    "id-far-negative-lost": "Requests with an id below -2^40 are not answered."
        => ids(|id| (id < -(1 << 40)).then_some(Value::Null));
    "id-again-dropped":
        "The last 16 ids are remembered beyond their session, and a request under one is ignored." => {
        let mut seen: Vec<i64> = Vec::new();
        payloads_lost(move |payload| {
            let Some(id) = get(payload, "id").as_i64() else { return false };
            let is_again = seen.contains(&id);
            seen.push(id);
            seen.drain(..seen.len().saturating_sub(16));
            is_again
        })
    };
    "id-eleven-digits-as-string": "Ids of eleven digits come back as strings."
        => ids(|id| {
            (10_000_000_000..1_000_000_000_000).contains(&id).then(|| json!(id.to_string()))
        });
    "id-whole-double-hangs":
        "An integer id with a decimal point or an exponent, such as 1000.0, makes the device hang."
        => defect().on_payload(|payload, hands| {
            let id = payload.get("id").filter(|id| id.is_f64()).and_then(Value::as_f64);
            act_if(id.is_some_and(|id| id == float::trunc(id)), Act::Hang, hands);
            Flow::Pass
        });
};

pub(super) const ARGUMENTS: &[Row] = rows! {
    "argument-string-first-of-two":
        "Of an array of several strings the first is accepted for a string."
        => strings(|value| match value.as_array()?.as_slice() {
            [first, _, ..] => Some(first.clone()),
            _ => None,
        });
    "argument-before-maximum-refused": "The brightness 99 is refused."
        => brightness(|value| (*value == 99).then_some(101));
    "argument-64-is-63":
        "The brightness 64 is rounded down to the next step of the driver's table, 63."
        => brightness(|value| (*value == 64).then_some(63));
    "argument-whole-double-cut":
        "Of an integer that is spelled with a decimal point or an exponent only the first digit counts."
        => brightness(|value| {
            let number = value.as_f64().filter(|_| value.is_f64())?;
            let is_whole = number == float::trunc(number) && (1.0..=100.0).contains(&number);
            format!("{number}")[..1].parse().ok().filter(|_| is_whole)
        });
    "argument-far-above-clamped": "A level in the thousands is treated as the loudest."
        => defect().on_call(|params, _| {
            let far = params["arguments"]["volume"].as_i64();
            if params["name"] == SET && far.is_some_and(|far| (5000..1 << 31).contains(&far)) {
                params["arguments"]["volume"] = json!(100);
            }
        });
    "argument-proto-panics": "An unknown argument with the name `__proto__` crashes the device."
        => with_argument("__proto__", Act::Panic);
    "argument-nameless-hangs": "An unknown argument whose name is empty makes the device hang."
        => with_argument("", Act::Hang);
};

pub(super) const STRINGS: &[Row] = rows! {
    "string-direction-cuts-error":
        "An error about a name with a text direction mark is truncated."
        => all().text(|text| {
            if let Some(end) = text.find('\u{202e}').filter(|_| text.contains("\"error\"")) {
                text.truncate(end);
            }
        });
    "string-1024-hangs": "A string of exactly 1024 bytes makes the device hang."
        => defect().on_payload(|payload, hands| {
            let text = get(payload, "params")["text"].as_str();
            act_if(text.is_some_and(|text| text.len() == 1024), Act::Hang, hands);
            Flow::Pass
        });
    "string-surrogate-in-name-panics":
        "Half a surrogate pair in the name of a tool crashes the device."
        => texts(
            |text| {
                let half = text.contains("\\ud800") || text.contains("\\udc00");
                half && text.contains("tools/call")
            },
            Act::Panic,
        );
    "string-last-backslash-unescaped":
        "A backslash at the end of a tool's name is not escaped in the error about it."
        => when(|request| request.tool().ends_with('\\')).text(|text| {
            if text.contains("\"error\"") {
                *text = text.replacen("\\\\\"", "\\\"", 1);
            }
        });
};

/// Changes the ids of answers; under the id null there is no answer at all.
fn ids(change: fn(i64) -> Option<Value>) -> Defect {
    defect().on_answer(move |_, payload, _| {
        if let Some(id) = payload["id"].as_i64().and_then(change) {
            payload["id"] = id;
            return drop_if(payload["id"].is_null());
        }
        Flow::Pass
    })
}

/// Changes the argument of `set_brightness`; `None` leaves it as it is.
fn brightness(change: fn(&Value) -> Option<i64>) -> Defect {
    defect().on_call(move |params, _| {
        if params["name"] == BRIGHTNESS
            && let Some(value) = change(&params["arguments"]["brightness"])
        {
            params["arguments"]["brightness"] = json!(value);
        }
    })
}

/// Does something before a call that has an argument of this name.
fn with_argument(name: &'static str, act: Act) -> Defect {
    defect().on_call(move |params, hands| {
        act_if(params["arguments"].get(name).is_some(), act.clone(), hands);
    })
}
