//! `mcp-hil setup`: brings in programs that no package manager has.
//!
//! An archive is downloaded beside its place, checked, unpacked there, and moved into place as the last
//! step: what fails before that leaves nothing behind, and what was there before stays.

mod cache;
mod download;
mod unpack;

use std::path::{Path, PathBuf};
use std::process::Stdio;

pub use cache::{Cache, installed};
use download::Sha256;
use mcp_hil_args::{Cores, SetupArgs};
use mcp_hil_record::error::UserError;

/// The release of Espressif's QEMU that is brought in.
const RELEASE: &str = "esp-develop-9.2.2-20260417";

/// Where its releases are.
const RELEASES: &str = "https://github.com/espressif/qemu/releases/download";

/// The archives of the release: cores, system, processor, name of both, and SHA-256 as projects that
/// download them have pinned it. A hash that is wrong here refuses the archive, and no more.
const PINNED: [(Cores, &str, &str, &str, &str); 8] = [
    (
        Cores::Riscv,
        "linux",
        "x86_64",
        "x86_64-linux-gnu",
        "547f03e04701a92cbb699f7f7d015adc1f5b5ef93cbb94c0dd9b7107e2d84e77",
    ),
    (
        Cores::Riscv,
        "linux",
        "aarch64",
        "aarch64-linux-gnu",
        "a9f7b98636008edcf7a11c96f10b3a3ec83c2a890fc54c3e3ceb3ec9edace427",
    ),
    (
        Cores::Riscv,
        "macos",
        "x86_64",
        "x86_64-apple-darwin",
        "a47c38c6e2eb9f5028eda9585dce999ce02b8983a2cdf71c48cfb10a14ae25fe",
    ),
    (
        Cores::Riscv,
        "macos",
        "aarch64",
        "aarch64-apple-darwin",
        "67bff66ff7158f272ce167fc211c0f8f4c1a79b6f6174350678a6d5035644b30",
    ),
    (
        Cores::Xtensa,
        "linux",
        "x86_64",
        "x86_64-linux-gnu",
        "0eecb2a34a5586c0e59110f77b9343b7b336e82fdb0e1a30e1dc1bab8a547e35",
    ),
    (
        Cores::Xtensa,
        "linux",
        "aarch64",
        "aarch64-linux-gnu",
        "00de5985094c14e47d1b38464a006b8ed64fd0fa7a289c56da24f3a329f65339",
    ),
    (
        Cores::Xtensa,
        "macos",
        "x86_64",
        "x86_64-apple-darwin",
        "ae8170fe46bcdfa54a7c0d7afcdb7a066711991be680f72ff7bbc6c4ae3ad88f",
    ),
    (
        Cores::Xtensa,
        "macos",
        "aarch64",
        "aarch64-apple-darwin",
        "bb8c15810565d3df1665dc34962430885e11bc95575b228fb44698146be1e9d6",
    ),
];

/// Holds the hash of the archive that was unpacked, so that the same is not brought in twice.
const STAMP: &str = "archive.sha256";

/// The archive while it comes.
const ARCHIVE: &str = "archive.tar.xz";

/// Brings in Espressif's QEMU: the text that says where it is.
///
/// # Errors
///
/// The archive cannot be had, is not the right one, or cannot be unpacked; nothing is left behind
/// then.
pub fn qemu_esp(args: &SetupArgs) -> Result<String, UserError> {
    let (url, sha256) = source(args)?;
    let cache = Cache::find(args.cache.as_deref()).ok_or_else(|| {
        UserError::usage(
            "there is no cache folder: expected HOME or XDG_CACHE_HOME in the environment",
            "name a folder with `--cache`",
        )
    })?;
    let name = args.cores.program();
    let place = cache.qemu_esp(name);
    let program = Cache::program(&place, name);
    let stamp = std::fs::read_to_string(place.join(STAMP)).unwrap_or_default();
    if !args.force && stamp.trim() == sha256.to_string() && program.is_file() {
        return Ok(format!("already installed: {}\n", program.display()));
    }

    let work = Work::new(&cache, &place)?;
    mcp_hil_core::notice!("downloading {url}");
    let archive = work.path.join(ARCHIVE);
    download::download(&url, &sha256, &archive)?;
    let unpacked = work.path.join("unpacked");
    unpack::unpack(&archive, &unpacked)?;
    let fresh = Cache::program(&unpacked, name);
    if !fresh.is_file() {
        return Err(UserError::bench(
            format!("the archive has no `qemu/bin/{name}`: `{url}`"),
            "give an archive of Espressif's QEMU for these cores with `--url`, and the cores with \
             `--cores`",
        ));
    }
    let refused = |error: std::io::Error| not_writable(&place, &error);
    std::fs::write(unpacked.join(STAMP), format!("{sha256}\n")).map_err(refused)?;
    if place.exists() {
        std::fs::rename(&place, work.path.join("before")).map_err(refused)?;
    }
    std::fs::rename(&unpacked, &place).map_err(refused)?;
    work.done();
    check_starts(&program)?;
    Ok(format!("{}\n", program.display()))
}

/// Where the archive is, and what hash it must have. There is always one.
fn source(args: &SetupArgs) -> Result<(String, Sha256), UserError> {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let pinned =
        PINNED.iter().find(|(cores, on, for_, ..)| (*cores, *on, *for_) == (args.cores, os, arch));
    let url = match (&args.url, pinned) {
        (Some(url), _) => url.clone(),
        (None, Some((.., platform, _))) => {
            let release = RELEASE.replace('-', "_");
            let family = args.cores.family();
            format!("{RELEASES}/{RELEASE}/qemu-{family}-softmmu-{release}-{platform}.tar.xz")
        }
        (None, None) => {
            return Err(UserError::usage(
                format!("there is no release of Espressif's QEMU for {os} on {arch}"),
                "build it from source and set MCP_HIL_QEMU_ESP to its path, or give an archive \
                 with `--url` and `--sha256`",
            ));
        }
    };
    let sha256 = match (&args.sha256, pinned) {
        (Some(named), _) => named.parse().map_err(|()| {
            UserError::usage(
                format!("`--sha256 {named}`: expected 64 hexadecimal digits"),
                "`sha256sum <file>` prints them",
            )
        })?,
        // A mirror has the same file.
        (None, Some((.., pinned))) => pinned.parse().map_err(|()| {
            UserError::bench(
                "the pinned hash is not a hash",
                "this is a bug in mcp-hil; give `--sha256`",
            )
        })?,
        (None, None) => {
            return Err(UserError::usage(
                format!("no hash is known for an archive for {os} on {arch}"),
                "give the one that its publisher states with `--sha256`",
            ));
        }
    };
    Ok((url, sha256))
}

/// A folder in the cache for what is not finished. It goes with everything in it.
struct Work {
    path: PathBuf,
    /// The folders that had to be made for it, the innermost first.
    made: Vec<PathBuf>,
}

impl Work {
    fn new(cache: &Cache, place: &Path) -> Result<Self, UserError> {
        let cache = cache.path();
        let missing = cache.ancestors().take_while(|folder| !folder.exists());
        let made = missing.map(Path::to_owned).collect();
        let path = place.with_extension("new");
        let work = Self { path, made };
        // An earlier attempt may have been ended in the middle.
        let _ = std::fs::remove_dir_all(&work.path);
        std::fs::create_dir_all(&work.path).map_err(|error| not_writable(cache, &error))?;
        Ok(work)
    }

    /// All went well: what was made for it stays.
    fn done(mut self) {
        self.made.clear();
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
        for folder in &self.made {
            // Only what is empty.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

fn not_writable(folder: &Path, error: &std::io::Error) -> UserError {
    UserError::bench(
        format!("cannot write to `{}`: {error}", folder.display()),
        "name a writable folder with `--cache`, and check the free space on its disk",
    )
}

/// What was brought in is of no use without the libraries that it is linked to.
fn check_starts(program: &Path) -> Result<(), UserError> {
    let output = std::process::Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let why = match output {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Err(UserError::bench(
        format!("`{}` is installed, but does not start: {why}", program.display()),
        "it needs some libraries: `apt-get install libslirp0 libsdl2-2.0-0 libpixman-1-0 \
         libglib2.0-0 libgcrypt20` (Debian, Ubuntu) or `brew install libgcrypt glib pixman sdl2 \
         libslirp` (macOS)",
    ))
}
