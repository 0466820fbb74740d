//! Places in a program by function and line, checked against programs that are built here.

#![cfg(not(feature = "hil"))]

use std::path::{Path, PathBuf};
use std::process::Command;

use mcp_hil_bench::backtrace::{Symbols, is_program};
use object::{Object as _, ObjectSymbol as _};

/// A program whose function `deep_inside` stands on line 4 of `story.rs`.
const STORY: &str = "\
#[unsafe(no_mangle)]
#[inline(never)]
pub extern \"C\" fn deep_inside(level: u32) -> u32 {
    std::hint::black_box(level) / 2
}
fn main() {
    std::process::exit(deep_inside(std::env::args().count() as u32) as i32 - 1);
}
";

/// Builds the program, and gives its file and the address of `deep_inside`.
fn story(name: &str) -> (PathBuf, u64) {
    story_at(name, &[])
}

/// The same with arguments for the linker.
fn story_at(name: &str, arguments: &[&str]) -> (PathBuf, u64) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("backtrace").join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("story.rs"), STORY).expect("a source");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc)
        .current_dir(&folder)
        .args(["-g", "--edition", "2024", "story.rs", "-o", "story"])
        .args(arguments)
        .status()
        .expect("rustc runs");
    assert!(status.success());
    let program = folder.join("story");
    let bytes = std::fs::read(&program).expect("a program");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let symbol =
        file.symbols().find(|symbol| symbol.name() == Ok("deep_inside")).expect("the function");
    (program, symbol.address())
}

#[test]
fn each_form_of_a_panic_is_told_by_function_and_line() {
    let (program, address) = story("forms");
    assert!(is_program(&program));
    let symbols = Symbols::read(&program).expect("its symbols");
    let behind = address + 1;
    for line in [
        format!("Backtrace: {address:#x}:0x3fcebd10"),
        format!("MEPC    : {address:#x}  RA      : 0x00000000"),
        format!("MEPC    : 0x00000000  RA      : {behind:#x}  SP      : 0x3fc9a1e0"),
        format!("PC      : {address:#x}  PS      : 0x00060930"),
        format!("abort() was called at PC {address:#x} on core 0"),
        format!("ESP_ERROR_CHECK failed: esp_err_t 0x102 (ESP_ERR_X) at {address:#x}"),
    ] {
        let told = symbols.explain(std::slice::from_ref(&line));
        assert_eq!(told.len(), 2, "{told:#?}");
        assert_eq!(told[0], line);
        assert!(told[1].contains("deep_inside at "), "{told:#?}");
        assert!(told[1].contains("story.rs:3"), "{told:#?}");
    }
}

#[test]
fn what_is_no_code_is_left_as_it_is() {
    let (program, _) = story("no-code");
    let symbols = Symbols::read(&program).expect("its symbols");
    let line = "Backtrace: 0xfffffff0:0x3fcebd10 0x0:0x0".to_owned();
    assert_eq!(symbols.explain(std::slice::from_ref(&line)), [line]);
    let stack = "3fc9a1e0: 0x00000000 0xffffffff 0xfffffff0".to_owned();
    assert!(symbols.explain(&[stack]).is_empty());
}

#[test]
fn a_device_that_was_built_from_another_file_is_told() {
    let (program, _) = story("other");
    let symbols = Symbols::read(&program).expect("its symbols");
    let told = symbols.explain(&["ELF file SHA256: 6d63702d6".to_owned()]);
    assert!(told[0].contains("was not built from"), "{told:?}");
    let bytes = std::fs::read(&program).expect("the program");
    let hash: String = <sha2::Sha256 as sha2::Digest>::digest(&bytes)
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert!(symbols.explain(&[format!("ELF file SHA256: {hash}...")]).is_empty());
}

/// Runs a mutant that panics, and gives the text for people, `report.json`, and `junit.xml`.
fn panicking(name: &str, elf: &Path) -> (String, String, String) {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("backtrace-runs").join(name);
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&out).expect("a folder");
    let junit = out.join("junit.xml");
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-hil"))
        // This run is no result of the job that it runs in.
        .env_remove("GITHUB_ACTIONS")
        .env_remove("GITHUB_STEP_SUMMARY")
        .args(["run", "--dut", "native", "--mutant", "panic-at-error", "--only", "list/"])
        .args(["--seed", "1", "--elf"])
        .arg(elf)
        .arg("--junit")
        .arg(&junit)
        .arg("--out")
        .arg(&out)
        .output()
        .expect("the program starts");
    let read = |path: &Path| std::fs::read_to_string(path).expect("a report");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (text, read(&out.join("latest/report.json")), read(&junit))
}

#[test]
fn a_broken_program_file_is_told_once_and_changes_nothing() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("backtrace-runs");
    std::fs::create_dir_all(&folder).expect("a folder");
    let broken = folder.join("broken.elf");
    std::fs::write(&broken, b"\x7fELF and nothing more").expect("a file");
    let (text, json, _) = panicking("broken", &broken);
    assert_eq!(text.matches("is not a readable ELF file").count(), 1, "{text}");
    assert!(json.contains("liveness.no-panic"), "{json}");
    assert!(!json.contains("\"places\""), "{json}");
}

/// The places that the reference device tells lie between 0x42009000 and 0x4201c000. What of a program
/// stands there is not the point: that it is told is.
#[test]
fn all_reports_tell_the_places_of_a_panic() {
    let arguments =
        ["-Crelocation-model=static", "-Clink-arg=-no-pie", "-Clink-arg=-Wl,-Ttext=0x42000000"];
    let (program, _) = story_at("reports", &arguments);
    let (text, json, junit) = panicking("places", &program);
    assert!(text.contains("where"), "{text}");
    for report in [&text, &json, &junit] {
        assert!(report.contains("Backtrace: 0x42012a39:0x3fcebd10"), "{report}");
        assert!(report.contains("  0x42012a39: "), "{report}");
    }
    // The device says what it was built from, and this is not it.
    assert!(json.contains("was not built from"), "{json}");
}
