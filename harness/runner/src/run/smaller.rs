//! Cases with messages left out, or joined to one.

use std::collections::BTreeSet;

use mcp_hil_scenario::{Action, Case, Step};

/// Inputs one after the other, as one case.
pub(super) fn joined(before: &[Case], last: &Case) -> Case {
    let steps = before.iter().flat_map(|case| case.steps.clone());
    Case {
        steps: steps.chain(last.steps.clone()).collect(),
        needs: needs(before, last),
        ..last.clone()
    }
}

/// What they need together: they may be of several properties.
fn needs(before: &[Case], last: &Case) -> Vec<String> {
    let all = before.iter().flat_map(|case| &case.needs);
    let all: BTreeSet<&String> = all.chain(&last.needs).collect();
    all.into_iter().cloned().collect()
}

/// How many steps can be left out, those of bursts and rows of tables one by one.
pub(super) fn messages(steps: &[Step]) -> usize {
    steps.iter().map(weight).sum()
}

fn weight(step: &Step) -> usize {
    match &step.action {
        Action::Burst(inner) => inner.len().max(1),
        Action::Each { rows, .. } => rows.len().max(1),
        _ => 1,
    }
}

/// The steps without one of them; what is left alone of a burst is a step of its own.
pub(super) fn without(steps: &[Step], mut at: usize) -> Vec<Step> {
    let mut left = Vec::new();
    for step in steps {
        let here = weight(step);
        let hit = at < here;
        match &step.action {
            Action::Burst(inner) if hit && inner.len() > 1 => {
                let mut inner = inner.clone();
                inner.remove(at);
                left.push(match inner.len() {
                    1 => inner.remove(0),
                    _ => Step { action: Action::Burst(inner), ..step.clone() },
                });
            }
            Action::Each { rows, steps } if hit && rows.len() > 1 => {
                let (mut rows, steps) = (rows.clone(), steps.clone());
                rows.remove(at);
                left.push(Step { action: Action::Each { rows, steps }, ..step.clone() });
            }
            _ if hit => {}
            _ => left.push(step.clone()),
        }
        at = if hit { usize::MAX } else { at.saturating_sub(here) };
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::catalogue::{Catalogue, RuleSet};

    #[test]
    fn each_message_can_be_left_out() {
        let catalogue = Catalogue::load([], RuleSet::DEFAULT).unwrap();
        let text = "title: t\nsteps:\n  - request: {method: ma}\n  - burst:\n      \
                    - request: {method: mb}\n      - request: {method: mc}\n  \
                    - list: {}\n";
        let case = Case::load("properties/x", "x.yaml", text, &catalogue).unwrap();
        assert_eq!((messages(&case.steps), case.exchanges()), (4, 4));
        let left = |at| {
            let steps = without(&case.steps, at);
            let text = mcp_hil_scenario::write(&Case { steps, ..case.clone() }, &[]);
            let sent: String =
                ['a', 'b', 'c'].iter().filter(|name| text.contains(&format!("m{name}"))).collect();
            (sent, text.contains("list:"), text.contains("burst:"))
        };
        assert_eq!(left(0), ("bc".into(), true, true));
        assert_eq!(left(1), ("ac".into(), true, false));
        assert_eq!(left(2), ("ab".into(), true, false));
        assert_eq!(left(3), ("abc".into(), false, true));
    }
}
