//! The reference device on an emulated chip: QEMU's RISC-V board `virt`, as distributions package it.
//!
//! The image is told on its console what it is to be. Its network is QEMU's own: the host's loopback
//! has another address there.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use mcp_hil_boards::Command;
use serde_json::{Map, Value};

use super::auto::Passed;
use super::emulated::program;
use super::{Asked, Difference, address, target_folder};
use crate::environment::given;
use mcp_hil_record::error::UserError;

/// The emulator, and the variable that names another one.
const EMULATOR: &str = "qemu-system-riscv32";
const EMULATOR_VARIABLE: &str = "MCP_HIL_QEMU";

/// The variable that names an image.
const IMAGE_VARIABLE: &str = "MCP_HIL_QEMU_IMAGE";

/// The script that builds images, from the root of the source tree.
const BUILD: &str = "ci/firmware.sh";

/// Where that leaves the image, below cargo's target folder.
const BUILT: &str = "firmware/riscv32imac-unknown-none-elf/release/mcp-hil-virt";

/// What stands in an image before its version, and after it.
const MARK: &str = "mcp-hil-image=virt ";
const MARK_END: u8 = b';';

/// The first code of the emulator that is its image's, through the test finisher: 1 is QEMU's own, or says
/// that the image found no server, and with 0 QEMU ends when it is told to (SIGTERM).
const FIRST_GUEST_CODE: i32 = 2;

/// What of the host's loopback is seen in the emulator's network.
const HOST: &str = "10.0.2.2";

/// The board, its memory, its console on stdin and stdout, and a network card behind a translation
/// of addresses. Nothing of the user's settings comes in.
const BOARD: [&str; 17] = [
    "-M",
    "virt",
    "-m",
    "256M",
    "-nodefaults",
    "-no-user-config",
    "-display",
    "none",
    "-monitor",
    "none",
    "-serial",
    "stdio",
    "-bios",
    "none",
    "-netdev",
    "user,id=net0",
    "-device",
];
const CARD: &str = "virtio-net-device,netdev=net0";

/// What the emulator runs.
#[derive(Debug, Clone)]
pub struct Qemu {
    /// Its program.
    emulator: PathBuf,
    /// The image.
    image: PathBuf,
    /// Its version and build, as the file says.
    version: String,
    /// What is to be different about the device.
    pub(super) difference: Option<Difference>,
    /// Further arguments of the emulator.
    arguments: Vec<String>,
}

impl Qemu {
    /// The image.
    pub(super) fn image(&self) -> &Path {
        &self.image
    }

    /// Finds the emulator, and finds or builds the image.
    pub(super) fn find(asked: &Asked<'_>) -> Result<Self, UserError> {
        let emulator = emulator()?;
        let image = image()?;
        Ok(Self {
            emulator,
            version: version(&image)?,
            image,
            difference: asked.difference.cloned(),
            arguments: asked.arguments.to_vec(),
        })
    }

    /// The version that the device must tell: that of the image, unless a seeded defect may have
    /// changed what it tells.
    pub(super) fn version(&self) -> Option<&str> {
        self.difference.is_none().then_some(&*self.version)
    }

    /// The command that boots the image, which asks `ota_url` for the rest.
    pub(super) fn command(&self, ota_url: &str) -> Command {
        let mut config = Map::new();
        config.insert("ota_url".into(), seen(ota_url).into());
        if let Some(difference) = &self.difference {
            config.insert(difference.kind().into(), difference.name().into());
        }
        BOARD
            .into_iter()
            .chain([CARD, "-kernel"])
            .fold(Command::direct(&self.emulator), Command::arg)
            .arg(self.image.to_string_lossy())
            .args(&self.arguments)
            .input(format!("config {}\n", Value::Object(config)))
            .emulator(Some(FIRST_GUEST_CODE))
    }
}

/// An address of the host, as it is seen in the emulator's network.
pub(super) fn seen(text: &str) -> String {
    address::seen(text, HOST)
}

fn emulator() -> Result<PathBuf, UserError> {
    program(EMULATOR_VARIABLE, EMULATOR).ok_or_else(|| {
        UserError::bench(
            format!("the emulator `{EMULATOR}` is not installed: expected it on the PATH"),
            "`apt-get install qemu-system-misc` (Debian, Ubuntu), `dnf install qemu-system-riscv` \
             (Fedora) or `brew install qemu` (macOS) installs it; MCP_HIL_QEMU names a program \
             elsewhere",
        )
    })
}

/// Whether the emulator is installed and an image was built, or else what is in the way. An image that
/// was built may still be built anew for a change of its source.
pub(super) fn at_hand() -> Result<(), Passed> {
    if emulator().is_err() {
        let install = if cfg!(target_os = "macos") {
            "brew install qemu"
        } else {
            "apt-get install qemu-system-misc"
        };
        return Err(Passed::new(format!("`{EMULATOR}` is not installed"), install));
    }
    let is_built = given(IMAGE_VARIABLE).is_some()
        || tree().is_some_and(|tree| target_folder(tree).join(BUILT).is_file());
    if is_built {
        Ok(())
    } else {
        Err(Passed::new("its image is not built", "ci/firmware.sh virt"))
    }
}

/// The source tree that this program came from, if it is there.
fn tree() -> Option<&'static Path> {
    Some(crate::own_tree()).filter(|tree| tree.join(BUILD).exists())
}

/// Finds the image: named, or built from the source tree that this program came from.
fn image() -> Result<PathBuf, UserError> {
    if let Some(named) = given(IMAGE_VARIABLE) {
        let named = PathBuf::from(named);
        return if named.is_file() {
            Ok(named)
        } else {
            Err(UserError::bench(
                format!("`{IMAGE_VARIABLE}`: there is no file `{}`", named.display()),
                "`ci/firmware.sh virt` builds the image and prints where it is",
            ))
        };
    }
    let tree = tree().ok_or_else(|| {
        UserError::bench(
            "neither the image for the emulator nor its source is here",
            "build it with `ci/firmware.sh virt` in the source tree, and set MCP_HIL_QEMU_IMAGE to \
             its path",
        )
    })?;
    build(tree)
}

/// Builds the image. Takes a while the first time, and next to nothing after that.
fn build(tree: &Path) -> Result<PathBuf, UserError> {
    if !target_folder(tree).join("firmware").exists() {
        mcp_hil_core::notice!(
            "building the image for the emulator; this takes a while, but only the first time"
        );
    }
    let failed = |what: String| {
        UserError::bench(
            format!("cannot build the image for the emulator: {what}"),
            "run `ci/firmware.sh virt` in the source tree to see why",
        )
    };
    let output = std::process::Command::new("bash")
        .args([BUILD, "virt"])
        .current_dir(tree)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(format!("`bash` does not start: {error}")))?;
    if !output.status.success() {
        return Err(failed(format!("`{BUILD} virt` ended with {}", output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().map(PathBuf::from);
    last.ok_or_else(|| failed(format!("`{BUILD} virt` named no file")))
}

/// The version that an image says it is.
fn version(image: &Path) -> Result<String, UserError> {
    let hint = "`ci/firmware.sh virt` builds the image and prints where it is";
    let shown = image.display();
    let bytes = std::fs::read(image).map_err(|error| {
        UserError::bench(format!("cannot read the image `{shown}`: {error}"), hint)
    })?;
    marked(&bytes).ok_or_else(|| {
        UserError::bench(
            format!(
                "`{shown}` is not an image of the reference device for QEMU's `virt`: expected it \
                 to contain `{MARK}` and a version"
            ),
            hint,
        )
    })
}

fn marked(bytes: &[u8]) -> Option<String> {
    let at = find(bytes, MARK.as_bytes())? + MARK.len();
    let rest = &bytes[at..];
    let end = rest.iter().take(64).position(|byte| *byte == MARK_END)?;
    String::from_utf8(rest[..end].to_vec()).ok()
}

/// Where `part` begins in `bytes`.
fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_tells_its_version() {
        let image = b"\x7fELF..mcp-hil-image=virt 0.1.0+12ab;...";
        assert_eq!(marked(image).as_deref(), Some("0.1.0+12ab"));
        assert_eq!(marked(b"\x7fELF"), None);
        assert_eq!(marked(b"mcp-hil-image=virt 0.1.0"), None);
    }
}
