//! What is known of mutants and variations before they run.

use std::collections::BTreeMap;

use mcp_hil_scenarios::MUTANTS;

/// What kills a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kill {
    /// Over which transport it shows: `websocket`, `mqtt`, or `both` for their comparison.
    pub transport: String,
    /// The case; one that ends in `/` stands for all of its area.
    pub case: String,
    /// The requirement that the mutant breaks.
    pub requirement: String,
}

/// How a run lingers in which such a case is to find a mutant.
pub const LINGER: [&str; 2] = ["--linger", "6s"];

impl Kill {
    /// Whether the run has to linger.
    pub fn lingers(&self) -> bool {
        self.case.starts_with("linger/")
    }

    /// Reads `case requirement` or `transport case requirement`.
    fn read(text: &str) -> Self {
        let words: Vec<&str> = text.split(' ').collect();
        let (transport, case, requirement) = match words[..] {
            [case, requirement] => ("websocket", case, requirement),
            [transport @ ("mqtt" | "both"), case, requirement] => (transport, case, requirement),
            _ => panic!("`{text}`: expected `case requirement`, perhaps with a transport before"),
        };
        Self {
            transport: transport.to_owned(),
            case: case.to_owned(),
            requirement: requirement.to_owned(),
        }
    }
}

/// What kills each mutant.
///
/// # Panics
///
/// The table, which is a part of this program, is wrong.
pub fn kills() -> BTreeMap<String, Vec<Kill>> {
    let table: BTreeMap<String, Vec<String>> =
        toml::from_str(MUTANTS).expect("`mutants.toml` is a table of lists");
    table
        .into_iter()
        .map(|(mutant, kills)| (mutant, kills.iter().map(|kill| Kill::read(kill)).collect()))
        .collect()
}

/// Requirements that a variation goes against although it is harmless: the variation, the requirement, and
/// the reason.
const EXCEPTIONS: [(&str, &str, &str); 18] = [
    ("initialize-first", "session.call-before-initialize", FIRST),
    ("initialize-first", "session.list-before-initialize", FIRST),
    (
        "initialize-once",
        "initialize.repeat-accepted",
        "MCP does not say what happens to a second initialize",
    ),
    (
        "no-ping",
        "mcp.ping",
        "no device of the family answers it, and the device documents do not mention it",
    ),
    (
        "id-less-call-executed",
        "notifications.id-less-no-effect",
        "JSON-RPC executes it; the device document that forbids this only leads to a warning",
    ),
    (
        "list-order-varies",
        "list.stable",
        "no document gives tools an order; backends keep a prompt that has them in it",
    ),
    ("null-arguments-accepted", "call.arguments-nullary", "nothing says what happens to them"),
    ("parser-forgives", "arguments.name-case", CASE),
    ("parser-forgives", "jsonrpc.case-sensitive", CASE),
    ("parser-forgives", "jsonrpc.nul-in-name", NUL),
    ("settings-locked", "call.carried-out", LOCKED),
    ("settings-locked-later", "call.carried-out", LOCKED),
    (
        "settings-locked-later",
        "transport.same-answer",
        "it is locked while one connection is tested",
    ),
    ("stock-life", "arguments.name-case", CASE),
    ("stock-life", "jsonrpc.case-sensitive", CASE),
    ("stock-life", "jsonrpc.nul-in-name", NUL),
    ("tools-grow-unsaid", "list.stable", GROWS),
    ("tools-grow-unsaid", "list.user-tools-marked", GROWS),
];

const GROWS: &str = "no document demands that a device tells of new tools";
const FIRST: &str =
    "MCP has initialize before all else, and does not say that a server answers without it";
const CASE: &str = "JSON-RPC only says that names should be case-sensitive, and cJSON ignores case";
const LOCKED: &str = "MCP lets a tool refuse a call for a reason of its own";
const NUL: &str =
    "RFC 8259 lets a parser limit the characters in strings, and in cJSON a string ends at NUL";

/// The baseline of a variation that goes against requirements: it covers these and nothing else.
pub(super) fn baseline(variant: &str) -> Option<String> {
    let own = EXCEPTIONS.iter().filter(|(name, ..)| *name == variant);
    let entries: Vec<String> = own
        .map(|(_, requirement, reason)| {
            format!(
                "[[known]]\ncase = \"*\"\nrequirement = \"{requirement}\"\nreason = \"{reason}\"\n\
                 intermittent = true\n"
            )
        })
        .collect();
    (!entries.is_empty()).then(|| entries.join("\n"))
}

/// Variations that are slow by nature: each answer, or many of them, take a hundred times longer.
const SLOW: [&str; 8] = [
    "backlight-fades",
    "backlight-fades-evenly",
    "calls-apart",
    "link-jitters",
    "stalls",
    "stock-life",
    "very-slow",
    "volume-rate-limited",
];

/// What stands for the whole suite on a slow device in a hurry: how it is talked to, how silence is proven,
/// and how state is read.
const IN_A_HURRY: [&str; 6] = [
    "ids/",
    "properties/state",
    "robustness/long-string",
    "session/",
    "volume/set",
    "volume/workflow",
];

/// Generated inputs for each property on a slow device: in a hurry, and else.
const SLOW_INPUTS: [u32; 2] = [1, 5];

/// What a variation is tried with where that is not the whole suite.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    /// The cases; all where there is none.
    pub(super) only: &'static [&'static str],
    /// Generated inputs for each property.
    pub(super) cases: u32,
}

/// What a variation that is slow by nature is tried with.
pub(super) fn share(variant: &str, quick: bool) -> Option<Share> {
    SLOW.contains(&variant).then_some(match quick {
        true => Share { only: &IN_A_HURRY, cases: SLOW_INPUTS[0] },
        false => Share { only: &[], cases: SLOW_INPUTS[1] },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_whole() {
        let rows = MUTANTS.lines().filter(|line| line.contains(" = [")).count();
        let kills = kills();
        assert!(rows >= 500, "{rows}");
        assert_eq!(kills.len(), rows);
        assert!(kills.values().all(|kills| !kills.is_empty()));
    }

    #[test]
    fn what_a_variation_goes_against_is_a_baseline_of_its_own() {
        assert_eq!(baseline("calls-apart"), None);
        for (variant, requirement, _) in EXCEPTIONS {
            let text = baseline(variant).expect("a baseline");
            let read: toml::Table = toml::from_str(&text).expect("it reads");
            let entries = read["known"].as_array().expect("entries");
            let mut named = entries.iter().map(|entry| entry["requirement"].as_str());
            assert!(named.any(|one| one == Some(requirement)), "{text}");
        }
    }

    #[test]
    fn the_manual_tells_the_score_of_all_mutants() {
        let page = include_str!("../../manual/self-test.md");
        let mutants = kills().len();
        let told = format!("\nkilled {mutants} of {mutants}\n");
        assert!(
            page.contains(&told),
            "harness/manual/self-test.md does not say `{}`: run `mcp-hil self-test --quick` and put its last lines there",
            told.trim()
        );
    }

    #[test]
    fn a_kill_may_name_its_transport() {
        let kill = Kill::read("mqtt mqtt/qos1 mqtt.puback");
        assert_eq!((&*kill.transport, &*kill.case), ("mqtt", "mqtt/qos1"));
        assert_eq!(Kill::read("ids/large ids.echo").transport, "websocket");
        for bad in ["udp ids/large ids.echo", "ids/large"] {
            assert!(std::panic::catch_unwind(|| Kill::read(bad)).is_err(), "{bad}");
        }
    }
}
