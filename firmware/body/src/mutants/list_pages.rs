//! Defects of paging: pages, cursors, and what gets lost between them.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use core::cell::{Cell, RefCell};

use serde_json::{Map, Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Flow, Request};
use crate::prelude::*;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant("page-too-large", "The first page is 9 kB.", || {
        padded(9_000)
    }),
    mutant(
        "page-slightly-too-large",
        "The first page is 8001 bytes: the limit was compared with `>`.",
        || padded(8_001),
    ),
    mutant(
        "page-last-tool-lost",
        "The last tool of the last page is not listed.",
        || {
            page(|_, result| {
                if result.get("nextCursor").is_none() {
                    tools_of(result).pop();
                }
            })
        },
    ),
    mutant(
        "page-boundary-tool-lost",
        "The first tool of every page but the first is lost.",
        || {
            page(|request, result| {
                if !request.cursor().is_empty() && !tools_of(result).is_empty() {
                    tools_of(result).remove(0);
                }
            })
        },
    ),
    mutant(
        "page-boundary-tool-twice",
        "The last tool of a page is listed again on the next one.",
        || {
            let mut last = None;
            Defect::default().on_result("tools/list", move |request, result| {
                let before = last.take().filter(|_| !request.cursor().is_empty());
                last = tools_of(result).last().cloned();
                if let Some(tool) = before {
                    tools_of(result).insert(0, tool);
                }
            })
        },
    ),
    mutant(
        "page-last-missing",
        "The last page is never reached: the one before it has no nextCursor.",
        || {
            page(|request, result| {
                if !request.cursor().is_empty() {
                    remove(result, "nextCursor");
                }
            })
        },
    ),
    mutant(
        "page-cursor-number",
        "nextCursor is the index of a tool, as a number.",
        || {
            let cursors = Rc::new(RefCell::new(Vec::new()));
            let known = Rc::clone(&cursors);
            Defect::default()
                .on_result("tools/list", move |_, result| {
                    if let Some(cursor) = result.get("nextCursor").cloned() {
                        let mut cursors = cursors.borrow_mut();
                        cursors.push(cursor);
                        result["nextCursor"] = json!(cursors.len());
                    }
                })
                .on_method("tools/list", move |payload, _| {
                    let cursor = &payload.get("params").unwrap_or(&Value::Null)["cursor"];
                    let index = cursor.as_u64().or_else(|| cursor.as_str()?.parse().ok());
                    let name = index.and_then(|index| {
                        known
                            .borrow()
                            .get(usize::try_from(index).ok()?.checked_sub(1)?)
                            .cloned()
                    });
                    if let (Some(name), Some(params)) = (name, payload.get_mut("params")) {
                        params["cursor"] = name;
                    }
                    Flow::Pass
                })
        },
    ),
    mutant(
        "page-cursor-null",
        "The last page has the nextCursor null.",
        || {
            page(|_, result| {
                result
                    .as_object_mut()
                    .map(|result| result.entry("nextCursor").or_insert(Value::Null));
            })
        },
    ),
    mutant(
        "page-cursor-loops",
        "The nextCursor of the last page leads back to the second.",
        || {
            let mut second = Value::Null;
            Defect::default().on_result("tools/list", move |request, result| {
                if request.cursor().is_empty() {
                    second = result["nextCursor"].clone();
                } else if result.get("nextCursor").is_none() {
                    result["nextCursor"] = second.clone();
                }
            })
        },
    ),
    mutant(
        "page-cursor-itself",
        "The nextCursor of the second page is its own cursor.",
        || {
            page(|request, result| {
                if !request.cursor().is_empty() {
                    result["nextCursor"] = json!(request.cursor());
                }
            })
        },
    ),
    mutant(
        "pages-endless",
        "After the last page there is always another one, with a new tool.",
        || {
            let count = Rc::new(Cell::new(0_u32));
            let pages = Rc::clone(&count);
            Defect::default()
                .on_method("tools/list", move |payload, hands| {
                    let cursor = payload.get("params").unwrap_or(&Value::Null)["cursor"].as_str();
                    let Some(page) = cursor.and_then(|cursor| cursor.strip_prefix("page-")) else {
                        return Flow::Pass;
                    };
                    let next = count.get() + 1;
                    count.set(next);
                    let tool = json!({
                        "name": format!("self.scene.number_{page}"),
                        "description": "Switches to another scene.",
                        "inputSchema": {"type": "object", "properties": {}},
                    });
                    let result = json!({"tools": [tool], "nextCursor": format!("page-{next}")});
                    hands.send_payload(
                        &json!({"jsonrpc": "2.0", "id": payload.get("id"), "result": result}),
                    );
                    Flow::Drop
                })
                .on_result("tools/list", move |_, result| {
                    if result.get("nextCursor").is_none() {
                        pages.set(pages.get() + 1);
                        result["nextCursor"] = json!(format!("page-{}", pages.get()));
                    }
                })
        },
    ),
    mutant(
        "page-empty",
        "The first page is empty and points to the second, which is the first.",
        || {
            Defect::default().on_method("tools/list", |payload, hands| {
                let params = payload.entry("params").or_insert(json!({}));
                let first = hands
                    .device
                    .registry()
                    .tools()
                    .next()
                    .map_or("", |tool| tool.name);
                let is_first =
                    params.is_object() && params.get("cursor").is_none_or(|cursor| cursor == "");
                if is_first && payload.get("id").is_some_and(Value::is_i64) {
                    let result = json!({"tools": [], "nextCursor": first});
                    hands.send_payload(
                        &json!({"jsonrpc": "2.0", "id": payload.get("id"), "result": result}),
                    );
                    return Flow::Drop;
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "list-order-changes",
        "The second listing is in reverse order within its pages.",
        || {
            let mut listings = 0;
            Defect::default().on_result("tools/list", move |request, result| {
                listings += u32::from(request.cursor().is_empty());
                if listings % 2 == 0 {
                    tools_of(result).reverse();
                }
            })
        },
    ),
    mutant(
        "list-shrinks",
        "Every listing but the first lacks a tool.",
        || {
            let mut listings = 0;
            Defect::default().on_result("tools/list", move |request, result| {
                listings += u32::from(request.cursor().is_empty());
                if listings > 1 {
                    tools_of(result).retain(|tool| tool["name"] != "self.robot.home");
                }
            })
        },
    ),
    mutant(
        "page-cursor-used-up",
        "A cursor is good for one use: the second time it is unknown.",
        || {
            let known = Rc::new(RefCell::new(BTreeMap::new()));
            let given = Rc::clone(&known);
            let mut count = 0;
            Defect::default()
                .on_method("tools/list", move |payload, _| {
                    if let Some(params @ Value::Object(_)) = payload.get_mut("params")
                        && let Some(cursor) = params["cursor"].as_str()
                        && let Some(name) = known.borrow_mut().remove(cursor)
                    {
                        params["cursor"] = name;
                    }
                    Flow::Pass
                })
                .on_result("tools/list", move |_, result| {
                    if let Some(cursor) = result.get("nextCursor").cloned() {
                        count += 1;
                        let ticket = format!("ticket-{count}");
                        given.borrow_mut().insert(ticket.clone(), cursor);
                        result["nextCursor"] = json!(ticket);
                    }
                })
        },
    ),
    mutant(
        "page-cursor-moves",
        "Asking for a page again gives it without its last tool.",
        || {
            let mut seen = BTreeMap::<String, u32>::new();
            Defect::default().on_result("tools/list", move |request, result| {
                let cursor = request.cursor().to_string();
                if cursor.is_empty() {
                    // A new listing starts afresh, so that two listings are equal.
                    seen.clear();
                    return;
                }
                let times = seen.entry(cursor).or_default();
                *times += 1;
                if *times > 1 {
                    tools_of(result).pop();
                }
            })
        },
    ),
    mutant(
        "cursor-unknown-first-page",
        "An unknown cursor gives the first page.",
        || unknown_cursor(|params, _| remove(params, "cursor")),
    ),
    mutant(
        "cursor-unknown-rest",
        "An unknown cursor gives what follows it in the alphabet.",
        || {
            unknown_cursor(|params, names| {
                let asked = params["cursor"].as_str().unwrap_or_default().to_string();
                let next = names
                    .iter()
                    .filter(|name| **name > asked.as_str())
                    .min()
                    .or_else(|| names.last());
                params["cursor"] = json!(next);
            })
        },
    ),
    mutant(
        "cursor-unknown-code",
        "An unknown cursor is an internal error.",
        || cursor_error(|error| error["code"] = json!(-32603)),
    ),
    mutant(
        "cursor-unknown-not-found",
        "An unknown cursor gets the code of an unknown method.",
        || cursor_error(|error| error["code"] = json!(-32601)),
    ),
    mutant(
        "cursor-empty-refused",
        "An empty cursor is refused as an unknown one.",
        || refused(|params| params.get("cursor").and_then(Value::as_str) == Some("")),
    ),
    mutant(
        "list-needs-params",
        "tools/list without params is refused.",
        || {
            Defect::default().on_method("tools/list", |payload, hands| {
                if payload.contains_key("params") || !payload.get("id").is_some_and(Value::is_i64) {
                    return Flow::Pass;
                }
                hands.send_payload(&refusal(payload));
                Flow::Drop
            })
        },
    ),
    mutant(
        "cursor-number-ignored",
        "A cursor that is no string is taken for none.",
        || {
            Defect::default().on_method("tools/list", |payload, _| {
                if let Some(params @ Value::Object(_)) = payload.get_mut("params")
                    && !params["cursor"].is_string()
                {
                    remove(params, "cursor");
                }
                Flow::Pass
            })
        },
    ),
];

/// Edits the pages.
fn page(edit: fn(&Request, &mut Value)) -> Defect {
    Defect::default().on_result("tools/list", edit)
}

/// Lengthens the first page to a number of bytes.
fn padded(bytes: usize) -> Defect {
    Defect::default().on_result("tools/list", move |request, result| {
        let missing = bytes.saturating_sub(result.to_string().len());
        if request.cursor().is_empty()
            && let Some(first) = tools_of(result).first_mut()
        {
            let description = first["description"].as_str().unwrap_or_default();
            first["description"] = json!(format!("{description}{}", ".".repeat(missing)));
        }
    })
}

fn tools_of(result: &mut Value) -> &mut Vec<Value> {
    if !result["tools"].is_array() {
        result["tools"] = json!([]);
    }
    result["tools"].as_array_mut().expect("made an array above")
}

/// Changes the parameters of requests whose cursor names no listed tool.
fn unknown_cursor(edit: fn(&mut Value, &[&str])) -> Defect {
    Defect::default().on_method("tools/list", move |payload, hands| {
        let names: Vec<_> = hands
            .device
            .registry()
            .tools()
            .filter(|tool| !tool.user_only)
            .map(|tool| tool.name)
            .collect();
        if let Some(params @ Value::Object(_)) = payload.get_mut("params")
            && let Some(cursor) = params["cursor"].as_str()
            && !cursor.is_empty()
            && hands.device.registry().find(cursor).is_none()
        {
            edit(params, &names);
        }
        Flow::Pass
    })
}

/// Edits the error about an unknown cursor.
fn cursor_error(edit: fn(&mut Value)) -> Defect {
    Defect::default().on_error(move |cause, error| {
        if cause.method() == "tools/list" && !cause.cursor().is_empty() {
            edit(error);
        }
    })
}

/// Refuses some list requests.
fn refused(is_refused: fn(&Value) -> bool) -> Defect {
    Defect::default().on_method("tools/list", move |payload, hands| {
        if !payload.get("params").is_some_and(is_refused)
            || !payload.get("id").is_some_and(Value::is_i64)
        {
            return Flow::Pass;
        }
        hands.send_payload(&refusal(payload));
        Flow::Drop
    })
}

fn refusal(payload: &Map<String, Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": payload.get("id"), "error": {"code": -32602, "message": "Invalid params"}})
}

fn remove(object: &mut Value, member: &str) {
    object.as_object_mut().map(|object| object.remove(member));
}
