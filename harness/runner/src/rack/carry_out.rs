//! Carrying out a run of several devices: their lanes start, and what they say becomes one stream of events.

use std::thread::JoinHandle;

use mcp_hil_record::event::{CaseReport, Event, Summary};
use mcp_hil_record::{Recorder, Reporters};
use tokio::sync::{mpsc, watch};

use super::lane::{self, LaneFiles, Said, Speaker};
use super::{Rack, total};
use crate::plan::{FailureLimit, PART};
use crate::run::{Demands, Driver, VerdictPolicy, demands};

/// How a run of several devices ended.
#[derive(Debug)]
pub struct RackEnd {
    /// What it comes to.
    pub summary: Summary,
    /// Whether a report of a single device could not be written.
    pub lost: bool,
}

/// Carries out a run of several devices and reports it as events. `files` adds the reports that each device gets in its
/// own folder; `interrupt` turns true on Ctrl-C.
///
/// # Panics
///
/// Where a lane did, once all others are over and everything is reported.
pub async fn carry_out(
    rack: &Rack,
    files: &LaneFiles,
    reporters: &mut Reporters<'_>,
    interrupt: watch::Receiver<bool>,
) -> RackEnd {
    let first = &rack.lanes[0];
    let baseline = first.baseline.as_ref().filter(|_| rack.has_one_baseline());
    let policy = VerdictPolicy { baseline, symbols: None, ..first.policy() };
    let held = demands(first);
    // Where each device has a baseline of its own, each says itself what it lacks.
    let held = Demands { whole_suite: held.whole_suite && rack.has_one_baseline(), ..held };
    let folder = rack.folder.display().to_string();
    let mut driver = Driver::begin(rack.started(), policy, held, folder, reporters);
    for (spec, error) in &rack.refused {
        let text = format!("{spec}: not run: {error}");
        reporters.event(&Event::Notice { text });
    }

    let mut lanes = Lanes::new(rack, files, interrupt);
    lanes.start_more();
    while let Some((at, said)) = lanes.next().await {
        match said {
            Said::Event(event) => {
                if let Some(event) = lanes.take(at, *event) {
                    reporters.event(&event);
                }
            }
            Said::Over { lost } => {
                lanes.over(lost);
                lanes.start_more();
            }
        }
    }
    let (lost, panicked) = lanes.join();
    let records: Vec<_> = lanes.recorders.iter().filter_map(Recorder::record).collect();
    total::add_up(rack, &records, &mut driver);
    let summary = driver.finish(reporters);
    if let Some(panicked) = panicked {
        std::panic::resume_unwind(panicked);
    }
    RackEnd { summary, lost }
}

/// The lanes of a run.
struct Lanes<'a> {
    rack: &'a Rack,
    files: &'a LaneFiles,
    interrupt: watch::Receiver<bool>,
    /// What each has said, as its record.
    recorders: Vec<Recorder>,
    threads: Vec<JoinHandle<()>>,
    /// How many were started, and how many of them are over.
    started: usize,
    over: usize,
    lost: bool,
    say: mpsc::UnboundedSender<(usize, Said)>,
    heard: mpsc::UnboundedReceiver<(usize, Said)>,
}

impl<'a> Lanes<'a> {
    fn new(rack: &'a Rack, files: &'a LaneFiles, interrupt: watch::Receiver<bool>) -> Self {
        let (say, heard) = mpsc::unbounded_channel();
        let recorders = rack.lanes.iter().map(|_| Recorder::default()).collect();
        let threads = Vec::new();
        let (started, over, lost) = (0, 0, false);
        Self { rack, files, interrupt, recorders, threads, started, over, lost, say, heard }
    }

    /// Whether no more lanes are to begin: the user stopped the run, or there were too many failures.
    fn is_stopped(&self) -> bool {
        let limit = self.rack.lanes[0].limit.as_ref();
        *self.interrupt.borrow() || limit.is_some_and(FailureLimit::is_reached)
    }

    /// Starts as many lanes as may run at once.
    fn start_more(&mut self) {
        while self.started - self.over < self.rack.jobs && !self.is_stopped() {
            let Some(plan) = self.rack.lanes.get(self.started) else {
                return;
            };
            let speaker = Speaker { at: self.started, to: self.say.clone() };
            let interrupt = self.interrupt.clone();
            self.started += 1;
            match lane::start(plan.clone(), speaker.clone(), self.files.clone(), interrupt) {
                Ok(thread) => self.threads.push(thread),
                Err(error) => lane::not_started(plan, speaker, &error),
            }
        }
    }

    /// What a lane says next; `None` when all are over.
    async fn next(&mut self) -> Option<(usize, Said)> {
        match self.over < self.started {
            true => self.heard.recv().await,
            false => None,
        }
    }

    fn over(&mut self, lost: bool) {
        self.over += 1;
        self.lost |= lost;
    }

    /// Takes in an event of a lane. Returned is what of it is an event of the whole.
    fn take(&mut self, at: usize, event: Event) -> Option<Event> {
        let name = &self.rack.lanes[at].run;
        let event = match event {
            Event::CaseFinished(case) => Event::CaseFinished(below(name, case)),
            Event::CaseRevised(case) => Event::CaseRevised(below(name, case)),
            Event::Notice { text } => Event::Notice { text: format!("{name}: {text}") },
            other => other,
        };
        self.recorders[at].take(&event);
        (!matches!(event, Event::RunStarted(_) | Event::RunFinished(_))).then_some(event)
    }

    /// Waits until the threads have ended, which is at once. Returned is whether a report was lost, and why a lane broke
    /// down.
    fn join(&mut self) -> (bool, Option<Box<dyn std::any::Any + Send>>) {
        let ended: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        (self.lost, ended.into_iter().find_map(Result::err))
    }
}

/// A report of a lane, whose files are below the folder of all.
fn below(name: &str, mut case: CaseReport) -> CaseReport {
    case.belongs_to(&format!("{PART}/{name}"), "", "");
    case
}
