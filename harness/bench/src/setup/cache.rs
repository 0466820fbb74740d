//! Where programs are kept that were brought in.

use std::path::{Path, PathBuf};

/// The variable that names the cache folder.
pub(super) const VARIABLE: &str = "MCP_HIL_CACHE";

/// Folders of Espressif's QEMU in the cache: its programs come in two archives, whose other files have
/// the same names.
const RISCV: &str = "qemu-esp";
const XTENSA: &str = "qemu-esp-xtensa";

/// Where its programs lie in there, as releases have it.
const PROGRAMS: &str = "qemu/bin";

/// The cache folder.
#[derive(Debug, Clone)]
pub struct Cache(PathBuf);

impl Cache {
    /// The folder of that name, or the one of the environment, or the usual one of the user.
    pub fn find(named: Option<&Path>) -> Option<Self> {
        let variable = |name: &str| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let own = || Some(variable("XDG_CACHE_HOME")?.join("mcp-hil"));
        let home = || Some(variable("HOME")?.join(".cache/mcp-hil"));
        let named = named.map(Path::to_owned).or_else(|| variable(VARIABLE));
        named.or_else(own).or_else(home).map(Self)
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of a program of Espressif's QEMU.
    pub(super) fn qemu_esp(&self, name: &str) -> PathBuf {
        let folder = if name.ends_with("xtensa") { XTENSA } else { RISCV };
        self.0.join(folder)
    }

    /// A program of Espressif's QEMU in such a folder.
    pub(super) fn program(qemu_esp: &Path, name: &str) -> PathBuf {
        qemu_esp.join(PROGRAMS).join(name)
    }
}

/// A program of Espressif's QEMU, `qemu-system-riscv32` or `qemu-system-xtensa`, when it was brought in.
pub fn installed(name: &str) -> Option<PathBuf> {
    let cache = Cache::find(None)?;
    Some(Cache::program(&cache.qemu_esp(name), name)).filter(|program| program.is_file())
}
