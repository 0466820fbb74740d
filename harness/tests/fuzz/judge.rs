//! The judge, over transcripts whose entries are lost, repeated, swapped, or say something else.

use std::sync::Arc;

use mcp_hil_core::capability::Facts;
use mcp_hil_core::transcript::{Entry, Mark, TargetEvent, What};
use mcp_hil_core::wire::Frame;
use mcp_hil_judge::check::Judge;
use mcp_hil_scenario::Case;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::catalogue;
use super::damage::tried;

/// Lines of a console that mean something.
const LINES: [&str; 9] = [
    "Guru Meditation Error: Core  0 panic'ed (LoadProhibited). Exception was unhandled.",
    "Backtrace: 0x40081234:0x3ffb0000 0x400d5678:0x3ffb0020",
    "rst:0xc (SW_CPU_RESET),boot:0x8 (SPI_FAST_FLASH_BOOT)",
    "Brownout detector was triggered",
    "I (10) main_task: Calling app_main()",
    "I (9) SystemInfo: free sram: 142331 minimal sram: 121004",
    "I (99999999) MCP: Add tool: self.x",
    "task_wdt: Task watchdog got triggered",
    "==1==ERROR: AddressSanitizer: heap-buffer-overflow",
];

#[derive(Debug, Clone)]
enum Change {
    Drop(Index),
    Repeat(Index),
    Swap(Index, Index),
    Line(Index, String),
    Said(Index, Index, char),
    Started(Index),
    Again(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    let line = prop_oneof![
        proptest::sample::select(&LINES[..]).prop_map(str::to_owned),
        "[EWI] \\([0-9]{1,12}\\) .{0,40}",
        ".{0,80}",
    ];
    prop_oneof![
        at().prop_map(Change::Drop),
        at().prop_map(Change::Repeat),
        (at(), at()).prop_map(|(one, other)| Change::Swap(one, other)),
        (at(), line).prop_map(|(at, line)| Change::Line(at, line)),
        (at(), at(), any::<char>()).prop_map(|(at, place, c)| Change::Said(at, place, c)),
        at().prop_map(Change::Started),
        at().prop_map(Change::Again),
    ]
}

fn apply(entries: &mut Vec<Entry>, change: &Change) {
    if entries.is_empty() {
        return;
    }
    let number = entries.len();
    let put = |entries: &mut Vec<Entry>, at: &Index, what: What| {
        let at = at.index(number);
        let entry = Entry { what, ..entries[at].clone() };
        entries.insert(at, entry);
    };
    match change {
        Change::Drop(at) => drop(entries.remove(at.index(number))),
        Change::Repeat(at) => {
            let what = entries[at.index(number)].what.clone();
            put(entries, at, what);
        }
        Change::Swap(one, other) => {
            let (one, other) = (one.index(number), other.index(number));
            let what = entries[one].what.clone();
            entries[one].what = std::mem::replace(&mut entries[other].what, what);
        }
        Change::Line(at, line) => put(entries, at, What::Console { line: line.clone() }),
        Change::Said(at, place, c) => {
            if let What::Received { frame: Frame::Text(text) } = &mut entries[at.index(number)].what
            {
                let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
                if !places.is_empty() {
                    text.insert(*place.get(&places), *c);
                }
            }
        }
        Change::Started(at) => put(entries, at, What::Target { event: TargetEvent::Started }),
        Change::Again(at) => put(entries, at, What::Mark { mark: Mark::SecondAttempt }),
    }
}

/// Judges changed transcripts, each with the expectations of its case.
pub(crate) fn fuzz_judge(transcripts: &[Vec<Entry>]) {
    let catalogue = Arc::new(catalogue());
    let load = |(id, file, text): &(&str, &str, &str)| {
        Case::load(id, file, text, &catalogue).expect("a case of the suite")
    };
    let cases: Vec<Case> = mcp_hil_scenarios::scripts().iter().map(load).collect();
    let short: Vec<Vec<Entry>> = transcripts
        .iter()
        .filter(|entries| !entries.is_empty() && entries.len() < 2_000)
        .cloned()
        .collect();
    let inputs = (any::<Index>(), vec(change(), 1..8)).prop_map(move |(at, changes)| {
        let mut entries = at.get(&short).clone();
        changes.iter().for_each(|change| apply(&mut entries, change));
        // As a session numbers them.
        for (seq, entry) in (0..).zip(&mut entries) {
            entry.seq = seq;
        }
        entries
    });
    tried("judged transcripts", inputs, |entries| {
        let Some(first) = entries.first() else { return };
        let case = cases.iter().find(|case| case.id == first.case);
        let facts = Facts::default();
        let mut judge = Judge::new();
        judge.begin_case(&first.case);
        for entry in entries {
            judge.observe(entry.clone());
        }
        judge.end_case(case, &facts);
        // What is found late is found in the next case.
        judge.begin_case(&"session/close".into());
        judge.end_case(None, &facts);
    });
}
