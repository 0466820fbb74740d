//! Somebody's xiaozhi firmware as a program of this host: its own sources, unmodified, with the kit of
//! `firmware/host` in the place of ESP-IDF.

mod board;
mod checkout;
mod failure;

use std::fs;
use std::io;
use std::num::{NonZeroU8, NonZeroU64};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mcp_hil_boards::flash::nvs::{Settings, Value};
use mcp_hil_record::error::UserError;
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use checkout::Checkout;
use failure::{Failure, MISSING};

/// Where builds are left, below the target folder.
const BUILDS: &str = "mcp-hil-host";

/// What the kit builds.
const PROGRAM: &str = "xiaozhi-host";

/// What the kit needs, as Debian's packages.
const NEEDS: &str = "`apt-get install cmake g++ make` (Debian, Ubuntu), `dnf install cmake gcc-c++ make` (Fedora) or \
                     `brew install cmake` (macOS) installs what a build needs";

/// The size of the settings partition, as stock firmware has it.
const NVS_SIZE: usize = 0x4000;

/// How somebody's firmware is built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostOptions {
    /// The kind of board that the kit provides: `plain` if it is left out, or `lamp`, `display`, `camera`. Otherwise
    /// a board of the checkout, by its folder below `main/boards`.
    pub board: Option<String>,
    /// Folders with the firmware's components, beside those in the checkout.
    pub components: Vec<PathBuf>,
    /// Folders with headers, and sources, that a board of the checkout needs beyond those of the kit.
    pub stubs: Vec<PathBuf>,
    /// Whether sanitizers look for wrong use of memory, which ends the program, and undefined behaviour.
    pub sanitize: bool,
    /// The bytes of its heap: beyond, memory is refused. No limit if it is left out. Not with sanitizers.
    pub heap: Option<NonZeroU64>,
    /// How much larger its tasks' stacks are than what it asks for: 4 if it is left out, with sanitizers 16.
    pub stack_scale: Option<NonZeroU8>,
}

impl HostOptions {
    /// These, and where they are silent those of a file.
    #[must_use]
    pub fn or(&self, file: &Self) -> Self {
        let folders = |mine: &[PathBuf], others: &[PathBuf]| {
            if mine.is_empty() { others.to_owned() } else { mine.to_owned() }
        };
        Self {
            board: self.board.clone().or_else(|| file.board.clone()),
            components: folders(&self.components, &file.components),
            stubs: folders(&self.stubs, &file.stubs),
            sanitize: self.sanitize || file.sanitize,
            heap: self.heap.or(file.heap),
            stack_scale: self.stack_scale.or(file.stack_scale),
        }
    }

    /// What the program is told of them; all else is built into it.
    pub fn environment(&self) -> impl Iterator<Item = (&'static str, String)> {
        let heap = self.heap.map(|bytes| ("MCP_HIL_HEAP", bytes.to_string()));
        let scale = self.stack_scale.map(|scale| ("MCP_HIL_STACK_SCALE", scale.to_string()));
        heap.into_iter().chain(scale)
    }

    fn board(&self) -> &str {
        self.board.as_deref().unwrap_or("plain")
    }
}

/// A checkout of firmware and the program that was built of it.
#[derive(Debug, Clone)]
pub struct HostBuild {
    /// The checkout's folder, as it was named.
    pub source: PathBuf,
    /// The firmware's version.
    pub version: String,
    /// How it was built.
    pub options: HostOptions,
    /// The program.
    pub program: PathBuf,
}

/// The version of the xiaozhi firmware in a folder, or why it is none that can be built; `None` where there is no
/// such firmware.
pub fn checkout(folder: &Path) -> Option<Result<String, UserError>> {
    let is_there = folder.join(checkout::SERVER).is_file();
    is_there.then(|| Checkout::find(folder).map(|checkout| checkout.version))
}

impl HostBuild {
    /// Builds the firmware in a folder, as far as anything has changed since the last time. `say` is told what
    /// takes long.
    ///
    /// # Errors
    ///
    /// The folder holds no firmware that the kit builds, a program that a build needs is not installed, or the
    /// build fails.
    pub fn make(
        source: &Path,
        options: &HostOptions,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, UserError> {
        if options.sanitize && options.heap.is_some() {
            return Err(UserError::usage(
                "a heap limit (`--host-heap`, or `heap` in `[host]`) with sanitizers: they have an allocator of their \
                 own, which knows no limit",
                "leave one of them out",
            ));
        }
        let checkout = Checkout::find(source)?;
        let named = options.components.iter().chain(&options.stubs);
        if let Some(absent) = named.into_iter().find(|folder| !folder.is_dir()) {
            return Err(UserError::usage(
                format!(
                    "no folder `{}`, which is named for the firmware's build",
                    absent.display()
                ),
                "`--components` and `--stubs`, or `--host-components` and `--host-stubs` of `run`, name folders \
                 that are there",
            ));
        }
        let board = board::find(&checkout, options.board())?;
        let folder = folder(&checkout, &board, options).map_err(|error| {
            UserError::bench(format!("cannot use the build folder: {error}"), DISK)
        })?;
        let unwritable = |error: io::Error| {
            UserError::bench(format!("cannot write `{}`: {error}", folder.display()), DISK)
        };
        fs::create_dir_all(&folder).map_err(unwritable)?;
        // Two runs at one time build one after the other.
        let lock = fs::File::create(folder.join("lock")).map_err(unwritable)?;
        lock.lock().map_err(unwritable)?;
        let kit = folder.join("kit");
        unpack(&kit).map_err(unwritable)?;
        let program = folder.join("build").join(PROGRAM);
        if !program.is_file() {
            say(&format!(
                "building the firmware in `{}` (version {}) for this host; this takes a minute, but only the \
                 first time",
                source.display(),
                checkout.version
            ));
        }
        let log = folder.join("build.log");
        fs::write(&log, "").map_err(unwritable)?;
        let step = Step { checkout: &checkout, board: &board, folder: &folder, log: &log };
        step.run(cmake().args(configuration(&kit, &folder, &checkout, &board, options)))?;
        let jobs = std::thread::available_parallelism().map_or(1, usize::from).to_string();
        step.run(cmake().arg("--build").arg(folder.join("build")).args(["--parallel", &jobs]))?;
        if !program.is_file() {
            return Err(UserError::bench(
                format!("the build left no program `{}`", program.display()),
                &format!("`{}` holds what it wrote", log.display()),
            ));
        }
        Ok(Self {
            source: source.to_owned(),
            version: checkout.version,
            options: options.clone(),
            program,
        })
    }

    /// Where the program finds its settings: a partition image in `folder`, as a board would have been given. A
    /// device that is started again keeps what it has stored.
    ///
    /// # Errors
    ///
    /// The folder cannot be written.
    pub fn settings(&self, ota_url: &str, folder: &Path) -> io::Result<PathBuf> {
        let path = folder.join("nvs.bin");
        if !path.is_file() {
            let mut settings = Settings::new();
            let mut set = |namespace, key, value| settings.set(namespace, key, value);
            set("wifi", "ssid", Value::Str("mcp-hil".into()))
                .and_then(|()| set("wifi", "password", Value::Str(String::new())))
                .and_then(|()| set("wifi", "ota_url", Value::Str(ota_url.to_owned())))
                .map_err(io::Error::other)?;
            let image = settings.image(NVS_SIZE).map_err(io::Error::other)?;
            fs::create_dir_all(folder)?;
            fs::write(&path, image)?;
        }
        path.canonicalize()
    }
}

const DISK: &str =
    "check the space and permissions of the disk; CARGO_TARGET_DIR names another folder";

/// A folder of its own for each checkout, each way to build it and each kit: nothing of another kit is left in it.
fn folder(checkout: &Checkout, board: &str, options: &HostOptions) -> io::Result<PathBuf> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let mut hash = Sha256::new();
    hash.update(checkout.folder.to_string_lossy().as_bytes());
    let HostOptions { sanitize, components, stubs, .. } = options;
    hash.update(format!("\0{board}\0{sanitize}\0{components:?}\0{stubs:?}"));
    for (name, text) in mcp_hil_host_kit::files() {
        hash.update(format!("\0{name}\0{text}"));
    }
    let hash: String = hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let name =
        checkout.folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
    let board = board.replace('/', "-");
    std::path::absolute(target.join(BUILDS).join(format!("{name}-{board}-{hash}")))
}

/// Writes the kit where it differs: what is unchanged is not built again.
fn unpack(kit: &Path) -> io::Result<()> {
    for (name, text) in mcp_hil_host_kit::files() {
        let path = kit.join(name);
        if fs::read(&path).is_ok_and(|found| found == text.as_bytes()) {
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

fn cmake() -> Command {
    Command::new("cmake")
}

fn configuration(
    kit: &Path,
    folder: &Path,
    checkout: &Checkout,
    board: &str,
    options: &HostOptions,
) -> Vec<String> {
    let list = |paths: &[PathBuf]| {
        let absolute = paths.iter().filter_map(|path| std::path::absolute(path).ok());
        let texts: Vec<String> = absolute.map(|path| path.to_string_lossy().into_owned()).collect();
        texts.join(";")
    };
    vec![
        "-S".to_owned(),
        kit.to_string_lossy().into_owned(),
        "-B".to_owned(),
        folder.join("build").to_string_lossy().into_owned(),
        format!("-DXIAOZHI_SOURCE={}", checkout.folder.display()),
        format!("-DXIAOZHI_COMPONENTS={}", list(&options.components)),
        format!("-DXIAOZHI_STUBS={}", list(&options.stubs)),
        format!("-DXIAOZHI_BOARD={board}"),
        format!("-DXIAOZHI_SANITIZE={}", if options.sanitize { "ON" } else { "OFF" }),
    ]
}

/// What all steps of a build have in common.
struct Step<'a> {
    checkout: &'a Checkout,
    board: &'a str,
    folder: &'a Path,
    log: &'a Path,
}

impl Step<'_> {
    /// Runs a step; what it writes goes to the log.
    fn run(&self, command: &mut Command) -> Result<(), UserError> {
        let log = self.log;
        let missing = self.folder.join("build").join(MISSING);
        let begun = fs::metadata(log).map_or(0, |found| found.len());
        let open = || fs::OpenOptions::new().append(true).open(log);
        let outputs = open().and_then(|out| Ok((out, open()?)));
        let (out, err) = outputs.map_err(|error| {
            UserError::bench(format!("cannot write `{}`: {error}", log.display()), DISK)
        })?;
        let status =
            command.stdin(Stdio::null()).stdout(out).stderr(err).status().map_err(|error| {
                UserError::bench(format!("`cmake` does not start: {error}"), NEEDS)
            })?;
        if status.success() {
            return Ok(());
        }
        let bytes = fs::read(log).unwrap_or_default();
        let text = String::from_utf8_lossy(bytes.get(begun as usize..).unwrap_or_default());
        let missing = fs::read_to_string(missing).unwrap_or_default();
        let (checkout, board) = (self.checkout, self.board);
        Err(Failure { checkout, board, status, text: &text, log, missing: &missing }.error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_the_command_line_goes_before_that_of_a_file() {
        let of = |board: Option<&str>, components: &[&str], sanitize| HostOptions {
            board: board.map(str::to_owned),
            components: components.iter().map(PathBuf::from).collect(),
            stubs: components.iter().map(PathBuf::from).collect(),
            sanitize,
            heap: NonZeroU64::new(if sanitize { 200_000 } else { 0 }),
            stack_scale: None,
        };
        let file = of(Some("lamp"), &["a"], true);
        assert_eq!(HostOptions::default().or(&file), file);
        assert_eq!(of(Some("camera"), &["b"], false).or(&file), of(Some("camera"), &["b"], true));
        let told: Vec<_> = file.environment().collect();
        assert_eq!(told, [("MCP_HIL_HEAP", "200000".to_owned())]);
        assert_eq!(HostOptions::default().board(), "plain");
    }

    #[test]
    fn every_way_to_build_has_a_folder_of_its_own() {
        let checkout = Checkout { folder: "/home/me/fork".into(), version: "2.4.2".into() };
        let plain = folder(&checkout, "plain", &HostOptions::default()).unwrap();
        let sanitize = HostOptions { sanitize: true, ..HostOptions::default() };
        assert_ne!(plain, folder(&checkout, "plain", &sanitize).unwrap());
        let own = folder(&checkout, "acme/toaster", &HostOptions::default()).unwrap();
        assert!(own.file_name().unwrap().to_str().unwrap().starts_with("fork-acme-toaster-"));
        assert!(plain.file_name().unwrap().to_str().unwrap().starts_with("fork-plain-"));
    }
}
