//! `[snapshots]` in a device's file.

use schemars::JsonSchema;
use serde::Deserialize;

/// What a device's file says about its snapshots.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotsFile {
    /// The family: where the device has no reviewed answer of its own, that of this folder counts.
    pub family: Option<String>,
    /// Rules by choice that are in force for this device.
    #[serde(default)]
    pub redact: Vec<String>,
    /// Rules of its own.
    #[serde(default)]
    pub rule: Vec<RedactionRule>,
}

/// A rule, as it is written.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedactionRule {
    /// Its name.
    pub name: String,
    /// What takes the place; `$1` is what the first group of the pattern matched.
    pub mark: String,
    /// A place in the message.
    pub at: Option<String>,
    /// A member name, as a pattern.
    pub member: Option<String>,
    /// A pattern for texts.
    pub text: Option<String>,
    /// Only where the answer says the same as its request.
    #[serde(default)]
    pub as_in_request: bool,
    /// Only numbers.
    #[serde(default)]
    pub numbers: bool,
    /// Only in force where a device's file names it.
    #[serde(default)]
    pub by_choice: bool,
}
