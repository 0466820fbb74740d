//! A program on this machine as the device: its life and its console.

use std::{
    ffi::OsString,
    io,
    os::fd::OwnedFd,
    process::{ExitStatus, Stdio},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nix::sys::signal::Signal;
use tokio::{
    net::unix::pipe,
    process::Child,
    task::JoinHandle,
    time::{Instant, sleep_until, timeout},
};

use super::{
    TargetOutput,
    console::Console,
    end,
    error::TargetError,
    family::Family,
    group::Group,
    output::{Connection, Dialled, Output, Source, filled_pipe},
};

pub use super::end::Part;

/// How long a process may take to end by itself when it is asked to.
pub const STOP_GRACE: Duration = Duration::from_millis(500);

/// How long the console is read on when the process has ended and another one (a child of it)
/// holds the console open.
const CONSOLE_GRACE: Duration = Duration::from_millis(100);

/// What to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The program, or the command line of a shell.
    pub program: OsString,
    /// Whether `program` is a command line for `sh -c`; `args` are then its `$1`, `$2` and so on.
    pub shell: bool,
    /// The arguments.
    pub args: Vec<String>,
    /// Environment variables beyond the inherited ones.
    pub env: Vec<(String, String)>,
    /// What it finds on its standard input, which ends after that; [`LONGEST_INPUT`] bytes at most.
    /// With a console of its own that is where it goes.
    pub input: String,
    /// Whether it has a console of its own beside its output, over TCP: it is told where to dial in
    /// place of [`CONSOLE_PORT`] in its arguments.
    pub dials_console: bool,
    /// What stands in the console line that asks for the input; without it the input goes out at once.
    pub prompt: Option<String>,
    /// What it is: whose doing its end is depends on that.
    pub part: Part,
}

/// What stands in an argument for the port of 127.0.0.1 where the harness awaits the console.
pub const CONSOLE_PORT: &str = "{console-port}";

/// What every system's pipe takes before anybody reads it, in bytes.
pub const LONGEST_INPUT: usize = 4096;

impl Command {
    /// A command line for the shell.
    pub fn shell(line: impl Into<OsString>) -> Self {
        Self { program: line.into(), shell: true, ..Self::default() }
    }

    /// A program, without a shell.
    pub fn direct(program: impl Into<OsString>) -> Self {
        Self { program: program.into(), ..Self::default() }
    }

    /// The same with a further argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// The same with further arguments.
    #[must_use]
    pub fn args(mut self, args: &[String]) -> Self {
        self.args.extend_from_slice(args);
        self
    }

    /// The same with a further environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The same with something on its standard input.
    #[must_use]
    pub fn input(mut self, text: impl Into<String>) -> Self {
        self.input = text.into();
        self
    }

    /// The same with a console over TCP, on which the input goes out at each line that holds `prompt`.
    #[must_use]
    pub fn dials_console(mut self, prompt: impl Into<String>) -> Self {
        self.dials_console = true;
        self.prompt = Some(prompt.into());
        self
    }

    /// The same as the emulator that the device runs in. Codes from `guest_codes` on are those of the
    /// device.
    #[must_use]
    pub fn emulator(mut self, guest_codes: Option<i32>) -> Self {
        self.part = Part::Emulator { guest_codes };
        self
    }

    /// The command line for people.
    fn display(&self) -> String {
        let mut line = self.program.to_string_lossy().into_owned();
        for arg in &self.args {
            line.push(' ');
            line.push_str(arg);
        }
        line
    }

    fn build(&self, console_port: Option<u16>) -> io::Result<std::process::Command> {
        let mut command;
        if self.shell {
            command = std::process::Command::new("sh");
            command.arg("-c").arg(&self.program).arg("sh");
        } else {
            command = std::process::Command::new(&self.program);
        }
        let port = console_port.map(|port| port.to_string());
        let args = self.args.iter().map(|arg| match &port {
            Some(port) => arg.replace(CONSOLE_PORT, port),
            None => arg.clone(),
        });
        command
            .args(args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(self.stdin()?);
        Ok(command)
    }

    fn stdin(&self) -> io::Result<Stdio> {
        if self.input.is_empty() || self.dials_console {
            return Ok(Stdio::null());
        }
        if self.input.len() > LONGEST_INPUT {
            let what = format!("its input is longer than {LONGEST_INPUT} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        Ok(filled_pipe(&self.input)?.into())
    }
}

/// A program as the device, in a process group that ends with this value, and with the harness
/// itself however that ends.
#[derive(Debug)]
pub struct Process {
    command: Box<Command>,
    console: Arc<Console>,
    run: Option<Run>,
}

/// One run of the program.
#[derive(Debug)]
struct Run {
    state: Arc<State>,
    output: Arc<Output>,
    /// The console that it dials, once it has.
    dialled: Option<Arc<OnceLock<Output>>>,
    follower: JoinHandle<()>,
    /// The number of its process.
    pid: Option<u32>,
    /// Kills what is left of it when it is dropped; the follower then reaps the program.
    group: Group,
    /// Kills what has left the group.
    _family: Family,
}

#[derive(Debug, Default)]
struct State {
    has_exited: AtomicBool,
    /// Its end is in the console.
    is_told: AtomicBool,
    is_stopping: AtomicBool,
    has_crashed: AtomicBool,
}

impl Process {
    /// A process that is not started yet.
    pub fn new(command: Command) -> Self {
        Self { command: Box::new(command), console: Arc::default(), run: None }
    }

    /// What is run.
    pub fn command(&self) -> &Command {
        &self.command
    }

    /// Starts it, after having stopped what is left of an earlier run. Must be called inside a
    /// tokio runtime.
    ///
    /// # Errors
    /// The program does not start. (In a shell it is the shell that starts; a command that is not
    /// found is then seen as code 127.)
    pub async fn start(&mut self) -> Result<(), TargetError> {
        self.stop().await;
        let run = self
            .spawn()
            .map_err(|reason| TargetError::Start { command: self.command.display(), reason })?;
        self.run = Some(run);
        Ok(())
    }

    /// Stops it and starts it again. Lines of the run before stay in [`next`](Self::next).
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn restart(&mut self) -> Result<(), TargetError> {
        self.start().await
    }

    /// Ends the whole process group: SIGTERM, then SIGKILL after [`STOP_GRACE`] or as soon as the
    /// program has ended. All of its console lines are in [`next`](Self::next) when this returns;
    /// an end that was asked for here is not told there.
    pub async fn stop(&mut self) {
        let Some(run) = self.run.take() else { return };
        let Run { state, mut follower, group, _family: family, .. } = run;
        state.is_stopping.store(true, Ordering::SeqCst);
        if !follower.is_finished() {
            group.signal(Signal::SIGTERM);
            if timeout(STOP_GRACE, &mut follower).await.is_err() {
                group.signal(Signal::SIGKILL);
                // Only a process that the kernel cannot end now survives this.
                if timeout(STOP_GRACE, &mut follower).await.is_err() {
                    follower.abort();
                }
            }
        }
        drop((group, family));
    }

    /// What it did next. All its console lines come before its end; after that this is pending
    /// until it is started again. Cancel-safe.
    pub async fn next(&mut self) -> TargetOutput {
        self.console.next().await
    }

    /// What it did and nobody asked for yet.
    pub fn try_next(&mut self) -> Option<TargetOutput> {
        self.console.try_next()
    }

    /// Takes in what it has written until now, so that it is in [`try_next`](Self::try_next).
    pub fn catch_up(&mut self) {
        if let Some(run) = &self.run {
            run.output.catch_up(&self.console);
            if let Some(dialled) = run.dialled.as_ref().and_then(|slot| slot.get()) {
                dialled.catch_up(&self.console);
            }
        }
    }

    /// Whether the program itself runs.
    pub fn is_running(&self) -> bool {
        self.run.as_ref().is_some_and(|run| !run.state.has_exited.load(Ordering::SeqCst))
    }

    /// Whether the program has ended, or is about to, and that is not in [`next`](Self::next) yet: its
    /// connections are closed then. On a busy computer that may take a moment, and so it does when another
    /// process holds its console. Where the system does not show that a process is about to end, none is.
    pub fn is_ending(&self) -> bool {
        let Some(run) = &self.run else { return false };
        if run.state.is_told.load(Ordering::SeqCst) {
            return false;
        }
        let ends = |pid| is_exiting(pid) || self.command.shell && has_done_its_work(pid);
        run.state.has_exited.load(Ordering::SeqCst) || run.pid.is_some_and(ends)
    }

    /// Whether the device's program has ended by a signal that programs bring upon themselves.
    pub fn has_crashed(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.state.has_crashed.load(Ordering::SeqCst))
    }

    /// Which of its processes stands still because somebody stopped it, if any does: it answers nothing, and a program
    /// does not do that to itself.
    pub fn stopped(&self) -> Option<String> {
        let group = self.run.as_ref()?.group.id();
        let all = std::fs::read_dir("/proc").ok()?;
        let mut pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let pid: u32 = pids.find(|pid| is_stopped(*pid, group))?;
        let part = match self.command.part {
            Part::Device => "its process",
            Part::Emulator { .. } => "its emulator",
        };
        Some(format!(
            "{part} is stopped (process {pid}): a program does not do that to itself; somebody sent it SIGSTOP, \
             or a debugger holds it"
        ))
    }

    fn spawn(&self) -> io::Result<Run> {
        let (group, family) = (Group::new()?, Family::new());
        // One pipe for both, so that lines come in the order in which they were written.
        let (reader, writer) = io::pipe()?;
        let dialled = match self.command.dials_console {
            true => Some(Dialled::bind()?),
            false => None,
        };
        let port = dialled.as_ref().map(|dialled| dialled.port);
        let mut command = self.command.build(port)?;
        command.stdout(writer.try_clone()?).stderr(writer);
        let mut command = tokio::process::Command::from(command);
        command.process_group(group.id()).env(Family::VARIABLE, family.name());
        let child = command.spawn()?;
        let pid = child.id();
        // It holds the writing end, and the console would never end.
        drop(command);
        let pipe = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let output = Arc::new(Output::new(Source::Pipe(pipe), None));
        let (input, prompt) = (&self.command.input, &self.command.prompt);
        let connection = dialled
            .map(|dialled| dialled.follow(Arc::clone(&self.console), input.clone(), prompt.clone()))
            .transpose()?;
        let state = Arc::new(State::default());
        let dialled = connection.as_ref().map(Connection::output);
        let follower = Follower {
            child,
            output: Arc::clone(&output),
            connection,
            state: Arc::clone(&state),
            console: Arc::clone(&self.console),
            shell: self.command.shell,
            part: self.command.part,
        };
        let follower = tokio::spawn(follower.follow());
        Ok(Run { state, output, dialled, follower, pid, group, _family: family })
    }
}

/// Reads the console of one run up to its end.
struct Follower {
    child: Child,
    output: Arc<Output>,
    connection: Option<Connection>,
    state: Arc<State>,
    console: Arc<Console>,
    shell: bool,
    part: Part,
}

impl Follower {
    async fn follow(mut self) {
        let mut end = None;
        let mut deadline = Instant::now();
        loop {
            tokio::select! {
                more = self.output.follow(&self.console) => match more {
                    // Others want to work, too, however much it prints.
                    true => tokio::task::yield_now().await,
                    false => break,
                },
                ended = self.child.wait(), if end.is_none() => {
                    end = Some(self.ended(ended));
                    deadline = Instant::now() + CONSOLE_GRACE;
                }
                () = sleep_until(deadline), if end.is_some() => break,
            }
        }
        self.output.finish(&self.console);
        let end = match end {
            Some(end) => end,
            None => {
                let ended = self.child.wait().await;
                self.ended(ended)
            }
        };
        if let Some(connection) = &mut self.connection {
            // It has ended with the program, unless a child of that holds it.
            let _ = timeout(CONSOLE_GRACE, &mut connection.task).await;
        }
        self.console.end(end);
        self.state.is_told.store(true, Ordering::SeqCst);
    }

    /// Notes that the program has ended: how, unless it was asked to.
    fn ended(&self, status: io::Result<ExitStatus>) -> Option<TargetOutput> {
        let was_asked = self.state.is_stopping.load(Ordering::SeqCst);
        let crashed = status.as_ref().is_ok_and(|status| end::is_crash(*status, self.shell));
        let crashed = crashed && self.part == Part::Device && !was_asked;
        self.state.has_crashed.store(crashed, Ordering::SeqCst);
        self.state.has_exited.store(true, Ordering::SeqCst);
        (!was_asked).then(|| end::told(self.part, status, self.shell))
    }
}

/// Whether all that a shell has started is on its way out: what is left to the shell is to tell of it. One that has
/// started nothing does the work itself, or another program has taken its place (`exec`, and `sh -c` with one command).
fn has_done_its_work(shell: u32) -> bool {
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
    let Ok(children) = children else { return false };
    let mut children = children.split_whitespace().peekable();
    children.peek().is_some() && children.all(|child| child.parse().is_ok_and(is_exiting))
}

/// Whether a process of a group is stopped by a signal, or by who traces it.
fn is_stopped(pid: u32, group: i32) -> bool {
    /// Where the number of the group stands behind the state.
    const GROUP: usize = 2;
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let Some((_, fields)) = stat.rsplit_once(')') else { return false };
    let fields: Vec<&str> = fields.split_whitespace().take(GROUP + 1).collect();
    matches!(fields[..], ["T" | "t", _, of] if of.parse() == Ok(group))
}

/// Whether a process has begun to end, as Linux tells in the flags of its main thread.
fn is_exiting(pid: u32) -> bool {
    /// `PF_EXITING` of the kernel.
    const EXITING: u64 = 0x4;
    /// Where the flags stand behind the name of the program, which may hold anything.
    const FLAGS: usize = 6;
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let fields = stat.rsplit_once(')').map(|(_, fields)| fields);
    let flags = fields.and_then(|fields| fields.split_whitespace().nth(FLAGS)?.parse().ok());
    flags.is_some_and(|flags: u64| flags & EXITING != 0)
}
