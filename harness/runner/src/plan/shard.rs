//! `--shard k/n`: one of several equal parts of a run, each for a machine of its own.
//!
//! Who runs which case follows from the selection alone, so that machines need not talk to each other:
//! cases are dealt out by what they cost, the dearest first, each to the part that has least. A case
//! is never split, and every part gets to know the device by itself.

use super::Generation;
use super::cost::Cost;
use mcp_hil_record::shard::Shard;
use mcp_hil_scenario::Case;

/// What a wait for the device costs, in exchanges.
const WAIT: u64 = 40;

/// Leaves of a selection what falls to this part, in its order.
pub(super) fn keep(shard: Shard, cases: &mut Vec<Case>, generation: &mut Generation) {
    let properties = generation.properties.iter();
    let inputs = Cost::of_inputs(generation.inputs);
    let costs: Vec<(&str, u64)> = cases
        .iter()
        .map(|case| (&*case.id, Cost::of(case)))
        .chain(properties.map(|property| (property.id, inputs)))
        .map(|(id, cost)| (id, cost.exchanges + WAIT * (cost.waits + cost.lingers)))
        .collect();
    let mine = mine(shard, &costs);
    let mut at = mine.iter();
    let mut next = || at.next().copied().unwrap_or_default();
    cases.retain(|_| next());
    generation.properties.retain(|_| next());
}

/// For each case, whether it falls to this part.
fn mine(shard: Shard, costs: &[(&str, u64)]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    // Ids are unique, so the order hangs on nothing else.
    order.sort_by_key(|at| (std::cmp::Reverse(costs[*at].1), costs[*at].0));
    let mut loads = vec![0; shard.of as usize];
    let mut mine = vec![false; costs.len()];
    for at in order {
        let least = (0..loads.len()).min_by_key(|part| loads[*part]);
        let least = least.unwrap_or_default();
        // What costs nothing must go round, too.
        loads[least] += costs[at].1.max(1);
        mine[at] = least + 1 == shard.number as usize;
    }
    mine
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids that fall to each part.
    fn dealt(costs: &[(&str, u64)], of: u32) -> Vec<Vec<String>> {
        let part = |number| {
            let mine = mine(Shard { number, of }, costs);
            let kept = costs.iter().zip(mine).filter(|(_, mine)| *mine);
            kept.map(|((id, _), _)| (*id).to_owned()).collect()
        };
        (1..=of).map(part).collect()
    }

    #[test]
    fn each_case_falls_to_one_part_and_parts_cost_much_the_same() {
        let names: Vec<String> = (0..97).map(|at| format!("area/{at}")).collect();
        let costs: Vec<(&str, u64)> =
            names.iter().zip(0_u64..).map(|(name, at)| (&**name, at * at % 41)).collect();
        for of in [1, 2, 3, 8] {
            let parts = dealt(&costs, of);
            let mut all: Vec<&String> = parts.iter().flatten().collect();
            all.sort();
            let mut expected: Vec<&String> = names.iter().collect();
            expected.sort();
            assert_eq!(all, expected, "{of} parts");
            let load = |part: &Vec<String>| -> u64 {
                let of = |id: &String| costs.iter().find(|(name, _)| id == name).unwrap().1;
                part.iter().map(of).sum()
            };
            let loads: Vec<u64> = parts.iter().map(load).collect();
            let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
            assert!(most - least <= 41, "{of} parts cost {loads:?}");
        }
    }

    #[test]
    fn the_order_of_the_selection_changes_nothing() {
        let mut costs = vec![("a/x", 3), ("a/y", 3), ("b/z", 0), ("c/w", 9)];
        let before: Vec<_> = dealt(&costs, 2);
        costs.reverse();
        let mut after = dealt(&costs, 2);
        after.iter_mut().for_each(|part| part.reverse());
        assert_eq!(before, after);
    }

    #[test]
    fn a_part_may_get_nothing() {
        assert_eq!(dealt(&[("a/x", 5)], 3), [vec!["a/x".to_owned()], vec![], vec![]]);
    }
}
