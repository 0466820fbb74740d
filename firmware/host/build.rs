//! Lists the files of the kit, so that the library can embed them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What CMake reads; the tests of the kit are not part of it.
const PARTS: [&str; 6] = ["CMakeLists.txt", "cmake", "include", "parts", "shadow", "src"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut files = Vec::new();
    for part in PARTS {
        // Cargo watches a folder with all that is in it, new files too.
        println!("cargo::rerun-if-changed={part}");
        collect(&root.join(part), &mut files)?;
    }
    files.sort();
    let mut code = String::from("static FILES: &[(&str, &str)] = &[\n");
    for file in files {
        let below = file.strip_prefix(&root).expect("found below the root");
        writeln!(code, "    ({below:?}, include_str!({file:?})),").expect("a string takes all");
    }
    code.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("embedded.rs"), code)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else {
        files.push(path.to_owned());
    }
    Ok(())
}
