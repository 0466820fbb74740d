//! The test vectors: form, and agreement with the catalogue.

mod common;

use std::collections::BTreeSet;

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
        assert!(
            catalogue.contains_key(&vector.requirement),
            "{id}: {}",
            vector.requirement
        );
        assert!(!vector.why.is_empty(), "{id}");
        for text in [id]
            .into_iter()
            .chain(&vector.same)
            .chain(&vector.different)
        {
            let parsed: Result<Value, _> = serde_json::from_str(text);
            assert!(parsed.is_ok(), "{id}: {text} is no JSON");
        }
        assert!(
            vector
                .same
                .iter()
                .all(|same| !vector.different.contains(same)),
            "{id}"
        );
        match vector.device.as_str() {
            "echo" | "echo-or-refuse" => assert!(vector.same.contains(id), "{id} equals itself"),
            "refuse" => assert!(vector.same.is_empty(), "{id} has no right answer"),
            other => panic!("{id}: unknown duty `{other}`"),
        }
    }
}
