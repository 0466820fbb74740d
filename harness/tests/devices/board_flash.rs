//! A run that flashes: a stand-in for the ROM's bootloader at the port, and the reference device as what boots
//! when the power comes on.

use std::net::TcpListener;

use crate::mock::Mock;
use crate::program::Program;
use crate::support::{Place, free_port, native};

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
    let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let run = || {
        let what = ["run", "--dut", "desk.toml", "--only", "ids/", "--http-listen", &listen];
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
    assert!(first.contains(", 0 were already there"), "{first}");
    let memory = mock.memory();
    let has = |text: &str| memory.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has(&format!("http://{listen}/")) && has("correct horse"));

    let second = run();
    assert!(second.contains(": 0 bytes written, "), "{second}");
}

/// Each board has its own lock, bridge, address and settings, so that none waits for another.
#[test]
fn boards_are_flashed_at_once_and_the_second_time_not_at_all() {
    let names = ["left", "right", "upper"];
    let mocks = names.map(|name| Mock::start(&format!("rack-{name}"), "esp32c3"));
    if mocks.iter().any(Option::is_none) {
        return;
    }
    let place = Place::new();
    place.write("c3.elf", Program::for_c3().elf());
    for (name, mock) in names.iter().zip(mocks.iter().flatten()) {
        let text = format!(
            "name = \"{name}\"\ntarget = \"board\"\nfirmware = \"c3.elf\"\ntransports = [\"mqtt\"]\n\
             http_listen = \"{}\"\n[board]\nport = \"{}\"\nchip = \"esp32c3\"\nflash_size = \"4MB\"\n\
             [board.wifi]\nssid = \"bench\"\n[board.power]\ncycle = '{} > {name}.log 2>&1 &'\n",
            free_port(),
            mock.port.display(),
            native().display()
        );
        place.write(&format!("duts/{name}.toml"), text);
    }
    let run = || {
        let what = ["run", "--dut", "duts", "--only", "ids/", "--inputs", "0"];
        let done = place.hil(what).env("MCP_HIL_LOCKS", place.path("locks")).end().exits(0);
        assert!(done.stdout.contains("on 3 DUTs"), "{done}");
        names.map(|name| {
            let file =
                format!("target/mcp-hil/latest/runs/{name}/transcripts/session.bring-up.jsonl");
            let all = place.read(&file);
            let flashed = all.lines().find(|line| line.contains("flashed: esp32c3"));
            flashed.expect("a line of what was flashed").to_owned()
        })
    };
    for first in run() {
        assert!(first.contains(", 0 were already there"), "{first}");
    }
    for second in run() {
        assert!(second.contains(": 0 bytes written, "), "{second}");
    }
    // One board under two names is one board.
    let copy = place.read("duts/left.toml").replace("\"left\"", "\"again\"");
    place.write("duts/again.toml", copy);
    let locks = place.path("locks");
    let refused = place.hil(["run", "--dut", "duts"]).env("MCP_HIL_LOCKS", locks).end().exits(2);
    assert!(refused.stderr.contains("are the same board"), "{refused}");
}

/// What two files say of the chip is settled before the port is opened; what the board says is the bench's.
#[test]
fn another_chip_at_the_port_is_the_bench_s_and_another_one_in_the_image_the_user_s() {
    let Some(mock) = Mock::start("other-chip", "esp32c3") else {
        return;
    };
    let place = Place::new();
    place.write("c3.elf", Program::for_c3().elf());
    place.write("part.bin", [0x5a; 4096]);
    let file = |what: &str, parts: &str| {
        let port = mock.port.display();
        let text = format!(
            "name = \"desk\"\ntarget = \"board\"\n{what}[board]\nport = \"{port}\"\nchip = \"esp32s3\"\n{parts}"
        );
        place.write("desk.toml", text);
        place
            .hil(["run", "--dut", "desk.toml", "--only", "ids/"])
            .env("MCP_HIL_LOCKS", place.path("locks"))
            .end()
    };
    let parts = "[[board.parts]]\noffset = 0x20000\nfile = \"part.bin\"\n";
    let done = file("", parts).exits(3);
    let told = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("the board has a different chip: expected esp32s3, got esp32c3"),
        "{done}"
    );
    assert!(mock.memory().is_empty());
    let done = file("firmware = \"c3.elf\"\n", "").exits(2);
    assert!(done.stderr.contains("esp32s3"), "{done}");
}
