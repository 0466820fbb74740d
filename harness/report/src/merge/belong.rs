//! Whether runs belong together, and whether all of them are there.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::transcript::{BRING_UP, CLOSE};
use mcp_hil_core::verdict::Verdict;

use super::Part;
use mcp_hil_record::error::UserError;
use mcp_hil_record::names::BOTH;
use mcp_hil_record::names::dut_over;
use mcp_hil_record::shard::Shard;
use mcp_hil_record::text::layout::{count, few};
use mcp_hil_runner::plan::requirements;

/// How much of what stands in one of two lists alone is named.
const APART_NAMED: usize = 4;

/// What to do about runs that stand on something else.
const SAME: &str = "run all parts with the same program, arguments, files and `--seed`";

/// Refuses runs of which no whole can be made.
///
/// # Errors
///
/// What differs, what is there twice or what is missing, with the folders.
pub(super) fn check(parts: &[Part], catalogue: &Catalogue) -> Result<(), UserError> {
    for part in parts {
        of_this_program(part, catalogue)?;
        is_sound(part)?;
    }
    for other in &parts[1..] {
        on_the_same(&parts[0], other)?;
    }
    let mut dut_runs: BTreeMap<String, Vec<&Part>> = BTreeMap::new();
    for part in parts {
        for dut in &part.record.run.duts {
            let dut_run = dut_over(&dut.name, &dut.transport);
            dut_runs.entry(dut_run).or_default().push(part);
        }
    }
    for (dut_run, parts) in &dut_runs {
        of_one_device(dut_run, parts)?;
        are_all_there(dut_run, parts)?;
        has_all_cases(dut_run, parts)?;
    }
    Ok(())
}

fn of_this_program(part: &Part, catalogue: &Catalogue) -> Result<(), UserError> {
    let tool = &part.record.run.tool;
    if tool != mcp_hil_record::TOOL {
        let (name, ours) = (part.name(), mcp_hil_record::TOOL);
        return Err(UserError::usage(
            format!("`{name}` is a run by `{tool}`: expected one by `{ours}`"),
            "join it with the program that made it",
        ));
    }
    if part.basis.requirements != requirements(catalogue) {
        return Err(UserError::usage(
            format!("`{}` was tested against different requirements", part.name()),
            "join it with the program that made it",
        ));
    }
    Ok(())
}

/// A report whose cases do not add up was cut or changed.
fn is_sound(part: &Part) -> Result<(), UserError> {
    let cases = part.record.cases.iter();
    let executed = cases.filter(|case| case.verdict != Verdict::NotApplicable);
    let (told, there) = (part.record.summary.cases, executed.count());
    if told != there {
        let file = part.folder.join("report.json");
        return Err(UserError::usage(
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
fn on_the_same(first: &Part, other: &Part) -> Result<(), UserError> {
    let (a, b) = (&first.record.run, &other.record.run);
    let (one, two) = (&first.basis, &other.basis);
    let words = |words: &[String]| format!("`{}`", words.join(" "));
    let (options, others) = apart(&one.options, &two.options);
    let (cases, other_cases) = apart(&one.selected, &two.selected);
    let differs = [
        (a.seed != b.seed, "seed", a.seed.to_string(), b.seed.to_string()),
        (a.rules != b.rules, "rule sets", words(&a.rules), words(&b.rules)),
        (a.strict != b.strict, "`--strict`", yes(a.strict), yes(b.strict)),
        (one.options != two.options, "arguments", options, others),
        (
            one.selected != two.selected || one.whole_suite != two.whole_suite,
            "selection",
            format!("{} ({cases})", count(one.selected.len(), "case")),
            format!("{} ({other_cases})", count(two.selected.len(), "case")),
        ),
        (one.scenarios != two.scenarios, "scenarios", one.scenarios.clone(), two.scenarios.clone()),
        (one.baseline != two.baseline, "baseline", known(first), known(other)),
    ];
    for (differs, what, one, two) in differs {
        if differs {
            let (first, other) = (first.name(), other.name());
            return Err(UserError::usage(
                format!(
                    "`{other}` does not belong to `{first}`: different {what}: expected {one}, got {two}"
                ),
                SAME,
            ));
        }
    }
    Ok(())
}

/// What stands in one of two lists and not in the other one, each way: the first of it, and how much more there is.
fn apart(one: &[String], two: &[String]) -> (String, String) {
    let alone = |own: &[String], other: &[String]| {
        let there: BTreeSet<&String> = other.iter().collect();
        let own: Vec<String> = own.iter().filter(|word| !there.contains(word)).cloned().collect();
        match own.len() {
            0 => "nothing that the other one has not".to_owned(),
            _ => few(&own, APART_NAMED),
        }
    };
    match one.len() == two.len() && one.iter().collect::<BTreeSet<_>>() == two.iter().collect() {
        true => ("the same".to_owned(), "the same in another order".to_owned()),
        false => (alone(one, two), alone(two, one)),
    }
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
fn of_one_device(dut_run: &str, parts: &[&Part]) -> Result<(), UserError> {
    let target = |part: &Part| {
        let mut duts = part.record.run.duts.iter();
        let own = duts.find(|dut| dut_over(&dut.name, &dut.transport) == dut_run);
        own.map(|dut| dut.target.clone())
    };
    let server = |part: &Part| {
        let mut ready = part.record.duts.iter();
        let own = ready.find(|dut| dut_over(&dut.dut, &dut.transport) == dut_run);
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
            return Err(UserError::usage(
                format!(
                    "`{other}` does not belong to `{first}`: different {what} of `{dut_run}`: \
                     expected `{expected}`, got `{got}`"
                ),
                "run all shards of a device with the same image; give different devices different names",
            ));
        }
    }
    Ok(())
}

/// Whether the shards of a device are all there, each once.
fn are_all_there(dut_run: &str, parts: &[&Part]) -> Result<(), UserError> {
    let whole = Shard { number: 1, of: 1 };
    let shard = |part: &Part| part.basis.shard.unwrap_or(whole);
    let of = shard(parts[0]).of;
    let mut there: BTreeMap<u32, &Part> = BTreeMap::new();
    for part in parts {
        let own = shard(part);
        if own.of != of {
            let (first, other) = (parts[0].name(), part.name());
            return Err(UserError::usage(
                format!(
                    "`{dut_run}` was split into {of} shards in `{first}` and into {} in `{other}`",
                    own.of
                ),
                "join only shards of the same split",
            ));
        }
        if let Some(first) = there.insert(own.number, part) {
            let (first, other) = (first.name(), part.name());
            return Err(UserError::usage(
                format!("shard {own} of `{dut_run}` is present twice: `{first}` and `{other}`"),
                "name each run once; give two devices of the same kind different names",
            ));
        }
    }
    let missing: Vec<String> = (1..=of)
        .filter(|number| !there.contains_key(number))
        .map(|number| Shard { number, of }.to_string())
        .collect();
    if !missing.is_empty() {
        return Err(UserError::usage(
            format!("shard {} of `{dut_run}` is missing", missing.join(", ")),
            "name the folders of all shards; if a machine was lost, run its shard again",
        ));
    }
    Ok(())
}

/// Whether every selected case has a report, and one only.
fn has_all_cases(dut_run: &str, parts: &[&Part]) -> Result<(), UserError> {
    let mut seen: BTreeMap<&str, &Part> = BTreeMap::new();
    for part in parts {
        for case in &part.record.cases {
            let everywhere = [BRING_UP, CLOSE].contains(&&*case.case) || case.transport == BOTH;
            if everywhere || dut_over(&case.dut, &case.transport) != dut_run {
                continue;
            }
            if let Some(first) = seen.insert(&case.case, part) {
                let (case, first, other) = (&case.case, first.name(), part.name());
                return Err(UserError::usage(
                    format!(
                        "`{case}` of `{dut_run}` is present twice: in `{first}` and in `{other}`"
                    ),
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
        return Err(UserError::usage(
            format!("`{id}` of `{dut_run}` is in none of `{}`", names.join("`, `")),
            "one of their files `report.json` is damaged",
        ));
    }
    Ok(())
}
