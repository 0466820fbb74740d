//! HTTP requests of the device.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use reference_device::{HttpRequest, HttpResponse, LARGEST_MESSAGE};
use ureq::Agent;
use ureq::http::{Request, Response};

/// How long the device waits for an answer (read timeout of the family's HTTP client).
const TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes that a connection keeps for each direction, as on a chip, and most bytes of a head.
const BUFFER: usize = 8 << 10;

/// Headers that tell where the body ends. The library writes them itself, and rightly.
const FRAMING: [&str; 2] = ["Content-Length", "Transfer-Encoding"];

/// What came of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// An answer, whatever its status.
    Answer(HttpResponse),
    /// No answer came.
    None,
    /// The body is larger than [`LARGEST_MESSAGE`].
    TooLarge,
}

/// Makes a request. Redirects are not followed; every status is an answer.
pub(crate) fn perform(request: &HttpRequest) -> Outcome {
    if request.headers.iter().any(|(name, _)| FRAMING.contains(name)) {
        return perform_as_told(request).map_or(Outcome::None, Outcome::Answer);
    }
    match send(request).map(read) {
        Some(outcome) => outcome,
        None => Outcome::None,
    }
}

fn send(request: &HttpRequest) -> Option<Response<ureq::Body>> {
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(0)
        .timeout_global(Some(TIMEOUT))
        .input_buffer_size(BUFFER)
        .output_buffer_size(BUFFER)
        .max_response_header_size(BUFFER)
        .proxy(None)
        .accept("")
        .user_agent("")
        .allow_non_standard_methods(true)
        .build()
        .into();
    let mut builder = Request::builder().method(request.method).uri(&request.url);
    for (name, value) in &request.headers {
        builder = builder.header(*name, value);
    }
    let response = if request.body.is_empty() {
        agent.run(builder.body(()).ok()?)
    } else {
        agent.run(builder.body(&request.body[..]).ok()?)
    };
    response.ok()
}

/// Makes a request whose headers may be wrong about its body: for defects.
fn perform_as_told(request: &HttpRequest) -> Option<HttpResponse> {
    let (host, path) = request.url.strip_prefix("http://")?.split_once('/')?;
    let mut head = format!("{} /{path} HTTP/1.1\r\nHost: {host}\r\n", request.method);
    for (name, value) in &request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("Connection: close\r\n\r\n");
    let mut tcp = TcpStream::connect(host).ok()?;
    tcp.set_read_timeout(Some(TIMEOUT)).ok()?;
    tcp.write_all(head.as_bytes()).ok()?;
    tcp.write_all(&request.body).ok()?;
    let mut answer = Vec::new();
    // What has come before a reset counts, too.
    let _ = tcp.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(HttpResponse { status, body: body.into() })
}

fn read(mut response: Response<ureq::Body>) -> Outcome {
    let status = response.status().as_u16();
    let largest = LARGEST_MESSAGE as u64;
    let announced = response.body().content_length();
    if announced.is_some_and(|bytes| bytes > largest) {
        return Outcome::TooLarge;
    }
    // One byte more than is taken: the library calls a body too large that ends at its limit.
    let body = response.body_mut().with_config().limit(largest + 1);
    match body.read_to_vec() {
        Ok(body) if body.len() as u64 > largest => Outcome::TooLarge,
        Ok(body) => Outcome::Answer(HttpResponse { status, body }),
        Err(ureq::Error::BodyExceedsLimit(_)) => Outcome::TooLarge,
        Err(_) => Outcome::None,
    }
}
