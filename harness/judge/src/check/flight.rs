//! What was seen of messages that were in flight together: what of it is sure, and what is to be tried alone.

use mcp_hil_core::capability::{PHOTO_TOOL, only_reads};
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::Duty;
use mcp_hil_core::verdict::{Judgement, Outcome};

use super::log::CaseLog;
use super::{CaseOutcome, KEPT};

/// Areas of requirements that are about how a device connects and publishes, whatever it is sent.
const OF_NO_MESSAGE: [&str; 3] = ["bootstrap", "hello", "mqtt"];

/// Requirements about what a device sends by itself.
const BY_ITSELF: [Id; 3] =
    [Id::SessionBinaryFraming, Id::SessionOwnMembers, Id::SessionOwnMessages];

/// The step of the connection with which a case begins, before it sends anything.
const CONNECT: &str = "connect";

/// Whether a finding leaves a doubt which message it is about, or whether the device would show it to the message
/// alone. It leaves none where it is about the answer to the message of its step, which names that by its id, and
/// does not depend on what others before it had set; nor where no message matters. A device that broke down may have had no
/// room for so many.
pub(super) fn is_doubtful(judgement: &Judgement, log: &CaseLog) -> bool {
    let Outcome::Broken(evidence) = &judgement.outcome else {
        return !matches!(judgement.outcome, Outcome::Held);
    };
    if judgement.step.as_deref().is_some_and(|step| log.is_limited(step)) {
        return true;
    }
    // What was read at the end was read until the settings stood still.
    let is_kept =
        judgement.requirement == Id::StatusKept && judgement.step.as_deref() == Some(KEPT);
    let of_no_message = OF_NO_MESSAGE.contains(&judgement.requirement.area())
        || judgement.step.as_deref() == Some(CONNECT)
            && judgement.requirement == Id::SessionReconnect
        || BY_ITSELF.contains(&judgement.requirement);
    // Every envelope is judged by itself.
    let received = evidence.seq.is_some_and(|seq| log.is_received(seq));
    let of_envelope = judgement.requirement.area() == "envelope" && received;
    if of_no_message || of_envelope || is_kept {
        return false;
    }
    let about = judgement.step.as_deref().and_then(|step| {
        let sent = log.sent(step)?.entry.frame().map(Duty::of)?;
        Some((log.own_answer(step)?, sent))
    });
    // A device that has no room for so many may say so in any words.
    let is_refused = judgement.step.as_deref().is_some_and(|step| log.is_refused(step));
    about.is_none_or(|(answer, sent)| {
        if is_refused {
            return true;
        }
        let reads = sent.tool.as_deref().is_some_and(|tool| only_reads(tool) || tool == PHOTO_TOOL);
        evidence.seq != Some(answer) || reads && judgement.requirement != Id::StatusObject
    })
}

impl CaseOutcome {
    /// What a case comes to that was carried out with its messages in flight together, which left a doubt, and
    /// then again with each of them alone: what the second attempt shows, and what is sure of the first.
    #[must_use]
    pub fn tried_alone(self, case: &str, mut again: Self) -> Self {
        let told: Vec<Id> = again.judgements.iter().map(|one| one.requirement).collect();
        // What is about earlier cases is theirs.
        let (own, others): (Vec<_>, Vec<_>) =
            self.judgements.into_iter().partition(|one| *one.case == *case);
        let is_sure =
            |one: &Judgement| !self.doubtful.contains(one) && !told.contains(&one.requirement);
        let own: Vec<_> = own.into_iter().filter(is_sure).collect();
        if own.iter().any(|one| super::breaks_down(one.requirement)) && again.console.is_empty() {
            (again.console, again.places) = (self.console, self.places);
        }
        again.judgements.extend(others.into_iter().chain(own));
        again.withdrawn.extend(self.withdrawn);
        again.exercised.extend(self.exercised);
        again.began = self.began.or(again.began);
        again.trouble = again.trouble.or(self.trouble);
        again
    }
}
