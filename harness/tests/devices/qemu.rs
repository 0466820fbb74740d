//! The reference device on an emulated board: stock QEMU, as distributions package it, and programs
//! that stand in for an emulator in trouble.
//!
//! Where QEMU is not installed the tests that need it fail, unless `MCP_HIL_LEAVE_OUT` names `qemu`.

use crate::support::{Place, STOCK_QEMU, qemu, virt_image};
use nix::sys::signal::Signal;
use rstest::rstest;

#[test]
fn the_standard_suite_passes_over_both_transports() {
    if !qemu() {
        return;
    }
    let place = Place::new();
    place
        .hil(["run", "--dut", "qemu", "--transport", "both", "--strict"])
        .end()
        .exits(0)
        .prints(&["emulated CPU", "no board attached"]);
    let report = place.both_reports();
    assert_eq!(report["summary"]["failed"], 0, "{report}");
    assert!(report["summary"]["passed"].as_u64().unwrap() > 200);
    let dut = &report["run"]["duts"][0];
    assert_eq!(dut["target"], "qemu");
    let hidden = dut["cannot_show"].as_array().unwrap();
    assert!(hidden.contains(&"flash".into()), "{dut}");
}

/// Defects of every layer: messages, answers, frames, packets, datagrams, console and boot.
#[rstest]
#[case("id-int32-saturated", "websocket", "ids/large", "ids.above-int32")]
#[case("argument-fraction-rounded", "websocket", "arguments/fraction", "arguments.fraction")]
#[case("pong-missing", "websocket", "robustness/ping", "liveness.pong")]
#[case("mqtt-packet-qos-3", "mqtt", "initialize/full", "mqtt.packets")]
#[case("channel-type-zero", "mqtt", "channel/goodbye", "channel.header")]
fn mutants_are_caught(
    #[case] mutant: &str,
    #[case] transport: &str,
    #[case] case: &str,
    #[case] requirement: &str,
) {
    if !qemu() {
        return;
    }
    let place = Place::new();
    let arguments = ["run", "--dut", "qemu", "--mutant", mutant, "--only", case];
    place.hil(arguments.into_iter().chain(["--transport", transport])).end().exits(1);
    let report = place.report();
    let cases = report["cases"].as_array().unwrap();
    let mut findings =
        cases.iter().flat_map(|case| case["findings"].as_array().into_iter().flatten());
    assert!(findings.any(|finding| finding["requirement"] == requirement), "{report}");
}

#[rstest]
#[case("calls-overtake")]
#[case("slow")]
fn harmless_variations_have_no_finding(#[case] variant: &str) {
    if !qemu() {
        return;
    }
    let place = Place::new();
    place
        .hil([
            "run",
            "--dut",
            "qemu",
            "--strict",
            "--variant",
            variant,
            "--only",
            "session",
            "--only",
            "volume",
        ])
        .end()
        .exits(0);
}

#[test]
fn a_crash_of_the_device_restarts_it_and_counts_against_it() {
    if !qemu() {
        return;
    }
    let place = Place::new();
    place
        .hil([
            "run",
            "--dut",
            "qemu",
            "--mutant",
            "panic-at-unknown-method",
            "--only",
            "errors/method-not-found",
        ])
        .end()
        .exits(1)
        .prints(&["Guru Meditation Error"]);
}

/// What a run reports as trouble of the bench, with a script in the place of the emulator. Nothing
/// of that may live when the run is over.
fn trouble_with(script: &str) -> String {
    let place = Place::new();
    let script = format!("exec 5>'{}'\n{script}", place.path("alive").display());
    let emulator = place.program("emulator", &script);
    let image = place.write("image.elf", "mcp-hil-image=virt 0.1.0+0;");
    place.trouble(|| {
        place
            .hil(["run", "--dut", "qemu", "--connect-deadline", "2"])
            .env("MCP_HIL_QEMU", &emulator)
            .env("MCP_HIL_QEMU_IMAGE", &image)
    })
}

#[test]
fn the_image_is_told_where_to_ask_on_its_console() {
    let console = trouble_with("read -r line; echo \"told: $line\"; echo \"$@\"; exec sleep 1000");
    for part in [
        r#"told: config {"ota_url":"http://10.0.2.2:"#,
        "-M virt",
        "user,id=net0",
        "-kernel",
        "image.elf",
    ] {
        assert!(console.contains(part), "{part}: {console}");
    }
}

#[rstest]
#[case::dies("echo 'could not set up'; exit 1", "ended before it connected", "could not set up")]
#[case::is_killed("echo 'out of memory'; kill -9 $$", "ended before it connected", "out of memory")]
#[case::hangs_silently("exec sleep 1000", "within 2 s", "its console showed nothing")]
#[case::hangs_at_boot("echo 'rst:0x1 (POWERON)'; exec sleep 1000", "within 2 s", "rst:0x1")]
#[case::ignores_signals("trap '' TERM INT HUP; echo deaf; sleep 1000 & wait", "within 2 s", "deaf")]
#[case::is_stopped("echo halted; kill -STOP $$", "within 2 s", "halted")]
#[case::floods("yes 'E (1) boot: again'", "within 2 s", "boot: again")]
#[case::has_no_network(
    "echo 'W (2000) esp_netif_handlers: no address from the network yet'; exec sleep 1000",
    "within 2 s",
    "no address from the network yet"
)]
fn an_emulator_in_trouble_is_trouble_of_the_bench(
    #[case] script: &str,
    #[case] what: &str,
    #[case] console: &str,
) {
    let told = trouble_with(script);
    for part in [what, console, "hint: "] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// Even a harness that has no time to clean up.
#[test]
fn nothing_is_left_of_an_emulator_whose_harness_is_killed() {
    let place = Place::new();
    let pipe = place.pipe("alive");
    let script = format!("exec 5>'{}'\nsleep 1000 & wait", pipe.path.display());
    let emulator = place.program("emulator", &script);
    let image = place.write("image.elf", "mcp-hil-image=virt 0.1.0+0;");
    let run = place
        .hil(["run", "--dut", "qemu"])
        .env("MCP_HIL_QEMU", &emulator)
        .env("MCP_HIL_QEMU_IMAGE", &image)
        .start();
    pipe.opened();
    run.signal(Signal::SIGKILL);
    pipe.closed();
}

#[test]
fn an_emulator_that_is_not_installed_is_told_with_the_command_that_brings_it() {
    let place = Place::new();
    place
        .hil(["run", "--dut", "qemu"])
        .without_env("MCP_HIL_QEMU")
        .env("PATH", place.path("nothing"))
        .end()
        .exits(3)
        .says(&[STOCK_QEMU, "apt-get install qemu-system-misc"]);
}

#[test]
fn what_is_no_image_is_refused() {
    let place = Place::new();
    let image = place.write("image.elf", "\x7fELF");
    place
        .hil(["run", "--dut", "qemu"])
        .env("MCP_HIL_QEMU", "/bin/true")
        .env("MCP_HIL_QEMU_IMAGE", &image)
        .end()
        .exits(3)
        .says(&["is not an image of the reference device", "ci/firmware.sh virt"]);
}

#[test]
fn a_gateway_refuses_a_device_that_it_cannot_configure() {
    let place = Place::new();
    let image = place.write("image.elf", "mcp-hil-image=virt 0.1.0+0;");
    place
        .hil(["gateway", "--dut", "qemu"])
        .env("MCP_HIL_QEMU", "/bin/true")
        .env("MCP_HIL_QEMU_IMAGE", &image)
        .end()
        .exits(2)
        .says(&["`--dut qemu`", "hint: start it yourself and use `--dut wait`"]);
}

/// A device of another build than the image has no verdicts.
#[test]
fn another_firmware_than_that_of_the_image_is_trouble_of_the_bench() {
    if !qemu() {
        return;
    }
    let place = Place::new();
    let mut image = std::fs::read(virt_image()).unwrap();
    // The mark says another version; what the device tells is elsewhere in the image.
    let mark = b"mcp-hil-image=virt ";
    let mut windows = image.windows(mark.len());
    let at = windows.position(|window| window == mark).unwrap() + mark.len();
    image[at] = b'9';
    let image = place.write("image.elf", image);
    place
        .hil(["run", "--dut", "qemu"])
        .env("MCP_HIL_QEMU_IMAGE", &image)
        .end()
        .exits(3)
        .prints(&["different firmware", "`9.1.0+"]);
}
