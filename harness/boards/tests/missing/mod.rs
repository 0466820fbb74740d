//! What a test needs and this machine does not have. No test is left out unless somebody allows it, and
//! what is left out is counted: `ci/test.sh` does both.

#![allow(dead_code, reason = "each test program needs some of these")]

use std::io::Write as _;
use std::path::Path;

/// Names what may be missing, by the names of [`Need`], separated by commas; `all` is everything.
const ALLOWED: &str = "MCP_HIL_LEAVE_OUT";

/// Something that not every machine has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need {
    /// As `MCP_HIL_LEAVE_OUT` names it.
    pub(crate) name: &'static str,
    /// How it is brought in.
    pub(crate) hint: &'static str,
}

pub(crate) const PYTHON: Need = Need {
    name: "python",
    hint: "pip install -r ci/python.txt, and MCP_HIL_PYTHON names the interpreter that has it",
};
pub(crate) const CMAKE: Need = Need {
    name: "cmake",
    hint: "install `cmake`, `make` and a C++ compiler (package `g++` of Debian)",
};
pub(crate) const XIAOZHI: Need = Need {
    name: "xiaozhi",
    hint: "XIAOZHI_SOURCE names a checkout of xiaozhi firmware with its components",
};
pub(crate) const CHROMIUM: Need =
    Need { name: "chromium", hint: "install the package `chromium` of your distribution" };
pub(crate) const MOSQUITTO: Need =
    Need { name: "mosquitto", hint: "install the package `mosquitto` of your distribution" };
pub(crate) const QEMU: Need = Need {
    name: "qemu",
    hint: "install `qemu-system-riscv32` (package `qemu-system-misc` of Debian)",
};
pub(crate) const QEMU_ESP: Need = Need {
    name: "qemu-esp",
    hint: "`mcp-hil setup qemu-esp`, `ci/firmware.sh`, and MCP_HIL_QEMU_ESP names the program",
};
pub(crate) const UNSHARE: Need = Need {
    name: "unshare",
    hint: "let users make network namespaces (`unshare -rn true` must work)",
};

impl Need {
    /// Ends the test, unless it may be left out; then it is noted, and the caller returns.
    #[track_caller]
    pub(crate) fn is_missing(self, why: &str) {
        let Self { name, hint } = self;
        let test = std::thread::current();
        let test = test.name().unwrap_or("a test");
        let allowed = std::env::var(ALLOWED).unwrap_or_default();
        let may =
            allowed.split(',').any(|one| matches!(one.trim(), all if all == "all" || all == name));
        assert!(
            may,
            "`{test}` needs {name}: {why}\n\nhint: {hint}; or {ALLOWED}={name} leaves such tests out"
        );
        let list = Path::new(env!("CARGO_TARGET_TMPDIR")).join("not-run.txt");
        let mut list = std::fs::File::options().create(true).append(true).open(list).unwrap();
        // One write, for tests run side by side.
        let line = format!("{test} needs {name}: {why}\n");
        list.write_all(line.as_bytes()).unwrap();
        eprint!("not run: {line}");
    }
}
