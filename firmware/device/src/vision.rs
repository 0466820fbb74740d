//! Sending a picture to the service that explains it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use crate::http::{HttpOutcome, HttpRequest, Purpose};
use crate::identity::Identity;
use crate::limits::LONGEST_EXPLANATION;
use crate::mcp::Vision;
use crate::tools::PHOTO;

/// Between the parts of the form. Neither the picture nor a sensible question contains it.
const BOUNDARY: &str = "----ESP32_CAMERA_BOUNDARY";

/// The request that uploads the picture, or why there can be none.
pub(crate) fn request(
    vision: Option<&Vision>,
    question: &str,
    identity: &Identity,
) -> Result<HttpRequest, String> {
    let Some(vision) = vision.filter(|vision| !vision.url.is_empty()) else {
        return Err("Image explain URL or token is not set".to_string());
    };
    let scheme = vision.url.split_once("://").map_or("", |(scheme, _)| scheme);
    if !["http", "https"].contains(&scheme) {
        return Err(format!("Image explain URL must begin with http or https, not `{scheme}`"));
    }
    let mut headers = vec![
        ("Device-Id", identity.mac.clone()),
        ("Client-Id", identity.client_id.clone()),
        ("Content-Type", format!("multipart/form-data; boundary={BOUNDARY}")),
    ];
    if !vision.token.is_empty() {
        headers.push(("Authorization", format!("Bearer {}", vision.token)));
    }
    Ok(HttpRequest {
        purpose: Purpose::Vision,
        method: "POST",
        url: vision.url.clone(),
        headers,
        body: form(question),
    })
}

fn form(question: &str) -> Vec<u8> {
    let mut body = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"question\"\r\n\r\n{question}\r\n\
         --{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"camera.jpg\"\r\n\
         Content-Type: image/jpeg\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(PHOTO);
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    body
}

/// What the service said, or why it said nothing.
pub(crate) fn explanation(outcome: HttpOutcome) -> Result<String, String> {
    match outcome {
        Some(answer) if answer.status == 200 && answer.body.len() > LONGEST_EXPLANATION => {
            Err(format!(
                "The explanation has {} bytes, at most {LONGEST_EXPLANATION} are taken",
                answer.body.len()
            ))
        }
        Some(answer) if answer.status == 200 => {
            Ok(String::from_utf8_lossy(&answer.body).into_owned())
        }
        Some(answer) => Err(format!("Failed to upload photo, status code: {}", answer.status)),
        None => Err("Failed to connect to explain URL".to_string()),
    }
}
