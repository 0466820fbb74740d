//! A run with a device of a trial, and its course up to the moment of the fault.

use std::process::Child;
use std::time::{Duration, Instant};

use nix::unistd::Pid;

use super::board::Played;
use super::emulator;
use super::inject;
use super::table::{Moment, On, Trial};
use crate::support::broker::{self, Mosquitto};
use crate::support::{Hil, LATEST, Live, Place, free_port, native};

/// Cases of each kind that a fault is put into: written down, generated, and the close.
const CASES: [&str; 8] =
    ["--only", "ids/", "--only", "volume/up", "--only", "volume/set", "--only", "properties/ids"];

/// What holds for every trial: no longer than it takes to tell silence, and nothing that depends on time or chance.
const ALWAYS: [&[&str]; 8] = [
    &["--inputs", "12"],
    &["--seed", "7"],
    &["--max-time", "30s"],
    &["--no-confirm"],
    &["--deadline", "3"],
    &["--connect-deadline", "6"],
    &["--redial-deadline", "4"],
    &["--format", "json"],
];

/// How long after their beginning a fault is put in among generated inputs.
const AMID_INPUTS: Duration = Duration::from_millis(400);

/// A run, the device and what else belongs to it.
pub(crate) struct Rig {
    pub(crate) place: Place,
    pub(crate) board: Option<Played>,
    pub(crate) broker: Option<Mosquitto>,
    /// Where that listens, or did.
    pub(crate) port: u16,
    pub(crate) listen: String,
    pub(crate) http: String,
    /// What other programs of the trial hold.
    pub(crate) helpers: Vec<Child>,
    pub(crate) kept: Vec<Box<dyn std::any::Any>>,
}

impl Drop for Rig {
    fn drop(&mut self) {
        for mut child in self.helpers.drain(..) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Rig {
    /// Sets up what a trial needs. `None` where this machine has no program for it.
    pub(crate) fn new(trial: &Trial) -> Option<Self> {
        let place = Place::new();
        for (name, text) in &trial.fault.files {
            place.write(name, text);
        }
        let mutant = mutant(trial);
        let board = (trial.on == On::Board).then(|| Played::attach(&place, &trial.over, &mutant));
        let broker = match trial.on {
            On::Broker => Some(Mosquitto::start(&place)?),
            _ => None,
        };
        let (helpers, kept) = (Vec::new(), Vec::new());
        let (listen, http) = (free_port(), free_port());
        let port = broker.as_ref().map_or(0, |broker| broker.port);
        Some(Self { place, board, broker, port, listen, http, helpers, kept })
    }

    /// The run, not yet started.
    pub(crate) fn run(&self, trial: &Trial) -> Hil {
        let mutant = mutant(trial);
        let device = format!("'{}' --delay-ms 10 {}", native().display(), mutant.join(" "));
        let place = &self.place;
        let tells = "exec > >(tee -p told) 2>&1";
        let tells = if trial.at == Moment::BringUp { tells } else { "" };
        let mut more: Vec<String> = Vec::new();
        let mut env = trial.fault.env.clone();
        let dut = match trial.on {
            On::Native => {
                more.extend(mutant);
                "native".to_owned()
            }
            On::Exec | On::Shell => {
                let exec = if trial.on == On::Exec { "exec " } else { "" };
                let script = format!("echo $$ > pid\n{tells}\nexec {device}");
                let script = match trial.on {
                    On::Exec => script,
                    _ => format!("{tells}\n{device} & echo $! > pid; wait $!"),
                };
                format!("exec:{exec}{}", place.program("device", &script).display())
            }
            On::Board => "desk.toml".to_owned(),
            On::Emulator => {
                let out = match trial.at {
                    Moment::BringUp => "exec > >(tee -p told >&3) 2>&1",
                    _ => "exec >&3 2>&3",
                };
                let emulator =
                    emulator::stand_in(place, &format!("{out}\nexec 3>&-; exec {device}"));
                env.insert("MCP_HIL_QEMU_ESP".into(), emulator.display().to_string());
                more.extend(["--firmware", "merged.bin"].map(str::to_owned));
                "qemu-esp".to_owned()
            }
            On::Wait => {
                let at = ["--listen", &self.listen, "--http-listen", &self.http];
                more.extend(at.map(str::to_owned));
                "wait".to_owned()
            }
            On::Broker => {
                place.write("shelf.toml", broker::file(self.port));
                broker::device(self.port);
                "shelf.toml".to_owned()
            }
        };
        let own = trial.fault.args.iter().cloned();
        let has = |option: &str| trial.fault.args.iter().any(|arg| arg == option);
        let always = ALWAYS.iter().filter(|option| !has(option[0])).flat_map(|option| *option);
        let always = always.map(|&word| word.to_owned());
        let dut = ["--dut".to_owned(), dut].into_iter().filter(|_| !has("--dut"));
        let over = dut.chain(["--transport".to_owned(), trial.over.clone()]);
        let cases = CASES.iter().map(|&word| word.to_owned()).filter(|_| !has("--scenario"));
        let args = std::iter::once("run".to_owned()).chain(always).chain(over).chain(cases);
        let mut hil = place
            .hil(args.chain(more).chain(own))
            .env("MCP_HIL_LOCKS", place.path("locks"))
            .without_env("MCP_HIL_QEMU_ESP_BIOS");
        for (name, value) in &env {
            hil = hil.env(name, value);
        }
        hil
    }

    /// Follows the run to the moment.
    pub(crate) fn reach(&mut self, trial: &Trial, live: &mut Live, told: Option<Told>) {
        const STARTED: &str = "\"event\":\"case-started\"";
        match trial.at {
            Moment::Before => {}
            Moment::BringUp => match told {
                Some(told) => told.speaks(),
                None => wait_until("the device runs", || self.device().is_some()),
            },
            Moment::Case => {
                for _ in 0..3 {
                    live.out(STARTED);
                }
            }
            Moment::Generated | Moment::Inputs => {
                while !live.out(STARTED).contains("properties/") {}
                if trial.at == Moment::Inputs {
                    // No event tells of an input. Its own time does not matter, and all of them take longer.
                    std::thread::sleep(AMID_INPUTS);
                }
            }
            Moment::Close => {
                let ended = "\"event\":\"case-finished\"";
                while !live.out(ended).contains("\"case\":\"properties/") {}
            }
        }
    }

    /// The pipe on which the device's console tells that it has begun, where the fault waits for that.
    pub(crate) fn told(&self, trial: &Trial) -> Option<Told> {
        let is_program = matches!(trial.on, On::Exec | On::Shell | On::Emulator);
        (trial.at == Moment::BringUp && is_program).then(|| {
            let (_, lines) = self.place.lines("told");
            Told(lines)
        })
    }

    /// The process of the device, or of what it runs in.
    pub(crate) fn device(&self) -> Option<Pid> {
        if let Some(board) = &self.board {
            return board.device();
        }
        let text = std::fs::read_to_string(self.place.path("pid")).ok()?;
        Some(Pid::from_raw(text.trim().parse().ok()?))
    }
}

/// What the device's console tells.
pub(crate) struct Told(std::sync::mpsc::Receiver<String>);

impl Told {
    /// Waits until it says something. The pipe is read on: a device whose console is not read would stand still.
    fn speaks(self) {
        let line = self.0.recv_timeout(LATEST).expect("the device speaks");
        assert!(!line.is_empty());
    }
}

/// Waits for something that no line tells of.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < until, "within 30 s: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The option of the defect that the device has, if any.
fn mutant(trial: &Trial) -> Vec<String> {
    let named = trial.fault.inject.iter().find_map(|order| order.strip_prefix("mutant "));
    named.map_or(Vec::new(), |name| vec!["--mutant".to_owned(), name.to_owned()])
}

/// The run as the fault needs it started.
pub(crate) fn prepared(trial: &Trial, hil: Hil) -> Hil {
    inject::prepared(&trial.fault.inject, hil)
}
