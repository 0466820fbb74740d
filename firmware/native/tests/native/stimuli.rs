//! A fixed conversation that shows every defect: what a careful server and a hostile one would say.

use serde_json::{Value, json};

/// One thing that the server does.
#[derive(Clone, Debug)]
pub(crate) enum Stimulus {
    /// A text frame.
    Text(String),
    /// Several text frames back to back.
    Burst(Vec<String>),
    /// A text frame in two WebSocket fragments.
    Fragments(String),
    /// A binary frame.
    Binary(Vec<u8>),
    /// A WebSocket ping.
    Ping,
    /// The tool list, page by page.
    List(Value),
    /// The connection is dropped, and the device dials again.
    Redial,
}

/// An MCP message around this payload, as text.
pub(crate) fn mcp(payload: &str) -> String {
    format!(r#"{{"type":"mcp","payload":{payload}}}"#)
}

/// The whole conversation after the first hello.
pub(crate) fn conversation() -> Vec<Stimulus> {
    let mut all = vec![Stimulus::List(json!({}))];
    for payload in INITIALIZE.iter().chain(REQUESTS).chain(IDS).chain(CALLS) {
        all.push(Stimulus::Text(mcp(payload)));
    }
    for (tool, arguments) in ARGUMENTS {
        let payload = format!(
            r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        );
        all.push(Stimulus::Text(mcp(&payload)));
        all.push(Stimulus::Text(mcp(STATUS)));
    }
    all.extend([
        Stimulus::List(json!({})),
        Stimulus::List(json!({"withUserTools": true})),
        Stimulus::Ping,
    ]);
    let pings = (0..50).map(|id| {
        mcp(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#,
            500 + id
        ))
    });
    all.push(Stimulus::Burst(pings.collect()));
    all.push(Stimulus::Burst(vec![
        mcp(STATUS),
        mcp(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#),
    ]));
    all.push(Stimulus::Fragments(mcp(
        r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#,
    )));
    all.extend([
        Stimulus::Redial,
        Stimulus::List(json!({})),
        Stimulus::Text(mcp(STATUS)),
    ]);
    all.push(Stimulus::Text(mcp(
        r#"{"jsonrpc":"2.0","id":7,"method":"no/such"}"#,
    )));
    all.extend(
        ENVELOPES
            .iter()
            .map(|text| Stimulus::Text((*text).to_string())),
    );
    all.extend([Stimulus::Binary(vec![1]), Stimulus::Binary(vec![0xFF; 64])]);
    let long = "x".repeat(60_000);
    all.push(Stimulus::Text(mcp(&format!(
        r#"{{"jsonrpc":"2.0","id":6,"method":"{long}"}}"#
    ))));
    all.push(Stimulus::Text(mcp(&"[".repeat(5_000))));
    all
}

/// The call whose answer shows the state of the device.
pub(crate) const STATUS: &str =
    r#"{"jsonrpc":"2.0","id":78,"method":"tools/call","params":{"name":"self.get_device_status"}}"#;

const INITIALIZE: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"roots":{"listChanged":true},"vision":{"url":"http://x/","token":"t"}},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2199-01-01","capabilities":{}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4711}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#,
];

const REQUESTS: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":10,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":11,"method":"no/such"}"#,
    r#"{"jsonrpc":"2.0","id":12,"method":"no\"such\\thing\n😀"}"#,
    r#"{"jsonrpc":"2.0","id":13,"method":"tools/List"}"#,
    r#"{"jsonrpc":"2.0","id":14,"method":"tools/list "}"#,
    r#"{"jsonrpc":"2.0","id":15,"method":"tools/list-all"}"#,
    r#"{"jsonrpc":"2.0","id":16,"method":"notificationsXYZ"}"#,
    r#"{"jsonrpc":"2.0","id":17,"method":"notifications/initialized"}"#,
    r#"{"id":18,"method":"ping"}"#,
    r#"{"jsonrpc":"1.0","id":19,"method":"ping"}"#,
    r#"{"jsonrpc":2.0,"id":20,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":21}"#,
    r#"{"jsonrpc":"2.0","id":22,"method":5}"#,
    r#"{"jsonrpc":"2.0","id":23,"method":"ping","params":"x"}"#,
    r#"{"jsonrpc":"2.0","id":24,"result":{}}"#,
    r#"{"JSONRPC":"2.0","ID":25,"METHOD":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":26,"method":"ping","extra":1}"#,
    r#"{"params":{"capabilities":{}},"method":"initialize","id":27,"jsonrpc":"2.0"}"#,
    "{\n\t\"jsonrpc\": \"2.0\",\n\t\"id\": 28,\n\t\"method\": \"ping\"\n}",
    r#"{"jsonrpc":"2.0","id":29,"\u006dethod":"pin\u0067"}"#,
    r#"{"jsonrpc":"2.0","id":30,"method":"tools\/list"}"#,
    r#"{"jsonrpc":"2.0","id":31,"method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","id":32,"method":"tools/list","params":{"cursor":""}}"#,
    r#"{"jsonrpc":"2.0","id":33,"method":"tools/list","params":{"cursor":"no such cursor"}}"#,
    r#"{"jsonrpc":"2.0","id":34,"method":"tools/list","params":{"cursor":5}}"#,
    r#"{"jsonrpc":"2.0","id":47,"method":"tools/list","params":{"cursor":"self.robot.stop"}}"#,
    r#"{"jsonrpc":"2.0","id":48,"method":"tools/list","params":{"cursor":"self.robot.stop"}}"#,
    r#"{"jsonrpc":"2.0","id":35,"method":"tools/list","params":{"withUserTools":false}}"#,
    r#"[{"jsonrpc":"2.0","id":36,"method":"ping"}]"#,
    r#"{"jsonrpc":"2.0","id":37,"method":"ping","params":{"n":1e999}}"#,
    r#"{"jsonrpc":"2.0","id":38,"method":"ping","params":{"n":1234567890123456789012345678901234567890}}"#,
    r#"{"jsonrpc":"2.0","id":39,"method":"ping","params":{"s":"\ud800"}}"#,
    r#"{"jsonrpc":"2.0","id":40,"method":"ping","params":{"s":"a\u0000b"}}"#,
];

const IDS: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":-5,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":2147483647,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":4294967297,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1758893424665,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1.9,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":"abc","method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":"42","method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"self.audio_speaker.set_volume","arguments":{"volume":13}}}"#,
    STATUS,
    r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
];

const CALLS: &[&str] = &[
    r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"self.get_device_status"}}"#,
    r#"{"jsonrpc":"2.0","id":50,"method":"tools/call"}"#,
    r#"{"jsonrpc":"2.0","id":51,"method":"tools/call","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":52,"method":"tools/call","params":{"name":5}}"#,
    r#"{"jsonrpc":"2.0","id":53,"method":"tools/call","params":{"name":["self.led.turn_on"]}}"#,
    r#"{"jsonrpc":"2.0","id":54,"method":"tools/call","params":{"name":"no.such"}}"#,
    r#"{"jsonrpc":"2.0","id":55,"method":"tools/call","params":{"name":"no\"pe\\\n"}}"#,
    r#"{"jsonrpc":"2.0","id":56,"method":"tools/call","params":{"name":"Self.Led.Turn_On"}}"#,
    r#"{"jsonrpc":"2.0","id":57,"method":"tools/call","params":{"name":"self.led.turn_on "}}"#,
    r#"{"jsonrpc":"2.0","id":58,"method":"tools/call","params":{"name":"self.led.turn_on","_meta":{"a":1}}}"#,
    r#"{"jsonrpc":"2.0","id":59,"method":"tools/call","params":{"name":"self.screen.set_brightness","arguments":[50]}}"#,
    r#"{"jsonrpc":"2.0","id":60,"method":"tools/call","params":{"name":"self.screen.set_brightness","arguments":"x"}}"#,
    r#"{"jsonrpc":"2.0","id":61,"method":"tools/call","params":{"name":"self.screen.set_brightness","arguments":50}}"#,
    STATUS,
];

/// Calls that are followed by a look at the status.
const ARGUMENTS: &[(&str, &str)] = &[
    ("self.screen.set_brightness", "{}"),
    ("self.screen.set_brightness", r#"{"brightness":0}"#),
    ("self.screen.set_brightness", r#"{"brightness":100}"#),
    ("self.screen.set_brightness", r#"{"brightness":42}"#),
    ("self.screen.set_brightness", r#"{"brightness":-1}"#),
    ("self.screen.set_brightness", r#"{"brightness":101}"#),
    ("self.screen.set_brightness", r#"{"brightness":"50"}"#),
    ("self.screen.set_brightness", r#"{"brightness":"abc"}"#),
    ("self.screen.set_brightness", r#"{"brightness":true}"#),
    ("self.screen.set_brightness", r#"{"brightness":null}"#),
    ("self.screen.set_brightness", r#"{"brightness":[50]}"#),
    ("self.screen.set_brightness", r#"{"brightness":{"v":50}}"#),
    ("self.screen.set_brightness", r#"{"brightness":50.9}"#),
    ("self.screen.set_brightness", r#"{"brightness":100.99}"#),
    ("self.screen.set_brightness", r#"{"brightness":-0.5}"#),
    ("self.screen.set_brightness", r#"{"brightness":2147483698}"#),
    ("self.screen.set_brightness", r#"{"brightness":4294967346}"#),
    ("self.screen.set_brightness", r#"{"brightness":1e20}"#),
    (
        "self.screen.set_brightness",
        r#"{"brightness":18446744073709551666}"#,
    ),
    ("self.screen.set_brightness", r#"{"BRIGHTNESS":50}"#),
    (
        "self.screen.set_brightness",
        r#"{"brightness":50,"extra":1}"#,
    ),
    ("self.screen.set_auto_rotate", r#"{"enabled":true}"#),
    ("self.screen.set_auto_rotate", r#"{"enabled":false}"#),
    ("self.screen.set_auto_rotate", r#"{"enabled":1}"#),
    ("self.screen.set_auto_rotate", r#"{"enabled":"true"}"#),
    (
        "self.screen.show_message",
        r#"{"text":"a \"b\" \\ \u0001 😀"}"#,
    ),
    (
        "self.screen.show_message",
        r#"{"text":"only \u0001 control"}"#,
    ),
    ("self.screen.set_theme", r#"{"theme":"bl\"ue"}"#),
    ("self.screen.set_timeout", "{}"),
    ("self.screen.set_timeout", r#"{"seconds":"7"}"#),
    ("self.screen.set_timeout", r#"{"seconds":null}"#),
    ("self.audio_speaker.set_volume", r#"{"volume":50}"#),
    ("self.audio_speaker.set_volume", r#"{"volume":50}"#),
    ("self.audio_speaker.set_volume", r#"{"volume":101}"#),
    ("self.audio_speaker.set_volume", r#"{"volume":0}"#),
    ("self.audio_speaker.set_volume", r#"{"volume":100}"#),
    ("self.audio_speaker.set_volume", r#"{"volume":37}"#),
    ("self.audio_speaker.volume_up", "{}"),
    ("self.audio_speaker.volume_up", r#"{"step":7}"#),
    ("self.audio_speaker.volume_up", r#"{"step":90}"#),
    ("self.audio_speaker.volume_down", "{}"),
    ("self.audio_speaker.volume_down", r#"{"step":7}"#),
    ("self.audio_speaker.volume_down", r#"{"step":90}"#),
    ("self.audio_speaker.set_volume", r#"{"volume":37}"#),
    ("self.audio_speaker.mute", "{}"),
    ("self.audio_speaker.mute", "{}"),
    ("self.audio_speaker.unmute", "{}"),
];

const ENVELOPES: &[&str] = &[
    r#"{"type":"no-such-type","payload":{"jsonrpc":"2.0","id":90,"method":"ping"}}"#,
    r#"{"payload":{"jsonrpc":"2.0","id":91,"method":"ping"}}"#,
    r#"{"type":"mcp","extra":1,"payload":{"jsonrpc":"2.0","id":92,"method":"ping"}}"#,
    r#"{"type":"mcp"}"#,
    r#"{"type":"mcp","payload":null}"#,
    r#"{"type":"mcp","payload":5}"#,
    "garbage",
    "",
    r#"{"type":"mcp","payload":{"jsonrpc":"2.0""#,
    r#"{"type":"listen"}{"type":"listen"}"#,
];
