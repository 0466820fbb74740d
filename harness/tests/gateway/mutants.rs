//! Defects around our own gateway: on the control before it reads it, on the call before the device gets it, on the
//! answer before the caller gets it.

use mcp_hil_core::gateway::CALLERS_BELOW;
use serde_json::{Value, json};

/// The level of the good control of the table.
pub(super) const FENCE_LEVEL: i64 = 41;

/// A gateway with a defect.
pub(super) struct Mutant {
    pub(super) name: &'static str,
    /// Case and requirement that catch it.
    pub(super) kills: &'static [(&'static str, &'static str)],
    pub(super) defect: Defect,
}

/// Where the defect is.
pub(super) enum Defect {
    /// None.
    No,
    /// What it reads instead of a control; `None` reads nothing.
    Control(fn(Value) -> Option<Value>),
    /// What it sends instead of a call.
    Call(fn(Value) -> Vec<Value>),
    /// What it answers instead of an answer; `None` answers nothing.
    Reply(fn(Value) -> Option<Value>),
    /// It sends calls without an envelope.
    Bare,
    /// It ends at what is no JSON.
    Dies,
    /// It answers callers without end once it was sent what is no JSON.
    Floods,
}

fn action(control: &Value) -> &str {
    control["action"].as_str().unwrap_or_default()
}

/// Whether a call is that of the good control: without it nothing could be judged.
pub(super) fn is_fence(call: &Value) -> bool {
    call["params"]["arguments"]["volume"] == FENCE_LEVEL
}

/// Another id for calls whose request id gave none.
fn own_id(mut call: Value, change: impl FnOnce(u64) -> Value) -> Vec<Value> {
    if let Some(id) = call["id"].as_u64().filter(|id| *id >= CALLERS_BELOW) {
        call["id"] = change(id - CALLERS_BELOW);
    }
    vec![call]
}

pub(super) fn without(mut value: Value, name: &str) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.remove(name);
    }
    value
}

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "zero-lost",
        kills: &[
            ("zero-volume", "gateway.zero-kept"),
            ("zero-volume-beside-value", "gateway.zero-kept"),
            ("zero-function", "gateway.zero-kept"),
        ],
        defect: Defect::Call(|mut call| {
            if call["params"]["arguments"]["volume"] == 0 {
                call["params"]["arguments"] = json!({});
            }
            vec![call]
        }),
    },
    Mutant {
        name: "value-zero-lost",
        kills: &[("zero-volume-alias", "gateway.zero-kept")],
        defect: Defect::Control(|control| {
            let zero = control["value"] == 0;
            Some(if zero { without(control, "value") } else { control })
        }),
    },
    Mutant {
        name: "step-zero-is-ten",
        kills: &[("zero-step-up", "gateway.zero-kept"), ("zero-step-down", "gateway.zero-kept")],
        defect: Defect::Call(|mut call| {
            if call["params"]["arguments"]["step"] == 0 {
                call["params"]["arguments"]["step"] = 10.into();
            }
            vec![call]
        }),
    },
    Mutant {
        name: "id-null",
        kills: &[("id-not-numeric", "gateway.id-numeric")],
        defect: Defect::Call(|call| own_id(call, |_| Value::Null)),
    },
    Mutant {
        name: "id-text",
        kills: &[("id-not-numeric", "gateway.id-numeric")],
        defect: Defect::Call(|call| own_id(call, |id| id.to_string().into())),
    },
    Mutant {
        name: "id-thirteen-digits",
        kills: &[("id-thirteen-digits", "gateway.id-31-bit")],
        defect: Defect::Call(|call| own_id(call, |id| (1_758_893_424_665 + id).into())),
    },
    Mutant {
        name: "id-repeated",
        kills: &[
            ("id-repeated", "gateway.id-unique"),
            ("id-burst-of-defaults", "gateway.id-unique"),
        ],
        defect: Defect::Call(|call| own_id(call, |_| 7.into())),
    },
    Mutant {
        name: "id-counted",
        kills: &[("id-from-request", "gateway.id-from-request")],
        defect: Defect::Call(|mut call| {
            call["id"] = (call["id"].as_u64().unwrap_or_default() + 1_000_000).into();
            vec![call]
        }),
    },
    Mutant {
        name: "answers-lost",
        kills: &[
            ("answer-result", "gateway.answer-returned"),
            ("action-get-volume", "gateway.answer-returned"),
        ],
        defect: Defect::Reply(|_| None),
    },
    Mutant {
        name: "errors-lost",
        kills: &[
            ("answer-error", "gateway.answer-returned"),
            ("answer-tool-error", "gateway.answer-returned"),
        ],
        defect: Defect::Reply(|reply| (reply["success"] == true).then_some(reply)),
    },
    Mutant {
        name: "errors-told-as-success",
        kills: &[
            ("answer-error", "gateway.error-returned"),
            ("answer-tool-error", "gateway.error-returned"),
        ],
        defect: Defect::Reply(|mut reply| {
            reply["success"] = true.into();
            Some(without(reply, "error"))
        }),
    },
    Mutant {
        name: "success-told-as-error",
        kills: &[("answer-result", "gateway.answer-returned")],
        defect: Defect::Reply(|mut reply| {
            reply["success"] = false.into();
            Some(reply)
        }),
    },
    Mutant {
        name: "request-id-lost",
        kills: &[("answer-request-id", "gateway.answer-request-id")],
        defect: Defect::Reply(|reply| Some(without(reply, "request_id"))),
    },
    Mutant {
        name: "request-id-trimmed",
        kills: &[("answer-request-id", "gateway.answer-request-id")],
        defect: Defect::Reply(|mut reply| {
            if let Some(first) = reply["request_id"].as_str() {
                reply["request_id"] = first.split(' ').next().into();
            }
            Some(reply)
        }),
    },
    Mutant {
        name: "value-lost",
        kills: &[
            ("answer-value", "gateway.value-returned"),
            ("function-get-volume", "gateway.value-returned"),
        ],
        defect: Defect::Reply(|reply| Some(without(without(reply, "result"), "volume"))),
    },
    Mutant {
        name: "mute-and-unmute-swapped",
        kills: &[
            ("action-mute", "gateway.action-map"),
            ("action-unmute", "gateway.action-map"),
            ("function-mute", "gateway.function-map"),
        ],
        defect: Defect::Call(|mut call| {
            let name = match call["params"]["name"].as_str() {
                Some("self.audio_speaker.mute") => "self.audio_speaker.unmute",
                Some("self.audio_speaker.unmute") => "self.audio_speaker.mute",
                _ => return vec![call],
            };
            call["params"]["name"] = name.into();
            vec![call]
        }),
    },
    Mutant {
        name: "step-lost",
        kills: &[
            ("action-volume-up", "gateway.action-map"),
            ("action-volume-down", "gateway.action-map"),
            ("alias-value-step", "gateway.aliases"),
        ],
        defect: Defect::Call(|mut call| {
            if !call["params"]["arguments"]["step"].is_null() {
                call["params"]["arguments"] = json!({});
            }
            vec![call]
        }),
    },
    Mutant {
        name: "status-tool-renamed",
        kills: &[("action-get-volume", "gateway.action-map")],
        defect: Defect::Call(|mut call| {
            if call["params"]["name"] == "self.get_device_status" {
                call["params"]["name"] = "self.audio_speaker.get_volume".into();
            }
            vec![call]
        }),
    },
    Mutant {
        name: "function-not-in-the-map",
        kills: &[("function-volume-up", "gateway.function-map")],
        defect: Defect::Control(|mut control| {
            if control["function_call"]["name"] == "self_volume_up" {
                control["function_call"]["name"] = "self.volume_up".into();
            }
            Some(control)
        }),
    },
    Mutant {
        name: "unknown-action-forwarded",
        kills: &[
            ("drop-unknown-action", "gateway.unknown-action"),
            ("drop-other-case", "gateway.unknown-action"),
        ],
        defect: Defect::Control(|control| {
            let known = ["set_volume", "volume_up", "get_volume", "mute", ""];
            let name = action(&control);
            Some(match known.contains(&name) {
                true => control,
                false => json!({"type": "function_call", "function_call": {"name": name}}),
            })
        }),
    },
    Mutant {
        name: "built-in-property-as-action",
        kills: &[
            ("drop-to-string", "gateway.prototype-words"),
            ("drop-constructor", "gateway.prototype-words"),
            ("drop-proto", "gateway.prototype-words"),
        ],
        defect: Defect::Control(|control| {
            Some(match action(&control) {
                "toString" | "constructor" | "__proto__" => {
                    json!({"type": "function_call", "function_call": {"name": "[object Object]"}})
                }
                _ => control,
            })
        }),
    },
    Mutant {
        name: "unknown-function-dropped",
        kills: &[
            ("unknown-function", "gateway.function-forwarded"),
            ("unknown-function-prototype", "gateway.function-forwarded"),
        ],
        defect: Defect::Control(|control| {
            let name = control["function_call"]["name"].as_str();
            name.is_none_or(|name| name.starts_with("self_")).then_some(control)
        }),
    },
    Mutant {
        name: "command-ignored",
        kills: &[("alias-command", "gateway.aliases")],
        defect: Defect::Control(|control| Some(without(control, "command"))),
    },
    Mutant {
        name: "command-first",
        kills: &[("alias-action-first", "gateway.aliases")],
        defect: Defect::Control(|mut control| {
            if let Some(command) = control.get("command").cloned() {
                control["action"] = command;
            }
            Some(control)
        }),
    },
    Mutant {
        name: "value-ignored",
        kills: &[
            ("alias-value-volume", "gateway.aliases"),
            ("alias-value-step", "gateway.aliases"),
        ],
        defect: Defect::Control(|control| Some(without(control, "value"))),
    },
    Mutant {
        name: "default-step-five",
        kills: &[
            ("default-step-up", "gateway.step-default"),
            ("default-step-down", "gateway.step-default"),
        ],
        defect: Defect::Control(|mut control| {
            if ["volume_up", "volume_down"].contains(&action(&control))
                && control.get("step").or(control.get("value")).is_none()
            {
                control["step"] = 5.into();
            }
            Some(control)
        }),
    },
    Mutant {
        name: "arguments-picked",
        kills: &[("arguments-unchanged", "gateway.arguments")],
        defect: Defect::Call(|mut call| {
            let volume = call["params"]["arguments"].get("volume").cloned();
            if let Some(volume) = volume {
                call["params"]["arguments"] = json!({"volume": volume});
            }
            vec![call]
        }),
    },
    Mutant {
        name: "nameless-call-made",
        kills: &[
            ("refuse-no-name", "gateway.function-name"),
            ("refuse-empty-name", "gateway.function-name"),
        ],
        defect: Defect::Control(|mut control| {
            let name = control["function_call"]["name"].as_str().unwrap_or_default();
            if control["type"] == "function_call" && name.is_empty() {
                control["function_call"]["name"] = "undefined".into();
            }
            Some(control)
        }),
    },
    Mutant {
        name: "called-twice",
        kills: &[("action-mute", "gateway.one-call")],
        defect: Defect::Call(|call| {
            let mut again = call.clone();
            again["id"] = (call["id"].as_u64().unwrap_or_default() + 2_000_000).into();
            if is_fence(&call) { vec![call] } else { vec![call, again] }
        }),
    },
    Mutant {
        name: "version-lost",
        kills: &[("action-mute", "gateway.call-shape")],
        defect: Defect::Call(|call| vec![without(call, "jsonrpc")]),
    },
    Mutant {
        name: "envelope-lost",
        kills: &[("action-mute", "gateway.call-shape")],
        defect: Defect::Bare,
    },
    Mutant {
        name: "dies-of-no-json",
        kills: &[("survive-no-json", "gateway.survives")],
        defect: Defect::Dies,
    },
    Mutant {
        name: "any-type-taken",
        kills: &[("survive-other-type", "gateway.survives")],
        defect: Defect::Control(|mut control| {
            if control["type"] == "chat" {
                control["type"] = "device_control".into();
            }
            Some(control)
        }),
    },
];
