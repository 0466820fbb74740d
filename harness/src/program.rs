//! Which program plays the parts that runs start in processes of their own, such as the bridge to a
//! board.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Names the program, where the running one is another that only uses this library. The first name
/// stays.
pub fn set(path: PathBuf) {
    let _ = PROGRAM.set(path);
}

/// The program: the running one, unless another was named.
///
/// # Errors
///
/// The system does not tell where the running one lies.
pub fn path() -> io::Result<PathBuf> {
    match PROGRAM.get() {
        Some(path) => Ok(path.clone()),
        None => std::env::current_exe(),
    }
}
