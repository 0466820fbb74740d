//! The settings of a device that a run may change, and which calls change anything.

use std::sync::Arc;

use mcp_hil_core::capability::{Permission, only_reads};
use mcp_hil_core::obligation::Duty;
use mcp_hil_core::transcript::Role;
use mcp_hil_scenario::{Action, Case, Outgoing, Step};
use serde_json::{Value, json};

use super::session::{Exchange, Manner, Session};

const VOLUME: &str = "/audio_speaker/volume";
const MUTED: &str = "/audio_speaker/muted";

/// Names of one thing: tools take one, the status another.
const LIGHTS: [&str; 4] = ["light", "led", "lamp", "led_strip"];

/// A setting: what the status tells of it, and the calls that make it so again.
#[derive(Debug, Clone, PartialEq)]
struct Setting {
    told: Vec<(String, Value)>,
    calls: Vec<(String, Value)>,
}

/// Settings as the status told them, of those that can be put back.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings(Vec<Setting>);

impl Settings {
    /// The calls that make each of them what it is: a tool and its arguments.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&str, &Value)> {
        let calls = self.0.iter().flat_map(|setting| &setting.calls);
        calls.map(|(tool, arguments)| (tool.as_str(), arguments))
    }

    /// Whether one of them, by its place in the status, can be put back.
    pub(super) fn restores(&self, place: &str) -> bool {
        self.0.iter().flat_map(|setting| &setting.told).any(|(told, _)| told == place)
    }
}

impl Session {
    /// Reads the settings that can be put back.
    pub(super) async fn settings(&mut self, permission: &Permission) -> Settings {
        let status = self.read_status("settings").await;
        self.settings_in(status.as_ref(), permission)
    }

    /// The settings that a status tells and that can be put back.
    pub(super) fn settings_in(&self, status: Option<&Value>, permission: &Permission) -> Settings {
        let Some(status) = status else {
            return Settings::default();
        };
        let has = |capability: &str| self.device.facts.capabilities.contains(capability);
        let speaker = speaker(status, has("volume"), has("mute"));
        let others = settable(status, &self.device.tools, permission);
        Settings(speaker.into_iter().chain(others).collect())
    }

    /// Puts back what has changed. Returns how many calls that took.
    /// The reading is taken at the step `at`.
    pub(super) async fn put_back(&mut self, saved: &Settings, at: &str) -> u64 {
        let mut calls = 0;
        if saved.0.is_empty() {
            return calls;
        }
        let Some(status) = self.read_status(at).await else {
            return calls;
        };
        let differs = |(at, value): &(String, Value)| status.pointer(at) != Some(value);
        let changed = saved.0.iter().filter(|one| one.told.iter().any(differs));
        let changed: Vec<_> = changed.flat_map(|setting| &setting.calls).collect();
        if self.called_together(at, &changed).await {
            return changed.len() as u64;
        }
        for (tool, arguments) in changed {
            let params = json!({"name": tool, "arguments": arguments});
            let frame = self.request_frame("tools/call", Some(&params));
            let at: Arc<str> = format!("{at}.{tool}").into();
            let end = self.exchange(&at, Role::Probe, frame, Manner::Plain).await;
            calls += 1;
            if !matches!(end, Exchange::Settled | Exchange::Ignored) {
                break;
            }
        }
        calls
    }

    /// Makes several calls in flight together, with a device that takes them so. Gives whether all of them were carried
    /// out.
    async fn called_together(&mut self, at: &str, calls: &[&(String, Value)]) -> bool {
        if calls.len() < 2 || calls.len() > self.flights.width() || self.settling.takes_time() {
            return false;
        }
        let (mut frames, mut places) = (Vec::new(), Vec::new());
        for (tool, arguments) in calls {
            let params = json!({"name": tool, "arguments": arguments});
            let at: Arc<str> = format!("{at}.both.{tool}").into();
            let frame = self.request_frame("tools/call", Some(&params));
            places.push((at.clone(), Duty::of(&frame)));
            frames.push((at, frame));
        }
        let order = self.sent_in_flight(frames).await;
        for (at, duty) in &places {
            self.may_have_stirred(at, duty);
        }
        let is_done = |(at, _): &(Arc<str>, Duty)| {
            let view = self.judge.answer_view(at);
            view.is_some_and(|view| view.get("outcome") == Some(&"done".into()))
        };
        order.is_some_and(|order| order.is_sorted()) && places.iter().all(is_done)
    }

    /// What the status tells; nothing from a device that does not tell.
    async fn read_status(&mut self, at: &str) -> Option<Value> {
        if !self.device.facts.capabilities.contains("status") {
            return None;
        }
        let at: Arc<str> = at.into();
        self.wait_until_still(&at).await;
        self.status(&at, Role::Probe).await;
        self.judge.answer_view(&at)?.get("json").cloned()
    }
}

/// The level and whether it is muted: one knob on some devices, and put back together. Who is muted may
/// be told a level without being heard: the level comes first.
fn speaker(status: &Value, level: bool, mute: bool) -> Option<Setting> {
    let mut setting = Setting { told: Vec::new(), calls: Vec::new() };
    if let Some(value) = status.pointer(VOLUME).filter(|_| level) {
        let tool = "self.audio_speaker.set_volume".to_owned();
        setting.told.push((VOLUME.to_owned(), value.clone()));
        setting.calls.push((tool, json!({"volume": value})));
    }
    if let Some(value) = status.pointer(MUTED).filter(|_| mute) {
        let tool = match *value == json!(true) {
            true => "self.audio_speaker.mute",
            false => "self.audio_speaker.unmute",
        };
        setting.told.push((MUTED.to_owned(), value.clone()));
        setting.calls.push((tool.to_owned(), json!({})));
    }
    (!setting.calls.is_empty()).then_some(setting)
}

/// What else can be put back: brightness, theme, light, and whatever there is a `self.<part>.set_<what>`
/// for, or a `turn_on` with a `turn_off`, and the status tells the values of.
fn settable(status: &Value, tools: &[Value], permission: &Permission) -> Vec<Setting> {
    let allowed = |name: &str| {
        let listed = tools.iter().any(|tool| tool["name"] == name);
        listed && permission.allows(name)
    };
    let (mut settings, mut switches) = (Vec::new(), Vec::new());
    for tool in tools {
        let name = tool["name"].as_str().unwrap_or_default();
        let words: Vec<&str> = name.split('.').collect();
        let (["self", part, verb], true) = (&words[..], allowed(name)) else {
            continue;
        };
        let names = match LIGHTS.contains(part) {
            true => &LIGHTS[..],
            false => &[*part],
        };
        let told = names.iter().find(|name| status[**name].is_object());
        let Some(told) = told.filter(|_| *part != "audio_speaker") else {
            continue;
        };
        let value =
            |what: &str| Some((format!("/{told}/{what}"), status[*told].get(what)?.clone()));
        if let Some(what) = verb.strip_prefix("set_") {
            let arguments = tool.pointer("/inputSchema/properties");
            let names: Vec<&String> = arguments
                .and_then(Value::as_object)
                .map_or_else(Vec::new, |all| all.keys().collect());
            let of =
                |name: &&String| value(name).or_else(|| value(what).filter(|_| names.len() == 1));
            let all: Option<Vec<(String, Value)>> = names.iter().map(of).collect();
            if let Some(told) = all.filter(|all| !all.is_empty()) {
                let values = told.iter().map(|(_, value)| value.clone());
                let arguments = names.into_iter().cloned().zip(values).collect();
                settings.push(Setting {
                    told,
                    calls: vec![(name.to_owned(), Value::Object(arguments))],
                });
            }
        } else if let ("turn_on", Some((at, on))) = (*verb, value("on")) {
            let off = format!("self.{part}.turn_off");
            let tool = match on == json!(true) {
                true => name.to_owned(),
                false => off.clone(),
            };
            if allowed(&off) {
                switches.push(Setting { told: vec![(at, on)], calls: vec![(tool, json!({}))] });
            }
        }
    }
    // Who gets another colour may go on.
    settings.extend(switches);
    settings
}

/// How many messages of a case may have an effect: all calls but those that only read, and each command
/// to restart. What is no good call is counted like one, because a defective device may take it for one.
pub(super) fn effects(case: &Case) -> u64 {
    case.flatten()
        .iter()
        .map(|flat| match &flat.step.action {
            Action::Burst(steps) | Action::Disconnect { after: steps, .. } => {
                steps.iter().map(of_step).sum()
            }
            _ => of_step(flat.step),
        })
        .sum()
}

fn of_step(step: &Step) -> u64 {
    let outgoing = match &step.action {
        Action::Send(outgoing) => outgoing,
        Action::Reboot => return 1,
        _ => return 0,
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
        Outgoing::Status
        | Outgoing::Notify { .. }
        | Outgoing::TextBytes(_)
        | Outgoing::Binary(_)
        | Outgoing::Ping(_)
        | Outgoing::Pong(_) => false,
    };
    u64::from(may)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::capability::Trust;

    fn tool(name: &str, arguments: &[&str]) -> Value {
        let properties: serde_json::Map<_, _> =
            arguments.iter().map(|name| ((*name).to_owned(), json!({"type": "integer"}))).collect();
        json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
    }

    #[test]
    fn what_the_status_tells_is_put_back_by_the_tools_that_set_it() {
        let status = json!({
            "audio_speaker": {"volume": 70, "muted": false},
            "screen": {"brightness": 75, "theme": "dark", "auto_rotate": true},
            "light": {"on": false, "red": 1, "green": 2, "blue": 3},
            "battery": {"level": 80},
        });
        let tools = [
            tool("self.audio_speaker.set_volume", &["volume"]),
            tool("self.led.turn_on", &[]),
            tool("self.led.turn_off", &[]),
            tool("self.led.set_color", &["red", "green", "blue"]),
            tool("self.led.set_secret", &["red"]),
            tool("self.screen.set_brightness", &["brightness"]),
            tool("self.screen.set_theme", &["theme"]),
            tool("self.screen.set_auto_rotate", &["enabled"]),
            tool("self.screen.set_window", &["left", "brightness"]),
            tool("self.fan.set_speed", &["speed"]),
        ];
        let permission = Permission {
            trust: Trust::Simulated,
            allow: vec!["self.led.turn_on".into(), "self.led.turn_off".into()],
            deny: vec!["self.led.set_secret".into()],
        };
        let calls = |settings: Vec<Setting>| -> Vec<(String, Value)> {
            settings.into_iter().flat_map(|one| one.calls).collect()
        };
        let expected = [
            ("self.led.set_color", json!({"red": 1, "green": 2, "blue": 3})),
            ("self.screen.set_brightness", json!({"brightness": 75})),
            ("self.screen.set_theme", json!({"theme": "dark"})),
            ("self.screen.set_auto_rotate", json!({"enabled": true})),
            ("self.led.turn_off", json!({})),
        ];
        assert_eq!(
            calls(settable(&status, &tools, &permission)),
            expected.map(|(tool, arguments)| (tool.to_owned(), arguments))
        );
        let both = speaker(&status, true, true);
        assert_eq!(
            calls(Vec::from_iter(both)),
            [
                ("self.audio_speaker.set_volume".to_owned(), json!({"volume": 70})),
                ("self.audio_speaker.unmute".to_owned(), json!({})),
            ]
        );
        assert_eq!(speaker(&status, false, false), None);
        assert_eq!(settable(&json!({}), &tools, &permission), []);
    }
}
