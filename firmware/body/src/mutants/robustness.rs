//! Defects that wait for hostile input.

use crate::platform::{Frame, LinkOptions};
use crate::rows::prelude::*;

pub(super) const MUTANTS: &[Row] = rows! {
    "garbage-hangs": "Text that is not JSON stops the message loop." => texts(is_no_json, Act::Hang);
    "garbage-swallows-next": "The request behind text that is not JSON is lost." => {
        let mut garbage = false;
        texts_lost(move |text| core::mem::replace(&mut garbage, is_no_json(text)))
    };
    "garbage-panics": "Text that is not JSON reads a null pointer." => texts(is_no_json, Act::Panic);
    "garbage-disconnects": "Text that is not JSON ends the connection."
        => texts(is_no_json, Act::Disconnect);
    "empty-text-panics": "An empty text frame reads before its buffer."
        => texts(|text| text.trim().is_empty(), Act::Panic);
    "trailing-text-executed": "A second message in a text frame reads a freed buffer."
        => texts(|text| is_no_json(text) && text.contains("}{"), Act::Panic);
    "truncated-text-hangs": "An incomplete message makes the device wait for its end."
        => texts(
            |text| text.starts_with('{') && is_no_json(text) && !text.ends_with('}'),
            Act::Hang,
        );
    "deep-nesting-panics": "Deep nesting overflows the stack of the network task."
        => texts(|text| depth(text) > 40, Act::Panic);
    "deep-nesting-hangs": "Deep nesting keeps the parser busy forever."
        => texts(|text| depth(text) > 40, Act::Hang);
    "long-string-hangs": "A message above 32 kB stops the message loop."
        => texts(|text| text.len() > 32 << 10 && depth(text) < 40, Act::Hang);
    "long-string-panics": "A message above 32 kB is copied to the stack."
        => texts(|text| text.len() > 32 << 10 && depth(text) < 40, Act::Panic);
    "long-argument-panics": "An argument above 32 kB is copied to the stack."
        => texts(|text| text.len() > 32 << 10 && text.contains("\"arguments\":{\""), Act::Panic);
    "long-text-panics": "A text to show of 8192 bytes or more is written beyond its buffer."
        => with_tools(texts(|text| text.len() > 8192 && text.contains(SHOW_TEXT), Act::Panic), DISPLAY);
    "message-of-4096-closed": "A text above 4,096 bytes ends the connection with close code 1009."
        => closed_above(4096, false);
    "large-closed-deaf":
        "A text above 8,192 bytes ends the connection with close code 1009, and nothing is answered on the next."
        => closed_above(8192, true);
    "answer-of-512-lost": "An answer that fills the buffer of 512 bytes exactly is lost."
        => defect().on_answer_text(|_, text, _| drop_if(text.len() == 512));
    "answer-of-1024-cut": "An answer that fills the buffer of 1024 bytes exactly loses its last byte."
        => defect().on_answer_text(|_, text, _| {
            if text.len() == 1024 {
                text.pop();
            }
            Flow::Pass
        });
    "answer-of-126-cut":
        "An answer of just 126 bytes, the first that needs a longer frame header, loses its last byte."
        => defect().on_answer_text(|_, text, _| {
            if text.len() == 126 {
                text.pop();
            }
            Flow::Pass
        });
    "binary-large-panics": "A binary frame of more than 1,500 bytes is written beyond its buffer."
        => defect().binary(|frame, hands| if frame.len() > 1500 { hands.act(Act::Panic); });
    "message-of-1024-dropped": "A message that fills the buffer of 1024 bytes exactly is dropped."
        => texts_lost(|text| text.len() == 1024);
    "message-of-4096-dropped": "A message that fills the buffer of 4,096 bytes exactly is dropped."
        => texts_lost(|text| text.len() == 4096);
    "message-above-2048-dropped": "A message of more than 2,048 bytes is dropped."
        => texts_lost(|text| text.len() > 2048);
    "message-above-4096-dropped": "A message of more than 4,096 bytes is dropped."
        => texts_lost(|text| text.len() > 4096);
    "message-of-125-dropped": "A frame of 125 bytes is read as if its length came in two more bytes, and dropped."
        => texts_lost(|text| text.len() == 125);
    "binary-short-panics": "A binary frame of less than 16 bytes is read beyond its end."
        => defect().binary(|frame, hands| if frame.len() < 16 { hands.act(Act::Panic); });
    "binary-hangs": "A binary frame that is not audio stops the message loop."
        => defect().binary(|_, hands| hands.act(Act::Hang));
    "number-exponent-panics": "A number with a large exponent raises a floating-point exception."
        => texts(
            |text| {
                ["e999", "E999", "e+999", "e308", "e309", "e400"]
                    .iter()
                    .any(|end| text.contains(end))
            },
            Act::Panic,
        );
    "value-token-object-panics": "A progress token that is an object is read as text."
        => texts(|text| text.contains("\"progressToken\":{"), Act::Panic);
    "value-params-true-hangs": "Parameters that are true are waited for."
        => texts(|text| text.contains("\"params\":true"), Act::Hang);
    "value-client-name-array-panics": "The name of a client that is an array is copied as text."
        => texts(|text| text.contains("\"clientInfo\":{\"name\":["), Act::Panic);
    "value-result-disconnects": "A response of the backend with an empty result ends the connection."
        => texts(|text| text.contains("\"result\":\"\""), Act::Disconnect);
    "value-notification-number-panics": "Parameters of a notification that are a fraction are read as an object."
        => texts(|text| text.contains("notifications/mcp_hil") && text.contains("\"params\":0.5"), Act::Panic);
    "value-type-deep-hangs": "A type of message that is nested is searched for its end."
        => texts(|text| text.contains("\"type\":[[["), Act::Hang);
    "value-emotion-array-panics": "An array for an argument of a tool that shows a text is read as text."
        => texts(|text| text.contains(".show_message") && text.contains("\"emotion\":["), Act::Panic);
    "value-stt-text-null-panics": "What was heard is copied as text when it is null."
        => texts(|text| text.contains("\"stt\"") && text.contains("\"text\":null"), Act::Panic);
    "value-emotion-missing-panics": "An emotion is copied as text where there is none."
        => texts(|text| text.contains("\"llm\"") && !text.contains("\"emotion\""), Act::Panic);
    "value-tts-state-number-hangs": "A state of speech that is a number is waited for."
        => texts(|text| text.contains("\"tts\"") && text.contains("\"state\":0"), Act::Hang);
    "value-alert-object-panics": "The message of an alert that is an object is copied as text."
        => texts(|text| text.contains("\"alert\"") && text.contains("\"message\":{"), Act::Panic);
    "value-system-command-array-disconnects": "A command that is an array ends the connection."
        => texts(
            |text| text.contains("\"system\"") && text.contains("\"command\":["),
            Act::Disconnect,
        );
    "number-digits-hang": "A number of more than 30 digits is converted in an endless loop."
        => texts(|text| digits_in_a_row(text) > 30, Act::Hang);
    "surrogate-panics": "A lone surrogate escape is decoded beyond the end of the string."
        => texts(has_surrogate, Act::Panic);
    "surrogate-hangs": "A lone surrogate escape waits for its other half."
        => texts(has_surrogate, Act::Hang);
    "not-utf8-panics": "Text that is not UTF-8 is decoded beyond its end." => not_utf8(Act::Panic);
    "not-utf8-hangs": "Text that is not UTF-8 is waited for: a character may not be complete."
        => not_utf8(Act::Hang);
    "nul-panics": "A NUL escape ends a string before its buffer does."
        => texts(|text| text.contains("\\u0000"), Act::Panic);
    "non-bmp-hangs": "A character outside the Basic Multilingual Plane stops the message loop."
        => texts(|text| text.contains(|character| character > '\u{FFFF}'), Act::Hang);
    "batch-panics": "A batch is read as an object." => envelopes_instead(is_batch, Act::Panic);
    "batch-hangs": "A batch stops the message loop." => envelopes_instead(is_batch, Act::Hang);
    "batch-of-notifications-answered": "A batch of notifications is answered with an empty array."
        => batches(|members| {
            let is_note = |member: &Value| member.is_object() && member.get("id").is_none();
            (!members.is_empty() && members.iter().all(is_note)).then(|| json!([]))
        });
    "batch-last-lost": "In a batch of what is no request all members get an error but the last."
        => batches(|members| {
            let refusals = vec![error(&Value::Null, -32600, "Invalid Request"); members.len().max(1) - 1];
            (!refusals.is_empty() && !members[0].is_object()).then(|| json!(refusals))
        });
    "batch-first-id": "The requests of a batch are all answered under the id of the first." => batches(|members| {
        let is_request = |member: &&Value| member.get("id").is_some();
        let number = members.iter().filter(is_request).count();
        let id = &members.first()?["id"];
        (number > 1).then(|| json!(vec![json!({"jsonrpc": "2.0", "id": id, "result": {"tools": []}}); number]))
    });
    "batch-wraps-answers": "Once a batch has come, the answer to each request is in an array." => {
        let [seen, is_seen] = shared(false);
        envelopes(move |envelope| seen.set(seen.get() || is_batch(envelope)))
            .on_answer(move |_, payload, _| {
                if is_seen.get() {
                    *payload = json!([payload.take()]);
                }
                Flow::Pass
            })
    };
    "burst-overflow": "Of requests back to back those beyond the sixteenth are lost."
        => queue(|index| index < 16);
    "burst-calls-lost": "Of calls back to back those beyond the twentieth are lost; other requests are not."
        => queue_of(Queue::default(), is_call, |index, text| (index < 20).then_some(text));
    "burst-every-twentieth-lost": "Of requests back to back every twentieth is lost."
        => queue(|index| index % 20 != 19);
    "burst-panics": "More than 24 requests back to back exhaust the memory." => {
        let [waiting, count] = shared(0_u32);
        defect()
            .on_answer_text(move |_, _, hands| {
                if waiting.get() == 0 {
                    hands.act_later(QUEUE_MS, Act::Wake);
                }
                waiting.set((waiting.get() + 1) % 25);
                act_if(waiting.get() == 0, Act::Panic, hands)
            })
            .wake(move |_| count.set(0))
    };
    "fragments-dropped": "A message in several WebSocket fragments is ignored."
        => fragments(|text, _| {
            text.clear();
            Flow::Pass
        });
    "fragments-first-only":
        "Of a message in several WebSocket fragments only the beginning is read."
        => fragments(|text, _| {
            text.truncate(text.floor_char_boundary(text.len() / 2));
            Flow::Pass
        });
    "fragments-decoded-alone": "Each fragment is decoded by itself: a character that is cut becomes others."
        => fragments(|text, _| {
            *text = text.replace(|c: char| !c.is_ascii(), "\u{fffd}\u{fffd}");
            Flow::Pass
        });
    "fragments-cut-at-1024": "Of a message in fragments the first 1,024 bytes are kept."
        => fragments(|text, _| {
            let end = text.floor_char_boundary(1024);
            text.truncate(end);
            Flow::Pass
        });
    "fragments-panic": "A message in several WebSocket fragments overruns a buffer."
        => fragments(|_, hands| instead(Act::Panic, hands));
};

/// How long answers wait in the queue before it is emptied.
const QUEUE_MS: u64 = 6;

/// Answers that wait to be sent.
pub(crate) type Queue = Rc<RefCell<Vec<String>>>;

/// Answers pass a queue; `is_kept` tells which places in it are good.
fn queue(is_kept: fn(usize) -> bool) -> Defect {
    queue_of(Queue::default(), |_| true, move |index, text| is_kept(index).then_some(text))
}

/// The same for the answers to such requests: what leaves the queue for the answer at this place.
pub(crate) fn queue_of(
    queue: Queue,
    is_such: fn(&Request) -> bool,
    leaves: impl Fn(usize, String) -> Option<String> + 'static,
) -> Defect {
    let out = Rc::clone(&queue);
    Defect::default()
        .on_answer_text(move |request, text, hands| {
            if !is_such(request) {
                return Flow::Pass;
            }
            let mut queue = queue.borrow_mut();
            if queue.is_empty() {
                hands.act_later(QUEUE_MS, Act::Wake);
            }
            queue.push(core::mem::take(text));
            Flow::Drop
        })
        .wake(move |hands| {
            let waiting = core::mem::take(&mut *out.borrow_mut());
            let leaving = waiting.into_iter().enumerate();
            leaving
                .filter_map(|(index, text)| leaves(index, text))
                .for_each(|text| hands.send(text));
        })
}

/// Takes text that is not UTF-8, and has an accident with it.
fn not_utf8(act: Act) -> Defect {
    let options = LinkOptions { takes_any_text: true, ..LinkOptions::default() };
    texts(|text| text.contains(char::REPLACEMENT_CHARACTER), act).link(options)
}

/// Calls, whatever they come to.
pub(crate) fn is_call(request: &Request) -> bool {
    !request.tool().is_empty()
}

/// Text that does not even look like JSON to a lenient parser. Nesting, surrogates and numbers
/// that the device's parser refuses have mutants of their own.
fn is_no_json(text: &str) -> bool {
    depth(text) < 40
        && serde_json::from_str::<Value>(text).is_err_and(|error| {
            let message = error.to_string();
            !message.contains("out of range")
                && !message.contains("surrogate")
                && !message.contains("hex escape")
        })
}

/// Deepest nesting of brackets, those in strings included: hostile text is not parsed twice.
fn depth(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn digits_in_a_row(text: &str) -> usize {
    text.split(|character: char| !character.is_ascii_digit()).map(str::len).max().unwrap_or(0)
}

fn has_surrogate(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let lone = |text: &str| serde_json::from_str::<Value>(text).is_err();
    ["\\ud8", "\\ud9", "\\uda", "\\udb", "\\udc", "\\udd", "\\ude", "\\udf"]
        .iter()
        .any(|half| lower.contains(half))
        && lone(text)
}

/// Answers batches in the place of the device, where there is an answer.
fn batches(answer: fn(&[Value]) -> Option<Value>) -> Defect {
    defect().on_envelope(move |envelope, hands| {
        let members = get(envelope, "payload").as_array().filter(|_| is_batch(envelope));
        let answer = members.and_then(|members| answer(members));
        if let Some(answer) = &answer {
            hands.send_payload(answer);
        }
        drop_if(answer.is_some())
    })
}

fn is_batch(envelope: &Map<String, Value>) -> bool {
    get(envelope, "type") == "mcp" && get(envelope, "payload").is_array()
}

/// Sees the text of messages that came in fragments.
fn fragments(hook: fn(&mut String, &mut Hands) -> Flow) -> Defect {
    link(|options| options.watch_fragments = true).inbound(move |inbound, hands| {
        match inbound.fragmented {
            true => hook(&mut inbound.text, hands),
            false => Flow::Pass,
        }
    })
}

/// Closes the connection because of a text of more bytes than these, as a device may that has no room for a message; it
/// connects again, perhaps deaf.
fn closed_above(bytes: usize, grows_deaf: bool) -> Defect {
    let mut is_deaf = false;
    defect().inbound(move |inbound, hands| {
        let is_large = inbound.text.len() > bytes;
        if is_large && hands.over_mqtt() {
            hands.act(Act::Disconnect);
        } else if is_large {
            hands.act(Act::Send(Frame::Close(1009)));
        }
        is_deaf |= is_large && grows_deaf;
        drop_if(is_large || is_deaf)
    })
}
