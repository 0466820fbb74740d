//! Changes of legal messages, by the grammar of JSON: other spellings of the same request are
//! understood; what is no request any more gives no success; what is no JSON is survived.
//!
//! Which of two members of one name counts is open, so that a duplicate only has to be survived. A mutation touches neither the id nor puts a
//! digit anywhere, because the id would be another one, perhaps one that the harness gives later.

use mcp_hil_core::catalogue::RequirementId as Id;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::parts::{Kind, each_of, swept};
use crate::steps::StepExt as _;
use crate::steps::{one_of, raw};
use mcp_hil_scenario::{Action, Answer, Outgoing, Step};

/// Stands for the id until the message is text.
pub(super) const ID: &str = "@id@";

pub(super) fn steps(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    let mut messages = vec![
        request("tools/list", json!({})),
        request("tools/list", json!({"cursor": "", "_meta": {"mcpHil": [1, true, "a/b", [], {}]}})),
    ];
    let reader = context
        .tools()
        .iter()
        .find(|tool| tool.arguments.is_empty() && tool.name.contains(".get_"));
    if let Some(tool) = reader.filter(|_| context.can("nullary")) {
        messages.push(request("tools/call", json!({"name": tool.name, "arguments": {}})));
    }
    let orders = (1..24).map(|order| {
        let spelling = (order, 0, vec![""]);
        spelled(&messages[0], spelling, false).answer(Id::JsonrpcMemberOrder, Answer::Result)
    });
    let as_is = || Just(vec![""]);
    let spellings = [
        (Id::JsonrpcMemberOrder, (any_order(), Just(0), as_is()).boxed()),
        (Id::JsonrpcWhitespace, (Just(0), Just(0), blanks()).boxed()),
        (Id::JsonrpcEscapes, (Just(0), proptest::bits::u32::ANY, as_is()).boxed()),
    ];
    let mut kinds: Vec<Kind<Step>> = vec![each_of(orders.collect()), each_of(framed(&messages[0]))];
    kinds.extend(
        spellings.map(|(requirement, spelling)| respelled(&messages, requirement, spelling).into()),
    );
    kinds.extend(wrong_members().map(Kind::from));
    kinds.extend([
        each_of(extended(context)),
        unlike().into(),
        broken(&messages).into(),
        each_of(wrapped()),
        each_of(doubled()),
        strange_text().into(),
    ]);
    swept(number, kinds, 6, 19)
}

/// Requests of which one member has a value of the wrong kind.
fn wrong_members() -> [BoxedStrategy<Step>; 3] {
    let versions = [
        json!(null),
        json!(2),
        json!("1.0"),
        json!("2"),
        json!(""),
        json!("2.1"),
        json!("2.0 "),
        json!(["2.0"]),
        json!(true),
    ];
    let methods =
        [json!(null), json!(7), json!(false), json!(["tools/list"]), json!({"tools/list": {}})];
    // Absent, null, true and arrays are read in different ways.
    let params = [json!("x"), json!("{}"), json!(""), json!(1), json!(-0.5)];
    [
        retyped("jsonrpc", Id::JsonrpcVersionChecked, &versions, true),
        retyped("method", Id::JsonrpcMethodRequired, &methods, true),
        retyped("params", Id::JsonrpcParamsStructured, &params, false),
    ]
}

pub(super) fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": ID, "method": method, "params": params})
}

/// Which order the members of an object stand in.
pub(super) fn any_order() -> BoxedStrategy<u32> {
    (1..24_u32).boxed()
}

/// What stands between tokens, in turn.
pub(super) fn blanks() -> BoxedStrategy<Vec<&'static str>> {
    vec(one_of(vec!["", " ", "\n", "\t", "\r", "\r\n", "  ", " \t\n\r "]), 1..6).boxed()
}

/// The same request in another spelling; in the payload, or in the whole frame.
fn respelled(
    messages: &[Value],
    requirement: Id,
    spelling: BoxedStrategy<(u32, u32, Vec<&'static str>)>,
) -> BoxedStrategy<Step> {
    (one_of(messages.to_vec()), spelling, any::<bool>())
        .prop_map(move |(message, spelling, whole)| {
            spelled(&message, spelling, whole).answer(requirement, Answer::Result)
        })
        .boxed()
}

/// A request in a spelling; in the payload, or in the whole frame.
pub(super) fn spelled(
    message: &Value,
    (order, escapes, blanks): (u32, u32, Vec<&'static str>),
    whole: bool,
) -> Step {
    let mut speller =
        Speller { order, escapes, blanks, tokens: 0, characters: 0, out: String::new() };
    if whole {
        let envelope = json!({"session_id": "${session}", "type": "mcp", "payload": message});
        speller.value(&envelope);
        Step::of(Action::Send(Outgoing::Text(speller.out)))
    } else {
        speller.value(message);
        raw(speller.out)
    }
}

/// Frames with white space around the text, and members of the envelope in every order.
fn framed(message: &Value) -> Vec<Step> {
    let text = message.to_string().replace(&format!("\"{ID}\""), "${id}");
    let members = [
        "\"session_id\":\"${session}\"".to_owned(),
        "\"type\":\"mcp\"".to_owned(),
        format!("\"payload\":{text}"),
    ];
    let orders = [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let send = |text: String, requirement| {
        Step::of(Action::Send(Outgoing::Text(text))).answer(requirement, Answer::Result)
    };
    let joined = |order: [usize; 3]| {
        let [one, two, three] = order.map(|at| members[at].as_str());
        format!("{{{one},{two},{three}}}")
    };
    let around =
        [("", "\n"), ("", "\r\n"), ("\n", ""), ("\t\t", ""), ("", " \t"), ("\r\n ", "\n\n")];
    let blank = around.map(|(before, after)| {
        send(format!("{before}{}{after}", joined([0, 1, 2])), Id::JsonrpcWhitespace)
    });
    let ordered = orders.map(|order| send(joined(order), Id::JsonrpcMemberOrder));
    blank.into_iter().chain(ordered).collect()
}

/// Writes JSON in other spellings.
struct Speller {
    order: u32,
    /// Bit `n` escapes every character whose number, modulo 32, is `n`.
    escapes: u32,
    blanks: Vec<&'static str>,
    tokens: usize,
    characters: u32,
    out: String,
}

impl Speller {
    fn token(&mut self, text: &str) {
        self.out.push_str(self.blanks[self.tokens % self.blanks.len()]);
        self.tokens += 1;
        self.out.push_str(text);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                self.token("{");
                for (place, (name, value)) in permuted(members, self.order).into_iter().enumerate()
                {
                    if place > 0 {
                        self.token(",");
                    }
                    self.string(name);
                    self.token(":");
                    self.value(value);
                }
                self.token("}");
            }
            Value::Array(items) => {
                self.token("[");
                for (place, item) in items.iter().enumerate() {
                    if place > 0 {
                        self.token(",");
                    }
                    self.value(item);
                }
                self.token("]");
            }
            Value::String(text) if text == ID => self.token("${id}"),
            Value::String(text) => self.string(text),
            other => self.token(&other.to_string()),
        }
    }

    fn string(&mut self, text: &str) {
        if text.contains("${") {
            // A variable is filled in later, as it stands.
            return self.token(&format!("\"{text}\""));
        }
        let mut spelled = String::from("\"");
        for c in text.chars() {
            let escape = self.escapes >> (self.characters % 32) & 1 == 1;
            self.characters += 1;
            match c {
                '/' if escape && self.characters.is_multiple_of(2) => spelled.push_str("\\/"),
                // Hexadecimal digits in either case.
                _ if escape && self.characters.is_multiple_of(3) => {
                    spelled.push_str(&format!("\\u{:04X}", u32::from(c)))
                }
                _ if escape => spelled.push_str(&format!("\\u{:04x}", u32::from(c))),
                _ => spelled.push(c),
            }
        }
        spelled.push('"');
        self.token(&spelled);
    }
}

/// The members in an order of their own; order 0 is the one that they have.
fn permuted(members: &Map<String, Value>, order: u32) -> Vec<(&String, &Value)> {
    let mut left: Vec<_> = members.iter().collect();
    let mut order = order as usize;
    let mut all = Vec::with_capacity(left.len());
    while !left.is_empty() {
        all.push(left.remove(order % left.len()));
        order /= left.len() + 1;
    }
    all
}

/// A member that is missing or of another type: JSON, but no request.
fn retyped(
    name: &'static str,
    requirement: Id,
    values: &[Value],
    needed: bool,
) -> BoxedStrategy<Step> {
    let missing = needed.then_some(None);
    let values: Vec<Option<Value>> =
        missing.into_iter().chain(values.iter().cloned().map(Some)).collect();
    (one_of(vec!["tools/list", "initialize"]), one_of(values))
        .prop_map(move |(method, value)| {
            let mut changed =
                json!({"jsonrpc": "2.0", "id": "${id}", "method": method, "params": {}});
            match value {
                Some(value) => changed[name] = value,
                None => drop(changed.as_object_mut().and_then(|all| all.shift_remove(name))),
            }
            Step::of(Action::Send(Outgoing::Payload(changed))).answer(requirement, Answer::Refused)
        })
        .boxed()
}

/// Members that mean nothing, or may be left out.
fn extended(context: &Context) -> Vec<Step> {
    let payload = |payload: Value| Step::of(Action::Send(Outgoing::Payload(payload)));
    let list = json!({"jsonrpc": "2.0", "id": "${id}", "method": "tools/list", "params": {}});
    let with = |name: &str, value: Value| {
        let mut message = list.clone();
        message[name] = value;
        payload(message).answer(Id::JsonrpcExtraMembers, Answer::Result)
    };
    let mut all = vec![
        with("mcpHil", json!(true)),
        with("tag", json!([1, {"id": 5, "method": "x"}])),
        with("session_id", json!("other")),
        with("", json!("")),
        Step::of(Action::Send(Outgoing::Envelope(
            json!({"session_id": "${session}", "mcpHil": {"type": "hello", "payload": [1]},
            "type": "mcp", "payload": list, "id": 12, "method": "tools/call"}),
        )))
        .answer(Id::EnvelopeExtraMembers, Answer::Result),
    ];
    if context.can("nullary") {
        let called = |params: Value| request("tools/call", params);
        let send = |message: Value, requirement| {
            let text = message.to_string().replace(&format!("\"{ID}\""), "${id}");
            raw(text).answer(requirement, Answer::Result)
        };
        let tool = json!("${nullary.tool}");
        all.extend([
            send(called(json!({"name": tool})), Id::CallNoArguments),
            send(called(json!({"arguments": {}, "name": tool})), Id::CallSuccess),
            send(called(json!({"name": tool, "arguments": {}, "_meta": {"progressToken": 7}})), Id::CallMetaIgnored),
            send(called(json!({"_meta": {"mcpHil": {"name": "x", "arguments": []}}, "name": tool, "arguments": {}})), Id::CallMetaIgnored),
        ]);
    }
    all
}

/// Members and texts that stand twice, which only have to be survived; and structures within structures,
/// as deep as the smallest parsers of devices take them, which change nothing.
fn doubled() -> Vec<Step> {
    let list = r#""jsonrpc":"2.0","id":${id},"method":"tools/list","params":{}"#;
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/mcp_hil"}"#;
    let twice = |text: &str| raw(format!("{{{list},{text}}}")).lives(Id::RobustnessGarbageText);
    let garbage = |text: String| raw(text).lives(Id::RobustnessGarbageText);
    let whole = format!(r#"{{"session_id":"${{session}}","type":"mcp","payload":{notification}}}"#);
    let frame = |text: String| {
        Step::of(Action::Send(Outgoing::Text(text))).lives(Id::RobustnessGarbageText)
    };
    let nested = |place: &str, value: Value| {
        let mut message =
            json!({"jsonrpc": "2.0", "id": "${id}", "method": "tools/list", "params": {}});
        if let Some(members) = message.pointer_mut(place).and_then(Value::as_object_mut) {
            members.insert("_meta".into(), value);
        }
        Step::of(Action::Send(Outgoing::Payload(message)))
            .answer(Id::JsonrpcExtraMembers, Answer::Result)
    };
    vec![
        twice(r#""method":"tools/list""#),
        twice(r#""params":{}"#),
        twice(r#""jsonrpc":"2.0""#),
        twice(r#""params":{"cursor":"","cursor":""}"#),
        twice(r#""mcpHil":1,"mcpHil":2"#),
        nested("/params", json!({"a": [{"b": [{}]}]})),
        nested("", json!({"a": {"b": {"c": {"d": []}}}})),
        nested("/params", json!({"a": [[[[1]], []], {}]})),
        garbage(format!("{notification}{notification}")),
        garbage(format!("{notification}\n{notification}")),
        garbage(format!("{notification},{notification}")),
        frame(format!("{whole}{whole}")),
        frame(format!("{whole}\n{whole}")),
        frame(format!("[{whole},{whole}]")),
    ]
}

/// Requests whose member names are in a different case, and responses that no request asked for.
fn unlike() -> BoxedStrategy<Step> {
    let payload = |payload: Value| Step::of(Action::Send(Outgoing::Payload(payload)));
    let cased = |message: Value| payload(message).answer(Id::JsonrpcCaseSensitive, Answer::Refused);
    let response = |message: Value| {
        payload(message)
            .answer(Id::JsonrpcResponseIgnored, Answer::Refused)
            .lives(Id::JsonrpcResponseIgnored)
    };
    one_of(vec![
        cased(json!({"jsonrpc": "2.0", "METHOD": "tools/list", "params": {}, "id": "${id}"})),
        cased(json!({"jsonrpc": "2.0", "Method": "tools/list", "params": {}, "id": "${id}"})),
        cased(json!({"JSONRPC": "2.0", "method": "tools/list", "params": {}, "id": "${id}"}))
            .like("without-version"),
        response(json!({"jsonrpc": "2.0", "id": "${id}", "result": {}})),
        response(
            json!({"jsonrpc": "2.0", "id": "${id}", "result": {"tools": [], "nextCursor": "x"}}),
        ),
        response(
            json!({"jsonrpc": "2.0", "id": "${id}", "error": {"code": -32601, "message": "mcp-hil sends no requests here"}}),
        ),
    ])
}

/// What a mutation does to a text.
#[derive(Debug, Clone)]
enum Mutation {
    /// Ends it here.
    Truncate,
    /// Leaves a token out.
    Drop,
    /// Puts this in.
    Insert(&'static str),
    /// Puts this in the place of a token.
    Replace(&'static str),
}

/// A legal request whose text was damaged at one place.
///
/// Nothing here closes an object too early, and no control character comes between tokens: cJSON, which
/// stock firmware reads with, ignores what follows a complete text and takes all of these for blanks.
/// RFC 8259, section 9, lets a parser accept more than JSON.
fn broken(messages: &[Value]) -> BoxedStrategy<Step> {
    let inserted = [
        "{", "[", "]", ",", ":", "\"", "\\", "'", "x", "/*", "//", "\u{feff}", "+", ";", "true",
        "\\u",
    ];
    let replaced = ["{", "}", "[", "]", ",", ":", ";", "=", "nul", "'", "\"", "NaN", "\u{a0}"];
    let mutation = prop_oneof![
        Just(Mutation::Truncate),
        Just(Mutation::Drop),
        one_of(inserted.to_vec()).prop_map(Mutation::Insert),
        one_of(replaced.to_vec()).prop_map(Mutation::Replace),
    ];
    (one_of(messages.to_vec()), mutation, any::<prop::sample::Index>())
        .prop_map(|(message, mutation, place)| {
            raw(damaged(&message, &mutation, &place)).lives(Id::RobustnessGarbageText)
        })
        .boxed()
}

fn damaged(message: &Value, mutation: &Mutation, place: &prop::sample::Index) -> String {
    let mut speller = Speller {
        order: 0,
        escapes: 0,
        blanks: vec!["\u{0}"],
        tokens: 0,
        characters: 0,
        out: String::new(),
    };
    speller.value(message);
    let mut tokens: Vec<&str> = speller.out.split('\u{0}').skip(1).collect();
    let at = place.index(tokens.len());
    // The id is left as it is, and nothing comes next to its digits.
    let id = tokens.iter().position(|token| *token == "${id}").unwrap_or_default();
    let at = if at == id { id + 1 } else { at };
    match mutation {
        Mutation::Truncate => tokens.truncate(at),
        Mutation::Drop => drop(tokens.remove(at)),
        Mutation::Insert(text) => tokens.insert(at, text),
        Mutation::Replace(text) => tokens[at] = text,
    }
    tokens.concat()
}

/// Messages around or in the place of a request.
fn wrapped() -> Vec<Step> {
    let list = json!({"jsonrpc": "2.0", "id": "${id}", "method": "tools/list", "params": {}});
    let payload = |payload: Value| Step::of(Action::Send(Outgoing::Payload(payload)));
    let envelope = |value: Value| Step::of(Action::Send(Outgoing::Envelope(value)));
    let nothing = Id::EnvelopePayloadNotObject;
    let mut all = vec![
        payload(json!([list])).lives(Id::RobustnessBatch),
        payload(json!([list, {"jsonrpc": "2.0", "method": "notifications/mcp_hil"}])).lives(Id::RobustnessBatch),
        payload(json!([[list]])).lives(Id::RobustnessBatch),
        payload(json!([])).lives(Id::RobustnessBatch),
        payload(json!({"payload": list})).answer(Id::JsonrpcVersionChecked, Answer::Refused),
        payload(json!({"type": "mcp", "payload": list})).answer(Id::JsonrpcVersionChecked, Answer::Refused),
        payload(json!({})).answer(Id::JsonrpcVersionChecked, Answer::Refused),
        envelope(json!({"session_id": "${session}", "type": "mcp"})).answer(nothing, Answer::Refused),
        envelope(json!({"session_id": "${session}", "type": "mcp-hil", "payload": list}))
            .answer(Id::EnvelopeUnknownTypeIgnored, Answer::None),
        envelope(json!({"session_id": "${session}", "type": "mcp-hil", "payload": {"type": "mcp", "payload": list}}))
            .answer(Id::EnvelopeUnknownTypeIgnored, Answer::None),
        envelope(json!({"session_id": "${session}", "type": 5, "payload": list}))
            .answer(Id::EnvelopeMissingTypeIgnored, Answer::Refused),
        envelope(json!({"session_id": "${session}", "type": ["mcp"], "payload": list}))
            .answer(Id::EnvelopeMissingTypeIgnored, Answer::Refused),
        envelope(json!({"session_id": "${session}", "payload": list}))
            .answer(Id::EnvelopeMissingTypeIgnored, Answer::Refused),
    ];
    all.extend([json!(null), json!(0), json!(-1.5), json!(true), json!(false)].map(|value| {
        envelope(json!({"session_id": "${session}", "type": "mcp", "payload": value}))
            .answer(nothing, Answer::Refused)
    }));
    all
}

/// Whole frames that are no message: noise of the grammar, cut and glued.
fn strange_text() -> BoxedStrategy<Step> {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\"a\"",
        "null",
        "-",
        "1e",
        "0",
        ".",
        "\u{feff}",
        "\u{0}",
        "/*",
        " ",
        "{\"type\":\"mcp-hil\"}",
        "\"type\"",
        "\"mcp\"",
        "\"payload\"",
        "${repeat:[:40}",
        "${repeat:{\"a\"::20}",
        "\u{1F600}",
    ];
    vec(one_of(pieces.to_vec()), 0..10)
        .prop_map(|pieces| {
            Step::of(Action::Send(Outgoing::Text(pieces.concat()))).lives(Id::RobustnessGarbageText)
        })
        .boxed()
}
