//! Defects of paging: pages, cursors, and what gets lost between them.

use alloc::collections::BTreeMap;

use crate::rows::prelude::*;

pub(super) const MUTANTS: &[Row] = rows! {
    "page-too-large": "The first page is 9 kB." => padded(9_000);
    "page-slightly-too-large": "The first page is 8001 bytes: the limit was compared with `>`."
        => padded(8_001);
    "page-last-tool-lost": "The last tool of the last page is not listed."
        => pages(|_, result| if result.get("nextCursor").is_none() { tools_of(result).pop(); });
    "page-boundary-tool-lost": "The first tool of every page but the first is lost."
        => pages(|request, result| {
            if !request.cursor().is_empty() && !tools_of(result).is_empty() {
                tools_of(result).remove(0);
            }
        });
    "page-boundary-tool-twice": "The last tool of a page is listed again on the next one." => {
        let mut last = None;
        pages(move |request, result| {
            let before = last.take().filter(|_| !request.cursor().is_empty());
            last = tools_of(result).last().cloned();
            tools_of(result).splice(0..0, before);
        })
    };
    "page-cursor-refused": "The cursor of the last page is refused, and that page is never seen." => {
        let last = Rc::new(RefCell::new(None));
        let refused = Rc::clone(&last);
        pages(move |_, result| {
            if let Some(cursor) = result.get("nextCursor") {
                *last.borrow_mut() = Some(cursor.clone());
            }
        })
        .on_method("tools/list", move |payload, hands| {
            let cursor = &get(payload, "params")["cursor"];
            let is_given = cursor.is_string() && Some(cursor) == refused.borrow().as_ref();
            reply_if(is_given, payload, hands, |id| error(id, -32602, "Invalid cursor"))
        })
    };
    "page-cursor-null-unanswered": "A cursor that is null is waited for."
        => when(|request| request.method() == "tools/list" && request.params().get("cursor") == Some(&Value::Null))
            .unanswered();
    "page-last-missing": "The last page is never reached: the one before it has no nextCursor."
        => pages(|request, result| if !request.cursor().is_empty() {
            remove(result, "nextCursor");
        });
    "page-cursor-number": "nextCursor is the index of a tool, as a number." => {
        let cursors = Rc::new(RefCell::new(Vec::new()));
        let known = Rc::clone(&cursors);
        pages(move |_, result| if let Some(cursor) = result.get("nextCursor").cloned() {
            cursors.borrow_mut().push(cursor);
            result["nextCursor"] = json!(cursors.borrow().len());
        })
        .on_method("tools/list", move |payload, _| {
            let cursor = &get(payload, "params")["cursor"];
            let number = cursor.as_u64().or_else(|| cursor.as_str()?.parse().ok());
            let index = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
            let name = index.and_then(|index| known.borrow().get(index).cloned());
            if let (Some(name), Some(params)) = (name, payload.get_mut("params")) {
                params["cursor"] = name;
            }
            Flow::Pass
        })
    };
    "page-cursor-misspelt": "The cursor of the next page is called next_cursor, and no other page is ever seen."
        => pages(|_, result| if let Some(cursor) = result.get("nextCursor").cloned() {
            remove(result, "nextCursor");
            result["next_cursor"] = cursor;
        });
    "page-cursor-null": "The last page has the nextCursor null."
        => pages(|_, result| if result.get("nextCursor").is_none() {
            result["nextCursor"] = Value::Null;
        });
    "page-cursor-loops": "The nextCursor of the last page leads back to the second." => {
        let mut second = Value::Null;
        pages(move |request, result| {
            if request.cursor().is_empty() {
                second = result["nextCursor"].clone();
            } else if result.get("nextCursor").is_none() {
                result["nextCursor"] = second.clone();
            }
        })
    };
    "page-cursor-itself": "The nextCursor of the second page is its own cursor."
        => pages(|request, result| if !request.cursor().is_empty() {
            result["nextCursor"] = json!(request.cursor());
        });
    "pages-endless": "After the last page there is always another one, with a new tool." => {
        let [count, listed] = shared(0_u32);
        pages(move |_, result| if result.get("nextCursor").is_none() {
            listed.set(listed.get() + 1);
            result["nextCursor"] = json!(format!("page-{}", listed.get()));
        })
        .on_method("tools/list", move |payload, hands| {
            let cursor = get(payload, "params")["cursor"].as_str();
            let Some(page) = cursor.and_then(|cursor| cursor.strip_prefix("page-")) else {
                return Flow::Pass;
            };
            count.set(count.get() + 1);
            let tool = json!({
                "name": format!("self.scene.number_{page}"),
                "description": "Switches to another scene.",
                "inputSchema": {"type": "object", "properties": {}},
            });
            let page = json!({"tools": [tool], "nextCursor": format!("page-{}", count.get())});
            hands.send_payload(&result(get(payload, "id"), page));
            Flow::Drop
        })
    };
    "page-empty": "The first page is empty and points to the second, which is the first."
        => pages(|request, result| {
            if request.cursor().is_empty() {
                let first = result["tools"][0]["name"].take();
                *result = json!({"tools": [], "nextCursor": first});
            }
        });
    "list-order-changes": "The second listing is in reverse order within its pages." => {
        let mut listings = 0;
        pages(move |request, result| {
            listings += u32::from(request.cursor().is_empty());
            if listings % 2 == 0 {
                tools_of(result).reverse();
            }
        })
    };
    "list-schema-changes": "From the second listing on the greatest volume is 99." => {
        let mut listings = 0;
        pages(move |request, result| {
            listings += u32::from(request.cursor().is_empty());
            let is_volume = |tool: &&mut Value| tool["name"] == "self.audio_speaker.set_volume";
            if let (2.., Some(tool)) = (listings, tools_of(result).iter_mut().find(is_volume)) {
                tool["inputSchema"]["properties"]["volume"]["maximum"] = json!(99);
            }
        })
    };
    "list-shrinks": "Every listing but the first lacks a tool." => {
        let mut listings = 0;
        pages(move |request, result| {
            listings += u32::from(request.cursor().is_empty());
            tools_of(result).retain(|tool| listings <= 1 || tool["name"] != "self.robot.home");
        })
    };
    "page-cursor-used-up": "A cursor is valid only once: the second time it is unknown." => {
        let known = Rc::new(RefCell::new(BTreeMap::new()));
        let given = Rc::clone(&known);
        let mut count = 0;
        pages(move |_, result| if let Some(cursor) = result.get("nextCursor").cloned() {
            count += 1;
            let ticket = format!("ticket-{count}");
            given.borrow_mut().insert(ticket.clone(), cursor);
            result["nextCursor"] = json!(ticket);
        })
        .on_method("tools/list", move |payload, _| {
            if let Some(params @ Value::Object(_)) = payload.get_mut("params")
                && let Some(cursor) = params["cursor"].as_str()
                && let Some(name) = known.borrow_mut().remove(cursor)
            {
                params["cursor"] = name;
            }
            Flow::Pass
        })
    };
    "page-cursor-moves": "Requesting a page again returns it without its last tool." => {
        let mut seen = BTreeMap::<String, u32>::new();
        pages(move |request, result| {
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
    };
    "cursor-unknown-first-page": "An unknown cursor returns the first page."
        => unknown_cursor(|params, _| remove(params, "cursor"));
    "cursor-unknown-rest": "An unknown cursor returns what follows it alphabetically."
        => unknown_cursor(|params, names| {
            let asked = params["cursor"].as_str().unwrap_or_default();
            let next =
                names.iter().filter(|name| **name > asked).min().or_else(|| names.last());
            params["cursor"] = json!(next);
        });
    "cursor-prefix": "The beginning of a tool's name is a cursor, too."
        => unknown_cursor(|params, names| {
            let asked = params["cursor"].as_str().unwrap_or_default();
            if let Some(name) = names.iter().find(|name| name.starts_with(asked)) {
                params["cursor"] = json!(name);
            }
        });
    "cursor-unknown-code": "An unknown cursor gets the code of an internal error."
        => cursor_error(|error| error["code"] = json!(-32603));
    "cursor-unknown-not-found": "An unknown cursor gets the code of an unknown method."
        => cursor_error(|error| error["code"] = json!(-32601));
    "cursor-empty-refused": "An empty cursor is refused as an unknown one."
        => refused("tools/list", |params| params["cursor"] == "");
    "list-tool-of-another-board": "The list ends with a tool that this board does not have."
        => pages(|_, result| if result.get("nextCursor").is_none() {
            let other = json!({
                "name": "self.compass.get_bearing",
                "description": "The bearing in degrees.",
                "inputSchema": {"type": "object", "properties": {}},
            });
            result["tools"].as_array_mut().expect("tools").push(other);
        });
    "list-needs-params": "tools/list without params is refused."
        => defect().on_method("tools/list", |payload, hands| {
            let is_bare = !payload.contains_key("params");
            reply_if(is_bare, payload, hands, |id| error(id, -32602, "Invalid params"))
        });
    "cursor-number-ignored": "A cursor that is not a string is treated as none."
        => defect().on_method("tools/list", |payload, _| {
            if let Some(params @ Value::Object(_)) = payload.get_mut("params")
                && !params["cursor"].is_string()
            {
                remove(params, "cursor");
            }
            Flow::Pass
        });
};

/// Edits the pages.
fn pages(edit: impl FnMut(&Request, &mut Value) + 'static) -> Defect {
    defect().on_result("tools/list", edit)
}

/// Lengthens the first page to a number of bytes.
fn padded(bytes: usize) -> Defect {
    pages(move |request, result| {
        let missing = bytes.saturating_sub(result.to_string().len());
        if request.cursor().is_empty()
            && let Some(first) = tools_of(result).first_mut()
        {
            let description = first["description"].as_str().unwrap_or_default();
            first["description"] = json!(format!("{description}{}", ".".repeat(missing)));
        }
    })
}

/// Changes the parameters of requests whose cursor names no listed tool.
fn unknown_cursor(edit: fn(&mut Value, &[&str])) -> Defect {
    defect().on_method("tools/list", move |payload, hands| {
        if let Some(params @ Value::Object(_)) = payload.get_mut("params")
            && let Some(cursor) = params["cursor"].as_str()
            && !cursor.is_empty()
            && hands.device.registry().find(cursor).is_none()
        {
            edit(params, &listed(hands));
        }
        Flow::Pass
    })
}

/// Edits the error about an unknown cursor.
fn cursor_error(edit: fn(&mut Value)) -> Defect {
    when(|request| request.method() == "tools/list" && !request.cursor().is_empty()).error(edit)
}
