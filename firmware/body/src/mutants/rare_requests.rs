//! Defects that one request in many shows, by its name, its cursor, its spelling or its company.

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};

use serde_json::{Map, Value, json};

use super::volume::SET;
use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow};
use crate::prelude::*;

pub(super) const LIST: &[Mutant] = &[
    mutant(
        "cursor-beginning-accepted",
        "A cursor that is the beginning of a tool's name is taken for that tool's.",
        || {
            Defect::default().on_method("tools/list", |payload, hands| {
                let tools = hands.device.registry().tools();
                let names: Vec<_> = tools
                    .filter(|tool| !tool.user_only)
                    .map(|tool| tool.name)
                    .collect();
                let params = payload.get_mut("params");
                if let Some(Value::String(cursor)) =
                    params.and_then(|params| params.get_mut("cursor"))
                    && cursor.len() > "self.".len()
                    && let Some(name) = names.iter().find(|name| name.starts_with(cursor.as_str()))
                {
                    *cursor = (*name).to_string();
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "cursor-third-time-short",
        "A page that is asked for three times in a row has one tool less the third time.",
        || {
            let last = RefCell::new((String::new(), 0));
            Defect::default().on_result("tools/list", move |request, result| {
                let mut last = last.borrow_mut();
                if last.0 != request.cursor() {
                    *last = (request.cursor().to_string(), 0);
                }
                last.1 += 1;
                if last.1 == 3
                    && !request.cursor().is_empty()
                    && let Some(tools) = result["tools"].as_array_mut()
                {
                    tools.pop();
                }
            })
        },
    ),
    mutant(
        "list-extra-params-refused",
        "tools/list with a parameter that the device does not know is refused.",
        || {
            Defect::default().on_method("tools/list", |payload, hands| {
                let known =
                    |name: &String| ["cursor", "withUserTools", "_meta"].contains(&name.as_str());
                let strange = payload.get("params").and_then(Value::as_object);
                if strange.is_none_or(|params| params.keys().all(known)) {
                    return Flow::Pass;
                }
                hands.send_payload(&error(payload, -32602, "Invalid params"));
                Flow::Drop
            })
        },
    ),
];

pub(super) const NAMES: &[Mutant] = &[
    mutant(
        "method-64-bytes-lost",
        "A request whose method has just 64 bytes is not answered.",
        || {
            Defect::default().on_payload(|payload, _| {
                let method = payload.get("method").and_then(Value::as_str);
                match method.is_some_and(|method| method.len() == 64) {
                    true => Flow::Drop,
                    false => Flow::Pass,
                }
            })
        },
    ),
    mutant(
        "method-tab-trimmed",
        "A tab or a line end behind a method counts for nothing.",
        || method(|method| method.trim_end_matches(['\t', '\r', '\n']).to_string()),
    ),
    mutant(
        "method-cut-at-nul",
        "A method ends at its first NUL.",
        || method(|method| method.split('\0').next().unwrap_or_default().to_string()),
    ),
    mutant(
        "tool-name-underscores",
        "Tools can be called with underscores in the place of points.",
        || {
            Defect::default().on_call(|params, hands| {
                let tools = hands.device.registry().tools();
                let names: Vec<_> = tools.map(|tool| tool.name).collect();
                let meant = names
                    .iter()
                    .find(|name| params["name"] == name.replace('.', "_"));
                if let Some(name) = meant {
                    params["name"] = json!(name);
                }
            })
        },
    ),
];

pub(super) const SPELLINGS: &[Mutant] = &[
    mutant(
        "json-newline-at-end-dropped",
        "A text with a line end behind it is dropped.",
        || {
            Defect::default().inbound(|inbound, _| match inbound.text.ends_with("}\n") {
                true => Flow::Drop,
                false => Flow::Pass,
            })
        },
    ),
    mutant(
        "json-capital-hex-unread",
        "Capital hexadecimal digits in escapes are not understood.",
        || {
            Defect::default().inbound(|inbound, _| {
                let capital = ('A'..='F').any(|digit| {
                    let end = |high: char| format!("\\u00{high}{digit}");
                    ('2'..='7').any(|high| inbound.text.contains(&end(high)))
                });
                match capital {
                    true => Flow::Drop,
                    false => Flow::Pass,
                }
            })
        },
    ),
    mutant(
        "json-method-last-dropped",
        "A request whose method is its last member is dropped.",
        || {
            Defect::default().inbound(|inbound, _| {
                let at = |name: &str| inbound.text.find(&format!("\"{name}\":"));
                let others = [at("jsonrpc"), at("id"), at("params")];
                let last = at("method").is_some_and(|method| {
                    others
                        .iter()
                        .all(|other| other.is_some_and(|other| other < method))
                });
                match last {
                    true => Flow::Drop,
                    false => Flow::Pass,
                }
            })
        },
    ),
    mutant(
        "json-duplicate-member-panics",
        "A method that stands twice overruns the table of members.",
        || {
            Defect::default().inbound(|inbound, hands| {
                if inbound.text.matches(r#""method":"#).count() == 2 {
                    let twice = serde_json::from_str::<Value>(&inbound.text).unwrap_or_default();
                    let once = twice.to_string().matches(r#""method":"#).count() == 1;
                    if once {
                        hands.act(Act::Panic);
                    }
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "json-seven-deep-dropped",
        "A request with structures seven deep and more is dropped.",
        || {
            Defect::default().inbound(|inbound, _| {
                let message = serde_json::from_str::<Value>(&inbound.text).unwrap_or_default();
                match message["payload"]["method"] == "tools/list" && depth(&message) >= 7 {
                    true => Flow::Drop,
                    false => Flow::Pass,
                }
            })
        },
    ),
    mutant(
        "json-second-text-hangs",
        "A second text behind the first one, on a line of its own, makes the device hang.",
        || {
            Defect::default().inbound(|inbound, hands| {
                if inbound.text.contains("}\n{") {
                    hands.act(Act::Hang);
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "json-nameless-member-dropped",
        "A request with a member whose name is empty is dropped.",
        || {
            Defect::default().on_payload(|payload, _| match payload.contains_key("") {
                true => Flow::Drop,
                false => Flow::Pass,
            })
        },
    ),
];

/// How many structures lie within each other.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

pub(super) const REWRITTEN: &[Mutant] = &[
    mutant(
        "json-escaped-argument-unread",
        "The name of an argument that is spelled with escapes is not understood.",
        || {
            Defect::default().inbound(|inbound, _| {
                let mut envelope: Value = serde_json::from_str(&inbound.text).unwrap_or_default();
                let arguments = envelope.pointer_mut("/payload/params/arguments");
                if let Some(Value::Object(arguments)) = arguments
                    && arguments
                        .keys()
                        .any(|name| !inbound.text.contains(name.as_str()))
                {
                    arguments.clear();
                    inbound.text = envelope.to_string();
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "error-code-by-order",
        "A bad call whose `arguments` stand before its `name` gets the code for a bad request.",
        || {
            let swapped = Rc::new(Cell::new(false));
            let seen = Rc::clone(&swapped);
            Defect::default()
                .inbound(move |inbound, _| {
                    let at = |name: &str| inbound.text.find(&format!("\"{name}\":"));
                    seen.set(matches!((at("arguments"), at("name")), (Some(one), Some(other)) if one < other));
                    Flow::Pass
                })
                .on_error(move |cause, error| {
                    if swapped.get() && cause.method() == "tools/call" {
                        error["code"] = json!(-32600);
                    }
                })
        },
    ),
];

pub(super) const TRANSPORT: &[Mutant] = &[mutant(
    "transport-long-name-code",
    "Over MQTT an unknown method with a name of 100 bytes and more gets another code.",
    || {
        Defect::default().on_answer(|cause, payload, hands| {
            if hands.over_mqtt() && cause.method().len() >= 100 && !payload["error"].is_null() {
                payload["error"]["code"] = json!(-32600);
            }
            Flow::Pass
        })
    },
)];

pub(super) const COMPANY: &[Mutant] = &[
    mutant(
        "in-flight-fourteen-mixed",
        "Of fourteen and more requests in flight the first two get each other's content.",
        || {
            crowd(14, |answers| {
                let (one, other) = (content(&answers[0]), content(&answers[1]));
                set_content(&mut answers[0], other);
                set_content(&mut answers[1], one);
            })
        },
    ),
    mutant(
        "in-flight-fifteen-one-lost",
        "Of fifteen and more different requests in flight one is not answered.",
        || crowd(15, |answers| drop(answers.remove(0))),
    ),
    mutant(
        "in-flight-levels-averaged",
        "Two levels that are set at one time make their mean.",
        || {
            let waiting = Rc::new(RefCell::new(Vec::<(Value, i64)>::new()));
            let (out, gone) = (Rc::clone(&waiting), Rc::clone(&waiting));
            let mean = Rc::new(Cell::new(None));
            let set = Rc::clone(&mean);
            Defect::default()
                .on_answer(move |cause, payload, hands| {
                    let level = cause.argument("volume").as_i64();
                    let (Some(level), true) = (
                        level,
                        cause.tool() == SET && payload.get("result").is_some(),
                    ) else {
                        return Flow::Pass;
                    };
                    let mut waiting = waiting.borrow_mut();
                    if waiting.is_empty() {
                        hands.act_later(HOLD_MS, Act::Wake);
                    }
                    if let Some((_, first)) = waiting.first() {
                        set.set(u8::try_from((first + level) / 2).ok());
                    }
                    waiting.push((payload.take(), level));
                    Flow::Drop
                })
                .wake(move |hands| {
                    if let Some(level) = mean.take() {
                        hands.device.board_mut().speaker.volume = level;
                    }
                    for (answer, _) in core::mem::take(&mut *out.borrow_mut()) {
                        hands.send_payload(&answer);
                    }
                })
                .disconnected(move |_| gone.borrow_mut().clear())
        },
    ),
];

/// How long answers are collected: longer than requests that are sent back to back are apart.
const HOLD_MS: u64 = 5;

/// Collects answers for a moment, and spoils them when there are so many of different kinds.
fn crowd(least: usize, spoil: fn(&mut Vec<Map<String, Value>>)) -> Defect {
    let held = Rc::new(RefCell::new(Vec::new()));
    let (out, gone) = (Rc::clone(&held), Rc::clone(&held));
    Defect::default()
        .on_answer(move |_, payload, hands| {
            let Value::Object(payload) = payload else {
                return Flow::Pass;
            };
            let mut held = held.borrow_mut();
            if held.is_empty() {
                hands.act_later(HOLD_MS, Act::Wake);
            }
            held.push(core::mem::take(payload));
            Flow::Drop
        })
        .wake(move |hands| {
            let mut answers = core::mem::take(&mut *out.borrow_mut());
            // Those that differ most stand in front.
            let alike = answers
                .iter()
                .all(|answer| content(answer) == content(&answers[0]));
            if answers.len() >= least && !alike {
                let first = content(&answers[0]);
                if let Some(other) = answers.iter().position(|answer| content(answer) != first) {
                    answers.swap(1, other);
                }
                spoil(&mut answers);
            }
            for answer in answers {
                hands.send_payload(&Value::Object(answer));
            }
        })
        .disconnected(move |_| gone.borrow_mut().clear())
}

fn content(answer: &Map<String, Value>) -> (&'static str, Value) {
    match answer.get("error") {
        Some(error) => ("error", error.clone()),
        None => ("result", answer.get("result").cloned().unwrap_or_default()),
    }
}

fn set_content(answer: &mut Map<String, Value>, (member, value): (&'static str, Value)) {
    answer.remove("error");
    answer.remove("result");
    answer.insert(member.to_string(), value);
}

/// Reads methods in another way.
fn method(read: fn(&str) -> String) -> Defect {
    Defect::default().on_payload(move |payload, _| {
        if let Some(Value::String(method)) = payload.get_mut("method") {
            *method = read(method);
        }
        Flow::Pass
    })
}

fn error(payload: &Map<String, Value>, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": payload.get("id"), "error": {"code": code, "message": message}})
}
