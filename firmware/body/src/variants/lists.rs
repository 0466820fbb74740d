//! Other tools, and other ways to list them (MCP 2024-11-05, tools and pagination).

use reference_device::{Property, Tool};

use crate::rows::prelude::*;

/// What stands before an opaque cursor.
const MARK: &str = "page:";

pub(super) const VARIANTS: &[Row] = rows! {
    "texts-limited": "A text has 2 to 20 characters, and its schema says so." => label(characters, 2..=20);
    "no-volume": "The device has no loudspeaker."
        => keeping(|tool| !tool.name.starts_with("self.audio_speaker."));
    "no-status": "The device has no tool that reports its status."
        => keeping(|tool| tool.name != STATUS);
    "status-only": "The only tool of the device reports its status."
        => keeping(|tool| tool.name == STATUS);
    "set-volume-only": "The only tool of the device sets the volume."
        => keeping(|tool| tool.name == SET);
    "no-tools": "The device has no tools." => keeping(|_| false);
    "no-user-tools": "The device has no user-only tools." => keeping(|tool| !tool.user_only);
    "user-tools-never-listed":
        "The device does not know `withUserTools`: its tools for users are in no list, and can be called."
        => defect().on_method("tools/list", |payload, _| {
            if let Some(params) = payload.get_mut("params") {
                remove(params, "withUserTools");
            }
            Flow::Pass
        });
    "no-camera": "The device has no camera."
        => keeping(|tool| !tool.name.starts_with("self.camera."));
    "stock-tools": "The device has the common tools of stock firmware, which fit in one page."
        => keeping(|tool| STOCK.contains(&tool.name));
    "rare-names": "Some tools have names with quotes, blanks and characters outside ASCII."
        => with_tools(defect(), RARE);
    "names-in-two-cases": "The names of two tools differ in nothing but their case."
        => with_tools(defect(), TWINS);
    "ranges-below-zero": "Some integers have a range below zero, or a default there."
        => with_tools(defect(), FREEZER);
    "heater": "There are tools that take a number, and an array of objects." => heater(|_| ());
    "strip": "There is a tool whose schema has a pattern, lists of numbers, steps, open bounds, and alternatives."
        => strip(|_| ());
    "arguments-tied": "A tool wants one argument because of the value of another, and its schema says so."
        => strip(|all| if all["angle"] == 180 && all.get("speed").is_none() { all["angle"] = json!(null); })
            .over(tools(|tool| if tool["name"] == "self.strip.set_light" {
                let schema = &mut tool["inputSchema"];
                schema["if"] = json!({"properties": {"angle": {"const": 180}}});
                schema["then"] = json!({"required": ["speed"]});
            }));
    "text-told": "A tool tells which text it shows." => shown(|_| ());
    "text-told-in-json": "A tool tells which text it shows, in JSON."
        => shown(|text| *text = json!({"shown": &text[..]}).to_string());
    "text-told-in-part": "A tool tells the first forty characters of what it shows."
        => shown(|text| *text = text.chars().take(40).collect());
    "text-told-trimmed": "A tool tells what it shows, without blanks at its ends."
        => shown(|text| *text = format!("shown: {}", text.trim_start_matches("shown: ").trim()));
    "languages-listed": "The list says which languages there are." => languages(|_| None);
    "language-told-late": "The status tells the language that was set before it was read last." => {
        let mut last = None;
        languages(|_| None).over(tool(STATUS).answer(move |payload| {
            edit_text(payload, |status| {
                let set = status["language"].clone();
                status["language"] = last.replace(set.clone()).unwrap_or(set);
            });
        }))
    };
    "alarm-told": "A tool tells the alarm that another one sets." => alarm(storing([false, false]));
    "alarm-in-steps": "A tool tells the alarm that another one sets, in steps of a quarter of an hour."
        => alarm(|cause, is_done, kept| {
            storing([false, false])(cause, is_done, kept);
            kept[1].1 = kept[1].1 / 15 * 15;
        });
    "notes-told": "A tool tells the note that another one keeps." => noted(|_| ());
    "notes-told-in-part": "A tool tells the first forty characters of the note that another one keeps."
        => noted(|text| *text = text.chars().take(40).collect());
    "tool-members-unknown":
        "Tools have members that the version of the protocol does not know, as later ones name them."
        => pages_of(tools(|tool| {
            tool["title"] = json!({"en": "a tool"});
            tool["outputSchema"] = json!(false);
            tool["_meta"] = json!("none");
        }), 3000);
    "tools-undescribed": "Every tool but two is described: one has no description, that of another is empty."
        => tools(|tool| match tool["name"].as_str() {
            Some(STATUS) => remove(tool, "description"),
            Some(SET) => tool["description"] = json!(""),
            _ => {}
        });
    "small-pages": "The pages have about 2000 bytes." => pages_of(defect(), 2000);
    "one-tool-pages": "Every page has one tool." => pages_of(defect(), 0);
    "list-order-varies":
        "The tools of a page come in a different order each time, as from a hash map." => {
            let mut listings = 0;
            method("tools/list").result(move |page| {
                listings += 1;
                if let Some(tools) = page["tools"].as_array_mut().filter(|all| !all.is_empty()) {
                    let by = listings % tools.len();
                    tools.rotate_left(by);
                }
            })
        };
    "next-cursor-empty":
        "The last page has an empty nextCursor, as in the diagram of the MCP flow."
        => method("tools/list").result(|page| if page.get("nextCursor").is_none() {
            page["nextCursor"] = json!("");
        });
    "cursors-opaque": "Cursors are not tool names."
        => method("tools/list")
            .result(|page| if let Some(cursor) = page["nextCursor"].as_str() {
                page["nextCursor"] = json!(encoded(cursor));
            })
            .on_method("tools/list", |payload, _| {
                let params = payload.get_mut("params");
                if let Some(Value::String(cursor)) = params.and_then(|all| all.get_mut("cursor"))
                    && !cursor.is_empty()
                {
                    // A name of a tool is none of these cursors, nor is the mark alone.
                    *cursor = decoded(cursor).unwrap_or_else(|| "none".to_string());
                }
                Flow::Pass
            });
    "cursors-new": "Each listing has cursors of its own; those of earlier listings can still be used." => {
        let [known, pages] = shared(0_usize);
        method("tools/list")
            .result(move |page| if let Some(cursor) = page["nextCursor"].as_str() {
                pages.set(pages.get() + 1);
                page["nextCursor"] = json!(format!("{}:{}", encoded(cursor), pages.get()));
            })
            .on_method("tools/list", move |payload, _| {
                let params = payload.get_mut("params");
                if let Some(Value::String(cursor)) = params.and_then(|all| all.get_mut("cursor"))
                    && !cursor.is_empty()
                {
                    let is_given = |number: &str| {
                        (1..=known.get()).any(|given| number == format!("{given}"))
                    };
                    let name = cursor
                        .rsplit_once(':')
                        .and_then(|(page, number)| decoded(page).filter(|_| is_given(number)));
                    *cursor = name.unwrap_or_else(|| "none".to_string());
                }
                Flow::Pass
            })
    };
    "tools-grow": "A tool is added by the first call, and the device tells that its list changed." => {
        let mut is_first = once();
        method("initialize")
            .result(|result| result["capabilities"]["tools"]["listChanged"] = json!(true))
            .on_call(move |_, hands| if is_first() {
                // It is there from the first call on, also after a restart.
                let _ = hands.device.registry_mut().add(LATE);
                hands.send_payload(&json!({
                    "jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                }));
            })
    };
    "tools-grow-unsaid":
        "A tool is added by the first list with tools for users that an empty cursor asks for, and nothing tells so." => {
        let mut is_first = once();
        defect().on_method("tools/list", move |payload, hands| {
            let params = payload.get("params").cloned().unwrap_or_default();
            if params["withUserTools"] == true && params["cursor"] == "" && is_first() {
                let _ = hands.device.registry_mut().add(LATE);
            }
            Flow::Pass
        })
    };
    "tools-shrink": "The first call takes a tool away, and the device tells that its list changed." => {
        let mut is_first = once();
        method("initialize")
            .result(|result| result["capabilities"]["tools"]["listChanged"] = json!(true))
            .on_call(move |_, hands| if is_first() {
                hands.device.registry_mut().retain(|tool| tool.name != "self.sensor.get_climate");
                hands.send_payload(&json!({
                    "jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                }));
            })
    };
    "unknown-cursor-empty-list":
        "An unknown cursor returns an empty list instead of an error, as with one real client."
        => when(|request| request.method() == "tools/list" && !request.cursor().is_empty())
            .answer(|payload| if payload.get("error").is_some() {
                *payload = result(&payload["id"], json!({"tools": []}));
            });
    "steps-limited": "The volume takes steps of at most 50 percent, and the schema says so."
        => tools(|tool| if let Some(step) = tool.pointer_mut("/inputSchema/properties/step") {
            step["maximum"] = json!(50);
        })
        .on_argument(|property, value| {
            let is_refused = property.name == "step" && value.as_i64().is_some_and(|step| step > 50);
            Some(if is_refused { json!("more than 50") } else { value })
        });
    "brightness-limited": "The screen is never dark and never brighter than 90 percent, and the schema says so."
        => tools(|tool| if let Some(brightness) = tool.pointer_mut("/inputSchema/properties/brightness") {
            brightness["minimum"] = json!(1);
            brightness["maximum"] = json!(90);
        })
        .on_argument(|property, value| {
            let is_refused = property.name == "brightness"
                && value.as_i64().is_some_and(|brightness| !(1..=90).contains(&brightness));
            Some(if is_refused { json!("not 1 to 90") } else { value })
        });
    "volume-fades": "set_volume takes the time that the change takes, too."
        => tools(|tool| if tool["name"] == SET {
            let time = json!({"type": "integer", "minimum": 0, "maximum": 5000, "default": 0});
            tool["inputSchema"]["properties"]["fade_ms"] = time;
        })
        .on_call(|params, _| {
            let is_set = params["name"] == SET;
            let arguments = params.get_mut("arguments").and_then(Value::as_object_mut);
            if let Some(arguments) = arguments.filter(|_| is_set)
                && let Some(time) = arguments.remove("fade_ms")
                && !time.as_i64().is_some_and(|time| (0..=5000).contains(&time))
            {
                arguments.insert("volume".to_string(), json!("no such time"));
            }
        });
    "levels-in-fives": "Volume and brightness take multiples of five, and the schema says so."
        => tools(|tool| for level in ["volume", "brightness"] {
            let at = format!("/inputSchema/properties/{level}");
            if let Some(schema) = tool.pointer_mut(&at) {
                schema["multipleOf"] = json!(5);
            }
        })
        .on_argument(|property, value| {
            let is_level = ["volume", "brightness"].contains(&property.name);
            let is_refused = is_level && value.as_i64().is_some_and(|level| level % 5 != 0);
            Some(if is_refused { json!("no multiple of 5") } else { value })
        });
    "schemas-as-stock":
        "Arguments have no description and tools without arguments no `properties`."
        => tools(|tool| {
            let schema = &mut tool["inputSchema"];
            if schema["properties"] == json!({}) {
                remove(schema, "properties");
            }
            let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
            for property in properties.into_iter().flat_map(|all| all.values_mut()) {
                remove(property, "description");
            }
        });
    "schemas-verbose":
        "`required` is always present, and schemas have titles and other annotations."
        => pages_of(tools(|tool| {
            let title = format!("Arguments of {}", tool["name"].as_str().unwrap_or_default());
            let schema = &mut tool["inputSchema"];
            if schema.get("required").is_none() {
                schema["required"] = json!([]);
            }
            schema["title"] = json!(title);
            schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
            schema["$comment"] = json!("generated");
        }), 4000);
};

const STOCK: [&str; 5] = [STATUS, SET, BRIGHTNESS, "self.screen.set_theme", "self.reboot"];

const RARE: &[Tool] = &[
    Tool {
        name: "self.灯.get_state",
        description: "Tells whether the lamp 灯 is on.",
        properties: &[],
        user_only: false,
        handler: |_, _, _| Ok("false".to_string()),
    },
    Tool {
        name: "the \"quoted\\tool\"",
        description: "Its name has to be escaped: \"\\\u{1}\u{1f600}.",
        properties: &[Property::integer("größe", "", -5, 5)],
        user_only: false,
        handler: |_, _, _| Ok("true".to_string()),
    },
];

const TWINS: &[Tool] = &[
    Tool {
        name: "self.lamp.get_state",
        description: "Tells whether the lamp at the desk is on.",
        properties: &[],
        user_only: false,
        handler: |_, _, _| Ok("false".to_string()),
    },
    Tool {
        name: "Self.Lamp.Get_State",
        description: "Tells whether the lamp at the door is on.",
        properties: &[],
        user_only: false,
        handler: |_, _, _| Ok("true".to_string()),
    },
];

const LATE: Tool = Tool {
    name: "self.sensor.get_noise",
    description: "Tells how loud it is.",
    properties: &[],
    user_only: false,
    handler: |_, _, _| Ok("41".to_string()),
};

/// A board that has only some of the tools.
fn keeping(keep: fn(&Tool) -> bool) -> Defect {
    defect().setup(move |device| device.registry_mut().retain(keep))
}

/// Pages have about so many bytes.
pub(super) fn pages_of(layer: Defect, bytes: usize) -> Defect {
    layer.setup(move |device| device.registry_mut().limit_pages(bytes))
}

/// Edits each tool of the list.
fn tools(edit: fn(&mut Value)) -> Defect {
    method("tools/list").result(move |page| {
        page["tools"].as_array_mut().into_iter().flatten().for_each(edit);
    })
}

fn encoded(cursor: &str) -> String {
    let digits: Vec<String> = cursor.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{MARK}{}", digits.concat())
}

fn decoded(cursor: &str) -> Option<String> {
    let digits = cursor.strip_prefix(MARK)?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    String::from_utf8(bytes?).ok().filter(|name| !name.is_empty())
}
