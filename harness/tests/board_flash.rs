//! A run that flashes: a stand-in for the ROM's bootloader at the port, and the reference device as what boots
//! when the power comes on.

#[path = "../rig/tests/mock/mod.rs"]
mod mock;
#[path = "../rig/tests/program/mod.rs"]
mod program;
mod support;

use std::net::TcpListener;

use mock::Mock;
use program::Program;
use support::{Place, native};

#[test]
fn a_run_flashes_what_is_not_there_and_starts_the_board() {
    let Some(mock) = Mock::start("run", "esp32c3") else {
        return;
    };
    let place = Place::new();
    place.write("c3.elf", Program::for_c3().elf());
    place.write(
        "desk.toml",
        format!(
            "name = \"desk\"\ntarget = \"board\"\nfirmware = \"c3.elf\"\ntransports = [\"mqtt\"]\n\
             [board]\nport = \"{}\"\nchip = \"esp32c3\"\nflash_size = \"4MB\"\n\
             [board.wifi]\nssid = \"bench\"\npassword_env = \"BENCH_PASSWORD\"\n\
             [board.power]\ncycle = '{} > device.log 2>&1 &'\n",
            mock.port.display(),
            native().display()
        ),
    );
    // The address is part of what is flashed.
    let listen = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let run = || {
        let what = [
            "run",
            "--dut",
            "desk.toml",
            "--only",
            "ids/",
            "--http-listen",
            &listen,
        ];
        let done = place
            .hil(what)
            .env("BENCH_PASSWORD", "correct horse")
            .env("MCP_HIL_LOCKS", place.path("locks"))
            .end()
            .exits(0);
        assert!(!format!("{done}").contains("horse"), "{done}");
        let all = place.read("target/mcp-hil/latest/transcripts/session.bring-up.jsonl");
        assert!(!all.contains("horse"));
        let flashed = all.lines().find(|line| line.contains("flashed: esp32c3"));
        flashed.expect("a line of what was flashed").to_owned()
    };
    let first = run();
    assert!(first.contains(", 0 were there already"), "{first}");
    let memory = mock.memory();
    let has = |text: &str| {
        memory
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(has(&format!("http://{listen}/")) && has("correct horse"));

    let second = run();
    assert!(second.contains(": 0 bytes written, "), "{second}");
}
