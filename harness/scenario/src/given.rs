//! The ids that a scenario gives to its messages by itself, and where they clash.
//!
//! An answer names its request by the id alone. An id that was used twice in a session would charge
//! an answer to the wrong message, so a clash is a mistake of the file and found before a run.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::model::{Action, Case, Outgoing, Step};
use super::template::Scope;
use mcp_hil_core::conversation::FIRST_ID;
use mcp_hil_core::problem::Problem;
use mcp_hil_core::transcript::is_generated;
use mcp_hil_core::wire::id_key;

/// Ids from [`FIRST_ID`] up to here are left to the harness.
const LAST_ID: f64 = 900_000.0;

/// An id that a step gives to its message.
#[derive(Debug, Clone, PartialEq)]
struct Given {
    id: Value,
    line: u64,
    /// Number of the connection within the case: each `disconnect` begins another one.
    link: usize,
}

/// The ids of a suite, by file and line.
#[derive(Debug, Default)]
pub struct GivenIds {
    used: BTreeMap<String, (String, u64)>,
}

impl GivenIds {
    /// Enters the ids of a case that is known to be good.
    pub fn enter(&mut self, case: &Case) {
        if !case.fresh {
            for given in given(case) {
                let place = (case.file.clone(), given.line);
                self.used.entry(id_key(&given.id)).or_insert(place);
            }
        }
    }

    /// Checks that a case leaves the harness its ids.
    ///
    /// # Errors
    ///
    /// The first id that the harness gives itself.
    pub fn reserved(case: &Case) -> Result<(), Problem> {
        for Given { id, line, .. } in given(case) {
            let number = id.as_f64().unwrap_or_default();
            if id.is_number() && (FIRST_ID as f64..LAST_ID).contains(&number) {
                let what = format!("the id {id} is in the range that the harness uses");
                let hint =
                    format!("use a number below {FIRST_ID}, or leave `id` out to get a new one");
                return Err(Problem::at(&case.file, line, 0, what).hint(hint));
            }
        }
        Ok(())
    }

    /// Checks the ids of a case against those that were entered, and enters them.
    ///
    /// # Errors
    ///
    /// The first id that was used before in the same session, or that the harness gives itself.
    pub fn check(&mut self, case: &Case) -> Result<(), Problem> {
        // A case with a connection of its own has ids of its own.
        let mut own: BTreeMap<(usize, String), u64> = BTreeMap::new();
        Self::reserved(case)?;
        for Given { id, line, link } in given(case) {
            let problem = |what: String| Problem::at(&case.file, line, 0, what);
            let key = id_key(&id);
            // A generated case has no others beside it.
            let link = if case.fresh || is_generated(&case.id) { link } else { 0 };
            let here = own.insert((link, key.clone()), line).map(|line| (case.file.clone(), line));
            let elsewhere = self.used.get(&key).filter(|_| !case.fresh).cloned();
            if let Some((file, line)) = here.or(elsewhere) {
                let what = format!(
                    "the id {id} is used twice in one session: it is also in `{file}:{line}`"
                );
                let hint = "use another id, leave `id` out to get a new one, or give the case its \
                            own session with `fresh: true`";
                return Err(problem(what).hint(hint));
            }
        }
        self.enter(case);
        Ok(())
    }
}

/// All ids that the steps of a case give, tables and bursts unrolled.
fn given(case: &Case) -> Vec<Given> {
    let mut found = Vec::new();
    let mut link = 0;
    for flat in case.flatten() {
        let mut scope = Scope::default();
        scope.set("session", "".into());
        let scope = scope.with(&flat.row).unwrap_or(scope);
        match &flat.step.action {
            Action::Send(outgoing) => {
                of_message(outgoing, flat.step.line, link, &scope, &mut found)
            }
            Action::Burst(steps) => of_steps(steps, link, &scope, &mut found),
            Action::Disconnect { after, .. } => {
                of_steps(after, link, &scope, &mut found);
                link += 1;
            }
            Action::Reboot => link += 1,
            _ => {}
        }
    }
    found
}

fn of_steps(steps: &[Step], link: usize, scope: &Scope, found: &mut Vec<Given>) {
    for step in steps {
        if let Action::Send(outgoing) = &step.action {
            of_message(outgoing, step.line, link, scope, found);
        }
    }
}

fn of_message(outgoing: &Outgoing, line: u64, link: usize, scope: &Scope, found: &mut Vec<Given>) {
    let ids = match outgoing {
        Outgoing::Request { id, .. } => id.iter().cloned().collect(),
        Outgoing::Payload(payload) => of_payload(payload),
        Outgoing::Envelope(envelope) => envelope.get("payload").map(of_payload).unwrap_or_default(),
        Outgoing::PayloadText(text) | Outgoing::Text(text) => of_text(text, scope),
        _ => Vec::new(),
    };
    // What has no value yet is a fresh id, or part of an answer.
    let filled = ids.iter().filter_map(|id| scope.fill(id).ok());
    found.extend(filled.filter(|id| id.is_number() || id.is_string()).map(|id| Given {
        id,
        line,
        link,
    }));
}

/// The id of a payload, or those of a batch.
fn of_payload(payload: &Value) -> Vec<Value> {
    match payload {
        Value::Array(batch) => batch.iter().flat_map(of_payload).collect(),
        other => other.get("id").into_iter().cloned().collect(),
    }
}

/// Ids in a text, which need not be JSON as a whole.
fn of_text(text: &str, scope: &Scope) -> Vec<Value> {
    static ID: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#""id"\s*:\s*(-?\d[0-9.eE+-]*|"[^"\\$]*")"#).expect("a constant pattern")
    });
    let filled = scope.fill_text(text);
    ID.captures_iter(filled.as_deref().unwrap_or(text))
        .filter_map(|hit| serde_json::from_str(&hit[1]).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::catalogue::{Catalogue, RuleSet};
    use rstest::rstest;

    fn case(file: &str, text: &str) -> Case {
        let catalogue = Catalogue::load([], RuleSet::DEFAULT).unwrap();
        Case::load("own/case", file, text, &catalogue).unwrap()
    }

    /// A file with the id 7 in line 3 was read before.
    fn check(text: &str) -> Result<(), Problem> {
        let mut ids = GivenIds::default();
        ids.enter(&case("built-in.yaml", "title: t\nsteps:\n  - request: {method: ping, id: 7}\n"));
        ids.check(&case("own.yaml", text))
    }

    #[rstest]
    #[case("  - request: {method: ping, id: 7}\n", 3, "it is also in `built-in.yaml:3`")]
    #[case("  - request: {method: ping, id: 7.0}\n", 3, "it is also in `built-in.yaml:3`")]
    #[case("  - payload: {method: ping, id: 7}\n", 3, "`built-in.yaml:3`")]
    #[case("  - payload: [{method: ping, id: 7}]\n", 3, "`built-in.yaml:3`")]
    #[case("  - envelope: {type: mcp, payload: {method: ping, id: 7}}\n", 3, "`built-in.yaml:3`")]
    #[case("  - payload_text: '{\"id\": 7}'\n", 3, "`built-in.yaml:3`")]
    #[case(
        "  - text: '{\"session_id\":\"${session}\",\"payload\":{\"id\":7}}'\n",
        3,
        "`built-in.yaml:3`"
    )]
    #[case(
        "  - each: [{n: 7}]\n    do:\n      - request: {method: ping, id: \"${n}\"}\n",
        5,
        "`built-in.yaml:3`"
    )]
    #[case(
        "  - burst:\n      - request: {method: ping, id: 9}\n    times: 2\n",
        4,
        "it is also in `own.yaml:4`"
    )]
    #[case(
        "  - disconnect: {after: [{request: {method: ping, id: x}}]}\n  - request: {method: ping, id: x}\n",
        4,
        "it is also in `own.yaml:3`"
    )]
    #[case("  - request: {method: ping, id: 1001}\n", 3, "the harness uses")]
    fn a_clash_names_both_places(#[case] steps: &str, #[case] line: u64, #[case] says: &str) {
        let problem = check(&format!("title: t\nsteps:\n{steps}")).unwrap_err();
        assert!(problem.to_string().contains(says), "{problem}");
        assert_eq!((problem.file.as_str(), problem.line), ("own.yaml", line));
        assert!(problem.hint.is_some());
    }

    #[rstest]
    #[case("fresh: true\nsteps:\n  - request: {method: ping, id: 7}\n")]
    #[case(
        "fresh: true\nsteps:\n  - request: {method: ping, id: 8}\n  - disconnect: {}\n  - request: {method: ping, id: 8}\n"
    )]
    #[case(
        "steps:\n  - request: {method: ping, id: \"7\"}\n  - request: {method: ping, id: \"${id}\"}\n  - request: {method: ping}\n"
    )]
    #[case("steps:\n  - payload: {id: null}\n  - payload: {id: null}\n")]
    fn ids_of_other_sessions_and_other_kinds_do_not_clash(#[case] rest: &str) {
        check(&format!("title: t\n{rest}")).unwrap();
    }
}
