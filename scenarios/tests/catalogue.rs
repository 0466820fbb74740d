//! The requirement files: form, names and coverage.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::{CAPABILITIES, catalogue, scripts};
use mcp_hil_core::catalogue::RequirementId;

const SOURCES: [&str; 12] = [
    "xiaozhi MCP flow",
    "xiaozhi WebSocket",
    "xiaozhi MQTT+UDP",
    "xiaozhi volume workflow",
    "JSON-RPC 2.0",
    "MCP 2024-11-05",
    "MCP 2025-06-18",
    "MQTT 3.1.1",
    "RFC 6455",
    "RFC 6716",
    "RFC 8259",
    "measured devices",
];

#[test]
fn requirements_are_well_formed() {
    let catalogue = catalogue();
    assert!(catalogue.len() >= 90);
    for (slug, requirement) in &catalogue {
        let (area, name) = slug.split_once('.').expect(slug);
        assert_eq!(requirement.file, format!("requirements/{area}.toml"), "{slug}");
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(!name.is_empty() && name.chars().all(kebab), "{slug}");
        assert!(["MUST", "SHOULD", "MAY"].contains(&requirement.level.as_str()), "{slug}");
        assert!(SOURCES.contains(&requirement.source.as_str()), "{slug}: {}", requirement.source);
        assert!(!requirement.section.is_empty(), "{slug}");
        let text = &requirement.text;
        assert!(text.ends_with('.') && text.len() < 160, "{slug}: one short sentence, got {text}");
        assert!(!text.trim_end_matches('.').contains(". "), "{slug}: one sentence, got {text}");
        let sets = ["xiaozhi", "jsonrpc-2.0", "mcp-2024-11-05", "volume-workflow"];
        assert!(!requirement.rules.is_empty(), "{slug}");
        assert!(requirement.rules.iter().all(|set| sets.contains(&set.as_str())), "{slug}");
        for need in &requirement.needs {
            assert!(CAPABILITIES.contains(&need.as_str()), "{slug}: unknown capability `{need}`");
        }
        if let Some(note) = &requirement.note {
            assert!(!note.contains("  ") && note.ends_with('.'), "{slug}: {note:?}");
        }
    }
}

/// What many devices do binds nobody: a MUST stands in a document. Gateways have one of their own.
#[test]
fn a_must_stands_in_a_document() {
    let catalogue = catalogue();
    let measured = catalogue.iter().filter(|(_, requirement)| {
        requirement.level == "MUST" && requirement.source == "measured devices"
    });
    let measured: Vec<&String> = measured.map(|(slug, _)| slug).collect();
    assert!(measured.is_empty(), "no document asks for {measured:?}");
}

#[test]
fn every_requirement_is_exercised() {
    let scripts = scripts();
    let named: BTreeSet<&str> = scripts
        .iter()
        .flat_map(|script| script.slugs.iter().map(|(slug, _)| slug.as_str()))
        .collect();
    let judged = named_in_code();
    let catalogue = catalogue();
    let idle: Vec<&String> = catalogue
        .keys()
        .filter(|slug| !named.contains(slug.as_str()) && !judged.contains(slug.as_str()))
        .collect();
    assert!(idle.is_empty(), "nothing exercises {idle:?}");
}

/// Requirements that the judge tests on every transcript (a scenario only has to cause what they are about)
/// and those that generated cases state, both read off the sources.
fn named_in_code() -> BTreeSet<&'static str> {
    let mut texts = Vec::new();
    let harness = Path::new(env!("CARGO_MANIFEST_DIR")).join("../harness");
    let mut folders = vec![harness.join("judge/src"), harness.join("generate/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => texts.push(std::fs::read_to_string(path).unwrap()),
            }
        }
    }
    let names = |text: &str| -> BTreeSet<String> {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let after = code.split("Id::").skip(1);
        let word = |rest: &str| rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        after.map(word).collect()
    };
    let named: BTreeSet<String> = texts.iter().flat_map(|text| names(text)).collect();
    let all = RequirementId::ALL.iter();
    let judged = all.filter(|id| named.contains(&format!("{id:?}")));
    let judged: BTreeSet<&str> = judged.map(|id| id.slug()).collect();
    assert!(judged.len() > 100, "{}", judged.len());
    judged
}
