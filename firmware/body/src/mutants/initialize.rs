//! Defects of `initialize`.

use reference_device::Board;

use crate::rows::prelude::*;

pub(super) const MUTANTS: &[Row] = rows! {
    "initialize-version-number": "The protocol version is a number."
        => results(|result| result["protocolVersion"] = json!(20_241_105));
    "initialize-version-format": "The protocol version is `v1.0` instead of a date."
        => results(|result| result["protocolVersion"] = json!("v1.0"));
    "initialize-version-missing": "The result has no protocol version."
        => results(|result| remove(result, "protocolVersion"));
    "initialize-version-echoed": "Whatever version the client requests is accepted."
        => defect().on_result("initialize", |request, result| {
            if let Some(asked @ Value::String(_)) = request.params().get("protocolVersion") {
                result["protocolVersion"] = asked.clone();
            }
        });
    "initialize-version-refused": "A client that requests a different version gets an internal error."
        => answered("initialize", is_of_other_version, |id| error(id, -32603, "initialize failed"));
    "initialize-instructions-number": "The instructions for the client are a number."
        => results(|result| result["instructions"] = json!(7));
    "initialize-logging-true": "The capability of logging is true instead of an object."
        => results(|result| result["capabilities"]["logging"] = json!(true));
    "initialize-prompts-claimed": "A capability of prompts is claimed that there is not."
        => results(|result| result["capabilities"]["prompts"] = json!({}));
    "initialize-version-given-up": "The version is the one that was asked for, and from the second time on a later one." => {
        let mut is_first = once();
        results(move |result| if !is_first() {
            result["protocolVersion"] = json!("2025-03-26");
        })
    };
    "initialize-client-title-refused": "A client that has more than name and version is refused."
        => refused(|params| params.pointer("/clientInfo/title").is_some());
    "initialize-version-changes": "From the fourth time on the name of the device is another." => {
        let mut times = 0;
        results(move |result| {
            times += 1;
            if times > 3 {
                result["serverInfo"]["name"] = json!("unnamed");
            }
        })
    };
    "initialize-vision-token-number-panics": "A token for pictures that is a number is copied as text."
        => defect().on_method("initialize", |payload, hands| {
            let vision = &get(payload, "params")["capabilities"]["vision"];
            let is_number = vision["url"].is_string() && vision["token"].is_number();
            act_if(is_number, Act::Panic, hands)
        });
    "initialize-tools-missing": "The capabilities do not name tools."
        => results(|result| result["capabilities"] = json!({}));
    "initialize-tools-true": "The capability of tools is true instead of an object."
        => results(|result| result["capabilities"]["tools"] = json!(true));
    "initialize-list-changed-misspelt": "The capability of tools has `list_changed`."
        => results(|result| {
            remove(&mut result["capabilities"]["tools"], "listChanged");
            result["capabilities"]["tools"]["list_changed"] = json!(true);
        });
    "initialize-list-changed-string": "The capability of tools has `listChanged` as a string."
        => results(|result| result["capabilities"]["tools"]["listChanged"] = json!("false"));
    "initialize-server-info-missing": "The result has no serverInfo."
        => results(|result| remove(result, "serverInfo"));
    "initialize-server-name-missing": "serverInfo has no name."
        => results(|result| remove(&mut result["serverInfo"], "name"));
    "initialize-server-version-number": "The version in serverInfo is a number."
        => results(|result| result["serverInfo"]["version"] = json!(2.4));
    "initialize-needs-client-info": "A request without clientInfo is refused, as in MCP."
        => refused(|params| params.get("clientInfo").is_none());
    "initialize-incomplete-forgets":
        "A request without protocolVersion ends the session: nothing is answered until a complete one." => {
        let mut ended = false;
        payloads_lost(move |payload| {
            if get(payload, "method") == "initialize" {
                ended = get(payload, "params").get("protocolVersion").is_none();
            }
            ended
        })
    };
    "initialize-needs-vision": "A request without capabilities.vision is refused."
        => refused(|params| params["capabilities"].get("vision").is_none());
    "initialize-needs-vision-silent":
        "A request without capabilities.vision ends in an exception, which is logged."
        => payloads_lost(|payload| {
            let has_vision = get(payload, "params")["capabilities"]["vision"].is_object();
            get(payload, "method") == "initialize" && !has_vision
        });
    "initialize-client-info-refused":
        "A request with clientInfo is refused because of an unknown member."
        => refused(|params| params.get("clientInfo").is_some());
    "initialize-vision-refused": "A request with a vision service is refused: there is no camera."
        => refused(|params| params["capabilities"].get("vision").is_some());
    "initialize-vision-panics": "Storing the URL of the vision service overruns a buffer."
        => defect().on_method("initialize", |payload, hands| {
            let has_url = get(payload, "params")["capabilities"]["vision"]["url"].is_string();
            act_if(has_url, Act::Panic, hands)
        });
    "initialize-unknown-capability-refused": "A client capability that is not vision is refused."
        => refused(|params| {
            let capabilities = params["capabilities"].as_object();
            capabilities.is_some_and(|all| all.keys().any(|name| name != "vision"))
        });
    "initialize-repeat-refused": "A second initialize on one connection is refused."
        => repeated(2, |payload, hands| {
            hands.send_payload(&error(get(payload, "id"), -32602, "already initialized"));
            Flow::Drop
        });
    "initialize-repeat-other-name": "Each initialize names another server." => {
        let mut number = 0;
        results(move |result| {
            number += 1;
            result["serverInfo"]["name"] = json!(format!("server {number}"));
        })
    };
    "initialize-repeat-unanswered": "A second initialize on one connection is not answered."
        => repeated(2, |_, _| Flow::Drop);
    "initialize-repeat-hangs": "After a second initialize nothing is answered." => {
        let [initialized, seen] = shared(false);
        defect()
            .on_answer(move |cause, payload, hands| {
                if cause.method() != "initialize" || !seen.replace(true) {
                    return Flow::Pass;
                }
                hands.send_payload(payload);
                instead(Act::Hang, hands)
            })
            .disconnected(move |_| initialized.set(false))
    };
    "initialize-third-unanswered":
        "The third initialize on one connection, and every later one, is not answered."
        => repeated(3, |_, _| Flow::Drop);
    "initialize-repeat-loses-tools":
        "A second initialize registers the tools again, and half of them fail." => {
        let [count, seen, lost] = shared(0);
        defect()
            .on_method("initialize", move |_, _| {
                seen.set(seen.get() + 1);
                Flow::Pass
            })
            .on_result("tools/list", move |_, result| {
                // Getting to know the device takes three.
                if count.get() > 3
                    && let Some(Value::Array(tools)) = result.get_mut("tools")
                {
                    tools.truncate(tools.len() / 2);
                }
            })
            .disconnected(move |_| lost.set(0))
    };
    "initialize-resets-volume":
        "initialize sets the volume to the level that the device had when it was new."
        => defect().on_method("initialize", |_, hands| {
            hands.device.board_mut().speaker = Board::default().speaker;
            Flow::Pass
        });
};

/// Edits the results.
fn results(edit: impl FnMut(&mut Value) + 'static) -> Defect {
    method("initialize").result(edit)
}

/// Refuses some requests.
fn is_of_other_version(params: &Value) -> bool {
    params.get("protocolVersion").is_some_and(|asked| asked != "2024-11-05")
}

fn refused(is_refused: fn(&Value) -> bool) -> Defect {
    answered("initialize", is_refused, |id| error(id, -32602, "initialize refused"))
}

/// Sees the request of this number on a connection, and those behind it.
fn repeated(number: u32, hook: fn(&Map<String, Value>, &mut Hands) -> Flow) -> Defect {
    let [count, seen] = shared(0);
    defect()
        .on_method("initialize", move |payload, hands| {
            seen.set(seen.get() + 1);
            match seen.get() >= number {
                true => hook(payload, hands),
                false => Flow::Pass,
            }
        })
        .disconnected(move |_| count.set(0))
}
