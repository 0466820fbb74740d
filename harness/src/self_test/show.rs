//! What came of the trials, for people and for programs.

use std::cmp::Ordering;
use std::io::Write;

use serde::Serialize;

use super::trial::{Outcome, Tried};
use mcp_hil_args::Format;
use mcp_hil_record::exit;

/// Widths of the columns: name, area, killed by, exchanges or cases.
const COLUMNS: [usize; 4] = [38, 14, 62, 9];

/// Characters of a finding that people are shown.
const LONGEST_TEXT: usize = 240;

/// Rows of a table that is seen at one look.
const SHORT_TABLE: usize = 20;

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Mutants tried.
    pub mutants: usize,
    /// Mutants found out.
    pub killed: usize,
    /// Of these, by generated inputs.
    pub killed_by_properties: usize,
    /// The median of the exchanges that it took.
    pub median_exchanges: usize,
    /// The median of the messages that show them again.
    pub median_repro: usize,
    /// The median of what it took to make generated inputs smaller, over what it took to find them.
    pub median_shrinking: f64,
    /// Devices tried that do no wrong.
    pub harmless: usize,
    /// Cases executed with these.
    pub cases: usize,
    /// Inputs generated and carried out in these.
    pub inputs: u64,
    /// What was found in them all the same.
    pub false_findings: usize,
    /// Verdicts on one of them that differ from one seed to another.
    #[serde(skip_serializing_if = "is_zero")]
    pub differing: usize,
    /// Devices that were tried a second time, alone on the machine.
    pub tried_again: usize,
    /// Runs that could not be carried out.
    pub broken: usize,
    /// The exit code.
    pub exit: u8,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Prints trials as they come.
#[derive(Debug)]
pub(super) struct Shown<W> {
    out: W,
    format: Format,
    totals: Totals,
    exchanges: Vec<usize>,
    repros: Vec<usize>,
    shrinking: Vec<f64>,
    /// Which table was begun: that of mutants or that of the others.
    table: Option<bool>,
    /// What was not to be, told again at the end: of a long table people see the last lines only.
    unexpected: Vec<String>,
}

impl<W: Write> Shown<W> {
    pub(super) fn new(out: W, format: Format) -> Self {
        Self {
            out,
            format,
            totals: Totals::default(),
            exchanges: Vec::new(),
            repros: Vec::new(),
            shrinking: Vec::new(),
            table: None,
            unexpected: Vec::new(),
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
                let lines: Vec<String> =
                    rows(&tried).into_iter().chain(differing(&tried)).collect();
                for line in &lines {
                    self.line(line);
                }
                if !tried.is_as_expected() {
                    self.unexpected.extend(lines);
                }
            }
            (Format::Json, true) => self.json(&Event::Mutant(&tried)),
            (Format::Json, false) => self.json(&Event::Variant(&tried)),
        }
    }

    fn count(&mut self, tried: &Tried) {
        let totals = &mut self.totals;
        totals.tried_again += usize::from(tried.again);
        if tried.is_mutant {
            totals.mutants += 1;
        } else {
            totals.harmless += 1;
            totals.cases += tried.cases;
            totals.inputs += tried.inputs;
            totals.differing += tried.differing.len();
        }
        match &tried.outcome {
            Outcome::Killed(killed) => {
                totals.killed += 1;
                totals.killed_by_properties += usize::from(killed.generated);
                self.exchanges.push(killed.exchanges);
                self.repros.extend(killed.repro_size);
                let ratio = |tried: usize| tried as f64 / killed.exchanges.max(1) as f64;
                self.shrinking.extend(killed.shrinking.map(ratio));
            }
            Outcome::Accused { findings } => totals.false_findings += findings.len(),
            Outcome::Broken { .. } => totals.broken += 1,
            Outcome::Survived | Outcome::Clean => {}
        }
    }

    /// Prints what it came to; the exit code.
    pub(super) fn finish(mut self) -> u8 {
        let mut totals = self.totals;
        totals.median_exchanges = median(&mut self.exchanges, usize::cmp);
        totals.median_repro = median(&mut self.repros, usize::cmp);
        totals.median_shrinking = median(&mut self.shrinking, f64::total_cmp);
        let all_well =
            totals.killed == totals.mutants && totals.false_findings == 0 && totals.differing == 0;
        totals.exit = match (all_well, totals.broken) {
            (_, 1..) => exit::BENCH,
            (true, 0) => exit::CONFORMING,
            (false, 0) => exit::NOT_CONFORMING,
        };
        match self.format {
            Format::Json => self.json(&Event::SelfTestFinished(totals)),
            Format::Human => {
                self.tell_unexpected(totals.mutants + totals.harmless);
                self.line("");
                if totals.killed > 0 {
                    self.line(&format!(
                        "median exchanges to a kill {}, messages of a repro {}; killed by properties {}",
                        totals.median_exchanges, totals.median_repro, totals.killed_by_properties
                    ));
                }
                if !self.shrinking.is_empty() {
                    self.line(&format!(
                        "exchanges to shrink over exchanges to the kill {:.1} (median)",
                        totals.median_shrinking
                    ));
                }
                if totals.tried_again > 0 {
                    self.line(&format!("tried twice {}", totals.tried_again));
                }
                if totals.broken > 0 {
                    self.line(&format!("runs that broke {}", totals.broken));
                }
                if totals.differing > 0 {
                    self.line(&format!("verdicts that differ between seeds {}", totals.differing));
                }
                self.line(&format!("killed {} of {}", totals.killed, totals.mutants));
                self.line(&format!(
                    "false findings {} in {} cases with {} generated inputs",
                    totals.false_findings, totals.cases, totals.inputs
                ));
            }
        }
        totals.exit
    }

    /// Tells what was not to be once more, unless the table is short.
    fn tell_unexpected(&mut self, tried: usize) {
        let unexpected = std::mem::take(&mut self.unexpected);
        if unexpected.is_empty() || tried <= SHORT_TABLE {
            return;
        }
        self.line("\nnot as expected:");
        for line in &unexpected {
            self.line(line);
        }
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

fn median<N: Copy + Default>(numbers: &mut [N], order: fn(&N, &N) -> Ordering) -> N {
    numbers.sort_unstable_by(order);
    let median = numbers.get(numbers.len() / 2);
    median.copied().unwrap_or_default()
}

fn row(cells: [&str; 5]) -> String {
    let [name, area, by, number, last] = cells;
    let [first, second, third, fourth] = COLUMNS;
    format!("{name:first$}  {area:second$}  {by:third$}  {number:>fourth$}  {last:>6}")
}

fn head(is_mutant: bool) -> String {
    match is_mutant {
        true => row(["mutant", "area", "killed by", "exchanges", "repro"]),
        false => row(["device", "", "found", "cases", "inputs"]),
    }
}

fn rows(tried: &Tried) -> Vec<String> {
    let (cases, inputs) = (tried.cases.to_string(), tried.inputs.to_string());
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
                &killed.repro_size.map_or_else(|| "all".to_owned(), |size| size.to_string()),
            ])]
        }
        Outcome::Survived => vec![row([name, area, "SURVIVED", "", ""])],
        Outcome::Clean => vec![row([name, area, "nothing", &cases, &inputs])],
        Outcome::Accused { findings } => {
            let mut rows = vec![row([
                name,
                area,
                &format!("FALSE FINDINGS: {}", findings.len()),
                &cases,
                &inputs,
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
            let mut rows = vec![row([name, area, "THE RUN BROKE", &cases, &inputs])];
            rows.extend(why.lines().map(|line| format!("    {line}")));
            rows
        }
    }
}

/// Verdicts that differ from one seed to another.
fn differing(tried: &Tried) -> Vec<String> {
    let all = tried.differing.iter();
    all.map(|one| {
        let verdicts = one.verdicts.iter().map(|(verdict, seeds)| {
            let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
            format!("{verdict} with {}", seeds.join(", "))
        });
        let verdicts: Vec<String> = verdicts.collect();
        let (case, transport) = (&one.case, &one.transport);
        let verdicts = shorten(&verdicts.join("; "));
        format!("    SEEDS DIFFER: {case} ({transport}): {verdicts}")
    })
    .collect()
}

/// The beginning of a text that may hold a whole message.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
