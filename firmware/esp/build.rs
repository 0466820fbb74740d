//! Gives the image an id that changes with its source.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// All that the image is made of, from this folder.
const SOURCES: [&str; 7] = [
    "src",
    "../body/src",
    "../device/src",
    "../net/src",
    "../nvs/src",
    "Cargo.toml",
    "Cargo.lock",
];

/// Chips with a USB port that is a console. The emulator has none.
const USB_CONSOLE: [&str; 3] = ["esp32c3", "esp32c6", "esp32s3"];

fn has_feature(name: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some()
}

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(usb_console)");
    if USB_CONSOLE.iter().any(|chip| has_feature(chip)) && !has_feature("qemu") {
        println!("cargo::rustc-cfg=usb_console");
    }

    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        collect(&here.join(source), &mut files);
    }
    files.sort();
    let mut hash = FNV_OFFSET;
    for file in files {
        for byte in fs::read(&file).expect("a readable source") {
            hash = (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        }
    }
    println!("cargo::rustc-env=BUILD_ID={:08x}", hash >> 32);
}

/// FNV-1a, 64 bits.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        files.extend(path.exists().then(|| path.to_path_buf()));
        return;
    }
    for entry in fs::read_dir(path).expect("a readable folder") {
        collect(&entry.expect("a readable folder").path(), files);
    }
}
