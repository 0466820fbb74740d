//! What is generated in a run.

use std::path::PathBuf;
use std::time::Duration;

use mcp_hil_args::RunArgs;
use mcp_hil_generate::{PROPERTIES, Property};
use mcp_hil_record::error::UserError;

/// What is generated in a run, and within which bounds.
#[derive(Debug, Clone)]
pub struct Generation {
    /// The properties, in the order in which they run.
    pub properties: Vec<&'static Property>,
    /// How many inputs each of them gets.
    pub inputs: u32,
    /// How long all of them may take.
    pub max_time: Duration,
    /// Whether somebody said how long, or how many inputs: a slow device gets as many.
    pub is_asked_for: bool,
    /// Most calls with effects.
    pub budget: Option<u64>,
    /// Where the scenario files of failures are copied to.
    pub keep: Option<PathBuf>,
}

impl Generation {
    pub(super) fn new(args: &RunArgs, regressions: Option<PathBuf>) -> Result<Self, UserError> {
        let chosen = |property: &&Property| {
            let by = |selector: &String| property.id.starts_with(selector.as_str());
            args.scenario.is_empty() && (args.only.is_empty() || args.only.iter().any(by))
        };
        let mut properties: Vec<&Property> = PROPERTIES.iter().filter(chosen).collect();
        if args.inputs() == 0 {
            if !properties.is_empty() && !args.only.is_empty() {
                return Err(UserError::nothing_ran(
                    format!(
                        "`--only {}` with `--inputs 0`: no inputs are generated",
                        properties[0].id
                    ),
                    "leave `--inputs` out",
                ));
            }
            properties.clear();
        }
        Ok(Self {
            properties,
            inputs: args.inputs(),
            max_time: args.max_time(),
            is_asked_for: args.max_time.is_some() || args.inputs.is_some(),
            budget: args.budget,
            keep: regressions.filter(|_| args.keep_failures),
        })
    }
}
