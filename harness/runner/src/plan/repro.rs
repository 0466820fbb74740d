//! The commands that show a finding again.

use mcp_hil_core::transcript::PROPERTY;
use mcp_hil_core::transport::Transport;

use super::Plan;

impl Plan {
    /// The command that compares the transports again.
    pub fn repro_both(&self) -> String {
        format!("mcp-hil run --dut {} --transport both{}", self.dut.spec(), self.repro_arguments)
    }

    /// The command that carries out a scenario file.
    pub fn repro_file(&self, file: &str, transport: Transport) -> String {
        self.command(transport, &format!("--scenario {}", quote(file)))
    }

    /// The command that runs a case again.
    pub fn repro(&self, case: &str, transport: Transport) -> String {
        if !case.starts_with(PROPERTY) {
            return self.command(transport, &format!("--only {case}"));
        }
        let (inputs, seed) = (self.generation.inputs, self.seed);
        self.command(transport, &format!("--only {case} --inputs {inputs} --seed {seed}"))
    }

    /// The command that runs some cases again, one after the other.
    pub fn repro_of<'c>(
        &self,
        cases: impl Iterator<Item = &'c str>,
        transport: Transport,
    ) -> String {
        let selected: Vec<String> = cases.map(|case| format!("--only {case}")).collect();
        self.command(transport, &selected.join(" "))
    }

    fn command(&self, transport: Transport, what: &str) -> String {
        let over = match transport {
            Transport::WebSocket => "",
            Transport::Mqtt => " --transport mqtt",
        };
        format!("mcp-hil run --dut {}{over} {what}{}", self.dut.spec(), self.repro_arguments)
    }
}

/// A word for a shell, in quotes where it needs them.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
