//! What the rows of the tables do to a message: the verbs that several of them share.

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};

use serde_json::{Map, Value, json};

use crate::defect::Defect;
use crate::hooks::{Act, Flow, Hands};
use crate::platform::LinkOptions;
use crate::prelude::*;

/// A defect that does nothing yet.
pub(crate) fn defect() -> Defect {
    Defect::default()
}

/// Drops the message in this case.
pub(crate) fn drop_if(is_so: bool) -> Flow {
    if is_so { Flow::Drop } else { Flow::Pass }
}

/// Does something in the place of the message in this case.
pub(crate) fn act_if(is_so: bool, act: Act, hands: &mut Hands) -> Flow {
    if is_so {
        hands.act(act);
    }
    drop_if(is_so)
}

/// Does something in the place of the message.
pub(crate) fn instead(act: Act, hands: &mut Hands) -> Flow {
    act_if(true, act, hands)
}

/// Takes a member away from an object; other values have none.
pub(crate) fn remove(object: &mut Value, member: &str) {
    object.as_object_mut().map(|object| object.remove(member));
}

/// Sets a member of a payload.
pub(crate) fn set(payload: &mut Map<String, Value>, member: &str, value: impl Into<Value>) {
    payload.insert(member.to_string(), value.into());
}

/// A member of a payload; null when there is none.
pub(crate) fn get<'a>(payload: &'a Map<String, Value>, member: &str) -> &'a Value {
    payload.get(member).unwrap_or(&Value::Null)
}

/// A payload that answers with an error.
pub(crate) fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// A payload that answers with a result.
pub(crate) fn result(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The result of a call: one text.
pub(crate) fn text_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": false})
}

/// Answers in the place of the device in this case, if the message has an id to answer to; what has none is
/// for the device to drop.
pub(crate) fn reply_if(
    is_so: bool,
    payload: &Map<String, Value>,
    hands: &mut Hands,
    answer: impl FnOnce(&Value) -> Value,
) -> Flow {
    let id = Some(get(payload, "id")).filter(|id| is_so && id.is_i64());
    if let Some(id) = id {
        hands.send_payload(&answer(id));
    }
    drop_if(id.is_some())
}

/// A value that two hooks share, or three.
pub(crate) fn shared<T, const N: usize>(value: T) -> [Rc<Cell<T>>; N] {
    let cell = Rc::new(Cell::new(value));
    [(); N].map(|()| Rc::clone(&cell))
}

/// Gives `true` the first time and never again.
pub(crate) fn once() -> impl FnMut() -> bool {
    let mut done = false;
    move || !core::mem::replace(&mut done, true)
}

/// Gives `true` the time of this number, counted from 1.
pub(crate) fn nth(number: usize) -> impl FnMut() -> bool {
    let mut count = 0;
    move || {
        count += 1;
        count == number
    }
}

/// The tools of a page; an answer that has none gets an empty list.
pub(crate) fn tools_of(page: &mut Value) -> &mut Vec<Value> {
    if !page["tools"].is_array() {
        page["tools"] = json!([]);
    }
    page["tools"].as_array_mut().expect("made an array above")
}

/// The names of the tools that a list shows to everybody.
pub(crate) fn listed(hands: &Hands) -> Vec<&'static str> {
    let tools = hands.device.registry().tools();
    tools.filter(|tool| !tool.user_only).map(|tool| tool.name).collect()
}

/// What an answer says apart from the id: the name of the member, and its value.
pub(crate) fn content(answer: &Value) -> (&'static str, Value) {
    match answer.get("error") {
        Some(error) => ("error", error.clone()),
        None => ("result", answer["result"].clone()),
    }
}

/// Lets an answer say something else.
pub(crate) fn set_content(answer: &mut Value, (member, value): (&'static str, Value)) {
    remove(answer, "error");
    remove(answer, "result");
    answer[member] = value;
}

/// How long answers are collected: longer than requests that are sent back to back are apart.
pub(crate) const HOLD_MS: u64 = 5;

/// Collects answers for a moment, as a device does that answers in another task, and edits them before they
/// are sent. There is at least one.
pub(crate) fn collected(edit: impl Fn(&mut Vec<Value>) + 'static) -> Defect {
    let held = Rc::new(RefCell::new(Vec::new()));
    let (out, gone) = (Rc::clone(&held), Rc::clone(&held));
    defect()
        .on_answer(move |_, payload, hands| {
            let mut held = held.borrow_mut();
            if held.is_empty() {
                hands.act_later(HOLD_MS, Act::Wake);
            }
            held.push(payload.take());
            Flow::Drop
        })
        .wake(move |hands| {
            let mut answers = core::mem::take(&mut *out.borrow_mut());
            if !answers.is_empty() {
                edit(&mut answers);
            }
            answers.iter().for_each(|answer| hands.send_payload(answer));
        })
        .disconnected(move |_| gone.borrow_mut().clear())
}

/// What the device says when its state changes.
pub(crate) fn state_changed(hands: &Hands, new: &str, old: &str) -> String {
    hands.envelope(&json!({
        "jsonrpc": "2.0",
        "method": "notifications/state_changed",
        "params": {"newState": new, "oldState": old},
    }))
}

/// A defect below the messages.
pub(crate) fn link(change: fn(&mut LinkOptions)) -> Defect {
    let mut options = LinkOptions::default();
    change(&mut options);
    defect().link(options)
}

/// Edits the JSON in the text of a result.
pub(crate) fn edit_text(payload: &mut Value, edit: impl FnOnce(&mut Value)) {
    let Some(text) = payload.pointer_mut("/result/content/0/text") else {
        return;
    };
    let Ok(mut content) = serde_json::from_str::<Value>(text.as_str().unwrap_or_default()) else {
        return;
    };
    edit(&mut content);
    *text = json!(content.to_string());
}

/// Changes the headers of this name.
pub(crate) fn each_header(
    headers: &mut [(&'static str, String)],
    name: &str,
    mut change: impl FnMut(&mut String),
) {
    let such = headers.iter_mut().filter(|(known, _)| *known == name);
    such.for_each(|(_, value)| change(value));
}

/// The greatest value of an `int`.
pub(crate) const INT_MAX: i128 = 2_147_483_647;

/// A number that is written without fraction and exponent.
pub(crate) fn integer(value: &Value) -> Option<i128> {
    let signed = value.as_i64().map(i128::from);
    signed.or_else(|| value.as_u64().map(i128::from))
}

/// Takes the last character away.
pub(crate) fn cut(text: &mut String) {
    text.pop();
}
