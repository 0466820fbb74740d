//! The requirement matrix: what each section of each document asks for, and what became of it.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::catalogue::{Catalogue, Level, Requirement};
use mcp_hil_core::verdict::{Finding, Verdict};

use super::text::escape;
use crate::event::CaseReport;
use crate::report::Record;
use crate::report::lines;

/// What became of a requirement on one device over one transport; the worst comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Became {
    /// The device lacks what it is about.
    NotApplicable,
    /// Nothing exercised it.
    Unexercised,
    Held,
    Warned,
    Known,
    Unclear,
    Broken,
    /// The harness or the bench broke it.
    Error,
}

impl Became {
    fn word(self) -> &'static str {
        match self {
            Self::NotApplicable => "n/a",
            Self::Unexercised => "open",
            Self::Held => "held",
            Self::Warned => "warned",
            Self::Known => "known",
            Self::Unclear => "unclear",
            Self::Broken => "broken",
            Self::Error => "error",
        }
    }

    /// Its colour: that of the verdict that it leads to.
    fn class(self) -> &'static str {
        match self {
            Self::NotApplicable | Self::Unexercised => "na",
            Self::Held => "pass",
            Self::Warned => "warn",
            Self::Known => "known",
            Self::Unclear => "inconc",
            Self::Broken => "fail",
            Self::Error => "error",
        }
    }

    fn of(finding: &Finding) -> Self {
        match finding.verdict {
            Verdict::Error => Self::Error,
            Verdict::Fail if finding.known => Self::Known,
            Verdict::Fail => Self::Broken,
            Verdict::Inconclusive => Self::Unclear,
            Verdict::Pass | Verdict::NotApplicable => Self::Warned,
        }
    }
}

/// What became of what, and how many cases exercised it.
#[derive(Debug, Default)]
struct Column<'a> {
    link: (&'a str, &'a str),
    seen: BTreeMap<&'a str, (Option<Became>, usize)>,
    capabilities: Option<&'a BTreeSet<String>>,
    /// Whether it is a device, and no comparison of two.
    planned: bool,
}

impl<'a> Column<'a> {
    fn of(link: (&'a str, &'a str), record: &'a Record) -> Self {
        let mut column = Column {
            link,
            ..Column::default()
        };
        let here = |dut: &str, transport: &str| (dut, transport) == link;
        let mut duts = record.run.duts.iter();
        column.planned = duts.any(|dut| here(&dut.name, &dut.transport));
        let ready = record.duts.iter();
        column.capabilities = ready
            .filter(|ready| here(&ready.dut, &ready.transport))
            .map(|ready| &ready.facts.capabilities)
            .next_back();
        let cases = record.cases.iter();
        for case in cases.filter(|case| here(&case.dut, &case.transport)) {
            column.add(case);
        }
        column
    }

    fn add(&mut self, case: &'a CaseReport) {
        let exercised = case.exercised.iter().map(|slug| (&**slug, Became::Held));
        let found = case
            .findings
            .iter()
            .map(|finding| (&*finding.requirement, Became::of(finding)));
        let mut counted = BTreeSet::new();
        for (slug, became) in exercised.chain(found) {
            let (worst, cases) = self.seen.entry(slug).or_default();
            *worst = (*worst).max(Some(became));
            *cases += usize::from(counted.insert(slug));
        }
    }

    fn cell(&self, requirement: &Requirement) -> (Became, usize) {
        let lacks = |need: &String| self.capabilities.is_some_and(|has| !has.contains(need));
        match self.seen.get(&*requirement.id) {
            Some((Some(became), cases)) => (*became, *cases),
            _ if !self.planned || requirement.needs.iter().any(lacks) => (Became::NotApplicable, 0),
            _ => (Became::Unexercised, 0),
        }
    }
}

/// The matrix as content of the page.
pub(super) fn html(record: &Record, links: &[(&str, &str)], catalogue: &Catalogue) -> String {
    let columns: Vec<Column> = links.iter().map(|link| Column::of(*link, record)).collect();
    let mut documents: BTreeMap<&str, BTreeMap<(u64, &str), Vec<&Requirement>>> = BTreeMap::new();
    let active = catalogue
        .iter()
        .filter(|requirement| catalogue.active(&requirement.id).is_some());
    for requirement in active {
        let sections = documents.entry(&requirement.source).or_default();
        let section = (number(&requirement.section), &*requirement.section);
        sections.entry(section).or_default().push(requirement);
    }
    let mut html = String::new();
    for (source, sections) in &documents {
        let mut tally: BTreeMap<Became, usize> = BTreeMap::new();
        let mut body = String::new();
        for ((_, section), requirements) in sections {
            let name = match *section {
                "" => "the whole document",
                name => name,
            };
            body += &format!(
                "<tr class=\"section\"><th colspan=\"{}\" scope=\"colgroup\">{}</th></tr>",
                2 + columns.len(),
                escape(name)
            );
            for requirement in requirements {
                let worst = columns.iter().map(|column| column.cell(requirement).0);
                let worst = worst.max().unwrap_or(Became::Unexercised);
                *tally.entry(worst).or_default() += 1;
                body += &row(requirement, &columns);
            }
        }
        let bad = tally.keys().any(|became| *became > Became::Held);
        let parts: Vec<String> = tally
            .iter()
            .rev()
            .map(|(became, number)| {
                let (class, word) = (became.class(), became.word());
                format!("<span class=\"badge {class}\">{number} {word}</span>")
            })
            .collect();
        let heads: String = columns
            .iter()
            .map(|column| {
                format!(
                    "<th>{}</th>",
                    escape(&lines::link(column.link.0, column.link.1))
                )
            })
            .collect();
        html += &format!(
            "<details class=\"document\"{}><summary><b>{}</b> {}</summary><div class=\"wide\">\
             <table class=\"matrix\"><thead><tr><th>Requirement</th><th>Level</th>{heads}</tr></thead>\
             <tbody>{body}</tbody></table></div></details>",
            if bad { " open" } else { "" },
            escape(source),
            parts.join(" ")
        );
    }
    html
}

fn row(requirement: &Requirement, columns: &[Column<'_>]) -> String {
    let level = match requirement.level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
        Level::May => "MAY",
    };
    let slug = escape(&requirement.id);
    let note = match &requirement.note {
        Some(note) => format!("<p class=\"dim\">{}</p>", escape(note.trim())),
        None => String::new(),
    };
    let mut html = format!(
        "<tr><td><code>{slug}</code><p>{}</p>{note}</td><td>{level}</td>",
        escape(requirement.text.trim())
    );
    for column in columns {
        let (became, cases) = column.cell(requirement);
        let (class, word) = (became.class(), became.word());
        html += &match cases {
            0 => format!("<td><span class=\"badge {class}\">{word}</span></td>"),
            _ => format!(
                "<td><button type=\"button\" class=\"badge {class}\" data-find=\"{slug}\" \
                 title=\"show the cases\">{word} <small>×{cases}</small></button></td>"
            ),
        };
    }
    html + "</tr>"
}

/// The number that a section begins with, so that 10 comes after 9; those without come last.
fn number(section: &str) -> u64 {
    let mut parts = section
        .split([' ', ','])
        .next()
        .unwrap_or_default()
        .split('.');
    let mut next = || parts.next().and_then(|part| part.parse::<u64>().ok());
    match next() {
        Some(first) => {
            first.min(99_999) * 1_000_000
                + next().unwrap_or(0).min(999) * 1_000
                + next().unwrap_or(0).min(999)
        }
        None => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_stand_in_their_order() {
        let mut sections = [
            "step 2",
            "10 A",
            "5.1 Error",
            "5 Response",
            "9.2",
            "Processing",
        ];
        sections.sort_by_key(|section| (number(section), *section));
        assert_eq!(
            sections,
            [
                "5 Response",
                "5.1 Error",
                "9.2",
                "10 A",
                "Processing",
                "step 2"
            ]
        );
    }
}
