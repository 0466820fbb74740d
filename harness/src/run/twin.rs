//! The twin of a device: a program on this host that most likely fails in the same way. What the device
//! fails with is made small there, where tries are quick and wear nothing.

use std::sync::Arc;
use std::time::Instant;

use mcp_hil_core::check::Merged;
use mcp_hil_core::generate::Draw;
use mcp_hil_core::scenario::Case;
use tokio::sync::watch;

use super::lane::{Lane, open};
use super::properties::Hunt;
use super::search::{Search, Tried};
use super::session::Session;
use crate::event::{Event, Generated};

/// The twin of the device of a lane, with a lane of its own that nobody is told of.
pub(super) struct Twin<'a, 'r> {
    lane: Lane<'a, 'r>,
    interrupt: watch::Receiver<bool>,
    state: State,
}

/// Whether it runs: it is started when there is something to try.
enum State {
    NotStarted,
    Running(Box<Session>),
    OfNoUse,
}

/// What became of an input on the twin.
pub(super) struct Shrunk {
    /// The smallest input that fails there; `None` when the twin does not show the failure.
    pub(super) smallest: Option<Case>,
    /// Why there may be a smaller one.
    pub(super) cut_short: Option<&'static str>,
    /// How many inputs were tried, the one that was found aside.
    pub(super) steps: u32,
}

impl<'a, 'r> Twin<'a, 'r> {
    pub(super) fn new(lane: Lane<'a, 'r>, interrupt: watch::Receiver<bool>) -> Self {
        Self {
            lane,
            interrupt,
            state: State::NotStarted,
        }
    }

    /// Starts it, if that was not tried before. Gives why it is of no use.
    async fn start(&mut self) -> Option<String> {
        if !matches!(self.state, State::NotStarted) {
            return None;
        }
        self.state = State::OfNoUse;
        let opened = open(self.lane.plan, self.lane.transport, self.interrupt.clone()).await;
        let mut session: Session = match opened {
            Ok(session) => session,
            Err(error) => return Some(error.to_string()),
        };
        if let Err(error) = self.lane.bring_up(&mut session).await {
            session.target.stop().await;
            return Some(error.to_string());
        }
        self.state = State::Running(Box::new(session));
        None
    }

    /// Makes an input smaller as long as it fails on the twin in the wanted way.
    async fn shrink(
        &mut self,
        hunt: &Hunt<'_>,
        search: &mut Search,
        mut draw: Option<Draw>,
        case: &Case,
    ) -> Option<Shrunk> {
        let State::Running(session) = &mut self.state else {
            return None;
        };
        let id: Arc<str> = hunt.property.id.into();
        session.begin_case(&id);
        let mut own = Hunt {
            property: hunt.property,
            ground: hunt.ground,
            // What is judged here is not about the device, and told to nobody.
            merged: Merged::new(&id),
            told: Generated::default(),
            likenesses: Vec::new(),
            elsewhere: Vec::new(),
            silent: 0,
            saved: session.settings(&self.lane.plan.dut.permission()).await,
            until: hunt.until,
        };
        let mut shrunk = Shrunk {
            smallest: None,
            cut_short: None,
            steps: 0,
        };
        let first = self.lane.try_again(session, &mut own, search, case).await;
        if matches!(first, Tried::Shown) {
            let mut smallest = case.clone();
            shrunk.cut_short = self
                .lane
                .make_small(session, &mut own, search, draw.as_mut(), &mut smallest)
                .await;
            shrunk.smallest = Some(smallest);
        }
        shrunk.steps = search.steps;
        Some(shrunk)
    }

    /// Ends it.
    pub(super) async fn stop(self) {
        if let State::Running(mut session) = self.state {
            session.target.stop().await;
            session.recorder.flush();
        }
    }
}

impl Lane<'_, '_> {
    /// Makes an input smaller on the twin, where there is one that can be used.
    pub(super) async fn on_twin(
        &mut self,
        hunt: &Hunt<'_>,
        search: &mut Search,
        draw: Option<Draw>,
        case: &Case,
    ) -> Option<Shrunk> {
        let twin = self.twin.as_mut()?;
        let began = Instant::now();
        if let Some(why) = twin.start().await {
            let text =
                format!("failures are made small on the device itself, not on its twin: {why}");
            self.reporters.event(&Event::Notice { text });
        }
        // Getting it up is no part of the tries.
        search.until += began.elapsed();
        twin.shrink(hunt, search, draw, case).await
    }
}
