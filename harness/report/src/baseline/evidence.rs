//! What runs show that no entry is about, and what entries it takes.
//!
//! A scripted case sends the same each time: what it shows is listed with the case. What a property
//! sends another seed changes, and with it the property in which a requirement shows broken. So that is
//! listed for all properties, as intermittent, and so is what scripted cases show: a generated input will
//! show it too. Where several requirements of an area show broken, other inputs break others of it: it is
//! listed as one, and scripted cases still hold the device to each. Where answers came under other ids than
//! their requests', they are taken for those of other requests, and where refused calls were carried out, the
//! model of the state is wrong: then any requirement may show broken in that property, and the property is
//! listed. What handshakes and hellos show in several cases is listed for every case: where a connection ends or is
//! made anew is chance. None of this holds for a crash, which is listed for the case that had it.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::baseline::{Baseline, Failing, Known};
use mcp_hil_core::catalogue::is_liveness;
use mcp_hil_core::transcript::PROPERTY;
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::{Finding, Verdict};

use super::file::New;
use super::runs::Runs;
use mcp_hil_args::BaselineArgs;
use mcp_hil_record::event::CaseReport;

/// Longest reason that is made out of what was received, in characters.
const LONGEST_REASON: usize = 200;

/// Who breaks these gives answers that are taken for those of other requests.
const MISTAKEN: [&str; 4] =
    ["ids.echo", "ids.error-echo", "jsonrpc.one-answer", "jsonrpc.no-unsolicited-answer"];

/// Requirements of this area are about the handshake and the hello, which come with each connection.
const OF_CONNECTIONS: &str = "hello.";

/// The property whose requests differ in their ids, and those that compare with a model of the state.
const OF_IDS: &str = "properties/ids";
const OF_STATE: [&str; 2] = ["properties/state", "properties/concurrency"];

/// Runs in which something was so, by transport.
type Where = BTreeMap<Option<Transport>, BTreeSet<usize>>;

/// What a case breaks.
struct Evidence<'a> {
    case: &'a str,
    requirement: &'a str,
    /// The finding that showed it first.
    first: &'a Finding,
    failed: Where,
}

/// Entries for what fails and no entry is about, in the order of the runs.
pub(super) fn unlisted(runs: &Runs, baseline: &Baseline, args: &BaselineArgs) -> Vec<New> {
    let blank = New {
        case: String::new(),
        requirement: None,
        reason: String::new(),
        transport: None,
        intermittent: false,
        unexercised: false,
        expires: args.expires.clone(),
        firmware: args.firmware.clone(),
    };
    let (found, ran) = gather(runs);
    let is_listed = |failing: &Failing<'_>| {
        let about = |known: &Known| !known.unexercised && known.is_about(failing);
        baseline.known.iter().any(about)
    };
    let mut added: Vec<New> = Vec::new();
    let (of_connections, found) = split(found);
    for cases in of_connections.values() {
        let shown =
            Evidence { case: "*", failed: union(cases.iter().map(|it| &it.failed)), ..cases[0] };
        let is_listed = |at: Option<Transport>| {
            let mut there = cases.iter().filter(|it| it.failed.contains_key(&at));
            there.all(|it| is_listed(&it.failing(at)))
        };
        added.extend(over(&shown, &union(ran.values()), is_listed, &blank));
    }
    for evidence in found.iter().filter(|it| !it.is_drawn()) {
        let is_listed = |at| is_listed(&evidence.failing(at));
        added.extend(over(evidence, &ran[evidence.case], is_listed, &blank));
    }
    if ran.keys().any(|case| case.starts_with(PROPERTY)) {
        added.extend(misled(&found, baseline, &blank));
        added.extend(drawn(&found, &is_listed, &blank));
    }
    added.extend(unexercised(runs, baseline, &blank));
    added
}

/// What connections show, by requirement, apart from what else was found. One case alone may be the only one that
/// begins with a new connection, or have done something to it: that is listed with the case.
fn split(found: Vec<Evidence<'_>>) -> (BTreeMap<&str, Vec<Evidence<'_>>>, Vec<Evidence<'_>>) {
    let mut cases: BTreeMap<&str, usize> = BTreeMap::new();
    for evidence in &found {
        *cases.entry(evidence.requirement).or_default() += 1;
    }
    let of_connections = |evidence: &Evidence<'_>| {
        evidence.requirement.starts_with(OF_CONNECTIONS) && cases[evidence.requirement] > 1
    };
    let (connections, rest): (Vec<_>, Vec<_>) = found.into_iter().partition(of_connections);
    let mut by_requirement: BTreeMap<&str, Vec<Evidence<'_>>> = BTreeMap::new();
    for evidence in connections {
        let cases = by_requirement.entry(evidence.requirement).or_default();
        cases.push(evidence);
    }
    (by_requirement, rest)
}

fn union<'a>(places: impl Iterator<Item = &'a Where>) -> Where {
    let mut all = Where::new();
    for (transport, runs) in places.flatten() {
        all.entry(*transport).or_default().extend(runs);
    }
    all
}

/// One entry, or one for each transport over which it fails where that is not all of them.
fn over(
    evidence: &Evidence<'_>,
    all: &Where,
    is_listed: impl Fn(Option<Transport>) -> bool,
    blank: &New,
) -> Vec<New> {
    let everywhere = evidence.failed.len() == all.len();
    let parts: Vec<Option<Transport>> = match everywhere {
        true => vec![None],
        false => evidence.failed.keys().copied().collect(),
    };
    let mut added = Vec::new();
    for transport in parts {
        let own = |at: &Option<Transport>| everywhere || *at == transport;
        let count = |places: &Where| -> usize {
            let own = places.iter().filter(|(at, _)| own(at));
            own.map(|(_, runs)| runs.len()).sum()
        };
        let mut here = evidence.failed.keys().filter(|at| own(at));
        if here.all(|at| is_listed(*at)) {
            continue;
        }
        let (failed, tried) = (count(&evidence.failed), count(all));
        let rarely = match failed < tried {
            true => format!(" (in {failed} of {tried} runs of the case)"),
            false => String::new(),
        };
        added.push(New {
            case: evidence.case.to_owned(),
            requirement: Some(evidence.requirement.to_owned()),
            reason: shortened(&evidence.told()) + &rarely,
            transport,
            intermittent: failed < tried || evidence.case.starts_with(PROPERTY),
            ..blank.clone()
        });
    }
    added
}

impl Evidence<'_> {
    /// Whether generated inputs showed it, and others may as well.
    fn is_drawn(&self) -> bool {
        self.case.starts_with(PROPERTY) && !is_liveness(self.requirement)
    }

    fn failing(&self, transport: Option<Transport>) -> Failing<'_> {
        Failing { case: self.case, requirement: self.requirement, transport, firmware: None }
    }

    fn told(&self) -> String {
        let (expected, received) = (&self.first.expected, &self.first.received);
        format!("expected {expected}; got {received}")
    }
}

/// What fails, in the order of the runs, and where each case ran.
fn gather(runs: &Runs) -> (Vec<Evidence<'_>>, BTreeMap<&str, Where>) {
    let mut found: Vec<Evidence<'_>> = Vec::new();
    let mut ran: BTreeMap<&str, Where> = BTreeMap::new();
    // What could not be carried out shows neither.
    let shows = |case: &&CaseReport| {
        let has_failed = case.findings.iter().any(|it| it.verdict == Verdict::Fail);
        matches!(case.verdict, Verdict::Pass | Verdict::Fail) || has_failed
    };
    for (at, run) in runs.runs.iter().enumerate() {
        for case in run.record.cases.iter().filter(shows) {
            let transport = Transport::named(&case.transport);
            let places = ran.entry(&case.case).or_default();
            places.entry(transport).or_default().insert(at);
            let failed = case.findings.iter();
            for finding in failed.filter(|it| it.verdict == Verdict::Fail) {
                let (case, requirement) = (&*case.case, &*finding.requirement);
                let same = |it: &Evidence<'_>| (it.case, it.requirement) == (case, requirement);
                let place = match found.iter().position(same) {
                    Some(place) => place,
                    None => {
                        found.push(Evidence {
                            case,
                            requirement,
                            first: finding,
                            failed: Where::new(),
                        });
                        found.len() - 1
                    }
                };
                let failed = &mut found[place].failed;
                failed.entry(transport).or_default().insert(at);
            }
        }
    }
    (found, ran)
}

/// Entries for properties in which one failure makes others of any kind.
fn misled(found: &[Evidence<'_>], baseline: &Baseline, blank: &New) -> Vec<New> {
    let misleads = |evidence: &&Evidence<'_>| {
        let of_state = |area: &str| evidence.requirement.starts_with(area);
        match evidence.case {
            OF_IDS => MISTAKEN.contains(&evidence.requirement),
            case => {
                OF_STATE.contains(&case) && ["arguments.", "volume."].iter().any(|it| of_state(it))
            }
        }
    };
    let mut added: Vec<New> = Vec::new();
    for evidence in found.iter().filter(misleads) {
        let there = |known: &Known| known.requirement.is_none() && known.covers(evidence.case);
        if baseline.known.iter().any(there) || added.iter().any(|new| new.case == evidence.case) {
            continue;
        }
        let follows = match evidence.case {
            OF_IDS => "answers are matched to the wrong requests",
            _ => "later commands are compared with a different state",
        };
        added.push(New {
            case: evidence.case.to_owned(),
            reason: format!("{} is broken, so that {follows}", evidence.requirement),
            intermittent: true,
            ..blank.clone()
        });
    }
    added
}

/// Entries for what generated inputs show, or will: one for each requirement that fails anywhere, or for
/// its area where inputs have broken several of that.
fn drawn(
    found: &[Evidence<'_>],
    is_listed: &impl Fn(&Failing<'_>) -> bool,
    blank: &New,
) -> Vec<New> {
    // What inputs did show comes first: its evidence makes the better reason.
    let (shown, elsewhere): (Vec<_>, Vec<_>) =
        found.iter().filter(|it| !is_liveness(it.requirement)).partition(|it| it.is_drawn());
    let mut areas: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for evidence in &shown {
        let slugs = areas.entry(area(evidence.requirement)).or_default();
        slugs.insert(evidence.requirement);
    }
    let mut added: Vec<New> = Vec::new();
    for evidence in shown.into_iter().chain(elsewhere) {
        let everywhere = Failing { case: PROPERTY, ..evidence.failing(None) };
        let mut places = evidence.failed.keys();
        let listed = is_listed(&everywhere)
            || (evidence.is_drawn() && places.all(|at| is_listed(&evidence.failing(*at))));
        let area = area(evidence.requirement);
        let several = areas.get(area).filter(|slugs| slugs.len() > 1);
        let requirement = match several {
            Some(_) => area,
            None => evidence.requirement,
        };
        if listed || added.iter().any(|new| new.requirement.as_deref() == Some(requirement)) {
            continue;
        }
        let reason = match several {
            Some(slugs) => {
                let slugs: Vec<&str> = slugs.iter().copied().collect();
                format!("generated inputs broke {}", slugs.join(", "))
            }
            None if evidence.is_drawn() => evidence.told(),
            None => format!("as in `{}`: {}", evidence.case, evidence.told()),
        };
        added.push(New {
            case: PROPERTY.to_owned(),
            requirement: Some(requirement.to_owned()),
            reason: shortened(&reason),
            intermittent: true,
            ..blank.clone()
        });
    }
    added
}

/// The area of a requirement, with the dot: `ids.`.
fn area(slug: &str) -> &str {
    slug.find('.').map_or(slug, |dot| &slug[..=dot])
}

/// Entries for what nothing puts to the test; in some of the runs only, that is by chance.
fn unexercised(runs: &Runs, baseline: &Baseline, blank: &New) -> Vec<New> {
    let mut added = Vec::new();
    for slug in &runs.seen.unexercised {
        let listed = |known: &Known| known.unexercised && known.requirement.as_ref() == Some(slug);
        if baseline.known.iter().any(listed) {
            continue;
        }
        let always = runs.runs.iter().all(|run| run.seen.unexercised.contains(slug));
        added.push(New {
            case: "*".into(),
            requirement: Some(slug.clone()),
            reason: match always {
                true => "no case of the run exercised it".into(),
                false => "in some of the runs no case exercised it".into(),
            },
            intermittent: !always,
            unexercised: true,
            ..blank.clone()
        });
    }
    added
}

/// A text of one line and of bounded length; what devices sent may be anything.
fn shortened(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.chars().map(clean).take(LONGEST_REASON).collect();
    if text.chars().count() > LONGEST_REASON {
        short.push_str("...");
    }
    short
}
