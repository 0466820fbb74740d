//! One request: what it is for, what came with it, what it gets.

use std::{
    io,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue},
    http::request::Parts,
};
use mcp_hil_core::{
    limits::MAX_HTTP_BODY_BYTES,
    transcript::{HttpEndpoint, HttpExchange, Upload},
    wire::Frame,
};
use serde_json::json;

use super::{
    OTA_PATH, Shared, VISION_PATH, configuration,
    failing::{AnswerBody, Coming, Failing, longer},
    upload::{NotTaken, read_all, read_upload},
};
use crate::headers::headers_by_name;

/// The request that a connection is busy with, until it is answered.
pub(super) type UnderWay = Arc<Mutex<Option<HttpExchange>>>;

/// What a request gets.
struct Answer {
    status: StatusCode,
    content_type: &'static str,
    text: String,
    /// It comes less than whole, or not at all.
    failing: Option<Failing>,
}

impl Answer {
    fn json(status: StatusCode, value: &serde_json::Value) -> Self {
        Self { status, content_type: "application/json", text: value.to_string(), failing: None }
    }

    fn text(status: StatusCode, text: &str) -> Self {
        let text = format!("{text}\n");
        Self { status, content_type: "text/plain; charset=utf-8", text, failing: None }
    }

    fn failing(failing: Failing) -> Self {
        let (status, content_type) = match failing {
            Failing::Unauthorized => (StatusCode::UNAUTHORIZED, "application/json"),
            Failing::NotFound => (StatusCode::NOT_FOUND, "text/plain; charset=utf-8"),
            Failing::Broken => (StatusCode::INTERNAL_SERVER_ERROR, "application/json"),
            Failing::Page => (StatusCode::OK, "text/html; charset=utf-8"),
            Failing::Closed | Failing::Cut | Failing::Huge => (StatusCode::OK, "application/json"),
        };
        Self { status, content_type, text: failing.text(), failing: Some(failing) }
    }
}

/// Takes the request in, answers and records it.
///
/// # Errors
/// There is to be no answer.
pub(super) async fn handle(
    request: Request<Incoming>,
    peer: IpAddr,
    shared: Arc<Shared>,
    under_way: UnderWay,
) -> io::Result<Response<AnswerBody>> {
    let (parts, mut body) = request.into_parts();
    let mut exchange = begin(&parts);
    *lock(&under_way) = Some(exchange.clone());
    let taken = take_body(&mut exchange, &mut body).await;
    let answer = match taken {
        Ok(()) => respond(&parts.method, &shared, &mut exchange),
        Err(not_taken) => refuse(not_taken, &mut exchange),
    };
    lock(&under_way).take();
    let is_closed = answer.failing == Some(Failing::Closed);
    exchange.status = Some(answer.status.as_u16()).filter(|_| !is_closed);
    if exchange.endpoint == HttpEndpoint::Bootstrap && answer.status == StatusCode::OK {
        // Before the answer is on its way: a device may dial before this task goes on.
        shared.told.add(peer);
    }
    shared.record(exchange);

    if is_closed {
        return Err(io::Error::other("there is no answer, as the URL says"));
    }
    let coming = match answer.status {
        StatusCode::OK => Coming::at(parts.uri.path()),
        _ => Coming::Whole,
    };
    let is_cut = answer.failing == Some(Failing::Cut);
    let announced = answer.text.len() * 2;
    let mut response = Response::new(AnswerBody::new(answer.text, coming, is_cut));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    if is_cut {
        headers.insert(CONTENT_LENGTH, announced.into());
    }
    if answer.status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("POST"));
    }
    Ok(response)
}

pub(super) fn lock(under_way: &UnderWay) -> std::sync::MutexGuard<'_, Option<HttpExchange>> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
}

fn begin(parts: &Parts) -> HttpExchange {
    let path = parts.uri.path();
    let endpoint = match path.strip_prefix(OTA_PATH.trim_end_matches('/')) {
        Some("" | "/") => HttpEndpoint::Bootstrap,
        Some("/activate") => HttpEndpoint::Activate,
        _ if path == VISION_PATH || longer(path).is_some() || Failing::at(path).is_some() => {
            HttpEndpoint::Vision
        }
        _ if Coming::at(path) != Coming::Whole => HttpEndpoint::Vision,
        _ => HttpEndpoint::Other,
    };
    HttpExchange {
        endpoint,
        method: parts.method.to_string(),
        path: parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        headers: headers_by_name(&parts.headers),
        ..HttpExchange::unread()
    }
}

/// Reads the body into the exchange.
async fn take_body(exchange: &mut HttpExchange, body: &mut Incoming) -> Result<(), NotTaken> {
    if exchange.endpoint == HttpEndpoint::Vision && exchange.method == "POST" {
        let content_type = exchange.header("content-type").unwrap_or_default().to_owned();
        let mut upload = Upload::default();
        let taken = read_upload(&content_type, body, &mut upload).await;
        exchange.upload = Some(upload);
        return taken;
    }
    let bytes = read_all(body, MAX_HTTP_BODY_BYTES).await?;
    if !bytes.is_empty() {
        exchange.body = Some(match String::from_utf8(bytes) {
            Ok(text) => Frame::Text(text),
            Err(error) => Frame::NotUtf8(error.into_bytes()),
        });
    }
    Ok(())
}

/// The answer to a request whose body was not taken.
fn refuse(not_taken: NotTaken, exchange: &mut HttpExchange) -> Answer {
    let (status, problem) = match not_taken {
        NotTaken::TooLarge(limit) => {
            (StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {limit} bytes"))
        }
        NotTaken::Malformed(why) => (StatusCode::BAD_REQUEST, why),
        NotTaken::Broken(why) => {
            (StatusCode::BAD_REQUEST, format!("the body is incomplete ({why})"))
        }
    };
    let answer = Answer::text(status, &problem);
    exchange.problem = Some(problem);
    answer
}

fn respond(method: &Method, shared: &Shared, exchange: &mut HttpExchange) -> Answer {
    if exchange.endpoint == HttpEndpoint::Other {
        let hint = format!(
            "mcp-hil has nothing here: a device requests its configuration at {OTA_PATH} and sends \
             pictures to {VISION_PATH}"
        );
        return Answer::text(StatusCode::NOT_FOUND, &hint);
    }
    if method != Method::POST {
        let hint = format!(
            "mcp-hil listens here for devices, which send POST. Give a device this URL as its OTA \
             URL: its path is {OTA_PATH}"
        );
        return Answer::text(StatusCode::METHOD_NOT_ALLOWED, &hint);
    }
    let state = shared.state();
    match exchange.endpoint {
        HttpEndpoint::Bootstrap => {
            let time = state.clock.as_ref().map(|clock| clock());
            let configuration = state.configuration.as_ref();
            let (headers, asked) = (&exchange.headers, exchange.body.as_ref());
            let (answer, told) = configuration::answer(configuration, time, headers, asked);
            exchange.client_id = told.client_id;
            exchange.binary_version = told.binary_version;
            Answer::json(StatusCode::OK, &answer)
        }
        HttpEndpoint::Vision => {
            let path = exchange.path.split('?').next().unwrap_or_default();
            if let Some(failing) = Failing::at(path) {
                return Answer::failing(failing);
            }
            let authorization = exchange.header("authorization").unwrap_or_default();
            match &state.vision {
                Some((right, reply)) if right.iter().any(|right| right == authorization) => {
                    let reply = match longer(path) {
                        Some(bytes) => format!("{reply}: {} end", "x".repeat(bytes)),
                        None => reply.clone(),
                    };
                    Answer::json(StatusCode::OK, &json!({"success": true, "response": reply}))
                }
                _ => Answer::json(
                    StatusCode::UNAUTHORIZED,
                    &json!({"success": false, "message": "the token is not the one from initialize"}),
                ),
            }
        }
        HttpEndpoint::Activate | HttpEndpoint::Other => Answer::json(StatusCode::OK, &json!({})),
    }
}
