//! A heater, whose tools take a number, and an array of objects.

use reference_device::Tool;
use serde_json::{Value, json};

use crate::defect::Defect;
use crate::prelude::*;
use crate::rows::edit::{error, get, reply_if};
use crate::rows::select::method;
use crate::rows::tools::with_tools;

const SET_TARGET: &str = "self.heater.set_target";
const SET_SCHEDULE: &str = "self.heater.set_schedule";

/// The registry knows neither numbers nor arrays: the list tells of them, and calls are checked before it sees them.
const HEATER: &[Tool] = &[
    Tool {
        name: SET_TARGET,
        description: "Sets how warm it is to be.",
        properties: &[],
        user_only: false,
        handler: |_, _, _| Ok("true".to_string()),
    },
    Tool {
        name: SET_SCHEDULE,
        description: "Sets how warm it is to be at which hour.",
        properties: &[],
        user_only: false,
        handler: |_, _, _| Ok("true".to_string()),
    },
];

/// Adds the heater. `read` makes of the arguments what the device takes them for, before they are checked.
pub(crate) fn heater(read: fn(&mut Value)) -> Defect {
    described(HEATER, schema, move |name, arguments| {
        read(arguments);
        is_good(name, arguments)
    })
}

/// Adds tools whose schemas say what the registry does not know, and which refuse what is not good.
pub(crate) fn described(
    tools: &'static [Tool],
    schema: fn(&Value) -> Option<Value>,
    mut is_good: impl FnMut(&Value, &mut Value) -> bool + 'static,
) -> Defect {
    let listed = method("tools/list").result(move |page| {
        let tools = page["tools"].as_array_mut().into_iter().flatten();
        for tool in tools {
            if let Some(schema) = schema(&tool["name"]) {
                tool["inputSchema"] = schema;
            }
        }
    });
    let checked = listed.on_method("tools/call", move |payload, hands| {
        let params = get(payload, "params");
        let is_refused = schema(&params["name"]).is_some() && {
            let mut arguments = params["arguments"].clone();
            if !arguments.is_object() {
                arguments = json!({});
            }
            !is_good(&params["name"], &mut arguments)
        };
        let refusal = |id: &Value| error(id, -32602, "The schema does not allow that");
        reply_if(is_refused, payload, hands, refusal)
    });
    with_tools(checked, tools)
}

fn schema(name: &Value) -> Option<Value> {
    let celsius = json!({"type": "number", "minimum": 5, "maximum": 35});
    let (argument, schema) = match name.as_str()? {
        SET_TARGET => ("celsius", celsius),
        SET_SCHEDULE => {
            let hour = json!({"type": "integer", "minimum": 0, "maximum": 23});
            let slot = json!({
                "type": "object",
                "properties": {"hour": hour, "celsius": celsius},
                "required": ["hour", "celsius"],
            });
            ("slots", json!({"type": "array", "items": slot, "minItems": 1, "maxItems": 4}))
        }
        _ => return None,
    };
    Some(json!({"type": "object", "properties": {argument: schema}, "required": [argument]}))
}

fn is_good(name: &Value, arguments: &Value) -> bool {
    match name == SET_TARGET {
        true => is_warmth(&arguments["celsius"]),
        false => arguments["slots"].as_array().is_some_and(|slots| {
            let is_slot = |slot: &Value| {
                slot["hour"].as_u64().is_some_and(|hour| hour < 24) && is_warmth(&slot["celsius"])
            };
            (1..=4).contains(&slots.len()) && slots.iter().all(is_slot)
        }),
    }
}

fn is_warmth(value: &Value) -> bool {
    value.as_f64().is_some_and(|celsius| (5.0..=35.0).contains(&celsius))
}
