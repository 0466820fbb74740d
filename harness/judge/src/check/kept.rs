//! What the settings are to be while nobody sets them: a model of level, mute and theme that follows the calls
//! that were accepted, and is compared with a reading at the end of each case.
//!
//! A setting is charged only when a reading has shown it, nothing that came after may have set it, and the
//! reading that differs stands still. What may have set it in a way that the documents leave open (a call
//! that is no legal request, a new connection, another tool) makes the model doubt until a reading agrees with
//! it again. The brightness is left out: boards dim their screen by themselves to save power.

use std::collections::VecDeque;

use mcp_hil_core::capability::{PHOTO_TOOL, STATUS_TOOL, is_setting, only_reads};
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::transcript::{Role, What};
use mcp_hil_core::wire::{Frame, as_integer};
use serde_json::{Map, Value};

use super::log::{CaseLog, Logged, Reply, settings, view};
use super::sink::{Sink, evidence};
use super::status::STILL;

/// The step of the reading at the end of a case.
pub const KEPT: &str = "status-kept";

/// For how long a setting may be on its way after a call that was carried out, in microseconds.
const MOVES_US: u64 = 4_000_000;

/// For how long a level that was set may still show before a later one, in microseconds: volumes take effect a few
/// times a second, and several calls may be waiting.
const ASKED_US: u64 = 10_000_000;

/// Places of the settings in a status reading.
const VOLUME: &str = "/audio_speaker/volume";
const MUTED: &str = "/audio_speaker/muted";
const THEME: &str = "/screen/theme";

/// What a message says that may set a setting by a way that only some devices know, and the setting.
const HINTS: [(&str, &[usize]); 4] =
    [("volume", &[0, 1]), ("mute", &[0, 1]), ("speaker", &[0, 1]), ("theme", &[2])];

/// Types of messages that may set anything (device-protocol 2.4; `iot` is what came before MCP).
const OTHER_WAYS: [&str; 3] = ["\"system\"", "\"custom\"", "\"iot\""];

/// Words in the names of tools that may set a setting by the way, and the setting.
const OTHERS: [(&[&str], usize); 3] = [(&SOUNDS, 0), (&SOUNDS, 1), (&LOOKS, 2)];
const SOUNDS: [&str; 8] =
    ["volume", "mute", "unmute", "audio", "speaker", "sound", "music", "voice"];
const LOOKS: [&str; 6] = ["theme", "screen", "display", "disp", "color", "style"];

/// Words of tools that may set anything.
const ANYTHING: [&str; 8] =
    ["mode", "scene", "profile", "preset", "reset", "factory", "restore", "system"];

/// What is known of one setting.
#[derive(Debug, Clone, Default)]
struct Setting {
    /// What it was set to, or what was shown.
    expected: Option<Value>,
    /// Whether a reading has shown it since.
    shown: bool,
    /// When it was last set to what nobody knows, in microseconds.
    stirred_us: Option<u64>,
    /// What it was set to, and when.
    asked: VecDeque<(u64, Value)>,
}

impl Setting {
    fn set(&mut self, value: Value, at_us: u64) {
        self.asked.retain(|(asked, _)| at_us.saturating_sub(*asked) <= ASKED_US);
        self.asked.push_back((at_us, value.clone()));
        (self.expected, self.shown) = (Some(value), false);
    }

    /// It was set, and nobody knows to what.
    fn stir(&mut self, at_us: u64) {
        (self.expected, self.shown, self.stirred_us) = (None, false, Some(at_us));
    }

    /// Whether it may still be on its way to what was once asked.
    fn moves(&self, at_us: u64) -> bool {
        let asked = self.asked.back().map(|(asked, _)| *asked);
        let since = self.stirred_us.max(asked);
        since.is_some_and(|since| at_us.saturating_sub(since) < MOVES_US)
    }

    /// What it has to be, where that can be charged.
    fn owed(&self) -> Option<&Value> {
        self.expected.as_ref().filter(|_| self.shown)
    }

    /// Takes what a reading has shown. Gives what it should have shown instead.
    fn read(&mut self, value: &Value, at_us: u64) -> Option<Value> {
        if self.expected.as_ref() == Some(value) {
            self.shown = true;
            return None;
        }
        let is_late = |(asked, late): &(u64, Value)| {
            late == value && at_us.saturating_sub(*asked) <= ASKED_US
        };
        let stirred = self.stirred_us.is_some_and(|at| at_us.saturating_sub(at) < MOVES_US);
        let broken = self.shown && !stirred && !self.asked.iter().any(is_late);
        let owed = self.expected.clone().filter(|_| broken);
        if broken || !self.moves(at_us) {
            (self.expected, self.shown) = (Some(value.clone()), true);
        } else {
            self.shown = false;
        }
        owed
    }
}

/// What the settings are to be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    /// Level, mute, theme.
    settings: [Setting; PLACES.len()],
}

const PLACES: [&str; 3] = [VOLUME, MUTED, THEME];

impl Kept {
    /// What a reading now has to show, by the place in the status.
    pub(crate) fn owed(&self, log: &CaseLog) -> Map<String, Value> {
        let mut after = self.clone();
        after.follow(log);
        let owed = PLACES.iter().zip(&after.settings);
        owed.filter_map(|(at, one)| Some(((*at).to_owned(), one.owed()?.clone()))).collect()
    }

    /// Ends a case: judges its last reading.
    pub(crate) fn end_case(&mut self, logs: (&CaseLog, Option<&CaseLog>), sink: &mut Sink) {
        let (log, first) = logs;
        first.into_iter().for_each(|first| self.follow(first));
        self.follow(log);
        if let Some((.., read)) = reading(log, STILL) {
            for (at, setting) in PLACES.iter().zip(&mut self.settings) {
                (setting.expected, setting.shown) = (read.get(*at).cloned(), true);
            }
        }
        let Some((seq, at_us, read)) = reading(log, KEPT) else {
            return;
        };
        let mut owed = Map::new();
        let mut judged = false;
        for (at, setting) in PLACES.iter().zip(&mut self.settings) {
            let Some(value) = read.get(*at) else {
                continue;
            };
            judged |= setting.owed().is_some();
            if let Some(expected) = setting.read(value, at_us) {
                owed.insert((*at).to_owned(), expected);
            }
        }
        if judged {
            sink.step = Some(KEPT.into());
            sink.test(Id::StatusKept, owed.is_empty(), || {
                let found: Map<String, Value> = owed
                    .keys()
                    .filter_map(|at| Some((at.clone(), read.get(at)?.clone())))
                    .collect();
                evidence(
                    format!(
                        "settings that nothing in this case sets: {}",
                        Value::Object(owed.clone())
                    ),
                    format!("{} at its end", Value::Object(found)),
                    seq,
                )
            });
            sink.step = None;
        }
    }

    /// Follows what was sent in a case, and what became of it.
    fn follow(&mut self, log: &CaseLog) {
        for logged in &log.entries {
            let at_us = logged.entry.at_us;
            match &logged.entry.what {
                What::Sent { role, frame } if *role != Role::Hello => {
                    self.sent(log, logged, frame, at_us);
                }
                // What survives that is not the model's to judge.
                What::LinkUp { .. } | What::LinkDown { .. } | What::Target { .. } => self.doubt(),
                _ => {}
            }
        }
    }

    fn doubt(&mut self) {
        self.settings.iter_mut().for_each(|setting| setting.shown = false);
    }

    fn sent(&mut self, log: &CaseLog, logged: &Logged, frame: &Frame, at_us: u64) {
        let Frame::Text(text) = frame else {
            return;
        };
        let lower = text.to_ascii_lowercase();
        let doubtful =
            ["self.", "tools/call", "\\u", "\\/"].iter().any(|part| lower.contains(part));
        if OTHER_WAYS.iter().any(|kind| lower.contains(kind)) {
            self.settings.iter_mut().for_each(|setting| setting.stir(at_us));
        } else if doubtful || HINTS.iter().any(|(hint, _)| lower.contains(hint)) {
            let duty = Duty::of(frame);
            match &duty.tool {
                Some(tool) if duty.owes == Owes::Answer => {
                    self.called(tool, text, log, (logged.entry.seq, at_us));
                }
                // A legal request of another kind sets nothing.
                _ if duty.owes == Owes::Answer => {}
                _ => self.hinted(text, &lower, at_us),
            }
        }
    }

    /// A message that names a tool and is no legal call: some devices take it for one.
    fn hinted(&mut self, text: &str, lower: &str, at_us: u64) {
        let plain = match serde_json::from_str::<Value>(text) {
            Ok(message) => message.to_string().to_lowercase(),
            // What a lenient parser makes of it, nobody knows.
            Err(_) if lower.contains("\\u") => {
                return self.settings.iter_mut().for_each(|setting| setting.stir(at_us));
            }
            Err(_) => lower.to_owned(),
        };
        for (_, places) in HINTS.iter().filter(|(hint, _)| plain.contains(hint)) {
            places.iter().for_each(|at| self.settings[*at].stir(at_us));
        }
        self.doubt();
    }

    /// A reading within a case: what it shows as it was set has arrived.
    fn confirmed(&mut self, read: &Value) {
        for (at, setting) in PLACES.iter().zip(&mut self.settings) {
            setting.shown |=
                setting.expected.is_some() && setting.expected.as_ref() == read.get(*at);
        }
    }

    /// A legal call.
    fn called(&mut self, tool: &str, text: &str, log: &CaseLog, (seq, at_us): (u64, u64)) {
        if tool == STATUS_TOOL {
            let shown = log.answer_to(seq).and_then(|view| settings(&Value::Object(view)));
            return self.confirmed(&shown.unwrap_or_default());
        }
        if only_reads(tool) || tool == PHOTO_TOOL {
            return;
        }
        let Some(answer) = log.answer_to(seq) else {
            // Whether it was carried out, and when, nobody knows.
            return self.settings.iter_mut().for_each(|setting| setting.stir(at_us));
        };
        if answer.get("outcome").is_some_and(|outcome| outcome == "refused") {
            return;
        }
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        let argument = |name: &str| message.pointer(&format!("/payload/params/arguments/{name}"));
        let [volume, muted, theme] = &mut self.settings;
        match tool {
            "self.audio_speaker.set_volume" => {
                let level = argument("volume").and_then(as_integer);
                match level {
                    Some(level) => volume.set(level.into(), at_us),
                    None => volume.stir(at_us),
                }
                // Level 0 may count as muted, and any other may end that.
                if level.is_none_or(|level| level == 0) || muted.expected != Some(false.into()) {
                    muted.stir(at_us);
                }
            }
            "self.audio_speaker.mute" | "self.audio_speaker.unmute" => {
                volume.stir(at_us);
                muted.set((tool == "self.audio_speaker.mute").into(), at_us);
            }
            "self.screen.set_theme" => match argument("theme") {
                Some(name) => theme.set(name.clone(), at_us),
                None => theme.stir(at_us),
            },
            "self.screen.set_brightness" => {}
            _ if tool.starts_with("self.audio_speaker.") => {
                volume.stir(at_us);
                muted.stir(at_us);
            }
            // A tool that only this device knows.
            _ => {
                let others = OTHERS.iter().filter(|(words, _)| !is_apart(tool, words));
                others.for_each(|(_, at)| self.settings[*at].stir(at_us));
            }
        }
    }
}

/// Whether a tool has nothing to do with a setting, judged by its name: it sets or switches something else.
fn is_apart(tool: &str, words: &[&str]) -> bool {
    let mut own = tool.split(['.', '_']);
    is_setting(tool) && !own.any(|word| words.contains(&word) || ANYTHING.contains(&word))
}

/// The settings that the device showed at a step, once they stood still, with place and time of the answer.
fn reading(log: &CaseLog, step: &str) -> Option<(u64, u64, Map<String, Value>)> {
    match log.reply(&log.settled(step)) {
        Reply::Answer(answer, payload) => match settings(&Value::Object(view(payload)))? {
            Value::Object(read) => Some((answer.entry.seq, answer.entry.at_us, read)),
            _ => None,
        },
        _ => None,
    }
}
