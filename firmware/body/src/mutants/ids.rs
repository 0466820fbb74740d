//! Defects of the id: what is echoed, and what is taken for an id.

use crate::float::round;
use crate::rows::prelude::*;

/// An id that stands for a forbidden one while the device handles the request.
const STAND_IN: u64 = 0x6d63_7068_696c_0001;

pub(super) const MUTANTS: &[Row] = rows! {
    "id-int32-saturated": "Ids are stored in an `int` and saturate at 2147483647."
        => echo(|id| integer(id).map(|id| json!(id.clamp(i32::MIN.into(), i32::MAX.into()))));
    "id-int32-wrapped": "Ids are cast to 32 bits and lose the higher bits."
        => echo(|id| integer(id).map(|id| json!(id as i32)));
    "id-above-int32-dropped": "Ids above 2147483647 are treated as invalid and not answered."
        => dropped(|id| integer(id).is_some_and(|id| id > INT_MAX));
    "id-uint32-wrapped": "Ids are stored in an `unsigned` and negative ones come back huge."
        => echo(|id| negative(id).map(|id| json!(id as u32)));
    "id-single-precision": "Ids go through a `float` and are exact only up to 2^24."
        => echo(|id| integer(id).map(|id| json!(id as f32 as i64)));
    "id-double-precision": "Ids go through a `double` and lose the last digit above 2^53."
        => echo(|id| integer(id).map(|id| json!(id as f64 as i64)));
    "id-as-string": "Ids above 2147483647 come back as strings."
        => echo(|id| integer(id).filter(|id| *id > INT_MAX).map(|id| json!(id.to_string())));
    "id-negative-positive": "Negative ids come back without their sign."
        => echo(|id| negative(id).map(|id| json!(-id as u64)));
    "id-negative-dropped": "Requests with a negative id are not answered."
        => dropped(|id| negative(id).is_some());
    "id-zero-missing": "Id 0 is treated as no id, and the request as a notification."
        => dropped(|id| id == &json!(0));
    "id-zero-null": "Id 0 comes back as null."
        => echo(|id| (id == &json!(0)).then_some(Value::Null));
    "id-int32-max-refused": "Id 2147483647 is reserved for internal use and refused."
        => dropped(|id| id == &json!(i32::MAX));
    "id-1000-next": "Id 1000 comes back as 1001." => echo(|id| (id == &json!(1000)).then(|| json!(1001)));
    "id-256-zero": "Id 256 comes back as 0." => echo(|id| (id == &json!(256)).then(|| json!(0)));
    "id-answered-before": "A request with the id of the one before gets the answer of that, also in another session." => {
        let mut last = None;
        defect().on_answer(move |_, payload, _| {
            match &last {
                Some((id, said)) if *id == payload["id"] => set_content(payload, Clone::clone(said)),
                _ => last = Some((payload["id"].clone(), content(payload))),
            }
            Flow::Pass
        })
    };
    "id-error-null": "Error answers have the id null."
        => refusals(|payload| payload["id"] = Value::Null);
    "id-error-zero": "Error answers have the id 0." => refusals(|payload| payload["id"] = json!(0));
    "id-error-missing": "Error answers have no id." => refusals(|payload| remove(payload, "id"));
    "id-error-previous": "An error of set_volume has the id of the one before." => {
        let mut before = None;
        tool("self.audio_speaker.set_volume").answer(move |payload| {
            if payload.get("error").is_some() {
                let id = payload["id"].clone();
                payload["id"] = before.replace(id.clone()).unwrap_or(id);
            }
        })
    };
    "id-previous": "The second list answer and later ones have the id of the first." => {
        let mut first = None;
        method("tools/list").answer(move |payload| {
            payload["id"] = first.get_or_insert_with(|| payload["id"].clone()).clone();
        })
    };
    "id-fraction-truncated": "A fractional id loses its fraction: 1.9 is answered as 1."
        => accepted(|id| id.as_f64().filter(|_| id.is_f64()).map(|id| json!(id as i64)));
    "id-fraction-rounded": "A fractional id is rounded: 1.9 is answered as 2."
        => accepted(|id| id.as_f64().filter(|_| id.is_f64()).map(|id| json!(round(id) as i64)));
    "id-string-answered": "A string id is accepted and echoed."
        => answered_as_sent(Value::is_string);
    "id-string-lower-case": "A string id is accepted, and echoed in lower case."
        => answered_as(Value::is_string, |cause| json!(text_of(cause).to_lowercase()));
    "id-string-ascii": "A string id is accepted, and echoed without what is not ASCII."
        => answered_as(Value::is_string, |cause| {
            json!(text_of(cause).replace(|c: char| !c.is_ascii(), "?"))
        });
    "id-string-control-lost": "A string id is accepted, and echoed without its control characters."
        => answered_as(Value::is_string, |cause| json!(text_of(cause).replace(char::is_control, "")));
    "id-string-answered-late": "A string id is accepted, and answered 300 ms later." => {
        let executed = stand_in(Value::is_string);
        executed.on_answer(|cause, payload, hands| {
            if payload["id"] != json!(STAND_IN) {
                return Flow::Pass;
            }
            payload["id"] = cause.id().clone();
            let text = hands.envelope(payload);
            hands.send_later(300, text);
            Flow::Drop
        })
    };
    "id-string-as-number": "A string id is answered with the number that it contains."
        => accepted(|id| id.as_str().map(|id| json!(id.parse::<i64>().unwrap_or(0))));
    "id-numeric-string-as-number": "The id \"42\" is answered with the number 42."
        => accepted(|id| id.as_str()?.parse::<i64>().ok().map(|id| json!(id)));
    "id-numeric-string-answered": "An id of digits in quotes is accepted and echoed."
        => answered_as_sent(|id| id.as_str().is_some_and(|id| id.parse::<i64>().is_ok()));
    "id-string-hangs": "A request with a string id makes the device hang."
        => when(|request| request.id().is_string()).instead(Act::Hang);
    "id-string-executed": "A call with a string id is executed, though not answered."
        => stand_in(Value::is_string)
            .on_answer(|_, payload, _| drop_if(payload["id"] == json!(STAND_IN)));
    "id-string-null-result": "A string id is accepted and answered with the id null."
        => answered_as(Value::is_string, |_| Value::Null);
    "id-string-short-only": "A string id of up to 64 bytes is answered, a longer one ignored."
        => answered_as_sent(|id| id.as_str().is_some_and(|id| id.len() <= 64));
    "id-string-cut-at-255": "A string id is accepted, and echoed up to its 255th byte."
        => answered_as(Value::is_string, |cause| {
            let text = text_of(cause);
            json!(text[..text.floor_char_boundary(255)])
        });
    "id-string-refused-without-id": "A request with a string id is answered with -32600 and no id."
        => defect().on_payload(|payload, hands| {
            let is_refused = payload.get("id").is_some_and(Value::is_string);
            if is_refused {
                let mut answer = error(&Value::Null, -32600, "id must be an integer");
                remove(&mut answer, "id");
                hands.send_payload(&answer);
            }
            Flow::Pass
        });
    "id-page-32-bits": "The ids of requests for a further page are kept in 32 bits."
        => defect().on_answer(|cause, payload, _| {
            if !cause.cursor().is_empty() && cause.id().as_i64() > Some(i64::from(i32::MAX)) {
                payload["id"] = json!(i32::MAX);
            }
            Flow::Pass
        });
    "id-string-not-logged": "A string id is ignored without a line on the console."
        => unprinted(|line| line.contains("MCP: Invalid id for method"));
    "id-string-logged-without-method": "The line about an invalid id does not name the method."
        => defect().console(|line| {
            if let Some(at) = line.find("Invalid id for method") {
                line.truncate(at + "Invalid id".len());
            }
            Flow::Pass
        });
    "id-null-answered": "A request with id null is executed and answered with id null."
        => answered_as_sent(Value::is_null);
    "id-null-as-zero": "A request with id null is answered with id 0."
        => accepted(|id| id.is_null().then(|| json!(0)));
    "id-boolean-answered": "A request with id true is executed and answered with id true."
        => answered_as_sent(Value::is_boolean);
    "id-boolean-as-one": "A request with id true is answered with id 1."
        => accepted(|id| id.as_bool().map(|id| json!(i32::from(id))));
    "id-array-answered": "A request whose id is an array is executed and answered."
        => answered_as_sent(Value::is_array);
    "id-object-answered": "A request whose id is an object is executed and answered."
        => answered_as_sent(Value::is_object);
};

/// Changes the ids of answers; `None` leaves one as it is.
fn echo(change: fn(&Value) -> Option<Value>) -> Defect {
    Defect::default().on_answer(move |_, payload, _| {
        if let Some(id) = change(&payload["id"]) {
            payload["id"] = id;
        }
        Flow::Pass
    })
}

/// Drops requests with such an id.
fn dropped(is_dropped: fn(&Value) -> bool) -> Defect {
    Defect::default().on_payload(move |payload, _| {
        if payload.get("id").is_some_and(is_dropped) { Flow::Drop } else { Flow::Pass }
    })
}

/// Reads a forbidden id as another one.
fn accepted(read: fn(&Value) -> Option<Value>) -> Defect {
    Defect::default().on_payload(move |payload, _| {
        if let Some(id) = payload.get("id").and_then(read) {
            payload.insert("id".to_string(), id);
        }
        Flow::Pass
    })
}

/// Lets a forbidden id through to the device, which sees [`STAND_IN`] instead.
fn stand_in(is_such: fn(&Value) -> bool) -> Defect {
    Defect::default().on_payload(move |payload, _| {
        if payload.get("id").is_some_and(is_such) {
            payload.insert("id".to_string(), json!(STAND_IN));
        }
        Flow::Pass
    })
}

/// Accepts a forbidden id and echoes it.
fn answered_as_sent(is_such: fn(&Value) -> bool) -> Defect {
    answered_as(is_such, |cause| cause.id().clone())
}

/// Accepts a forbidden id and answers under another one.
fn answered_as(is_such: fn(&Value) -> bool, id: fn(&Request) -> Value) -> Defect {
    stand_in(is_such).on_answer(move |cause, payload, _| {
        if payload["id"] == json!(STAND_IN) {
            payload["id"] = id(cause);
        }
        Flow::Pass
    })
}

/// A string id.
fn text_of(cause: &Request) -> &str {
    cause.id().as_str().unwrap_or_default()
}

fn negative(id: &Value) -> Option<i128> {
    integer(id).filter(|id| *id < 0)
}
