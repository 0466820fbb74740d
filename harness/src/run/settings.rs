//! The settings of a device that generated inputs may change, and which calls change anything.

use std::sync::Arc;

use mcp_hil_core::capability::{Permission, STATUS_TOOL};
use mcp_hil_core::scenario::{Action, Case, Outgoing, Step};
use mcp_hil_core::transcript::Role;
use serde_json::{Value, json};

use super::session::{Exchange, Manner, Session};

const VOLUME: &str = "/audio_speaker/volume";
const MUTED: &str = "/audio_speaker/muted";
const BRIGHTNESS: &str = "/screen/brightness";
const THEME: &str = "/screen/theme";

/// Settings as the status told them: pointer and value, of those that can be put back.
#[derive(Debug, Default)]
pub(super) struct Settings(Vec<(&'static str, Value)>);

impl Session {
    /// Reads the settings that can be put back.
    pub(super) async fn settings(&mut self, permission: &Permission) -> Settings {
        let has = |capability: &str| self.facts.capabilities.contains(capability);
        let theme = "self.screen.set_theme";
        let listed = self.facts.tools.iter().any(|tool| tool == theme);
        let settable = [
            // Who is muted may be told a level without being heard: the level comes first.
            (VOLUME, has("volume")),
            (MUTED, has("mute")),
            (BRIGHTNESS, has("brightness")),
            (THEME, listed && permission.allows(theme)),
        ];
        let settable = settable.into_iter().filter(|(_, can)| *can);
        let settable: Vec<&'static str> = settable.map(|(pointer, _)| pointer).collect();
        let status = self.read("settings").await;
        let value = |pointer| Some((pointer, status.as_ref()?.pointer(pointer)?.clone()));
        Settings(settable.into_iter().filter_map(value).collect())
    }

    /// Puts back what has changed. Returns how many calls that took.
    pub(super) async fn put_back(&mut self, saved: &Settings) -> u64 {
        let mut calls = 0;
        if saved.0.is_empty() {
            return calls;
        }
        let Some(status) = self.read("settings").await else {
            return calls;
        };
        // Both are of one knob on some devices: they are put back together.
        let heard = |pointer: &str| [VOLUME, MUTED].contains(&pointer);
        let differs = |(pointer, value): &&(&str, Value)| status.pointer(pointer) != Some(value);
        let changed: Vec<&str> = saved.0.iter().filter(differs).map(|(at, _)| *at).collect();
        for (pointer, value) in &saved.0 {
            let other = heard(pointer) && changed.iter().any(|changed| heard(changed));
            if !other && !changed.contains(pointer) {
                continue;
            }
            let (tool, arguments) = match *pointer {
                VOLUME => ("self.audio_speaker.set_volume", json!({"volume": value})),
                MUTED if *value == json!(true) => ("self.audio_speaker.mute", json!({})),
                MUTED => ("self.audio_speaker.unmute", json!({})),
                BRIGHTNESS => ("self.screen.set_brightness", json!({"brightness": value})),
                _ => ("self.screen.set_theme", json!({"theme": value})),
            };
            let params = json!({"name": tool, "arguments": arguments});
            let frame = self.request_frame("tools/call", Some(&params));
            let at: Arc<str> = format!("settings{}", pointer.replace('/', ".")).into();
            let end = self.exchange(&at, Role::Probe, frame, Manner::Plain).await;
            calls += 1;
            if !matches!(end, Exchange::Settled | Exchange::Ignored) {
                break;
            }
        }
        calls
    }

    /// What the status tells; nothing from a device that does not tell.
    async fn read(&mut self, at: &str) -> Option<Value> {
        if !self.facts.capabilities.contains("status") {
            return None;
        }
        let at: Arc<str> = at.into();
        self.status(&at, Role::Probe).await;
        self.judge.answer_view(&at)?.get("json").cloned()
    }
}

/// How many calls of a case may have an effect: all but those that only read. What is no good call
/// is counted like one, because a defective device may take it for one.
pub(super) fn effects(case: &Case) -> u64 {
    case.flatten()
        .iter()
        .map(|flat| match &flat.step.action {
            Action::Burst(steps) | Action::Drop { after: steps } => steps.iter().map(of_step).sum(),
            _ => of_step(flat.step),
        })
        .sum()
}

fn of_step(step: &Step) -> u64 {
    let Action::Send(outgoing) = &step.action else {
        return 0;
    };
    let may = match outgoing {
        Outgoing::Request { method, params, .. } => {
            let tool = params.as_ref().and_then(|params| params.get("name"));
            method == "tools/call" && !tool.and_then(Value::as_str).is_some_and(only_reads)
        }
        Outgoing::Payload(value) | Outgoing::Envelope(value) => value.to_string().contains("tools"),
        // In a text the method may be spelled with escapes.
        Outgoing::PayloadText(text) | Outgoing::Text(text) => {
            text.contains("tools") || text.contains("\\u")
        }
        Outgoing::Status | Outgoing::Notify { .. } | Outgoing::Binary(_) | Outgoing::Ping => false,
    };
    u64::from(may)
}

fn only_reads(tool: &str) -> bool {
    let short = tool.rsplit('.').next().unwrap_or(tool);
    tool == STATUS_TOOL || short.starts_with("get_")
}
