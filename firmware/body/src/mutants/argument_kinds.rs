//! Defects in the handling of arguments that are not about the values of integers: superfluous
//! ones, defaults, booleans, strings, the code of a refusal.

use reference_device::{Property, Tool};

use crate::rows::prelude::*;

pub(super) const MUTANTS: &[Row] = rows! {
    "argument-extra-unanswered": "A call with an unknown argument is not answered."
        => with_extra(None);
    "argument-extra-panics": "A call with an unknown argument overruns a table."
        => with_extra(Some(Act::Panic));
    "argument-by-place": "Where all arguments are given, they are taken by their places and not by their names."
        => defect().on_call(|params, hands| {
            let Some(tool) = hands.tool_of(params) else { return };
            if let Some(Value::Object(arguments)) = params.get_mut("arguments")
                && arguments.len() == tool.properties.len()
                && tool.properties.iter().all(|known| arguments.contains_key(known.name))
            {
                let values: Vec<Value> = arguments.values().cloned().collect();
                for (property, value) in tool.properties.iter().zip(values) {
                    arguments.insert(property.name.to_string(), value);
                }
            }
        });
    "enum-last-refused": "The last value of an enum is refused."
        => languages(|language| (language == "zh-CN").then_some("none"));
    "enum-unchecked": "A value that an enum does not have is read as the first that it has."
        => languages(|language| (!language.contains('-')).then_some("en-US"));
    "enum-case-ignored": "A value of an enum is also accepted in different case."
        => languages(|language| language.eq_ignore_ascii_case("zh-CN").then_some("zh-CN"));
    "enum-trimmed": "A value of an enum is also accepted between blanks."
        => languages(|language| (language.trim() == "zh-CN").then_some("zh-CN"));
    "enum-begins-alike": "A value that begins like one of an enum is read as that."
        => languages(|language| language.starts_with("zh-CN").then_some("zh-CN"));
    "enum-first-case-ignored": "The first value of an enum, which is the default, is also accepted in different case."
        => languages(|language| language.eq_ignore_ascii_case("en-US").then_some("en-US"));
    "enum-first-shortened": "The first value of an enum may be shortened."
        => languages(|language| (!language.is_empty() && "en-US".starts_with(language)).then_some("en-US"));
    "enum-middle-case-ignored": "A value in the middle of an enum is also accepted in different case."
        => languages(|language| language.eq_ignore_ascii_case("pt-BR").then_some("pt-BR"));
    "language-refused-and-stored": "A language that is refused is stored, and the status tells it."
        => languages(|_| None).over(defect().on_answer(|cause, payload, hands| {
            let language = cause.argument("language").as_str().unwrap_or_default();
            let is_refused = payload.get("error").is_some() || payload["result"]["isError"] == true;
            if cause.tool() == "self.system.set_language" && is_refused && !language.is_empty() {
                hands.device.board_mut().language = language.to_string();
            }
            Flow::Pass
        }));
    "enum-refusal-echoed-raw": "The refusal of a value that an enum does not have repeats it without escaping it."
        => languages(|_| None).over(defect().on_answer_text(|cause, text, _| {
            if cause.tool() == "self.system.set_language"
                && let Some(hostile) = texts_of(cause.params()).find(|text| is_hostile(text))
            {
                *text = text.replacen(r#""text":""#, &format!(r#""text":"{hostile}: "#), 1);
            }
            Flow::Pass
        }));
    "enum-ends-at-nul": "A value of an enum ends at U+0000, as a string of C."
        => languages(|language| (language.split('\0').next() == Some("zh-CN")).then_some("zh-CN"));
    "strip-pattern-unchecked": "A text may be any, whatever the pattern of its schema."
        => strip(|all| if all["color"].is_string() { all["color"] = json!("#ffffff"); });
    "strip-pattern-anywhere": "The pattern of a text is sought anywhere in it."
        => strip(|all| if let Some(at) = all["color"].as_str().and_then(|text| text.find('#')) {
            let found: String = all["color"].as_str().unwrap_or_default()[at..].chars().take(7).collect();
            all["color"] = json!(found);
        });
    "strip-pattern-line": "A text that matches its pattern may have a line feed behind it."
        => strip(|all| if let Some(text) = all["color"].as_str().and_then(|text| text.strip_suffix('\n')) {
            all["color"] = json!(text);
        });
    "strip-pattern-any-case": "A text matches its pattern in any case."
        => strip(|all| if let Some(text) = all["color"].as_str() {
            all["color"] = json!(text.to_lowercase());
        });
    "strip-list-unchecked": "An integer may be any between those that its schema lists."
        => strip(|all| if all["angle"].as_i64().is_some_and(|angle| (0..=180).contains(&angle)) {
            all["angle"] = json!(90);
        });
    "strip-list-text": "An integer of a list may be a text."
        => strip(|all| if let Some(angle) = all["angle"].as_str().and_then(|it| it.parse::<i64>().ok()) {
            all["angle"] = json!(angle);
        });
    "strip-steps-unchecked": "An integer need not be a multiple of what its schema says."
        => strip(|all| if let Some(speed) = all["speed"].as_i64() {
            all["speed"] = json!(speed / 10 * 10);
        });
    "strip-open-minimum-taken": "The bound below is taken, which the schema leaves out."
        => strip(|all| if all["gamma"] == 0 { all["gamma"] = json!(1); });
    "strip-open-maximum-taken": "The bound above is taken, which the schema leaves out."
        => strip(|all| if all["gamma"] == 3 { all["gamma"] = json!(1); });
    "strip-days-twice": "An element may stand twice in a list of which the schema says that all differ."
        => strip(|all| if all["days"].get(0).is_some_and(|day| Some(day) == all["days"].get(1)) {
            all["days"] = json!(["mo"]);
        });
    "strip-days-last-checked": "Of a list that may be left out only the last element is checked."
        => strip(|all| if let Some(last) = all["days"].as_array().and_then(|days| days.last()) {
            all["days"] = json!([last]);
        });
    "strip-days-text": "An optional list may be a text."
        => strip(|all| if all["days"].is_string() { all["days"] = json!([]); });
    "strip-optional-member-unchecked": "A member that may be left out is not checked."
        => strip(|all| if all["ends"].is_object() { remove(&mut all["ends"], "first"); });
    "strip-alternative-unchecked": "What an argument may be, one thing or another, is not checked."
        => strip(|all| if all.get("until").is_some() { all["until"] = json!("off"); });
    "heater-text-taken": "A number as text is taken for the number."
        => heater(|arguments| number_of_text(arguments, |text| text.parse().ok()));
    "heater-comma-taken": "Of a text the number before the first other character is taken."
        => heater(|arguments| number_of_text(arguments, |text| {
            text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        }));
    "heater-whole-refused": "A number without a point is refused."
        => heater(|arguments| if arguments["celsius"].is_i64() { arguments["celsius"] = json!(null); });
    "heater-fraction-refused": "A number with a fraction is refused."
        => heater(|arguments| if arguments["celsius"].is_f64() { arguments["celsius"] = json!(null); });
    "heater-boolean-taken": "A boolean is taken for a number."
        => heater(|arguments| if arguments["celsius"].is_boolean() { arguments["celsius"] = json!(5); });
    "heater-maximum-unchecked": "A number above its maximum is lowered to it."
        => heater(|arguments| if arguments["celsius"].as_f64().is_some_and(|it| it > 35.0) {
            arguments["celsius"] = json!(35);
        });
    "heater-maximum-cut": "A number is cut to an integer before it is compared with its maximum."
        => heater(|arguments| if arguments["celsius"].as_f64().is_some_and(|it| it > 35.0 && it < 36.0) {
            arguments["celsius"] = json!(35);
        });
    "heater-minimum-rounded": "A number is rounded before it is compared with its minimum."
        => heater(|arguments| if arguments["celsius"].as_f64().is_some_and(|it| (4.5..5.0).contains(&it)) {
            arguments["celsius"] = json!(5);
        });
    "heater-slots-null-taken": "Null in the place of a list is an empty one, and taken."
        => heater(|arguments| if arguments["slots"].is_null() { arguments["slots"] = good_slots(); });
    "heater-slots-object-taken": "An object in the place of a list is taken."
        => heater(|arguments| if arguments["slots"].is_object() { arguments["slots"] = good_slots(); });
    "heater-slots-one-taken": "An element in the place of a list is taken for a list of one."
        => heater(|arguments| if arguments["slots"].get("hour").is_some() { arguments["slots"] = good_slots(); });
    "heater-slots-text-taken": "A list that stands in a text is taken."
        => heater(|arguments| if arguments["slots"].is_string() { arguments["slots"] = good_slots(); });
    "heater-slots-one-too-many": "A list may have an element more than the schema says."
        => heater(|arguments| if let Some(slots) = arguments["slots"].as_array_mut() && slots.len() == 5 {
            slots.pop();
        });
    "heater-slots-first-checked": "Of a list only the first element is checked."
        => heater(|arguments| if let Some(slots) = arguments["slots"].as_array_mut() {
            slots.truncate(1);
        });
    "heater-slots-hour-24": "The hour of an element may be 24."
        => heater(|arguments| for slot in arguments["slots"].as_array_mut().into_iter().flatten() {
            if slot["hour"] == 24 {
                slot["hour"] = json!(0);
            }
        });
    "heater-slots-member-missing": "An element may be without the warmth that it requires."
        => heater(|arguments| for slot in arguments["slots"].as_array_mut().into_iter().flatten() {
            if slot.get("celsius").is_none() && slot.is_object() {
                slot["celsius"] = json!(20);
            }
        });
    "length-unchecked": "The length of a text is not compared with what the schema says." => label(|_| 10, 2..=20);
    "length-in-bytes": "The length of a text is counted in bytes." => label(str::len, 2..=20);
    "length-in-utf16": "The length of a text is counted in UTF-16." => label(|text| text.encode_utf16().count(), 2..=20);
    "length-most-refused": "A text of the greatest length is refused." => label(characters, 2..=19);
    "length-least-refused": "A text of the least length is refused." => label(characters, 3..=20);
    "length-one-too-many": "A text may be one character too long." => label(characters, 2..=21);
    "length-one-too-few": "A text may be one character too short." => label(characters, 1..=20);
    "argument-nested-taken": "An argument that is missing is taken from another object among the arguments."
        => defect().on_call(|params, hands| {
            let Some(tool) = hands.tool_of(params) else { return };
            let Some(Value::Object(arguments)) = params.get_mut("arguments") else { return };
            for property in tool.properties {
                let nested = arguments.values().find_map(|value| value.get(property.name)).cloned();
                if let Some(nested) = nested.filter(|_| !arguments.contains_key(property.name)) {
                    set(arguments, property.name, nested);
                }
            }
        });
    "argument-default-required": "An argument with a default is treated as required."
        => defect().on_method("tools/call", |payload, hands| {
            let params = get(payload, "params");
            let is_missing =
                |property: &Property| params["arguments"].get(property.name).is_none();
            let lacks = hands
                .tool_of(params)
                .is_some_and(|tool| tool.properties.iter().any(is_missing));
            reply_if(lacks, payload, hands, |id| error(id, -32602, "Missing argument"))
        });
    "argument-default-replaces-wrong-type": "A value of the wrong type is replaced by the default."
        => replaced_by_default(|property, value| match property.type_name() {
            "boolean" => !value.is_boolean(),
            "string" => !value.is_string(),
            _ => !value.is_number(),
        });
    "argument-default-replaces-null": "null is replaced by the default."
        => replaced_by_default(|_, value| value.is_null());
    "argument-default-replaces-string":
        "A string for an integer is replaced by the default."
        => replaced_by_default(|property, value| {
            property.type_name() == "integer" && value.is_string()
        });
    "argument-false-missing": "The value false is treated as a missing argument."
        => defect().on_argument(|_, value| (value != false).then_some(value));
    "argument-true-refused": "Booleans are expected as 0 or 1: true is refused."
        => booleans(|value| (*value == true).then_some("true"));
    "argument-boolean-from-integer": "1 and 0 are accepted for a boolean."
        => booleans(|value| value.as_i64().map(|number| number != 0));
    "argument-boolean-from-string": "\"true\" is accepted for a boolean."
        => booleans(|value| value.as_str().map(|text| text == "true"));
    "argument-boolean-truthy": "Everything except null is accepted for a boolean."
        => booleans(|value| (!value.is_boolean() && !value.is_null()).then_some(true));
    "argument-string-from-index":
        "A number for a theme name is used as an index into the list of themes."
        => strings(|value| {
            let index = usize::try_from(value.as_u64()?).ok()?;
            ["light", "dark", "contrast"].get(index).map(|theme| json!(theme))
        });
    "argument-string-array-unpacked":
        "An array of one string is accepted for the string."
        => strings(|value| match value.as_array()?.as_slice() {
            [text] if text.is_string() => Some(text.clone()),
            _ => None,
        });
    "argument-string-null-as-light": "null for a theme selects the factory theme."
        => strings(|value| value.is_null().then(|| json!("light")));
    "argument-string-echoed-raw": "The result repeats a string argument without escaping it."
        => defect().on_answer_text(|cause, text, _| {
            if let Some(hostile) = texts_of(cause.params()).find(|text| is_hostile(text)) {
                let raw = format!(r#""text":"{hostile}: "#);
                *text = text.replacen(r#""text":""#, &raw, 1);
            }
            Flow::Pass
        });
    "argument-string-non-bmp-unanswered":
        "A call with a character outside the Basic Multilingual Plane is not answered."
        => with_string(|text| text.contains(|character| character > '\u{FFFF}'), None);
    "argument-string-control-panics": "A control character in a string argument overruns a buffer."
        => with_string(|text| text.contains(char::is_control), Some(Act::Panic));
    "argument-string-quote-unanswered": "A call with a quote in a string argument is not answered."
        => with_string(|text| text.contains('"'), None);
    "argument-error-code-internal": "A refused argument gets the code of an internal error."
        => code_of_refusal(-32603);
    "argument-error-code-one": "A refused argument gets the code 1." => code_of_refusal(1);
};

fn is_hostile(text: &str) -> bool {
    text.contains(|character: char| character.is_control() || matches!(character, '"' | '\\'))
}

/// Takes away arguments that have a default, so that the default counts.
fn replaced_by_default(is_such: fn(&Property, &Value) -> bool) -> Defect {
    defect().on_argument(move |property, value| {
        (property.default().is_none() || !is_such(property, &value)).then_some(value)
    })
}

/// Changes what is sent for boolean arguments; `None` leaves it as it is.
fn booleans<T: Into<Value> + 'static>(change: fn(&Value) -> Option<T>) -> Defect {
    defect().on_argument(move |property, value| {
        let changed = change(&value).filter(|_| property.type_name() == "boolean");
        Some(changed.map_or(value, Into::into))
    })
}

/// Changes what is sent for string arguments without a default; `None` leaves it as it is.
pub(super) fn strings(change: fn(&Value) -> Option<Value>) -> Defect {
    defect().on_argument(move |property, value| {
        let is_required = property.type_name() == "string" && property.default().is_none();
        Some(change(&value).filter(|_| is_required).unwrap_or(value))
    })
}

/// Does something instead of a call that has an argument which the tool does not declare.
fn with_extra(act: Option<Act>) -> Defect {
    instead_of_calls(act, |params, tool| {
        let sent = params["arguments"].as_object();
        let is_declared = |name: &String| {
            let mut known = tool.iter().flat_map(|tool| tool.properties);
            known.any(|property| property.name.eq_ignore_ascii_case(name))
        };
        tool.is_some() && sent.is_some_and(|sent| !sent.keys().all(is_declared))
    })
}

/// Makes a number of a text in the place of one.
fn number_of_text(arguments: &mut Value, read: fn(&str) -> Option<f64>) {
    if let Some(number) = arguments["celsius"].as_str().and_then(read) {
        arguments["celsius"] = json!(number);
    }
}

/// A schedule that the heater takes.
fn good_slots() -> Value {
    json!([{"hour": 6, "celsius": 20}])
}

/// Does something instead of a call that has such a string argument.
fn with_string(is_such: fn(&str) -> bool, act: Option<Act>) -> Defect {
    instead_of_calls(act, move |params, _| texts_of(params).any(is_such))
}

/// Does something, or nothing, instead of such calls. The tool is the one that a call names, if there is one.
fn instead_of_calls(
    act: Option<Act>,
    is_such: impl Fn(&Value, Option<Tool>) -> bool + 'static,
) -> Defect {
    defect().on_method("tools/call", move |payload, hands| {
        let params = get(payload, "params");
        let is_such = is_such(params, hands.tool_of(params));
        if let Some(act) = act.clone().filter(|_| is_such) {
            hands.act(act);
        }
        drop_if(is_such)
    })
}

/// The arguments of a call that are strings.
fn texts_of(params: &Value) -> impl Iterator<Item = &str> {
    let arguments = params["arguments"].as_object().into_iter();
    arguments.flat_map(Map::values).filter_map(Value::as_str)
}

/// Changes the code of refusals of an argument.
fn code_of_refusal(code: i32) -> Defect {
    method("tools/call").error(move |error| {
        let message = error["message"].as_str().unwrap_or_default();
        let refusals =
            ["Missing required argument", "Invalid type for argument", "Argument out of range"];
        if refusals.iter().any(|start| message.starts_with(start)) {
            error["code"] = json!(code);
        }
    })
}
