//! In which order a board is brought back, and how often.

/// How often the chip is reset by its pin: a capacitor, or a driver that was slow, may spoil one.
const RESETS: usize = 2;

/// How often its power is cycled.
const POWERS: usize = 1;

/// One way to start a board afresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is told to, over the link.
    Soft,
    /// By the lines of its port.
    Reset,
    /// By a command that switches its power.
    Power,
}

impl Step {
    /// What is done, for people.
    pub fn told(self) -> &'static str {
        match self {
            Self::Soft => "told to restart (`system reboot`)",
            Self::Reset => "reset by the lines of its port",
            Self::Power => "power cycled",
        }
    }
}

/// What can be done to a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Means {
    /// It is connected, and so can be told.
    pub soft: bool,
    /// Its port has the lines.
    pub reset: bool,
    /// There is a command for its power.
    pub power: bool,
}

/// The tries that are left, from the gentlest to the hardest.
#[derive(Debug, Clone)]
pub struct Ladder(std::vec::IntoIter<Step>);

impl Ladder {
    /// All tries with these means.
    pub fn new(means: Means) -> Self {
        let times = |step, count, can: bool| vec![step; if can { count } else { 0 }];
        let steps = [
            times(Step::Soft, 1, means.soft),
            times(Step::Reset, RESETS, means.reset),
            times(Step::Power, POWERS, means.power),
        ];
        Self(steps.concat().into_iter())
    }
}

impl Iterator for Ladder {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        self.0.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Step::{Power, Reset, Soft};

    #[test]
    fn a_ladder_climbs_what_is_there_and_ends() {
        let climb =
            |soft, reset, power| Ladder::new(Means { soft, reset, power }).collect::<Vec<Step>>();
        assert_eq!(climb(true, true, true), [Soft, Reset, Reset, Power]);
        assert_eq!(climb(false, true, false), [Reset, Reset]);
        assert_eq!(climb(false, false, true), [Power]);
        assert_eq!(climb(false, false, false), []);
    }
}
