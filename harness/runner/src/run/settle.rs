//! Readings of the device's state, taken when it stands still.
//!
//! Backlights fade, volumes take effect a few times a second, and the status tells what is so at the moment.
//! A reading that is as expected needs no second one; any other is repeated until it is, or until the
//! device shows the same for a while. All readings are in the transcript, and the judge takes the last one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::capability::{STATUS_TOOL, only_reads};
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::Duty;
use mcp_hil_core::step::{StepKind, beside};
use mcp_hil_core::transcript::Role;
use mcp_hil_judge::check;
use mcp_hil_scenario::{Outgoing, Scope, Step};
use serde_json::{Value, json};

use super::ids::is_legal_with_own_id;
use super::session::{Exchange, Session};
use super::settings::Settings;
use super::stimulus::manner;
use super::told::LastSet;

/// A state that shows no change for so long stands still. Stock boards change a fading backlight every 5 ms,
/// and limit a volume to a few changes a second.
const STILL: Duration = Duration::from_millis(500);

/// The longest wait for a state to stand still.
const LONGEST: Duration = Duration::from_secs(4);

/// For how long settings that were put back are left alone before they are read: twice what a backlight fades.
const ARRIVES: Duration = Duration::from_secs(1);

/// What is believed at most of how long the state moves after a call.
const LONGEST_LEARNED: Duration = Duration::from_secs(2);

/// A status may be put together once in a while, whatever was set since: for so long it may show what was so before,
/// and stand still.
const LAGS: Duration = Duration::from_millis(2500);

/// How often that is waited for in vain, before the device is taken for one whose status does not lag.
const IN_VAIN: u8 = 2;

/// How often a status is seen to be a reading behind, before each reading is taken twice.
const BEHIND: u8 = 2;

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
    /// When a call with an effect was last carried out, by its tool.
    stirred: BTreeMap<String, Instant>,
    /// Whether that was shortly before the reading that a change is compared with: how long the message after it
    /// takes, or a stall, says nothing.
    stirred_before: bool,
    /// The longest that the state went on moving after a call, by its tool; nothing for those that are quick.
    takes: BTreeMap<String, Duration>,
    /// How often a status that stood still was given the time of one that lags, and did not need it.
    waited_in_vain: u8,
    /// How often a status showed only by its second reading what had long been so.
    behind: u8,
    /// Whether what is read proves nothing: a smaller input is tried.
    pub(super) is_hurried: bool,
    /// What tools have set that others tell.
    pub(super) last_set: LastSet,
    /// What a message was seen to change twice, against which requirement: the next of the kind is no riddle.
    confirmed: BTreeSet<(Id, Vec<String>)>,
}

impl Settling {
    /// Whether a reading was seen to come right only after a while.
    pub(super) fn takes_time(&self) -> bool {
        !self.slowest().is_zero()
    }

    fn is_stirred(&self, within: Duration) -> bool {
        self.stirred.values().any(|at| at.elapsed() < within)
    }

    /// Whether it was seen twice that messages change these settings against the requirement.
    fn is_confirmed(&self, against: Option<Id>, settings: Vec<String>) -> bool {
        against.is_some_and(|against| self.confirmed.contains(&(against, settings)))
    }

    /// The longest that any call takes.
    fn slowest(&self) -> Duration {
        self.takes.values().max().copied().unwrap_or_default()
    }

    /// Until when the state may be on its way, after the calls that were seen to take their time.
    fn still_from(&self) -> Option<Instant> {
        let until =
            |(tool, at): (&String, &Instant)| Some(*at + (*self.takes.get(tool)? * 2).min(LONGEST));
        self.stirred.iter().filter_map(until).max()
    }

    /// Learns that these settings went on moving until then: after a call whose tool is named like one of them, else
    /// after any of the latest.
    fn moved(&mut self, settings: &[String], until: Instant) {
        let names: Vec<&str> =
            settings.iter().filter_map(|place| place.rsplit('/').next()).collect();
        let named = |tool: &str| names.iter().any(|name| tool.contains(name));
        let recent =
            |at: &Instant| until.checked_duration_since(*at).is_some_and(|age| age < MOVES);
        let any_named = self.stirred.iter().any(|(tool, at)| recent(at) && named(tool));
        for (tool, at) in &self.stirred {
            if recent(at) && (named(tool) || !any_named) {
                let takes = self.takes.entry(tool.clone()).or_default();
                *takes = (*takes).max(until.saturating_duration_since(*at).min(LONGEST_LEARNED));
            }
        }
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
            self.settling.stirred.insert(tool.to_owned(), Instant::now());
        }
    }

    /// Waits until the state stands still, on a device that was seen to take its time.
    pub(super) async fn wait_until_still(&mut self, at: &Arc<str>) -> Exchange {
        match self.settling.still_from() {
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
        self.settle_or(at, STATUS_TOOL, wanted, |_, _| false, true).await
    }

    /// Repeats a reading of any tool; what is no surprise need not stand still for longer than this device was seen to move.
    /// Whether it may lag, so that what was set is yet to come, says `may_lag`.
    pub(super) async fn settle_or(
        &mut self,
        at: &Arc<str>,
        reader: &str,
        wanted: impl Fn(&Value) -> bool,
        expected: impl Fn(&Settling, &Value) -> bool,
        may_lag: bool,
    ) -> Exchange {
        let Some(mut shown) = self.told_at(at, reader) else {
            return Exchange::Settled;
        };
        let began = Instant::now();
        let (mut still_since, mut pause) = (began, PAUSES.0);
        let mut moved = BTreeSet::new();
        // A reading may show what was so when it was asked for: the time that its answer took, or a stall
        // before it, is no time in which the state stood still.
        let mut asked = began;
        let settling = &self.settling;
        let mut lags = may_lag && settling.waited_in_vain < IN_VAIN && settling.is_stirred(MOVES);
        for number in 1.. {
            if wanted(&shown) {
                break;
            }
            let still = match self.settling.is_hurried || expected(&self.settling, &shown) {
                true => (self.settling.slowest() * 2).min(STILL),
                false if lags => LAGS,
                // A step of one may take as long as a fade over the whole range.
                false => STILL.max(self.settling.slowest() * 3 / 2),
            };
            let stands_still = asked.saturating_duration_since(still_since) >= still;
            self.settling.waited_in_vain += u8::from(stands_still && still == LAGS);
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
            match self.read(reader, &again, Role::Probe).await {
                Exchange::Settled => {}
                other => return other,
            }
            let Some(next) = self.told_at(&again, reader) else {
                break;
            };
            let differing = differing(&compared(reader, &shown), &compared(reader, &next));
            if number == 1 && !differing.is_empty() && !self.settling.is_stirred(ARRIVES) {
                // It came by reading, not by waiting, which teaches nothing of how long things take.
                self.settling.behind = self.settling.behind.saturating_add(1);
                (still_since, lags) = (Instant::now(), false);
            } else if !differing.is_empty() {
                still_since = Instant::now();
                lags = false;
                moved.extend(differing);
            }
            shown = next;
        }
        if !moved.is_empty() {
            self.settling.moved(&Vec::from_iter(moved), still_since);
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
        match self.status(at, Role::Probe).await {
            Exchange::Settled if self.settling.behind >= BEHIND => {
                self.read(STATUS_TOOL, &beside(at, StepKind::Settle(1)), Role::Probe).await
            }
            other => other,
        }
    }

    /// Reads the settings after it: they stand still before they count as changed.
    /// Against which requirement a change is, says `against`.
    pub(super) async fn read_after(
        &mut self,
        before: &Arc<str>,
        after: &Arc<str>,
        against: Option<Id>,
    ) -> Exchange {
        let settings = self.settings_at(&self.judge.settled(before));
        match self.status(after, Role::Probe).await {
            Exchange::Settled => {
                let same = |view: &Value| check::settings(view) == settings;
                let expected = |settling: &Settling, view: &Value| {
                    settling.is_confirmed(against, differing(&settings, &check::settings(view)))
                };
                self.settle_or(after, STATUS_TOOL, same, expected, false).await
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
        // It may have been sent behind the last messages of the case.
        let is_read = self.judge.is_answered(&at);
        let owed = self.judge.owed_settings();
        if !is_read {
            match self.status(&at, Role::Probe).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        let keeps = |view: &Value| {
            let shown = check::settings(view).unwrap_or_default();
            owed.iter().all(|(place, value)| shown.get(place).is_none_or(|shown| shown == value))
        };
        let end = self.settle(&at, keeps).await;
        if self.flights.are_open() {
            self.flights.settings = self.settings_shown(&self.judge.settled(&at));
        }
        end
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
        let settings = self.settings_at(&self.judge.settled(&before));
        let differing = self.differing(&before, &after);
        let dims = differing == [BRIGHTNESS];
        if self.settling.is_confirmed(step.unchanged, differing.clone()) {
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
        let arrives = (self.settling.slowest() * 2).clamp(ARRIVES, LONGEST);
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
        let frame = self.framed(step, frame);
        if is_legal_with_own_id(outgoing, &frame) {
            // A legal id is used once in a session.
            return Exchange::Settled;
        }
        match self.exchange(&at, Role::Stimulus, frame, manner(step)).await {
            Exchange::Settled | Exchange::Ignored => {}
            other => return other,
        }
        let before = self.judge.settled(&before);
        match self.read_after(&before, &after, step.unchanged).await {
            Exchange::Settled => {}
            other => return other,
        }
        if self.differing(&before, &after) == differing {
            let kind = step.unchanged.map(|requirement| (requirement, differing));
            self.settling.confirmed.extend(kind);
        }
        // The steps that follow count on what earlier ones had set, not on what was caught on its way there.
        self.put_back(&left, &beside(&at, StepKind::Left)).await;
        Exchange::Settled
    }

    /// The settings that are different in two readings.
    fn differing(&self, before: &str, after: &str) -> Vec<String> {
        differing(
            &self.settings_at(&self.judge.settled(before)),
            &self.settings_at(&self.judge.settled(after)),
        )
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

    /// What a tool told there.
    fn told_at(&self, at: &str, reader: &str) -> Option<Value> {
        match reader {
            STATUS_TOOL => self.status_at(at),
            _ => self.judge.answer_view(at).filter(|view| view.get("result").is_some()),
        }
    }
}

/// What is compared of two readings: the settings in a status, all of anything else.
fn compared(reader: &str, view: &Value) -> Option<Value> {
    match reader {
        STATUS_TOOL => check::settings(view),
        _ => Some(json!({"/all": view.get("result")})),
    }
}

/// The settings that are different in two readings.
fn differing(before: &Option<Value>, after: &Option<Value>) -> Vec<String> {
    let told = |settings: &Option<Value>, name: &str| settings.as_ref()?.get(name).cloned();
    let all = [before, after].into_iter().flatten().filter_map(Value::as_object).flatten();
    let names: BTreeSet<&String> = all.map(|(name, _)| name).collect();
    names.into_iter().filter(|name| told(before, name) != told(after, name)).cloned().collect()
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
