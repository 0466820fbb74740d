//! Mistakes that only people make: variables that nothing gives a value, controls that no step is, and steps of which
//! there are none. A device is never blamed for them.

use std::collections::BTreeSet;

use mcp_hil_core::capability::VARIABLES;
use mcp_hil_core::problem::{Problem, nearest};

use super::model::CONTROLS;
use super::places::{Inner, Node, Place};

/// What every step knows besides what is known of a device.
const ALWAYS: [&str; 2] = ["id", "session"];

/// How nothing to do is mended.
const ADD: &str = "add a step, such as `- request: {method: ping}`";

/// Members of a step whose texts are filled in.
const FILLED: [&str; 9] =
    ["request", "call", "notify", "payload", "payload_text", "envelope", "text", "list", "expect"];

/// Finds the first of these mistakes in a file.
pub(super) fn check(file: &str, node: &Node) -> Result<(), Problem> {
    let mut known: BTreeSet<String> =
        VARIABLES.iter().chain(&ALWAYS).map(|name| (*name).to_owned()).collect();
    let steps = filled(file, node, "steps", ADD)?;
    steps.iter().try_for_each(|step| walk(file, step, &mut known))?;
    controls(file, node)
}

/// Whether what is compared with a control names one.
fn controls(file: &str, node: &Node) -> Result<(), Problem> {
    let (mut named, mut meant) = (Vec::new(), Vec::new());
    members(node, "control", &mut named);
    members(node, "like", &mut meant);
    let known: Vec<&str> = named.iter().map(|(name, _)| *name).chain(CONTROLS).collect();
    match meant.into_iter().find(|(name, _)| !known.contains(name)) {
        None => Ok(()),
        Some((name, (line, column))) => {
            let what = format!("`like: {name}`: no step has `control: {name}`");
            let problem = Problem::at(file, line, column, what);
            Err(match nearest(name, known.iter().copied()) {
                Some(near) => problem.hint(format!("did you mean `{near}`?")),
                None => problem.hint(format!("known: {}", known.join(", "))),
            })
        }
    }
}

/// The texts of all members of a name that steps have, with the places of their names.
fn members<'a>(step: &'a Node, name: &str, all: &mut Vec<(&'a str, Place)>) {
    if let Some((at, Node { inner: Inner::Scalar(Some(text)), .. })) = step.member(name) {
        all.push((text, at));
    }
    let after = step.member("disconnect").and_then(|(_, value)| value.member("after"));
    let inner = ["steps", "burst", "do"].into_iter().filter_map(|inner| step.member(inner));
    for (_, steps) in inner.chain(after) {
        steps.elements().iter().for_each(|step| members(step, name, all));
    }
}

/// The elements of a member, of which there must be some; none if there is no such member.
fn filled<'a>(file: &str, node: &'a Node, member: &str, hint: &str) -> Result<&'a [Node], Problem> {
    match node.member(member) {
        None => Ok(&[]),
        Some(((line, column), value)) => match &value.inner {
            Inner::List(elements) if !elements.is_empty() => Ok(elements),
            Inner::List(_) | Inner::Scalar(None) => {
                Err(Problem::at(file, line, column, format!("`{member}` is empty")).hint(hint))
            }
            _ => Ok(value.elements()),
        },
    }
}

fn walk(file: &str, step: &Node, known: &mut BTreeSet<String>) -> Result<(), Problem> {
    for name in FILLED {
        let Some((_, value)) = step.member(name) else {
            continue;
        };
        let mut texts = Vec::new();
        match name {
            "expect" => value.elements().iter().for_each(|expect| judged(expect, &mut texts)),
            _ => value.texts(&mut texts),
        }
        used(file, &texts, known)?;
    }
    let rows = filled(file, step, "each", "add a row, such as `{level: 50}`")?;
    for nested in ["burst", "do"] {
        let steps = filled(file, step, nested, ADD)?;
        let mut inner = known.clone();
        rows_of(file, rows, &mut inner)?;
        // What one row binds the next one knows.
        steps.iter().for_each(|step| bound(step, &mut inner));
        steps.iter().try_for_each(|step| walk(file, step, &mut inner))?;
        steps.iter().for_each(|step| bound(step, known));
    }
    if let Some((_, disconnect)) = step.member("disconnect") {
        let after = filled(file, disconnect, "after", ADD)?;
        after.iter().try_for_each(|step| walk(file, step, known))?;
    }
    bound(step, known);
    Ok(())
}

/// The texts of an expectation that are filled in. What is only judged where all is bound may use anything.
fn judged<'a>(expect: &'a Node, texts: &mut Vec<(&'a str, Place)>) {
    if expect.member("if_bound").is_some() {
        return;
    }
    for name in ["result", "error", "text", "json", "if_error", "at", "is"] {
        if let Some((_, value)) = expect.member(name) {
            value.texts(texts);
        }
    }
}

/// The names that rows give values to, which may use variables themselves.
fn rows_of(file: &str, rows: &[Node], known: &mut BTreeSet<String>) -> Result<(), Problem> {
    let mut outer = known.clone();
    outer.remove("id");
    for row in rows {
        if let Inner::Mapping(members) = &row.inner {
            for (name, _, value) in members {
                let mut texts = Vec::new();
                value.texts(&mut texts);
                used(file, &texts, &outer)?;
                known.insert(name.clone());
            }
        }
    }
    Ok(())
}

/// The names that a step binds.
fn bound(step: &Node, known: &mut BTreeSet<String>) {
    if let Some((_, Node { inner: Inner::Mapping(members), .. })) = step.member("bind") {
        known.extend(members.iter().map(|(name, ..)| name.clone()));
    }
}

fn used(file: &str, texts: &[(&str, Place)], known: &BTreeSet<String>) -> Result<(), Problem> {
    for (text, (line, column)) in texts {
        let mut rest = *text;
        while let Some((_, after)) = rest.split_once("${") {
            // What is not closed is text.
            let Some((name, after)) = after.split_once('}') else {
                break;
            };
            rest = after;
            if !known.contains(name) && !is_repetition(name) {
                return Err(unknown(file, *line, *column, name, known));
            }
        }
    }
    Ok(())
}

fn is_repetition(name: &str) -> bool {
    let counted = name.strip_prefix("repeat:").and_then(|rest| rest.rsplit_once(':'));
    counted.is_some_and(|(_, count)| count.parse::<usize>().is_ok())
}

fn unknown(file: &str, line: u64, column: u64, name: &str, known: &BTreeSet<String>) -> Problem {
    let problem =
        Problem::at(file, line, column, format!("variable `${{{name}}}` has no value here"));
    match nearest(name, known.iter().map(String::as_str)) {
        _ if name.starts_with("repeat:") => problem.hint("write `${repeat:TEXT:COUNT}`"),
        Some(near) => problem.hint(format!("did you mean `${{{near}}}`?")),
        None => problem.hint("give it a value with `bind` in a step before, or in a row of `each`"),
    }
}
