//! The program under test as a child process with its console.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-hil-native");

/// A running device. It ends with this value, and at the latest when nobody listens to it.
pub(crate) struct Program {
    child: Child,
    console: Arc<Mutex<Vec<String>>>,
}

impl Program {
    /// Starts it with exactly these addresses.
    pub(crate) fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Program {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the device starts");
        let console = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&console);
        let stdout = child.stdout.take().expect("a pipe");
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                lines.lock().expect("not poisoned").push(line);
            }
        });
        Program { child, console }
    }

    /// Gives it a line on its standard input.
    pub(crate) fn say(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("a pipe");
        writeln!(input, "{line}").expect("the device reads");
    }

    /// Sends it a signal: `STOP`, `CONT`, ...
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let done = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(done.is_ok_and(|done| done.success()), "{name}");
    }

    /// The console so far.
    pub(crate) fn console(&self) -> Vec<String> {
        self.console.lock().expect("not poisoned").clone()
    }

    /// Waits for a console line.
    pub(crate) fn console_has(&self, part: &str) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if self.console().iter().any(|line| line.contains(part)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Waits for its end; the exit code.
    pub(crate) fn exit_code(mut self) -> Option<i32> {
        self.child.wait().expect("the device ends").code()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
