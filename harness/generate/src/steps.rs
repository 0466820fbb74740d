//! Steps and how they are strung together: the words in which the properties are written.

use mcp_hil_core::catalogue::RequirementId as Id;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::tool_names::SET_VOLUME;
use mcp_hil_scenario::{Action, Answer, Expect, Matcher, Outgoing, Step};

/// Most exchanges of an input.
pub(super) const LONGEST: usize = 20;

/// A method that no device has.
pub(super) const NO_METHOD: &str = "mcp_hil/no_such_method";

/// A request under a fresh id.
pub(super) fn request(method: &str, params: Value) -> Step {
    Step::of(Action::Send(Outgoing::Request {
        method: method.into(),
        params: Some(params),
        id: None,
    }))
}

/// A request that this device answers with a success.
pub(super) fn good() -> Step {
    request("${good.method}", json!("${good.params}"))
}

/// So many requests that this device answers with a success, one after the other.
pub fn good_requests(number: usize) -> Vec<Step> {
    let each = (1..).take(number);
    let step = |line| Step { line, ..good() };
    each.map(step).collect()
}

/// Opens a session on a new connection. Documents put it first, so a device may insist on it.
pub(super) fn initialize() -> Step {
    let params = json!({
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "mcp-hil", "version": "1.0"},
    });
    request("initialize", params)
}

/// The first page of the list.
pub(super) fn list() -> Step {
    request("tools/list", json!({}))
}

/// A call under a fresh id.
pub(super) fn call(tool: &str, arguments: Value) -> Step {
    request("tools/call", json!({"name": tool, "arguments": arguments}))
}

/// A call of a tool that only reads.
pub(super) fn nullary() -> Step {
    call("${nullary.tool}", json!({}))
}

/// A reading of the state.
pub(super) fn status() -> Step {
    Step::of(Action::Send(Outgoing::Status))
}

/// Raw text as payload.
pub(super) fn raw(text: String) -> Step {
    Step::of(Action::Send(Outgoing::PayloadText(text)))
}

/// A call whose arguments are written as text; the id is a fresh one.
pub(super) fn raw_call(tool: &str, arguments: &str) -> Step {
    let tool = Value::from(tool);
    raw(format!(
        r#"{{"jsonrpc":"2.0","id":${{id}},"method":"tools/call","params":{{"name":{tool},"arguments":{arguments}}}}}"#
    ))
}

/// Puts the settings back at the end of a case that touched them.
pub(super) fn put_back(context: &Context) -> Step {
    let level = match context.level() {
        Some(_) => json!("${status.volume}"),
        None => json!(50),
    };
    call(SET_VOLUME, json!({"volume": level}))
}

/// What is expected of a step, and how it is sent.
pub(crate) trait StepExt: Sized {
    /// With a kind of answer that is expected.
    fn answer(self, requirement: Id, answer: Answer) -> Self;

    /// With a pattern for a place of the answer, which must be a result.
    fn shows(self, requirement: Id, at: &str, pattern: Value) -> Self;

    /// The same, judged only where what the pattern refers to has been bound.
    fn shows_as_bound(self, requirement: Id, at: &str, pattern: Value) -> Self;

    /// With a pattern for the error, if there is one.
    fn if_error(self, requirement: Id, pattern: Value) -> Self;

    /// If it is refused, then not because its arguments are invalid (JSON-RPC 2.0, section 5.1).
    fn not_invalid(self, requirement: Id) -> Self;

    /// The device goes on answering.
    fn lives(self, requirement: Id) -> Self;

    /// The settings stay as they are, unless the message was accepted.
    fn without_effect(self, requirement: Id) -> Self;

    /// The plain message for what is [`like`](Self::like) it.
    fn control(self, name: &str) -> Self;

    /// Judged only where the control of this name got what it expects, as far as that is known.
    fn like(self, control: &str) -> Self;

    /// Under an id of its own; where JSON values cannot spell the id, the message becomes text.
    fn under(self, id: &str) -> Self;
}

impl StepExt for Step {
    fn answer(mut self, requirement: Id, answer: Answer) -> Self {
        self.expect.push(Expect { answer: Some(answer), ..Expect::of(requirement) });
        self
    }

    fn shows(mut self, requirement: Id, at: &str, pattern: Value) -> Self {
        let matcher = Matcher::new(pattern).expect("a pattern in order");
        self.expect
            .push(Expect { parts: vec![(at.to_owned(), matcher)], ..Expect::of(requirement) });
        self
    }

    fn shows_as_bound(self, requirement: Id, at: &str, pattern: Value) -> Self {
        let mut step = self.shows(requirement, at, pattern);
        if let Some(expect) = step.expect.last_mut() {
            expect.if_bound = true;
        }
        step
    }

    fn if_error(mut self, requirement: Id, pattern: Value) -> Self {
        self.expect.push(Expect {
            if_error: Some(Matcher::new(pattern).expect("a pattern in order")),
            ..Expect::of(requirement)
        });
        self
    }

    fn not_invalid(self, requirement: Id) -> Self {
        self.if_error(requirement, json!({"$not": {"code": -32602}}))
    }

    fn lives(mut self, requirement: Id) -> Self {
        self.expect.push(Expect { alive: true, ..Expect::of(requirement) });
        self
    }

    fn without_effect(mut self, requirement: Id) -> Self {
        self.unchanged = Some(requirement);
        self
    }

    fn control(mut self, name: &str) -> Self {
        self.control = Some(name.to_owned());
        self
    }

    fn like(mut self, control: &str) -> Self {
        self.like = Some(control.to_owned());
        self
    }

    fn under(mut self, id: &str) -> Self {
        let value = as_written(id).filter(|value| !value.is_null());
        if let Action::Send(outgoing) = &mut self.action
            && let Outgoing::Request { method, params, id: own } = outgoing
        {
            match value {
                Some(value) => *own = Some(value),
                None => {
                    let params = params.clone().unwrap_or_else(|| json!({}));
                    *outgoing = Outgoing::PayloadText(spell(method, &params, id));
                }
            }
        }
        self
    }
}

/// The value that a JSON text spells, when it would be written in just this way again.
pub(super) fn as_written(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    let again = value.to_string();
    (again == text).then_some(value)
}

/// A request as text. A variable that stands alone is a value, and takes no quotes.
fn spell(method: &Value, params: &Value, id: &str) -> String {
    let params = match params.as_str() {
        Some(variable) => variable.to_owned(),
        None => params.to_string(),
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
}

/// One of these, simplest first.
pub(super) fn one_of<T: std::fmt::Debug + Clone + 'static>(all: Vec<T>) -> BoxedStrategy<T> {
    proptest::sample::select(all).boxed()
}

/// An object with one member.
pub(super) fn object(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value)])
}

/// The requirement that a name or cursor is compared exactly: `usual`, unless it holds a NUL, where parsers that
/// keep strings as C does end it.
pub(super) fn exactness(name: &str, usual: Id) -> Id {
    match name.contains('\0') {
        true => Id::JsonrpcNulInName,
        false => usual,
    }
}
