//! Carrying out the steps of a scenario. Nothing here judges: what came is in the transcript.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::check::side;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::scenario::{Action, Case, Expect, Missing, Outgoing, Scope, Step};
use mcp_hil_core::transcript::{Mark, Role};
use mcp_hil_core::wire::{Frame, outbound};
use serde_json::{Value, json};

use super::link::Dialing;
use super::session::{Exchange, Manner, Session};

impl Session {
    /// Carries out a case from its first step to its last, or until the device is gone.
    pub(crate) async fn carry_out(&mut self, case: &Case, dialing: &mut Dialing) -> Exchange {
        let mut scope = Scope::new(self.facts.variables.clone());
        for flat in case.flatten() {
            scope.set("session", self.session_id.clone().into());
            let Ok(mut inner) = scope.with(&flat.row) else {
                continue;
            };
            let end = self.step(flat.step, &flat.at, &mut inner, dialing).await;
            for name in flat.step.bind.keys() {
                if let Some(value) = inner.get(name) {
                    scope.set(name, value.clone());
                }
            }
            match end {
                Exchange::Settled | Exchange::Ignored => {}
                other => return other,
            }
        }
        Exchange::Settled
    }

    async fn step(
        &mut self,
        step: &Step,
        at: &Arc<str>,
        scope: &mut Scope,
        dialing: &mut Dialing,
    ) -> Exchange {
        match &step.action {
            Action::Send(outgoing) => {
                let frame = match self.fill(outgoing, scope) {
                    Ok(frame) => frame,
                    Err(missing) => {
                        // A value that an earlier answer should have brought.
                        self.mark(
                            at,
                            Mark::Skipped {
                                why: missing.to_string(),
                            },
                        );
                        return Exchange::Settled;
                    }
                };
                let end = self.guarded(step, at, frame).await;
                if !step.bind.is_empty()
                    && let Some(view) = self.judge.answer_view(at)
                {
                    for (name, pointer) in &step.bind {
                        if let Some(value) = view.pointer(pointer) {
                            scope.set(name, value.clone());
                        }
                    }
                }
                end
            }
            Action::List {
                with_user_tools,
                cursor,
            } => {
                let fill = |value: &Option<Value>| {
                    value.as_ref().map(|value| scope.fill(value)).transpose()
                };
                match (fill(with_user_tools), fill(cursor)) {
                    (Ok(flag), Ok(cursor)) => match self.list(at, flag, cursor).await {
                        Ok(_) => Exchange::Settled,
                        Err(end) => end,
                    },
                    (Err(missing), _) | (_, Err(missing)) => {
                        self.mark(
                            at,
                            Mark::Skipped {
                                why: missing.to_string(),
                            },
                        );
                        Exchange::Settled
                    }
                }
            }
            Action::Burst(steps) => self.burst(steps, at, scope).await,
            Action::Drop { after } => {
                self.send_all(after, at, scope).await;
                self.drop_link("the case asks for it");
                if self.reconnect(at, dialing).await {
                    Exchange::Settled
                } else {
                    Exchange::Gone
                }
            }
            Action::Reboot => self.reboot(at, dialing).await,
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

    /// Sends a step's message; where the step must not change the device, its settings are read
    /// before and after.
    async fn guarded(&mut self, step: &Step, at: &Arc<str>, frame: Frame) -> Exchange {
        let watched = step.unchanged.is_some() && self.facts.capabilities.contains("status");
        if watched {
            match self.status(&side(at, "before"), Role::Probe).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        let end = self.exchange(at, Role::Stimulus, frame, manner(step)).await;
        if step.acknowledged {
            self.wait_for_acknowledgement(at).await;
        }
        // The exchange with a ping has ended with its pong, and there is no other answer.
        let ping = matches!(step.action, Action::Send(Outgoing::Ping));
        if end == Exchange::Settled && !ping && step.expect.iter().any(Expect::wants_answer) {
            self.wait_for_answer(at).await;
        }
        if watched && end == Exchange::Settled {
            return match self.status(&side(at, "after"), Role::Probe).await {
                Exchange::Ignored => Exchange::Settled,
                other => other,
            };
        }
        end
    }

    async fn burst(&mut self, steps: &[Step], at: &Arc<str>, scope: &Scope) -> Exchange {
        let began = Instant::now();
        let (open, rest) = self.send_all(steps, at, scope).await;
        if self.link.is_none() {
            return Exchange::Gone;
        }
        let waiting = open.iter().map(|(seq, ..)| *seq).collect();
        let left = self.wait_for_all(at, waiting).await;
        if !left.is_empty() {
            self.conversation.missed();
        }
        let waited_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        for (seq, at, duty) in open {
            if !left.contains(&seq) {
                continue;
            }
            if self.link.is_none() {
                return Exchange::Gone;
            }
            if self.is_interrupted() {
                return Exchange::Interrupted;
            }
            self.mark(&at, Mark::NoAnswer { waited_ms });
            match self.fence(&at, duty.is_call()).await {
                Exchange::Settled => {}
                other => return other,
            }
        }
        // Whatever is expected of the others comes before the answer to a fence, or soon after it where
        // the device does not answer in turn.
        for (at, duty, wants_answer) in rest {
            let unanswered = !self.judge.is_answered(&at);
            if unanswered
                && let other @ (Exchange::Silent | Exchange::Gone | Exchange::Interrupted) =
                    self.fence(&at, duty.is_call()).await
            {
                return other;
            }
            if unanswered && wants_answer {
                self.wait_for_answer(&at).await;
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
            let at = side(at, &index.to_string());
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

    /// The frame of a step with all variables filled in.
    fn fill(&mut self, outgoing: &Outgoing, scope: &Scope) -> Result<Frame, Missing> {
        let mut scope = scope.clone();
        let fresh = self.conversation.fresh_id();
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
                outbound::request(&id, &name(method)?, optional(params)?.as_ref()).to_string()
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
            Outgoing::Binary(hex) => {
                return Ok(Frame::Binary(
                    mcp_hil_core::wire::from_hex(hex).unwrap_or_default(),
                ));
            }
            Outgoing::Ping => return Ok(Frame::Ping(format!("mcp-hil {fresh}").into_bytes())),
        };
        Ok(self.envelope(&payload))
    }
}

/// How a step wants its message sent.
fn manner(step: &Step) -> Manner {
    match step.fragment {
        Some(bytes) => Manner::Pieces(bytes),
        None if step.acknowledged => Manner::Acknowledged,
        None => Manner::Plain,
    }
}
