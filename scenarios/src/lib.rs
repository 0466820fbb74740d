//! What devices are held to, as data: requirements, scenarios and test vectors.
//!
//! The files are embedded when the crate is built, in the order of their paths; nothing is read
//! at run time and nothing is interpreted here. `README.md` of this folder explains the formats.

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The scenarios: id such as `ids/large`, path below this folder, text of the YAML file.
pub fn scripts() -> &'static [(&'static str, &'static str, &'static str)] {
    SCRIPTS
}

/// The requirement catalogue: path below this folder and text of each TOML file.
pub fn requirements() -> &'static [(&'static str, &'static str)] {
    REQUIREMENTS
}

/// Which case and requirement find which mutant of the reference device, TOML: `mcp-hil self-test` holds the suite to it.
pub const MUTANTS: &str = include_str!("../mutants.toml");

/// The test vectors: path below this folder and text of each JSON file.
///
/// The judge and the reference device share no code. They share these.
pub fn vectors() -> &'static [(&'static str, &'static str)] {
    VECTORS
}
