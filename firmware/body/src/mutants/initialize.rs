//! Defects of `initialize`.

use alloc::rc::Rc;
use core::cell::Cell;

use reference_device::Board;
use serde_json::{Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::{Act, Flow, Request};

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "initialize-version-number",
        "The protocol version is a number.",
        || result(|_, result| result["protocolVersion"] = json!(20_241_105)),
    ),
    mutant(
        "initialize-version-format",
        "The protocol version is `v1.0` instead of a date.",
        || result(|_, result| result["protocolVersion"] = json!("v1.0")),
    ),
    mutant(
        "initialize-version-missing",
        "The result has no protocol version.",
        || result(|_, result| remove(result, "protocolVersion")),
    ),
    mutant(
        "initialize-version-echoed",
        "Whatever version the client asks for is agreed to.",
        || {
            result(|request, result| {
                if let Some(asked @ Value::String(_)) = request.params().get("protocolVersion") {
                    result["protocolVersion"] = asked.clone();
                }
            })
        },
    ),
    mutant(
        "initialize-version-refused",
        "A client that asks for another version gets an error.",
        || {
            refused(|params| {
                params
                    .get("protocolVersion")
                    .is_some_and(|asked| asked != "2024-11-05")
            })
        },
    ),
    mutant(
        "initialize-tools-missing",
        "The capabilities do not name tools.",
        || result(|_, result| result["capabilities"] = json!({})),
    ),
    mutant(
        "initialize-tools-true",
        "The capability of tools is true instead of an object.",
        || result(|_, result| result["capabilities"]["tools"] = json!(true)),
    ),
    mutant(
        "initialize-server-info-missing",
        "The result has no serverInfo.",
        || result(|_, result| remove(result, "serverInfo")),
    ),
    mutant(
        "initialize-server-name-missing",
        "serverInfo has no name.",
        || result(|_, result| remove(&mut result["serverInfo"], "name")),
    ),
    mutant(
        "initialize-server-version-number",
        "The version in serverInfo is a number.",
        || result(|_, result| result["serverInfo"]["version"] = json!(2.4)),
    ),
    mutant(
        "initialize-needs-client-info",
        "A request without clientInfo is refused, as MCP would have it.",
        || refused(|params| params.get("clientInfo").is_none()),
    ),
    mutant(
        "initialize-needs-vision",
        "A request without capabilities.vision is refused.",
        || refused(|params| params["capabilities"].get("vision").is_none()),
    ),
    mutant(
        "initialize-client-info-refused",
        "A request with clientInfo is refused as one with a strange member.",
        || refused(|params| params.get("clientInfo").is_some()),
    ),
    mutant(
        "initialize-vision-refused",
        "A request with a vision service is refused: there is no camera.",
        || refused(|params| params["capabilities"].get("vision").is_some()),
    ),
    mutant(
        "initialize-vision-panics",
        "Storing the address of the vision service overruns a buffer.",
        || {
            Defect::default().on_method("initialize", |payload, hands| {
                if payload
                    .get("params")
                    .is_some_and(|params| params["capabilities"]["vision"]["url"].is_string())
                {
                    hands.act(Act::Panic);
                    return Flow::Drop;
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "initialize-unknown-capability-refused",
        "A client capability that is not vision is refused.",
        || {
            refused(|params| {
                let capabilities = params["capabilities"].as_object();
                capabilities.is_some_and(|all| all.keys().any(|name| name != "vision"))
            })
        },
    ),
    mutant(
        "initialize-repeat-refused",
        "A second initialize on one connection is refused.",
        || {
            let initialized = Rc::new(Cell::new(false));
            let seen = Rc::clone(&initialized);
            Defect::default()
                .on_method("initialize", move |payload, hands| {
                    if !seen.replace(true) {
                        return Flow::Pass;
                    }
                    hands.send_payload(&refusal(payload.get("id"), "already initialized"));
                    Flow::Drop
                })
                .disconnected(move |_| initialized.set(false))
        },
    ),
    mutant(
        "initialize-repeat-unanswered",
        "A second initialize on one connection is not answered.",
        || {
            let initialized = Rc::new(Cell::new(false));
            let seen = Rc::clone(&initialized);
            Defect::default()
                .on_method("initialize", move |_, _| {
                    if seen.replace(true) {
                        Flow::Drop
                    } else {
                        Flow::Pass
                    }
                })
                .disconnected(move |_| initialized.set(false))
        },
    ),
    mutant(
        "initialize-repeat-hangs",
        "After a second initialize nothing is answered any more.",
        || {
            let initialized = Rc::new(Cell::new(false));
            let seen = Rc::clone(&initialized);
            Defect::default()
                .on_answer(move |cause, payload, hands| {
                    if cause.method() == "initialize" && seen.replace(true) {
                        hands.send_payload(payload);
                        hands.act(Act::Hang);
                        return Flow::Drop;
                    }
                    Flow::Pass
                })
                .disconnected(move |_| initialized.set(false))
        },
    ),
    mutant(
        "initialize-third-unanswered",
        "The third initialize on one connection, and every later one, is not answered.",
        || {
            let count = Rc::new(Cell::new(0));
            let seen = Rc::clone(&count);
            Defect::default()
                .on_method("initialize", move |_, _| {
                    seen.set(seen.get() + 1);
                    if seen.get() > 2 {
                        Flow::Drop
                    } else {
                        Flow::Pass
                    }
                })
                .disconnected(move |_| count.set(0))
        },
    ),
    mutant(
        "initialize-repeat-loses-tools",
        "A second initialize registers the tools anew, and half of them fail.",
        || {
            let count = Rc::new(Cell::new(0));
            let (seen, lost) = (Rc::clone(&count), Rc::clone(&count));
            Defect::default()
                .on_method("initialize", move |_, _| {
                    seen.set(seen.get() + 1);
                    Flow::Pass
                })
                .on_result("tools/list", move |_, result| {
                    // Getting to know the device takes two.
                    if count.get() > 2
                        && let Some(Value::Array(tools)) = result.get_mut("tools")
                    {
                        tools.truncate(tools.len() / 2);
                    }
                })
                .disconnected(move |_| lost.set(0))
        },
    ),
    mutant(
        "initialize-resets-volume",
        "initialize sets the volume to the level that the device had when it was new.",
        || {
            Defect::default().on_method("initialize", |_, hands| {
                hands.device.board_mut().speaker = Board::default().speaker;
                Flow::Pass
            })
        },
    ),
];

fn result(edit: fn(&Request, &mut Value)) -> Defect {
    Defect::default().on_result("initialize", edit)
}

fn remove(object: &mut Value, member: &str) {
    object.as_object_mut().map(|object| object.remove(member));
}

/// Refuses some requests.
fn refused(is_refused: fn(&Value) -> bool) -> Defect {
    Defect::default().on_method("initialize", move |payload, hands| {
        let params = payload.get("params").unwrap_or(&Value::Null);
        // What has no good id is for the device to drop.
        if !payload.get("id").is_some_and(Value::is_i64) || !is_refused(params) {
            return Flow::Pass;
        }
        hands.send_payload(&refusal(payload.get("id"), "initialize refused"));
        Flow::Drop
    })
}

fn refusal(id: Option<&Value>, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": message}})
}
