//! Exchanges drawn by chance, from what the device itself says it can do.
//!
//! A [`Property`] says what must hold for many inputs; a [`Draw`] is one of them, as a
//! [`Case`]: the same session carries it out, the same judge judges it, and a failure is kept as a
//! scenario file. Equal (property, [`Ground`], seed, number) give equal draws. The number chooses what
//! a draw is about, round robin, so that few draws already touch every kind of input; chance fills in
//! the rest.
//!
//! Nothing here judges. Expectations name requirements of the catalogue, and where documents leave
//! an answer open, only that the device lives.

mod arguments;
mod concurrency;
mod ground;
mod ids;
mod json;
mod liveness;
mod metamorphic;
mod methods;
mod others;
mod pages;
mod parts;
mod state;
mod steps;
mod strings;

use std::fmt;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::scenario::{Action, Case, Step};
pub use ground::Ground;

/// What must hold for every input of a kind.
#[derive(Debug, Clone, Copy)]
pub struct Property {
    /// `properties/<name>`.
    pub id: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Capabilities without which it does not apply.
    pub needs: &'static [&'static str],
    /// Whether its inputs are those of the others, mixed: what they have shown is no news here.
    pub is_mixed: bool,
    /// The steps of the draw with a number.
    steps: fn(&Ground, u32) -> BoxedStrategy<Vec<Step>>,
}

/// All properties, in the order in which they are tried.
pub const PROPERTIES: [Property; 10] = [
    Property {
        id: "properties/ids",
        title: "Ids of every kind come back unchanged, or the request is refused without effect",
        needs: &[],
        is_mixed: false,
        steps: ids::steps,
    },
    Property {
        id: "properties/arguments",
        title: "Arguments that obey a tool's own schema are accepted, others refused without effect",
        needs: &["tools"],
        is_mixed: false,
        steps: arguments::steps,
    },
    Property {
        id: "properties/strings",
        title: "Hostile text of any length is answered with valid JSON, or survived",
        needs: &[],
        is_mixed: false,
        steps: strings::steps,
    },
    Property {
        id: "properties/pagination",
        title: "Every tool is listed once, cursors are repeatable, foreign ones yield nothing",
        needs: &["tools"],
        is_mixed: false,
        steps: pages::steps,
    },
    Property {
        id: "properties/methods",
        title: "What does not exist is refused in the right way",
        needs: &[],
        is_mixed: false,
        steps: methods::steps,
    },
    Property {
        id: "properties/json",
        title: "Other spellings of a request are understood, what is no request gives no success",
        needs: &[],
        is_mixed: false,
        steps: json::steps,
    },
    Property {
        id: "properties/metamorphic",
        title: "The same request in another spelling gets the same answer",
        needs: &[],
        is_mixed: false,
        steps: metamorphic::steps,
    },
    Property {
        id: "properties/concurrency",
        title: "Requests in flight together are each answered once",
        needs: &[],
        is_mixed: false,
        steps: concurrency::steps,
    },
    Property {
        id: "properties/state",
        title: "Level, brightness, theme and light follow every sequence of commands",
        needs: &["status", "volume"],
        is_mixed: false,
        steps: state::steps,
    },
    Property {
        id: "properties/liveness",
        title: "The device lives on through long runs of everything",
        needs: &[],
        is_mixed: true,
        steps: liveness::steps,
    },
];

impl Property {
    /// Parts of it that switch themselves off, because the device lacks what they need.
    pub fn missing(&self, ground: &Ground) -> Vec<&'static str> {
        match self.id {
            "properties/state" => state::missing(ground),
            _ => Vec::new(),
        }
    }

    /// The property with this id.
    pub fn named(id: &str) -> Option<&'static Self> {
        PROPERTIES.iter().find(|property| property.id == id)
    }
}

/// One generated input. It shrinks as a `proptest` value tree does: [`Draw::simplify`] after a failure,
/// [`Draw::complicate`] after a pass, until both have nothing left.
pub struct Draw {
    property: Property,
    tree: Box<dyn ValueTree<Value = Vec<Step>>>,
}

impl fmt::Debug for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Draw").field(&self.case()).finish()
    }
}

impl Draw {
    /// Draws input `number` of a property. Equal arguments give equal inputs.
    pub fn new(property: &Property, ground: &Ground, seed: u64, number: u32) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..12].copy_from_slice(&number.to_le_bytes());
        // Two properties must not draw alike.
        for (place, byte) in property.id.bytes().enumerate() {
            let place = 12 + place % 20;
            bytes[place] = bytes[place].wrapping_mul(31).wrapping_add(byte);
        }
        let config = Config {
            failure_persistence: None,
            ..Config::default()
        };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let tree = (property.steps)(ground, number)
            .new_tree(&mut runner)
            // No strategy here rejects what it has drawn.
            .expect("a strategy without filters");
        Self {
            property: *property,
            tree,
        }
    }

    /// The input as a case: 1 to 20 exchanges.
    pub fn case(&self) -> Case {
        let mut steps = self.tree.current();
        if steps.is_empty() {
            steps.push(steps::good());
        }
        for (line, step) in (1..).zip(&mut steps) {
            step.line = line;
        }
        Case {
            id: self.property.id.into(),
            title: self.property.title.to_owned(),
            file: format!("{}.yaml", self.property.id),
            needs: self
                .property
                .needs
                .iter()
                .map(|&need| need.to_owned())
                .collect(),
            fresh: false,
            steps,
        }
    }

    /// How many messages the case sends, fences and readings of the state aside.
    pub fn exchanges(&self) -> usize {
        exchanges(&self.case().steps)
    }

    /// Makes the input simpler. Returns whether it is another one now.
    pub fn simplify(&mut self) -> bool {
        self.tree.simplify()
    }

    /// Takes the latest simplification back, in part. Returns whether it is another input now.
    pub fn complicate(&mut self) -> bool {
        self.tree.complicate()
    }
}

/// So many requests that this device answers with a success, one after the other.
pub fn good_requests(number: usize) -> Vec<Step> {
    let each = (1..).take(number);
    let good = |line| Step {
        line,
        ..steps::good()
    };
    each.map(good).collect()
}

fn exchanges(steps: &[Step]) -> usize {
    steps
        .iter()
        .map(|step| match &step.action {
            Action::Burst(inner) => exchanges(inner),
            Action::Drop { after } => exchanges(after),
            Action::Each { rows, steps } => rows.len() * exchanges(steps),
            Action::Send(_) | Action::List { .. } => 1,
            _ => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests;
