//! Defects of error answers.

use crate::rows::prelude::*;

/// Methods that the device has.
const METHODS: [&str; 4] = ["initialize", "ping", "tools/list", "tools/call"];

pub(super) const MUTANTS: &[Row] = rows! {
    "error-string": "The error is its message instead of an object."
        => errors(|error| *error = error["message"].take());
    "error-array": "The error is an array of code and message."
        => errors(|error| *error = json!([error["code"], error["message"]]));
    "error-code-missing": "Errors have no code." => errors(|error| remove(error, "code"));
    "error-code-string": "The code of errors is a string."
        => errors(|error| error["code"] = json!(error["code"].to_string()));
    "error-code-name": "The code of errors is a name."
        => errors(|error| error["code"] = json!("INVALID_REQUEST"));
    "error-code-fraction": "The code of errors has a fraction."
        => errors(|error| error["code"] = json!(-32600.5));
    "error-message-missing": "Errors have no message." => errors(|error| remove(error, "message"));
    "error-message-object": "The message of errors is an object."
        => errors(|error| error["message"] = json!({"text": error["message"].take()}));
    "error-message-null": "The message of errors about unknown tools is null."
        => calls().error(|error| error["message"] = Value::Null);
    "error-message-unescaped": "Names are copied into error messages without escaping."
        => unescaped(|name| name.to_string());
    "error-message-backslash-unescaped":
        "Quotes in error messages are escaped, backslashes are not."
        => unescaped(|name| name.replace('"', "\\\""));
    "error-message-control-unescaped": "Control characters are in error messages unescaped."
        => unescaped(|name| name.replace('\\', "\\\\").replace('"', "\\\""));
    "unknown-method-succeeds": "An unknown method is answered with an empty result."
        => when(is_unknown).answer(|payload| {
            remove(payload, "error");
            payload["result"] = json!({});
        });
    "unknown-protocol-method-succeeds": "Lists of what the device does not have are empty results."
        => when(|request| request.method().ends_with("s/list") && is_unknown(request)).answer(|payload| {
            remove(payload, "error");
            payload["result"] = json!({});
        });
    "unknown-protocol-list-object": "A list of resources that the device does not have is an object."
        => when(|request| request.method() == "resources/list").answer(|payload| {
            remove(payload, "error");
            payload["result"] = json!({"resources": {}});
        });
    "unknown-method-silent": "An unknown method is logged and not answered."
        => when(is_unknown).unanswered();
    "unknown-method-32000": "An unknown method gets the code -32000."
        => when(is_unknown).error(|error| error["code"] = json!(-32000));
    "unknown-method-32602": "An unknown method gets the code of invalid parameters."
        => when(is_unknown).error(|error| error["code"] = json!(-32602));
    "unknown-method-positive": "An unknown method gets the code 404."
        => when(is_unknown).error(|error| error["code"] = json!(404));
    "method-case-insensitive": "Methods are compared case-insensitively: tools/List works."
        => found_by(|asked, known| asked.eq_ignore_ascii_case(known));
    "method-trimmed": "Blanks around a method are ignored: `tools/list ` works."
        => found_by(|asked, known| asked.trim() == known);
    "method-prefix": "Methods are compared up to their length: tools/list-all works."
        => found_by(|asked, known| asked.starts_with(known));
    "method-call-prefix": "What only begins like tools/call is taken for it."
        => found_by(|asked, known| known == "tools/call" && asked.starts_with(known));
    "method-empty-lists": "A method without a name is taken for the first one that begins so."
        => defect().on_payload(|payload, _| {
            if get(payload, "method") == "" {
                set(payload, "method", "tools/list");
            }
            Flow::Pass
        });
    "method-by-checksum": "Methods are compared by the sum of their characters."
        => found_by(|asked, known| {
            let sum = |name: &str| name.bytes().map(u32::from).sum::<u32>();
            asked.len() == known.len() && sum(asked) == sum(known)
        });
    "method-quotes-dropped": "Quotes around a method are dropped."
        => found_by(|asked, known| asked.trim_matches(['"', '\'']) == known);
    "method-slashes-joined": "Several slashes in a method are one: tools//list works."
        => found_by(|asked, known| asked.replace("//", "/") == known);
    "method-underscores": "A method may be spelled with underscores: tools_list works."
        => found_by(|asked, known| asked.contains('_') && asked.replace('_', "/") == known);
    "method-separator-unread": "The separator in a method may be missing: toolslist works."
        => found_by(|asked, known| asked == known.replace('/', ""));
    "method-last-letter-unread": "The last letter of a method is not compared."
        => found_by(|asked, known| {
            asked.len() == known.len() && asked.get(..asked.len() - 1) == known.get(..known.len() - 1)
        });
    "method-dots": "A method may be spelled with dots: tools.list works."
        => found_by(|asked, known| asked.contains('.') && asked.replace('.', "/") == known);
    "missing-name-32603": "A call without tool name gets the code of an internal error."
        => when(lacks_name).error(|error| error["code"] = json!(-32603));
    "missing-name-32601": "A call without tool name gets the code of unknown methods."
        => when(lacks_name).error(|error| error["code"] = json!(-32601));
    "error-completion-panics": "A request for completions is handed to a part that there is not."
        => texts(|text| text.contains("\"completion/complete\""), Act::Panic);
    "error-log-level-silent": "A request for a level of the log is obeyed and not answered."
        => method("logging/setLevel").unanswered();
};

fn is_unknown(request: &Request) -> bool {
    !request.method().is_empty() && !METHODS.contains(&request.method())
}

/// A call that names no tool.
fn lacks_name(request: &Request) -> bool {
    request.method() == "tools/call" && !request.params()["name"].is_string()
}

/// Finds methods by another rule than equality.
fn found_by(is_same: fn(&str, &str) -> bool) -> Defect {
    payloads(move |payload| {
        if let Some(asked) = get(payload, "method").as_str()
            && let Some(known) = METHODS.iter().find(|known| is_same(asked, known))
        {
            set(payload, "method", *known);
        }
    })
}

/// Writes the hostile name that an error is about into the frame in another spelling.
fn unescaped(spell: fn(&str) -> String) -> Defect {
    defect().on_answer_text(move |cause, text, _| {
        if text.contains("\"error\":") {
            for name in [cause.method(), cause.tool(), cause.cursor()] {
                let escaped = json!(name).to_string();
                let escaped = &escaped[1..escaped.len() - 1];
                if !name.is_empty() && escaped != name {
                    *text = text.replace(escaped, &spell(name));
                }
            }
        }
        Flow::Pass
    })
}
