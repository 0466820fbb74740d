//! Checks on the upload of a picture.

use std::collections::BTreeMap;

use mcp_hil_core::catalogue::RequirementId as Id;
use serde_json::Value;

use super::sink::{Sink, evidence};
use mcp_hil_core::capability::PHOTO_TOOL;
use mcp_hil_core::transcript::{HttpEndpoint, HttpExchange};

/// Most questions that are remembered.
const QUESTIONS: usize = 32;

/// Types of pictures that are no JPEG.
const OTHER_PICTURES: [&str; 4] = ["image/png", "image/gif", "image/webp", "image/bmp"];

/// What the device was told and asked.
#[derive(Debug, Default)]
pub(crate) struct Vision {
    /// The token of the last `initialize` with a URL, as the transcript shows it: it is a secret.
    token: Option<String>,
    /// There was such an `initialize`, and it had no token.
    has_no_token: bool,
    /// What was asked in calls of the tool that may be under way, the latest last.
    questions: Vec<Question>,
    /// By which headers the device said which one it is, when it connected or requested its configuration.
    identity: [Option<String>; 2],
}

/// A call of the tool.
#[derive(Debug)]
struct Question {
    /// Nothing where the message need be no request, such as one with a text that UTF-8 cannot carry (RFC 8259,
    /// section 8.2).
    text: Option<String>,
    /// Where it was sent.
    asked: u64,
    is_answered: bool,
}

/// These headers.
const IDENTITY: [&str; 2] = ["device-id", "client-id"];

impl Vision {
    /// The harness sent a legal request as `asked`. `text` is its envelope.
    pub(crate) fn sent(
        &mut self,
        asked: u64,
        (method, tool): (Option<&str>, Option<&str>),
        text: &str,
    ) {
        let pointer = match (method, tool) {
            (Some("initialize"), _) => "/payload/params/capabilities/vision",
            (_, Some(PHOTO_TOOL)) => "/payload/params/arguments/question",
            _ => return,
        };
        let envelope: Value = serde_json::from_str(text).unwrap_or_default();
        match envelope.pointer(pointer) {
            Some(Value::String(text)) => self.ask(Some(text.clone()), asked),
            Some(vision) if vision.get("url").is_some_and(Value::is_string) => {
                let token = vision.get("token").and_then(Value::as_str);
                self.token = token.filter(|token| !token.is_empty()).map(str::to_owned);
                self.has_no_token = self.token.is_none();
            }
            _ => {}
        }
    }

    /// The harness sent something as `asked` that need be no request. A device may take it for a call of the tool.
    pub(crate) fn sent_oddly(&mut self, asked: u64, text: &str) {
        if text.contains(PHOTO_TOOL) {
            self.ask(None, asked);
        }
    }

    fn ask(&mut self, text: Option<String>, asked: u64) {
        // A picture is sent before its call is answered. Until another one is sent, the entries of both may have
        // changed places.
        self.questions.retain(|question| !question.is_answered);
        if self.questions.len() == QUESTIONS {
            self.questions.remove(0);
        }
        self.questions.push(Question { text, asked, is_answered: false });
    }

    /// The request that was sent as `asked` has its answer.
    pub(crate) fn answered(&mut self, asked: u64) {
        let mut questions = self.questions.iter_mut();
        if let Some(question) = questions.find(|question| question.asked == asked) {
            question.is_answered = true;
        }
    }

    /// The device has said by these headers which one it is.
    pub(crate) fn knows(&mut self, headers: &BTreeMap<String, String>) {
        for (known, name) in self.identity.iter_mut().zip(IDENTITY) {
            if let Some(told) = headers.get(name).filter(|told| !told.is_empty()) {
                *known = Some(told.clone());
            }
        }
    }

    /// The device made a request.
    pub(crate) fn exchange(&mut self, exchange: &HttpExchange, seq: u64, sink: &mut Sink) {
        if exchange.endpoint == HttpEndpoint::Bootstrap && exchange.method == "POST" {
            self.knows(&exchange.headers);
        }
        let header = |name: &str| exchange.header(name).filter(|value| !value.is_empty());
        let known =
            ["device-id", "client-id", "authorization"].iter().any(|name| header(name).is_some());
        let post = exchange.method == "POST";
        // A browser at the URL is somebody who looks what is there; what ended in its midst,
        // perhaps because the device was stopped, shows nothing.
        if exchange.endpoint != HttpEndpoint::Vision
            || exchange.status.is_none()
            || !(post || known)
        {
            return;
        }
        let upload = exchange.upload.clone().unwrap_or_default();
        let missing = match &exchange.problem {
            _ if !post => Some(exchange.method.clone()),
            Some(problem) => Some(problem.clone()),
            None if upload.question.is_none() => Some("no part `question`".to_owned()),
            None if upload.file_bytes.is_none() => Some("no part `file`".to_owned()),
            None => None,
        };
        sink.test(Id::VisionUpload, missing.is_none(), || {
            let expected = "POST of multipart/form-data with the parts `question` and `file`";
            evidence(expected, missing.unwrap_or_default(), seq)
        });
        if let Some(token) = &self.token {
            let got = header("authorization");
            let right = got.and_then(|got| got.strip_prefix("Bearer ")) == Some(token);
            sink.test(Id::VisionToken, right, || {
                let expected = format!("Authorization: Bearer {token}, as in the last initialize");
                evidence(expected, got.unwrap_or("absent"), seq)
            });
        }
        if self.has_no_token {
            let got = header("authorization");
            sink.test(Id::VisionNoToken, got.is_none(), || {
                evidence("no Authorization: initialize had no token", got.unwrap_or_default(), seq)
            });
        }
        let lacking: Vec<&str> =
            ["device-id", "client-id"].into_iter().filter(|name| header(name).is_none()).collect();
        sink.test(Id::VisionDeviceHeaders, lacking.is_empty(), || {
            let got = format!("no {}", lacking.join(", no "));
            evidence("the headers device-id and client-id", got, seq)
        });
        for (known, name) in self.identity.iter().zip(IDENTITY) {
            if let (Some(known), Some(got)) = (known, header(name)) {
                sink.test(Id::VisionSameDevice, got.eq_ignore_ascii_case(known), || {
                    let expected = format!("header {name}: {known}, as when it connected");
                    evidence(expected, got, seq)
                });
            }
        }
        if let (Some(got), Some(last)) = (&upload.question, self.questions.last()) {
            let is_own = |one: &Question| one.text.as_ref().is_none_or(|text| text == got);
            sink.test(Id::VisionQuestion, self.questions.iter().any(is_own), || {
                let text = last.text.as_deref().unwrap_or_default();
                let expected = format!("the question of the call, `{text}`");
                evidence(expected, format!("`{got}`"), seq)
            });
        }
        if let Some(starts) = &upload.starts {
            let kind = upload.file_type.as_deref().unwrap_or_default();
            judge_picture(starts, upload.ends, kind, seq, sink);
        }
    }
}

/// Judges the kind of a picture, by the first bytes of its file and by the type that the part is said to have, and whether
/// it is whole.
fn judge_picture(starts: &str, ends: Option<bool>, kind: &str, seq: u64, sink: &mut Sink) {
    let is_jpeg = starts.starts_with("ffd8");
    sink.test(Id::VisionJpeg, is_jpeg, || {
        evidence("a file that begins with ff d8 (JPEG)", starts, seq)
    });
    // A camera may fill up its buffer behind the picture.
    if let Some(ends) = ends.filter(|_| is_jpeg) {
        sink.test(Id::VisionWhole, ends, || {
            evidence("the end of a JPEG picture, ff d9, in the file", "a picture without it", seq)
        });
    }
    let kind = kind.to_ascii_lowercase();
    let says_other = OTHER_PICTURES.iter().any(|other| kind.starts_with(other));
    sink.test(Id::VisionJpeg, !(is_jpeg && says_other), || {
        evidence("image/jpeg as the type of a JPEG picture", kind.clone(), seq)
    });
}
