//! The words that all reports use for a case and for a finding.

use std::borrow::Cow;

use mcp_hil_core::catalogue::{Catalogue, Level, Requirement, RequirementId};
use mcp_hil_core::verdict::{Finding, Verdict};

use mcp_hil_record::answers::AnswerReport;
use mcp_hil_record::answers::AnswerState;
use mcp_hil_record::answers::Answers;
use mcp_hil_record::cause::{Cause, Shown};
use mcp_hil_record::event::{CaseReport, CoveredBy, Failure, Generated, RunStarted};
use mcp_hil_record::text::clean;
use mcp_hil_record::text::layout::few;
use mcp_hil_record::text::layout::{CYAN, Colour, DIM, GREEN, MAGENTA, RED, YELLOW, count};

/// What became of a case, in the words of the reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It passed.
    Pass,
    /// It passed, and a SHOULD is broken.
    Warn,
    /// The case failed as listed in the baseline.
    Known,
    /// It did not pass at first, and passed when it was tried again.
    Flaky,
    /// The case was inconclusive.
    Inconclusive,
    /// The case failed.
    Fail,
    /// The bench or the harness broke.
    Error,
    /// It does not apply.
    NotApplicable,
}

impl Status {
    /// The status of a judged case.
    pub fn of(case: &CaseReport) -> Self {
        match case.verdict {
            _ if case.flaky => Self::Flaky,
            Verdict::NotApplicable => Self::NotApplicable,
            Verdict::Pass if case.findings.is_empty() => Self::Pass,
            Verdict::Pass => Self::Warn,
            Verdict::Fail if case.known => Self::Known,
            Verdict::Fail => Self::Fail,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::Error => Self::Error,
        }
    }

    /// The word that begins its line; at most six letters.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Warn => "WARN",
            Self::Known => "KNOWN",
            Self::Flaky => "FLAKY",
            Self::Inconclusive => "INCONC",
            Self::Fail => "FAIL",
            Self::Error => "ERROR",
            Self::NotApplicable => "N/A",
        }
    }

    /// The colour of the word.
    pub fn colour(self) -> Colour {
        match self {
            Self::Pass => GREEN,
            Self::Warn | Self::Flaky | Self::Inconclusive => YELLOW,
            Self::Known => CYAN,
            Self::Fail => RED,
            Self::Error => MAGENTA,
            Self::NotApplicable => DIM,
        }
    }
}

/// The short form of a transport, for columns.
pub fn short_transport(transport: &str) -> &str {
    if transport == "websocket" { "ws" } else { transport }
}

/// A device and its transport in short: `native/ws`.
pub fn link(dut: &str, transport: &str) -> String {
    clean::visible(&format!("{dut}/{}", short_transport(transport))).into_owned()
}

/// How often a case was tried, where that is more than once: `passed in attempt 2`, `failed in all of 3 attempts`.
pub fn attempts(case: &CaseReport) -> Option<String> {
    let attempts = case.attempts?;
    Some(match case.flaky {
        true => format!("passed in attempt {attempts}"),
        false => format!("failed in all of {attempts} attempts"),
    })
}

/// Which part of a run it is, or of how many runs: `, shard 2/3`.
pub fn part(run: &RunStarted) -> String {
    if let Some(devices) = run.at_once {
        return format!(", {} at once", count(devices, "device"));
    }
    match (run.basis.as_ref().and_then(|basis| basis.shard), run.joined.len()) {
        (Some(shard), _) => format!(", shard {shard}"),
        (None, 0) => String::new(),
        (None, runs) => format!(", joined of {}", count(runs, "run")),
    }
}

/// A requirement with its level and where it stands: `ids.echo (MUST, JSON-RPC 2.0 section 5)`.
pub fn requirement(slug: &str, level: Level, catalogue: &Catalogue) -> String {
    clean::visible(&format!("{slug} ({})", standing(slug, level, catalogue))).into_owned()
}

/// The sentence of a requirement, with its level and where it stands.
pub fn sentence(slug: &str, level: Level, catalogue: &Catalogue) -> String {
    let text = catalogue.get(slug).map_or(slug, |requirement| &requirement.text);
    clean::visible(&format!("{text} ({})", standing(slug, level, catalogue))).into_owned()
}

/// How binding a requirement is, and where it stands.
fn standing(slug: &str, level: Level, catalogue: &Catalogue) -> String {
    let level = self::level(level);
    match catalogue.get(slug).and_then(source) {
        None => level.to_owned(),
        Some(source) => format!("{level}, {source}"),
    }
}

/// How binding it is, in the word of RFC 2119.
pub fn level(level: Level) -> &'static str {
    match level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
        Level::May => "MAY",
    }
}

/// The document of a requirement, and the section in it: `JSON-RPC 2.0 section 5`.
pub fn source(requirement: &Requirement) -> Option<String> {
    let (document, section) = (&requirement.source, &requirement.section);
    match section {
        _ if document.is_empty() => None,
        _ if section.is_empty() => Some(document.clone()),
        _ if section.starts_with(|c: char| c.is_ascii_digit()) => {
            Some(format!("{document} section {section}"))
        }
        _ => Some(format!("{document}: {section}")),
    }
}

/// The evidence of a finding as labelled lines, each text cut to `limit` characters.
pub fn evidence(
    finding: &Finding,
    case: &CaseReport,
    catalogue: &Catalogue,
    limit: usize,
) -> Vec<(&'static str, String)> {
    let told = requirement(&finding.requirement, finding.level, catalogue);
    let mut rows = vec![("requirement", told)];
    rows.extend(seen(finding, limit));
    if let Some(step) = &finding.step {
        rows.push(("step", clean::line(step, limit)));
    }
    let transcript = finding.transcript.as_ref().or(case.transcript.as_ref());
    rows.extend(transcript.map(|file| ("transcript", place(file, finding, limit))));
    rows
}

/// What was expected and what came, with what was said before and beside it.
fn seen(finding: &Finding, limit: usize) -> Vec<(&'static str, String)> {
    let message = |text: &str| clean::line(&without_envelope(text, &finding.requirement), limit);
    let mut rows = vec![
        ("expected", clean::line(&finding.expected, limit)),
        ("received", or_nothing(message(&finding.received))),
    ];
    rows.extend(folded(&finding.places).map(|place| ("where", clean::line(&place, limit))));
    let label = |at| if at == 0 { "console" } else { "" };
    // What is the finding itself stands there already.
    let console = finding.console.iter().filter(|line| line.trim() != finding.received.trim());
    let console = console.enumerate();
    rows.extend(console.map(|(at, line)| (label(at), clean::line(line, limit.min(CONSOLE)))));
    rows.extend(finding.sent.iter().map(|sent| ("sent", message(sent))));
    rows
}

/// Places, those one time that come several times in a row: a function that calls itself fills a stack with them.
fn folded(places: &[String]) -> impl Iterator<Item = String> {
    places.chunk_by(|one, other| code_of(one) == code_of(other)).map(|alike| match alike.len() {
        1 => alike[0].clone(),
        times => format!("{} ({times} times)", alike[0]),
    })
}

/// What a place says of the code, without the address.
fn code_of(place: &str) -> &str {
    place.split_once(": ").map_or(place, |(_, code)| code)
}

/// Areas whose findings are about the envelope, or may be.
const ABOUT_ENVELOPES: [&str; 4] = ["envelope.", "session.", "hello.", "robustness."];

/// A text without the usual envelope of a message at its end, where the finding is not about that: the JSON-RPC message
/// inside is what is to be read, and the transcript has the whole.
fn without_envelope<'a>(text: &'a str, slug: &str) -> Cow<'a, str> {
    const SESSION: &str = r#"{"session_id":""#;
    const PAYLOAD: &str = r#"","type":"mcp","payload":"#;
    if ABOUT_ENVELOPES.iter().any(|area| slug.starts_with(area)) {
        return Cow::Borrowed(text);
    }
    let payload = || {
        let (before, envelope) = text.split_once(SESSION)?;
        let (session, payload) = envelope.split_once(PAYLOAD)?;
        let is_plain = session.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        let payload = payload.strip_suffix('}')?;
        let is_whole = serde_json::from_str::<serde_json::Map<_, _>>(payload).is_ok();
        (is_plain && is_whole).then(|| Cow::Owned(format!("{before}{payload}")))
    };
    payload().unwrap_or(Cow::Borrowed(text))
}

/// The file of a transcript, and the entry in it that shows a finding.
fn place(file: &str, finding: &Finding, limit: usize) -> String {
    let seq = finding.seq.map(|seq| format!(" seq {seq}")).unwrap_or_default();
    clean::line(file, limit) + &seq
}

/// Most characters of a line of the console.
const CONSOLE: usize = 120;

/// Most cases of a cause that are named, and most requirements beside its first; `report.json` names all.
const CASES_NAMED: usize = 4;
const ALSO_NAMED: usize = 4;

/// A cause as labelled lines, each text cut to `limit` characters.
pub fn cause(cause: &Cause, catalogue: &Catalogue, limit: usize) -> Vec<(&'static str, String)> {
    let finding = &cause.finding;
    let told = sentence(&finding.requirement, finding.level, catalogue);
    let mut rows = vec![("requirement", told)];
    rows.extend(seen(finding, limit));
    if !cause.also.is_empty() {
        rows.push(("also broken", clean::visible(&few(&cause.also, ALSO_NAMED)).into_owned()));
    }
    let several = cause.cases.iter().any(|case| case.transport != cause.transport);
    let names: Vec<String> = cause
        .cases
        .iter()
        .map(|case| match several {
            true => format!("{} ({})", case.case, short_transport(&case.transport)),
            false => case.case.clone(),
        })
        .collect();
    let (label, text) = match &names[..] {
        [only] => ("case", only.clone()),
        all => ("cases", format!("{}: {}", all.len(), few(all, CASES_NAMED))),
    };
    rows.push((label, clean::visible(&text).into_owned()));
    rows.extend(cause.transcript.iter().map(|file| ("transcript", place(file, finding, limit))));
    if let Some(generated) = &cause.generated {
        rows.extend(
            failure(generated, limit)
                .into_iter()
                .filter(|(label, _)| matches!(*label, "shrunk" | "flaky")),
        );
    }
    rows.push(("repro", clean::visible(&cause.repro()).into_owned()));
    rows.extend(hint(finding).map(|hint| ("hint", hint.to_owned())));
    rows
}

/// How the transcript shows a token that is not that of the run.
const ANOTHER_TOKEN: &str = "<another token>";

/// What may be wrong with the set-up, and not with the device.
fn hint(finding: &Finding) -> Option<&'static str> {
    let is_other_token = finding.requirement == RequirementId::HelloHeaderAuthorization.slug()
        && finding.received.ends_with(ANOTHER_TOKEN);
    is_other_token.then_some(
        "a token that is built into the device is given with `--token`, or MCP_HIL_TOKEN",
    )
}

/// How what was found in a case is shown again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repro<'a> {
    /// By this command.
    Command(&'a str),
    /// By none that was tried, as it says.
    None(String),
}

impl Repro<'_> {
    /// As the value of a line.
    pub fn text(&self) -> String {
        match self {
            Self::Command(command) => clean::visible(command).into_owned(),
            Self::None(why) => why.clone(),
        }
    }
}

/// How what was found in a case is shown again: the commands of its causes, each once, for these were tried; its own
/// where it has none.
pub fn repro<'a>(case: &'a CaseReport, causes: &'a [Cause]) -> Vec<Repro<'a>> {
    let mut all = Vec::new();
    for cause in causes.iter().filter(|cause| cause.spoils(case)) {
        let repro = match cause.shown {
            Shown::Not(_) => Repro::None(cause.repro()),
            _ => Repro::Command(&cause.repro),
        };
        if !all.contains(&repro) {
            all.push(repro);
        }
    }
    if all.is_empty() && !case.repro.is_empty() {
        all.push(Repro::Command(&case.repro));
    }
    // What is shown again by a command needs no word of what is not.
    if all.iter().any(|repro| matches!(repro, Repro::Command(_))) {
        all.retain(|repro| matches!(repro, Repro::Command(_)));
    }
    all
}

/// What a case that passed has shown, in words.
pub fn shown(case: &CaseReport) -> String {
    match &case.generated {
        Some(generated) => inputs(generated),
        None => count(case.exercised.len(), "requirement"),
    }
}

/// How much was generated: `25 inputs, 140 exchanges`.
pub fn inputs(generated: &Generated) -> String {
    let mut text = format!(
        "{}, {}",
        count(generated.inputs as usize, "input"),
        count(generated.exchanges, "exchange")
    );
    if !generated.missing.is_empty() {
        text.push_str(&format!("; without {}", generated.missing.join(", ")));
    }
    text
}

/// What became of a failure that generated inputs showed, as labelled lines.
pub fn failure(failure: &Failure, limit: usize) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    if let Some((_, others)) = failure.requirements.split_first()
        && !others.is_empty()
    {
        rows.push(("also broken", clean::visible(&others.join(", ")).into_owned()));
    }
    if let Some(second) = &failure.second_try {
        let text = format!("did not recur when tried again from a known state: {second}");
        rows.push(("flaky", clean::line(&text, limit)));
    } else if failure.steps > 0 {
        let cut_short = failure.cut_short.as_ref();
        let on_surrogate = match failure.on_surrogate {
            0 => String::new(),
            number => format!(", {number} of them on the substitute device"),
        };
        let text = format!(
            "from {} to {} in {}{on_surrogate}{}",
            failure.from,
            count(failure.to, "exchange"),
            count(failure.steps as usize, "step"),
            cut_short.map_or_else(String::new, |why| format!(" ({why})")),
        );
        rows.push(("shrunk", clean::line(&text, limit)));
    }
    if failure.times > 1 {
        rows.push(("times", format!("{} inputs failed in this way", failure.times)));
    }
    rows.push(("input", clean::line(&failure.scenario, limit)));
    rows
}

/// What an answer is, in a word of at most seven letters.
pub fn answer_word(state: AnswerState) -> &'static str {
    match state {
        AnswerState::Changed => "CHANGED",
        AnswerState::New => "NEW",
        AnswerState::Gone => "GONE",
    }
}

/// How the answers of a run compare with the reviewed ones: `18 as reviewed, 1 changed`.
pub fn answers(answers: &Answers) -> String {
    let others =
        [(answers.changed, "changed"), (answers.new, "not reviewed yet"), (answers.gone, "gone")];
    let others = others.iter().filter(|(number, _)| *number > 0);
    let others: String = others.map(|(number, word)| format!(", {number} {word}")).collect();
    format!("{} as reviewed{others}", answers.same)
}

/// What became of the device's capabilities: `lost status, volume; gained pages`.
pub fn capabilities(answers: &Answers) -> Option<String> {
    let told = [("lost", &answers.lost), ("gained", &answers.gained)];
    let told = told.iter().filter(|(_, names)| !names.is_empty());
    let told: Vec<String> =
        told.map(|(word, names)| format!("{word} {}", names.join(", "))).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// What an entry of the baseline covered: `properties/ids (any requirement): ids.echo, ids.zero`.
pub fn covered(covered: &CoveredBy) -> String {
    let any = match covered.any_requirement {
        true => " (any requirement)",
        false => "",
    };
    // The case is said already where the entry names it.
    let own = format!("{}:", covered.entry);
    let told = covered.failures.iter().map(|failure| {
        let told = failure.strip_prefix(&own);
        told.unwrap_or(failure)
    });
    format!("{}{any}: {}", covered.entry, told.collect::<Vec<_>>().join(", "))
}

/// A labelled line, and whether it may be wrapped.
pub type Line = (&'static str, String, bool);

/// What became of an answer as labelled lines; of what changed and of the lines that differ `most` are
/// shown.
pub fn answer(answer: &AnswerReport, limit: usize, most: usize) -> Vec<Line> {
    let told = answer.changes.iter();
    let told = told.map(|change| clean::line(&change.to_string(), limit));
    let lines = answer.diff.iter();
    let lines = lines.map(|line| clean::visible(&clean::cut(line, limit)).into_owned());
    let mut rows = first_of("changed", told.collect(), most, true);
    rows.extend(first_of("diff", lines.collect(), most, false));
    if let Some(note) = &answer.note {
        rows.push(("note", clean::line(note, limit), true));
    }
    rows.push(match &answer.written {
        Some(written) => ("file", clean::line(written, limit), false),
        None => ("reviewed", clean::line(&answer.file, limit), false),
    });
    rows
}

/// The first of some lines below one label.
fn first_of(label: &'static str, all: Vec<String>, most: usize, wraps: bool) -> Vec<Line> {
    let left = all.len().saturating_sub(most);
    let shown = all.into_iter().take(most).enumerate();
    let mut rows: Vec<Line> =
        shown.map(|(at, line)| (if at == 0 { label } else { "" }, line, wraps)).collect();
    if left > 0 {
        rows.push(("", format!("... and {left} more"), false));
    }
    rows
}

/// A finding in one line: `ids.echo: expected id 7, received id "7"`.
pub fn in_short(finding: &Finding, limit: usize) -> String {
    let text = format!(
        "{}: expected {}, received {}",
        finding.requirement,
        clean::cut(&finding.expected, limit),
        or_nothing(clean::cut(&finding.received, limit).into_owned()),
    );
    clean::visible(&text).into_owned()
}

/// Why a case shows nothing or does not apply, from whoever knows.
pub fn reason(case: &CaseReport) -> Option<&str> {
    let worst = || case.findings.iter().find(|finding| finding.verdict == case.verdict);
    case.reason.as_deref().or_else(|| Some(worst()?.received.as_str()))
}

/// The slugs of some findings, each once, in order, with how often it is there.
pub fn tally<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<(&'a str, usize)> {
    let mut slugs: Vec<(&str, usize)> = Vec::new();
    for finding in findings {
        match slugs.iter_mut().find(|(slug, _)| *slug == finding.requirement) {
            Some((_, times)) => *times += 1,
            None => slugs.push((&finding.requirement, 1)),
        }
    }
    slugs
}

fn or_nothing(text: String) -> String {
    if text.is_empty() { "nothing".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_calls_itself_stands_there_once() {
        let places = ["0x45b46a: parse", "0x45b46a: parse", "0x45b470: parse", "0x45b010: main"];
        let places = places.map(str::to_owned);
        let shown: Vec<String> = folded(&places).collect();
        assert_eq!(shown, ["0x45b46a: parse (3 times)", "0x45b010: main"]);
    }

    #[test]
    fn only_the_usual_envelope_is_taken_away() {
        let answer = r#"id 7: {"session_id":"0a-1","type":"mcp","payload":{"id":7}}"#;
        assert_eq!(without_envelope(answer, "ids.echo"), r#"id 7: {"id":7}"#);
        assert_eq!(without_envelope(answer, "envelope.type"), answer);
        let others = [
            r#"{"type":"mcp","payload":{"id":7},"session_id":"0a-1"}"#,
            r#"{"session_id":"who","type":"mcp","payload":{"id":7}}"#,
            r#"{"session_id":"0a-1","type":"mcp","payload":[7]}"#,
            r#"{"session_id":"0a-1","type":"mcp","payload":{"id":7},"more":1}"#,
            r#"{"session_id":"0a-1","type":"mcp","payload":{"id":7}"#,
        ];
        for other in others {
            assert_eq!(without_envelope(other, "ids.echo"), other);
        }
    }
}
