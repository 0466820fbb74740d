//! Names of methods and tools that do not exist, and calls that lack what a call must have: the
//! right kind of answer, with the right code.
//!
//! Variants are made of tools that may be called only: a device that does not compare names exactly
//! would execute them.

use mcp_hil_core::catalogue::RequirementId as Id;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::arguments::values;
use crate::context::{self, Context, Tool};
use crate::parts::{Kind, each_of, swept};
use crate::steps::StepExt as _;
use crate::steps::{call, exactness, object, one_of, put_back, request};
use mcp_hil_scenario::{Action, Answer, Outgoing, Step};

/// Methods that devices have; variants of them are other methods.
const KNOWN: [&str; 3] = ["tools/list", "tools/call", "initialize"];

/// Most messages of an input, one that puts the settings back aside.
const MOST: usize = 19;

pub(super) fn steps(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    let mut kinds = unknown_methods(context);
    if context.can("tools") {
        kinds.push("mcp_hil(\\.[a-z_]{0,12}){0,3}".prop_map(unknown_tool).boxed().into());
        kinds.push(each_of(
            ["", " ", "self", "self.", ".", "self.mcp_hil", "null", "0", "tools/list", "%n"]
                .map(|name| unknown_tool(name.to_owned()))
                .to_vec(),
        ));
        kinds.push(bad_params().into());
    }
    let known: Vec<&str> = context.names().collect();
    let near: Vec<String> = context
        .tools()
        .iter()
        .filter(|tool| tool.arguments.is_empty())
        .flat_map(|tool| variants(&tool.name))
        .filter(|name| !known.contains(&name.as_str()))
        .collect();
    if context.can("nullary") && !near.is_empty() {
        let near = near.iter().map(|name| {
            let requirement = exactness(name, Id::CallNameExact);
            call(name, json!({})).answer(requirement, Answer::Refused).like("unknown-tool")
        });
        kinds.push(each_of(near.collect()));
    }
    let longest = near_the_longest(context);
    if !longest.is_empty() {
        kinds.push(each_of(longest));
    }
    if let Some(bad) = bad_arguments(context) {
        kinds.push(bad.into());
    }
    let back = context.has_volume().then(|| put_back(context));
    swept(number, kinds, 4, MOST)
        .prop_map(move |mut steps| {
            let touched = steps.iter().any(|step| step.unchanged.is_some());
            steps.extend(back.clone().filter(|_| touched));
            steps
        })
        .boxed()
}

/// Requests of methods that there are not: near known names, of sizes at which buffers end, and invented ones.
fn unknown_methods(context: &Context) -> Vec<Kind<Step>> {
    // What takes another method for a call carries a call out that is good.
    let tool = context.readers().next();
    let tool = tool.map_or("x", |tool| &*tool.name);
    let variants_of = |name: &str| -> Vec<Step> {
        let params = match name {
            "initialize" => json!({"capabilities": {}}),
            "tools/call" => json!({"name": tool, "arguments": {}}),
            _ => json!({}),
        };
        let exact = |name: String| {
            let requirement = exactness(&name, Id::ErrorsMethodExact);
            request(&name, params.clone()).answer(requirement, Answer::Error).like("unknown-method")
        };
        variants(name).into_iter().map(exact).collect()
    };
    // Sizes at which a buffer for a name ends.
    let sized = [15, 16, 31, 32, 63, 64, 127, 128, 255, 256]
        .map(|bytes| unknown_method(&format!("mcp_hil/${{repeat:m:{}}}", bytes - 8), json!({})));
    // Sizes of whole messages at which a buffer ends, or the length of a frame takes more bytes.
    let whole = [126, 256, 512, 1024].into_iter().flat_map(|end| end - 2..=end + 2);
    let invented = ("mcp_hil(/[a-z_]{0,12}){0,3}", params());
    let strange = [
        "tools",
        "tools/",
        "tools/list/",
        "tools/call2",
        "list",
        "rpc.mcp_hil",
        "/",
        ".",
        "null",
        "%s",
        "..",
        "0",
    ];
    let strange = (one_of(strange.to_vec()), params());
    vec![
        each_of(variants_of(KNOWN[0])),
        each_of(sized.to_vec()),
        each_of(whole.map(of_size).collect()),
        each_of(KNOWN[1..].iter().copied().flat_map(variants_of).collect()),
        invented.prop_map(|(name, params)| unknown_method(&name, params)).boxed().into(),
        strange.prop_map(|(name, params)| unknown_method(name, params)).boxed().into(),
    ]
}

/// A message of so many bytes: a request for a method that there is not, filled up by its method where it is short,
/// else by texts in its params none of which is long. A session id of the harness's own and an id of four digits are
/// reckoned with; one of five is made up for by the sizes around it.
fn of_size(bytes: usize) -> Step {
    const PIECE: usize = 60;
    const SHORT: usize = 200;
    let message = |method: &str, params: Option<Value>, session: &str, id: Value| {
        let mut payload = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let Some(params) = params {
            payload["params"] = params;
        }
        json!({"session_id": session, "type": "mcp", "payload": payload})
    };
    let session = "s".repeat(36);
    let length = |method: &str, params: Option<Value>| {
        message(method, params, &session, json!(1001)).to_string().len()
    };
    let mut method = "mcp_hil/x".to_owned();
    let mut pieces = vec![String::new()];
    let params = |pieces: &[String]| Some(json!({"x": pieces}));
    if bytes < SHORT {
        method.push_str(&"x".repeat(bytes.saturating_sub(length(&method, None))));
    } else {
        while length(&method, params(&pieces)) < bytes {
            let lacks = bytes - length(&method, params(&pieces));
            // Quotes and a comma come with each piece: what is left must suffice for them.
            match lacks > PIECE + 3 {
                true => pieces.push("x".repeat(PIECE - 3)),
                false => pieces[0].push_str(&"x".repeat(lacks)),
            }
        }
    }
    let params = if bytes < SHORT { None } else { params(&pieces) };
    let message = message(&method, params, "${session}", json!("${id}"));
    Step::of(Action::Send(Outgoing::Envelope(message)))
        .answer(Id::ErrorsMethodNotFound, Answer::Error)
        .like("unknown-method")
}

fn params() -> BoxedStrategy<Value> {
    one_of(vec![
        json!({}),
        json!({"capabilities": {}}),
        json!({"name": "x", "arguments": {}}),
        json!({"cursor": ""}),
    ])
}

fn unknown_method(name: &str, params: Value) -> Step {
    request(name, params)
        .answer(Id::ErrorsMethodNotFound, Answer::Error)
        .if_error(Id::ErrorsMethodNotFoundCode, json!({"code": -32601}))
}

fn unknown_tool(name: String) -> Step {
    call(&name, json!({}))
        .answer(Id::CallUnknownToolRefused, Answer::Refused)
        .if_error(Id::CallUnknownToolCode, json!({"code": {"$in": [-32601, -32602]}}))
}

/// The name with its last two characters that differ swapped: what a sum of characters does not tell apart.
fn swapped(name: &str) -> Option<String> {
    let mut characters: Vec<char> = name.chars().collect();
    let at = characters.windows(2).rposition(|pair| pair[0] != pair[1])?;
    characters.swap(at, at + 1);
    Some(characters.into_iter().collect())
}

/// The name in other case, with a character more, without its last one, or with two swapped.
fn variants(name: &str) -> Vec<String> {
    let mut first = name.chars();
    let title: String =
        first.next().into_iter().flat_map(char::to_uppercase).chain(first).collect();
    let mut shorter = name.to_owned();
    shorter.pop();
    let more = [" ", ".", "/", "\t", "x", "\u{200b}", "\u{0}", "\u{0}x", "\r\n", "?"]
        .iter()
        .map(|more| format!("{name}{more}"));
    let before = [" ", "\n", "/"].iter().map(|more| format!("{more}{name}"));
    // As other programs spell the separators: servers that hand names on replace them.
    let other = [
        name.replace('.', "_"),
        name.replace('/', "\\"),
        name.replace('/', "."),
        name.replace(['.', '/'], "-"),
    ];
    let mut all: Vec<String> = [name.to_uppercase(), title, shorter]
        .into_iter()
        .chain(swapped(name))
        .chain(more)
        .chain(before)
        .chain(other)
        .collect();
    all.retain(|other| other != name && !other.is_empty());
    all.dedup();
    all
}

/// Good calls, but for the name: it is near that of the tool with the longest name, and near those of two that take
/// arguments. A comparison that ends too early, or begins too late, shows with long names.
fn near_the_longest(context: &Context) -> Vec<Step> {
    let fills = |tool: &&Tool| tool.arguments.iter().all(|one| one.kind != context::Kind::Other);
    let mut tools: Vec<&Tool> = context.tools().iter().filter(fills).collect();
    tools.sort_by_key(|tool| std::cmp::Reverse(tool.name.len()));
    let with_arguments = tools.iter().filter(|tool| !tool.arguments.is_empty());
    let mut chosen: Vec<&Tool> =
        tools.first().into_iter().chain(with_arguments.take(2)).copied().collect();
    chosen.dedup();
    let mut steps = Vec::new();
    for tool in chosen {
        let arguments = Value::from(values(tool));
        for name in near(&tool.name) {
            if context.names().any(|known| known == name) {
                continue;
            }
            let step = call(&name, arguments.clone())
                .answer(Id::CallNameExact, Answer::Refused)
                .without_effect(Id::CallNameExact)
                .like("unknown-tool");
            steps.push(step);
        }
    }
    steps
}

/// A name with its end changed or cut off, and without what it begins with.
fn near(name: &str) -> Vec<String> {
    let mut shorter = name.to_owned();
    let last = shorter.pop();
    let other = if last == Some('x') { 'y' } else { 'x' };
    let mut all = vec![format!("{name}_mcp_hil"), format!("{shorter}{other}"), shorter];
    all.extend(name.split_once('.').map(|(_, rest)| rest.to_owned()));
    all.extend(swapped(name));
    all.retain(|one| !one.is_empty());
    all
}

/// Calls without a name that is a string.
fn bad_params() -> BoxedStrategy<Step> {
    let of = |params: Option<Value>, requirement| {
        let outgoing = Outgoing::Request { method: "tools/call".into(), params, id: None };
        Step::of(Action::Send(outgoing))
            .answer(requirement, Answer::Refused)
            .if_error(Id::ErrorsInvalidParamsCode, json!({"code": -32602}))
    };
    let names = [
        json!(null),
        json!(42),
        json!(0),
        json!(true),
        json!(["self.get_device_status"]),
        json!({"name": "self.get_device_status"}),
        json!(1.5),
    ];
    let mut all = vec![
        of(Some(json!({})), Id::CallMissingName),
        of(Some(json!({"arguments": {}})), Id::CallMissingName),
        of(Some(json!({"Name": "mcp_hil", "arguments": {}})), Id::CallMissingName),
        of(None, Id::CallParamsRequired),
    ];
    // No document tells the code of these.
    all.last_mut().expect("four").expect.truncate(1);
    all.extend(names.map(|name| {
        let mut bad = of(Some(json!({"name": name, "arguments": {}})), Id::CallNameType);
        bad.expect.truncate(1);
        bad
    }));
    one_of(all)
}

/// Arguments that are no object, of a tool that has an integer.
fn bad_arguments(context: &Context) -> Option<BoxedStrategy<Step>> {
    if !context.can("integer") {
        return None;
    }
    let tool = context.tools().iter().find(|tool| tool.arguments.iter().any(|one| one.required))?;
    let argument = tool.arguments.iter().find(|one| one.required)?.name.clone();
    let name = tool.name.clone();
    let text = Value::Object(object(&argument, 60.into())).to_string();
    let values = vec![
        json!([60]),
        json!([]),
        json!(argument),
        json!(text),
        json!(60),
        json!(""),
        json!([{}]),
    ];
    Some(
        one_of(values)
            .prop_map(move |arguments| {
                call(&name, arguments)
                    .answer(Id::CallArgumentsObject, Answer::Refused)
                    .without_effect(Id::CallArgumentsObject)
            })
            .boxed(),
    )
}
