//! What cases cost, before they run.

use std::iter::Sum;
use std::ops::Add;

use mcp_hil_scenario::{Action, Case, Step};

/// How many exchanges an input of a property has, on average.
const INPUT: u64 = 6;

/// What a case costs, more or less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cost {
    /// How many exchanges it has.
    pub(crate) exchanges: u64,
    /// How often it waits for the device to do something by itself.
    pub(crate) waits: u64,
    /// How often it stays for half of the time that a run lingers.
    pub(crate) lingers: u64,
}

impl Cost {
    /// That of a case.
    pub(crate) fn of(case: &Case) -> Self {
        case.steps.iter().map(of_step).sum()
    }

    /// That of so many inputs of a property.
    pub(crate) fn of_inputs(number: u32) -> Self {
        Self { exchanges: u64::from(number) * INPUT, ..Self::default() }
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            exchanges: self.exchanges + other.exchanges,
            waits: self.waits + other.waits,
            lingers: self.lingers + other.lingers,
        }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Self::add)
    }
}

fn of_step(step: &Step) -> Cost {
    let all = |steps: &[Step]| -> Cost { steps.iter().map(of_step).sum() };
    let wait = Cost { waits: 1, ..Cost::default() };
    match &step.action {
        Action::Burst(steps) => all(steps),
        Action::Each { rows, steps } => rows.iter().map(|_| all(steps)).sum(),
        Action::Disconnect { after, .. } => wait + all(after),
        Action::Reboot
        | Action::Configure { .. }
        | Action::Close { .. }
        | Action::KeepAlive
        | Action::Audio { .. }
        | Action::Console { .. } => wait,
        Action::Linger(_) => Cost { lingers: 1, ..Cost::default() },
        Action::Send(_) | Action::List { .. } => Cost { exchanges: 1, ..Cost::default() },
    }
}
