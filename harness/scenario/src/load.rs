//! Reading a scenario file: YAML with positions, every mistake named.

use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::expect::{self, expectations, requirement};
use super::model::{Action, Case, Outgoing, Step};
use super::places::Node;
use super::raw::{
    Next, Nothing, RawAudio, RawCall, RawCase, RawClose, RawConfigure, RawDisconnect, RawList,
    RawNotify, RawPing, RawRequest, RawStep,
};
use super::template::Scope;
use super::wrong::Wrong;
use super::{syntax, written};
use mcp_hil_core::capability;
use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::problem::Problem;

impl Case {
    /// Reads a scenario file that a person wrote.
    ///
    /// # Errors
    ///
    /// The first mistake, with line, column and the likely fix. A requirement that the catalogue
    /// does not have is one, and so are a variable that nothing gives a value, and nothing to do.
    pub fn load(id: &str, file: &str, text: &str, catalogue: &Catalogue) -> Result<Self, Problem> {
        let case = Self::reload(id, file, text, catalogue)?;
        match Node::read(text) {
            Some(node) => written::check(file, &node).map(|()| case),
            None => Ok(case),
        }
    }

    /// Reads a scenario that a program wrote from generated inputs: what is cut out of it may have bound variables, and
    /// it may have no step.
    ///
    /// # Errors
    ///
    /// The first mistake.
    pub fn reload(
        id: &str,
        file: &str,
        text: &str,
        catalogue: &Catalogue,
    ) -> Result<Self, Problem> {
        let raw: RawCase =
            serde_saphyr::from_str(text).map_err(|error| syntax::problem(file, text, &error))?;
        let checked = needs(&raw.needs).and_then(|()| steps(raw.steps, "steps", catalogue));
        let steps = checked.map_err(|wrong| wrong.problem(file, Node::read(text).as_ref()))?;
        Ok(Self {
            id: id.into(),
            title: raw.title,
            file: file.to_owned(),
            needs: raw.needs.iter().map(|need| today(&need.value).to_owned()).collect(),
            fresh: raw.fresh,
            steps,
        })
    }
}

/// The name that a capability has today.
fn today(need: &str) -> &str {
    if need == "redial" { "reconnect" } else { need }
}

fn needs(needs: &[Spanned<String>]) -> Result<(), Wrong> {
    let unknown = |need: &&Spanned<String>| !capability::ALL.contains(&today(&need.value));
    match needs.iter().enumerate().find(|(_, need)| unknown(need)) {
        None => Ok(()),
        Some((at, need)) => {
            let wrong = Wrong::new(format!("unknown capability `{}`", need.value));
            let wrong = wrong.nearest(&need.value, capability::ALL.as_slice());
            Err(wrong.inside(at).inside("needs"))
        }
    }
}

/// The steps in a member of a case or of another step.
fn steps(
    raw: Vec<Spanned<RawStep>>,
    member: &str,
    catalogue: &Catalogue,
) -> Result<Vec<Step>, Wrong> {
    raw.into_iter()
        .enumerate()
        .map(|(at, step)| {
            let line = step.referenced.line();
            build(step.value, line, catalogue).map_err(|wrong| wrong.inside(at).inside(member))
        })
        .collect()
}

fn build(mut raw: RawStep, line: u64, catalogue: &Catalogue) -> Result<Step, Wrong> {
    let mut expect = match raw.expect.take() {
        Some(expect) => expectations(expect, catalogue)?,
        None => Vec::new(),
    };
    if let Some(slug) = raw.requirement.take() {
        let wrong = |wrong: Wrong| wrong.inside("requirement");
        if raw.console.is_none() && raw.linger.is_none() {
            let what =
                "`requirement` next to an action is allowed only with `console` and `linger`";
            let hint = "put it into `expect: {requirement: ..., answer: result}`";
            return Err(wrong(Wrong::new(what).hint(hint)));
        }
        expect.push(expect::shown(&slug, catalogue).map_err(wrong)?);
    }
    for (name, pointer) in &raw.bind {
        expect::pointer(pointer).map_err(|wrong| wrong.inside(name).inside("bind"))?;
    }
    let mut actions: Vec<(&str, Action)> =
        messages(&mut raw)?.into_iter().map(|(name, it)| (name, Action::Send(it))).collect();
    actions.extend(sequences(&mut raw, catalogue)?);
    actions.extend(handling(&mut raw)?);
    manner(&raw, actions.iter().any(|(name, _)| *name == "ping"))?;
    if let Some(pattern) = raw.console {
        regex::Regex::new(&pattern).map_err(|error| {
            Wrong::new(format!("`console`: {error}"))
                .hint("a parenthesis, bracket or dot that is meant as itself needs a backslash before it")
                .inside("console")
        })?;
        if expect.is_empty() {
            let wrong = Wrong::new("`console` also needs a `requirement`");
            return Err(wrong
                .hint("name what the line shows: `requirement: ...`")
                .inside("console"));
        }
        actions.push(("console", Action::Console { pattern }));
    }
    let what = || {
        format!(
            "a step has exactly one action, this one has {} (request, call, status, notify, \
             payload, payload_text, envelope, text, text_bytes, binary, ping, list, burst, disconnect, reboot, \
             configure, close, keep_alive, linger, audio, console, each)",
            actions.len()
        )
    };
    match &actions[..] {
        [_] => {}
        [] => {
            let hint = "is it part of the step before? Then it stands below that step's action, without `- `";
            return Err(Wrong::new(what()).hint(hint));
        }
        [_, (second, _), ..] => {
            let hint = format!("begin another step before it: `- {second}: ...`");
            return Err(Wrong::new(what()).hint(hint).inside(second));
        }
    }
    let unchanged = raw.unchanged.map(|slug| requirement(&slug, catalogue)).transpose();
    Ok(Step {
        line,
        action: actions.remove(0).1,
        expect,
        bind: raw.bind,
        unchanged: unchanged.map_err(|wrong| wrong.inside("unchanged"))?,
        fragment: raw.fragment,
        pinged: raw.ping_between,
        empty_end: raw.empty_end,
        segments: raw.segments,
        odd_frame: raw.odd_frame,
        acknowledged: raw.qos == Some(1),
        dup: raw.dup,
        snapshot: raw.snapshot,
        control: raw.control,
        like: raw.like,
    })
}

/// Most bytes of the reason in a Close frame (RFC 6455, section 5.5): the code takes two.
const MAX_REASON_BYTES: usize = 123;

/// Whether it can be sent in the manner that it says, as what is left of it when the actions are taken.
fn manner(raw: &RawStep, is_ping: bool) -> Result<(), Wrong> {
    if raw.times.is_some() {
        let wrong = Wrong::new("`times` needs `burst`");
        let hint = "write `burst: [...]`, or `each` with a row for each time";
        return Err(wrong.hint(hint).inside("times"));
    }
    if raw.odd_frame.is_some_and(|how| how.is_ping() && !is_ping) {
        let wrong = Wrong::new("`odd_frame: cut-ping` beside a message: expected a ping");
        return Err(wrong.hint("write `ping: {}` beside it").inside("odd_frame"));
    }
    if raw.qos.is_some_and(|qos| qos > 1) {
        let wrong = Wrong::new("`qos`: expected 0 or 1");
        return Err(wrong.hint("write `qos: 1`").inside("qos"));
    }
    if raw.dup && raw.qos != Some(1) {
        let wrong =
            Wrong::new("`dup` without `qos: 1`: what is not acknowledged is not sent again");
        return Err(wrong.hint("write `qos: 1` as well").inside("dup"));
    }
    if raw.segments && (raw.fragment.is_some() || raw.qos == Some(1)) {
        let wrong = Wrong::new("`segments` beside `fragment` or `qos`: expected one of them");
        return Err(wrong.hint("write two steps").inside("segments"));
    }
    if raw.odd_frame.is_some() && (raw.fragment.is_some() || raw.segments) {
        let wrong = Wrong::new("`odd_frame` beside `fragment` or `segments`: expected one of them");
        return Err(wrong.hint("write two steps").inside("odd_frame"));
    }
    if raw.ping_between && raw.fragment.is_none() {
        let wrong = Wrong::new("`ping_between` without `fragment`: nothing is in pieces");
        return Err(wrong.hint("write `fragment: 64` as well").inside("ping_between"));
    }
    if raw.empty_end && raw.fragment.is_none() {
        let wrong = Wrong::new("`empty_end` without `fragment`: nothing is in pieces");
        return Err(wrong.hint("write `fragment: 64` as well").inside("empty_end"));
    }
    if raw.empty_end && raw.ping_between {
        let wrong = Wrong::new("`empty_end` beside `ping_between`: expected one of them");
        return Err(wrong.hint("write two steps").inside("empty_end"));
    }
    Ok(())
}

/// The messages that a step sends, each with the name of its member: one, unless it is written wrong.
fn messages(raw: &mut RawStep) -> Result<Vec<(&'static str, Outgoing)>, Wrong> {
    for (name, hex) in [("text_bytes", &mut raw.text_bytes), ("binary", &mut raw.binary)] {
        let Some(hex) = hex else { continue };
        // Only repetitions: what a device tells is no bytes.
        if let Ok(filled) = Scope::new(Map::new()).fill_text(hex) {
            *hex = filled;
        }
        if mcp_hil_core::wire::from_hex(hex).is_none() {
            let what = format!("`{name}: {hex}`: expected hexadecimal digits in pairs");
            return Err(Wrong::new(what).hint(format!("write `{name}: '00ff'`")).inside(name));
        }
    }
    for (name, control) in [("ping", &raw.ping), ("pong", &raw.pong)] {
        if let Some(RawPing { bytes: Some(bytes @ 126..) }) = control {
            let what =
                format!("`bytes: {bytes}`: expected at most 125, which a control frame may carry");
            let hint = format!("write `{name}: {{bytes: 125}}`");
            return Err(Wrong::new(what).hint(hint).inside(name));
        }
    }
    if let Some(RawClose { reason: Some(_), bare: true }) = &raw.close {
        let wrong = Wrong::new("`reason` beside `bare`: a reason stands behind a code");
        return Err(wrong.hint("leave out one of them").inside("bare").inside("close"));
    }
    if let Some(RawClose { reason: Some(reason), .. }) = &raw.close
        && reason.len() > MAX_REASON_BYTES
    {
        let what = format!(
            "`reason` with {} bytes: expected at most {MAX_REASON_BYTES}, which a Close frame may carry",
            reason.len()
        );
        return Err(Wrong::new(what).hint("write a shorter reason").inside("close"));
    }
    let request = |RawRequest { method, params, id }| Outgoing::Request { method, params, id };
    let notify = |RawNotify { method, params }| Outgoing::Notify { method, params };
    let all = [
        ("request", raw.request.take().map(request)),
        ("call", raw.call.take().map(tool_call)),
        ("status", raw.status.take().map(|Nothing {}| Outgoing::Status)),
        ("notify", raw.notify.take().map(notify)),
        ("payload", raw.payload.take().map(Outgoing::Payload)),
        ("payload_text", raw.payload_text.take().map(Outgoing::PayloadText)),
        ("envelope", raw.envelope.take().map(Outgoing::Envelope)),
        ("text", raw.text.take().map(Outgoing::Text)),
        ("text_bytes", raw.text_bytes.take().map(Outgoing::TextBytes)),
        ("binary", raw.binary.take().map(Outgoing::Binary)),
        ("ping", raw.ping.take().map(|RawPing { bytes }| Outgoing::Ping(bytes))),
        ("pong", raw.pong.take().map(|RawPing { bytes }| Outgoing::Pong(bytes))),
    ];
    Ok(all.into_iter().filter_map(|(name, it)| Some((name, it?))).collect())
}

/// The actions of a step that have steps of their own.
fn sequences(
    raw: &mut RawStep,
    catalogue: &Catalogue,
) -> Result<Vec<(&'static str, Action)>, Wrong> {
    let mut actions = Vec::new();
    if let Some(burst) = raw.burst.take() {
        let once = steps(burst, "burst", catalogue)?;
        if let Some(at) = once.iter().position(|step| !matches!(step.action, Action::Send(_))) {
            let wrong = Wrong::new("`burst` takes steps that send one message each");
            let hint = "put it before or after the burst, as a step of its own";
            return Err(wrong.hint(hint).inside(at).inside("burst"));
        }
        let times = raw.times.take().unwrap_or(1);
        let all = once.iter().cycle().take(once.len() * times).cloned().collect();
        actions.push(("burst", Action::Burst(all)));
    }
    if let Some(RawDisconnect { after, inside, pinged }) = raw.disconnect.take() {
        let after = match after {
            None => Vec::new(),
            Some(after) => {
                steps(after, "after", catalogue).map_err(|wrong| wrong.inside("disconnect"))?
            }
        };
        actions.push(("disconnect", Action::Disconnect { after, inside, pinged }));
    }
    match (raw.each.take(), raw.body.take()) {
        (Some(rows), Some(body)) => {
            let steps = steps(body, "do", catalogue)?;
            actions.push(("each", Action::Each { rows, steps }));
        }
        (None, None) => {}
        (each, _) => {
            let there = if each.is_some() { "each" } else { "do" };
            let wrong = Wrong::new("`each` and `do` must be used together");
            return Err(wrong.hint("`each: [{level: 50}]` with `do: [...]`").inside(there));
        }
    }
    Ok(actions)
}

/// What a step does to the device or its connection, in one word.
fn handling(raw: &mut RawStep) -> Result<Vec<(&'static str, Action)>, Wrong> {
    if let Some(RawConfigure { version }) = raw.configure
        && !(1..=3).contains(&version)
    {
        let wrong = Wrong::new(format!("`configure`: version {version}: expected 1, 2 or 3"));
        let hint = "1 is the usual framing of binary messages";
        return Err(wrong.hint(hint).inside("version").inside("configure"));
    }
    let list =
        |RawList { with_user_tools, cursor }: RawList| Action::List { with_user_tools, cursor };
    let audio = |audio| match audio {
        RawAudio::Listen(ms) => Action::Audio { listen_ms: Some(ms) },
        RawAudio::Next(Next::Next) => Action::Audio { listen_ms: None },
    };
    let all = [
        ("list", raw.list.take().map(list)),
        ("reboot", raw.reboot.take().map(|Nothing {}| Action::Reboot)),
        (
            "configure",
            raw.configure.take().map(|RawConfigure { version }| Action::Configure { version }),
        ),
        (
            "close",
            raw.close.take().map(|RawClose { reason, bare }| Action::Close {
                reason: (!bare).then(|| reason.unwrap_or_default()),
            }),
        ),
        ("keep_alive", raw.keep_alive.take().map(|Nothing {}| Action::KeepAlive)),
        ("linger", raw.linger.take().map(Action::Linger)),
        ("audio", raw.audio.take().map(audio)),
    ];
    Ok(all.into_iter().filter_map(|(name, it)| Some((name, it?))).collect())
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

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::catalogue::{RequirementId as Id, RuleSet};
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
        let places: Vec<_> = case.flatten().iter().map(|flat| flat.at.to_string()).collect();
        assert_eq!(places, ["0", "1#0.0", "1#1.0"]);
        let lines = ["0", "1#0", "1#1.0", "1#1.0.fence", "7", "x"].map(|at| case.line_of(at));
        assert_eq!(lines, [Some(3), Some(4), Some(6), Some(6), None, None]);
        assert_eq!(case.requirements(), [Id::IdsZero]);
    }

    #[test]
    fn a_capability_may_have_its_old_name() {
        let case = load("title: t\nneeds: [redial]\nsteps:\n  - request: {method: ping}\n");
        assert_eq!(case.unwrap().needs, ["reconnect"]);
    }

    #[rstest]
    #[case("title: t\nsteps:\n  - requst: {method: ping}\n", 3, "did you mean `request`?")]
    #[case(
        "title: t\nsteps:\n  - request: {method: ping}\n    status: {}\n",
        4,
        "exactly one action"
    )]
    #[case(
        "title: t\nsteps:\n  - request: {method: ping}\n    like: unknown-metod\n",
        4,
        "did you mean `unknown-method`?"
    )]
    #[case("title: t\nneeds: [toolz]\nsteps: []\n", 2, "did you mean `tools`?")]
    #[case(
        "title: t\nsteps:\n  - request: {method: ping}\n    expect: {requirement: ids.zer, alive: true}\n",
        4,
        "did you mean `ids.zero`?"
    )]
    #[case(
        "title: t\nsteps:\n  - request: {method: ping}\n    expect: {requirement: ids.zero, answr: any}\n",
        4,
        "did you mean `answer`?"
    )]
    #[case(
        "title: t\nsteps:\n  - request: {method: ping}\n    expect: {requirement: ids.zero}\n",
        4,
        "expects nothing"
    )]
    #[case("title: t\nsteps:\n  - binary: 'abc'\n", 3, "hexadecimal")]
    #[case("title: t\nsteps:\n  - text_bytes: 'xy'\n", 3, "hexadecimal")]
    #[case("title: t\nsteps:\n  - configure: {version: 4}\n", 3, "expected 1, 2 or 3")]
    #[case("title: [\n", 1, "expected string")]
    fn mistakes_name_line_and_fix(#[case] text: &str, #[case] line: u64, #[case] says: &str) {
        let problem = load(text).unwrap_err();
        assert!(problem.to_string().contains(says), "{problem}");
        assert_eq!(problem.line, line, "{problem}");
    }
}
