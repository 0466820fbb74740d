//! What tests with emulators share: the real ones, where they are installed, and stand-ins.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Hil, Place, missing};

/// QEMU, as distributions package it.
pub(crate) const STOCK_QEMU: &str = "qemu-system-riscv32";

/// Whether stock QEMU is here; where it is not, that is said.
pub(crate) fn qemu() -> bool {
    let is_here = Command::new(STOCK_QEMU).arg("--version").output().is_ok();
    if !is_here {
        missing::QEMU.is_missing(&format!("no `{STOCK_QEMU}`"));
    }
    is_here
}

/// The image of the reference device for stock QEMU's board, built if need be.
pub(crate) fn virt_image() -> PathBuf {
    let built = Command::new("bash")
        .args(["ci/firmware.sh", "virt"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "ci/firmware.sh virt: {}",
        String::from_utf8_lossy(&built.stderr)
    );
    let path = String::from_utf8(built.stdout).unwrap();
    path.trim().into()
}

/// The flash image of the reference device for Espressif's QEMU, where both are at hand; where they are
/// not, that is said.
pub(crate) fn chip_image() -> Option<String> {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from);
    let image = target.join("firmware/mcp-hil-esp32c3.bin");
    if std::env::var_os("MCP_HIL_QEMU_ESP").is_none() {
        missing::QEMU_ESP.is_missing("MCP_HIL_QEMU_ESP names no program");
        return None;
    }
    if !image.is_file() {
        missing::QEMU_ESP.is_missing(&format!("there is no image `{}`", image.display()));
        return None;
    }
    Some(image.display().to_string())
}

impl Place {
    /// A script that can be run like a program.
    pub(crate) fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.write(name, format!("#!/bin/bash\n{script}\n"));
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable).unwrap();
        path
    }

    /// What a run reports as trouble of the bench. Everything that holds the pipe `alive` of this folder,
    /// as stand-ins do that run `exec 5>alive`, must be gone when the run is over.
    pub(crate) fn trouble(&self, run: impl FnOnce() -> Hil) -> String {
        let pipe = self.pipe("alive");
        let done = run().end();
        pipe.opened();
        pipe.closed();
        done.exits(3);
        let report = self.report();
        report["summary"]["bench_error"].as_str().expect("trouble of the bench").to_owned()
    }
}
