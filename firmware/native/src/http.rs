//! HTTP requests of the device.

use std::time::Duration;

use reference_device::{HttpOutcome, HttpRequest, HttpResponse};
use ureq::Agent;
use ureq::http::Request;

/// How long the device waits for an answer (read timeout of the family's HTTP client).
const TIMEOUT: Duration = Duration::from_secs(30);

/// Makes a request. Redirects are not followed; every status is an answer.
pub(crate) fn perform(request: &HttpRequest) -> HttpOutcome {
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(0)
        .timeout_global(Some(TIMEOUT))
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
    let mut response = if request.body.is_empty() {
        agent.run(builder.body(()).ok()?)
    } else {
        agent.run(builder.body(&request.body[..]).ok()?)
    }
    .ok()?;
    Some(HttpResponse {
        status: response.status().as_u16(),
        body: response.body_mut().read_to_vec().ok()?,
    })
}
