//! What the lists of known failures that come with the program hide, and what they do not.

use std::sync::Arc;

use mcp_hil_core::baseline::{Baseline, Known};
use mcp_hil_core::capability::Facts;
use mcp_hil_core::catalogue::{RequirementId, is_liveness};
use mcp_hil_core::transcript::{BRING_UP, CLOSE};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::{Judgement, Outcome};
use mcp_hil_generate::PROPERTIES;
use mcp_hil_judge::check::CaseOutcome;
use mcp_hil_record::Reporters;
use mcp_hil_record::event::{CaseReport, RunStarted, Summary};
use mcp_hil_record::exit;
use mcp_hil_runner::run::{CaseReports, Demands, Driver, DutRunEnd, VerdictPolicy};
use mcp_hil_runner::suite::Suite;

use super::shipped;

const TODAY: &str = "2030-01-01";

/// A version that the lists limited to a firmware are for.
const FIRMWARE: &str = "2.4.2";

/// A requirement that an entry covers.
fn covered_by(known: &Known, suite: &Suite) -> RequirementId {
    let mut all = suite.catalogue.iter().map(|it| &*it.id);
    let slug = all.find(|slug| known.names(slug) && suite.catalogue.active(slug).is_some());
    let slug = slug.unwrap_or_else(|| panic!("{} names nothing", known.name()));
    suite.catalogue.id(slug).unwrap()
}

fn broken(case: &str, requirement: RequirementId) -> Judgement {
    Judgement {
        requirement,
        case: Arc::from(case),
        step: Some("0".into()),
        outcome: Outcome::Broken(Box::default()),
    }
}

/// A run of one case over a transport, in which these requirements show broken.
fn summary(policy: VerdictPolicy<'_>, case: &str, failing: &[RequirementId]) -> Summary {
    let transport = policy.transport.unwrap();
    let outcome = CaseOutcome {
        exercised: failing.iter().copied().collect(),
        judgements: failing.iter().map(|it| broken(case, *it)).collect(),
        ..CaseOutcome::default()
    };
    let firmware = policy.firmware.map(str::to_owned);
    let mut case_reports = CaseReports::of(Some(transport), firmware.clone());
    let blank = CaseReport::blank("dut", transport.name(), case, case);
    let mut reporters = Reporters::new(std::io::sink());
    case_reports.finish(blank, outcome, &policy, &mut reporters);
    let (started, demands) = (RunStarted::default(), Demands::default());
    let mut driver = Driver::begin(started, policy, demands, String::new(), &mut reporters);
    let cases = case_reports.into_cases();
    let facts = Some(Facts::default());
    let end = DutRunEnd { cases, facts, firmware, ..DutRunEnd::default() };
    assert!(driver.dut_run("dut", transport.name(), end).is_none());
    driver.finish(&mut reporters)
}

/// Whatever a list tolerates of a case, a crash beside it is a failure and makes the run red, unless an entry
/// names just that crash in just that case.
#[test]
fn a_crash_beside_any_failure_that_is_listed_makes_the_run_red() {
    let suite = Suite::load(&[], None).unwrap();
    let mut cases: Vec<String> = suite.cases.iter().map(|case| case.id.to_string()).collect();
    cases.extend(PROPERTIES.iter().map(|property| property.id.to_owned()));
    cases.extend([BRING_UP, CLOSE].map(str::to_owned));
    let crashes: Vec<RequirementId> = suite
        .catalogue
        .iter()
        .filter(|it| is_liveness(&it.id))
        .filter_map(|it| suite.catalogue.id(&it.id))
        .collect();
    for must in [
        RequirementId::LivenessNoPanic,
        RequirementId::LivenessNoReset,
        RequirementId::LivenessLinkKept,
    ] {
        assert!(crashes.contains(&must), "{crashes:?}");
    }
    let files = shipped();
    assert!(!files.is_empty());
    for path in files {
        let name = path.display().to_string();
        let list = Baseline::load(&name, &std::fs::read_to_string(&path).unwrap()).unwrap();
        let mut listed = 0;
        for transport in [Transport::WebSocket, Transport::Mqtt] {
            let policy = VerdictPolicy {
                catalogue: &suite.catalogue,
                // So that what is a SHOULD fails, too.
                strict: true,
                baseline: Some(&list),
                today: TODAY,
                transport: Some(transport),
                firmware: Some(FIRMWARE),
                symbols: None,
            };
            for case in &cases {
                let own = list.known.iter().filter(|known| {
                    let over = known.transport.is_none_or(|it| it == transport);
                    !known.unexercised && over && known.covers(case)
                });
                let tolerated: Vec<RequirementId> = own
                    .clone()
                    .map(|known| match &known.requirement {
                        Some(slug) if is_liveness(slug) => suite.catalogue.id(slug).unwrap(),
                        _ => covered_by(known, &suite),
                    })
                    .collect();
                if tolerated.is_empty() {
                    continue;
                }
                listed += 1;
                let calm = summary(policy, case, &tolerated);
                assert_eq!(calm.exit, exit::CONFORMING, "{name} {case}: {calm:?}");
                assert_eq!((calm.known, calm.failed), (1, 0), "{name} {case}");
                for crash in &crashes {
                    let named = own.clone().any(|known| {
                        known.is_exact() && known.requirement.as_deref() == Some(crash.slug())
                    });
                    if named {
                        continue;
                    }
                    let both: Vec<_> = tolerated.iter().copied().chain([*crash]).collect();
                    let red = summary(policy, case, &both);
                    let told = format!("{name}: {case} with {crash} over {}", transport.name());
                    assert_eq!(red.exit, exit::NOT_CONFORMING, "{told}: {red:?}");
                    assert_eq!((red.known, red.failed), (0, 1), "{told}");
                }
            }
        }
        assert!(listed > 0, "{name} covers no case");
    }
}
