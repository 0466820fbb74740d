//! Disks that are full and folders that cannot be written: said, with the name; the verdict is told all the
//! same.

use std::process::Command;

use rstest::rstest;

use crate::support::{Place, native};

/// A file where a folder is wanted: root may write in any folder, but nobody below a file.
fn blocked(place: &Place) {
    place.write("blocked", "no folder");
}

#[rstest]
#[case::junit("--junit")]
#[case::html("--html")]
#[case::summary("--summary")]
fn a_report_that_cannot_be_written_is_named(#[case] option: &str) {
    let place = Place::new();
    blocked(&place);
    for (file, why) in
        [("/dev/full", "No space left"), ("blocked/deep/report", "blocked/deep/report")]
    {
        let args = ["run", "--only", "ids/zero", option, file];
        let done = place.hil(args).end().exits(3);
        let done = done.prints(&[" Summary [", "passed"]);
        done.says(&[&format!("cannot write {file}: "), why]);
        // A device that does not conform stays one.
        let mutant = ["--mutant", "error-code-string", "--only", "errors/method-not-found"];
        let done = place.hil(args.iter().chain(&mutant)).end().exits(1);
        done.prints(&["FAIL", " Summary ["]).says(&[&format!("cannot write {file}: ")]);
        place.both_reports();
    }
}

#[test]
fn a_summary_of_the_job_that_cannot_be_written_is_named() {
    let place = Place::new();
    let run = super::on_github(&place, &["run", "--only", "ids/zero"]);
    let done = run.env("GITHUB_STEP_SUMMARY", "/dev/full").end().exits(3);
    done.prints(&[" Summary ["]).says(&["cannot write the summary of the job, /dev/full: "]);
    place.both_reports();
}

#[test]
fn a_folder_of_runs_that_cannot_be_made_is_named_before_anything_starts() {
    let place = Place::new();
    blocked(&place);
    let dut = format!("exec:touch started; exec '{}'", native().display());
    let done = place.hil(["run", "--dut", &dut, "--out", "blocked/runs"]).end().exits(3);
    done.says(&[
        "cannot create the run's folder `blocked/runs`",
        "hint: choose another place with `--out`",
    ]);
    assert!(!place.path("started").exists());
}

#[test]
fn a_disk_that_fills_up_during_the_run_does_not_cost_the_verdict() {
    let place = Place::new();
    // No file may grow beyond 8 KiB, and who tries is told so, as by a full disk.
    let mut command = Command::new("bash");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "full"])
        .arg(env!("CARGO_BIN_EXE_mcp-hil"))
        .args(["run", "--only", "ids/", "--mutant", "error-code-string"])
        .current_dir(place.path(""))
        .env_remove("MCP_HIL_NATIVE")
        .env("MCP_HIL_PREFER", "native")
        .env_remove("GITHUB_ACTIONS");
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stdout}\n{stderr}");
    for told in ["    FAIL [", " Summary [", "bench error  cannot write `target/", "`--out`"] {
        assert!(stdout.contains(told), "no `{told}` in {stdout}\n{stderr}");
    }
    for file in ["report.json", "junit.xml"] {
        assert!(stderr.contains(&format!("cannot write {file}: ")), "{stderr}");
        // Nobody takes half a report for one.
        assert!(!place.latest().join(file).exists(), "{file}");
    }
}
