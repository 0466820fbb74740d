//! The free memory of a device, as its console tells it.

use serde::{Deserialize, Serialize};

/// Readings of the free memory, in bytes, since the device last started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeMemory {
    /// The first one.
    pub first: u64,
    /// The lowest one.
    pub lowest: u64,
    /// The last one.
    pub last: u64,
    /// How many there were.
    pub readings: usize,
}
