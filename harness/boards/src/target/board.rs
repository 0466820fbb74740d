//! A board as the device, behind a bridge that has its serial port.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::TargetOutput;
use super::console::Console;
use super::error::TargetError;
use super::group::Group;
use crate::board::ladder::{Ladder, Means, Step};
use crate::board::port::{self, Trouble, TroubleKind};
use crate::board::protocol::{Act, Event, Job, Place, Request};
use crate::board::trigger::Gate;
use crate::flash::worker::SILENCE;
use crate::users::users_of;

/// How long the bridge may take to open the port, and to do what is wanted of it: a pulse is the longest.
const ANSWERS: Duration = Duration::from_secs(10);

/// How long a command may take that switches power or presses a button.
const COMMAND_PATIENCE: Duration = Duration::from_secs(60);

/// How long the bridge may take to end when it is asked to.
const ENDS: Duration = Duration::from_millis(500);

/// How a board is run.
#[derive(Debug, Clone)]
pub struct BoardSetup {
    /// The program that is the bridge.
    pub bridge: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What the bridge is to do.
    pub job: Job,
    /// What makes it dial.
    pub trigger: Trigger,
    /// What the console says before it may be made to.
    pub wait_for: String,
    /// The command that takes its power away and gives it back.
    pub power: Option<String>,
    /// The commands that take its power away, and give it back.
    pub switch: Option<[String; 2]>,
    /// What these commands find in their environment: where the device is to dial.
    pub env: Vec<(String, String)>,
}

/// What makes a board dial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Trigger {
    /// Nothing: it dials by itself.
    #[default]
    None,
    /// The button at GPIO0, by the line DTR, for so long.
    Button(Duration),
    /// A command of the shell.
    Command(String),
    /// A person is asked.
    Prompt,
}

/// A board.
#[derive(Debug)]
pub struct Board {
    setup: BoardSetup,
    console: Arc<Console>,
    run: Option<Run>,
}

/// One life of the bridge.
#[derive(Debug)]
struct Run {
    input: ChildStdin,
    child: Child,
    next: u64,
    state: Arc<watch::Sender<State>>,
    follower: JoinHandle<()>,
    /// Kills it with the harness, however that ends.
    _group: Group,
}

/// What the bridge has told.
#[derive(Debug, Default)]
struct State {
    /// Whether the port has lines, once it is open.
    opened: Option<bool>,
    /// How much was told of flashing.
    steps: u64,
    /// Whether it was reset after flashing.
    boots: bool,
    /// Whether the port is away.
    is_away: bool,
    /// Whether the bridge was asked to end.
    is_stopping: bool,
    /// The last request that was answered, and why it was not carried out.
    answered: (u64, Option<String>),
    trouble: Option<Trouble>,
    gate: Gate,
}

impl Board {
    /// A board that is not looked for yet.
    pub fn new(setup: BoardSetup) -> Self {
        Self { setup, console: Arc::default(), run: None }
    }

    /// Opens its port, and starts it afresh where that can be done.
    ///
    /// # Errors
    /// The port is not to be had.
    pub async fn start(&mut self) -> Result<(), TargetError> {
        self.stop().await;
        let run = self.spawn().await.map_err(|reason| TargetError::Start {
            command: self.setup.bridge.display().to_string(),
            reason,
        })?;
        let mut state = run.state.subscribe();
        self.run = Some(run);
        let (patience, what) = match self.setup.job.flash {
            Some(_) => (SILENCE, "to continue flashing"),
            None => (ANSWERS, "to open the port"),
        };
        let trouble = loop {
            let (is_open, trouble) = {
                let state = state.borrow_and_update();
                (state.opened.is_some(), state.trouble.clone())
            };
            if is_open || trouble.is_some() {
                break trouble;
            }
            // Whatever it tells, it lives.
            if !matches!(timeout(patience, state.changed()).await, Ok(Ok(()))) {
                break Some(self.hangs(what, patience));
            }
        };
        if let Some(trouble) = trouble {
            self.stop().await;
            return Err(TargetError::Board(trouble));
        }
        if state.borrow().boots {
            // What was flashed boots already; its first lines are on their way.
            return Ok(());
        }
        match self.afresh().await {
            Some(step) => self.tell(format!("the board was {}", step.told())),
            None => self.tell("the board cannot be reset, and is tested as it is".to_owned()),
        }
        Ok(())
    }

    /// Starts it afresh by the gentlest means that works.
    async fn afresh(&mut self) -> Option<Step> {
        let mut ladder = self.ladder(false);
        ladder.dedup();
        for step in ladder {
            match self.climb(step).await {
                Ok(()) => return Some(step),
                Err(why) => self.tell(format!("the board was not {}: {why}", step.told())),
            }
        }
        None
    }

    /// Starts it afresh by the gentlest means that works.
    ///
    /// # Errors
    /// None does, or the board was not started.
    pub async fn restart(&mut self) -> Result<(), TargetError> {
        if let Some(trouble) = self.trouble() {
            return Err(TargetError::Board(trouble));
        }
        match self.afresh().await {
            Some(_) => Ok(()),
            None => Err(TargetError::Board(Trouble {
                kind: TroubleKind::Other,
                what: "cannot restart the board: expected a port with the lines DTR and RTS, or a \
                       command for its power, got neither"
                    .to_owned(),
                hint: "set a command as `power.cycle` in the section `[board]` of its file"
                    .to_owned(),
            })),
        }
    }

    /// The tries that can bring it back; `soft` says whether it can be told to restart.
    pub fn ladder(&self, soft: bool) -> Vec<Step> {
        let signals = self.run.as_ref().and_then(|run| run.state.borrow().opened);
        let means = Means { soft, reset: signals == Some(true), power: self.setup.power.is_some() };
        Ladder::new(means).collect()
    }

    /// Takes one step of the ladder; that it restarts by itself when told is up to the caller.
    ///
    /// # Errors
    /// It could not be taken, for a reason in words.
    pub async fn climb(&mut self, step: Step) -> Result<(), String> {
        if let Some(run) = &self.run {
            // What it was before counts no more, from now on: its first line may take a while.
            run.state.send_modify(|state| state.gate.restarted());
        }
        match step {
            Step::Soft => Ok(()),
            Step::Reset => self.ask(Act::Reset).await,
            Step::Power => {
                let command = self.setup.power.clone().unwrap_or_default();
                self.shell(&command).await
            }
        }
    }

    /// Checks that there is a command that cycles its power.
    ///
    /// # Errors
    /// The board's file has no command for it.
    pub fn check_cycle(&self) -> Result<(), TargetError> {
        match self.setup.power {
            Some(_) => Ok(()),
            None => Err(cannot_switch("cycle", "cycle")),
        }
    }

    /// Takes its power away and gives it back.
    ///
    /// # Errors
    /// There is no command for that, or it failed.
    pub async fn cycle_power(&mut self) -> Result<(), TargetError> {
        self.check_cycle()?;
        let failed = |why| trouble(format!("cannot cycle the power of the board: {why}"));
        self.climb(Step::Power).await.map_err(failed)
    }

    /// Checks that there are commands that switch its power, and gives them: off, and on.
    ///
    /// # Errors
    /// There are none.
    pub fn check_switch(&self) -> Result<[String; 2], TargetError> {
        let switch = self.setup.switch.clone();
        switch.ok_or_else(|| cannot_switch("switch", "off` and `power.on"))
    }

    /// Takes its power away, or gives it back. Its port may go meanwhile.
    ///
    /// # Errors
    /// There is no command for that, or it failed.
    pub async fn switch(&mut self, on: bool) -> Result<(), TargetError> {
        let [off_line, on_line] = self.check_switch()?;
        let name = if on { "on" } else { "off" };
        let failed = |why| trouble(format!("cannot switch the board {name}: {why}"));
        if let Some(run) = &self.run {
            run.state.send_modify(|state| state.gate.restarted());
        }
        if on {
            self.shell(&on_line).await.map_err(failed)?;
            self.ask(Act::Power { on }).await.map_err(failed)
        } else {
            self.ask(Act::Power { on }).await.map_err(failed)?;
            self.shell(&off_line).await.map_err(failed)
        }
    }

    /// Whether it dials only when it is made to.
    pub fn is_triggered(&self) -> bool {
        self.setup.trigger != Trigger::None
    }

    /// Ready when it may be made to dial; for ever pending when it cannot be. Cancel-safe.
    pub fn may_be_triggered(&self) -> impl Future<Output = ()> + Send + use<> {
        let state = self.run.as_ref().map(|run| run.state.subscribe());
        async move {
            if let Some(mut state) = state
                && state.wait_for(|state| state.gate.is_open()).await.is_ok()
            {
                return;
            }
            std::future::pending().await
        }
    }

    /// Makes it dial. Gives what was done, in words.
    ///
    /// # Errors
    /// That could not be done, for a reason in words.
    pub async fn trigger(&mut self) -> Result<String, String> {
        match self.setup.trigger.clone() {
            Trigger::None => Ok("nothing".to_owned()),
            Trigger::Button(time) => {
                let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                self.ask(Act::Press { ms }).await?;
                Ok(format!("its button was pressed by DTR for {ms} ms"))
            }
            Trigger::Command(command) => {
                self.shell(&command).await?;
                Ok("its trigger command was run".to_owned())
            }
            Trigger::Prompt => {
                // Talk, not a report: a person stands at the board.
                mcp_hil_core::notice!("press the board's talk button once");
                Ok("the user was asked to press its button".to_owned())
            }
        }
    }

    /// What is wrong with the bench, once nothing can be done about it.
    pub fn trouble(&self) -> Option<Trouble> {
        self.run.as_ref()?.state.borrow().trouble.clone()
    }

    /// Whether its port is there, as far as is known.
    pub fn is_well(&self) -> bool {
        let well = |run: &Run| {
            let state = run.state.borrow();
            !state.is_away && state.trouble.is_none()
        };
        self.run.as_ref().is_some_and(well)
    }

    /// Whether its port is away, and may come back.
    pub fn is_away(&self) -> bool {
        let away = |run: &Run| {
            let state = run.state.borrow();
            state.is_away && state.trouble.is_none()
        };
        self.run.as_ref().is_some_and(away)
    }

    /// What it did next. Cancel-safe.
    pub async fn next(&mut self) -> TargetOutput {
        self.console.next().await
    }

    /// What it did and nobody asked for yet.
    pub fn try_next(&mut self) -> Option<TargetOutput> {
        self.console.try_next()
    }

    /// Gives the port back. The board goes on as it is.
    pub async fn stop(&mut self) {
        let Some(run) = self.run.take() else { return };
        let Run { input, mut child, state, follower, _group, .. } = run;
        state.send_modify(|state| state.is_stopping = true);
        drop(input);
        // One that hangs is killed with its group.
        let _ = timeout(ENDS, child.wait()).await;
        let _ = timeout(ENDS, follower).await;
    }

    /// What is wrong with a bridge that says nothing: perhaps somebody reads its port.
    fn hangs(&self, what: &str, patience: Duration) -> Trouble {
        let bridge = self.run.as_ref().and_then(|run| run.child.id());
        let Place::Port(path) = &self.setup.job.place else {
            return hangs(what, patience);
        };
        match users_of(path, &Vec::from_iter(bridge)) {
            users if users.is_empty() => hangs(what, patience),
            users => port::used(path, &users),
        }
    }

    fn tell(&self, text: String) {
        self.console.push(TargetOutput::Bench(text));
    }

    async fn ask(&mut self, act: Act) -> Result<(), String> {
        let Some(run) = &mut self.run else {
            return Err("the bridge is not running".to_owned());
        };
        run.next += 1;
        let id = run.next;
        let mut line = serde_json::to_string(&Request { id, act }).unwrap_or_default();
        line.push('\n');
        let mut state = run.state.subscribe();
        let asked = timeout(ANSWERS, run.input.write_all(line.as_bytes())).await;
        if !matches!(asked, Ok(Ok(()))) {
            return Err("the bridge does not respond".to_owned());
        }
        let answered = |state: &State| state.answered.0 == id || state.trouble.is_some();
        match timeout(ANSWERS, state.wait_for(answered)).await {
            Ok(Ok(state)) => match (&state.trouble, &state.answered.1) {
                (Some(trouble), _) => Err(trouble.what.clone()),
                (None, Some(why)) => Err(why.clone()),
                (None, None) => Ok(()),
            },
            Ok(Err(_)) => Err("the bridge has ended".to_owned()),
            Err(_) => Err(format!("the bridge did not answer for {} s", ANSWERS.as_secs())),
        }
    }

    /// Runs a command of the device's file. It ends with the harness, however that ends; what it leaves running on purpose
    /// when it has ended goes on.
    async fn shell(&self, line: &str) -> Result<(), String> {
        let does_not_start = |error| format!("`{line}` does not start: {error}");
        let group = Group::new().map_err(does_not_start)?;
        let mut command = tokio::process::Command::new("sh");
        command
            .args(["-c", line])
            .envs(self.setup.env.iter().map(|(name, value)| (name, value)))
            .process_group(group.id())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let ended = timeout(COMMAND_PATIENCE, command.status()).await;
        if ended.is_ok() {
            group.disband();
        }
        match ended {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(format!("`{line}` ended with {status}")),
            Ok(Err(error)) => Err(does_not_start(error)),
            Err(_) => {
                let seconds = COMMAND_PATIENCE.as_secs();
                Err(format!("`{line}` did not end within {seconds} s"))
            }
        }
    }

    async fn spawn(&self) -> std::io::Result<Run> {
        let group = Group::new()?;
        let mut child = tokio::process::Command::new(&self.setup.bridge)
            .args(&self.setup.arguments)
            .process_group(group.id())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let piped = || std::io::Error::other("a pipe is missing");
        let mut input = child.stdin.take().ok_or_else(piped)?;
        let output = child.stdout.take().ok_or_else(piped)?;
        let mut line = serde_json::to_string(&self.setup.job)?;
        line.push('\n');
        input.write_all(line.as_bytes()).await?;
        let first = State { gate: Gate::new(self.setup.wait_for.clone()), ..State::default() };
        let state = Arc::new(watch::Sender::new(first));
        let (says, console) = (Arc::clone(&state), Arc::clone(&self.console));
        Ok(Run {
            input,
            child,
            next: 0,
            state,
            follower: tokio::spawn(follow(output, says, console)),
            _group: group,
        })
    }
}

/// Takes in what the bridge tells, to its end.
async fn follow(output: ChildStdout, says: Arc<watch::Sender<State>>, console: Arc<Console>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(event) = serde_json::from_str::<Event>(&line) else {
            continue;
        };
        let bench = |text: String| console.push(TargetOutput::Bench(text));
        match event {
            Event::Opened { port, signals } => {
                bench(match signals {
                    true => format!("the port `{port}` is open"),
                    false => format!("the port `{port}` is open, but has no lines DTR and RTS"),
                });
                says.send_modify(|state| state.opened = Some(signals));
            }
            Event::Flashing { .. } => says.send_modify(|state| state.steps += 1),
            Event::Flashed { what, boots } => {
                bench(format!("flashed: {what}"));
                says.send_modify(|state| state.boots = boots);
            }
            Event::Line { text } => {
                says.send_modify(|state| state.gate.line(&text));
                console.push(TargetOutput::Line(text));
            }
            Event::Lost { why, by_reset } => {
                let why = format!("the port disappeared: {why}");
                console.push(TargetOutput::Lost { why, by_reset });
                says.send_modify(|state| state.is_away = true);
            }
            Event::Back { port, after_ms } => {
                let text = format!("the port is back as `{port}` after {after_ms} ms");
                console.push(TargetOutput::Back(text));
                says.send_modify(|state| state.is_away = false);
            }
            Event::Done { id } => says.send_modify(|state| state.answered = (id, None)),
            Event::NotDone { id, why } => {
                says.send_modify(|state| state.answered = (id, Some(why)));
            }
            Event::Failed(trouble) => {
                console.push(TargetOutput::Trouble(trouble.what.clone()));
                says.send_modify(|state| state.trouble = Some(trouble));
            }
        }
    }
    says.send_modify(|state| {
        if !state.is_stopping && state.trouble.is_none() {
            let trouble = ended();
            console.push(TargetOutput::Trouble(trouble.what.clone()));
            state.trouble = Some(trouble);
        }
    });
}

fn cannot_switch(verb: &str, names: &str) -> TargetError {
    TargetError::Board(Trouble {
        kind: TroubleKind::Other,
        what: format!(
            "cannot {verb} the power of the board: expected a command for it in its file, got none"
        ),
        hint: format!("set it as `power.{names}` in the section `[board]`"),
    })
}

fn trouble(what: String) -> TargetError {
    TargetError::Board(Trouble {
        kind: TroubleKind::Other,
        what,
        hint: "check `[board.power]` in its file; try the command by hand".to_owned(),
    })
}

fn ended() -> Trouble {
    Trouble {
        kind: TroubleKind::Other,
        what: "the bridge to the board ended: expected it to live as long as the run".to_owned(),
        hint: "it was killed, or has a bug: its standard error may say more".to_owned(),
    }
}

fn hangs(what: &str, patience: Duration) -> Trouble {
    Trouble {
        kind: TroubleKind::Other,
        what: format!(
            "the bridge to the board hangs: expected it {what} within {} s",
            patience.as_secs()
        ),
        hint:
            "unplug the board and plug it in again; `dmesg` shows how the system handles its port"
                .to_owned(),
    }
}
