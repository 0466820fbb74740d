//! Coverage, for people and for programs.

use mcp_hil_core::catalogue::Level;

use super::{Coverage, Covered, Exercised};
use crate::lines::link;
use mcp_hil_record::error::UserError;
use mcp_hil_record::text::clean;
use mcp_hil_record::text::layout::few;
use mcp_hil_record::text::layout::{count, wrap};

/// Columns of the text.
const WIDTH: usize = 80;

/// Most cases that are named of a device.
const NAMED: usize = 2;

/// For people, in 80 columns.
pub(super) fn text(coverage: &Coverage, verbose: bool) -> String {
    let mut text = String::new();
    for run in &coverage.runs {
        put(&mut text, 0, "Run ", &format!("{} on {}", run.run, run.on.join(", ")));
    }
    let (exercised, never): (Vec<&Covered>, Vec<&Covered>) =
        coverage.requirements.iter().partition(|covered| covered.is_exercised());
    text.push_str("\nExercised\n\n");
    for covered in &exercised {
        head(&mut text, covered, verbose);
        for on in &covered.exercised {
            let label = format!("{}  ", link(&on.dut, &on.transport));
            put(&mut text, 4, &label, &cases(on, covered, verbose));
        }
    }
    if exercised.is_empty() {
        text.push_str("  none\n");
    }
    // What need not be there on the devices of these runs is no gap.
    let (gaps, foreign): (Vec<&Covered>, Vec<&Covered>) = never
        .into_iter()
        .partition(|covered| covered.missed.iter().any(|missed| missed.lacks.is_none()));
    text.push_str("\nNever exercised\n\n");
    for covered in &gaps {
        head(&mut text, covered, verbose);
        let by = match covered.judged_by.len() {
            0 => "judged on every transcript, but no message in these runs concerned it".to_owned(),
            _ => format!("judged by {}", few(&covered.judged_by, most(verbose))),
        };
        put(&mut text, 4, "", &by);
    }
    if gaps.is_empty() {
        text.push_str("  none\n");
    }
    if !foreign.is_empty() {
        text.push_str("\nNot applicable: no device of these runs has the capability\n\n");
        for covered in &foreign {
            head(&mut text, covered, verbose);
            let mut lacks: Vec<String> =
                covered.missed.iter().flat_map(|missed| missed.lacks.clone()).collect();
            lacks.dedup();
            let needs = match lacks.len() {
                0 => "no device connected".to_owned(),
                _ => format!("needs {}", lacks.join(", ")),
            };
            put(&mut text, 4, "", &needs);
        }
    }
    let musts =
        |list: &[&Covered]| list.iter().filter(|covered| covered.level == Level::Must).count();
    let total = exercised.len() + gaps.len();
    text.push_str(&format!(
        "\n{} of {} exercised ({} of {} MUST); {} not applicable\n",
        exercised.len(),
        count(total, "requirement"),
        musts(&exercised),
        musts(&exercised) + musts(&gaps),
        foreign.len(),
    ));
    text
}

/// For programs.
pub(super) fn json(coverage: &Coverage) -> Result<String, UserError> {
    let text = serde_json::to_string_pretty(coverage);
    let text = text.map_err(|error| UserError::bench(error.to_string(), "please report this"))?;
    Ok(text + "\n")
}

fn head(text: &mut String, covered: &Covered, verbose: bool) {
    let level = match covered.level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
        Level::May => "MAY",
    };
    let source = match covered.section.as_str() {
        "" => covered.source.clone(),
        section => format!("{}, {section}", covered.source),
    };
    put(text, 2, "", &format!("{} ({level}, {source})", covered.requirement));
    if verbose {
        put(text, 4, "", &covered.text);
    }
}

/// How many cases, the first of them, and those that show it broken.
fn cases(on: &Exercised, covered: &Covered, verbose: bool) -> String {
    // First those that are about it; it may hold in many more.
    let mut named = on.cases.clone();
    named.sort_by_key(|case| !covered.judged_by.contains(case));
    let mut text = format!("{}: {}", count(on.cases.len(), "case"), few(&named, most(verbose)));
    if !on.broken.is_empty() {
        text += &format!("; broken in {}", few(&on.broken, most(verbose)));
    }
    text
}

fn most(verbose: bool) -> usize {
    if verbose { usize::MAX } else { NAMED }
}

/// Puts down a labelled text, wrapped below itself.
fn put(text: &mut String, indent: usize, label: &str, value: &str) {
    let value = clean::visible(value);
    let hang = (indent + label.chars().count()).min(WIDTH / 2);
    for (at, part) in wrap(&value, WIDTH - hang).iter().enumerate() {
        match at {
            0 => text.push_str(&format!("{:indent$}{label}{part}\n", "")),
            _ => text.push_str(&format!("{:hang$}{part}\n", "")),
        }
    }
}
