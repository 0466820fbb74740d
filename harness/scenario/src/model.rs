//! The types of a scenario file.

use mcp_hil_core::catalogue::RequirementId as Id;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::matcher::Matcher;
use mcp_hil_core::capability::is_restart;
use mcp_hil_core::obligation::Duty;
use mcp_hil_core::wire::{Frame, OddFrame};

/// One scenario: a title, what a device must have, and steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// `<area>/<name>`, from the file's place.
    pub id: Arc<str>,
    /// One line for people.
    pub title: String,
    /// The file it was read from, for messages and for JUnit.
    pub file: String,
    /// Capabilities without which it does not apply.
    pub needs: Vec<String>,
    /// Whether it wants a connection of its own.
    pub fresh: bool,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Line in the file.
    pub line: u64,
    /// What the step sends or waits for.
    pub action: Action,
    /// What must hold of the answer.
    pub expect: Vec<Expect>,
    /// Names for parts of the answer: name to pointer.
    pub bind: BTreeMap<String, String>,
    /// The requirement that is broken when the step changes the device's settings.
    pub unchanged: Option<Id>,
    /// Size in bytes of the pieces to send the text in: WebSocket fragments, or TCP segments.
    pub fragment: Option<usize>,
    /// Whether a WebSocket ping comes between the fragments, where there are any.
    pub pinged: bool,
    /// Whether the last of the fragments is empty.
    pub empty_end: bool,
    /// Whether it is sent in TCP segments that end anywhere in it.
    pub segments: bool,
    /// What is wrong with the WebSocket frame that it is sent in.
    pub odd_frame: Option<OddFrame>,
    /// Whether it is sent with MQTT's QoS 1, where the transport is MQTT.
    pub acknowledged: bool,
    /// Whether that has the flag of what is sent again.
    pub dup: bool,
    /// Name under which the answer is kept for review.
    pub snapshot: Option<String>,
    /// The name of what it shows about the device as others of the case rely on it: the same message without their
    /// variation.
    pub control: Option<String>,
    /// The control without which it shows nothing: where that did not get what it expects, the finding is the
    /// control's.
    pub like: Option<String>,
}

/// Names of the controls that the project's own cases have. A generated input, or a single case, may refer to one
/// that was carried out in another.
pub const CONTROLS: [&str; 11] = [
    "above-maximum",
    "fraction",
    "missing-argument",
    "null-for-integer",
    "status-volume",
    "string-for-integer",
    "string-id",
    "unknown-cursor",
    "unknown-method",
    "unknown-tool",
    "without-version",
];

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Sends one frame.
    Send(Outgoing),
    /// Walks all pages of `tools/list`.
    List {
        /// Value of `withUserTools`; absent means no such member.
        with_user_tools: Option<Value>,
        /// Where to begin; absent means at the first page.
        cursor: Option<Value>,
    },
    /// Sends requests back to back and then waits for all answers.
    Burst(Vec<Step>),
    /// Drops the connection and waits for the next one.
    Disconnect {
        /// What is sent just before, without waiting for answers.
        after: Vec<Step>,
        /// Whether half a message is sent behind that.
        inside: bool,
        /// Whether a WebSocket ping comes directly behind the response to the next handshake.
        pinged: bool,
    },
    /// Tells the device to restart, and waits until it has connected again.
    Reboot,
    /// Offers another configuration, restarts the device, which asks for it, and waits until it has
    /// connected again.
    Configure {
        /// Version of the framing of binary messages: 1, 2 or 3.
        version: u8,
    },
    /// Closes the connection with the word that the transport has for it, and waits for the device's.
    Close {
        /// Why, in words that the device may show to people; empty for none. Absent means that there is no code, either.
        reason: Option<String>,
    },
    /// Says nothing until the device sends what keeps its connection alive.
    KeepAlive,
    /// Keeps the connection for half of the time that a run lingers.
    Linger(Linger),
    /// Listens to the audio channel.
    Audio {
        /// For how long, in milliseconds; absent means until the next packet comes.
        listen_ms: Option<u64>,
    },
    /// Waits for a console line that matches.
    Console {
        /// The pattern.
        pattern: String,
    },
    /// Repeats steps for each row of a table.
    Each {
        /// The rows: variables and their values.
        rows: Vec<Map<String, Value>>,
        /// The steps.
        steps: Vec<Step>,
    },
}

/// What is done meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Linger {
    /// The device is served, and asked nothing.
    Quiet,
    /// Good requests follow one another.
    Busy,
    /// One kind of request follows the other, each by itself for a while.
    Each,
}

/// A frame to send, before variables are filled in.
#[derive(Debug, Clone, PartialEq)]
pub enum Outgoing {
    /// A legal request.
    Request {
        /// Method name.
        method: Value,
        /// `params`; absent means no such member.
        params: Option<Value>,
        /// The id; absent means a fresh one.
        id: Option<Value>,
    },
    /// A `tools/call` of the tool that tells the device's state.
    Status,
    /// A legal notification.
    Notify {
        /// Method name.
        method: Value,
        /// `params`; absent means no such member.
        params: Option<Value>,
    },
    /// Any JSON as payload of a correct envelope.
    Payload(Value),
    /// Any text as payload of a correct envelope.
    PayloadText(String),
    /// Any JSON as text frame.
    Envelope(Value),
    /// Any text as text frame.
    Text(String),
    /// A text frame of any bytes, in hexadecimal: they need not be UTF-8.
    TextBytes(String),
    /// A binary frame, in hexadecimal.
    Binary(String),
    /// A WebSocket ping, with some data; or with so many bytes at least, of every value; 0 are none.
    Ping(Option<u8>),
    /// A WebSocket pong that answers no ping, with data as a ping.
    Pong(Option<u8>),
}

/// What must hold of an answer, and the requirement that says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Expect {
    /// Slug of the requirement.
    pub requirement: Id,
    /// The kind of answer.
    pub answer: Option<Answer>,
    /// Matchers on parts of the answer view, by JSON pointer.
    pub parts: Vec<(String, Matcher)>,
    /// Matcher on the error object, judged only when there is one.
    pub if_error: Option<Matcher>,
    /// Whether the parts are judged only where all variables in their patterns are bound: a variation is
    /// compared with its plain form, and one whose plain form got no such answer shows nothing.
    pub if_bound: bool,
    /// JSON Schema for the result.
    pub schema: Option<Value>,
    /// Whether the device must still answer after the step.
    pub alive: bool,
}

impl Expect {
    /// A requirement alone, of which nothing is expected yet.
    pub fn of(requirement: Id) -> Self {
        Self {
            requirement,
            answer: None,
            parts: Vec::new(),
            if_error: None,
            if_bound: false,
            schema: None,
            alive: false,
        }
    }

    /// Whether it holds only when an answer has come.
    pub fn wants_answer(&self) -> bool {
        matches!(self.answer, Some(Answer::Result | Answer::Error | Answer::Any))
    }

    /// Whether it holds only when a call is carried out.
    pub fn is_to_do(&self) -> bool {
        matches!(self.answer, Some(Answer::Result))
    }

    /// Whether it looks at what an answer says, beyond the answer's kind.
    pub fn looks_inside(&self) -> bool {
        !self.parts.is_empty() || self.if_error.is_some() || self.schema.is_some()
    }
}

/// Kinds of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A result whose `isError` is not true.
    Result,
    /// A JSON-RPC error.
    Error,
    /// Anything but a success; silence only where an answer is not due.
    Refused,
    /// An answer, either way.
    Any,
    /// No answer at all.
    None,
}

/// A step of a flattened case.
#[derive(Debug, Clone)]
pub struct Flat<'a> {
    /// Its place: `2`, or `2#1.0` for step 0 of row 1 of the table in step 2.
    pub at: Arc<str>,
    /// The step; never [`Action::Each`].
    pub step: &'a Step,
    /// The row's variables.
    pub row: Map<String, Value>,
}

impl Step {
    /// A step that does only this.
    pub fn of(action: Action) -> Self {
        Self {
            line: 0,
            action,
            expect: Vec::new(),
            bind: BTreeMap::new(),
            unchanged: None,
            fragment: None,
            pinged: false,
            empty_end: false,
            segments: false,
            odd_frame: None,
            acknowledged: false,
            dup: false,
            snapshot: None,
            control: None,
            like: None,
        }
    }

    /// Whether it sends a ping to which a pong is due.
    pub fn pings(&self) -> bool {
        self.odd_frame.is_none() && matches!(self.action, Action::Send(Outgoing::Ping(_)))
    }

    /// Whether it restarts the device, or tells it to, by the message that does or by a tool.
    fn restarts(&self) -> bool {
        let Action::Send(outgoing) = &self.action else {
            return matches!(self.action, Action::Reboot | Action::Configure { .. });
        };
        match outgoing {
            Outgoing::Request { params: Some(params), .. } => {
                let name = params.get("name").and_then(Value::as_str);
                name.is_some_and(is_restart)
            }
            Outgoing::Envelope(message) => Duty::restarts(&Frame::Text(message.to_string())),
            Outgoing::Text(text) => Duty::restarts(&Frame::Text(text.clone())),
            _ => false,
        }
    }
}

/// How many messages these steps send, fences and readings of the state aside.
pub fn exchanges(steps: &[Step]) -> usize {
    steps
        .iter()
        .map(|step| match &step.action {
            Action::Burst(inner) => exchanges(inner),
            Action::Disconnect { after, .. } => exchanges(after),
            Action::Each { rows, steps } => rows.len() * exchanges(steps),
            Action::Send(_) | Action::List { .. } => 1,
            _ => 0,
        })
        .sum()
}

impl Case {
    /// The steps with tables unrolled, in the order in which they are carried out.
    pub fn flatten(&self) -> Vec<Flat<'_>> {
        let mut flat = Vec::new();
        unroll(&self.steps, "", &Map::new(), &mut flat);
        flat
    }

    /// How many messages it sends: see [`exchanges`].
    pub fn exchanges(&self) -> usize {
        exchanges(&self.steps)
    }

    /// Whether it begins with a restart of the device, so that any connection before it is for nothing.
    pub fn begins_afresh(&self) -> bool {
        let first = self.steps.first().map(|step| &step.action);
        matches!(first, Some(Action::Configure { .. }))
    }

    /// Whether one of its steps restarts the device, or one of its messages tells it to.
    pub fn restarts(&self) -> bool {
        self.flatten().iter().any(|flat| match &flat.step.action {
            Action::Burst(steps) | Action::Disconnect { after: steps, .. } => {
                steps.iter().any(Step::restarts)
            }
            _ => flat.step.restarts(),
        })
    }

    /// Slugs of the requirements that the case names.
    pub fn requirements(&self) -> Vec<Id> {
        fn walk(steps: &[Step], slugs: &mut Vec<Id>) {
            for step in steps {
                slugs.extend(step.expect.iter().map(|expect| expect.requirement));
                slugs.extend(step.unchanged);
                match &step.action {
                    Action::Each { steps, .. }
                    | Action::Burst(steps)
                    | Action::Disconnect { after: steps, .. } => walk(steps, slugs),
                    _ => {}
                }
            }
        }
        let mut slugs = Vec::new();
        walk(&self.steps, &mut slugs);
        slugs.sort_unstable();
        slugs.dedup();
        slugs
    }

    /// Line in the file of the step at a place as [`Flat::at`] tells it; side exchanges of a step
    /// (`2.before`, `2.fence`) stand where it stands.
    pub fn line_of(&self, at: &str) -> Option<u64> {
        let (mut steps, mut line) = (&self.steps[..], None);
        for part in at.split('.') {
            // Of `2#1` the row has no line of its own.
            let index = part.split('#').next().and_then(|index| index.parse().ok());
            let Some(step) = index.and_then(|index: usize| steps.get(index)) else {
                break;
            };
            line = Some(step.line);
            steps = match &step.action {
                Action::Each { steps, .. }
                | Action::Burst(steps)
                | Action::Disconnect { after: steps, .. } => steps,
                _ => &[],
            };
        }
        line
    }

    /// The area: the folder of the file.
    pub fn area(&self) -> &str {
        area(&self.id)
    }
}

/// The area of a case by its id, `robustness` of `robustness/binary`: the folder of its file.
pub fn area(id: &str) -> &str {
    id.split('/').next().unwrap_or_default()
}

fn unroll<'a>(steps: &'a [Step], prefix: &str, row: &Map<String, Value>, flat: &mut Vec<Flat<'a>>) {
    for (index, step) in steps.iter().enumerate() {
        match &step.action {
            Action::Each { rows, steps } => {
                for (number, inner) in rows.iter().enumerate() {
                    let mut merged = row.clone();
                    merged.extend(inner.clone());
                    unroll(steps, &format!("{prefix}{index}#{number}."), &merged, flat);
                }
            }
            _ => flat.push(Flat { at: format!("{prefix}{index}").into(), step, row: row.clone() }),
        }
    }
}
