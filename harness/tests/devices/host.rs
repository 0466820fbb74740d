//! Firmware that is built for this host: a small one of our own in the layout of xiaozhi firmware, and, where
//! XIAOZHI_SOURCE names a checkout with its components, genuine firmware.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::{Place, missing};

/// A small firmware, written for the tests of the kit.
const MINI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../firmware/host/tests/mini");

fn can_build() -> bool {
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let here = ["cmake", "make", "c++"].iter().all(|program| runs(program));
    if !here {
        missing::CMAKE.is_missing("no `cmake`, `make` or `c++`");
    }
    here
}

/// One folder for all builds of a test program: what one test has built the next finds.
fn builds() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("host-builds")
}

#[test]
fn firmware_is_built_once_and_judged_as_what_it_is() {
    if !can_build() {
        return;
    }
    let place = Place::new();
    let build = || {
        let done = place.hil(["firmware", "host", "--source", MINI]);
        let done = done.env("CARGO_TARGET_DIR", builds()).end().exits(0);
        let program = PathBuf::from(done.stdout.trim());
        let changed = std::fs::metadata(&program).unwrap().modified().unwrap();
        (program, changed)
    };
    assert_eq!(build(), build(), "nothing has changed");

    let dut = format!("host:{MINI}");
    let only = ["--only", "list/", "--only", "volume/", "--only", "session/reconnect"];
    let done = place.hil(["run", "--dut", &dut, "--linger", "0"].iter().chain(&only));
    done.env("CARGO_TARGET_DIR", builds())
        .end()
        .exits(0)
        .prints(&["application code of the firmware (version 2.0.0)", "tasks of FreeRTOS"]);
    let report = place.both_reports();
    let dut = &report["run"]["duts"][0];
    assert_eq!((&dut["target"], &dut["level"]), (&"host".into(), &"host build".into()), "{dut}");
    assert!(dut.get("reference").is_none(), "{dut}");
}

#[test]
fn a_stack_that_overflows_is_told_with_the_task_and_shown_again_by_its_command() {
    if !can_build() {
        return;
    }
    let place = Place::new();
    let dut = format!("host:{MINI}");
    let run = ["run", "--dut", &dut, "--linger", "0", "--only", "robustness/deep-nesting"];
    place.hil(run).env("CARGO_TARGET_DIR", builds()).end().exits(1).prints(&[
        "***ERROR*** A stack overflow in task",
        "Backtrace: 0x",
        "shrunk       from 13 to 1 exchange in ",
        "repro        mcp-hil run --dut host:",
    ]);
    // The program that has ended was started again for this case.
    let report = place.report();
    let close = report["cases"].as_array().unwrap().iter().find(|c| c["case"] == "session/close");
    assert_eq!(close.unwrap()["verdict"], "pass");

    // What is left is a scenario of one message, less deep than the one that was found.
    let text = smallest(&place, &report["summary"]["causes"][0]);
    let depth: u32 =
        text.split("${repeat:[:").nth(1).unwrap().split('}').next().unwrap().parse().unwrap();
    assert!(20 < depth && depth < 1000, "{text}");
    let again = ["run", "--dut", &dut, "--linger", "0", "--scenario", "small.yaml", "--no-confirm"];
    place.write("small.yaml", &text);
    place.hil(again).env("CARGO_TARGET_DIR", builds()).end().exits(1).prints(&["A stack overflow"]);
    // With a stack as large as that no depth up to there is too much.
    let wider = again.iter().chain(&["--host-stack-scale", "100"]);
    place.hil(wider).env("CARGO_TARGET_DIR", builds()).end().exits(0);
}

/// What the script of a cause was made small to.
fn smallest(place: &Place, cause: &Value) -> String {
    let file = cause["generated"]["scenario"].as_str().unwrap_or_else(|| panic!("{cause}"));
    std::fs::read_to_string(place.latest().join(file)).unwrap()
}

/// A copy of the small firmware.
fn copied(place: &Place) {
    let mut copy = Command::new("cp");
    copy.args(["-r", &format!("{MINI}/."), "."]).current_dir(place.path(""));
    assert!(copy.status().unwrap().success());
}

/// The same, in which some text is replaced.
fn changed(place: &Place, file: &str, from: &str, to: &str) {
    copied(place);
    let text = place.read(file);
    assert!(text.contains(from), "{file}");
    place.write(file, text.replace(from, to));
}

/// What a client does that trusts the size in the header of a binary frame.
const TRUSTS: &str = "if (opcode == 2 && payload.size() >= 16) {
            const std::vector<uint8_t> bytes(payload.begin(), payload.end());
            const unsigned size = bytes[14] << 8 | bytes[15];
            unsigned sum = 0;
            for (unsigned at = 0; at < size; ++at) {
                sum += bytes.data()[16 + at];
            }
            ESP_LOGI(tag, \"%u bytes of sound come to %u\", size, sum);
        }
        if (opcode == 8) {";

#[test]
fn a_read_beyond_a_frame_is_found_beside_an_overflow_with_its_message_and_made_small() {
    if !can_build() {
        return;
    }
    let place = Place::new();
    changed(&place, "main/protocols/link.cc", "if (opcode == 8) {", TRUSTS);
    let run = ["run", "--dut", "host:.", "--linger", "0", "--only", "robustness/binary-v2"];
    let run = run.iter().chain(&["--only", "robustness/deep-nesting", "--host-sanitize"]);
    let done = place.hil(run).env("CARGO_TARGET_DIR", place.path("builds")).end().exits(1);
    done.prints(&["AddressSanitizer: heap-buffer-overflow", "sent ", "shrunk       from "]);
    // They are two things that are wrong, each with its case.
    let report = place.report();
    let causes = report["summary"]["causes"].as_array().unwrap();
    let read = beginning(causes, "AddressSanitizer: heap-buffer-overflow");
    let deep = beginning(causes, "A stack overflow in task ");
    assert_eq!(causes.len(), 2, "{causes:?}");
    for (cause, case) in [(read, "robustness/binary-v2"), (deep, "robustness/deep-nesting")] {
        assert_eq!(cause["cases"].as_array().unwrap().len(), 1, "{cause}");
        assert_eq!(cause["case"], case);
    }
    // The line that reads, and not only the library's that it calls.
    let console = read["finding"]["console"].to_string();
    assert!(console.contains("main/protocols/link.cc:"), "{console}");
    let text = smallest(&place, read);
    assert!(text.contains("  - configure: {version: 2}\n"), "{text}");
    // On a busy machine, what is left may be longer.
    let failure = &read["generated"];
    if failure.get("cut_short").is_none() {
        // The header alone, with the first size that is too much.
        let steps = text.split_once("steps:\n").unwrap().1;
        assert!(steps.contains("  - binary: \"00020000000000000000000000000001\"\n"), "{text}");
        assert_eq!(failure["to"], 1, "{text}");
    }
}

/// The cause of a run whose evidence says a text.
fn beginning<'a>(causes: &'a [Value], text: &str) -> &'a Value {
    let says = |cause: &&Value| cause["finding"]["received"].as_str().unwrap().contains(text);
    causes.iter().find(says).unwrap_or_else(|| panic!("no `{text}` in {causes:?}"))
}

/// What a firmware does that wants more memory than a chip has: it copes with it in one place, and not in another.
const GREEDY: [(&str, &str); 2] = [
    (
        "        application.Schedule([id, this, level",
        "        void* room = malloc(400000);
        if (room == nullptr) {
            Fail(id, -32603, \"No memory for the volume\");
            return;
        }
        free(room);
        application.Schedule([id, this, level",
    ),
    (
        "        ESP_LOGE(tag, \"Invalid id for method",
        "        const std::vector<char> room(400000);
        ESP_LOGE(tag, \"Invalid id for method",
    ),
];

#[test]
fn a_heap_of_limited_size_refuses_what_is_too_much() {
    if !can_build() {
        return;
    }
    let place = Place::new();
    copied(&place);
    let file = "main/mcp_server.cc";
    for (from, to) in GREEDY {
        let text = place.read(file).replace(from, to);
        assert!(text.contains(to), "{from}");
        place.write(file, text);
    }
    let run = ["run", "--dut", "host:.", "--linger", "0", "--no-confirm"];
    let run = run.iter().chain(&["--only", "volume/set", "--only", "ids/fraction"]);
    let hil = |heap: &[&'static str]| {
        let run = run.clone().chain(heap);
        place.hil(run).env("CARGO_TARGET_DIR", place.path("builds")).end()
    };
    hil(&[]).exits(0);
    hil(&["--host-heap", "300000"]).exits(1);
    let report = place.report();
    let found = |name: &str| {
        let cases = report["cases"].as_array().unwrap();
        let case = cases.iter().find(|case| case["case"] == name).unwrap();
        case["findings"].to_string()
    };
    // `malloc` gives nothing, and who looks goes on.
    let copes = found("volume/set");
    assert!(copes.contains("No memory for the volume"), "{copes}");
    assert!(!copes.contains("liveness."), "{copes}");
    // `new` throws, and who does not catch it panics.
    let panics = found("ids/fraction");
    assert!(
        panics.contains("liveness.no-panic") && panics.contains("abort() was called"),
        "{panics}"
    );
}

/// Nothing is written for a tool that a fork adds: it is listed, tested, and told as what has changed.
#[test]
fn a_tool_that_a_fork_adds_is_seen_in_the_next_run() {
    if !can_build() {
        return;
    }
    let place = Place::new();
    let file = "main/mcp_server.cc";
    let tools = "{\"self.reboot\", \"Restarts the device\", nothing, true},";
    changed(&place, file, tools, tools);
    let run = |out: &str| {
        let run = ["run", "--dut", "host:.", "--linger", "0", "--only", "list/", "--out", out];
        place.hil(run).env("CARGO_TARGET_DIR", place.path("builds")).end().exits(0)
    };
    run("before");
    let fan = "{\"self.fan.get_speed\", \"The speed of the fan\", nothing, false},";
    let call = "} else if (name == tools[2].name) {";
    let mine = "} else if (name == tools[3].name) {\n        Result(id, text_result(\"3\"));\n    ";
    let text = place.read(file).replace(tools, &format!("{tools}\n    {fan}"));
    place.write(file, text.replace(call, &format!("{mine}{call}")));
    run("after");
    let diff = place.hil(["diff", "before/latest", "after/latest"]).end();
    assert!(diff.stdout.contains("tool added: self.fan.get_speed"), "{diff}");
}

#[test]
fn what_a_build_lacks_is_named() {
    if !can_build() {
        return;
    }
    let place = Place::new();
    place.write("CMakeLists.txt", "set(PROJECT_VER \"2.4.2\")\n");
    for file in ["main/mcp_server.cc", "main/application.cc", "main/idf_component.yml"] {
        place.write(file, "");
    }
    let build = |more: &[&str]| {
        let args = ["firmware", "host"].iter().chain(more);
        place.hil(args).env("CARGO_TARGET_DIR", place.path("builds"))
    };
    let lacking = build(&[]).end().exits(3);
    assert!(lacking.stderr.contains("component 78/esp-ml307 is missing"), "{lacking}");
    assert!(lacking.stderr.contains("idf.py reconfigure"), "{lacking}");
    let bare = build(&[]).env("PATH", "/nowhere").end().exits(3);
    assert!(bare.stderr.contains("`cmake` does not start"), "{bare}");
    assert!(bare.stderr.contains("apt-get install cmake g++ make"), "{bare}");
}

/// A folder of `main/boards` is built in with what its config.json chooses, and its tools are there.
#[test]
fn a_board_of_the_firmware_brings_its_own_tools() {
    if !can_build() {
        return;
    }
    let place = Place::new();
    let dut = format!("host:{MINI}");
    let run =
        ["run", "--dut", &dut, "--host-board", "own-board", "--linger", "0", "--only", "list/"];
    let done = place.hil(run).env("CARGO_TARGET_DIR", builds()).end().exits(0);
    assert!(place.report().to_string().contains("self.lamp.get_state"), "{done}");
}

/// The small firmware with one board more, which includes what nobody has.
fn with_needy_board(place: &Place) {
    copied(place);
    place.write("main/boards/acme/needy/config.h", "#include <nowhere_pins.h>\n");
    let includes = "#include \"config.h\"\n#include <nowhere_drv.h>\nint drive = nowhere();\n";
    place.write("main/boards/acme/needy/needy.cc", includes);
    place.write("main/boards/acme/toaster/config.json", "{}");
}

#[test]
fn what_a_board_lacks_is_named_at_once_and_can_be_brought() {
    if !can_build() {
        return;
    }
    let place = Place::new();
    with_needy_board(&place);
    let build = |more: &[&str]| {
        let args = ["firmware", "host"].iter().chain(more);
        place.hil(args).env("CARGO_TARGET_DIR", place.path("builds"))
    };
    let near = build(&["--board", "toster"]).end().exits(2);
    assert!(near.stderr.contains("no board `toster`: expected `plain`, `lamp`"), "{near}");
    assert!(near.stderr.contains("did you mean `toaster`?"), "{near}");

    let lacking = build(&["--board", "needy"]).end().exits(3);
    assert!(lacking.stderr.contains("neither its sources nor the kit has (2)"), "{lacking}");
    for header in ["nowhere_pins.h", "nowhere_drv.h"] {
        assert!(lacking.stderr.contains(header), "{lacking}");
    }
    assert!(lacking.stderr.contains("main/boards/acme/needy/needy.cc"), "{lacking}");
    assert!(lacking.stderr.contains("`--stubs FOLDER`"), "{lacking}");

    place.write("stubs/nowhere_pins.h", "");
    place.write("stubs/nowhere_drv.h", "");
    let wrong = build(&["--board", "needy", "--stubs", "stubs"]).end().exits(3);
    assert!(wrong.stderr.contains("main/boards/acme/needy/needy.cc:3:13: error:"), "{wrong}");

    // Headers that declare it, and a source that defines it.
    place.write("stubs/nowhere_drv.h", "int nowhere();\n");
    place.write("stubs/nowhere.cc", "int nowhere() { return 0; }\n");
    build(&["--board", "needy", "--stubs", "stubs"]).end().exits(0);
}

/// A fork's own sources are built where the firmware's code includes their headers; what they lack is named before
/// anything is compiled.
#[test]
fn what_a_fork_has_added_is_found_by_its_headers() {
    if !can_build() {
        return;
    }
    let place = Place::new();
    place.write("CMakeLists.txt", "set(PROJECT_VER \"2.4.2\")\n");
    place.write("main/idf_component.yml", "");
    place.write("main/boards/common/board.h", "");
    for header in [
        "components/esp-ml307/include/network_interface.h",
        "components/cjson/cJSON.h",
        "components/esp-mqtt/include/mqtt_client.h",
        "main/remote/commands.h",
        "main/remote/never.h",
    ] {
        place.write(header, "");
    }
    place.write(
        "main/assets/locales/en-US/language.json",
        "{\"language\": {\"type\": \"en-US\"}, \"strings\": {\"OK\": \"ok\"}}",
    );
    place.write("main/mcp_server.cc", "");
    let includes = "#include \"remote/commands.h\"\n#if 0\n#include \"remote/never.h\"\n#endif\n";
    place.write("main/application.cc", includes);
    place.write("main/remote/commands.cc", "#include \"player.h\"\n");
    place.write("main/remote/never.cc", "#include \"nobodys.h\"\n");
    place.write("main/player.h", "");
    place.write("main/player.cc", "#include <mp3_decoder.h>\n");
    let lacking = place.hil(["firmware", "host"]).env("CARGO_TARGET_DIR", place.path("builds"));
    let lacking = lacking.end().exits(3);
    assert!(lacking.stderr.contains("neither its sources nor the kit has (1)"), "{lacking}");
    assert!(lacking.stderr.contains("mp3_decoder.h  main/player.cc"), "{lacking}");
    assert!(lacking.stderr.contains("the firmware in"), "{lacking}");
}

#[test]
fn what_is_no_firmware_is_refused() {
    let place = Place::new();
    let empty = place.hil(["run", "--dut", "host:."]).end().exits(2);
    assert!(empty.stderr.contains("expected a file `main/mcp_server.cc`"), "{empty}");
    let native = place.hil(["run", "--dut", "native", "--host-sanitize"]).end().exits(2);
    assert!(native.stderr.contains("expected a device `host:<folder>`"), "{native}");
    place.write("d.toml", "name = \"d\"\ntarget = \"native\"\n[host]\nboard = \"lamp\"\n");
    let file = place.hil(["run", "--dut", "d.toml"]).end().exits(2);
    assert!(file.stderr.contains("`[host]` with `target = \"native\"`"), "{file}");
    for option in ["--components", "--stubs"] {
        let args = ["firmware", "host", "--source", MINI, option, "nowhere"];
        let absent = place.hil(args).end().exits(2);
        assert!(absent.stderr.contains("no folder `nowhere`"), "{absent}");
        assert!(absent.stderr.contains(option), "{absent}");
    }
}

/// Everything that genuine firmware does differently is known and has its reason in the baseline.
#[test]
fn genuine_firmware_has_known_failures_only() {
    let Some(source) = std::env::var_os("XIAOZHI_SOURCE") else {
        missing::XIAOZHI.is_missing("a checkout of genuine firmware is judged there");
        return;
    };
    let place = Place::new();
    let dut = format!("host:{}", source.to_string_lossy());
    let baseline = concat!(env!("CARGO_MANIFEST_DIR"), "/../ci/baselines/xiaozhi-2.4.toml");
    let run = ["run", "--dut", &dut, "--transport", "both", "--baseline", baseline];
    place.hil(run).env("CARGO_TARGET_DIR", builds()).end().exits(0);
}
