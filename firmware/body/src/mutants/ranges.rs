//! Defects of single arguments: of one tool among many, of ranges below zero, of what a schema says and the device
//! does not do.

use crate::rows::prelude::*;

const SPEED: &str = "self.fan.set_speed";
const CHANNEL: &str = "self.remote.set_channel";
const ALARM: &str = "self.freezer.set_alarm";
const MELODY: &str = "self.doorbell.set_melody";

/// What becomes of texts that a tool gives back.
pub(super) const TEXTS: &[Row] = rows! {
    "text-blanks-joined": "Runs of blanks in a text become one."
        => shown(|text| *text = text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "));
    "text-percent-decoded": "A text is decoded as if it came from a URL."
        => shown(|text| *text = text.replace("%25", "%").replace("%20", " "));
    "text-formatted": "A text is used as a format."
        => shown(|text| *text = text.replace("%%", "%").replace("%s", "(null)"));
    "text-escapes-read-twice": "Escapes in a text are resolved a second time."
        => shown(|text| *text = text.replace("\\n", "\n").replace("\\\\", "\\"));
    "text-json-by-hand": "A text is put between the quotes of a JSON text as it is."
        => shown(|text| *text = format!("{{\"shown\":\"{}\"}}", text.trim_start_matches("shown: ")));
    "text-quotes-dropped": "Quotes are dropped from a text." => shown(|text| text.retain(|c| c != '"'));
    "text-astral-lost": "Characters beyond U+FFFF become question marks."
        => shown(|text| *text = text.chars().map(|c| if c > '\u{ffff}' { '?' } else { c }).collect());
    "alarm-refused-in-part": "An alarm is stored argument by argument, also if a later one is refused."
        => alarm(storing([true, false]));
    "alarm-refused-and-stored": "What is refused of an alarm is stored." => alarm(storing([false, true]));
    "sign-refused-and-shown": "A message is shown before it is seen that its time is too long."
        => sign(|cause, is_done, shown| if cause.method() != "initialize" && (is_done || cause.argument("seconds").is_i64()) {
            *shown = cause.argument("text").as_str().unwrap_or_default().to_string();
        });
    "sign-cleared-by-initialize": "An initialize takes the message from the sign."
        => sign(|cause, is_done, shown| if cause.method() == "initialize" {
            shown.clear();
        } else if is_done {
            *shown = cause.argument("text").as_str().unwrap_or_default().to_string();
        });
    "alarm-sign-lost": "The sign of an alarm's offset is lost."
        => alarm(|cause, is_done, kept| {
            storing([false, false])(cause, is_done, kept);
            kept[1].1 = kept[1].1.abs();
        });
    "alarm-byte": "The offset of an alarm is kept in a byte without a sign."
        => alarm(|cause, is_done, kept| {
            storing([false, false])(cause, is_done, kept);
            kept[1].1 &= 0xff;
        });
    "alarm-exchanged": "Hour and offset of an alarm are kept in each other's place."
        => alarm(|cause, is_done, kept| {
            let [hour, offset] = [kept[0].1, kept[1].1];
            let mut sent = [("hour", offset), ("offset", hour)];
            storing([false, false])(cause, is_done, &mut sent);
            (kept[0].1, kept[1].1) = (sent[1].1, sent[0].1);
        });
    "alarm-default-ignored": "The offset of an alarm that is left out stays as it was."
        => alarm(|cause, is_done, kept| {
            let before = kept[1].1;
            storing([false, false])(cause, is_done, kept);
            if cause.argument("offset").is_null() {
                kept[1].1 = before;
            }
        });
    "alarm-by-place": "The arguments of an alarm are taken by their places."
        => alarm(|cause, is_done, kept| {
            let arguments = cause.params()["arguments"].as_object();
            let values = arguments.into_iter().flatten().filter_map(|(_, value)| value.as_i64());
            for ((_, kept), value) in kept.iter_mut().zip(values).filter(|_| is_done) {
                *kept = value;
            }
        });
    "note-escapes-kept": "A note is kept as it was spelled, with its escapes."
        => notes(texts_as(|text| {
            let mut envelope: Value = serde_json::from_str(text).unwrap_or_default();
            if let Some(Value::String(note)) = envelope.pointer_mut("/payload/params/arguments/text")
                && note.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                && !text.contains(note.as_str())
            {
                note.insert_str(0, "\\u00");
                *text = envelope.to_string();
            }
        }));
    "note-escape-lost": "An escape of another script than the Latin one becomes a question mark."
        => notes(texts_as(|text| *text = text.replace("\\u4f60", "?")));
    "note-latin1": "A note keeps characters up to U+00FF; the others become question marks."
        => noted(|text| *text = text.chars().map(|c| if c > '\u{ff}' { '?' } else { c }).collect());
    "note-over-older": "Behind a note stand three bytes of a longer one that it was written over." => {
        let mut older = String::new();
        noted(move |text| {
            let note = text.clone();
            let rest = older.get(text.len()..text.len() + 3).filter(|_| !text.is_empty());
            text.push_str(rest.unwrap_or_default());
            older = note;
        })
    };
    "note-lines-joined": "A note is kept in one line." => noted(|text| *text = text.replace('\n', " "));
    "text-composed": "A letter and its accent become one character."
        => shown(|text| *text = text.replace("e\u{301}", "\u{e9}"));
    "text-direction-lost": "Marks of direction are dropped from a text."
        => shown(|text| text.retain(|c| !('\u{202a}'..='\u{202e}').contains(&c)));
    "text-null-is-empty": "The text `null` is read as none."
        => shown(|text| if text == "shown: null" { *text = "shown: ".to_string(); });
    "text-number-read": "A text of digits is read as a number."
        => shown(|text| *text = text.replace("shown: 007", "shown: 7"));
    "text-escaped-pair-lost": "Of a character that is spelled as two escapes a question mark is left." => {
        let read = defect().inbound(|inbound, _| {
            if inbound.text.contains(SHOW_TEXT) {
                inbound.text = inbound.text.replace("\\ud83d\\ude00", "?");
            }
            Flow::Pass
        });
        with_tools(read, DISPLAY)
    };
    "text-line-ends": "Line ends of two characters become one."
        => shown(|text| *text = text.replace("\r\n", "\n"));
    "text-lower-case": "A text is told in lower case." => shown(|text| *text = text.to_lowercase());
    "text-middle-lost": "A text of more than 255 bytes loses what is in its middle."
        => shown(|text| if text.len() > 255 {
            let at = text.floor_char_boundary(100);
            text.remove(at);
        });
};

pub(super) const MUTANTS: &[Row] = rows! {
    "argument-sign-lost": "The sign of an integer is lost: -20 is 20, and out of range."
        => with_tools(degrees(|value| Some(value.abs())), FREEZER);
    "argument-sign-guessed": "For a range below zero a positive integer is taken as negative."
        => with_tools(degrees(|value| Some(-value.abs())), FREEZER);
    "argument-below-zero-unchecked": "A value below a minimum below zero is raised to it."
        => with_tools(degrees(|value| Some(value.max(-40))), FREEZER);
    "argument-minus-one-refused": "The value -1 is taken for a missing one, and refused."
        => with_tools(degrees(|value| Some(if value == -1 { 1000 } else { value })), FREEZER);
    "argument-maximum-of-a-reader-refused": "365 days, the most that may be asked for, are refused."
        => with_tools(calls_of("self.meter.read_usage", |arguments| {
            if arguments["days"] == 365 {
                arguments["days"] = json!(366);
            }
        }), METER);
    "argument-above-below-zero-unchecked": "A value above a maximum below zero is lowered to it."
        => with_tools(calls_of("self.freezer.set_target", |arguments| {
            if arguments["degrees"].as_i64().is_some_and(|value| value > -10) {
                arguments["degrees"] = json!(-10);
            }
        }), FREEZER);
    "argument-default-below-zero-lost": "A default below zero does not apply: the call is refused."
        => with_tools(calls_of(ALARM, |arguments| if arguments.get("degrees").is_none() {
            arguments["degrees"] = json!(248);
        }), FREEZER);
    "argument-default-refused": "The speed that is the default of the fan is refused when it is sent."
        => calls_of(SPEED, |arguments| if arguments["speed"] == 2 { arguments["speed"] = json!(9); });
    "argument-defaults-of-two-required": "Of two arguments with defaults one has to be sent."
        => calls_of(MELODY, |arguments| if arguments.as_object().is_some_and(Map::is_empty) {
            arguments["melody"] = json!(0);
        });
    "argument-string-among-others-taken": "Of a tool with two arguments, a number as text is taken for the first one."
        => calls_of(MELODY, |arguments| if let Some(number) = arguments["melody"].as_str().and_then(|it| it.parse::<i64>().ok()) {
            arguments["melody"] = json!(number);
        });
    "argument-zero-of-fan-refused": "A speed of 0 is treated as missing, and refused."
        => calls_of(SPEED, |arguments| if arguments["speed"] == 0 { arguments["speed"] = json!(9); });
    "argument-zero-brightness-refused": "A brightness of 0 is treated as missing."
        => calls_of(BRIGHTNESS, |arguments| if arguments["brightness"] == 0 {
            *arguments = json!({});
        });
    "argument-exponent-ignored": "The exponent of a number is not read."
        => texts_as(|text| *text = text.replace(":5e1}", ":5}").replace(":5E+1}", ":5}"));
    "argument-one-tool-unchecked": "Channels above the range are lowered to its end."
        => calls_of(CHANNEL, |arguments| {
            if arguments["channel"].as_i64().is_some_and(|channel| channel > 999) {
                arguments["channel"] = json!(999);
            }
        });
    "argument-one-tool-16-bits": "Of a channel 16 bits are read."
        => calls_of(CHANNEL, |arguments| if let Some(channel) = arguments["channel"].as_u64() {
            arguments["channel"] = json!(channel & 0xffff);
        });
    "argument-one-tool-32-bits": "Of the speed of the fan 32 bits are read."
        => calls_of(SPEED, |arguments| if let Some(speed) = arguments["speed"].as_u64() {
            arguments["speed"] = json!(speed & 0xffff_ffff);
        });
    "argument-missing-remembered": "A channel that is missing is the last one that there was." => {
        let mut last = json!(null);
        defect().on_call(move |params, _| {
            if params["name"] == CHANNEL && params["arguments"].is_object() {
                match params["arguments"]["channel"].as_u64() {
                    Some(channel) => last = json!(channel),
                    None if params["arguments"] == json!({}) => params["arguments"] = json!({"channel": last}),
                    None => {}
                }
            }
        })
    };
    "argument-flat-taken": "A value beside the arguments is taken where they are absent."
        => defect().on_call(|params, _| {
            let value = params.get("brightness").cloned();
            if params["name"] == BRIGHTNESS
                && let (None, Some(value)) = (params.get("arguments"), value)
            {
                params["arguments"] = json!({"brightness": value});
            }
        });
    "argument-name-begins-taken": "The beginning of an argument's name is taken for it."
        => calls_of(BRIGHTNESS, |arguments| {
            if let Some(value) = arguments.get("brigh").cloned() {
                arguments["brightness"] = value;
            }
        });
    "argument-unknown-overwrites": "Of two numbers the one under an unknown name counts."
        => calls_of(SET, |arguments| {
            if let Some(value) = arguments.get("mcpHilOther").filter(|it| it.is_number()).cloned()
                && arguments.get("volume").is_some()
            {
                arguments["volume"] = value;
            }
        });
    "argument-required-needlessly": "The schema requires the speed of the fan, the device does not."
        => schema(SPEED, |schema| {
            schema["required"] = json!(["speed"]);
            remove(&mut schema["properties"]["speed"], "default");
        });
    "argument-need-not-told": "The schema does not require the channel, the device does."
        => schema(CHANNEL, |schema| remove(schema, "required"));
    "refused-brightness-clamped": "A brightness above 100 is refused, and 100 is set."
        => defect().on_call(|params, hands| {
            let brightness = params["arguments"]["brightness"].as_i64();
            if params["name"] == BRIGHTNESS && brightness.is_some_and(|level| level > 100) {
                hands.device.board_mut().screen.brightness = 100;
            }
        });
};

/// What a backlight does.
pub(super) const LIGHT: &[Row] = rows! {
    "brightness-in-steps": "The backlight has steps of eight percent."
        => defect().on_argument(|property, value| {
            let number = value.as_i64().filter(|level| {
                property.name == "brightness" && (0..=100).contains(level)
            });
            Some(number.map_or(value, |level| json!(level / 8 * 8)))
        });
};

/// What the schema of a tool says.
pub(super) const LIST: &[Row] = rows! {
    "list-property-type-missing": "An argument has no type."
        => schema(CHANNEL, |schema| remove(&mut schema["properties"]["channel"], "type"));
    "list-range-empty": "The least channel is above the greatest."
        => schema(CHANNEL, |schema| schema["properties"]["channel"]["minimum"] = json!(100_000));
    "list-enum-of-numbers": "The values that are listed of a text are numbers."
        => schema("self.note.write", |schema| schema["properties"]["text"]["enum"] = json!([0, 1, 2]));
    "list-name-with-blank": "A name is listed with a blank at its end, and called without."
        => method("tools/list").result(|page| for tool in tools_of(page) {
            if tool["name"] == "self.sensor.get_climate" {
                tool["name"] = json!("self.sensor.get_climate ");
            }
        })
        .over(defect().on_error(|_, error| if let Some(Value::String(said)) = error.get_mut("message") {
            *said = said.replace("Unknown tool:", "Nie ma narz\u{119}dzia");
        }));
    "list-property-empty": "The schema of an argument is empty."
        => schema("self.note.write", |schema| schema["properties"]["text"] = json!({}));
};

/// Changes what is sent as `degrees`.
fn degrees(change: fn(i64) -> Option<i64>) -> Defect {
    defect().on_argument(move |property, value| {
        let number = value.as_i64().filter(|_| property.name == "degrees");
        Some(number.and_then(change).map_or(value, Into::into))
    })
}

/// Changes the arguments of calls of a tool; absent ones are an empty object.
fn calls_of(tool: &'static str, change: fn(&mut Value)) -> Defect {
    defect().on_call(move |params, _| {
        if params["name"] == tool {
            if params["arguments"].is_null() {
                params["arguments"] = json!({});
            }
            change(&mut params["arguments"]);
        }
    })
}

/// Changes what the schema of a tool says.
fn schema(name: &'static str, edit: fn(&mut Value)) -> Defect {
    method("tools/list").result(move |page| {
        let tools = tools_of(page).iter_mut();
        tools.filter(|tool| tool["name"] == name).for_each(|tool| edit(&mut tool["inputSchema"]));
    })
}
