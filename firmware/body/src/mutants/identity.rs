//! Defects of what a device says about itself and about a request: versions, addresses, errors that are those of
//! another request, members that an answer has no use for.

use reference_device::Purpose;

use crate::rows::prelude::*;

/// The MAC address of another interface.
const OTHER_MAC: &str = "02:00:00:4d:43:51";

pub(super) const INITIALIZE: &[Row] = rows! {
    "initialize-version-unpublished": "The protocol version is 2024-12-31, which was never published."
        => version("2024-12-31");
    "initialize-version-no-date": "The protocol version is 2024-13-05, which is no date."
        => version("2024-13-05");
    "initialize-version-too-early": "The protocol version is 2024-01-01, before the first one."
        => version("2024-01-01");
};

pub(super) const HELLO: &[Row] = rows! {
    "websocket-key-kept": "The key of the WebSocket handshake is the example of the RFC, each time."
        => defect().headers(|headers| {
            headers.push(("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==".into()));
        });
    "header-device-id-per-connection":
        "From the second connection on the Device-Id is that of another interface." => {
        let mut first = once();
        defect().headers(move |headers| if !first() {
            each_header(headers, "Device-Id", |id| *id = OTHER_MAC.into());
        })
    };
    "header-client-id-per-connection": "The Client-Id is drawn anew for each connection." => {
        let mut number = 0;
        defect().headers(move |headers| {
            number += 1;
            each_header(headers, "Client-Id", |id| {
                *id = format!("0b5c7a52-0000-4000-8000-{number:012}");
            });
        })
    };
};

pub(super) const VISION: &[Row] = rows! {
    "vision-device-id-other": "The upload has the Device-Id of another interface."
        => defect().http(Purpose::Vision, |request| {
            each_header(&mut request.headers, "Device-Id", |id| *id = OTHER_MAC.into());
            Flow::Pass
        });
    "vision-client-id-other": "The upload has a Client-Id that is drawn anew."
        => defect().http(Purpose::Vision, |request| {
            each_header(&mut request.headers, "Client-Id", |id| {
                *id = "0b5c7a52-0000-4000-8000-000000000003".into();
            });
            Flow::Pass
        });
};

pub(super) const ERRORS: &[Row] = rows! {
    "error-message-empty": "The message of errors is empty."
        => errors(|error| error["message"] = json!(""));
    "error-message-blank": "The message of errors about methods is a blank."
        => errors(|error| if error["code"] == -32601 { error["message"] = json!(" "); });
    "error-message-of-before": "An error has the message of the error before it." => {
        let mut before = None;
        errors(move |error| {
            let own = error["message"].take();
            error["message"] = before.replace(own.clone()).unwrap_or(own);
        })
    };
    "error-message-of-first-tool": "An error about an unknown tool names the first such tool."
        => of_first(|request| !request.tool().is_empty());
    "error-message-of-first-method": "An error about an unknown method names the first such method."
        => of_first(|request| request.tool().is_empty());
};

pub(super) const JSONRPC: &[Row] = rows! {
    "answer-with-method": "Answers repeat the method of their request."
        => all().answer(|payload| payload["method"] = json!("tools/call"));
    "answer-with-params": "Answers to calls repeat the params of their request." => {
        defect().on_answer(|cause, payload, _| {
            if !cause.tool().is_empty() {
                payload["params"] = cause.params().clone();
            }
            Flow::Pass
        })
    };
    "error-with-method": "Errors repeat the method of their request."
        => refusals(|payload| payload["method"] = json!("tools/call"));
};

pub(super) const LIST: &[Row] = rows! {
    "list-user-tools-for-text": "withUserTools lists the user-only tools for the text \"true\", too."
        => shown_for(|flag| flag == "true");
    "list-user-tools-for-one": "withUserTools lists the user-only tools for the number 1, too."
        => shown_for(|flag| *flag == 1);
    "list-user-tools-for-object": "withUserTools lists the user-only tools for any object or array."
        => shown_for(|flag| flag.is_object() || flag.is_array());
};

fn version(version: &'static str) -> Defect {
    method("initialize").result(move |result| result["protocolVersion"] = json!(version))
}

/// Errors about names have the message of the first error about a name of that kind.
fn of_first(is_such: fn(&Request) -> bool) -> Defect {
    let mut first = None;
    defect().on_answer(move |cause, payload, _| {
        let name = cause.method().contains("mcp_hil") || cause.tool().contains("mcp_hil");
        if let Some(error) = payload.get_mut("error").filter(|_| name && is_such(cause)) {
            error["message"] = first.get_or_insert_with(|| error["message"].clone()).clone();
        }
        Flow::Pass
    })
}

/// Takes such a flag for true.
fn shown_for(is_such: fn(&Value) -> bool) -> Defect {
    defect().on_method("tools/list", move |payload, _| {
        if let Some(flag) = payload.get_mut("params").and_then(|all| all.get_mut("withUserTools"))
            && is_such(flag)
        {
            *flag = json!(true);
        }
        Flow::Pass
    })
}
