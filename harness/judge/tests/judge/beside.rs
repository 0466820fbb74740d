//! The judge on what comes beside the link: HTTP requests and audio packets.

use std::sync::Arc;

use mcp_hil_core::capability::Facts;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::transcript::{
    AudioSeen, Entry, HttpEndpoint, HttpExchange, MqttConnect, Party, Role, Upload, What,
};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::Outcome;
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_judge::check::{CaseOutcome, Judge};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

const MAC: &str = "aa:bb:cc:dd:ee:ff";
const UUID: &str = "0a1b2c3d-0000-4000-8000-000000000000";
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

struct Play {
    judge: Judge,
    seq: u64,
    at_us: u64,
}

impl Play {
    fn new() -> Self {
        let mut judge = Judge::new();
        judge.begin_case(&Arc::from("a/a"));
        Self { judge, seq: 0, at_us: 0 }
    }

    fn enter(&mut self, what: What) -> &mut Self {
        self.judge.observe(Entry {
            seq: self.seq,
            at_us: self.at_us,
            case: "a/a".into(),
            step: Some("0".into()),
            what,
        });
        self.seq += 1;
        self.at_us += 100;
        self
    }

    fn link_up(&mut self, device_id: &str) -> &mut Self {
        self.upgraded("/xiaozhi/v1/", &[("device-id", device_id)])
    }

    /// A handshake with these headers beside the usual ones.
    fn upgraded(&mut self, path: &str, headers: &[(&str, &str)]) -> &mut Self {
        let usual = [("protocol-version", "1"), ("client-id", UUID)];
        let headers = usual.iter().chain(headers);
        self.enter(What::LinkUp {
            transport: Transport::WebSocket,
            mqtt: None,
            session_id: "s".into(),
            path: path.into(),
            token_given: false,
            headers: headers.map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        })
    }

    fn request(&mut self, id: i64, method: &str, params: &Value) -> &mut Self {
        let request = outbound::request(&id.into(), method, Some(params)).to_string();
        self.enter(What::Sent {
            role: Role::Stimulus,
            frame: Frame::Text(outbound::envelope("s", &request)),
        })
    }

    fn answer(&mut self, id: i64, result: &Value) -> &mut Self {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        self.enter(What::Received { frame: Frame::Text(outbound::envelope("s", &answer)) })
    }

    fn http(&mut self, exchange: HttpExchange) -> &mut Self {
        self.enter(What::Http { exchange: Box::new(exchange) })
    }

    fn audio(&mut self, seen: AudioSeen) -> &mut Self {
        self.enter(What::Audio { seen })
    }

    fn outcome(&mut self) -> CaseOutcome {
        self.judge.end_case(None, &Facts::default())
    }

    /// The broken requirements of an area.
    fn broken(&mut self, area: &str) -> Vec<&'static str> {
        self.outcome()
            .judgements
            .iter()
            .filter(|found| matches!(found.outcome, Outcome::Broken(_)))
            .map(|found| found.requirement.slug())
            .filter(|slug| slug.starts_with(area))
            .collect()
    }
}

fn body() -> Value {
    json!({
        "version": 2, "mac_address": MAC.to_uppercase(), "uuid": UUID, "chip_model_name": "esp32s3",
        "application": {"name": "xiaozhi", "version": "2.4.2"},
        "partition_table": [{"label": "nvs", "type": 1, "subtype": 2, "address": 36864, "size": 16384}],
        "board": {"type": "bread-compact-wifi"}
    })
}

fn bootstrap() -> HttpExchange {
    HttpExchange {
        endpoint: HttpEndpoint::Bootstrap,
        method: "POST".into(),
        path: "/xiaozhi/ota/".into(),
        headers: [
            ("device-id", MAC),
            ("client-id", UUID),
            ("content-type", "application/json; charset=utf-8"),
            ("user-agent", "bread-compact-wifi/2.4.2"),
            ("activation-version", "1"),
            ("accept-language", "en-US"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
        body: Some(Frame::Text(body().to_string())),
        status: Some(200),
        ..HttpExchange::unread()
    }
}

fn initialized(version: &str) -> Value {
    json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
        "serverInfo": {"name": "x", "version": version}})
}

#[test]
fn a_good_configuration_request_breaks_nothing() {
    let mut play = Play::new();
    play.http(bootstrap())
        .link_up(&MAC.to_uppercase())
        .request(1, "initialize", &json!({}))
        .answer(1, &initialized("2.4.2"));
    let outcome = play.outcome();
    let ours = |id: Id| id.area() == "bootstrap";
    assert!(!outcome.judgements.iter().any(|found| ours(found.requirement)));
    let exercised = outcome.exercised.iter().filter(|id| ours(**id)).count();
    assert_eq!(exercised, 19, "{:?}", outcome.exercised);
}

#[rstest]
#[case::method(|e: &mut HttpExchange| e.method = "GET".into(), &["bootstrap.method"])]
#[case::device(|e: &mut HttpExchange| { e.headers.remove("device-id"); }, &["bootstrap.device-id"])]
#[case::client(|e: &mut HttpExchange| { e.headers.insert("client-id".into(), String::new()); },
    &["bootstrap.client-id", "bootstrap.uuid"])]
#[case::content(|e: &mut HttpExchange| { e.headers.insert("content-type".into(), "text/plain".into()); },
    &["bootstrap.content-type"])]
#[case::agent(|e: &mut HttpExchange| { e.headers.remove("user-agent"); }, &["bootstrap.user-agent"])]
#[case::activation(|e: &mut HttpExchange| { e.headers.insert("activation-version".into(), "3".into()); },
    &["bootstrap.activation-version"])]
#[case::language(|e: &mut HttpExchange| { e.headers.remove("accept-language"); }, &["bootstrap.accept-language"])]
#[case::no_body(|e: &mut HttpExchange| e.body = None, &["bootstrap.body"])]
#[case::array(|e: &mut HttpExchange| e.body = Some(Frame::Text("[]".into())), &["bootstrap.body"])]
#[case::not_utf8(|e: &mut HttpExchange| e.body = Some(Frame::NotUtf8(vec![0xff])), &["bootstrap.body"])]
#[case::too_large(|e: &mut HttpExchange| (e.body, e.status, e.problem) = (None, Some(413), Some("large".into())),
    &["bootstrap.body"])]
#[case::cut(|e: &mut HttpExchange| (e.body, e.status, e.problem) = (None, Some(400), Some("cut".into())), &[])]
#[case::slow(|e: &mut HttpExchange| (e.body, e.status, e.problem) = (None, None, Some("slow".into())), &[])]
#[case::browser(|e: &mut HttpExchange| (e.method, e.headers) = ("GET".into(), [].into()), &[])]
#[case::elsewhere(|e: &mut HttpExchange| (e.endpoint, e.method) = (HttpEndpoint::Other, "GET".into()), &[])]
fn each_deviation_of_the_request_is_found(
    #[case] change: fn(&mut HttpExchange),
    #[case] broken: &[&str],
) {
    let mut exchange = bootstrap();
    change(&mut exchange);
    assert_eq!(Play::new().http(exchange).broken("bootstrap."), broken);
}

#[rstest]
#[case::mac("/mac_address", json!("00:00:00:00:00:00"), "bootstrap.mac")]
#[case::uuid("/uuid", json!(null), "bootstrap.uuid")]
#[case::name("/application/name", json!(""), "bootstrap.application")]
#[case::version("/application/version", json!(2), "bootstrap.application")]
#[case::board("/board/type", json!(1), "bootstrap.board")]
#[case::no_board("/board", json!("x"), "bootstrap.board")]
#[case::chip("/chip_model_name", json!(9), "bootstrap.chip")]
#[case::format("/version", json!("2"), "bootstrap.format")]
#[case::table("/partition_table", json!({}), "bootstrap.partitions")]
#[case::label("/partition_table/0/label", json!(1), "bootstrap.partitions")]
#[case::address("/partition_table/0/address", json!("0x9000"), "bootstrap.partitions")]
fn each_deviation_of_the_body_is_found(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] broken: &str,
) {
    let (mut exchange, mut body) = (bootstrap(), body());
    *body.pointer_mut(pointer).unwrap() = value;
    exchange.body = Some(Frame::Text(body.to_string()));
    assert_eq!(Play::new().http(exchange).broken("bootstrap."), [broken]);
}

#[rstest]
#[case::in_a_browser(None, true, &[])]
#[case::on_a_chip(Some(16_777_216), true, &["bootstrap.partitions"])]
#[case::with_a_table(None, false, &[])]
fn only_flash_memory_has_partitions(
    #[case] flash_size: Option<u64>,
    #[case] lacks_table: bool,
    #[case] broken: &[&str],
) {
    let (mut exchange, mut body) = (bootstrap(), body());
    if let Some(bytes) = flash_size {
        body["flash_size"] = json!(bytes);
    }
    if lacks_table {
        body.as_object_mut().unwrap().remove("partition_table");
    }
    exchange.body = Some(Frame::Text(body.to_string()));
    assert_eq!(Play::new().http(exchange).broken("bootstrap."), broken);
}

#[test]
fn what_is_said_later_is_compared_once() {
    let mut play = Play::new();
    play.http(bootstrap()).link_up("11:22:33:44:55:66");
    play.request(1, "initialize", &json!({})).answer(1, &initialized("1.0"));
    let both = ["bootstrap.same-device", "bootstrap.same-version"];
    assert_eq!(play.broken("bootstrap."), both);
    play.judge.begin_case(&Arc::from("a/a"));
    play.link_up("22:22:33:44:55:66");
    play.request(2, "initialize", &json!({})).answer(2, &initialized("1.1"));
    assert!(play.broken("bootstrap.").is_empty());
}

fn picture() -> HttpExchange {
    HttpExchange {
        endpoint: HttpEndpoint::Vision,
        method: "POST".into(),
        path: "/mcp/vision/explain".into(),
        headers: [
            ("device-id".into(), MAC.into()),
            ("client-id".into(), UUID.into()),
            ("authorization".into(), "Bearer ${MCP_HIL_VISION_TOKEN}".into()),
        ]
        .into(),
        upload: Some(Upload {
            question: Some("What?".into()),
            file_bytes: Some(9),
            starts: Some("ffd8ffe0".into()),
            ends: Some(true),
            ..Upload::default()
        }),
        status: Some(200),
        ..HttpExchange::unread()
    }
}

fn upload(exchange: &mut HttpExchange) -> &mut Upload {
    exchange.upload.as_mut().unwrap()
}

#[rstest]
#[case::good(|_: &mut HttpExchange| {}, &[])]
#[case::put(|e: &mut HttpExchange| (e.method, e.upload, e.status) = ("PUT".into(), None, Some(405)), &["vision.upload"])]
#[case::no_multipart(|e: &mut HttpExchange| (e.problem, e.upload) = (Some("not multipart".into()), None), &["vision.upload"])]
#[case::no_question(|e: &mut HttpExchange| upload(e).question = None, &["vision.upload"])]
#[case::no_file(|e: &mut HttpExchange| (upload(e).file_bytes, upload(e).starts) = (None, None), &["vision.upload"])]
#[case::other_question(|e: &mut HttpExchange| upload(e).question = Some("Why?".into()), &["vision.question"])]
#[case::png(|e: &mut HttpExchange| upload(e).starts = Some("89504e47".into()), &["vision.jpeg"])]
#[case::no_token(|e: &mut HttpExchange| { e.headers.remove("authorization"); }, &["vision.token"])]
#[case::other_token(|e: &mut HttpExchange| { e.headers.insert("authorization".into(), "Bearer <another token>".into()); },
    &["vision.token"])]
#[case::no_device(|e: &mut HttpExchange| { e.headers.remove("device-id"); }, &["vision.device-headers"])]
#[case::cut(|e: &mut HttpExchange| (e.status, e.problem) = (None, Some("cut".into())), &[])]
#[case::browser(|e: &mut HttpExchange| (e.method, e.headers, e.upload) = ("GET".into(), [].into(), None), &[])]
fn each_deviation_of_an_upload_is_found(
    #[case] change: fn(&mut HttpExchange),
    #[case] broken: &[&str],
) {
    let mut exchange = picture();
    change(&mut exchange);
    let mut play = Play::new();
    play.link_up(MAC);
    let vision = json!({"capabilities": {"vision": {"url": "http://h/", "token": "${MCP_HIL_VISION_TOKEN}"}}});
    play.request(1, "initialize", &vision).answer(1, &initialized("1"));
    let call = json!({"name": "self.camera.take_photo", "arguments": {"question": "What?"}});
    play.request(2, "tools/call", &call).http(exchange);
    assert_eq!(play.broken("vision."), broken);
}

/// Half of a surrogate pair is no character of UTF-8, which the form is in.
#[test]
fn a_question_that_no_form_can_carry_may_be_another_one() {
    let mut play = Play::new();
    play.link_up(MAC);
    let before = json!({"name": "self.camera.take_photo", "arguments": {"question": "Why?"}});
    let text = json!({"content": [{"type": "text", "text": "A room."}], "isError": false});
    play.request(1, "tools/call", &before).answer(1, &text);
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"self.camera.take_photo","arguments":{"question":"\ud800"}}}"#;
    let frame = Frame::Text(outbound::envelope("s", call));
    play.enter(What::Sent { role: Role::Stimulus, frame });
    let mut exchange = picture();
    upload(&mut exchange).question = Some("?".into());
    play.http(exchange);
    assert_eq!(play.broken("vision.question"), [""; 0]);
}

#[rstest]
#[case::its_own(&["What?", "Why?"], &[])]
#[case::tried_again(&["What?", "Why?", "Why?"], &[])]
#[case::of_the_call_before(&["What?", "What?"], &["vision.question"])]
fn a_picture_has_the_question_of_its_own_call(#[case] sent: &[&str], #[case] broken: &[&str]) {
    let mut play = Play::new();
    play.link_up(MAC);
    let text = json!({"content": [{"type": "text", "text": "A room."}], "isError": false});
    for (id, question) in [(1, "What?"), (2, "Why?")] {
        let call = json!({"name": "self.camera.take_photo", "arguments": {"question": question}});
        play.request(id, "tools/call", &call);
        let own = sent.iter().skip(usize::try_from(id).unwrap() - 1);
        for uploaded in own.take(if id == 1 { 1 } else { sent.len() }) {
            let mut exchange = picture();
            upload(&mut exchange).question = Some((*uploaded).into());
            play.http(exchange);
        }
        play.answer(id, &text);
    }
    assert_eq!(play.broken("vision.question"), broken);
}

#[test]
fn an_upload_without_call_or_token_owes_neither() {
    let mut exchange = picture();
    exchange.headers.remove("authorization");
    let mut play = Play::new();
    play.link_up(MAC).http(exchange);
    let outcome = play.outcome();
    assert!(outcome.exercised.contains(&Id::VisionUpload));
    for id in [Id::VisionToken, Id::VisionQuestion] {
        assert!(!outcome.exercised.contains(&id), "{id}");
    }
}

fn seen(packets: u64, idle_ms: u64) -> AudioSeen {
    AudioSeen {
        packets,
        last_sequence: u32::try_from(packets).ok().filter(|n| *n > 0),
        idle_ms: (packets > 0).then_some(idle_ms),
        ..AudioSeen::default()
    }
}

fn goodbye(play: &mut Play, session: &str) {
    let text = json!({"session_id": session, "type": "goodbye"}).to_string();
    play.enter(What::Sent { role: Role::Stimulus, frame: Frame::Text(text) });
}

#[rstest]
#[case::without_a_goodbye(None, true, &["liveness.link-kept-mqtt"])]
#[case::after_our_goodbye(Some("s"), true, &[])]
#[case::by_a_crash(Some("s"), false, &["liveness.link-kept-mqtt"])]
#[case::after_a_foreign_goodbye(Some("t"), true, &["liveness.link-kept-mqtt"])]
fn who_was_dismissed_may_leave_the_broker(
    #[case] session: Option<&str>,
    #[case] orderly: bool,
    #[case] broken: &[&str],
) {
    let mut play = Play::new();
    play.enter(What::LinkUp {
        transport: Transport::Mqtt,
        mqtt: None,
        session_id: "s".into(),
        path: "/".into(),
        token_given: false,
        headers: [].into(),
    });
    if let Some(session) = session {
        goodbye(&mut play, session);
    }
    let why = "the link ended".to_owned();
    play.enter(What::LinkDown { by: Party::Device, why, orderly, code: None, breach: None });
    assert_eq!(play.broken("liveness."), broken);
}

#[test]
fn faults_of_audio_packets_are_told_once() {
    let mut play = Play::new();
    play.link_up(MAC).audio(seen(0, 0));
    assert!(!play.outcome().exercised.contains(&Id::ChannelHeader));
    play.audio(seen(3, 0));
    assert!(play.broken("channel.").is_empty());
    let faulty = AudioSeen {
        first_bad: Some("packet 4: 2 bytes".into()),
        first_disorder: Some("packet 5: number 1 after 2".into()),
        ..seen(5, 0)
    };
    play.audio(faulty.clone());
    assert_eq!(play.broken("channel."), ["channel.header", "channel.sequence"]);
    play.audio(faulty);
    assert!(play.broken("channel.").is_empty());
    play.audio(AudioSeen { old_key: Some("58 first".into()), ..seen(9, 0) });
    assert_eq!(play.broken("channel."), ["channel.encrypted"]);
}

#[rstest]
#[case::quiet("s", 2_900, &[])]
#[case::on_its_way("s", 2_600, &[])]
#[case::goes_on("s", 500, &["channel.stops"])]
#[case::other_session("t", 500, &[])]
fn audio_ends_with_the_goodbye(
    #[case] session: &str,
    #[case] idle_ms: u64,
    #[case] broken: &[&str],
) {
    let mut play = Play::new();
    play.link_up(MAC).audio(seen(3, 0));
    goodbye(&mut play, session);
    // Too early to tell.
    play.audio(seen(4, 0));
    assert!(!play.outcome().exercised.contains(&Id::ChannelStops));
    play.at_us = 3_000_000;
    play.audio(seen(9, idle_ms));
    assert_eq!(play.broken("channel."), broken);
}

#[rstest]
#[case::goes_on(0, None, Some(true))]
#[case::stops(2_500, None, Some(false))]
#[case::says_why(2_500, Some("listen"), None)]
fn audio_goes_on_after_the_goodbye_of_another_session(
    #[case] idle_ms: u64,
    #[case] says: Option<&str>,
    #[case] held: Option<bool>,
) {
    let mut play = Play::new();
    play.link_up(MAC).audio(seen(3, 0));
    goodbye(&mut play, "t");
    // Too early to tell.
    play.at_us = 400_000;
    play.audio(seen(4, 0));
    if let Some(kind) = says {
        let text = json!({"session_id": "s", "type": kind, "state": "stop"}).to_string();
        play.enter(What::Received { frame: Frame::Text(text) });
    }
    play.at_us = 3_000_000;
    play.audio(seen(9, idle_ms));
    let outcome = play.outcome();
    let id = Id::SessionGoodbyeForeign;
    assert_eq!(outcome.exercised.contains(&id), held.is_some());
    let broken = outcome.judgements.iter().any(|j| j.requirement == id);
    assert_eq!(broken, held == Some(false));
}

#[test]
fn a_device_that_sent_no_audio_before_owes_none_after_a_goodbye() {
    let mut play = Play::new();
    play.link_up(MAC).audio(seen(0, 0));
    goodbye(&mut play, "t");
    play.at_us = 3_000_000;
    play.audio(seen(0, 0));
    let id = Id::SessionGoodbyeForeign;
    assert!(!play.outcome().exercised.contains(&id));
}

#[rstest]
#[case::as_told(2, Some(2), Some(true))]
#[case::shorter(1, Some(2), Some(true))]
#[case::its_own(240, Some(2), Some(false))]
#[case::none(0, Some(2), Some(false))]
#[case::nothing_told(240, None, None)]
fn connect_promises_the_configured_keep_alive(
    #[case] keep_alive_s: u16,
    #[case] given_keep_alive_s: Option<u16>,
    #[case] held: Option<bool>,
) {
    let mut play = Play::new();
    play.enter(What::LinkUp {
        transport: Transport::Mqtt,
        mqtt: Some(MqttConnect { keep_alive_s, given_keep_alive_s, ..MqttConnect::default() }),
        session_id: "s".into(),
        path: String::new(),
        token_given: false,
        headers: [].into(),
    });
    let outcome = play.outcome();
    let id = Id::MqttKeepAliveConfigured;
    assert_eq!(outcome.exercised.contains(&id), held.is_some());
    let broken = outcome.judgements.iter().any(|j| j.requirement == id);
    assert_eq!(broken, held == Some(false));
}

#[test]
fn a_new_hello_opens_the_channel_again() {
    let mut play = Play::new();
    play.link_up(MAC).audio(seen(3, 0));
    goodbye(&mut play, "s");
    play.enter(What::Sent {
        role: Role::Hello,
        frame: Frame::Text(outbound::server_hello(Transport::Mqtt, "s", None)),
    });
    play.at_us = 3_000_000;
    play.audio(seen(9, 0));
    assert!(play.broken("channel.").is_empty());
}

proptest! {
    #[test]
    fn any_request_is_judged(
        method in "[A-Z]{0,7}",
        name in "(device-id|client-id|authorization|content-type)",
        value in ".*",
        body in ".*",
        vision in any::<bool>(),
    ) {
        let endpoint = if vision { HttpEndpoint::Vision } else { HttpEndpoint::Bootstrap };
        Play::new().http(HttpExchange {
            endpoint,
            method,
            headers: [(name, value)].into(),
            body: Some(Frame::Text(body)),
            status: Some(200),
            ..HttpExchange::unread()
        }).outcome();
    }
}

#[rstest]
#[case::as_told("/xiaozhi/v1/", &[])]
#[case::with_a_query("/xiaozhi/v1?device-id=1", &[])]
#[case::another("/", &["bootstrap.websocket-path"])]
fn the_path_is_the_one_that_was_told(#[case] path: &str, #[case] broken: &[&str]) {
    let told = HttpExchange { binary_version: Some(1), ..bootstrap() };
    let mut play = Play::new();
    play.http(told).upgraded(path, &[("device-id", MAC)]);
    assert_eq!(play.broken("bootstrap.websocket"), broken);
    // Who was told nothing may have been told another one by others.
    let mut play = Play::new();
    play.upgraded(path, &[("device-id", MAC)]);
    assert_eq!(play.broken("bootstrap.websocket"), [""; 0]);
}

#[rstest]
#[case::whole(&[("sec-websocket-key", KEY), ("host", "h:80")], &[])]
#[case::no_host(&[("sec-websocket-key", KEY)], &["hello.handshake"])]
#[case::two_hosts(&[("sec-websocket-key", KEY), ("host", "h:80, h:80")], &["hello.handshake"])]
#[case::short_key(&[("sec-websocket-key", "YWJj"), ("host", "h:80")], &["hello.handshake"])]
#[case::extensions(&[("sec-websocket-extensions", "permessage-deflate; client_max_window_bits, x; y=\"1\", ")], &[])]
#[case::no_parameter(&[("sec-websocket-extensions", "permessage-deflate;;")], &["hello.handshake"])]
#[case::no_name(&[("sec-websocket-extensions", "")], &["hello.handshake"])]
fn a_handshake_has_a_key_and_a_host(#[case] headers: &[(&str, &str)], #[case] broken: &[&str]) {
    let mut play = Play::new();
    play.upgraded("/", headers);
    assert_eq!(play.broken("hello.handshake"), broken);
}

/// The version of the framing that the configuration chooses is the one of the handshake, on every
/// connection from then on.
#[rstest]
#[case::as_told(Some(1), &[])]
#[case::another(Some(3), &["bootstrap.websocket-version"])]
#[case::not_told(None, &[])]
fn the_handshake_has_the_version_that_was_told(#[case] told: Option<u8>, #[case] broken: &[&str]) {
    let mut play = Play::new();
    let mut exchange = bootstrap();
    exchange.binary_version = told;
    play.http(exchange).link_up(MAC);
    play.link_up(MAC);
    assert_eq!(play.broken("bootstrap.websocket"), broken);
}
