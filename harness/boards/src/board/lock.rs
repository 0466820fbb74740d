//! One user for each board, across all processes of this machine.
//!
//! A lock is a lock of the kernel on a file: it ends with the process that holds it, however that ends, so
//! none is ever stale. The text in the file says who holds it, and is worth nothing without the lock.
//!
//! All users of a machine share one folder. One for each user would not do: a runner's service and the
//! person at the desk are two, and of one user some processes have `XDG_RUNTIME_DIR` and some have not.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::fcntl::OFlag;
use serde_json::{Value, json};

/// Names another folder for locks.
pub const LOCKS: &str = "MCP_HIL_LOCKS";

/// How long a lock is tried for: one who only looks holds it for a moment, and so does one who ends.
const PATIENCE: Duration = Duration::from_millis(300);

/// How often it is tried.
const PAUSE: Duration = Duration::from_millis(10);

/// Most bytes that are read of what a holder says of itself.
const MOST: u64 = 16 * 1024;

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Number of the process.
    pub pid: u32,
    /// The user.
    pub user: String,
    /// What it runs.
    pub command: String,
    /// Where it leaves its results.
    pub folder: Option<PathBuf>,
    /// Since when, in seconds since 1970.
    pub since: u64,
}

impl Holder {
    /// This process, from now on. All users can read the command: no arguments belong there that are
    /// secret.
    pub fn this_process(command: impl Into<String>, folder: Option<&Path>) -> Self {
        let user = ["USER", "LOGNAME"].map(|name| std::env::var(name).unwrap_or_default());
        let user = user.into_iter().find(|user| !user.is_empty());
        let number = || {
            // Services have neither variable.
            let own = std::fs::metadata("/proc/self").map(|own| own.uid().to_string());
            own.unwrap_or_else(|_| "unknown".to_owned())
        };
        Self {
            pid: std::process::id(),
            user: user.unwrap_or_else(number),
            command: command.into(),
            folder: folder.map(Path::to_owned),
            since: now(),
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "pid": self.pid,
            "user": self.user,
            "command": self.command,
            "folder": self.folder.as_ref().map(|folder| folder.to_string_lossy()),
            "since": self.since,
        })
    }

    fn from_json(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let text = |name: &str| Some(value.get(name)?.as_str()?.to_owned());
        Some(Self {
            pid: value.get("pid")?.as_u64()?.try_into().ok()?,
            user: text("user")?,
            command: text("command")?,
            folder: text("folder").map(PathBuf::from),
            since: value.get("since")?.as_u64()?,
        })
    }

    /// How long it has held the lock.
    pub fn held_for(&self) -> Duration {
        Duration::from_secs(now().saturating_sub(self.since))
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.held_for().as_secs();
        write!(
            f,
            "process {} of user {} for {}:{:02}:{:02} (`{}`",
            self.pid,
            self.user,
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            self.command
        )?;
        match &self.folder {
            Some(folder) => write!(f, ", {})", folder.display()),
            None => f.write_str(")"),
        }
    }
}

/// Why a board cannot be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum LockError {
    /// Somebody else uses it.
    #[error(
        "the board `{board}` is in use by {}",
        holder.as_ref().map_or("another process".to_owned(), ToString::to_string)
    )]
    #[diagnostic(help("{}", held_hint(holder.as_ref())))]
    Held {
        /// The board.
        board: String,
        /// Who it is, if they said so.
        holder: Option<Holder>,
    },
    /// The folder for locks cannot be used.
    #[error("cannot lock the board `{board}` with the file `{}`: {reason}", path.display())]
    #[diagnostic(help(
        "all users of boards must be able to write there; `{LOCKS}` can name a different folder, \
         the same for all of them"
    ))]
    Io {
        /// The board.
        board: String,
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
}

/// What helps against a holder.
fn held_hint(holder: Option<&Holder>) -> String {
    match holder {
        None => "wait until it ends, or end it".to_owned(),
        Some(holder) if holder.pid == std::process::id() => {
            "this program itself is using it: one part of it has to end before another begins"
                .to_owned()
        }
        Some(holder) => format!("wait until it ends, or end it: `kill {}`", holder.pid),
    }
}

/// A board of one's own, until this is dropped.
#[derive(Debug)]
pub struct BoardLock {
    file: File,
}

impl BoardLock {
    /// Takes the board of an [identity](super::UsbBoard::identity).
    ///
    /// # Errors
    ///
    /// Somebody else has it, or locks cannot be made.
    pub fn take(identity: &str, holder: &Holder) -> Result<Self, LockError> {
        Self::take_in(&folder(), identity, holder)
    }

    /// Takes the lock of a board in the given folder of locks instead of the usual one.
    ///
    /// # Errors
    ///
    /// Another process, or this one, holds the lock; or its file cannot be created or locked.
    pub fn take_in(folder: &Path, identity: &str, holder: &Holder) -> Result<Self, LockError> {
        let path = path(folder, identity);
        let trouble =
            |reason| LockError::Io { board: identity.to_owned(), path: path.clone(), reason };
        let mut file = open(folder, &path).map_err(trouble)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                    std::thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(LockError::Held {
                        board: identity.to_owned(),
                        holder: read(&mut file),
                    });
                }
                Err(TryLockError::Error(reason)) => return Err(trouble(reason)),
            }
        }
        let said = format!("{}\n", holder.to_json());
        file.set_len(0).and_then(|()| file.write_all(said.as_bytes())).map_err(trouble)?;
        Ok(Self { file })
    }
}

impl Drop for BoardLock {
    fn drop(&mut self) {
        // The lock itself ends with the file.
        let _ = self.file.set_len(0);
    }
}

/// How it stands with a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// Nobody uses it.
    Free,
    /// Somebody does, and may have said who.
    Held(Option<Holder>),
}

/// Who uses the board of an identity.
pub fn usage(identity: &str) -> Use {
    usage_in(&folder(), identity)
}

/// The same with a folder for locks.
pub fn usage_in(folder: &Path, identity: &str) -> Use {
    let Ok(mut file) = own_file(OpenOptions::new().read(true), &path(folder, identity)) else {
        return Use::Free;
    };
    // Shared, so that two who look are not in each other's way.
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Use::Held(read(&mut file)),
        _ => Use::Free,
    }
}

/// The folder for locks.
pub fn folder() -> PathBuf {
    match std::env::var_os(LOCKS) {
        Some(folder) if !folder.is_empty() => folder.into(),
        // Not what TMPDIR says: that is another one for each user, and all have to meet.
        _ => Path::new("/tmp/mcp-hil-locks").to_owned(),
    }
}

/// Opens a file for locks; makes it and its folder so that every user can.
fn open(folder: &Path, path: &Path) -> io::Result<File> {
    match std::fs::create_dir(folder) {
        // As /tmp is: everybody makes files, and nobody removes those of others.
        Ok(()) => std::fs::set_permissions(folder, Permissions::from_mode(0o1777))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    if !std::fs::symlink_metadata(folder)?.is_dir() {
        return Err(io::Error::other("its folder is not a folder"));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    // Never "create if need be" on what is there: kernels refuse that for files of other users in
    // folders such as this one.
    match own_file(&mut options, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match options.clone().create_new(true).open(path) {
        Ok(file) => {
            file.set_permissions(Permissions::from_mode(0o666))?;
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => own_file(&mut options, path),
        Err(error) => Err(error),
    }
}

/// Opens a file for locks that is there. Another user may have put something else in its place: a link to a file of
/// ours, which would be emptied, or a pipe, on which one waits.
fn own_file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = options.custom_flags(flags.bits()).open(path)?;
    let told = file.metadata()?;
    match told.is_file() && told.nlink() == 1 {
        true => Ok(file),
        false => Err(io::Error::other("it is a link or no file")),
    }
}

fn path(folder: &Path, identity: &str) -> PathBuf {
    let plain = |c: char| match c.is_ascii_alphanumeric() || "-_.".contains(c) {
        true => c.to_ascii_lowercase(),
        false => '-',
    };
    let name: String = identity.chars().map(plain).collect();
    folder.join(format!("{name}.lock"))
}

fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(MOST).read_to_string(&mut text).ok()?;
    Holder::from_json(&text)
}

fn now() -> u64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    passed.map_or(0, |passed| passed.as_secs())
}

#[cfg(test)]
mod tests {
    use miette::Diagnostic as _;

    use super::*;

    /// A folder for locks that is not there yet.
    fn place(name: &str) -> PathBuf {
        let place =
            std::env::temp_dir().join(format!("mcp-hil-lock-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        place
    }

    fn holder(command: &str) -> Holder {
        Holder::this_process(command, Some(Path::new("target/mcp-hil/7")))
    }

    #[test]
    fn a_board_has_one_user_and_says_who() {
        let place = place("one");
        let identity = "mac-f4:12:fa:00:11:22";
        assert_eq!(usage_in(&place, identity), Use::Free);
        let first = holder("mcp-hil run");
        let lock = BoardLock::take_in(&place, identity, &first).unwrap();
        assert_eq!(usage_in(&place, identity), Use::Held(Some(first.clone())));
        let refused = BoardLock::take_in(&place, identity, &holder("mcp-hil flash")).unwrap_err();
        let text = format!("{refused}, hint: {}", refused.help().unwrap());
        for part in [
            identity,
            &format!("process {} ", std::process::id()),
            "`mcp-hil run`, target/mcp-hil/7",
            "hint: ",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        // Another board is another matter.
        BoardLock::take_in(&place, "at-1-2.3", &holder("b")).unwrap();
        drop(lock);
        assert_eq!(usage_in(&place, identity), Use::Free);
        BoardLock::take_in(&place, identity, &holder("c")).unwrap();
        std::fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn what_a_dead_process_left_locks_nothing() {
        let place = place("dead");
        let lock = BoardLock::take_in(&place, "a", &holder("x")).unwrap();
        let said = std::fs::read(path(&place, "a")).unwrap();
        drop(lock);
        std::fs::write(path(&place, "a"), said).unwrap();
        assert_eq!(usage_in(&place, "a"), Use::Free);
        BoardLock::take_in(&place, "a", &holder("y")).unwrap();
        std::fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn all_users_can_lock_and_none_can_put_a_link_there() {
        let place = place("users");
        let lock = BoardLock::take_in(&place, "a b/c", &holder("x")).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&place), 0o1777);
        assert_eq!(mode(&place.join("a-b-c.lock")), 0o666);
        drop(lock);
        let link = place.with_extension("link");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&place, &link).unwrap();
        let refused = BoardLock::take_in(&link, "a", &holder("x")).unwrap_err();
        assert!(matches!(refused, LockError::Io { .. }), "{refused}");
        std::fs::remove_file(&link).unwrap();
        // A link in the place of a file would have that emptied to which it leads.
        let precious = place.join("precious");
        std::fs::write(&precious, "precious").unwrap();
        type Plant = fn(&Path, &Path) -> io::Result<()>;
        let soft: Plant = |to, at| std::os::unix::fs::symlink(to, at);
        let hard: Plant = |to, at| std::fs::hard_link(to, at);
        for (board, plant) in [("soft", soft), ("hard", hard)] {
            plant(&precious, &path(&place, board)).unwrap();
            let refused = BoardLock::take_in(&place, board, &holder("x")).unwrap_err();
            assert!(matches!(refused, LockError::Io { .. }), "{refused}");
            assert_eq!(usage_in(&place, board), Use::Free);
            assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious", "{board}");
            std::fs::remove_file(path(&place, board)).unwrap();
        }
        nix::unistd::mkfifo(&path(&place, "pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(usage_in(&place, "pipe"), Use::Free);
        std::fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn a_holder_that_says_nothing_holds_nevertheless() {
        let place = place("silent");
        let lock = BoardLock::take_in(&place, "a", &holder("x")).unwrap();
        for text in ["", "{", "null", "{\"pid\":-1}"] {
            std::fs::write(path(&place, "a"), text).unwrap();
            assert_eq!(usage_in(&place, "a"), Use::Held(None), "{text}");
        }
        let refused = BoardLock::take_in(&place, "a", &holder("y")).unwrap_err();
        assert!(refused.to_string().contains("another process"), "{refused}");
        drop(lock);
        std::fs::remove_dir_all(&place).unwrap();
    }
}
