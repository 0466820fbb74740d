//! What nobody may call is not called, whatever a run is about.

use std::collections::BTreeSet;

use crate::support::{Place, files};
use rstest::rstest;
use serde_json::Value;

/// Names of tools in all calls that were sent in the last run.
fn called(place: &Place) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in files(&place.latest()) {
        if file.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let entry: Value = serde_json::from_str(line).unwrap();
            let text = entry["frame"]["text"].as_str().filter(|_| entry["kind"] == "sent");
            let message = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
            let name = message
                .and_then(|it| Some(it.pointer("/payload/params/name")?.as_str()?.to_owned()));
            names.extend(name);
        }
    }
    names
}

#[rstest]
#[case::by_their_names(&["self.audio_speaker.*", "self.screen.set_theme"], &["self.audio_speaker.", "self.screen.set_theme"])]
#[case::all(&["*"], &["self.audio_speaker.", "self.screen.", "self.get_", "self.lamp.", "self.reboot"])]
fn denied_tools_are_never_called(#[case] deny: &[&str], #[case] none: &[&str]) {
    let place = Place::new();
    place.write(
        "still.toml",
        format!("name = \"still\"\ntarget = \"native\"\n[tools]\ndeny = {deny:?}\n"),
    );
    let run = ["run", "--dut", "still.toml", "--inputs", "10"];
    // What is left of the suite is no less true.
    place.hil(run).end().exits(0);
    let good = called(&place);
    // Second attempts, and what makes an input small.
    place.hil(run.iter().chain(&["--mutant", "error-code-string"])).end().exits(1);
    for names in [&good, &called(&place)] {
        assert!(names.contains("self.mcp_hil.no_such_tool"), "{names:#?}");
        let denied = names.iter().filter(|name| none.iter().any(|start| name.starts_with(start)));
        assert_eq!(denied.collect::<Vec<_>>(), Vec::<&String>::new());
    }
}
