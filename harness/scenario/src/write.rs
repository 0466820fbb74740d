//! Writing a case as a scenario file, so that what was generated can be kept, read and replayed.
//!
//! [`Case::load`] reads the text back as an equal case, up to the numbers of lines. Values are YAML in
//! flow style. Whatever is not plain ASCII is escaped: a file with a lone control or right-to-left
//! character in it would not show what it says.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::model::{Action, Answer, Case, Expect, Linger, Outgoing, Step};

/// The case as the text of a scenario file, after comment lines `head`.
pub fn write(case: &Case, head: &[String]) -> String {
    let mut out = String::new();
    for line in head.iter().flat_map(|text| text.lines()) {
        let shown: String = line.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        let _ = writeln!(out, "{}", format!("# {shown}").trim_end());
    }
    let _ = writeln!(out, "title: {}", text(&case.title));
    if !case.needs.is_empty() {
        let needs: Vec<String> = case.needs.iter().map(|need| text(need)).collect();
        let _ = writeln!(out, "needs: [{}]", needs.join(", "));
    }
    if case.fresh {
        out.push_str("fresh: true\n");
    }
    if case.steps.is_empty() {
        out.push_str("steps: []\n");
    } else {
        out.push_str("steps:\n");
        steps(&mut out, &case.steps, 2);
    }
    out
}

fn steps(out: &mut String, steps: &[Step], indent: usize) {
    for step in steps {
        let pad = " ".repeat(indent);
        let _ = write!(out, "{pad}- ");
        let inner = indent + 2;
        action(out, &step.action, inner);
        modifiers(out, step, inner);
    }
}

/// The action of a step, on the line that is begun.
fn action(out: &mut String, action: &Action, indent: usize) {
    let pad = " ".repeat(indent);
    let nested = |out: &mut String, name: &str, inner: &[Step]| {
        if inner.is_empty() {
            let _ = writeln!(out, "{name}: []");
        } else {
            let _ = writeln!(out, "{name}:");
            steps(out, inner, indent + 2);
        }
    };
    match action {
        Action::Send(outgoing) => {
            let _ = writeln!(out, "{}", message(outgoing));
        }
        Action::List { with_user_tools, cursor } => {
            let members = [("withUserTools", with_user_tools), ("cursor", cursor)];
            let _ = writeln!(out, "list: {}", present(&members));
        }
        Action::Burst(inner) => nested(out, "burst", inner),
        Action::Disconnect { after, inside, pinged } if after.is_empty() => {
            let all = [("inside: true", *inside), ("pinged: true", *pinged)];
            let set: Vec<&str> = all.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
            let _ = writeln!(out, "disconnect: {{{}}}", set.join(", "));
        }
        Action::Disconnect { after, inside, pinged } => {
            out.push_str("disconnect:\n");
            for (name, _) in [("inside", *inside), ("pinged", *pinged)].iter().filter(|(_, is)| *is)
            {
                let _ = writeln!(out, "{pad}  {name}: true");
            }
            out.push_str(&pad);
            out.push_str("  after:\n");
            steps(out, after, indent + 4);
        }
        Action::Reboot => out.push_str("reboot: {}\n"),
        Action::Configure { version } => {
            let _ = writeln!(out, "configure: {{version: {version}}}");
        }
        Action::Close { reason: None } => out.push_str("close: {bare: true}\n"),
        Action::Close { reason: Some(reason) } if reason.is_empty() => {
            out.push_str("close: {}\n");
        }
        Action::Close { reason: Some(reason) } => {
            let _ = writeln!(out, "close: {{reason: {}}}", quoted(reason));
        }
        Action::KeepAlive => out.push_str("keep_alive: {}\n"),
        Action::Linger(Linger::Quiet) => out.push_str("linger: quiet\n"),
        Action::Linger(Linger::Busy) => out.push_str("linger: busy\n"),
        Action::Linger(Linger::Each) => out.push_str("linger: each\n"),
        Action::Audio { listen_ms: None } => out.push_str("audio: next\n"),
        Action::Audio { listen_ms: Some(ms) } => {
            let _ = writeln!(out, "audio: {ms}");
        }
        Action::Console { pattern } => {
            let _ = writeln!(out, "console: {}", text(pattern));
        }
        Action::Each { rows, steps: inner } => {
            let rows: Vec<String> = rows.iter().map(object).collect();
            let _ = writeln!(out, "each: [{}]", rows.join(", "));
            out.push_str(&pad);
            nested(out, "do", inner);
        }
    }
}

/// A message: the name of the action and its value.
fn message(outgoing: &Outgoing) -> String {
    match outgoing {
        Outgoing::Request { method, params, id } => match as_call(method, params.as_ref()) {
            Some((tool, arguments, meta)) => {
                let tool = Some(tool.clone());
                let members =
                    [("tool", &tool), ("arguments", &arguments), ("id", id), ("meta", &meta)];
                format!("call: {}", present(&members))
            }
            None => {
                let method = Some(method.clone());
                let members = [("method", &method), ("params", params), ("id", id)];
                format!("request: {}", present(&members))
            }
        },
        Outgoing::Status => "status: {}".to_owned(),
        Outgoing::Notify { method, params } => {
            let method = Some(method.clone());
            format!("notify: {}", present(&[("method", &method), ("params", params)]))
        }
        Outgoing::Payload(payload) => format!("payload: {}", flow(payload)),
        Outgoing::PayloadText(raw) => format!("payload_text: {}", text(raw)),
        Outgoing::Envelope(envelope) => format!("envelope: {}", flow(envelope)),
        Outgoing::Text(raw) => format!("text: {}", text(raw)),
        Outgoing::TextBytes(hex) => format!("text_bytes: {}", text(hex)),
        Outgoing::Binary(hex) => format!("binary: {}", text(hex)),
        Outgoing::Ping(None) => "ping: {}".to_owned(),
        Outgoing::Ping(Some(bytes)) => format!("ping: {{bytes: {bytes}}}"),
        Outgoing::Pong(None) => "pong: {}".to_owned(),
        Outgoing::Pong(Some(bytes)) => format!("pong: {{bytes: {bytes}}}"),
    }
}

/// Tool, arguments and `_meta` of a request that `call` can say.
fn as_call<'a>(
    method: &Value,
    params: Option<&'a Value>,
) -> Option<(&'a Value, Option<Value>, Option<Value>)> {
    let params = params.filter(|_| method == "tools/call")?.as_object()?;
    let names: Vec<&str> = params.keys().map(String::as_str).collect();
    let sayable = matches!(
        names.as_slice(),
        ["name"] | ["name", "arguments"] | ["name", "_meta"] | ["name", "arguments", "_meta"]
    );
    // A `meta` that is null counts as absent.
    let meta = params.get("_meta").cloned();
    (sayable && meta != Some(Value::Null)).then(|| {
        let arguments = params.get("arguments").cloned();
        (&params["name"], arguments, meta)
    })
}

fn modifiers(out: &mut String, step: &Step, indent: usize) {
    let pad = " ".repeat(indent);
    let shows = matches!(step.action, Action::Console { .. } | Action::Linger(_));
    let (bare, full): (Vec<&Expect>, Vec<&Expect>) =
        step.expect.iter().partition(|expect| asks_nothing(expect));
    match full.as_slice() {
        [] => {}
        [one] => {
            let _ = writeln!(out, "{pad}expect: {}", expectation(one));
        }
        many => {
            let _ = writeln!(out, "{pad}expect:");
            for one in many {
                let _ = writeln!(out, "{pad}  - {}", expectation(one));
            }
        }
    }
    if let (Some(expect), true) = (bare.first(), shows) {
        let _ = writeln!(out, "{pad}requirement: {}", text(expect.requirement.slug()));
    }
    if !step.bind.is_empty() {
        let bind: Map<String, Value> = step
            .bind
            .iter()
            .map(|(name, pointer)| (name.clone(), pointer.as_str().into()))
            .collect();
        let _ = writeln!(out, "{pad}bind: {}", object(&bind));
    }
    if let Some(requirement) = step.unchanged {
        let _ = writeln!(out, "{pad}unchanged: {}", text(requirement.slug()));
    }
    if let Some(bytes) = step.fragment {
        let _ = writeln!(out, "{pad}fragment: {bytes}");
    }
    if step.pinged {
        let _ = writeln!(out, "{pad}ping_between: true");
    }
    if step.empty_end {
        let _ = writeln!(out, "{pad}empty_end: true");
    }
    if step.segments {
        let _ = writeln!(out, "{pad}segments: true");
    }
    if let Some(how) = step.odd_frame {
        let _ = writeln!(out, "{pad}odd_frame: {}", how.name());
    }
    if step.acknowledged {
        let _ = writeln!(out, "{pad}qos: 1");
    }
    if step.dup {
        let _ = writeln!(out, "{pad}dup: true");
    }
    let names = [("snapshot", &step.snapshot), ("control", &step.control), ("like", &step.like)];
    for (modifier, name) in names {
        if let Some(name) = name {
            let _ = writeln!(out, "{pad}{modifier}: {}", text(name));
        }
    }
}

fn asks_nothing(expect: &Expect) -> bool {
    expect.answer.is_none() && !expect.looks_inside() && !expect.alive
}

fn expectation(expect: &Expect) -> String {
    let mut members = vec![format!("requirement: {}", text(expect.requirement.slug()))];
    if let Some(answer) = expect.answer {
        let name = match answer {
            Answer::Result => "result",
            Answer::Error => "error",
            Answer::Refused => "refused",
            Answer::Any => "any",
            Answer::None => "none",
        };
        members.push(format!("answer: {name}"));
    }
    for (pointer, matcher) in &expect.parts {
        let pattern = flow(matcher.pattern());
        match pointer.as_str() {
            "/result" | "/error" | "/text" | "/json" => {
                members.push(format!("{}: {pattern}", &pointer[1..]));
            }
            other => members.push(format!("at: {}, is: {pattern}", text(other))),
        }
    }
    if let Some(matcher) = &expect.if_error {
        members.push(format!("if_error: {}", flow(matcher.pattern())));
    }
    if expect.if_bound {
        members.push("if_bound: true".to_owned());
    }
    if let Some(schema) = &expect.schema {
        members.push(format!("schema: {}", flow(schema)));
    }
    if expect.alive {
        members.push("alive: true".to_owned());
    }
    format!("{{{}}}", members.join(", "))
}

/// A flow mapping of the members that are there.
fn present(members: &[(&str, &Option<Value>)]) -> String {
    let members: Vec<String> = members
        .iter()
        .filter_map(|(name, value)| Some(format!("{name}: {}", flow(value.as_ref()?))))
        .collect();
    format!("{{{}}}", members.join(", "))
}

fn object(members: &Map<String, Value>) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}: {}", key(name), flow(value))).collect();
    format!("{{{}}}", members.join(", "))
}

fn flow(value: &Value) -> String {
    match value {
        Value::Object(members) => object(members),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(string) => text(string),
        // JSON's own spelling is YAML's, too.
        other => other.to_string(),
    }
}

/// A member name; short plain words need no quotes.
fn key(name: &str) -> String {
    let plain = name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !matches!(name, "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n");
    if plain { name.to_owned() } else { quoted(name) }
}

/// A string as a scalar that is a string to every reader.
fn text(string: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c == '_' || c == '-' || c == '.' || c == '/';
    let word = string.starts_with(|c: char| c.is_ascii_lowercase())
        && string.chars().all(plain)
        && string.contains(['.', '/', '_', '-']);
    if word {
        return string.to_owned();
    }
    let printable = string.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    if printable && string.contains(['"', '\\']) {
        return format!("'{}'", string.replace('\'', "''"));
    }
    quoted(string)
}

fn quoted(string: &str) -> String {
    let mut out = String::with_capacity(string.len() + 2);
    out.push('"');
    for c in string.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(c),
            _ => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matcher;
    use mcp_hil_core::catalogue::{Catalogue, RequirementId as Id, RuleSet};
    use mcp_hil_core::wire::OddFrame;
    use proptest::prelude::*;

    const CATALOGUE: &str = r#"
[[requirement]]
id = "ids.zero"
level = "MUST"
text = "Zero is an id."
source = "JSON-RPC 2.0"
section = "4"
rules = ["xiaozhi"]
"#;

    fn catalogue() -> Catalogue {
        Catalogue::load([("ids.toml", CATALOGUE)], RuleSet::DEFAULT).unwrap()
    }

    /// Reads a case back; lines count for nothing.
    fn again(case: &Case) -> Case {
        let written = write(case, &["what it is about".into(), "two\nlines \x1b".into()]);
        let mut read = Case::reload(&case.id, &case.file, &written, &catalogue())
            .unwrap_or_else(|problem| panic!("{problem}\n{written}"));
        no_lines(&mut read.steps);
        read
    }

    fn no_lines(steps: &mut [Step]) {
        for step in steps {
            step.line = 0;
            match &mut step.action {
                Action::Burst(inner)
                | Action::Disconnect { after: inner, .. }
                | Action::Each { steps: inner, .. } => no_lines(inner),
                _ => {}
            }
        }
    }

    fn case(steps: Vec<Step>) -> Case {
        Case {
            id: "properties/ids".into(),
            title: "Ids: come back".into(),
            file: "kept.yaml".into(),
            needs: vec!["status".into(), "volume".into()],
            fresh: true,
            steps,
        }
    }

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z./_-]{0,12}",
            any::<String>(),
            Just("<<".to_owned()),
            Just("~".to_owned()),
            Just("null".to_owned()),
            Just("yes".to_owned()),
            Just("4242".to_owned()),
            Just("1e3".to_owned()),
            Just("0x10".to_owned()),
            Just("a: b # c".to_owned()),
            Just("it's \"quoted\" \\ ".to_owned()),
            Just("\u{0}\u{7f}\u{85}\u{a0}\u{2028}\u{202e}\u{feff}\u{ffff}\u{10ffff}".to_owned()),
            Just("%s%n\r\n\t".to_owned()),
        ]
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            prop::sample::select(vec![1e16, 1.0, -0.5, 1e300, 5e-324, 9_007_199_254_740_993.0])
                .prop_map(Value::from),
            any_text().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((any_text(), inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn any_message() -> impl Strategy<Value = Outgoing> {
        let maybe = || prop::option::of(any_json());
        prop_oneof![
            (any_json(), maybe(), maybe()).prop_map(|(method, params, id)| Outgoing::Request {
                method,
                params,
                id
            }),
            (any_json(), maybe(), maybe(), maybe()).prop_map(|(tool, arguments, meta, id)| {
                let mut params = Map::new();
                params.insert("name".into(), tool);
                params.extend(arguments.map(|value| ("arguments".into(), value)));
                params.extend(meta.map(|value| ("_meta".into(), value)));
                Outgoing::Request { method: "tools/call".into(), params: Some(params.into()), id }
            }),
            (any_json(), maybe()).prop_map(|(method, params)| Outgoing::Notify { method, params }),
            // A payload that is null is not told from one that is absent.
            any_json().prop_filter("null", |json| !json.is_null()).prop_map(Outgoing::Payload),
            any_json().prop_filter("null", |json| !json.is_null()).prop_map(Outgoing::Envelope),
            any_text().prop_map(Outgoing::PayloadText),
            any_text().prop_map(Outgoing::Text),
            any_hex().prop_map(Outgoing::TextBytes),
            any_hex().prop_map(Outgoing::Binary),
            Just(Outgoing::Status),
            prop::option::of(0..=125_u8).prop_map(Outgoing::Ping),
            prop::option::of(0..=125_u8).prop_map(Outgoing::Pong),
        ]
    }

    fn any_hex() -> impl Strategy<Value = String> {
        let bytes = prop::collection::vec(any::<u8>(), 0..8);
        bytes.prop_map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let action = prop_oneof![
            4 => any_message().prop_map(Action::Send),
            1 => (prop::option::of(any_json()), prop::option::of(any_json()))
                .prop_map(|(with_user_tools, cursor)| Action::List { with_user_tools, cursor }),
            1 => prop::collection::vec(any_message(), 0..3)
                .prop_map(|all| Action::Burst(all.into_iter().map(Action::Send).map(Step::of).collect())),
            1 => (prop::collection::vec(any_message(), 0..3), any::<[bool; 2]>()).prop_map(
                |(all, [inside, pinged])| Action::Disconnect {
                    after: all.into_iter().map(Action::Send).map(Step::of).collect(),
                    inside,
                    pinged,
                }
            ),
            1 => (prop::collection::vec((any_text(), any_json()), 0..3), any_message()).prop_map(
                |(row, message)| Action::Each {
                    rows: vec![row.into_iter().collect()],
                    steps: vec![Step::of(Action::Send(message))],
                }
            ),
            1 => prop::option::of(0..1000_u64).prop_map(|listen_ms| Action::Audio { listen_ms }),
            1 => Just(Action::KeepAlive),
            1 => prop::sample::select(vec![Linger::Quiet, Linger::Busy]).prop_map(Action::Linger),
            1 => prop::option::of("[ -~]{0,40}").prop_map(|reason| Action::Close { reason }),
            1 => (1..=3u8).prop_map(|version| Action::Configure { version }),
            1 => Just(Action::Reboot),
        ];
        let answer = prop::option::of(prop::sample::select(vec![
            Answer::Result,
            Answer::Error,
            Answer::Refused,
            Answer::Any,
            Answer::None,
        ]));
        let expect = (answer, any_json(), any_text()).prop_map(|(answer, value, pointer)| {
            let exact = || Matcher::new(serde_json::json!({"$exact": value.clone()})).unwrap();
            Expect {
                requirement: Id::IdsZero,
                answer,
                parts: vec![("/json".into(), exact()), (format!("/result/{pointer}"), exact())],
                if_error: Some(exact()),
                if_bound: answer.is_some(),
                schema: None,
                alive: true,
            }
        });
        let modifiers = (
            prop::collection::vec(expect, 0..3),
            prop::option::of(any_text()),
            prop::option::of(1..9_usize),
            any::<bool>(),
        );
        (action, modifiers).prop_map(|(action, (expect, named, fragment, flag))| Step {
            expect,
            bind: named.clone().map(|name| (name, "/json/x".to_owned())).into_iter().collect(),
            unchanged: flag.then_some(Id::IdsZero),
            pinged: fragment.is_some_and(|bytes| bytes % 2 == 1),
            empty_end: fragment.is_some_and(|bytes| bytes % 4 == 2),
            segments: !flag && fragment.is_none(),
            odd_frame: (flag && fragment.is_none()).then_some(OddFrame::UnknownOpcode),
            fragment,
            acknowledged: flag,
            dup: flag && fragment.is_none(),
            snapshot: named,
            ..Step::of(action)
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_equal(
            title in any_text(),
            steps in prop::collection::vec(any_step(), 0..4),
        ) {
            let case = Case { title, ..case(steps) };
            prop_assert_eq!(again(&case), case);
        }
    }

    #[test]
    fn a_console_step_keeps_its_requirement() {
        let mut step = Step::of(Action::Console { pattern: "^Set output volume to ".into() });
        step.expect = vec![Expect::of(Id::IdsZero)];
        let case = case(vec![step]);
        assert_eq!(again(&case), case);
    }

    #[test]
    fn the_text_is_one_that_people_write() {
        let mut step = Step::of(Action::Send(Outgoing::Request {
            method: "tools/call".into(),
            params: Some(serde_json::json!({"name": "self.audio_speaker.set_volume",
                "arguments": {"volume": 101}})),
            id: None,
        }));
        step.unchanged = Some(Id::IdsZero);
        let raw = Step::of(Action::Send(Outgoing::PayloadText("{\"id\":1e3}".into())));
        let written = write(&case(vec![step, raw]), &["seed 7".into()]);
        let expected = "# seed 7\ntitle: \"Ids: come back\"\nneeds: [\"status\", \"volume\"]\n\
             fresh: true\nsteps:\n  - call: {tool: self.audio_speaker.set_volume, arguments: {volume: 101}}\n    \
             unchanged: ids.zero\n  - payload_text: '{\"id\":1e3}'\n";
        assert_eq!(written, expected);
    }
}
