//! What must hold of every run, whatever the device did.

use serde_json::Value;

use super::{Done, Place};

/// Holds a run that has ended against that. Gives its record.
#[track_caller]
pub(crate) fn ended(place: &Place, done: &Done, codes: &[i32]) -> Value {
    let code = done.code.unwrap_or(-1);
    assert!(codes.contains(&code), "expected {codes:?}\n{done}");
    assert!(done.stdout.contains("Summary"), "no verdict\n{done}");
    assert!(!done.stderr.contains("panicked"), "{done}");
    let report = place.both_reports();
    assert_eq!(report["summary"]["exit"], code, "{done}");
    // What the run saw, a replay sees.
    if report["summary"]["bench_error"].is_null() {
        let replay = place.hil(["replay", "target/mcp-hil/latest"]).end();
        assert_eq!(replay.code, done.code, "the replay: {replay}\nthe run: {done}");
    }
    report
}
