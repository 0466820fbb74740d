//! `cargo test --features hil`: the suite on the devices that are at hand, a test for each case.
//!
//! Devices are those of MCP_HIL_DUT, else attached boards with a file in `ci/duts`, else what
//! `--dut auto` falls back to. Filters decide what runs: a device is started once for each transport, and
//! all cases that are left run in one go. Where each test is a process of its own, as with
//! `cargo nextest`, each is a run of one case.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use mcp_hil::exit;
use mcp_hil::hil::{Bench, FOLDER, Outcome, Runs, Test};

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
    mcp_hil::program::set(env!("CARGO_BIN_EXE_mcp-hil").into());
    let mut say = |line: &str| eprintln!("{line}");
    let attached = mcp_hil::hil::attached(Path::new(FOLDER), &mut say);
    let bench = match Bench::find(&variable, &attached, &mut say) {
        Ok(bench) => Arc::new(bench),
        Err(refusal) => {
            eprintln!("mcp-hil: {refusal}");
            return ExitCode::from(refusal.exit);
        }
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
    let runs = Arc::new(Runs::start(bench, &wanted));
    let trials = tests.into_iter().map(|test| {
        let runs = runs.clone();
        Trial::ignorable_test(test.name.clone(), move || match runs.outcome(&test) {
            Outcome::Passed => Ok(Completion::Completed),
            Outcome::Ignored(why) => Ok(Completion::ignored_with(why)),
            Outcome::Failed(text) => Err(Failed::from(text)),
        })
    });
    libtest_mimic::run(&args, trials.collect()).exit_code()
}
