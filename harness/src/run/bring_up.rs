//! Getting to know a device: what it answers, what it can do, what serves as a fence.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::capability::{Permission, SILICON, STATUS_TOOL, Surface, discover};
use mcp_hil_core::check::{Seen, side};
use mcp_hil_core::limits::MAX_PAGES;
use mcp_hil_core::transcript::{Mark, Role, Transport, What};
use mcp_hil_core::wire::outbound;
use mcp_hil_rig::Endpoint;
use serde_json::{Value, json};

use super::session::{Exchange, Manner, Session};

/// How long a `ping`, which real devices need not know, is waited for while a fence is sought.
const PING_PATIENCE: Duration = Duration::from_secs(1);

/// The longest keep-alive, in seconds, that a case waits for.
const SHORT_KEEP_ALIVE_S: u16 = 5;

/// The parameters of `initialize`, as MCP and the documents of the family want them together.
pub(crate) fn initialize_params() -> Value {
    json!({
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "mcp-hil", "version": env!("CARGO_PKG_VERSION")}
    })
}

/// Where a camera would send its pictures: a port of this host where nobody listens.
const VISION_URL: &str = "http://127.0.0.1:9/vision";

/// What became of getting to know the device.
pub(crate) struct Known {
    /// `serverInfo` of the first `initialize` answer.
    pub(crate) server: Option<(String, String)>,
    /// How the last exchange ended.
    pub(crate) end: Exchange,
}

impl Session {
    /// Opens the MCP session on a new link.
    pub(crate) async fn initialize(&mut self, at: &Arc<str>) -> Exchange {
        let frame = self.request_frame("initialize", Some(&initialize_params()));
        let end = self
            .exchange(at, Role::Stimulus, frame, Manner::Plain)
            .await;
        if end == Exchange::Settled {
            let initialized = outbound::notification("notifications/initialized", None);
            let frame = self.envelope(&initialized.to_string());
            self.send(&side(at, "done"), Role::Stimulus, frame, Manner::Plain)
                .await;
        }
        end
    }

    /// Learns what the device can do.
    pub(crate) async fn get_to_know(&mut self, permission: &Permission) -> Known {
        let mut known = Known {
            server: None,
            end: self.initialize(&"initialize".into()).await,
        };
        known.server = self.judge.answer_view("initialize").and_then(server);
        let accepted = |view: Option<Value>| view.is_some_and(|view| view.get("result").is_some());
        let mut initializes = accepted(self.judge.answer_view("initialize"));
        if !initializes && !matches!(known.end, Exchange::Gone | Exchange::Interrupted) {
            // There are devices that insist on what the documents call optional.
            let params = json!({"capabilities": {"vision": {"url": VISION_URL, "token": "none"}}});
            let frame = self.request_frame("initialize", Some(&params));
            known.end = self
                .exchange(
                    &"initialize-again".into(),
                    Role::Stimulus,
                    frame,
                    Manner::Plain,
                )
                .await;
            let answer = self.judge.answer_view("initialize-again");
            known.server = known.server.or(answer.clone().and_then(server));
            initializes = accepted(answer);
        }
        self.server.clone_from(&known.server);
        if matches!(known.end, Exchange::Gone | Exchange::Interrupted) {
            return known;
        }
        let listed = self.list(&"list".into(), None, None).await;
        if let Err(end @ (Exchange::Gone | Exchange::Interrupted)) = listed {
            known.end = end;
            return known;
        }
        self.choose_fence(initializes).await;
        if let Err(end) = listed {
            // No fence was known yet: whether the device lives shows now.
            let at: Arc<str> = "list.p0".into();
            known.end = match self.fence(&at, false).await {
                Exchange::Settled => end,
                other => other,
            };
            if known.end != Exchange::Ignored || self.conversation.fence(false).is_none() {
                return known;
            }
        }
        let (tools, first_cursor) = listed.unwrap_or_default();
        let with_user = Some(Value::Bool(true));
        let all_tools = match self.list(&"user-list".into(), with_user, None).await {
            Ok((list, _)) => list,
            Err(_) => Vec::new(),
        };
        let mut surface = Surface {
            tools,
            all_tools,
            first_cursor,
            redial: !matches!(self.endpoint, Endpoint::Broker(_)),
            ..Surface::default()
        };
        let has_status = surface.tools.iter().any(|tool| tool["name"] == STATUS_TOOL);
        if has_status {
            let at: Arc<str> = "status".into();
            known.end = self.status(&at, Role::Stimulus).await;
            let json = |view: Value| view.get("json").cloned();
            surface.status = self.judge.answer_view("status").and_then(json);
            if surface.status.is_none() && known.end == Exchange::Settled {
                // What fails only once must not hide all that hangs on it.
                known.end = self.status(&"status-again".into(), Role::Stimulus).await;
                surface.status = self.judge.answer_view("status-again").and_then(json);
            }
        } else {
            known.end = Exchange::Settled;
        }
        let repeats = self.initialize_repeats().await;
        self.drain_console();
        (surface.console, surface.console_mcp, surface.console_tools) = self.console;
        self.facts = discover(&surface, permission);
        self.tools = surface.tools;
        self.status = surface.status;
        let capabilities = &mut self.facts.capabilities;
        capabilities.insert(self.transport.name().into());
        if self.says_hello || self.transport == Transport::WebSocket {
            capabilities.insert("hello".into());
        }
        if self.bootstrapped {
            capabilities.insert("bootstrap".into());
        }
        if self.told {
            capabilities.insert("configured".into());
        }
        if matches!(self.endpoint, Endpoint::Mqtt(_)) {
            capabilities.insert("own-broker".into());
        }
        if self.keep_alive.is_some_and(|s| s <= SHORT_KEEP_ALIVE_S) {
            capabilities.insert("keep-alive".into());
        }
        if self.silicon {
            capabilities.insert(SILICON.into());
        }
        if repeats {
            self.facts.capabilities.insert("reinitialize".into());
        }
        for (name, value) in &self.told_variables {
            self.facts
                .variables
                .insert((*name).to_owned(), value.as_str().into());
        }
        if let Some((method, params)) = self.conversation.fence(false) {
            let variables = &mut self.facts.variables;
            variables.insert("good.method".into(), method.into());
            variables.insert("good.params".into(), params.unwrap_or_else(|| json!({})));
        }
        self.conversation.set_call_fence(&self.facts);
        self.enter(
            None,
            What::Mark {
                mark: Mark::Facts(Box::new(self.facts.clone())),
            },
        );
        known
    }

    /// Whether the device accepts a second `initialize` in a session. One that hangs is restarted
    /// before the next case.
    async fn initialize_repeats(&mut self) -> bool {
        let forms = [
            ("second", initialize_params()),
            ("third", json!({"capabilities": {}})),
        ];
        for (name, params) in forms {
            let at: Arc<str> = format!("initialize-{name}").into();
            let frame = self.request_frame("initialize", Some(&params));
            match self
                .exchange(&at, Role::Stimulus, frame, Manner::Plain)
                .await
            {
                Exchange::Settled => {}
                Exchange::Silent => self.drop_link("the device is silent"),
                _ => return false,
            }
            let view = self.judge.answer_view(&at);
            if view.is_some_and(|view| view.get("result").is_some()) {
                return true;
            }
        }
        false
    }

    /// Calls the tool that tells the device's state.
    pub(crate) async fn status(&mut self, at: &Arc<str>, role: Role) -> Exchange {
        let params = json!({"name": STATUS_TOOL, "arguments": {}});
        let frame = self.request_frame("tools/call", Some(&params));
        self.exchange(at, role, frame, Manner::Plain).await
    }

    /// Walks all pages of `tools/list`. Gives the tools and the first `nextCursor`.
    pub(crate) async fn list(
        &mut self,
        at: &Arc<str>,
        with_user_tools: Option<Value>,
        start: Option<Value>,
    ) -> Result<(Vec<Value>, Option<String>), Exchange> {
        let (mut tools, mut first, mut cursors) = (Vec::new(), None, Vec::new());
        let mut cursor = start;
        for page in 0..MAX_PAGES {
            let mut params = serde_json::Map::new();
            if let Some(flag) = &with_user_tools {
                params.insert("withUserTools".into(), flag.clone());
            }
            if let Some(cursor) = cursor.take() {
                params.insert("cursor".into(), cursor);
            }
            let step = side(at, &format!("p{page}"));
            let params = Some(Value::Object(params));
            let frame = self.request_frame("tools/list", params.as_ref());
            match self
                .exchange(&step, Role::Stimulus, frame, Manner::Plain)
                .await
            {
                Exchange::Settled => {}
                end => return Err(end),
            }
            let Some(view) = self.judge.answer_view(&step) else {
                break;
            };
            let found = view.pointer("/result/tools").and_then(Value::as_array);
            tools.extend(found.into_iter().flatten().cloned());
            let next = view
                .pointer("/result/nextCursor")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if next.is_empty() {
                return Ok((tools, first));
            }
            if cursors.iter().any(|known| known == next) {
                self.mark(
                    at,
                    Mark::ListEnded {
                        why: format!("cursor `{next}` came twice"),
                    },
                );
                return Ok((tools, first));
            }
            first.get_or_insert_with(|| next.to_owned());
            cursors.push(next.to_owned());
            cursor = Some(next.into());
        }
        if cursors.len() >= MAX_PAGES {
            let why = format!("no last page after {MAX_PAGES} pages (MAX_PAGES)");
            self.mark(at, Mark::ListEnded { why });
        }
        Ok((tools, first))
    }

    /// Seeks the cheapest good request that this device answers with a success.
    async fn choose_fence(&mut self, initializes: bool) {
        let at: Arc<str> = "ping".into();
        let frame = self.request_frame("ping", Some(&json!({})));
        if let Some(seq) = self.send(&at, Role::Probe, frame, Manner::Plain).await {
            let until = Instant::now() + PING_PATIENCE;
            self.wait_for(&at, until, |seen| seen == Seen::Answer(seq))
                .await;
        }
        let succeeds = |view: Option<Value>| view.is_some_and(|view| view.get("result").is_some());
        if succeeds(self.judge.answer_view("ping")) {
            self.conversation.set_fence("ping", Some(json!({})));
        } else if succeeds(self.judge.answer_view("list.p0")) {
            self.conversation.set_fence("tools/list", Some(json!({})));
        } else if initializes {
            self.conversation
                .set_fence("initialize", Some(initialize_params()));
        }
    }
}

/// Name and version in an answer to `initialize`.
fn server(answer: Value) -> Option<(String, String)> {
    let info = |name: &str| Some(answer.pointer(name)?.as_str()?.to_owned());
    Some((
        info("/result/serverInfo/name")?,
        info("/result/serverInfo/version")?,
    ))
}
