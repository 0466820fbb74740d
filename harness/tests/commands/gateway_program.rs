//! `mcp-hil gateway` and `mcp-hil run --sut gateway` as programs, over real connections.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use mcp_hil_gateway::mqtt::{Incoming, Mqtt, Server};
use nix::sys::signal::Signal;
use rstest::rstest;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::{LATEST, Live, Place, native};

/// A gateway that runs, and where it listens.
struct Running {
    live: Live,
    callers: String,
    device: String,
}

/// Starts a gateway on free ports and waits until it listens.
fn gateway(place: &Place, more: &[&str]) -> Running {
    let mut arguments = vec!["gateway", "--listen", "127.0.0.1:0"];
    if !more.contains(&"--broker") {
        arguments.extend(["--control-listen", "127.0.0.1:0"]);
    }
    arguments.extend(more);
    let mut live = place.hil(arguments).start();
    let callers = live.out("] callers ");
    let device = live.out("] device ");
    let last = |line: &str| line.split_whitespace().last().unwrap().to_owned();
    let (callers, device) = (last(&callers), last(&device));
    Running { live, callers, device }
}

impl Running {
    /// Ends it as Ctrl-C does.
    fn stop(self) {
        self.live.signal(Signal::SIGINT);
        self.live.end().exits(0).prints(&["stopped"]);
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A caller with its connection.
struct Caller(Mqtt);

impl Caller {
    async fn new(name: &str, address: &str) -> Self {
        let address = address.trim_start_matches("mqtt://");
        let server = Server::parse(address).unwrap();
        let topics = ["device_control/reply"];
        Self(Mqtt::connect(&server, name, &topics, LATEST).await.unwrap())
    }

    async fn send(&self, control: Value) {
        let text = control.to_string();
        self.0.publish("device_control", &text, true).await.unwrap();
    }

    async fn reply(&mut self) -> Value {
        let next = tokio::time::timeout(LATEST, self.0.next()).await;
        match next.expect("an answer in time") {
            Incoming::Message { topic, payload } => {
                assert_eq!(topic, "device_control/reply");
                serde_json::from_slice(&payload).expect("an answer is JSON")
            }
            Incoming::Gone(why) => panic!("{why}"),
        }
    }

    async fn ask(&mut self, control: Value) -> Value {
        self.send(control).await;
        self.reply().await
    }
}

#[rstest]
#[case::websocket("websocket")]
#[case::mqtt("mqtt")]
fn our_gateway_conforms_and_a_replay_says_so_too(#[case] transport: &str) {
    let place = Place::new();
    let running = gateway(&place, &["--transport", transport]);
    let input = format!("{}/device_control", running.callers);
    let run = ["run", "--sut", "gateway", "--strict"];
    let run = place.hil(run).end_with(&input, &running.device);
    run.exits(0).prints(&["58 passed", "20 of 20 required"]);
    running.stop();
    let report = place.both_reports();
    assert_eq!(report["run"]["duts"][0]["transport"], transport);
    let text = place.read("target/mcp-hil/latest/transcripts/gateway.zero-volume.jsonl");
    assert!(text.contains("\\\"volume\\\":0"), "{text}");
    let replay = place.hil(["replay", "target/mcp-hil/latest"]).end();
    replay.exits(0).prints(&["58 passed", "20 of 20 required"]);
}

/// Ends a run with both addresses.
trait EndWith {
    fn end_with(self, input: &str, output: &str) -> crate::support::Done;
}

impl EndWith for crate::support::Hil {
    fn end_with(mut self, input: &str, output: &str) -> crate::support::Done {
        self.0.args(["--gateway-in", input, "--gateway-out", output]);
        self.end()
    }
}

#[test]
fn wide_ids_warn_and_fail_a_strict_run_and_its_replay() {
    let place = Place::new();
    let running = gateway(&place, &["--wide-ids"]);
    let input = format!("{}/device_control", running.callers);
    let run = ["run", "--sut", "gateway", "--only", "gateway/id-thirteen"];
    let done = place.hil(run).end_with(&input, &running.device).exits(0);
    done.prints(&["gateway.id-31-bit"]);
    running.stop();
    let replay = place.hil(["replay", "target/mcp-hil/latest", "--strict"]);
    let done = replay.end().exits(1);
    done.prints(&["gateway/id-thirteen-digits", "id 1758893424665"]);
}

#[rstest]
#[case::websocket("websocket")]
#[case::mqtt("mqtt")]
fn a_control_reaches_the_device_and_its_answer_the_right_caller(#[case] transport: &str) {
    let place = Place::new();
    let mut running = gateway(&place, &["--dut", "native", "--transport", transport]);
    running.live.out("] ready ");
    runtime().block_on(async {
        let mut one = Caller::new("one", &running.callers).await;
        let mut two = Caller::new("two", &running.callers).await;
        let set = json!({"type": "device_control", "action": "set_volume", "volume": 0, "request_id": "req_7"});
        let reply = one.ask(set).await;
        assert_eq!((&reply["success"], &reply["request_id"]), (&json!(true), &json!("req_7")));
        let get = json!({"type": "device_control", "action": "get_volume", "request_id": "same"});
        one.send(get.clone()).await;
        let reply = two.ask(get).await;
        assert_eq!((&reply["volume"], &reply["request_id"]), (&json!(0), &json!("same")));
        let reply = one.reply().await;
        assert_eq!((&reply["volume"], &reply["action"]), (&json!(0), &json!("get_volume")));
        let call = json!({"type": "function_call", "function_call": {"name": "self.no_tool"}, "request_id": 5});
        let reply = one.ask(call).await;
        assert_eq!((&reply["success"], &reply["request_id"]), (&json!(false), &json!(5)));
        assert!(reply["error"]["message"].is_string(), "{reply}");
        let high = json!({"type": "device_control", "action": "set_volume", "value": 101});
        assert_eq!(one.ask(high).await["success"], false);
        // On another topic it is no control.
        one.0.publish("elsewhere", "{\"action\":\"mute\"}", false).await.unwrap();
        let get = json!({"type": "device_control", "command": "get_volume", "request_id": "last"});
        assert_eq!(one.ask(get).await["request_id"], "last");
    });
    running.stop();
}

/// The reference device, dialing a gateway. It ends with its value.
struct Device(Child);

impl Device {
    fn dial(url: &str) -> Self {
        let mut command = Command::new(native());
        command
            .env("MCP_HIL_TRANSPORT", "websocket")
            .env("MCP_HIL_WS_URL", url)
            .env("MCP_HIL_WS_TOKEN", "")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_device_that_is_away_is_told_at_once_and_used_again_when_it_comes_back() {
    let place = Place::new();
    let mut running = gateway(&place, &[]);
    let mute = json!({"type": "device_control", "action": "mute", "request_id": "m"});
    let runtime = runtime();
    let mut caller = runtime.block_on(Caller::new("one", &running.callers));
    let away = runtime.block_on(caller.ask(mute.clone()));
    assert_eq!(away["error"]["code"], -32_001, "{away}");
    for _ in 0..2 {
        let device = Device::dial(&running.device);
        running.live.out("] ready ");
        let reply = runtime.block_on(caller.ask(mute.clone()));
        assert_eq!(reply["success"], true, "{reply}");
        drop(device);
        running.live.out("] gone ");
        let away = runtime.block_on(caller.ask(mute.clone()));
        assert_eq!(away["error"]["code"], -32_001, "{away}");
    }
    running.stop();
}

/// A device that greets and never answers a call.
async fn silent(url: &str) -> impl Drop {
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    let hello = mcp_hil_gateway::suite::device::hello("websocket");
    socket.send(Message::text(hello)).await.unwrap();
    struct Task(tokio::task::JoinHandle<()>);
    impl Drop for Task {
        fn drop(&mut self) {
            self.0.abort();
        }
    }
    Task(tokio::spawn(async move { while let Some(Ok(_)) = socket.next().await {} }))
}

#[test]
fn a_device_that_does_not_answer_or_goes_away_is_told_to_the_caller() {
    let place = Place::new();
    let mut running = gateway(&place, &["--deadline", "0.3"]);
    runtime().block_on(async {
        let mut caller = Caller::new("one", &running.callers).await;
        let device = silent(&running.device).await;
        running.live.out("] device    connected");
        let mute = json!({"type": "device_control", "action": "mute", "request_id": "m"});
        let mut code = json!(-32_001);
        // Its hello may come after the control.
        while code == -32_001 {
            code = caller.ask(mute.clone()).await["error"]["code"].clone();
        }
        assert_eq!(code, -32_002);
        caller.send(mute).await;
        drop(device);
        let code = caller.reply().await["error"]["code"].clone();
        assert!([json!(-32_001), json!(-32_002)].contains(&code), "{code}");
    });
    running.stop();
}

#[test]
fn a_device_must_present_the_token() {
    let place = Place::new();
    let mut running = gateway(&place, &["--token", "abcdefgh-token"]);
    let device = Device::dial(&running.device);
    running.live.out("] refused ");
    drop(device);
    running.live.signal(Signal::SIGTERM);
    let done = running.live.end().exits(0);
    assert!(!done.stdout.contains("abcdefgh"), "{done}");
}

#[test]
fn callers_can_be_met_at_an_ordinary_broker() {
    let place = Place::new();
    let broker = broker();
    let mut running = gateway(&place, &["--dut", "native", "--broker", &broker]);
    running.live.out("] ready ");
    runtime().block_on(async {
        let mut caller = Caller::new("one", &broker).await;
        let get = json!({"type": "device_control", "action": "get_volume", "request_id": "r"});
        let reply = caller.ask(get).await;
        assert!(reply["volume"].is_u64(), "{reply}");
    });
    running.stop();
}

/// A broker with as much of MQTT 3.1.1 as the gateway needs: it forwards with QoS 0 to those who
/// have subscribed to just the topic.
fn broker() -> String {
    type Subscribers = Arc<Mutex<BTreeMap<String, Vec<TcpStream>>>>;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let subscribers = Subscribers::default();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, subscribers) = (stream.unwrap(), subscribers.clone());
            std::thread::spawn(move || serve(stream, &subscribers));
        }
    });

    fn read(stream: &mut TcpStream, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        stream.read_exact(&mut bytes).ok().map(|()| bytes)
    }

    fn text(bytes: &[u8], at: usize) -> (String, usize) {
        let length = usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        let end = at + 2 + length;
        (String::from_utf8(bytes[at + 2..end].to_vec()).unwrap(), end)
    }

    fn serve(mut stream: TcpStream, subscribers: &Subscribers) -> Option<()> {
        loop {
            let first = read(&mut stream, 1)?[0];
            let (mut length, mut shift) = (0_usize, 0);
            loop {
                let byte = read(&mut stream, 1)?[0];
                length |= usize::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            let body = read(&mut stream, length)?;
            match first >> 4 {
                1 => stream.write_all(&[0x20, 2, 0, 0]).ok()?,
                3 => {
                    let (topic, mut at) = text(&body, 0);
                    if first & 6 != 0 {
                        stream.write_all(&[0x40, 2, body[at], body[at + 1]]).ok()?;
                        at += 2;
                    }
                    let mut packet = u16::try_from(topic.len()).unwrap().to_be_bytes().to_vec();
                    packet.extend_from_slice(topic.as_bytes());
                    packet.extend_from_slice(&body[at..]);
                    let low = u8::try_from(packet.len() & 0x7f).unwrap() | 0x80;
                    let mut whole = vec![0x30, low, u8::try_from(packet.len() >> 7).unwrap()];
                    whole.extend(packet);
                    let mut subscribers = subscribers.lock().unwrap();
                    for stream in subscribers.get_mut(&topic).into_iter().flatten() {
                        let _ = stream.write_all(&whole);
                    }
                }
                8 => {
                    let (filter, _) = text(&body, 2);
                    let own = stream.try_clone().unwrap();
                    subscribers.lock().unwrap().entry(filter).or_default().push(own);
                    stream.write_all(&[0x90, 3, body[0], body[1], 0]).ok()?;
                }
                12 => stream.write_all(&[0xd0, 0]).ok()?,
                _ => return None,
            }
        }
    }
    address
}

const IN: &str = "mqtt://127.0.0.1:1/c";
const OUT: &str = "ws://127.0.0.1:1/";

#[rstest]
#[case::no_in(&["run", "--sut", "gateway", "--gateway-out", OUT], 2, &["without `--gateway-in`", "hint: "])]
#[case::no_out(&["run", "--sut", "gateway", "--gateway-in", IN], 2, &["without `--gateway-out`", "hint: "])]
#[case::scheme(&["run", "--sut", "gateway", "--gateway-in", "http://h:1/c", "--gateway-out", OUT], 2, &["begins with `mqtt://`"])]
#[case::topic(&["run", "--sut", "gateway", "--gateway-in", "mqtt://h:1", "--gateway-out", OUT], 2, &["expected the topic"])]
#[case::tls(&["run", "--sut", "gateway", "--gateway-in", IN, "--gateway-out", "wss://h:1/"], 2, &["`ws://` or `mqtt://`"])]
#[case::mutant(&["run", "--sut", "gateway", "--gateway-in", IN, "--gateway-out", OUT, "--mutant", "x"], 2, &["`--mutant` with `--sut gateway`"])]
#[case::row(&["run", "--sut", "gateway", "--gateway-in", IN, "--gateway-out", OUT, "--only", "gateway/zero-volumn"], 4, &["did you mean `gateway/zero-volume`?"])]
#[case::of_devices(&["run", "--only", "gateway/zero-volume"], 4, &["about gateways", "add `--sut gateway`"])]
#[case::sut(&["run", "--sut", "gatway"], 2, &["gatway", "gateway"])]
#[case::same_topic(&["gateway", "--control-topic", "a", "--reply-topic", "a"], 2, &["its own answers"])]
#[case::wildcard(&["gateway", "--control-topic", "a/#"], 2, &["without wildcards"])]
#[case::broker(&["gateway", "--broker", "nowhere"], 2, &["expected `host:port`"])]
#[case::token(&["gateway", "--token", "short"], 2, &["at least 8 characters"])]
fn a_mistake_is_named_before_anything_starts(
    #[case] args: &[&str],
    #[case] code: i32,
    #[case] said: &[&str],
) {
    let place = Place::new();
    place.hil(args).end().exits(code).says(said);
    assert!(!place.path("target").exists(), "nothing was written");
}

#[test]
fn a_gateway_that_cannot_be_reached_is_the_benchs_trouble() {
    let place = Place::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (input, output) = (format!("mqtt://me:verysecret@{closed}/c"), format!("ws://{closed}/"));
    let run = ["run", "--sut", "gateway", "--connect-deadline", "0.3"];
    let done = place.hil(run).end_with(&input, &output).exits(3);
    let why = |done: &crate::support::Done| {
        assert!(!done.stdout.contains("verysecret"), "{done}");
        let report = place.read("target/mcp-hil/latest/report.json");
        assert!(!report.contains("verysecret"), "{report}");
        let why = place.report()["summary"]["bench_error"].clone();
        why.as_str().expect("a reason").to_owned()
    };
    let first = why(&done);
    assert!(first.starts_with("cannot reach the gateway: "), "{first}");
    assert!(first.contains("\n\nhint: is it running"), "{first}");
    let command = "echo in is $MCP_HIL_GATEWAY_IN; exit 5";
    let run = ["run", "--sut", "gateway", "--gateway-cmd", command];
    let done = place.hil(run).end_with(&input, &output).exits(3);
    let ended = why(&done);
    assert!(ended.contains("its process ended"), "{ended}");
    assert!(ended.contains(&format!("in is mqtt://me@{closed}/c")), "{ended}");
    let broker = closed.to_string();
    let done = place.hil(["gateway", "--broker", &broker]).end().exits(3);
    done.says(&["cannot connect to the broker", "hint: "]);
}

#[test]
fn a_gateway_on_another_topic_makes_no_call() {
    let place = Place::new();
    let running = gateway(&place, &[]);
    let input = format!("{}/another_topic", running.callers);
    let run = ["run", "--sut", "gateway", "--connect-deadline", "0.6"];
    let done = place.hil(run).end_with(&input, &running.device).exits(3);
    done.prints(&["no call was made", "hint: check"]);
    running.stop();
}

#[test]
fn a_run_is_stopped_with_its_reports() {
    let place = Place::new();
    let running = gateway(&place, &[]);
    let device = TcpListener::bind("127.0.0.1:0").unwrap();
    // The device's connection is taken by nobody who speaks WebSocket: the run waits.
    let (input, output) = (
        format!("{}/device_control", running.callers),
        format!("ws://{}/", device.local_addr().unwrap()),
    );
    let run =
        place.hil(["run", "--sut", "gateway", "--gateway-in", &input, "--gateway-out", &output]);
    let live = run.start();
    let (_held, _) = device.accept().unwrap();
    live.signal(Signal::SIGINT);
    live.end().exits(130);
    place.both_reports();
    running.stop();
}

#[test]
fn cases_and_requirements_of_gateways_are_explained() {
    let place = Place::new();
    let done = place.hil(["list", "gateway/zero"]).end().exits(0);
    done.prints(&["gateway/zero-volume "]);
    let done = place.hil(["explain", "gateway/zero-volume"]).end().exits(0);
    done.prints(&["\"volume\":0", "gateway.zero-kept"]);
    let done = place.hil(["explain", "gateway.zero-kept"]).end().exits(0);
    done.prints(&["run --sut gateway", "sut.gateway"]);
}
