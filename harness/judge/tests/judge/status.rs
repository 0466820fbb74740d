//! Readings of the state.

use rstest::rstest;

use super::play::*;

const STATUS: &str = "self.get_device_status";

#[rstest]
#[case::another_tool("self.x", "{}", r#"{"content":[],"isError":true}"#, &[])]
#[case::good(STATUS, "{}", r#"{"content":[{"type":"text","text":"{}"}],"isError":false}"#, &[])]
#[case::no_text(STATUS, "{}", r#"{"content":[],"isError":false}"#, &["b/b status.object"])]
#[case::failed(STATUS, "{}", r#"{"content":[],"isError":true}"#, &["b/b call.success"])]
#[case::with_arguments(STATUS, r#"{"x":1}"#, r#"{"content":[],"isError":true}"#, &[])]
#[case::arguments_that_are_none(STATUS, "[]", r#"{"content":[],"isError":true}"#, &[])]
fn no_good_reading_of_the_state_fails(
    #[case] tool: &str,
    #[case] arguments: &str,
    #[case] result: &str,
    #[case] findings: &[&str],
) {
    let call = format!(
        r#"> 0 {{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{
            "name":"{tool}","arguments":{arguments}}}}}"#
    );
    let answer = format!(r#"< {{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
    let list = r#"> 0 {"jsonrpc":"2.0","id":6,"method":"tools/list","params":{}}"#;
    let listed = r#"< {"jsonrpc":"2.0","id":6,"result":{"tools":[{"name":"self.get_device_status",
        "description":"d","inputSchema":{"type":"object","properties":{}}},
        {"name":"self.audio_speaker.set_volume",
        "description":"d","inputSchema":{"type":"object","properties":{}}}]}}"#;
    let mut play = Play::new();
    assert_eq!(play.play(&[list, listed]).end(), [""; 0]);
    let found = play.next_case("b/b").play(&[&call, &answer]).end();
    assert_eq!(found, findings);
}

/// What the device answers to a reading of its state.
fn status(id: u32, text: &str) -> String {
    let content = serde_json::json!([{"type": "text", "text": text}]);
    let result = serde_json::json!({"content": content, "isError": false});
    format!("< {}", serde_json::json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// Two readings during bring-up, of a device that lists the tool and one more.
fn readings(more: &str, first: &str, last: &str) -> Vec<String> {
    let call = r#""method":"tools/call","params":{"name":"self.get_device_status"}"#;
    let tool = serde_json::json!({"name": "self.get_device_status", "description": "It.",
        "inputSchema": {"type": "object"}});
    let more =
        serde_json::json!({"name": more, "description": "It.", "inputSchema": {"type": "object"}});
    let list = serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool, more]}});
    let lines = [
        r#"> list.p0 {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#.to_owned(),
        format!("< {list}"),
        format!(r#"> status {{"jsonrpc":"2.0","id":2,{call}}}"#),
        status(2, first),
        format!(r#"> status-still {{"jsonrpc":"2.0","id":3,{call}}}"#),
        status(3, last),
    ];
    let mut play = Play::new();
    play.next_case("session/bring-up");
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    play.play(&lines).end()
}

#[rstest]
#[case::the_same(r#"{"audio_speaker":{"volume":70}}"#, r#"{"audio_speaker":{"volume":70.0}}"#, &[])]
#[case::other(r#"{"audio_speaker":{"volume":0}}"#, r#"{"audio_speaker":{"volume":70}}"#,
    &["session/bring-up status.kept"])]
#[case::a_backlight_fades_in(r#"{"screen":{"brightness":3}}"#, r#"{"screen":{"brightness":75}}"#, &[])]
#[case::charge_and_signal(r#"{"battery":{"level":80}}"#, r#"{"battery":{"level":79}}"#, &[])]
#[case::no_object("[70]", "[70]", &["session/bring-up status.object"])]
#[case::no_json("volume 70", "volume 70", &["session/bring-up status.object"])]
#[case::half_a_surrogate_pair(r#"{"screen":{"theme":"\ud800"}}"#, r#"{"screen":{"theme":"\ud800"}}"#, &[])]
fn the_first_status_is_an_object_and_shows_what_later_ones_show(
    #[case] first: &str,
    #[case] last: &str,
    #[case] wanted: &[&str],
) {
    assert_eq!(readings("self.audio_speaker.set_volume", first, last), wanted);
}

#[test]
fn who_has_no_volume_may_tell_its_state_in_words() {
    let said = "The pump is off.";
    assert_eq!(readings("self.pump.set_state", said, said), [""; 0]);
}

/// A call and its answer.
fn called(id: u32, tool: &str, arguments: &serde_json::Value, text: &str) -> [String; 2] {
    let params = serde_json::json!({"name": tool, "arguments": arguments});
    let call = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
    [format!("> {id} {call}"), status(id, text)]
}

/// The brightness is set to 61, read, the volume is set, and the brightness is read twice.
#[rstest]
#[case::it_stays(&[[61, 61, 61], [61, 61, 61]], &[])]
#[case::it_changes_again(&[[61, 40, 40], [61, 40, 40]], &["b/b volume.alone"])]
#[case::it_changed_once(&[[61, 40, 40], [61, 61, 61]], &[])]
#[case::it_moves_on(&[[61, 60, 59], [61, 58, 57]], &[])]
#[case::it_fades(&[[70, 66, 66], [64, 62, 62]], &[])]
fn the_brightness_stays_while_the_volume_is_set(
    #[case] rounds: &[[u32; 3]],
    #[case] wanted: &[&str],
) {
    let mut lines = Vec::new();
    for (round, shown) in (0..).zip(rounds) {
        let id = 10 * round + 10;
        let text = |level: u32| serde_json::json!({"screen": {"brightness": level}}).to_string();
        let none = serde_json::json!({});
        let [before, after, again] = shown.map(text);
        let dim = serde_json::json!({"brightness": 61});
        lines.extend(called(id, "self.screen.set_brightness", &dim, "true"));
        lines.extend(called(id + 1, STATUS, &none, &before));
        let loud = serde_json::json!({"volume": 95});
        lines.extend(called(id + 2, "self.audio_speaker.set_volume", &loud, "true"));
        lines.extend(called(id + 3, STATUS, &none, &after));
        lines.extend(called(id + 4, STATUS, &none, &again));
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let found = Play::new().next_case("b/b").play(&lines).end();
    assert_eq!(found, wanted);
}

#[rstest]
#[case::full(100, &[])]
#[case::more_than_full(101, &["b/b status.battery"])]
#[case::less_than_empty(-1, &["b/b status.battery"])]
fn the_charge_of_the_battery_is_told_in_percent(#[case] level: i32, #[case] wanted: &[&str]) {
    let text = serde_json::json!({"battery": {"level": level}}).to_string();
    let list = r#"> 0 {"jsonrpc":"2.0","id":6,"method":"tools/list","params":{}}"#;
    let listed = r#"< {"jsonrpc":"2.0","id":6,"result":{"tools":[{"name":"self.get_device_status",
        "description":"d","inputSchema":{"type":"object","properties":{}}}]}}"#;
    let lines = called(7, STATUS, &serde_json::json!({}), &text);
    let mut play = Play::new();
    play.play(&[list, listed]).end();
    let found = play.next_case("b/b").play(&[&lines[0], &lines[1]]).end();
    assert_eq!(found, wanted);
}
