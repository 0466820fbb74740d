//! What this image is called.

#[cfg(feature = "esp32")]
macro_rules! chip {
    () => {
        "esp32"
    };
}
#[cfg(feature = "esp32c3")]
macro_rules! chip {
    () => {
        "esp32c3"
    };
}
#[cfg(feature = "esp32c6")]
macro_rules! chip {
    () => {
        "esp32c6"
    };
}
#[cfg(feature = "esp32s2")]
macro_rules! chip {
    () => {
        "esp32s2"
    };
}
#[cfg(feature = "esp32s3")]
macro_rules! chip {
    () => {
        "esp32s3"
    };
}
#[cfg(feature = "qemu")]
macro_rules! place {
    () => {
        "-qemu"
    };
}
#[cfg(not(feature = "qemu"))]
macro_rules! place {
    () => {
        ""
    };
}
macro_rules! version {
    () => {
        concat!(env!("CARGO_PKG_VERSION"), "+", env!("BUILD_ID"))
    };
}

/// Chip, and whether it is an emulated one.
pub(crate) const NAME: &str = concat!(chip!(), place!());

/// Version and build of this image; both are also in `serverInfo.version`.
pub(crate) const VERSION: &str = version!();

/// The same where a program finds it in the file.
#[used]
static MARK: &str = concat!("mcp-hil-image=", chip!(), place!(), " ", version!(), ";");

// And where the tools of the chip's maker look for it. No time of the build is told: the same source
// makes the same image.
esp_bootloader_esp_idf::esp_app_desc!(
    version!(),
    "mcp-hil-esp",
    "00:00:00",
    "1970-01-01",
    esp_bootloader_esp_idf::ESP_IDF_COMPATIBLE_VERSION,
    esp_bootloader_esp_idf::MMU_PAGE_SIZE,
    0,
    u16::MAX,
    esp_bootloader_esp_idf::SECURE_VERSION
);
