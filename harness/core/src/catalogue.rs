//! The requirement catalogue: one sentence of a document each, with level and source.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::problem::{Problem, nearest};

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
}

impl RuleSet {
    /// All rule sets with their names.
    pub const ALL: [(&'static str, Self); 3] = [
        ("xiaozhi", Self::Xiaozhi),
        ("jsonrpc-2.0", Self::JsonRpc),
        ("mcp-2024-11-05", Self::Mcp),
    ];

    /// The rule sets that a device is held to unless others are asked for.
    pub const DEFAULT: [Self; 2] = [Self::Xiaozhi, Self::JsonRpc];

    /// The rule set of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, set)| *set)
    }
}

/// One requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Stable slug: `area.name`.
    pub id: String,
    /// How strongly it is asked for.
    pub level: Level,
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
        for (name, text) in files {
            let file: File =
                toml::from_str(text).map_err(|error| Problem::from_toml(name, text, &error))?;
            for spanned in file.requirement {
                let line = text[..spanned.span().start].matches('\n').count() as u64 + 1;
                let requirement = spanned.into_inner();
                let slug = requirement.id.clone();
                if slug.split('.').count() != 2 || slug.contains(char::is_whitespace) {
                    return Err(Problem::at(
                        name,
                        line,
                        0,
                        format!("requirement id `{slug}`: expected the form `area.name`"),
                    ));
                }
                // Slugs live as long as the program: checks and reports name them without copies.
                if all.insert(&*slug.clone().leak(), requirement).is_some() {
                    return Err(Problem::at(
                        name,
                        line,
                        0,
                        format!("requirement `{slug}` is there twice"),
                    )
                    .hint("slugs are stable names; give the new requirement its own"));
                }
            }
        }
        Ok(Self {
            all,
            rules: rules.into_iter().collect(),
        })
    }

    /// A requirement by its slug, in force or not.
    pub fn get(&self, slug: &str) -> Option<&Requirement> {
        self.all.get(slug)
    }

    /// The catalogue's own copy of a slug.
    pub fn slug(&self, slug: &str) -> Option<&'static str> {
        self.all.get_key_value(slug).map(|(own, _)| *own)
    }

    /// A requirement by its slug, when it is in force.
    pub fn active(&self, slug: &str) -> Option<&Requirement> {
        self.get(slug)
            .filter(|requirement| !requirement.rules.is_disjoint(&self.rules))
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
    fn mistakes_name_file_line_and_fix() {
        let typo = load(&GOOD.replace("needs", "need")).unwrap_err();
        assert_eq!((typo.file.as_str(), typo.line), ("ids.toml", 9));
        assert_eq!(typo.hint.as_deref(), Some("did you mean `needs`?"));
        let twice = load(&format!("{GOOD}{GOOD}")).unwrap_err();
        assert!(twice.what.contains("twice"), "{twice}");
        let level = load(&GOOD.replace("MUST", "MUSS")).unwrap_err();
        assert!(level.to_string().contains("MUST"), "{level}");
        assert!(
            load(&GOOD.replace("ids.echo", "ids"))
                .unwrap_err()
                .what
                .contains("area.name")
        );
    }
}
