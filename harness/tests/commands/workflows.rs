//! The shipped ways into CI, walked as GitHub's runner walks them: the steps of `hil.yml` and of the workflow in
//! `ci/fork.md` are read off these files and carried out, `run:` commands as they stand, with boards that are
//! programs at pseudo terminals.

mod board;
// The dynamic linker loads `lines.c` before the C library.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod circuit;
mod expression;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod lines;
#[path = "../../boards/tests/program/mod.rs"]
mod program;
mod runner;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::mock::Mock;
use crate::support::{Place, missing, native};
use crate::usb::System;
use board::StockBoard;
use program::Program;
use runner::{Ended, Runner};
use serde_json::{Value, json};

/// The root of the source tree.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).expect("it is YAML")
}

/// The workflow of boards.
fn hil() -> Value {
    yaml(&std::fs::read_to_string(root().join(".github/workflows/hil.yml")).unwrap())
}

/// The first whole workflow that a page of the documentation shows.
fn shown_in(page: &str) -> Value {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let blocks = text.split("```yaml\n").skip(1);
    let mut workflows = blocks
        .map(|block| block.split("```").next().unwrap())
        .filter(|block| block.contains("\njobs:"));
    yaml(workflows.next().expect("it shows a workflow"))
}

/// Cases by what JUnit says of them: all, and those that failed or broke.
fn junit(folder: &Path) -> (usize, Vec<String>) {
    let text = std::fs::read_to_string(folder.join("junit.xml"))
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let (mut all, mut bad, mut name) = (0, Vec::new(), String::new());
    let mut reader = quick_xml::Reader::from_str(&text);
    loop {
        use quick_xml::events::Event;
        match reader.read_event().expect("junit.xml is XML") {
            Event::Start(tag) | Event::Empty(tag) => match tag.name().as_ref() {
                b"testcase" => {
                    all += 1;
                    let value = tag.try_get_attribute("name").unwrap().unwrap().value;
                    name = String::from_utf8_lossy(&value).into_owned();
                }
                b"failure" | b"error" => bad.push(name.clone()),
                _ => {}
            },
            Event::Eof => return (all, bad),
            _ => {}
        }
    }
}

/// The board jobs that the workflow makes of the files in `ci/duts`, each as its matrix has it.
fn boards(runner: &mut Runner, workflow: &Value) -> Vec<Value> {
    let program = &workflow["jobs"]["program"];
    for host in program["strategy"]["matrix"]["host"].as_array().unwrap() {
        assert!(host.as_str().unwrap().starts_with("ubuntu-"), "{host}");
    }
    let ended = runner.job(program).succeeds();
    runner.set("needs", json!({"program": {"outputs": ended.outputs(program)}}));
    let board = &workflow["jobs"]["board"];
    assert_eq!(board["needs"], "program");
    assert_eq!(board.get("concurrency"), None, "GitHub drops jobs in the middle");
    if !runner.is_true(board["if"].as_str().unwrap()) {
        return Vec::new();
    }
    let matrix = runner.value(&board["strategy"]["matrix"]["board"]);
    matrix.as_array().expect("a list of boards").clone()
}

/// Carries out the job of a board.
fn run_board(runner: &mut Runner, workflow: &Value, board: &Value) -> Ended {
    runner.set("matrix", json!({ "board": board }));
    runner.job(&workflow["jobs"]["board"])
}

#[test]
fn hil_yml_brings_a_board_to_its_verdict() {
    let (place, system) = (Place::new(), System::new("walk"));
    let mut runner = Runner::new(&place, &system);
    let board = StockBoard::attach(&place);
    place.write("checkout/ci/duts/desk.toml", board.file("desk"));
    let workflow = hil();
    let boards = boards(&mut runner, &workflow);
    let [board] = &boards[..] else { panic!("{boards:?}") };
    assert_eq!(board["name"], "desk");
    let labels = runner.with("matrix", json!({ "board": board }), |runner| {
        runner.value(&workflow["jobs"]["board"]["runs-on"])
    });
    assert_eq!(labels, json!(["self-hosted", "desk"]));
    let ended = run_board(&mut runner, &workflow, board).succeeds();
    assert!(ended.text.contains(" Summary ["), "{}", ended.text);
    let (all, bad) = junit(&place.path("artefacts/hil-desk/latest"));
    assert!(all > 100 && bad.is_empty(), "{all} cases, {bad:?}");
}

#[test]
fn hil_yml_tells_of_a_board_that_is_not_there_and_goes_on_with_the_others() {
    let (place, system) = (Place::new(), System::new("walk-absent"));
    let mut runner = Runner::new(&place, &system);
    for (name, serial) in [("left", "F4:12:FA:00:11:22"), ("right", "F4:12:FA:00:33:44")] {
        let text = format!(
            "name = \"{name}\"\ntarget = \"board\"\n[board]\nserial = \"{serial}\"\nrunner = \"rack\"\n"
        );
        place.write(&format!("checkout/ci/duts/{name}.toml"), text);
    }
    let workflow = hil();
    let boards = boards(&mut runner, &workflow);
    assert_eq!(boards.len(), 2, "{boards:?}");
    for (board, serial) in boards.iter().zip(["F4:12:FA:00:11:22", "F4:12:FA:00:33:44"]) {
        assert_eq!(board["runner"], json!(["self-hosted", "rack"]));
        // One who listens on all interfaces is reached by boards of any network.
        let ended = run_board(&mut runner, &workflow, board);
        assert_eq!(ended.code, Some(3), "{}", ended.text);
        assert!(ended.text.contains(serial), "{}", ended.text);
    }
}

#[test]
fn hil_yml_makes_no_job_without_a_board_and_passes_over_no_broken_file() {
    let (place, system) = (Place::new(), System::new("walk-none"));
    let mut runner = Runner::new(&place, &system);
    let workflow = hil();
    assert_eq!(boards(&mut runner, &workflow), Vec::<Value>::new());
    place.write("checkout/ci/duts/desk.toml", "name = \"desk\"\ntarget = \"board\"\n");
    let ended = runner.job(&workflow["jobs"]["program"]);
    assert_eq!(ended.code, Some(2), "{}", ended.text);
    assert!(ended.text.contains("ci/duts/desk.toml"), "{}", ended.text);
}

/// The workflow of `ci/fork.md`: the image is flashed and judged, by a program of another job.
#[test]
fn the_action_with_the_inputs_of_fork_md_flashes_a_board_and_judges_it() {
    let Some(mock) = Mock::start("fork", "esp32c3") else {
        return;
    };
    let (place, system) = (Place::new(), System::new("walk-fork"));
    let mut runner = Runner::new(&place, &system);
    // The device is started again with each turn of its power, as a board is.
    let cycle = format!(
        "[ ! -e device.pid ] || kill $(cat device.pid); '{}' > device.log 2>&1 & echo $! > device.pid",
        native().display()
    );
    let file = format!(
        "name = \"desk-s3\"\ntarget = \"board\"\ntransports = [\"mqtt\"]\n\
         [board]\nport = \"{}\"\nchip = \"esp32c3\"\nflash_size = \"4MB\"\n\
         [board.wifi]\nssid = \"bench\"\npassword_env = \"BENCH_WIFI_PASSWORD\"\n\
         [board.power]\ncycle = '''{cycle}'''\n",
        mock.port.display()
    );
    place.write("checkout/ci/duts/desk-s3.toml", file);
    place.write("checkout/ci/baselines/desk-s3.toml", "");
    place.write("artefacts/image/merged-binary.bin", Program::for_c3().elf());
    let workflow = shown_in("ci/fork.md");
    let jobs = &workflow["jobs"];
    runner.job(&jobs["program"]).succeeds();
    let ended = runner.job(&jobs["board"]).succeeds();
    assert!(mock.memory().windows(13).any(|part| part == b"correct horse"));
    assert!(!ended.text.contains("horse"), "{}", ended.text);
    let (all, bad) = junit(&place.path("artefacts/mcp-hil"));
    assert!(all > 100 && bad.is_empty(), "{all} cases, {bad:?}");
}

/// The workflow of `ci/rack.md`: two hosts at once, each with the jobs that the matrix gives it, and one report of all.
#[test]
fn the_hosts_of_rack_md_share_a_suite_and_their_parts_become_one_report() {
    let workflow = shown_in("ci/rack.md");
    let (board, report) = (&workflow["jobs"]["board"], &workflow["jobs"]["report"]);
    let rows = board["strategy"]["matrix"]["include"].as_array().unwrap();
    let system = System::new("walk-rack");
    let places = [Place::new(), Place::new(), Place::new()];
    let mut machines = places.each_ref().map(|place| Runner::new(place, &system));
    let [of_report, hosts @ ..] = &mut machines;
    of_report.install();
    for (host, place) in hosts.iter_mut().zip(&places[1..]) {
        host.install();
        host.share_artefacts(of_report);
        for name in ["desk-c3", "desk-s3"] {
            let text = format!("name = \"{name}\"\ntarget = \"native\"\n");
            place.write(&format!("checkout/ci/duts/{name}.toml"), text);
        }
    }
    let of_host = |host: &mut Runner, name: &str| {
        let mine = rows.iter().enumerate().filter(|(_, row)| row["host"] == name);
        for (index, row) in mine {
            host.set("matrix", row.clone());
            host.set("strategy", json!({"job-index": index}));
            host.set("github", json!({"run_id": 4711}));
            assert_eq!(host.value(&board["runs-on"][1]), row["host"]);
            host.job(board).succeeds();
            // The next job finds what a checkout leaves.
            let _ = std::fs::remove_dir_all(host.path("part"));
        }
    };
    std::thread::scope(|scope| {
        for (host, name) in hosts.iter_mut().zip(["rack-1", "rack-2"]) {
            scope.spawn(move || of_host(host, name));
        }
    });
    let ended = of_report.job(report).succeeds();
    assert!(ended.text.contains("joined of 3 runs"), "{}", ended.text);
    let (all, bad) = junit(&of_report.path(""));
    assert!(all > 200 && bad.is_empty(), "{all} cases, {bad:?}");
    // A host that left nothing is named.
    let lost = rows.iter().position(|row| row["shard"] == "2/2").unwrap();
    std::fs::remove_dir_all(places[0].path(&format!("artefacts/run-{lost}"))).unwrap();
    for left in ["parts", "joined"] {
        std::fs::remove_dir_all(of_report.path(left)).unwrap();
    }
    let ended = of_report.job(report);
    assert_eq!(ended.code, Some(2), "{}", ended.text);
    assert!(ended.text.contains("shard 2/2 of `desk-c3/websocket` is missing"), "{}", ended.text);
}

/// The workflow that `mcp-hil init` writes into a checkout of firmware, with a stand-in for the container that fetches
/// its components.
#[test]
fn the_workflow_that_init_writes_builds_the_firmware_and_judges_it() {
    if std::process::Command::new("cmake").arg("--version").output().is_err() {
        missing::CMAKE.is_missing("no `cmake`");
        return;
    }
    let (place, system) = (Place::new(), System::new("walk-init"));
    let mut runner = Runner::new(&place, &system);
    runner::copy(&root().join("firmware/host/tests/mini"), &place.path("checkout"));
    let docker =
        place.write("bin/docker", "#!/bin/sh\necho \"$*\" > docker.log\nmkdir idf-components\n");
    std::fs::set_permissions(docker, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut init = place.hil(["init"]).env("MCP_HIL_USB_ROOT", &system.0);
    init.0.current_dir(place.path("checkout"));
    init.end().exits(0);
    let workflow = yaml(&place.read("checkout/.github/workflows/mcp-hil.yml"));
    let ended = runner.job(&workflow["jobs"]["host"]);
    let fetched = place.read("checkout/docker.log");
    assert!(fetched.contains("idf.py set-target esp32s3 && mkdir -p idf-components"), "{fetched}");
    let (all, bad) = junit(&place.path("artefacts/mcp-hil"));
    // It is a firmware with a crash, of which the baseline does not know yet.
    assert_eq!(ended.code, Some(1), "{}", ended.text);
    assert!(all > 100 && !bad.is_empty() && bad.len() < 10, "{all} cases, {bad:?}");
    assert!(ended.text.contains("own/tools-listed"), "{}", ended.text);
}

/// What a later step does with the reports must not depend on how far the step came.
#[test]
fn the_action_names_its_reports_whatever_fails() {
    let (place, system) = (Place::new(), System::new("walk-action"));
    let mut runner = Runner::new(&place, &system);
    let action = yaml(&std::fs::read_to_string(root().join("action.yml")).unwrap());
    let job = |with: Value| json!({"steps": [{"uses": "OWNER/mcp-hil@main", "with": with}]});
    let reports = |ended: &Ended| {
        let outputs = ended.steps["run"].clone();
        runner::text(&outputs["reports"])
    };
    assert_eq!(action["outputs"]["reports"]["value"], "${{ steps.run.outputs.reports }}");
    // A program that is not there.
    let ended = runner.job(&job(json!({"program": "nowhere/mcp-hil"})));
    assert_eq!(ended.code, Some(3), "{}", ended.text);
    assert!(ended.text.contains("nowhere/mcp-hil"), "{}", ended.text);
    assert!(Path::new(&reports(&ended)).is_dir());
    // A build that fails.
    runner.forget_cache();
    let ended = runner.job(&job(json!({"dut": "native"})));
    assert_eq!(ended.code, Some(101), "{}", ended.text);
    assert!(Path::new(&reports(&ended)).is_dir());
    // A board that is not there.
    place.write(
        "checkout/ci/duts/gone.toml",
        "name = \"gone\"\ntarget = \"board\"\n[board]\nserial = \"F4:12:FA:00:11:22\"\n",
    );
    runner.keep_program();
    let ended = runner.job(&job(json!({"dut": "ci/duts/gone.toml"})));
    assert_eq!(ended.code, Some(3), "{}", ended.text);
    assert!(ended.text.contains("F4:12:FA:00:11:22"), "{}", ended.text);
    assert!(Path::new(&reports(&ended)).is_dir());
}
