//! What a run stands on, noted before it begins: by that its parts know each other again.

use std::path::Path;

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::wire::to_hex;
use mcp_hil_scenario::write;
use sha2::{Digest, Sha256};

use super::read::Tests;
use mcp_hil_args::{RunArgs, argument};
use mcp_hil_bench::dut::Dut;
use mcp_hil_record::error::UserError;
use mcp_hil_record::event::Basis;

/// What a run of these tests stands on; they are still whole.
///
/// # Errors
///
/// A part is asked for without a seed, or the image cannot be read.
pub(super) fn basis(args: &RunArgs, tests: &Tests, dut: &Dut) -> Result<Basis, UserError> {
    let Tests { cases, generation, baseline, whole_suite, .. } = tests;
    if let (Some(shard), None) = (args.shard, args.seed) {
        return Err(UserError::usage(
            format!(
                "`--shard {shard}` without `--seed`: all parts must use the same random inputs"
            ),
            "give all machines the same seed, such as `--seed $GITHUB_RUN_ID`",
        ));
    }
    let properties = generation.properties.iter().map(|property| property.id);
    let ids = cases.iter().map(|case| &*case.id).chain(properties);
    let mut scenarios = Sha256::new();
    for case in cases {
        // Without its place in a file: folders have other names on other machines.
        scenarios.update(format!("{}\n{}\n", case.id, write(case, &[])));
    }
    Ok(Basis {
        requirements: requirements(&tests.suite.catalogue),
        scenarios: hex(scenarios),
        options: options(args),
        baseline: baseline.clone(),
        firmware: firmware(&dut.images())?,
        selected: ids.map(str::to_owned).collect(),
        whole_suite: *whole_suite,
        shard: args.shard,
    })
}

/// SHA-256 of all requirements.
pub fn requirements(catalogue: &Catalogue) -> String {
    let mut hasher = Sha256::new();
    for requirement in catalogue.iter() {
        hasher.update(format!("{requirement:?}\n"));
    }
    hex(hasher)
}

/// The arguments that change what is tried, or what is said of it. Those that only reach the device
/// may be others on each machine.
fn options(args: &RunArgs) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    let only = args.only.iter();
    options.extend(only.map(|selector| format!("--only {selector}")));
    let excluded = args.exclude.iter();
    options.extend(excluded.map(|selector| format!("--exclude {selector}")));
    options.extend((args.retries > 0).then(|| format!("--retries {}", args.retries)));
    options.extend(args.last_failed.then(|| "--last-failed".to_owned()));
    options.extend(args.allow.iter().map(|tool| format!("--allow {tool}")));
    options.push(format!("--inputs {}", args.inputs()));
    options.push(format!("--max-time {}ms", args.max_time().as_millis()));
    let within = args.time_budget;
    options.extend(within.map(|time| format!("--time-budget {}", argument(time))));
    options.extend(args.budget.map(|calls| format!("--budget {calls}")));
    options.push(format!("--deadline {}", argument(args.deadline)));
    options.extend(args.linger.map(|time| format!("--linger {}", argument(time))));
    options.extend(args.in_flight.map(|number| format!("--in-flight {number}")));
    let reconnect = args.reconnect_deadline;
    options.extend(reconnect.map(|time| format!("--reconnect-deadline {}", argument(time))));
    for (name, value) in [("mutant", &args.mutant), ("variant", &args.variant)] {
        options.extend(value.iter().map(|value| format!("--{name} {value}")));
    }
    options
}

/// SHA-256 of what the device runs.
fn firmware(images: &[&Path]) -> Result<Option<String>, UserError> {
    let mut hasher = Sha256::new();
    for image in images {
        let bytes = std::fs::read(image).map_err(|error| {
            UserError::usage(
                format!("cannot read the image `{}`: {error}", image.display()),
                "build it, or check `firmware` in the device's file",
            )
        })?;
        hasher.update(bytes);
    }
    Ok((!images.is_empty()).then(|| hex(hasher)))
}

fn hex(hasher: Sha256) -> String {
    to_hex(&hasher.finalize())
}
