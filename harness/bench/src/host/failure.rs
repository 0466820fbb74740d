//! What a failed build of somebody's firmware says: what is missing or wrong, shortened, and what to do.

use std::path::Path;
use std::process::ExitStatus;

use mcp_hil_record::error::UserError;

use super::NEEDS;
use super::board::KINDS;
use super::checkout::Checkout;

/// What a linker says of something that no source defines, and a compiler of what is wrong in one.
const UNDEFINED: &str = "undefined reference";
const ERROR: &str = "error: ";

/// Lines of a failed build that are shown.
const SHOWN: usize = 30;

/// Errors of compiler and linker that are shown: the first few tell the reason.
const ERRORS: usize = 12;

/// Where CMake leaves the headers that nobody has: in each line one, a tab, and who includes it.
pub(super) const MISSING: &str = "missing-headers.txt";

/// The step of a build that has failed, and where.
pub(super) struct Failure<'a> {
    pub(super) checkout: &'a Checkout,
    pub(super) board: &'a str,
    pub(super) status: ExitStatus,
    /// What the step wrote.
    pub(super) text: &'a str,
    /// The file with what all steps wrote.
    pub(super) log: &'a Path,
    /// What the list of missing headers holds, if CMake has made one.
    pub(super) missing: &'a str,
}

impl Failure<'_> {
    pub(super) fn error(&self) -> UserError {
        if !self.missing.is_empty() {
            return self.missing_headers();
        }
        let shown = match errors(self.text, &self.checkout.folder) {
            errors if errors.is_empty() => excerpt(self.text),
            errors => errors,
        };
        let status = self.status;
        UserError::bench(
            format!("cannot build the firmware for this host ({status}):\n\n{shown}"),
            &self.hint(),
        )
    }

    fn missing_headers(&self) -> UserError {
        let lines: Vec<(&str, &str)> =
            self.missing.lines().filter_map(|line| line.split_once('\t')).collect();
        let width = lines.iter().map(|(header, _)| header.len()).max().unwrap_or(0);
        let list: Vec<String> =
            lines.iter().map(|(header, by)| format!("  {header:width$}  {by}")).collect();
        UserError::bench(
            format!(
                "{} includes headers that neither its sources nor the kit has ({}):\n\n{}",
                self.who(),
                lines.len(),
                list.join("\n")
            ),
            "write headers of these names that declare what is used of them, and name their folder: \
             `--stubs FOLDER`, or `--host-stubs FOLDER` of `run`",
        )
    }

    fn who(&self) -> String {
        match KINDS.contains(&self.board) {
            true => format!("the firmware in `{}`", self.checkout.folder.display()),
            false => format!("the firmware with its board `{}`", self.board),
        }
    }

    fn hint(&self) -> String {
        let text = self.text;
        let log = self.log.display();
        if text.contains("CMAKE_CXX_COMPILER") || text.contains("CMAKE_MAKE_PROGRAM") {
            NEEDS.to_owned()
        } else if text.contains("XIAOZHI_COMPONENTS") {
            "`--components FOLDER`, or `--host-components FOLDER` of `run`, names a folder that has it".to_owned()
        } else if text.contains("class AudioService") && text.contains("has no member") {
            format!(
                "the audio service is the kit's: declare what this firmware's has beyond it in a file \
                 `kit_audio_service.h`, which is included inside the class, and name its folder: `--stubs FOLDER`, or \
                 `--host-stubs FOLDER` of `run`; `{log}` holds the whole output"
            )
        } else if text.contains(UNDEFINED) {
            format!(
                "no source that is built defines these: `firmware/host/README.md` lists what is; sources in a folder \
                 of `--stubs` (`--host-stubs` of `run`) are built too; `{log}` holds the whole output"
            )
        } else if text.contains(ERROR) {
            format!(
                "what a board uses beyond the kit's headers you can declare in headers of your own: \
                 `--stubs FOLDER`, or `--host-stubs FOLDER` of `run`; `{log}` holds the whole output"
            )
        } else {
            format!("the whole output of the build is in `{log}`")
        }
    }
}

/// The errors of compiler and linker, each once and with its place below the checkout.
fn errors(text: &str, checkout: &Path) -> String {
    let folder = format!("{}/", checkout.display());
    let mut errors: Vec<String> = Vec::new();
    for line in text.lines() {
        let told = line.contains(": error: ")
            || line.contains(": fatal error: ")
            || line.contains(UNDEFINED);
        let line = format!("  {}", line.replace(&folder, ""));
        if told && !errors.contains(&line) {
            errors.push(line);
        }
    }
    let more = errors.len().saturating_sub(ERRORS);
    errors.truncate(ERRORS);
    if more > 0 {
        errors.push(format!("  and {more} more"));
    }
    errors.join("\n")
}

/// What of a step that is neither compiling nor linking tells why: from the first error on.
fn excerpt(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_error = |line: &&str| line.contains("CMake Error") || line.contains("error:");
    let first = lines.iter().position(is_error);
    let from = first.unwrap_or(lines.len().saturating_sub(SHOWN));
    let shown = lines[from..].iter().take(SHOWN).map(|line| format!("  {line}"));
    shown.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_once_with_their_places() {
        let text = "make: one\n/c/main/a.cc:3:1: error: no such type\n  3 | x\n\
                    /c/main/a.cc:3:1: error: no such type\n/usr/bin/ld: a.cc:9: undefined reference to `X::Y()'\n";
        assert_eq!(
            errors(text, Path::new("/c")),
            "  main/a.cc:3:1: error: no such type\n  /usr/bin/ld: a.cc:9: undefined reference to `X::Y()'"
        );
        let many: String = (0..15).map(|line| format!("a.cc:{line}: error: x\n")).collect();
        assert!(errors(&many, Path::new("/c")).ends_with("a.cc:11: error: x\n  and 3 more"));
    }

    #[test]
    fn a_failed_configuration_is_told_from_its_first_error_on() {
        assert_eq!(excerpt("one\nCMake Error at x\n  two"), "  CMake Error at x\n    two");
        assert_eq!(excerpt("one\ntwo"), "  one\n  two");
    }
}
