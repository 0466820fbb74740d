//! One device of several: a run on a thread of its own, whose events go to the whole.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use mcp_hil_record::event::Event;
use mcp_hil_record::{Reporter, Reporters};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

use crate::plan::Plan;
use crate::run;

/// Adds the reports that lie in the folder of a lane.
pub type LaneFiles = Arc<dyn Fn(&mut Reporters<'static>, &Plan) + Send + Sync>;

/// Stack of a lane's thread, in bytes: as much as the main thread of a program usually has.
const STACK: usize = 8 << 20;

/// What a lane says.
pub(super) enum Said {
    /// Something happened.
    Event(Box<Event>),
    /// It is over: whether a report of its own could not be written.
    Over {
        /// Whether that was so.
        lost: bool,
    },
}

/// Where a lane speaks.
#[derive(Clone)]
pub(super) struct Speaker {
    /// Its number.
    pub(super) at: usize,
    /// Who listens to all lanes.
    pub(super) to: UnboundedSender<(usize, Said)>,
}

impl Reporter for Speaker {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let said = Said::Event(Box::new(event.clone()));
        self.to.send((self.at, said)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// Says that the lane is over, however it ended: who listens must not wait for ever.
struct Over {
    speaker: Speaker,
    lost: bool,
}

impl Drop for Over {
    fn drop(&mut self) {
        // Nobody listens any more only where the whole is over, too.
        let _ = self.speaker.to.send((self.speaker.at, Said::Over { lost: self.lost }));
    }
}

/// Starts a lane. Its runtime is its own: what one lane computes makes no other late.
///
/// # Errors
///
/// There are no more threads.
pub(super) fn start(
    plan: Arc<Plan>,
    speaker: Speaker,
    files: LaneFiles,
    interrupt: watch::Receiver<bool>,
) -> io::Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(plan.dut.name.clone()).stack_size(STACK);
    thread.spawn(move || {
        let mut over = Over { speaker: speaker.clone(), lost: false };
        let mut reporters = Reporters::new(io::stderr());
        reporters.add("the run of all devices", speaker);
        files(&mut reporters, &plan);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        match runtime {
            Ok(runtime) => {
                runtime.block_on(run::run(&plan, &mut reporters, interrupt));
                runtime.shutdown_background();
            }
            Err(error) => cannot(&plan, &error, &mut reporters),
        }
        over.lost = reporters.failures().next().is_some();
    })
}

/// Says of a lane that it could not be started.
pub(super) fn not_started(plan: &Plan, speaker: Speaker, error: &io::Error) {
    let over = Over { speaker: speaker.clone(), lost: false };
    let mut reporters = Reporters::new(io::stderr());
    reporters.add("the run of all devices", speaker);
    cannot(plan, error, &mut reporters);
    drop(over);
}

fn cannot(plan: &Plan, error: &io::Error, reporters: &mut Reporters<'_>) {
    let why = format!("cannot start the run of the device: {error}");
    run::cannot_run(plan, &why, reporters);
}
