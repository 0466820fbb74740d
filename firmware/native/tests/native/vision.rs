//! The camera of the process, whose pictures go to an HTTP server.

use serde_json::{Value, json};

use crate::program::PATIENCE;
use crate::server::{Bench, Connection};
use crate::web::Web;

const TOOL: &str = "self.camera.take_photo";

fn shake_hands(bench: &Bench) -> Connection {
    let mut link = bench.accept(PATIENCE).expect("the device dials");
    link.greet("s");
    link
}

fn introduce(link: &mut Connection, url: &str, token: &str) {
    let vision = json!({"url": url, "token": token});
    link.request(1, "initialize", &json!({"capabilities": {"vision": vision}}));
}

fn call() -> Value {
    json!({"name": TOOL, "arguments": {"question": "what \u{e4}?"}})
}

fn text(payload: &Value) -> (bool, String) {
    let result = &payload["result"];
    let text = result["content"][0]["text"].as_str().expect("text");
    (result["isError"].as_bool().expect("a flag"), text.to_string())
}

#[test]
fn without_an_http_address_it_is_refused() {
    let bench = Bench::start(&[]);
    let mut link = shake_hands(&bench);
    let refused = text(&link.request(2, "tools/call", &call()));
    assert_eq!(refused, (true, "Image explain URL or token is not set".to_string()));
    introduce(&mut link, "ws://127.0.0.1:1/", "t");
    assert!(text(&link.request(3, "tools/call", &call())).0);
    introduce(&mut link, "http://127.0.0.1:1/", "t");
    assert!(text(&link.request(4, "tools/call", &call())).0);
    let payload = json!({"name": TOOL, "arguments": {}});
    let error = link.request(5, "tools/call", &payload);
    assert_eq!(error["error"]["code"], -32602);
}

#[test]
fn the_picture_goes_up_and_the_explanation_comes_back() {
    let (bench, web) = (Bench::start(&[]), Web::start());
    let mut link = shake_hands(&bench);
    introduce(&mut link, &web.url("/explain"), "v1s10n");
    for (status, body) in [(200, r#"{"said":"a \"cat\""}"#), (500, "no")] {
        let posted = std::thread::scope(|scope| {
            let upload = scope.spawn(|| web.answer(status, body));
            let (failed, said) = text(&link.request(2, "tools/call", &call()));
            assert_eq!(failed, status != 200);
            assert_eq!(said == body, status == 200);
            upload.join().expect("an upload")
        });
        assert_eq!(posted.line, "POST /explain HTTP/1.1");
        assert_eq!(posted.header("authorization"), "Bearer v1s10n");
        assert_eq!(posted.header("device-id").len(), 17);
        assert_eq!(posted.header("client-id").len(), 36);
        let kind = posted.header("content-type");
        let boundary = kind.strip_prefix("multipart/form-data; boundary=").expect("a form");
        let form = String::from_utf8_lossy(&posted.body).into_owned();
        assert!(form.contains("name=\"question\"\r\n\r\nwhat \u{e4}?\r\n"), "{form}");
        assert!(form.ends_with(&format!("\r\n--{boundary}--\r\n")));
        let jpeg = posted.body.windows(4).any(|four| four == b"\n\xff\xd8\xff");
        assert!(jpeg, "a file that begins like a JPEG");
    }
    assert!(!bench.device.console().iter().any(|line| line.contains("v1s10n")));
}
