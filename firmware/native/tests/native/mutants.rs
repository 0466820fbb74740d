//! Every mutant behaves differently from the good device, and none of them falls over by itself.
//!
//! What exactly is wrong with each is for the harness to find out; here it is only made sure that
//! there is something to find.

use std::collections::VecDeque;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::server::{Bench, Connection, PATIENCE, PROGRAM};
use crate::stimuli::{Stimulus, conversation, mcp};

/// Conversations that run at the same time. They wait more than they compute.
const WORKERS: usize = 16;
/// How long an answer may take before the device counts as silent.
const SILENCE: Duration = Duration::from_millis(250);
/// After this many silences nothing more is learnt from a connection.
const SILENCES: u32 = 2;

/// What a device let see: frames in order, then the console without its times.
#[derive(Debug, Default, PartialEq, Eq)]
struct Trace {
    frames: Vec<String>,
    console: Vec<String>,
    stderr: String,
}

#[test]
fn every_mutant_can_be_told_from_the_good_device() {
    let good = observe(&[], None);
    assert_eq!(
        good,
        observe(&[], None),
        "the good device does not always do the same"
    );
    assert_eq!(good.stderr, "");

    let listing = Command::new(PROGRAM)
        .arg("--list-mutants")
        .output()
        .expect("it runs");
    let listing = String::from_utf8(listing.stdout).expect("UTF-8");
    let names = listing
        .lines()
        .map(|line| line.split('\t').next().unwrap_or_default());
    let queue = Mutex::new(names.collect::<VecDeque<_>>());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(name) = { queue.lock().expect("not poisoned").pop_front() } {
                    let is_good = name.is_empty();
                    let trace = if is_good {
                        observe(&[], Some(&good))
                    } else {
                        observe(&["--mutant", name], Some(&good))
                    };
                    if (trace == good) != is_good {
                        failures
                            .lock()
                            .expect("not poisoned")
                            .push(format!("`{name}`: equal to the good device: {}", !is_good));
                    }
                    if !trace.stderr.is_empty() {
                        failures
                            .lock()
                            .expect("not poisoned")
                            .push(format!("{name}: {}", trace.stderr));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("not poisoned");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Has the whole conversation with a device. What has differed from `good` before its end is not
/// waited for any longer.
fn observe(arguments: &[&str], good: Option<&Trace>) -> Trace {
    let bench = Bench::start(arguments);
    let mut talk = Talk {
        bench: &bench,
        link: None,
        trace: Trace::default(),
        silences: 0,
        sessions: 0,
        fences: 0,
    };
    talk.dial();
    for stimulus in conversation() {
        talk.apply(&stimulus);
    }
    if good.is_none_or(|good| {
        talk.trace
            .frames
            .iter()
            .zip(&good.frames)
            .all(|(one, other)| one == other)
    }) {
        // What comes late comes within this time.
        talk.collect(None, Duration::from_millis(500));
    }
    let mut trace = talk.trace;
    trace.console = bench
        .console()
        .iter()
        .map(|line| without_time(line))
        .collect();
    trace.stderr = bench.kill();
    trace
}

fn without_time(line: &str) -> String {
    let line = line.split_once(") ").map_or(line, |(_, rest)| rest);
    line.split("ws://").next().unwrap_or_default().to_string()
}

/// A defect may have reordered the members of a message that it left alone otherwise: that makes no
/// difference. The length stays, for members that are there twice.
fn canonical(text: &str) -> String {
    let mut text = match serde_json::from_str::<Value>(text) {
        Ok(value) => format!("{} {value}", text.len()),
        Err(_) => text.to_string(),
    };
    if let Some((end, _)) = text.char_indices().nth(20_000) {
        text.truncate(end);
    }
    text
}

struct Talk<'a> {
    bench: &'a Bench,
    link: Option<Connection>,
    trace: Trace,
    silences: u32,
    sessions: u32,
    fences: u64,
}

impl Talk<'_> {
    fn dial(&mut self) {
        self.silences = 0;
        self.sessions += 1;
        let patience = if self.sessions == 1 {
            PATIENCE
        } else {
            Duration::from_millis(400)
        };
        self.link = self.bench.accept(patience);
        let Some(link) = &mut self.link else {
            self.trace.frames.push("no connection".to_string());
            return;
        };
        let headers = link
            .headers
            .iter()
            .filter(|(name, _)| !["host", "sec-websocket-key"].contains(&name.as_str()));
        self.trace
            .frames
            .push(format!("{:?}", headers.collect::<Vec<_>>()));
        link.greet(&format!("session-{:032}", self.sessions));
        self.fence();
    }

    fn apply(&mut self, stimulus: &Stimulus) {
        if self.link.is_none() {
            // A device that crashed is given one more chance to show what else it does.
            if self.sessions > 4 {
                return;
            }
            self.dial();
        }
        match stimulus {
            Stimulus::Text(text) => self.send(Message::text(text.clone())),
            Stimulus::Binary(bytes) => self.send(Message::binary(bytes.clone())),
            Stimulus::Burst(texts) => {
                for text in texts {
                    self.send(Message::text(text.clone()));
                }
                // Their answers may come later than that to the fence.
                self.collect(None, Duration::from_millis(30));
            }
            Stimulus::Fragments(text) => {
                let (first, second) = text.as_bytes().split_at(text.len() / 2);
                let first = Frame::message(first.to_vec(), OpCode::Data(Data::Text), false);
                let second = Frame::message(second.to_vec(), OpCode::Data(Data::Continue), true);
                self.send(Message::Frame(first));
                self.send(Message::Frame(second));
            }
            Stimulus::Ping => self.send(Message::Ping(b"ping".to_vec().into())),
            Stimulus::List(params) => self.list(params.clone()),
            Stimulus::Redial => {
                self.link = None;
                self.dial();
            }
        }
        self.fence();
    }

    fn list(&mut self, mut params: Value) {
        for page in 0..6 {
            let id = 2_000 + page;
            let payload =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params});
            self.send(Message::text(mcp(&payload.to_string())));
            let answer = self
                .collect(Some(id), SILENCE)
                .and_then(|text| serde_json::from_str::<Value>(&text).ok());
            match answer.and_then(|answer| answer.pointer("/payload/result/nextCursor").cloned()) {
                Some(cursor) => params["cursor"] = cursor,
                None => return,
            }
        }
    }

    /// Sends a request that every device answers, and collects everything up to its answer.
    fn fence(&mut self) {
        self.fences += 1;
        let id = 100_000 + self.fences;
        self.send(Message::text(mcp(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#
        ))));
        if self.link.is_some() && self.collect(Some(id), SILENCE).is_none() {
            self.silences += 1;
            if self.silences >= SILENCES {
                self.link = None;
            }
        }
    }

    fn send(&mut self, message: Message) {
        if let Some(link) = &mut self.link
            && !link.send(message)
        {
            self.link = None;
        }
    }

    /// Writes down what comes until a text with this id does, or nothing for a while.
    fn collect(&mut self, id: Option<u64>, patience: Duration) -> Option<String> {
        let wanted = id.map(|id| format!("\"id\":{id},"));
        while let Some(link) = &mut self.link {
            match link.read(patience) {
                Ok(Some(message)) => {
                    let text = match message {
                        Message::Text(text) => text.to_string(),
                        other => format!("{other:?}"),
                    };
                    self.trace.frames.push(canonical(&text));
                    if self.trace.frames.len() > 5_000 {
                        self.link = None;
                    }
                    if wanted.as_ref().is_some_and(|wanted| text.contains(wanted)) {
                        return Some(text);
                    }
                }
                Ok(None) => return None,
                Err(()) => {
                    self.trace.frames.push("connection lost".to_string());
                    self.link = None;
                }
            }
        }
        None
    }
}
