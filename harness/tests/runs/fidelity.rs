//! What verdicts stand on, in every report, and what takes silicon where there is none.

use crate::support::{Place, native};

const NEEDS_SILICON: &str =
    "title: survives a brown-out\nneeds: [silicon]\nsteps:\n  - request: {method: ping}\n";

#[test]
fn every_report_says_what_the_verdicts_stand_on_and_what_was_not_observed() {
    let place = Place::new();
    place.hil(["run", "--dut", "native", "--only", "ids/"]).end().exits(0).prints(&[
        ": native over websocket: simulation, no board attached",
        "not observed a chip, radio, flash, power, timing of a chip",
    ]);
    let dut = &place.both_reports()["run"]["duts"][0];
    assert_eq!(dut["level"], "host process");
    assert!(dut["cannot_show"].as_array().unwrap().contains(&"flash".into()), "{dut}");
    let junit = place.read("target/mcp-hil/latest/junit.xml");
    for line in [
        "fidelity: simulation, no board attached",
        "not observed: a chip, radio, flash, power, timing of a chip",
    ] {
        assert!(junit.contains(line), "{line}: {junit}");
    }
}

#[test]
fn what_takes_silicon_is_not_observed_elsewhere_and_never_passed() {
    let place = Place::new();
    place.write("mine/brown-out.yaml", NEEDS_SILICON);
    let run = ["run", "--dut", "native", "--scenarios", "mine", "--only"];
    place
        .hil(run.into_iter().chain(["own/", "--only", "ids/zero", "-v"]))
        .end()
        .exits(0)
        .prints(&["not observed: needs a real chip"]);
    let report = place.report();
    let cases = report["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["case"] == "own/brown-out");
    assert_eq!(case.unwrap()["verdict"], "not-applicable");
    assert_eq!(
        case.unwrap()["reason"],
        "not observed: needs a real chip, but the device runs as host process"
    );
    // Alone it leaves nothing that ran.
    let run = ["run", "--dut", "native", "--scenarios", "mine"];
    place.hil(run.into_iter().chain(["--only", "own/"])).end().exits(4);
}

#[test]
fn a_file_says_that_what_a_program_brings_up_is_a_board() {
    let place = Place::new();
    place.write("mine/brown-out.yaml", NEEDS_SILICON);
    let device =
        format!("name = \"c3\"\ntarget = \"exec:{}\"\nfidelity = \"board\"\n", native().display());
    place.write("c3.toml", device);
    let run = ["run", "--dut", "c3.toml", "--scenarios", "mine", "--only"];
    place
        .hil(run.into_iter().chain(["own/"]))
        .end()
        .exits(0)
        .prints(&[": c3 over websocket: board, as `c3.toml` says"]);
    let report = place.report();
    assert_eq!(report["run"]["duts"][0]["level"], "board");
    let cases = report["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["case"] == "own/brown-out");
    assert_eq!(case.unwrap()["verdict"], "pass", "{report}");
    place.write("c3.toml", "name = \"c3\"\ntarget = \"wait\"\nfidelity = \"chip\"\n");
    place.hil(["run", "--dut", "c3.toml"]).end().exits(2).says(&["chip", "emulated chip"]);
}
