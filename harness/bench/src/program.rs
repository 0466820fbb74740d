//! Which program plays the parts that runs start in processes of their own: the bridge to a board, and the
//! reference device.
//!
//! `mcp-hil` itself does. Test programs that only use this library cannot: their `main` belongs to the test
//! framework. For them the program is looked for, and built where it is not to be found. One that was found
//! by chance must be of the very edition of this library.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::Value;

use crate::bridge::identity;
use mcp_hil_record::error::UserError;

/// The variable that names the program.
pub const PROGRAM: &str = "MCP_HIL";

/// The program's name.
const NAME: &str = "mcp-hil";

/// The folder, in the target folder of the test program, into which it is built.
const BUILD: &str = "mcp-hil-program";

/// The file by which cargo marks its target folders.
const TARGET_MARK: &str = "CACHEDIR.TAG";

static SET: OnceLock<PathBuf> = OnceLock::new();

/// What was found; it is looked for, or built, once.
static FOUND: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Names the program, where it is known. The first name stays. `mcp-hil` itself does so when it starts.
pub fn set(path: PathBuf) {
    let _ = SET.set(path);
}

/// The program: the one that was set, the one that MCP_HIL names, one beside the running program or on PATH;
/// else it is built from the source of this library.
///
/// The running program itself is never taken unless it was set: a test program that is told to be a bridge or a
/// device would run its tests again, and so on without an end.
///
/// # Errors
///
/// The named one is of another edition, or none is there and it cannot be built.
pub fn path() -> Result<PathBuf, UserError> {
    if let Some(path) = SET.get() {
        return Ok(path.clone());
    }
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = &*found {
        return Ok(path.clone());
    }
    let path = Search::here().find(&mut notice)?;
    *found = Some(path.clone());
    Ok(path)
}

/// Talk that people have to see: test frameworks keep what is printed, and show it when all is over.
fn notice(text: &str) {
    let _ = writeln!(io::stderr(), "{NAME}: {text}");
}

/// Where the program may be.
#[derive(Debug, Default)]
struct Search {
    /// The one that people name.
    named: Option<PathBuf>,
    /// The running program.
    own: Option<PathBuf>,
    /// The folders of PATH.
    folders: Vec<PathBuf>,
    /// The program that builds it.
    cargo: OsString,
    /// The package of this library.
    source: PathBuf,
}

impl Search {
    fn here() -> Self {
        let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let path = given("PATH").unwrap_or_default();
        Self {
            named: given(PROGRAM).map(PathBuf::from),
            own: std::env::current_exe().ok(),
            folders: std::env::split_paths(&path).collect(),
            cargo: given("CARGO").unwrap_or_else(|| "cargo".into()),
            source: crate::own_tree().join("harness"),
        }
    }

    fn find(&self, say: &mut dyn FnMut(&str)) -> Result<PathBuf, UserError> {
        if let Some(named) = &self.named {
            return match stranger(named) {
                None => Ok(named.clone()),
                Some(got) => Err(UserError::bench(
                    format!(
                        "{PROGRAM} names a different program than this test needs: `{}`\n\n  \
                         expected {}\n  got      {got}",
                        named.display(),
                        identity()
                    ),
                    &format!(
                        "build it from the source that the test uses, `{}`; or unset {PROGRAM} to \
                         have it looked for or built",
                        self.source.display()
                    ),
                )),
            };
        }
        for path in self.candidates().filter(|path| path.is_file()) {
            match stranger(&path) {
                None => return Ok(path),
                Some(got) => say(&format!(
                    "skipped `{}`: expected {}, got {got}",
                    path.display(),
                    identity()
                )),
            }
        }
        self.build(say)
    }

    fn candidates(&self) -> impl Iterator<Item = PathBuf> {
        let beside = self.profile().map(Path::to_owned);
        let folders = beside.into_iter().chain(self.folders.iter().cloned());
        folders.map(|folder| folder.join(NAME))
    }

    /// The folder of the running program, from which cargo puts tests one deeper.
    fn profile(&self) -> Option<&Path> {
        let folder = self.own.as_ref()?.parent()?;
        match folder.ends_with("deps") {
            true => folder.parent(),
            false => Some(folder),
        }
    }

    /// The target folder that the running program lies in.
    fn target(&self) -> Option<&Path> {
        let mut above = self.own.as_ref()?.ancestors();
        above.find(|folder| folder.join(TARGET_MARK).is_file())
    }

    /// Builds it from the source of this library. Cargo knows whether anything is to be done.
    fn build(&self, say: &mut dyn FnMut(&str)) -> Result<PathBuf, UserError> {
        let unknown = match self.own {
            // Linux tells a program where it lies by `/proc/self/exe`.
            None => "this program does not find itself: is `/proc` mounted? Otherwise ",
            Some(_) => "",
        };
        let by_hand = format!(
            "{unknown}`cargo install --path '{}'` puts it on your PATH; {PROGRAM} names a program elsewhere",
            self.source.display()
        );
        let failed = |what: String| {
            UserError::bench(
                format!(
                    "cannot build the program `{NAME}`, which tests need for boards and for the \
                     reference device: {what}"
                ),
                &by_hand,
            )
        };
        if !self.source.join("Cargo.toml").is_file() {
            return Err(failed(format!(
                "its source is not in `{}` any more",
                self.source.display()
            )));
        }
        let mut command = Command::new(&self.cargo);
        command
            // The settings of the tested project, a target for chips perhaps, are not those of this one.
            .current_dir(&self.source)
            .args(["build", "--quiet", "--package", NAME, "--bin", NAME])
            .args(["--message-format", "json-render-diagnostics"])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit());
        let into = self.target().map(|target| target.join(BUILD));
        if let Some(into) = &into {
            command.arg("--target-dir").arg(into);
        }
        let is_new = into.as_ref().is_none_or(|into| !into.exists());
        if is_new {
            let place = into
                .as_ref()
                .map_or_else(String::new, |into| format!(" into `{}`", into.display()));
            say(&format!(
                "building the program `{NAME}`, for boards and the reference device{place}: this \
                 takes minutes, but only the first time; {PROGRAM} can name one that is already \
                 built"
            ));
        }
        let output =
            command.output().map_err(|error| failed(format!("`cargo` does not start: {error}")))?;
        if !output.status.success() {
            return Err(failed(format!("`cargo build` ended with {}", output.status)));
        }
        let path = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|message| Some(PathBuf::from(message.get("executable")?.as_str()?)))
            .next_back()
            .ok_or_else(|| failed("cargo named no program".into()))?;
        match stranger(&path) {
            None => Ok(path),
            Some(got) => Err(failed(format!(
                "the source is not the one that the test was built from: expected {}, got {got}",
                identity()
            ))),
        }
    }
}

/// What a program is, unless it is this library's.
fn stranger(path: &Path) -> Option<String> {
    let output = Command::new(path)
        .args(["bridge", "--identify"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return Some(format!("one that does not start: {error}")),
    };
    let told = String::from_utf8_lossy(&output.stdout);
    match told.lines().next().unwrap_or_default().trim() {
        told if told == identity() => None,
        "" => Some("one that does not identify itself".to_owned()),
        told => Some(told.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of one test, and programs in it.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let place =
                std::env::temp_dir().join(format!("mcp-hil-program-{}-{name}", std::process::id()));
            let _ = std::fs::remove_dir_all(&place);
            std::fs::create_dir_all(&place).unwrap();
            Self(place)
        }

        fn script(&self, path: &str, text: &str) -> PathBuf {
            let path = self.0.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            // Not written by this process: a child that another thread starts meanwhile would hold the file
            // open, and what is open for writing cannot be run.
            let mut writes = Command::new("sh")
                .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
                .arg(&path)
                .stdin(Stdio::piped())
                .spawn()
                .unwrap();
            let mut input = writes.stdin.take().unwrap();
            write!(input, "#!/bin/sh\n{text}\n").unwrap();
            drop(input);
            assert!(writes.wait().unwrap().success());
            path
        }

        /// A program that is `who`.
        fn program(&self, path: &str, who: &str) -> PathBuf {
            let asked = "[ \"$*\" = 'bridge --identify' ] || exit 1";
            self.script(path, &format!("{asked}\necho '{who}'"))
        }

        /// A program where cargo puts tests.
        fn test_program(&self) -> PathBuf {
            std::fs::create_dir_all(self.0.join("target/debug/deps")).unwrap();
            std::fs::write(self.0.join("target").join(TARGET_MARK), "").unwrap();
            self.0.join("target/debug/deps/own-1234")
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn find(search: &Search) -> (Result<PathBuf, UserError>, Vec<String>) {
        let mut told = Vec::new();
        let found = search.find(&mut |text| told.push(text.to_owned()));
        (found, told)
    }

    #[test]
    fn the_one_that_is_named_is_taken_or_refused() {
        let place = Place::new("named");
        let good = place.program("good", &identity());
        let other = place.program("other", "mcp-hil 0.0.9, bridge 17");
        let named = |path: &Path| Search {
            named: Some(path.to_owned()),
            folders: vec![place.0.clone()],
            ..Search::default()
        };
        assert_eq!(find(&named(&good)).0.unwrap(), good);
        let text = find(&named(&other)).0.unwrap_err().to_string();
        for part in ["MCP_HIL", "got      mcp-hil 0.0.9, bridge 17", "hint: "] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = find(&named(&place.0.join("none"))).0.unwrap_err().to_string();
        assert!(text.contains("does not start"), "{text}");
    }

    #[test]
    fn beside_the_tests_and_on_path_only_the_same_edition_counts() {
        let place = Place::new("beside");
        let search = Search {
            own: Some(place.test_program()),
            folders: vec![place.0.join("bin")],
            ..Search::default()
        };
        let installed = place.program("bin/mcp-hil", &identity());
        assert_eq!(find(&search).0.unwrap(), installed);
        place.program("target/debug/mcp-hil", "mcp-hil 0.0.9, bridge 17");
        let (found, told) = find(&search);
        assert_eq!(found.unwrap(), installed);
        assert!(told[0].contains("skipped"), "{told:?}");
        let beside = place.program("target/debug/mcp-hil", &identity());
        assert_eq!(find(&search).0.unwrap(), beside);
    }

    #[test]
    fn where_there_is_none_it_is_built_beside_what_the_tests_were_built_into() {
        let place = Place::new("build");
        let built = place.program("built", &identity());
        let told = format!(
            "echo \"$@\" > '{}'\necho '{{\"executable\":\"{}\"}}'",
            place.0.join("asked").display(),
            built.display()
        );
        let search = Search {
            own: Some(place.test_program()),
            cargo: place.script("cargo", &told).into(),
            source: crate::own_tree().join("harness"),
            ..Search::default()
        };
        let (found, told) = find(&search);
        assert_eq!(found.unwrap(), built);
        let into = place.0.join("target/mcp-hil-program");
        assert!(
            told[0].contains(&into.display().to_string()) && told[0].contains("takes minutes"),
            "{told:?}"
        );
        let asked = std::fs::read_to_string(place.0.join("asked")).unwrap();
        assert!(asked.contains("build --quiet --package mcp-hil --bin mcp-hil"), "{asked}");
        assert!(asked.contains(&format!("--target-dir {}", into.display())), "{asked}");
        // It is cargo that knows whether that one is still up to date.
        std::fs::create_dir_all(&into).unwrap();
        assert_eq!(find(&search).1, Vec::<String>::new());
    }

    #[test]
    fn what_cannot_be_built_says_what_to_do() {
        let place = Place::new("broken");
        let search = Search {
            cargo: place.script("cargo", "exit 3").into(),
            source: crate::own_tree().join("harness"),
            ..Search::default()
        };
        let text = find(&search).0.unwrap_err().to_string();
        for part in ["`cargo build` ended with", "cargo install --path", "MCP_HIL"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let gone = Search { source: place.0.join("gone"), ..search };
        let text = find(&gone).0.unwrap_err().to_string();
        assert!(text.contains("is not in"), "{text}");
    }
}
