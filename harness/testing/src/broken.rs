//! What the checks found in all that was said.

use std::fmt;
use std::path::PathBuf;

use mcp_hil_core::verdict::{Finding, Verdict};

use mcp_hil_record::event::CaseReport;

/// Characters of a message that a failure shows; the transcript has all of it.
const LONGEST: usize = 400;

/// The device does not conform, or nothing was shown: the failures of the cases, worst first.
#[derive(Clone)]
pub struct Broken {
    /// The cases that are not green: the test's own, and those around it in which the device got known and
    /// was left.
    pub cases: Vec<CaseReport>,
    /// The run's folder.
    pub folder: PathBuf,
}

impl Broken {
    /// What is not green in a run, if anything is not.
    pub(super) fn of(cases: &[CaseReport], folder: PathBuf) -> Option<Self> {
        let green = |case: &&CaseReport| {
            case.known || matches!(case.verdict, Verdict::Pass | Verdict::NotApplicable)
        };
        let cases: Vec<CaseReport> = cases.iter().filter(|case| !green(case)).cloned().collect();
        (!cases.is_empty()).then_some(Self { cases, folder })
    }

    /// The requirements that fail, by their slugs.
    pub fn requirements(&self) -> impl Iterator<Item = &str> {
        let findings = self.cases.iter().flat_map(|case| &case.findings);
        let failing = findings.filter(|it| it.verdict == Verdict::Fail && !it.known);
        failing.map(|finding| &*finding.requirement)
    }
}

impl std::error::Error for Broken {}

// What `unwrap` shows is for people.
impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the device does not conform")?;
        for case in &self.cases {
            let transcript = case.transcript.as_deref().unwrap_or("no transcript");
            writeln!(f, "\n  {:?} {}", case.verdict, case.case)?;
            if let Some(reason) = &case.reason {
                writeln!(f, "    {reason}")?;
            }
            let told = |finding: &&Finding| finding.verdict > Verdict::Pass && !finding.known;
            for finding in case.findings.iter().filter(told) {
                writeln!(f, "    {}", finding.requirement)?;
                writeln!(f, "      expected  {}", finding.expected)?;
                writeln!(f, "      received  {}", cut(&finding.received))?;
                if let Some(sent) = &finding.sent {
                    writeln!(f, "      sent      {}", cut(sent))?;
                }
                if let Some(seq) = finding.seq {
                    writeln!(f, "      line      {transcript}, seq {seq}")?;
                }
            }
            writeln!(f, "    repro {}", case.repro)?;
        }
        write!(
            f,
            "\nhint: `mcp-hil explain <requirement>`; transcripts are in `{}`",
            self.folder.display()
        )
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
