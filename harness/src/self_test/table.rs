//! What is known of mutants and variations before they run.

use std::collections::BTreeMap;

/// The table that the tests of mutants hold the checks to.
const MUTANTS: &str = include_str!("../../tests/mutants.toml");

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

impl Kill {
    /// Reads `case requirement` or `transport case requirement`.
    fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let (transport, case, requirement) = match words[..] {
            [case, requirement] => ("websocket", case, requirement),
            [transport @ ("mqtt" | "both"), case, requirement] => (transport, case, requirement),
            _ => return None,
        };
        Some(Self {
            transport: transport.to_owned(),
            case: case.to_owned(),
            requirement: requirement.to_owned(),
        })
    }
}

/// What kills which mutant. A row that cannot be read stands for no knowledge.
pub fn kills() -> BTreeMap<String, Vec<Kill>> {
    let table: BTreeMap<String, Vec<String>> = toml::from_str(MUTANTS).unwrap_or_default();
    table
        .into_iter()
        .map(|(mutant, kills)| {
            (
                mutant,
                kills.iter().filter_map(|kill| Kill::read(kill)).collect(),
            )
        })
        .collect()
}

/// Requirements that a variation goes against although it is harmless, each for a reason.
const EXCEPTIONS: [(&str, &str); 2] = [
    // MCP does not say what becomes of a second initialize: the catalogue only warns.
    ("initialize-once", "initialize.repeat-accepted"),
    // The device documents have no ping, and no device of the family answers it; only the rule set
    // of MCP, which has to be asked for, wants it.
    ("no-ping", "mcp.ping"),
];

/// Whether a variation may go against a requirement.
pub(super) fn is_excepted(variant: &str, requirement: &str) -> bool {
    EXCEPTIONS.contains(&(variant, requirement))
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
    fn the_readme_tells_the_score_of_all_mutants() {
        let readme = include_str!("../../../README.md");
        let mutants = kills().len();
        let told = format!("\nkilled {mutants} of {mutants}\n");
        assert!(
            readme.contains(&told),
            "README.md does not say `{}`: run `mcp-hil self-test --quick` and put its last lines there",
            told.trim()
        );
    }

    #[test]
    fn a_kill_may_name_its_transport() {
        let kill = Kill::read("mqtt mqtt/qos1 mqtt.puback").expect("it reads");
        assert_eq!((&*kill.transport, &*kill.case), ("mqtt", "mqtt/qos1"));
        assert_eq!(
            Kill::read("ids/large ids.echo")
                .expect("it reads")
                .transport,
            "websocket"
        );
        assert_eq!(Kill::read("udp ids/large ids.echo"), None);
        assert_eq!(Kill::read("ids/large"), None);
    }
}
