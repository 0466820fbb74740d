//! Reading what a step expects: each mistake has the place of its own member.

use mcp_hil_core::catalogue::{Catalogue, RequirementId as Id};
use mcp_hil_core::problem::nearest;
use serde_json::{Map, Value};

use super::matcher::Matcher;
use super::model::{Answer, Expect};
use super::wrong::Wrong;

/// The members of an expectation.
pub(super) const MEMBERS: [&str; 12] = [
    "requirement",
    "answer",
    "result",
    "error",
    "text",
    "json",
    "if_error",
    "if_bound",
    "at",
    "is",
    "schema",
    "alive",
];

/// What pointers into an answer begin with.
const ROOTS: [&str; 5] = ["result", "error", "text", "json", "outcome"];

const ANSWERS: [(&str, Answer); 5] = [
    ("result", Answer::Result),
    ("error", Answer::Error),
    ("refused", Answer::Refused),
    ("any", Answer::Any),
    ("none", Answer::None),
];

/// What the member `expect` of a step says: one expectation, or a list.
pub(super) fn expectations(value: Value, catalogue: &Catalogue) -> Result<Vec<Expect>, Wrong> {
    match value {
        Value::Array(many) if many.is_empty() => Err(Wrong::new("`expect` is empty")
            .hint("leave it out, or name a `requirement` and what must hold")),
        Value::Array(many) => many
            .into_iter()
            .enumerate()
            .map(|(at, one)| expectation(one, catalogue).map_err(|wrong| wrong.inside(at)))
            .collect(),
        one => expectation(one, catalogue).map(|one| vec![one]),
    }
    .map_err(|wrong| wrong.inside("expect"))
}

fn expectation(value: Value, catalogue: &Catalogue) -> Result<Expect, Wrong> {
    let Value::Object(mut members) = value else {
        return Err(Wrong::new(format!("`expect`: expected a mapping, got `{value}`"))
            .hint("name a requirement, too: `expect: {requirement: ids.echo, answer: result}`"));
    };
    if let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        let what = format!(
            "unknown field `{unknown}`, expected one of {}",
            MEMBERS.map(|known| format!("`{known}`")).join(", ")
        );
        return Err(Wrong::new(what).nearest(unknown, &MEMBERS).inside(unknown));
    }
    // As in the rest of the file, a member that is null is not there.
    members.retain(|_, value| !value.is_null());
    let Some(slug) = text(&members, "requirement")? else {
        return Err(Wrong::new("`expect` names no `requirement`").hint(
            "`mcp-hil list --requirements` shows all; the sentence that the answer shows is the right one",
        ));
    };
    let requirement =
        self::requirement(&slug, catalogue).map_err(|wrong| wrong.inside("requirement"))?;
    let answer = text(&members, "answer")?.map(|name| kind_of_answer(&name)).transpose()?;
    let mut parts = Vec::new();
    for name in ["result", "error", "text", "json"] {
        if let Some(matcher) = matcher(&mut members, name)? {
            parts.push((format!("/{name}"), matcher));
        }
    }
    match (text(&members, "at")?, matcher(&mut members, "is")?) {
        (Some(at), Some(is)) => {
            pointer(&at).map_err(|wrong| wrong.inside("at"))?;
            parts.push((at, is));
        }
        (None, None) => {}
        (at, _) => {
            let there = if at.is_some() { "at" } else { "is" };
            return Err(Wrong::new("`at` and `is` must be used together")
                .hint("`at: /result/tools/0/name` with `is: self.lamp.get_state`")
                .inside(there));
        }
    }
    let if_error = matcher(&mut members, "if_error")?;
    let schema = members.remove("schema");
    if let Some(schema) = &schema {
        jsonschema::validator_for(schema).map_err(|error| {
            let path = error.instance_path().to_string();
            let wrong = Wrong::new(format!("`schema`: {error}"))
                .hint("`schema` is a JSON Schema; its types are integer, number, string, boolean, object, array and null");
            let pieces = path.split('/').filter(|piece| !piece.is_empty()).rev();
            pieces.fold(wrong, Wrong::inside).inside("schema")
        })?;
    }
    let (if_bound, alive) = (flag(&members, "if_bound")?, flag(&members, "alive")?);
    if answer.is_none() && parts.is_empty() && if_error.is_none() && schema.is_none() && !alive {
        return Err(Wrong::new(format!("`expect` for `{slug}` expects nothing"))
            .hint("add `answer: result`, `alive: true`, or what a part of the answer must be"));
    }
    if if_bound && parts.is_empty() {
        return Err(Wrong::new("`if_bound` needs a part of the answer to match")
            .hint("add `result:`, `error:`, `text:`, `json:`, or `at:` and `is:`")
            .inside("if_bound"));
    }
    Ok(Expect { requirement, answer, parts, if_error, if_bound, schema, alive })
}

/// A requirement alone, that a console line shows.
pub(super) fn shown(slug: &str, catalogue: &Catalogue) -> Result<Expect, Wrong> {
    requirement(slug, catalogue).map(Expect::of)
}

/// The requirement of a slug.
pub(super) fn requirement(slug: &str, catalogue: &Catalogue) -> Result<Id, Wrong> {
    catalogue.id(slug).ok_or_else(|| {
        let wrong = Wrong::new(format!("unknown requirement `{slug}`"));
        match catalogue.nearest(slug) {
            Some(near) => wrong.hint(format!("did you mean `{near}`?")),
            None => wrong.hint("`mcp-hil list` shows all"),
        }
    })
}

/// Whether a text is a pointer into an answer.
pub(super) fn pointer(text: &str) -> Result<(), Wrong> {
    // A variable may hold all of it, or what comes after its first part.
    if text.is_empty() || text.starts_with("${") || text.starts_with("/${") {
        return Ok(());
    }
    let Some(rest) = text.strip_prefix('/') else {
        return Err(Wrong::new(format!("`{text}` is no pointer: it begins without a slash"))
            .hint(format!("write `/{text}`")));
    };
    let root = rest.split('/').next().and_then(|root| root.split("${").next()).unwrap_or_default();
    match ROOTS.contains(&root) {
        true => Ok(()),
        false => {
            let what = format!(
                "`{text}` leads to nothing: expected it to begin with one of {}",
                ROOTS.map(|root| format!("`/{root}`")).join(", ")
            );
            let wrong = Wrong::new(what);
            Err(match nearest(root, ROOTS) {
                Some(near) => {
                    wrong.hint(format!("did you mean `{}`?", text.replacen(root, near, 1)))
                }
                None => wrong.hint(format!("an answer's result is at `/result/{rest}`")),
            })
        }
    }
}

fn kind_of_answer(name: &str) -> Result<Answer, Wrong> {
    let known = ANSWERS.iter().find(|(known, _)| *known == name);
    known.map(|(_, answer)| *answer).ok_or_else(|| {
        let names = ANSWERS.map(|(known, _)| known);
        let what = format!("`answer: {name}`: expected one of {}", names.join(", "));
        Wrong::new(what).nearest(name, &names).inside("answer")
    })
}

fn matcher(members: &mut Map<String, Value>, name: &str) -> Result<Option<Matcher>, Wrong> {
    let pattern = members.remove(name);
    pattern.map(Matcher::read).transpose().map_err(|wrong| wrong.inside(name))
}

fn text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, Wrong> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => {
            let wrong = Wrong::new(format!("`{name}`: expected a text, got `{other}`"));
            Err(wrong.hint("put it in quotes, if it is meant as a text").inside(name))
        }
    }
}

fn flag(members: &Map<String, Value>, name: &str) -> Result<bool, Wrong> {
    match members.get(name) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => {
            let wrong = Wrong::new(format!("`{name}`: expected `true` or `false`, got `{other}`"));
            Err(wrong.hint(format!("write `{name}: true`")).inside(name))
        }
    }
}
