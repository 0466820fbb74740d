//! Why a chip has started, as its ROM prints it: `rst:0xc (RTC_SW_CPU_RST),boot:0x8 (...)`
//! (device-protocol 6.3). Numbers mean other things from chip to chip; the names beside them do not.

use std::sync::LazyLock;

use regex::Regex;

static RESET: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\brst:0x([0-9a-fA-F]{1,2}) \(([A-Za-z0-9_]*)\)?").expect("a constant pattern")
});

/// What a reset line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The supply was too weak: the bench's affair.
    BrownOut,
    /// A hardware watchdog: interrupts were off for too long, or a boot hung.
    Watchdog,
    /// The software asked for it: a reboot, or the end of a panic.
    Software,
    /// Power, the reset pin, or the USB port.
    Outside,
    /// A wake-up from deep sleep.
    Sleep,
    /// A name that is not known.
    Other,
}

impl Cause {
    /// The cause that a line of the ROM names; `None` for any other line.
    pub(crate) fn of(line: &str) -> Option<Self> {
        let found = RESET.captures(line)?;
        let name = found[2].to_ascii_uppercase();
        let has = |part: &str| name.contains(part);
        // The order matters: a brown-out is `RTCWDT_BROWN_OUT_RESET` to some chips.
        Some(if has("BROWN") {
            Self::BrownOut
        } else if has("WDT") || has("WATCHDOG") {
            Self::Watchdog
        } else if has("DEEPSLEEP") || has("DSLEEP") || has("SLEEP") {
            Self::Sleep
        } else if has("SW_") || name.starts_with("SW") || has("SOFTWARE") {
            Self::Software
        } else if has("POWERON") || has("EXT_") || has("USB") || has("JTAG") || has("CHIP") {
            Self::Outside
        } else {
            Self::Other
        })
    }

    /// The cause in words, for a line of a report.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::BrownOut => "brown-out",
            Self::Watchdog => "a hardware watchdog bit",
            Self::Software => "reset by software",
            Self::Outside => "power, reset pin or USB",
            Self::Sleep => "wake-up from deep sleep",
            Self::Other => "unknown cause",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("rst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)", Cause::Outside)]
    #[case("rst:0x1 (POWERON_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)", Cause::Outside)]
    #[case("rst:0x15 (USB_UART_CHIP_RESET),boot:0x8", Cause::Outside)]
    #[case("rst:0x3 (RTC_SW_SYS_RST),boot:0x8", Cause::Software)]
    #[case("rst:0xc (SW_CPU_RESET),boot:0x13", Cause::Software)]
    #[case("rst:0x3 (SW_RESET),boot:0x13", Cause::Software)]
    #[case("rst:0x5 (DSLEEP),boot:0x8", Cause::Sleep)]
    #[case("rst:0x5 (DEEPSLEEP_RESET),boot:0x13", Cause::Sleep)]
    #[case("rst:0x8 (TG1WDT_SYS_RST),boot:0x8", Cause::Watchdog)]
    #[case("rst:0x9 (RTCWDT_SYS_RST),boot:0x8", Cause::Watchdog)]
    #[case("rst:0x10 (RTCWDT_RTC_RESET),boot:0x13", Cause::Watchdog)]
    #[case("rst:0xf (RTCWDT_BROWN_OUT_RESET),boot:0x13", Cause::BrownOut)]
    #[case("rst:0xf (BROWN_OUT_RST),boot:0x8", Cause::BrownOut)]
    #[case("rst:0x7f (FROM_MARS),boot:0x8", Cause::Other)]
    fn a_cause_is_told_by_its_name(#[case] line: &str, #[case] cause: Cause) {
        assert_eq!(Cause::of(line), Some(cause));
    }

    #[test]
    fn other_lines_name_none() {
        for line in ["first:0x1 (POWERON)", "rst: none", "I (7) x: rst:0x"] {
            assert_eq!(Cause::of(line), None, "{line}");
        }
    }
}
