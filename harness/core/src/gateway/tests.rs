use std::collections::BTreeSet;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn gateway() -> Gateway {
    Gateway::new(Settings::default())
}

/// The call that a control becomes.
fn call(gateway: &mut Gateway, control: &Value) -> Option<Value> {
    gateway.control(1, &control.to_string(), 1_758_893_424_665).into_iter().find_map(|step| {
        match step {
            Step::SendToDevice { payload } => Some(payload),
            _ => None,
        }
    })
}

#[rstest]
#[case::kept_zero(json!({"type": "device_control", "action": "set_volume", "volume": 0, "value": 9}),
    "self.audio_speaker.set_volume", json!({"volume": 0}))]
#[case::kept_step(json!({"type": "device_control", "action": "volume_up", "step": 0}),
    "self.audio_speaker.volume_up", json!({"step": 0}))]
#[case::default_step(json!({"type": "device_control", "command": "volume_down", "volume": 3}),
    "self.audio_speaker.volume_down", json!({"step": 10}))]
#[case::absent(json!({"type": "device_control", "action": "set_volume", "volume": null}),
    "self.audio_speaker.set_volume", json!({}))]
#[case::args(json!({"type": "function_call", "function_call": {"name": "self_mute", "args": {"a": 0}}}),
    "self.audio_speaker.mute", json!({"a": 0}))]
#[case::text(json!({"type": "function_call", "name": "toString", "arguments": "{\"a\":1}"}),
    "toString", json!({"a": 1}))]
fn a_control_becomes_a_call(#[case] control: Value, #[case] tool: &str, #[case] arguments: Value) {
    let call = call(&mut gateway(), &control).expect("a call");
    assert_eq!(call["method"], "tools/call");
    assert_eq!(call["params"], json!({"name": tool, "arguments": arguments}));
}

#[rstest]
#[case(json!("req_17"), 17)]
#[case(json!("0"), 0)]
#[case(json!(18), 18)]
#[case(json!("req_007x"), CALLERS_BELOW)]
#[case(json!("abc"), CALLERS_BELOW)]
#[case(json!("req_"), CALLERS_BELOW)]
#[case(json!("req_-1"), CALLERS_BELOW)]
#[case(json!({"a": 1}), CALLERS_BELOW)]
#[case(json!("req_1758893424665"), CALLERS_BELOW)]
#[case(json!("req_99999999999999999999999"), CALLERS_BELOW)]
fn the_id_comes_from_the_request_id_where_a_device_can_answer_it(
    #[case] request_id: Value,
    #[case] id: u64,
) {
    let control = json!({"type": "device_control", "action": "mute", "request_id": request_id});
    let mut gateway = gateway();
    assert_eq!(call(&mut gateway, &control).unwrap()["id"], id);
    let again = call(&mut gateway, &control).unwrap();
    assert_ne!(again["id"], id, "an id is used once");
}

#[test]
fn wide_ids_are_taken_as_they_are() {
    let settings = Settings { wide_ids: true, ..Settings::default() };
    let control = json!({"type": "device_control", "action": "mute"});
    let call = call(&mut Gateway::new(settings), &control).unwrap();
    assert_eq!(call["id"], 1_758_893_424_665_u64);
}

#[rstest]
#[case("toString")]
#[case("__proto__")]
#[case("")]
#[case("Set_Volume")]
fn an_unknown_action_is_logged_and_nothing_else(#[case] action: &str) {
    let control = json!({"type": "device_control", "action": action}).to_string();
    let steps = gateway().control(1, &control, 0);
    let [Step::Log { level, text }] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!(*level, LogLevel::Error);
    assert!(text.contains("unknown action"), "{text}");
}

#[test]
fn a_call_without_name_is_told_to_the_caller() {
    let control = json!({"type": "function_call", "function_call": {}, "request_id": "r"});
    let steps = gateway().control(5, &control.to_string(), 9);
    let Some(Step::Reply(Reply { caller: 5, json })) = steps.last() else { panic!("{steps:?}") };
    assert_eq!(json["request_id"], "r");
    assert_eq!(json["error"]["code"], INVALID);
}

#[test]
fn answers_find_their_callers_in_any_order() {
    let mut gateway = gateway();
    for (caller, name) in [(1, "a"), (2, "b")] {
        let control = json!({"type": "device_control", "action": "get_volume", "request_id": name});
        gateway.control(caller, &control.to_string(), 0);
    }
    let text = r#"{"audio_speaker":{"volume":0}}"#;
    let result = json!({"content": [{"type": "text", "text": text}], "isError": false});
    let second = json!({"jsonrpc": "2.0", "id": CALLERS_BELOW + 1, "result": result});
    let reply = gateway.answer(&second).expect("the second caller waits");
    assert_eq!((reply.caller, &reply.json["volume"]), (2, &json!(0)));
    assert_eq!(gateway.answer(&second), None, "it is answered once");
    let first = json!({"jsonrpc": "2.0", "id": CALLERS_BELOW, "error": {"message": "no"}});
    let reply = gateway.answer(&first).expect("the first caller waits");
    let expected = json!({"type": "device_control_result", "request_id": "a", "action": "get_volume",
        "timestamp": 0, "success": false, "error": {"message": "no"}});
    assert_eq!((reply.caller, reply.json), (1, expected));
}

#[test]
fn a_tool_that_failed_is_no_success() {
    let mut gateway = gateway();
    let call = call(&mut gateway, &json!({"type": "device_control", "action": "mute"})).unwrap();
    let result = json!({"content": [{"type": "text", "text": "broken"}], "isError": true});
    let reply = gateway.answer(&json!({"id": call["id"], "result": result}));
    let json = reply.unwrap().json;
    assert_eq!((&json["success"], &json["error"]["message"]), (&json!(false), &json!("broken")));
}

#[test]
fn who_waits_too_long_or_for_nobody_is_told() {
    let mut gateway = gateway();
    let control = json!({"type": "device_control", "action": "mute", "request_id": "r"});
    let sent = call(&mut gateway, &control).unwrap();
    let now = 1_758_893_424_665;
    assert_eq!(gateway.next_due(), Some(now + 10_000));
    assert!(gateway.expire(now + 9_999).is_empty());
    let expired = gateway.expire(now + 10_000);
    assert_eq!(expired[0].json["error"]["code"], NO_ANSWER);
    assert_eq!(gateway.undelivered(&sent), None);
    let sent = call(&mut gateway, &control).unwrap();
    let reply = gateway.undelivered(&sent).unwrap();
    assert_eq!(reply.json["error"]["code"], DEVICE_AWAY);
    call(&mut gateway, &control).unwrap();
    assert_eq!(gateway.device_gone().len(), 1);
    call(&mut gateway, &control).unwrap();
    gateway.caller_gone(1);
    assert_eq!(gateway.next_due(), None);
}

#[test]
fn the_table_of_waiting_calls_is_bounded() {
    let mut gateway = gateway();
    let control = json!({"type": "device_control", "action": "mute"});
    for _ in 0..MAX_PENDING {
        assert!(call(&mut gateway, &control).is_some());
    }
    let steps = gateway.control(1, &control.to_string(), 0);
    let Some(Step::Reply(Reply { json, .. })) = steps.last() else { panic!("{steps:?}") };
    assert_eq!(json["error"]["code"], BUSY);
}

/// Controls that are nearly right, and texts that are nothing.
fn control() -> impl Strategy<Value = String> {
    let request_id = prop_oneof![
        any::<u64>().prop_map(|n| json!(format!("req_{n}"))),
        (0_u64..50).prop_map(|n| json!(format!("req_{n}"))),
        any::<i64>().prop_map(|n| json!(n)),
        any::<String>().prop_map(|text| json!(text)),
        Just(Value::Null),
    ];
    let action = prop_oneof![
        prop::sample::select(vec!["set_volume", "volume_up", "get_volume", "mute", "toString"])
            .prop_map(str::to_owned),
        any::<String>(),
    ];
    prop_oneof![
        1 => any::<String>(),
        4 => (action.clone(), request_id.clone(), any::<i64>()).prop_map(|(action, id, value)| json!({
            "type": "device_control", "action": action, "request_id": id, "value": value
        }).to_string()),
        2 => (action, request_id).prop_map(|(name, id)| json!({
            "type": "function_call", "function_call": {"name": name}, "request_id": id
        }).to_string()),
    ]
}

proptest! {
    #[test]
    fn any_control_is_survived_and_ids_are_small_and_unique(
        controls in prop::collection::vec(control(), 0..60)
    ) {
        let mut gateway = gateway();
        let mut seen = BTreeSet::new();
        for text in controls {
            for step in gateway.control(1, &text, 7) {
                if let Step::SendToDevice { payload } = step {
                    let id = payload["id"].as_u64();
                    prop_assert!(id.is_some_and(|id| id < DEVICE_IDS_BELOW), "{}", payload);
                    prop_assert!(seen.insert(id), "twice: {}", payload);
                }
            }
        }
    }

    #[test]
    fn any_answer_is_survived(text in any::<String>(), id in any::<i64>()) {
        let mut gateway = gateway();
        prop_assert_eq!(gateway.answer(&json!({"id": id, "result": text})), None);
        prop_assert_eq!(gateway.answer(&json!(text)), None);
    }
}
