//! What a run tells of answers that people review.

use mcp_hil_judge::compare::change::AnswerChange;
use serde::{Deserialize, Serialize};

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerState {
    /// It is another one than the reviewed.
    Changed,
    /// Nobody has reviewed one.
    New,
    /// There is a reviewed one, and no such answer.
    Gone,
}

/// What was reviewed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerKind {
    /// An answer.
    #[default]
    Answer,
    /// What the device is able to do.
    Capabilities,
}

impl AnswerKind {
    /// Whether it is an answer.
    pub fn is_answer(&self) -> bool {
        *self == Self::Answer
    }
}

/// An answer that is not as reviewed, or what a device is able to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnswerReport {
    /// Which of them.
    #[serde(default, skip_serializing_if = "AnswerKind::is_answer")]
    pub kind: AnswerKind,
    /// The device.
    pub dut: String,
    /// The transport; empty for an answer that did not come.
    pub transport: String,
    /// The case; empty where none asks for the answer.
    pub case: String,
    /// Area and name of the snapshot; of capabilities the name.
    pub snapshot: String,
    /// What became of it.
    pub state: AnswerState,
    /// Whether the run does not conform because of it.
    pub fails: bool,
    /// What changed, in words.
    pub changes: Vec<AnswerChange>,
    /// The cases that were not tried for the want of a lost capability.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_tried: Vec<String>,
    /// The lines that differ, before and after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<String>,
    /// The reviewed file.
    pub file: String,
    /// The file that waits for review, or was taken for reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// What else is to be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What the comparison of a run comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// Answers that are as reviewed.
    pub same: usize,
    /// Answers that are others.
    pub changed: usize,
    /// Answers that nobody has reviewed.
    pub new: usize,
    /// Reviewed answers that did not come.
    pub gone: usize,
    /// How many of these do not conform.
    pub failed: usize,
    /// Files that were asked for and could not be written.
    pub unwritten: usize,
    /// Capabilities that the device had when it was reviewed and has no longer, over any transport.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// Capabilities that it had not then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gained: Vec<String>,
    /// Whether the run does not conform because of these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub capabilities_fail: bool,
}

impl Answers {
    /// Adds what the comparison of another device came to.
    pub fn add(&mut self, other: &Self) {
        self.same += other.same;
        self.changed += other.changed;
        self.new += other.new;
        self.gone += other.gone;
        self.failed += other.failed;
        self.unwritten += other.unwritten;
        self.capabilities_fail |= other.capabilities_fail;
        for (own, others) in [(&mut self.lost, &other.lost), (&mut self.gained, &other.gained)] {
            for name in others {
                if !own.contains(name) {
                    own.push(name.clone());
                }
            }
        }
    }

    /// Whether answers were compared, or are missing.
    pub fn has_answers(&self) -> bool {
        self.same + self.changed + self.new + self.gone > 0
    }

    /// Whether the run does not conform because of what was reviewed.
    pub fn fail(&self) -> bool {
        self.failed > 0 || self.capabilities_fail
    }
}
