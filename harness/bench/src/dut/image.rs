//! Flash images of ESP32 chips: what a whole flash holds, from the bootloader on.

use std::io;
use std::path::{Path, PathBuf};

use super::Asked;
use mcp_hil_record::error::UserError;

/// What an image of ESP-IDF begins with.
const MAGIC: u8 = 0xe9;

/// Where the bootloader lies: of C3, C6, S3 and most; of ESP32 and S2; of C5 and P4.
const BOOTLOADERS: [usize; 3] = [0, 0x1000, 0x2000];

/// Where in its header the flash size (upper half of the byte) and the chip's number are.
const SIZE_AT: usize = 3;
const CHIP_AT: usize = 12;

/// What an entry of a partition table begins with, and where the table may lie; stock firmware has it
/// at the first of these.
const TABLE_MAGIC: [u8; 2] = [0xaa, 0x50];
const TABLES: std::ops::RangeInclusive<usize> = 0x8000..=0x2_0000;
const SECTOR: usize = 0x1000;

/// The chips, by their number in image headers (`esp_chip_id_t` of ESP-IDF).
const CHIPS: [(u16, &str); 9] = [
    (0x0000, "esp32"),
    (0x0002, "esp32s2"),
    (0x0005, "esp32c3"),
    (0x0009, "esp32s3"),
    (0x000d, "esp32c6"),
    (0x0010, "esp32h2"),
    (0x0012, "esp32p4"),
    (0x0014, "esp32c61"),
    (0x0017, "esp32c5"),
];

/// What stands in images of the reference device before the kind of image, and before their version.
const MARK: &[u8] = b"mcp-hil-image=";
const MARK_LENGTH: usize = 96;

/// Where a build leaves the image of the reference device, below cargo's target folder.
const BUILT: &str = "firmware/mcp-hil-esp32c3.bin";

/// An image of a whole flash.
#[derive(Debug, Clone)]
pub struct FlashImage {
    /// Its file.
    pub path: PathBuf,
    /// The chip that it is for, as ESP-IDF spells it.
    pub chip: &'static str,
    /// How large the flash is, in bytes, as the bootloader's header says; the file may be shorter.
    pub flash: u64,
    /// The version of the reference device in it, if it is that.
    pub version: Option<String>,
}

impl FlashImage {
    /// The image that is asked for, else the one that was built.
    ///
    /// # Errors
    ///
    /// There is none, or it is no image of a whole flash.
    pub(super) fn find(kind: &str, asked: &Asked<'_>) -> Result<Self, UserError> {
        match asked.firmware.map(Path::to_path_buf).or_else(built) {
            Some(path) => Self::read(&path),
            None => Err(UserError::usage(
                format!("`--dut {kind}` without an image: expected `--firmware FILE.bin` as well"),
                &format!(
                    "`mcp-hil firmware build esp32c3-qemu` builds the reference device's image, \
                     which `--dut {}` then finds by itself; for another device, give an image of \
                     the whole flash, as `idf.py merge-bin` or `esptool merge-bin` creates it",
                    super::qemu_esp::KIND
                ),
            )),
        }
    }

    fn read(path: &Path) -> Result<Self, UserError> {
        let shown = path.display();
        let bytes = std::fs::read(path).map_err(|error| {
            UserError::usage(
                format!("cannot read the image `{shown}`: {error}"),
                "check the path after `--firmware`",
            )
        })?;
        let image = parse(&bytes).map_err(|what| {
            UserError::usage(
                format!("`{shown}` is not an image of a whole flash: {what}"),
                "`idf.py merge-bin` and `esptool merge-bin` put bootloader, partition table and \
                 application into one file",
            )
        })?;
        Ok(Self { path: path.to_path_buf(), ..image })
    }

    /// Writes a copy that an emulator may change, filled up with 0xff as empty flash is. It is as large
    /// as the smallest of `sizes` that holds flash and file; as large as the flash when there is none.
    pub(super) fn copy_to(&self, path: &Path, sizes: &[u64]) -> io::Result<()> {
        let mut bytes = std::fs::read(&self.path)?;
        let wanted = self.flash.max(bytes.len() as u64);
        let size = sizes.iter().find(|size| **size >= wanted);
        let size = usize::try_from(*size.unwrap_or(&wanted)).map_err(io::Error::other)?;
        bytes.resize(size.max(bytes.len()), 0xff);
        std::fs::write(path, bytes)
    }

    /// Whether some bytes stand in it.
    pub(super) fn holds(&self, part: &[u8]) -> io::Result<bool> {
        let bytes = std::fs::read(&self.path)?;
        Ok(bytes.windows(part.len()).any(|window| window == part))
    }
}

/// Where a build in a source tree leaves the image.
pub fn place(tree: &Path) -> PathBuf {
    super::target_folder(tree).join(BUILT)
}

/// Whether a build left an image.
pub(super) fn is_built() -> bool {
    built().is_some()
}

/// The image that a build left.
fn built() -> Option<PathBuf> {
    let path = place(crate::own_tree());
    path.is_file().then_some(path)
}

fn parse(bytes: &[u8]) -> Result<FlashImage, String> {
    let header = BOOTLOADERS
        .into_iter()
        .filter_map(|at| bytes.get(at..at + 24))
        .find(|header| header[0] == MAGIC);
    let header = header.ok_or("expected a bootloader at 0x0, 0x1000 or 0x2000")?;
    let number = u16::from_le_bytes([header[CHIP_AT], header[CHIP_AT + 1]]);
    let chip = CHIPS.iter().find(|(known, _)| *known == number);
    let (_, chip) = chip.ok_or_else(|| format!("its chip {number:#06x} is unknown"))?;
    let is_table = |at: usize| bytes.get(at..at + 2) == Some(&TABLE_MAGIC);
    if !TABLES.step_by(SECTOR).any(is_table) {
        return Err("expected a partition table at 0x8000 (is this only the application?)".into());
    }
    Ok(FlashImage {
        path: PathBuf::new(),
        chip,
        flash: 1 << (20 + u64::from(header[SIZE_AT] >> 4).min(7)),
        version: version(bytes),
    })
}

/// The version in `mcp-hil-image=esp32c3 0.1.0+12ab;`.
fn version(bytes: &[u8]) -> Option<String> {
    let at = bytes.windows(MARK.len()).position(|window| window == MARK)?;
    let rest = &bytes[at + MARK.len()..];
    let end = rest.iter().take(MARK_LENGTH).position(|byte| *byte == b';')?;
    let (_, version) = std::str::from_utf8(&rest[..end]).ok()?.split_once(' ')?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// An image with a bootloader at an address, for a chip, and with a table.
    fn image(bootloader: usize, chip: u16, table: usize) -> Vec<u8> {
        let mut bytes = vec![0xff; 0x2_1000];
        bytes[bootloader] = MAGIC;
        bytes[bootloader + SIZE_AT] = 0x2f;
        bytes[bootloader + CHIP_AT..][..2].copy_from_slice(&chip.to_le_bytes());
        bytes[table..][..2].copy_from_slice(&TABLE_MAGIC);
        bytes
    }

    #[rstest]
    #[case(0, 5, 0x8000, "esp32c3")]
    #[case(0, 9, 0x8000, "esp32s3")]
    #[case(0x1000, 0, 0x8000, "esp32")]
    #[case(0, 13, 0xd000, "esp32c6")]
    #[case(0x2000, 18, 0x1_0000, "esp32p4")]
    fn an_image_tells_its_chip_and_the_size_of_its_flash(
        #[case] bootloader: usize,
        #[case] number: u16,
        #[case] table: usize,
        #[case] chip: &str,
    ) {
        let image = parse(&image(bootloader, number, table)).unwrap();
        assert_eq!((image.chip, image.flash), (chip, 4 << 20));
        assert_eq!(image.version, None);
    }

    #[test]
    fn what_is_none_is_refused() {
        assert!(parse(b"").unwrap_err().contains("bootloader"));
        assert!(parse(b"\x7fELF").unwrap_err().contains("bootloader"));
        let unknown = image(0, 0x4242, 0x8000);
        assert!(parse(&unknown).unwrap_err().contains("0x4242"));
        let mut application = image(0, 5, 0x8000);
        application[0x8000] = 0;
        assert!(parse(&application).unwrap_err().contains("partition table"));
    }

    #[test]
    fn images_of_the_reference_device_tell_their_version() {
        let mut image = image(0, 5, 0x8000);
        image.extend(b"..mcp-hil-image=esp32c3 0.1.0+12ab;..");
        let version = parse(&image).unwrap().version;
        assert_eq!(version.as_deref(), Some("0.1.0+12ab"));
    }
}
