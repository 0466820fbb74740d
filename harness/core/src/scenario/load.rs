//! Reading a scenario file: YAML with positions, every mistake named.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::{Location, Spanned};

use super::matcher::Matcher;
use super::model::{Action, Answer, Case, Expect, Outgoing, Step};
use crate::capability;
use crate::catalogue::Catalogue;
use crate::problem::{Problem, nearest};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    title: String,
    #[serde(default)]
    needs: Vec<Spanned<String>>,
    #[serde(default)]
    fresh: bool,
    steps: Vec<Spanned<RawStep>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    request: Option<RawRequest>,
    call: Option<RawCall>,
    status: Option<Nothing>,
    notify: Option<RawNotify>,
    payload: Option<Value>,
    payload_text: Option<String>,
    envelope: Option<Value>,
    text: Option<String>,
    binary: Option<String>,
    ping: Option<Nothing>,
    list: Option<RawList>,
    burst: Option<Vec<Spanned<RawStep>>>,
    drop: Option<RawDrop>,
    reboot: Option<Nothing>,
    keep_alive: Option<Nothing>,
    audio: Option<RawAudio>,
    console: Option<String>,
    each: Option<Vec<Map<String, Value>>>,

    #[serde(rename = "do")]
    body: Option<Vec<Spanned<RawStep>>>,
    times: Option<usize>,
    #[serde(default)]
    expect: OneOrMany,
    requirement: Option<String>,
    #[serde(default)]
    bind: BTreeMap<String, String>,
    unchanged: Option<String>,
    fragment: Option<usize>,
    qos: Option<u8>,
    snapshot: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawAudio {
    Listen(u64),
    Next(Next),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Next {
    Next,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDrop {
    #[serde(default)]
    after: Vec<Spanned<RawStep>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRequest {
    method: Value,
    #[serde(default, deserialize_with = "present")]
    params: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    id: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall {
    tool: Value,
    #[serde(default, deserialize_with = "present")]
    arguments: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    id: Option<Value>,
    meta: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNotify {
    method: Value,
    #[serde(default, deserialize_with = "present")]
    params: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawList {
    #[serde(rename = "withUserTools", default, deserialize_with = "present")]
    with_user_tools: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    cursor: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(untagged)]
enum OneOrMany {
    #[default]
    None,
    Many(Vec<Value>),
    One(Value),
}

/// An explicit `null` is a value to send, unlike an absent member.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExpect {
    requirement: String,
    answer: Option<String>,
    result: Option<Value>,
    error: Option<Value>,
    text: Option<Value>,
    json: Option<Value>,
    if_error: Option<Value>,
    at: Option<String>,
    is: Option<Value>,
    schema: Option<Value>,
    #[serde(default)]
    alive: bool,
}

impl Case {
    /// Reads a scenario file.
    ///
    /// # Errors
    ///
    /// The first mistake, with line, column and the likely fix. A requirement that the catalogue
    /// does not have is one.
    pub fn load(id: &str, file: &str, text: &str, catalogue: &Catalogue) -> Result<Self, Problem> {
        let raw: RawCase = serde_saphyr::from_str(text).map_err(|error| yaml(file, &error))?;
        for need in &raw.needs {
            if !capability::ALL.contains(&need.value.as_str()) {
                let place = need.referenced;
                let problem = Problem::at(
                    file,
                    place.line(),
                    place.column(),
                    format!("unknown capability `{}`", need.value),
                );
                let near = nearest(&need.value, capability::ALL.iter().copied());
                return Err(match near {
                    Some(near) => problem.hint(format!("did you mean `{near}`?")),
                    None => problem.hint(format!("known: {}", capability::ALL.join(", "))),
                });
            }
        }
        Ok(Self {
            id: id.into(),
            title: raw.title,
            file: file.to_owned(),
            needs: raw.needs.into_iter().map(|need| need.value).collect(),
            fresh: raw.fresh,
            steps: steps(file, raw.steps, catalogue)?,
        })
    }
}

fn yaml(file: &str, error: &serde_saphyr::Error) -> Problem {
    let error = error.without_snippet();
    let (line, column) = error
        .location()
        .map_or((0, 0), |at| (at.line(), at.column()));
    // The position has a place of its own; the message's copy of it would only repeat it.
    let text = error.to_string();
    let what = text
        .split(" at line ")
        .next()
        .unwrap_or(&text)
        .trim_start_matches("error: ");
    Problem::at(file, line, column, what.trim()).with_typo_hint()
}

fn steps(
    file: &str,
    raw: Vec<Spanned<RawStep>>,
    catalogue: &Catalogue,
) -> Result<Vec<Step>, Problem> {
    raw.into_iter()
        .map(|step| {
            let place = step.referenced;
            build(file, step.value, place, catalogue).map_err(|error| match error {
                Fault::Here(what) => {
                    Problem::at(file, place.line(), place.column(), what).with_typo_hint()
                }
                Fault::Inside(problem) => problem,
            })
        })
        .collect()
}

enum Fault {
    Here(String),
    Inside(Problem),
}

impl From<String> for Fault {
    fn from(what: String) -> Self {
        Self::Here(what)
    }
}

fn build(
    file: &str,
    mut raw: RawStep,
    place: Location,
    catalogue: &Catalogue,
) -> Result<Step, Fault> {
    let expect = expectations(&mut raw, catalogue)?;
    let inside = |nested| steps(file, nested, catalogue).map_err(Fault::Inside);
    let mut actions = Vec::new();
    let mut add = |action| actions.push(action);
    if let Some(RawRequest { method, params, id }) = raw.request {
        add(Action::Send(Outgoing::Request { method, params, id }));
    }
    if let Some(call) = raw.call {
        add(Action::Send(tool_call(call)));
    }
    if raw.status.is_some() {
        add(Action::Send(Outgoing::Status));
    }
    if let Some(RawNotify { method, params }) = raw.notify {
        add(Action::Send(Outgoing::Notify { method, params }));
    }
    if let Some(payload) = raw.payload {
        add(Action::Send(Outgoing::Payload(payload)));
    }
    if let Some(text) = raw.payload_text {
        add(Action::Send(Outgoing::PayloadText(text)));
    }
    if let Some(envelope) = raw.envelope {
        add(Action::Send(Outgoing::Envelope(envelope)));
    }
    if let Some(text) = raw.text {
        add(Action::Send(Outgoing::Text(text)));
    }
    if let Some(hex) = raw.binary {
        if crate::wire::from_hex(&hex).is_none() {
            return Err(Fault::Here(format!(
                "`binary: {hex}`: expected hexadecimal digits in pairs"
            )));
        }
        add(Action::Send(Outgoing::Binary(hex)));
    }
    if raw.ping.is_some() {
        add(Action::Send(Outgoing::Ping));
    }
    if let Some(RawList {
        with_user_tools,
        cursor,
    }) = raw.list
    {
        add(Action::List {
            with_user_tools,
            cursor,
        });
    }
    if let Some(burst) = raw.burst {
        let once = inside(burst)?;
        if once
            .iter()
            .any(|step| !matches!(step.action, Action::Send(_)))
        {
            return Err(Fault::Here(
                "`burst` takes steps that send one message each".into(),
            ));
        }
        let times = raw.times.take().unwrap_or(1);
        add(Action::Burst(
            once.iter()
                .cycle()
                .take(once.len() * times)
                .cloned()
                .collect(),
        ));
    }
    if let Some(RawDrop { after }) = raw.drop {
        add(Action::Drop {
            after: inside(after)?,
        });
    }
    if raw.reboot.is_some() {
        add(Action::Reboot);
    }
    if raw.keep_alive.is_some() {
        add(Action::KeepAlive);
    }
    if let Some(audio) = raw.audio {
        let listen_ms = match audio {
            RawAudio::Listen(ms) => Some(ms),
            RawAudio::Next(Next::Next) => None,
        };
        add(Action::Audio { listen_ms });
    }
    if let Some(pattern) = raw.console {
        regex::Regex::new(&pattern).map_err(|error| format!("`console`: {error}"))?;
        if expect.is_empty() {
            return Err(Fault::Here(
                "`console` needs a `requirement` beside it".into(),
            ));
        }
        add(Action::Console { pattern });
    }
    match (raw.each, raw.body) {
        (Some(rows), Some(body)) => add(Action::Each {
            rows,
            steps: inside(body)?,
        }),
        (None, None) => {}
        _ => return Err(Fault::Here("`each` and `do` go together".into())),
    }
    if raw.times.is_some() {
        return Err(Fault::Here("`times` goes with `burst`".into()));
    }
    if actions.len() != 1 {
        return Err(Fault::Here(format!(
            "a step has exactly one action, this one has {} (request, call, status, notify, \
             payload, payload_text, envelope, text, binary, ping, list, burst, drop, reboot, keep_alive, \
             audio, console, each)",
            actions.len()
        )));
    }
    if raw.qos.is_some_and(|qos| qos > 1) {
        return Err(Fault::Here("`qos`: expected 0 or 1".into()));
    }
    Ok(Step {
        line: place.line(),
        action: actions.remove(0),
        expect,
        bind: raw.bind,
        unchanged: raw
            .unchanged
            .map(|slug| requirement(&slug, catalogue))
            .transpose()?,
        fragment: raw.fragment,
        acknowledged: raw.qos == Some(1),
        snapshot: raw.snapshot,
    })
}

fn tool_call(call: RawCall) -> Outgoing {
    let mut params = Map::new();
    params.insert("name".into(), call.tool);
    if let Some(arguments) = call.arguments {
        params.insert("arguments".into(), arguments);
    }
    if let Some(meta) = call.meta {
        params.insert("_meta".into(), meta);
    }
    Outgoing::Request {
        method: "tools/call".into(),
        params: Some(Value::Object(params)),
        id: call.id,
    }
}

fn expectations(raw: &mut RawStep, catalogue: &Catalogue) -> Result<Vec<Expect>, String> {
    let written = match std::mem::take(&mut raw.expect) {
        OneOrMany::None => Vec::new(),
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    };
    let mut expect = written
        .into_iter()
        .map(|value| expectation(value, catalogue))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(slug) = raw.requirement.take() {
        if raw.console.is_none() {
            return Err("`requirement` beside an action goes with `console` only".into());
        }
        expect.push(Expect {
            requirement: requirement(&slug, catalogue)?,
            answer: None,
            parts: Vec::new(),
            if_error: None,
            schema: None,
            alive: false,
        });
    }
    Ok(expect)
}

fn expectation(value: Value, catalogue: &Catalogue) -> Result<Expect, String> {
    let shown = value.to_string();
    let raw: RawExpect =
        serde_json::from_value(value).map_err(|error| format!("`expect` {shown}: {error}"))?;
    let answer = raw.answer.as_deref().map(kind_of_answer).transpose()?;
    let mut parts = Vec::new();
    let named = [
        ("/result", raw.result),
        ("/error", raw.error),
        ("/text", raw.text),
        ("/json", raw.json),
    ];
    for (pointer, pattern) in named {
        if let Some(pattern) = pattern {
            parts.push((pointer.to_owned(), Matcher::new(pattern)?));
        }
    }
    match (raw.at, raw.is) {
        (Some(at), Some(is)) => parts.push((at, Matcher::new(is)?)),
        (None, None) => {}
        _ => return Err("`at` and `is` go together".into()),
    }
    if let Some(schema) = &raw.schema {
        jsonschema::validator_for(schema).map_err(|error| format!("`schema`: {error}"))?;
    }
    if answer.is_none()
        && parts.is_empty()
        && raw.if_error.is_none()
        && raw.schema.is_none()
        && !raw.alive
    {
        return Err(format!(
            "`expect` for `{}` asks for nothing",
            raw.requirement
        ));
    }
    Ok(Expect {
        requirement: requirement(&raw.requirement, catalogue)?,
        answer,
        parts,
        if_error: raw.if_error.map(Matcher::new).transpose()?,
        schema: raw.schema,
        alive: raw.alive,
    })
}

/// The catalogue's copy of a slug.
fn requirement(slug: &str, catalogue: &Catalogue) -> Result<&'static str, String> {
    catalogue
        .slug(slug)
        .ok_or_else(|| match catalogue.nearest(slug) {
            Some(near) => format!("unknown requirement `{slug}`, did you mean `{near}`?"),
            None => format!("unknown requirement `{slug}`; `mcp-hil list` shows all"),
        })
}

fn kind_of_answer(name: &str) -> Result<Answer, String> {
    Ok(match name {
        "result" => Answer::Result,
        "error" => Answer::Error,
        "refused" => Answer::Refused,
        "any" => Answer::Any,
        "none" => Answer::None,
        other => {
            return Err(format!(
                "`answer: {other}`: expected one of result, error, refused, any, none"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::RuleSet;
    use rstest::rstest;

    const CATALOGUE: &str = r#"
[[requirement]]
id = "ids.zero"
level = "MUST"
text = "Zero is an id."
source = "JSON-RPC 2.0"
section = "4"
rules = ["xiaozhi"]
"#;

    fn load(text: &str) -> Result<Case, Problem> {
        let catalogue = Catalogue::load([("ids.toml", CATALOGUE)], RuleSet::DEFAULT).unwrap();
        Case::load("ids/zero", "ids/zero.yaml", text, &catalogue)
    }

    #[test]
    fn tables_unroll_in_order() {
        let case = load(
            "title: t\nsteps:\n  - notify: {method: notifications/x}\n  - each: [{id: 0}, {id: 1}]\n    \
             do:\n      - request: {method: ping, id: \"${id}\"}\n        \
             expect: {requirement: ids.zero, answer: result}\n",
        )
        .unwrap();
        let places: Vec<_> = case
            .flatten()
            .iter()
            .map(|flat| flat.at.to_string())
            .collect();
        assert_eq!(places, ["0", "1#0.0", "1#1.0"]);
        let lines = ["0", "1#0", "1#1.0", "1#1.0.fence", "7", "x"].map(|at| case.line_of(at));
        assert_eq!(lines, [Some(3), Some(4), Some(6), Some(6), None, None]);
        assert_eq!(case.requirements(), ["ids.zero"]);
    }

    #[rstest]
    #[case(
        "title: t\nsteps:\n  - requst: {method: ping}\n",
        3,
        "did you mean `request`?"
    )]
    #[case(
        "title: t\nsteps:\n  - request: {method: ping}\n    status: {}\n",
        3,
        "exactly one action"
    )]
    #[case("title: t\nneeds: [toolz]\nsteps: []\n", 2, "did you mean `tools`?")]
    #[case(
        "title: t\nsteps:\n  - request: {method: ping}\n    expect: {requirement: ids.zer, alive: true}\n",
        3,
        "did you mean `ids.zero`?"
    )]
    #[case(
        "title: t\nsteps:\n  - request: {method: ping}\n    expect: {requirement: ids.zero, answr: any}\n",
        3,
        "did you mean `answer`?"
    )]
    #[case(
        "title: t\nsteps:\n  - request: {method: ping}\n    expect: {requirement: ids.zero}\n",
        3,
        "asks for nothing"
    )]
    #[case("title: t\nsteps:\n  - binary: 'abc'\n", 3, "hexadecimal")]
    #[case("title: [\n", 1, "expected string")]
    fn mistakes_name_line_and_fix(#[case] text: &str, #[case] line: u64, #[case] says: &str) {
        let problem = load(text).unwrap_err();
        assert!(problem.to_string().contains(says), "{problem}");
        assert_eq!(problem.line, line, "{problem}");
    }
}
