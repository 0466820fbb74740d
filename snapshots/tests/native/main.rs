//! The reviewed answers of the native reference device.

mod answers;
mod layout;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::{Path, PathBuf};

use clap::Parser;
use mcp_hil::cli::{Cli, Command};
use mcp_hil::plan::Plan;
use mcp_hil::report::Reporters;
use mcp_hil::run;
use mcp_hil::suite::Suite;
use mcp_hil_core::scenario::Case;
use tokio::sync::watch;

use answers::Kept;

/// Where the reviewed answers lie: inside this package, so that `cargo insta` sees them.
const REVIEWED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/native");

/// What differs from run to run besides ids, wherever it stands: as JSON, or as JSON in a string.
const UNSTEADY: [(&str, &str); 1] = [(
    r#"(\\?"(?:uptime|free|min_free|heap)[a-z_]*\\?": ?)-?[0-9.]+"#,
    r"$1[number]",
)];

#[test]
fn answers_are_as_reviewed() {
    show_differences_only();
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("native-{}", std::process::id()));
    let kept = kept_answers(&folder);
    let changed: Vec<&str> = kept
        .iter()
        .filter(|kept| !is_as_reviewed(kept))
        .map(|kept| kept.name.as_str())
        .collect();
    assert!(
        changed.is_empty(),
        "answers that are not as reviewed: {}; the differences stand above\n\n\
         hint: `cargo insta review` accepts what is meant",
        changed.join(", ")
    );
    assert_eq!(
        left_over(&kept),
        Vec::<PathBuf>::new(),
        "no step asks for these any more: delete them"
    );
    let _ = fs::remove_dir_all(folder);
}

/// Runs the cases that have something to keep, and reads the answers off their transcripts.
fn kept_answers(folder: &Path) -> Vec<Kept> {
    let suite = Suite::load(&[], None).expect("the built-in suite loads");
    let cases: Vec<&Case> = suite
        .cases
        .iter()
        .filter(|case| answers::are_kept(case))
        .collect();
    assert!(!cases.is_empty(), "no step has a snapshot name");
    let plan = plan(&cases, folder);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (_stop, interrupt) = watch::channel(false);
    let mut reporters = Reporters::new(std::io::stderr());
    let summary = runtime.block_on(run::run(&plan, &mut reporters, interrupt));
    assert_eq!(summary.bench_error, None);
    assert_eq!(
        summary.exit,
        mcp_hil::exit::CONFORMING,
        "see {}",
        summary.folder
    );
    cases
        .iter()
        .flat_map(|case| answers::of(case, &plan.folder.join("transcripts")))
        .collect()
}

fn plan(cases: &[&Case], folder: &Path) -> Plan {
    let mut words = vec![
        "mcp-hil".to_owned(),
        "run".into(),
        "--dut".into(),
        "native".into(),
        "--seed".into(),
        "1".into(),
    ];
    words.extend(["--out".into(), folder.display().to_string()]);
    words.extend(
        cases
            .iter()
            .flat_map(|case| ["--only".to_owned(), case.id.to_string()]),
    );
    let Command::Run(args) = Cli::parse_from(words).command else {
        unreachable!("it says `run`")
    };
    Plan::new(&args).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// Compares an answer with the reviewed one. A difference is printed, and left for review.
fn is_as_reviewed(kept: &Kept) -> bool {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(Path::new(REVIEWED).join(&kept.area));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description(&kept.from);
    settings.set_filters(UNSTEADY);
    catch_unwind(AssertUnwindSafe(|| {
        settings.bind(|| insta::assert_snapshot!(kept.name.as_str(), kept.text));
    }))
    .is_ok()
}

/// Keeps the backtrace of each changed answer off the screen: the difference says it all.
fn show_differences_only() {
    let hook = take_hook();
    set_hook(Box::new(move |info| {
        if !info
            .payload_as_str()
            .is_some_and(|text| text.starts_with("snapshot assertion"))
        {
            hook(info);
        }
    }));
}

/// Reviewed answers that nobody gives any more.
fn left_over(kept: &[Kept]) -> Vec<PathBuf> {
    let given: BTreeSet<PathBuf> = kept
        .iter()
        .map(|kept| {
            Path::new(REVIEWED)
                .join(&kept.area)
                .join(format!("{}.snap", kept.name))
        })
        .collect();
    let areas = fs::read_dir(REVIEWED).expect("the folder of reviewed answers");
    let files = areas.flat_map(|area| {
        fs::read_dir(area.expect("an area").path()).expect("the folder of an area")
    });
    files
        .map(|file| file.expect("a file").path())
        .filter(|path| {
            path.extension().is_some_and(|ending| ending == "snap") && !given.contains(path)
        })
        .collect()
}
