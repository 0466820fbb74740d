//! The same requests in two runs: which answers differ, and how long they took.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Exchange, differs, exchanges, method};
use mcp_hil_core::transcript::{Entry, is_generated};

/// Characters of the name of a tool that are told: cases call tools with very long ones.
const LONGEST_NAME: usize = 48;

/// How the answers of two runs compare.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Answers {
    /// How many requests were answered in both.
    pub pairs: usize,
    /// What differs, each cause once.
    pub differences: Vec<AnswerDifference>,
    /// How long answers took, by what was asked for, where it was asked in both; what was asked for
    /// most is first.
    pub latencies: Vec<Latency>,
}

/// A request that was answered in another way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerDifference {
    /// Where it was sent first.
    pub case: String,
    /// The step there.
    pub step: String,
    /// What was asked for: the method, and the name of a tool.
    pub what: String,
    /// What kind of difference it is: `error code changed`, `message changed`, `other words`, `another
    /// answer`.
    pub kind: &'static str,
    /// The request.
    pub sent: String,
    /// The answer in the first run, in words.
    pub first: String,
    /// The answer in the second run, in words.
    pub second: String,
    /// Whether only that differs which is said to people.
    pub words_only: bool,
    /// How many requests show it.
    pub times: usize,
}

/// How long the answers to one kind of request took: medians, in microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Latency {
    /// What was asked for: the method, and the name of a tool.
    pub what: String,
    /// How many such requests the first run has.
    pub asked: usize,
    /// In the first run.
    pub first_us: u64,
    /// In the second run.
    pub second_us: u64,
}

/// Compares what was recorded in two runs. With `builds_differ`, a version that differs only in
/// what stands after its `+` is no difference.
pub fn answers(first: &[Entry], second: &[Entry], builds_differ: bool) -> Answers {
    let (ours, theirs) = (exchanges(first), exchanges(second));
    let told = match builds_differ {
        true => without_build,
        false => Value::clone,
    };
    let mut answers = Answers::default();
    for (place, one) in &ours {
        let same = |other: &&Exchange| {
            one.input == other.input && without_address(&one.asked) == without_address(&other.asked)
        };
        let Some(other) = theirs.get(place).filter(same) else {
            continue;
        };
        answers.pairs += 1;
        let Some(differs) = differs(one, other, told) else {
            continue;
        };
        let found = AnswerDifference {
            case: place.0.to_string(),
            step: place.1.to_string(),
            what: what(one),
            kind: kind(one, other, differs.words_only),
            sent: one.text.clone(),
            first: differs.ours,
            second: differs.theirs,
            words_only: differs.words_only,
            times: 1,
        };
        // Which tool was called is left out: one cause shows in the calls of many.
        let method = |what: &str| what.split(' ').next().map(str::to_owned);
        let cause = |known: &&mut AnswerDifference| {
            (&known.first, &known.second) == (&found.first, &found.second)
                && method(&known.what) == method(&found.what)
        };
        match answers.differences.iter_mut().find(cause) {
            Some(known) => known.times += 1,
            None => answers.differences.push(found),
        }
    }
    let (ours, mut theirs) = (medians(&ours), medians(&theirs));
    for (what, (asked, first_us)) in ours {
        if let Some((_, second_us)) = theirs.remove(&what) {
            answers.latencies.push(Latency { what, asked, first_us, second_us });
        }
    }
    let often = |latency: &Latency| std::cmp::Reverse(latency.asked);
    answers.latencies.sort_by_key(often);
    answers
}

/// What kind of difference it is, in words.
fn kind(one: &Exchange, other: &Exchange, words_only: bool) -> &'static str {
    let errors = [one, other].map(|exchange| exchange.answer.contains_key("error"));
    match (words_only, errors) {
        (true, [true, _]) => "message changed",
        (true, _) => "other words",
        (false, [true, true]) => "error code changed",
        (false, _) => "another answer",
    }
}

/// What was asked for, in words.
fn what(exchange: &Exchange) -> String {
    let method = method(exchange).unwrap_or("a request without method");
    let params = exchange.asked.get("params");
    match params.and_then(|params| params.get("name")?.as_str()) {
        Some(tool) if method == "tools/call" => {
            let name: String = tool.chars().take(LONGEST_NAME).collect();
            format!("{method} {name}")
        }
        _ => method.to_owned(),
    }
}

/// How many answers there are of each kind, and the medians of what they took. Generated inputs differ
/// from run to run, and are left out.
fn medians(exchanges: &BTreeMap<super::Place, Exchange>) -> BTreeMap<String, (usize, u64)> {
    let mut taken: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for ((case, _), exchange) in exchanges {
        if !is_generated(case) {
            taken.entry(what(exchange)).or_default().push(exchange.took_us);
        }
    }
    let median = |mut times: Vec<u64>| {
        times.sort_unstable();
        (times.len(), times[times.len() / 2])
    };
    taken.into_iter().map(|(what, times)| (what, median(times))).collect()
}

/// A request without the addresses of the harness in it, which are others in each run.
fn without_address(asked: &Map<String, Value>) -> Value {
    fn clean(value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some((scheme, rest)) = text.split_once("://") {
                    let path = rest.find('/').map_or("", |at| &rest[at..]);
                    *text = format!("{scheme}://{path}");
                }
            }
            Value::Array(items) => items.iter_mut().for_each(clean),
            Value::Object(members) => members.values_mut().for_each(clean),
            _ => {}
        }
    }
    let mut asked = Value::Object(asked.clone());
    clean(&mut asked);
    asked
}

/// What `initialize` tells, without the build in `serverInfo.version`.
fn without_build(told: &Value) -> Value {
    let mut told = told.clone();
    if let Some(version) = told.pointer_mut("/serverInfo/version")
        && let Some((release, _)) = version.as_str().and_then(|text| text.split_once('+'))
    {
        *version = release.into();
    }
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{call, says, transcript};
    use super::*;

    #[test]
    fn one_cause_is_told_once() {
        let ours = [(call("a"), says("yes")), (call("b"), says("yes"))];
        let theirs = [(call("a"), says("no")), (call("b"), says("no"))];
        let told = answers(&transcript("s", 1001, &ours), &transcript("t", 7, &theirs), false);
        assert_eq!(told.pairs, 2);
        let [difference] = &told.differences[..] else {
            panic!("{told:?}");
        };
        assert_eq!(difference.times, 2);
        assert!(difference.words_only);
        assert_eq!(difference.what, "tools/call a");
        assert_eq!((&*difference.first, &*difference.second), ("yes", "no"));
    }

    #[test]
    fn builds_of_one_version_are_the_same_only_where_they_may_differ() {
        let told = |version: &str| {
            let answer = json!({"result": {"serverInfo": {"name": "n", "version": version}}});
            [(json!({"method": "initialize", "params": {}}), answer)]
        };
        let differ = |ours: &str, theirs: &str, builds_differ| {
            let (ours, theirs) = (told(ours), told(theirs));
            let (ours, theirs) = (transcript("s", 1, &ours), transcript("t", 1, &theirs));
            answers(&ours, &theirs, builds_differ).differences.len()
        };
        assert_eq!(differ("0.1.0", "0.1.0+12ab", false), 1);
        assert_eq!(differ("0.1.0", "0.1.0+12ab", true), 0);
        assert_eq!(differ("0.1.0", "0.2.0+12ab", true), 1);
    }

    #[test]
    fn the_address_of_the_harness_makes_no_other_request() {
        let asked = |port: u16, answer: &str| {
            let url = format!("http://127.0.0.1:{port}/vision");
            let params = json!({"capabilities": {"vision": {"url": url}}});
            [(json!({"method": "ping", "params": params}), says(answer))]
        };
        let (ours, theirs) = (asked(40_000, "a"), asked(50_000, "b"));
        let (ours, theirs) = (transcript("s", 1, &ours), transcript("t", 1, &theirs));
        assert_eq!(answers(&ours, &theirs, false).differences.len(), 1);
    }

    #[test]
    fn latencies_are_medians_of_what_both_were_asked() {
        let asked = [(call("a"), says("1")), (call("a"), says("2")), (call("b"), says("3"))];
        let (mut ours, theirs) = (transcript("s", 1, &asked), transcript("t", 1, &asked[..2]));
        for (at, entry) in ours.iter_mut().enumerate() {
            // Each answer comes one millisecond after its request, the second one after two.
            entry.at_us = [0, 1000, 1000, 3000, 3000, 4000][at];
        }
        let told = answers(&ours, &theirs, false).latencies;
        let expected =
            Latency { what: "tools/call a".into(), asked: 2, first_us: 2000, second_us: 0 };
        assert_eq!(told, [expected]);
    }
}
