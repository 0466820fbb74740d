//! Boards are flashed, through espflash's library and PyPI's stand-in for the ROM bootloader.

mod missing;
mod mock;
mod program;

use miette::Diagnostic as _;
use std::io::{Read, Write};
use std::time::Duration;

use mcp_hil_boards::flash::nvs::Settings;
use mcp_hil_boards::flash::worker::{open, usb};
use mcp_hil_boards::flash::{
    Chip, FlashErrorKind, FlashImage, FlashJob, FlashSegment, FlashSize, FlashStep, Flashed,
    ImageParts, Network, Provision, Resets, Secret, StockSettings, identify, write,
};
use mock::Mock;
use program::{Program, XTENSA, pattern};
use rstest::rstest;
use serialport::{SerialPort, TTYPort};

const MIB: usize = 1024 * 1024;

fn program(chip: Chip) -> Program {
    match chip {
        Chip::Esp32c3 => Program::for_c3(),
        Chip::Esp32s3 => Program {
            machine: XTENSA,
            entry: 0x4200_0020,
            parts: vec![(0x4200_0020, pattern(3000)), (0x3fc8_8000, pattern(64))],
        },
        _ => Program {
            machine: XTENSA,
            entry: 0x400d_0020,
            parts: vec![(0x400d_0020, pattern(3000)), (0x3ffb_0000, pattern(64))],
        },
    }
}

fn image(chip: Chip) -> FlashImage {
    let elf = program(chip).elf();
    FlashImage::new(ImageParts {
        chip,
        size: FlashSize::Four,
        elf: &elf,
        nvs: None,
        partitions: None,
    })
    .unwrap()
}

fn settings() -> Settings {
    let stock = StockSettings {
        networks: vec![Network { ssid: "Bench".into(), password: Secret::new("correct horse") }],
        ..StockSettings::default()
    };
    stock.settings().unwrap()
}

/// A pseudo-terminal has no lines for resets.
fn here(job: FlashJob) -> FlashJob {
    let resets = Resets::None;
    FlashJob { resets, ..job }
}

fn flash(mock: &Mock, job: &FlashJob) -> (Flashed, Vec<FlashStep>) {
    let mut steps = Vec::new();
    let port = open(&mock.port).unwrap();
    let done = write(port, usb(&mock.port), job, &mut |step| steps.push(step));
    (done.unwrap_or_else(|error| panic!("{error}")), steps)
}

fn same(memory: &[u8], expected: &[u8]) {
    let at = memory.iter().zip(expected).position(|(one, other)| one != other);
    assert_eq!(at, None, "first byte that differs");
}

#[rstest]
#[case(Chip::Esp32c3)]
#[case(Chip::Esp32s3)]
#[case(Chip::Esp32)]
fn a_program_is_flashed_once(#[case] chip: Chip) {
    let Some(mock) = Mock::start("program", chip.name()) else {
        return;
    };
    let image = image(chip);
    let settings = settings();
    let job = here(FlashJob::program(chip, &image, Provision::Settings(&settings)).unwrap());
    let (done, steps) = flash(&mock, &job);
    assert_eq!(done.attached.chip, chip.name());
    assert_eq!(done.attached.flash_size as usize, 4 * MIB);
    assert!(done.verified);
    assert_eq!(done.written + done.skipped, job.bytes());
    assert!(matches!(steps.first(), Some(FlashStep::Attached(_))));
    assert_eq!(steps.last(), Some(&FlashStep::Reset));
    let resets = steps.iter().filter(|step| **step == FlashStep::Reset);
    assert_eq!(resets.count(), 1);
    // It goes forward, up to the end.
    let all: Vec<u64> = steps
        .iter()
        .filter_map(|step| match step {
            FlashStep::Written { done, .. } => Some(*done),
            _ => None,
        })
        .collect();
    assert!(all.is_sorted(), "{all:?}");
    assert_eq!(all.last(), Some(&job.bytes()));

    let mut expected = image.merged();
    let nvs = settings.image(0x6000).unwrap();
    expected[0x9000..0xf000].copy_from_slice(&nvs);
    same(&mock.memory(), &expected);

    // The port is the one that came in: what the board says next is heard.
    let name = done.port.name().unwrap();
    assert_eq!(name, mock.port.to_string_lossy());
    assert_eq!(done.port.baud_rate().unwrap(), 115_200);
    drop(done);

    let (again, _) = flash(&mock, &job);
    assert!(again.nothing_new(), "{again:?}");
    assert_eq!(again.skipped, job.bytes());
}

/// A vendor's image: the pieces of a program, and far behind them data, with erased memory between.
fn merged(chip: Chip) -> Vec<u8> {
    let mut merged = image(chip).merged();
    merged[3 * MIB..3 * MIB + 100_000].copy_from_slice(&pattern(100_000));
    merged.truncate(3 * MIB + 100_002);
    merged
}

#[rstest]
#[case(Chip::Esp32c3)]
#[case(Chip::Esp32s3)]
#[case(Chip::Esp32)]
fn a_merged_image_ends_as_it_says_with_the_settings_in_it(#[case] chip: Chip) {
    // What was there before must go, also where the image is erased.
    let Some(mock) = Mock::with("merged", chip.name(), "none", 22, &pattern(4 * MIB)) else {
        return;
    };
    let image = merged(chip);
    let settings = settings();
    let provision = Provision::Settings(&settings);
    let job = here(FlashJob::merged(Some(chip), None, &image, provision).unwrap());
    assert_eq!(job.chip, Some(chip));
    let (done, _) = flash(&mock, &job);
    assert_eq!(done.skipped, 0);
    drop(done);
    let mut expected = image.clone();
    expected[0x9000..0xf000].copy_from_slice(&settings.image(0x6000).unwrap());
    same(&mock.memory(), &expected);

    // Another program, and the rest stays: only its pieces are written.
    let mut changed = image;
    changed[0x1_0100] ^= 1;
    let job = here(FlashJob::merged(Some(chip), None, &changed, provision).unwrap());
    let (done, _) = flash(&mock, &job);
    assert!(done.written > 0 && done.written < 200_000, "{done:?}");
    expected[0x1_0100] ^= 1;
    same(&mock.memory(), &expected);
}

#[test]
fn erased_memory_is_not_written_again() {
    let Some(mock) = Mock::start("erased", "esp32c3") else {
        return;
    };
    let image = merged(Chip::Esp32c3);
    let job = here(FlashJob::merged(None, None, &image, Provision::Nothing).unwrap());
    let (done, _) = flash(&mock, &job);
    assert!(done.skipped > 2 * MIB as u64, "{done:?}");
    assert!(done.written < MIB as u64, "{done:?}");
    same(&mock.memory(), &image);
}

#[test]
fn parts_go_to_their_offsets() {
    let Some(mock) = Mock::with("parts", "esp32c3", "none", 22, &pattern(4 * MIB)) else {
        return;
    };
    let image = image(Chip::Esp32c3);
    let mut parts = image.segments().to_vec();
    parts.push(FlashSegment { name: "assets".into(), offset: 0x30_0000, bytes: pattern(50_001) });
    let settings = settings();
    let provision = Provision::Settings(&settings);
    let job = FlashJob::parts(Some(Chip::Esp32c3), Some(4 * MIB as u32), parts.clone(), provision);
    flash(&mock, &here(job.unwrap()));
    let memory = mock.memory();
    for part in &parts {
        let at = part.offset as usize;
        same(&memory[at..at + part.bytes.len()], &part.bytes);
    }
    same(&memory[0x9000..], &settings.image(0x6000).unwrap());
    // Nobody asked for anything between them.
    same(&memory[0x20_0000..0x30_0000], &pattern(4 * MIB)[0x20_0000..]);
}

#[test]
fn a_board_tells_what_it_is_and_nothing_is_written() {
    let Some(mock) = Mock::start("identify", "esp32s3") else {
        return;
    };
    let port = open(&mock.port).unwrap();
    let (port, attached) = identify(port, usb(&mock.port), Resets::None).unwrap();
    assert_eq!(attached.chip, "esp32s3");
    assert_eq!(port.name().unwrap(), mock.port.to_string_lossy());
    assert!(mock.memory().is_empty());
}

fn refused(mock: &Mock, job: &FlashJob) -> (FlashErrorKind, String) {
    let port = open(&mock.port).unwrap();
    let error = write(port, usb(&mock.port), job, &mut |_| {}).unwrap_err();
    let told = format!("{error}, {}", error.help().unwrap());
    assert!(error.port.is_some(), "the port comes back: {told}");
    (error.kind, told)
}

#[test]
fn another_chip_is_refused_before_anything_is_written() {
    let Some(mock) = Mock::start("chip", "esp32s3") else {
        return;
    };
    let image = image(Chip::Esp32c3);
    let job = FlashJob::program(Chip::Esp32c3, &image, Provision::Nothing).unwrap();
    let (kind, told) = refused(&mock, &here(job));
    assert_eq!(kind, FlashErrorKind::WrongChip);
    assert!(told.contains("expected esp32c3, got esp32s3"), "{told}");
    assert!(mock.memory().is_empty());
}

/// The stub of the flash before runs still, and the next one is loaded to the same place.
#[test]
fn a_board_without_lines_is_flashed_again_after_it_was_flashed_or_refused() {
    let Some(mock) = Mock::with("again", "esp32c3", "genuine", 22, &[]) else {
        return;
    };
    let image = image(Chip::Esp32c3);
    let job = here(FlashJob::program(Chip::Esp32c3, &image, Provision::Nothing).unwrap());
    let other = FlashJob { chip: Some(Chip::Esp32s3), ..job.clone() };
    let (kind, _) = refused(&mock, &other);
    assert_eq!(kind, FlashErrorKind::WrongChip);
    let (first, _) = flash(&mock, &job);
    assert!(first.written > 0, "{first:?}");
    drop(first);
    let (second, _) = flash(&mock, &job);
    assert!(second.nothing_new(), "{second:?}");
    drop(second);
    let port = open(&mock.port).unwrap();
    let (port, attached) = identify(port, usb(&mock.port), Resets::None).unwrap();
    assert_eq!(attached.chip, "esp32c3");
    // What the stub answered is no line of the console.
    assert_eq!(port.bytes_to_read().unwrap(), 0);
    drop(port);
    let (third, _) = flash(&mock, &job);
    assert!(third.nothing_new(), "{third:?}");
}

#[test]
fn a_flash_memory_that_is_too_small_is_refused_before_anything_is_written() {
    let Some(mock) = Mock::with("small", "esp32c3", "none", 21, &[]) else {
        return;
    };
    let job = FlashJob::merged(None, None, &merged(Chip::Esp32c3), Provision::Nothing).unwrap();
    let (kind, told) = refused(&mock, &here(job));
    assert_eq!(kind, FlashErrorKind::TooSmall);
    assert!(told.contains("got 0x200000"), "{told}");
    assert!(mock.memory().is_empty());
}

#[test]
fn a_flash_memory_that_forgets_fails_the_verification() {
    let Some(mock) = Mock::with("forgets", "esp32c3", "forgetful", 22, &[]) else {
        return;
    };
    let image = image(Chip::Esp32c3);
    let job = FlashJob::program(Chip::Esp32c3, &image, Provision::Nothing).unwrap();
    let (kind, told) = refused(&mock, &here(job));
    let FlashErrorKind::Verify(piece) = kind else {
        panic!("{told}");
    };
    assert_eq!(piece, "`bootloader` at 0x0");
}

#[test]
fn a_port_with_nobody_behind_it_is_no_bootloader() {
    // What a board with a running program says is no answer.
    let (mut master, slave) = TTYPort::pair().unwrap();
    master.set_timeout(Duration::from_millis(50)).unwrap();
    let path = std::path::PathBuf::from(slave.name().unwrap());
    let talker = std::thread::spawn(move || {
        let mut heard = [0; 1024];
        let mut quiet = 0;
        // It reads, and never as a bootloader would; over when nobody has written for a second.
        while quiet < 20 {
            match master.read(&mut heard) {
                Ok(_) => quiet = 0,
                Err(_) => quiet += 1,
            }
            let _ = master.write_all(b"I (310) app: Hello\r\n");
        }
        master
    });
    let image = image(Chip::Esp32c3);
    let job = FlashJob::program(Chip::Esp32c3, &image, Provision::Nothing).unwrap();
    let error = write(slave, usb(&path), &here(job), &mut |_| {}).unwrap_err();
    assert_eq!(error.kind, FlashErrorKind::NotInBootloader, "{error}");
    let told = error.help().unwrap().to_string();
    assert!(told.contains("no lines DTR and RTS") && told.contains("hold BOOT"), "{told}");
    drop(talker.join().unwrap());
}

#[test]
fn a_port_that_goes_away_is_told_as_such() {
    let (master, slave) = TTYPort::pair().unwrap();
    let path = std::path::PathBuf::from(slave.name().unwrap());
    drop(master);
    let image = image(Chip::Esp32c3);
    let job = FlashJob::program(Chip::Esp32c3, &image, Provision::Nothing).unwrap();
    let error = write(slave, usb(&path), &here(job), &mut |_| {}).unwrap_err();
    assert_eq!(error.kind, FlashErrorKind::PortLost, "{error}");
    assert!(error.port.is_none());
}

#[test]
fn a_port_that_is_not_there_cannot_be_opened() {
    let error = open("/dev/mcp-hil-no-such-port".as_ref()).unwrap_err();
    assert_eq!(error.kind, FlashErrorKind::Open);
    assert!(error.to_string().contains("/dev/mcp-hil-no-such-port"), "{error}");
}
