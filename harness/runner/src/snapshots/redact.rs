//! What is taken out of answers before they are compared, by rules that stand in one file.

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use mcp_hil_bench::dut::{RedactionRule as Rule, SnapshotsFile};
use mcp_hil_record::error::UserError;

/// The rules for all devices.
const RULES: &str = include_str!("redactions.toml");

/// The rules in force.
#[derive(Debug, Clone)]
pub struct Redactions(Vec<Ready>);

#[derive(Debug, Clone)]
struct Ready {
    what: What,
    mark: String,
}

#[derive(Debug, Clone)]
enum What {
    At {
        pointer: String,
        as_in_request: bool,
    },
    Member {
        name: Regex,
        /// The same with its value, as JSON inside a text.
        inside: Regex,
        numbers: bool,
    },
    Text(Regex),
}

impl Redactions {
    /// The rules for a device: those for all, those that its file chooses, and its own.
    ///
    /// # Errors
    ///
    /// A pattern that is none, a rule that says nothing, or a name that no rule by choice has.
    pub fn of(file: &SnapshotsFile) -> Result<Self, UserError> {
        #[derive(Deserialize)]
        struct File {
            rule: Vec<Rule>,
        }
        let hint = "the rules are described in `harness/runner/src/snapshots/redactions.toml`";
        let File { rule: rules } = toml::from_str(RULES)
            .map_err(|error| UserError::usage(format!("the built-in rules: {error}"), hint))?;
        for name in &file.redact {
            let chosen = |rule: &&Rule| rule.by_choice;
            if !rules.iter().filter(chosen).any(|rule| rule.name == *name) {
                let known: Vec<_> = rules.iter().filter(chosen).map(|rule| &*rule.name).collect();
                let known = known.join("`, `");
                return Err(UserError::usage(
                    format!("`[snapshots] redact`: no optional rule `{name}`: expected `{known}`"),
                    hint,
                ));
            }
        }
        let in_force = rules
            .iter()
            .filter(|rule| !rule.by_choice || file.redact.contains(&rule.name))
            .chain(&file.rule);
        let ready = in_force.map(|rule| Ready::new(rule, hint));
        Ok(Self(ready.collect::<Result<_, _>>()?))
    }

    /// Takes out of a message what differs from run to run. `request` is what it answers; of a request, it
    /// is the message itself.
    pub fn redacted(&self, mut message: Value, request: &Value) -> Value {
        for rule in &self.0 {
            match &rule.what {
                What::At { pointer, as_in_request } => {
                    let asked = request.pointer(pointer);
                    let place = message.pointer_mut(pointer);
                    if let Some(place) =
                        place.filter(|place| !as_in_request || Some(&**place) == asked)
                    {
                        *place = Value::from(&*rule.mark);
                    }
                }
                _ => rule.clean(&mut message),
            }
        }
        message
    }
}

impl Ready {
    fn new(rule: &Rule, hint: &str) -> Result<Self, UserError> {
        let refuse = |why: String| {
            UserError::usage(format!("the redaction rule `{}`: {why}", rule.name), hint)
        };
        let pattern = |text: &str| {
            Regex::new(text)
                .map_err(|error| refuse(format!("`{text}` is not a valid pattern: {error}")))
        };
        let what = match (&rule.at, &rule.member, &rule.text) {
            (Some(pointer), None, None) => {
                What::At { pointer: pointer.clone(), as_in_request: rule.as_in_request }
            }
            (None, Some(name), None) => {
                let number = r"-?[0-9][0-9.eE+-]*";
                let value = match rule.numbers {
                    true => number.to_owned(),
                    false => format!(r#"(?:{number}|"(?:[^"\\]|\\.)*")"#),
                };
                What::Member {
                    name: pattern(&format!("^(?:{name})$"))?,
                    inside: pattern(&format!(r#"(?<before>"(?:{name})"\s*:\s*){value}"#))?,
                    numbers: rule.numbers,
                }
            }
            (None, None, Some(text)) => What::Text(pattern(text)?),
            _ => return Err(refuse("expected one of `at`, `member` and `text`".into())),
        };
        Ok(Self { what, mark: rule.mark.clone() })
    }

    fn clean(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let cleaned = match &self.what {
                    What::Text(pattern) => pattern.replace_all(text, &*self.mark),
                    What::Member { inside, .. } => {
                        let with = format!("${{before}}\"{}\"", self.mark);
                        inside.replace_all(text, &*with)
                    }
                    What::At { .. } => return,
                };
                let cleaned = cleaned.into_owned();
                *text = cleaned;
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean(item)),
            Value::Object(members) => {
                for (member, value) in members.iter_mut() {
                    match &self.what {
                        What::Member { name, numbers, .. }
                            if name.is_match(member)
                                && (value.is_number() || (value.is_string() && !numbers)) =>
                        {
                            *value = Value::from(&*self.mark);
                        }
                        _ => self.clean(value),
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cleaned(file: &str, message: Value) -> Value {
        let file: SnapshotsFile = toml::from_str(file).unwrap();
        let request = json!({"session_id": "s", "payload": {"id": 7}});
        Redactions::of(&file).unwrap().redacted(message, &request)
    }

    #[test]
    fn what_differs_from_run_to_run_is_replaced_wherever_it_stands() {
        let text = json!({"uptime_s": 12, "wifi": {"rssi": -60, "ssid": "x"}, "free_heap": 9});
        let told = format!("{text} at 2026-01-02T03:04:05Z from 12:34:56:78:9A:bc");
        let message = json!({"session_id": "s", "payload": {"id": 9, "uptime": 1.5, "text": told}});
        let expected = json!({"uptime_s": "[number]", "wifi": {"rssi": "[number]", "ssid": "x"},
            "free_heap": "[number]"});
        let expected = format!("{expected} at [time] from [mac]");
        assert_eq!(
            cleaned("", message),
            json!({"session_id": "[session]",
                "payload": {"id": "[id]", "uptime": "[number]", "text": expected}})
        );
    }

    #[test]
    fn what_is_meant_stays() {
        let message = json!({"session_id": "other", "payload": {"result": {
            "protocolVersion": "2024-11-05", "serverInfo": {"version": "2.4.1", "freeze": 3},
            "volume": 50, "free": "no", "text": "Unknown tool: 12-34"}}});
        assert_eq!(cleaned("", message.clone()), message);
    }

    #[test]
    fn a_device_chooses_rules_and_adds_its_own() {
        let file = r#"
            redact = ["version"]
            [[rule]]
            name = "serial"
            text = 'SN-\d+'
            mark = "[serial]"
        "#;
        let message = json!({"version": "1.2", "text": "SN-12 of SN-7"});
        let expected = json!({"version": "[version]", "text": "[serial] of [serial]"});
        assert_eq!(cleaned(file, message), expected);
    }

    #[test]
    fn a_rule_that_cannot_be_is_named() {
        for (file, text) in [
            ("redact = [\"versoin\"]", "`versoin`"),
            ("[[rule]]\nname = \"a\"\nmark = \"b\"\ntext = '('", "`a`"),
            ("[[rule]]\nname = \"a\"\nmark = \"b\"", "expected one of"),
        ] {
            let file: SnapshotsFile = toml::from_str(file).unwrap();
            let refusal = Redactions::of(&file).unwrap_err();
            assert!(refusal.to_string().contains(text), "{refusal}");
        }
    }
}
