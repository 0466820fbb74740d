//! The surrogate of a device: a program on this host that most likely fails in the same way. What the device
//! fails with is made small there, where tries are quick and wear nothing.

use std::sync::Arc;
use std::time::Instant;

use mcp_hil_generate::Draw;
use mcp_hil_judge::check::Merged;
use mcp_hil_scenario::Case;
use tokio::sync::watch;

use super::dut_run::DutRun;
use super::open::open;
use super::property_run::PropertyCase;
use super::search::{Search, Tried};
use super::session::Session;
use mcp_hil_record::event::{Event, Generated};

/// The surrogate of the device of a run of one device, with a run of one device of its own that nobody is told of.
pub(super) struct Surrogate<'a, 'r> {
    dut_run: DutRun<'a, 'r>,
    interrupt: watch::Receiver<bool>,
    state: State,
}

/// Whether it runs: it is started when there is something to try.
enum State {
    NotStarted,
    Running(Box<Session>),
    OfNoUse,
}

/// What became of an input on the surrogate.
pub(super) struct Shrunk {
    /// The smallest input that fails there; `None` when the surrogate does not show the failure.
    pub(super) smallest: Option<Case>,
    /// Why there may be a smaller one.
    pub(super) cut_short: Option<&'static str>,
    /// How many inputs were tried, the one that was found aside.
    pub(super) steps: u32,
}

impl<'a, 'r> Surrogate<'a, 'r> {
    pub(super) fn new(dut_run: DutRun<'a, 'r>, interrupt: watch::Receiver<bool>) -> Self {
        Self { dut_run, interrupt, state: State::NotStarted }
    }

    /// Starts it, if that was not tried before. Gives why it is of no use.
    async fn start(&mut self) -> Option<String> {
        if !matches!(self.state, State::NotStarted) {
            return None;
        }
        self.state = State::OfNoUse;
        let (plan, transport) = (self.dut_run.plan, self.dut_run.transport);
        let opened = open(plan, transport, self.interrupt.clone(), None).await;
        let mut session: Session = match opened {
            Ok(session) => session,
            Err(error) => return Some(error.to_string()),
        };
        if let Err(error) = self.dut_run.bring_up(&mut session).await {
            session.end().await;
            return Some(error.to_string());
        }
        self.state = State::Running(Box::new(session));
        None
    }

    /// Makes an input smaller as long as it fails on the surrogate in the wanted way.
    async fn shrink(
        &mut self,
        property_case: &PropertyCase<'_>,
        search: &mut Search,
        mut draw: Option<Draw>,
        case: &Case,
    ) -> Option<Shrunk> {
        let State::Running(session) = &mut self.state else {
            return None;
        };
        let id: Arc<str> = property_case.property.id.into();
        session.begin_case(&id);
        let mut own = PropertyCase {
            property: property_case.property,
            context: property_case.context,
            // What is judged here is not about the device, and told to nobody.
            merged: Merged::new(&id),
            told: Generated::default(),
            likenesses: Vec::new(),
            elsewhere: Vec::new(),
            silent: 0,
            saved: session.settings(&self.dut_run.plan.dut.permission()).await,
            until: property_case.until,
        };
        let mut shrunk = Shrunk { smallest: None, cut_short: None, steps: 0 };
        let first = self.dut_run.try_again(session, &mut own, search, case).await;
        if matches!(first, Tried::Shown) {
            let mut smallest = case.clone();
            shrunk.cut_short = self
                .dut_run
                .make_small(session, &mut own, search, draw.as_mut(), &mut smallest)
                .await;
            shrunk.smallest = Some(smallest);
        }
        shrunk.steps = search.steps;
        Some(shrunk)
    }

    /// Ends it.
    pub(super) async fn stop(self) {
        if let State::Running(session) = self.state {
            // What its transcripts say is told to nobody, and neither is what kept them from disk.
            session.end().await;
        }
    }
}

impl DutRun<'_, '_> {
    /// Makes an input smaller on the surrogate, where there is one that can be used.
    pub(super) async fn on_surrogate(
        &mut self,
        property_case: &PropertyCase<'_>,
        search: &mut Search,
        draw: Option<Draw>,
        case: &Case,
    ) -> Option<Shrunk> {
        let surrogate = self.properties.surrogate.as_mut()?;
        let began = Instant::now();
        if let Some(why) = surrogate.start().await {
            let text = format!(
                "failures are shrunk on the device itself, not on its substitute (`surrogate`): {why}"
            );
            self.reporters.event(&Event::Notice { text });
        }
        // Getting it up is no part of the tries.
        search.until += began.elapsed();
        surrogate.shrink(property_case, search, draw, case).await
    }
}
