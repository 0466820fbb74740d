//! Defects of what `tools/list` says about the tools.

use serde_json::{Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Flow, Request};
use crate::prelude::*;

/// The tool that defects of one tool pick: it has one integer with a range.
const ONE: &str = "self.screen.set_brightness";
/// A tool whose integer has a default.
const WITH_DEFAULT: &str = "self.audio_speaker.volume_up";

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "list-tools-object",
        "The tools are an object by name instead of an array.",
        || {
            page(|_, result| {
                let tools = result["tools"].as_array().cloned().unwrap_or_default();
                let named = tools
                    .into_iter()
                    .filter_map(|tool| Some((tool["name"].as_str()?.to_string(), tool)));
                result["tools"] = Value::Object(named.collect());
            })
        },
    ),
    mutant(
        "list-tools-missing",
        "The tools are listed under the name `items`.",
        || page(|_, result| result["items"] = result["tools"].take()),
    ),
    mutant(
        "list-name-missing",
        "The list holds a tool without a name.",
        || {
            extra_tool(
                || json!({"description": "Nothing.", "inputSchema": {"type": "object", "properties": {}}}),
            )
        },
    ),
    mutant(
        "list-name-empty",
        "The list holds a tool whose name is empty.",
        || {
            extra_tool(
                || json!({"name": "", "description": "Nothing.", "inputSchema": {"type": "object"}}),
            )
        },
    ),
    mutant(
        "list-name-number",
        "The list holds a tool whose name is a number.",
        || {
            extra_tool(
                || json!({"name": 17, "description": "Nothing.", "inputSchema": {"type": "object"}}),
            )
        },
    ),
    mutant("list-tool-null", "The list ends with a null.", || {
        extra_tool(|| Value::Null)
    }),
    mutant("list-tool-twice", "The first tool is listed twice.", || {
        tools(|request, tools| {
            if request.cursor().is_empty()
                && let Some(first) = tools.first().cloned()
            {
                tools.push(first);
            }
        })
    }),
    mutant(
        "list-description-number",
        "The description of a tool is a number.",
        || tool(ONE, |tool| tool["description"] = json!(12)),
    ),
    mutant(
        "list-description-null",
        "The description of a tool is null.",
        || tool(ONE, |tool| tool["description"] = Value::Null),
    ),
    mutant(
        "list-description-empty",
        "The description of a tool is empty.",
        || tool(ONE, |tool| tool["description"] = json!("")),
    ),
    mutant(
        "list-description-missing",
        "A tool has no description.",
        || tool(ONE, |tool| remove(tool, "description")),
    ),
    mutant("list-schema-missing", "A tool has no inputSchema.", || {
        tool(ONE, |tool| remove(tool, "inputSchema"))
    }),
    mutant(
        "list-schema-snake-case",
        "The schema of the tools is called input_schema.",
        || {
            tools(|_, tools| {
                for tool in tools {
                    tool["input_schema"] = tool["inputSchema"].take();
                    remove(tool, "inputSchema");
                }
            })
        },
    ),
    mutant(
        "list-schema-type-missing",
        "The schema of tools without arguments is {}.",
        || {
            tools(|_, tools| {
                for tool in tools
                    .iter_mut()
                    .filter(|tool| tool["inputSchema"]["properties"] == json!({}))
                {
                    tool["inputSchema"] = json!({});
                }
            })
        },
    ),
    mutant(
        "list-schema-type-string",
        "The type of a schema is `string` instead of `object`.",
        || tool(ONE, |tool| tool["inputSchema"]["type"] = json!("string")),
    ),
    mutant(
        "list-schema-string",
        "The schema of a tool is a string that holds JSON.",
        || {
            tool(ONE, |tool| {
                tool["inputSchema"] = json!(tool["inputSchema"].to_string())
            })
        },
    ),
    mutant(
        "list-property-type-int",
        "The type of an argument is `int`, which JSON Schema does not know.",
        || {
            tool(ONE, |tool| {
                tool["inputSchema"]["properties"]["brightness"]["type"] = json!("int")
            })
        },
    ),
    mutant(
        "list-minimum-string",
        "The minimum of an argument is a string.",
        || {
            tool(ONE, |tool| {
                tool["inputSchema"]["properties"]["brightness"]["minimum"] = json!("0")
            })
        },
    ),
    mutant(
        "list-required-boolean",
        "`required` stands at the argument as in the drafts before 4.",
        || {
            tool(ONE, |tool| {
                tool["inputSchema"]["properties"]["brightness"]["required"] = json!(true);
                remove(&mut tool["inputSchema"], "required");
            })
        },
    ),
    mutant(
        "list-required-undeclared",
        "A required argument is not among the properties.",
        || {
            tool(ONE, |tool| {
                tool["inputSchema"]["required"] = json!(["brightness", "duration"])
            })
        },
    ),
    mutant(
        "list-default-out-of-range",
        "A default is greater than its maximum.",
        || {
            tool(WITH_DEFAULT, |tool| {
                tool["inputSchema"]["properties"]["step"]["default"] = json!(1000)
            })
        },
    ),
    mutant(
        "list-default-string",
        "The default of an integer is a string.",
        || {
            tool(WITH_DEFAULT, |tool| {
                tool["inputSchema"]["properties"]["step"]["default"] = json!("10")
            })
        },
    ),
    mutant(
        "list-volume-hidden",
        "set_volume can be called but is neither listed nor logged.",
        || {
            const HIDDEN: &str = "self.audio_speaker.set_volume";
            tools(|_, tools| tools.retain(|tool| tool["name"] != HIDDEN)).console(|line| {
                if line.ends_with(HIDDEN) {
                    Flow::Drop
                } else {
                    Flow::Pass
                }
            })
        },
    ),
    mutant(
        "list-status-hidden",
        "get_device_status can be called but is neither listed nor logged.",
        || {
            const HIDDEN: &str = "self.get_device_status";
            tools(|_, tools| tools.retain(|tool| tool["name"] != HIDDEN)).console(|line| {
                if line.ends_with(HIDDEN) {
                    Flow::Drop
                } else {
                    Flow::Pass
                }
            })
        },
    ),
    mutant(
        "list-tool-not-logged",
        "A tool is listed that the boot log does not show.",
        || {
            Defect::default().console(|line| match line.ends_with("self.led.blink") {
                true => Flow::Drop,
                false => Flow::Pass,
            })
        },
    ),
    mutant(
        "list-user-tool-disguised",
        "A tool that the boot log marks as one for users is listed for everybody, without a mark.",
        || {
            Defect::default().console(|line| {
                if line.ends_with(" MCP: Add tool: self.led.blink") {
                    line.push_str(" [user]");
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "list-tool-lost",
        "A tool of the boot log is not listed.",
        || tools(|_, tools| tools.retain(|tool| tool["name"] != "self.led.blink")),
    ),
    mutant(
        "list-user-tool-lost",
        "A user-only tool of the boot log is never listed.",
        || tools(|_, tools| tools.retain(|tool| tool["name"] != "self.upgrade_firmware")),
    ),
    mutant(
        "list-user-tools-only",
        "withUserTools lists the user-only tools alone.",
        || {
            tools(|request, tools| {
                if request.params().get("withUserTools") == Some(&json!(true)) {
                    tools.retain(|tool| tool.get("annotations").is_some());
                }
            })
        },
    ),
    mutant(
        "list-user-tools-hide-one",
        "withUserTools hides the tool that shares the sorting key of another.",
        || {
            tools(|request, tools| {
                if request.params().get("withUserTools") == Some(&json!(true)) {
                    tools.retain(|tool| tool["name"] != "self.timer.cancel");
                }
            })
        },
    ),
    mutant(
        "list-user-tools-always",
        "User-only tools are listed without being asked for.",
        || with_user_tools(|_| true),
    ),
    mutant(
        "list-user-tools-for-false",
        "withUserTools:false lists the user-only tools: its value is not read.",
        || {
            with_user_tools(|params| {
                params.get("withUserTools").is_some() || params.get("cursor").is_some()
            })
        },
    ),
    mutant(
        "list-user-tools-unmarked",
        "User-only tools carry no annotation.",
        || {
            tools(|_, tools| {
                for tool in tools {
                    remove(tool, "annotations");
                }
            })
        },
    ),
    mutant(
        "list-user-tools-audience-string",
        "The audience of user-only tools is a string instead of an array.",
        || {
            tools(|_, tools| {
                for tool in tools
                    .iter_mut()
                    .filter(|tool| tool.get("annotations").is_some())
                {
                    tool["annotations"]["audience"] = json!("user");
                }
            })
        },
    ),
];

/// Edits the results of `tools/list`.
fn page(edit: fn(&Request, &mut Value)) -> Defect {
    Defect::default().on_result("tools/list", edit)
}

/// Edits the tools of each page.
fn tools(edit: fn(&Request, &mut Vec<Value>)) -> Defect {
    Defect::default().on_result("tools/list", move |request, result| {
        if let Some(tools) = result["tools"].as_array_mut() {
            edit(request, tools);
        }
    })
}

/// Edits one tool.
fn tool(name: &'static str, edit: fn(&mut Value)) -> Defect {
    Defect::default().on_result("tools/list", move |_, result| {
        let tools = result["tools"].as_array_mut().into_iter().flatten();
        for tool in tools.filter(|tool| tool["name"] == name) {
            edit(tool);
        }
    })
}

/// Adds something at the end of the last page.
fn extra_tool(extra: fn() -> Value) -> Defect {
    Defect::default().on_result("tools/list", move |_, result| {
        if result.get("nextCursor").is_none()
            && let Some(tools) = result["tools"].as_array_mut()
        {
            tools.push(extra());
        }
    })
}

/// Sets the flag of `tools/list` for some requests.
fn with_user_tools(is_set: fn(&Value) -> bool) -> Defect {
    Defect::default().on_method("tools/list", move |payload, _| {
        let params = payload.entry("params").or_insert(json!({}));
        if params.is_object() && is_set(params) {
            params["withUserTools"] = json!(true);
        }
        Flow::Pass
    })
}

fn remove(object: &mut Value, member: &str) {
    object.as_object_mut().map(|object| object.remove(member));
}
