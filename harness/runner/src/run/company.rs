//! Which messages may be under way together: see [`super::flight`].

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::limits::MAX_OWED_MESSAGE_BYTES;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::wire::Frame;
use mcp_hil_scenario::{Action, Case, Expect, Outgoing, Scope, Step};
use serde_json::Value;

use super::ids::is_legal_with_own_id;
use super::session::Session;
use super::settle::reads_status;
use super::stimulus::opens;

/// What fits into one frame of every real device (`robustness/long-string`).
const ONE_FRAME: usize = 61_000;

/// What may be under way together with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    /// Nothing.
    None,
    /// The readings beside it.
    Readings,
    /// Other messages.
    Others,
}

impl Session {
    /// Whether a case may be carried out with its messages under way together, and then again if need be. One with ids
    /// of its own could not: each is used once in a session. One that needs several connections may where the device
    /// `is_quick` to make them.
    pub(super) fn may_fly(&mut self, case: &Case, is_quick: bool) -> bool {
        if !self.flights.are_open() {
            return false;
        }
        let mut scope = Scope::new(self.device.facts.variables.clone());
        scope.set("session", self.connection.session_id.clone().into());
        let mut repeats = |step: &Step, scope: &Scope| match &step.action {
            Action::Send(outgoing) => match self.fill(outgoing, scope) {
                Ok(frame) => !is_legal_with_own_id(outgoing, &frame),
                Err(_) => !matches!(outgoing, Outgoing::Request { id: Some(_), .. }),
            },
            _ => false,
        };
        case.flatten().iter().all(|flat| {
            let scope = scope.with(&flat.row).unwrap_or_else(|_| scope.clone());
            match &flat.step.action {
                Action::Send(_) => repeats(flat.step, &scope),
                Action::Burst(steps) => steps.iter().all(|step| repeats(step, &scope)),
                Action::List { .. } | Action::Configure { .. } => true,
                Action::Disconnect { after, .. } => is_quick && after.is_empty(),
                _ => false,
            }
        })
    }

    /// The message of a step, if it may be under way together with others, or at least with the readings beside it. Where
    /// nothing is read beside it, and it does not end the case, nothing would be gained by that.
    pub(super) fn boards(
        &mut self,
        step: &Step,
        scope: &Scope,
        is_last: bool,
    ) -> Option<(Company, Frame, Duty)> {
        let Action::Send(outgoing) = &step.action else {
            return None;
        };
        // What takes its time to change is read when it stands still.
        let stands_still = !self.settling.takes_time();
        let reads = reads_status(outgoing) || step.unchanged.is_some();
        if !self.flights.is_on
            || step.acknowledged
            || step.odd_frame.is_some()
            || matches!(outgoing, Outgoing::Ping(_) | Outgoing::Pong(_))
            || reads && !stands_still
        {
            return None;
        }
        let frame = self.fill(outgoing, scope).ok()?;
        let duty = Duty::of(&frame);
        match self.company_of(step, outgoing, &frame, &duty) {
            Company::None => None,
            Company::Readings if step.unchanged.is_none() && !is_last => None,
            company => Some((company, frame, duty)),
        }
    }

    /// What may be under way together with a message.
    fn company_of(&self, step: &Step, outgoing: &Outgoing, frame: &Frame, duty: &Duty) -> Company {
        let unknown_type = Owes::Silence(Id::EnvelopeUnknownTypeIgnored);
        let odd = duty.owes != Owes::Answer;
        let wants_answer = odd && step.expect.iter().any(Expect::wants_answer);
        // The readings beside a call are calls, and in order with no other message.
        let unordered = self.flights.is_apart && step.unchanged.is_some() && !duty.is_call();
        let opens_oddly = odd && opens(outgoing);
        let is_cut = matches!(frame, Frame::NotUtf8(_) | Frame::Odd(..));
        // Which of several a refusal under no id is about, nobody knows: devices refuse ids of a kind so.
        let is_text = odd && duty.id.as_ref().is_some_and(Value::is_string);
        let alone = opens_oddly
            || is_text && self.flights.texts_alone
            || is_cut
            || duty.ends_session.is_some()
            || Duty::restarts(frame)
            || odd && (self.flights.odd_alone || wants_answer && self.flights.wanted_alone)
            || odd && self.conversation.fence(duty.is_call()).is_none()
            || unordered
            || !odd && self.conversation.ignores(duty);
        // What came behind a message that is refused by closing the connection would be lost with it.
        let may_cut = frame.len() > MAX_OWED_MESSAGE_BYTES;
        let is_longest = may_cut && (self.flights.longest_alone || frame.len() > ONE_FRAME);
        match may_cut || duty.owes == unknown_type {
            _ if alone || is_longest || wants_answer && may_cut => Company::None,
            true => Company::Readings,
            false => Company::Others,
        }
    }
}
