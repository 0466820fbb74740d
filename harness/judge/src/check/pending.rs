//! Which request an answer belongs to: accounting over the whole session, without judgement.
//!
//! It stays small over any number of exchanges: answered requests leave, and of the ids that the
//! harness numbers itself only the latest are remembered one by one.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::wire::id_key;

/// How many answered requests are remembered, to name the request that was answered twice.
const REMEMBERED: usize = 4096;

/// Begins the keys of messages without id; no JSON text begins so.
const NAMELESS: char = '@';

/// A message of the harness.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub(crate) seq: u64,
    pub(crate) at_us: u64,
    pub(crate) case: Arc<str>,
    pub(crate) step: Option<Arc<str>>,
    pub(crate) link: u64,
    pub(crate) duty: Duty,
    pub(crate) text: Arc<str>,
    /// Whether others of the case waited for their answers when it was sent.
    pub(crate) in_line: bool,
}

impl Open {
    /// Whether it has no id, so that it is no request.
    pub(crate) fn is_note(&self) -> bool {
        self.duty.id.is_none() && self.duty.method.is_some()
    }

    /// Whether a text names its method.
    pub(crate) fn is_quoted_in(&self, text: &str) -> bool {
        let method = self.duty.method.as_deref().filter(|method| method.len() > 4);
        method.is_some_and(|method| text.contains(method))
    }
}

/// What an id of an answer refers to.
#[derive(Debug)]
pub(crate) enum Found {
    /// A message that waits for its answer, or owes none.
    Open(Open),
    /// A request that was answered before.
    Settled(Settled),
    /// Nothing that was ever sent, or too long ago.
    Unknown,
}

/// A request that was answered.
#[derive(Debug, Clone)]
pub(crate) struct Settled {
    pub(crate) case: Arc<str>,
    pub(crate) step: Option<Arc<str>>,
    /// Number of the link on which it was asked.
    pub(crate) link: u64,
}

/// What an id that is used again was used for before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reuse {
    /// The case that used it.
    pub(crate) case: Arc<str>,
}

/// The messages of a session by their ids.
#[derive(Debug, Default)]
pub(crate) struct PendingRequests {
    open: HashMap<String, Open>,
    settled: HashMap<String, Settled>,
    order: VecDeque<String>,
}

impl PendingRequests {
    /// Enters a message. Returns where its id was used before on this link, if it was.
    pub(crate) fn sent(&mut self, open: Open) -> Option<Reuse> {
        let key = match &open.duty.id {
            Some(id) if !id.is_null() => id_key(id),
            // Null names no message: there may be several.
            _ => format!("{NAMELESS}{}", open.seq),
        };
        let link = open.link;
        let settled = self.settled.remove(&key);
        let settled = settled.filter(|settled| settled.link == link);
        let Some(earlier) = self.open.insert(key, open) else {
            return settled.map(|settled| Reuse { case: settled.case });
        };
        let here = (earlier.link == link).then(|| Reuse { case: earlier.case.clone() });
        // Nothing can answer it under its id any more, but that it was not answered still counts: what came under another
        // id may be its answer.
        self.open.insert(format!("{NAMELESS}{}", earlier.seq), earlier);
        here.or_else(|| settled.map(|settled| Reuse { case: settled.case }))
    }

    /// Whether a request of the case waits for its answer on this link.
    pub(crate) fn any_waits(&self, case: &str, link: u64) -> bool {
        let waits = |open: &Open| open.duty.owes == Owes::Answer && open.link == link;
        self.open.values().any(|open| waits(open) && *open.case == *case)
    }

    /// Looks an answer's id up and settles the request that it answers.
    pub(crate) fn answered(&mut self, id: &Value) -> Found {
        let key = id_key(id);
        if let Some(open) = self.open.remove(&key) {
            self.remember(key, &open);
            return Found::Open(open);
        }
        match self.settled.get(&key) {
            Some(settled) => Found::Settled(settled.clone()),
            None => Found::Unknown,
        }
    }

    /// Where the message with this id was sent, while it waits for its answer.
    pub(crate) fn waiting(&self, id: &Value) -> Option<u64> {
        self.open.get(&id_key(id)).map(|open| open.seq)
    }

    /// The message that was sent at this place of the transcript, when it is still unanswered.
    pub(crate) fn unanswered(&self, seq: u64) -> Option<&Open> {
        self.open.values().find(|open| open.seq == seq)
    }

    /// Whether a request that waits for its answer gave this token for progress.
    pub(crate) fn has_token(&self, token: &Value) -> bool {
        self.tokens().any(|asked| id_key(&asked) == id_key(token))
    }

    /// Where the request was sent that waits for its answer and gave this token, if it is the only one.
    pub(crate) fn only_with_token(&self, token: &Value) -> Option<u64> {
        let key = id_key(token);
        let mut all = self.given_tokens().filter(|(_, asked)| id_key(asked) == key);
        let (seq, _) = all.next()?;
        all.next().is_none().then_some(seq)
    }

    /// Whether one of them gave a token that is none, or that not every device can give back.
    pub(crate) fn has_odd_token(&self) -> bool {
        let is_plain = |token: &Value| match token {
            Value::String(text) => text.chars().all(|letter| letter >= ' ' && letter != '\u{FFFD}'),
            number => number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        };
        self.tokens().any(|token| !is_plain(&token))
    }

    fn tokens(&self) -> impl Iterator<Item = Value> {
        self.given_tokens().map(|(_, token)| token)
    }

    /// The tokens of the requests that wait, each with where that was sent.
    fn given_tokens(&self) -> impl Iterator<Item = (u64, Value)> {
        let open = self.open.values().filter(|open| open.text.contains("\"progressToken\""));
        open.map(|open| {
            // One that no parser takes gives none that is known.
            let mut sent: Value = serde_json::from_str(&open.text).unwrap_or_default();
            let token = sent.pointer_mut("/payload/params/_meta/progressToken");
            (open.seq, token.map(Value::take).unwrap_or_default())
        })
    }

    /// Forgets, at the end of a case, what only that case could use: messages without id, and
    /// the oldest ones when very many never got an answer.
    pub(crate) fn end_case(&mut self) {
        self.open.retain(|key, _| !key.starts_with(NAMELESS));
        if self.open.len() > 2 * REMEMBERED {
            let mut seqs: Vec<u64> = self.open.values().map(|open| open.seq).collect();
            seqs.sort_unstable();
            let oldest_kept = seqs[seqs.len() - REMEMBERED];
            self.open.retain(|_, open| open.seq >= oldest_kept);
        }
    }

    fn remember(&mut self, key: String, open: &Open) {
        if self.order.len() == REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.settled.remove(&oldest);
        }
        self.order.push_back(key.clone());
        let (case, step, link) = (open.case.clone(), open.step.clone(), open.link);
        self.settled.insert(key, Settled { case, step, link });
    }
}
