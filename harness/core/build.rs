//! Makes an enum of the requirements in `requirements`, a link to those of the package `mcp-hil-scenarios`, so that a check that names one which is not
//! there does not compile.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = package.join("requirements");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut slugs = BTreeSet::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            slugs.extend(slugs_of(&path)?);
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("requirement_id.rs"), code(&slugs))
}

/// The ids in a file. What else is wrong with it is told when the catalogue is loaded.
fn slugs_of(path: &Path) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(path)?;
    let ids = text.lines().filter_map(|line| line.strip_prefix("id = \"")?.strip_suffix('"'));
    Ok(ids.map(str::to_owned).collect())
}

/// In the order of the slugs, which is that of the variants, too.
fn code(slugs: &BTreeSet<String>) -> String {
    let (mut variants, mut all, mut texts) = (String::new(), String::new(), String::new());
    for slug in slugs {
        let name = variant(slug);
        writeln!(variants, "    /// `{slug}`\n    {name},").expect("a string takes all");
        writeln!(all, "    RequirementId::{name},").expect("a string takes all");
        writeln!(texts, "    {slug:?},").expect("a string takes all");
    }
    let number = slugs.len();
    format!(
        "/// A requirement of the catalogue, by its slug: `ids.echo` is `IdsEcho`. In the order of the slugs.\n\
         #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]\n\
         pub enum RequirementId {{\n{variants}}}\n\n\
         const ALL: [RequirementId; {number}] = [\n{all}];\n\n\
         const SLUGS: [&str; {number}] = [\n{texts}];\n"
    )
}

fn variant(slug: &str) -> String {
    let words = slug.split(['.', '-']);
    let capital = |word: &str| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    };
    words.map(capital).collect()
}
