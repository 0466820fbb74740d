//! A script in the place of Espressif's QEMU, and an image for it.

use std::path::PathBuf;

use crate::support::Place;

/// What stands in for Espressif's QEMU lists its boards, dials its console, which is 3, and tells its process.
const QEMU: &str = r#"
case "$*" in "-M help") echo "Supported machines are:"; echo "esp32c3    Espressif ESP32C3 machine"; exit;; esac
arguments=" $* "
port=${arguments#*tcp:127.0.0.1:}; port=${port%%,*}
exec 3<>/dev/tcp/127.0.0.1/$port || exit 9
echo $$ > pid
unset MCP_HIL_OTA_URL
"#;

/// Writes both: the image `merged.bin` of a whole flash, and the emulator that runs `firmware`.
pub(crate) fn stand_in(place: &Place, firmware: &str) -> PathBuf {
    let mut flash = vec![0xff; 0x1_0000];
    (flash[0], flash[3], flash[12], flash[13]) = (0xe9, 0x2f, 5, 0);
    flash[0x8000..][..2].copy_from_slice(&[0xaa, 0x50]);
    place.write("merged.bin", flash);
    place.program("emulator", &format!("{QEMU}\n{firmware}"))
}
