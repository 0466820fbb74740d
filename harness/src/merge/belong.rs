//! Whether runs belong together, and whether all of them are there.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::transcript::{BRING_UP, CLOSE};
use mcp_hil_core::verdict::Verdict;

use super::{Part, basis};
use crate::plan::Refusal;
use crate::run::{BOTH, lane_name};
use crate::shard::Shard;

/// What to do about runs that stand on something else.
const SAME: &str = "run all parts with the same program, arguments, files and `--seed`";

/// Refuses runs of which no whole can be made.
///
/// # Errors
///
/// What differs, what is there twice or what is missing, with the folders.
pub(super) fn check(parts: &[Part], catalogue: &Catalogue) -> Result<(), Refusal> {
    for part in parts {
        of_this_program(part, catalogue)?;
        is_sound(part)?;
    }
    for other in &parts[1..] {
        on_the_same(&parts[0], other)?;
    }
    let mut lanes: BTreeMap<String, Vec<&Part>> = BTreeMap::new();
    for part in parts {
        for dut in &part.record.run.duts {
            let lane = lane_name(&dut.name, &dut.transport);
            lanes.entry(lane).or_default().push(part);
        }
    }
    for (lane, parts) in &lanes {
        of_one_device(lane, parts)?;
        are_all_there(lane, parts)?;
        has_all_cases(lane, parts)?;
    }
    Ok(())
}

fn of_this_program(part: &Part, catalogue: &Catalogue) -> Result<(), Refusal> {
    let tool = &part.record.run.tool;
    if tool != crate::TOOL {
        let (name, ours) = (part.name(), crate::TOOL);
        return Err(Refusal::usage(
            format!("`{name}` is a run by `{tool}`: expected one by `{ours}`"),
            "join it with the program that it was made by",
        ));
    }
    if part.basis.requirements != basis::requirements(catalogue) {
        return Err(Refusal::usage(
            format!(
                "`{}` was held to other requirements than these",
                part.name()
            ),
            "join it with the program that it was made by",
        ));
    }
    Ok(())
}

/// A report whose cases do not add up was cut or changed.
fn is_sound(part: &Part) -> Result<(), Refusal> {
    let cases = part.record.cases.iter();
    let executed = cases.filter(|case| case.verdict != Verdict::NotApplicable);
    let (told, there) = (part.record.summary.cases, executed.count());
    if told != there {
        let file = part.folder.join("report.json");
        return Err(Refusal::usage(
            format!(
                "`{}`: expected {told} executed cases, as its summary says, got {there}",
                file.display()
            ),
            "the file is damaged",
        ));
    }
    Ok(())
}

/// Whether two runs stand on the same; what may differ is the device and the shard.
fn on_the_same(first: &Part, other: &Part) -> Result<(), Refusal> {
    let (a, b) = (&first.record.run, &other.record.run);
    let (one, two) = (&first.basis, &other.basis);
    let words = |words: &[String]| format!("`{}`", words.join(" "));
    let differs = [
        (
            a.seed != b.seed,
            "seed",
            a.seed.to_string(),
            b.seed.to_string(),
        ),
        (
            a.rules != b.rules,
            "rule sets",
            words(&a.rules),
            words(&b.rules),
        ),
        (
            a.strict != b.strict,
            "`--strict`",
            yes(a.strict),
            yes(b.strict),
        ),
        (
            one.options != two.options,
            "arguments",
            words(&one.options),
            words(&two.options),
        ),
        (
            one.selected != two.selected || one.whole_suite != two.whole_suite,
            "selection",
            format!("{} cases", one.selected.len()),
            format!("{} cases", two.selected.len()),
        ),
        (
            one.scenarios != two.scenarios,
            "scenarios",
            one.scenarios.clone(),
            two.scenarios.clone(),
        ),
        (
            one.baseline != two.baseline,
            "baseline",
            known(first),
            known(other),
        ),
    ];
    for (differs, what, one, two) in differs {
        if differs {
            let (first, other) = (first.name(), other.name());
            return Err(Refusal::usage(
                format!(
                    "`{other}` does not belong to `{first}`: other {what}: expected {one}, got {two}"
                ),
                SAME,
            ));
        }
    }
    Ok(())
}

fn yes(said: bool) -> String {
    if said { "yes" } else { "no" }.to_owned()
}

fn known(part: &Part) -> String {
    match &part.basis.baseline {
        None => "none".to_owned(),
        Some(baseline) => format!("one of {} known failures", baseline.known.len()),
    }
}

/// What a run tells of its device, if it does.
type Tells<'a> = &'a dyn Fn(&Part) -> Option<String>;

/// Whether the shards of a device were run on the same one, with the same firmware.
fn of_one_device(lane: &str, parts: &[&Part]) -> Result<(), Refusal> {
    let target = |part: &Part| {
        let mut duts = part.record.run.duts.iter();
        let own = duts.find(|dut| lane_name(&dut.name, &dut.transport) == lane);
        own.map(|dut| dut.target.clone())
    };
    let server = |part: &Part| {
        let mut ready = part.record.duts.iter();
        let own = ready.find(|dut| lane_name(&dut.dut, &dut.transport) == lane);
        let (name, version) = own?.server.clone()?;
        Some(format!("{name} {version}"))
    };
    let told: [(&str, Tells<'_>); 3] = [
        ("target", &target),
        ("firmware", &|part| part.basis.firmware.clone()),
        ("firmware", &server),
    ];
    for (what, of) in told {
        let mut seen = parts.iter().filter_map(|part| Some((part, of(part)?)));
        let Some((first, expected)) = seen.next() else {
            continue;
        };
        if let Some((other, got)) = seen.find(|(_, got)| *got != expected) {
            let (first, other) = (first.name(), other.name());
            return Err(Refusal::usage(
                format!(
                    "`{other}` does not belong to `{first}`: other {what} of `{lane}`: expected \
                     `{expected}`, got `{got}`"
                ),
                "run all shards of a device with one image; give devices that differ names of their own",
            ));
        }
    }
    Ok(())
}

/// Whether the shards of a device are all there, each once.
fn are_all_there(lane: &str, parts: &[&Part]) -> Result<(), Refusal> {
    let whole = Shard { number: 1, of: 1 };
    let shard = |part: &Part| part.basis.shard.unwrap_or(whole);
    let of = shard(parts[0]).of;
    let mut there: BTreeMap<u32, &Part> = BTreeMap::new();
    for part in parts {
        let own = shard(part);
        if own.of != of {
            let (first, other) = (parts[0].name(), part.name());
            return Err(Refusal::usage(
                format!(
                    "`{lane}` was split in {of} in `{first}` and in {} in `{other}`",
                    own.of
                ),
                "join the shards of one split",
            ));
        }
        if let Some(first) = there.insert(own.number, part) {
            let (first, other) = (first.name(), part.name());
            return Err(Refusal::usage(
                format!("shard {own} of `{lane}` is there twice: `{first}` and `{other}`"),
                "name each run once; give two devices of a kind names of their own",
            ));
        }
    }
    let missing: Vec<String> = (1..=of)
        .filter(|number| !there.contains_key(number))
        .map(|number| Shard { number, of }.to_string())
        .collect();
    if !missing.is_empty() {
        return Err(Refusal::usage(
            format!("shard {} of `{lane}` is missing", missing.join(", ")),
            "name the folders of all shards; one whose machine was lost must be run again",
        ));
    }
    Ok(())
}

/// Whether every selected case has a report, and one only.
fn has_all_cases(lane: &str, parts: &[&Part]) -> Result<(), Refusal> {
    let mut seen: BTreeMap<&str, &Part> = BTreeMap::new();
    for part in parts {
        for case in &part.record.cases {
            let everywhere = [BRING_UP, CLOSE].contains(&&*case.case) || case.transport == BOTH;
            if everywhere || lane_name(&case.dut, &case.transport) != lane {
                continue;
            }
            if let Some(first) = seen.insert(&case.case, part) {
                let (case, first, other) = (&case.case, first.name(), part.name());
                return Err(Refusal::usage(
                    format!("`{case}` of `{lane}` is there twice: in `{first}` and in `{other}`"),
                    "the file is damaged",
                ));
            }
        }
    }
    // What was cut short says so, and is not green.
    if parts.iter().any(|part| part.is_cut_short()) {
        return Ok(());
    }
    let selected: BTreeSet<&str> = parts[0].basis.selected.iter().map(|id| &**id).collect();
    let missing = selected.into_iter().find(|id| !seen.contains_key(id));
    if let Some(id) = missing {
        let names: Vec<String> = parts.iter().map(|part| part.name()).collect();
        return Err(Refusal::usage(
            format!("`{id}` of `{lane}` is in none of `{}`", names.join("`, `")),
            "one of their files `report.json` is damaged",
        ));
    }
    Ok(())
}
