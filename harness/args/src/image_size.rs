//! How large a flash memory is.

use clap::ValueEnum;
use mcp_hil_boards::flash::FlashSize;

/// Sizes of flash memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImageSize {
    /// 2 MiB
    #[value(name = "2MB")]
    Two,
    /// 4 MiB
    #[value(name = "4MB")]
    Four,
    /// 8 MiB
    #[value(name = "8MB")]
    Eight,
    /// 16 MiB
    #[value(name = "16MB")]
    Sixteen,
}

impl From<ImageSize> for FlashSize {
    fn from(size: ImageSize) -> Self {
        match size {
            ImageSize::Two => Self::Two,
            ImageSize::Four => Self::Four,
            ImageSize::Eight => Self::Eight,
            ImageSize::Sixteen => Self::Sixteen,
        }
    }
}

impl From<FlashSize> for ImageSize {
    fn from(size: FlashSize) -> Self {
        match size {
            FlashSize::Two => Self::Two,
            FlashSize::Four => Self::Four,
            FlashSize::Eight => Self::Eight,
            FlashSize::Sixteen => Self::Sixteen,
        }
    }
}
