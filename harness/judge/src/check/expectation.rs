//! The expectations that a scenario's steps carry, judged over the case's transcript.

use mcp_hil_core::catalogue::RequirementId as Id;
use serde_json::{Map, Value};

use super::control::Controls;
use super::log::{CaseLog, Logged, Reply, is_refused, view};
use super::pace;
use super::put_off::has_no_room;
use super::setters::{self, gives_a_reason, is_locked};
use super::sink::Sink;
use mcp_hil_core::capability::{Facts, VOLUME_TOLERANCE, only_reads};
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::step::{self, StepKind, beside};
use mcp_hil_core::transcript::{Party, Role, TargetEvent, What};
use mcp_hil_core::verdict::{Evidence, Outcome};
use mcp_hil_core::wire::{Frame, Inbound, as_integer};
use mcp_hil_scenario::{Action, Answer, Case, Expect, Flat, Matcher, Missing, Scope, Step};

/// Codes of errors that a parser leads to: parse error and invalid request (JSON-RPC 2.0, section 5.1).
const PARSER_CODES: [i64; 2] = [-32700, -32600];

/// Where a reading of the status has the level of the loudspeaker.
const LEVEL: &str = "/json/audio_speaker/volume";

/// What asks for the very level, also of a loudspeaker with few.
const EXACT: [Id; 3] = [Id::VolumeExact, Id::VolumeZero, Id::VolumeHundred];

/// Judges all steps of a case.
pub(crate) fn judge(
    case: &Case,
    log: &CaseLog,
    facts: &Facts,
    controls: &mut Controls,
    sink: &mut Sink,
) {
    controls.begin(&sink.case);
    let mut judge = Judge {
        log,
        facts,
        controls,
        sink,
        skipped: None,
        was_crowded: false,
        was_refused: false,
        unmoved: None,
    };
    let mut scope = Scope::new(facts.variables.clone());
    for flat in case.flatten() {
        judge.flat(&flat, &mut scope);
    }
    // Steps that were never reached are told once: they have one cause.
    if let Some((requirement, at, why)) = judge.skipped {
        let crashed = sink.found.iter().any(|j| matches!(j.outcome, Outcome::Broken(_)));
        if !crashed {
            sink.add(requirement, sink.case.clone(), Some(at.into()), Outcome::Unclear(why));
        }
    }
}

/// Whether an answer, as scenarios see it, has all that a step expects of its parts.
pub fn shows(step: &Step, scope: &Scope, view: &Value) -> bool {
    let mut parts = step.expect.iter().flat_map(|expect| &expect.parts);
    parts.all(|(pointer, matcher)| {
        let Ok(pointer) = scope.fill_text(pointer) else {
            return true;
        };
        // What cannot be tested now will not be tested later.
        let shown = matcher.test(scope, view.pointer(&pointer));
        shown.map_or(true, |shown| shown.is_ok() || is_near(matcher, scope, &pointer, view))
    })
}

/// Whether a level is what a loudspeaker with few levels makes of one that is expected.
fn is_near(matcher: &Matcher, scope: &Scope, pointer: &str, view: &Value) -> bool {
    let Some(tolerance) = scope.get(VOLUME_TOLERANCE).and_then(as_integer) else {
        return false;
    };
    // A status may be compared as a whole, or in part.
    let Some(inner) = LEVEL.strip_prefix(pointer) else {
        return false;
    };
    let Some(level) = view.pointer(LEVEL).and_then(as_integer) else {
        return false;
    };
    let mut part = view.pointer(pointer).cloned().unwrap_or_default();
    (level - tolerance..=level + tolerance).any(|level| {
        if let Some(place) = part.pointer_mut(inner) {
            *place = level.into();
        }
        matcher.test(scope, Some(&part)).is_ok_and(|shown| shown.is_ok())
    })
}

struct Judge<'a> {
    log: &'a CaseLog,
    facts: &'a Facts,
    controls: &'a mut Controls,
    sink: &'a mut Sink,
    skipped: Option<(Id, String, String)>,
    /// Whether one of the messages in flight together was refused because the device had no room: what it should have
    /// done is not done, which the steps behind it would show.
    was_crowded: bool,
    /// Whether a command that had to be carried out was refused: what it should have done is not done, which the steps
    /// behind it would show as well.
    was_refused: bool,
    /// What the settings were before and after the last message that had to change nothing, and did not; and the
    /// requirement that this showed.
    unmoved: Option<(Id, Value)>,
}

/// After so many microseconds a screen may have dimmed by itself.
const DIMS_US: u64 = 1_200_000;

/// What was expected, and what was received instead.
type Mismatch = (String, String);

/// What an expectation comes to; `None` when it was not exercised.
type Judged = Option<Result<(), Evidence>>;

impl Judge<'_> {
    fn flat(&mut self, flat: &Flat<'_>, scope: &mut Scope) {
        let Ok(mut inner) = scope.with(&flat.row) else {
            return;
        };
        match &flat.step.action {
            Action::Burst(steps) => {
                let mut is_crowded = false;
                for (index, step) in steps.iter().enumerate() {
                    let at = step::message(&flat.at, index);
                    if self.has_no_room(&at) {
                        is_crowded = true;
                        self.held(step);
                    } else {
                        self.step(step, &at, &mut inner);
                    }
                }
                self.was_crowded |= is_crowded;
            }
            Action::Console { pattern } => self.console(flat, pattern, &inner),
            Action::Linger(_) => pace::judge(flat, self.log, self.sink),
            // A connection that lasted was kept alive, be it by other packets than PINGREQ.
            Action::KeepAlive => {
                let ends = |logged: &Logged| matches!(logged.entry.what, What::LinkDown { .. });
                if !self.log.entries.iter().any(ends) {
                    self.sink.held(Id::MqttKeepAlive);
                }
            }
            Action::List { .. }
            | Action::Disconnect { .. }
            | Action::Reboot
            | Action::Configure { .. }
            | Action::Close { .. }
            | Action::Audio { .. }
            | Action::Each { .. } => {}
            Action::Send(_) => {
                self.step(flat.step, &flat.at, &mut inner);
                for name in flat.step.bind.keys() {
                    if let Some(value) = inner.get(name) {
                        scope.set(name, value.clone());
                    }
                }
            }
        }
    }

    /// Whether a message among others was refused under a code of the device's own: who has no room for so many may
    /// say so (JSON-RPC 2.0, section 5.1).
    fn has_no_room(&self, at: &str) -> bool {
        matches!(self.log.reply(at), Reply::Answer(_, payload) if has_no_room(payload))
    }

    /// All that a step expects was tried, and nothing was found.
    fn held(&mut self, step: &Step) {
        step.expect.iter().for_each(|expect| self.sink.held(expect.requirement));
    }

    fn step(&mut self, step: &Step, at: &str, scope: &mut Scope) {
        self.sink.step = Some(at.into());
        // Only readings of the status are repeated.
        let reply = self.log.reply(&self.log.settled(at));
        if matches!(reply, Reply::NotSent) {
            if let (Some(expect), None) = (step.expect.first(), &self.skipped) {
                let why = self.log.why_not_carried_out();
                self.skipped = Some((expect.requirement, at.to_owned(), why));
            }
            return;
        }
        let shows_nothing = self.log.tells_nothing(at)
            || step.like.as_deref().is_some_and(|name| self.controls.has_failed(name));
        if shows_nothing {
            // It was tried; that it shows nothing is the control's finding, or lies in what came before.
            self.held(step);
        } else if !self.refused_by_parser(at, &reply) {
            self.expectations(step, at, &reply, scope);
        }
        // What nothing is expected of prepares what follows.
        let refused = match step.expect.iter().any(Expect::is_to_do) {
            true => matches!(&reply, Reply::Answer(_, payload) if is_refused(payload)),
            false => {
                step.expect.is_empty() && step.unchanged.is_none() && gives_a_reason(self.log, at)
            }
        };
        self.was_refused |= refused && self.may_set(at);
        // A call that was accepted is judged for that; what it changed follows from it.
        if let Some(requirement) = step.unchanged
            && !shows_nothing
            && !(self.may_set(at) && self.kind(Answer::Result, at, &reply).is_ok())
        {
            self.unchanged(requirement, at);
        }
        if let Reply::Answer(_, payload) = reply
            && !step.bind.is_empty()
        {
            let view = Value::Object(view(payload));
            for (name, pointer) in &step.bind {
                if let Some(value) = view.pointer(pointer) {
                    scope.set(name, value.clone());
                }
            }
        }
    }

    fn expectations(&mut self, step: &Step, at: &str, reply: &Reply<'_>, scope: &Scope) {
        for expect in &step.expect {
            let requirement = expect.requirement;
            if self.is_lost(step, at, expect) {
                self.lost(requirement, at);
                continue;
            }
            if (self.was_crowded || self.was_refused) && !expect.parts.is_empty() {
                self.sink.held(requirement);
                continue;
            }
            if self.is_unmoved(requirement, at) {
                self.sink.held(requirement);
                continue;
            }
            if requirement == Id::CallNameExact && self.is_listed(at) {
                // Two tools of the device may differ just so.
                self.sink.held(requirement);
                continue;
            }
            if expect.is_to_do() && is_locked(self.log, at) {
                // What it would have done shows once it is unlocked.
                setters::tell(self.log, at, self.sink);
                continue;
            }
            let judged = match is_unreadable_refusal(expect, reply) {
                true => None,
                false => self.expect(expect, step, at, reply, scope),
            };
            // The code of an error, say, is not what a variation has in common with its control.
            let holds = match expect.answer {
                Some(Answer::Any) if !expect.parts.is_empty() => judged.as_ref().map(Result::is_ok),
                Some(answer) => Some(self.kind(answer, at, reply).is_ok()),
                None if expect.parts.is_empty() => None,
                None => judged.as_ref().map(Result::is_ok),
            };
            if let (Some(name), Some(holds)) = (&step.control, holds) {
                self.controls.note(name, &self.sink.case, holds);
            }
            match judged {
                None => {}
                Some(Ok(())) => {
                    self.sink.held(requirement);
                    if expect.is_to_do() && self.may_set(at) {
                        self.sink.held(Id::CallCarriedOut);
                    }
                }
                Some(Err(evidence)) => {
                    self.sink.test(requirement, false, || evidence);
                }
            }
        }
    }

    /// Whether a parser that limits the characters in strings (RFC 8259, section 9) has refused a message, as far
    /// as that shows: then it says nothing about what the message is made for.
    fn refused_by_parser(&self, at: &str, reply: &Reply<'_>) -> bool {
        let holds_nul = |text: String| mcp_hil_core::obligation::holds_nul(&text);
        let refused = match reply {
            Reply::Silence => self.log.fenced(at),
            Reply::Answer(_, payload) => super::answer::error_of(payload)
                .and_then(|error| error.get("code").and_then(as_integer))
                .is_some_and(|code| PARSER_CODES.contains(&code)),
            _ => false,
        };
        refused && self.log.sent_text(at).is_some_and(holds_nul)
    }

    /// Whether the message of a step calls a tool that the device lists.
    fn is_listed(&self, at: &str) -> bool {
        let sent = self.log.sent(at).and_then(|logged| logged.entry.frame());
        let called = sent.and_then(|frame| Duty::of(frame).tool);
        called.is_some_and(|called| self.facts.tools.contains(&called))
    }

    /// Whether the message of a step is a call of a tool that does more than read.
    fn may_set(&self, at: &str) -> bool {
        let sent = self.log.sent(at).and_then(|logged| logged.entry.frame());
        let duty = sent.map(Duty::of).unwrap_or_default();
        duty.is_call() && !duty.tool.as_deref().is_some_and(only_reads)
    }

    /// Whether the device fell silent at this step, so that silence proves nothing.
    fn is_lost(&self, step: &Step, at: &str, expect: &Expect) -> bool {
        let answered = self.log.answered(at);
        let fenced = || self.log.fenced(at) || self.log.answered(&beside(at, StepKind::After));
        if expect.alive && !owes_answer(self.log, at) && !step.pings() {
            return !fenced();
        }
        !answered && !fenced() && !step.pings()
    }

    fn lost(&mut self, requirement: Id, at: &str) {
        let left = |logged: &Logged| {
            matches!(logged.entry.what, What::LinkDown { by: Party::Device, orderly: true, .. })
        };
        // Copies of the document differ on whether the device leaves its broker then.
        if requirement == Id::SessionGoodbye && self.log.entries.iter().any(left) {
            return;
        }
        let sent = self.log.sent_text(at);
        let death = self.log.entries.iter().find_map(|logged| match &logged.entry.what {
            What::LinkDown { by: Party::Device, why, .. } => {
                Some(format!("the connection ended: {why}"))
            }
            What::Target { event: TargetEvent::Exited(how) } => {
                Some(format!("the device's process {how}"))
            }
            _ => None,
        });
        let panic = self.log.console().find(|(_, line)| super::console::is_panic(line));
        let death = death.or_else(|| panic.map(|(_, line)| line.to_owned()));
        let outcome = match death {
            Some(received) => Outcome::Broken(Box::new(Evidence {
                expected: "the device keeps answering".into(),
                received,
                sent,
                seq: None,
            })),
            None => {
                let last = self.log.console().last().map_or("nothing", |(_, line)| line);
                Outcome::Unclear(format!("no answer, fence lost; console: {last}"))
            }
        };
        self.sink.add(requirement, self.sink.case.clone(), Some(at.into()), outcome);
    }

    fn expect(
        &self,
        expect: &Expect,
        step: &Step,
        at: &str,
        reply: &Reply<'_>,
        scope: &Scope,
    ) -> Judged {
        let held = match step.pings() {
            true => Some(self.pong(at)),
            false => self.answer(expect, at, reply, scope),
        };
        Some(held?.map_err(|(expected, received)| {
            let seq = match reply {
                Reply::Answer(logged, _) | Reply::Broken(logged) => Some(logged.entry.seq),
                _ => self.log.sent(at).map(|logged| logged.entry.seq),
            };
            Evidence { expected, received, sent: self.log.sent_text(at), seq }
        }))
    }

    /// Microseconds from the message before this one to the answer to this one.
    fn since_before(&self, at: &str) -> Option<u64> {
        let (asked, took) = self.log.took_us(at)?;
        let is_before = |logged: &&Logged| {
            let is_message = matches!(logged.entry.what, What::Sent { role: Role::Stimulus, .. });
            is_message && logged.entry.seq < asked.seq
        };
        let before = self.log.entries.iter().rev().find(is_before)?;
        Some((asked.at_us + took).saturating_sub(before.entry.at_us))
    }

    /// Whether a pong with the data of the ping came.
    fn pong(&self, at: &str) -> Result<(), Mismatch> {
        let sent = self.log.sent(at).and_then(|logged| match logged.entry.frame() {
            Some(Frame::Ping(data)) => Some(data),
            _ => None,
        });
        let pong = self.log.entries.iter().any(|logged| match logged.entry.frame() {
            Some(Frame::Pong(data)) => Some(data) == sent,
            _ => false,
        });
        if pong { Ok(()) } else { Err(("a pong with the data of the ping".into(), "none".into())) }
    }

    /// Compares an answer with all that is expected of it; `None` when a value to compare with is missing.
    fn answer(
        &self,
        expect: &Expect,
        at: &str,
        reply: &Reply<'_>,
        scope: &Scope,
    ) -> Option<Result<(), Mismatch>> {
        if let Reply::Answer(logged, _) = reply
            && logged.wrong_id
            && expect.requirement.area() == "ids"
        {
            return Some(Err(("the id of the request".into(), answer_text(reply))));
        }
        if expect.requirement == Id::CallBrightnessShown
            && self.since_before(at).is_some_and(|since| since > DIMS_US)
        {
            return None;
        }
        // A tool that gives a reason of its own has read the message, which is all that ids and frames are about.
        let is_read = matches!(expect.requirement.area(), "ids" | "jsonrpc" | "envelope")
            && expect.is_to_do()
            && self.may_set(at)
            && gives_a_reason(self.log, at);
        if let Some(answer) = expect.answer.filter(|_| !is_read)
            && let Err(received) = self.kind(answer, at, reply)
        {
            return Some(Err((wanted(answer).into(), received)));
        }
        let view = match reply {
            Reply::Answer(_, payload) if expect.looks_inside() => view(payload),
            _ => Map::new(),
        };
        if let Some(matcher) = &expect.if_error {
            // A refusal in another legal way holds; a code that is none is another check's affair.
            let error =
                view.get("error").filter(|error| error.get("code").and_then(as_integer).is_some());
            if let Some(error) = error
                && let Err(mismatch) = matcher.test(scope, Some(error)).ok()?
            {
                return Some(Err((
                    format!("error{} {}", mismatch.at, mismatch.expected),
                    format!("{}: {error}", mismatch.received),
                )));
            }
        }
        let view = Value::Object(view);
        for (pointer, matcher) in &expect.parts {
            let Ok(pointer) = scope.fill_text(pointer) else {
                continue;
            };
            match matcher.test(scope, view.pointer(&pointer)) {
                Ok(Ok(())) => {}
                Ok(Err(_))
                    if !EXACT.contains(&expect.requirement)
                        && is_near(matcher, scope, &pointer, &view) => {}
                Ok(Err(mismatch)) => {
                    return Some(Err((
                        format!("{pointer}{} {}", mismatch.at, mismatch.expected),
                        format!("{}, in {}", mismatch.received, answer_text(reply)),
                    )));
                }
                Err(_) if expect.if_bound => return None,
                Err(Missing(name)) => {
                    let why = format!("nothing to compare it with: no answer before gave `{name}`");
                    return Some(Err((matcher.describe(), why)));
                }
            }
        }
        if let Some(schema) = &expect.schema
            && let Some(result) = view.get("result")
            && let Ok(validator) = jsonschema::validator_for(schema)
            && let Err(error) = validator.validate(result)
        {
            return Some(Err((
                "a result that is valid under the schema".into(),
                error.to_string(),
            )));
        }
        Some(Ok(()))
    }

    /// Compares the kind of answer; the error is what was received instead.
    fn kind(&self, wanted: Answer, at: &str, reply: &Reply<'_>) -> Result<(), String> {
        let (result, error, failed) = match reply {
            Reply::Answer(_, payload) => {
                let result = payload.get("result");
                let failed = result.and_then(|result| result.get("isError"));
                (
                    result.is_some(),
                    super::answer::error_of(payload).is_some(),
                    failed == Some(&Value::Bool(true)),
                )
            }
            _ => (false, false, false),
        };
        let silent = matches!(reply, Reply::Silence);
        let holds = match wanted {
            Answer::Result => result && !error && !failed,
            Answer::Error => error && !result,
            Answer::Refused => {
                let told = matches!(reply, Reply::Answer(_, payload) if is_refused(payload));
                (error && !result) || told || (silent && !owes_answer(self.log, at))
            }
            // Who cannot give an id back may refuse it, and then says null instead (JSON-RPC 2.0, section 5).
            Answer::Any => result || error || silent && self.log.is_refused_without_id(at),
            Answer::None => silent,
        };
        if holds { Ok(()) } else { Err(answer_text(reply)) }
    }

    /// Whether a reading shows the settings that a message of this requirement left as it had found them: that they are
    /// others than a sequence expects comes from what was before it.
    fn is_unmoved(&self, requirement: Id, at: &str) -> bool {
        let unmoved = self.unmoved.as_ref().filter(|(of, _)| *of == requirement);
        unmoved.is_some_and(|(_, left)| self.log.settings(at).as_ref() == Some(left))
    }

    fn unchanged(&mut self, requirement: Id, at: &str) {
        // A change that was tried once more, from where the settings had been, has shown itself then.
        let again = beside(at, StepKind::Again);
        let again_after = beside(&again, StepKind::After);
        let at = match self.log.settings(&again_after) {
            Some(_) => &*again,
            None => at,
        };
        let before = self.log.settings(&beside(at, StepKind::Before));
        let after = self.log.settings(&beside(at, StepKind::After));
        if let (Some(before), Some(after)) = (before, after) {
            self.unmoved = (before == after).then(|| (requirement, after.clone()));
            let sent = self.log.sent_text(at);
            self.sink.test(requirement, before == after, || Evidence {
                expected: format!("settings unchanged: {before}"),
                received: after.to_string(),
                sent,
                seq: None,
            });
        }
    }

    fn console(&mut self, flat: &Flat<'_>, pattern: &str, scope: &Scope) {
        let Ok(pattern) = scope.fill_text(pattern) else {
            return;
        };
        let Ok(regex) = regex::Regex::new(&pattern) else {
            return;
        };
        self.sink.step = Some(flat.at.clone());
        // What was refused is not logged; that it was is told already.
        let shown = self.was_refused || self.log.console().any(|(_, line)| regex.is_match(line));
        let last = self.log.console().last().map_or("nothing", |(_, line)| line).to_owned();
        for expect in &flat.step.expect {
            let requirement = expect.requirement;
            self.sink.test(requirement, shown, || Evidence {
                expected: format!("a console line matching /{pattern}/"),
                received: format!("none; the last line of the case was: {last}"),
                ..Evidence::default()
            });
        }
    }
}

/// Whether a refusal may have come that cannot be read, because its frame is no JSON text. That it is none is told
/// of the frame; `errors.message-escaped` is about just this.
fn is_unreadable_refusal(expect: &Expect, reply: &Reply<'_>) -> bool {
    let Reply::Broken(logged) = reply else {
        return false;
    };
    matches!(logged.inbound, Some(Inbound::NotJson { .. } | Inbound::NotUtf8 { .. }))
        && matches!(expect.answer, Some(Answer::Error | Answer::Refused))
        && expect.requirement != Id::ErrorsMessageEscaped
}

fn owes_answer(log: &CaseLog, at: &str) -> bool {
    log.sent(at)
        .and_then(|logged| logged.entry.frame())
        .is_some_and(|frame| Duty::of(frame).owes == Owes::Answer)
}

fn wanted(answer: Answer) -> &'static str {
    match answer {
        Answer::Result => "a result without `isError` true",
        Answer::Error => "a JSON-RPC error",
        Answer::Refused => "a refusal: an error, or a result with isError true",
        Answer::Any => "an answer",
        Answer::None => "no answer",
    }
}

fn answer_text(reply: &Reply<'_>) -> String {
    match reply {
        Reply::Answer(_, payload) => Value::Object((*payload).clone()).to_string(),
        Reply::Broken(logged) => {
            let text = logged.entry.frame().map(Frame::display).unwrap_or_default();
            format!("a frame that is not an answer: {text}")
        }
        Reply::Silence | Reply::NotSent => "no answer".to_owned(),
    }
}
