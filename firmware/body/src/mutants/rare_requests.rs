//! Defects that one request in many shows, by its name, its cursor, its spelling or its company.

use crate::rows::prelude::*;

pub(super) const LIST: &[Row] = rows! {
    "cursor-beginning-accepted":
        "A cursor that is a prefix of a tool's name is treated as that tool's."
        => defect().on_method("tools/list", |payload, hands| {
            let params = payload.get_mut("params").and_then(|params| params.get_mut("cursor"));
            if let Some(Value::String(cursor)) = params
                && cursor.len() > "self.".len()
                && let Some(name) =
                    listed(hands).iter().find(|name| name.starts_with(cursor.as_str()))
            {
                *cursor = (*name).to_string();
            }
            Flow::Pass
        });
    "cursor-empty-hides-user-tools": "A list that is begun with an empty cursor has no tools for users, whatever is asked for." => {
        let mut hides = false;
        defect().on_method("tools/list", move |payload, _| {
            match get(payload, "params").get("cursor") {
                None => hides = false,
                Some(cursor) => hides |= cursor == "",
            }
            if hides && let Some(params) = payload.get_mut("params") {
                remove(params, "withUserTools");
            }
            Flow::Pass
        })
    };
    "cursor-lost-after-call": "After a call of a tool no cursor is known any more." => {
        let mut known = true;
        defect().on_payload(move |payload, hands| {
            let cursor = get(payload, "params").get("cursor").is_some_and(|it| it != "");
            match get(payload, "method").as_str() {
                Some("tools/call") => known = false,
                Some("tools/list") if !cursor => known = true,
                Some("tools/list") if !known => {
                    let refusal = error(get(payload, "id"), -32602, "Unknown cursor");
                    hands.send_payload(&refusal);
                    return Flow::Drop;
                }
                _ => {}
            }
            Flow::Pass
        })
    };
    "cursor-third-time-short":
        "A page that is requested three times in a row has one tool fewer the third time." => {
        let mut last = (String::new(), 0);
        defect().on_result("tools/list", move |request, result| {
            if last.0 != request.cursor() {
                last = (request.cursor().to_string(), 0);
            }
            last.1 += 1;
            if last.1 == 3 && !request.cursor().is_empty() {
                tools_of(result).pop();
            }
        })
    };
    "cursor-null-unanswered": "tools/list with the cursor null is not answered."
        => payloads_lost(|payload| {
            get(payload, "method") == "tools/list"
                && get(payload, "params").get("cursor").is_some_and(Value::is_null)
        });
    "list-extra-params-refused":
        "tools/list with a parameter that the device does not know is refused."
        => defect().on_method("tools/list", |payload, hands| {
            let known =
                |name: &String| ["cursor", "withUserTools", "_meta"].contains(&name.as_str());
            let strange = get(payload, "params").as_object();
            if strange.is_none_or(|params| params.keys().all(known)) {
                return Flow::Pass;
            }
            hands.send_payload(&error(get(payload, "id"), -32602, "Invalid params"));
            Flow::Drop
        });
};

/// What every object of JavaScript has.
const OF_EVERY_OBJECT: [&str; 3] = ["constructor", "toString", "hasOwnProperty"];

pub(super) const NAMES: &[Row] = rows! {
    "method-of-every-object": "Methods are looked up among the members that every object has: `constructor` gets a result."
        => when(|request| OF_EVERY_OBJECT.contains(&request.method()))
            .answer(|payload| *payload = result(&payload["id"], json!({})));
    "tool-of-every-object": "Tools are looked up among the members that every object has: calling `toString` succeeds."
        => when(|request| OF_EVERY_OBJECT.contains(&request.tool()))
            .answer(|payload| *payload = result(&payload["id"], text_result("[object Object]")));
    "tool-of-every-class-panics": "Tools are attributes of a class, and calling `__init__` crashes the device."
        => tool("__init__").instead(Act::Panic);
    "many-values-panic": "The table of the parser holds 128 values, and nothing looks whether it is full."
        => texts(|text| text.matches(',').count() > 128, Act::Panic);
    "version-begins-alike-taken": "Of the version of JSON-RPC the first three characters are compared."
        => payloads(|payload| {
            if get(payload, "jsonrpc").as_str().is_some_and(|version| version.starts_with("2.0")) {
                set(payload, "jsonrpc", "2.0");
            }
        });
    "method-64-bytes-lost": "A request whose method has exactly 64 bytes is not answered."
        => payloads_lost(|payload| {
            get(payload, "method").as_str().is_some_and(|name| name.len() == 64)
        });
    "method-tab-trimmed": "A tab or a line end after a method is ignored."
        => methods_as(|method| method.trim_end_matches(['\t', '\r', '\n']));
    "method-cut-at-nul": "A method ends at its first NUL."
        => methods_as(|method| method.split('\0').next().unwrap_or_default());
    "tool-name-underscores": "Tools can be called with underscores instead of dots."
        => defect().on_call(|params, hands| {
            let mut tools = hands.device.registry().tools();
            if let Some(meant) =
                tools.find(|tool| params["name"] == tool.name.replace('.', "_"))
            {
                params["name"] = json!(meant.name);
            }
        });
};

pub(super) const SPELLINGS: &[Row] = rows! {
    "json-newline-at-end-dropped": "A text with a line end after it is ignored."
        => texts_lost(|text| text.ends_with("}\n"));
    "json-capital-hex-unread": "Upper-case hexadecimal digits in escapes are not understood."
        => texts_lost(|text| {
            let escape = |high, digit| text.contains(&format!("\\u00{high}{digit}"));
            ('A'..='F').any(|digit| ('2'..='7').any(|high| escape(high, digit)))
        });
    "json-method-last-dropped": "A request whose method is its last member is ignored."
        => texts_lost(|text| {
            let at = |name: &str| text.find(&format!("\"{name}\":"));
            let others = [at("jsonrpc"), at("id"), at("params")];
            let is_before =
                |method, other: &Option<usize>| other.is_some_and(|other| other < method);
            at("method")
                .is_some_and(|method| others.iter().all(|other| is_before(method, other)))
        });
    "json-duplicate-member-panics": "A method that occurs twice overruns the table of members."
        => texts(
            |text| {
                let count = |text: &str| text.matches(r#""method":"#).count();
                let read = || serde_json::from_str::<Value>(text).unwrap_or_default();
                count(text) == 2 && count(&read().to_string()) == 1
            },
            Act::Panic,
        );
    "json-seven-deep-dropped": "A request with structures nested seven deep or more is ignored."
        => texts_lost(|text| {
            let message = serde_json::from_str::<Value>(text).unwrap_or_default();
            message["payload"]["method"] == "tools/list" && depth(&message) >= 7
        });
    "json-128-tokens": "A text of more than 128 values and names is more than the parser has room for, and ignored."
        => texts_lost(|text| text.matches([',', ':']).count() > 128);
    "json-nested-name-called": "The tool is the one whose name comes first in a call, also if an argument is called `name`."
        => defect().on_call(|params, _| {
            let is_first = params.as_object().and_then(|all| all.keys().next()).is_some_and(|key| key == "arguments");
            if let Some(nested) = params["arguments"].get("name").cloned().filter(|_| is_first) {
                params["name"] = nested;
            }
        });
    "json-nested-id-answered": "The id of a request is the one that comes first in it, also in its params."
        => payloads(|payload| {
            let mut before = payload.iter().take_while(|(name, _)| *name != "id");
            let params = before.find(|(name, _)| *name == "params");
            if let Some(nested) = params.and_then(|(_, params)| params.get("id")).cloned() {
                set(payload, "id", nested);
            }
        });
    "json-nested-params-read": "The params of a request are those that come first in it, also within another member."
        => payloads(|payload| {
            let before = payload.iter().take_while(|(name, _)| *name != "params");
            let nested = before.filter_map(|(_, value)| value.get("params")).next().cloned();
            if let Some(nested) = nested {
                set(payload, "params", nested);
            }
        });
    "json-second-text-hangs":
        "A second text after the first one, on its own line, makes the device hang."
        => defect().inbound(|inbound, hands| {
            if inbound.text.contains("}\n{") {
                hands.act(Act::Hang);
            }
            Flow::Pass
        });
    "json-nameless-member-dropped": "A request with a member whose name is empty is ignored."
        => payloads_lost(|payload| payload.contains_key(""));
};

/// How many structures lie within each other.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

pub(super) const REWRITTEN: &[Row] = rows! {
    "json-escaped-argument-unread":
        "The name of an argument that is spelled with escapes is not understood."
        => texts_as(|text| {
            let mut envelope: Value = serde_json::from_str(text).unwrap_or_default();
            if let Some(Value::Object(arguments)) =
                envelope.pointer_mut("/payload/params/arguments")
                && arguments.keys().any(|name| !text.contains(name.as_str()))
            {
                arguments.clear();
                *text = envelope.to_string();
            }
        });
    "error-code-by-order":
        "An invalid call whose `arguments` come before its `name` gets the code for an invalid request." => {
        let [swapped, seen] = shared(false);
        texts_as(move |text| {
            let at = |name: &str| text.find(&format!("\"{name}\":"));
            seen.set(
                matches!((at("arguments"), at("name")), (Some(one), Some(other)) if one < other),
            );
        })
        .on_error(move |cause, error| if swapped.get() && cause.method() == "tools/call" {
            error["code"] = json!(-32600);
        })
    };
};

pub(super) const TRANSPORT: &[Row] = rows! {
    "transport-long-name-code":
        "Over MQTT an unknown method with a name of 100 bytes or more gets a different code."
        => defect().on_answer(|cause, payload, hands| {
            if hands.over_mqtt() && cause.method().len() >= 100 && !payload["error"].is_null() {
                payload["error"]["code"] = json!(-32600);
            }
            Flow::Pass
        });
};

pub(super) const COMPANY: &[Row] = rows! {
    "in-flight-fourteen-mixed":
        "Of fourteen or more requests in flight the first two get each other's content."
        => crowd(14, |answers| {
            let (one, other) = (content(&answers[0]), content(&answers[1]));
            set_content(&mut answers[0], other);
            set_content(&mut answers[1], one);
        });
    "in-flight-fifteen-one-lost":
        "Of fifteen or more different requests in flight one is not answered."
        => crowd(15, |answers| drop(answers.remove(0)));
    "in-flight-levels-averaged": "Two levels that are set at the same time result in their mean." => {
        let waiting = Rc::new(RefCell::new(Vec::<(Value, i64)>::new()));
        let (out, gone) = (Rc::clone(&waiting), Rc::clone(&waiting));
        let [mean, set] = shared(None);
        defect()
            .on_answer(move |cause, payload, hands| {
                let level = cause.argument("volume").as_i64().filter(|_| cause.tool() == SET);
                let Some(level) = level.filter(|_| payload.get("result").is_some()) else {
                    return Flow::Pass;
                };
                let mut waiting = waiting.borrow_mut();
                match waiting.first() {
                    None => hands.act_later(HOLD_MS, Act::Wake),
                    Some((_, first)) => set.set(u8::try_from((first + level) / 2).ok()),
                }
                waiting.push((payload.take(), level));
                Flow::Drop
            })
            .wake(move |hands| {
                if let Some(level) = mean.take() {
                    hands.device.board_mut().speaker.volume = level;
                }
                let answers = core::mem::take(&mut *out.borrow_mut());
                answers.iter().for_each(|(answer, _)| hands.send_payload(answer));
            })
            .disconnected(move |_| gone.borrow_mut().clear())
    };
};

/// Collects answers, and spoils them when there are so many of different kinds.
fn crowd(least: usize, spoil: fn(&mut Vec<Value>)) -> Defect {
    collected(move |answers| {
        // Those that differ most stand in front.
        let first = content(&answers[0]);
        let other = answers.iter().position(|answer| content(answer) != first);
        if let Some(other) = other.filter(|_| answers.len() >= least) {
            answers.swap(1, other);
            spoil(answers);
        }
    })
}

/// Reads methods in another way.
fn methods_as(read: fn(&str) -> &str) -> Defect {
    payloads(move |payload| {
        if let Some(Value::String(method)) = payload.get_mut("method") {
            *method = read(method).to_string();
        }
    })
}
