//! A checkout of xiaozhi firmware: whether a folder is one, and of which version.

use std::path::{Path, PathBuf};

use mcp_hil_record::error::UserError;

/// The file that makes a folder one: the MCP server of the firmware.
pub(super) const SERVER: &str = "main/mcp_server.cc";

/// The first version with the classes that the kit expects, and a folder that is there from it on.
const OLDEST: u64 = 2;
const TABLES: &str = "partitions/v2";

/// A checkout of xiaozhi firmware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checkout {
    /// Its folder, without links and relative parts.
    pub(super) folder: PathBuf,
    /// Its version, `PROJECT_VER` of its `CMakeLists.txt`, or `unknown`.
    pub(super) version: String,
}

impl Checkout {
    /// # Errors
    ///
    /// There is no such folder, it holds something else, or a version that the kit does not build.
    pub(super) fn find(folder: &Path) -> Result<Self, UserError> {
        let shown = folder.display();
        let hint =
            "name the root of a checkout of xiaozhi firmware, the folder where `idf.py build` runs";
        let folder = folder.canonicalize().map_err(|error| {
            UserError::usage(format!("cannot open the firmware folder `{shown}`: {error}"), hint)
        })?;
        if !folder.join(SERVER).is_file() {
            return Err(UserError::usage(
                format!("no xiaozhi firmware in `{shown}`: expected a file `{SERVER}`, found none"),
                hint,
            ));
        }
        let list = folder.join("CMakeLists.txt");
        let text = std::fs::read_to_string(&list).map_err(|error| {
            UserError::usage(format!("cannot read `{}`: {error}", list.display()), hint)
        })?;
        let version = version(&text);
        let major = version.as_deref().and_then(|text| text.split('.').next()?.parse::<u64>().ok());
        // Forks count their own versions; the partition tables of 2.x tell what they came from.
        if major.is_none_or(|major| major < OLDEST) && !folder.join(TABLES).is_dir() {
            let version = version.unwrap_or_else(|| "unknown".to_owned());
            return Err(UserError::usage(
                format!(
                    "the firmware in `{shown}` has version {version}: expected 2.0 or later, or a fork of it with \
                     a folder `{TABLES}`"
                ),
                "older firmware has other classes; test it on a board or in an emulator",
            ));
        }
        let version = version.unwrap_or_else(|| "unknown".to_owned());
        Ok(Self { folder, version })
    }
}

/// The version that a `CMakeLists.txt` sets.
fn version(text: &str) -> Option<String> {
    let set = text.lines().find_map(|line| line.trim_start().strip_prefix("set(PROJECT_VER"))?;
    let version = set.split(')').next()?.trim().trim_matches('"');
    (!version.is_empty()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::quoted("project(x)\nset(PROJECT_VER \"2.4.2\")\n", Some("2.4.2"))]
    #[case::bare("  set(PROJECT_VER 2.0.0) # now", Some("2.0.0"))]
    #[case::commented("# set(PROJECT_VER \"1.0\")", None)]
    #[case::none("project(x)", None)]
    fn a_version_is_read(#[case] text: &str, #[case] found: Option<&str>) {
        assert_eq!(version(text).as_deref(), found);
    }

    fn refused(name: &str, files: &[(&str, &str)]) -> String {
        let place = std::env::temp_dir().join(format!("mcp-hil-{}-{name}", std::process::id()));
        std::fs::create_dir_all(place.join("main")).unwrap();
        for (name, text) in files {
            std::fs::write(place.join(name), text).unwrap();
        }
        let refused = Checkout::find(&place).unwrap_err().to_string();
        std::fs::remove_dir_all(place).unwrap();
        refused
    }

    #[test]
    fn what_is_no_such_firmware_is_told() {
        assert!(refused("empty", &[]).contains("expected a file `main/mcp_server.cc`"));
        let server = ("main/mcp_server.cc", "");
        assert!(refused("unknown", &[server, ("CMakeLists.txt", "")]).contains("version unknown"));
        let old = ("CMakeLists.txt", "set(PROJECT_VER \"1.9.4\")");
        assert!(
            refused("old", &[server, old]).contains("has version 1.9.4: expected 2.0 or later")
        );
        assert!(Checkout::find(Path::new("/nowhere")).unwrap_err().what.contains("cannot open"));
    }
}
