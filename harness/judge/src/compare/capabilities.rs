//! What a device was able to do once, and is able to do now.
//!
//! A case that needs what a device has not got does not apply: one that loses a capability gets fewer cases,
//! and no verdict says so. What is told here is a change, and no finding: no document says what a device must
//! be able to do.

use std::collections::BTreeSet;

use mcp_hil_core::capability::{self, LINGER};
use serde::{Deserialize, Serialize};

/// Read off the device's own tools and answers, at the start of any run.
const OF_THE_DEVICE: [&str; 28] = [
    "tools",
    "pages",
    "user-tools",
    "status",
    "status.tool",
    "volume",
    "volume.tool",
    "volume.required",
    "volume.told",
    "volume.elsewhere",
    "volume.step",
    "volume.step-optional",
    "mute",
    "brightness",
    "theme",
    "lamp",
    "nullary",
    "integer",
    "integer.state",
    "boolean",
    "string",
    "default",
    "enum",
    "length",
    "structured",
    "camera",
    "camera.untold",
    "reinitialize",
];

/// Seen while the device starts, and on its console until it is known.
const OF_THE_START: [&str; 5] =
    ["bootstrap", "reconfigure", "console", "console.mcp", "console.tools"];

/// Seen, or seen to be missing, in cases of the suite.
const OF_THE_SUITE: [&str; 2] = ["reconnect", "notifications"];

/// How a run looked at its device: what it did not look for is not lost when it is not there.
///
/// Some capabilities are not compared at all. The transport, a broker of somebody else's, a token and silicon
/// are the bench's; whether anybody opened an audio channel, whether the first lines of a later boot were
/// caught, whether a line about memory came before the end, and whether one tool told at once what another had set, hang on
/// the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether the harness started the device and missed nothing of it. A board without a reset is tested as it
    /// runs, and its port may lose the first lines of a boot.
    pub start: bool,
    /// Whether all cases of the suite were tried, and none of them was unclear.
    pub suite: bool,
}

impl Look {
    /// What both of two runs looked for.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { start: self.start && other.start, suite: self.suite && other.suite }
    }

    /// Whether a device that does not show this capability, one of [`mcp_hil_core::capability::ALL`], has not got it.
    /// `own_broker` says whether the broker is the harness's, which tells devices how to keep a connection.
    fn is_for(self, capability: &str, own_broker: bool) -> bool {
        OF_THE_DEVICE.contains(&capability)
            || (self.start && OF_THE_START.contains(&capability))
            || (self.start && own_broker && capability == "keep-alive")
            || (self.suite && OF_THE_SUITE.contains(&capability))
    }

    /// Whether a capability is the device's own, and not one of the bench, or one that hangs on the moment.
    pub fn is_of_the_device(capability: &str) -> bool {
        Self { start: true, suite: true }.is_for(capability, true)
    }

    /// What a run shows, as people review it: what it looked for as it is, all else as it was before.
    pub fn shown(
        self,
        before: Option<&BTreeSet<String>>,
        now: &BTreeSet<String>,
    ) -> BTreeSet<String> {
        let own_broker = now.contains("own-broker");
        let is_for = |name: &&String| self.is_for(name, own_broker);
        let kept = before.into_iter().flatten().filter(|name| !is_for(name));
        now.iter().filter(is_for).chain(kept).cloned().collect()
    }
}

/// What a device lost, and what it gained.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityChange {
    /// What it was able to do and is not any more.
    pub lost: Vec<String>,
    /// What it was not able to do and is now.
    pub gained: Vec<String>,
}

impl CapabilityChange {
    /// Compares what a device showed once with what it shows now.
    pub fn between(before: &BTreeSet<String>, now: &BTreeSet<String>) -> Self {
        Self {
            lost: before.difference(now).cloned().collect(),
            gained: now.difference(before).cloned().collect(),
        }
    }

    /// Compares two runs, by what both of them looked for.
    pub fn of_runs(look: Look, before: &BTreeSet<String>, now: &BTreeSet<String>) -> Self {
        let brokers = [before, now].map(|shown| shown.contains("own-broker"));
        let own_broker = brokers == [true, true];
        let seen = |shown: &BTreeSet<String>| -> BTreeSet<String> {
            let seen = shown.iter().filter(|name| look.is_for(name, own_broker));
            seen.cloned().collect()
        };
        Self::between(&seen(before), &seen(now))
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.gained.is_empty()
    }
}

/// Why a case does not apply to a device that has not got a capability.
pub fn lacking(capability: &str) -> String {
    if capability == LINGER {
        return "not tried: this run does not linger (`--linger`)".to_owned();
    }
    let named = not_there(capability);
    match capability::lacking(capability) {
        Some(words) => format!("{named}: {words}"),
        None => named,
    }
}

/// The beginning of that: programs before this one said no more.
pub fn not_there(capability: &str) -> String {
    format!("the device has no `{capability}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::capability::ALL;

    const WHOLE: Look = Look { start: true, suite: true };

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// The transport and what else is the bench's, and what depends on the moment.
    const NEVER: [&str; 23] = [
        "both-transports",
        "websocket",
        "mqtt",
        "hello",
        "configured",
        "own-broker",
        "token",
        "sut.gateway",
        "silicon",
        "simulated",
        "console.boot",
        "channel",
        "memory",
        "linger",
        "echo",
        "claims",
        "progress",
        "requests",
        "listen",
        "told",
        "told.number",
        "told.several",
        "told.signed",
    ];

    /// A new capability is compared, or there is a reason why not.
    #[test]
    fn every_capability_is_compared_or_named_as_one_that_is_not() {
        let compared = [&OF_THE_DEVICE[..], &OF_THE_START, &OF_THE_SUITE];
        let named = compared.into_iter().chain([&NEVER[..], &["keep-alive"]]);
        let mut named: Vec<&str> = named.flatten().copied().collect();
        let mut all = ALL.to_vec();
        named.sort_unstable();
        all.sort_unstable();
        assert_eq!(named, all);
    }

    #[test]
    fn what_a_run_did_not_look_for_is_not_lost() {
        let before = set(&["tools", "bootstrap", "console.tools", "reconnect"]);
        let now = set(&["tools", "volume"]);
        let lost = |look: Look| {
            let shown = look.shown(Some(&before), &now);
            let change = CapabilityChange::between(&before, &shown);
            assert_eq!(change.gained, ["volume"], "{look:?}");
            change.lost
        };
        assert_eq!(lost(WHOLE), ["bootstrap", "console.tools", "reconnect"]);
        let no_start = Look { start: false, ..WHOLE };
        assert_eq!(lost(no_start), ["reconnect"]);
        let no_suite = Look { suite: false, ..WHOLE };
        assert_eq!(lost(no_suite), ["bootstrap", "console.tools"]);
    }

    #[test]
    fn what_is_the_benchs_or_hangs_on_the_moment_is_never_compared() {
        let bench = [
            "websocket",
            "mqtt",
            "own-broker",
            "configured",
            "silicon",
            "token",
            "hello",
            "channel",
            "memory",
            "console.boot",
        ];
        assert_eq!(WHOLE.shown(None, &set(&bench)), set(&[]));
        assert!(NEVER.iter().all(|name| !Look::is_of_the_device(name)));
        assert!(["volume", "reconnect", "keep-alive"].into_iter().all(Look::is_of_the_device));
        let change = CapabilityChange::of_runs(WHOLE, &set(&bench), &set(&[]));
        assert!(change.is_empty(), "{change:?}");
        // A broker of somebody else's says nothing of what the device would keep to.
        let ours = set(&["own-broker", "keep-alive"]);
        assert_eq!(WHOLE.shown(None, &ours), set(&["keep-alive"]));
        let theirs = WHOLE.shown(Some(&set(&["keep-alive"])), &set(&[]));
        assert_eq!(theirs, set(&["keep-alive"]));
    }
}
