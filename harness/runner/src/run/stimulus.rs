//! Carrying out the steps of a scenario. Nothing here judges: what came is in the transcript.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::capability::HARMLESS;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::step::{self, StepKind, beside};
use mcp_hil_core::transcript::{Mark, Role};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::wire::{Frame, outbound};
use mcp_hil_scenario::{Action, Case, Expect, Missing, Outgoing, Scope, Step};
use serde_json::{Value, json};

use super::flight::Flight;
use super::link::Dialing;
use super::session::{Exchange, Manner, Session};
use super::settle::reads_status;

/// The method that opens a session.
const INITIALIZE: &str = "initialize";

/// What a method is refused with that is not there (JSON-RPC 2.0, section 5.1).
const METHOD_NOT_FOUND: i64 = -32601;

/// Why a message is not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LeftOut {
    /// A value that an earlier answer should have brought.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// It would call a tool that nobody may call.
    #[error("the device's file denies `{0}`")]
    Denied(String),
}

impl Session {
    /// Carries out a case from its first step to its last, or until the device is gone.
    pub(super) async fn carry_out(&mut self, case: &Case, dialing: &mut Dialing) -> Exchange {
        let mut scope = Scope::new(self.device.facts.variables.clone());
        let mut flight = Flight::default();
        let steps = case.flatten();
        let last = steps.len().saturating_sub(1);
        for (number, flat) in steps.into_iter().enumerate() {
            if flight.brings_for(&flat) {
                match self.land(&mut flight, &mut scope).await {
                    Exchange::Settled => {}
                    other => return other,
                }
            }
            scope.set("session", self.connection.session_id.clone().into());
            let Ok(mut inner) = scope.with(&flat.row) else {
                continue;
            };
            // A case ends with a reading of the settings.
            let is_last = number == last && self.flights.reads_kept;
            if let Some((company, frame, duty)) = self.boards(flat.step, &inner, is_last) {
                let message = (company, frame, duty);
                match self.flies(&mut flight, &flat, &mut scope, (is_last, message)).await {
                    Exchange::Settled => continue,
                    other => return other,
                }
            }
            match self.walk_in_flight(&mut flight, &flat, &inner).await {
                Some(Exchange::Settled) => continue,
                Some(other) => return other,
                None => {}
            }
            match self.land(&mut flight, &mut scope).await {
                Exchange::Settled => {}
                other => return other,
            }
            let end = self.step(flat.step, &flat.at, &mut inner, dialing).await;
            for name in flat.step.bind.keys() {
                if let Some(value) = inner.get(name) {
                    scope.set(name, value.clone());
                }
            }
            let end = match end {
                Exchange::Gone if self.judge.has_refused_by_closing() => {
                    self.welcome_back(&flat.at, dialing).await
                }
                other => other,
            };
            match end {
                Exchange::Settled | Exchange::Ignored => {}
                other => return other,
            }
        }
        match self.read_kept_in_flight(&mut flight).await {
            Exchange::Settled => self.land(&mut flight, &mut scope).await,
            other => other,
        }
    }

    async fn step(
        &mut self,
        step: &Step,
        at: &Arc<str>,
        scope: &mut Scope,
        dialing: &mut Dialing,
    ) -> Exchange {
        match &step.action {
            Action::Send(outgoing) => self.say(step, outgoing, at, scope).await,
            Action::List { with_user_tools, cursor } => {
                self.walk(with_user_tools.as_ref(), cursor.as_ref(), at, scope).await
            }
            Action::Burst(steps) => self.burst(steps, at, scope).await,
            Action::Disconnect { after, inside, pinged } => {
                self.send_all(after, at, scope).await;
                if *pinged {
                    self.ports.endpoint.ping_next();
                }
                match *inside {
                    true => self.drop_inside().await,
                    false => self.drop_link("the case asks for it"),
                }
                if !self.reconnect(at, dialing).await {
                    return Exchange::Gone;
                }
                if *pinged {
                    self.wait_for_pong(at).await;
                }
                Exchange::Settled
            }
            Action::Reboot => self.reboot(at, dialing).await,
            Action::Configure { version } => {
                self.offer(*version);
                match self.restart(at, dialing).await {
                    true => Exchange::Settled,
                    false => Exchange::Gone,
                }
            }
            Action::Close { reason } => {
                dialing.said_goodbye();
                self.close_link(at, reason.as_deref()).await
            }
            Action::KeepAlive => {
                self.wait_for_keep_alive(at).await;
                Exchange::Settled
            }
            Action::Audio { listen_ms } => {
                let end = match listen_ms.map(Duration::from_millis) {
                    Some(time) => self.listen(at, time).await,
                    None => self.wait_for_audio(at).await,
                };
                self.tell_how_audio_stands(at);
                end
            }
            Action::Linger(what) => self.linger(*what, at).await,
            Action::Console { pattern } => {
                if let Ok(pattern) = scope.fill_text(pattern)
                    && let Ok(pattern) = regex::Regex::new(&pattern)
                {
                    self.wait_for_console(at, &pattern).await;
                }
                Exchange::Settled
            }
            // Tables are unrolled before.
            Action::Each { .. } => Exchange::Settled,
        }
    }

    /// Sends a step's message and binds what its answer brings.
    async fn say(
        &mut self,
        step: &Step,
        outgoing: &Outgoing,
        at: &Arc<str>,
        scope: &mut Scope,
    ) -> Exchange {
        let frame = match self.fill(outgoing, scope) {
            Ok(frame) => self.framed(step, frame),
            Err(why) => return self.skip(at, &why),
        };
        let call = self.call_that_is_told(&frame);
        let mut end = match step.bind.is_empty() || !reads_status(outgoing) {
            true => Exchange::Settled,
            false => self.wait_until_still(at).await,
        };
        if end == Exchange::Settled {
            end = self.guarded(step, outgoing, at, frame, scope).await;
        }
        if let Some(call) = call.filter(|_| end == Exchange::Settled) {
            end = self.settle_told(at, call).await;
        }
        if !step.bind.is_empty()
            && let Some(view) = self.judge.answer_view(&self.judge.settled(at))
        {
            for (name, pointer) in &step.bind {
                if let Some(value) = view.pointer(pointer) {
                    scope.set(name, value.clone());
                }
            }
        }
        end
    }

    /// Walks the pages of a list of tools.
    async fn walk(
        &mut self,
        with_user_tools: Option<&Value>,
        cursor: Option<&Value>,
        at: &Arc<str>,
        scope: &Scope,
    ) -> Exchange {
        let fill = |value: Option<&Value>| value.map(|value| scope.fill(value)).transpose();
        match (fill(with_user_tools), fill(cursor)) {
            (Ok(flag), Ok(cursor)) => match self.list(at, flag, cursor).await {
                Ok(_) => Exchange::Settled,
                Err(end) => end,
            },
            (Err(missing), _) | (_, Err(missing)) => self.skip(at, &missing.into()),
        }
    }

    /// Leaves a step out, and says why.
    fn skip(&mut self, at: &Arc<str>, why: &LeftOut) -> Exchange {
        self.mark(at, Mark::Skipped { why: why.to_string() });
        Exchange::Settled
    }

    /// Whether the device took for an `initialize` what is nearly one, and refused it for something else than its method:
    /// then the session before may have ended.
    fn was_taken_to_open(&self, outgoing: &Outgoing, at: &Arc<str>) -> bool {
        let is_near = method_of(outgoing).is_some_and(|method| {
            // A string of C ends at U+0000.
            method != INITIALIZE && method.split('\0').next().map(str::trim) == Some(INITIALIZE)
        });
        let refused = || self.judge.answer_view(at)?.pointer("/error/code").cloned();
        is_near && refused().is_some_and(|code| code != METHOD_NOT_FOUND)
    }

    /// Sends a step's message; where the step must not change the device, its settings are read
    /// before and after.
    async fn guarded(
        &mut self,
        step: &Step,
        outgoing: &Outgoing,
        at: &Arc<str>,
        frame: Frame,
        scope: &Scope,
    ) -> Exchange {
        let watched = step.unchanged.is_some() && self.device.facts.capabilities.contains("status");
        if watched {
            match self.read_before(&beside(at, StepKind::Before)).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        let unmatched = self.received.unmatched;
        let end = self.exchange(at, Role::Stimulus, frame, manner(step)).await;
        if step.acknowledged {
            self.wait_for_acknowledgement(at).await;
        }
        if step.pinged && end == Exchange::Settled {
            self.wait_for_pong(at).await;
        }
        // The exchange with a ping has ended with its pong, and there is no other answer.
        if end == Exchange::Settled && !step.pings() && step.expect.iter().any(Expect::wants_answer)
        {
            self.wait_for_answer(at, unmatched).await;
        }
        if end == Exchange::Settled && step.expect.iter().any(Expect::is_to_do) {
            match self.ask_whether_locked(at).await {
                Exchange::Settled | Exchange::Ignored => {}
                other => return other,
            }
        }
        if end == Exchange::Settled && (opens(outgoing) || self.was_taken_to_open(outgoing, at)) {
            match self.restore(at).await {
                Exchange::Settled | Exchange::Ignored => {}
                other => return other,
            }
        }
        if end == Exchange::Settled && !watched && reads_status(outgoing) {
            return self.settle_step(step, at, scope).await;
        }
        if watched && end == Exchange::Settled {
            let (before, after) = (beside(at, StepKind::Before), beside(at, StepKind::After));
            let end = match self.read_after(&before, &after, step.unchanged).await {
                Exchange::Settled => self.confirm_change(step, outgoing, at, scope).await,
                other => other,
            };
            return match end {
                Exchange::Ignored => Exchange::Settled,
                other => other,
            };
        }
        end
    }

    async fn burst(&mut self, steps: &[Step], at: &Arc<str>, scope: &Scope) -> Exchange {
        let began = Instant::now();
        let (open, rest) = self.send_all(steps, at, scope).await;
        if self.connection.link.is_none() {
            return Exchange::Gone;
        }
        let (left, under_other_ids) = self.wait_for_all(at, &open).await;
        for (seq, at, duty) in open {
            if !left.contains(&seq) {
                continue;
            }
            if self.connection.link.is_none() {
                return Exchange::Gone;
            }
            if self.is_interrupted() {
                return Exchange::Interrupted;
            }
            if !under_other_ids {
                self.give_up(seq, &duty, began);
            }
            let end = self.fence(&at, &duty, began).await;
            if !self.judge.is_answered(&at) {
                self.no_answer(&at, began);
                self.conversation.missed();
            }
            if end != Exchange::Settled {
                return end;
            }
        }
        for (index, step) in steps.iter().enumerate() {
            if step.expect.iter().any(Expect::is_to_do) {
                match self.ask_whether_locked(&step::message(at, index)).await {
                    Exchange::Settled | Exchange::Ignored => {}
                    other => return other,
                }
            }
        }
        // Whatever is expected of the others comes before the answer to a fence, or soon after it where
        // the device does not answer in turn.
        for (at, duty, wants_answer) in rest {
            let unanswered = !self.judge.is_answered(&at);
            if unanswered
                && let other @ (Exchange::Silent | Exchange::Gone | Exchange::Interrupted) =
                    self.fence(&at, &duty, began).await
            {
                return other;
            }
            if unanswered && wants_answer {
                self.wait_for_answer(&at, self.received.unmatched).await;
            }
        }
        Exchange::Settled
    }

    /// Sends the messages of steps back to back. Gives the ones that are owed an answer, and those of
    /// the others of which something is expected.
    async fn send_all(
        &mut self,
        steps: &[Step],
        at: &Arc<str>,
        scope: &Scope,
    ) -> (Vec<(u64, Arc<str>, Duty)>, Vec<(Arc<str>, Duty, bool)>) {
        let (mut open, mut rest) = (Vec::new(), Vec::new());
        for (index, step) in steps.iter().enumerate() {
            let Action::Send(outgoing) = &step.action else {
                continue;
            };
            let Ok(frame) = self.fill(outgoing, scope) else {
                continue;
            };
            let frame = self.framed(step, frame);
            let at = step::message(at, index);
            let Some(seq) = self.send(&at, Role::Stimulus, frame, manner(step)).await else {
                break;
            };
            let duty = self.judge.duty().clone();
            if duty.owes == Owes::Answer {
                open.push((seq, at, duty));
            } else if !step.expect.is_empty() {
                let wants_answer = step.expect.iter().any(Expect::wants_answer);
                rest.push((at, duty, wants_answer));
            }
        }
        (open, rest)
    }

    /// The frame of a step with all variables filled in, unless it calls a tool that nobody may call.
    pub(super) fn fill(&mut self, outgoing: &Outgoing, scope: &Scope) -> Result<Frame, LeftOut> {
        let fresh = self.conversation.fresh_id();
        self.fill_as(outgoing, scope, fresh)
    }

    /// The same under this id, where the step has none of its own.
    pub(super) fn fill_as(
        &self,
        outgoing: &Outgoing,
        scope: &Scope,
        fresh: u64,
    ) -> Result<Frame, LeftOut> {
        let frame = self.filled(outgoing, scope, fresh)?;
        if self.device.permission.deny.is_empty() {
            return Ok(frame);
        }
        match called(&frame).filter(|tool| self.is_denied(tool)) {
            Some(tool) => Err(LeftOut::Denied(tool)),
            None => Ok(frame),
        }
    }

    /// The text of a step in the odd frame that the step asks for, where the transport has frames.
    pub(super) fn framed(&self, step: &Step, frame: Frame) -> Frame {
        match (step.odd_frame, frame) {
            (Some(how), Frame::Text(text)) if self.transport == Transport::WebSocket => {
                Frame::Odd(how, text)
            }
            (Some(how), Frame::Ping(data)) if self.transport == Transport::WebSocket => {
                Frame::Odd(how, String::from_utf8_lossy(&data).into_owned())
            }
            (_, frame) => frame,
        }
    }

    /// Whether nobody may call a tool that the device has, or may have without listing it.
    fn is_denied(&self, tool: &str) -> bool {
        let facts = &self.device.facts;
        let listed = facts.tools.iter().chain(&facts.user_tools).any(|name| name == tool);
        (listed || HARMLESS.contains(&tool)) && self.device.permission.denies(tool)
    }

    fn filled(&self, outgoing: &Outgoing, scope: &Scope, fresh: u64) -> Result<Frame, Missing> {
        let mut scope = scope.clone();
        scope.set("id", fresh.into());
        let optional =
            |value: &Option<Value>| value.as_ref().map(|value| scope.fill(value)).transpose();
        let name = |method: &Value| -> Result<String, Missing> {
            Ok(match scope.fill(method)? {
                Value::String(text) => text,
                other => other.to_string(),
            })
        };
        let payload = match outgoing {
            Outgoing::Request { method, params, id } => {
                let id = optional(id)?.unwrap_or_else(|| fresh.into());
                let (method, mut params) = (name(method)?, optional(params)?);
                if method == "initialize" {
                    // Without it the case would only show once more what is known of the device.
                    params = self.with_what_it_needs(params);
                }
                outbound::request(&id, &method, params.as_ref()).to_string()
            }
            Outgoing::Status => {
                let params =
                    json!({"name": mcp_hil_core::capability::STATUS_TOOL, "arguments": {}});
                outbound::request(&fresh.into(), "tools/call", Some(&params)).to_string()
            }
            Outgoing::Notify { method, params } => {
                outbound::notification(&name(method)?, optional(params)?.as_ref()).to_string()
            }
            Outgoing::Payload(payload) => scope.fill(payload)?.to_string(),
            Outgoing::PayloadText(text) => scope.fill_text(text)?,
            Outgoing::Envelope(envelope) => {
                return Ok(Frame::Text(scope.fill(envelope)?.to_string()));
            }
            Outgoing::Text(text) => return Ok(Frame::Text(scope.fill_text(text)?)),
            Outgoing::TextBytes(hex) => {
                let bytes = mcp_hil_core::wire::from_hex(hex).unwrap_or_default();
                return Ok(match String::from_utf8(bytes) {
                    Ok(text) => Frame::Text(text),
                    Err(error) => Frame::NotUtf8(error.into_bytes()),
                });
            }
            Outgoing::Binary(hex) => {
                return Ok(Frame::Binary(mcp_hil_core::wire::from_hex(hex).unwrap_or_default()));
            }
            Outgoing::Ping(least) | Outgoing::Pong(least) => {
                let data = control_data(fresh, *least);
                return Ok(match outgoing {
                    Outgoing::Ping(_) => Frame::Ping(data),
                    _ => Frame::Pong(data),
                });
            }
        };
        Ok(self.envelope(&payload))
    }
}

/// The data of a ping or a pong, different in each unless there must be none.
fn control_data(fresh: impl std::fmt::Display, least: Option<u8>) -> Vec<u8> {
    let least = match least {
        Some(0) => return Vec::new(),
        least => usize::from(least.unwrap_or_default()),
    };
    let mut data = format!("mcp-hil {fresh} ").into_bytes();
    // Data is bytes, not text (RFC 6455, section 5.5.2): a zero among them ends nothing, and others are no UTF-8.
    let bytes = std::iter::once(0).chain((1..=u8::MAX).rev());
    data.extend(bytes.take(least.saturating_sub(data.len())));
    data
}

/// Whether a message is an `initialize`.
pub(super) fn opens(outgoing: &Outgoing) -> bool {
    method_of(outgoing) == Some(INITIALIZE)
}

fn method_of(outgoing: &Outgoing) -> Option<&str> {
    match outgoing {
        Outgoing::Request { method, .. } => method.as_str(),
        _ => None,
    }
}

/// The tool that a message calls, in whatever shape it does.
fn called(frame: &Frame) -> Option<String> {
    let Frame::Text(text) = frame else {
        return None;
    };
    let message: Value = serde_json::from_str(text).ok()?;
    let payload = message.get("payload")?;
    let params = payload.get("params").filter(|_| payload["method"] == "tools/call")?;
    params.get("name").and_then(Value::as_str).map(str::to_owned)
}

/// How a step wants its message sent.
pub(super) fn manner(step: &Step) -> Manner {
    match step.fragment {
        Some(bytes) if step.pinged => Manner::PiecesAroundPing(bytes),
        Some(bytes) if step.empty_end => Manner::PiecesAndNothing(bytes),
        Some(bytes) => Manner::Pieces(bytes),
        None if step.segments => Manner::Segments,
        None if step.acknowledged => Manner::Acknowledged { dup: step.dup },
        None => Manner::Plain,
    }
}
