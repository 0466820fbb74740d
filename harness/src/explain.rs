//! `list` and `explain`: what the suite holds, without a device.

use std::fmt::Write as _;

use mcp_hil_core::catalogue::{Level, Requirement};
use mcp_hil_core::generate::PROPERTIES;
use mcp_hil_core::problem::nearest;

use crate::cli::{ExplainArgs, ListArgs};
use crate::plan::Refusal;
use crate::suite::Suite;
use crate::sut::{self, GATEWAY};

/// The text of `mcp-hil list`.
///
/// # Errors
///
/// A mistake in a scenario folder, or a prefix that nothing begins with.
pub fn list(args: &ListArgs) -> Result<String, Refusal> {
    let suite = Suite::load(&args.rules, args.scenarios.as_deref())?;
    let mut text = String::new();
    if args.requirements {
        let in_force = suite
            .catalogue
            .iter()
            .filter(|r| suite.catalogue.active(&r.id).is_some());
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
        for case in suite
            .cases
            .iter()
            .filter(|case| case.id.starts_with(&args.prefix))
        {
            let _ = writeln!(text, "{:<34} {}", case.id, case.title);
        }
        for property in PROPERTIES.iter().filter(|p| p.id.starts_with(&args.prefix)) {
            let _ = writeln!(text, "{:<34} {}", property.id, property.title);
        }
        // What gateways are tried with is listed when it is asked for: no device runs it.
        if args.prefix.starts_with(GATEWAY) {
            for row in &sut::table().rows {
                let id = sut::case_id(&row.name);
                if id.starts_with(&args.prefix) {
                    let _ = writeln!(text, "{id:<34} {}", row.title);
                }
            }
        }
    }
    if text.is_empty() {
        return Err(Refusal::usage(
            format!("nothing begins with `{}`", args.prefix),
            "`mcp-hil list` shows all cases, `mcp-hil list --requirements` all requirements",
        ));
    }
    Ok(text)
}

/// The text of `mcp-hil explain`.
///
/// # Errors
///
/// An id that is neither a requirement nor a case; the nearest one is named.
pub fn explain(args: &ExplainArgs) -> Result<String, Refusal> {
    let all_rules: Vec<String> = mcp_hil_core::catalogue::RuleSet::ALL
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let suite = Suite::load(&all_rules, args.scenarios.as_deref())?;
    if let Some(requirement) = suite.catalogue.get(&args.id) {
        return Ok(requirement_text(requirement, &suite));
    }
    if let Some(case) = suite.cases.iter().find(|case| *case.id == *args.id) {
        let mut text = format!("{}\n  {}\n  file {}\n", case.id, case.title, case.file);
        if !case.needs.is_empty() {
            let _ = writeln!(text, "  needs {}", case.needs.join(", "));
        }
        let _ = writeln!(
            text,
            "\nIt judges, besides the checks that every transcript gets:"
        );
        for slug in case.requirements() {
            if let Some(requirement) = suite.catalogue.get(slug) {
                let _ = writeln!(text, "  {:<32} {}", slug, requirement.text);
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
            "\nIts inputs are generated from a seed and from the device's own tools. Each is judged by\n\
             the checks that every transcript gets, and by expectations of its own.\n\n\
             Run it alone: mcp-hil run --only {} --cases 300",
            property.id
        );
        return Ok(text);
    }
    let table = sut::table();
    let rows = || table.rows.iter().map(|row| (sut::case_id(&row.name), row));
    if let Some((id, row)) = rows().find(|(id, _)| *id == args.id) {
        let mut text = format!("{id}\n  {}\n\nIt sends:\n", row.title);
        for control in &row.send {
            let shown: String = control.chars().take(200).collect();
            let _ = writeln!(text, "  {shown}");
        }
        let _ = match row.calls.len() {
            0 => writeln!(text, "\nNo call must come out."),
            _ => writeln!(text, "\nThe device must get:"),
        };
        for wanted in &row.calls {
            let _ = writeln!(text, "  {}", wanted.call);
        }
        let _ = writeln!(
            text,
            "\nIt judges {}, besides what every call is held to.",
            row.requirement
        );
        return Ok(text);
    }
    let row_ids: Vec<String> = rows().map(|(id, _)| id).collect();
    let ids = suite
        .catalogue
        .iter()
        .map(|requirement| requirement.id.as_str());
    let hint = match nearest(
        &args.id,
        ids.chain(suite.cases.iter().map(|case| &*case.id))
            .chain(row_ids.iter().map(String::as_str)),
    ) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            "`mcp-hil list` shows all cases, `mcp-hil list --requirements` all requirements".into()
        }
    };
    Err(Refusal::usage(
        format!("`{}` is neither a requirement nor a case", args.id),
        &hint,
    ))
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
        let _ = writeln!(
            text,
            "\nApplies to devices with: {}",
            requirement.needs.join(", ")
        );
    }
    let rules: Vec<&str> = mcp_hil_core::catalogue::RuleSet::ALL
        .iter()
        .filter(|(_, set)| requirement.rules.contains(set))
        .map(|(name, _)| *name)
        .collect();
    let _ = writeln!(text, "\nRule sets: {}", rules.join(", "));
    let cases: Vec<&str> = suite
        .cases
        .iter()
        .filter(|case| case.requirements().contains(&requirement.id.as_str()))
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
