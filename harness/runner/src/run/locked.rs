//! Settings that are locked: whether a tool that has refused to set something would set anything else at that moment.

use std::sync::Arc;

use mcp_hil_core::capability::{Facts, SET_VOLUME};
use mcp_hil_core::step::{StepKind, beside, message};
use mcp_hil_core::transcript::{Mark, Role};
use serde_json::{Map, Value, json};

use super::session::{Exchange, Manner, Session};

/// Settings that every scenario changes: the argument, the tool, where the status has it, and the capabilities that need
/// it.
const SETTINGS: [(&str, &str, &str, &[&str]); 3] = [
    ("volume", SET_VOLUME, "/audio_speaker/volume", &["volume", "mute"]),
    ("brightness", "self.screen.set_brightness", "/screen/brightness", &["brightness"]),
    ("theme", SET_THEME, "/screen/theme", &["theme"]),
];

const SET_THEME: &str = "self.screen.set_theme";
const THEMES: [&str; 2] = ["light", "dark"];

impl Session {
    /// Takes from the facts what cannot be set: each setting is set to what it is.
    pub(super) async fn find_what_is_locked(&mut self, facts: &mut Facts, status: &Value) {
        for (argument, tool, place, needed_by) in SETTINGS {
            let is_set = needed_by.iter().any(|name| facts.capabilities.contains(*name));
            let Some(value) = status.pointer(place).filter(|_| is_set) else {
                continue;
            };
            let at: Arc<str> = format!("set-{argument}").into();
            let params = json!({"name": tool, "arguments": {argument: value}});
            let frame = self.request_frame("tools/call", Some(&params));
            if self.exchange(&at, Role::Probe, frame, Manner::Plain).await != Exchange::Settled
                || self.ask_whether_locked(&at).await != Exchange::Settled
            {
                continue;
            }
            let reason = self.judge.reason_of_lock(&at);
            if argument == "theme"
                && reason.is_none()
                && let Some(reason) = self.reason_to_refuse_themes(&at).await
            {
                self.mark(&at, Mark::Locked { tool: tool.to_owned(), reason });
                continue;
            }
            if let Some(reason) = reason {
                self.mark(&at, Mark::Locked { tool: tool.to_owned(), reason });
                let stays = |name: &str| {
                    let first = name.split('.').next();
                    !needed_by.iter().any(|needs| first == Some(needs))
                };
                facts.capabilities.retain(|name| stays(name));
                facts.variables.retain(|name, _| stays(name));
            }
        }
    }

    /// Why the device refuses the theme that it shows, if it refuses those of stock firmware as well (device-protocol 7).
    async fn reason_to_refuse_themes(&mut self, at: &Arc<str>) -> Option<String> {
        let mut reason = self.reason_to_refuse(at)?;
        for (index, theme) in THEMES.iter().enumerate() {
            let at = message(at, index);
            let params = json!({"name": SET_THEME, "arguments": {"theme": theme}});
            let frame = self.request_frame("tools/call", Some(&params));
            self.exchange(&at, Role::Probe, frame, Manner::Plain).await;
            reason = self.reason_to_refuse(&at)?;
        }
        Some(reason)
    }

    /// What the call of a step was refused with.
    fn reason_to_refuse(&self, at: &str) -> Option<String> {
        let view = self.judge.answer_view(at).filter(|view| view["outcome"] == "refused")?;
        let message = view.pointer("/error/message").or(view.get("text"));
        Some(message.and_then(Value::as_str).unwrap_or("without a word").to_owned())
    }

    /// After a refusal with a reason, tells the tool what it has set before, or something else that its schema allows.
    pub(super) async fn ask_whether_locked(&mut self, at: &Arc<str>) -> Exchange {
        let Some(refused) = self.judge.refused_setting(at) else {
            return Exchange::Settled;
        };
        let tools = &self.device.tools;
        let tool = tools.iter().find(|listed| listed["name"] == *refused.tool);
        let other = || other_values(&tool?["inputSchema"]["properties"], &refused.arguments);
        let Some(arguments) = refused.set_before.clone().or_else(other) else {
            return Exchange::Settled;
        };
        let params = json!({"name": refused.tool, "arguments": arguments});
        let frame = self.request_frame("tools/call", Some(&params));
        let at = beside(at, StepKind::Other);
        self.exchange(&at, Role::Probe, frame, Manner::Plain).await
    }
}

/// The same arguments with another value of one of them, which its schema allows.
fn other_values(properties: &Value, arguments: &Map<String, Value>) -> Option<Map<String, Value>> {
    arguments.iter().find_map(|(name, value)| {
        let other = other_value(properties.get(name)?, value)?;
        let mut changed = arguments.clone();
        changed.insert(name.clone(), other);
        Some(changed)
    })
}

fn other_value(schema: &Value, value: &Value) -> Option<Value> {
    let listed = schema["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ends = ["minimum", "maximum"].map(|name| schema[name].clone());
    let turned = value.as_bool().map(|value| Value::Bool(!value));
    let others = listed.iter().cloned().chain(ends).chain(turned);
    others.into_iter().find(|other| !other.is_null() && other != value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::number(json!({"type": "integer", "minimum": 0, "maximum": 9}), json!(0), Some(json!(9)))]
    #[case::one_of(json!({"enum": ["a", "b"]}), json!("a"), Some(json!("b")))]
    #[case::switch(json!({"type": "boolean"}), json!(true), Some(json!(false)))]
    #[case::no_other(json!({"enum": ["a"]}), json!("a"), None)]
    #[case::text(json!({"type": "string"}), json!("a"), None)]
    fn another_value_is_one_that_the_schema_allows(
        #[case] schema: Value,
        #[case] value: Value,
        #[case] other: Option<Value>,
    ) {
        assert_eq!(other_value(&schema, &value), other);
    }
}
