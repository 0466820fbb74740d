//! Following a failure to the smallest input that still shows it.
//!
//! Before each try the device is brought into a known state. Tries are bounded in number and time.
//! What does not show again is told as that, with both observations.

use std::time::{Duration, Instant};

use mcp_hil_core::check::Likeness;
use mcp_hil_core::generate::Draw;
use mcp_hil_core::scenario::{Case, write};
use mcp_hil_core::transcript::Part;
use mcp_hil_core::verdict::{Judgement, Outcome};

use super::lane::Lane;
use super::properties::Hunt;
use super::session::Session;
use crate::event::Failure;

/// Most smaller inputs that are tried for one failure.
const MOST_STEPS: u32 = 60;

/// How long they may take together.
const LONGEST: Duration = Duration::from_secs(5);

/// Most characters of evidence in the head of a file.
const EVIDENCE: usize = 400;

/// What a try has shown.
enum Tried {
    /// The failure.
    Shown,
    /// Something else, in words.
    Other(String),
    /// Nothing: there was no try, and why.
    Not(&'static str),
}

/// How far the tries for one failure may go.
struct Bounds {
    steps: u32,
    until: Instant,
}

impl Lane<'_, '_> {
    /// Follows a failure of an input: shrinks the input, writes the smallest one to a file.
    pub(super) async fn follow(
        &mut self,
        session: &mut Session,
        hunt: &mut Hunt<'_>,
        mut draw: Draw,
        found: &Judgement,
        number: u32,
    ) {
        let wanted = Likeness::of(found);
        let mut bounds = Bounds {
            steps: 0,
            until: Instant::now() + LONGEST,
        };
        let mut failure = Failure {
            input: number,
            times: 1,
            from: draw.exchanges(),
            to: draw.exchanges(),
            ..Failure::default()
        };
        let mut smallest = draw.case();
        let first = self.try_again(session, hunt, &smallest, &wanted).await;
        match first {
            Tried::Shown => {
                let end = self
                    .shrink(session, hunt, &mut draw, &wanted, &mut bounds)
                    .await;
                if let Some((case, exchanges)) = end.0 {
                    (smallest, failure.to) = (case, exchanges);
                }
                failure.cut_short = end.1.map(str::to_owned);
            }
            Tried::Other(what) => {
                let all = self
                    .with_what_was_before(session, hunt, &smallest, &wanted, &mut bounds)
                    .await;
                match all {
                    Some((case, exchanges)) => {
                        failure.from = exchanges.0;
                        failure.to = exchanges.1;
                        smallest = case;
                    }
                    None => failure.second_try = Some(what),
                }
            }
            Tried::Not(why) => failure.cut_short = Some(why.to_owned()),
        }
        failure.steps = bounds.steps;

        let mut likenesses = vec![wanted.clone()];
        let mut evidence = found.clone();
        failure.requirements = vec![found.requirement.to_owned()];
        if failure.second_try.is_none() && self.affords(&smallest) && !session.is_interrupted() {
            let part = Part::Smallest;
            let outcome = self.part(session, part, &smallest, Some(&hunt.saved)).await;
            let failing = self.failing(&outcome, hunt.property.id);
            match failing.iter().find(|judgement| wanted.is_of(judgement)) {
                Some(same) => evidence = same.clone(),
                None => failure.second_try = Some(in_words(&failing)),
            }
            for judgement in &failing {
                if !hunt.knows(judgement) {
                    likenesses.push(Likeness::of(judgement));
                    failure.requirements.push(judgement.requirement.to_owned());
                }
            }
            failure.requirements.dedup();
            hunt.merged.add(part, outcome);
        }
        self.write_down(session, hunt, &mut failure, &smallest, &evidence);
        hunt.likenesses.push(likenesses);
        hunt.told.failures.push(failure);
    }

    /// Makes an input smaller as long as it fails. Gives the smallest one that failed, if one did,
    /// and why there may be a smaller one.
    async fn shrink(
        &mut self,
        session: &mut Session,
        hunt: &mut Hunt<'_>,
        draw: &mut Draw,
        wanted: &Likeness,
        bounds: &mut Bounds,
    ) -> (Option<(Case, usize)>, Option<&'static str>) {
        let mut smallest = None;
        while draw.simplify() {
            loop {
                if let Some(why) = bounds.reached() {
                    return (smallest, Some(why));
                }
                bounds.steps += 1;
                let case = draw.case();
                match self.try_again(session, hunt, &case, wanted).await {
                    Tried::Shown => {
                        smallest = Some((case, draw.exchanges()));
                        break;
                    }
                    Tried::Other(_) if draw.complicate() => {}
                    Tried::Other(_) => return (smallest, None),
                    Tried::Not(why) => return (smallest, Some(why)),
                }
            }
        }
        (smallest, None)
    }

    /// Tries an input after those that went before it: its cause may lie there. Gives the fewest of
    /// them that are needed, as one case, with the exchanges of all and of those.
    async fn with_what_was_before(
        &mut self,
        session: &mut Session,
        hunt: &mut Hunt<'_>,
        last: &Case,
        wanted: &Likeness,
        bounds: &mut Bounds,
    ) -> Option<(Case, (usize, usize))> {
        let mut before: Vec<(Case, usize)> = hunt.recent.iter().cloned().collect();
        let own = last.steps.len();
        let count = |before: &[(Case, usize)]| before.iter().map(|(_, n)| n).sum::<usize>() + own;
        let all = count(&before);
        if before.is_empty() {
            return None;
        }
        let case = joined(&before, last);
        let Tried::Shown = self.try_again(session, hunt, &case, wanted).await else {
            return None;
        };
        // Halves first, then ever smaller parts, down to single inputs.
        let mut size = before.len().div_ceil(2);
        loop {
            let mut at = 0;
            while at < before.len() && bounds.reached().is_none() {
                bounds.steps += 1;
                let mut fewer = before.clone();
                fewer.drain(at..(at + size).min(fewer.len()));
                let case = joined(&fewer, last);
                match self.try_again(session, hunt, &case, wanted).await {
                    Tried::Shown => before = fewer,
                    _ => at += size,
                }
            }
            if size <= 1 || bounds.reached().is_some() {
                break;
            }
            size = size.div_ceil(2);
        }
        Some((joined(&before, last), (all, count(&before))))
    }

    /// Carries an input out from a known state.
    async fn try_again(
        &mut self,
        session: &mut Session,
        hunt: &mut Hunt<'_>,
        case: &Case,
        wanted: &Likeness,
    ) -> Tried {
        if session.is_interrupted() {
            return Tried::Not("the run was stopped");
        }
        if !self.affords(case) {
            return Tried::Not("the budget is spent");
        }
        let part = Part::Trial;
        let outcome = self.part(session, part, case, Some(&hunt.saved)).await;
        let own = |judgement: &&Judgement| {
            *judgement.case == *hunt.property.id && !matches!(judgement.outcome, Outcome::Held)
        };
        let found: Vec<Judgement> = outcome.judgements.iter().filter(own).cloned().collect();
        hunt.merged.add(part, outcome);
        match found.iter().any(|judgement| wanted.is_of(judgement)) {
            true => Tried::Shown,
            false => Tried::Other(in_words(&found)),
        }
    }

    /// Writes the smallest input to a file that carries it out alone.
    fn write_down(
        &self,
        session: &mut Session,
        hunt: &Hunt<'_>,
        failure: &mut Failure,
        smallest: &Case,
        evidence: &Judgement,
    ) {
        let plan = self.plan;
        let cut = |text: &str| text.chars().take(EVIDENCE).collect::<String>();
        let (expected, received) = expected_and_received(evidence);
        let device = match &session.server {
            Some((name, version)) => format!("{name} {version}"),
            None => "a device that tells no name".to_owned(),
        };
        let mut head = vec![
            format!(
                "{}, seed {}, input {}",
                crate::TOOL,
                plan.seed,
                failure.input
            ),
            format!("property:    {}", hunt.property.id),
            format!(
                "target:      {} over {}: {device}",
                plan.dut.spec(),
                self.transport.name()
            ),
            format!("requirement: {}", failure.requirements.join(", ")),
            format!("expected:    {}", cut(&expected)),
            format!("received:    {}", cut(&received)),
        ];
        if let Some(second) = &failure.second_try {
            head.push(format!("tried again: {}", cut(second)));
        }
        let case = Case {
            title: format!("{}: {}", hunt.property.title, failure.requirements[0]),
            ..smallest.clone()
        };
        let text = write(&case, &head);
        let short = hunt.property.id.rsplit('/').next().unwrap_or_default();
        let folder = plan.folder.join("failures");
        let free = |folder: &std::path::Path| {
            let names = (1..).map(|number| folder.join(format!("{short}-{number}.yaml")));
            names.into_iter().find(|path| !path.exists())
        };
        let Some(path) = free(&folder) else { return };
        session.recorder.keep(&path, &text);
        let name = path.strip_prefix(&plan.folder).unwrap_or(&path);
        failure.scenario = name.display().to_string();
        failure.repro = plan.repro_file(&path.display().to_string(), self.transport);
        if let Some(folder) = &plan.generation.keep
            && !is_kept(folder, &text)
            && let Some(path) = free(folder)
        {
            session.recorder.keep(&path, &text);
        }
    }
}

impl Bounds {
    fn reached(&self) -> Option<&'static str> {
        if self.steps >= MOST_STEPS {
            Some("60 steps are the most")
        } else if Instant::now() >= self.until {
            Some("5 s are the most")
        } else {
            None
        }
    }
}

/// Inputs one after the other, as one case.
fn joined(before: &[(Case, usize)], last: &Case) -> Case {
    let steps = before.iter().flat_map(|(case, _)| case.steps.clone());
    Case {
        steps: steps.chain(last.steps.clone()).collect(),
        ..last.clone()
    }
}

/// Whether a folder has the same scenario already, whatever its comments say.
fn is_kept(folder: &std::path::Path, text: &str) -> bool {
    let plain = |text: &str| -> String {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.collect::<Vec<_>>().join("\n")
    };
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    texts.into_iter().any(|kept| plain(&kept) == plain(text))
}

/// What findings say, in one line.
fn in_words(found: &[Judgement]) -> String {
    if found.is_empty() {
        return "nothing was found".to_owned();
    }
    let each = found.iter().map(|judgement| {
        let (expected, received) = expected_and_received(judgement);
        let requirement = judgement.requirement;
        format!("{requirement}: expected {expected}, received {received}")
    });
    each.collect::<Vec<_>>().join("; ")
}

fn expected_and_received(judgement: &Judgement) -> (String, String) {
    match &judgement.outcome {
        Outcome::Broken(evidence) => (evidence.expected.clone(), evidence.received.clone()),
        Outcome::Unclear(why) | Outcome::OurFault(why) => ("an answer".into(), why.clone()),
        Outcome::Held => Default::default(),
    }
}
