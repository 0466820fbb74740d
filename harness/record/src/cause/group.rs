//! Groups of findings: what breaks one requirement, and what follows from it.

use std::collections::BTreeSet;

use mcp_hil_core::catalogue::{Level, RequirementId};
use mcp_hil_core::verdict::Verdict;

use super::found::Found;

/// How many times as many findings one requirement may have as another of another area that it explains.
/// What is broken in all messages explains nothing of what is broken in one of them.
const SIMILAR: usize = 3;

/// Requirements whose breach spoils what is judged by other ones: answers are mixed up, or the status cannot be read.
const SOURCES: [RequirementId; 3] =
    [RequirementId::IdsEcho, RequirementId::JsonrpcInFlight, RequirementId::VolumeStatus];

/// Requirements that vary the form of a good request, or that only say that an answer has no request.
const VARIATIONS: [RequirementId; 6] = [
    RequirementId::JsonrpcNoUnsolicitedAnswer,
    RequirementId::JsonrpcEscapes,
    RequirementId::JsonrpcWhitespace,
    RequirementId::JsonrpcMemberOrder,
    RequirementId::JsonrpcCaseSensitive,
    RequirementId::JsonrpcNulInName,
];

/// Requirements on the form of an answer: of one that breaks them, nothing else that is expected can be read.
const FORMS: [RequirementId; 13] = [
    RequirementId::EnvelopeJson,
    RequirementId::EnvelopeObject,
    RequirementId::EnvelopePayloadObject,
    RequirementId::EnvelopeUtf8,
    RequirementId::JsonrpcResultObject,
    RequirementId::JsonrpcResultXorError,
    RequirementId::ErrorsObject,
    RequirementId::CallContentArray,
    RequirementId::CallContentItems,
    RequirementId::CallIsErrorBoolean,
    RequirementId::ListPageSize,
    RequirementId::ListToolsArray,
    RequirementId::LivenessFrameSize,
];

/// Requirements that hold for many kinds of messages: where one other is broken by the same, that says more.
const GENERAL: [RequirementId; 7] = [
    RequirementId::JsonrpcAnswerRequired,
    RequirementId::CallSuccess,
    RequirementId::NotificationsNotAnswered,
    RequirementId::LivenessAnswers,
    RequirementId::LivenessLinkKept,
    RequirementId::LivenessLinkKeptMqtt,
    RequirementId::ArgumentsDefaultWrongType,
];

/// Areas that others are built on, the first of them first.
const BASES: [&str; 6] = ["envelope", "jsonrpc", "initialize", "list", "call", "arguments"];

/// All that breaks one requirement, or falls silent in one way, on one device.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) found: Vec<Found<'a>>,
    /// What was joined to it.
    pub(super) joined: Vec<Found<'a>>,
}

impl<'a> Group<'a> {
    pub(super) fn new(first: Found<'a>) -> Self {
        Self { found: vec![first], joined: Vec::new() }
    }

    /// Whether a finding is of this group.
    pub(super) fn has(&self, found: &Found<'_>) -> bool {
        let first = &self.found[0];
        let alike = match found.finding.verdict {
            // Of what fell silent, the reason is the cause; how long each message was waited for is no other one.
            Verdict::Inconclusive => {
                let is_one = first.finding.requirement == found.finding.requirement;
                first.finding.received == found.finding.received
                    || is_one && first.is_silence() && found.is_silence()
            }
            _ => {
                let ask_alike = || first.kind() == found.kind();
                first.finding.requirement == found.finding.requirement
                    && first.is_silence() == found.is_silence()
                    && first.is_reading() == found.is_reading()
                    && (!self.is_bare_silence() || ask_alike())
            }
        };
        alike
            && first.finding.verdict == found.finding.verdict
            && first.case.dut == found.case.dut
            && first.is_of_same_crash(found)
    }

    fn all(&self) -> impl Iterator<Item = &Found<'a>> + Clone {
        self.found.iter().chain(&self.joined)
    }

    fn is_of(&self, ids: &[RequirementId]) -> bool {
        ids.iter().any(|id| self.found[0].is(*id))
    }

    /// Whether all that it says is that answers are missing.
    fn is_bare_silence(&self) -> bool {
        self.found[0].is_bare()
    }

    fn is_unsolicited(&self) -> bool {
        self.is_of(&[RequirementId::JsonrpcNoUnsolicitedAnswer])
    }

    fn area(&self) -> &str {
        self.found[0].area()
    }

    /// How severe it is; less is worse. What is alike keeps the order of the run.
    pub(super) fn rank(&self) -> (bool, u8) {
        let first = &self.found[0];
        let kind = match first.id() {
            Some(RequirementId::LivenessNoPanic) => 0,
            Some(RequirementId::LivenessNoReset) => 1,
            _ if first.breaks_down() => 2,
            Some(id) if SOURCES.contains(&id) => 3,
            // The same asked in another way: what is wrong with the plain way is told before it.
            Some(id) if VARIATIONS.contains(&id) => 6,
            _ if self.found.iter().all(Found::is_unseen) => 7,
            _ if first.finding.level == Level::Must => 4,
            _ => 5,
        };
        (first.finding.verdict == Verdict::Inconclusive, kind)
    }

    /// How much it shows, for which of two explains the other: a breakdown; in how many scripts; of two that show in as
    /// many, the one that says more than that an answer is missing, or that one came for nothing; what others are built
    /// on; how often.
    pub(super) fn size(&self) -> (bool, usize, bool, Option<usize>, usize) {
        let is_said = !self.is_bare_silence() && !self.is_unsolicited();
        let basis = BASES.iter().rev().position(|area| *area == self.area());
        (self.found[0].breaks_down(), scripts(&self.found), is_said, basis, self.found.len())
    }

    /// Whether all of another one follows from this; where `even_readings`, also because what went wrong here may have
    /// changed a setting that is read there.
    pub(super) fn explains(&self, other: &Group<'_>, even_readings: bool) -> bool {
        let all = || self.all();
        if self.found[0].case.dut != other.found[0].case.dut {
            return false;
        }
        if self.found[0].breaks_down() {
            let crashes = self.found[0].crash.zip(other.found[0].crash);
            if crashes.is_some_and(|(own, others)| !own.is_like(&others)) {
                return false;
            }
            let any = |of: &Found<'_>| {
                self.found.iter().any(|crash| of.follows(crash) || crash.tells_the_same(of))
            };
            return other.found.iter().all(any);
        }
        // What the console lacks, and an answer to nothing, are what else there is to see of it.
        if other.found.iter().all(Found::is_unseen) && self.area() == other.area() {
            let one = |of| all().any(|own| own.is_beside(of) || own.is_unseen());
            return other.found.iter().any(one);
        }
        let is_stray = |of: &Found<'_>| {
            let lacks = RequirementId::JsonrpcAnswerRequired;
            all().any(|own| {
                own.got_like(of)
                    || own.is(lacks) && own.is_beside(of)
                    || own.is(RequirementId::IdsEcho)
                    || own.is(RequirementId::IdsErrorEcho)
            })
        };
        if other.is_unsolicited() && other.found.iter().all(is_stray) {
            return true;
        }
        let similar = self.area() == other.area()
            || self.found.len() <= SIMILAR * other.found.len()
            || self.is_bare_silence()
            || other.is_bare_silence()
            || self.is_of(&FORMS);
        // What is read wrongly in many scripts is read wrongly in a few for the same reason.
        let is_common = scripts(all()) > SIMILAR * scripts(&other.found);
        let is_form = self.is_of(&FORMS) && other.is_of(&FORMS) && self.area() == other.area();
        let follows = |own: &Found<'_>, of: &Found<'_>| {
            own.is_plainly_like(of)
                || even_readings && own.is_like(of)
                || is_form && own.is_beside(of)
                || similar && own.is_about(of)
                || is_common && own.reads_like(of)
                || own.is(RequirementId::JsonrpcInFlight) && own.is_beside(of)
                || own.is(RequirementId::VolumeStatus) && of.is_reading()
        };
        first_of_each(other.all()).iter().all(|of| all().any(|own| follows(own, of)))
    }

    /// Whether it is that answers carry other ids than those of their requests, and another one that some came under ids
    /// that were answered before: of errors where only errors do so.
    pub(super) fn mixes_up(&self, other: &Group<'_>) -> bool {
        const USED: [RequirementId; 2] =
            [RequirementId::JsonrpcOneAnswer, RequirementId::SessionNoStaleAnswer];
        let is_error = |of: &Found<'_>| of.finding.received.contains("\"error\":");
        self.found[0].case.dut == other.found[0].case.dut
            && other.is_of(&USED)
            && (self.is_of(&[RequirementId::IdsEcho])
                || self.is_of(&[RequirementId::IdsErrorEcho]) && other.found.iter().all(is_error))
    }

    /// Puts what tells most in front: what is most severe, and of that what says more than that a message of some kind
    /// went wrong; of a volume that never changes, that it cannot be set.
    pub(super) fn led_by_the_clearest(mut self) -> Self {
        let first = self.found[0];
        let says_more = |one: &&Found<'_>| {
            !one.breaks_down() && !one.is(RequirementId::JsonrpcNoUnsolicitedAnswer)
        };
        let others: BTreeSet<&str> =
            self.joined.iter().filter(says_more).map(|one| &*one.finding.requirement).collect();
        // One that is broken wherever a script shows the general one, too.
        let is_everywhere = |slug: &str| {
            let mut own = self.joined.iter().filter(|one| one.finding.requirement == slug);
            scripts(&self.found) > 0
                && first_of_each(self.found.iter())
                    .iter()
                    .all(|of| own.by_ref().any(|one| one.is_about(of)))
        };
        let clearer = self.joined.iter().find(|&one| {
            let (own, level) = (first.finding.level, one.finding.level);
            let is_must = level == Level::Must;
            one.finding.verdict == first.finding.verdict
                && one.finding.requirement != first.finding.requirement
                && !one.breaks_down()
                && (one.is_reason_of(&first)
                    || one.is_plainer_than(&first)
                    // A level that the status leaves out is most often the one that counts as nothing.
                    || one.is(RequirementId::VolumeZero) && one.misses_like(&first)
                    // Generated levels meet with what is wrong about some, which a script tells by its name.
                    || one.is(RequirementId::VolumeSet)
                        && one.case.generated.is_none()
                        && one.reads_like(&first)
                        && !one.misses_like(&first)
                    || self.is_of(&GENERAL)
                        && says_more(&one)
                        && (is_must || level == own)
                        && (others.len() == 1 || is_everywhere(&one.finding.requirement))
                    || own != Level::Must && is_must && !first.breaks_down())
        });
        if let Some(slug) = clearer.map(|one| one.finding.requirement.clone()) {
            let (lead, rest) = std::mem::take(&mut self.joined)
                .into_iter()
                .partition(|one| one.finding.requirement == slug);
            let before = std::mem::replace(&mut self.found, lead);
            self.joined = before.into_iter().chain(rest).collect();
        }
        self
    }
}

/// What must be explained of findings: the first in each script, because what comes after it may follow from it; all
/// that generated inputs show where no script does.
fn first_of_each<'b, 'a: 'b>(
    of: impl Iterator<Item = &'b Found<'a>> + Clone,
) -> Vec<&'b Found<'a>> {
    let mut firsts: Vec<&Found<'a>> = Vec::new();
    for one in of.clone().filter(|one| one.case.generated.is_none()) {
        if !firsts.iter().any(|first| first.is_beside(one)) {
            firsts.push(one);
        }
    }
    if firsts.is_empty() { of.collect() } else { firsts }
}

/// In how many scripts findings show; one may show them often.
fn scripts<'a>(found: impl IntoIterator<Item = &'a Found<'a>>) -> usize {
    let scripts = found.into_iter().filter(|one| one.case.generated.is_none());
    let names = scripts.map(|one| (&*one.case.transport, &*one.case.case));
    names.collect::<BTreeSet<_>>().len()
}
