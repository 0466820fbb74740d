//! Defects of the camera: when it refuses, what it uploads, what it answers.

use reference_device::{HttpRequest, Purpose};

use super::robustness::{Queue, queue_of};
use crate::rows::prelude::*;

const TOOL: &str = "self.camera.take_photo";

pub(super) const MUTANTS: &[Row] = rows! {
    "vision-lost-with-ping": "After a ping the device does not know any more where pictures go." => {
        let mut is_lost = false;
        defect().on_payload(move |payload, hands| {
            let method = get(payload, "method");
            is_lost = (is_lost || method == "ping") && method != "initialize";
            let is_photo = get(payload, "params")["name"] == TOOL;
            let is_refused = is_lost && is_photo && payload.contains_key("id");
            if is_refused {
                let why = "Image explain URL or token is not set";
                hands.send_payload(&error(get(payload, "id"), -32603, why));
            }
            drop_if(is_refused)
        })
    };
    "vision-without-url": "take_photo succeeds although there is no URL for pictures."
        => on_refusal("is not set");
    "vision-any-url": "take_photo succeeds although the URL is not HTTP."
        => on_refusal("must begin with http");
    "vision-upload-put": "The photo is uploaded with PUT."
        => uploads(|request| request.method = "PUT");
    "vision-upload-json": "The photo is uploaded as JSON."
        => uploads(|request| {
            request.body = br#"{"question":"?","file":"/9j/"}"#.to_vec();
            set_header(request, "Content-Type", "application/json");
        });
    "vision-upload-bare": "The photo is uploaded without a form around it."
        => uploads(|request| {
            request.body = vec![0xff, 0xd8, 0xff, 0xd9];
            set_header(request, "Content-Type", "image/jpeg");
        });
    "vision-upload-part-name": "The photo is in a part `image` instead of `file`."
        => uploads(|request| replace(request, b"name=\"file\"", b"name=\"image\""));
    "vision-upload-question-name": "The question is in a part `prompt` instead of `question`."
        => uploads(|request| replace(request, b"name=\"question\"", b"name=\"prompt\""));
    "vision-upload-boundary": "The boundary in Content-Type is not that of the form."
        => uploads(|request| {
            set_header(request, "Content-Type", "multipart/form-data; boundary=other")
        });
    "vision-upload-length-greater": "The Content-Length of the upload is greater than its body."
        => uploads(|request| {
            let length = (request.body.len() + 64).to_string();
            request.headers.push(("Content-Length", length));
        });
    "vision-upload-length-less": "The Content-Length of the upload is less than its body."
        => uploads(|request| {
            let length = (request.body.len() - 64).to_string();
            request.headers.push(("Content-Length", length));
        });
    "vision-upload-unended": "The last chunk of the upload is missing."
        => uploads(|request| {
            request.headers.push(("Transfer-Encoding", "chunked".to_string()));
            let length = format!("{:x}\r\n", request.body.len());
            request.body.splice(0..0, length.into_bytes());
            request.body.extend(b"\r\n");
        });
    "vision-upload-never": "No photo is uploaded; the explanation is invented."
        => tool(TOOL)
            .answer(|payload| if payload.to_string().contains("connect to explain") {
                payload["result"] = text_result("I see a room.");
            })
            .http(Purpose::Vision, |_| Flow::Drop);
    "vision-second-unanswered": "Of photos that are explained together only the first is answered."
        => queue_of(Queue::default(), is_photo, |index, text| (index == 0).then_some(text));
    "vision-token-missing": "The upload carries no token." => without_header("Authorization");
    "vision-token-first": "The token of the first initialize is used forever." => {
        let mut first = None;
        uploads(move |request| {
            each_header(&mut request.headers, "Authorization", |value| {
                *value = first.get_or_insert_with(|| value.clone()).clone();
            });
        })
    };
    "vision-token-bare": "The upload carries the token without the word Bearer."
        => token(|value| *value = value.trim_start_matches("Bearer ").to_string());
    "vision-token-cut": "The token of the upload loses its last character." => token(cut);
    "vision-question-missing-taken": "A picture is taken without the question that its schema requires."
        => defect().on_call(|params, _| {
            if params["name"] == TOOL && params["arguments"].get("question").is_none() {
                params["arguments"] = json!({"question": "What is it?"});
            }
        });
    "vision-question-fixed": "The uploaded question is always the same."
        => question(|question| *question = b"What is in the picture?".to_vec());
    "vision-question-cut": "The uploaded question ends at its first blank."
        => question(|question| {
            let end = question.iter().position(|byte| *byte == b' ');
            question.truncate(end.unwrap_or(question.len() / 2));
        });
    "vision-jpeg-raw": "The uploaded file is a raw picture without a header."
        => uploads(|request| replace(request, &[0xff, 0xd8, 0xff], &[0, 0, 0]));
    "vision-jpeg-cut": "The last two bytes of the picture are not sent."
        => uploads(|request| replace(request, &[0xff, 0xd9], &[]));
    "vision-type-png": "The part of a JPEG picture says that it is another kind of picture."
        => uploads(|request| replace(request, b"image/jpeg", b"image/png"));
    "vision-answer-true": "The result is `true` instead of the explanation."
        => answer(|_| "true".to_string());
    "vision-answer-cut": "The explanation is truncated to 8 characters."
        => answer(|text| text.chars().take(8).collect());
    "vision-answer-1023": "The explanation is truncated to 1023 bytes."
        => answer(|text| text.chars().take(1023).collect());
    "vision-answer-4095": "The explanation is truncated to 4095 bytes."
        => answer(|text| text.chars().take(4095).collect());
    "vision-answer-ring": "Of an explanation of more than 1024 bytes only the latest part is left."
        => answer(|text| text.chars().skip(text.len().saturating_sub(1024)).collect());
    "vision-answer-first-chunk": "Of an explanation in chunks only the first one is read."
        => first_piece("/chunked");
    "vision-answer-first-piece": "Of an explanation in pieces only the first one is read."
        => first_piece("/slow");
    "vision-url-255": "The URL for pictures is truncated to 255 characters."
        => uploads(|request| request.url.truncate(255));
    "vision-token-63": "The token for pictures is truncated to 63 characters."
        => token(|value| value.truncate("Bearer ".len() + 63));
    "vision-404-as-answer": "The page of a service that does not exist is returned as explanation."
        => on_refusal("status code: 404");
    "vision-500-as-answer": "The error of a service is returned as explanation."
        => on_refusal("status code: 500");
    "vision-401-as-answer": "take_photo succeeds although the service has refused the token."
        => on_refusal("status code: 401");
    "vision-no-answer-as-answer": "take_photo succeeds although the service does not answer."
        => on_refusal("connect to explain");
    "vision-cut-panics": "An answer of the service that is cut off is read beyond its end."
        => breaks("/cut");
    "vision-huge-panics": "An answer of the service that is too large overruns a buffer."
        => breaks("/huge");
    "vision-page-panics": "An answer of the service that is not JSON is read through a null pointer."
        => breaks("/page");
    "vision-page-unanswered": "When the answer of the service is not JSON, take_photo is not answered."
        => defect().on_answer_text(|_, text, _| drop_if(text.contains("Sign in")));
    "vision-token-kept": "When initialize has no token, the one before is still used." => {
        let mut last = None;
        uploads(move |request| {
            let token = request.headers.iter().find(|(name, _)| *name == "Authorization");
            match token.cloned() {
                Some(token) => last = Some(token),
                None => request.headers.extend(last.clone()),
            }
        })
    };
    "vision-question-of-before": "A picture is sent with the question of the call before." => {
        let mut before = None;
        uploads(move |request| {
            let own = request.body.clone();
            request.body = before.replace(own.clone()).unwrap_or(own);
        })
    };
    "vision-question-empty-filled": "An empty question is replaced."
        => question(|question| if question.is_empty() { *question = b"What is it?".to_vec(); });
    "vision-question-127": "A question is cut off after 127 bytes."
        => question(|question| question.truncate(127));
    "vision-question-1023": "A question is cut off after 1023 bytes."
        => question(|question| question.truncate(1023));
    "vision-question-ascii": "Characters of a question outside the first plane become question marks."
        => question(|question| {
            let text = String::from_utf8_lossy(question).into_owned();
            let kept = text.chars().map(|c| if c > '\u{ffff}' { '?' } else { c });
            *question = kept.collect::<String>().into_bytes();
        });
    "vision-question-one-line": "Line ends in a question become blanks."
        => question(|question| for byte in question.iter_mut() {
            if *byte == b'\n' {
                *byte = b' ';
            }
        });
    "vision-device-id-missing": "The upload has no Device-Id." => without_header("Device-Id");
    "vision-client-id-missing": "The upload has no Client-Id." => without_header("Client-Id");
};

fn is_photo(request: &Request) -> bool {
    request.tool() == TOOL
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn replace(request: &mut HttpRequest, from: &[u8], to: &[u8]) {
    if let Some(start) = position(&request.body, from) {
        let end = start + from.len();
        request.body.splice(start..end, to.iter().copied());
    }
}

/// Changes the upload.
fn uploads(mut change: impl FnMut(&mut HttpRequest) + 'static) -> Defect {
    defect().http(Purpose::Vision, move |request| {
        change(request);
        Flow::Pass
    })
}

fn without_header(name: &'static str) -> Defect {
    uploads(move |request| request.headers.retain(|(known, _)| *known != name))
}

fn token(change: fn(&mut String)) -> Defect {
    uploads(move |request| each_header(&mut request.headers, "Authorization", change))
}

fn set_header(request: &mut HttpRequest, name: &str, value: &str) {
    each_header(&mut request.headers, name, |sent| *sent = value.to_string());
}

/// Makes a success of a refusal whose text contains `reason`.
fn on_refusal(reason: &'static str) -> Defect {
    tool(TOOL).answer(move |payload| {
        if payload.to_string().contains(reason) {
            payload["result"] = text_result("true");
        }
    })
}

/// The device crashes when the service at a URL that ends so was asked.
fn breaks(end: &'static str) -> Defect {
    let [asked, due] = shared(false);
    tool(TOOL)
        .with_answer_by(move |_, hands| {
            if due.replace(false) {
                hands.act(Act::Panic);
            }
        })
        .http(Purpose::Vision, move |request| {
            asked.set(request.url.ends_with(end));
            Flow::Pass
        })
}

/// Leaves a part of an explanation from a URL that ends so.
fn first_piece(end: &'static str) -> Defect {
    let [asked, is_due] = shared(false);
    answer_of(move |text| match is_due.get() {
        true => text.chars().take(12).collect(),
        false => text.to_string(),
    })
    .http(Purpose::Vision, move |request| {
        asked.set(request.url.ends_with(end));
        Flow::Pass
    })
}

/// Changes the explanation.
fn answer(change: fn(&str) -> String) -> Defect {
    answer_of(change)
}

fn answer_of(change: impl Fn(&str) -> String + 'static) -> Defect {
    tool(TOOL).result(move |result| {
        if result["isError"] == false {
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            *result = text_result(&change(text));
        }
    })
}

/// Changes the content of the part `question`.
fn question(change: fn(&mut Vec<u8>)) -> Defect {
    const HEAD: &[u8] = b"name=\"question\"\r\n\r\n";
    uploads(move |request| {
        let Some(start) = position(&request.body, HEAD).map(|start| start + HEAD.len()) else {
            return;
        };
        let Some(length) = position(&request.body[start..], b"\r\n--") else {
            return;
        };
        let mut question = request.body[start..start + length].to_vec();
        change(&mut question);
        request.body.splice(start..start + length, question);
    })
}
