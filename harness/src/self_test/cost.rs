//! What it took to find a mutant out, counted in messages of the harness.

use mcp_hil_core::transcript::{Entry, Mark, Part, Role, What};
use mcp_hil_core::verdict::Finding;

use mcp_hil_record::event::{CaseReport, Failure};
use mcp_hil_record::names::BOTH;

/// What it took to find a mutant out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    /// How many requests had been sent when the finding first showed, in all sessions together.
    pub(super) exchanges: usize,
    /// How many were sent to make the input smaller, where one was generated.
    pub(super) shrinking: Option<usize>,
    /// How many messages show it again: those of the smallest input, or those of the script up to
    /// the finding. Nothing for a comparison of transports, which takes all of both sessions.
    pub(super) repro: Option<usize>,
}

impl Cost {
    /// The cost of a finding of a case. `sessions` has the entries of each transport, `dut_run` says
    /// which of them the case belongs to.
    pub(super) fn of(
        sessions: &[Vec<Entry>],
        dut_run: Option<usize>,
        case: &CaseReport,
        finding: &Finding,
    ) -> Self {
        let all = |sessions: &[Vec<Entry>]| -> usize { sessions.iter().map(|one| sent(one)).sum() };
        let dut_run = dut_run.filter(|_| case.transport != BOTH);
        let Some((dut_run, session)) =
            dut_run.and_then(|dut_run| Some((dut_run, sessions.get(dut_run)?)))
        else {
            return Self { exchanges: all(sessions), shrinking: None, repro: None };
        };
        let before = all(&sessions[..dut_run]);
        if let Some(failure) = failure(case, finding) {
            let (end, shrunk) = followed(session, &case.case, failure.input);
            return Self {
                exchanges: before + sent(&session[..end]),
                shrinking: Some(sent(&session[end..shrunk])),
                repro: Some(failure.to),
            };
        }
        let of_case = |entry: &&Entry| *entry.case == *case.case;
        let last_of_case = || session.iter().filter(of_case).map(|entry| entry.seq).max();
        let last = finding.seq.or_else(last_of_case);
        let end = session.partition_point(|entry| last.is_none_or(|last| entry.seq <= last));
        let own = session[..end].iter().filter(of_case);
        Self {
            exchanges: before + sent(&session[..end]),
            shrinking: None,
            repro: Some(own.filter(|entry| is_sent(entry)).count()),
        }
    }
}

/// The failure of generated inputs that a finding belongs to.
fn failure<'a>(case: &'a CaseReport, finding: &Finding) -> Option<&'a Failure> {
    let failures = &case.generated.as_ref()?.failures;
    failures.iter().find(|failure| failure.requirements.contains(&finding.requirement))
}

/// Where an input of a case ends, and where the tries end that made it smaller.
fn followed(session: &[Entry], case: &str, input: u32) -> (usize, usize) {
    let mut parts = session.iter().enumerate().filter_map(|(at, entry)| {
        let part = match &entry.what {
            What::Mark { mark: Mark::Generated { part, .. } } => *part,
            _ => return None,
        };
        (*entry.case == *case).then_some((at, part))
    });
    let input = usize::try_from(input).unwrap_or(usize::MAX);
    let mut inputs = parts.by_ref().filter(|(_, part)| *part == Part::Input);
    if inputs.nth(input).is_none() {
        return (session.len(), session.len());
    }
    let (mut end, mut smallest) = (None, false);
    for (at, part) in parts {
        end.get_or_insert(at);
        if smallest || matches!(part, Part::Input | Part::Around) {
            return (end.unwrap_or(at), at);
        }
        smallest = part == Part::Smallest;
    }
    (end.unwrap_or(session.len()), session.len())
}

fn sent(entries: &[Entry]) -> usize {
    entries.iter().filter(|entry| is_sent(entry)).count()
}

/// Whether the harness asked the device something. Answers to its own requests do not count.
fn is_sent(entry: &Entry) -> bool {
    match &entry.what {
        What::Sent { role, .. } => !matches!(role, Role::Hello | Role::Reply),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::catalogue::Level;
    use mcp_hil_core::transcript::PROPERTY;
    use mcp_hil_core::verdict::Verdict;
    use mcp_hil_core::wire::Frame;
    use mcp_hil_record::event::Generated;

    /// A session: `>` is a request, `i`, `t`, `s`, `a` begin parts, a space is the case before.
    fn session(text: &str) -> Vec<Entry> {
        let part = |part| What::Mark { mark: Mark::Generated { part, scenario: String::new() } };
        let entry = |(seq, letter): (usize, char)| Entry {
            seq: seq as u64,
            at_us: 0,
            case: match letter {
                ' ' | '<' => "session/bring-up".into(),
                _ => format!("{PROPERTY}ids").into(),
            },
            step: None,
            what: match letter {
                'i' => part(Part::Input),
                't' => part(Part::Trial),
                's' => part(Part::Smallest),
                'a' => part(Part::Around),
                ' ' | '>' => What::Sent { role: Role::Stimulus, frame: Frame::Text(String::new()) },
                _ => What::Received { frame: Frame::Text(String::new()) },
            },
        };
        text.chars().enumerate().map(entry).collect()
    }

    fn case(failure: Option<Failure>) -> CaseReport {
        CaseReport {
            generated: Some(Generated {
                failures: failure.into_iter().collect(),
                ..Generated::default()
            }),
            ..CaseReport::blank("native", "websocket", "properties/ids", "")
        }
    }

    fn finding(seq: Option<u64>) -> Finding {
        Finding {
            requirement: "ids.echo".into(),
            level: Level::Must,
            verdict: Verdict::Fail,
            step: None,
            expected: String::new(),
            received: String::new(),
            sent: None,
            seq,
            console: Vec::new(),
            places: Vec::new(),
            transcript: None,
            late: false,
            known: false,
        }
    }

    #[test]
    fn a_script_costs_what_was_sent_until_the_finding() {
        let sessions = [session("  <>.>.>.")];
        let cost = |seq| Cost::of(&sessions, Some(0), &case(None), &finding(seq));
        let (early, late) = (cost(Some(6)), cost(None));
        assert_eq!((early.exchanges, early.repro), (4, Some(2)));
        assert_eq!((late.exchanges, late.repro), (5, Some(3)));
        assert_eq!(early.shrinking, None);
    }

    #[test]
    fn what_is_sent_to_shrink_an_input_does_not_count_as_found_late() {
        let failure = Failure {
            requirements: vec!["ids.echo".into()],
            input: 1,
            to: 1,
            ..Failure::default()
        };
        let entries = session(" a>i>.>.i>.>>.t>.t>.s>.t>.i>a>");
        let report = case(Some(failure));
        let cost = Cost::of(&[entries], Some(0), &report, &finding(Some(25)));
        let expected = Cost { exchanges: 7, shrinking: Some(3), repro: Some(1) };
        assert_eq!(cost, expected);
    }

    #[test]
    fn a_comparison_takes_both_sessions() {
        let report = CaseReport { transport: BOTH.into(), ..case(None) };
        let cost = Cost::of(&[session(">.>"), session(" >")], None, &report, &finding(None));
        assert_eq!((cost.exchanges, cost.repro), (4, None));
    }
}
