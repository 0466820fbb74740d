//! What many inputs of one case come to together: each finding once, whichever input showed it.

use mcp_hil_core::catalogue::RequirementId as Id;
use std::sync::Arc;

use serde_json::Value;

use super::CaseOutcome;
use mcp_hil_core::transcript::Part;
use mcp_hil_core::verdict::{Judgement, Outcome};
use mcp_hil_core::wire::as_integer;

/// Most characters that tell what was expected from what else could be.
const EXPECTED: usize = 80;

/// The same for what was received, where it is no answer.
const RECEIVED: usize = 40;

/// How many findings are kept beside each that is told: one of them takes its place when it is taken back.
const OTHERS: usize = 8;

/// What two findings have in common that are taken for one: the requirement, and the evidence
/// without its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureSignature {
    /// Slug of the requirement.
    pub requirement: Id,
    shape: String,
}

impl FailureSignature {
    /// The signature of a finding.
    pub fn of(judgement: &Judgement) -> Self {
        let shape = match &judgement.outcome {
            Outcome::Held => "held".to_owned(),
            Outcome::Unclear(_) => "unclear".to_owned(),
            Outcome::OurFault(_) => "our fault".to_owned(),
            Outcome::Broken(evidence) | Outcome::Bench(evidence) => format!(
                "{} | {}",
                without_values(&evidence.expected, EXPECTED),
                kind_of(&evidence.received)
            ),
        };
        Self { requirement: judgement.requirement, shape }
    }

    /// Whether a finding is of this signature. Silence is, whatever was owed: one try alone cannot
    /// tell more of it.
    pub fn is_of(&self, judgement: &Judgement) -> bool {
        let unclear = matches!(judgement.outcome, Outcome::Unclear(_));
        judgement.requirement == self.requirement && (unclear || Self::of(judgement) == *self)
    }
}

/// What an answer is, in a word or two; of other texts the beginning.
fn kind_of(received: &str) -> String {
    let json = received.find('{').map_or("", |at| &received[at..]);
    let Ok(Value::Object(answer)) = serde_json::from_str(json) else {
        return without_values(received, RECEIVED);
    };
    if let Some(error) = answer.get("error") {
        return match error.get("code").and_then(as_integer) {
            Some(code) => format!("error {code}"),
            None => "an error without code".to_owned(),
        };
    }
    match answer.get("result") {
        Some(result) if result.get("isError") == Some(&Value::Bool(true)) => "failure".to_owned(),
        Some(_) => "result".to_owned(),
        None => "other".to_owned(),
    }
}

/// A text without its numbers and without what stands in quotes, cut.
fn without_values(text: &str, most: usize) -> String {
    let mut plain = String::new();
    let mut quote = None;
    let mut escaped = false;
    for c in text.chars() {
        if let Some(end) = quote {
            if !escaped && c == end {
                quote = None;
            }
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '"' | '`' => {
                quote = Some(c);
                plain.push(c);
            }
            '0'..='9' if plain.ends_with('0') => {}
            '0'..='9' => plain.push('0'),
            // Of -1, 1.5 and 1e300 nothing is left but the number.
            '-' | '.' | '+' | 'e' | 'E' if plain.ends_with('0') => {}
            '-' => {}
            c => plain.push(c),
        }
    }
    plain.chars().take(most).collect()
}

/// Puts findings in an order that does not depend on which of two channels was quicker: the end of a
/// device shows on its console and on its link, the reason of it on the console alone.
pub fn in_order(mut outcome: CaseOutcome) -> CaseOutcome {
    let rank = |judgement: &Judgement| match judgement.requirement {
        Id::LivenessNoPanic => (0, None),
        // Only a second attempt shows it, which tries of smaller inputs do not have.
        Id::LivenessAnswers => (3, None),
        other if other.is_liveness() => (1, Some(other)),
        _ => (2, None),
    };
    outcome.judgements.sort_by_key(rank);
    outcome
}

/// The findings of the inputs of a case, each once.
#[derive(Debug)]
pub struct Merged {
    case: Arc<str>,
    whole: CaseOutcome,
    /// One for each judgement; nothing for those about other cases.
    likenesses: Vec<Option<FailureSignature>>,
    /// Findings that are like one that is told, a few for each.
    others: Vec<Vec<Judgement>>,
    /// Which of them the smallest input of a failure has shown.
    small: Vec<bool>,
    /// Whether anything was carried out.
    carried_out: bool,
}

impl Merged {
    /// Nothing yet, of a case.
    pub fn new(case: &Arc<str>) -> Self {
        Self {
            case: case.clone(),
            whole: CaseOutcome::default(),
            likenesses: Vec::new(),
            others: Vec::new(),
            small: Vec::new(),
            carried_out: false,
        }
    }

    /// Adds what a part of the case came to.
    pub fn add(&mut self, part: Part, outcome: CaseOutcome) {
        let outcome = in_order(outcome);
        self.whole.began = self.whole.began.or(outcome.began);
        let (own, others): (Vec<_>, Vec<_>) =
            outcome.judgements.into_iter().partition(|judgement| judgement.case == self.case);
        let (own_withdrawn, withdrawn): (Vec<_>, Vec<_>) =
            outcome.withdrawn.into_iter().partition(|judgement| judgement.case == self.case);
        self.whole.withdrawn.extend(withdrawn);
        own_withdrawn.iter().for_each(|one| self.withdraw(one));
        // What is about other cases is theirs, whatever became known of it when.
        self.whole.judgements.extend(others);
        self.likenesses.resize(self.whole.judgements.len(), None);
        self.small.resize(self.likenesses.len(), false);
        self.others.resize(self.likenesses.len(), Vec::new());
        if part == Part::Trial {
            return;
        }
        let own = match part {
            // The rest is tried again, each input alone.
            Part::Flight => own.into_iter().filter(|one| !outcome.doubtful.contains(one)).collect(),
            _ => own,
        };
        self.whole.exercised.extend(outcome.exercised);
        if self.whole.places.is_empty() || part == Part::Smallest {
            self.whole.places = outcome.places;
        }
        if self.whole.console.is_empty() || part == Part::Smallest {
            self.whole.console = outcome.console;
        }
        for judgement in own {
            let signature = FailureSignature::of(&judgement);
            let small = part == Part::Smallest;
            match self.likenesses.iter().position(|known| known.as_ref() == Some(&signature)) {
                None => {
                    self.likenesses.push(Some(signature));
                    self.small.push(small);
                    self.others.push(Vec::new());
                    self.whole.judgements.push(judgement);
                }
                // It shows the same with less around it.
                Some(at) if small && !self.small[at] => {
                    self.small[at] = true;
                    let before = std::mem::replace(&mut self.whole.judgements[at], judgement);
                    self.keep_other(at, before);
                }
                Some(at) => self.keep_other(at, judgement),
            }
        }
        self.whole.trouble = self.whole.trouble.take().or(outcome.trouble);
        if matches!(part, Part::Input | Part::Flight) {
            self.carried_out |= outcome.not_carried_out.is_none();
            self.whole.not_carried_out =
                outcome.not_carried_out.or(self.whole.not_carried_out.take());
        }
    }

    fn keep_other(&mut self, at: usize, judgement: Judgement) {
        let others = &mut self.others[at];
        if others.len() < OTHERS {
            others.push(judgement);
        }
    }

    /// Takes back what was said about an input whose answer came late. What another input has shown
    /// stands.
    fn withdraw(&mut self, withdrawn: &Judgement) {
        for others in &mut self.others {
            others.retain(|other| other != withdrawn);
        }
        let told = &mut self.whole.judgements;
        if let Some(at) = told.iter().position(|one| one == withdrawn) {
            if self.others.get(at).is_some_and(|others| !others.is_empty()) {
                told[at] = self.others[at].remove(0);
                return;
            }
            told.remove(at);
            self.others.remove(at);
            self.likenesses.remove(at);
            self.small.remove(at);
        }
    }

    /// How many findings are told.
    pub fn number(&self) -> usize {
        self.likenesses.iter().flatten().count()
    }

    /// Whether anything of this signature is told.
    pub fn tells(&self, signature: &FailureSignature) -> bool {
        self.likenesses.iter().flatten().any(|known| known == signature)
    }

    /// What the case comes to.
    pub fn into_outcome(mut self) -> CaseOutcome {
        if self.carried_out {
            self.whole.not_carried_out = None;
        }
        self.whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::verdict::Evidence;
    use rstest::rstest;

    fn broken(case: &str, requirement: Id, expected: &str, received: &str) -> Judgement {
        Judgement {
            requirement,
            case: case.into(),
            step: Some("0".into()),
            outcome: Outcome::Broken(Box::new(Evidence {
                expected: expected.into(),
                received: received.into(),
                ..Evidence::default()
            })),
        }
    }

    fn outcome(judgements: Vec<Judgement>) -> CaseOutcome {
        CaseOutcome { judgements, ..CaseOutcome::default() }
    }

    #[rstest]
    #[case("id 2147483648", "id 1: {\"id\":1,\"result\":{}}", true)]
    #[case("id -1.5e300", "id 7: {\"id\":7,\"result\":{\"x\":1}}", true)]
    #[case("id \"a\\\"b\"", "id 7: {\"id\":7,\"result\":{}}", false)]
    #[case("id 5", "id 7: {\"id\":7,\"error\":{\"code\":-32600}}", false)]
    #[case("no answer", "id 7: {\"id\":7,\"result\":{}}", false)]
    fn findings_are_alike_without_their_values(
        #[case] expected: &str,
        #[case] received: &str,
        #[case] alike: bool,
    ) {
        let one = broken("c", Id::IdsEcho, "id 4294967296", "id 0: {\"id\":0,\"result\":{}}");
        let other = broken("c", Id::IdsEcho, expected, received);
        assert_eq!(FailureSignature::of(&one).is_of(&other), alike);
        let elsewhere = broken("c", Id::IdsErrorEcho, expected, received);
        assert!(!FailureSignature::of(&one).is_of(&elsewhere));
    }

    #[test]
    fn one_defect_is_told_once_with_its_smallest_evidence() {
        let mut merged = Merged::new(&"properties/ids".into());
        let found =
            |expected: &str| outcome(vec![broken("properties/ids", Id::IdsEcho, expected, "")]);
        merged.add(Part::Input, found("id 2147483999"));
        merged.add(Part::Input, found("id 2147499999"));
        merged.add(Part::Trial, outcome(vec![broken("properties/ids", Id::IdsZero, "", "")]));
        merged.add(Part::Smallest, found("id 2147483648"));
        // Of another failure, which breaks this, too.
        merged.add(Part::Smallest, found("id 2147488888"));
        merged.add(Part::Trial, outcome(vec![broken("ids/late", Id::IdsZero, "", "")]));
        merged.add(Part::Input, outcome(vec![broken("properties/ids", Id::IdsZero, "", "")]));
        let told: Vec<_> = merged
            .into_outcome()
            .judgements
            .into_iter()
            .map(|judgement| match judgement.outcome {
                Outcome::Broken(evidence) => {
                    (judgement.case.to_string(), judgement.requirement, evidence.expected)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [
            ("properties/ids", Id::IdsEcho, "id 2147483648"),
            ("ids/late", Id::IdsZero, ""),
            ("properties/ids", Id::IdsZero, ""),
        ];
        let expected = expected.map(|(case, slug, says)| (case.to_owned(), slug, says.to_owned()));
        assert_eq!(told, expected);
    }

    #[test]
    fn the_reason_of_an_end_comes_first() {
        let slugs = [Id::IdsEcho, Id::LivenessNoReset, Id::LivenessNoPanic, Id::CallSuccess];
        let found = slugs.map(|slug| broken("c", slug, "", "")).to_vec();
        let sorted = in_order(outcome(found)).judgements;
        let sorted: Vec<_> = sorted.iter().map(|judgement| judgement.requirement).collect();
        let wanted = [Id::LivenessNoPanic, Id::LivenessNoReset, Id::IdsEcho, Id::CallSuccess];
        assert_eq!(sorted, wanted);
    }

    #[test]
    fn a_case_of_which_one_input_was_carried_out_was_carried_out() {
        let missed =
            || CaseOutcome { not_carried_out: Some("no link".into()), ..CaseOutcome::default() };
        let mut merged = Merged::new(&"properties/ids".into());
        merged.add(Part::Input, missed());
        merged.add(Part::Input, CaseOutcome::default());
        merged.add(Part::Input, missed());
        assert_eq!(merged.into_outcome().not_carried_out, None);
        let mut merged = Merged::new(&"properties/ids".into());
        merged.add(Part::Around, CaseOutcome::default());
        merged.add(Part::Input, missed());
        assert!(merged.into_outcome().not_carried_out.is_some());
    }
}
