//! The native reference device: which program it is, and what that can be.

use std::fmt;
use std::path::PathBuf;

use mcp_hil_boards::Command;

use super::Difference;
use crate::environment::given;
use mcp_hil_record::error::UserError;

/// Names another program as the reference device, one without arguments such as `mcp-hil-native`.
pub const VARIABLE: &str = "MCP_HIL_NATIVE";

/// The command of `mcp-hil` that is the reference device.
const COMMAND: &str = "native";

/// How the reference device is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeProgram {
    /// The program.
    pub path: PathBuf,
    /// The arguments that make it the device.
    pub arguments: Vec<String>,
}

impl fmt::Display for NativeProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
    }
}

impl NativeProgram {
    /// The program that MCP_HIL_NATIVE names, else `mcp-hil` itself, which is the device as `mcp-hil native`.
    ///
    /// # Errors
    ///
    /// The running program is not `mcp-hil`, which cannot be found or built either.
    pub fn find() -> Result<Self, UserError> {
        if let Some(named) = given(VARIABLE) {
            return Ok(Self { path: named.into(), arguments: Vec::new() });
        }
        Ok(Self { path: crate::program::path()?, arguments: vec![COMMAND.to_owned()] })
    }

    /// The command that starts it, with something different about it.
    pub(super) fn command(&self, difference: Option<&Difference>) -> Command {
        let with = |command: Command, argument: &String| command.arg(argument);
        let command = self.arguments.iter().fold(Command::direct(&self.path), with);
        match difference {
            Some(difference) => {
                command.arg(format!("--{}", difference.kind())).arg(difference.name())
            }
            None => command,
        }
    }

    /// What it lists as its mutants or variants; `kind` is the word in singular.
    pub fn listed(&self, kind: &str) -> Result<Vec<Listed>, UserError> {
        let output = std::process::Command::new(&self.path)
            .args(&self.arguments)
            .arg(format!("--list-{kind}s"))
            .output();
        let output = output.map_err(|error| {
            UserError::bench(
                format!("cannot start the reference device `{self}`: {error}"),
                "check MCP_HIL_NATIVE",
            )
        })?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(Listed::read).collect())
    }

    /// Checks that it knows what it is asked to be.
    pub(super) fn check_known(&self, difference: &Difference) -> Result<(), UserError> {
        let (kind, name) = (difference.kind(), difference.name());
        let listed = self.listed(kind)?;
        let mut names = listed.iter().map(|known| known.name.as_str());
        if names.clone().any(|known| known == name) {
            return Ok(());
        }
        let hint = match mcp_hil_core::problem::nearest(name, &mut names) {
            Some(near) => format!("did you mean `{near}`? "),
            None => String::new(),
        };
        Err(UserError::usage(
            format!("the native device has no {kind} `{name}`"),
            &format!("{hint}`mcp-hil native --list-{kind}s` lists them all"),
        ))
    }
}

/// One of the devices that the program can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// The area of the protocol; empty for variations.
    pub area: String,
    /// What is different about it.
    pub description: String,
}

impl Listed {
    fn read(line: &str) -> Option<Self> {
        let mut cells = line.split('\t');
        let name = cells.next()?.to_owned();
        let (first, second) = (cells.next().unwrap_or_default(), cells.next());
        let (area, description) = second.map_or(("", first), |second| (first, second));
        Some(Self { name, area: area.to_owned(), description: description.to_owned() })
    }
}
