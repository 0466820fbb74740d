//! The same requests over two transports: do they get the same answers?
//!
//! MCP does not depend on what carries it. Requests are matched by case, step and text once ids and
//! session ids are set aside. Of the answers only that is compared which must not depend on the
//! hour: whether a request succeeds, error codes, the words of `initialize`, what the tools are.
//! Readings of the state are left to the checks of each transport: they change by themselves.
//!
//! Two runs are compared in the same way, to tell and not to judge: [`answers`] and [`tools`]. [`change`]
//! tells what became of a reviewed answer, of which every word counts, and [`capabilities`] what a device can do no
//! longer.

pub mod answers;
pub mod capabilities;
pub mod change;
pub mod tools;

use mcp_hil_core::catalogue::RequirementId as Id;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::check::{CaseOutcome, view};
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::step::{self, StepKind};
use mcp_hil_core::transcript::{BRING_UP, Entry, Mark, PROPERTY, Part, Role, What};
use mcp_hil_core::verdict::{Evidence, Judgement, Outcome};
use mcp_hil_core::wire::{Frame, Inbound, Payload, as_integer, id_key};

/// The case under which the comparison is reported.
pub const SAME_ANSWERS: &str = "transport/same-answers";

/// Most differences that are told: they have few causes.
const MOST_TOLD: usize = 8;

const SAME_ANSWER: Id = Id::TransportSameAnswer;
const SAME_TEXT: Id = Id::TransportSameText;

/// What was recorded over one transport.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The transport's name.
    pub name: &'a str,
    /// Its transcript.
    pub entries: &'a [Entry],
}

/// What a comparison comes to.
#[derive(Debug, Default)]
pub struct Comparison {
    /// How many requests were answered over both transports.
    pub pairs: usize,
    /// What differs.
    pub judgements: Vec<Judgement>,
}

impl Comparison {
    /// The same as the outcome of a case. Where nothing was answered twice, nothing was shown.
    pub fn outcome(self) -> CaseOutcome {
        let compared = self.pairs > 0;
        CaseOutcome {
            exercised: BTreeSet::from_iter(
                [SAME_ANSWER, SAME_TEXT].into_iter().filter(|_| compared),
            ),
            judgements: self.judgements,
            not_carried_out: (!compared)
                .then(|| "no request was answered over both transports".to_owned()),
            ..CaseOutcome::default()
        }
    }
}

/// A request and its answer.
#[derive(Debug)]
struct Exchange {
    /// The request without its id.
    asked: Map<String, Value>,
    text: String,
    answer: Map<String, Value>,
    seq: u64,
    /// Microseconds from request to answer.
    took_us: u64,
    /// The generated input that it belongs to; empty for what people wrote.
    input: Arc<str>,
}

/// A place where a request was sent: case and step.
type Place = (Arc<str>, Arc<str>);

/// Compares what was answered over two transports.
pub fn compare(first: Side<'_>, second: Side<'_>) -> Comparison {
    let (ours, theirs) = (exchanges(first.entries), exchanges(second.entries));
    let mut told = Told::default();
    let mut pairs = 0;
    for (place, one) in &ours {
        // Inputs come from the same seed, but also from what the device showed over each transport.
        let same = |other: &&Exchange| one.asked == other.asked && one.input == other.input;
        let Some(other) = theirs.get(place).filter(same) else {
            continue;
        };
        pairs += 1;
        told.difference(first.name, second.name, place, one, other);
    }
    told.tools(first, second, &listed(&ours), &listed(&theirs));
    Comparison { pairs, judgements: told.judgements }
}

/// Collects differences, one for each cause as far as that can be seen.
#[derive(Debug, Default)]
struct Told {
    judgements: Vec<Judgement>,
    causes: BTreeSet<String>,
}

impl Told {
    fn difference(
        &mut self,
        first: &str,
        second: &str,
        place: &Place,
        one: &Exchange,
        other: &Exchange,
    ) {
        let Some(differs) = differs(one, other, Value::clone) else {
            return;
        };
        let requirement = match differs.words_only {
            true => SAME_TEXT,
            false => SAME_ANSWER,
        };
        let (expected, received) = (differs.ours, differs.theirs);
        let (method, tool) = (method(one), one.asked.get("params").and_then(|p| p.get("name")));
        let cause = format!("{requirement} {method:?} {tool:?} {expected} {received}");
        let (case, step) = place;
        self.add(
            requirement,
            cause,
            format!("{case} step {step}"),
            Evidence {
                expected: format!("the same as over {first}: {expected}"),
                received: format!("over {second}: {received}"),
                sent: Some(one.text.clone()),
                seq: Some(other.seq),
            },
        );
    }

    fn tools(
        &mut self,
        first: Side<'_>,
        second: Side<'_>,
        ours: &BTreeMap<&str, &Value>,
        theirs: &BTreeMap<&str, &Value>,
    ) {
        if ours.is_empty() || theirs.is_empty() {
            return;
        }
        let names: BTreeSet<&&str> = ours.keys().chain(theirs.keys()).collect();
        for name in names {
            let (one, other) = (ours.get(*name), theirs.get(*name));
            if one == other {
                continue;
            }
            let silent = |tool: Option<&&Value>| tool.map(|tool| without_descriptions(tool));
            let requirement = if silent(one) == silent(other) { SAME_TEXT } else { SAME_ANSWER };
            let shown = |tool: Option<&&Value>| match tool {
                Some(tool) => tool.to_string(),
                None => format!("no tool `{name}`"),
            };
            self.add(
                requirement,
                format!("tool {name}"),
                format!("tools/list, {name}"),
                Evidence {
                    expected: format!("the same as over {}: {}", first.name, shown(one)),
                    received: format!("over {}: {}", second.name, shown(other)),
                    ..Evidence::default()
                },
            );
        }
    }

    fn add(&mut self, requirement: Id, cause: String, step: String, proof: Evidence) {
        if self.judgements.len() < MOST_TOLD && self.causes.insert(cause) {
            self.judgements.push(Judgement {
                requirement,
                case: SAME_ANSWERS.into(),
                step: Some(step.into()),
                outcome: Outcome::Broken(Box::new(proof)),
            });
        }
    }
}

/// How two answers to the same request differ.
#[derive(Debug)]
struct Differs {
    /// They differ only in what they say to people.
    words_only: bool,
    ours: String,
    theirs: String,
}

/// Compares two answers to the same request. What `initialize` tells is compared as `told` has it.
fn differs(one: &Exchange, other: &Exchange, told: fn(&Value) -> Value) -> Option<Differs> {
    let shapes = (shape(&one.answer), shape(&other.answer));
    let results = || (told(result(one)), told(result(other)));
    let (words_only, ours, theirs) = if shapes.0 != shapes.1 {
        (false, shapes.0, shapes.1)
    } else if method(one) == Some("initialize") && results().0 != results().1 {
        (false, result(one).to_string(), result(other).to_string())
    } else if words(&one.answer) != words(&other.answer) {
        let shown = |side: &Exchange| text(&side.answer).unwrap_or_default();
        (true, shown(one), shown(other))
    } else {
        return None;
    };
    Some(Differs { words_only, ours, theirs })
}

fn method(exchange: &Exchange) -> Option<&str> {
    exchange.asked.get("method").and_then(Value::as_str)
}

/// The requests that were answered, by their places. Of a second attempt the later one counts.
fn exchanges(entries: &[Entry]) -> BTreeMap<Place, Exchange> {
    let mut open: HashMap<String, (Place, Map<String, Value>, String, u64)> = HashMap::new();
    let mut answered = BTreeMap::new();
    // Of a generated case each input has places of its own. What shrinking tried depends on what failed,
    // and is left out.
    let (mut inputs, mut input) = (BTreeMap::<&str, usize>::new(), None::<Arc<str>>);
    for entry in entries {
        let generated = entry.case.starts_with(PROPERTY);
        match &entry.what {
            What::Mark { mark: Mark::Generated { part, scenario } } => {
                let counts = matches!(part, Part::Input | Part::Flight);
                input = counts.then(|| scenario.as_str().into());
                if input.is_some() {
                    *inputs.entry(&entry.case).or_default() += 1;
                }
            }
            _ if generated && input.is_none() => {}
            What::Sent { role: Role::Stimulus | Role::Probe, frame } => {
                if let (Some(step), Some((key, asked, text))) = (&entry.step, request(frame)) {
                    let step = match generated {
                        // They are counted from 0, as in the report.
                        true => {
                            let number = inputs.get(&*entry.case).map_or(0, |count| count - 1);
                            format!("{step} of input {number}").into()
                        }
                        false => step.clone(),
                    };
                    let place = (entry.case.clone(), step);
                    open.insert(key, (place, asked, text, entry.at_us));
                }
            }
            What::Received { frame } => {
                if let Some(answer) = answer(frame)
                    && let Some((place, asked, text, sent_us)) =
                        answer.get("id").and_then(|id| open.remove(&id_key(id)))
                {
                    let seq = entry.seq;
                    let exchange = Exchange {
                        asked,
                        text,
                        answer,
                        seq,
                        took_us: entry.at_us.saturating_sub(sent_us),
                        input: input.clone().filter(|_| generated).unwrap_or_default(),
                    };
                    answered.insert(place, exchange);
                }
            }
            // What is answered after that is judged for coming too late.
            What::LinkDown { .. } => open.clear(),
            _ => {}
        }
    }
    answered
}

/// A legal request: its id, the rest of its payload, and its text.
fn request(frame: &Frame) -> Option<(String, Map<String, Value>, String)> {
    let Frame::Text(text) = frame else {
        return None;
    };
    if Duty::of(frame).owes != Owes::Answer {
        return None;
    }
    let envelope: Value = serde_json::from_str(text).ok()?;
    let mut payload = envelope.get("payload")?.as_object()?.clone();
    let id = payload.remove("id")?;
    Some((id_key(&id), payload, text.clone()))
}

fn answer(frame: &Frame) -> Option<Map<String, Value>> {
    match Inbound::read(frame).payload()? {
        Payload::Answer(payload) => Some(payload.clone()),
        _ => None,
    }
}

/// What kind of answer it is, in words.
fn shape(answer: &Map<String, Value>) -> String {
    if let Some(error) = view(answer).get("error") {
        return match error.get("code").and_then(as_integer) {
            Some(code) => format!("error {code}"),
            None => "an error without code".to_owned(),
        };
    }
    match answer.get("result").and_then(|result| result.get("isError")) {
        Some(Value::Bool(true)) => "a result with isError true".to_owned(),
        _ => "a result".to_owned(),
    }
}

fn result(exchange: &Exchange) -> &Value {
    exchange.answer.get("result").unwrap_or(&Value::Null)
}

/// What an answer says to people.
fn text(answer: &Map<String, Value>) -> Option<String> {
    let view = view(answer);
    if let Some(error) = view.get("error") {
        return error.get("message")?.as_str().map(str::to_owned);
    }
    match view.get("json") {
        // What it reads changes by itself; which readings there are does not.
        Some(Value::Object(members)) => {
            let mut names: Vec<&str> = members.keys().map(String::as_str).collect();
            names.sort_unstable();
            Some(format!("an object of {}", names.join(", ")))
        }
        Some(Value::Array(_)) => None,
        _ => view.get("text")?.as_str().map(str::to_owned),
    }
}

/// The same without its numbers: counters and times differ from one reading to the next.
fn words(answer: &Map<String, Value>) -> Option<String> {
    let mut words = String::new();
    for c in text(answer)?.chars() {
        if !c.is_ascii_digit() {
            words.push(c);
        } else if !words.ends_with('0') {
            words.push('0');
        }
    }
    Some(words)
}

/// A tool without what it says to people: its own description, and those of its arguments.
fn without_descriptions(tool: &Value) -> Value {
    let mut tool = tool.clone();
    let properties = tool.pointer_mut("/inputSchema/properties");
    for schema in
        properties.and_then(Value::as_object_mut).into_iter().flat_map(|all| all.values_mut())
    {
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("description");
        }
    }
    if let Some(tool) = tool.as_object_mut() {
        tool.remove("description");
    }
    tool
}

/// The ordinary tools by their names, as the device listed them when it got known. The pages may
/// be cut in other places: the envelope counts, too.
fn listed(exchanges: &BTreeMap<Place, Exchange>) -> BTreeMap<&str, &Value> {
    pages(exchanges, "list")
}

/// The tools on the pages of one of the lists that are read when a device gets known.
fn pages<'a>(exchanges: &'a BTreeMap<Place, Exchange>, list: &str) -> BTreeMap<&'a str, &'a Value> {
    exchanges
        .iter()
        .filter(|((case, name), _)| {
            let is_page = |(step, side)| step == list && matches!(side, Some(StepKind::Page(_)));
            **case == *BRING_UP && is_page(step::parts(name))
        })
        .filter_map(|(_, exchange)| result(exchange).get("tools")?.as_array())
        .flatten()
        .filter_map(|tool| Some((tool.get("name")?.as_str()?, tool)))
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A transcript of requests, all at a step of their own, with the answers given.
    pub(crate) fn transcript(
        session: &str,
        first_id: u64,
        exchanges: &[(Value, Value)],
    ) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut push = |step: String, what| {
            entries.push(Entry {
                seq: entries.len() as u64,
                at_us: 0,
                case: BRING_UP.into(),
                step: Some(step.into()),
                what,
            });
        };
        for (at, (asked, answered)) in exchanges.iter().enumerate() {
            let frame = |members: &Value| {
                let mut payload = members.clone();
                payload["jsonrpc"] = "2.0".into();
                payload["id"] = (first_id + at as u64).into();
                let message = json!({"type": "mcp", "session_id": session, "payload": payload});
                Frame::Text(message.to_string())
            };
            let role = Role::Stimulus;
            let frames = (frame(asked), frame(answered));
            push(format!("list.p{at}"), What::Sent { role, frame: frames.0 });
            push(format!("list.p{at}"), What::Received { frame: frames.1 });
        }
        entries
    }

    fn differences(ours: &[(Value, Value)], theirs: &[(Value, Value)]) -> Vec<(Id, String)> {
        let (ours, theirs) = (transcript("a", 1001, ours), transcript("b", 5001, theirs));
        let side = |name, entries| Side { name, entries };
        let comparison = compare(side("websocket", &ours), side("mqtt", &theirs));
        let told = comparison.judgements.into_iter();
        told.map(|judgement| match judgement.outcome {
            Outcome::Broken(proof) => (judgement.requirement, proof.received),
            other => panic!("{other:?}"),
        })
        .collect()
    }

    pub(crate) fn call(name: &str) -> Value {
        json!({"method": "tools/call", "params": {"name": name, "arguments": {}}})
    }

    pub(crate) fn says(text: &str) -> Value {
        json!({"result": {"content": [{"type": "text", "text": text}], "isError": false}})
    }

    #[test]
    fn ids_sessions_and_what_changes_by_itself_are_no_difference() {
        let status = |rssi: i32| says(&json!({"network": {"rssi": rssi}}).to_string());
        let ours = [
            (call("self.get_device_status"), status(-50)),
            (call("self.set"), says("done in 12 ms")),
            (json!({"method": "x"}), json!({"error": {"code": -32601, "message": "no x (1)"}})),
        ];
        let theirs = [
            (call("self.get_device_status"), status(-70)),
            (call("self.set"), says("done in 7 ms")),
            (json!({"method": "x"}), json!({"error": {"code": -32601, "message": "no x (20)"}})),
        ];
        assert_eq!(differences(&ours, &theirs), []);
    }

    #[test]
    fn another_code_another_kind_and_other_words_are_differences() {
        let error = |code: i32, message: &str| json!({"error": {"code": code, "message": message}});
        let ours = [
            (json!({"method": "x"}), error(-32601, "no")),
            (call("a"), says("true")),
            (call("b"), says("true")),
        ];
        let theirs = [
            (json!({"method": "x"}), error(-32000, "no")),
            (call("a"), error(-32602, "no a")),
            (call("b"), says("false")),
        ];
        let received = |requirement: Id, text: &str| (requirement, text.to_owned());
        assert_eq!(
            differences(&ours, &theirs),
            [
                received(SAME_ANSWER, "over mqtt: error -32000"),
                received(SAME_ANSWER, "over mqtt: error -32602"),
                received(SAME_TEXT, "over mqtt: false"),
            ]
        );
    }

    #[test]
    fn the_same_input_is_compared_and_what_shrinking_tried_is_not() {
        let told = |part: Part, scenarios: [&str; 2]| {
            let side = |scenario: &str, answered: &str| {
                let mut entries = transcript("a", 1001, &[(call("a"), says(answered))]);
                for entry in &mut entries {
                    entry.case = "properties/x".into();
                }
                let mark = Mark::Generated { part, scenario: scenario.into() };
                let what = What::Mark { mark };
                entries.insert(0, Entry { step: None, what, ..entries[0].clone() });
                entries
            };
            let (ours, theirs) = (side(scenarios[0], "true"), side(scenarios[1], "false"));
            let side = |name, entries| Side { name, entries };
            compare(side("websocket", &ours), side("mqtt", &theirs)).judgements.len()
        };
        assert_eq!(told(Part::Input, ["s", "s"]), 1);
        assert_eq!(told(Part::Input, ["s", "t"]), 0);
        assert_eq!(told(Part::Trial, ["s", "s"]), 0);
    }

    #[test]
    fn a_member_that_is_missing_is_a_difference() {
        let status = |members: Value| (call("self.get_device_status"), says(&members.to_string()));
        let ours = [status(json!({"battery": {"level": 80}, "screen": 1}))];
        let theirs = [status(json!({"screen": 2}))];
        let received = (SAME_TEXT, "over mqtt: an object of screen".to_owned());
        assert_eq!(differences(&ours, &theirs), [received]);
    }

    #[test]
    fn a_missing_tool_is_a_difference_and_other_pages_are_none() {
        let list = |names: &[&str]| {
            let tools: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
            (json!({"method": "tools/list"}), json!({"result": {"tools": tools}}))
        };
        let (all, cut) = ([list(&["a", "b"]), list(&["c"])], [list(&["a"]), list(&["b", "c"])]);
        assert_eq!(differences(&all, &cut), []);
        let told = differences(&all, &[list(&["a"]), list(&["b"])]);
        assert_eq!(told.len(), 1);
        assert!(told[0].1.contains("no tool `c`"), "{told:?}");
    }
}
