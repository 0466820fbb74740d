//! `mcp-hil run --snapshots`: a device that says what it said passes, and what changed is told in the words
//! of those who read it, left for review, and written only where that was asked for.

use std::path::{Path, PathBuf};

use crate::support::{Done, Hil, Place};
use rstest::rstest;

/// Reviewed answers of the native device, as they lie in the source tree.
fn reviewed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots/native")
}

/// A place with those reviewed answers in the folder of a device.
fn place(dut: &str) -> Place {
    let place = Place::new();
    for file in crate::support::files(&reviewed()) {
        if file.extension().is_some_and(|ending| ending == "snap") {
            let name = file.strip_prefix(reviewed()).unwrap();
            let text = std::fs::read(&file).unwrap();
            place.write(&format!("snapshots/{dut}/{}", name.display()), text);
        }
    }
    place
}

/// A run of a few cases, outside of CI.
fn hil(place: &Place, args: &[&str]) -> Hil {
    let only = ["call/unknown-tool", "errors/method-not-found", "list/", "volume/workflow"];
    let only = only.iter().flat_map(|case| ["--only", case]);
    all(place, &only.chain(args.iter().copied()).collect::<Vec<_>>())
}

/// A run, outside of CI.
fn all(place: &Place, args: &[&str]) -> Hil {
    let first = ["run", "--cases", "0"];
    place.hil(first.iter().chain(args)).without_env("CI")
}

/// The files that wait for review.
fn pending(place: &Place) -> Vec<String> {
    under(place, "snapshots", ".snap.new")
}

fn under(place: &Place, folder: &str, ending: &str) -> Vec<String> {
    let root = place.path(folder);
    if !root.exists() {
        return Vec::new();
    }
    let files = crate::support::files(&root);
    let names = files.iter().map(|path| path.strip_prefix(&root).unwrap());
    let names = names.map(|name| name.display().to_string());
    names.filter(|name| name.ends_with(ending)).collect()
}

/// Changes a word of a reviewed answer, and gives the file as it was.
fn reword(place: &Place, from: &str, to: &str) -> String {
    let file = "snapshots/native/call/unknown-tool.snap";
    let text = place.read(file);
    assert!(text.contains(from), "{text}");
    place.write(file, text.replace(from, to));
    text
}

const UNKNOWN_TOOL: &str = "native/call/unknown-tool.snap.new";

#[test]
fn a_device_that_says_what_it_said_passes() {
    let place = place("native");
    let done = hil(&place, &["--transport", "both"]).env("CI", "true").end().exits(0);
    done.prints(&["answers      8 as reviewed\n"]);
    assert_eq!(pending(&place), [""; 0]);
    let report = place.both_reports();
    assert_eq!(report["summary"]["answers"]["same"], 8);
    // What asks for no answer says nothing of answers.
    let done = all(&place, &["--only", "ids/zero"]).end().exits(0);
    assert!(!done.stdout.contains("reviewed"), "{done}");
    // Where nothing was reviewed, nothing is compared, and nothing appears.
    let empty = Place::new();
    let done = hil(&empty, &[]).end().exits(0);
    assert!(!done.stdout.contains("as reviewed"), "{done}");
    assert!(!empty.path("snapshots").exists());
}

#[test]
fn a_changed_answer_is_told_and_left_for_review() {
    let place = place("native");
    let before = reword(&place, "-32602", "-32000");
    let done = hil(&place, &[]).end().exits(1);
    done.prints(&[
        " CHANGED [ answer ] native/ws    call/unknown-tool",
        "changed      error code changed: -32000 -> -32602",
        "- ",
        "+ ",
        "snapshots/native/call/unknown-tool.snap.new",
        "`mcp-hil review`",
        "7 as reviewed, 1 changed",
        "1: answers differ from the reviewed ones",
    ]);
    assert_eq!(pending(&place), [UNKNOWN_TOOL]);
    // What a tool for review accepts is the answer as it was, from the scenario that asks for it.
    let text = place.read("snapshots/native/call/unknown-tool.snap.new");
    let header = "---\nsource: scenarios/scripts/call/unknown-tool.yaml\ndescription: \"call/unknown-tool, step ";
    assert!(text.starts_with(header), "{text}");
    let body = |text: &str| text.split_once("\n---\n").unwrap().1.to_owned();
    assert_eq!(body(&text), body(&before));
    let report = place.both_reports();
    let answer = &report["answers"][0];
    assert_eq!(answer["state"], "changed");
    assert_eq!(answer["changes"][0]["kind"], "error code changed");
    let junit = place.read("target/mcp-hil/latest/junit.xml");
    assert!(junit.contains("answer changed: call/unknown-tool: error code changed"), "{junit}");
}

/// Both of them change the code; what else a seeded difference does to the spelling of answers is not
/// what counts here.
#[rstest]
#[case::harmless("--variant", "unknown-tool-32601", "-32602 -> -32601")]
#[case::defect("--mutant", "unknown-tool-32000", "-32602 -> -32000")]
fn a_device_that_is_to_differ_is_compared_when_asked(
    #[case] kind: &str,
    #[case] name: &str,
    #[case] codes: &str,
) {
    let place = place("native");
    let done = hil(&place, &[kind, name]).end();
    assert!(!done.stdout.contains("as reviewed"), "{done}");
    assert_eq!(pending(&place), [""; 0]);
    let done = hil(&place, &[kind, name, "--snapshots", "check"]).end();
    done.exits(1).prints(&[&format!("error code changed: {codes}"), "answers differ from the"]);
    assert!(pending(&place).contains(&UNKNOWN_TOOL.to_owned()));
}

#[test]
fn a_tool_that_went_is_told_as_that() {
    let place = place("native");
    let args = ["--mutant", "list-volume-hidden", "--snapshots", "check"];
    let done = hil(&place, &args).end().exits(1);
    done.prints(&["tool removed (breaking): self.audio_speaker.set_volume"]);
}

#[test]
fn what_waits_for_review_goes_when_the_answer_is_back() {
    let place = place("native");
    place.write(&format!("snapshots/{UNKNOWN_TOOL}"), "anything");
    hil(&place, &[]).end().exits(0);
    assert_eq!(pending(&place), [""; 0]);
}

#[test]
fn ci_writes_nothing_unless_asked() {
    let place = place("native");
    reword(&place, "-32602", "-32000");
    let ci = |mode: &str| {
        let args = ["--snapshots", mode];
        hil(&place, &args).env("CI", "true").end()
    };
    ci("check").exits(1).prints(&["error code changed"]);
    assert_eq!(pending(&place), [""; 0]);
    ci("new").exits(0).prints(&["1 changed"]);
    assert_eq!(pending(&place), [UNKNOWN_TOOL]);
    ci("update").exits(0);
    assert_eq!(pending(&place), [""; 0]);
    ci("check").exits(0);
}

#[test]
fn an_answer_that_nobody_has_reviewed_is_left_for_review_and_passes_no_ci() {
    let place = place("native");
    std::fs::remove_file(place.path("snapshots/native/call/unknown-tool.snap")).unwrap();
    let done = hil(&place, &[]).env("CI", "true").end().exits(1);
    done.prints(&["     NEW [ answer ] native/ws    call/unknown-tool"]);
    assert_eq!(pending(&place), [""; 0]);
    hil(&place, &[]).end().exits(0).prints(&["7 as reviewed, 1 not reviewed yet"]);
    assert_eq!(pending(&place), [UNKNOWN_TOOL]);
    // What is accepted is what a tool for review makes of it: the same file with the other name.
    let accepted = place.path("snapshots/native/call/unknown-tool.snap");
    std::fs::rename(place.path(&format!("snapshots/{UNKNOWN_TOOL}")), accepted).unwrap();
    hil(&place, &[]).env("CI", "true").end().exits(0);
}

#[test]
fn a_reviewed_answer_that_no_step_asks_for_does_not_conform() {
    let place = place("native");
    let text = place.read("snapshots/native/call/unknown-tool.snap");
    place.write("snapshots/native/call/no-such-step.snap", text);
    // A few cases cannot know.
    hil(&place, &[]).end().exits(0);
    all(&place, &[]).end().exits(1).prints(&[
        "    GONE [ answer ] native       call/no-such-step",
        "no step refers to it any more",
        "18 as reviewed, 1 gone",
    ]);
    // A device that no longer has what a case needs has lost its answers.
    let done = all(&place, &["--variant", "set-volume-only", "--snapshots", "check"]).end();
    done.exits(1).prints(&["    GONE [ answer ] native       volume/mute"]);
}

#[test]
fn a_board_has_only_what_differs_from_its_family() {
    let place = place("native");
    let file = "name = \"bench\"\ntarget = \"native\"\n[snapshots]\nfamily = \"native\"\n";
    place.write("bench.toml", file);
    let bench = ["--dut", "bench.toml"];
    hil(&place, &bench).end().exits(0).prints(&["8 as reviewed\n"]);
    assert!(!place.path("snapshots/bench").exists());

    // Its own answer counts, where it has one.
    let own = place.read("snapshots/native/call/unknown-tool.snap");
    place.write("snapshots/bench/call/unknown-tool.snap", own.replace("-32602", "-32000"));
    let done = hil(&place, &bench).end().exits(1);
    done.prints(&["error code changed: -32000 -> -32602"]);
    assert_eq!(pending(&place), ["bench/call/unknown-tool.snap.new"]);
    // What is as in the family is not kept twice.
    hil(&place, &[&bench[..], &["--snapshots", "update"]].concat()).end().exits(0);
    assert_eq!(under(&place, "snapshots/bench", ""), [""; 0]);

    // A difference goes to the board, not to its family.
    let family = "snapshots/native/list/cursor-unknown.snap";
    let text = place.read(family);
    place.write(family, text.replace("Unknown cursor", "No such cursor"));
    let done = hil(&place, &bench).end().exits(1);
    done.prints(&["message changed: \"No such cursor"]);
    assert_eq!(pending(&place), ["bench/list/cursor-unknown.snap.new"]);

    place.write("bench.toml", file.replace("family = \"native\"", "family = \"natvie\""));
    hil(&place, &bench).end().exits(2).says(&["family = \"natvie\""]);
}

/// The reference device on another body: what its file says is in force, also for who names the target
/// without that file, and what it has of its own is all that differs.
#[test]
fn the_emulated_board_differs_from_its_family_in_its_folder_only() {
    if !crate::support::qemu() {
        return;
    }
    let place = place("native");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let own = root.join("snapshots/qemu");
    let files = crate::support::files(&own);
    let names: Vec<_> = files.iter().map(|path| path.strip_prefix(&own).unwrap()).collect();
    assert!(
        !names.is_empty()
            && names.iter().all(|name| {
                name.starts_with("initialize")
                    || name.to_string_lossy().starts_with("capabilities-")
            }),
        "{names:?}"
    );
    for (file, name) in files.iter().zip(&names) {
        let to = format!("snapshots/qemu/{}", name.display());
        place.write(&to, std::fs::read(file).unwrap());
    }
    let dut = root.join("ci/duts/qemu.toml");
    for dut in [dut.to_str().unwrap(), "qemu"] {
        let args = ["--dut", dut, "--only", "initialize/"];
        let done = hil(&place, &args).env("CI", "true").end().exits(0);
        done.prints(&["10 as reviewed\n"]);
    }
}

#[test]
fn a_device_file_says_what_varies() {
    let place = place("native");
    let rule = "[[snapshots.rule]]\nname = \"code\"\nmember = \"code\"\nmark = \"[code]\"\n";
    place.write("bench.toml", format!("name = \"bench\"\ntarget = \"native\"\n{rule}"));
    hil(&place, &["--dut", "bench.toml", "--snapshots", "update"]).end().exits(0);
    let text = place.read("snapshots/bench/call/unknown-tool.snap");
    assert!(text.contains("\"code\": \"[code]\""), "{text}");
    hil(&place, &["--dut", "bench.toml"]).env("CI", "true").end().exits(0);
}

#[rstest]
#[case::no_header("", "unknown-tool.snap:1` is damaged")]
#[case::cut_off("---\nsource: a\n---\nrequest {\n", "unknown-tool.snap:4` is damaged: not JSON")]
#[case::conflict("---\n---\n<<<<<<< HEAD\n", "got `<<<<<<<`")]
fn a_damaged_file_is_named_before_anything_starts(#[case] text: &str, #[case] told: &str) {
    let place = place("native");
    place.write("snapshots/native/call/unknown-tool.snap", text);
    hil(&place, &[]).end().exits(2).says(&[told, "hint: restore it"]);
    assert!(!place.path("target").exists());
    hil(&place, &["--snapshots", "off"]).end().exits(0);
}

#[test]
fn names_from_anywhere_stay_in_their_folder_and_apart() {
    let place = Place::new();
    let step = |name: &str| {
        let step = "  - request: {method: mcp_hil/none, params: {}}\n    snapshot: ";
        format!("{step}{}\n", serde_json::Value::from(name))
    };
    let long = "x".repeat(300);
    let names = ["../../../evil", "/etc/evil", "A", "a", "NUL", "nul.txt", ".git", &long];
    let steps: String = names.iter().map(|name| step(name)).collect();
    place.write("own.yaml", format!("title: names\nsteps:\n{steps}"));
    place.write("con.toml", "name = \"CON\"\ntarget = \"native\"\n");
    let args = ["--dut", "con.toml", "--scenario", "own.yaml", "--snapshots", "update"];
    all(&place, &args).end().exits(0).prints(&["8 not reviewed yet"]);
    let files = under(&place, "snapshots", ".snap");
    let all_files = under(&place, ".", ".snap");
    assert_eq!((files.len(), all_files.len()), (8, 8), "{all_files:?}");
    for file in &files {
        let parts: Vec<&str> = file.split('/').collect();
        assert!(parts[0].starts_with("con-") && parts[1] == "scenario", "{file}");
        assert!(
            parts[2].len() < 100 && !parts[2].starts_with('.') && !parts[2].starts_with("nul."),
            "{file}"
        );
        assert_eq!(*file, file.to_lowercase());
    }
    // Found again, all of them.
    all(&place, &args[..4]).env("CI", "true").end().exits(0).prints(&["8 as reviewed\n"]);

    place.write("twice/own/b.yaml", format!("title: b\nsteps:\n{}", step("one")));
    place.write("twice/own/c.yaml", format!("title: c\nsteps:\n{}", step("one")));
    let args = ["--scenarios", "twice", "--only", "own/", "--snapshots", "new"];
    all(&place, &args).end().exits(2).says(&["b.yaml", "c.yaml", "`own/one`"]);
}

#[test]
fn a_folder_that_takes_no_file_is_told_and_the_verdict_stands() {
    let tried = |mode: &str| -> (Place, Done) {
        let place = Place::new();
        // Not even the administrator makes a folder where a file is.
        place.write("snapshots/native/call", "in the way");
        let done = hil(&place, &["--snapshots", mode]).end();
        (place, done)
    };
    let (_place, done) = tried("check");
    let told = ["cannot write `snapshots/native/call/unknown-tool.snap.new`"];
    done.exits(0).says(&told).prints(&[" Summary [", "8 not reviewed yet"]);
    let (place, done) = tried("update");
    done.exits(3).prints(&[" Summary [", " passed"]);
    place.both_reports();
}

/// What the native device can do, as a person has reviewed it.
const CAPABILITIES: &str = "snapshots/native/capabilities-websocket.snap";

/// No rule is broken: the cases that need what is gone do not apply, and all the others pass.
#[test]
fn a_capability_that_is_lost_is_a_change_and_not_fewer_cases_in_silence() {
    let place = place("native");
    let variant = ["--variant", "no-status"];
    let done = all(&place, &variant).end().exits(0);
    assert!(!done.stdout.contains("lost"), "{done}");
    let done = all(&place, &[&variant[..], &["--snapshots", "check"]].concat()).end();
    done.exits(1).prints(&[
        " CHANGED [ device ] native/ws    capabilities-websocket",
        "changed      capability lost: status; ",
        "cases not tried for it:",
        "capability lost: volume\n",
        "- status",
        "snapshots/native/capabilities-websocket.snap.new",
        "; 10 capabilities lost; ",
        "capabilities lost brightness, ",
        "answers differ from the reviewed ones; the",
    ]);
    let report = place.both_reports();
    assert_eq!(report["summary"]["failed"], 0);
    let told = report["answers"].as_array().unwrap();
    let lost = told.iter().find(|it| it["kind"] == "capabilities").unwrap();
    let not_tried = lost["not_tried"].as_array().unwrap();
    assert_eq!(report["summary"]["not_applicable"], not_tried.len() as u64 + 7);
    assert!(not_tried.contains(&"volume/mute".into()), "{lost}");
    for file in ["junit.xml", "report.html"] {
        let text = place.read(&format!("target/mcp-hil/latest/{file}"));
        assert!(text.contains("capability lost: status; "), "{file}");
    }
    // What waits is the device as it is now, and is taken for reviewed when it is accepted.
    let waits = place.read(&format!("{CAPABILITIES}.new"));
    assert!(!waits.contains("\nstatus\n") && waits.contains("\ntools\n"), "{waits}");
    place.write(CAPABILITIES, waits);
    // The answers of that variant differ, too; what it can do does not any more.
    let done = all(&place, &[&variant[..], &["--snapshots", "check"]].concat()).end();
    assert!(!done.stdout.contains("[ device ]"), "{done}");
}

#[test]
fn a_capability_that_is_gained_is_told_and_fails_where_nobody_looks() {
    let place = place("native");
    let text = place.read(CAPABILITIES);
    place.write(CAPABILITIES, text.replace("\ncamera\n", "\n"));
    let only = ["--only", "ids/zero"];
    let done = all(&place, &only).end().exits(0);
    done.prints(&[
        "     NEW [ device ] native/ws    capabilities-websocket",
        "capability gained: camera\n",
        "capabilities gained camera\n",
    ]);
    assert_eq!(pending(&place), ["native/capabilities-websocket.snap.new"]);
    let done = all(&place, &only).env("CI", "true").end().exits(1);
    done.prints(&["1: the device's capabilities differ from the reviewed"]);
    // The native device is as it was: nothing waits any longer.
    place.write(CAPABILITIES, text);
    let done = all(&place, &only).end().exits(0);
    assert!(!done.stdout.contains("[ device ]"), "{done}");
    assert_eq!(pending(&place), [""; 0]);
}

/// Whether it dials again shows in cases that drop its connection.
#[test]
fn what_a_part_of_the_suite_did_not_look_for_is_not_lost() {
    let place = place("native");
    let text = place.read(CAPABILITIES);
    assert!(text.contains("\nreconnect\n"), "{text}");
    let mutant = ["--mutant", "session-no-reconnect", "--snapshots", "check"];
    for part in [&["--only", "ids/"][..], &["--shard", "1/40"]] {
        let done = all(&place, &[&mutant[..], part].concat()).end();
        assert!(!done.stdout.contains("[ device ]"), "{done}");
    }
    // Nor does a part take out of the file what it did not look for.
    place.write(CAPABILITIES, text.replace("\ncamera\n", "\n"));
    let update = ["--only", "ids/zero", "--snapshots", "update"];
    all(&place, &update).end().exits(0);
    assert_eq!(place.read(CAPABILITIES), text);
    // Of a device that nobody has reviewed nothing is lost, and a part of a run does not make a first review.
    std::fs::remove_file(place.path(CAPABILITIES)).unwrap();
    for more in [&["--snapshots", "update"][..], &[]] {
        let done = all(&place, &[&["--only", "ids/zero"], more].concat()).end().exits(0);
        assert!(!done.stdout.contains("[ device ]"), "{done}");
    }
    assert!(!place.path(CAPABILITIES).exists());
}

#[test]
fn a_device_that_could_not_be_got_to_know_has_lost_nothing() {
    let place = place("native");
    // It ends before it connects: that is trouble of the bench.
    let file = "name = \"native\"\ntarget = \"exec:true\"\n";
    place.write("gone.toml", file);
    let more = ["--dut", "gone.toml", "--snapshots", "check", "--only", "ids/"];
    let done = all(&place, &more).end().exits(3);
    assert!(!done.stdout.contains("[ device ]"), "{done}");
}

#[test]
fn a_damaged_list_of_capabilities_is_named_before_anything_starts() {
    let place = place("native");
    let text = place.read(CAPABILITIES);
    place.write(CAPABILITIES, text.replace("\ncamera\n", "\ncamrea\n"));
    let done = all(&place, &["--only", "ids/zero"]).end().exits(2);
    done.says(&["capabilities-websocket.snap:", "expected a capability, got `camrea`"]);
}
