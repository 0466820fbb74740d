//! Emulators of ESP32 chips: programs that stand in for them, as their documentation says that they
//! behave, and in trouble. Where Espressif's QEMU is at hand (`MCP_HIL_QEMU_ESP`, with its ROMs in
//! `MCP_HIL_QEMU_ESP_BIOS`), the suite runs in it, too; elsewhere that is said.

use std::path::PathBuf;
use std::time::Duration;

use crate::support::{Hil, Place, chip_image, files, qemu, virt_image};
use rstest::rstest;
use serde_json::Value;

/// An image of a whole flash of 4 MiB, for a chip, with `more` behind its partition table.
fn image(place: &Place, chip: u8, bootloader: usize, more: &[u8]) -> PathBuf {
    let mut bytes = vec![0xff; 0x1_0000];
    bytes[bootloader] = 0xe9;
    bytes[bootloader + 3] = 0x2f;
    bytes[bootloader + 12..][..2].copy_from_slice(&[chip, 0]);
    bytes[0x8000..][..2].copy_from_slice(&[0xaa, 0x50]);
    bytes.extend(more);
    place.write("merged.bin", bytes)
}

const C3: u8 = 5;

/// What stands in for Espressif's QEMU lists its boards and then dials its console, which is 3.
const QEMU: &str = r#"
case "$*" in "-M help") echo "Supported machines are:"; echo "esp32c3    Espressif ESP32C3 machine"; exit;; esac
arguments=" $* "
port=${arguments#*tcp:127.0.0.1:}; port=${port%%,*}
exec 3<>/dev/tcp/127.0.0.1/$port || exit 9
"#;

/// The reference device in the place of firmware: the network of this host is its own.
const DEVICE: &str = r#"unset MCP_HIL_OTA_URL; exec "$REFERENCE_DEVICE""#;

fn qemu_esp(place: &Place, script: &str, more: &[&str]) -> Hil {
    let emulator = place.program("emulator", script);
    let mut run = vec!["run", "--dut", "qemu-esp"];
    run.extend(more);
    place.hil(run).env("MCP_HIL_QEMU_ESP", emulator).without_env("MCP_HIL_QEMU_ESP_BIOS")
}

#[test]
fn firmware_in_espressifs_qemu_is_judged_and_its_console_read() {
    let place = Place::new();
    let before = std::fs::read(image(&place, C3, 0, b"")).unwrap();
    let script = format!("{QEMU}\necho 'ESP-ROM:esp32c3-api1-20210207' >&3\n{DEVICE} >&3 2>&3");
    let more = ["--firmware", "merged.bin", "--only", "ids/", "--cases", "0"];
    qemu_esp(&place, &script, &more)
        .end()
        .exits(0)
        .prints(&["emulated chip (esp32c3, Espressif's QEMU), no board attached"]);
    let report = place.both_reports();
    let dut = &report["run"]["duts"][0];
    assert_eq!(dut["target"], "qemu-esp");
    assert_eq!(dut["level"], "emulated chip");
    let hidden = dut["cannot_show"].as_array().unwrap();
    assert!(hidden.contains(&"Wi-Fi".into()), "{dut}");
    let log = place.read("target/mcp-hil/latest/console.log");
    assert!(log.contains("ESP-ROM:esp32c3") && log.contains("MCP: "), "{log}");
    // The device may write to its flash: a copy of it, as large as the chip's.
    assert_eq!(std::fs::read(place.path("merged.bin")).unwrap(), before);
    let flash = std::fs::metadata(place.latest().join("flash.bin")).unwrap();
    assert_eq!(flash.len(), 4 << 20);
}

#[test]
fn the_emulator_that_was_brought_in_is_found() {
    let place = Place::new();
    image(&place, C3, 0, b"");
    let script = format!("{QEMU}\n{DEVICE} >&3 2>&3");
    std::fs::create_dir_all(place.path("cache/qemu-esp/qemu/bin")).unwrap();
    let programs = "cache/qemu-esp/qemu/bin/qemu-system-riscv32";
    place.program(programs, &script);
    let run = ["run", "--dut", "qemu-esp", "--firmware", "merged.bin"];
    place
        .hil(run.iter().chain(&["--only", "ids/zero", "--cases", "0"]))
        .env("MCP_HIL_CACHE", place.path("cache"))
        .without_env("MCP_HIL_QEMU_ESP")
        .end()
        .exits(0);
}

#[test]
fn firmware_of_another_version_than_the_image_is_trouble_of_the_bench() {
    let place = Place::new();
    image(&place, C3, 0, b"mcp-hil-image=esp32c3 9.9.9+0;");
    let script = format!("{QEMU}\n{DEVICE} >&3 2>&3");
    qemu_esp(&place, &script, &["--firmware", "merged.bin"])
        .end()
        .exits(3)
        .prints(&["different firmware", "`9.9.9+0`"]);
}

/// What a run reports as trouble of the bench, with a script in the place of the emulator. Nothing
/// of that may live when the run is over.
fn trouble_with(script: &str, chip: u8, bootloader: usize) -> String {
    let place = Place::new();
    image(&place, chip, bootloader, b"");
    let alive = format!("exec 5>'{}'", place.path("alive").display());
    let script = script.replace("#alive", &alive);
    let more = ["--firmware", "merged.bin", "--connect-deadline", "2"];
    place.trouble(|| qemu_esp(&place, &script, &more).env("MCP_HIL_QEMU_ESP_BIOS", "/roms"))
}

#[test]
fn the_emulator_gets_what_it_needs_and_the_device_is_told_when_it_asks() {
    let script = format!(
        "{QEMU}#alive\necho \"$@\"; echo 'Waiting for a line `config {{...}}`' >&3
         read -r told <&3; echo \"told: $told\" >&3; exec sleep 1000"
    );
    let told = trouble_with(&script, C3, 0);
    for part in [
        "-M esp32c3 -L /roms",
        "/flash.bin,if=mtd,format=raw",
        "/efuse.bin,if=none,format=raw,id=efuse",
        "-global driver=nvram.esp32c3.efuse,property=drive,value=efuse",
        "-global driver=timer.esp32c3.timg,property=wdt_disable,value=true",
        "-nic user,model=open_eth",
        "-serial tcp:127.0.0.1:",
        ",server=off,nodelay=on",
        r#"told: config {"ota_url":"http://10.0.2.2:"#,
        "hint: ",
        "open_eth",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[rstest]
#[case::dies(
    "echo 'qemu: could not load the ROM'; exit 1",
    "ended before it connected",
    "could not load the ROM"
)]
#[case::is_killed("echo 'rst:0x1' >&3; kill -9 $$", "ended before it connected", "rst:0x1")]
#[case::hangs_silently("exec sleep 1000", "within 2 s", "its console showed nothing")]
#[case::hangs_at_boot(
    "echo 'boot: Loaded app from partition' >&3; exec sleep 1000",
    "within 2 s",
    "boot: Loaded app"
)]
#[case::floods("yes 'E (1) boot: again' >&3", "within 2 s", "boot: again")]
#[case::has_no_network(
    "echo 'E (9) esp_netif: no address' >&3; exec sleep 1000",
    "within 2 s",
    "no address"
)]
#[case::closes_its_console("echo 'bye' >&3; exec 3>&-; exec sleep 1000", "within 2 s", "bye")]
fn an_emulator_in_trouble_is_trouble_of_the_bench(
    #[case] script: &str,
    #[case] what: &str,
    #[case] console: &str,
) {
    let told = trouble_with(&format!("{QEMU}#alive\n{script}"), C3, 0);
    for part in [what, console, "hint: "] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_program_that_never_opens_its_console_is_trouble_of_the_bench() {
    let script = "case $2 in help) echo esp32c3; exit;; esac\n#alive\nexec sleep 1000";
    let told = trouble_with(script, C3, 0);
    assert!(told.contains("its console showed nothing"), "{told}");
}

#[test]
fn other_chips_have_their_own_machines() {
    let script =
        "case $2 in help) echo 'esp32 Espressif ESP32'; exit;; esac\n#alive\necho \"$@\"; exit 1";
    let told = trouble_with(script, 0, 0x1000);
    assert!(told.contains("-M esp32 -m 4M "), "{told}");
    assert!(told.contains("driver=timer.esp32.timg,"), "{told}");
}

/// An emulator that tells its arguments, in a place with an image. Gives what it was told.
fn arguments(place: &Place, chip: &str, number: u8, more: &[u8], dut: &[&str]) -> String {
    let bootloader = if number == 0 { 0x1000 } else { 0 };
    image(place, number, bootloader, more);
    let script =
        format!("case $2 in help) echo {chip}; exit;; esac\nprintf '%s\\n' \"$*\" > told; exit 1");
    let emulator = place.program("emulator", &script);
    place
        .hil(["run"].iter().chain(dut))
        .env("MCP_HIL_QEMU_ESP", emulator)
        .without_env("MCP_HIL_QEMU_ESP_BIOS")
        .end()
        .exits(3);
    place.read("told")
}

/// As `idf.py qemu` starts each of them (`tools/idf_py_actions/qemu_ext.py` of ESP-IDF).
#[rstest]
#[case::esp32("esp32", 0, b"", "-M esp32 -m 4M ", 124, &[(13, 0x80), (22, 0x10)], false)]
#[case::esp32c3("esp32c3", 5, b"octal_psram\0", "-M esp32c3 -no-user-config ", 1024, &[(38, 0x0c)], false)]
#[case::esp32s3("esp32s3", 9, b"quad_psram\0", "-M esp32s3 -m 32M ", 1024, &[(38, 0x0c)], false)]
#[case::octal("esp32s3", 9, b"octal_psram\0", "-M esp32s3 -m 32M ", 1024, &[(38, 0x0c)], true)]
fn a_chip_gets_its_memory_and_fuses_and_no_watchdogs(
    #[case] chip: &str,
    #[case] number: u8,
    #[case] application: &[u8],
    #[case] machine: &str,
    #[case] fuses: usize,
    #[case] burnt: &[(usize, u8)],
    #[case] is_octal: bool,
) {
    let place = Place::new();
    let dut = ["--dut", "qemu-esp", "--firmware", "merged.bin"];
    let told = arguments(&place, chip, number, application, &dut);
    assert!(told.starts_with(machine), "{told}");
    let watchdogs = format!("-global driver=timer.{chip}.timg,property=wdt_disable,value=true");
    assert!(told.contains(&watchdogs), "{told}");
    let octal = told.contains("-global driver=ssi_psram,property=is_octal,value=true");
    assert_eq!(octal, is_octal, "{told}");
    let file = std::fs::read(place.latest().join("efuse.bin")).unwrap();
    let mut expected = vec![0; fuses];
    burnt.iter().for_each(|(at, byte)| expected[*at] = *byte);
    assert!(file == expected, "{chip}");
}

#[test]
fn arguments_of_the_device_s_file_come_last_and_its_network_card_in_place_of_ours() {
    let place = Place::new();
    let file = "name = \"c3\"\ntarget = \"qemu-esp\"\nfirmware = \"merged.bin\"\n[emulator]\n";
    let run = |arguments_: &str| {
        place.write("c3.toml", format!("{file}arguments = {arguments_}\n"));
        arguments(&place, "esp32c3", C3, b"", &["--dut", "c3.toml"])
    };
    let told = run(r#"["-icount", "shift=3"]"#);
    assert!(told.ends_with(",nodelay=on -icount shift=3\n"), "{told}");
    assert!(told.contains("-nic user,model=open_eth"), "{told}");
    let told = run(r#"["-nic", "user,model=open_eth,id=lo0"]"#);
    assert!(told.ends_with(",nodelay=on -nic user,model=open_eth,id=lo0\n"), "{told}");
    assert_eq!(told.matches("-nic").count(), 1, "{told}");
}

/// A device in an emulator that ends in the middle of a run, once.
#[rstest]
#[case::is_killed("kill -KILL $$", "the emulator ended by signal 9 (SIGKILL)")]
#[case::is_terminated("kill -TERM $$", "the emulator ended by signal 15 (SIGTERM)")]
#[case::crashes("kill -ILL $$", "the emulator ended by signal 4 (SIGILL)")]
fn an_emulator_that_ends_in_the_middle_spoils_one_case_and_the_rest_runs_in_a_fresh_one(
    #[case] end: &str,
    #[case] why: &str,
) {
    let place = Place::new();
    image(&place, C3, 0, b"");
    let once = place.path("once");
    let script = format!(
        "{QEMU}
         exec > >(while IFS= read -r line; do echo \"$line\" >&3
            case $line in *'Set output volume to 42'*)
                [ -e '{once}' ] || {{ touch '{once}'; {end}; }};;
            esac
         done) 2>&1
         {DEVICE} 3>&-",
        once = once.display()
    );
    let more = ["--firmware", "merged.bin", "--only", "volume/", "--cases", "0"];
    qemu_esp(&place, &script, &more).end().exits(3);
    let report = place.both_reports();
    let summary = &report["summary"];
    let counts = (&summary["failed"], &summary["inconclusive"], &summary["errors"]);
    assert_eq!(counts, (&0.into(), &0.into(), &1.into()), "{report}");
    let cases = report["cases"].as_array().unwrap();
    let at = cases.iter().position(|case| case["verdict"] == "error").unwrap();
    let reason = cases[at]["reason"].as_str().unwrap();
    assert!(reason.contains(why), "{reason}");
    let after = cases[at + 1..].iter();
    assert!(after.filter(|case| case["verdict"] == "pass").count() > 1, "{report}");
    place.hil(["replay", "target/mcp-hil/latest"]).end().exits(3);
}

#[rstest]
#[case::no_image(&["--dut", "qemu-esp"], 2, &["`--dut qemu-esp` without an image", "`--firmware FILE.bin`", "`mcp-hil firmware build esp32c3-qemu`"])]
#[case::no_file(&["--dut", "qemu-esp", "--firmware", "none.bin"], 2, &["cannot read the image `none.bin`"])]
#[case::no_flash(&["--dut", "qemu-esp", "--firmware", "app.bin"], 2, &["not an image of a whole flash", "merge-bin"])]
#[case::other_chip(&["--dut", "qemu-esp", "--firmware", "merged.bin"], 2, &["image for `esp32c6`", "--dut esp-emu"])]
#[case::stock(&["--dut", "qemu-esp", "--firmware", "c3/merged.bin"], 3, &["does not list the machine `esp32c3`", "hint: `mcp-hil setup qemu-esp`"])]
#[case::others_boot_none(&["--dut", "native", "--firmware", "merged.bin"], 2, &["`--firmware` with `--dut native`"])]
#[case::a_mutant_of_others(&["--dut", "qemu-esp", "--firmware", "c3/merged.bin", "--mutant", "id-as-string"], 2, &["only images of the reference device have mutants"])]
fn what_cannot_be_booted_is_refused(
    #[case] more: &[&str],
    #[case] exit: i32,
    #[case] says: &[&str],
) {
    let place = Place::new();
    std::fs::create_dir(place.path("c3")).unwrap();
    std::fs::rename(image(&place, C3, 0, b""), place.path("c3/merged.bin")).unwrap();
    image(&place, 0x0d, 0, b"");
    place.write("app.bin", b"\xe9\x05\x02\x2f and so on, for a while; nothing else");
    let stock = place.program("emulator", "echo 'virt   RISC-V VirtIO board'");
    place
        .hil(["run"].iter().chain(more))
        .env("MCP_HIL_QEMU_ESP", stock)
        .env("CARGO_TARGET_DIR", place.path("nothing-built"))
        .end()
        .exits(exit)
        .says(says);
}

/// A gateway that says on a pipe where it listens, and a simulator that does nothing without it, in
/// which a device runs.
fn wokwi(place: &Place, token: Option<&str>, device: &str) -> Hil {
    let listening = place.path("listening");
    let mode = nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR;
    nix::unistd::mkfifo(&listening, mode).unwrap();
    let listening = listening.display();
    let gateway = place.program(
        "gateway",
        &format!(
            "[ \"$1\" = --listenPort ] || exit 1
             [ -z \"$ALIVE\" ] || exec 5>\"$ALIVE\"
             echo \"$2\" >'{listening}'; exec sleep 1000"
        ),
    );
    let cli = place.program(
        "cli",
        &format!(
            "[ -n \"$WOKWI_CLI_TOKEN\" ] || {{ echo 'Error: Missing WOKWI_CLI_TOKEN'; exit 1; }}
             cd \"${{@: -1}}\" && [ -s diagram.json ] && [ -s flash.bin ] || exit 1
             read -r port <'{listening}'
             grep -q \"gateway = 'ws://localhost:$port'\" wokwi.toml || exit 1
             echo 'Connected to Wokwi Simulation API 1.0.0'; echo \"$@\"
             echo \"the token is $WOKWI_CLI_TOKEN\"; echo 'Starting simulation...'
             {device}"
        ),
    );
    image(place, 0x0d, 0, b"");
    let run = ["run", "--dut", "wokwi", "--firmware", "merged.bin", "--only", "ids/"];
    let hil = place.hil(run).env("MCP_HIL_WOKWI_CLI", cli).env("MCP_HIL_WOKWIGW", gateway);
    match token {
        Some(token) => hil.env("WOKWI_CLI_TOKEN", token),
        None => hil.without_env("WOKWI_CLI_TOKEN"),
    }
}

#[test]
fn firmware_in_wokwis_simulator_is_judged_and_the_token_is_written_nowhere() {
    let place = Place::new();
    let token = "wok_1234567890abcdef";
    let done = wokwi(&place, Some(token), DEVICE)
        .end()
        .exits(0)
        .prints(&["emulated chip (esp32c6, Wokwi), no board attached"]);
    assert!(!format!("{done}").contains(token), "{done}");
    let log = place.read("target/mcp-hil/latest/console.log");
    let arguments = "--timeout 0 --scenario config.test.yaml /";
    assert!(log.contains(arguments), "{log}");
    assert!(log.contains("the token is ${WOKWI_CLI_TOKEN}"), "{log}");
    for file in files(&place.latest().canonicalize().unwrap()) {
        let bytes = std::fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(token), "{}", file.display());
    }
    let diagram = place.read("target/mcp-hil/latest/wokwi/diagram.json");
    let diagram: Value = serde_json::from_str(&diagram).unwrap();
    assert_eq!(diagram["parts"][0]["type"], "board-esp32-c6-devkitc-1");
    let scenario = place.read("target/mcp-hil/latest/wokwi/config.test.yaml");
    let scenario: Value = serde_json::from_str(&scenario).unwrap();
    let written = scenario["steps"][1]["write-serial"].as_str().unwrap();
    let beginning = "config {\"ota_url\":\"http://10.13.37.254:";
    assert!(written.starts_with(beginning), "{written}");
}

#[rstest]
#[case::dies("echo 'API Error: out of minutes'; exit 1", "out of minutes")]
#[case::hangs("trap '' TERM; sleep 1000 & wait", "Starting simulation...")]
fn a_simulation_in_trouble_is_trouble_of_the_bench_and_takes_the_gateway_with_it(
    #[case] device: &str,
    #[case] console: &str,
) {
    let place = Place::new();
    let pipe = place.pipe("alive");
    let done = wokwi(&place, Some("wok_1234567890abcdef"), device)
        .env("ALIVE", &pipe.path)
        .arg("--connect-deadline")
        .arg("2")
        .end();
    pipe.opened();
    pipe.closed();
    done.exits(3);
    let report = place.report();
    let told = report["summary"]["bench_error"].as_str().unwrap();
    for part in [console, "hint: ", "`Wokwi-GUEST`", "wokwigw"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("wok_1234567890abcdef"), "{told}");
}

#[test]
fn without_a_token_there_is_no_simulation() {
    let place = Place::new();
    wokwi(&place, None, DEVICE).end().exits(3).says(&["WOKWI_CLI_TOKEN is not set", "hint: "]);
}

#[test]
fn firmware_in_esp_emulator_is_judged() {
    let place = Place::new();
    image(&place, 0x0d, 0, b"");
    let emulator = place.program("esp-emu", &format!("echo \"$@\"\n{DEVICE}"));
    let run = ["run", "--dut", "esp-emu", "--firmware", "merged.bin", "--only", "ids/"];
    place
        .hil(run)
        .env("MCP_HIL_ESP_EMU", emulator)
        .end()
        .exits(0)
        .prints(&["emulated chip (esp32c6, esp-emulator), no board attached"]);
    let log = place.read("target/mcp-hil/latest/console.log");
    for part in [
        "--chip esp32c6 --firmware /",
        "/flash.bin --net user --inject config {\"ota_url\":\"http://192.168.4.1:",
        "}\\n --inject-on Waiting for a line `config",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
}

#[test]
fn a_device_file_names_its_image() {
    let place = Place::new();
    image(&place, C3, 0, b"");
    place.write("c3.toml", "name = \"c3\"\ntarget = \"qemu-esp\"\nfirmware = \"merged.bin\"\n");
    let emulator = place.program("emulator", &format!("{QEMU}\n{DEVICE} >&3 2>&3"));
    place
        .hil(["run", "--dut", "c3.toml", "--only", "ids/zero"])
        .env("MCP_HIL_QEMU_ESP", emulator)
        .end()
        .exits(0)
        .prints(&[": c3 over websocket: emulated chip"]);
}

/// How the console of a real QEMU is dialled and answered, shown with the board that stock QEMU has.
#[test]
fn the_console_of_a_real_qemu_is_read_and_answered() {
    if !qemu() {
        return;
    }
    let place = Place::new();
    image(&place, C3, 0, b"");
    let script = format!(
        "case \"$*\" in '-M help') echo esp32c3; exit;; esac
         exec qemu-system-riscv32 -M virt -m 256M -nodefaults -no-user-config -display none \
         -monitor none -bios none -netdev user,id=n -device virtio-net-device,netdev=n \
         -serial \"${{@: -1}}\" -kernel '{}'",
        virt_image().display()
    );
    let more = ["--firmware", "merged.bin", "--only", "session", "--only", "ids/", "--cases", "0"];
    qemu_esp(&place, &script, &more).end().exits(0);
    let log = place.read("target/mcp-hil/latest/console.log");
    assert!(log.contains("Waiting for a line `config"), "{log}");
}

/// The image of the reference device in Espressif's QEMU, where both are at hand.
#[test]
fn the_reference_device_passes_in_espressifs_qemu() {
    /// The whole suite takes 50 to 150 s there: the emulator's network dawdles.
    const LONGEST: Duration = Duration::from_secs(600);
    let Some(image) = chip_image() else { return };
    let place = Place::new();
    let run = ["run", "--dut", "qemu-esp", "--firmware", &image];
    place
        .hil(run.into_iter().chain(["--transport", "both", "--strict"]))
        .start()
        .within(LONGEST)
        .end()
        .exits(0)
        .prints(&["emulated chip (esp32c3, Espressif's QEMU)"]);
    assert_eq!(place.both_reports()["summary"]["failed"], 0);
}
