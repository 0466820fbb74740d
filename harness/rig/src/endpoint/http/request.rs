//! One request: what it is for, what came with it, what it gets.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
};

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{ALLOW, CONTENT_TYPE, HeaderValue},
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
    upload::{NotTaken, read_all, read_upload},
};
use crate::endpoint::headers::headers_by_name;

/// The request that a connection is busy with, until it is answered.
pub(super) type UnderWay = Arc<Mutex<Option<HttpExchange>>>;

/// What a request gets.
struct Answer {
    status: StatusCode,
    content_type: &'static str,
    text: String,
}

impl Answer {
    fn json(status: StatusCode, value: &serde_json::Value) -> Self {
        Self {
            status,
            content_type: "application/json",
            text: value.to_string(),
        }
    }

    fn text(status: StatusCode, text: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            text: format!("{text}\n"),
        }
    }
}

/// Takes the request in, answers and records it.
pub(super) async fn handle(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    under_way: UnderWay,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, mut body) = request.into_parts();
    let mut exchange = begin(&parts);
    *lock(&under_way) = Some(exchange.clone());
    let taken = take_body(&mut exchange, &mut body).await;
    let answer = match taken {
        Ok(()) => respond(&parts.method, &shared, &mut exchange),
        Err(not_taken) => refuse(not_taken, &mut exchange),
    };
    lock(&under_way).take();
    exchange.status = Some(answer.status.as_u16());
    shared.record(exchange);

    let mut response = Response::new(Full::new(Bytes::from(answer.text)));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
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
        _ if path == VISION_PATH => HttpEndpoint::Vision,
        _ => HttpEndpoint::Other,
    };
    HttpExchange {
        endpoint,
        method: parts.method.to_string(),
        path: parts
            .uri
            .path_and_query()
            .map_or("/", |path| path.as_str())
            .to_owned(),
        headers: headers_by_name(&parts.headers),
        ..HttpExchange::unread()
    }
}

/// Reads the body into the exchange.
async fn take_body(exchange: &mut HttpExchange, body: &mut Incoming) -> Result<(), NotTaken> {
    if exchange.endpoint == HttpEndpoint::Vision && exchange.method == "POST" {
        let content_type = exchange
            .header("content-type")
            .unwrap_or_default()
            .to_owned();
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
        NotTaken::TooLarge(limit) => (
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is larger than {limit} bytes"),
        ),
        NotTaken::Malformed(why) => (StatusCode::BAD_REQUEST, why),
        NotTaken::Broken(why) => (
            StatusCode::BAD_REQUEST,
            format!("the body did not come whole ({why})"),
        ),
    };
    let answer = Answer::text(status, &problem);
    exchange.problem = Some(problem);
    answer
}

fn respond(method: &Method, shared: &Shared, exchange: &mut HttpExchange) -> Answer {
    if exchange.endpoint == HttpEndpoint::Other {
        let hint = format!(
            "mcp-hil has nothing here: a device asks for its configuration at {OTA_PATH} and \
             sends pictures to {VISION_PATH}"
        );
        return Answer::text(StatusCode::NOT_FOUND, &hint);
    }
    if method != Method::POST {
        let hint = format!(
            "mcp-hil listens here for devices, which send POST. Give this URL to a device as \
             its OTA URL: its path is {OTA_PATH}"
        );
        return Answer::text(StatusCode::METHOD_NOT_ALLOWED, &hint);
    }
    let state = shared.state();
    match exchange.endpoint {
        HttpEndpoint::Bootstrap => {
            let time = state.clock.as_ref().map(|clock| clock());
            let configuration = state.configuration.as_ref();
            let (answer, told) = configuration::answer(configuration, time, &exchange.headers);
            exchange.client_id = told;
            Answer::json(StatusCode::OK, &answer)
        }
        HttpEndpoint::Vision => {
            let authorization = exchange.header("authorization").unwrap_or_default();
            match &state.vision {
                Some((right, reply)) if right.iter().any(|right| right == authorization) => {
                    Answer::json(StatusCode::OK, &json!({"success": true, "response": reply}))
                }
                _ => Answer::json(
                    StatusCode::UNAUTHORIZED,
                    &json!({"success": false, "message": "the token is not the one of initialize"}),
                ),
            }
        }
        HttpEndpoint::Activate | HttpEndpoint::Other => Answer::json(StatusCode::OK, &json!({})),
    }
}
