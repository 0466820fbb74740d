//! The entries of one case, with lookups: what was sent at a step, what answered it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::put_off::{is_limited, is_put_off, says_no_room};
use mcp_hil_core::step::{FENCES, StepKind, beside, is_of_scenario, parts};
use mcp_hil_core::transcript::{Entry, Mark, Role, TargetEvent, What};
use mcp_hil_core::wire::{Frame, Inbound, Payload, as_integer, without_lone_surrogates};

/// Most lines of the console that are told of a breakdown.
const LAST_WORDS: usize = 8;

/// The settings in a status reading that tool calls of the suite could change.
const SETTINGS: [&str; 4] =
    ["/audio_speaker/volume", "/audio_speaker/muted", "/screen/brightness", "/screen/theme"];

/// An entry with what the observer worked out about it.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    pub(crate) entry: Entry,
    pub(crate) inbound: Option<Inbound>,
    /// For a received frame: `seq` of the message that it answers.
    pub(crate) answers: Option<u64>,
    /// Whether it does so under another id.
    pub(crate) wrong_id: bool,
}

/// How ESP-IDF begins the lines of errors and of warnings, and the words that other programs have in theirs.
const ERRORS: (&str, [&str; 3]) = ("E (", ["ERROR", "CRITICAL", "FATAL"]);
const WARNINGS: (&str, [&str; 3]) = ("W (", ["WARNING", "WARN", "Traceback"]);

/// Among how many words of a line such a word stands: time stamps and the name of the program may precede it.
const LEVEL_WITHIN: usize = 12;

/// Most complaints of the console that are told of a device that answers nothing.
const COMPLAINTS_TOLD: usize = 3;

/// The entries of one attempt at a case.
#[derive(Debug, Clone, Default)]
pub(crate) struct CaseLog {
    pub(crate) entries: Vec<Logged>,
    /// Where in `entries` the message of a step was sent.
    sent: HashMap<Arc<str>, usize>,
    /// Where in `entries` the answer to a message stands, by the message's `seq`.
    answers: HashMap<u64, usize>,
    /// Messages that an error with id null refuses, as they may be refused.
    refused: HashSet<u64>,
    /// Steps whose messages were sent again, as too many came before the first time.
    resent: HashSet<Arc<str>>,
}

/// How a step's message was answered.
#[derive(Debug)]
pub(crate) enum Reply<'a> {
    /// Nothing was sent at the step.
    NotSent,
    /// By an answer whose payload is a JSON object.
    Answer(&'a Logged, &'a Map<String, Value>),
    /// By a frame that is no readable answer.
    Broken(&'a Logged),
    /// There was no answer.
    Silence,
}

impl CaseLog {
    /// Adds an entry.
    pub(crate) fn push(&mut self, logged: Logged) {
        let at = self.entries.len();
        if let (What::Sent { role, .. }, Some(step)) = (&logged.entry.what, &logged.entry.step)
            && !matches!(role, Role::Hello | Role::Reply)
        {
            // What was refused for the moment is sent again.
            if self.is_put_off(step) {
                self.sent.insert(step.clone(), at);
                self.resent.insert(step.clone());
            } else {
                self.sent.entry(step.clone()).or_insert(at);
            }
        }
        if let Some(asked) = logged.answers {
            self.answers.entry(asked).or_insert(at);
        }
        self.entries.push(logged);
    }

    /// Notes that the frame received as `seq` answers the message `asked`, under another id.
    pub(crate) fn answered_under_wrong_id(&mut self, seq: u64, asked: u64) {
        let at = self.entries.iter().position(|logged| logged.entry.seq == seq);
        if let Some(at) = at {
            self.entries[at].answers = Some(asked);
            self.entries[at].wrong_id = true;
            self.answers.entry(asked).or_insert(at);
        }
    }

    /// Notes that an error with id null refuses the message sent as `seq`.
    pub(crate) fn refused_without_id(&mut self, seq: u64) {
        self.refused.insert(seq);
    }

    /// Whether the message of a step, which may be refused, got an error with id null.
    pub(crate) fn is_refused_without_id(&self, step: &str) -> bool {
        self.sent(step).is_some_and(|sent| self.refused.contains(&sent.entry.seq))
    }

    /// The message that was sent at a step.
    pub(crate) fn sent(&self, step: &str) -> Option<&Logged> {
        self.sent.get(step).map(|at| &self.entries[*at])
    }

    /// The text that was sent at a step.
    pub(crate) fn sent_text(&self, step: &str) -> Option<String> {
        self.sent(step).and_then(|logged| logged.entry.frame()).map(Frame::display)
    }

    /// The text of the latest message that the case is about, if it was sent at or after this time.
    pub(crate) fn latest_stimulus(&self, since_us: u64) -> Option<String> {
        let latest =
            self.entries.iter().rev().find(|logged| {
                matches!(&logged.entry.what, What::Sent { role: Role::Stimulus, .. })
            });
        let recent = latest.filter(|logged| logged.entry.at_us >= since_us);
        recent.and_then(|logged| logged.entry.frame()).map(Frame::display)
    }

    /// How the message of a step was answered.
    pub(crate) fn reply(&self, step: &str) -> Reply<'_> {
        let Some(sent) = self.sent(step) else {
            return Reply::NotSent;
        };
        let answer = self.answers.get(&sent.entry.seq);
        match answer.map(|at| &self.entries[*at]) {
            None => Reply::Silence,
            Some(logged) => match logged.inbound.as_ref().and_then(Inbound::payload) {
                Some(Payload::Answer(payload)) => Reply::Answer(logged, payload),
                _ => Reply::Broken(logged),
            },
        }
    }

    /// Whether the message of a step was refused because too many came before it.
    pub(crate) fn is_limited(&self, step: &str) -> bool {
        matches!(self.reply(step), Reply::Answer(_, payload) if is_limited(payload))
    }

    /// Whether the message of a step was refused for the moment.
    pub(crate) fn is_put_off(&self, step: &str) -> bool {
        matches!(self.reply(step), Reply::Answer(_, payload) if is_put_off(payload))
    }

    /// Whether the message of a step was refused, in whatever form.
    pub(crate) fn is_refused(&self, step: &str) -> bool {
        matches!(self.reply(step), Reply::Answer(_, payload) if is_refused(payload))
    }

    /// What the message of a step was refused with, if that may be for want of room beside others in flight: in words, under
    /// a code of the device's own, or because any refusal is none that the message deserves.
    pub(crate) fn refused_for_room(&self, step: &str) -> Option<String> {
        let Reply::Answer(_, payload) = self.reply(step) else { return None };
        let sent = &self.sent(step)?.entry.what;
        let is_good = matches!(sent, What::Sent { role: Role::Fence | Role::Probe, .. });
        if is_limited(payload) || says_no_room(payload) || is_good && is_refused(payload) {
            return serde_json::to_string(payload.get("error").or(payload.get("result"))?).ok();
        }
        let code = payload.get("error").and_then(|error| error.get("code"));
        code.filter(|_| super::answer::is_servers_own(payload)).map(ToString::to_string)
    }

    /// Whether nothing follows from how the message of a step was answered: it was refused for the moment, and was not
    /// sent again, as one whose id is a matter of the case.
    pub(crate) fn tells_nothing(&self, step: &str) -> bool {
        self.is_put_off(step) && !self.resent.contains(step)
    }

    /// Where in the transcript the harness was done with an unanswered message: where it was given up or, with
    /// `fences`, where a good request that followed it was answered.
    pub(crate) fn done_with(&self, step: &str, fences: bool) -> Option<u64> {
        let gives_up = |logged: &&Logged| {
            logged.entry.step.as_deref() == Some(step)
                && matches!(&logged.entry.what, What::Mark { mark: Mark::NoAnswer { .. } })
        };
        let given_up = self.entries.iter().find(gives_up).map(|logged| logged.entry.seq);
        let fence = FENCES.iter().filter(|_| fences).filter_map(|fence| {
            let sent = self.sent(&beside(step, *fence))?;
            self.answers.get(&sent.entry.seq).map(|at| self.entries[*at].entry.seq)
        });
        given_up.into_iter().chain(fence).min()
    }

    /// Where in the transcript the answer stands to the message sent as `seq`.
    pub(crate) fn answered_at(&self, seq: u64) -> Option<u64> {
        self.answers.get(&seq).map(|at| self.entries[*at].entry.seq)
    }

    /// The answer to the message sent as `seq`, as scenarios see it; `None` where it cannot be read, too.
    pub(crate) fn answer_to(&self, seq: u64) -> Option<Map<String, Value>> {
        let logged = &self.entries[*self.answers.get(&seq)?];
        match logged.inbound.as_ref()?.payload()? {
            Payload::Answer(payload) => Some(view(payload)),
            _ => None,
        }
    }

    /// The message that was sent at a step, and in how many microseconds it was answered; `None` where it was not.
    pub(crate) fn took_us(&self, step: &str) -> Option<(&Entry, u64)> {
        let sent = &self.sent(step)?.entry;
        let answer = &self.entries[*self.answers.get(&sent.seq)?].entry;
        Some((sent, answer.at_us.saturating_sub(sent.at_us)))
    }

    /// Where in the transcript the answer to the message of a step stands, if that came under the message's own id.
    pub(crate) fn own_answer(&self, step: &str) -> Option<u64> {
        let at = *self.answers.get(&self.sent(step)?.entry.seq)?;
        let answer = &self.entries[at];
        (!answer.wrong_id).then_some(answer.entry.seq)
    }

    /// Whether the entry at this place of the transcript is a frame of the device.
    pub(crate) fn is_received(&self, seq: u64) -> bool {
        let received = |logged: &Logged| matches!(logged.entry.what, What::Received { .. });
        self.entries.iter().any(|logged| logged.entry.seq == seq && received(logged))
    }

    /// Whether a good request sent at a step was answered at all.
    pub(crate) fn answered(&self, step: &str) -> bool {
        matches!(self.reply(step), Reply::Answer(..) | Reply::Broken(_))
    }

    /// Whether the device answered a good request that followed the message of a step.
    pub(crate) fn fenced(&self, step: &str) -> bool {
        FENCES.iter().any(|fence| self.answered(&beside(step, *fence)))
    }

    /// Whether a good request was to follow the message of a step.
    pub(crate) fn has_fence(&self, step: &str) -> bool {
        FENCES.iter().any(|fence| self.sent(&beside(step, *fence)).is_some())
    }

    /// Whether a message of the case has no answer, whether one is owed or not.
    pub(crate) fn lacks_answers(&self) -> bool {
        let asked = |at: &usize| self.entries[*at].entry.seq;
        self.sent.values().any(|at| !self.answers.contains_key(&asked(at)))
    }

    /// Whether the message sent at this place of the transcript is one of the case.
    pub(crate) fn holds(&self, seq: u64) -> bool {
        self.sent.values().any(|at| self.entries[*at].entry.seq == seq)
    }

    /// Whether a step of the case put anything before the device.
    pub(crate) fn has_stimulus(&self) -> bool {
        self.entries.iter().any(|logged| {
            let step = logged.entry.step.as_deref().unwrap_or_default();
            matches!(&logged.entry.what, What::Sent { role, .. } if *role != Role::Reply)
                && is_of_scenario(step)
        })
    }

    /// Why no step of the case was carried out.
    pub(crate) fn why_not_carried_out(&self) -> String {
        let lacks_link = |logged: &Logged| match &logged.entry.what {
            What::Mark { mark: Mark::NoLink { waited_ms } } => {
                Some(format!("the device did not connect within {waited_ms} ms"))
            }
            What::LinkDown { why, .. } => Some(format!("the connection was lost: {why}")),
            _ => None,
        };
        let skipped = |logged: &Logged| match &logged.entry.what {
            What::Mark { mark: Mark::Skipped { why } } => Some(why.clone()),
            _ => None,
        };
        // A step is left out for many a harmless reason as well.
        let why = self.entries.iter().find_map(lacks_link);
        why.or_else(|| self.entries.iter().find_map(skipped))
            .unwrap_or_else(|| "no step could be executed".to_owned())
    }

    /// Whether anything that came after this place was an answer.
    pub(crate) fn answered_after(&self, seq: u64) -> bool {
        self.entries.iter().any(|logged| logged.entry.seq > seq && logged.answers.is_some())
    }

    /// The last request that fenced another one and was not answered, if nothing was answered after it, and
    /// how long the harness waited.
    pub(crate) fn fell_silent(&self) -> Option<(u64, u64)> {
        self.entries.iter().rev().find_map(|logged| {
            let What::Mark { mark: Mark::NoAnswer { waited_ms } } = &logged.entry.what else {
                return None;
            };
            let step = logged.entry.step.as_deref()?;
            parts(step).1.filter(|kind| kind.is_fence())?;
            let sent = self.sent(step)?.entry.seq;
            (!self.answered(step) && !self.answered_after(sent)).then_some((sent, *waited_ms))
        })
    }

    /// Console lines of the case, with their places.
    pub(crate) fn console(&self) -> impl Iterator<Item = (u64, &str)> {
        self.entries.iter().filter_map(|logged| match &logged.entry.what {
            What::Console { line } => Some((logged.entry.seq, line.as_str())),
            _ => None,
        })
    }

    /// What the console complains of since the first message of the case, each complaint once.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let is_message =
            |logged: &Logged| matches!(logged.entry.what, What::Sent { role: Role::Stimulus, .. });
        let first = self.entries.iter().find(|logged| is_message(logged));
        let since = first.map_or(u64::MAX, |logged| logged.entry.seq);
        let is_complaint = |line: &&str| is_of_level(line, ERRORS) || is_of_level(line, WARNINGS);
        // The time that stands before it makes no difference.
        let said = |line: &str| line.split_once(')').map_or(line, |(_, said)| said).to_owned();
        let mut told = BTreeSet::new();
        let lines = self.console().filter(|(seq, _)| *seq > since).map(|(_, line)| line);
        let lines = lines.filter(is_complaint).filter(|line| told.insert(said(line)));
        let mut lines: Vec<&str> = lines.collect();
        // What went wrong before what is merely odd; each kind in its order.
        lines.sort_by_key(|line| !is_of_level(line, ERRORS));
        lines.into_iter().take(COMPLAINTS_TOLD).map(str::to_owned).collect()
    }

    /// What the console said when the device broke down: a panic with what follows it, the last stack trace from
    /// the line that names its cause, or the last lines before the process ended.
    pub(crate) fn last_words(&self) -> Vec<String> {
        let mut lines: Vec<&str> = Vec::new();
        let mut panicked = false;
        for logged in &self.entries {
            match &logged.entry.what {
                What::Console { line } => {
                    if !panicked && super::console::is_panic(line) {
                        panicked = true;
                        lines.clear();
                    }
                    let tells = !line.trim().is_empty() && !is_call_of_library(line);
                    lines.extend(Some(line.as_str()).filter(|_| tells));
                }
                What::Target { event: TargetEvent::Exited(_) } => break,
                _ => {}
            }
            if panicked && lines.len() == LAST_WORDS {
                break;
            }
        }
        let last = lines.len().saturating_sub(LAST_WORDS);
        // The trace of a deep stack is longer than what is told, and its cause stands above it.
        let begins = |at: &usize| !is_call(lines[*at]) && is_call(lines[*at + 1]);
        let trace = (0..last).rev().find(begins);
        let trace = trace.filter(|_| lines[last..].iter().any(|line| is_call(line)));
        let from = trace.unwrap_or(last);
        lines[from..].iter().take(LAST_WORDS).map(|line| (*line).to_owned()).collect()
    }

    /// Of a reading of the status that was repeated until it stood still, the name of the last one that was
    /// answered; of any other step its own name.
    pub(crate) fn settled(&self, step: &str) -> Arc<str> {
        let repeated = (1..).map(|number| beside(step, StepKind::Settle(number)));
        let repeated = repeated.take_while(|name| self.sent(name).is_some());
        let answered = repeated.filter(|name| matches!(self.reply(name), Reply::Answer(..)));
        answered.last().unwrap_or_else(|| step.into())
    }

    /// The settings that the device showed in a status reading at a step, once they stood still.
    pub(crate) fn settings(&self, step: &str) -> Option<Value> {
        match self.reply(&self.settled(step)) {
            Reply::Answer(_, payload) => settings(&Value::Object(view(payload))),
            _ => None,
        }
    }
}

/// Whether a line of the console is of a level of severity.
fn is_of_level(line: &str, (begin, words): (&str, [&str; 3])) -> bool {
    let parts = line.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    line.starts_with(begin) || parts.take(LEVEL_WITHIN).any(|part| words.contains(&part))
}

/// Whether a line is one of a stack trace, as programs in JavaScript and for the JVM print it: `    at f (x.js:1:2)`.
fn is_call(line: &str) -> bool {
    line.starts_with([' ', '\t']) && line.trim_start().starts_with("at ")
}

/// Whether a line of a sanitizer's trace is of a library: `    #1 0x525ce4 in std::copy /usr/include/c++/12/x.h:9`. Many of
/// them stand above the line that made the mistake.
fn is_call_of_library(line: &str) -> bool {
    let is_call = line.trim_start().strip_prefix('#').is_some_and(|it| it.contains(" in "));
    is_call && (line.contains(" /usr/include/") || line.contains("/libsanitizer/"))
}

/// The settings in the answer to a reading of the status, as scenarios see it.
pub fn settings(view: &Value) -> Option<Value> {
    let status = view.get("json")?;
    // Only what the documents describe as settings: charge, signal and uptime come and go.
    let mut settings = Map::new();
    for pointer in SETTINGS {
        if let Some(value) = status.pointer(pointer) {
            // 50 and 50.0 are one level.
            let value = as_integer(value).map_or_else(|| value.clone(), Value::from);
            settings.insert(pointer.to_owned(), value);
        }
    }
    Some(Value::Object(settings))
}

/// The parts of an answer that scenarios speak of: `result`, `error`, `text`, `json`.
pub fn view(payload: &Map<String, Value>) -> Map<String, Value> {
    let mut view = Map::new();
    let parts = [("result", payload.get("result")), ("error", super::answer::error_of(payload))];
    for (name, value) in parts {
        if let Some(value) = value {
            view.insert(name.into(), value.clone());
        }
    }
    let result = payload.get("result");
    let refused = is_refused(payload);
    if refused || result.is_some() {
        let outcome = if refused { "refused" } else { "done" };
        view.insert("outcome".into(), outcome.into());
    }
    let content = result.and_then(|result| result.get("content"));
    let is_text = |item: &&Value| item.get("type").and_then(Value::as_str) == Some("text");
    let items = content.and_then(Value::as_array).into_iter().flatten().filter(is_text);
    let mut texts = items.filter_map(|item| item.get("text").and_then(Value::as_str));
    if let Some(first) = texts.next() {
        view.insert("text".into(), first.into());
        // A result may have several items (MCP, server/tools, "Tool Result"): words may come before an object.
        let json = json_of(first);
        let object = json.clone().filter(Value::is_object);
        let object = object.or_else(|| {
            let rest: Vec<&str> = texts.collect();
            let whole =
                || json_of(&[&[first], &rest[..]].concat().concat()).filter(Value::is_object);
            rest.iter().filter_map(|text| json_of(text)).find(Value::is_object).or_else(whole)
        });
        if let Some(json) = object.or(json) {
            view.insert("json".into(), json);
        }
    }
    view
}

/// Whether an answer is an error, or a result that says so of itself (MCP, server/tools, "Error Handling"), be it in
/// words of its own.
pub(crate) fn is_refused(payload: &Map<String, Value>) -> bool {
    let result = payload.get("result");
    let failed = result.and_then(|result| result.get("isError"));
    super::answer::error_of(payload).is_some()
        || failed == Some(&Value::Bool(true))
        || result.is_some_and(tells_failure)
}

/// Whether the text of a result tells that the call failed: `{"success": false}`, as tools do that do not know `isError`.
pub(crate) fn tells_failure(result: &Value) -> bool {
    let content = result.get("content").and_then(Value::as_array);
    let mut texts = content.into_iter().flatten().filter_map(|item| item.get("text")?.as_str());
    texts.any(|text| {
        let may = text.trim_start().starts_with('{')
            && (text.contains("\"success\"") || text.contains("\"ok\""));
        let told = may.then(|| json_of(text)).flatten();
        told.is_some_and(|told| told["success"] == false || told["ok"] == false)
    })
}

/// What a text says as JSON. RFC 8259 section 8.2 lets it hold half a surrogate pair, which this parser refuses: what else
/// it says can be read all the same.
fn json_of(text: &str) -> Option<Value> {
    let read = |text: &str| serde_json::from_str(text).ok();
    read(text).or_else(|| read(&without_lone_surrogates(text)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::alone(&[r#"{"volume": 63}"#], r#"{"volume": 63}"#)]
    #[case::behind_words(&["Here it is:", r#"{"volume": 63}"#], "Here it is:")]
    #[case::in_pieces(&["{\"volume\":", " 63}"], "{\"volume\":")]
    #[case::behind_a_value(&["true", r#"{"volume": 63}"#], "true")]
    fn the_object_of_an_answer_is_found_among_its_texts(
        #[case] texts: &[&str],
        #[case] first: &str,
    ) {
        let item = |text: &&str| serde_json::json!({"type": "text", "text": text});
        let items: Vec<Value> = texts.iter().map(item).collect();
        let mut payload = Map::new();
        payload.insert("result".into(), serde_json::json!({"content": items}));
        let view = view(&payload);
        assert_eq!(view["json"]["volume"], 63);
        assert_eq!(view["text"], first);
    }

    #[test]
    fn half_a_surrogate_pair_does_not_hide_the_rest_of_a_status() {
        let status = r#"{"theme": "\ud800", "volume": 63}"#;
        let content = serde_json::json!({"content": [{"type": "text", "text": status}]});
        let mut payload = Map::new();
        payload.insert("result".into(), content);
        assert_eq!(view(&payload)["json"]["volume"], 63);
    }

    /// A deep stack fills the console behind the line that says what went wrong.
    #[rstest]
    #[case::deep(&["W: x", "TypeError: x"], 30, 2, "TypeError: x")]
    #[case::shallow(&["W: x", "TypeError: x"], 3, 2, "W: x")]
    #[case::long_ago(&["TypeError: x", "    at f (a.js:1:2)"], 0, 8, "I: x")]
    fn the_cause_of_a_stack_trace_is_told(
        #[case] before: &[&str],
        #[case] calls: usize,
        #[case] after: usize,
        #[case] first: &str,
    ) {
        let calls = std::iter::repeat_n("    at f (a.js:1:2)", calls);
        let after = std::iter::repeat_n("I: x", after);
        let mut log = CaseLog::default();
        for line in before.iter().copied().chain(calls).chain(after) {
            let what = What::Console { line: line.into() };
            let entry = Entry { seq: 0, at_us: 0, case: "a/a".into(), step: None, what };
            log.push(Logged { entry, inbound: None, answers: None, wrong_id: false });
        }
        let told = log.last_words();
        assert_eq!(told[0], first, "{told:?}");
        assert!(told.len() <= LAST_WORDS, "{told:?}");
    }
}
