//! Defects of what `tools/list` says about the tools.

use crate::rows::prelude::*;

/// The tool that defects of one tool pick: it has one integer with a range.
const ONE: &str = "self.screen.set_brightness";
/// The tool whose argument is a text that a person says.
const PHOTO: &str = "self.camera.take_photo";
/// A tool whose integer has a default.
const WITH_DEFAULT: &str = "self.audio_speaker.volume_up";

pub(super) const MUTANTS: &[Row] = rows! {
    "list-tools-object": "The tools are an object by name instead of an array."
        => pages(|result| {
            let tools = core::mem::take(tools_of(result)).into_iter();
            let named =
                tools.filter_map(|tool| Some((tool["name"].as_str()?.to_string(), tool)));
            result["tools"] = Value::Object(named.collect());
        });
    "list-tools-missing": "The tools are listed under the name `items`."
        => pages(|result| result["items"] = result["tools"].take());
    "list-name-missing": "The list holds a tool without a name."
        => extra_tool(
            || json!({"description": "Nothing.", "inputSchema": {"type": "object", "properties": {}}}),
        );
    "list-name-empty": "The list holds a tool whose name is empty."
        => extra_tool(
            || json!({"name": "", "description": "Nothing.", "inputSchema": {"type": "object"}}),
        );
    "list-name-number": "The list holds a tool whose name is a number."
        => extra_tool(
            || json!({"name": 17, "description": "Nothing.", "inputSchema": {"type": "object"}}),
        );
    "list-tool-null": "The list ends with a null." => extra_tool(|| Value::Null);
    "list-tool-twice": "The first tool is listed twice."
        => when(|request| request.method() == "tools/list" && request.cursor().is_empty()).result(
            |result| {
                let first = tools_of(result).first().cloned();
                tools_of(result).extend(first);
            },
        );
    "list-description-number": "The description of a tool is a number."
        => one_tool(ONE, |tool| tool["description"] = json!(12));
    "list-description-null": "The description of a tool is null."
        => one_tool(ONE, |tool| tool["description"] = Value::Null);
    "list-schema-missing": "A tool has no inputSchema."
        => one_tool(ONE, |tool| remove(tool, "inputSchema"));
    "list-schema-snake-case": "The schema of the tools is called input_schema."
        => each_tool(|tool| {
            tool["input_schema"] = tool["inputSchema"].take();
            remove(tool, "inputSchema");
        });
    "list-schema-type-missing": "The schema of tools without arguments is {}."
        => each_tool(|tool| if tool["inputSchema"]["properties"] == json!({}) {
            tool["inputSchema"] = json!({});
        });
    "list-schema-type-string": "The type of a schema is `string` instead of `object`."
        => one_tool(ONE, |tool| tool["inputSchema"]["type"] = json!("string"));
    "list-schema-string": "The schema of a tool is a string that contains JSON."
        => one_tool(ONE, |tool| tool["inputSchema"] = json!(tool["inputSchema"].to_string()));
    "list-property-type-int": "The type of an argument is `int`, which JSON Schema does not know."
        => argument(ONE, "brightness", |argument| argument["type"] = json!("int"));
    "list-enum-twice": "A value stands twice in the enum of an argument."
        => argument(ONE, "brightness", |argument| argument["enum"] = json!([0, 50, 100, 50]));
    "list-pattern-open": "A parenthesis in the pattern of an argument is not closed."
        => argument(PHOTO, "question", |argument| argument["pattern"] = json!("^(([A-Z].*$"));
    "list-ref-dangling": "The schema of an argument is elsewhere, where nothing is."
        => argument(ONE, "brightness", |argument| argument["$ref"] = json!("#/$defs/level"));
    "list-minimum-string": "The minimum of an argument is a string."
        => argument(ONE, "brightness", |argument| argument["minimum"] = json!("0"));
    "list-required-boolean": "`required` is at the argument, as in JSON Schema before draft 4."
        => one_tool(ONE, |tool| {
            tool["inputSchema"]["properties"]["brightness"]["required"] = json!(true);
            remove(&mut tool["inputSchema"], "required");
        });
    "list-required-undeclared": "A required argument is not among the properties."
        => one_tool(ONE, |tool| {
            tool["inputSchema"]["required"] = json!(["brightness", "duration"])
        });
    "list-default-out-of-range": "A default is greater than its maximum."
        => argument(WITH_DEFAULT, "step", |argument| argument["default"] = json!(1000));
    "list-default-description": "The description of an argument is also its default."
        => argument(PHOTO, "question", |argument| {
            argument["default"] = argument["description"].clone()
        });
    "list-default-sentence-for-url":
        "The description of a URL was passed as its default, as in stock firmware."
        => one_tool("self.upgrade_firmware", |tool| {
            let schema = &mut tool["inputSchema"];
            let url = &mut schema["properties"]["url"];
            *url = json!({"type": "string", "default": url["description"].take()});
            remove(schema, "required");
        });
    "list-volume-range": "The schema of set_volume ends at 80."
        => argument(SET, "volume", |argument| argument["maximum"] = json!(80));
    "list-default-string": "The default of an integer is a string."
        => argument(WITH_DEFAULT, "step", |argument| argument["default"] = json!("10"));
    "list-volume-hidden": "set_volume can be called but is neither listed nor logged."
        => hidden(SET).console(|line| drop_if(line.ends_with(SET)));
    "list-status-hidden": "get_device_status can be called but is neither listed nor logged."
        => hidden(STATUS).console(|line| drop_if(line.ends_with(STATUS)));
    "list-tool-not-logged": "A tool is listed that the boot log does not show."
        => unprinted(|line| line.ends_with("self.led.blink"));
    "list-user-tool-disguised":
        "A tool that the boot log marks as user-only is in the ordinary list, without an annotation."
        => defect().console(|line| {
            if line.ends_with(" MCP: Add tool: self.led.blink") {
                line.push_str(" [user]");
            }
            Flow::Pass
        });
    "list-tool-lost": "A tool of the boot log is not listed." => hidden("self.led.blink");
    "list-user-tool-lost": "A user-only tool of the boot log is never listed."
        => hidden("self.upgrade_firmware");
    "list-user-tools-only": "withUserTools lists only the user-only tools."
        => with_users(|tools| tools.retain(|tool| tool.get("annotations").is_some()));
    "list-user-tools-hide-one":
        "withUserTools hides the tool that shares the sorting key of another."
        => with_users(|tools| tools.retain(|tool| tool["name"] != "self.timer.cancel"));
    "list-user-tools-always": "User-only tools are listed without being requested."
        => with_user_tools(|_| true);
    "list-user-tools-for-false":
        "withUserTools:false lists the user-only tools: its value is not read."
        => with_user_tools(|params| {
            ["withUserTools", "cursor"].iter().any(|name| params.get(name).is_some())
        });
    "list-user-tools-unmarked": "User-only tools carry no annotation."
        => each_tool(|tool| remove(tool, "annotations"));
    "list-user-tools-audience-string":
        "The audience of user-only tools is a string instead of an array."
        => each_tool(|tool| if let Some(annotations) = tool.get_mut("annotations") {
            annotations["audience"] = json!("user");
        });
};

/// Edits the pages.
fn pages(edit: impl FnMut(&mut Value) + 'static) -> Defect {
    method("tools/list").result(edit)
}

/// Edits the tools of each page.
fn each_tool(edit: fn(&mut Value)) -> Defect {
    pages(move |result| tools_of(result).iter_mut().for_each(edit))
}

/// Edits one tool.
fn one_tool(name: &'static str, edit: impl Fn(&mut Value) + 'static) -> Defect {
    pages(move |result| {
        let tools = tools_of(result).iter_mut();
        tools.filter(|tool| tool["name"] == name).for_each(&edit);
    })
}

/// Edits what one tool says about an argument.
fn argument(tool: &'static str, name: &'static str, edit: fn(&mut Value)) -> Defect {
    one_tool(tool, move |tool| edit(&mut tool["inputSchema"]["properties"][name]))
}

/// Does not list a tool.
fn hidden(name: &'static str) -> Defect {
    pages(move |result| tools_of(result).retain(|tool| tool["name"] != name))
}

/// Edits the pages of a list that user-only tools are asked for in.
fn with_users(edit: fn(&mut Vec<Value>)) -> Defect {
    when(|request| request.method() == "tools/list" && request.params()["withUserTools"] == true)
        .result(move |result| edit(tools_of(result)))
}

/// Adds something at the end of the last page.
fn extra_tool(extra: fn() -> Value) -> Defect {
    pages(move |result| {
        if result.get("nextCursor").is_none() {
            tools_of(result).push(extra());
        }
    })
}

/// Sets the flag of `tools/list` for some requests.
fn with_user_tools(is_set: fn(&Value) -> bool) -> Defect {
    defect().on_method("tools/list", move |payload, _| {
        let params = payload.entry("params").or_insert(json!({}));
        if params.is_object() && is_set(params) {
            params["withUserTools"] = json!(true);
        }
        Flow::Pass
    })
}
