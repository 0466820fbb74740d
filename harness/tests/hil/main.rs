//! `cargo hil`: the suite on the devices that are at hand, a test for each case. `cargo test --features hil` at
//! the root runs the same and nothing else.
//!
//! Devices are those of MCP_HIL_DUT, else the boards with a file in `ci/duts`, else what `--dut auto`
//! takes where there are none. A board that is not attached fails its tests, and the exit code is 3, unless
//! MCP_HIL_RUN_ARGS or its file lets another device stand in. Filters decide what runs: a device is started
//! once for each transport, and all cases that are left run in one go. Where each test is a process of its own,
//! as with `cargo nextest`, each is a run of one case.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use mcp_hil_record::error::UserError;
use mcp_hil_record::exit;
use mcp_hil_testing::hil::{Bench, FOLDER, Outcome, Runs, Test};

fn main() -> ExitCode {
    let args = Arguments::from_args();
    // Paths are those of the source tree, as for `cargo run`.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if let Err(error) = std::env::set_current_dir(&root) {
        eprintln!("mcp-hil: cannot enter `{}`: {error}", root.display());
        return ExitCode::from(exit::BENCH);
    }
    let variable = |name: &str| std::env::var(name).ok();
    // A board is reached through a process of `mcp-hil`, which this program is not.
    mcp_hil_bench::program::set(env!("CARGO_BIN_EXE_mcp-hil").into());
    let mut say = |line: &str| eprintln!("{line}");
    let refused = |refusal: UserError| {
        eprintln!("mcp-hil: {refusal}");
        ExitCode::from(refusal.exit)
    };
    let declared = match mcp_hil_testing::hil::declared(Path::new(FOLDER)) {
        Ok(declared) => declared,
        Err(refusal) => return refused(refusal),
    };
    let bench = match Bench::find(&variable, &declared, &mut say) {
        Ok(bench) => Arc::new(bench),
        Err(refusal) => return refused(refusal),
    };
    let tests = bench.tests();
    let wanted: Vec<Test> = tests
        .iter()
        .filter(|test| {
            let trial = Trial::test(&*test.name, || Ok(()));
            !args.list && !args.is_filtered_out(&trial) && !args.is_ignored(&trial)
        })
        .cloned()
        .collect();
    let (absent, all) = bench.absent(&wanted);
    for line in &absent {
        eprintln!("mcp-hil: {line}");
    }
    if all {
        return ExitCode::from(exit::BENCH);
    }
    let runs = Arc::new(Runs::start(bench, &wanted));
    let of_tests = runs.clone();
    let trials = tests.into_iter().map(|test| {
        let runs = of_tests.clone();
        Trial::ignorable_test(test.name.clone(), move || match runs.outcome(&test) {
            Outcome::Passed => Ok(Completion::Completed),
            Outcome::Ignored(why) => Ok(Completion::ignored_with(why)),
            Outcome::Failed(text) => Err(Failed::from(text)),
        })
    });
    let done = libtest_mimic::run(&args, trials.collect());
    for line in runs.judged() {
        eprintln!("judged: {line}");
    }
    match absent.is_empty() {
        true => done.exit_code(),
        // Nothing that the others showed makes up for it.
        false => ExitCode::from(exit::BENCH),
    }
}
