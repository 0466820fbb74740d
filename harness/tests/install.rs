//! What shells, readers and editors know of the program: completions, manual pages, and schemas that accept all files
//! of the project and refuse mistakes.

#![cfg(not(feature = "hil"))]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jsonschema::Validator;
use mcp_hil_bench::dut::DutFile;
use mcp_hil_core::baseline::Baseline;
use serde_json::Value;
use support::Place;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A schema as it is shipped.
fn schema(name: &str) -> Validator {
    let path = root().join(format!("harness/schema/{name}.schema.json"));
    let text = std::fs::read_to_string(path).unwrap();
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

/// The files with an ending below a folder.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

fn toml(text: &str) -> Value {
    let table: toml::Table = toml::from_str(text).unwrap();
    serde_json::to_value(table).unwrap()
}

#[track_caller]
fn accepts(schema: &Validator, value: &Value, what: &str) {
    let wrong: Vec<String> = schema
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{what}\n{}", wrong.join("\n"));
}

#[test]
fn the_shipped_schemas_are_those_that_the_program_derives() {
    let place = Place::new();
    for name in ["scenario", "device", "baseline", "profiles", "report", "events"] {
        let printed = place.hil(["schema", name]).end().exits(0).stdout;
        let shipped =
            std::fs::read_to_string(root().join(format!("harness/schema/{name}.schema.json")));
        assert!(
            shipped.is_ok_and(|shipped| shipped == printed),
            "harness/schema/{name}.schema.json differs\n\nhint: `mcp-hil schema --write harness/schema`"
        );
    }
    place.hil(["schema", "--write"]).end().exits(0);
    assert!(place.path("ci/schema/device.schema.json").is_file());
    place.hil(["schema"]).end().exits(2);
}

#[test]
fn all_files_of_the_project_are_accepted() {
    for (name, folder, ending) in [
        ("scenario", "scenarios/scripts", ".yaml"),
        ("device", "ci/duts", ".toml"),
        ("baseline", "ci/baselines", ".toml"),
    ] {
        let schema = schema(name);
        let mut all = Vec::new();
        files(&root().join(folder), ending, &mut all);
        assert!(!all.is_empty(), "{folder}");
        for path in all {
            let text = std::fs::read_to_string(&path).unwrap();
            let value = match ending {
                ".yaml" => serde_saphyr::from_str(&text).unwrap(),
                _ => toml(&text),
            };
            accepts(&schema, &value, &path.display().to_string());
        }
    }
}

/// What a device file may say beyond the files of the project.
#[test]
fn device_files_that_are_read_are_accepted() {
    let schema = schema("device");
    let board = "name = \"a\"\ntarget = \"board\"\n";
    let usb = "[board]\nserial = \"1\"\n";
    for text in [
        "name = \"kitchen.2\"\ntarget = \"exec:python3 device.py\"\ntransports = [\"mqtt\"]\nlisten = \"192.168.1.5:8765\"\n\
         http_listen = \"[::1]:0\"\n[mqtt]\nbroker = \"127.0.0.1:1883\"\n[tools]\ndeny = [\"self.lamp.*\"]\n",
        "name = \"a\"\ntarget = \"host:../fork\"\n[host]\nboard = \"camera\"\nsanitize = true\n",
        "name = \"a\"\ntarget = \"qemu-esp\"\nfirmware = \"x.bin\"\n[emulator]\narguments = [\"-icount\"]\n",
        "name = \"a\"\ntarget = \"wait\"\nfidelity = \"emulated chip\"\n[snapshots]\nfamily = \"b\"\nredact = [\"version\"]\n\
         [[snapshots.rule]]\nname = \"s\"\ntext = \"SN\"\nmark = \"[s]\"\n",
        &format!(
            "{board}fallback = true\nfirmware = \"x.elf\"\n{usb}mac = \"F4-12-FA-00-11-22\"\nchip = \"esp32s3\"\nflash_size = \"16MB\"\n"
        ),
        &format!(
            "{board}fallback = [\"qemu-esp\"]\n{usb}parts = [{{offset = 0x20000, file = \"a\"}}]\nconsole = \"none\"\n"
        ),
        &format!("{board}[board]\nport = \"/dev/pts/7\"\n"),
        &format!(
            "{board}{usb}location = \"1-2.3\"\n[board.wifi]\nssid = \"bench\"\npassword_env = \"WIFI\"\n\
                  [board.trigger]\nkind = \"button\"\npulse_ms = 100\n[board.power]\ncycle = \"a\"\noff = \"b\"\non = \"c\"\n"
        ),
    ] {
        DutFile::load("a.toml", text).unwrap_or_else(|problem| panic!("{text}\n{problem}"));
        accepts(&schema, &toml(text), text);
    }
}

#[test]
fn mistakes_in_device_files_are_refused() {
    let schema = schema("device");
    let board = |lines: &str| format!("name = \"a\"\ntarget = \"board\"\n[board]\n{lines}\n");
    let usb = |lines: &str| board(&format!("serial = \"1\"\n{lines}"));
    let mistakes = [
        "target = \"wait\"".to_owned(),
        "name = \"a/b\"\ntarget = \"wait\"".to_owned(),
        "name = \"a\"\ntarget = \"wait\"\ntransport = [\"mqtt\"]".to_owned(),
        "name = \"a\"\ntarget = \"wait\"\ntransports = [\"radio\"]".to_owned(),
        "name = \"a\"\ntarget = \"wait\"\nlisten = \"8765\"".to_owned(),
        "name = \"a\"\ntarget = \"wait\"\nfallback = true".to_owned(),
        "name = \"a\"\ntarget = \"wait\"\nfidelity = \"chip\"".to_owned(),
        "name = \"a\"\ntarget = \"wait\"\n[board]\nserial = \"1\"".to_owned(),
        "name = \"a\"\ntarget = \"native\"\n[emulator]\narguments = []".to_owned(),
        "name = \"a\"\ntarget = \"native\"\n[host]\nboard = \"camera\"".to_owned(),
        "name = \"a\"\ntarget = \"board\"".to_owned(),
        "name = \"a\"\ntarget = \"board\"\nfallback = [\"board\"]\n[board]\nserial = \"1\"".to_owned(),
        "name = \"a\"\ntarget = \"board\"\nfallback = []\n[board]\nserial = \"1\"".to_owned(),
        "name = \"a\"\ntarget = \"board\"\nfirmware = \"x\"\n[board]\nserial = \"1\"\nparts = [{offset = 0, file = \"y\"}]"
            .to_owned(),
        board(""),
        board("serial = \"\""),
        board("mac = \"f4:12\""),
        board("location = \"usb1/1-2\""),
        board("port = \"/dev/ttyUSB0\""),
        usb("port = \"/dev/pts/1\""),
        usb("chip = \"esp32c33\""),
        usb("flash_size = \"4MiB\""),
        usb("flash_baud = 300"),
        usb("console = \"uhart\""),
        usb("serail = \"1\""),
        usb("wait_for = \"\""),
        usb("parts = [{offset = 0x100, file = \"a\"}]"),
        usb("wifi.ssid = \"\""),
        usb("wifi = {ssid = \"b\", password = \"hunter22\"}"),
        usb("wifi = {ssid = \"b\", password_env = \"hunter 22\"}"),
        usb("trigger.kind = \"command\""),
        usb("trigger = {kind = \"prompt\", command = \"a\"}"),
        usb("trigger = {kind = \"button\", pulse_ms = 3000}"),
        usb("trigger.pulse_ms = 100"),
        usb("power.cycle = \" \""),
        usb("power = {cycle = \"a\", off = \"b\"}"),
        usb("power = {cycle = \"a\", on = \"b\"}"),
    ];
    for text in mistakes {
        assert!(DutFile::load("a.toml", &text).is_err(), "no mistake\n{text}");
        assert!(!schema.is_valid(&toml(&text)), "accepted\n{text}");
    }
}

#[test]
fn mistakes_in_baselines_are_refused() {
    let schema = schema("baseline");
    let good = "[[known]]\ncase = \"*\"\nrequirement = \"ids.echo\"\nreason = \"r\"\n";
    for more in [
        "",
        "unexercised = true\n",
        "transport = \"mqtt\"\nexpires = \"2027-01-31\"\nfirmware = \">=2.4, <3\"\n",
    ] {
        let text = format!("{good}{more}");
        Baseline::load("b.toml", &text).unwrap();
        accepts(&schema, &toml(&text), &text);
    }
    for (from, to) in [
        ("reason = \"r\"", "reason = \" \""),
        ("reason = \"r\"", ""),
        ("reason", "raison"),
        ("case = \"*\"", ""),
        ("\"r\"", "\"r\"\nexpires = \"31.1.2027\""),
        ("\"r\"", "\"r\"\ntransport = \"radio\""),
        ("\"r\"", "\"r\"\nreview = 1"),
        ("\"*\"", "\"ids/\"\nunexercised = true"),
        ("\"ids.echo\"", "\"ids.\"\nunexercised = true"),
        ("\"r\"", "\"r\"\nunexercised = true\ntransport = \"mqtt\""),
        ("[[known]]", "[[knwon]]"),
    ] {
        let text = good.replace(from, to);
        assert!(Baseline::load("b.toml", &text).is_err(), "no mistake\n{text}");
        assert!(!schema.is_valid(&toml(&text)), "accepted\n{text}");
    }
}

#[test]
fn profiles_are_described_as_they_are_read() {
    let schema = schema("profiles");
    let place = Place::new();
    let run = |text: &str| {
        place.write("mcp-hil.toml", text);
        place.hil(["run", "--only", "no/such"]).end().code
    };
    let good = "[profile.default]\ndut = [\"native\", \"wait\"]\nstrict = true\ninputs = 100\ndeadline = \"5s\"\n\
                prefer = [\"qemu\", \"native\"]\ntransport = \"mqtt\"\n[profile.ci]\nfallback = true\nout = \"runs\"\n";
    accepts(&schema, &toml(good), good);
    assert_eq!(run(&good.replace("dut = ", "# ")), Some(4));
    for bad in [
        "strikt = true",
        "strict = \"yes\"",
        "dut = true",
        "out = [\"a\", \"b\"]",
        "transport = \"radio\"",
    ] {
        let text = format!("[profile.ci]\n{bad}\n");
        assert_eq!(run(&text), Some(2), "{bad}");
        assert!(!schema.is_valid(&toml(&text)), "accepted\n{text}");
    }
    assert!(!schema.is_valid(&toml("[profiles.ci]\n")));
}

/// The file that the first line of another one names.
fn named_schema(place: &Place, file: &str) -> Validator {
    let text = place.read(file);
    let first = text.lines().next().unwrap();
    let named = first
        .strip_prefix("#:schema ")
        .or_else(|| first.strip_prefix("# yaml-language-server: $schema="))
        .unwrap_or_else(|| panic!("{file} begins with {first}"));
    let path = place.path(file).parent().unwrap().join(named);
    let schema = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", path.display()));
    jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap()
}

#[test]
fn files_that_the_program_writes_name_a_schema_that_accepts_them() {
    let place = Place::new();
    place.hil(["init"]).env("MCP_HIL_USB_ROOT", place.path("none")).end().exits(0);
    let run = ["run", "--dut", "native", "--mutant", "id-int32-saturated", "--keep-failures"];
    place.hil(run.iter().chain(&["--only", "properties/ids", "--seed", "7"])).end().exits(1);
    let new = ["baseline", "new", "target/mcp-hil/latest", "-o", "ci/baselines/native.toml"];
    place.hil(new).end().exits(0);
    let baseline = "ci/baselines/native.toml";
    accepts(&named_schema(&place, baseline), &toml(&place.read(baseline)), baseline);
    let mut kept = Vec::new();
    files(&place.path("regressions"), ".yaml", &mut kept);
    assert!(!kept.is_empty());
    let kept = kept.iter().map(|path| path.strip_prefix(place.path("")).unwrap());
    let kept = kept.map(|path| path.display().to_string());
    let profiles = "mcp-hil.toml";
    accepts(&named_schema(&place, profiles), &toml(&place.read(profiles)), profiles);
    for file in kept.chain(["ci/scenarios/tools-listed.yaml".to_owned()]) {
        let value = serde_saphyr::from_str(&place.read(&file)).unwrap();
        accepts(&named_schema(&place, &file), &value, &file);
    }
}

#[test]
fn shells_get_a_script_that_they_can_read() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.hil(["completions", shell]).end().exits(0).stdout;
        assert!(script.contains("self-test") && script.contains("max-time"), "{shell}\n{script}");
    }
    let script = place.hil(["completions", "bash"]).end().stdout;
    let path = place.write("mcp-hil.bash", script);
    let complete = format!(
        ". '{}'; COMP_WORDS=(mcp-hil cover); COMP_CWORD=1; _mcp__hil mcp-hil cover; echo \"${{COMPREPLY[*]}}\"",
        path.display()
    );
    let done = Command::new("bash").args(["-c", &complete]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "coverage", "{done:?}");
    place.hil(["completions", "tcsh"]).end().exits(2);
}

#[test]
fn there_is_a_manual_page_for_the_program_and_for_each_command() {
    let place = Place::new();
    place.hil(["man"]).end().exits(0).prints(&[".TH mcp-hil 1", "mcp\\-hil\\-run(1)"]);
    place.hil(["man", "--out", "man"]).end().exits(0);
    for command in ["", "-run", "-baseline-new", "-native"] {
        let page = place.read(&format!("man/mcp-hil{command}.1"));
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
    assert!(!place.path("man/mcp-hil-bridge.1").exists(), "it is none of the user's commands");
}

#[test]
fn the_version_says_that_this_is_no_program_for_use() {
    let done = Place::new().hil(["--version"]).end().exits(0);
    assert_eq!(
        done.stdout,
        format!("mcp-hil {} (built for debugging)\n", env!("CARGO_PKG_VERSION"))
    );
}
