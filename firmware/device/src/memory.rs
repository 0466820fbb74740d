//! What a machine tells of its memory.

use core::fmt;

/// Free memory, as firmware of the family tells it every ten seconds (device-protocol 6.2). The harness
/// follows the first number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes of the heap that are free now.
    pub free: usize,
    /// The least that it ever was since the machine has started.
    pub lowest: usize,
    /// Bytes of the stack that were never used, where the machine can tell.
    pub stack: Option<usize>,
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Memory { free, lowest, stack } = self;
        write!(f, "free sram: {free} minimal sram: {lowest}")?;
        match stack {
            Some(stack) => write!(f, " minimal stack: {stack}"),
            None => Ok(()),
        }
    }
}
