//! Answers to batches (JSON-RPC 2.0, section 6): none where nothing was asked, and one for each that asked.

use std::collections::VecDeque;
use std::sync::Arc;

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::Duty;
use mcp_hil_core::transcript::Entry;
use mcp_hil_core::verdict::{Evidence, Outcome};
use mcp_hil_core::wire::Frame;
use serde_json::Value;

use super::sink::{Sink, evidence};

/// Most batches that are remembered.
const MOST: usize = 8;

/// The batches that were sent last. Their answers may come when the next case has begun.
#[derive(Debug, Default)]
pub(super) struct Batches(VecDeque<Batch>);

/// One that was sent.
#[derive(Debug)]
struct Batch {
    case: Arc<str>,
    step: Option<Arc<str>>,
    text: String,
    ids: Vec<Value>,
    /// How many of its members are no notifications: what is no request gets an error.
    owed: usize,
    answered: bool,
}

impl Batches {
    /// Whether there was any.
    pub(super) fn is_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// A frame went out; the ids in it if it is a batch.
    pub(super) fn sent(
        &mut self,
        entry: &Entry,
        frame: &Frame,
        sink: &mut Sink,
    ) -> Option<Vec<Value>> {
        let ids = Duty::batch_ids(frame)?;
        let text = frame.display();
        let envelope: Value = serde_json::from_str(&text).unwrap_or_default();
        let members = envelope["payload"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_note = |member: &&Value| member.is_object() && member.get("id").is_none();
        let owed = members.len() - members.iter().filter(is_note).count();
        sink.held(Id::JsonrpcBatchEmpty);
        sink.held(Id::JsonrpcBatchComplete);
        let (case, step) = (entry.case.clone(), entry.step.clone());
        self.0.push_back(Batch { case, step, text, ids: ids.clone(), owed, answered: false });
        if self.0.len() > MOST {
            self.0.pop_front();
        }
        Some(ids)
    }

    /// An array came that may be the answer to a batch.
    pub(super) fn answered(&mut self, seq: u64, answers: &[Value], sink: &mut Sink) {
        if answers.is_empty() {
            let Some(batch) = self.0.back() else { return };
            let expected = "no array without an answer in it";
            batch.broken(Id::JsonrpcBatchEmpty, evidence(expected, "[]", seq), sink);
            return;
        }
        let named = |batch: &Batch| {
            answers.iter().any(|answer| answer.get("id").is_some_and(|id| batch.ids.contains(id)))
        };
        let open = |batch: &&mut Batch| !batch.answered && batch.owed > 0;
        let meant = match self.0.iter().position(named) {
            Some(at) => self.0.get_mut(at),
            // Under the id null it may be any of them, and the least is owed for this one.
            None => self.0.iter_mut().filter(open).min_by_key(|batch| batch.owed),
        };
        let Some(batch) = meant else { return };
        batch.answered = true;
        let ids =
            || answers.iter().filter_map(|answer| answer.get("id")).filter(|id| !id.is_null());
        let twice =
            ids().enumerate().find(|(at, id)| ids().take(*at).any(|earlier| earlier == *id));
        if let Some((_, id)) = twice.filter(|(_, id)| batch.asks_once(id)) {
            let expected = "each answer under the id of its own request";
            let received = format!("{id} twice: {}", Value::Array(answers.to_vec()));
            batch.broken(Id::IdsEcho, evidence(expected, received, seq), sink);
        }
        // One error alone refuses the batch as a whole, as one that stands in no array does.
        let is_refusal = answers.len() == 1 && answers[0].get("id").is_none_or(Value::is_null);
        if is_refusal || answers.len() >= batch.owed {
            return;
        }
        let expected =
            format!("{} answers, one for each member that is no notification", batch.owed);
        let received = format!("{}: {}", answers.len(), Value::Array(answers.to_vec()));
        batch.broken(Id::JsonrpcBatchComplete, evidence(expected, received, seq), sink);
    }
}

impl Batch {
    /// Whether one request of it has this id, and no more.
    fn asks_once(&self, id: &Value) -> bool {
        self.ids.iter().filter(|one| *one == id).count() == 1
    }

    /// Tells it of this one, which may be of an earlier case.
    fn broken(&self, requirement: Id, evidence: Evidence, sink: &mut Sink) {
        let evidence = Evidence { sent: Some(self.text.clone()), ..evidence };
        let outcome = Outcome::Broken(Box::new(evidence));
        sink.add(requirement, self.case.clone(), self.step.clone(), outcome);
    }
}
