//! Generated inputs: what they find, how small it gets, and that it can be done again.

use std::collections::BTreeSet;

use crate::support::{Done, Place, files, native};
use rstest::rstest;
use serde_json::Value;

const SATURATED: [&str; 6] = ["run", "--mutant", "id-int32-saturated", "--seed", "1", "--only"];

/// The report of a case.
fn case<'a>(report: &'a Value, id: &str) -> &'a Value {
    let cases = report["cases"].as_array().expect("cases");
    cases
        .iter()
        .find(|case| case["case"] == id)
        .unwrap_or_else(|| panic!("no `{id}` in {report:#}"))
}

fn failures(case: &Value) -> &Vec<Value> {
    case["generated"]["failures"].as_array().expect("failures")
}

/// The requirements that a case breaks.
fn broken(case: &Value) -> BTreeSet<&str> {
    let findings = case["findings"].as_array().expect("findings");
    findings
        .iter()
        .filter(|finding| finding["verdict"] == "fail")
        .map(|finding| finding["requirement"].as_str().unwrap())
        .collect()
}

/// The scenario file of a failure, as a path from the test's folder.
fn file(place: &Place, failure: &Value) -> String {
    let name = failure["scenario"].as_str().expect("a file");
    let path = place.latest().canonicalize().unwrap().join(name);
    path.display().to_string()
}

/// The report tells which kinds of values were tried at which places.
#[test]
fn every_place_of_a_message_is_told_with_the_kinds_that_it_took() {
    let place = Place::new();
    let mutant = ["--mutant", "value-token-object-panics", "--no-confirm"];
    let only = ["run", "--only", "properties/positions"];
    place.hil(only.iter().chain(&mutant)).end().exits(1);
    let report = place.both_reports();
    let places = case(&report, "properties/positions")["generated"]["places"].clone();
    let places = places.as_array().unwrap();
    assert!(places.len() > 40, "{places:#?}");
    for place in places {
        let failed = place["failed"].as_array();
        let wanted = place["place"] == "tools/list _meta.progressToken";
        assert_eq!(failed.is_some_and(|kinds| !kinds.is_empty()), wanted, "{place:#}");
    }
    let page = place.read("target/mcp-hil/latest/report.html");
    assert!(page.contains("tools/list _meta.progressToken"));
}

#[test]
fn a_defect_is_found_made_small_and_shown_again() {
    let place = Place::new();
    let run = place.hil(SATURATED.iter().chain(&["properties/ids"])).end().exits(1).prints(&[
        "FAIL",
        "properties/ids",
        "shrunk ",
        " to 1 exchange in ",
    ]);
    let report = place.both_reports();
    let found = case(&report, "properties/ids");
    let failure = &failures(found)[0];
    assert_eq!(failure["requirements"][0], "ids.echo", "{found:#}");
    assert_eq!(failure["to"], 1, "{failure:#}");
    assert!(failure["from"].as_u64().unwrap() > 1, "{failure:#}");
    assert!(failure.get("second_try").is_none(), "{failure:#}");
    // The command that is printed is the one that the report tells.
    let repro = failure["repro"].as_str().unwrap();
    assert!(run.stdout.contains(repro), "{run}");
    assert_eq!(found["repro"], repro);

    let file = file(&place, failure);
    let text = std::fs::read_to_string(&file).unwrap();
    for told in [
        "# mcp-hil ",
        "seed 1, input ",
        "# target:      native --mutant id-int32-saturated over websocket",
        "# requirement: ids.echo",
        "# expected:    id ",
        "# received:    id ",
    ] {
        assert!(text.contains(told), "no `{told}` in\n{text}");
    }
    let again = ["run", "--scenario", &file];
    place.hil(again.iter().chain(&["--mutant", "id-int32-saturated"])).end().exits(1);
    let report = place.both_reports();
    let alone = case(&report, "scenario/ids-1");
    let all: BTreeSet<&str> = broken(alone);
    assert!(all.contains("ids.echo"), "{alone:#}");
    assert!(alone["repro"].as_str().unwrap().contains(&file));
    // Its transcript is enough to judge it again.
    place.hil(["replay", "target/mcp-hil/latest"]).end().exits(1).prints(&["ids.echo"]);
    place.hil(again).end().exits(0);
    // Over the other transport, too.
    place
        .hil(again.iter().chain(&["--transport", "mqtt", "--mutant", "id-int32-saturated"]))
        .end()
        .exits(1);
}

#[test]
fn what_is_left_breaks_only_what_the_whole_did() {
    let place = Place::new();
    let run = ["run", "--mutant", "refusal-loses-theme", "--seed", "1"];
    let only = ["--only", "properties/state"];
    place.hil(run.iter().chain(&only)).end().exits(1);
    let report = place.both_reports();
    let found = case(&report, "properties/state");
    // Without the step that sets a level, a later reading would be judged against a level that nobody set.
    for failure in failures(found) {
        let requirements = failure["requirements"].as_array().unwrap();
        assert_eq!(requirements, &["status.kept"], "{failure:#}");
        assert!(failure["to"].as_u64() < failure["from"].as_u64());
    }
    assert_eq!(broken(found), BTreeSet::from(["status.kept"]), "{found:#}");
}

#[rstest]
#[case::that_fails_alike("exec:'{}' --mutant id-int32-saturated", true)]
#[case::that_is_all_right("exec:'{}'", false)]
#[case::that_does_not_start("exec:exit 1", false)]
fn a_failure_is_made_small_on_a_surrogate(#[case] surrogate: &str, #[case] shows: bool) {
    let place = Place::new();
    let native = native().display().to_string();
    let target = "exec:'{}' --mutant id-int32-saturated".replace("{}", &native);
    let surrogate = surrogate.replace("{}", &native);
    let file = format!("name = \"board\"\ntarget = \"{target}\"\nsurrogate = \"{surrogate}\"\n");
    place.write("board.toml", &file);
    let run = ["run", "--dut", "board.toml", "--seed", "1"];
    let run = run.iter().chain(&["--only", "properties/ids"]);
    let done = place.hil(run).end().exits(1);
    let report = place.both_reports();
    let found = case(&report, "properties/ids");
    let failure = &failures(found)[0];
    // What is left fails on the device itself, wherever it was made small.
    assert!(failure.get("second_try").is_none(), "{failure:#}");
    assert_eq!(failure["requirements"][0], "ids.echo", "{failure:#}");
    assert_eq!(failure["to"], 1, "{failure:#}");
    if shows {
        let (all, there) = (failure["steps"].as_u64(), failure["on_surrogate"].as_u64());
        assert_eq!(all, there.map(|there| there + 1), "{failure:#}");
        done.prints(&[" of them on the"]);
    } else {
        assert!(failure["steps"].as_u64() > Some(1), "{failure:#}");
        assert!(failure.get("on_surrogate").is_none(), "{failure:#}");
    }
    // The surrogate's own exchanges are no part of the transcript.
    let ids = place.read("target/mcp-hil/latest/transcripts/properties.ids.jsonl");
    let trials = ids.matches(r#""part":"trial""#).count() as u64;
    let steps = failures(found).iter().map(|one| {
        let steps = |name: &str| one[name].as_u64().unwrap_or(0);
        // What the surrogate does not show is tried once more on the device before it is made smaller there.
        steps("steps") - steps("on_surrogate") + u64::from(one.get("on_surrogate").is_none())
    });
    assert_eq!(trials, steps.sum::<u64>(), "{found:#}");
}

#[test]
fn a_surrogate_is_a_device_that_can_be_started() {
    let place = Place::new();
    place.write("board.toml", "name = \"b\"\ntarget = \"wait\"\nsurrogate = \"wait\"\n");
    let run = ["run", "--dut", "board.toml"];
    place.hil(run).end().exits(2).says(&["`surrogate = \"wait\"`", "hint: "]);
}

#[test]
fn a_crash_is_one_failure_whatever_it_takes_with_it() {
    let place = Place::new();
    let run = ["run", "--mutant", "argument-extra-panics", "--seed", "1"];
    let only = ["--only", "properties/arguments", "--cases", "40"];
    place.hil(run.iter().chain(&only)).end().exits(1);
    let report = place.both_reports();
    let found = case(&report, "properties/arguments");
    let [failure] = &failures(found)[..] else {
        panic!("{found:#}");
    };
    assert!(broken(found).contains("liveness.no-panic"), "{found:#}");
    assert_eq!(failure["to"], 1, "{failure:#}");
    assert!(failure["times"].as_u64().unwrap() > 1, "{failure:#}");
    // It was restarted each time, and went on to the end.
    assert_eq!(found["generated"]["inputs"], 40);
    assert_eq!(files(&place.latest().canonicalize().unwrap().join("failures")).len(), 1);
}

#[test]
fn what_needs_what_was_before_is_shown_with_it() {
    let place = Place::new();
    // A seed whose first failure uses one id in two sessions. Where an input before it used the id, no smaller input needs
    // both, for this device remembers them for longer than a try.
    let run = ["run", "--mutant", "id-again-dropped", "--seed", "3", "--no-confirm"];
    let only = ["--only", "properties/ids"];
    place.hil(run.iter().chain(&only)).end().exits(1);
    let report = place.report();
    let late = |failure: &&Value| failure["requirements"][0] == "jsonrpc.answer-required";
    let found = failures(case(&report, "properties/ids"));
    let failure = found.iter().find(late).unwrap_or_else(|| panic!("{found:#?}"));
    // On a machine that has no time for it, it stays larger, and the report says so.
    assert!(failure["to"].as_u64().unwrap() >= 2, "{failure:#}");
    let file = file(&place, failure);
    let again = ["run", "--scenario", &file];
    place
        .hil(again.iter().chain(&["--mutant", "id-again-dropped"]))
        .end()
        .exits(1)
        .prints(&["jsonrpc.answer-required"]);
    place.hil(again).end().exits(0);
}

#[test]
fn a_small_sequence_keeps_what_its_readings_rest_on() {
    let place = Place::new();
    let run = ["run", "--mutant", "steps-small-after-reboot", "--seed", "1"];
    let only = ["--only", "properties/state"];
    place.hil(run.iter().chain(&only)).end().exits(1);
    let report = place.report();
    let found = failures(case(&report, "properties/state"));
    let files = found.iter().map(|failure| file(&place, failure));
    // Once spoiled, this device stays so, and later inputs do not need the cause any more.
    let with_cause = files
        .filter(|file| std::fs::read_to_string(file).unwrap().contains("reboot: {}"))
        .collect::<Vec<_>>();
    assert!(!with_cause.is_empty(), "{found:#?}");
    for file in &with_cause {
        let again = ["run", "--scenario", file];
        let defect = ["--mutant", "steps-small-after-reboot"];
        place.hil(again.iter().chain(&defect)).end().exits(1);
        place.hil(again).end().exits(0);
    }
}

#[test]
fn what_does_not_show_again_is_told_as_that() {
    let place = Place::new();
    let run = ["run", "--mutant", "silent-reset-late", "--seed", "1"];
    let only = ["--only", "properties/ids", "--cases", "400"];
    place.hil(run.iter().chain(&only)).end().exits(1).prints(&["flaky "]);
    let report = place.report();
    let found = case(&report, "properties/ids");
    let failure = &failures(found)[0];
    let second = failure["second_try"].as_str().expect("a second try");
    let text = std::fs::read_to_string(file(&place, failure)).unwrap();
    assert!(text.contains(&format!("# tried again: {second}")), "{text}");
    // Answers that the restart cut off may be many, and the terminal names four of them.
    for rule in ["liveness.no-reset", "liveness.link-kept"] {
        assert!(broken(found).contains(rule), "{found:#}");
    }
}

#[rstest]
#[case::as_a_panic("late-panic", &["properties/strings"], 41, "\\U0001f600")]
#[case::after_the_last_input("late-exit", &["properties/strings"], 48, "${repeat:")]
#[case::in_another_property("late-exit", &["properties/strings", "properties/pagination", "--cases=20"], 48, "${repeat:")]
#[case::whatever_it_was("silent-reset", &["properties/ids"], 28, "${good.method}")]
fn an_end_that_comes_late_is_traced_to_its_cause(
    #[case] mutant: &str,
    #[case] words: &[&str],
    #[case] exchanges: u64,
    #[case] cause: &str,
) {
    let place = Place::new();
    let run = ["run", "--mutant", mutant, "--seed", "1"];
    let (only, more): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| !word.starts_with('-'));
    let only: Vec<&str> = only.into_iter().flat_map(|id| ["--only", id]).collect();
    place.hil(run.iter().chain(&only).chain(&more)).end().exits(1);
    let report = place.report();
    // It is told where it came, whichever property sent the cause.
    let found = failures(case(&report, only[only.len() - 1]));
    let failure = &found[0];
    assert!(failure.get("second_try").is_none(), "{failure:#}");
    let file = file(&place, failure);
    let text = std::fs::read_to_string(&file).unwrap();
    // On a machine that has no time for it, it stays larger, and the report says so.
    if failure["cut_short"].is_null() {
        assert_eq!(failure["to"], exchanges, "{failure:#}");
        let steps: Vec<&str> = text.lines().filter(|l| l.starts_with("  - ")).collect();
        assert_eq!(steps.len() as u64, exchanges, "{text}");
        assert!(steps[0].contains(cause), "{text}");
        let others = steps[1..].iter();
        assert!(others.clone().all(|step| step.contains("${good.method}")));
    }
    let again = ["run", "--scenario", &file];
    place.hil(again.iter().chain(&["--mutant", mutant])).end().exits(1).prints(&["liveness."]);
    place.hil(again).end().exits(0);
}

#[test]
fn memory_that_leaks_is_a_warning() {
    let place = Place::new();
    let run = ["run", "--only", "properties/liveness", "--seed", "1"];
    place
        .hil(run.iter().chain(&["--mutant", "memory-leak"]))
        .end()
        .exits(0)
        .prints(&["WARN", "liveness.memory"]);
    place.hil(run.iter().chain(&["--variant", "memory-wobbles", "--strict"])).end().exits(0);
}

/// Whether the latest runs of two places are equal in their normal form, and what is said of that.
fn equal(one: &Place, other: &Place) -> Done {
    let latest = |place: &Place| place.latest().display().to_string();
    one.hil(["diff", "--normalised", &latest(one), &latest(other)]).end()
}

#[rstest]
#[case::good(&[], 0)]
#[case::defective(&["--mutant", "error-code-string"], 1)]
#[case::crashing(&["--mutant", "argument-extra-panics"], 1)]
fn the_same_seed_gives_the_same_reports_and_transcripts(#[case] more: &[&str], #[case] code: i32) {
    // On a busy machine time would end what is generated, made smaller and confirmed sooner.
    let run = ["run", "--only", "properties/", "--max-time", "1h", "--no-confirm", "--seed"];
    let outcome = |seed: &str| {
        let place = Place::new();
        let args = run.iter().copied().chain([seed]).chain(more.iter().copied());
        place.hil(args).end().exits(code);
        place
    };
    let (first, again, other) = (outcome("7"), outcome("7"), outcome("8"));
    equal(&first, &again).exits(0).prints(&["equal in their normal form"]);
    // What was generated is another thing, and is shown.
    let inputs = "transcripts/properties.arguments.jsonl, sent";
    equal(&first, &other).exits(1).prints(&["report.json", inputs, "differ in their normal form"]);
}

#[test]
fn inputs_are_bounded_by_number_time_and_calls() {
    let place = Place::new();
    let run = |args: &[&str], code| {
        let run = ["run", "--only", "properties/arguments"];
        place.hil(run.iter().chain(args)).end().exits(code)
    };
    let inputs = |place: &Place| {
        let report = place.report();
        let generated = case(&report, "properties/arguments")["generated"].clone();
        (generated["inputs"].clone(), generated["ended"].clone())
    };
    run(&["--cases", "3"], 0);
    assert_eq!(inputs(&place), (3.into(), Value::Null));
    run(&["--max-time", "1ms", "--cases", "1000"], 0);
    let (number, why) = inputs(&place);
    assert!(number.as_u64().unwrap() < 1000, "{number}");
    assert!(why.as_str().unwrap().contains("--max-time"), "{why}");
    run(&["--budget", "30", "--seed", "1"], 0);
    let (_, why) = inputs(&place);
    assert!(why.as_str().unwrap().contains("--budget"), "{why}");
    let transcript = place.read("target/mcp-hil/latest/transcripts/properties.arguments.jsonl");
    let sets = |line: &&str| {
        let sent = line.contains("\"kind\":\"sent\"") && line.contains("tools/call");
        sent && !line.contains("get_")
    };
    let calls = transcript.lines().filter(sets).count();
    assert!(calls <= 30, "{calls}");
}

/// How often the device was told to restart in the latest run.
fn restarts(place: &Place) -> usize {
    let transcript = place.read("target/mcp-hil/latest/transcripts/properties.state.jsonl");
    let told = |line: &&str| line.contains("\"kind\":\"sent\"") && line.contains("reboot");
    transcript.lines().filter(told).count()
}

#[test]
fn a_device_that_must_not_be_restarted_is_not_told_to() {
    let place = Place::new();
    let run = |args: &[&str], code| {
        let run = ["run", "--only", "properties/state", "--seed", "1"];
        place.hil(run.iter().chain(args)).end().exits(code);
        restarts(&place)
    };
    assert!(run(&[], 0) > 0);
    // No sequence is as short as that.
    assert_eq!(run(&["--budget", "1"], 4), 0);
    for name in ["self.reboot", "system.reboot"] {
        let file = format!("name = \"still\"\ntarget = \"native\"\n[tools]\ndeny = [\"{name}\"]\n");
        place.write("still.toml", file);
        assert_eq!(run(&["--dut", "still.toml"], 0), 0, "{name}");
    }
    // Nor by a scenario of the user's.
    let scenario = "title: It restarts\nsteps:\n  - reboot: {}\n  - request: {method: ping}\n";
    let scenario = place.write("restarts.yaml", scenario).display().to_string();
    let scenario = ["run", "--scenario", &scenario];
    place.hil(scenario).end().exits(0);
    place
        .hil(scenario.iter().chain(&["--dut", "still.toml", "--verbose"]))
        .end()
        .exits(4)
        .prints(&["denies restarts"]);
}

#[test]
fn properties_can_be_switched_off() {
    let place = Place::new();
    place.hil(["run", "--only", "ids/", "--inputs", "0"]).end().exits(0);
    let off = ["run", "--only", "properties/ids", "--inputs", "0"];
    place.hil(off).end().exits(4).says(&["--inputs 0", "hint: "]);
    place.hil(["run", "--inputs", "0"]).end().exits(0);
    let report = place.report();
    let none = |case: &Value| !case["case"].as_str().unwrap().starts_with("properties/");
    assert!(report["cases"].as_array().unwrap().iter().all(none));
}

#[test]
fn failures_that_are_kept_are_tried_first() {
    let place = Place::new();
    let keep = ["properties/ids", "--keep-failures"];
    let mut small = true;
    let mut run = || {
        place.hil(SATURATED.iter().chain(&keep)).end().exits(1);
        let report = place.report();
        let found = failures(case(&report, "properties/ids"));
        small &= found.iter().all(|failure| failure["cut_short"].is_null());
        files(&place.path("regressions"))
    };
    let kept = run();
    assert!(!kept.is_empty());
    // What is known is not kept twice; what time made larger once may look like another failure.
    let again = run();
    assert!(kept.iter().all(|file| again.contains(file)));
    if small {
        assert_eq!(again, kept);
    }

    place.hil(["run", "--cases", "0", "--mutant", "id-int32-saturated"]).end().exits(1);
    let report = place.report();
    assert_eq!(report["cases"][1]["case"], "regression/ids-1");
    assert_eq!(report["cases"][1]["verdict"], "fail");
    place.hil(["run", "--only", "regression/"]).end().exits(0);
    let report = place.report();
    let passed = |case: &&Value| case["case"].as_str().unwrap().starts_with("regression/");
    let number = report["cases"].as_array().unwrap().iter().filter(passed).count();
    assert_eq!(number, again.len());
    // A replay needs neither the folder nor the device.
    std::fs::remove_dir_all(place.path("regressions")).unwrap();
    place.hil(["replay", "target/mcp-hil/latest"]).end().exits(0);
}

#[rstest]
#[case::own_id("title: t\nsteps:\n  - request: {method: ping, id: 1001}\n", "mine.yaml:3")]
#[case::unknown("title: t\nsteps:\n  - reqest: {method: ping}\n", "did you mean `request`?")]
fn a_bad_scenario_file_is_refused(#[case] text: &str, #[case] says: &str) {
    let place = Place::new();
    place.write("mine.yaml", text);
    let run = ["run", "--scenario", "mine.yaml"];
    place.hil(run).end().exits(2).says(&[says]);
    place.write("kept/mine.yaml", text);
    let run = ["run", "--regressions", "kept"];
    place.hil(run).end().exits(2).says(&[says]);
}

#[rstest]
#[case(&["--scenario", "nowhere.yaml"], "nowhere.yaml")]
#[case(&["--regressions", "nowhere"], "nowhere")]
#[case(&["--max-time", "soon"], "such as `90s`")]
#[case(&["--only", "properties/idz"], "did you mean `properties/ids`?")]
fn a_mistake_is_named(#[case] args: &[&str], #[case] says: &str) {
    let place = Place::new();
    let done = place.hil(["run"].iter().chain(args)).end();
    assert!([Some(2), Some(4)].contains(&done.code), "{done}");
    done.says(&[says]);
}

#[test]
fn properties_are_listed_and_explained() {
    let place = Place::new();
    place.hil(["list", "properties/"]).end().exits(0).prints(&["properties/ids"]);
    place.hil(["explain", "properties/ids"]).end().exits(0).prints(&["--only properties/ids"]);
}
