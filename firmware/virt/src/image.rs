//! What this image is called.

/// Version and build of this image; both are also in `serverInfo.version`.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("BUILD_ID"));

/// The same where a program finds it in the file.
#[used]
static MARK: &str =
    concat!("mcp-hil-image=virt ", env!("CARGO_PKG_VERSION"), "+", env!("BUILD_ID"), ";");

/// The address of the network card, which is also the device's `Device-Id`.
pub(crate) const MAC: [u8; 6] = [0x02, 0x00, 0x00, 0x4d, 0x43, 0x50];
