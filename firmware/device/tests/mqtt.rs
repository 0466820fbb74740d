//! The device over MQTT, and the device that asks for its configuration, as a body sees them.

use reference_device::{
    Device, HttpOutcome, HttpResponse, Identity, Output, Purpose, State, Transport,
};
use rstest::rstest;
use serde_json::{Value, json};

const UDP: &str = r#""udp":{"server":"127.0.0.1","port":8884,
    "key":"2b7e151628aed2a6abf7158809cf4f3c","nonce":"01000000aabbccdd0000000000000000"}"#;

fn hello(session: &str) -> String {
    format!(r#"{{"type":"hello","transport":"udp","session_id":"{session}",{UDP}}}"#)
}

fn mqtt() -> Identity {
    Identity { transport: Transport::Mqtt, ..Identity::default() }
}

fn outputs(device: &mut Device) -> Vec<Output> {
    std::iter::from_fn(|| device.next_output()).collect()
}

/// What is published, as JSON.
fn messages(device: &mut Device) -> Vec<Value> {
    let texts = outputs(device).into_iter().filter_map(|output| match output {
        Output::Text(text) => Some(text),
        _ => None,
    });
    texts.map(|text| serde_json::from_str(&text).expect("JSON")).collect()
}

fn lines(device: &mut Device) -> Vec<String> {
    let lines = outputs(device).into_iter().filter_map(|output| match output {
        Output::Log(line) => Some(line),
        _ => None,
    });
    lines.collect()
}

/// Booted and connected at 0, the hello sent.
fn connected() -> Device {
    let mut device = Device::new(mqtt());
    device.boot(0);
    device.dialling(0);
    device.connected(0);
    device
}

/// In session `s1` since 10.
fn listening() -> Device {
    let mut device = connected();
    device.on_text(&hello("s1"), 10);
    outputs(&mut device);
    assert_eq!(device.state(), State::Listening);
    device
}

fn ping(device: &mut Device) -> Vec<Value> {
    outputs(device);
    device.on_text(r#"{"type":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#, 20);
    messages(device)
}

fn datagrams(device: &mut Device, now: u64) -> usize {
    device.tick(now);
    let outputs = outputs(device);
    let is_datagram = |output: &&Output| matches!(output, Output::Datagram { .. });
    outputs.iter().filter(is_datagram).count()
}

#[test]
fn the_hello_is_that_of_mqtt() {
    let sent = messages(&mut connected());
    assert_eq!(
        sent,
        [json!({"type": "hello", "version": 3, "features": {"mcp": true}, "transport": "udp",
            "audio_params": {"format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60}})]
    );
}

#[test]
fn nobody_pressed_the_button() {
    let mut device = Device::new(Identity { opens_channel: false, ..mqtt() });
    device.boot(0);
    device.connected(0);
    assert_eq!(messages(&mut device), Vec::<Value>::new());
    assert_eq!(ping(&mut device)[0]["session_id"], "");
    // A hello that was not asked for gives the session a name and opens nothing.
    device.on_text(&hello("s1"), 1);
    assert_eq!(messages(&mut device), Vec::<Value>::new());
    assert_eq!(ping(&mut device)[0]["session_id"], "s1");
    assert_eq!(datagrams(&mut device, 1000), 0);
}

#[test]
fn without_a_hello_the_device_is_idle_and_answers() {
    let mut device = connected();
    assert_eq!(device.state(), State::Connecting);
    device.tick(10_000);
    assert_eq!(device.state(), State::Idle);
    assert!(!outputs(&mut device).contains(&Output::Disconnect));
    assert_eq!(ping(&mut device).len(), 1);
}

#[rstest]
#[case(r#"{"type":"goodbye","session_id":"s1"}"#, true)]
#[case(r#"{"type":"goodbye","session_id":"s2"}"#, false)]
#[case(r#"{"type":"goodbye","session_id":""}"#, false)]
#[case(r#"{"type":"goodbye","session_id":1}"#, false)]
#[case(r#"{"type":"goodbye"}"#, false)]
fn only_the_current_session_can_end(#[case] goodbye: &str, #[case] ends: bool) {
    let mut device = listening();
    device.on_text(goodbye, 11);
    assert_eq!(messages(&mut device), Vec::<Value>::new());
    assert_eq!(device.state() == State::Idle, ends);
    assert_eq!(datagrams(&mut device, 500), usize::from(!ends));
    assert_eq!(ping(&mut device)[0]["session_id"], "s1");
}

#[test]
fn speech_stops_the_microphone() {
    let mut device = listening();
    device.on_text(r#"{"type":"tts","state":"start"}"#, 11);
    assert_eq!(datagrams(&mut device, 500), 0);
    device.on_text(r#"{"type":"tts","state":"stop"}"#, 501);
    assert_eq!(datagrams(&mut device, 600), 1);
}

#[rstest]
#[case(b"{", "E (5) MQTT: Failed to parse json message {")]
#[case(b"\xff", "E (5) MQTT: Failed to parse json message \u{fffd}")]
#[case(b"[]", "E (5) MQTT: Message type is invalid")]
#[case(b"{}", "E (5) MQTT: Message type is invalid")]
#[case(br#"{"type":"hello"}"#, "E (5) MQTT: Unsupported or missing transport")]
fn what_cannot_be_used_is_logged(#[case] message: &[u8], #[case] line: &str) {
    let mut device = connected();
    outputs(&mut device);
    device.on_bytes(message, 5);
    assert_eq!(lines(&mut device), [line]);
}

#[test]
fn a_lost_connection_ends_the_session() {
    let mut device = listening();
    device.disconnected(30);
    assert!(!device.is_connected());
    assert_eq!(datagrams(&mut device, 500), 0);
    device.connected(600);
    assert_eq!(messages(&mut device)[0]["type"], "hello");
    assert_eq!(ping(&mut device)[0]["session_id"], "");
}

#[test]
fn a_reboot_says_goodbye_and_then_nothing() {
    let mut device = listening();
    device.on_text(r#"{"type":"system","command":"reboot"}"#, 20);
    outputs(&mut device);
    device.tick(120);
    let outputs = outputs(&mut device);
    let goodbye = Output::Text(r#"{"session_id":"s1","type":"goodbye"}"#.to_string());
    let goodbye = outputs.iter().position(|output| *output == goodbye);
    let reboot = outputs.iter().position(|output| *output == Output::Reboot);
    assert!(goodbye.is_some() && goodbye < reboot, "{outputs:?}");
}

/// A device that asks, and the outcomes that it gets one after the other.
fn bootstrap(outcomes: &[HttpOutcome]) -> (Device, Vec<String>, Vec<String>) {
    let mut device =
        Device::new(Identity { ota_url: "http://h/ota".to_string(), ..Identity::default() });
    let (mut urls, mut lines) = (vec![], vec![]);
    let mut outcomes = outcomes.iter().cloned();
    let mut now = 0;
    device.boot(now);
    while !device.is_configured() {
        match device.next_output() {
            Some(Output::Http(request)) => {
                urls.push(request.url);
                let Some(outcome) = outcomes.next() else {
                    break;
                };
                device.http_done(request.purpose, outcome, now);
            }
            Some(Output::Log(line)) => lines.push(line),
            Some(Output::Reboot) => break,
            Some(other) => panic!("{other:?}"),
            None => {
                now = device.next_deadline().expect("something to wait for");
                device.tick(now);
            }
        }
    }
    lines.extend(self::lines(&mut device));
    (device, urls, lines)
}

fn answer(status: u16, body: &str) -> HttpOutcome {
    Some(HttpResponse { status, body: body.as_bytes().to_vec() })
}

#[test]
fn failures_are_followed_by_longer_and_longer_pauses() {
    let outcomes = [None, answer(404, ""), answer(200, "["), answer(200, r#"{"websocket":{}}"#)];
    let (device, urls, lines) = bootstrap(&outcomes);
    assert_eq!(urls.len(), 4);
    assert_eq!(device.identity().transport, Transport::Websocket);
    for pause in ["0.2 seconds (1/10)", "0.4 seconds (2/10)", "0.8 seconds (3/10)"] {
        assert!(lines.iter().any(|line| line.ends_with(pause)), "{lines:#?}");
    }
}

#[test]
fn activation_is_waited_for() {
    let locked = r#"{"mqtt":{},"activation":{"challenge":"c"}}"#;
    let outcomes = [
        answer(200, locked),
        answer(202, ""),
        None,
        answer(200, ""),
        answer(200, r#"{"mqtt":{"endpoint":"h:1"}}"#),
    ];
    let (device, urls, _) = bootstrap(&outcomes);
    let (ask, activate) = ("http://h/ota", "http://h/ota/activate");
    assert_eq!(urls, [ask, activate, activate, activate, ask]);
    assert_eq!(device.identity().mqtt.endpoint, "h:1");
}

#[test]
fn the_server_sets_the_clock() {
    let body = r#"{"mqtt":{},"server_time":{"timestamp":1700000000000,"timezone_offset":60}}"#;
    let (device, _, _) = bootstrap(&[answer(200, body)]);
    assert_eq!(device.local_time_ms(5), Some(1_700_003_600_005));
    assert_eq!(bootstrap(&[answer(200, "{}")]).0.local_time_ms(5), None);
}

#[test]
fn a_long_name_aborts() {
    let (device, _, lines) = bootstrap(&[answer(200, r#"{"mqtt":{"sixteen_letters_":1}}"#)]);
    assert!(!device.is_configured());
    let abort = "ESP_ERROR_CHECK failed: esp_err_t 0x1109 (ESP_ERR_NVS_KEY_TOO_LONG)";
    assert!(lines.iter().any(|line| line.starts_with(abort)), "{lines:#?}");
}

#[test]
fn every_boot_asks_again() {
    let (mut device, _, _) = bootstrap(&[answer(200, r#"{"mqtt":{"endpoint":"h:1"}}"#)]);
    device.boot(1000);
    assert!(!device.is_configured());
    let asks = |output: &Output| matches!(output, Output::Http(request) if request.purpose == Purpose::Configuration);
    assert!(outputs(&mut device).iter().any(asks));
    device.http_done(Purpose::Configuration, answer(200, r#"{"websocket":{}}"#), 1001);
    assert_eq!(device.identity().transport, Transport::Websocket);
    // Settings that were told once are kept.
    assert_eq!(device.identity().mqtt.endpoint, "h:1");
}

#[rstest]
#[case(1, &[])]
#[case(2, &[0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 40])]
#[case(3, &[0, 0, 0, 40])]
fn audio_frames_follow_the_version(#[case] version: u8, #[case] header: &[u8]) {
    let mut device = Device::new(Identity { websocket_version: version, ..Identity::default() });
    device.boot(0);
    device.connected(0);
    device.on_text(r#"{"type":"hello","transport":"websocket"}"#, 1);
    device.tick(100);
    let frames: Vec<_> = outputs(&mut device)
        .into_iter()
        .filter_map(|output| match output {
            Output::Binary(frame) => Some(frame),
            _ => None,
        })
        .collect();
    assert_eq!(frames.len(), 1);
    assert!(frames[0].starts_with(header));
    assert_eq!(frames[0].len(), header.len() + 40);
}
