//! What holds for every draw.

use std::collections::BTreeSet;

use super::*;
use mcp_hil_core::capability::{Facts, Permission, Surface, Told, Trust, discover};
use mcp_hil_core::catalogue::{Catalogue, RuleSet};
use mcp_hil_core::wire::narrows_to;
use mcp_hil_scenario::{Action, Case, Expect, GivenIds, Outgoing, Step, exchanges, write};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The requirements of the real catalogue that generated steps name.
fn catalogue() -> Catalogue {
    let files = mcp_hil_scenarios::requirements().iter().copied();
    Catalogue::load(files, RuleSet::DEFAULT).unwrap()
}

fn tool(name: &str, properties: Value, required: &[&str]) -> Value {
    json!({"name": name, "description": "d", "inputSchema":
        {"type": "object", "properties": properties, "required": required}})
}

/// Tools as devices of the family have them, two of which are never called.
fn tools() -> Vec<Value> {
    let level = json!({"type": "integer", "minimum": 0, "maximum": 100});
    let step = json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 10});
    vec![
        tool("self.get_device_status", json!({}), &[]),
        tool("self.audio_speaker.set_volume", json!({"volume": level}), &["volume"]),
        tool("self.audio_speaker.volume_up", json!({"step": step}), &[]),
        tool("self.audio_speaker.volume_down", json!({"step": step}), &[]),
        tool("self.audio_speaker.mute", json!({}), &[]),
        tool("self.audio_speaker.unmute", json!({}), &[]),
        tool("self.screen.set_brightness", json!({"brightness": level}), &["brightness"]),
        tool("self.screen.set_theme", json!({"theme": {"type": "string"}}), &["theme"]),
        tool("self.screen.set_auto_rotate", json!({"enabled": {"type": "boolean"}}), &["enabled"]),
        tool("self.led.set_color", json!({"red": level, "green": level}), &["red", "green"]),
        tool("self.reboot", json!({"delay": level}), &["delay"]),
        tool("self.${odd}.set_x", json!({"x": level}), &["x"]),
        tool("self.led.set_secret", json!({"x": level}), &["x"]),
    ]
}

fn permission(trust: Trust) -> Permission {
    Permission { trust, deny: vec!["self.led.set_secret".into()], ..Permission::default() }
}

fn context(trust: Trust) -> Context {
    context_of(&tools(), trust)
}

fn context_of(tools: &[Value], trust: Trust) -> Context {
    let permission = permission(trust);
    let surface = Surface {
        tools: tools.to_vec(),
        all_tools: tools.to_vec(),
        status: Some(json!({"audio_speaker": {"volume": 70}, "screen": {"brightness": 75}})),
        first_cursor: Some("second".into()),
        ..Surface::default()
    };
    let facts = discover(&surface, &permission);
    Context::new(&facts, tools, &permission)
}

/// The same with a theme, a light, and a device that dials again.
fn more_ground(trust: Trust) -> Context {
    context_that_reconnects(&permission(trust))
}

fn context_that_reconnects(permission: &Permission) -> Context {
    let mut tools = tools();
    for name in ["turn_on", "turn_off", "get_state"] {
        tools.push(tool(&format!("self.lamp.{name}"), json!({}), &[]));
    }
    let screen = json!({"brightness": 75, "theme": "light"});
    let surface = Surface {
        tools: tools.clone(),
        all_tools: tools.clone(),
        status: Some(json!({"audio_speaker": {"volume": 70}, "screen": screen})),
        first_cursor: Some("self.audio_speaker.mute".into()),
        reconnect: true,
        ..Surface::default()
    };
    let mut facts = discover(&surface, permission);
    facts.capabilities.insert("told".to_owned());
    facts.told.push(Told {
        tool: "self.led.set_color".to_owned(),
        reader: "self.lamp.get_state".to_owned(),
        places: ["red", "green"].map(|name| (name.to_owned(), format!("/json/{name}"))).into(),
    });
    Context::new(&facts, &tools, permission)
}

/// What smaller integers make of a number, as far as it is not another that may well be told.
#[test]
fn what_another_tool_tells_is_read() {
    let level = json!({"type": "integer", "minimum": -200, "maximum": 300});
    let properties = json!({"level": level});
    let tools = [
        tool("self.x.set_level", properties, &["level"]),
        tool("self.x.get_level", json!({}), &[]),
    ];
    let told = Told {
        tool: "self.x.set_level".to_owned(),
        reader: "self.x.get_level".to_owned(),
        places: [("level".to_owned(), "/json".to_owned())].into(),
    };
    let facts = Facts { told: vec![told], ..Facts::default() };
    let context = Context::new(&facts, &tools, &permission(Trust::Simulated));
    let ops = told::of_tool(&context, &context.tools()[0]);
    let read = |op: &Vec<Step>| {
        let parts = op[1].expect.iter().map(|expect| {
            let (at, matcher) = &expect.parts[0];
            assert_eq!(at, "/json");
            matcher.pattern()["$not"].clone()
        });
        parts.collect::<Vec<Value>>()
    };
    let wrong: Vec<Vec<Value>> = ops.iter().map(read).collect();
    assert_eq!(wrong.len(), 5, "{wrong:?}");
    assert_eq!(wrong[0], [json!({"$in": [127, 65_407, 4_294_967_167_i64]}), json!(129)], "-129");
    assert_eq!(wrong[3], [json!({"$in": [-56]})], "200");
    assert_eq!(wrong[4], [json!({"$in": [44]})], "300");
    assert!(told::of_tool(&Context::default(), &context.tools()[0]).is_empty());
}

/// Who refuses one value of several may not call it invalid, where nothing stands beside it on which it may depend.
#[test]
fn a_value_that_the_schema_allows_is_not_invalid() {
    let number = json!({"type": "integer", "minimum": 16, "maximum": 30});
    let properties = json!({
        "mode": {"type": "string", "enum": ["cool", "dry"]},
        "swing": {"type": "boolean"},
        "degrees": number,
    });
    let tools = [tool("self.air.set_mode", properties, &["mode", "swing"])];
    let context = Context::new(&Facts::default(), &tools, &permission(Trust::Simulated));
    let valid = |sent: Value| {
        let Value::Object(sent) = sent else { panic!("{sent}") };
        context.tools()[0].is_valid("mode", &sent)
    };
    assert!(valid(json!({"mode": "dry", "swing": true})));
    assert!(!valid(json!({"mode": "dry", "swing": true, "degrees": 30})));
    let days = json!({"days": {"type": "integer", "minimum": 1, "maximum": 365}});
    let tools = [tool("self.usage.read_days", days, &["days"])];
    let context = Context::new(&Facts::default(), &tools, &permission(Trust::Simulated));
    let last = serde_json::Map::from_iter([("days".to_owned(), json!(365))]);
    assert!(context.tools()[0].is_valid("days", &last));
}

#[test]
fn parts_of_the_model_that_a_device_lacks_are_told() {
    let state = Property::named("properties/state").unwrap();
    let missing = |context: &Context| state.missing(context);
    assert_eq!(missing(&more_ground(Trust::WellKnown)), Vec::<&str>::new());
    assert_eq!(missing(&context(Trust::WellKnown)), ["new connections", "theme", "light"]);
}

fn no_lines(steps: &mut [Step]) {
    for step in steps {
        step.line = 0;
        if let Action::Burst(inner) | Action::Each { steps: inner, .. } = &mut step.action {
            no_lines(inner);
        }
    }
}

/// All messages of a case.
fn messages(steps: &[Step]) -> Vec<&Outgoing> {
    let mut found = Vec::new();
    for step in steps {
        match &step.action {
            Action::Send(outgoing) => found.push(outgoing),
            Action::Burst(inner) | Action::Each { steps: inner, .. } => {
                found.extend(messages(inner));
            }
            _ => {}
        }
    }
    found
}

/// What must hold of a case, whatever it is about.
fn in_order(case: &Case, context: &Context, catalogue: &Catalogue) {
    let count = exchanges(&case.steps);
    assert!((1..=20).contains(&count), "{count} exchanges: {case:?}");
    let text = write(case, &["drawn".into()]);
    let mut read = Case::reload(&case.id, &case.file, &text, catalogue)
        .unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    no_lines(&mut read.steps);
    let mut drawn = case.clone();
    no_lines(&mut drawn.steps);
    assert_eq!(read, drawn, "{text}");
    // Unique, and none of those that the harness gives.
    if let Err(problem) = GivenIds::default().check(case) {
        panic!("{problem}\n{text}");
    }
    let names = |text: &str| {
        let tools = tools();
        let mut names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
        let named = names.find(|name| text == *name && !context.callable(name));
        named.map(str::to_owned)
    };
    for message in messages(&case.steps) {
        let called = match message {
            Outgoing::Request { params: Some(params), .. } => {
                params["name"].as_str().map(str::to_owned)
            }
            Outgoing::Payload(payload) => payload["params"]["name"].as_str().map(str::to_owned),
            Outgoing::PayloadText(text) | Outgoing::Text(text) => {
                let denied = ["self.reboot", "self.led.set_secret"];
                denied.iter().find(|name| text.contains(**name)).map(|name| (*name).to_owned())
            }
            _ => None,
        };
        assert_eq!(called.as_deref().and_then(names), None, "{text}");
    }
}

/// Simplifies as long as a case fails; the number of steps that took, too.
fn shrink(mut draw: Draw, fails: impl Fn(&Case) -> bool) -> (Case, usize) {
    assert!(fails(&draw.case()));
    let (mut best, mut tries, mut failed) = (draw.case(), 0, true);
    while if failed { draw.simplify() } else { draw.complicate() } {
        tries += 1;
        failed = fails(&draw.case());
        if failed {
            best = draw.case();
        }
    }
    (best, tries)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_draw_is_in_order_while_it_shrinks_too(seed: u64, number in 0..4000_u32, fails: u64) {
        let catalogue = catalogue();
        for trust in [Trust::WellKnown, Trust::Simulated] {
            let grounds = [context(trust), more_ground(trust)];
            for (context, property) in grounds.iter().flat_map(|context| PROPERTIES.iter().map(move |property| (context, property))) {
                let mut draw = Draw::new(property, context, seed, number);
                in_order(&draw.case(), context, &catalogue);
                prop_assert_eq!(Draw::new(property, context, seed, number).case(), draw.case());
                for turn in 0..8 {
                    let another = if fails >> turn & 1 == 1 { draw.simplify() } else { draw.complicate() };
                    if another {
                        in_order(&draw.case(), context, &catalogue);
                    }
                }
            }
        }
    }
}

#[test]
fn pages_asked_for_again_and_again_are_no_more_than_an_input_holds() {
    let context = context(Trust::WellKnown);
    let pagination = Property::named("properties/pagination").unwrap();
    let kinds = (0..400).map(|number| {
        (0..20).map(|seed| Draw::new(pagination, &context, seed, number).exchanges()).max().unwrap()
    });
    assert_eq!(kinds.max(), Some(20));
}

/// None of them is left to chance.
#[test]
fn every_place_takes_every_kind_within_the_inputs_of_a_run() {
    let positions = Property::named("properties/positions").unwrap();
    for context in [context(Trust::WellKnown), more_ground(Trust::Simulated)] {
        let mut seen = BTreeSet::new();
        let inputs = positions.inputs(25, &context);
        for number in 0..inputs {
            let tried = positions.tried(number, &context);
            let case = Draw::new(positions, &context, 7, number).case();
            assert_eq!(tried.len(), case.steps.len());
            seen.extend(tried);
        }
        let kinds = |place: &str| seen.iter().filter(|(of, _)| of == place).count();
        for place in ["type", "payload", "method", "tools/list params", "tools/call name"] {
            assert_eq!(kinds(place), 23, "{place}");
        }
        assert_eq!(kinds("self.audio_speaker.set_volume volume"), 17);
        assert!(inputs * 20 < u32::try_from(seen.len()).unwrap() + 20, "no more than it takes");
        let again = (inputs..2 * inputs).flat_map(|number| positions.tried(number, &context));
        assert!(again.collect::<BTreeSet<_>>().is_subset(&seen));
        // Who wants few inputs gets few.
        assert_eq!(positions.inputs(2, &context), 8);
    }
}

/// Else the answer to one is taken for the answer to the other.
#[test]
fn ids_that_are_in_flight_together_stay_different_in_narrow_numbers() {
    let ids = Property::named("properties/ids").unwrap();
    let context = context(Trust::WellKnown);
    let mut bursts = 0;
    for number in 0..400 {
        let case = Draw::new(ids, &context, 549_301_228, number).case();
        for flat in case.flatten() {
            let Action::Burst(inner) = &flat.step.action else { continue };
            bursts += 1;
            let ids = inner.iter().filter_map(|step| match &step.action {
                Action::Send(Outgoing::Request { id, .. }) => id.as_ref(),
                _ => None,
            });
            let ids: Vec<&Value> = ids.collect();
            for (asked, got) in ids.iter().flat_map(|id| ids.iter().map(move |other| (id, other))) {
                assert!(!narrows_to(asked, got), "{asked} and {got}");
            }
        }
    }
    assert!(bursts > 100, "{bursts}");
}

#[test]
fn a_device_without_anything_still_gets_cases() {
    let context = Context::new(&Facts::default(), &[], &Permission::default());
    let catalogue = catalogue();
    for property in &PROPERTIES {
        for number in 0..60 {
            in_order(&Draw::new(property, &context, 7, number).case(), &context, &catalogue);
        }
    }
}

/// Other inputs may have muted the speaker by it.
#[test]
fn who_has_another_tool_to_mute_by_may_be_muted() {
    let expects_sound = |tools: &[Value]| {
        let context = context_of(tools, Trust::Simulated);
        let property = PROPERTIES.iter().find(|one| one.id == "properties/state").unwrap();
        (0..60).any(|number| {
            let case = Draw::new(property, &context, 7, number).case();
            let expects = case.steps.iter().flat_map(|step| &step.expect);
            let mut parts = expects.flat_map(|expect| &expect.parts);
            parts.any(|(_, matcher)| matcher.pattern().get("muted").is_some())
        })
    };
    let mut tools = tools();
    assert!(expects_sound(&tools));
    let muted = json!({"muted": {"type": "boolean"}});
    tools.push(tool("self.audio_speaker.set_mute", muted, &["muted"]));
    assert!(!expects_sound(&tools));
}

/// Of some schemas a good value can be made, and no bad one, or neither.
#[rstest::rstest]
#[case(json!({"type": "array", "default": [1]}))]
#[case(json!({"type": "object", "default": {"red": 0}}))]
#[case(json!({"type": ["integer", "null", "string"]}))]
#[case(json!({"type": "string", "format": "color"}))]
#[case(json!({"enum": []}))]
#[case(json!({"default": null}))]
#[case(json!(true))]
fn an_odd_schema_still_leaves_inputs(#[case] schema: Value) {
    for required in [&["x"][..], &[]] {
        let tools = [tool("self.x.set_x", json!({"x": schema}), required)];
        let context = Context::new(&Facts::default(), &tools, &permission(Trust::Simulated));
        for property in &PROPERTIES {
            for number in 0..3 {
                Draw::new(property, &context, 7, number).case();
            }
        }
    }
}

#[test]
fn needs_are_capabilities_and_ids_are_unique() {
    for property in &PROPERTIES {
        assert!(property.needs.iter().all(|need| mcp_hil_core::capability::ALL.contains(need)));
        assert!(property.id.starts_with("properties/"));
        assert_eq!(PROPERTIES.iter().filter(|other| other.id == property.id).count(), 1);
        assert!(Property::named(property.id).is_some());
    }
}

/// Draws until one fails, and shrinks it.
fn found(property: &str, fails: impl Fn(&Case) -> bool) -> (Case, u32, usize) {
    found_with(&context(Trust::Simulated), property, fails)
}

/// The same with a device of which this is known.
fn found_with(
    context: &Context,
    property: &str,
    fails: impl Fn(&Case) -> bool,
) -> (Case, u32, usize) {
    let property = Property::named(property).unwrap();
    for number in 0..500 {
        let draw = Draw::new(property, context, 42, number);
        if fails(&draw.case()) {
            let (case, tries) = shrink(draw, &fails);
            return (case, number, tries);
        }
    }
    panic!("nothing fails in 500 draws");
}

fn ids(case: &Case) -> Vec<Value> {
    messages(&case.steps)
        .into_iter()
        .filter_map(|message| match message {
            Outgoing::Request { id, .. } => id.clone(),
            Outgoing::PayloadText(text) => {
                serde_json::from_str::<Value>(text).ok()?.get("id").cloned()
            }
            _ => None,
        })
        .collect()
}

#[test]
fn ids_are_found_and_shrunk_to_one_exchange() {
    let kinds: [fn(&Value) -> bool; 7] = [
        |id| id == &json!(0),
        |id| id.as_i64().is_some_and(|id| id > i64::from(i32::MAX)),
        |id| id.as_i64().is_some_and(|id| id < 0),
        |id| id.as_f64().is_some_and(|id| id.fract() != 0.0),
        Value::is_string,
        Value::is_boolean,
        Value::is_array,
    ];
    for kind in kinds {
        let (case, number, tries) = found("properties/ids", |case| ids(case).iter().any(kind));
        assert_eq!(exchanges(&case.steps), 1, "{case:?}");
        assert!(number < 60 && tries < 60, "{number} {tries}");
    }
}

#[test]
fn an_id_comes_again_in_the_next_session_only() {
    let again = |case: &Case| {
        case.steps.iter().any(|step| matches!(step.action, Action::Disconnect { .. }))
    };
    let context = more_ground(Trust::Simulated);
    let (case, number, _) = found_with(&context, "properties/ids", again);
    assert!(number < 20, "{number}");
    let sent: Vec<&Action> = case.steps.iter().map(|step| &step.action).collect();
    let [first, Action::Disconnect { .. }, opening, last] = sent[..] else {
        panic!("{case:?}");
    };
    assert!(first == last && ids(&case)[0].is_number(), "{case:?}");
    let Action::Send(Outgoing::Request { method, .. }) = opening else {
        panic!("{case:?}");
    };
    assert_eq!(method, "initialize");
}

/// Whether some message of the case holds the text, as it is written.
fn says(case: &Case, text: &str) -> bool {
    messages(&case.steps).iter().any(|message| match message {
        Outgoing::PayloadText(sent) | Outgoing::Text(sent) => sent.contains(text),
        Outgoing::Request { method, params, .. } => {
            method.as_str().is_some_and(|method| method.contains(text))
                || params.as_ref().is_some_and(|params| params.to_string().contains(text))
        }
        Outgoing::Payload(payload) | Outgoing::Envelope(payload) => {
            payload.to_string().contains(text)
        }
        _ => false,
    })
}

/// What each property is for is drawn soon, and shrinks to what matters.
#[rstest::rstest]
#[case("properties/arguments", "101", 3)]
#[case("properties/arguments", "\"volume\":-1", 2)]
#[case("properties/arguments", "BRIGHTNESS", 2)]
#[case("properties/arguments", "\"enabled\":\"true\"", 2)]
#[case("properties/arguments", ".99", 3)]
#[case("properties/arguments", "4294967", 2)]
#[case("properties/strings", "\\\"", 1)]
#[case("properties/strings", "\\u0000", 1)]
#[case("properties/strings", "\\ud800", 1)]
#[case("properties/strings", "\u{10ffff}", 1)]
#[case("properties/strings", "\u{202e}", 1)]
#[case("properties/strings", ":60000}", 1)]
#[case("properties/pagination", "${cursor.second}~", 1)]
#[case("properties/pagination", "99999", 1)]
#[case("properties/methods", "TOOLS/LIST", 1)]
#[case("properties/methods", "SELF.GET_DEVICE_STATUS", 1)]
#[case("properties/json", "\\u006", 1)]
#[case("properties/json", "\r", 1)]
#[case("properties/json", "[{\"jsonrpc\"", 1)]
#[case("properties/concurrency", "self.mcp_hil.no_such_tool", 1)]
#[case("properties/state", "self.audio_speaker.mute", 6)]
fn what_a_property_is_for_is_drawn_and_shrinks(
    #[case] property: &str,
    #[case] text: &str,
    #[case] left: usize,
) {
    let (case, number, tries) = found(property, |case| says(case, text));
    assert!(exchanges(&case.steps) <= left, "{case:?}");
    // A run makes no more than 60.
    assert!(number < 600 && tries <= 60, "number {number}, {tries} tries");
}

#[test]
fn sixteen_are_in_flight_at_most_and_shrink_to_those_that_matter() {
    let flying = |case: &Case| match &case.steps[0].action {
        Action::Burst(inner) => inner.len(),
        _ => 0,
    };
    let (context, property) =
        (context(Trust::Simulated), Property::named("properties/concurrency").unwrap());
    let most =
        (0..200).map(|number| flying(&Draw::new(property, &context, 3, number).case())).max();
    assert_eq!(most, Some(16));
    let (case, _, tries) = found("properties/concurrency", |case| flying(case) >= 4);
    assert_eq!(flying(&case), 4);
    assert!(tries < 60, "{tries}");
}

#[test]
fn what_is_read_after_a_sequence_follows_from_it() {
    let context = context(Trust::Simulated);
    let property = Property::named("properties/state").unwrap();
    // A device that does as the documents say, in the small.
    for number in 0..300 {
        let case = Draw::new(property, &context, 11, number).case();
        let (mut level, mut kept, mut brightness) = (70_i64, None::<i64>, 75_i64);
        for step in &case.steps {
            let Action::Send(Outgoing::Request { method, params: Some(params), id: None }) =
                &step.action
            else {
                let status = json!({"json": {"audio_speaker": {"volume": level, "muted": kept.is_some()},
                    "screen": {"brightness": brightness}}});
                // A message under a string id is dropped.
                if matches!(step.action, Action::Send(Outgoing::Request { .. })) {
                    continue;
                }
                for expect in &step.expect {
                    for (at, matcher) in &expect.parts {
                        let shown = status.pointer(at);
                        let scope = mcp_hil_scenario::Scope::default();
                        match matcher.test(&scope, shown) {
                            Ok(tested) => {
                                assert!(tested.is_ok(), "{tested:?}\n{}", write(&case, &[]));
                            }
                            // What was read before.
                            Err(missing) => assert!(expect.if_bound, "{missing:?}"),
                        }
                    }
                }
                continue;
            };
            let arguments = &params["arguments"];
            let by = arguments.get("step").map_or(Some(10), Value::as_i64).unwrap_or(0);
            match (method.as_str(), params["name"].as_str().and_then(|name| name.rsplit_once('.')))
            {
                (Some("tools/call"), Some(("self.audio_speaker", "set_volume"))) => {
                    if let Some(to) =
                        arguments["volume"].as_i64().filter(|to| (0..=100).contains(to))
                    {
                        (level, kept) = (to, None);
                    }
                }
                (_, Some(("self.audio_speaker", "volume_up"))) => level = (level + by).min(100),
                (_, Some(("self.audio_speaker", "volume_down"))) => level = (level - by).max(0),
                (_, Some(("self.audio_speaker", "mute"))) => {
                    kept.get_or_insert(level);
                    level = 0;
                }
                (_, Some(("self.audio_speaker", "unmute"))) => level = kept.take().unwrap_or(level),
                (_, Some(("self.screen", "set_brightness"))) => {
                    brightness = arguments["brightness"].as_i64().unwrap();
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_device_whose_restart_is_denied_is_never_told_to_restart() {
    let restarts = |deny: &[&str]| {
        let permission = Permission {
            trust: Trust::Simulated,
            deny: deny.iter().map(|name| (*name).to_owned()).collect(),
            ..Permission::default()
        };
        let context = context_that_reconnects(&permission);
        let property = Property::named("properties/state").unwrap();
        let cases = (0..200).map(|number| Draw::new(property, &context, 1, number).case());
        cases.filter(Case::restarts).count()
    };
    assert!(restarts(&[]) > 0);
    for name in ["system.reboot", "self.reboot", "self.system.restart"] {
        assert_eq!(restarts(&[name]), 0, "{name}");
    }
    assert!(restarts(&["self.led.set_secret"]) > 0);
}

/// What another spelling shows depends on what the plain request got, and on nothing else.
#[test]
fn a_spelling_is_judged_by_what_the_plain_request_got() {
    let context = context(Trust::Simulated);
    let property = Property::named("properties/metamorphic").unwrap();
    let mut seen = 0;
    for number in 0..200 {
        let case = Draw::new(property, &context, 5, number).case();
        let mut bound: Vec<&String> = Vec::new();
        for step in &case.steps {
            let spelling = |expect: &&Expect| expect.requirement.area() == "jsonrpc";
            for expect in step.expect.iter().filter(spelling) {
                seen += 1;
                assert_eq!(expect.answer, None, "{step:?}");
                assert!(expect.if_bound || expect.if_error.is_some(), "{step:?}");
                let parts = expect.parts.iter().map(|(_, matcher)| matcher);
                for matcher in parts.chain(&expect.if_error) {
                    let pattern = matcher.pattern().to_string();
                    let earlier = |name: &&String| pattern.contains(&format!("${{{name}}}"));
                    assert!(bound.iter().any(earlier), "{pattern}: {bound:?}");
                }
            }
            bound.extend(step.bind.keys());
        }
    }
    assert!(seen > 200, "{seen}");
}
