//! The kit that builds xiaozhi firmware on a host, as data: `mcp-hil` writes its files where CMake reads them.
//!
//! The files are embedded when the crate is built; `README.md` of this folder explains them.

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Path below this folder and text of each file.
pub fn files() -> &'static [(&'static str, &'static str)] {
    FILES
}
