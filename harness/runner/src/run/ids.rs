//! An id is used once in a session of the protocol (MCP, basic/messages): a device may remember those that it has seen,
//! and refuse one that comes again.
//!
//! The harness's own ids count up. Those that scenarios and generated inputs give may come again in another case, or when
//! a case is tried again: then a new session begins first.

use std::sync::Arc;

use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::transcript::Role;
use mcp_hil_core::wire::{Frame, as_integer};
use mcp_hil_scenario::{Action, Case, Flat, Outgoing, Scope, Step};
use serde_json::Value;

use super::exchange::INITIALIZE;
use super::session::{Exchange, Session};

impl Session {
    /// Takes note of the id of the message that was sent last, and of the session that begins with it.
    pub(super) fn note_id(&mut self, role: Role) {
        if matches!(role, Role::Hello | Role::Reply) {
            // Nothing is owed for these.
            return;
        }
        let duty = self.judge.duty();
        let id = legal_id(duty);
        if let Some(id) = id {
            self.conversation.use_id(id);
        }
        if duty.method.as_deref() == Some(INITIALIZE) {
            if !self.connection.initialized {
                self.conversation.begin_session(id);
            }
            self.connection.initialized = true;
        }
    }

    /// Whether a case gives an id to a request that one of this session had.
    pub(super) fn repeats_an_id(&self, case: &Case) -> bool {
        let mut scope = Scope::new(self.device.facts.variables.clone());
        scope.set("session", self.connection.session_id.clone().into());
        for flat in case.flatten() {
            let Ok(scope) = scope.with(&flat.row) else {
                continue;
            };
            let repeats = |step: &Step| self.repeats(step, &scope);
            let (found, ends) = match &flat.step.action {
                Action::Send(_) => (repeats(flat.step), false),
                Action::Burst(steps) => (steps.iter().any(repeats), false),
                Action::Disconnect { after, .. } => (after.iter().any(repeats), true),
                // What comes behind these is on another connection.
                Action::Reboot | Action::Configure { .. } | Action::Close { .. } => (false, true),
                _ => (false, false),
            };
            if found || ends {
                return found;
            }
        }
        false
    }

    /// The ids that a case gives to requests itself.
    pub(super) fn own_ids(&self, case: &Case) -> Vec<Value> {
        let mut scope = Scope::new(self.device.facts.variables.clone());
        scope.set("session", self.connection.session_id.clone().into());
        let of_row = |flat: Flat<'_>| {
            let scope = scope.with(&flat.row).ok()?;
            let steps = match &flat.step.action {
                Action::Burst(steps) => &steps[..],
                _ => std::slice::from_ref(flat.step),
            };
            Some(steps.iter().filter_map(|step| self.own_id(step, &scope)).collect::<Vec<_>>())
        };
        case.flatten().into_iter().filter_map(of_row).flatten().collect()
    }

    fn repeats(&self, step: &Step, scope: &Scope) -> bool {
        self.own_id(step, scope).is_some_and(|id| self.conversation.is_used(&id))
    }

    fn own_id(&self, step: &Step, scope: &Scope) -> Option<Value> {
        let Action::Send(outgoing) = &step.action else {
            return None;
        };
        if !has_own_id(outgoing) {
            return None;
        }
        let frame = self.fill_as(outgoing, scope, self.conversation.next_fresh_id());
        legal_id(&Duty::of(&frame.ok()?)).cloned()
    }

    /// Begins another session on the same connection, where the device takes a second `initialize`.
    pub(super) async fn initialize_again(&mut self) -> Exchange {
        if !self.may_initialize_again() {
            return Exchange::Settled;
        }
        self.connection.initialized = false;
        let at: Arc<str> = "initialize".into();
        let end = self.initialize(&at).await;
        self.connection.initialized = true;
        end
    }
}

/// Whether a request carries an id that its scenario gave it, and that the device has to answer.
pub(super) fn is_legal_with_own_id(outgoing: &Outgoing, frame: &Frame) -> bool {
    has_own_id(outgoing) && legal_id(&Duty::of(frame)).is_some()
}

/// Whether a message does not get its id from the harness.
fn has_own_id(outgoing: &Outgoing) -> bool {
    match outgoing {
        Outgoing::Request { id, .. } => id.is_some(),
        Outgoing::Status | Outgoing::Notify { .. } => false,
        Outgoing::Payload(value) | Outgoing::Envelope(value) => {
            !value.to_string().contains("${id}")
        }
        Outgoing::PayloadText(text) | Outgoing::Text(text) => !text.contains("${id}"),
        Outgoing::TextBytes(_) | Outgoing::Binary(_) | Outgoing::Ping(_) | Outgoing::Pong(_) => {
            false
        }
    }
}

/// The id of a request that the device has to answer, or should: integers above 2^53 come back from most.
fn legal_id(duty: &Duty) -> Option<&Value> {
    let is_legal = |id: &&Value| {
        duty.owes == Owes::Answer || duty.owes == Owes::Nothing && as_integer(id).is_some()
    };
    duty.id.as_ref().filter(is_legal)
}
