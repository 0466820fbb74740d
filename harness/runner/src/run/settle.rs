//! Readings of the device's state, taken when it stands still.
//!
//! Backlights fade, volumes take effect a few times a second, and the status tells what is so at the moment.
//! A reading that is as expected needs no second one; any other is repeated until it is, or until the
//! device shows the same for a while. All readings are in the transcript, and the judge takes the last one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::capability::{STATUS_TOOL, only_reads};
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::step::{StepKind, beside};
use mcp_hil_core::transcript::Role;
use mcp_hil_core::wire::Frame;
use mcp_hil_judge::check;
use mcp_hil_scenario::{Outgoing, Scope, Step};
use serde_json::Value;

use super::session::{Exchange, Session};
use super::settings::Settings;
use super::stimulus::manner;

/// A state that shows no change for so long stands still. Stock boards change a fading backlight every 5 ms,
/// and limit a volume to a few changes a second.
const STILL: Duration = Duration::from_millis(500);

/// The longest wait for a state to stand still.
const LONGEST: Duration = Duration::from_secs(4);

/// For how long settings that were put back are left alone before they are read: twice what a backlight fades.
const ARRIVES: Duration = Duration::from_secs(1);

/// Between two readings: the first pause, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(100));

/// For how long the state may be on its way after a call that was carried out, on a device of which nothing
/// is known.
const MOVES: Duration = Duration::from_secs(4);

/// What a power-save timer changes by itself, once in a while (device-protocol 1.4: 68 of the board files have one).
const BRIGHTNESS: &str = "/screen/brightness";

/// What is known of how the device's state settles.
#[derive(Debug, Default)]
pub(super) struct Settling {
    /// When a call with an effect was last carried out.
    stirred: Option<Instant>,
    /// Whether that was shortly before the reading that a change is compared with: how long the message after it
    /// takes, or a stall, says nothing.
    stirred_before: bool,
    /// The longest that a reading took to come right; nothing on a device that is quick.
    takes: Duration,
    /// Whether what is read proves nothing: a smaller input is tried.
    pub(super) is_hurried: bool,
    /// What a message was seen to change twice, against which requirement: the next of the kind is no riddle.
    confirmed: BTreeSet<(Id, Vec<String>)>,
}

impl Settling {
    fn is_stirred(&self, within: Duration) -> bool {
        self.stirred.is_some_and(|at| at.elapsed() < within)
    }
}

impl Session {
    /// Takes note of a call that was carried out.
    pub(super) fn may_have_stirred(&mut self, at: &Arc<str>, duty: &Duty) {
        let tool = duty.tool.as_deref().unwrap_or_default();
        if !duty.is_call() || only_reads(tool) {
            return;
        }
        let result = self.judge.answer_view(at);
        let failed = |view: &Value| view.pointer("/result/isError") == Some(&Value::Bool(true));
        if result.is_some_and(|view| view.get("result").is_some() && !failed(&view)) {
            self.settling.stirred = Some(Instant::now());
        }
    }

    /// Waits until the state stands still, on a device that was seen to take its time.
    pub(super) async fn wait_until_still(&mut self, at: &Arc<str>) -> Exchange {
        let takes = (self.settling.takes * 2).min(LONGEST);
        match self.settling.stirred.map(|at| at + takes) {
            Some(until) if until > Instant::now() => self.listen(at, until - Instant::now()).await,
            _ => Exchange::Settled,
        }
    }

    /// Repeats a reading of the status until it shows what is wanted, or stands still.
    pub(super) async fn settle(
        &mut self,
        at: &Arc<str>,
        wanted: impl Fn(&Value) -> bool,
    ) -> Exchange {
        let Some(mut shown) = self.status_at(at) else {
            return Exchange::Settled;
        };
        let began = Instant::now();
        let (mut still_since, mut pause) = (began, PAUSES.0);
        // A reading may show what was so when it was asked for: the time that its answer took, or a stall
        // before it, is no time in which the state stood still.
        let mut asked = began;
        let still = match self.settling.is_hurried {
            true => (self.settling.takes * 2).min(STILL),
            false => STILL,
        };
        for number in 1.. {
            if wanted(&shown) {
                if number > 1 {
                    self.settling.takes = self.settling.takes.max(began.elapsed());
                }
                break;
            }
            let stands_still = asked.saturating_duration_since(still_since) >= still;
            if stands_still || began.elapsed() >= LONGEST {
                break;
            }
            match self.listen(at, pause).await {
                Exchange::Settled => {}
                other => return other,
            }
            pause = (pause * 2).min(PAUSES.1);
            let again = beside(at, StepKind::Settle(number));
            asked = Instant::now();
            match self.status(&again, Role::Probe).await {
                Exchange::Settled => {}
                other => return other,
            }
            let Some(next) = self.status_at(&again) else {
                break;
            };
            if check::settings(&next) != check::settings(&shown) {
                still_since = Instant::now();
            }
            shown = next;
        }
        Exchange::Settled
    }

    /// Repeats the reading of a step until it shows what the step expects.
    pub(super) async fn settle_step(
        &mut self,
        step: &Step,
        at: &Arc<str>,
        scope: &Scope,
    ) -> Exchange {
        let wanted = |view: &Value| check::shows(step, scope, view);
        self.settle(at, wanted).await
    }

    /// Reads the settings before a message that must leave them alone.
    pub(super) async fn read_before(&mut self, at: &Arc<str>) -> Exchange {
        match self.wait_until_still(at).await {
            Exchange::Settled => {}
            other => return other,
        }
        self.settling.stirred_before = self.settling.is_stirred(MOVES);
        self.status(at, Role::Probe).await
    }

    /// Reads the settings after it: they stand still before they count as changed.
    pub(super) async fn read_after(&mut self, before: &Arc<str>, after: &Arc<str>) -> Exchange {
        let settings = self.settings_at(before);
        match self.status(after, Role::Probe).await {
            Exchange::Settled => {
                let same = |view: &Value| check::settings(view) == settings;
                self.settle(after, same).await
            }
            other => other,
        }
    }

    /// Reads the settings at the end of a case, until they show what the judge expects of them, or stand still:
    /// reading, and being refused, changes nothing.
    pub(super) async fn read_kept(&mut self) -> Exchange {
        let has_status = self.device.facts.capabilities.contains("status");
        if !has_status || self.connection.link.is_none() || !self.connection.initialized {
            return Exchange::Settled;
        }
        let at: Arc<str> = check::KEPT.into();
        let owed = self.judge.owed_settings();
        match self.status(&at, Role::Probe).await {
            Exchange::Settled => {}
            other => return other,
        }
        let keeps = |view: &Value| {
            let shown = check::settings(view).unwrap_or_default();
            owed.iter().all(|(place, value)| shown.get(place).is_none_or(|shown| shown == value))
        };
        self.settle(&at, keeps).await
    }

    /// Sends a message that seems to have changed the settings once more, from where they were before: that
    /// reading may have caught them on their way to what an earlier call had set, or a screen that dims by itself.
    pub(super) async fn confirm_change(
        &mut self,
        step: &Step,
        outgoing: &Outgoing,
        at: &Arc<str>,
        scope: &Scope,
    ) -> Exchange {
        let (before, after) = (beside(at, StepKind::Before), beside(at, StepKind::After));
        let settings = self.settings_at(&before);
        let differing = self.differing(&before, &after);
        let dims = differing == [BRIGHTNESS];
        let kind = step.unchanged.map(|requirement| (requirement, differing.clone()));
        if kind.as_ref().is_some_and(|kind| self.settling.confirmed.contains(kind)) {
            return Exchange::Settled;
        }
        if differing.is_empty() || settings.is_none() || !(self.settling.stirred_before || dims) {
            return Exchange::Settled;
        }
        let saved = self.settings_shown(&before);
        let left = self.settings_shown(&self.judge.settled(&after));
        if !dims && !differing.iter().any(|setting| saved.restores(setting)) {
            // What no call sets was not on its way.
            return Exchange::Settled;
        }
        let at = beside(at, StepKind::Again);
        self.put_back(&saved, &beside(&at, StepKind::Settings)).await;
        let (before, after) = (beside(&at, StepKind::Before), beside(&at, StepKind::After));
        // On its way a setting may show what it showed before. It gets there without being looked at, because a reading
        // may itself be what changes it.
        let arrives = (self.settling.takes * 2).clamp(ARRIVES, LONGEST);
        match self.listen(&before, arrives).await {
            Exchange::Settled => {}
            other => return other,
        }
        match self.status(&before, Role::Probe).await {
            Exchange::Settled => {}
            other => return other,
        }
        // What does not come back to where it was has to stand still at least.
        let same = |view: &Value| check::settings(view) == settings;
        match self.settle(&before, same).await {
            Exchange::Settled => {}
            other => return other,
        }
        let Ok(frame) = self.fill(outgoing, scope) else {
            return Exchange::Settled;
        };
        if is_legal_with_own_id(outgoing, &frame) {
            // A legal id is used once in a session.
            return Exchange::Settled;
        }
        match self.exchange(&at, Role::Stimulus, frame, manner(step)).await {
            Exchange::Settled | Exchange::Ignored => {}
            other => return other,
        }
        let before = self.judge.settled(&before);
        match self.read_after(&before, &after).await {
            Exchange::Settled => {}
            other => return other,
        }
        if self.differing(&before, &after) == differing {
            self.settling.confirmed.extend(kind);
        }
        // The steps that follow count on what earlier ones had set, not on what was caught on its way there.
        self.put_back(&left, &beside(&at, StepKind::Left)).await;
        Exchange::Settled
    }

    /// The settings that are different in two readings.
    fn differing(&self, before: &str, after: &str) -> Vec<String> {
        let after = self.settings_at(&self.judge.settled(after)).unwrap_or_default();
        let before = self.settings_at(before).unwrap_or_default();
        let names = before.as_object().into_iter().chain(after.as_object()).flatten();
        let names = names.map(|(name, _)| name.clone());
        names.filter(|name| before.get(name) != after.get(name)).collect()
    }

    /// The settings that the status showed there, as they can be put back.
    fn settings_shown(&self, at: &str) -> Settings {
        let status = self.status_at(at).and_then(|view| view.get("json").cloned());
        self.settings_in(status.as_ref(), &self.device.permission)
    }

    fn status_at(&self, at: &str) -> Option<Value> {
        self.judge.answer_view(at).filter(|view| view.get("json").is_some())
    }

    fn settings_at(&self, at: &str) -> Option<Value> {
        check::settings(&self.status_at(at)?)
    }
}

/// Whether a message is a plain reading of the status: it may be repeated.
pub(super) fn reads_status(outgoing: &Outgoing) -> bool {
    match outgoing {
        Outgoing::Status => true,
        Outgoing::Request { method, params: Some(params), id: None } => {
            method == "tools/call" && params["name"] == STATUS_TOOL
        }
        _ => false,
    }
}

/// Whether a request carries an id that its scenario gave it, and that the device has to answer.
fn is_legal_with_own_id(outgoing: &Outgoing, frame: &Frame) -> bool {
    let own = match outgoing {
        Outgoing::Request { id, .. } => id.is_some(),
        Outgoing::Status | Outgoing::Notify { .. } => false,
        Outgoing::Payload(value) | Outgoing::Envelope(value) => {
            !value.to_string().contains("${id}")
        }
        Outgoing::PayloadText(text) | Outgoing::Text(text) => !text.contains("${id}"),
        Outgoing::Binary(_) | Outgoing::Ping => false,
    };
    own && Duty::of(frame).owes == Owes::Answer
}
