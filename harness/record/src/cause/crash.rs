//! What a device broke down by, as far as its console tells: two breakdowns of different kinds, or at different places
//! of its program, are two things that are wrong.

use mcp_hil_core::catalogue::RequirementId;
use mcp_hil_core::verdict::Finding;

/// Kinds of panics of which the task is the place: how deep it was when its stack ended says nothing.
const OVERFLOWS: [&str; 3] =
    ["A stack overflow in task ", "Stack canary watchpoint triggered (", "Detected in task "];

/// What stands before the reason of other panics, and what after it.
const REASONS: [(&str, &str); 3] =
    [("panic'ed (", ")"), ("Sanitizer: ", " "), (": runtime error: ", "\n")];

/// Panics that tell all of themselves in their line: of a place in the source, but for the address.
const TOLD: [&str; 3] = ["assert failed: ", "ESP_ERROR_CHECK failed", "CORRUPT HEAP: "];

/// Paths of code that is called from everywhere: of libraries, and of the system below the application.
const BELOW: [&str; 8] = [
    "/usr/",
    "libsanitizer/",
    "/libstdc++",
    "/newlib/",
    "/esp_system/",
    "/freertos/",
    "/heap/",
    "/src/idf/",
];

/// What the console tells of one breakdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Crash<'a> {
    /// Its kind, in the words of the console.
    kind: &'a str,
    /// Where in the program, or in which task.
    place: Option<&'a str>,
}

impl<'a> Crash<'a> {
    /// What a finding tells of one, if it is about a panic.
    pub(super) fn of(finding: &'a Finding) -> Option<Self> {
        if finding.requirement != RequirementId::LivenessNoPanic.slug() {
            return None;
        }
        let line = finding.received.as_str();
        let after = finding.console.iter().skip_while(|one| **one != finding.received).skip(1);
        let after = || after.clone().map(String::as_str);
        let overflow = std::iter::once(line).chain(after()).take(3).find_map(overflow);
        if let Some(task) = overflow {
            return Some(Self { kind: OVERFLOWS[0], place: Some(task) });
        }
        if TOLD.iter().any(|told| line.contains(told)) {
            let source = after().find(|one| one.starts_with("file: "));
            return Some(Self { kind: line.split(" at 0x").next().unwrap_or(line), place: source });
        }
        let reason = REASONS.iter().find_map(|(before, end)| {
            let (_, rest) = line.split_once(before)?;
            rest.split(end).next()
        });
        // Undefined behaviour is told with its place in front.
        if let Some((source, _)) = line.split_once(": runtime error: ") {
            return Some(Self { kind: reason.unwrap_or(line), place: Some(source) });
        }
        let kind = reason.unwrap_or_else(|| line.split(" at PC 0x").next().unwrap_or(line));
        let in_trace = after().filter_map(frame).find(|one| is_above(one));
        let explained = finding.places.iter().filter_map(|place| explained(place));
        let explained = explained.into_iter().find(|one| is_above(one));
        Some(Self { kind, place: in_trace.or(explained) })
    }

    /// Whether both may be one: of one kind, and at one place as far as both tell theirs.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let places = self.place.zip(other.place);
        self.kind == other.kind && places.is_none_or(|(own, others)| own == others)
    }
}

/// The task whose stack a line tells to have overflown.
fn overflow(line: &str) -> Option<&str> {
    OVERFLOWS.iter().find_map(|before| {
        let (_, rest) = line.split_once(before)?;
        let task = rest.split(" has been detected").next()?.split(" at 0x").next()?;
        Some(task.trim_matches([')', '"', ' ']))
    })
}

/// The function and its place in a line of a sanitizer's trace: `#1 0x525ce4 in f() /a/b.cc:12`.
fn frame(line: &str) -> Option<&str> {
    let call = line.trim_start().strip_prefix('#')?;
    call.split_once(" in ").map(|(_, place)| place)
}

/// The same of a line that explains an address: `  0x0041fa33: inlined into f() at /a/b.cc:12`.
fn explained(line: &str) -> Option<&str> {
    let (_, place) = line.strip_prefix("  0x")?.split_once(": ")?;
    Some(place.strip_prefix("inlined into ").unwrap_or(place))
}

/// Whether a place is one of the application's, with a line.
fn is_above(place: &str) -> bool {
    place.contains(':')
        && place.ends_with(|last: char| last.is_ascii_digit())
        && !BELOW.iter().any(|below| place.contains(below))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::catalogue::Level;
    use mcp_hil_core::verdict::Verdict;

    /// A panic with what the console and the explained addresses say after its line.
    fn panic(received: &str, console: &[&str], places: &[&str]) -> Finding {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let mut said = vec![received];
        said.extend(console);
        Finding {
            requirement: RequirementId::LivenessNoPanic.slug().into(),
            level: Level::Must,
            verdict: Verdict::Fail,
            step: None,
            expected: "no panic".into(),
            received: received.into(),
            sent: None,
            seq: Some(1),
            transcript: None,
            console: owned(&said),
            places: owned(places),
            late: false,
            known: false,
        }
    }

    fn told(finding: &Finding) -> (&str, Option<&str>) {
        let crash = Crash::of(finding).unwrap();
        (crash.kind, crash.place)
    }

    #[test]
    fn the_kind_and_the_place_of_each_form_are_read() {
        let overflow = "A stack overflow in task ";
        let in_task = Some("tcp_receive");
        let kit = panic(
            "***ERROR*** A stack overflow in task tcp_receive has been detected.",
            &["Backtrace: 0x007d167b:0x7f958b5ecfe0", "=="],
            &["  0x007d167b: cJSON_New_Item at /a/cJSON.c:243"],
        );
        assert_eq!(told(&kit), (overflow, in_task));
        let canary = panic(
            "Guru Meditation Error: Core  0 panic'ed (Unhandled debug exception).",
            &["Debug exception reason: Stack canary watchpoint triggered (tcp_receive)"],
            &[],
        );
        assert_eq!(told(&canary), (overflow, in_task));
        let guard = panic(
            "Guru Meditation Error: Core  0 panic'ed (Stack protection fault).",
            &["", "Detected in task \"tcp_receive\" at 0x4200f1c8"],
            &[],
        );
        assert_eq!(told(&guard), (overflow, in_task));
        let overread = panic(
            "==9==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x61 at pc 0x7f",
            &[
                "READ of size 574235191 at 0x6100000101f2 thread T9",
                "    #0 0x7f67 in __interceptor_memmove ../src/libsanitizer/common.inc:810",
                "    #1 0x525c in std::copy(char*) /usr/include/c++/12/bits/stl_algobase.h:620",
                "    #2 0x525c in operator() /a/main/protocols/websocket_protocol.cc:159",
            ],
            &[],
        );
        let at = Some("operator() /a/main/protocols/websocket_protocol.cc:159");
        assert_eq!(told(&overread), ("heap-buffer-overflow", at));
        let shift = "/a/b.cc:4:9: runtime error: shift exponent 40 is too large";
        let (kind, place) = ("shift exponent 40 is too large", Some("/a/b.cc:4:9"));
        assert_eq!(told(&panic(shift, &[], &[])), (kind, place));
        let load = panic(
            "Guru Meditation Error: Core  0 panic'ed (LoadProhibited). Exception was unhandled.",
            &["PC: 0x7f36f118bc62"],
            &[
                "Backtrace: 0x0041fa33:0x7f36f070bbe8",
                "  0x0041fa33: std::copy at /usr/include/c++/12/bits/stl_algobase.h:620",
                "  0x0041fa33: inlined into xQueueSend at /a/kit/src/idf/queue.cc:9",
                "  0x0041fa33: inlined into f() at /a/main/f.cc:7",
            ],
        );
        assert_eq!(told(&load), ("LoadProhibited", Some("f() at /a/main/f.cc:7")));
        let check = panic(
            "ESP_ERROR_CHECK failed: esp_err_t 0x102 (ESP_ERR_INVALID_ARG) at 0x4200f1c8",
            &["file: \"./main/x.cc\" line 34"],
            &[],
        );
        assert_eq!(told(&check).1, Some("file: \"./main/x.cc\" line 34"));
        let abort = panic("abort() was called at PC 0x4200f1c8 on core 0", &[], &[]);
        assert_eq!(told(&abort), ("abort() was called", None));
        let other = Finding { requirement: "liveness.no-reset".into(), ..abort };
        assert_eq!(Crash::of(&other), None);
    }

    #[test]
    fn addresses_and_processes_make_no_difference_and_a_place_that_is_not_told_neither() {
        let line =
            |pid: u32, kind: &str| format!("=={pid}==ERROR: AddressSanitizer: {kind} on 0x6");
        let at = |file: &str| format!("    #0 0x5{file} in f() /a/{file}.cc:3");
        let crash = |pid, kind, file: &str| panic(&line(pid, kind), &[&at(file)], &[]);
        let own = crash(1, "heap-use-after-free", "a");
        let is_like =
            |other: &Finding| Crash::of(&own).unwrap().is_like(&Crash::of(other).unwrap());
        assert!(is_like(&crash(22, "heap-use-after-free", "a")));
        assert!(is_like(&panic(&line(3, "heap-use-after-free"), &[], &[])));
        assert!(!is_like(&crash(1, "heap-use-after-free", "b")));
        assert!(!is_like(&crash(1, "heap-buffer-overflow", "a")));
    }
}
