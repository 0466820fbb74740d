//! The expectations that a scenario's steps carry, judged over the case's transcript.

use serde_json::{Map, Value};

use super::log::{CaseLog, Reply, side, view};
use super::sink::Sink;
use crate::capability::Facts;
use crate::obligation::{Duty, Owes};
use crate::scenario::{Action, Answer, Case, Expect, Flat, Outgoing, Scope, Step};
use crate::transcript::{Party, TargetEvent, What};
use crate::verdict::{Evidence, Outcome};
use crate::wire::as_integer;

/// Judges all steps of a case.
pub(crate) fn judge(case: &Case, log: &CaseLog, facts: &Facts, sink: &mut Sink) {
    let mut judge = Judge {
        log,
        sink,
        skipped: None,
    };
    let mut scope = Scope::new(facts.variables.clone());
    for flat in case.flatten() {
        judge.flat(&flat, &mut scope);
    }
    // Steps that were never reached are told once: they have one cause.
    if let Some((requirement, at, why)) = judge.skipped {
        let crashed = sink
            .found
            .iter()
            .any(|j| matches!(j.outcome, Outcome::Broken(_)));
        if !crashed {
            sink.add(
                requirement,
                sink.case.clone(),
                Some(at.into()),
                Outcome::Unclear(why),
            );
        }
    }
}

struct Judge<'a> {
    log: &'a CaseLog,
    sink: &'a mut Sink,
    skipped: Option<(&'static str, String, String)>,
}

/// What an expectation comes to; `None` when it was not exercised.
type Judged = Option<Result<(), Evidence>>;

impl Judge<'_> {
    fn flat(&mut self, flat: &Flat<'_>, scope: &mut Scope) {
        let Ok(mut inner) = scope.with(&flat.row) else {
            return;
        };
        match &flat.step.action {
            Action::Burst(steps) => {
                for (index, step) in steps.iter().enumerate() {
                    self.step(step, &side(&flat.at, &index.to_string()), &mut inner);
                }
            }
            Action::Console { pattern } => self.console(flat, pattern, &inner),
            Action::List { .. }
            | Action::Drop { .. }
            | Action::Reboot
            | Action::KeepAlive
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

    fn step(&mut self, step: &Step, at: &str, scope: &mut Scope) {
        self.sink.step = Some(at.into());
        let reply = self.log.reply(at);
        if matches!(reply, Reply::NotSent) {
            if let (Some(expect), None) = (step.expect.first(), &self.skipped) {
                let why = self.log.why_not_carried_out();
                self.skipped = Some((expect.requirement, at.to_owned(), why));
            }
            return;
        }
        for expect in &step.expect {
            let requirement = expect.requirement;
            if self.is_lost(step, at, expect) {
                self.lost(requirement, at);
                continue;
            }
            match self.expect(expect, step, at, &reply, scope) {
                None => {}
                Some(Ok(())) => self.sink.held(requirement),
                Some(Err(evidence)) => {
                    self.sink.test(requirement, false, || evidence);
                }
            }
        }
        // A call that was accepted is judged for that; what it changed follows from it.
        if let Some(requirement) = step.unchanged
            && self.kind(Answer::Result, at, &reply).is_err()
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

    /// Whether the device fell silent at this step, so that silence proves nothing.
    fn is_lost(&self, step: &Step, at: &str, expect: &Expect) -> bool {
        let answered = self.log.answered(at);
        let fenced =
            || self.log.answered(&side(at, "fence")) || self.log.answered(&side(at, "after"));
        if expect.alive
            && !owes_answer(self.log, at)
            && !matches!(step.action, Action::Send(Outgoing::Ping))
        {
            return !fenced();
        }
        !answered && !fenced() && !matches!(step.action, Action::Send(Outgoing::Ping))
    }

    fn lost(&mut self, requirement: &'static str, at: &str) {
        let sent = self.log.sent_text(at);
        let death = self
            .log
            .entries
            .iter()
            .find_map(|logged| match &logged.entry.what {
                What::LinkDown {
                    by: Party::Device,
                    why,
                    ..
                } => Some(format!("the connection ended: {why}")),
                What::Target {
                    event: TargetEvent::Exited(how),
                } => Some(format!("the device's process {how}")),
                _ => None,
            });
        let panic = self
            .log
            .console()
            .find(|(_, line)| super::console::is_panic(line));
        let death = death.or_else(|| panic.map(|(_, line)| line.to_owned()));
        let outcome = match death {
            Some(received) => Outcome::Broken(Box::new(Evidence {
                expected: "the device goes on answering".into(),
                received,
                sent,
                seq: None,
            })),
            None => {
                let last = self
                    .log
                    .console()
                    .last()
                    .map_or("nothing", |(_, line)| line);
                Outcome::Unclear(format!("no answer, fence lost; console: {last}"))
            }
        };
        self.sink.add(
            requirement,
            self.sink.case.clone(),
            Some(at.into()),
            outcome,
        );
    }

    fn expect(
        &self,
        expect: &Expect,
        step: &Step,
        at: &str,
        reply: &Reply<'_>,
        scope: &Scope,
    ) -> Judged {
        let seq = match reply {
            Reply::Answer(logged, _) | Reply::Broken(logged) => Some(logged.entry.seq),
            _ => self.log.sent(at).map(|logged| logged.entry.seq),
        };
        let fail = |expected: String, received: String| {
            Some(Err(Evidence {
                expected,
                received,
                sent: self.log.sent_text(at),
                seq,
            }))
        };
        if matches!(step.action, Action::Send(Outgoing::Ping)) {
            let sent = self
                .log
                .sent(at)
                .and_then(|logged| match logged.entry.frame() {
                    Some(crate::wire::Frame::Ping(data)) => Some(data),
                    _ => None,
                });
            let pong = self
                .log
                .entries
                .iter()
                .any(|logged| match logged.entry.frame() {
                    Some(crate::wire::Frame::Pong(data)) => Some(data) == sent,
                    _ => false,
                });
            return if pong {
                Some(Ok(()))
            } else {
                fail("a pong with the data of the ping".into(), "none".into())
            };
        }
        if let Reply::Answer(logged, _) = reply
            && logged.wrong_id
            && expect.requirement.starts_with("ids.")
        {
            return fail("the id of the request".into(), answer_text(reply));
        }
        if let Some(answer) = expect.answer
            && let Err(received) = self.kind(answer, at, reply)
        {
            return fail(wanted(answer).into(), received);
        }
        let view = match reply {
            Reply::Answer(_, payload) if expect.looks_inside() => view(payload),
            _ => Map::new(),
        };
        if let Some(matcher) = &expect.if_error {
            // A refusal in another legal way holds; a code that is none is another check's affair.
            let error = view
                .get("error")
                .filter(|error| error.get("code").and_then(as_integer).is_some());
            if let Some(error) = error
                && let Err(mismatch) = matcher.test(scope, Some(error)).ok()?
            {
                return fail(
                    format!("error{} {}", mismatch.at, mismatch.expected),
                    format!("{}: {error}", mismatch.received),
                );
            }
        }
        let view = Value::Object(view);
        for (pointer, matcher) in &expect.parts {
            let Ok(pointer) = scope.fill_text(pointer) else {
                continue;
            };
            match matcher.test(scope, view.pointer(&pointer)) {
                Ok(Ok(())) => {}
                Ok(Err(mismatch)) => {
                    return fail(
                        format!("{pointer}{} {}", mismatch.at, mismatch.expected),
                        format!("{}, in {}", mismatch.received, answer_text(reply)),
                    );
                }
                Err(missing) => return fail(matcher.describe(), missing.to_string()),
            }
        }
        if let Some(schema) = &expect.schema
            && let Some(result) = view.get("result")
            && let Ok(validator) = jsonschema::validator_for(schema)
            && let Err(error) = validator.validate(result)
        {
            return fail("a result that obeys the schema".into(), error.to_string());
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
                (error && !result) || failed || (silent && !owes_answer(self.log, at))
            }
            Answer::Any => result || error,
            Answer::None => silent,
        };
        if holds {
            Ok(())
        } else {
            Err(answer_text(reply))
        }
    }

    fn unchanged(&mut self, requirement: &'static str, at: &str) {
        let before = self.log.settings(&side(at, "before"));
        let after = self.log.settings(&side(at, "after"));
        if let (Some(before), Some(after)) = (before, after) {
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
        let shown = self.log.console().any(|(_, line)| regex.is_match(line));
        let last = self
            .log
            .console()
            .last()
            .map_or("nothing", |(_, line)| line)
            .to_owned();
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

fn owes_answer(log: &CaseLog, at: &str) -> bool {
    log.sent(at)
        .and_then(|logged| logged.entry.frame())
        .is_some_and(|frame| Duty::of(frame).owes == Owes::Answer)
}

fn wanted(answer: Answer) -> &'static str {
    match answer {
        Answer::Result => "a result that is no failure",
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
            let text = logged
                .entry
                .frame()
                .map(crate::wire::Frame::display)
                .unwrap_or_default();
            format!("a frame that is no answer: {text}")
        }
        Reply::Silence | Reply::NotSent => "no answer".to_owned(),
    }
}
