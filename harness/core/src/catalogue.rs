//! The requirement catalogue: one sentence of a document each, with level and source.

mod id;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::problem::{Problem, nearest};

pub use id::{RequirementId, is_liveness};

/// How strongly a document asks for something (RFC 2119 words).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// Breaking it is a failure.
    Must,
    /// Breaking it is a warning, and a failure with `--strict`.
    Should,
    /// Never judged; documents what is allowed.
    May,
}

/// A set of documents that a device may be held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RuleSet {
    /// The documents of the device family.
    #[serde(rename = "xiaozhi")]
    Xiaozhi,
    /// JSON-RPC 2.0.
    #[serde(rename = "jsonrpc-2.0")]
    JsonRpc,
    /// Model Context Protocol, revision 2024-11-05.
    #[serde(rename = "mcp-2024-11-05")]
    Mcp,
    /// The volume workflow of the device family alone, which is stricter than the documents beside it:
    /// it forbids ids that are no numbers, which JSON-RPC allows.
    #[serde(rename = "volume-workflow")]
    VolumeWorkflow,
}

impl RuleSet {
    /// All rule sets with their names.
    pub const ALL: [(&'static str, Self); 4] = [
        ("xiaozhi", Self::Xiaozhi),
        ("jsonrpc-2.0", Self::JsonRpc),
        ("mcp-2024-11-05", Self::Mcp),
        ("volume-workflow", Self::VolumeWorkflow),
    ];

    /// The rule sets that a device is held to unless others are asked for.
    pub const DEFAULT: [Self; 2] = [Self::Xiaozhi, Self::JsonRpc];

    /// The rule set of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, set)| *set)
    }
}

/// One requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Stable slug: `area.name`.
    pub id: String,
    /// How strongly it is asked for; of a catalogue that was loaded, by the rule sets in force.
    pub level: Level,
    /// Rule sets in which it is a MUST although others ask for less, or allow the opposite.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub must_in: BTreeSet<RuleSet>,
    /// The sentence.
    pub text: String,
    /// The document it comes from.
    pub source: String,
    /// The section of that document.
    pub section: String,
    /// The rule sets it belongs to.
    pub rules: BTreeSet<RuleSet>,
    /// Capabilities that a device must have for it to apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Where documents contradict each other: what, and what is accepted therefore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Where a document is published, by the name that requirements have for their source; `None` for one that is not.
pub fn document_address(source: &str) -> Option<&'static str> {
    const XIAOZHI: [&str; 3] = [
        "https://github.com/78/xiaozhi-esp32/blob/main/docs/mcp-protocol.md",
        "https://github.com/78/xiaozhi-esp32/blob/main/docs/websocket.md",
        "https://github.com/78/xiaozhi-esp32/blob/main/docs/mqtt-udp.md",
    ];
    Some(match source {
        "JSON-RPC 2.0" => "https://www.jsonrpc.org/specification",
        "MCP 2024-11-05" => "https://modelcontextprotocol.io/specification/2024-11-05",
        "MCP 2025-06-18" => "https://modelcontextprotocol.io/specification/2025-06-18",
        "xiaozhi MCP flow" => XIAOZHI[0],
        "xiaozhi WebSocket" => XIAOZHI[1],
        "xiaozhi MQTT+UDP" => XIAOZHI[2],
        "RFC 8259" => "https://www.rfc-editor.org/rfc/rfc8259",
        "RFC 6716" => "https://www.rfc-editor.org/rfc/rfc6716",
        "RFC 6455" => "https://www.rfc-editor.org/rfc/rfc6455",
        "MQTT 3.1.1" => "https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/mqtt-v3.1.1.html",
        _ => return None,
    })
}

/// All requirements, and which of them are in force.
#[derive(Debug, Clone)]
pub struct Catalogue {
    all: BTreeMap<&'static str, Requirement>,
    rules: BTreeSet<RuleSet>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    requirement: Vec<toml::Spanned<Requirement>>,
}

impl Catalogue {
    /// Reads the catalogue from its files (name, text) and puts the rule sets in force.
    ///
    /// # Errors
    ///
    /// The first mistake: broken TOML, unknown member, slug twice, slug that is no `area.name`.
    pub fn load<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
        rules: impl IntoIterator<Item = RuleSet>,
    ) -> Result<Self, Problem> {
        let mut all = BTreeMap::new();
        let rules: BTreeSet<RuleSet> = rules.into_iter().collect();
        for (name, text) in files {
            let file: File =
                toml::from_str(text).map_err(|error| Problem::from_toml(name, text, &error))?;
            for spanned in file.requirement {
                let line = text[..spanned.span().start].matches('\n').count() as u64 + 1;
                let mut requirement: Requirement = spanned.into_inner();
                let slug = requirement.id.clone();
                if slug.split('.').count() != 2 || slug.contains(char::is_whitespace) {
                    return Err(Problem::at(
                        name,
                        line,
                        0,
                        format!("requirement id `{slug}`: expected the form `area.name`"),
                    ));
                }
                if !requirement.must_in.is_subset(&requirement.rules) {
                    return Err(Problem::at(
                        name,
                        line,
                        0,
                        format!("`{slug}`: `must_in` names a rule set that `rules` does not"),
                    ));
                }
                if !requirement.must_in.is_disjoint(&rules) {
                    requirement.level = Level::Must;
                }
                // Slugs live as long as the program: checks and reports name them without copies.
                if all.insert(&*slug.clone().leak(), requirement).is_some() {
                    return Err(Problem::at(
                        name,
                        line,
                        0,
                        format!("requirement `{slug}` is defined twice"),
                    )
                    .hint("slugs are stable names; give the new requirement a different one"));
                }
            }
        }
        Ok(Self { all, rules })
    }

    /// A requirement by its slug, which may be an old one, in force or not.
    pub fn get(&self, slug: &str) -> Option<&Requirement> {
        self.all.get(RequirementId::todays(slug))
    }

    /// The requirement of a slug, if this catalogue has it.
    pub fn id(&self, slug: &str) -> Option<RequirementId> {
        RequirementId::of(slug).filter(|id| self.all.contains_key(id.slug()))
    }

    /// A requirement by its slug, when it is in force.
    pub fn active(&self, slug: &str) -> Option<&Requirement> {
        self.get(slug).filter(|requirement| !requirement.rules.is_disjoint(&self.rules))
    }

    /// All requirements in order of their slugs.
    pub fn iter(&self) -> impl Iterator<Item = &Requirement> {
        self.all.values()
    }

    /// The requirements that a conforming device of these capabilities must meet: in force, MUST,
    /// and applicable.
    pub fn required<'a>(
        &'a self,
        has: &'a BTreeSet<String>,
    ) -> impl Iterator<Item = &'a Requirement> {
        self.all.values().filter(move |requirement| {
            requirement.level == Level::Must
                && !requirement.rules.is_disjoint(&self.rules)
                && requirement.needs.iter().all(|need| has.contains(need))
        })
    }

    /// The known slug that is nearest to a mistyped one.
    pub fn nearest(&self, slug: &str) -> Option<&str> {
        nearest(slug, self.all.keys().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[[requirement]]
id = "ids.echo"
level = "MUST"
text = "An answer carries the id of its request."
source = "JSON-RPC 2.0"
section = "5"
rules = ["xiaozhi"]
needs = ["tools"]
"#;

    fn load(text: &str) -> Result<Catalogue, Problem> {
        Catalogue::load([("ids.toml", text)], RuleSet::DEFAULT)
    }

    #[test]
    fn a_requirement_applies_by_capability_and_rule_set() {
        let catalogue = load(GOOD).unwrap();
        let has = BTreeSet::from(["tools".to_owned()]);
        assert_eq!(catalogue.required(&has).count(), 1);
        assert_eq!(catalogue.required(&BTreeSet::new()).count(), 0);
        let other = Catalogue::load([("ids.toml", GOOD)], [RuleSet::Mcp]).unwrap();
        assert!(other.active("ids.echo").is_none() && other.get("ids.echo").is_some());
    }

    #[test]
    fn a_rule_set_may_be_stricter_than_others() {
        let text = GOOD.replace("MUST", "SHOULD").replace(
            "rules = [\"xiaozhi\"]",
            "rules = [\"xiaozhi\", \"volume-workflow\"]\nmust_in = [\"volume-workflow\"]",
        );
        let level = |sets: &[RuleSet]| {
            let catalogue = Catalogue::load([("ids.toml", &*text)], sets.iter().copied());
            catalogue.unwrap().active("ids.echo").unwrap().level
        };
        assert_eq!(level(&RuleSet::DEFAULT), Level::Should);
        assert_eq!(level(&[RuleSet::Xiaozhi, RuleSet::VolumeWorkflow]), Level::Must);
        assert_eq!(level(&[RuleSet::VolumeWorkflow]), Level::Must);
        let other = text.replace("must_in = [\"volume", "must_in = [\"mcp-2024-11-05\", \"volume");
        assert!(load(&other).unwrap_err().what.contains("must_in"));
    }

    #[test]
    fn mistakes_name_file_line_and_fix() {
        let typo = load(&GOOD.replace("needs", "need")).unwrap_err();
        assert_eq!((typo.file.as_str(), typo.line), ("ids.toml", 9));
        assert_eq!(typo.hint.as_deref(), Some("did you mean `needs`?"));
        let twice = load(&format!("{GOOD}{GOOD}")).unwrap_err();
        assert!(twice.what.contains("twice"), "{twice}");
        let level = load(&GOOD.replace("MUST", "MUSS")).unwrap_err();
        assert!(level.to_string().contains("MUST"), "{level}");
        assert!(load(&GOOD.replace("ids.echo", "ids")).unwrap_err().what.contains("area.name"));
    }
}
