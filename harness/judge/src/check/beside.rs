//! The brightness of the screen, which stays while the volume is set.
//!
//! Screens dim by themselves, backlights fade, and some follow the light of the room. So a change counts only where a
//! reading has shown the brightness that was asked for, directly behind it the volume was set, and two readings agree on
//! another brightness; where that comes again; and where the brightness stays while nothing is set.

use mcp_hil_core::capability::{STATUS_TOOL, only_reads};
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::transcript::{Role, What};
use mcp_hil_core::wire::{Frame, as_integer};
use serde_json::Value;

use super::log::{CaseLog, Logged, settings};
use super::sink::{Sink, evidence};

const SET_VOLUME: &str = "self.audio_speaker.set_volume";
const SET_BRIGHTNESS: &str = "self.screen.set_brightness";
const BRIGHTNESS: &str = "/screen/brightness";

/// How often it has to come before it is no accident.
const TIMES: usize = 2;

/// What a message has done.
enum Done {
    /// It set the brightness.
    Dimmed(i64),
    /// It set the volume.
    Volume,
    /// It showed the brightness.
    Shown(i64),
    /// It may have set anything.
    Other,
}

/// Where in a round the readings are.
#[derive(Clone, Copy)]
enum Round {
    /// Nothing is known of the brightness.
    Unknown,
    /// It was set to this level, which a reading may have shown since.
    Set { asked: i64, shown: bool },
    /// Then the volume was set, and a reading may have shown another brightness.
    Louder { asked: i64, after: Option<(i64, u64)> },
}

/// Judges the rounds of a case: the brightness is set and read, the volume is set, the brightness is read twice.
pub(super) fn judge(log: &CaseLog, sink: &mut Sink) {
    let (mut round, mut rounds, mut moved) = (Round::Unknown, 0, Vec::new());
    let mut answered_at = 0;
    for logged in &log.entries {
        let Some(done) = done(log, logged) else { continue };
        let seq = logged.entry.seq;
        // What was under way together may have been done in any order.
        let alone = answered_at < seq;
        answered_at = log.answered_at(seq).unwrap_or(u64::MAX);
        round = match (done, round) {
            _ if !alone => Round::Unknown,
            (Done::Dimmed(asked), _) => Round::Set { asked, shown: false },
            (Done::Shown(level), Round::Set { asked, shown }) => {
                if shown && level != asked {
                    return;
                }
                Round::Set { asked, shown: level == asked }
            }
            (Done::Volume, Round::Set { asked, shown: true }) => {
                Round::Louder { asked, after: None }
            }
            (Done::Shown(level), Round::Louder { asked, after: None }) => {
                Round::Louder { asked, after: Some((level, answered_at)) }
            }
            (Done::Shown(level), Round::Louder { asked, after: Some((before, at)) }) => {
                rounds += 1;
                if level == before && level != asked {
                    moved.push((asked, level, at));
                }
                Round::Unknown
            }
            _ => Round::Unknown,
        };
    }
    let holds = moved.len() < TIMES;
    if rounds >= TIMES {
        sink.test(Id::VolumeAlone, holds, || {
            let (asked, level, seq) = moved[TIMES - 1];
            let expected = format!("brightness {asked}, as it was set before the volume was");
            evidence(expected, format!("brightness {level} behind set_volume, and so before"), seq)
        });
    }
}

/// What a message of the harness has done; `None` for what does nothing.
fn done(log: &CaseLog, logged: &Logged) -> Option<Done> {
    let frame = match &logged.entry.what {
        What::Sent { role, frame } if *role != Role::Hello => frame,
        What::LinkUp { .. } | What::Target { .. } => return Some(Done::Other),
        _ => return None,
    };
    let duty = Duty::of(frame);
    if duty.owes != Owes::Answer {
        return Some(Done::Other);
    }
    let tool = duty.tool.as_deref()?;
    let answer = log.answer_to(logged.entry.seq).unwrap_or_default();
    let is_done = answer.get("outcome").is_some_and(|outcome| outcome == "done");
    if tool == STATUS_TOOL {
        let shown = settings(&Value::Object(answer));
        let level = shown.and_then(|shown| as_integer(shown.get(BRIGHTNESS)?));
        return Some(level.map_or(Done::Other, Done::Shown));
    }
    if only_reads(tool) {
        return None;
    }
    let Frame::Text(text) = frame else { return Some(Done::Other) };
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    let level = message.pointer("/payload/params/arguments/brightness").and_then(as_integer);
    Some(match (tool, level) {
        (SET_BRIGHTNESS, Some(level)) if is_done => Done::Dimmed(level),
        (SET_VOLUME, _) if is_done => Done::Volume,
        _ => Done::Other,
    })
}
