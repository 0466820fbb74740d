//! What a device is able to do, as people have reviewed it: `<folder>/<device>/capabilities-<transport>.snap`,
//! a name a line.

use std::collections::BTreeSet;

use mcp_hil_core::capability::{ALL, Facts};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::Verdict;
use mcp_hil_judge::compare::capabilities::{CapabilityChange, Look, not_there};
use mcp_hil_judge::compare::change::AnswerChange;

use super::file;
use mcp_hil_bench::dut::Fidelity;
use mcp_hil_record::event::{CaseReport, DutInfo};

/// What file names begin with.
const PREFIX: &str = "capabilities-";

/// The file to which those are led who ask where names come from.
const SOURCE: &str = "harness/core/src/capability.rs";

/// Most cases that are named where people read; records have all.
const CASES_NAMED: usize = 6;

/// The name of the file, without ending.
pub fn name(transport: &str) -> String {
    format!("{PREFIX}{transport}")
}

/// The transport that a file of this name, without ending, is about.
pub fn transport(name: &str) -> Option<&str> {
    let transport = name.strip_prefix(PREFIX)?;
    Transport::named(transport).map(|_| transport)
}

/// How a run looked at a device. `suite` says whether it tried all cases of the suite, and got a clear verdict
/// on each.
pub fn look(dut: &DutInfo, suite: bool) -> Look {
    let outside = [Fidelity::Board, Fidelity::Unknown].map(Fidelity::name);
    Look { start: !outside.contains(&&*dut.level), suite }
}

/// Whether all cases of a run showed something.
pub fn is_clear<'a>(mut cases: impl Iterator<Item = &'a CaseReport>) -> bool {
    let unclear = |verdict| matches!(verdict, Verdict::Inconclusive | Verdict::Error);
    cases.all(|case| !unclear(case.verdict))
}

/// Capabilities as text.
pub fn text(capabilities: &BTreeSet<String>) -> String {
    let names: Vec<&str> = capabilities.iter().map(String::as_str).collect();
    names.join("\n")
}

/// What the header of a file says of it.
pub fn description(dut: &str, transport: &str) -> String {
    format!("What {dut} can do over {transport}")
}

/// A whole file.
pub fn whole(dut: &str, transport: &str, text: &str) -> String {
    file::whole(SOURCE, &description(dut, transport), text)
}

/// Parses the content of a file of capabilities.
///
/// # Errors
///
/// The line, counted from 1, and what is wrong there.
pub fn read(text: &str) -> Result<BTreeSet<String>, (usize, String)> {
    let (first, body) = file::body(text)?;
    let lines = body.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| match ALL.contains(&line.trim()) {
            true => Ok(line.trim().to_owned()),
            false => {
                let shown: String = line.chars().take(40).collect();
                Err((first + at, format!("expected a capability, got `{}`", shown.escape_debug())))
            }
        })
        .collect()
}

/// The cases that were not tried for the want of a capability, of some with what they need.
pub fn not_tried(
    capability: &str,
    now: &BTreeSet<String>,
    cases: impl Iterator<Item = (String, Vec<String>)>,
) -> Vec<String> {
    let facts = Facts { capabilities: now.clone(), ..Facts::default() };
    cases
        .filter(|(_, needs)| facts.lacks(needs) == Some(capability))
        .map(|(case, _)| case)
        .collect()
}

/// The same, of the cases of a run as it was recorded.
pub fn not_tried_in<'a>(
    capability: &str,
    cases: impl Iterator<Item = &'a CaseReport>,
) -> Vec<String> {
    let reason = not_there(capability);
    cases
        .filter(|case| case.verdict == Verdict::NotApplicable)
        // What might bring it may stand behind that.
        .filter(|case| case.reason.as_ref().is_some_and(|told| told.starts_with(&reason)))
        .map(|case| case.case.clone())
        .collect()
}

/// What changed, in words; `not_tried` tells the cases that each lost capability has cost.
pub fn in_words(
    change: &CapabilityChange,
    not_tried: impl Fn(&str) -> Vec<String>,
) -> Vec<AnswerChange> {
    let told =
        |kind: &str, what: String| AnswerChange { kind: kind.to_owned(), impact: None, what };
    let mut lost: Vec<(&String, Vec<String>)> =
        change.lost.iter().map(|name| (name, not_tried(name))).collect();
    // What cost most explains the rest.
    lost.sort_by_key(|(_, cases)| std::cmp::Reverse(cases.len()));
    let lost = lost.into_iter().map(|(name, cases)| {
        let what = match cases.len() {
            0 => name.clone(),
            1 => format!("{name}; not tried for it: {}", cases[0]),
            number => {
                let named = mcp_hil_record::text::layout::few(&cases, CASES_NAMED);
                format!("{name}; {number} cases not tried for it: {named}")
            }
        };
        told("capability lost", what)
    });
    let gained = change.gained.iter();
    let gained = gained.map(|name| told("capability gained", name.clone()));
    lost.chain(gained).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_damage_is_told_with_its_line() {
        let some: BTreeSet<String> = ["tools", "volume.step"].map(str::to_owned).into();
        for capabilities in [some.clone(), BTreeSet::new()] {
            let file = whole("kitchen", "mqtt", &text(&capabilities));
            assert_eq!(read(&file).unwrap(), capabilities);
            assert_eq!(read(&file.replace('\n', "\r\n")).unwrap(), capabilities);
        }
        let file = whole("kitchen", "mqtt", &text(&some));
        let (line, why) = read(&file.replace("volume.step", "<<<<<<< HEAD")).unwrap_err();
        assert_eq!((line, &*why), (6, "expected a capability, got `<<<<<<< HEAD`"));
        assert!(read("tools\n").is_err());
    }

    #[test]
    fn files_are_named_by_transports() {
        for transport_name in ["websocket", "mqtt"] {
            assert_eq!(transport(&name(transport_name)), Some(transport_name));
        }
        assert_eq!(transport("capabilities-smoke"), None);
        assert_eq!(transport("websocket"), None);
    }
}
