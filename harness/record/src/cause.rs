//! What is wrong with a device, each thing once: the findings of a run by their cause.
//!
//! One defect breaks one requirement in many cases, and often a second and a third requirement by the same
//! message. Reports tell it once, with the first evidence, and name the cases that it spoils.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use mcp_hil_core::catalogue::{Level, RequirementId};
use mcp_hil_core::verdict::{Finding, Verdict};
use serde::{Deserialize, Serialize};

use crate::case::{CaseReport, Failure};

/// How many times as many findings one requirement may have as another of another area that it explains.
/// What is broken in all messages explains nothing of what is broken in one of them.
const SIMILAR: usize = 3;

/// Requirements whose breach spoils what is judged by other ones: answers are mixed up, or the status cannot be read.
const SOURCES: [RequirementId; 2] = [RequirementId::JsonrpcInFlight, RequirementId::VolumeStatus];

/// Requirements that vary the form of a good request, or that only say that an answer has no request.
const VARIATIONS: [RequirementId; 6] = [
    RequirementId::JsonrpcNoUnsolicitedAnswer,
    RequirementId::JsonrpcEscapes,
    RequirementId::JsonrpcWhitespace,
    RequirementId::JsonrpcMemberOrder,
    RequirementId::JsonrpcCaseSensitive,
    RequirementId::JsonrpcNulInName,
];

/// What is expected where a refusal would do, too.
const OR_A_REFUSAL: &str = ", or a refusal";

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The device.
    pub dut: String,
    /// The transport of the evidence.
    pub transport: String,
    /// The case of the evidence.
    pub case: String,
    /// The evidence: what is broken, what was expected and what came.
    pub finding: Finding,
    /// The file of the transcript that shows it, relative to the run's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// Slugs of the other requirements that the same messages break.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The cases that it spoils, each with its transport, in the order of the run.
    pub cases: Vec<Spoilt>,
    /// How many findings there are of it.
    pub times: usize,
    /// What became of the generated input that shows it, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<Failure>,
    /// The command that shows it again.
    pub repro: String,
    /// What came of trying that command.
    #[serde(default)]
    pub shown: Shown,
}

impl Cause {
    /// Whether another run has shown the same: what is broken here is broken there, whatever stands first.
    pub fn is_like(&self, other: &Self) -> bool {
        let all = |cause: &Self| {
            let slugs = std::iter::once(&cause.finding.requirement).chain(&cause.also);
            slugs.cloned().collect::<BTreeSet<String>>()
        };
        self.finding.verdict == other.finding.verdict
            && (all(self).contains(&other.finding.requirement)
                || all(other).contains(&self.finding.requirement))
    }

    /// Whether both have the same evidence, and so the same repro command: broken in one way in one case.
    pub fn is_of_same_evidence(&self, other: &Self) -> bool {
        let evidence = |cause: &Self| {
            let of = [&cause.dut, &cause.transport, &cause.case, &cause.finding.requirement];
            of.map(String::clone)
        };
        self.finding.verdict == other.finding.verdict && evidence(self) == evidence(other)
    }

    /// The command that shows it again, or why there is none.
    pub fn repro(&self) -> String {
        match self.shown {
            Shown::NotTried | Shown::Again | Shown::AfterOthers => self.repro.clone(),
            Shown::Not(1) => {
                "none: seen once, and not seen again when it was tried again".to_owned()
            }
            Shown::Not(tries) => format!("none: seen once, and not seen again in {tries} tries"),
        }
    }

    /// Whether it spoils a case.
    pub fn spoils(&self, case: &CaseReport) -> bool {
        let same =
            |spoilt: &Spoilt| (&spoilt.transport, &spoilt.case) == (&case.transport, &case.case);
        self.dut == case.dut && self.cases.iter().any(same)
    }
}

/// A case that a cause spoils.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Spoilt {
    /// The transport.
    pub transport: String,
    /// The case.
    pub case: String,
}

/// Whether the repro command of a cause was tried, and what it showed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// It was not tried.
    #[default]
    NotTried,
    /// It has shown the same again.
    Again,
    /// It has shown the same again when what came before it ran, too.
    AfterOthers,
    /// Nothing that was tried has shown it again, so often.
    Not(u32),
}

/// A finding in its place.
#[derive(Debug, Clone, Copy)]
struct Found<'a> {
    case: &'a CaseReport,
    finding: &'a Finding,
}

impl<'a> Found<'a> {
    /// The file of the transcript that shows it.
    fn transcript(&self) -> Option<&'a String> {
        self.finding.transcript.as_ref().or(self.case.transcript.as_ref())
    }

    fn id(&self) -> Option<RequirementId> {
        RequirementId::of(&self.finding.requirement)
    }

    /// Whether the device broke down, or its connection did.
    fn breaks_down(&self) -> bool {
        self.id().is_some_and(RequirementId::is_liveness)
    }

    /// Whether both differ in one way from what is expected, numbers and texts aside.
    fn differs_like(&self, other: &Self) -> bool {
        let expected = |found: &Self| {
            let masked = masked(&found.finding.expected);
            masked.strip_suffix(OR_A_REFUSAL).map_or(masked.clone(), str::to_owned)
        };
        self.area() == other.area() && expected(self) == expected(other)
    }

    fn area(&self) -> &'a str {
        self.finding.requirement.split('.').next().unwrap_or_default()
    }

    /// Whether both are about one message: the same entry of a transcript, or the same step. Of generated inputs
    /// the same failure, or at least the same case.
    fn is_about(&self, other: &Self) -> bool {
        let at = |found: &Self| found.finding.seq.zip(found.transcript());
        let step = |found: &Self| found.finding.step.as_deref();
        let slugs = [&self.finding.requirement, &other.finding.requirement];
        let generated = || {
            let mut failures = self.case.generated.iter().flat_map(|it| &it.failures);
            self.area() == other.area()
                || failures.any(|it| slugs.iter().all(|slug| it.requirements.contains(slug)))
        };
        self.case.transport == other.case.transport
            && (at(self).is_some_and(|own| at(other) == Some(own))
                || self.case.case == other.case.case
                    && match self.case.generated {
                        None => step(self).is_some() && step(self) == step(other),
                        Some(_) => generated(),
                    })
    }

    /// Whether both stand in one case over one transport.
    fn is_beside(&self, other: &Self) -> bool {
        (&self.case.transport, &self.case.case) == (&other.case.transport, &other.case.case)
    }

    /// Whether it comes after the device or its connection broke down in the same case.
    fn follows(&self, crash: &Self) -> bool {
        let late = match (self.finding.seq, crash.finding.seq) {
            (Some(own), Some(crash)) => own >= crash,
            _ => true,
        };
        // The console may be read later than the connection.
        self.is_beside(crash)
            && (late || self.breaks_down() || self.finding.verdict == Verdict::Inconclusive)
    }
}

/// All that breaks one requirement, or falls silent in one way, on one device.
#[derive(Debug)]
struct Group<'a> {
    found: Vec<Found<'a>>,
    /// What was joined to it.
    joined: Vec<Found<'a>>,
}

impl Group<'_> {
    fn slug(&self) -> &str {
        &self.found[0].finding.requirement
    }

    /// In how many cases it shows; one may show it often.
    fn cases(&self) -> usize {
        let names = self.found.iter().map(|one| (&*one.case.transport, &*one.case.case));
        names.collect::<BTreeSet<_>>().len()
    }

    /// Whether all that it says is that answers are missing.
    fn is_bare_silence(&self) -> bool {
        self.slug() == RequirementId::JsonrpcAnswerRequired.slug()
    }

    fn area(&self) -> &str {
        self.found[0].area()
    }

    fn verdict(&self) -> Verdict {
        self.found[0].finding.verdict
    }

    /// How severe it is; less is worse. What is alike keeps the order of the run.
    fn rank(&self) -> (bool, u8) {
        let first = &self.found[0];
        let kind = match first.id() {
            Some(RequirementId::LivenessNoPanic) => 0,
            Some(RequirementId::LivenessNoReset) => 1,
            _ if first.breaks_down() => 2,
            Some(id) if SOURCES.contains(&id) => 3,
            // The same asked in another way: what is wrong with the plain way is told before it.
            Some(id) if VARIATIONS.contains(&id) => 6,
            _ if first.finding.level == Level::Must => 4,
            _ => 5,
        };
        (self.verdict() == Verdict::Inconclusive, kind)
    }

    /// Whether all of another one follows from this.
    fn explains(&self, other: &Group<'_>) -> bool {
        if self.found[0].case.dut != other.found[0].case.dut {
            return false;
        }
        if self.found[0].breaks_down() {
            let any = |of: &Found<'_>| self.found.iter().any(|crash| of.follows(crash));
            return other.found.iter().all(any);
        }
        let similar = self.area() == other.area()
            || self.found.len() <= SIMILAR * other.found.len()
            || self.is_bare_silence();
        let about = |of: &Found<'_>| {
            let mut all = self.found.iter().chain(&self.joined);
            all.any(|own| of.is_about(own) || of.differs_like(own))
        };
        similar && other.found.iter().all(about)
    }
}

/// What is wrong with the devices of a run, the most severe first. What the baseline lists is not among it,
/// nor are warnings.
pub fn causes(cases: &[CaseReport]) -> Vec<Cause> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for found in cases.iter().flat_map(failing) {
        let same = |group: &&mut Group<'_>| {
            let first = &group.found[0];
            let alike = match found.finding.verdict {
                // Of what fell silent, the reason is the cause.
                Verdict::Inconclusive => {
                    first.finding.verdict == Verdict::Inconclusive
                        && first.finding.received == found.finding.received
                }
                _ => {
                    first.finding.verdict == found.finding.verdict
                        && first.finding.requirement == found.finding.requirement
                }
            };
            alike && first.case.dut == found.case.dut
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.found.push(found),
            None => groups.push(Group { found: vec![found], joined: Vec::new() }),
        }
    }
    groups.sort_by_key(Group::rank);
    // The one that shows most is told, the others with it.
    let mut by_size: Vec<usize> = (0..groups.len()).collect();
    // Of two that show in as many cases, the one that says more than that an answer is missing.
    let size =
        |group: &Group<'_>| (group.found[0].breaks_down(), group.cases(), !group.is_bare_silence());
    by_size.sort_by_key(|at| Reverse(size(&groups[*at])));
    let mut groups: Vec<Option<Group<'_>>> = groups.into_iter().map(Some).collect();
    for (rank, at) in by_size.iter().enumerate() {
        let Some(mut group) = groups[*at].take() else { continue };
        // What joins it may lead to more.
        while let Some(next) = by_size[rank + 1..].iter().find_map(|other| {
            let follows = groups[*other].as_ref().is_some_and(|other| group.explains(other));
            if follows { groups[*other].take() } else { None }
        }) {
            group.joined.extend(next.found);
        }
        groups[*at] = Some(group);
    }
    groups.into_iter().flatten().map(cause).collect()
}

/// A text with all numbers and quoted texts alike.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut quoted = false;
    for character in text.chars() {
        match character {
            '"' | '`' => {
                quoted = !quoted;
                masked.push('"');
            }
            _ if quoted => {}
            '0'..='9' | '-' | '.' => {
                if !masked.ends_with('#') {
                    masked.push('#');
                }
            }
            other => masked.push(other),
        }
    }
    masked
}

/// The findings that a case fails by, or that showed nothing.
fn failing(case: &CaseReport) -> impl Iterator<Item = Found<'_>> {
    let counts = |finding: &&Finding| {
        matches!(finding.verdict, Verdict::Fail | Verdict::Inconclusive) && !finding.known
    };
    case.findings.iter().filter(counts).map(move |finding| Found { case, finding })
}

fn cause(group: Group<'_>) -> Cause {
    let Group { found, joined } = group;
    // A script shows more in fewer messages than what was generated.
    let is_plain = |found: &&Found<'_>| found.case.generated.is_none() && !found.finding.late;
    let best = *found.iter().find(is_plain).unwrap_or(&found[0]);
    let mut finding = best.finding.clone();
    if finding.sent.is_none() {
        // What broke down tells nothing of the message before it; what was expected of that does.
        let beside = joined.iter().filter(|one| one.is_beside(&best));
        finding.sent = beside.filter_map(|one| one.finding.sent.clone()).next_back();
    }
    let also: BTreeSet<&String> = joined.iter().map(|one| &one.finding.requirement).collect();
    let mut cases: Vec<Spoilt> = Vec::new();
    for one in found.iter().chain(&joined) {
        let spoilt = Spoilt { transport: one.case.transport.clone(), case: one.case.case.clone() };
        if !cases.contains(&spoilt) {
            cases.push(spoilt);
        }
    }
    let followed = best.case.generated.iter().flat_map(|generated| &generated.failures);
    let generated = followed
        .into_iter()
        .find(|failure| failure.requirements.contains(&best.finding.requirement))
        .cloned();
    let repro = generated.as_ref().map_or(&best.case.repro, |failure| &failure.repro);
    Cause {
        dut: best.case.dut.clone(),
        transport: best.case.transport.clone(),
        case: best.case.case.clone(),
        finding,
        transcript: best.transcript().cloned(),
        also: also.into_iter().cloned().collect(),
        times: found.len() + joined.len(),
        cases,
        repro: repro.clone(),
        generated,
        shown: Shown::NotTried,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(slug: &str, seq: u64) -> Finding {
        Finding {
            requirement: slug.into(),
            level: Level::Must,
            verdict: Verdict::Fail,
            step: None,
            expected: format!("what {slug} asks for"),
            received: "something else".into(),
            sent: None,
            seq: Some(seq),
            transcript: None,
            console: Vec::new(),
            places: Vec::new(),
            late: false,
            known: false,
        }
    }

    fn case(name: &str, findings: Vec<Finding>) -> CaseReport {
        CaseReport {
            findings,
            verdict: Verdict::Fail,
            transcript: Some(format!("{name}.jsonl")),
            ..CaseReport::blank("kitchen", "websocket", name, "")
        }
    }

    /// The causes in short: the requirement, those beside it, and the cases.
    fn told(cases: &[CaseReport]) -> Vec<(String, Vec<String>, Vec<String>)> {
        let short = |cause: Cause| {
            let cases = cause.cases.into_iter().map(|spoilt| spoilt.case).collect();
            (cause.finding.requirement, cause.also, cases)
        };
        causes(cases).into_iter().map(short).collect()
    }

    fn of(slug: &str, also: &[&str], cases: &[&str]) -> (String, Vec<String>, Vec<String>) {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        (slug.to_owned(), owned(also), owned(cases))
    }

    #[test]
    fn one_requirement_is_one_cause_in_all_cases() {
        let cases =
            [case("a/b", vec![finding("ids.echo", 1)]), case("c/d", vec![finding("ids.echo", 9)])];
        assert_eq!(told(&cases), [of("ids.echo", &[], &["a/b", "c/d"])]);
    }

    #[test]
    fn what_the_same_messages_break_is_told_with_it() {
        let cases = [case("a/b", vec![finding("ids.echo", 1), finding("errors.code-integer", 1)])];
        assert_eq!(told(&cases), [of("ids.echo", &["errors.code-integer"], &["a/b"])]);
    }

    #[test]
    fn what_is_broken_everywhere_explains_nothing_else() {
        let name = |at: u64| format!("a/{at}");
        let mut cases: Vec<CaseReport> =
            (0..9).map(|at| case(&name(at), vec![finding("envelope.session-id", at)])).collect();
        cases[4].findings.push(finding("ids.echo", 4));
        let told = told(&cases);
        assert_eq!(told.len(), 2, "{told:?}");
    }

    #[test]
    fn what_follows_a_crash_is_the_crash() {
        let crash = finding("liveness.no-panic", 5);
        let cases = [
            case("a/b", vec![finding("liveness.link-kept", 7), crash.clone(), finding("a.b", 6)]),
            case("c/d", vec![finding("list.name", 3)]),
        ];
        assert_eq!(
            told(&cases),
            [
                of("liveness.no-panic", &["a.b", "liveness.link-kept"], &["a/b"]),
                of("list.name", &[], &["c/d"]),
            ]
        );
        // What was wrong before it is another thing.
        let cases = [case("a/b", vec![finding("list.name", 3), crash])];
        assert_eq!(told(&cases).len(), 2);
    }

    #[test]
    fn known_failures_and_warnings_are_no_causes() {
        let known = Finding { known: true, ..finding("ids.echo", 1) };
        let warning = Finding { verdict: Verdict::Pass, ..finding("ids.zero", 2) };
        assert_eq!(told(&[case("a/b", vec![known, warning])]), []);
    }

    #[test]
    fn a_plain_failure_comes_before_a_variation_and_a_must_before_a_should() {
        let should = Finding { level: Level::Should, ..finding("list.name", 2) };
        let cases = [
            case("a/b", vec![finding("jsonrpc.escapes", 1)]),
            case("c/d", vec![should]),
            case("e/f", vec![finding("arguments.range", 3)]),
            case("g/h", vec![finding("volume.status", 4)]),
        ];
        let slugs: Vec<String> = told(&cases).into_iter().map(|(slug, ..)| slug).collect();
        assert_eq!(slugs, ["volume.status", "arguments.range", "list.name", "jsonrpc.escapes"]);
    }

    #[test]
    fn a_command_that_shows_nothing_is_not_given() {
        let mut cause = causes(&[case("a/b", vec![finding("ids.echo", 1)])]).remove(0);
        cause.repro = "mcp-hil run --only a/b".into();
        assert_eq!(cause.repro(), "mcp-hil run --only a/b");
        cause.shown = Shown::Not(3);
        assert_eq!(cause.repro(), "none: seen once, and not seen again in 3 tries");
    }
}
