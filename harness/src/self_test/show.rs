//! What came of the trials, for people and for programs.

use std::io::Write;

use serde::Serialize;

use super::trial::{Outcome, Tried};
use crate::cli::Format;
use crate::exit;

/// Widths of the columns: name, area, killed by.
const COLUMNS: [usize; 3] = [38, 14, 62];

/// Characters of a finding that people are shown.
const LONGEST_TEXT: usize = 240;

/// One line of the JSON output.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event<'a> {
    /// A mutant was tried.
    Mutant(&'a Tried),
    /// The device itself or a variation of it was tried.
    Variant(&'a Tried),
    /// All is done.
    SelfTestFinished(Totals),
}

/// What the trials came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Mutants tried.
    pub mutants: usize,
    /// Mutants found out.
    pub killed: usize,
    /// Of these, by generated inputs.
    pub killed_by_properties: usize,
    /// The median of the exchanges that it took.
    pub median_exchanges: usize,
    /// Devices tried that do no wrong.
    pub harmless: usize,
    /// Cases executed with these.
    pub cases: usize,
    /// What was found in them all the same.
    pub false_findings: usize,
    /// Runs that could not be carried out.
    pub broken: usize,
    /// The exit code.
    pub exit: u8,
}

/// Prints trials as they come.
#[derive(Debug)]
pub(super) struct Shown<W> {
    out: W,
    format: Format,
    totals: Totals,
    exchanges: Vec<usize>,
    /// Which table was begun: that of mutants or that of the others.
    table: Option<bool>,
}

impl<W: Write> Shown<W> {
    pub(super) fn new(out: W, format: Format) -> Self {
        Self {
            out,
            format,
            totals: Totals::default(),
            exchanges: Vec::new(),
            table: None,
        }
    }

    /// Counts a trial and prints it.
    pub(super) fn tried(&mut self, tried: Tried) {
        self.count(&tried);
        match (self.format, tried.is_mutant) {
            (Format::Human, _) => {
                if self.table != Some(tried.is_mutant) {
                    if self.table.is_some() {
                        self.line("");
                    }
                    self.table = Some(tried.is_mutant);
                    self.line(&head(tried.is_mutant));
                }
                for line in rows(&tried) {
                    self.line(&line);
                }
            }
            (Format::Json, true) => self.json(&Event::Mutant(&tried)),
            (Format::Json, false) => self.json(&Event::Variant(&tried)),
        }
    }

    fn count(&mut self, tried: &Tried) {
        let totals = &mut self.totals;
        if tried.is_mutant {
            totals.mutants += 1;
        } else {
            totals.harmless += 1;
            totals.cases += tried.cases;
        }
        match &tried.outcome {
            Outcome::Killed(killed) => {
                totals.killed += 1;
                totals.killed_by_properties += usize::from(killed.generated);
                self.exchanges.push(killed.exchanges);
            }
            Outcome::Accused { findings } => totals.false_findings += findings.len(),
            Outcome::Broken { .. } => totals.broken += 1,
            Outcome::Survived | Outcome::Clean => {}
        }
    }

    /// Prints what it came to; the exit code.
    pub(super) fn finish(mut self) -> u8 {
        self.exchanges.sort_unstable();
        let median = self.exchanges.get(self.exchanges.len() / 2);
        let mut totals = self.totals;
        totals.median_exchanges = median.copied().unwrap_or_default();
        let all_well = totals.killed == totals.mutants && totals.false_findings == 0;
        totals.exit = match (all_well, totals.broken) {
            (_, 1..) => exit::BENCH,
            (true, 0) => exit::CONFORMING,
            (false, 0) => exit::NOT_CONFORMING,
        };
        match self.format {
            Format::Json => self.json(&Event::SelfTestFinished(totals)),
            Format::Human => {
                self.line("");
                if totals.killed > 0 {
                    self.line(&format!(
                        "median exchanges to a kill {}, killed by properties {}",
                        totals.median_exchanges, totals.killed_by_properties
                    ));
                }
                if totals.broken > 0 {
                    self.line(&format!("runs that broke {}", totals.broken));
                }
                self.line(&format!("killed {} of {}", totals.killed, totals.mutants));
                self.line(&format!(
                    "false findings {} in {} cases",
                    totals.false_findings, totals.cases
                ));
            }
        }
        totals.exit
    }

    fn json(&mut self, event: &Event<'_>) {
        let text = serde_json::to_string(event).unwrap_or_default();
        self.line(&text);
    }

    /// A reader that went away is no trouble: it has seen what it wanted.
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}", text.trim_end());
        let _ = self.out.flush();
    }
}

fn row(cells: [&str; 4]) -> String {
    let [name, area, by, number] = cells;
    let [first, second, third] = COLUMNS;
    format!("{name:first$}  {area:second$}  {by:third$}  {number:>9}")
}

fn head(is_mutant: bool) -> String {
    match is_mutant {
        true => row(["mutant", "area", "killed by", "exchanges"]),
        false => row(["device", "", "found", "cases"]),
    }
}

fn rows(tried: &Tried) -> Vec<String> {
    let cases = tried.cases.to_string();
    let (name, area) = (tried.name.as_str(), tried.area.as_str());
    match &tried.outcome {
        Outcome::Killed(killed) => {
            let by = format!("{} {}", killed.case, killed.requirement);
            let over = match tried.transport.as_str() {
                "websocket" => String::new(),
                other => format!(" ({other})"),
            };
            vec![row([
                name,
                area,
                &(by + &over),
                &killed.exchanges.to_string(),
            ])]
        }
        Outcome::Survived => vec![row([name, area, "SURVIVED", ""])],
        Outcome::Clean => vec![row([name, area, "nothing", &cases])],
        Outcome::Accused { findings } => {
            let mut rows = vec![row([
                name,
                area,
                &format!("FALSE FINDINGS: {}", findings.len()),
                &cases,
            ])];
            let mut shown: Vec<(&str, &str)> = Vec::new();
            for finding in findings {
                let about = (finding.case.as_str(), finding.requirement.as_str());
                // One cause shows in many findings; the JSON output has them all.
                if !shown.contains(&about) {
                    shown.push(about);
                    let text = shorten(&finding.text);
                    rows.push(format!("    {} {}: {text}", about.0, about.1));
                    rows.push(format!("    {}", finding.repro));
                }
            }
            rows
        }
        Outcome::Broken { why } => {
            let mut rows = vec![row([name, area, "THE RUN BROKE", &cases])];
            rows.extend(why.lines().map(|line| format!("    {line}")));
            rows
        }
    }
}

/// The beginning of a text that may hold a whole message.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
