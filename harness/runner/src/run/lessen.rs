//! A script that has ended the device's life, made small: the one message that did, as short as it gets.
//!
//! Each try is a run of its own on a device that was started for it, so there are few of them.

use mcp_hil_scenario::{Action, Case, Outgoing, Step};

/// Most smaller scripts that are tried for one cause.
pub(super) const MOST: u32 = 24;

/// A search for the smallest script. What [`Lessening::next_try`] gives is tried, and [`Lessening::tell`] hears what came.
#[derive(Debug, Clone)]
pub(super) struct Lessening {
    /// The smallest script that has shown the failure.
    pub(super) smallest: Case,
    /// How many were tried.
    pub(super) tries: u32,
    stage: Stage,
}

#[derive(Debug, Clone)]
enum Stage {
    /// The step that was charged, alone.
    Charged(Vec<Step>),
    /// How many steps from the first on are enough: not so many, and so many.
    First {
        few: usize,
        enough: usize,
    },
    /// The last of these, alone.
    Last,
    /// How long the only message has to be: not so long, and so long.
    Shorter {
        short: usize,
        long: usize,
    },
    End,
}

impl Lessening {
    /// A search that begins with a whole script. `charged` is the place of the step that was seen to be the last.
    pub(super) fn new(case: &Case, charged: Option<&str>) -> Self {
        let (mut steps, mut alone) = (Vec::new(), None);
        for flat in case.flatten() {
            let step = match flat.row.is_empty() {
                true => flat.step.clone(),
                // Its row of the table goes with it.
                false => Step::of(Action::Each {
                    rows: vec![flat.row.clone()],
                    steps: vec![flat.step.clone()],
                }),
            };
            steps.push(step);
            if Some(&*flat.at) == charged {
                alone = Some(last_alone(&steps));
            }
        }
        let stage = match alone {
            Some(alone) => Stage::Charged(alone),
            None => Stage::First { few: 0, enough: steps.len() },
        };
        Self { smallest: Case { steps, ..case.clone() }, tries: 0, stage }
    }

    /// The next script to try; `None` at the end of the search.
    pub(super) fn next_try(&mut self) -> Option<Case> {
        if self.tries >= MOST {
            return None;
        }
        loop {
            let steps = match &self.stage {
                Stage::Charged(steps) => steps.clone(),
                Stage::First { few, enough } if enough - few > 1 => {
                    self.smallest.steps[..few.midpoint(*enough)].to_vec()
                }
                Stage::First { .. } => {
                    self.stage = Stage::Last;
                    continue;
                }
                Stage::Last => last_alone(&self.smallest.steps),
                Stage::Shorter { short, long } if long - short > 1 => {
                    // The length is told from one on: a message may be empty.
                    self.shortened(short.midpoint(*long) - 1)?
                }
                Stage::Shorter { .. } | Stage::End => return None,
            };
            if steps.len() == self.smallest.steps.len() && !self.is_shortening() {
                self.shorten();
                continue;
            }
            self.tries += 1;
            return Some(Case { steps, ..self.smallest.clone() });
        }
    }

    /// What came of the latest try.
    pub(super) fn tell(&mut self, tried: Case, shown: bool) {
        match (&mut self.stage, shown) {
            (Stage::Charged(_), false) => {
                self.stage = Stage::First { few: 0, enough: self.smallest.steps.len() };
                return;
            }
            (Stage::First { few, enough }, _) => {
                *(if shown { enough } else { few }) = tried.steps.len();
            }
            (Stage::Shorter { short, long }, _) => {
                let middle = short.midpoint(*long);
                *(if shown { long } else { short }) = middle;
            }
            (Stage::Charged(_) | Stage::Last | Stage::End, _) => self.stage = Stage::End,
        }
        if shown {
            self.smallest = tried;
        }
        if matches!(self.stage, Stage::End) {
            self.shorten();
        }
    }

    fn is_shortening(&self) -> bool {
        matches!(self.stage, Stage::Shorter { .. })
    }

    fn shorten(&mut self) {
        self.stage = match self.smallest.steps.last().and_then(length) {
            Some(length) => Stage::Shorter { short: 0, long: length + 1 },
            None => Stage::End,
        };
    }

    /// The smallest script with its last message cut to a length.
    fn shortened(&self, to: usize) -> Option<Vec<Step>> {
        let mut steps = self.smallest.steps.clone();
        let last = steps.last_mut()?;
        match &mut last.action {
            Action::Send(Outgoing::TextBytes(digits) | Outgoing::Binary(digits)) => {
                digits.truncate(2 * to);
            }
            Action::Send(Outgoing::Text(text) | Outgoing::PayloadText(text)) => {
                *text = with_repeats(text, |number| number.min(to.max(1)));
            }
            _ => return None,
        }
        Some(steps)
    }
}

/// The last step, and what prepares the device for all of them.
fn last_alone(steps: &[Step]) -> Vec<Step> {
    let Some((last, before)) = steps.split_last() else {
        return Vec::new();
    };
    let prepares = |step: &&Step| matches!(step.action, Action::Configure { .. });
    before.iter().filter(prepares).chain([last]).cloned().collect()
}

/// By what a message can be made shorter: its bytes, or the most that a part of it is repeated.
fn length(step: &Step) -> Option<usize> {
    match &step.action {
        Action::Send(Outgoing::TextBytes(digits) | Outgoing::Binary(digits))
            if !digits.contains('$') =>
        {
            Some(digits.len() / 2)
        }
        Action::Send(Outgoing::Text(text) | Outgoing::PayloadText(text)) => {
            let mut most = 0;
            with_repeats(text, |number| {
                most = most.max(number);
                number
            });
            (most > 1).then_some(most)
        }
        _ => None,
    }
}

/// A text with other numbers in its `${repeat:TEXT:NUMBER}`.
fn with_repeats(text: &str, mut number: impl FnMut(usize) -> usize) -> String {
    const BEGIN: &str = "${repeat:";
    let (mut made, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(BEGIN) {
        made.push_str(before);
        made.push_str(BEGIN);
        // What is repeated may be a brace itself; a number stands before the one that ends it.
        let ends = after.match_indices('}').find_map(|(end, _)| {
            let (what, digits) = after[..end].rsplit_once(':')?;
            Some((what, digits.parse().ok()?, end))
        });
        let Some((what, found, end)) = ends else {
            rest = after;
            continue;
        };
        made.push_str(&format!("{what}:{}}}", number(found)));
        rest = &after[end + 1..];
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::catalogue::{Catalogue, RuleSet};

    fn case(steps: &str) -> Case {
        let catalogue = Catalogue::load([], RuleSet::DEFAULT).unwrap();
        let text = format!("title: t\nsteps:\n{steps}");
        Case::load("robustness/x", "x.yaml", &text, &catalogue).unwrap()
    }

    /// The smallest script that a device dies of, and how many were tried.
    fn smallest(steps: &str, charged: Option<&str>, dies: impl Fn(&str) -> bool) -> (String, u32) {
        let mut search = Lessening::new(&case(steps), charged);
        while let Some(next) = search.next_try() {
            let shown = dies(&mcp_hil_scenario::write(&next, &[]));
            search.tell(next, shown);
        }
        let text = mcp_hil_scenario::write(&search.smallest, &[]);
        (text.split_once("steps:\n").unwrap().1.to_owned(), search.tries)
    }

    #[test]
    fn the_charged_message_is_left_alone_and_made_shorter() {
        let steps = "  - call: {tool: a, arguments: {}}\n  - text: '${repeat:[:20}${repeat:]:20}'\n  \
                     - text: 'x${repeat:[:1000}${repeat:]:900}'\n  - text: '${repeat:{\"a\"::1000}'\n";
        let deep = |text: &str| {
            let numbers = text.split("repeat:[:").skip(1);
            let mut numbers = numbers.map(|rest| rest.split('}').next().unwrap().parse().unwrap());
            numbers.any(|number: usize| number >= 134)
        };
        let (text, tries) = smallest(steps, Some("2"), deep);
        assert_eq!(text, "  - text: \"x${repeat:[:134}${repeat:]:134}\"\n");
        assert!(tries < MOST, "{tries}");
        // Whoever was charged: the first that shows it is found.
        assert_eq!(smallest(steps, Some("3"), deep).0, text);
        assert_eq!(smallest(steps, None, deep).0, text);
    }

    #[test]
    fn what_prepares_the_device_stays_and_bytes_are_cut() {
        let steps = "  - configure: {version: 2}\n  - request: {method: initialize, params: {}}\n  \
                     - binary: '00020000'\n  - binary: '0002000000000000000000000000001558'\n";
        let over = |text: &str| text.contains("version: 2") && text.contains("00000015");
        let (text, _) = smallest(steps, Some("3"), over);
        assert_eq!(
            text,
            "  - configure: {version: 2}\n  - binary: \"00020000000000000000000000000015\"\n"
        );
    }

    #[test]
    fn what_needs_all_of_it_stays_whole() {
        let steps = "  - call: {tool: a, arguments: {}}\n  - text: 'b'\n";
        let both = |text: &str| text.contains("tool: \"a\"") && text.contains("text: \"b\"");
        let (text, tries) = smallest(steps, Some("1"), both);
        assert!(both(&text), "{text}");
        assert!(tries <= 4, "{tries}");
    }

    #[test]
    fn only_numbers_of_repeats_change() {
        let half = |number| number / 2;
        assert_eq!(with_repeats("a${repeat:{:20}b${id}", half), "a${repeat:{:10}b${id}");
        assert_eq!(with_repeats("${repeat:}:8}${repeat:a", half), "${repeat:}:4}${repeat:a");
        assert_eq!(with_repeats("${repeat:{\"a\"::1000}", half), "${repeat:{\"a\"::500}");
    }
}
