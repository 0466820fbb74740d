//! Defects of the camera: when it refuses, what it uploads, what it answers.

use reference_device::{HttpRequest, Purpose};
use serde_json::{Value, json};

use super::{Mutant, mutant};
use crate::defect::Defect;
use crate::hooks::Flow;
use crate::prelude::*;

const TOOL: &str = "self.camera.take_photo";

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "vision-without-url",
        "A photo that nobody can explain is a success.",
        || on_refusal("is not set"),
    ),
    mutant(
        "vision-any-url",
        "A photo for an address that is not HTTP is a success.",
        || on_refusal("must begin with http"),
    ),
    mutant(
        "vision-upload-put",
        "The photo is uploaded with PUT.",
        || upload(|request| request.method = "PUT"),
    ),
    mutant(
        "vision-upload-json",
        "The photo is uploaded as JSON.",
        || {
            upload(|request| {
                request.body = br#"{"question":"?","file":"/9j/"}"#.to_vec();
                set_header(request, "Content-Type", "application/json");
            })
        },
    ),
    mutant(
        "vision-upload-bare",
        "The photo is uploaded without a form around it.",
        || {
            upload(|request| {
                request.body = vec![0xff, 0xd8, 0xff, 0xd9];
                set_header(request, "Content-Type", "image/jpeg");
            })
        },
    ),
    mutant(
        "vision-upload-part-name",
        "The photo is in a part `image` instead of `file`.",
        || upload(|request| replace(request, b"name=\"file\"", b"name=\"image\"")),
    ),
    mutant(
        "vision-upload-question-name",
        "The question is in a part `prompt` instead of `question`.",
        || upload(|request| replace(request, b"name=\"question\"", b"name=\"prompt\"")),
    ),
    mutant(
        "vision-upload-boundary",
        "The boundary in Content-Type is not that of the form.",
        || {
            upload(|request| {
                set_header(
                    request,
                    "Content-Type",
                    "multipart/form-data; boundary=other",
                );
            })
        },
    ),
    mutant(
        "vision-upload-never",
        "No photo is uploaded; the explanation is invented.",
        || {
            Defect::default()
                .http(Purpose::Vision, |_| Flow::Drop)
                .on_answer(|cause, payload, _| {
                    if cause.tool() == TOOL && payload.to_string().contains("connect to explain") {
                        succeed(&mut payload["result"], "I see a room.");
                    }
                    Flow::Pass
                })
        },
    ),
    mutant(
        "vision-token-missing",
        "The upload carries no token.",
        || upload(|request| request.headers.retain(|(name, _)| *name != "Authorization")),
    ),
    mutant(
        "vision-token-first",
        "The token of the first initialize is used for ever.",
        || {
            let mut first = None;
            Defect::default().http(Purpose::Vision, move |request| {
                for (name, value) in &mut request.headers {
                    if *name == "Authorization" {
                        *value = first.get_or_insert_with(|| value.clone()).clone();
                    }
                }
                Flow::Pass
            })
        },
    ),
    mutant(
        "vision-token-bare",
        "The upload carries the token without the word Bearer.",
        || {
            upload(|request| {
                for (_, value) in request
                    .headers
                    .iter_mut()
                    .filter(|(n, _)| *n == "Authorization")
                {
                    *value = value.trim_start_matches("Bearer ").to_string();
                }
            })
        },
    ),
    mutant(
        "vision-token-cut",
        "The token of the upload loses its last character.",
        || {
            upload(|request| {
                for (_, value) in request
                    .headers
                    .iter_mut()
                    .filter(|(n, _)| *n == "Authorization")
                {
                    value.pop();
                }
            })
        },
    ),
    mutant(
        "vision-question-fixed",
        "The uploaded question is always the same.",
        || {
            upload(|request| {
                with_question(request, |question| {
                    *question = b"What is in the picture?".to_vec();
                });
            })
        },
    ),
    mutant(
        "vision-question-cut",
        "The uploaded question ends at its first blank.",
        || {
            upload(|request| {
                with_question(request, |question| {
                    let end = question.iter().position(|byte| *byte == b' ');
                    question.truncate(end.unwrap_or(question.len() / 2));
                });
            })
        },
    ),
    mutant(
        "vision-jpeg-raw",
        "The uploaded file is a raw picture without a header.",
        || upload(|request| replace(request, &[0xff, 0xd8, 0xff], &[0, 0, 0])),
    ),
    mutant(
        "vision-answer-true",
        "The result is `true` instead of the explanation.",
        || answer(|_| "true".to_string()),
    ),
    mutant(
        "vision-answer-cut",
        "The explanation is cut to 8 characters.",
        || answer(|text| text.chars().take(8).collect()),
    ),
    mutant(
        "vision-device-id-missing",
        "The upload has no Device-Id.",
        || upload(|request| request.headers.retain(|(name, _)| *name != "Device-Id")),
    ),
    mutant(
        "vision-client-id-missing",
        "The upload has no Client-Id.",
        || upload(|request| request.headers.retain(|(name, _)| *name != "Client-Id")),
    ),
];

fn upload(change: fn(&mut HttpRequest)) -> Defect {
    Defect::default().http(Purpose::Vision, move |request| {
        change(request);
        Flow::Pass
    })
}

/// Makes a success of a refusal whose text contains `reason`.
fn on_refusal(reason: &'static str) -> Defect {
    Defect::default().on_answer(move |cause, payload, _| {
        if cause.tool() == TOOL && payload.to_string().contains(reason) {
            succeed(&mut payload["result"], "true");
        }
        Flow::Pass
    })
}

/// Changes the explanation.
fn answer(change: fn(&str) -> String) -> Defect {
    Defect::default().on_answer(move |cause, payload, _| {
        if cause.tool() == TOOL
            && let Some(result) = payload.get_mut("result")
            && result["isError"] == json!(false)
        {
            let text = change(result["content"][0]["text"].as_str().unwrap_or_default());
            succeed(result, &text);
        }
        Flow::Pass
    })
}

fn succeed(result: &mut Value, text: &str) {
    *result = json!({"content": [{"type": "text", "text": text}], "isError": false});
}

fn set_header(request: &mut HttpRequest, name: &str, value: &str) {
    for (_, sent) in request
        .headers
        .iter_mut()
        .filter(|(known, _)| *known == name)
    {
        *sent = value.to_string();
    }
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

/// Changes the content of the part `question`.
fn with_question(request: &mut HttpRequest, change: fn(&mut Vec<u8>)) {
    const HEAD: &[u8] = b"name=\"question\"\r\n\r\n";
    let Some(start) = position(&request.body, HEAD).map(|start| start + HEAD.len()) else {
        return;
    };
    let Some(length) = position(&request.body[start..], b"\r\n--") else {
        return;
    };
    let mut question = request.body[start..start + length].to_vec();
    change(&mut question);
    request.body.splice(start..start + length, question);
}
