//! Inputs of properties, drawn by chance.

use std::fmt;

use mcp_hil_scenario::{Case, Step};
use proptest::strategy::{Strategy as _, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::context::Context;
use crate::property::Property;
use crate::steps;

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
    pub fn new(property: &Property, context: &Context, seed: u64, number: u32) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..12].copy_from_slice(&number.to_le_bytes());
        // Two properties must not draw alike.
        for (place, byte) in property.id.bytes().enumerate() {
            let place = 12 + place % 20;
            bytes[place] = bytes[place].wrapping_mul(31).wrapping_add(byte);
        }
        let config = Config { failure_persistence: None, ..Config::default() };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let tree = (property.steps)(context, number)
            .new_tree(&mut runner)
            // No strategy here rejects what it has drawn.
            .expect("a strategy without filters");
        Self { property: *property, tree }
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
            needs: self.property.needs.iter().map(|&need| need.to_owned()).collect(),
            fresh: false,
            steps,
        }
    }

    /// How many messages the case sends, fences and readings of the state aside.
    pub fn exchanges(&self) -> usize {
        self.case().exchanges()
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
