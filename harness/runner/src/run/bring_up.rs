//! Getting to know a device: what it answers, what it can do, what serves as a fence.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::capability::{
    Facts, LINGER, Permission, SILICON, SIMULATED, STATUS_TOOL, Surface, VOLUME_TOLERANCE,
    asks_for_more, discover,
};
use mcp_hil_core::limits::MAX_PAGES;
use mcp_hil_core::obligation::Duty;
use mcp_hil_core::step::{StepKind, beside};
use mcp_hil_core::transcript::{Mark, Role, What};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_endpoint::Endpoint;
use mcp_hil_generate::{Context, capabilities_told};
use mcp_hil_judge::check::{Seen, settings};
use serde_json::{Value, json};

use super::session::{Exchange, Manner, Session};
use mcp_hil_bench::dut::LONGEST_KEEP_ALIVE_S;

/// How long a `ping`, which real devices need not know, is waited for while a fence is sought.
const PING_PATIENCE: Duration = Duration::from_secs(1);

/// The parameters of `initialize`, as MCP and the documents of the family want them together.
pub(super) fn initialize_params() -> Value {
    outbound::initialize_params("mcp-hil", &json!({}))
}

/// The capability of a device that takes a second `initialize` in a session.
const REINITIALIZE: &str = "reinitialize";

/// The case that shows whether the device takes the short `initialize` of its documents.
const MINIMAL: &str = "initialize/minimal";

/// Where a camera would send its pictures: a port of this host where nobody listens.
const VISION_URL: &str = "http://127.0.0.1:9/vision";

/// What became of getting to know the device.
pub(super) struct Known {
    /// `serverInfo` of the first `initialize` answer.
    pub server: Option<(String, String)>,
    /// How the last exchange ended.
    pub end: Exchange,
}

/// The same with what a client may tell of a service for pictures, unless they tell of one already. What
/// is no legal form of `capabilities` stays as it is.
pub(super) fn with_vision(params: Option<Value>) -> Option<Value> {
    let mut params = params.unwrap_or_else(|| json!({}));
    if let Some(members) = params.as_object_mut()
        && let Some(capabilities) =
            members.entry("capabilities").or_insert_with(|| json!({})).as_object_mut()
    {
        capabilities.entry("vision").or_insert_with(|| json!({"url": VISION_URL, "token": "none"}));
    }
    Some(params)
}

/// The parameters of a request for a page of `tools/list`.
pub(super) fn list_params(with_user_tools: Option<&Value>, cursor: Option<Value>) -> Value {
    let mut params = serde_json::Map::new();
    if let Some(flag) = with_user_tools {
        params.insert("withUserTools".into(), flag.clone());
    }
    if let Some(cursor) = cursor {
        params.insert("cursor".into(), cursor);
    }
    Value::Object(params)
}

impl Session {
    /// The parameters of `initialize`, with all that this device was found to need.
    fn opening(&self, params: Value) -> Value {
        match self.device.insists_on_vision {
            true => with_vision(Some(params)).unwrap_or_default(),
            false => params,
        }
    }

    /// The parameters of an `initialize` in a scenario, with what this device was found to need. Whether it accepts
    /// `capabilities` alone is shown by one case; the others have a session to open.
    pub(super) fn with_what_it_needs(&self, params: Option<Value>) -> Option<Value> {
        let mut params = match self.device.insists_on_vision {
            true => with_vision(params),
            false => params,
        };
        if self.device.insists_on_client
            && *self.transcript.case != *MINIMAL
            && let Some(members) = params.get_or_insert_with(|| json!({})).as_object_mut()
            && let Value::Object(complete) = initialize_params()
        {
            for (name, value) in complete {
                members.entry(name).or_insert(value);
            }
        }
        params
    }

    /// Whether the device accepts `initialize` with these parameters.
    async fn accepts(&mut self, at: &Arc<str>, params: &Value) -> Result<bool, Exchange> {
        let frame = self.request_frame("initialize", Some(params));
        match self.exchange(at, Role::Stimulus, frame, Manner::Plain).await {
            end @ (Exchange::Gone | Exchange::Interrupted) => Err(end),
            _ => {
                let view = self.judge.answer_view(at);
                Ok(view.is_some_and(|view| view.get("result").is_some()))
            }
        }
    }

    /// Finds out what a device needs that has not accepted the usual `initialize`. Gives the step at which
    /// it accepted one.
    async fn ask_what_it_needs(&mut self) -> Result<Option<&'static str>, Exchange> {
        // There are devices that insist on what the documents call optional, and others that take the form
        // of the documents and no other.
        let forms = [
            ("initialize-again", "initialize-plain", initialize_params()),
            ("initialize-short", "initialize-short-plain", json!({"capabilities": {}})),
        ];
        for (with, without, plain) in forms {
            let needy = with_vision(Some(plain.clone())).unwrap_or_default();
            if !self.accepts(&with.into(), &needy).await? {
                continue;
            }
            // It may have been deaf to the first one, whatever that said.
            let at: Arc<str> = without.into();
            if !self.accepts(&at, &plain).await? {
                self.device.insists_on_vision = true;
                let on = "capabilities.vision".to_owned();
                self.mark(&at, Mark::Insists { on });
            }
            return Ok(Some(with));
        }
        Ok(None)
    }

    /// Opens the MCP session on a new link.
    pub(super) async fn initialize(&mut self, at: &Arc<str>) -> Exchange {
        let frame = self.opening_frame();
        let end = self.exchange(at, Role::Stimulus, frame, Manner::Plain).await;
        if end == Exchange::Settled {
            self.say_initialized(at).await;
        }
        end
    }

    /// Completes the session after an `initialize` of a scenario, as MCP asks of a client (lifecycle, Initialization), and
    /// opens it anew where that was refused or has led to another protocol version: what comes next is meant for a
    /// session as all others have.
    pub(super) async fn restore(&mut self, at: &Arc<str>) -> Exchange {
        let Some(view) = self.judge.answer_view(at) else {
            return Exchange::Settled;
        };
        let version = view.pointer("/result/protocolVersion");
        let is_other = version.is_some() && version != self.device.agreed.as_ref();
        let is_refused = view.get("error").is_some();
        if self.device.agreed.is_none() || !(is_other || is_refused) {
            if !is_refused {
                self.say_initialized(at).await;
            }
            return Exchange::Settled;
        }
        self.initialize(&beside(at, StepKind::Initialize)).await
    }

    /// A complete `initialize`, with all that this device was found to need.
    pub(super) fn opening_frame(&mut self) -> Frame {
        let params = self.opening(initialize_params());
        self.request_frame("initialize", Some(&params))
    }

    /// Tells the device that the session is initialized.
    pub(super) async fn say_initialized(&mut self, at: &Arc<str>) {
        let initialized = outbound::notification("notifications/initialized", None);
        let frame = self.envelope(&initialized.to_string());
        self.send(&beside(at, StepKind::Done), Role::Stimulus, frame, Manner::Plain).await;
    }

    /// Whether the device takes a second `initialize` in a session.
    pub(super) fn may_initialize_again(&self) -> bool {
        self.device.facts.capabilities.contains(REINITIALIZE)
    }

    /// Learns what the device can do.
    pub(super) async fn get_to_know(&mut self, permission: &Permission) -> Known {
        self.device.permission = permission.clone();
        let (mut known, initializes) = self.first_initialize().await;
        self.device.server.clone_from(&known.server);
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
            let at = beside("list", StepKind::Page(0));
            known.end = match self.fence(&at, &Duty::default(), Instant::now()).await {
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
        let is_listed = tools.iter().any(|tool| tool["name"] == STATUS_TOOL);
        let has_status = is_listed && !asks_for_more(&tools, STATUS_TOOL);
        let (end, status) = match has_status && !self.device.permission.denies(STATUS_TOOL) {
            true => self.first_status().await,
            false => (Exchange::Settled, None),
        };
        known.end = end;
        let repeats = self.initialize_repeats().await;
        let status = match status {
            Some(first) if end == Exchange::Settled => {
                Some(self.still_status().await.unwrap_or(first))
            }
            status => status,
        };
        self.drain_console();
        let console = self.device.console;
        let surface = Surface {
            tools,
            all_tools,
            first_cursor,
            status,
            console: console.attached,
            console_mcp: console.mcp,
            console_tools: console.tools,
            reconnect: !matches!(self.ports.endpoint, Endpoint::Broker(_)),
        };
        let mut facts = discover(&surface, &self.device.permission);
        self.conversation.set_call_fence(&facts);
        self.see_how_many_fly().await;
        self.device.tools.clone_from(&surface.tools);
        if let Some(status) = &surface.status {
            self.find_what_is_locked(&mut facts, status).await;
        }
        if let Some(status) = &surface.status
            && let Some(tolerance) = self.ask_for_steps(&facts, status).await
        {
            facts.variables.insert(VOLUME_TOLERANCE.to_owned(), tolerance.into());
        }
        let told = match self.terms.generates {
            true => self.ask_what_is_told(&surface.tools).await,
            false => Vec::new(),
        };
        self.note_facts(Facts { told, ..facts }, surface, repeats);
        known
    }

    /// Sends the first `initialize`, and others where the device does not accept it. Gives whether it accepted
    /// any.
    async fn first_initialize(&mut self) -> (Known, bool) {
        let at = "initialize";
        let end = self.initialize(&at.into()).await;
        let view = self.judge.answer_view(at);
        let version = |view: &Value| view.pointer("/result/protocolVersion").cloned();
        self.device.agreed = view.as_ref().and_then(version);
        let accepted = view.as_ref().is_some_and(|view| view.get("result").is_some());
        let mut known = Known { server: view.and_then(server), end };
        if accepted || matches!(known.end, Exchange::Gone | Exchange::Interrupted) {
            return (known, accepted);
        }
        match self.ask_what_it_needs().await {
            Ok(Some(at)) => {
                known.server = self.judge.answer_view(at).and_then(server);
                known.end = Exchange::Settled;
                return (known, true);
            }
            Ok(None) => {}
            Err(end) => known.end = end,
        }
        (known, false)
    }

    /// Reads the status for the first time: how that ended, and what it tells.
    async fn first_status(&mut self) -> (Exchange, Option<Value>) {
        let mut end = Exchange::Settled;
        for name in ["status", "status-again"] {
            end = self.status(&name.into(), Role::Stimulus).await;
            let view = self.judge.answer_view(name);
            let status = view.and_then(|view| view.get("json").cloned());
            // What fails only once must not hide all that hangs on it.
            let goes_on = matches!(end, Exchange::Settled | Exchange::Ignored);
            if status.is_some() || !goes_on {
                return (end, status);
            }
        }
        (end, None)
    }

    /// Notes what the device can do, and writes it to the transcript.
    fn note_facts(&mut self, mut facts: Facts, surface: Surface, repeats: bool) {
        let context = Context::new(&facts, &surface.tools, &self.device.permission);
        let of_told = capabilities_told(&context).into_iter().map(str::to_owned);
        facts.capabilities.extend(of_told);
        self.device.tools = surface.tools;
        self.device.status = surface.status;
        let websocket = self.transport == Transport::WebSocket;
        let keeps_alive = self.connection.keep_alive.is_some_and(|s| s <= LONGEST_KEEP_ALIVE_S);
        let camera = facts.capabilities.contains("camera");
        let claims = [
            (self.transport.name(), true),
            ("hello", self.connection.says_hello || websocket),
            ("bootstrap", self.terms.bootstrapped),
            ("reconfigure", self.terms.bootstrapped && self.target.is_running().is_some()),
            ("configured", self.terms.told),
            ("own-broker", matches!(self.ports.endpoint, Endpoint::Mqtt(_))),
            ("keep-alive", keeps_alive),
            (SILICON, self.device.silicon),
            (SIMULATED, !self.device.silicon),
            (LINGER, !self.terms.linger.is_zero()),
            (REINITIALIZE, repeats),
            ("told", !facts.told.is_empty()),
            ("camera.untold", camera && !self.device.insists_on_vision && !self.terms.lives_on),
        ];
        let claims = claims.into_iter().filter(|(_, claimed)| *claimed);
        facts.capabilities.extend(claims.map(|(name, _)| name.to_owned()));
        for (name, value) in &self.terms.variables {
            facts.variables.insert((*name).to_owned(), value.as_str().into());
        }
        if let Some((method, params)) = self.conversation.fence(false) {
            facts.variables.insert("good.method".into(), method.into());
            facts.variables.insert("good.params".into(), params.unwrap_or_else(|| json!({})));
        }
        self.device.facts = facts.clone();
        self.flights.settings =
            self.settings_in(self.device.status.as_ref(), &self.device.permission);
        self.enter(None, What::Mark { mark: Mark::Facts(Box::new(facts)) });
    }

    /// Whether the device accepts a second `initialize` in a session. One that hangs is restarted
    /// before the next case.
    async fn initialize_repeats(&mut self) -> bool {
        let forms = [("second", initialize_params()), ("third", json!({"capabilities": {}}))];
        for (name, params) in forms {
            let at: Arc<str> = format!("initialize-{name}").into();
            let params = self.opening(params);
            let frame = self.request_frame("initialize", Some(&params));
            match self.exchange(&at, Role::Stimulus, frame, Manner::Plain).await {
                Exchange::Settled => {}
                Exchange::Silent => self.drop_link("the device is silent"),
                _ => return false,
            }
            let view = self.judge.answer_view(&at);
            if view.is_some_and(|view| view.get("result").is_some()) {
                self.device.insists_on_client =
                    name == "second" && self.refuses_capabilities_alone().await;
                return true;
            }
        }
        false
    }

    /// Whether the device refuses `initialize` with nothing but `capabilities`. MCP asks for more, documents of the family
    /// do not.
    async fn refuses_capabilities_alone(&mut self) -> bool {
        let at: Arc<str> = "initialize-alone".into();
        let params = self.opening(json!({"capabilities": {}}));
        let frame = self.request_frame("initialize", Some(&params));
        self.exchange(&at, Role::Probe, frame, Manner::Plain).await;
        let Some(view) = self.judge.answer_view(&at) else {
            // Who says nothing to it has refused it, too.
            self.initialize(&beside(&at, StepKind::Initialize)).await;
            return true;
        };
        // It may have ended its session with that.
        self.restore(&at).await;
        view.get("error").is_some()
    }

    /// What the status tells once two readings are the same: a backlight may fade in after the start.
    async fn still_status(&mut self) -> Option<Value> {
        let at: Arc<str> = "status-still".into();
        self.status(&at, Role::Probe).await;
        let first = self.judge.answer_view("status").and_then(|view| settings(&view));
        let same = |view: &Value| settings(view) == first;
        self.settle(&at, same).await;
        let view = self.judge.answer_view(&self.judge.settled(&at))?;
        view.get("json").cloned()
    }

    /// Calls the tool that tells the device's state.
    pub(super) async fn status(&mut self, at: &Arc<str>, role: Role) -> Exchange {
        self.read(STATUS_TOOL, at, role).await
    }

    /// Calls a tool that takes no arguments.
    pub(super) async fn read(&mut self, tool: &str, at: &Arc<str>, role: Role) -> Exchange {
        let params = json!({"name": tool, "arguments": {}});
        let frame = self.request_frame("tools/call", Some(&params));
        self.exchange(at, role, frame, Manner::Plain).await
    }

    /// Walks all pages of `tools/list`. Gives the tools and the first `nextCursor`.
    pub(super) async fn list(
        &mut self,
        at: &Arc<str>,
        with_user_tools: Option<Value>,
        start: Option<Value>,
    ) -> Result<(Vec<Value>, Option<String>), Exchange> {
        let (mut tools, mut first, mut cursors) = (Vec::new(), None, Vec::new());
        let begins = start.clone();
        let mut cursor = start;
        for page in 0..MAX_PAGES {
            let params = list_params(with_user_tools.as_ref(), cursor.take());
            let step = beside(at, StepKind::Page(page));
            let frame = self.request_frame("tools/list", Some(&params));
            match self.exchange(&step, Role::Stimulus, frame, Manner::Plain).await {
                Exchange::Settled => {}
                end => return Err(end),
            }
            let Some(view) = self.judge.answer_view(&step) else {
                break;
            };
            let found = view.pointer("/result/tools").and_then(Value::as_array);
            tools.extend(found.into_iter().flatten().cloned());
            let next =
                view.pointer("/result/nextCursor").and_then(Value::as_str).unwrap_or_default();
            if next.is_empty() {
                let walk = (with_user_tools, begins);
                self.device.walks.retain(|(known, _)| *known != walk);
                self.device.walks.push((walk, cursors));
                return Ok((tools, first));
            }
            if cursors.iter().any(|known| known == next) {
                self.mark(at, Mark::ListEnded { why: format!("cursor `{next}` was repeated") });
                return Ok((tools, first));
            }
            first.get_or_insert_with(|| next.to_owned());
            let next = next.to_owned();
            cursors.push(next.clone());
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
            self.wait_for(&at, until, |seen| seen == Seen::Answer(seq)).await;
        }
        let succeeds = |view: Option<Value>| view.is_some_and(|view| view.get("result").is_some());
        if succeeds(self.judge.answer_view("ping")) {
            self.conversation.set_fence("ping", Some(json!({})));
        } else if succeeds(self.judge.answer_view(&beside("list", StepKind::Page(0)))) {
            self.conversation.set_fence("tools/list", Some(json!({})));
        } else if initializes {
            let params = self.opening(initialize_params());
            self.conversation.set_fence("initialize", Some(params));
        }
    }
}

/// Name and version in an answer to `initialize`.
fn server(answer: Value) -> Option<(String, String)> {
    let info = |name: &str| Some(answer.pointer(name)?.as_str()?.to_owned());
    Some((info("/result/serverInfo/name")?, info("/result/serverInfo/version")?))
}
