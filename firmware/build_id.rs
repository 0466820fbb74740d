// What the build scripts of the images share, which include this file: an id that changes with the source
// of an image.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the image.
fn here() -> PathBuf {
    PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"))
}

/// Gives the image the environment variable `BUILD_ID`, made of these files and folders, from its
/// folder.
fn tell_build_id(sources: &[&str]) {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../build_id.rs");
    let mut files = Vec::new();
    for source in sources {
        println!("cargo::rerun-if-changed={source}");
        collect(&here().join(source), &mut files);
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
