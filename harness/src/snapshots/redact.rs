//! What is taken out of answers before they are compared, by rules that stand in one file.

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use crate::plan::Refusal;

/// The rules for all devices.
const RULES: &str = include_str!("redactions.toml");

/// What a device's file says about its snapshots.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotsFile {
    /// The family: where the device has no reviewed answer of its own, that of this folder counts.
    pub family: Option<String>,
    /// Rules by choice that are in force for this device.
    #[serde(default)]
    pub redact: Vec<String>,
    /// Rules of its own.
    #[serde(default)]
    pub rule: Vec<Rule>,
}

/// A rule, as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// What takes the place; `$1` is what the first group of the pattern matched.
    pub mark: String,
    /// A place in the message.
    pub at: Option<String>,
    /// A member name, as a pattern.
    pub member: Option<String>,
    /// A pattern for texts.
    pub text: Option<String>,
    /// Only where the answer says the same as its request.
    #[serde(default)]
    pub as_in_request: bool,
    /// Only numbers.
    #[serde(default)]
    pub numbers: bool,
    /// Only in force where a device's file names it.
    #[serde(default)]
    pub by_choice: bool,
}

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
    pub fn of(file: &SnapshotsFile) -> Result<Self, Refusal> {
        #[derive(Deserialize)]
        struct File {
            rule: Vec<Rule>,
        }
        let hint = "the rules are described in `harness/src/snapshots/redactions.toml`";
        let File { rule: rules } = toml::from_str(RULES)
            .map_err(|error| Refusal::usage(format!("the built-in rules: {error}"), hint))?;
        for name in &file.redact {
            let chosen = |rule: &&Rule| rule.by_choice;
            if !rules.iter().filter(chosen).any(|rule| rule.name == *name) {
                let known: Vec<_> = rules
                    .iter()
                    .filter(chosen)
                    .map(|rule| &*rule.name)
                    .collect();
                let known = known.join("`, `");
                return Err(Refusal::usage(
                    format!("`[snapshots] redact`: no rule by choice `{name}`: expected `{known}`"),
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
                What::At {
                    pointer,
                    as_in_request,
                } => {
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
    fn new(rule: &Rule, hint: &str) -> Result<Self, Refusal> {
        let refuse = |why: String| {
            Refusal::usage(format!("the redaction rule `{}`: {why}", rule.name), hint)
        };
        let pattern = |text: &str| {
            Regex::new(text).map_err(|error| refuse(format!("`{text}` is no pattern: {error}")))
        };
        let what = match (&rule.at, &rule.member, &rule.text) {
            (Some(pointer), None, None) => What::At {
                pointer: pointer.clone(),
                as_in_request: rule.as_in_request,
            },
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
        Ok(Self {
            what,
            mark: rule.mark.clone(),
        })
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
            assert!(refusal.text.contains(text), "{refusal}");
        }
    }
}
