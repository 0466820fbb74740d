//! Images for flash memory, of programs that are made here, read back byte by byte.

mod program;

use mcp_hil_boards::flash::{Chip, FlashImage, FlashSize, ImageParts};
use miette::Diagnostic as _;
use program::{Program, RISC_V, XTENSA, pattern};
use rstest::rstest;

fn parts(elf: &[u8]) -> ImageParts<'_> {
    ImageParts { chip: Chip::Esp32c3, size: FlashSize::Four, elf, nvs: None, partitions: None }
}

fn word(memory: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(memory[at..at + 4].try_into().unwrap())
}

/// What the bootloader loads: address and content of each part of the program's image.
fn loaded(memory: &[u8], program: usize) -> Vec<(u32, Vec<u8>)> {
    let mut at = program + 24;
    (0..memory[program + 1])
        .map(|_| {
            let (address, size) = (word(memory, at), word(memory, at + 4) as usize);
            let bytes = memory[at + 8..at + 8 + size].to_vec();
            at += 8 + size;
            (address, bytes)
        })
        .collect()
}

/// The lines of the partition table: name, offset, size.
fn table(memory: &[u8]) -> Vec<(String, u32, u32)> {
    memory[0x8000..0x8c00]
        .chunks(32)
        .take_while(|line| line.starts_with(&[0xaa, 0x50]))
        .map(|line| {
            let name = String::from_utf8_lossy(&line[12..28]);
            (name.trim_end_matches('\0').to_owned(), word(line, 4), word(line, 8))
        })
        .collect()
}

#[rstest]
#[case(FlashSize::Two, 2, 1)]
#[case(FlashSize::Four, 4, 2)]
#[case(FlashSize::Eight, 8, 3)]
#[case(FlashSize::Sixteen, 16, 4)]
fn every_size_has_bootloader_table_and_program_in_their_places(
    #[case] size: FlashSize,
    #[case] mib: usize,
    #[case] code: u8,
) {
    let program = Program::for_c3();
    let elf = program.elf();
    let image = FlashImage::new(ImageParts { size, ..parts(&elf) }).unwrap();
    let memory = image.merged();
    assert_eq!(memory.len(), mib * 1024 * 1024);
    for at in [0, 0x1_0000] {
        assert_eq!(memory[at], 0xe9, "an image at {at:#x}");
        assert_eq!(memory[at + 3] >> 4, code, "the size in the header at {at:#x}");
    }
    let rest = (mib * 1024 * 1024 - 0x1_0000) as u32;
    // No partition may be larger than the 16,000 KiB that espflash allows.
    let room = rest.min(16 * 1000 * 1024);
    let expected =
        [("nvs", 0x9000, 0x6000), ("phy_init", 0xf000, 0x1000), ("factory", 0x1_0000, room)]
            .map(|(name, offset, size)| (name.to_owned(), offset, size));
    assert_eq!(table(&memory), expected);

    assert_eq!(word(&memory, 0x1_0004), program.entry);
    // The number of the ESP32-C3 is 5.
    assert_eq!(memory[0x1_000c], 5);
    let loaded = loaded(&memory, 0x1_0000);
    for (address, bytes) in &program.parts {
        let found = loaded.iter().find(|(at, _)| at == address);
        let (_, found) = found.unwrap_or_else(|| panic!("nothing at {address:#x}"));
        assert!(found.starts_with(bytes), "{address:#x}");
    }
    // What nobody wrote is erased, up to the end.
    assert!(memory[0x9000..0x1_0000].iter().all(|byte| *byte == 0xff));
    let end = image.segments().iter().map(|s| s.offset as usize + s.bytes.len()).max().unwrap();
    assert!(memory[end..].iter().all(|byte| *byte == 0xff));
    assert!(image.segments().iter().all(|segment| segment.bytes.len() % 4 == 0));
}

#[test]
fn the_bootloader_of_the_first_chip_lies_a_sector_further() {
    let program =
        Program { machine: XTENSA, entry: 0x400d_0020, parts: vec![(0x400d_0020, pattern(100))] };
    let elf = program.elf();
    let image = FlashImage::new(ImageParts { chip: Chip::Esp32, ..parts(&elf) }).unwrap();
    let memory = image.merged();
    assert_eq!((memory[0], memory[0x1000]), (0xff, 0xe9));
    assert_eq!(memory[0x1_000c], 0);
}

#[test]
fn settings_stand_in_their_partition() {
    let elf = Program::for_c3().elf();
    let settings = pattern(0x6000);
    let image = FlashImage::new(ImageParts { nvs: Some(&settings), ..parts(&elf) }).unwrap();
    let memory = image.merged();
    assert_eq!(&memory[0x9000..0xf000], &settings[..]);
    assert_eq!(memory[0xf000], 0xff);
    assert_eq!(image.segments().last().unwrap().name, "settings");

    for wrong in [0, 100, 0x7000] {
        let settings = vec![0xff; wrong];
        let error =
            FlashImage::new(ImageParts { nvs: Some(&settings), ..parts(&elf) }).unwrap_err();
        assert!(error.to_string().ends_with(&format!("got {wrong}")), "{error}");
        assert!(error.to_string().contains("at most 24576 bytes"), "{error}");
    }
}

#[test]
fn a_table_of_ones_own_is_used() {
    let folder = std::env::temp_dir().join(format!("mcp-hil-table-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("partitions.csv");
    let elf = Program::for_c3().elf();
    let with = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let settings = pattern(0x4000);
        FlashImage::new(ImageParts { partitions: Some(&file), nvs: Some(&settings), ..parts(&elf) })
    };
    // As in stock firmware (device-protocol 1.4), shortened.
    let stock = "nvs,data,nvs,0x9000,0x4000,\notadata,data,ota,0xd000,0x2000,\nphy_init,data,phy,0xf000,0x1000,\nota_0,app,ota_0,0x20000,0x3f000,\n";
    let memory = with(stock).unwrap().merged();
    assert_eq!(memory[0x2_0000], 0xe9);
    assert_eq!(&memory[0x9000..0xd000], &pattern(0x4000)[..]);

    let told = |text: &str| with(text).unwrap_err().to_string();
    let without_nvs = told("phy_init,data,phy,0xf000,0x1000,\nota_0,app,ota_0,0x20000,0x3f000,\n");
    assert!(without_nvs.contains("no partition `nvs`"), "{without_nvs}");
    let beyond = told("nvs,data,nvs,0x9000,0x4000,\nota_0,app,ota_0,0x3f0000,0x800000,\n");
    assert!(beyond.contains("partition table does not fit"), "{beyond}");
    let nonsense = told("this is no table");
    assert!(nonsense.contains("partitions.csv"), "{nonsense}");
    std::fs::remove_dir_all(folder).unwrap();
}

fn refused(chip: Chip, size: FlashSize, elf: &[u8]) -> String {
    let parts = ImageParts { chip, size, ..parts(elf) };
    let error = FlashImage::new(parts).expect_err("refused");
    format!("{error}, {}", error.help().expect("a hint"))
}

#[test]
fn a_program_for_another_chip_is_refused() {
    let c3 = Program::for_c3().elf();
    let told = refused(Chip::Esp32c6, FlashSize::Four, &c3);
    assert!(told.contains("does not run on esp32c6"), "{told}");
    assert!(told.contains("code at 0x3fc88000, where it has no memory"), "{told}");
    assert!(told.contains("riscv32imac-unknown-none-elf"), "{told}");
    let told = refused(Chip::Esp32s3, FlashSize::Four, &c3);
    assert!(told.contains("got RISC-V code"), "{told}");
    // An image for QEMU's board, whose RAM lies elsewhere.
    let virt =
        Program { machine: RISC_V, entry: 0x8000_0000, parts: vec![(0x8000_0000, pattern(64))] };
    let told = refused(Chip::Esp32c3, FlashSize::Four, &virt.elf());
    assert!(told.contains("code at 0x80000000"), "{told}");
    // The program that runs this test.
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let told = refused(Chip::Esp32c3, FlashSize::Four, &own);
    assert!(told.contains("esp32c3"), "{told}");
}

#[test]
fn a_program_that_does_not_fit_is_refused() {
    let large = Program {
        machine: RISC_V,
        entry: 0x4200_0020,
        parts: vec![(0x4200_0020, pattern(2 * 1024 * 1024))],
    };
    let elf = large.elf();
    let told = refused(Chip::Esp32c3, FlashSize::Two, &elf);
    assert!(told.contains("at most 2031616 bytes"), "{told}");
    FlashImage::new(parts(&elf)).expect("4 MiB are enough");
}

#[test]
fn what_is_no_program_is_refused_however_it_is_cut() {
    let elf = Program::for_c3().elf();
    assert!(refused(Chip::Esp32c3, FlashSize::Four, b"").contains("not an ELF file"));
    assert!(refused(Chip::Esp32c3, FlashSize::Four, &[0xe9; 64]).contains("not an ELF file"));
    let empty = Program { parts: Vec::new(), ..Program::for_c3() };
    assert!(refused(Chip::Esp32c3, FlashSize::Four, &empty.elf()).contains("nothing to load"));
    // Nothing panics, and no part of a program passes for the whole.
    for end in (0..elf.len()).step_by(7) {
        let told = refused(Chip::Esp32c3, FlashSize::Four, &elf[..end]);
        assert!(!told.contains("does not run"), "{end}: {told}");
    }
}

#[test]
fn chips_are_named_as_on_the_package_too() {
    assert_eq!("ESP32-C3".parse(), Ok(Chip::Esp32c3));
    assert_eq!("esp32s3".parse(), Ok(Chip::Esp32s3));
    let refused = "esp8266".parse::<Chip>().unwrap_err();
    assert!(refused.contains("esp32, esp32s2"), "{refused}");
}
