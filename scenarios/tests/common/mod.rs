//! Reads the embedded files for the tests, without the interpreter of the harness.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// All capabilities that scenarios and requirements may ask for.
#[allow(unused_imports, reason = "each test program uses a part of it")]
pub(crate) use mcp_hil_core::capability::ALL as CAPABILITIES;

/// A requirement as its file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Requirement {
    /// Where it stands; not in the file.
    #[serde(skip)]
    pub(crate) file: String,
    pub(crate) id: String,
    pub(crate) level: String,
    pub(crate) text: String,
    pub(crate) source: String,
    pub(crate) section: String,
    pub(crate) rules: Vec<String>,
    #[serde(default)]
    pub(crate) must_in: Vec<String>,
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    pub(crate) note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    requirement: Vec<Requirement>,
}

/// All requirements by their slugs; panics when a slug is there twice.
pub(crate) fn catalogue() -> BTreeMap<String, Requirement> {
    let mut all = BTreeMap::new();
    for (path, text) in mcp_hil_scenarios::requirements() {
        let file: File = toml::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        for mut requirement in file.requirement {
            (*path).clone_into(&mut requirement.file);
            let slug = requirement.id.clone();
            let earlier = all.insert(slug.clone(), requirement);
            assert!(earlier.is_none(), "{path}: `{slug}` is there twice");
        }
    }
    all
}

/// How a scenario names a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// By `expect`, or beside `console`.
    Expect,
    /// By `unchanged`.
    Unchanged,
}

/// A scenario, read as plain YAML.
pub(crate) struct Script {
    pub(crate) id: &'static str,
    pub(crate) text: &'static str,
    pub(crate) case: Map<String, Value>,
    pub(crate) slugs: Vec<(String, By)>,
}

impl Script {
    /// Its capabilities.
    pub(crate) fn needs(&self) -> Vec<&str> {
        let needs = self.case.get("needs").and_then(Value::as_array);
        needs.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// All its steps, those of tables and bursts included.
    pub(crate) fn steps(&self) -> Vec<&Map<String, Value>> {
        let mut found = Vec::new();
        walk(&self.case["steps"], self.id, &mut found);
        found
    }
}

fn walk<'a>(steps: &'a Value, id: &str, found: &mut Vec<&'a Map<String, Value>>) {
    let steps = steps.as_array().unwrap_or_else(|| panic!("{id}: steps are a list"));
    for step in steps {
        let step = step.as_object().unwrap_or_else(|| panic!("{id}: a step is a map, got {step}"));
        found.push(step);
        for inner in ["do", "burst"] {
            if let Some(inner) = step.get(inner) {
                walk(inner, id, found);
            }
        }
    }
}

/// The expectations of a step.
pub(crate) fn expectations(step: &Map<String, Value>) -> Vec<&Map<String, Value>> {
    match step.get("expect") {
        None => Vec::new(),
        Some(Value::Array(many)) => {
            many.iter().map(|one| one.as_object().expect("a map")).collect()
        }
        Some(one) => vec![one.as_object().expect("a map")],
    }
}

/// All scenarios.
pub(crate) fn scripts() -> Vec<Script> {
    mcp_hil_scenarios::scripts()
        .iter()
        .map(|(id, path, text)| {
            let case: Map<String, Value> =
                serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            let mut script = Script { id, text, case, slugs: Vec::new() };
            let mut slugs = Vec::new();
            for step in script.steps() {
                let expected =
                    expectations(step).into_iter().filter_map(|one| one.get("requirement"));
                let beside = step.get("requirement");
                let unchanged = step.get("unchanged");
                slugs.extend(expected.chain(beside).map(|slug| (slug.clone(), By::Expect)));
                slugs.extend(unchanged.map(|slug| (slug.clone(), By::Unchanged)));
            }
            script.slugs = slugs
                .into_iter()
                .map(|(slug, by)| (slug.as_str().expect("a slug is a string").to_owned(), by))
                .collect();
            script
        })
        .collect()
}

/// The table of what a volume gateway must do.
pub(crate) fn controls() -> mcp_hil_judge::gateway::Table {
    let (_, text) = mcp_hil_scenarios::vectors()
        .iter()
        .find(|(path, _)| *path == "vectors/device-control.json")
        .expect("the vectors are embedded");
    mcp_hil_judge::gateway::Table::read(text).expect("the judge reads them")
}
