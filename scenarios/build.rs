//! Lists the data files of this folder, so that the library can embed them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut code = String::new();
    for (name, extension) in [("scripts", "yaml"), ("requirements", "toml"), ("vectors", "json")] {
        // Cargo watches a folder with all that is in it, new files too.
        println!("cargo::rerun-if-changed={name}");
        let mut files = Vec::new();
        collect(&root.join(name), extension, &mut files)?;
        let mut paths: Vec<String> = files.iter().map(|file| relative(&root, file)).collect();
        paths.sort();
        table(&mut code, name, &paths);
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("embedded.rs"), code)
}

fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, extension, files)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    Ok(())
}

/// The path below the package's folder, with slashes on every system.
fn relative(root: &Path, file: &Path) -> String {
    let below = file.strip_prefix(root).expect("found below the root");
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

fn table(code: &mut String, name: &str, paths: &[String]) {
    let constant = name.to_uppercase();
    let columns = if name == "scripts" { "&str, &str, &str" } else { "&str, &str" };
    writeln!(code, "static {constant}: &[({columns})] = &[").expect("a string takes all");
    for path in paths {
        let text = format!(
            "include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?}))",
            format!("/{path}")
        );
        let id = path.strip_prefix("scripts/").and_then(|rest| rest.strip_suffix(".yaml"));
        match id {
            Some(id) => writeln!(code, "    ({id:?}, {path:?}, {text}),"),
            None => writeln!(code, "    ({path:?}, {text}),"),
        }
        .expect("a string takes all");
    }
    code.push_str("];\n");
}
