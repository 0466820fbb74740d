//! The judge of gateways is proven as the judge of devices is: our own gateway has no finding, and
//! for each requirement there is a gateway that breaks it and is caught.
//!
//! The defects are in this file, around the gateway: on the control before it reads it, on the call
//! before the device gets it, on the answer before the caller gets it. No defect is in the product.

#![cfg(not(feature = "hil"))]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::time::Duration;

use clap::Parser as _;
use mcp_hil_args::{Cli, Command};
use mcp_hil_core::catalogue::RequirementId;
use mcp_hil_core::gateway::{CALLERS_BELOW, Gateway, Settings, Step};
use mcp_hil_core::verdict::Verdict;
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_gateway::suite::conversation::{Bench, Conversation, Heard};
use mcp_hil_gateway::suite::plan::GatewayPlan;
use mcp_hil_gateway::suite::{carry_out, table};
use mcp_hil_judge::gateway::REQUIREMENTS;
use mcp_hil_record::Reporters;
use mcp_hil_record::event::CaseReport;
use mcp_hil_runner::run::{CaseReports, Recorder};
use serde_json::{Value, json};
use tokio::sync::watch;

/// The level of the good control of the table.
const FENCE_LEVEL: i64 = 41;

/// A gateway with a defect.
struct Mutant {
    name: &'static str,
    /// Case and requirement that catch it.
    kills: &'static [(&'static str, &'static str)],
    defect: Defect,
}

/// Where the defect is.
enum Defect {
    /// None.
    No,
    /// What it reads instead of a control; `None` reads nothing.
    Control(fn(Value) -> Option<Value>),
    /// What it sends instead of a call.
    Call(fn(Value) -> Vec<Value>),
    /// What it answers instead of an answer; `None` answers nothing.
    Reply(fn(Value) -> Option<Value>),
    /// It sends calls without an envelope.
    Bare,
    /// It ends at what is no JSON.
    Dies,
    /// It answers callers without end once it was sent what is no JSON.
    Floods,
}

fn action(control: &Value) -> &str {
    control["action"].as_str().unwrap_or_default()
}

/// Whether a call is that of the good control: without it nothing could be judged.
fn is_fence(call: &Value) -> bool {
    call["params"]["arguments"]["volume"] == FENCE_LEVEL
}

/// Another id for calls whose request id gave none.
fn own_id(mut call: Value, change: impl FnOnce(u64) -> Value) -> Vec<Value> {
    if let Some(id) = call["id"].as_u64().filter(|id| *id >= CALLERS_BELOW) {
        call["id"] = change(id - CALLERS_BELOW);
    }
    vec![call]
}

fn without(mut value: Value, name: &str) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.remove(name);
    }
    value
}

const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "zero-lost",
        kills: &[
            ("zero-volume", "gateway.zero-kept"),
            ("zero-volume-beside-value", "gateway.zero-kept"),
            ("zero-function", "gateway.zero-kept"),
        ],
        defect: Defect::Call(|mut call| {
            if call["params"]["arguments"]["volume"] == 0 {
                call["params"]["arguments"] = json!({});
            }
            vec![call]
        }),
    },
    Mutant {
        name: "value-zero-lost",
        kills: &[("zero-volume-alias", "gateway.zero-kept")],
        defect: Defect::Control(|control| {
            let zero = control["value"] == 0;
            Some(if zero { without(control, "value") } else { control })
        }),
    },
    Mutant {
        name: "step-zero-is-ten",
        kills: &[("zero-step-up", "gateway.zero-kept"), ("zero-step-down", "gateway.zero-kept")],
        defect: Defect::Call(|mut call| {
            if call["params"]["arguments"]["step"] == 0 {
                call["params"]["arguments"]["step"] = 10.into();
            }
            vec![call]
        }),
    },
    Mutant {
        name: "id-null",
        kills: &[("id-not-numeric", "gateway.id-numeric")],
        defect: Defect::Call(|call| own_id(call, |_| Value::Null)),
    },
    Mutant {
        name: "id-text",
        kills: &[("id-not-numeric", "gateway.id-numeric")],
        defect: Defect::Call(|call| own_id(call, |id| id.to_string().into())),
    },
    Mutant {
        name: "id-thirteen-digits",
        kills: &[("id-thirteen-digits", "gateway.id-31-bit")],
        defect: Defect::Call(|call| own_id(call, |id| (1_758_893_424_665 + id).into())),
    },
    Mutant {
        name: "id-repeated",
        kills: &[
            ("id-repeated", "gateway.id-unique"),
            ("id-burst-of-defaults", "gateway.id-unique"),
        ],
        defect: Defect::Call(|call| own_id(call, |_| 7.into())),
    },
    Mutant {
        name: "id-counted",
        kills: &[("id-from-request", "gateway.id-from-request")],
        defect: Defect::Call(|mut call| {
            call["id"] = (call["id"].as_u64().unwrap_or_default() + 1_000_000).into();
            vec![call]
        }),
    },
    Mutant {
        name: "answers-lost",
        kills: &[
            ("answer-result", "gateway.answer-returned"),
            ("action-get-volume", "gateway.answer-returned"),
        ],
        defect: Defect::Reply(|_| None),
    },
    Mutant {
        name: "errors-lost",
        kills: &[
            ("answer-error", "gateway.answer-returned"),
            ("answer-tool-error", "gateway.answer-returned"),
        ],
        defect: Defect::Reply(|reply| (reply["success"] == true).then_some(reply)),
    },
    Mutant {
        name: "errors-told-as-success",
        kills: &[
            ("answer-error", "gateway.error-returned"),
            ("answer-tool-error", "gateway.error-returned"),
        ],
        defect: Defect::Reply(|mut reply| {
            reply["success"] = true.into();
            Some(without(reply, "error"))
        }),
    },
    Mutant {
        name: "success-told-as-error",
        kills: &[("answer-result", "gateway.answer-returned")],
        defect: Defect::Reply(|mut reply| {
            reply["success"] = false.into();
            Some(reply)
        }),
    },
    Mutant {
        name: "request-id-lost",
        kills: &[("answer-request-id", "gateway.answer-request-id")],
        defect: Defect::Reply(|reply| Some(without(reply, "request_id"))),
    },
    Mutant {
        name: "request-id-trimmed",
        kills: &[("answer-request-id", "gateway.answer-request-id")],
        defect: Defect::Reply(|mut reply| {
            if let Some(first) = reply["request_id"].as_str() {
                reply["request_id"] = first.split(' ').next().into();
            }
            Some(reply)
        }),
    },
    Mutant {
        name: "value-lost",
        kills: &[
            ("answer-value", "gateway.value-returned"),
            ("function-get-volume", "gateway.value-returned"),
        ],
        defect: Defect::Reply(|reply| Some(without(without(reply, "result"), "volume"))),
    },
    Mutant {
        name: "mute-and-unmute-swapped",
        kills: &[
            ("action-mute", "gateway.action-map"),
            ("action-unmute", "gateway.action-map"),
            ("function-mute", "gateway.function-map"),
        ],
        defect: Defect::Call(|mut call| {
            let name = match call["params"]["name"].as_str() {
                Some("self.audio_speaker.mute") => "self.audio_speaker.unmute",
                Some("self.audio_speaker.unmute") => "self.audio_speaker.mute",
                _ => return vec![call],
            };
            call["params"]["name"] = name.into();
            vec![call]
        }),
    },
    Mutant {
        name: "step-lost",
        kills: &[
            ("action-volume-up", "gateway.action-map"),
            ("action-volume-down", "gateway.action-map"),
            ("alias-value-step", "gateway.aliases"),
        ],
        defect: Defect::Call(|mut call| {
            if !call["params"]["arguments"]["step"].is_null() {
                call["params"]["arguments"] = json!({});
            }
            vec![call]
        }),
    },
    Mutant {
        name: "status-tool-renamed",
        kills: &[("action-get-volume", "gateway.action-map")],
        defect: Defect::Call(|mut call| {
            if call["params"]["name"] == "self.get_device_status" {
                call["params"]["name"] = "self.audio_speaker.get_volume".into();
            }
            vec![call]
        }),
    },
    Mutant {
        name: "function-not-in-the-map",
        kills: &[("function-volume-up", "gateway.function-map")],
        defect: Defect::Control(|mut control| {
            if control["function_call"]["name"] == "self_volume_up" {
                control["function_call"]["name"] = "self.volume_up".into();
            }
            Some(control)
        }),
    },
    Mutant {
        name: "unknown-action-forwarded",
        kills: &[
            ("drop-unknown-action", "gateway.unknown-action"),
            ("drop-other-case", "gateway.unknown-action"),
        ],
        defect: Defect::Control(|control| {
            let known = ["set_volume", "volume_up", "get_volume", "mute", ""];
            let name = action(&control);
            Some(match known.contains(&name) {
                true => control,
                false => json!({"type": "function_call", "function_call": {"name": name}}),
            })
        }),
    },
    Mutant {
        name: "built-in-property-as-action",
        kills: &[
            ("drop-to-string", "gateway.prototype-words"),
            ("drop-constructor", "gateway.prototype-words"),
            ("drop-proto", "gateway.prototype-words"),
        ],
        defect: Defect::Control(|control| {
            Some(match action(&control) {
                "toString" | "constructor" | "__proto__" => {
                    json!({"type": "function_call", "function_call": {"name": "[object Object]"}})
                }
                _ => control,
            })
        }),
    },
    Mutant {
        name: "unknown-function-dropped",
        kills: &[
            ("unknown-function", "gateway.function-forwarded"),
            ("unknown-function-prototype", "gateway.function-forwarded"),
        ],
        defect: Defect::Control(|control| {
            let name = control["function_call"]["name"].as_str();
            name.is_none_or(|name| name.starts_with("self_")).then_some(control)
        }),
    },
    Mutant {
        name: "command-ignored",
        kills: &[("alias-command", "gateway.aliases")],
        defect: Defect::Control(|control| Some(without(control, "command"))),
    },
    Mutant {
        name: "command-first",
        kills: &[("alias-action-first", "gateway.aliases")],
        defect: Defect::Control(|mut control| {
            if let Some(command) = control.get("command").cloned() {
                control["action"] = command;
            }
            Some(control)
        }),
    },
    Mutant {
        name: "value-ignored",
        kills: &[
            ("alias-value-volume", "gateway.aliases"),
            ("alias-value-step", "gateway.aliases"),
        ],
        defect: Defect::Control(|control| Some(without(control, "value"))),
    },
    Mutant {
        name: "default-step-five",
        kills: &[
            ("default-step-up", "gateway.step-default"),
            ("default-step-down", "gateway.step-default"),
        ],
        defect: Defect::Control(|mut control| {
            if ["volume_up", "volume_down"].contains(&action(&control))
                && control.get("step").or(control.get("value")).is_none()
            {
                control["step"] = 5.into();
            }
            Some(control)
        }),
    },
    Mutant {
        name: "arguments-picked",
        kills: &[("arguments-unchanged", "gateway.arguments")],
        defect: Defect::Call(|mut call| {
            let volume = call["params"]["arguments"].get("volume").cloned();
            if let Some(volume) = volume {
                call["params"]["arguments"] = json!({"volume": volume});
            }
            vec![call]
        }),
    },
    Mutant {
        name: "nameless-call-made",
        kills: &[
            ("refuse-no-name", "gateway.function-name"),
            ("refuse-empty-name", "gateway.function-name"),
        ],
        defect: Defect::Control(|mut control| {
            let name = control["function_call"]["name"].as_str().unwrap_or_default();
            if control["type"] == "function_call" && name.is_empty() {
                control["function_call"]["name"] = "undefined".into();
            }
            Some(control)
        }),
    },
    Mutant {
        name: "called-twice",
        kills: &[("action-mute", "gateway.one-call")],
        defect: Defect::Call(|call| {
            let mut again = call.clone();
            again["id"] = (call["id"].as_u64().unwrap_or_default() + 2_000_000).into();
            if is_fence(&call) { vec![call] } else { vec![call, again] }
        }),
    },
    Mutant {
        name: "version-lost",
        kills: &[("action-mute", "gateway.call-shape")],
        defect: Defect::Call(|call| vec![without(call, "jsonrpc")]),
    },
    Mutant {
        name: "envelope-lost",
        kills: &[("action-mute", "gateway.call-shape")],
        defect: Defect::Bare,
    },
    Mutant {
        name: "dies-of-no-json",
        kills: &[("survive-no-json", "gateway.survives")],
        defect: Defect::Dies,
    },
    Mutant {
        name: "any-type-taken",
        kills: &[("survive-other-type", "gateway.survives")],
        defect: Defect::Control(|mut control| {
            if control["type"] == "chat" {
                control["type"] = "device_control".into();
            }
            Some(control)
        }),
    },
];

/// A gateway without sockets.
struct Inside<'a> {
    gateway: Gateway,
    defect: &'a Defect,
    /// Ids that were changed on the way, and what they were.
    ids: BTreeMap<String, Value>,
    coming: VecDeque<Heard>,
    dead: bool,
    flooding: bool,
    /// Whether it starts again when it ended.
    comes_back: bool,
    /// How many controls it answers with an error before its device is there again.
    not_ready: usize,
}

impl Inside<'_> {
    fn reply(&mut self, json: Value) {
        let json = match self.defect {
            Defect::Reply(change) => change(json),
            _ => Some(json),
        };
        let text = json.map(|json| Heard::Reply(json.to_string()));
        self.coming.extend(text);
    }

    fn call(&mut self, payload: Value) {
        let id = payload["id"].clone();
        let sent = match self.defect {
            Defect::Call(change) => change(payload),
            _ => vec![payload],
        };
        for payload in sent {
            self.ids.insert(payload["id"].to_string(), id.clone());
            let bare = matches!(self.defect, Defect::Bare) && !is_fence(&payload);
            let payload = payload.to_string();
            let text = match bare {
                true => payload,
                false => outbound::envelope("s", &payload),
            };
            self.coming.push_back(Heard::Device(Frame::Text(text)));
        }
    }
}

impl Bench for Inside<'_> {
    async fn control(&mut self, text: &str) -> Result<(), String> {
        let read = serde_json::from_str::<Value>(text);
        self.dead |= matches!(self.defect, Defect::Dies) && read.is_err();
        self.flooding |= matches!(self.defect, Defect::Floods) && read.is_err();
        if self.dead {
            return Err("it ended".into());
        }
        if self.not_ready > 0 {
            self.not_ready -= 1;
            let reply = json!({"request_id": "?", "success": false});
            self.coming.push_back(Heard::Reply(reply.to_string()));
            return Ok(());
        }
        let text = match (self.defect, read) {
            (Defect::Control(change), Ok(control)) => match change(control) {
                Some(control) => control.to_string(),
                None => return Ok(()),
            },
            _ => text.to_owned(),
        };
        for step in self.gateway.control(0, &text, 1_758_893_424_665) {
            match step {
                Step::SendToDevice { payload } => self.call(payload),
                Step::Reply(reply) => self.reply(reply.json),
                Step::Log { .. } => {}
            }
        }
        Ok(())
    }

    async fn device(&mut self, text: &str) -> Result<(), String> {
        let mut message: Value = serde_json::from_str(text).expect("the device writes JSON");
        if let Some(id) = self.ids.get(&message["payload"]["id"].to_string()) {
            message["payload"]["id"] = id.clone();
        }
        if let Some(reply) = self.gateway.answer(&message["payload"]) {
            self.reply(reply.json);
        }
        Ok(())
    }

    async fn next(&mut self) -> Heard {
        match self.coming.pop_front() {
            _ if self.flooding => Heard::Reply("{}".into()),
            Some(came) => came,
            None => std::future::pending().await,
        }
    }

    async fn again(&mut self, _: Duration) -> Result<(), String> {
        if !self.comes_back {
            return Err("it does not come back".into());
        }
        (self.dead, self.not_ready) = (false, 2);
        Ok(())
    }

    async fn close(&mut self) {}
}

/// Our gateway with a defect.
fn inside(defect: &Defect) -> Inside<'_> {
    Inside {
        gateway: Gateway::new(Settings::default()),
        defect,
        ids: BTreeMap::new(),
        coming: VecDeque::new(),
        dead: false,
        flooding: false,
        comes_back: false,
        not_ready: 0,
    }
}

/// Runs rows (all where none is named) on our gateway with a defect.
fn run(name: &str, defect: &Defect, rows: &[&str]) -> Vec<CaseReport> {
    try_out(name, inside(defect), rows)
}

/// Runs rows (all where none is named) on a gateway.
fn try_out(name: &str, bench: impl Bench, rows: &[&str]) -> Vec<CaseReport> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gateways").join(name);
    let _ = std::fs::remove_dir_all(&out);
    let mut arguments = vec![
        "mcp-hil".to_owned(),
        "run".into(),
        "--sut=gateway".into(),
        "--strict".into(),
        "--deadline=0.4".into(),
        "--connect-deadline=2".into(),
        "--gateway-in=mqtt://127.0.0.1:1/t".into(),
        "--gateway-out=ws://127.0.0.1:1/".into(),
        format!("--out={}", out.display()),
    ];
    arguments.extend(rows.iter().map(|row| format!("--only=gateway/{row}")));
    let Command::Run(args) = Cli::parse_from(arguments).command else {
        unreachable!("the command is run")
    };
    let plan = GatewayPlan::new(&args).expect("a plan");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let cases = runtime.block_on(async {
        let recorder = Recorder::new(&plan.folder, Vec::new()).expect("the folder can be written");
        let (_stop, interrupt) = watch::channel(false);
        let mut conversation = Conversation::new(
            bench,
            table(),
            recorder,
            plan.deadline,
            plan.connect_deadline,
            interrupt,
        );
        let mut book = CaseReports::default();
        let mut reporters = Reporters::new(std::io::sink());
        carry_out(&plan, &mut conversation, &mut book, &mut reporters)
            .await
            .unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(conversation.close().await.is_none(), "{name}");
        book.into_cases()
    });
    let _ = std::fs::remove_dir_all(&out);
    cases
}

#[test]
fn our_own_gateway_has_no_finding() {
    let cases = run("good", &Defect::No, &[]);
    assert_eq!(cases.len(), table().rows.len() + 1);
    let mut exercised = BTreeSet::new();
    for case in &cases {
        assert_eq!(case.verdict, Verdict::Pass, "{case:#?}");
        assert!(case.findings.is_empty(), "{case:#?}");
        exercised.extend(case.exercised.iter().map(String::as_str));
    }
    assert_eq!(exercised, BTreeSet::from(REQUIREMENTS.map(RequirementId::slug)));
}

#[test]
fn every_mutant_is_killed_by_the_row_that_is_named_for_it() {
    let survivors: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            MUTANTS.iter().map(|mutant| scope.spawn(move || survivals(mutant))).collect();
        let ended = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        ended.flatten().collect()
    });
    assert!(survivors.is_empty(), "{survivors:#?}");
}

/// What was to kill the mutant and did not.
fn survivals(mutant: &Mutant) -> Vec<String> {
    let rows: Vec<&str> = mutant.kills.iter().map(|(row, _)| *row).collect();
    let cases = run(mutant.name, &mutant.defect, &rows);
    let mut alive = Vec::new();
    for (row, requirement) in mutant.kills {
        let case = cases.iter().find(|case| case.case == format!("gateway/{row}"));
        let case = case.unwrap_or_else(|| panic!("{}: {row} did not run", mutant.name));
        let killed = case.verdict == Verdict::Fail
            && case.findings.iter().any(|finding| finding.requirement == *requirement);
        if !killed {
            alive.push(format!("{}: not killed by {requirement}: {case:#?}", mutant.name));
        }
    }
    alive
}

#[test]
fn a_gateway_that_ends_spoils_one_row_when_it_comes_back_and_no_verdict_when_it_does_not() {
    let rows = ["survive-no-json", "survive-no-object", "answer-result"];
    let defect = Defect::Dies;
    let back = Inside { comes_back: true, ..inside(&defect) };
    let verdicts = |cases: Vec<CaseReport>| -> Vec<Verdict> {
        cases.iter().skip(1).map(|case| case.verdict).collect()
    };
    use Verdict::{Fail, Inconclusive, Pass};
    let cases = try_out("comes-back", back, &rows);
    assert_eq!(verdicts(cases), [Fail, Pass, Pass]);
    let cases = try_out("stays-away", inside(&defect), &rows);
    assert_eq!(verdicts(cases), [Fail, Inconclusive, Inconclusive]);
}

#[test]
fn a_gateway_that_sends_without_end_is_left() {
    let cases = run("floods", &Defect::Floods, &["survive-no-json", "survive-no-object"]);
    let verdicts: Vec<Verdict> = cases.iter().map(|case| case.verdict).collect();
    assert_eq!(verdicts, [Verdict::Pass, Verdict::Fail, Verdict::Inconclusive]);
    let reason = cases[2].reason.as_deref().expect("a reason");
    assert!(reason.contains("does not come back"), "{reason}");
}

#[test]
fn every_requirement_has_a_mutant() {
    let killed: BTreeSet<&str> = MUTANTS
        .iter()
        .flat_map(|mutant| mutant.kills.iter().map(|(_, requirement)| *requirement))
        .collect();
    assert_eq!(killed, BTreeSet::from(REQUIREMENTS.map(RequirementId::slug)));
    let names: BTreeSet<&str> = MUTANTS.iter().map(|mutant| mutant.name).collect();
    assert_eq!(names.len(), MUTANTS.len());
}

/// The gateway of the volume workflow document as it is published, in its own reading of JSON:
/// what is 0 or empty counts as absent, look-ups find built-in properties, and answers go nowhere.
#[derive(Default)]
struct Published {
    coming: VecDeque<Heard>,
}

/// Whether JavaScript takes a value for true.
fn truthy(value: &&Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

impl Published {
    /// Its milliseconds stand still: controls that follow each other closely see the same.
    const NOW: u64 = 1_758_893_424_665;

    fn convert(control: &Value) -> Option<Value> {
        let first = |names: &[&str]| names.iter().map(|name| &control[name]).find(truthy);
        let (function, arguments) = match control["type"].as_str()? {
            "function_call" => {
                let call = &control["function_call"];
                Some(&call["name"]).filter(truthy)?;
                (call["name"].clone(), call["arguments"].clone())
            }
            "device_control" => match first(&["action", "command"])?.as_str()? {
                "set_volume" => {
                    let volume = first(&["volume", "value"]);
                    let arguments = volume.map(|volume| json!({"volume": volume}));
                    ("self_set_volume".into(), arguments.unwrap_or_else(|| json!({})))
                }
                name @ ("volume_up" | "volume_down") => {
                    let step = first(&["step", "value"]).cloned().unwrap_or(10.into());
                    (format!("self_{name}").into(), json!({"step": step}))
                }
                name @ ("get_volume" | "mute" | "unmute") => {
                    (format!("self_{name}").into(), json!({}))
                }
                // A property of every object; JSON leaves functions out.
                "toString" | "constructor" | "hasOwnProperty" => (Value::Null, json!({})),
                "__proto__" => (json!({}), json!({})),
                _ => return None,
            },
            _ => return None,
        };
        let tool = match function.as_str() {
            Some("self_set_volume") => "self.audio_speaker.set_volume".into(),
            Some("self_get_volume") => "self.get_device_status".into(),
            Some(name @ ("self_volume_up" | "self_volume_down" | "self_mute" | "self_unmute")) => {
                name.replace("self_", "self.audio_speaker.").into()
            }
            Some("constructor") => Value::Null,
            _ => function,
        };
        let id = match first(&["request_id"]) {
            None => Self::NOW.into(),
            Some(Value::String(text)) => {
                let digits = text.replacen("req_", "", 1);
                let end = digits.find(|c: char| !c.is_ascii_digit());
                let number = digits[..end.unwrap_or(digits.len())].parse::<u64>();
                number.map_or(Value::Null, Value::from)
            }
            // Texts only have a `replace`.
            Some(_) => return None,
        };
        let mut params = json!({"name": tool, "arguments": arguments});
        // What is undefined is left out.
        for name in ["name", "arguments"] {
            if params[name].is_null() {
                params = without(params, name);
            }
        }
        Some(outbound::request(&id, "tools/call", Some(&params)))
    }
}

impl Bench for Published {
    async fn control(&mut self, text: &str) -> Result<(), String> {
        let control = serde_json::from_str::<Value>(text).unwrap_or_default();
        if let Some(payload) = Self::convert(&control) {
            let text = outbound::envelope("s", &payload.to_string());
            self.coming.push_back(Heard::Device(Frame::Text(text)));
        }
        Ok(())
    }

    async fn device(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }

    async fn next(&mut self) -> Heard {
        match self.coming.pop_front() {
            Some(came) => came,
            None => std::future::pending().await,
        }
    }

    async fn again(&mut self, _: Duration) -> Result<(), String> {
        Err("it does not come back".into())
    }

    async fn close(&mut self) {}
}

#[test]
fn the_published_gateway_is_found_out() {
    let cases = try_out("published", Published::default(), &[]);
    let broken: BTreeSet<&str> = cases
        .iter()
        .flat_map(|case| &case.findings)
        .map(|finding| finding.requirement.as_str())
        .collect();
    let known = [
        "gateway.answer-returned",
        "gateway.call-shape",
        "gateway.function-forwarded",
        "gateway.function-name",
        "gateway.id-31-bit",
        "gateway.id-numeric",
        "gateway.id-unique",
        "gateway.prototype-words",
        "gateway.zero-kept",
    ];
    assert_eq!(broken, BTreeSet::from(known));
    // What it does as the document says is not held against it.
    for row in ["drop-unknown-action", "default-step-up", "alias-command"] {
        let case = cases.iter().find(|case| case.case == format!("gateway/{row}"));
        assert!(case.is_some_and(|case| case.findings.is_empty()), "{case:#?}");
    }
}
