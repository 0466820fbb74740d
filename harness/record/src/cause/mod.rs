//! What is wrong with a device, each thing once: the findings of a run by their cause.
//!
//! One defect breaks one requirement in many cases, and often a second and a third requirement by the same
//! message. Reports tell it once, with the first evidence, and name the cases that it spoils.

mod crash;
mod found;
mod group;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::verdict::{Finding, Verdict};
use serde::{Deserialize, Serialize};

use self::crash::Crash;
use self::found::Found;
use self::group::Group;
use crate::case::{CaseReport, Failure};

/// Areas without which the others cannot be put to the test: connection, messages, ids.
const STOOD_ON: [&str; 6] = ["envelope", "ids", "jsonrpc", "liveness", "mqtt", "session"];

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
    /// Whether it shows again what another run has shown: what is broken here is broken there, whatever stands first.
    /// Silence that showed nothing by itself then is the same silence where more comes of it now.
    pub fn is_like(&self, other: &Self) -> bool {
        let all = |cause: &Self| {
            let slugs = std::iter::once(&cause.finding.requirement).chain(&cause.also);
            slugs.cloned().collect::<BTreeSet<String>>()
        };
        let was_silent = other.finding.verdict == Verdict::Inconclusive;
        (was_silent || self.finding.verdict == other.finding.verdict)
            && (all(self).contains(&other.finding.requirement)
                || all(other).contains(&self.finding.requirement))
    }

    /// Whether both have the same evidence, and so the same repro command: broken in one way in one case.
    pub fn is_of_same_evidence(&self, other: &Self) -> bool {
        let evidence = |cause: &Self| {
            let of = [&cause.dut, &cause.transport, &cause.case, &cause.finding.requirement];
            of.map(String::clone)
        };
        self.finding.verdict == other.finding.verdict
            && evidence(self) == evidence(other)
            && self.breaks_down_like(other)
    }

    /// Whether not each of both is a breakdown of a kind, or at a place, of its own.
    pub fn breaks_down_like(&self, other: &Self) -> bool {
        let both = Crash::of(&self.finding).zip(Crash::of(&other.finding));
        both.is_none_or(|(own, others)| own.is_like(&others))
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

    /// Whether it says why nothing put a requirement to the test: a part of the same area is broken, or what all areas
    /// stand on.
    fn hinders(&self, slug: &str) -> bool {
        let area = |slug: &str| slug.split('.').next().map(str::to_owned);
        let mut broken = std::iter::once(&self.finding.requirement).chain(&self.also);
        let is_sure = self.finding.verdict == Verdict::Fail;
        is_sure
            && broken.any(|broken| {
                area(broken) == area(slug)
                    || area(broken).is_some_and(|area| STOOD_ON.contains(&&*area))
            })
    }

    /// Whether it was seen, but not again when it was tried again.
    pub fn is_doubtful(&self) -> bool {
        let did_not_recur = |generated: &Failure| generated.second_try.is_some();
        matches!(self.shown, Shown::Not(_)) || self.generated.as_ref().is_some_and(did_not_recur)
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

/// What is wrong with the devices of a run, the most severe first. What the baseline lists is not among it,
/// nor are warnings.
pub fn causes(cases: &[CaseReport]) -> Vec<Cause> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut all: Vec<Found<'_>> = cases.iter().flat_map(failing).collect();
    tell_crashes_apart(&mut all);
    tell_what_stands_alone(&mut all);
    for found in all {
        match groups.iter_mut().find(|group| group.has(&found)) {
            Some(group) => group.found.push(found),
            None => groups.push(Group::new(found)),
        }
    }
    groups.sort_by_key(Group::rank);
    let groups = mixed_up(groups);
    // A setting that never changes is a thing of its own, and not what each failure before a reading has changed.
    let groups = join(join(groups, false), true);
    let mut told: Vec<Group<'_>> = groups.into_iter().map(Group::led_by_the_clearest).collect();
    told.sort_by_key(Group::rank);
    told.into_iter().map(cause).collect()
}

/// Joins answers that came under the ids of others to what tells that ids are mixed up, however much they show.
fn mixed_up(groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    let mut groups: Vec<Option<Group<'_>>> = groups.into_iter().map(Some).collect();
    for at in 0..groups.len() {
        let Some(mut source) = groups[at].take() else { continue };
        let used =
            groups.iter_mut().filter_map(|other| other.take_if(|other| source.mixes_up(other)));
        let used: Vec<Group<'_>> = used.collect();
        source.joined.extend(used.into_iter().flat_map(|used| used.found));
        groups[at] = Some(source);
    }
    groups.into_iter().flatten().collect()
}

/// Joins groups to those that explain them.
fn join(groups: Vec<Group<'_>>, even_readings: bool) -> Vec<Group<'_>> {
    // The one that shows most explains the others.
    let mut by_size: Vec<usize> = (0..groups.len()).collect();
    by_size.sort_by_key(|at| Reverse(groups[*at].size()));
    let mut groups: Vec<Option<Group<'_>>> = groups.into_iter().map(Some).collect();
    for (rank, at) in by_size.iter().enumerate() {
        let Some(mut group) = groups[*at].take() else { continue };
        // What joins it may lead to more.
        while let Some(next) = by_size[rank + 1..].iter().find_map(|other| {
            let follows =
                groups[*other].as_ref().is_some_and(|other| group.explains(other, even_readings));
            if follows { groups[*other].take() } else { None }
        }) {
            group.joined.extend(next.found.into_iter().chain(next.joined));
        }
        groups[*at] = Some(group);
    }
    groups.into_iter().flatten().collect()
}

/// Those of some requirements that nothing put to the test of which no cause says why: what is told of them.
pub fn unexplained<'a>(unexercised: &'a [String], causes: &[Cause]) -> Vec<&'a String> {
    let is_told = |slug: &&String| !causes.iter().any(|cause| cause.hinders(slug));
    unexercised.iter().filter(is_told).collect()
}

/// The findings that a case fails by, or that showed nothing.
fn failing(case: &CaseReport) -> impl Iterator<Item = Found<'_>> {
    let counts = |finding: &&Finding| {
        matches!(finding.verdict, Verdict::Fail | Verdict::Inconclusive) && !finding.known
    };
    // What passed when it was tried again is told with its case.
    let findings = case.findings.iter().filter(|_| !case.flaky);
    findings.filter(counts).map(move |finding| Found {
        case,
        finding,
        crash: None,
        is_alone: false,
    })
}

/// Where a device breaks down in more than one way: which way a finding tells of, or follows from.
fn tell_crashes_apart(all: &mut [Found<'_>]) {
    let mut crashes: Vec<(Found<'_>, Crash<'_>)> = Vec::new();
    for found in all.iter() {
        crashes.extend(Crash::of(found.finding).map(|crash| (*found, crash)));
    }
    for found in all {
        let own: Vec<_> =
            crashes.iter().filter(|(crash, _)| crash.case.dut == found.case.dut).collect();
        if own.iter().any(|(_, crash)| !crash.is_like(&own[0].1)) {
            let followed = || own.iter().rev().find(|(crash, _)| found.follows(crash));
            let crash = Crash::of(found.finding).or_else(|| followed().map(|(_, crash)| *crash));
            found.crash = crash;
        }
    }
}

/// Which requirements a script shows to be broken that shows nothing else: something of their own is wrong.
fn tell_what_stands_alone(all: &mut [Found<'_>]) {
    let mut broken: BTreeMap<[&str; 3], BTreeSet<&str>> = BTreeMap::new();
    for found in all.iter().filter(|found| found.case.generated.is_none()) {
        let case = &found.case;
        let slugs = broken.entry([&*case.dut, &*case.transport, &*case.case]).or_default();
        slugs.insert(&found.finding.requirement);
    }
    let alone = broken.iter().filter(|(_, slugs)| slugs.len() == 1);
    let alone: BTreeSet<(&str, &str)> =
        alone.flat_map(|([dut, ..], slugs)| slugs.iter().map(|slug| (*dut, *slug))).collect();
    for found in all {
        found.is_alone = alone.contains(&(&*found.case.dut, &*found.finding.requirement));
    }
}

fn cause(group: Group<'_>) -> Cause {
    let Group { found, joined } = group;
    // A script shows more in fewer messages than what was generated.
    let is_plain = |found: &&Found<'_>| found.case.generated.is_none() && !found.finding.late;
    let best = *found.iter().find(is_plain).unwrap_or(&found[0]);
    let mut finding = best.finding.clone();
    if finding.sent.is_none() {
        // What came over the link, or broke down, tells nothing of the message before it; what was expected of that does.
        let about = joined.iter().filter(|one| one.is_about(&best) && one.finding.sent.is_some());
        let beside = joined.iter().filter(|one| best.breaks_down() && one.is_beside(&best));
        let sent = about.take(1).chain(beside.rev()).find_map(|one| one.finding.sent.clone());
        finding.sent = sent;
    }
    let others = joined.iter().map(|one| &one.finding.requirement);
    let also: BTreeSet<&String> = others.filter(|slug| **slug != finding.requirement).collect();
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
mod tests;
