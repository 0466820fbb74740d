//! What is to be flashed, of images and tables that are made here.

mod program;

use mcp_hil_boards::flash::nvs::{Settings, Value};
use mcp_hil_boards::flash::{
    Chip, FlashImage, FlashJob, FlashSegment, FlashSize, ImageParts, JobError, Provision,
    TableError,
};
use program::{Program, pattern};
use proptest::prelude::*;

const MIB: usize = 1024 * 1024;

fn merged() -> Vec<u8> {
    let elf = Program::for_c3().elf();
    let parts = ImageParts {
        chip: Chip::Esp32c3,
        size: FlashSize::Four,
        elf: &elf,
        nvs: None,
        partitions: None,
    };
    FlashImage::new(parts).unwrap().merged()
}

/// Lines of a partition table: type, subtype, offset, size, name.
type Line = (u8, u8, u32, u32, &'static str);

/// The tables of stock firmware for 32 MB and for 4 MB.
const STOCK_32: &[Line] = &[
    (1, 2, 0x9000, 0x3_2000, "nvsfactory"),
    (1, 2, 0x3_b000, 0xd_2000, "nvs"),
    (1, 0, 0x10_d000, 0x2000, "otadata"),
    (1, 1, 0x10_f000, 0x1000, "phy_init"),
    (0, 0x10, 0x20_0000, 0x40_0000, "ota_0"),
    (0, 0x11, 0x60_0000, 0x40_0000, "ota_1"),
    (1, 0x82, 0xa0_0000, 0x100_0000, "assets"),
];
const STOCK_4: &[Line] = &[
    (1, 2, 0x9000, 0x4000, "nvs"),
    (1, 0, 0xd000, 0x2000, "otadata"),
    (1, 1, 0xf000, 0x1000, "phy_init"),
    (0, 0, 0x1_0000, 0x2f_0000, "factory"),
    (1, 0x82, 0x30_0000, 0x10_0000, "assets"),
];

fn table(lines: &[Line]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, subtype, offset, size, name) in lines {
        bytes.extend([0xaa, 0x50, *kind, *subtype]);
        bytes.extend(offset.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        let mut label = name.as_bytes().to_vec();
        label.resize(20, 0);
        bytes.extend(label);
    }
    bytes
}

fn with_table(lines: &[Line]) -> Vec<u8> {
    let mut image = merged();
    image[0x8000..0x9000].fill(0xff);
    let table = table(lines);
    image[0x8000..0x8000 + table.len()].copy_from_slice(&table);
    image
}

fn settings() -> Settings {
    let mut settings = Settings::new();
    let ssid = Value::Str("Bench".into());
    settings.set("wifi", "ssid", ssid).unwrap();
    settings
}

/// What the flash memory holds after the job, if it held `before`.
fn after(job: &FlashJob, before: &[u8]) -> Vec<u8> {
    let mut memory = before.to_vec();
    for piece in &job.segments {
        let at = piece.offset as usize;
        // Memory is erased in sectors.
        let end = (at + piece.bytes.len()).next_multiple_of(4096).min(memory.len());
        memory[at..end].fill(0xff);
        memory[at..at + piece.bytes.len()].copy_from_slice(&piece.bytes);
    }
    memory
}

#[test]
fn settings_go_where_the_table_in_the_image_says() {
    for (lines, offset, size) in [(STOCK_32, 0x3_b000, 0xd_2000), (STOCK_4, 0x9000, 0x4000)] {
        let image = with_table(lines);
        let settings = settings();
        let job = FlashJob::merged(None, None, &image, Provision::Settings(&settings)).unwrap();
        assert_eq!(job.chip, Some(Chip::Esp32c3));
        let mut expected = image;
        let nvs = settings.image(size).unwrap();
        expected[offset..offset + size].copy_from_slice(&nvs);
        assert!(after(&job, &pattern(4 * MIB)) == expected, "{offset:#x}");
    }
}

#[test]
fn settings_of_a_file_take_the_partition_from_its_begin() {
    let image = with_table(STOCK_4);
    let file = pattern(0x3000);
    let job = FlashJob::merged(None, None, &image, Provision::Image(&file)).unwrap();
    let memory = after(&job, &pattern(4 * MIB));
    assert_eq!(&memory[0x9000..0xc000], &file[..]);
    assert!(memory[0xc000..0xd000].iter().all(|byte| *byte == 0xff));
    for size in [0, 100, 0x5000] {
        let file = pattern(size);
        let error = FlashJob::merged(None, None, &image, Provision::Image(&file)).unwrap_err();
        let expected = JobError::SettingsSize { room: 0x4000, got: size };
        assert_eq!(error, expected);
    }
}

#[test]
fn settings_without_a_place_are_refused() {
    let settings = settings();
    let job = |image: &[u8]| {
        let error = FlashJob::merged(None, None, image, Provision::Settings(&settings));
        error.unwrap_err().to_string()
    };
    assert!(job(&with_table(&STOCK_4[1..])).contains("got otadata, phy_init, factory, assets"));
    assert!(job(&with_table(&[])).contains("it is erased"));
    let mut garbage = merged();
    garbage[0x8000..0x8c00].fill(0x55);
    assert!(job(&garbage).contains("no partition table at 0x8000"));
    let mut endless = merged();
    // The size of the first partition, `nvs`.
    endless[0x8008..0x800c].fill(0xff);
    assert!(job(&endless).contains("beyond any flash memory"), "{}", job(&endless));
    let parts = vec![FlashSegment { name: "app".into(), offset: 0x1_0000, bytes: pattern(100) }];
    let error = FlashJob::parts(None, None, parts, Provision::Settings(&settings)).unwrap_err();
    assert_eq!(error, JobError::Table(TableError::Missing));
}

#[test]
fn types_and_flags_that_nobody_has_listed_are_the_firmwares_own() {
    let settings = settings();
    let mut image = merged();
    // Of the second row: type, subtype, flags.
    image[0x8022..0x8024].copy_from_slice(&[0x7f, 0xee]);
    image[0x803c..0x8040].fill(0xff);
    FlashJob::merged(None, None, &image, Provision::Settings(&settings)).unwrap();
}

#[test]
fn images_for_something_else_are_refused() {
    let image = merged();
    let job = |chip, image: &[u8]| FlashJob::merged(chip, None, image, Provision::Nothing);
    let told = job(Some(Chip::Esp32s3), &image).unwrap_err().to_string();
    assert!(told.contains("expected one for esp32s3, got one for esp32c3"), "{told}");
    for image in [&[][..], &[0xff; 0x3000], &image[0x8000..], &[0xe9; 4]] {
        assert_eq!(job(None, image), Err(JobError::NotMerged));
    }
    let small = FlashJob::merged(None, Some(2 * MIB as u32), &image, Provision::Nothing);
    let told = small.unwrap_err().to_string();
    assert!(told.contains("at most 0x200000 bytes"), "{told}");
}

#[test]
fn parts_need_places_of_their_own() {
    let part = |name: &'static str, offset, size| FlashSegment {
        name: name.into(),
        offset,
        bytes: pattern(size),
    };
    let job = |parts| FlashJob::parts(None, None, parts, Provision::Nothing);
    let told = |parts| job(parts).unwrap_err().to_string();
    let odd = told(vec![part("app", 0x1_0010, 8)]);
    assert!(odd.contains("`app` cannot be at 0x10010"), "{odd}");
    // A shared sector is erased for the second one.
    let shared = told(vec![part("two", 0x2000, 8), part("one", 0x1000, 0x1001)]);
    assert!(shared.contains("`one` and `two` overlap at 0x2000"), "{shared}");
    assert_eq!(job(vec![part("none", 0, 0)]), Err(JobError::Empty));
    job(vec![part("two", 0x2000, 8), part("one", 0x1000, 0x1000)]).unwrap();
}

#[test]
fn a_job_goes_to_its_process_and_comes_back_and_shows_no_bytes() {
    let settings = settings();
    let provision = Provision::Settings(&settings);
    let job = FlashJob::merged(None, None, &merged(), provision).unwrap();
    let line = serde_json::to_string(&job).unwrap();
    assert!(!line.contains('\n'));
    // Erased memory takes no room.
    assert!(line.len() < MIB, "{}", line.len());
    assert_eq!(serde_json::from_str::<FlashJob>(&line).unwrap(), job);
    let shown = format!("{job:?}");
    assert!(shown.contains("settings at 0x9000, 24576 bytes"), "{shown}");
    for wrong in ["\"abc\"", "\"zz\"", "-1"] {
        let bad = line.replacen("\"bytes\":", &format!("\"bytes\":{wrong},\"old\":"), 1);
        assert!(serde_json::from_str::<FlashJob>(&bad).is_err(), "{wrong}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// However an image is cut, the memory ends as it says.
    #[test]
    fn pieces_make_the_whole(
        runs in prop::collection::vec((any::<bool>(), 1_usize..300_000), 1..12),
        rest in 0_usize..5,
    ) {
        let mut bytes = vec![0xe9, 0];
        for (erased, length) in runs {
            match erased {
                true => bytes.resize(bytes.len() + length, 0xff),
                false => bytes.extend(pattern(length)),
            }
        }
        bytes.extend(pattern(rest));
        let whole = FlashSegment {
            name: "image".into(),
            offset: 0x1000,
            bytes: bytes.clone(),
        };
        let job = FlashJob::parts(None, None, vec![whole], Provision::Nothing).unwrap();
        let memory = after(&job, &pattern(4 * MIB));
        prop_assert!(memory[0x1000..0x1000 + bytes.len()] == bytes[..]);
        for pair in job.segments.windows(2) {
            let end = pair[0].offset as usize + pair[0].bytes.len();
            prop_assert_eq!(end, pair[1].offset as usize);
            prop_assert!(end.is_multiple_of(4096));
        }
        for piece in &job.segments {
            prop_assert!(piece.bytes.len().is_multiple_of(4) && piece.bytes.len() <= MIB);
        }
    }
}
