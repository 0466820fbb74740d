//! Tells the linker where the memory map is, and gives the image an id that changes with its source.

include!("../build_id.rs");

/// All that the image is made of, from this folder.
const SOURCES: [&str; 7] =
    ["src", "../body/src", "../device/src", "../net/src", "../stack.rs", "memory.x", "Cargo.lock"];

fn main() {
    println!("cargo::rustc-link-search={}", here().display());
    tell_build_id(&SOURCES);
}
