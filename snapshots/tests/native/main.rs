//! The reviewed answers of the native reference device, compared by `insta`.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::{Path, PathBuf};

use clap::Parser;
use mcp_hil_args::{Cli, Command};
use mcp_hil_bench::dut::SnapshotsFile;
use mcp_hil_record::Reporters;
use mcp_hil_record::event::Summary;
use mcp_hil_runner::plan::Plan;
use mcp_hil_runner::run;
use mcp_hil_runner::snapshots::answers::{self, Kept};
use mcp_hil_runner::snapshots::file::Snap;
use mcp_hil_runner::snapshots::reviewed::Reviewed;
use mcp_hil_runner::snapshots::{Redactions, capabilities};
use mcp_hil_runner::suite::Suite;
use mcp_hil_scenario::Case;
use tokio::sync::watch;

/// Where the folders of devices lie: inside this package, so that `cargo insta` sees them.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The folder of the device that is run here.
const NATIVE: &str = "native";

#[test]
fn answers_are_as_reviewed() {
    show_differences_only();
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("native-{}", std::process::id()));
    let kept = kept_answers(&folder);
    let changed: Vec<String> =
        kept.iter().filter(|kept| !is_as_reviewed(kept)).map(|kept| kept.key.to_string()).collect();
    assert!(
        changed.is_empty(),
        "answers that differ from the reviewed ones: {}; the differences are shown above\n\n\
         hint: `cargo insta review` accepts intended changes",
        changed.join(", ")
    );
    let given: BTreeSet<PathBuf> = kept.iter().map(path).collect();
    let files = files(&Path::new(ROOT).join(NATIVE));
    let left_over: Vec<_> = files.difference(&given).collect();
    assert!(left_over.is_empty(), "no step refers to these any more: delete them: {left_over:?}");
    let _ = fs::remove_dir_all(folder);
}

/// What the device can do, over either transport. A run of a few cases does not look for all of it; what it does
/// not look for stands as it was reviewed.
#[test]
fn capabilities_are_as_reviewed() {
    show_differences_only();
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("able-{}", std::process::id()));
    let suite = Suite::load(&[], None).expect("the built-in suite loads");
    let one: Vec<&Case> = suite.cases.iter().filter(|case| &*case.id == "ids/zero").collect();
    let plan = plan(&one, &folder, &["--transport", "both"]);
    let summary = carry_out(&plan);
    let reviewed = Reviewed::read(Path::new(ROOT), NATIVE, None).expect("the files can be read");
    let mut changed = Vec::new();
    for transport in &plan.transports {
        let shown = &summary.capabilities[&format!("{NATIVE}/{}", transport.name())];
        let before = reviewed.capabilities(transport.name());
        let look = capabilities::look(&plan.dut.info(*transport), false);
        let text = capabilities::text(&look.shown(before, shown));
        let mut settings = settings(&Path::new(ROOT).join(NATIVE));
        settings.set_description(capabilities::description(NATIVE, transport.name()));
        let name = capabilities::name(transport.name());
        if !is_same(&settings, &name, &text) {
            changed.push(name);
        }
    }
    assert!(
        changed.is_empty(),
        "not as reviewed: {}; the differences are shown above\n\n\
         hint: `cargo insta review` accepts intended changes",
        changed.join(", ")
    );
    let _ = fs::remove_dir_all(folder);
}

/// Other devices are not at hand here. Their files must be readable and asked for by some step; to `insta`
/// they are in use.
#[test]
fn answers_of_other_devices_are_asked_for_and_readable() {
    let suite = Suite::load(&[], None).expect("the built-in suite loads");
    let keys: BTreeSet<_> = suite.cases.iter().flat_map(answers::asked).collect();
    let folders =
        fs::read_dir(ROOT).expect("this package").map(|entry| entry.expect("a file").path());
    let others = folders.filter(|path| {
        let name = path.file_name().unwrap_or_default();
        ![NATIVE, "src", "tests", "target"].iter().any(|known| name == *known) && path.is_dir()
    });
    let others: Vec<PathBuf> = others.collect();
    for (folder, path) in others.iter().flat_map(|folder| {
        let files = fs::read_dir(folder).expect("the folder of a device");
        files.map(move |file| (folder, file.expect("a file").path()))
    }) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if path.is_file() && path.extension().is_some_and(|ending| ending == "snap") {
            assert!(capabilities::transport(&name).is_some(), "{}", path.display());
            let text = fs::read_to_string(&path).expect("a snapshot");
            let read = capabilities::read(&text);
            let read =
                read.unwrap_or_else(|(line, why)| panic!("{}:{line}: {why}", path.display()));
            let text = capabilities::text(&read);
            settings(folder).bind(|| insta::assert_snapshot!(&*name, text));
        }
    }
    for path in others.iter().flat_map(|folder| files(folder)) {
        let shown = path.display();
        let area = path.parent().expect("a folder");
        let name =
            |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let key = answers::Key { area: name(area), name: name(&path) };
        assert!(keys.contains(&key), "no step refers to `{shown}` any more: delete it");
        let text = fs::read_to_string(&path).expect("a snapshot");
        let snap = Snap::read(&text).unwrap_or_else(|(line, why)| panic!("{shown}:{line}: {why}"));
        settings(area).bind(|| insta::assert_snapshot!(key.name.as_str(), snap.text));
    }
}

/// Runs the cases that have something to keep, and reads the answers off their transcripts.
fn kept_answers(folder: &Path) -> Vec<Kept> {
    let suite = Suite::load(&[], None).expect("the built-in suite loads");
    let cases: Vec<&Case> =
        suite.cases.iter().filter(|case| !answers::asked(case).is_empty()).collect();
    assert!(!cases.is_empty(), "no step has a snapshot name");
    let plan = plan(&cases, folder, &[]);
    carry_out(&plan);
    let rules = Redactions::of(&SnapshotsFile::default()).expect("the built-in rules");
    let mut all = Vec::new();
    for case in cases {
        let kept = answers::read(case, &plan.folder, &rules).unwrap_or_else(|refusal| {
            panic!("`{}` was not carried out: {refusal}", case.id);
        });
        let given: Vec<_> = kept.iter().map(|kept| kept.key.clone()).collect();
        assert_eq!(given, answers::asked(case), "a step of `{}` sent nothing", case.id);
        all.extend(kept);
    }
    all
}

/// Carries out a plan, which has to go well.
fn carry_out(plan: &Plan) -> Summary {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (_stop, interrupt) = watch::channel(false);
    let mut reporters = Reporters::new(std::io::stderr());
    let summary = runtime.block_on(run::run(plan, &mut reporters, interrupt));
    assert_eq!(summary.bench_error, None);
    assert_eq!(summary.exit, mcp_hil_record::exit::CONFORMING, "see {}", summary.folder);
    summary
}

fn plan(cases: &[&Case], folder: &Path, more: &[&str]) -> Plan {
    let mut words: Vec<String> =
        ["mcp-hil", "run", "--dut", NATIVE, "--seed", "1", "--snapshots", "off"]
            .map(str::to_owned)
            .into();
    words.extend(["--out".into(), folder.display().to_string()]);
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words.extend(cases.iter().flat_map(|case| ["--only".to_owned(), case.id.to_string()]));
    mcp_hil_bench::program::set(env!("CARGO_BIN_EXE_reference").into());
    let Command::Run(args) = Cli::parse_from(words).command else { unreachable!("it says `run`") };
    Plan::new(&args).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// Compares an answer with the reviewed one. A difference is printed, and left for review.
fn is_as_reviewed(kept: &Kept) -> bool {
    let mut settings = settings(&Path::new(ROOT).join(NATIVE).join(&kept.key.area));
    settings.set_description(&kept.from);
    is_same(&settings, &kept.key.name, &kept.text)
}

fn is_same(settings: &insta::Settings, name: &str, text: &str) -> bool {
    catch_unwind(AssertUnwindSafe(|| {
        settings.bind(|| insta::assert_snapshot!(name, text));
    }))
    .is_ok()
}

fn settings(area: &Path) -> insta::Settings {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(area);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

/// Keeps the backtrace of each changed answer off the screen: the difference says it all.
fn show_differences_only() {
    let hook = take_hook();
    set_hook(Box::new(move |info| {
        if !info.payload_as_str().is_some_and(|text| text.starts_with("snapshot assertion")) {
            hook(info);
        }
    }));
}

fn path(kept: &Kept) -> PathBuf {
    let file = format!("{}.snap", kept.key.name);
    Path::new(ROOT).join(NATIVE).join(&kept.key.area).join(file)
}

/// The reviewed answers in the folder of a device.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let areas = fs::read_dir(folder).expect("the folder of a device");
    let areas = areas.map(|area| area.expect("an area").path());
    let files = areas
        .filter(|area| area.is_dir())
        .flat_map(|area| fs::read_dir(area).expect("the folder of an area"));
    files
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "snap"))
        .collect()
}
