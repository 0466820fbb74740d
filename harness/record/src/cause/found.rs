//! Findings in their places, and what makes two of them evidence of one thing.

use mcp_hil_core::capability::STATUS_TOOL;
use mcp_hil_core::catalogue::RequirementId;
use mcp_hil_core::verdict::{Finding, Verdict};
use serde_json::Value;

use super::crash::Crash;
use crate::case::CaseReport;

/// What is expected where a refusal would do, too.
const OR_A_REFUSAL: &str = ", or a refusal";

/// Bytes from which on a text is hardly said by chance of two things.
const TELLING: usize = 24;

/// Error codes that JSON-RPC defines or reserves; others say what this device means by them.
const DEFINED_CODES: std::ops::RangeInclusive<i64> = -32768..=-32100;

/// How a finding begins about an answer that did not come.
const SILENCE: [&str; 2] = ["no answer", "none, "];

/// Methods that every device knows.
const METHODS: [&str; 3] = ["initialize", "tools/call", "tools/list"];

/// Requirements of which the first says why the second is broken, where both are broken in one run.
const SAYS_WHY: [(RequirementId, RequirementId); 7] = [
    (RequirementId::InitializeVision, RequirementId::VisionAnswer),
    (RequirementId::VisionToken, RequirementId::VisionAnswer),
    (RequirementId::VisionUpload, RequirementId::VisionAnswer),
    (RequirementId::InitializeVisionOptional, RequirementId::InitializeFull),
    (RequirementId::InitializeVisionOptional, RequirementId::InitializeMinimal),
    (RequirementId::SessionNewId, RequirementId::EnvelopeSessionId),
    (RequirementId::EnvelopeTypeString, RequirementId::HelloFirst),
];

/// Requirements of which the second asks for the first in a more special way: a device that refuses no call of an
/// unknown tool does not refuse one whose name is no name.
const PLAINER: [(RequirementId, RequirementId); 1] =
    [(RequirementId::CallUnknownToolRefused, RequirementId::CallNameType)];

/// A finding in its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) case: &'a CaseReport,
    pub(super) finding: &'a Finding,
    /// The breakdown that it tells of or follows from, where the device breaks down in more than one way.
    pub(super) crash: Option<Crash<'a>>,
    /// Whether a script shows that the requirement is broken, and nothing else.
    pub(super) is_alone: bool,
}

impl<'a> Found<'a> {
    /// The file of the transcript that shows it.
    pub(super) fn transcript(&self) -> Option<&'a String> {
        self.finding.transcript.as_ref().or(self.case.transcript.as_ref())
    }

    pub(super) fn id(&self) -> Option<RequirementId> {
        RequirementId::of(&self.finding.requirement)
    }

    pub(super) fn is(&self, id: RequirementId) -> bool {
        self.finding.requirement == id.slug()
    }

    pub(super) fn area(&self) -> &'a str {
        self.finding.requirement.split('.').next().unwrap_or_default()
    }

    /// Whether the device broke down, or its connection did.
    pub(super) fn breaks_down(&self) -> bool {
        self.id().is_some_and(RequirementId::is_liveness)
    }

    /// Whether only a missing line of the console tells of it.
    pub(super) fn is_unseen(&self) -> bool {
        self.finding.seq.is_none() && self.finding.sent.is_none()
    }

    /// Whether both stand in one case over one transport.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        (&self.case.transport, &self.case.case) == (&other.case.transport, &other.case.case)
    }

    /// Whether both are evidence of one thing, without being about one message.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.is_plainly_like(other) || self.changed_what_is_read_by(other)
    }

    /// The same, whatever was sent before them.
    pub(super) fn is_plainly_like(&self, other: &Self) -> bool {
        self.differs_like(other)
            || self.misses_like(other)
            || self.names_the_same(other)
            || self.tells_the_same(other)
            || self.own_error().is_some_and(|error| other.own_error() == Some(error))
            || self.says_why(other)
            || self.is_unseen() && other.is_unseen() && self.area() == other.area()
    }

    /// Whether it says why the other is broken.
    pub(super) fn says_why(&self, other: &Self) -> bool {
        self.is_reason_of(other) || other.is_reason_of(self)
    }

    /// Whether it is the first of such a pair.
    pub(super) fn is_reason_of(&self, other: &Self) -> bool {
        // A device that needs `vision` leaves the initialize without it unanswered.
        let is_unmet = || {
            self.is(RequirementId::InitializeVisionOptional)
                && other.is(RequirementId::JsonrpcAnswerRequired)
                && other.kind().as_deref() == Some("initialize")
        };
        SAYS_WHY.iter().any(|(why, what)| self.is(*why) && other.is(*what)) || is_unmet()
    }

    /// Whether it is the plain form of what the other breaks.
    pub(super) fn is_plainer_than(&self, other: &Self) -> bool {
        PLAINER.iter().any(|(plain, special)| self.is(*plain) && other.is(*special))
    }

    /// Whether nothing came where something had to.
    pub(super) fn is_silence(&self) -> bool {
        SILENCE.iter().any(|text| self.finding.received.starts_with(text))
    }

    /// Whether all that it says is that an answer is missing.
    pub(super) fn is_bare(&self) -> bool {
        self.is(RequirementId::JsonrpcAnswerRequired)
    }

    /// The kind of the request that it is about: its method, or for all unknown ones the same. A device that ignores
    /// unknown methods does not ignore calls for that reason.
    pub(super) fn kind(&self) -> Option<String> {
        let method = self.sent()?.get("method")?.as_str()?.to_owned();
        Some(if METHODS.contains(&&*method) { method } else { String::new() })
    }

    /// The payload of what was sent.
    fn sent(&self) -> Option<Value> {
        let mut message: Value = serde_json::from_str(self.finding.sent.as_deref()?).ok()?;
        Some(message.get_mut("payload").map(Value::take).unwrap_or(message))
    }

    /// Whether both are about one message: the same entry of a transcript, or the same step. Of generated inputs
    /// the same failure, or at least the same case.
    pub(super) fn is_about(&self, other: &Self) -> bool {
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

    /// Whether both differ in one way from what is expected, numbers and texts aside: in one area, unless each is broken
    /// somewhere without the other; or after the same kind of request.
    fn differs_like(&self, other: &Self) -> bool {
        let received = |found: &Self| masked(&found.finding.received);
        let asked = self.request();
        self.expects_like(other)
            && self.is_silence() == other.is_silence()
            && !(self.is_bare() && other.is_bare() && self.kind() != other.kind())
            && (self.area() == other.area() && !self.stands_apart(other)
                || asked.is_some() && asked == other.request() && received(self) == received(other))
    }

    /// Whether each of both requirements is broken somewhere without the other.
    fn stands_apart(&self, other: &Self) -> bool {
        self.is_alone
            && other.is_alone
            && self.finding.requirement != other.finding.requirement
            && !self.is_silence()
    }

    fn expects_like(&self, other: &Self) -> bool {
        let expected = |found: &Self| {
            let masked = masked(&found.finding.expected);
            masked.strip_suffix(OR_A_REFUSAL).map_or(masked.clone(), str::to_owned)
        };
        expected(self) == expected(other)
    }

    /// Whether both find that the status leaves one setting out.
    pub(super) fn misses_like(&self, other: &Self) -> bool {
        let missed = |found: &Self| {
            let is_absent = found.is_reading() && found.finding.received.starts_with("absent");
            let place = found.finding.expected.split(' ').next().map(str::to_owned);
            place.filter(|_| is_absent)
        };
        missed(self).is_some_and(|own| missed(other) == Some(own))
    }

    /// Whether both read one setting.
    pub(super) fn reads_like(&self, other: &Self) -> bool {
        self.is_reading() && other.is_reading() && self.expects_like(other)
    }

    /// The kind of the request that provoked it: its method, and its form with all values masked. A reading of the
    /// settings is not what set them.
    fn request(&self) -> Option<(String, String)> {
        let sent = self.finding.sent.as_deref().filter(|_| !self.is_reading())?;
        let method = self.sent()?.get("method")?.as_str()?.to_owned();
        Some((method, masked(sent)))
    }

    /// Whether it is about what the status said of a setting. That there is no status to read is another thing.
    pub(super) fn is_reading(&self) -> bool {
        let reads = |sent: &String| sent.contains(STATUS_TOOL);
        !self.is(RequirementId::StatusObject)
            && self.finding.expected.starts_with("/json")
            && self.finding.sent.as_ref().is_some_and(reads)
    }

    /// Whether the other reads a setting after this in the same case, or where inputs are generated: what it went wrong
    /// with may have changed it.
    fn changed_what_is_read_by(&self, other: &Self) -> bool {
        let seqs = self.finding.seq.zip(other.finding.seq);
        let before = seqs.is_none_or(|(own, read)| own < read) || self.case.generated.is_some();
        other.is_reading() && self.is_beside(other) && before
    }

    /// Whether both miss the same thing, by its name.
    fn names_the_same(&self, other: &Self) -> bool {
        let name = |found: &Self| {
            let (_, rest) = found.finding.expected.split_once('`')?;
            rest.split_once('`').map(|(name, _)| name.to_owned()).filter(|name| !name.is_empty())
        };
        self.area() == other.area() && name(self).is_some_and(|own| name(other) == Some(own))
    }

    /// Whether one of two gives the odd value of the other.
    pub(super) fn tells_the_same(&self, other: &Self) -> bool {
        let tells = |one: &Self, of: &Self| {
            let value = one.finding.received.trim();
            let is_odd = one.finding.sent.is_none()
                && !value.contains('{')
                && (value.len() >= TELLING || value.len() > 5 && value.contains(char::is_numeric));
            let is_there = || {
                value.len() >= TELLING && of.finding.received.contains(value)
                    || of.finding.sent.is_none()
                        && (of.finding.received.ends_with(value)
                            || of.finding.expected.contains(value))
            };
            is_odd && is_there()
        };
        tells(self, other) || tells(other, self)
    }

    /// Whether both got a message of one form.
    pub(super) fn got_like(&self, other: &Self) -> bool {
        let message = |found: &Self| {
            let at = found.finding.received.find('{')?;
            Some(masked(&found.finding.received[at..]))
        };
        message(self).is_some_and(|own| message(other) == Some(own))
    }

    /// The code and the message of an error that this device has for a thing of its own.
    fn own_error(&self) -> Option<(i64, String)> {
        let at = self.finding.received.find('{')?;
        let answer: Value = serde_json::from_str(&self.finding.received[at..]).ok()?;
        let error = answer.get("error")?;
        let code = error.get("code")?.as_i64().filter(|code| !DEFINED_CODES.contains(code))?;
        Some((code, error.get("message")?.as_str()?.to_owned()))
    }

    /// Whether both tell of one breakdown, or follow from one, or from none.
    pub(super) fn is_of_same_crash(&self, other: &Self) -> bool {
        match (self.crash, other.crash) {
            (None, None) => true,
            (Some(own), Some(others)) => own.is_like(&others),
            _ => false,
        }
    }

    /// Whether it comes after the device or its connection broke down in the same case.
    pub(super) fn follows(&self, crash: &Self) -> bool {
        let late = match (self.finding.seq, crash.finding.seq) {
            (Some(own), Some(crash)) => own >= crash,
            _ => true,
        };
        // The console may be read later than the connection.
        self.is_beside(crash)
            && (late || self.breaks_down() || self.finding.verdict == Verdict::Inconclusive)
    }
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
