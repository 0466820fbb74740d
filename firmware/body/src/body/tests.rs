//! Tests of the application.

use super::*;
use reference_device::HttpOutcome;

/// A machine that nobody can be reached from.
struct Lonely {
    has_rom: bool,
    clock: u64,
    console: Vec<String>,
}

impl Platform for Lonely {
    fn now(&mut self) -> u64 {
        self.clock
    }

    fn pause(&mut self, ms: u64) {
        self.clock += ms;
    }

    fn has_rom(&self) -> bool {
        self.has_rom
    }

    fn print(&mut self, line: &str) {
        self.console.push(line.into());
    }

    fn dial(&mut self, _: &Dial<'_>) -> Result<(), i32> {
        Err(1)
    }

    fn read(&mut self, _: u64) -> Event {
        Event::Closed
    }

    fn send(&mut self, _: Frame) -> bool {
        false
    }

    fn publish(&mut self, _: Publication) -> bool {
        false
    }

    fn hang_up(&mut self) {}

    fn request(&mut self, _: &HttpRequest) -> HttpOutcome {
        None
    }

    fn send_datagram(&mut self, _: &str, _: u16, _: &[u8]) {}

    fn end(&mut self, code: u8) -> ! {
        panic!("switched off with {code}")
    }
}

/// The reasons for starts that the console tells, after a start and one restart.
fn starts(has_rom: bool) -> Vec<String> {
    let machine = Lonely { has_rom, clock: 0, console: Vec::new() };
    let identity = Identity { url: "ws://10.0.2.2:1/".into(), ..Identity::default() };
    let mut body = Body::new(machine, identity, None, 0);
    assert_eq!(body.run(), GivenUp);
    body.reset(&[], Reset::Software);
    let lines = body.platform.console.into_iter();
    let starts =
        lines.filter_map(|line| line.strip_prefix("rst:").map(|rest| rest[..4].trim().into()));
    starts.collect()
}

#[test]
fn a_start_that_the_rom_tells_is_not_told_again() {
    assert_eq!(starts(false), ["0x1", "0xc"]);
    assert_eq!(starts(true), ["0xc"]);
}
