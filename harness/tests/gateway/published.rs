//! A gateway as a document has it.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_gateway::suite::conversation::{Bench, Heard};
use serde_json::{Value, json};

use super::mutants::without;
use super::try_out;

/// The gateway of the volume workflow document as it is published, in its own reading of JSON:
/// what is 0 or empty counts as absent, look-ups find built-in properties, and answers go nowhere.
#[derive(Default)]
struct Published {
    coming: VecDeque<Heard>,
}

/// Whether JavaScript takes a value for true.
fn truthy(value: &&Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

impl Published {
    /// Its milliseconds stand still: controls that follow each other closely see the same.
    const NOW: u64 = 1_758_893_424_665;

    fn convert(control: &Value) -> Option<Value> {
        let first = |names: &[&str]| names.iter().map(|name| &control[name]).find(truthy);
        let (function, arguments) = match control["type"].as_str()? {
            "function_call" => {
                let call = &control["function_call"];
                Some(&call["name"]).filter(truthy)?;
                (call["name"].clone(), call["arguments"].clone())
            }
            "device_control" => match first(&["action", "command"])?.as_str()? {
                "set_volume" => {
                    let volume = first(&["volume", "value"]);
                    let arguments = volume.map(|volume| json!({"volume": volume}));
                    ("self_set_volume".into(), arguments.unwrap_or_else(|| json!({})))
                }
                name @ ("volume_up" | "volume_down") => {
                    let step = first(&["step", "value"]).cloned().unwrap_or(10.into());
                    (format!("self_{name}").into(), json!({"step": step}))
                }
                name @ ("get_volume" | "mute" | "unmute") => {
                    (format!("self_{name}").into(), json!({}))
                }
                // A property of every object; JSON leaves functions out.
                "toString" | "constructor" | "hasOwnProperty" => (Value::Null, json!({})),
                "__proto__" => (json!({}), json!({})),
                _ => return None,
            },
            _ => return None,
        };
        let tool = match function.as_str() {
            Some("self_set_volume") => "self.audio_speaker.set_volume".into(),
            Some("self_get_volume") => "self.get_device_status".into(),
            Some(name @ ("self_volume_up" | "self_volume_down" | "self_mute" | "self_unmute")) => {
                name.replace("self_", "self.audio_speaker.").into()
            }
            Some("constructor") => Value::Null,
            _ => function,
        };
        let id = match first(&["request_id"]) {
            None => Self::NOW.into(),
            Some(Value::String(text)) => {
                let digits = text.replacen("req_", "", 1);
                let end = digits.find(|c: char| !c.is_ascii_digit());
                let number = digits[..end.unwrap_or(digits.len())].parse::<u64>();
                number.map_or(Value::Null, Value::from)
            }
            // Texts only have a `replace`.
            Some(_) => return None,
        };
        let mut params = json!({"name": tool, "arguments": arguments});
        // What is undefined is left out.
        for name in ["name", "arguments"] {
            if params[name].is_null() {
                params = without(params, name);
            }
        }
        Some(outbound::request(&id, "tools/call", Some(&params)))
    }
}

impl Bench for Published {
    async fn control(&mut self, text: &str) -> Result<(), String> {
        let control = serde_json::from_str::<Value>(text).unwrap_or_default();
        if let Some(payload) = Self::convert(&control) {
            let text = outbound::envelope("s", &payload.to_string());
            self.coming.push_back(Heard::Device(Frame::Text(text)));
        }
        Ok(())
    }

    async fn device(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }

    async fn next(&mut self) -> Heard {
        match self.coming.pop_front() {
            Some(came) => came,
            None => std::future::pending().await,
        }
    }

    async fn again(&mut self, _: Duration) -> Result<(), String> {
        Err("it does not come back".into())
    }

    async fn close(&mut self) {}
}

#[test]
fn the_published_gateway_is_found_out() {
    let cases = try_out("published", Published::default(), &[]);
    let broken: BTreeSet<&str> = cases
        .iter()
        .flat_map(|case| &case.findings)
        .map(|finding| finding.requirement.as_str())
        .collect();
    let known = [
        "gateway.answer-returned",
        "gateway.call-shape",
        "gateway.function-forwarded",
        "gateway.function-name",
        "gateway.id-31-bit",
        "gateway.id-numeric",
        "gateway.id-unique",
        "gateway.prototype-words",
        "gateway.zero-kept",
    ];
    assert_eq!(broken, BTreeSet::from(known));
    // What it does as the document says is not held against it.
    for row in ["drop-unknown-action", "default-step-up", "alias-command"] {
        let case = cases.iter().find(|case| case.case == format!("gateway/{row}"));
        assert!(case.is_some_and(|case| case.findings.is_empty()), "{case:#?}");
    }
}
