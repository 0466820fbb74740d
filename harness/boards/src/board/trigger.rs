//! When a board may be made to dial, read off its console.

/// What stands in the line of a state machine: `State: idle -> connecting` (device-protocol 6.2).
const STATE: &str = "State: ";

/// What a chip prints first after any reset (device-protocol 6.3).
const BANNERS: [&str; 2] = ["rst:0x", "ESP-ROM:"];

/// Whether a chip prints such a line first after any reset.
pub fn is_banner(line: &str) -> bool {
    BANNERS.iter().any(|banner| line.contains(banner))
}

/// Whether the button may be pressed. Stock firmware that is still starting takes a press for the wish to
/// set up its Wi-Fi, and one that is connected closes its connection.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    wait_for: String,
    is_up: bool,
    state: Option<String>,
}

impl Gate {
    /// A gate that stays closed until a line holds `wait_for`; without one it is open.
    pub fn new(wait_for: impl Into<String>) -> Self {
        let wait_for = wait_for.into();
        Self { is_up: wait_for.is_empty(), wait_for, state: None }
    }

    /// Takes in a line of the console.
    pub fn line(&mut self, line: &str) {
        if is_banner(line) {
            self.restarted();
        }
        self.is_up |= line.contains(&self.wait_for);
        let after = line.split_once(STATE).and_then(|(_, s)| s.split_once(" -> "));
        if let Some((_, state)) = after {
            let word = state.split_whitespace().next().unwrap_or_default();
            self.state = Some(word.to_owned());
        }
    }

    /// The board was reset: it starts anew.
    pub fn restarted(&mut self) {
        self.is_up = self.wait_for.is_empty();
        self.state = None;
    }

    /// Whether the board has come up, and does nothing else at the moment.
    pub fn is_open(&self) -> bool {
        self.is_up && self.state.as_deref().is_none_or(|state| state == "idle")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_after(lines: &[&str]) -> bool {
        let mut gate = Gate::new("State: activating -> idle");
        lines.iter().for_each(|line| gate.line(line));
        gate.is_open()
    }

    #[test]
    fn a_board_is_left_alone_until_it_is_idle() {
        let boot = [
            "rst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)",
            "I (300) StateMachine: State: unknown -> starting",
            "I (900) StateMachine: State: starting -> activating",
            "I (2100) StateMachine: State: activating -> idle",
            "I (2200) StateMachine: State: idle -> connecting",
            "I (2900) StateMachine: State: connecting -> listening",
            "I (9000) StateMachine: State: listening -> idle",
        ];
        let open = [false, false, false, true, false, false, true];
        for (count, open) in open.into_iter().enumerate() {
            assert_eq!(open_after(&boot[..=count]), open, "{:?}", boot[count]);
        }
        assert!(!open_after(&[&boot[..], &boot[..1]].concat()), "after a reset");
    }

    #[test]
    fn a_firmware_of_other_words_is_named_in_the_file() {
        let mut gate = Gate::new("ready to talk");
        gate.line("booting");
        assert!(!gate.is_open());
        gate.line("app: ready to talk");
        assert!(gate.is_open());
        gate.restarted();
        assert!(!gate.is_open());
        assert!(Gate::new("").is_open());
    }
}
