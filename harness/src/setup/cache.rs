//! Where programs are kept that were brought in.

use std::path::{Path, PathBuf};

/// The variable that names the cache folder.
pub(crate) const VARIABLE: &str = "MCP_HIL_CACHE";

/// Folder of Espressif's QEMU in the cache.
const QEMU_ESP: &str = "qemu-esp";

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

    /// The folder of Espressif's QEMU.
    pub(super) fn qemu_esp(&self) -> PathBuf {
        self.0.join(QEMU_ESP)
    }

    /// A program of Espressif's QEMU in such a folder.
    pub(super) fn program(qemu_esp: &Path, name: &str) -> PathBuf {
        qemu_esp.join(PROGRAMS).join(name)
    }
}

/// A program of Espressif's QEMU, such as `qemu-system-riscv32`, when it was brought in.
pub fn installed(name: &str) -> Option<PathBuf> {
    let cache = Cache::find(None)?;
    Some(Cache::program(&cache.qemu_esp(), name)).filter(|program| program.is_file())
}
