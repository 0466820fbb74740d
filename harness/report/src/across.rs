//! What differs between the devices of a run: the same firmware on two chips, or two firmwares on one chip.

use std::collections::{BTreeMap, BTreeSet};

use super::lines::Status;
use mcp_hil_core::transcript::{BRING_UP, CLOSE};
use mcp_hil_record::event::CaseReport;
use mcp_hil_record::names::BOTH;

/// What a case came to on a device over a transport: its status, and the requirements that it found broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) status: Status,
    pub(crate) broken: BTreeSet<String>,
}

impl Cell {
    pub(crate) fn of(case: &CaseReport) -> Self {
        let broken = case.findings.iter().map(|finding| finding.requirement.clone());
        Self { status: Status::of(case), broken: broken.collect() }
    }
}

/// The cases of several devices, side by side.
#[derive(Debug, Default)]
pub(crate) struct Across {
    /// The cases in the order in which they were reported first.
    order: Vec<String>,
    /// By case: what it came to, by transport and device.
    cells: BTreeMap<String, BTreeMap<(String, String), Cell>>,
}

impl Across {
    /// Takes a case, or what a late answer made of it.
    pub(crate) fn take(&mut self, case: &CaseReport) {
        if !self.cells.contains_key(&case.case) {
            self.order.push(case.case.clone());
        }
        let key = (case.transport.clone(), case.dut.clone());
        self.cells.entry(case.case.clone()).or_default().insert(key, Cell::of(case));
    }

    /// The ids of all cases.
    pub(crate) fn cases(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(String::as_str)
    }

    /// What a case came to on a device over a transport.
    pub(crate) fn cell(&self, case: &str, dut: &str, transport: &str) -> Option<&Cell> {
        self.cells.get(case)?.get(&(transport.to_owned(), dut.to_owned()))
    }

    /// Whether devices differ in a case: over one transport it came to something else on one than on another, or was
    /// carried out on one of them only.
    pub(crate) fn differs(&self, case: &str, duts: &[(&str, &str)]) -> bool {
        let transports: BTreeSet<&str> = duts.iter().map(|(_, transport)| *transport).collect();
        transports.into_iter().any(|transport| {
            let over = duts.iter().filter(|(_, of)| *of == transport);
            let mut cells = over.map(|(dut, _)| self.cell(case, dut, transport));
            let first = cells.next();
            cells.any(|cell| Some(cell) != first)
        })
    }

    /// The cases in which devices differ, in their order; those that only look at a device are not among them.
    pub(crate) fn different<'a>(&'a self, duts: &[(&str, &str)]) -> Vec<&'a str> {
        let looks = |case: &&str| ![BRING_UP, CLOSE].contains(case);
        self.cases().filter(looks).filter(|case| self.differs(case, duts)).collect()
    }
}

/// The devices over their transports that are compared with each other: none where there is one device only.
pub(crate) fn compared<'a>(
    links: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<(&'a str, &'a str)> {
    let links: Vec<_> = links.filter(|(_, transport)| *transport != BOTH).collect();
    let names: BTreeSet<&str> = links.iter().map(|(dut, _)| *dut).collect();
    if names.len() > 1 { links } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use mcp_hil_core::verdict::Verdict;

    use super::*;

    #[test]
    fn devices_differ_where_one_transport_gives_another_verdict() {
        let mut across = Across::default();
        let mut say = |dut: &str, transport: &str, case: &str, verdict| {
            across.take(&CaseReport { verdict, ..CaseReport::blank(dut, transport, case, "") });
        };
        for dut in ["a", "b"] {
            say(dut, "websocket", "x/same", Verdict::Pass);
            // Its transports differ, and the devices do not.
            say(dut, "mqtt", "x/same", Verdict::NotApplicable);
            say(dut, "websocket", BRING_UP, Verdict::Pass);
        }
        say("a", "websocket", "x/other", Verdict::Pass);
        say("b", "websocket", "x/other", Verdict::Fail);
        say("a", "mqtt", "x/one", Verdict::Pass);
        let links = [("a", "websocket"), ("b", "websocket"), ("a", "mqtt"), ("b", "mqtt")];
        let compared = compared(links.into_iter());
        assert_eq!(across.different(&compared), ["x/other", "x/one"]);
        assert_eq!(super::compared([("a", "websocket"), ("a", "mqtt")].into_iter()), []);
    }
}
