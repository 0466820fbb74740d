//! What `mcp-hil` brings in by itself: programs that no package manager has.

mod cache;

pub use cache::{Cache, installed};
