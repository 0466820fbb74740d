//! The test vectors: form, and agreement with the catalogue.

mod common;

use std::collections::BTreeSet;

use mcp_hil_judge::gateway::REQUIREMENTS;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    about: Vec<String>,
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    id: String,
    device: String,
    requirement: String,
    same: Vec<String>,
    different: Vec<String>,
    why: String,
}

#[test]
fn ids_are_json_and_name_requirements() {
    let (_, text) = mcp_hil_scenarios::vectors()
        .iter()
        .find(|(path, _)| *path == "vectors/ids.json")
        .expect("the vectors are embedded");
    let file: File = serde_json::from_str(text).unwrap();
    assert!(!file.about.is_empty());
    let catalogue = common::catalogue();
    let mut seen = BTreeSet::new();
    for vector in file.vectors {
        let id = &vector.id;
        assert!(seen.insert(id.clone()), "{id} is there twice");
        assert!(catalogue.contains_key(&vector.requirement), "{id}: {}", vector.requirement);
        assert!(!vector.why.is_empty(), "{id}");
        for text in [id].into_iter().chain(&vector.same).chain(&vector.different) {
            let parsed: Result<Value, _> = serde_json::from_str(text);
            assert!(parsed.is_ok(), "{id}: {text} is no JSON");
        }
        assert!(vector.same.iter().all(|same| !vector.different.contains(same)), "{id}");
        match vector.device.as_str() {
            "echo" | "echo-or-refuse" => assert!(vector.same.contains(id), "{id} equals itself"),
            "refuse" => assert!(vector.same.is_empty(), "{id} has no right answer"),
            other => panic!("{id}: unknown duty `{other}`"),
        }
    }
}

#[test]
fn controls_name_requirements_and_are_read_by_the_judge() {
    let table = common::controls();
    let catalogue = common::catalogue();
    assert!(table.rows.len() >= 50);
    for row in &table.rows {
        assert!(catalogue.contains_key(row.requirement.slug()), "{}", row.name);
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(row.name.chars().all(kebab), "{}", row.name);
        assert!(!row.title.is_empty() && row.title.len() <= 80, "{}", row.name);
    }
    let named: BTreeSet<&str> =
        catalogue.keys().map(String::as_str).filter(|slug| slug.starts_with("gateway.")).collect();
    assert_eq!(
        named,
        BTreeSet::from(REQUIREMENTS.map(mcp_hil_core::catalogue::RequirementId::slug)),
        "judge and catalogue"
    );
    for slug in named {
        assert_eq!(catalogue[slug].needs, ["sut.gateway"], "{slug}");
    }
}
