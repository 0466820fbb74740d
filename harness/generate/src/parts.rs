//! Inputs of several parts, and how they shrink with few tries.
//!
//! `proptest` tests each restored input once more before it goes on; each test here is an exchange
//! with a device. [`PartsTree`] knows that what it restores fails, and goes on at once.

use std::fmt::Debug;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::{NewTree, Union, ValueTree};
use proptest::test_runner::TestRunner;

/// Parts that are there in any case, and up to so many others.
#[derive(Debug)]
pub(super) struct Parts<T: Debug> {
    pub(super) firsts: Vec<BoxedStrategy<T>>,
    pub(super) others: BoxedStrategy<T>,
    pub(super) more: usize,
}

/// Parts of which the first is of the kind that the number chooses, round robin, and up to `more`
/// others of any kind. Kinds that stand further in front count as simpler.
pub(super) fn mixed<T: Debug + Clone + 'static>(
    number: u32,
    kinds: Vec<BoxedStrategy<T>>,
    more: usize,
) -> BoxedStrategy<Vec<T>> {
    if kinds.is_empty() {
        return Just(Vec::new()).boxed();
    }
    let firsts = vec![kinds[number as usize % kinds.len()].clone()];
    let others = Union::new(kinds).boxed();
    Parts { firsts, others, more }.boxed()
}

/// Inputs of a property, unless somebody wants more or fewer.
const USUAL_INPUTS: usize = 25;

/// Parts of which so many are dealt out that a usual number of inputs has one of each kind, and others of any kind up to
/// `most` in all.
pub(super) fn dealt<T: Debug + Clone + 'static>(
    number: u32,
    kinds: &[BoxedStrategy<T>],
    most: usize,
) -> BoxedStrategy<Vec<T>> {
    if kinds.is_empty() {
        return Just(Vec::new()).boxed();
    }
    let number = number as usize;
    let own = kinds.iter().skip(number % USUAL_INPUTS).step_by(USUAL_INPUTS);
    let mut firsts: Vec<_> = own.cloned().collect();
    if firsts.is_empty() {
        firsts.push(kinds[number % kinds.len()].clone());
    }
    let more = most.saturating_sub(firsts.len());
    Parts { firsts, others: Union::new(kinds.to_vec()).boxed(), more }.boxed()
}

/// A kind of part whose values are so few that one input tries them all: a device that fails on just
/// one of them is found whatever chance brings.
pub(super) fn each_of<T: Debug + Clone + 'static>(values: Vec<T>) -> Kind<T> {
    each_of_shared(values.into())
}

/// As [`each_of`], of values that are kept for other inputs.
pub(super) fn each_of_shared<T: Debug + Clone + 'static>(all: Arc<[T]>) -> Kind<T> {
    let of = all.clone();
    Kind { one: (0..all.len()).prop_map(move |at| of[at].clone()).boxed(), all }
}

/// A kind of part.
#[derive(Debug)]
pub(super) struct Kind<T> {
    one: BoxedStrategy<T>,
    /// All of its values, where an input of this kind is to try them all.
    all: Arc<[T]>,
}

impl<T> From<BoxedStrategy<T>> for Kind<T> {
    fn from(one: BoxedStrategy<T>) -> Self {
        Self { one, all: Arc::new([]) }
    }
}

/// As [`mixed`], with kinds of which one input tries all values. Never more than `most` parts.
pub(super) fn swept<T: Debug + Clone + 'static>(
    number: u32,
    kinds: Vec<Kind<T>>,
    more: usize,
    most: usize,
) -> BoxedStrategy<Vec<T>> {
    let (turn, kind) = (number as usize / kinds.len().max(1), number as usize % kinds.len().max(1));
    let firsts: Vec<BoxedStrategy<T>> = match kinds.get(kind) {
        None => return Just(Vec::new()).boxed(),
        Some(kind) if kind.all.is_empty() => vec![kind.one.clone()],
        Some(kind) => {
            // The next time it is the next ones.
            let all = &kind.all;
            let of = (0..all.len().min(most)).map(|at| &all[(turn * most + at) % all.len()]);
            of.map(|value| Just(value.clone()).boxed()).collect()
        }
    };
    let more = more.min(most - firsts.len());
    let others = Union::new(kinds.into_iter().map(|kind| kind.one)).boxed();
    Parts { firsts, others, more }.boxed()
}

impl<T: Debug + Clone + 'static> Strategy for Parts<T> {
    type Tree = PartsTree<T>;
    type Value = Vec<T>;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let more = (0..=self.more).new_tree(runner)?.current();
        let mut parts = Vec::new();
        for first in &self.firsts {
            parts.push(Part::new(first.new_tree(runner)?));
        }
        for _ in 0..more {
            parts.push(Part::new(self.others.new_tree(runner)?));
        }
        let next = Next::Delete(parts.len());
        Ok(PartsTree { parts, next, last: None })
    }
}

/// A part while it shrinks.
struct Part<T> {
    tree: Box<dyn ValueTree<Value = T>>,
    /// The simplest value with which the whole failed.
    known: T,
    /// Whether it is there at all.
    kept: bool,
    /// Whether `known` is as simple as it gets.
    done: bool,
}

impl<T: Debug> Part<T> {
    fn new(tree: Box<dyn ValueTree<Value = T>>) -> Self {
        Self { known: tree.current(), tree, kept: true, done: false }
    }
}

/// What is tried next: parts are left out from the end on, then each is made simpler.
#[derive(Debug, Clone, Copy)]
enum Next {
    /// Leave out the part before this index.
    Delete(usize),
    /// Make this part simpler.
    Shrink(usize),
}

/// What the latest try has done to which part.
#[derive(Debug, Clone, Copy)]
enum Tried {
    Deleted(usize),
    Shrunk(usize),
}

/// Several parts while they shrink.
pub(super) struct PartsTree<T> {
    parts: Vec<Part<T>>,
    next: Next,
    last: Option<Tried>,
}

impl<T: Debug + Clone> PartsTree<T> {
    /// Tries the next thing; what stands now, apart from it, is known to fail.
    fn advance(&mut self) -> bool {
        loop {
            match self.next {
                Next::Delete(0) => self.next = Next::Shrink(0),
                Next::Delete(end) => {
                    self.next = Next::Delete(end - 1);
                    if self.parts.iter().filter(|part| part.kept).count() > 1 {
                        self.parts[end - 1].kept = false;
                        self.last = Some(Tried::Deleted(end - 1));
                        return true;
                    }
                }
                Next::Shrink(index) => {
                    let Some(part) = self.parts.get_mut(index) else {
                        self.last = None;
                        return false;
                    };
                    if part.kept && !part.done && part.tree.simplify() {
                        self.last = Some(Tried::Shrunk(index));
                        return true;
                    }
                    part.done = true;
                    self.next = Next::Shrink(index + 1);
                }
            }
        }
    }
}

impl<T: Debug + Clone> ValueTree for PartsTree<T> {
    type Value = Vec<T>;

    fn current(&self) -> Vec<T> {
        let kept = self.parts.iter().filter(|part| part.kept);
        kept.map(|part| match part.done {
            true => part.known.clone(),
            false => part.tree.current(),
        })
        .collect()
    }

    fn simplify(&mut self) -> bool {
        if let Some(Tried::Shrunk(index)) = self.last {
            let part = &mut self.parts[index];
            part.known = part.tree.current();
        }
        self.advance()
    }

    fn complicate(&mut self) -> bool {
        match self.last.take() {
            None => false,
            Some(Tried::Deleted(index)) => {
                self.parts[index].kept = true;
                self.advance()
            }
            Some(Tried::Shrunk(index)) => {
                let part = &mut self.parts[index];
                if part.tree.complicate() {
                    self.last = Some(Tried::Shrunk(index));
                    return true;
                }
                part.done = true;
                self.advance()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shrinks as long as the test fails; what is left, and how many inputs were tried.
    fn shrink(seed: u8, fails: impl Fn(&[u32]) -> bool) -> Option<(Vec<u32>, usize)> {
        let kinds = vec![(0..10_u32).boxed(), (100..1000_u32).boxed(), (5000..9000_u32).boxed()];
        let rng = proptest::test_runner::TestRng::from_seed(
            proptest::test_runner::RngAlgorithm::ChaCha,
            &[seed; 32],
        );
        let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
        let mut tree = mixed(u32::from(seed), kinds, 6).new_tree(&mut runner).unwrap();
        let mut best = tree.current();
        if !fails(&best) {
            return None;
        }
        let mut tries = 0;
        let mut failed = true;
        while if failed { tree.simplify() } else { tree.complicate() } {
            tries += 1;
            failed = fails(&tree.current());
            if failed {
                best = tree.current();
            }
        }
        assert!(fails(&tree.current()), "it ends with an input that fails");
        assert_eq!(best, tree.current());
        Some((best, tries))
    }

    #[test]
    fn what_does_not_matter_is_left_out_and_what_does_becomes_small() {
        let mut found = 0;
        for seed in 0..=255 {
            if let Some((left, tries)) = shrink(seed, |all| all.iter().any(|one| *one > 300)) {
                found += 1;
                assert_eq!(left.len(), 1, "seed {seed}");
                assert!(left[0] == 301 || left[0] == 5000, "{left:?}");
                assert!(tries < 40, "{tries}");
            }
            if let Some((left, _)) = shrink(seed, |all| all.len() > 2) {
                // The first stays what the number chose.
                assert!([0, 100, 5000].contains(&left[0]), "{left:?}");
                assert_eq!(left[1..], [0, 0], "seed {seed}");
            }
        }
        assert!(found > 100);
    }
}
