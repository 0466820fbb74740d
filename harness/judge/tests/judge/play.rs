//! Plays a few lines of an exchange to the judge: `>` sent, `<` received, `<<` received as it stands there, `!`
//! console, `?` given up.

use std::sync::Arc;

use mcp_hil_core::capability::Facts;
use mcp_hil_core::transcript::{Entry, Mark, Role, What};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::Outcome;
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_judge::check::Judge;

/// A session with the judge, played line by line.
pub(super) struct Play {
    pub(super) judge: Judge,
    pub(super) seq: u64,
    pub(super) case: Arc<str>,
}

impl Play {
    pub(super) fn new() -> Self {
        let mut play = Self { judge: Judge::new(), seq: 0, case: "a/a".into() };
        play.judge.begin_case(&play.case);
        play.link_up();
        let hello = r#"{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket",
            "audio_params":{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}"#;
        play.enter(None, What::Received { frame: Frame::Text(hello.into()) });
        let hello = Frame::Text(outbound::server_hello(Transport::WebSocket, "s", None));
        play.enter(None, What::Sent { role: Role::Hello, frame: hello });
        play
    }

    pub(super) fn link_up(&mut self) {
        let headers = [
            ("protocol-version", "1"),
            ("device-id", "aa:bb:cc:dd:ee:ff"),
            ("client-id", "0a1b2c3d-0000-4000-8000-000000000000"),
        ];
        let up = What::LinkUp {
            transport: Transport::WebSocket,
            mqtt: None,
            session_id: "s".into(),
            path: "/".into(),
            token_given: false,
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        };
        self.enter(None, up);
    }

    pub(super) fn enter(&mut self, step: Option<&str>, what: What) {
        let entry = Entry {
            seq: self.seq,
            at_us: self.seq * 100,
            case: self.case.clone(),
            step: step.map(Arc::from),
            what,
        };
        self.seq += 1;
        self.judge.observe(entry);
    }

    pub(super) fn play(&mut self, lines: &[&str]) -> &mut Self {
        for line in lines {
            let (sign, rest) = line.split_once(' ').expect("a sign and a rest");
            match sign {
                ">" => {
                    let (step, payload) = rest.split_once(' ').expect("a step and a payload");
                    let role = match step.rsplit('.').next() {
                        Some("fence") => Role::Fence,
                        Some("reply") => Role::Reply,
                        _ => Role::Stimulus,
                    };
                    let frame = Frame::Text(outbound::envelope("s", payload));
                    self.enter(Some(step), What::Sent { role, frame });
                }
                "<" => {
                    let frame = Frame::Text(outbound::envelope("s", rest));
                    self.enter(None, What::Received { frame });
                }
                "<<" => {
                    let frame = Frame::Text(rest.into());
                    self.enter(None, What::Received { frame });
                }
                "!" => self.enter(None, What::Console { line: rest.into() }),
                "?" => {
                    let mark = Mark::NoAnswer { waited_ms: 10 };
                    self.enter(Some(rest), What::Mark { mark });
                }
                other => panic!("unknown sign {other}"),
            }
        }
        self
    }

    /// Ends the case: case and requirement of what is broken, with `?` where it is unclear.
    pub(super) fn end(&mut self) -> Vec<String> {
        let outcome = self.judge.end_case(None, &Facts::default());
        outcome
            .judgements
            .iter()
            .map(|judgement| {
                let sign = if matches!(judgement.outcome, Outcome::Broken(_)) { "" } else { "?" };
                format!("{} {}{sign}", judgement.case, judgement.requirement)
            })
            .collect()
    }

    pub(super) fn next_case(&mut self, case: &str) -> &mut Self {
        self.case = case.into();
        self.judge.begin_case(&self.case);
        self
    }
}

pub(super) const PING: &str = r#"> 0 {"jsonrpc":"2.0","id":7,"method":"ping"}"#;
pub(super) const PONG: &str = r#"< {"jsonrpc":"2.0","id":7,"result":{}}"#;
pub(super) const FENCE: &str = r#"> 0.fence {"jsonrpc":"2.0","id":8,"method":"ping"}"#;
pub(super) const FENCED: &str = r#"< {"jsonrpc":"2.0","id":8,"result":{}}"#;
pub(super) const STRING: &str = r#"> 0 {"jsonrpc":"2.0","id":"x-1","method":"ping"}"#;
pub(super) const NOTE: &str = r#"> 0 {"jsonrpc":"2.0","method":"notifications/x"}"#;
pub(super) const NULL_ID: &str = r#"> 1 {"jsonrpc":"2.0","id":null,"method":"ping"}"#;
pub(super) const NULL_ANSWER: &str = r#"< {"jsonrpc":"2.0","id":null,"result":{}}"#;
pub(super) const ID_LESS: &str =
    r#"> 1 {"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}"#;
pub(super) const RAW: &str = "> 0 {\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"mcp_hil/\u{1}\"}";
pub(super) const BEHIND: &str = r#"> 0 {"jsonrpc":"2.0","id":6,"method":"ping"}} {"id":5,"#;
pub(super) const TWICE: &str = r#"> 0 {"jsonrpc":"2.0","id":6,"id":5,"method":"ping"}"#;
pub(super) const SIX: &str = r#"< {"jsonrpc":"2.0","id":6,"error":{"code":-32601,"message":"no"}}"#;
pub(super) const REFUSAL: &str =
    r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;
