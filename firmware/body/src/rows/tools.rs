//! Tools that rows add to the device: what its own do not have.

use core::ops::RangeInclusive;

use reference_device::{Property, Tool};
use serde_json::Value;

use crate::defect::Defect;
use crate::hooks::{Flow, Request};
use crate::prelude::*;
use crate::rows::edit::{defect, error, get, reply_if};
use crate::rows::select::{method, tool};

/// Integers below zero, and from below to above it.
pub(crate) const FREEZER: &[Tool] = &[
    Tool {
        name: "self.freezer.set_target",
        description: "Sets how cold the freezer is to be.",
        properties: &[Property::integer("degrees", "In degrees Celsius.", -40, -10)],
        user_only: false,
        handler: |_, _, _| Ok("true".to_string()),
    },
    Tool {
        name: "self.freezer.set_alarm",
        description: "Sets above which temperature the freezer warns.",
        properties: &[
            Property::integer("degrees", "In degrees Celsius.", -30, 5).with_default_integer(-8)
        ],
        user_only: false,
        handler: |_, _, _| Ok("true".to_string()),
    },
];

/// A tool that takes an integer, and only reads.
pub(crate) const METER: &[Tool] = &[Tool {
    name: "self.meter.read_usage",
    description: "Tells how much was used in the last days.",
    properties: &[Property::integer("days", "Of how many days.", 1, 365)],
    user_only: false,
    handler: |_, arguments, _| Ok((arguments.integer("days") * 7).to_string()),
}];

/// A display that tells what it shows.
pub(crate) const SHOW_TEXT: &str = "self.screen.show_text";
pub(crate) const DISPLAY: &[Tool] = &[Tool {
    name: SHOW_TEXT,
    description: "Shows a text on the screen.",
    properties: &[Property::text("text", "The text.")],
    user_only: false,
    handler: |_, arguments, _| Ok(format!("shown: {}", arguments.text("text"))),
}];

/// Changes what it tells.
pub(crate) fn shown(mut change: impl FnMut(&mut String) + 'static) -> Defect {
    let told = tool(SHOW_TEXT).result(move |result| {
        if let Some(Value::String(text)) = result.pointer_mut("/content/0/text") {
            change(text);
        }
    });
    with_tools(told, DISPLAY)
}

/// A note that one tool keeps and another one tells.
const NOTES: &[Tool] = &[
    Tool {
        name: "self.notes.set_note",
        description: "Keeps a note.",
        properties: &[Property::text("text", "The note.")],
        user_only: false,
        handler: |board, arguments, _| {
            board.screen.message = arguments.text("text").to_string();
            Ok("true".to_string())
        },
    },
    Tool {
        name: "self.notes.get_note",
        description: "Tells the note that was kept last.",
        properties: &[],
        user_only: false,
        handler: |board, _, _| Ok(board.screen.message.clone()),
    },
];

/// Changes the note that is told.
pub(crate) fn noted(mut change: impl FnMut(&mut String) + 'static) -> Defect {
    notes(tool("self.notes.get_note").result(move |result| {
        if let Some(Value::String(text)) = result.pointer_mut("/content/0/text") {
            change(text);
        }
    }))
}

/// Adds a note that one tool keeps and another one tells.
pub(crate) fn notes(layer: Defect) -> Defect {
    with_tools(layer, NOTES)
}

const SET_ALARM: &str = "self.alarm.set_alarm";
const GET_ALARM: &str = "self.alarm.get_alarm";
/// The offset of an alarm of which none is said.
const ON_TIME: i64 = -5;
const ALARM: &[Tool] = &[
    Tool {
        name: SET_ALARM,
        description: "Sets when the alarm rings.",
        properties: &[
            Property::integer("hour", "The hour.", 0, 23),
            Property::integer("offset", "Minutes before or after it.", -120, 120)
                .with_default_integer(ON_TIME),
        ],
        user_only: false,
        handler: |_, _, _| Ok("true".to_string()),
    },
    Tool {
        name: GET_ALARM,
        description: "Tells when the alarm rings.",
        properties: &[],
        user_only: false,
        handler: |_, _, _| Ok(String::new()),
    },
];

const SHOW_MESSAGE: &str = "self.sign.show_message";
const GET_MESSAGE: &str = "self.sign.get_message";
const SIGN: &[Tool] = &[
    Tool {
        name: SHOW_MESSAGE,
        description: "Shows a message on the sign.",
        properties: &[
            Property::text("text", "The message."),
            Property::integer("seconds", "For how long.", 1, 600).with_default_integer(60),
        ],
        user_only: false,
        handler: |_, _, _| Ok("true".to_string()),
    },
    Tool {
        name: GET_MESSAGE,
        description: "Tells what the sign shows.",
        properties: &[],
        user_only: false,
        handler: |_, _, _| Ok(String::new()),
    },
];

/// A sign that shows what one tool is given, and another one tells. What it shows after calls of the first one and after
/// initialize, `follow` says; it is told whether they succeeded.
pub(crate) fn sign(mut follow: impl FnMut(&Request, bool, &mut String) + 'static) -> Defect {
    let mut shown = String::new();
    let layer = defect().on_answer(move |cause, payload, _| {
        if cause.tool() == GET_MESSAGE {
            if let Some(told) = payload.pointer_mut("/result/content/0/text") {
                *told = shown.clone().into();
            }
        } else if cause.tool() == SHOW_MESSAGE || cause.method() == "initialize" {
            follow(cause, payload.get("error").is_none(), &mut shown);
        }
        Flow::Pass
    });
    with_tools(layer, SIGN)
}

/// Hour and offset of an alarm.
pub(crate) type Alarm = [(&'static str, i64); 2];

/// An alarm that one tool sets and another one tells. What a call leaves in it, `keep` says; it is told whether the call
/// was accepted.
pub(crate) fn alarm(mut keep: impl FnMut(&Request, bool, &mut Alarm) + 'static) -> Defect {
    let mut kept = [("hour", 7), ("offset", 0)];
    let layer = defect().on_answer(move |cause, payload, _| {
        if cause.tool() == GET_ALARM {
            let [hour, offset] = kept.map(|(_, value)| value);
            let text = serde_json::json!({"hour": hour, "offset": offset}).to_string();
            if let Some(told) = payload.pointer_mut("/result/content/0/text") {
                *told = text.into();
            }
        } else if cause.tool() == SET_ALARM {
            keep(cause, payload.get("error").is_none(), &mut kept);
        }
        Flow::Pass
    });
    with_tools(layer, ALARM)
}

/// Keeps what is accepted of an alarm, and of the two arguments those that are stored even if the call is refused.
pub(crate) fn storing(stores: [bool; 2]) -> impl FnMut(&Request, bool, &mut Alarm) {
    move |cause, is_done, kept| {
        for ((name, value), stores) in kept.iter_mut().zip(stores) {
            let default = Some(ON_TIME).filter(|_| is_done && *name == "offset");
            let new = cause.argument(name).as_i64().filter(|_| is_done || stores);
            *value = new.or(default).unwrap_or(*value);
        }
    }
}

/// A climate that is told beside the text, as the list says: a number under `celsius`.
pub(crate) fn structured_climate(told: Value) -> Defect {
    const GET_CLIMATE: &str = "self.sensor.get_climate";
    let celsius = serde_json::json!({"celsius": {"type": "number"}});
    let schema =
        serde_json::json!({"type": "object", "properties": celsius, "required": ["celsius"]});
    let listed = method("tools/list").result(move |page| {
        let tools = page["tools"].as_array_mut().into_iter().flatten();
        for tool in tools.filter(|tool| tool["name"] == GET_CLIMATE) {
            tool["outputSchema"] = schema.clone();
        }
    });
    listed.over(defect().on_answer(move |cause, payload, _| {
        if cause.tool() == GET_CLIMATE
            && let Some(result) = payload.get_mut("result")
        {
            result["structuredContent"] = told.clone();
        }
        Flow::Pass
    }))
}

/// Tells in the list which languages there are, and reads one that is asked for as another.
pub(crate) fn languages(read: fn(&str) -> Option<&'static str>) -> Defect {
    const LANGUAGES: [&str; 6] = ["en-US", "de-DE", "ja-JP", "pt-BR", "vi-VN", "zh-CN"];
    const SET_LANGUAGE: &str = "self.system.set_language";
    let listed = method("tools/list").result(|page| {
        let tools = page["tools"].as_array_mut().into_iter().flatten();
        for tool in tools.filter(|tool| tool["name"] == SET_LANGUAGE) {
            tool["inputSchema"]["properties"]["language"]["enum"] = serde_json::json!(LANGUAGES);
        }
    });
    listed.on_call(move |params, _| {
        if params["name"] == SET_LANGUAGE
            && let Some(Value::String(language)) = params.pointer_mut("/arguments/language")
            && let Some(other) = read(language)
        {
            *language = other.to_string();
        }
    })
}

/// A label of 2 to 20 characters. `count` tells how long one is, and another length than one of `taken` is refused.
pub(crate) fn label(count: fn(&str) -> usize, taken: RangeInclusive<usize>) -> Defect {
    const SET_LABEL: &str = "self.screen.set_label";
    const LABEL: &[Tool] = &[Tool {
        name: SET_LABEL,
        description: "Sets what stands at the edge of the screen.",
        properties: &[Property::text("text", "The label.")],
        user_only: false,
        handler: |_, _, _| Ok("true".to_string()),
    }];
    let listed = method("tools/list").result(|page| {
        let tools = page["tools"].as_array_mut().into_iter().flatten();
        for tool in tools.filter(|tool| tool["name"] == SET_LABEL) {
            let text = &mut tool["inputSchema"]["properties"]["text"];
            (text["minLength"], text["maxLength"]) = (2.into(), 20.into());
        }
    });
    let checked = listed.on_method("tools/call", move |payload, hands| {
        let params = get(payload, "params");
        let text = params["arguments"]["text"].as_str().filter(|_| params["name"] == SET_LABEL);
        let is_refused = text.is_some_and(|text| !taken.contains(&count(text)));
        let refusal = |id: &Value| error(id, -32602, "A label has 2 to 20 characters");
        reply_if(is_refused, payload, hands, refusal)
    });
    with_tools(checked, LABEL)
}

/// How many characters a text has.
pub(crate) fn characters(text: &str) -> usize {
    text.chars().count()
}

/// Adds tools to the device.
pub(crate) fn with_tools(layer: Defect, tools: &'static [Tool]) -> Defect {
    layer.setup(move |device| {
        for tool in tools {
            let added = device.registry_mut().add(*tool);
            debug_assert!(added.is_ok(), "{added:?}");
        }
    })
}
