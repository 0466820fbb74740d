//! Gives the image an id that changes with its source.

include!("../build_id.rs");

/// All that the image is made of, from this folder.
const SOURCES: [&str; 8] = [
    "src",
    "../body/src",
    "../device/src",
    "../net/src",
    "../nvs/src",
    "../stack.rs",
    "Cargo.toml",
    "Cargo.lock",
];

/// Chips with a USB port that is a console. The emulator has none.
const USB_CONSOLE: [&str; 3] = ["esp32c3", "esp32c6", "esp32s3"];

fn has_feature(name: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some()
}

fn main() {
    println!("cargo::rustc-check-cfg=cfg(usb_console)");
    if USB_CONSOLE.iter().any(|chip| has_feature(chip)) && !has_feature("qemu") {
        println!("cargo::rustc-cfg=usb_console");
    }
    tell_build_id(&SOURCES);
}
