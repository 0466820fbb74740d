//! What the tests of the whole program share: a place of their own, and the program as a child
//! that is bounded in time and leaves nothing behind.

#![allow(dead_code, unused_imports, reason = "each test program uses a part of it")]

pub(crate) mod broker;
mod emulated;
mod ended;
pub(crate) mod held;
#[path = "../../boards/tests/missing/mod.rs"]
pub(crate) mod missing;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

pub(crate) use emulated::{STOCK_QEMU, chip_image, qemu, virt_image};
pub(crate) use ended::ended;

/// No run of the program may take longer, on the slowest machine, unless its test says so.
pub(crate) const LATEST: Duration = Duration::from_secs(240);

/// The reference device, `mcp-hil native`, as a program without arguments.
pub(crate) fn native() -> &'static Path {
    static NATIVE: OnceLock<PathBuf> = OnceLock::new();
    NATIVE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = folder.join("native");
        // Written by another process and put in its place at once: no process that is started meanwhile may
        // hold it open for writing, or the system refuses to run it.
        let write = "printf '#!/bin/sh\\nexec \"%s\" native \"$@\"\\n' \"$1\" > \"$2\" && chmod +x \"$2\" && \
                     mv \"$2\" \"$3\"";
        let written = Command::new("sh")
            .args(["-c", write, "sh", env!("CARGO_BIN_EXE_mcp-hil")])
            .arg(folder.join(format!("native-{}", std::process::id())))
            .arg(&path)
            .status();
        assert!(written.is_ok_and(|status| status.success()));
        path
    })
}

/// Cargo, as somebody at a shell has it: what it told this test about its package would make it build anew what asks
/// for that, here and once more for whoever builds next.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        let of_package = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_CRATE_", "CARGO_BIN_", "OUT_DIR"];
        let name = name.to_string_lossy();
        if of_package.iter().any(|begin| name.starts_with(begin)) {
            cargo.env_remove(&*name);
        }
    }
    cargo
}

/// An address of this host at a port that nobody else is given: below those that systems hand out.
pub(crate) fn free_port() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let first = std::process::id() as usize * 16;
    loop {
        let number = first + NEXT.fetch_add(1, Ordering::Relaxed);
        let address = format!("127.0.0.1:{}", 20_000 + number % 12_000);
        if std::net::TcpListener::bind(&address).is_ok() {
            return address;
        }
    }
}

/// A folder of one test, in which the program runs. It is removed unless the test fails.
#[derive(Debug)]
pub(crate) struct Place(PathBuf);

impl Place {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("place-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, and the folders above it.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The text of a file.
    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The folder of the last run.
    pub(crate) fn latest(&self) -> PathBuf {
        self.path("target/mcp-hil/latest")
    }

    /// The record of the last run.
    pub(crate) fn report(&self) -> Value {
        let text = self.read("target/mcp-hil/latest/report.json");
        serde_json::from_str(&text).expect("report.json parses")
    }

    /// Asserts that the last run wrote its two reports, and that both can be read. Gives the record.
    pub(crate) fn both_reports(&self) -> Value {
        let xml = self.read("target/mcp-hil/latest/junit.xml");
        let report = self.report();
        let cases = report["cases"].as_array().expect("cases").len();
        let mut in_junit = 0;
        let mut reader = quick_xml::Reader::from_str(&xml);
        loop {
            use quick_xml::events::Event;
            match reader.read_event().expect("junit.xml is XML") {
                Event::Start(tag) | Event::Empty(tag) if tag.name().as_ref() == b"testcase" => {
                    in_junit += 1;
                }
                Event::Eof => break,
                _ => {}
            }
        }
        assert!(in_junit >= cases, "{in_junit} of {cases} cases in {xml}");
        report
    }

    /// The program with arguments, the native device at hand.
    pub(crate) fn hil<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Hil {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-hil"));
        command
            .args(args)
            .current_dir(&self.0)
            .env_remove("MCP_HIL_NATIVE")
            // For scripts that play an emulator.
            .env("REFERENCE_DEVICE", native())
            .env("NO_COLOR", "1")
            // Whatever emulators this machine has, and whatever its user prefers.
            .env("MCP_HIL_PREFER", "native")
            .env_remove("MCP_HIL_TOKEN")
            // Whoever runs the tests: their runs are not his.
            .env_remove("GITHUB_ACTIONS")
            .env_remove("GITHUB_STEP_SUMMARY")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Hil(command)
    }

    /// A named pipe, by which one sees whether any process still holds it open.
    pub(crate) fn pipe(&self, name: &str) -> Pipe {
        let path = self.path(name);
        let mode = nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR;
        nix::unistd::mkfifo(&path, mode).unwrap();
        let (say, heard) = channel();
        let reads = path.clone();
        std::thread::spawn(move || {
            // Opening waits for a writer, reading for the end of the last one.
            let mut file = std::fs::File::open(reads).unwrap();
            let _ = say.send(());
            let _ = file.read_to_end(&mut Vec::new());
            let _ = say.send(());
        });
        Pipe { path, heard }
    }

    /// A named pipe, and the lines that a process writes to it.
    pub(crate) fn lines(&self, name: &str) -> (PathBuf, Receiver<String>) {
        let path = self.path(name);
        let mode = nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR;
        nix::unistd::mkfifo(&path, mode).unwrap();
        let (say, heard) = channel();
        let reads = path.clone();
        std::thread::spawn(move || {
            let file = std::fs::File::open(reads).unwrap();
            for line in BufReader::new(file).lines().map_while(Result::ok) {
                // The test may have heard enough.
                let _ = say.send(line);
            }
        });
        (path, heard)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// A named pipe that a device holds open, and with it everything that it starts.
#[derive(Debug)]
pub(crate) struct Pipe {
    /// Where it is.
    pub(crate) path: PathBuf,
    heard: Receiver<()>,
}

impl Pipe {
    /// Waits until a process has opened it.
    pub(crate) fn opened(&self) {
        self.heard.recv_timeout(LATEST).expect("somebody opens the pipe");
    }

    /// Waits until the last process that held it is gone.
    pub(crate) fn closed(&self) {
        self.heard.recv_timeout(LATEST).expect("all who held the pipe are gone");
    }
}

/// The program, not yet started.
#[derive(Debug)]
pub(crate) struct Hil(pub(crate) Command);

impl Hil {
    /// With an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Without one.
    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.0.env_remove(name);
        self
    }

    /// With a further argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.0.arg(arg);
        self
    }

    /// With another standard output.
    pub(crate) fn stdout(mut self, to: impl Into<Stdio>) -> Self {
        self.0.stdout(to);
        self
    }

    /// Starts it.
    pub(crate) fn start(mut self) -> Live {
        let mut child = self.0.spawn().expect("the program starts");
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        let (say, heard) = channel();
        if let Some(stdout) = child.stdout.take() {
            follow(stdout, say.clone(), Said::Out);
        }
        if let Some(stderr) = child.stderr.take() {
            follow(stderr, say.clone(), Said::Err);
        }
        std::thread::spawn(move || say.send(Said::End(child.wait().unwrap())));
        Live { pid, heard, until: Instant::now() + LATEST, done: Done::default(), over: false }
    }

    /// Starts it and waits for its end.
    pub(crate) fn end(self) -> Done {
        self.start().end()
    }
}

enum Said {
    Out(String),
    Err(String),
    End(ExitStatus),
}

fn follow(from: impl Read + Send + 'static, say: Sender<Said>, kind: fn(String) -> Said) {
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            let text = String::from_utf8_lossy(&line).into_owned();
            if say.send(kind(text)).is_err() {
                return;
            }
            line.clear();
        }
    });
}

/// The program while it runs.
pub(crate) struct Live {
    /// Its process.
    pub(crate) pid: Pid,
    heard: Receiver<Said>,
    until: Instant,
    done: Done,
    over: bool,
}

impl Live {
    /// With more time, from now on, than other runs have.
    pub(crate) fn within(mut self, longest: Duration) -> Self {
        self.until = Instant::now() + longest;
        self
    }

    /// Waits for a line on standard output that holds a text.
    pub(crate) fn out(&mut self, text: &str) -> String {
        self.wait(|said| matches!(said, Said::Out(line) if line.contains(text)), text)
    }

    /// Waits for a line on standard error that holds a text.
    pub(crate) fn err(&mut self, text: &str) -> String {
        self.wait(|said| matches!(said, Said::Err(line) if line.contains(text)), text)
    }

    /// Waits until it says where a device must dial.
    pub(crate) fn url(&mut self) -> String {
        let notice = self.err("for a device to connect to ws://");
        let at = notice.find("ws://").unwrap();
        notice[at..].split([',', ' ', '\n']).next().unwrap().to_owned()
    }

    /// Whether standard output had a text until now.
    pub(crate) fn has_said(&self, text: &str) -> bool {
        self.done.stdout.contains(text)
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid, signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Done {
        while let Some(said) = self.next() {
            self.note(&said);
        }
        std::mem::take(&mut self.done)
    }

    fn wait(&mut self, wanted: impl Fn(&Said) -> bool, text: &str) -> String {
        while let Some(said) = self.next() {
            self.note(&said);
            if wanted(&said)
                && let Said::Out(line) | Said::Err(line) = said
            {
                return line;
            }
        }
        panic!("it ended without `{text}`: {:#?}", self.done);
    }

    /// What it does next; `None` when it is over.
    fn next(&mut self) -> Option<Said> {
        match self.heard.recv_timeout(self.until.saturating_duration_since(Instant::now())) {
            Ok(said) => Some(said),
            Err(RecvTimeoutError::Disconnected) => {
                self.over = true;
                None
            }
            Err(RecvTimeoutError::Timeout) => panic!("it does not end: {:#?}", self.done),
        }
    }

    fn note(&mut self, said: &Said) {
        match said {
            Said::Out(line) => self.done.stdout.push_str(line),
            Said::Err(line) => self.done.stderr.push_str(line),
            Said::End(status) => self.done.code = status.code(),
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if !self.over {
            let _ = kill(self.pid, Signal::SIGKILL);
        }
    }
}

/// The program after its end.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Its exit code; none when a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it wrote to standard output.
    pub(crate) stdout: String,
    /// What it wrote to standard error.
    pub(crate) stderr: String,
}

impl Done {
    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Asserts that standard output holds all of the texts.
    #[track_caller]
    pub(crate) fn prints(self, texts: &[&str]) -> Self {
        // A value may be wrapped anywhere, and its address or path has another length each time.
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        let whole = squeezed(&self.stdout);
        for text in texts {
            assert!(whole.contains(&squeezed(text)), "no `{text}` on standard output\n{self}");
        }
        self
    }

    /// Asserts that standard error holds all of the texts.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stderr.contains(text), "no `{text}` on standard error\n{self}");
        }
        self
    }

    /// The events that it printed.
    pub(crate) fn events(&self) -> Vec<Value> {
        let parse =
            |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.stdout.lines().map(parse).collect()
    }
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stdout, stderr } = self;
        write!(f, "exit {code:?}\n--- standard output\n{stdout}\n--- standard error\n{stderr}")
    }
}

/// All files below a folder; links are not followed.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.symlink_metadata().unwrap() {
            what if what.is_dir() => all.extend(files(&path)),
            what if what.is_file() => all.push(path),
            _ => {}
        }
    }
    all.sort();
    all
}
