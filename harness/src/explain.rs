//! `list` and `explain`: what the suite holds, without a device.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use mcp_hil_core::catalogue::{Level, Requirement, RuleSet};
use mcp_hil_core::problem::nearest;
use mcp_hil_core::transcript::{BRING_UP, CLOSE};
use mcp_hil_generate::PROPERTIES;
use mcp_hil_judge::compare::SAME_ANSWERS;

use mcp_hil_args::{ExplainArgs, ListArgs};
use mcp_hil_gateway::suite;
use mcp_hil_record::error::UserError;
use mcp_hil_record::names::GATEWAY;
use mcp_hil_record::text::layout::hanging;
use mcp_hil_runner::suite::Suite;

/// The cases that no file holds: name, title, and what happens in them.
const AROUND: [(&str, &str, &str); 3] = [
    (
        BRING_UP,
        "The device connects and answers",
        "The device is started and waited for; its hello, initialize, tools and status are read. That shows which\n\
         cases apply, and which tools they call. It begins every run over each transport, and is judged by the\n\
         checks on every transcript.",
    ),
    (
        CLOSE,
        "No late answers arrive, and settings are restored",
        "The settings that the run has changed are put back, and answers that come late are waited for. It ends\n\
         every run over each transport, and is judged by the checks on every transcript.",
    ),
    (
        SAME_ANSWERS,
        "The same request gets the same answer over both transports",
        "What was recorded over WebSocket and over MQTT is compared; nothing is sent for it. It ends every run\n\
         over both transports.\n\nRun it alone: mcp-hil run --transport both --only transport/same-answers",
    ),
];

/// The text of `mcp-hil list`, with lines of at most `width` columns.
///
/// # Errors
///
/// A mistake in a scenario folder, or a prefix that nothing begins with.
pub fn list(args: &ListArgs, width: Option<usize>) -> Result<String, UserError> {
    let suite = Suite::load(&args.rules, args.scenarios.as_deref())?;
    let mut text = String::new();
    if args.requirements {
        let in_force = suite.catalogue.iter().filter(|r| suite.catalogue.active(&r.id).is_some());
        for requirement in in_force.filter(|r| r.id.starts_with(&args.prefix)) {
            let _ = writeln!(
                text,
                "{:<34} {:<6} {}",
                requirement.id,
                level(requirement.level),
                requirement.text
            );
        }
    } else {
        for case in suite.cases.iter().filter(|case| case.id.starts_with(&args.prefix)) {
            let _ = writeln!(text, "{:<34} {}", case.id, case.title);
        }
        for property in PROPERTIES.iter().filter(|p| p.id.starts_with(&args.prefix)) {
            let _ = writeln!(text, "{:<34} {}", property.id, property.title);
        }
        // What gateways are tried with is listed when it is asked for: no device runs it.
        if args.prefix.starts_with(GATEWAY) {
            for row in &suite::table().rows {
                let id = suite::case_id(&row.name);
                if id.starts_with(&args.prefix) {
                    let _ = writeln!(text, "{id:<34} {}", row.title);
                }
            }
        }
    }
    if text.is_empty() {
        return Err(UserError::usage(
            format!("nothing begins with `{}`", args.prefix),
            "`mcp-hil list` shows all cases, `mcp-hil list --requirements` all requirements",
        ));
    }
    // What stands in the columns before the sentence.
    let indent = if args.requirements { 42 } else { 35 };
    Ok(match width {
        Some(width) => text.lines().map(|line| hanging(line, width, indent) + "\n").collect(),
        None => text,
    })
}

/// The text of `mcp-hil explain`.
///
/// # Errors
///
/// An id that is neither a requirement nor a case; the nearest one is named.
pub fn explain(args: &ExplainArgs) -> Result<String, UserError> {
    let all_rules: Vec<String> = RuleSet::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    let suite = Suite::load(&all_rules, args.scenarios.as_deref())?;
    // The level is that of the rule sets that hold unless others are chosen.
    let default = Suite::load(&[], None)?;
    if let Some(requirement) = default.catalogue.get(&args.id) {
        return Ok(requirement_text(requirement, &suite));
    }
    if let Some(case) = suite.cases.iter().find(|case| *case.id == *args.id) {
        let mut text = format!("{}\n  {}\n  file {}\n", case.id, case.title, case.file);
        if !case.needs.is_empty() {
            let _ = writeln!(text, "  needs {}", case.needs.join(", "));
        }
        let _ = writeln!(text, "\nIt judges, in addition to the checks on every transcript:");
        for slug in case.requirements() {
            if let Some(requirement) = suite.catalogue.get(slug.slug()) {
                let _ = writeln!(text, "  {:<32} {}", slug.slug(), requirement.text);
            }
        }
        let _ = writeln!(text, "\nRun it alone: mcp-hil run --only {}", case.id);
        return Ok(text);
    }
    if let Some(property) = PROPERTIES.iter().find(|property| property.id == args.id) {
        let mut text = format!("{}\n  {}\n", property.id, property.title);
        if !property.needs.is_empty() {
            let _ = writeln!(text, "  needs {}", property.needs.join(", "));
        }
        let _ = writeln!(
            text,
            "\nIts inputs are generated from a seed and from the device's own tools. Each is \
             judged by\nthe checks on every transcript, and by its own expectations.\n\nRun it \
             alone: mcp-hil run --only {} --inputs 300",
            property.id
        );
        return Ok(text);
    }
    if let Some((id, title, what)) = AROUND.iter().find(|(id, ..)| *id == args.id) {
        return Ok(format!("{id}\n  {title}\n\n{what}\n"));
    }
    let table = suite::table();
    let rows = || table.rows.iter().map(|row| (suite::case_id(&row.name), row));
    if let Some((id, row)) = rows().find(|(id, _)| *id == args.id) {
        let mut text = format!("{id}\n  {}\n\nIt sends:\n", row.title);
        for control in &row.send {
            let shown: String = control.chars().take(200).collect();
            let _ = writeln!(text, "  {shown}");
        }
        let _ = match row.calls.len() {
            0 => writeln!(text, "\nNo call may reach the device."),
            _ => writeln!(text, "\nThe device must get:"),
        };
        for wanted in &row.calls {
            let _ = writeln!(text, "  {}", wanted.call);
        }
        let _ = writeln!(
            text,
            "\nIt judges {}, in addition to what applies to every call.",
            row.requirement
        );
        return Ok(text);
    }
    let row_ids: Vec<String> = rows().map(|(id, _)| id).collect();
    let ids = suite.catalogue.iter().map(|requirement| requirement.id.as_str());
    let hint = match nearest(
        &args.id,
        ids.chain(suite.cases.iter().map(|case| &*case.id))
            .chain(PROPERTIES.iter().map(|property| property.id))
            .chain(AROUND.iter().map(|(id, ..)| *id))
            .chain(row_ids.iter().map(String::as_str)),
    ) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            "`mcp-hil list` shows all cases, `mcp-hil list --requirements` all requirements".into()
        }
    };
    Err(UserError::usage(format!("`{}` is neither a requirement nor a case", args.id), &hint))
}

fn requirement_text(requirement: &Requirement, suite: &Suite) -> String {
    let mut text = format!(
        "{} ({}, {}, {})\n\n{}\n",
        requirement.id,
        level(requirement.level),
        requirement.source,
        requirement.section,
        requirement.text,
    );
    if let Some(note) = &requirement.note {
        let _ = writeln!(text, "\n{}", note.trim());
    }
    if !requirement.needs.is_empty() {
        let _ = writeln!(text, "\nApplies to devices with: {}", requirement.needs.join(", "));
    }
    let names = |sets: &BTreeSet<RuleSet>| {
        let named = RuleSet::ALL.iter().filter(|(_, set)| sets.contains(set));
        named.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(text, "\nRule sets: {}", names(&requirement.rules));
    if !requirement.must_in.is_empty() {
        let _ = writeln!(text, "A MUST with `--rules {}`.", names(&requirement.must_in));
    }
    let cases: Vec<&str> = suite
        .cases
        .iter()
        .filter(|case| case.requirements().iter().any(|one| one.slug() == requirement.id))
        .map(|case| &*case.id)
        .collect();
    if requirement.id.starts_with("gateway.") {
        text.push_str("Judged by `mcp-hil run --sut gateway`.\n");
        return text;
    }
    match cases.as_slice() {
        [] => text.push_str("Judged on every transcript, whatever the case.\n"),
        cases => {
            let _ = writeln!(text, "Judged by: {}", cases.join(", "));
        }
    }
    text
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
        Level::May => "MAY",
    }
}
