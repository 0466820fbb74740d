//! The requirement matrix: what each section of each document asks for, and what became of it.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::catalogue::{Catalogue, Level, Requirement, document_address};
use mcp_hil_core::verdict::{Finding, Verdict};

use super::text::{anchor, escape};
use crate::lines;
use mcp_hil_record::Record;
use mcp_hil_record::event::CaseReport;

/// What became of a requirement on one device over one transport; the worst comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Became {
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
    /// The word for it, in a cell and in a search.
    pub(super) fn word(self) -> &'static str {
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

    /// What a finding makes of its requirement.
    pub(super) fn of(finding: &Finding) -> Self {
        match finding.verdict {
            Verdict::Error => Self::Error,
            Verdict::Fail if finding.known => Self::Known,
            Verdict::Fail => Self::Broken,
            Verdict::Inconclusive => Self::Unclear,
            Verdict::Pass | Verdict::NotApplicable => Self::Warned,
        }
    }
}

/// What became of what, and in how many cases.
#[derive(Debug, Default)]
struct Column<'a> {
    link: (&'a str, &'a str),
    seen: BTreeMap<&'a str, BTreeMap<Became, usize>>,
    capabilities: Option<&'a BTreeSet<String>>,
    /// Whether it is a device, and no comparison of two.
    planned: bool,
}

impl<'a> Column<'a> {
    fn of(link: (&'a str, &'a str), record: &'a Record) -> Self {
        let mut column = Column { link, ..Column::default() };
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
        let found =
            case.findings.iter().map(|finding| (&*finding.requirement, Became::of(finding)));
        let mut worst: BTreeMap<&str, Became> = BTreeMap::new();
        for (slug, became) in exercised.chain(found) {
            let here = worst.entry(slug).or_insert(became);
            *here = (*here).max(became);
        }
        for (slug, became) in worst {
            *self.seen.entry(slug).or_default().entry(became).or_default() += 1;
        }
    }

    /// What became of a requirement, and in how many cases it became that.
    fn cell(&self, requirement: &Requirement) -> (Became, usize) {
        let lacks = |need: &String| self.capabilities.is_some_and(|has| !has.contains(need));
        match self.seen.get(&*requirement.id).and_then(BTreeMap::last_key_value) {
            Some((became, cases)) => (*became, *cases),
            _ if !self.planned || requirement.needs.iter().any(lacks) => (Became::NotApplicable, 0),
            _ => (Became::Unexercised, 0),
        }
    }
}

/// The matrix as content of the page.
pub(super) fn html(record: &Record, links: &[(&str, &str)], catalogue: &Catalogue) -> String {
    let columns: Vec<Column> = links.iter().map(|link| Column::of(*link, record)).collect();
    let mut documents: BTreeMap<&str, BTreeMap<(u64, &str), Vec<&Requirement>>> = BTreeMap::new();
    let active = catalogue.iter().filter(|requirement| catalogue.active(&requirement.id).is_some());
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
                format!("<th>{}</th>", escape(&lines::link(column.link.0, column.link.1)))
            })
            .collect();
        html += &format!(
            "<details class=\"document\" id=\"{}\"{}><summary><b>{}</b> {}</summary>{}<div \
             class=\"wide\"><table class=\"matrix\"><thead><tr><th>Requirement</th><th>Level</th>{heads}</tr></thead>\
             <tbody>{body}</tbody></table></div></details>",
            document(source),
            if bad { " open" } else { "" },
            escape(source),
            parts.join(" "),
            published(source).map_or_else(String::new, |(at, link)| format!(
                "<p class=\"dim\">Published at {link}{at}</a></p>"
            )),
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
    let source = lines::source(requirement).map_or_else(String::new, |source| {
        let source = escape(&source);
        match published(&requirement.source) {
            Some((_, link)) => format!("<p class=\"dim\">{link}{source}</a></p>"),
            None => format!("<p class=\"dim\">{source}</p>"),
        }
    });
    let note = match &requirement.note {
        Some(note) => format!("<p class=\"dim\">{}</p>", escape(note.trim())),
        None => String::new(),
    };
    let mut html = format!(
        "<tr id=\"{}\"><td><code>{slug}</code><p>{}</p>{source}{note}</td><td>{level}</td>",
        row_of(&requirement.id),
        escape(requirement.text.trim())
    );
    for column in columns {
        let (became, cases) = column.cell(requirement);
        let (class, word) = (became.class(), became.word());
        html += &match cases {
            0 => format!("<td><span class=\"badge {class}\">{word}</span></td>"),
            _ => {
                let find = match became {
                    Became::Held => slug.clone(),
                    _ => format!("{word}:{slug}"),
                };
                format!(
                    "<td><button type=\"button\" class=\"badge {class}\" data-find=\"{find}\" \
                     title=\"show the cases\">{word} <small>×{cases}</small></button></td>"
                )
            }
        };
    }
    html + "</tr>"
}

/// The name of the row of a requirement.
pub(super) fn row_of(slug: &str) -> String {
    anchor(&format!("requirement/{slug}"))
}

/// The name of the part about a document.
pub(super) fn document(source: &str) -> String {
    anchor(&format!("document/{source}"))
}

/// The slug of a requirement, with a link to its row if there is one.
pub(super) fn link(slug: &str, shown: &str, catalogue: &Catalogue) -> String {
    match catalogue.active(slug) {
        Some(_) => format!("<a href=\"#{}\"><code>{shown}</code></a>", row_of(slug)),
        None => format!("<code>{shown}</code>"),
    }
}

/// Where a document is published, and the beginning of a link to it. A page is opened there only by a click.
fn published(source: &str) -> Option<(&'static str, String)> {
    let at = document_address(source)?;
    Some((at, format!("<a href=\"{at}\" rel=\"noreferrer noopener\">")))
}

/// The number that a section begins with, so that 10 comes after 9; those without come last.
fn number(section: &str) -> u64 {
    let mut parts = section.split([' ', ',']).next().unwrap_or_default().split('.');
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
        let mut sections = ["step 2", "10 A", "5.1 Error", "5 Response", "9.2", "Processing"];
        sections.sort_by_key(|section| (number(section), *section));
        assert_eq!(sections, ["5 Response", "5.1 Error", "9.2", "10 A", "Processing", "step 2"]);
    }
}
