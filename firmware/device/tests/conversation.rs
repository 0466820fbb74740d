//! The device as a body sees it: text in, outputs out.

use reference_device::{Device, Identity, Output, State};
use rstest::rstest;
use serde_json::{Value, json};

/// A device that has shaken hands in session `s"1`, whose quote has to be escaped everywhere.
struct Talk {
    device: Device,
    now: u64,
}

impl Talk {
    fn start() -> Self {
        let mut talk = Talk { device: Device::new(Identity::default()), now: 0 };
        talk.device.boot(0);
        talk.device.dialling(1);
        talk.device.connected(2);
        talk.now = 3;
        talk.send(r#"{"type":"hello","transport":"websocket","session_id":"s\"1"}"#);
        talk
    }

    fn outputs(&mut self) -> Vec<Output> {
        std::iter::from_fn(|| self.device.next_output()).collect()
    }

    fn send(&mut self, text: &str) -> Vec<Output> {
        self.now += 1;
        self.device.on_text(text, self.now);
        self.outputs()
    }

    /// Sends a payload as text; the texts that come back, parsed, and the console lines.
    fn payload(&mut self, payload: &str) -> (Vec<Value>, Vec<String>) {
        let outputs = self.send(&format!(r#"{{"type":"mcp","payload":{payload}}}"#));
        let mut answers = vec![];
        let mut lines = vec![];
        for output in outputs {
            match output {
                Output::Text(text) => {
                    let envelope: Value = serde_json::from_str(&text).expect("JSON");
                    assert_eq!(envelope["session_id"], "s\"1");
                    assert_eq!(envelope["type"], "mcp");
                    answers.push(envelope["payload"].clone());
                }
                Output::Log(line) => lines.push(line),
                other => panic!("{other:?}"),
            }
        }
        (answers, lines)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let payload = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        let (mut answers, _) = self.payload(&payload.to_string());
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0]["id"], 7);
        answers.remove(0)
    }

    fn speaker(&mut self) -> Value {
        let answer = self.call("self.get_device_status", &json!({}));
        let text = answer["result"]["content"][0]["text"].as_str().expect("text").to_string();
        serde_json::from_str::<Value>(&text).expect("JSON")["audio_speaker"].clone()
    }
}

#[test]
fn the_first_message_is_the_hello_and_listening_follows_the_server() {
    let mut device = Device::new(Identity::default());
    device.boot(0);
    device.connected(5);
    let texts: Vec<_> = std::iter::from_fn(|| device.next_output())
        .filter_map(|output| if let Output::Text(text) = output { Some(text) } else { None })
        .collect();
    assert_eq!(texts.len(), 1);
    assert!(texts[0].starts_with(r#"{"type":"hello","version":1"#));

    device.on_text(r#"{"type":"hello","transport":"websocket","session_id":"s1"}"#, 6);
    assert_eq!(device.state(), State::Listening);
    device.tick(70);
    assert!(
        std::iter::from_fn(|| device.next_output())
            .any(|output| matches!(output, Output::Binary(_)))
    );

    device.on_text(r#"{"type":"tts","state":"start"}"#, 71);
    let texts: Vec<_> = std::iter::from_fn(|| device.next_output())
        .filter_map(|output| if let Output::Text(text) = output { Some(text) } else { None })
        .collect();
    assert_eq!(
        texts,
        [concat!(
            r#"{"session_id":"s1","type":"mcp","payload":{"jsonrpc":"2.0","method":"notifications/state_changed","#,
            r#""params":{"newState":"speaking","oldState":"listening"}}}"#,
        )]
    );
    device.tick(500);
    assert!(
        !std::iter::from_fn(|| device.next_output())
            .any(|output| matches!(output, Output::Binary(_)))
    );
}

#[rstest]
#[case("0")]
#[case("-5")]
#[case("4294967297")]
#[case("1758893424665")]
#[case("9007199254740993")]
#[case("18446744073709551615")]
fn ids_come_back_digit_by_digit(#[case] id: &str) {
    let mut talk = Talk::start();
    let outputs = talk.send(&format!(
        r#"{{"type":"mcp","payload":{{"jsonrpc":"2.0","id":{id},"method":"ping"}}}}"#
    ));
    let expected = format!(
        r#"{{"session_id":"s\"1","type":"mcp","payload":{{"jsonrpc":"2.0","id":{id},"result":{{}}}}}}"#
    );
    assert_eq!(outputs, [Output::Text(expected)]);
}

#[test]
fn a_string_id_is_logged_and_has_no_effect() {
    let mut talk = Talk::start();
    let (answers, lines) = talk.payload(
        r#"{"jsonrpc":"2.0","id":"7","method":"tools/call",
            "params":{"name":"self.audio_speaker.set_volume","arguments":{"volume":1}}}"#,
    );
    assert!(answers.is_empty());
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].starts_with("E (")
            && lines[0].ends_with(") MCP: Invalid id for method: tools/call"),
        "{lines:?}"
    );
    assert_eq!(talk.speaker()["volume"], 70);
}

#[rstest]
#[case(r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, -32601)]
#[case(r#"{"jsonrpc":"2.0","id":1,"method":"tools/List"}"#, -32601)]
#[case(r#"{"jsonrpc":"2.0","id":1,"method":"notificationsXYZ"}"#, -32601)]
#[case(r#"{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}"#, -32601)]
#[case(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, -32602)]
#[case(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#, -32602)]
#[case(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no\"pe"}}"#, -32602)]
#[case(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"self.robot.home","arguments":null}}"#, -32602)]
#[case(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":5}}"#, -32602)]
#[case(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600)]
fn refusals_carry_their_code(#[case] payload: &str, #[case] code: i64) {
    let (answers, _) = Talk::start().payload(payload);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["error"]["code"], code);
    assert!(answers[0]["error"]["message"].is_string());
}

#[rstest]
#[case("{")]
#[case("")]
#[case("null")]
#[case(r#"{"type":5}"#)]
#[case(r#"{"type":"listen"}"#)]
#[case(r#"{"type":"mcp"}"#)]
#[case(r#"{"type":"mcp","payload":null}"#)]
#[case(r#"{"type":"mcp","payload":{"jsonrpc":"2.0","id":1e999,"method":"ping"}}"#)]
#[case(r#"{"type":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"\ud800"}}"#)]
#[case(r#"{"type":"mcp","payload":{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)]
#[case(r#"{"type":"mcp","payload":{"jsonrpc":"2.0","id":3,"result":{}}}"#)]
fn what_is_no_request_is_not_answered(#[case] text: &str) {
    let mut talk = Talk::start();
    assert!(talk.send(text).iter().all(|output| matches!(output, Output::Log(_))));
    assert_eq!(talk.payload(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).0.len(), 1);
}

#[test]
fn nesting_without_end_is_survived() {
    let mut talk = Talk::start();
    assert!(
        talk.send(&"[".repeat(1_000_000)).iter().all(|output| matches!(output, Output::Log(_)))
    );
}

#[test]
fn the_volume_commands_keep_their_word() {
    let mut talk = Talk::start();
    let set = |talk: &mut Talk, volume: i64| {
        talk.call("self.audio_speaker.set_volume", &json!({ "volume": volume }))
    };
    set(&mut talk, 95);
    talk.call("self.audio_speaker.volume_up", &json!({}));
    assert_eq!(talk.speaker(), json!({"volume": 100, "muted": false}));
    set(&mut talk, 5);
    talk.call("self.audio_speaker.volume_down", &json!({"step": 100}));
    assert_eq!(talk.speaker(), json!({"volume": 0, "muted": false}));
    set(&mut talk, 40);
    talk.call("self.audio_speaker.mute", &json!({}));
    talk.call("self.audio_speaker.mute", &json!({}));
    assert_eq!(talk.speaker(), json!({"volume": 0, "muted": true}));
    talk.call("self.audio_speaker.unmute", &json!({}));
    assert_eq!(talk.speaker(), json!({"volume": 40, "muted": false}));
    assert_eq!(set(&mut talk, 101)["error"]["code"], -32602);
    assert_eq!(talk.speaker()["volume"], 40);
}

#[test]
fn a_tool_that_fails_says_so_in_its_result() {
    let answer = Talk::start().call("self.screen.set_theme", &json!({"theme": "bl\"ue\u{0}"}));
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["content"][0]["text"], "Unknown theme: bl\"ue\u{0}");
}

#[test]
fn reboot_answers_first_and_keeps_the_settings() {
    let mut talk = Talk::start();
    talk.call("self.audio_speaker.set_volume", &json!({"volume": 33}));
    talk.call("self.reboot", &json!({}));
    talk.device.tick(talk.now + 99);
    assert!(!talk.outputs().contains(&Output::Reboot));
    talk.device.tick(talk.now + 100);
    let outputs = talk.outputs();
    assert!(
        outputs
            .iter()
            .any(|output| matches!(output, Output::Log(line) if line.ends_with("Rebooting...")))
    );
    assert_eq!(outputs.last(), Some(&Output::Reboot));
    talk.device.boot(talk.now + 200);
    assert_eq!(talk.device.board().speaker.volume, 33);
}

#[test]
fn the_session_is_the_newest_hello() {
    let mut talk = Talk::start();
    talk.device.disconnected(50);
    talk.device.connected(60);
    talk.outputs();
    talk.device.on_text(r#"{"type":"hello","transport":"websocket","session_id":"second"}"#, 61);
    let outputs = talk.outputs();
    let texts = outputs
        .iter()
        .filter_map(|output| if let Output::Text(text) = output { Some(text) } else { None });
    let mut seen = 0;
    for text in texts {
        assert!(text.starts_with(r#"{"session_id":"second","#), "{text}");
        seen += 1;
    }
    assert_eq!(seen, 2, "listen and the notification");
}

#[test]
fn the_token_is_not_printed() {
    let identity = Identity { token: "secret".into(), ..Identity::default() };
    let mut device = Device::new(identity);
    device.boot(0);
    device.dialling(1);
    device.connected(2);
    assert!(device.headers().contains(&("Authorization", "Bearer secret".to_string())));
    for output in std::iter::from_fn(|| device.next_output()) {
        assert!(!format!("{output:?}").contains("secret"));
    }
}
