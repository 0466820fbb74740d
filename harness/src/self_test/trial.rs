//! One device, tried once: the program as a child, and its report read back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_hil_core::catalogue::RuleSet;
use mcp_hil_core::transcript::{Entry, PROPERTY};
use mcp_hil_core::verdict::{Finding, Verdict};
use mcp_hil_generate::PROPERTIES;
use serde::Serialize;
use tokio::process::Command;

use super::GOOD;
use super::cost::Cost;
use super::table::{Kill, LINGER, Share, baseline, share};
use mcp_hil_args::SelfTestArgs;
use mcp_hil_bench::dut::Difference;
use mcp_hil_record::Record;
use mcp_hil_record::error::UserError;
use mcp_hil_record::event::CaseReport;
use mcp_hil_record::read::Recorded;

/// No run takes longer, generated inputs beyond the usual aside; one that does hangs.
const LONGEST: Duration = Duration::from_secs(300);

/// The same on a device that is slow by nature.
const LONGEST_SLOW: Duration = Duration::from_secs(3_600);

/// How long a generated input may take at most, on average and on a machine that others keep busy.
const LONGEST_INPUT: Duration = Duration::from_millis(100);

/// Seconds that a mutant gets for an answer: the device gives each in a few milliseconds.
const MUTANT_DEADLINE: &str = "1";

/// Seconds that a mutant gets to connect again over MQTT, which stock devices may take a minute for.
const MUTANT_RECONNECT: &str = "2";

/// Cases that give a comparison of transports something to compare.
const COMPARED: [&str; 3] = ["arguments/missing", "vision/before", "properties/methods"];

/// What all trials share. Its folder goes away with it.
#[derive(Debug)]
pub(super) struct Bench {
    program: PathBuf,
    seed: u64,
    /// With how many seeds variations are tried.
    seeds: u32,
    /// Inputs for each property, where it was told.
    cases: Option<u32>,
    quick: bool,
    folder: PathBuf,
    next: AtomicUsize,
}

impl Bench {
    /// Makes the folder.
    pub(super) fn new(program: PathBuf, args: &SelfTestArgs) -> Result<Self, UserError> {
        let folder = std::env::temp_dir().join(format!("mcp-hil-self-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| {
            UserError::bench(
                format!("cannot create the folder `{}`: {error}", folder.display()),
                "set TMPDIR to a writable folder",
            )
        })?;
        Ok(Self {
            program,
            seed: args.seed,
            seeds: args.seeds,
            cases: args.inputs,
            quick: args.quick,
            folder,
            next: AtomicUsize::new(0),
        })
    }

    /// How long a run may take, over both transports or over one.
    fn longest(&self) -> Duration {
        let inputs = self.cases.unwrap_or(0).saturating_mul(2 * PROPERTIES.len() as u32);
        LONGEST + LONGEST_INPUT * inputs
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A device and what is expected of it.
#[derive(Debug)]
pub(super) struct Trial {
    difference: Option<Difference>,
    area: String,
    /// The runs that it takes; the next one is for a mutant that the one before let live.
    runs: Vec<Run>,
    /// Whether something must be found, or nothing may.
    is_mutant: bool,
}

/// One run: over which transport, with which cases.
#[derive(Debug)]
struct Run {
    transport: &'static str,
    /// All where there is none.
    only: Vec<String>,
    /// What is known to kill the mutant here.
    known: Vec<Kill>,
}

/// What came of a trial.
#[derive(Debug, Clone, Serialize)]
pub struct Tried {
    /// The mutant or variation.
    pub name: String,
    /// The area of the protocol that a mutant spoils.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub area: String,
    /// Whether something had to be found, or nothing should.
    #[serde(skip)]
    pub is_mutant: bool,
    /// The transport of the last run.
    pub transport: String,
    /// How many cases were executed.
    pub cases: usize,
    /// How many inputs were generated and carried out in them.
    pub inputs: u64,
    /// Whether this is what a second try showed, alone on the machine.
    pub again: bool,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// With how many seeds.
    #[serde(skip_serializing_if = "is_one")]
    pub seeds: u32,
    /// Cases whose verdicts were not the same with all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<Differing>,
    /// The result: killed, survived, clean, accused or broken.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// A case whose verdict differs from one seed to another, on one device: a defect of the harness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Differing {
    /// The transport.
    pub transport: String,
    /// The case.
    pub case: String,
    /// The seeds by verdict.
    pub verdicts: BTreeMap<String, Vec<u64>>,
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

/// What came of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The mutant was found out.
    Killed(Killed),
    /// Nothing was found in a mutant.
    Survived,
    /// Nothing was found where nothing was to be found.
    Clean,
    /// Something was found where nothing should be.
    Accused {
        /// The findings, none of which should be there.
        findings: Vec<FalseFinding>,
    },
    /// The run could not be carried out.
    Broken {
        /// What kept the run from being executed: the program did not start, took too long, or left no report.
        why: String,
    },
}

/// What found a mutant out first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Killed {
    /// The case.
    pub case: String,
    /// The requirement.
    pub requirement: String,
    /// Whether a generated input did it; else a script.
    pub generated: bool,
    /// How many requests had been sent by then, with those that the harness reads the state and makes
    /// sure with.
    pub exchanges: usize,
    /// How many more were sent to make the input smaller, where one was generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrinking: Option<usize>,
    /// How many messages show it again: those of the smallest input, or those of the script up to
    /// the finding. Nothing for a comparison of transports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repro_size: Option<usize>,
    /// The command that shows it again.
    pub repro: String,
}

/// Something that was found in a device that does no wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FalseFinding {
    /// The case; empty when it is about the run as a whole.
    pub case: String,
    /// The requirement, or what else is wrong.
    pub requirement: String,
    /// What was expected and what came.
    pub text: String,
    /// Whether it may as well be the bench: nothing was shown about the device.
    #[serde(skip)]
    pub is_bench: bool,
    /// The command that shows it again.
    pub repro: String,
}

impl Tried {
    /// Whether the mutant was killed, or nothing was found in what does no wrong.
    pub(super) fn is_as_expected(&self) -> bool {
        matches!(self.outcome, Outcome::Killed(_) | Outcome::Clean) && self.differing.is_empty()
    }

    /// Whether a second try, alone on the machine, may show something else. Defects in many requests
    /// at once show only when they really are in flight at once, and on a machine that the others
    /// keep busy they may not be; a run that broke and a device that fell silent say nothing about
    /// the device. What was found says enough.
    pub(super) fn is_worth_another(&self) -> bool {
        match &self.outcome {
            Outcome::Survived | Outcome::Broken { .. } => true,
            Outcome::Accused { findings } => findings.iter().all(|finding| finding.is_bench),
            Outcome::Killed(_) | Outcome::Clean => false,
        }
    }
}

impl Trial {
    /// A mutant: over the transports on which it is known to show, or over all of them.
    pub(super) fn mutant(difference: Difference, area: &str, known: &[Kill], quick: bool) -> Self {
        let mut transports = Vec::new();
        for kill in known {
            let transport = match kill.transport.as_str() {
                "mqtt" => "mqtt",
                "both" => "both",
                _ => "websocket",
            };
            if !transports.contains(&transport) {
                transports.push(transport);
            }
        }
        if transports.is_empty() {
            transports = vec!["websocket", "mqtt"];
        }
        let run = |transport| {
            let known: Vec<Kill> =
                known.iter().filter(|kill| kill.transport == transport).cloned().collect();
            let mut only: BTreeSet<String> = BTreeSet::new();
            if quick && !known.is_empty() {
                only.extend(known.iter().map(|kill| kill.case.clone()));
                if transport == "both" {
                    only.extend(COMPARED.map(str::to_owned));
                }
            }
            Run { transport, only: only.into_iter().collect(), known }
        };
        Self {
            difference: Some(difference),
            area: area.to_owned(),
            runs: transports.into_iter().map(run).collect(),
            is_mutant: true,
        }
    }

    /// A mutant, with generated inputs alone, over the first transport on which it is known to show.
    pub(super) fn generated(difference: Difference, area: &str, known: &[Kill]) -> Self {
        let mut trial = Self::mutant(difference, area, known, false);
        trial.runs.truncate(1);
        for run in &mut trial.runs {
            run.only = vec![PROPERTY.to_owned()];
        }
        trial
    }

    /// The device itself, or a variation: the whole suite over both transports, in a hurry over
    /// WebSocket alone.
    pub(super) fn harmless(difference: Option<Difference>, quick: bool) -> Self {
        let run = Run {
            transport: if quick { "websocket" } else { "both" },
            only: Vec::new(),
            known: Vec::new(),
        };
        Self { difference, area: String::new(), runs: vec![run], is_mutant: false }
    }

    /// The name of the mutant or variation.
    pub(super) fn name(&self) -> &str {
        self.difference.as_ref().map_or(GOOD, Difference::name)
    }

    /// Whether something must be found.
    pub(super) fn is_mutant(&self) -> bool {
        self.is_mutant
    }

    /// Runs the program, once more over the next transport where a mutant lives on.
    pub(super) async fn carry_out(&self, bench: &Bench) -> Tried {
        let began = Instant::now();
        let mut tried = Tried {
            name: self.name().to_owned(),
            area: self.area.clone(),
            is_mutant: self.is_mutant,
            transport: String::new(),
            cases: 0,
            inputs: 0,
            again: false,
            took_ms: 0,
            seeds: 1,
            differing: Vec::new(),
            outcome: Outcome::Survived,
        };
        if !self.is_mutant {
            self.try_seeds(bench, &mut tried).await;
            tried.took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            return tried;
        }
        for run in &self.runs {
            run.transport.clone_into(&mut tried.transport);
            match self.start(run, bench, bench.seed).await {
                Ok((folder, record)) => {
                    tried.cases += record.summary.cases;
                    tried.inputs += inputs(&record);
                    tried.outcome = self.outcome(run, &folder, &record);
                    let _ = std::fs::remove_dir_all(folder);
                }
                Err(why) => tried.outcome = Outcome::Broken { why },
            }
            if matches!(tried.outcome, Outcome::Killed(_)) {
                break;
            }
        }
        tried.took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        tried
    }

    /// Runs the program with each seed, and compares the verdicts.
    async fn try_seeds(&self, bench: &Bench, tried: &mut Tried) {
        let mut verdicts = BTreeMap::<(String, String), BTreeMap<String, Vec<u64>>>::new();
        let mut findings = Vec::new();
        tried.seeds = bench.seeds;
        tried.outcome = Outcome::Clean;
        for run in &self.runs {
            run.transport.clone_into(&mut tried.transport);
            for seed in (bench.seed..).take(bench.seeds as usize) {
                let (folder, record) = match self.start(run, bench, seed).await {
                    Ok(ended) => ended,
                    Err(why) => {
                        tried.outcome = Outcome::Broken { why };
                        return;
                    }
                };
                tried.cases += record.summary.cases;
                tried.inputs += inputs(&record);
                for case in &record.cases {
                    let key = (case.transport.clone(), case.case.clone());
                    let verdict = match case.known {
                        // What the variation is known for need not show with each seed.
                        true => Verdict::Pass,
                        false => case.verdict,
                    };
                    let verdict = verdict_name(verdict);
                    let seeds = verdicts.entry(key).or_default();
                    seeds.entry(verdict).or_default().push(seed);
                }
                if let Outcome::Accused { findings: more } = self.outcome(run, &folder, &record) {
                    findings.extend(more);
                }
                let _ = std::fs::remove_dir_all(folder);
            }
        }
        let differing = verdicts.into_iter().filter(|(_, seeds)| seeds.len() > 1);
        tried.differing = differing
            .map(|((transport, case), verdicts)| Differing { transport, case, verdicts })
            .collect();
        if !findings.is_empty() {
            tried.outcome = Outcome::Accused { findings };
        }
    }

    /// Whether the device is slow by nature.
    pub(super) fn is_slow(&self) -> bool {
        !self.is_mutant && share(self.name(), true).is_some()
    }

    /// What a device that is slow by nature is tried with.
    fn share(&self, bench: &Bench) -> Option<Share> {
        share(self.name(), bench.quick).filter(|_| !self.is_mutant)
    }

    /// Runs the program and gives its folder and its record.
    async fn start(
        &self,
        run: &Run,
        bench: &Bench,
        seed: u64,
    ) -> Result<(PathBuf, Record), String> {
        let share = self.share(bench);
        let longest = match share {
            Some(_) => bench.longest().max(LONGEST_SLOW),
            None => bench.longest(),
        };
        let number = bench.next.fetch_add(1, Ordering::Relaxed);
        let out = bench.folder.join(number.to_string());
        let mut command = Command::new(&bench.program);
        command
            .args(["run", "--dut", "native", "--profile", "none"])
            .args(["--strict", "--format", "json", "--transport", run.transport])
            // What a defect changes is looked for in the findings.
            .args(["--snapshots", "off", "--no-confirm"])
            .args(["--seed", &seed.to_string(), "--out"])
            .arg(&out)
            .env_remove("MCP_HIL_TOKEN")
            // These runs are no result of the job that they run in.
            .env_remove("GITHUB_ACTIONS")
            .env_remove("GITHUB_STEP_SUMMARY")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        for (name, _) in RuleSet::ALL {
            command.args(["--rules", name]);
        }
        if let Some(difference) = &self.difference {
            command.arg(format!("--{}", difference.kind())).arg(difference.name());
        }
        if let Some(known) = baseline(self.name()).filter(|_| !self.is_mutant) {
            let file = bench.folder.join(format!("{number}.toml"));
            std::fs::write(&file, known).map_err(|error| format!("cannot write: {error}"))?;
            command.arg("--baseline").arg(file);
        }
        if run.known.iter().any(Kill::lingers) || !(self.is_mutant || bench.quick) {
            command.args(LINGER);
        }
        if self.is_mutant {
            command.args(["--deadline", MUTANT_DEADLINE]);
            command.args(["--reconnect-deadline", MUTANT_RECONNECT]);
        } else {
            // All inputs count, however busy the machine is.
            let seconds = longest.as_secs();
            command.args(["--max-time", &format!("{seconds}s")]);
        }
        if let Some(cases) = bench.cases.or(share.map(|share| share.cases)) {
            command.args(["--inputs", &cases.to_string()]);
        }
        for case in &run.only {
            command.args(["--only", case]);
        }
        for case in share.iter().flat_map(|share| share.only) {
            command.args(["--only", case]);
        }
        let ended = tokio::time::timeout(longest, command.output()).await;
        let output = match ended {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(format!("cannot start the program: {error}")),
            Err(_) => return Err(format!("it took more than {} s", longest.as_secs())),
        };
        let folder = out.join("latest");
        let read = std::fs::read_to_string(folder.join("report.json"));
        let said = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let text = read.map_err(|error| format!("there is no report ({error}); {}", said()))?;
        let record = Record::read(&text).map_err(|error| error.to_string())?;
        // The link is of no use when the folder is removed.
        let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
        Ok((folder, record))
    }

    fn outcome(&self, run: &Run, folder: &Path, record: &Record) -> Outcome {
        if !self.is_mutant {
            let findings = self.false_findings(record);
            return match findings.is_empty() {
                true => Outcome::Clean,
                false => Outcome::Accused { findings },
            };
        }
        let sessions: Vec<Vec<Entry>> = record
            .run
            .duts
            .iter()
            .map(|dut| {
                Recorded::read(folder, dut, record.run.duts.len() > 1)
                    .map_or(Vec::new(), |read| read.entries)
            })
            .collect();
        let seen = record.cases.iter().flat_map(|case| {
            let dut_run = record.run.duts.iter().position(|dut| dut.transport == case.transport);
            let findings = case.findings.iter().filter(|finding| counts(finding));
            let sessions = &sessions;
            findings.map(move |finding| (case, finding, Cost::of(sessions, dut_run, case, finding)))
        });
        let is_known = |case: &CaseReport, finding: &Finding| {
            run.known.iter().any(|kill| {
                case.case.starts_with(&kill.case) && finding.requirement == kill.requirement
            })
        };
        // The first, and of several at one time the one that was expected.
        let first =
            seen.min_by_key(|(case, finding, cost)| (cost.exchanges, !is_known(case, finding)));
        match (first, &record.summary.bench_error) {
            (Some((case, finding, cost)), _) => Outcome::Killed(Killed {
                case: case.case.clone(),
                requirement: finding.requirement.clone(),
                generated: case.case.starts_with(PROPERTY),
                exchanges: cost.exchanges,
                shrinking: cost.shrinking,
                repro_size: cost.repro,
                repro: case.repro.clone(),
            }),
            (None, Some(why)) => Outcome::Broken { why: why.clone() },
            (None, None) => Outcome::Survived,
        }
    }

    /// Everything that keeps the run of a good device from being green.
    fn false_findings(&self, record: &Record) -> Vec<FalseFinding> {
        let mut all = Vec::new();
        for case in &record.cases {
            let findings: Vec<_> = case.findings.iter().filter(|one| !one.known).collect();
            all.extend(findings.iter().map(|finding| FalseFinding {
                case: case.case.clone(),
                requirement: finding.requirement.clone(),
                text: format!("expected {}, received {}", finding.expected, finding.received),
                is_bench: !counts(finding),
                repro: case.repro.clone(),
            }));
            let unshown = matches!(case.verdict, Verdict::Inconclusive | Verdict::Error);
            if unshown && findings.is_empty() {
                all.push(FalseFinding {
                    case: case.case.clone(),
                    requirement: "it was inconclusive".to_owned(),
                    text: case.reason.clone().unwrap_or_default(),
                    is_bench: true,
                    repro: case.repro.clone(),
                });
            }
        }
        let whole = |requirement: &str, text: &str| FalseFinding {
            case: String::new(),
            requirement: requirement.to_owned(),
            text: text.to_owned(),
            is_bench: true,
            repro: String::new(),
        };
        let summary = &record.summary;
        all.extend(summary.bench_error.iter().map(|why| whole("the bench failed", why)));
        all.extend(summary.unexercised.iter().map(|slug| whole(slug, "nothing exercised it")));
        all
    }
}

/// Whether a finding is held against a mutant: silence that may have been the bench is not.
fn counts(finding: &Finding) -> bool {
    // A brown-out is told as a fault of the bench, and of a mutant that plays one it must be told.
    let played = finding.requirement == "liveness.no-brownout";
    finding.verdict == Verdict::Fail || played && finding.verdict == Verdict::Error
}

/// A verdict in one word.
fn verdict_name(verdict: Verdict) -> String {
    let name = serde_json::to_value(verdict).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

/// How many inputs were generated and carried out.
fn inputs(record: &Record) -> u64 {
    let generated = record.cases.iter().filter_map(|case| case.generated.as_ref());
    generated.map(|generated| u64::from(generated.inputs)).sum()
}
