//! Arguments of `completions`, `man` and `schema`: what shells, readers and editors know of the program.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use clap_complete::Shell;

/// Where schemas are, unless told otherwise.
pub const SCHEMAS: &str = "ci/schema";

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for each command into this folder, instead of printing the first one
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// What is described: files that people write, or files that the program writes
    #[arg(value_enum, required_unless_present = "write")]
    pub name: Option<Described>,

    /// Write the schemas of the files that people write into this folder, where the first lines of files that mcp-hil
    /// creates name them [default without FOLDER: ci/schema]
    #[arg(
        long,
        value_name = "FOLDER",
        num_args = 0..=1,
        default_missing_value = SCHEMAS,
        conflicts_with = "name"
    )]
    pub write: Option<PathBuf>,
}

/// What a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Described {
    /// A scenario (`*.yaml`)
    Scenario,
    /// The file of a device (`ci/duts/*.toml`)
    Device,
    /// A list of known failures (`ci/baselines/*.toml`)
    Baseline,
    /// Profiles (`mcp-hil.toml`)
    Profiles,
    /// The record of a run, `report.json`
    Report,
    /// The events of a run, as `--format json` prints them
    Events,
}

impl Described {
    /// The kinds of files that people write.
    pub const WRITTEN: [Self; 4] = [Self::Scenario, Self::Device, Self::Baseline, Self::Profiles];

    /// The first line of a file that mcp-hil writes at `path`, by which editors find its schema: its place is told from
    /// the folder of the file.
    pub fn first_line(self, path: &Path) -> String {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let here = std::path::absolute(".").unwrap_or_default();
        let below = path.strip_prefix(&here).ok().and_then(Path::parent);
        let place = match below {
            Some(below) => {
                below.components().map(|_| "..").chain([SCHEMAS]).collect::<Vec<_>>().join("/")
            }
            None => here.join(SCHEMAS).display().to_string(),
        };
        let schema = format!("{place}/{}", self.file());
        match self {
            Self::Scenario => format!("# yaml-language-server: $schema={schema}"),
            _ => format!("#:schema {schema}"),
        }
    }

    /// The name of the schema's file.
    pub fn file(self) -> &'static str {
        match self {
            Self::Scenario => "scenario.schema.json",
            Self::Device => "device.schema.json",
            Self::Baseline => "baseline.schema.json",
            Self::Profiles => "profiles.schema.json",
            Self::Report => "report.schema.json",
            Self::Events => "events.schema.json",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_named_from_the_folder_of_the_file() {
        let line = Described::Device.first_line(Path::new("ci/duts/desk.toml"));
        assert_eq!(line, "#:schema ../../ci/schema/device.schema.json");
        let line = Described::Scenario.first_line(Path::new("mine.yaml"));
        assert_eq!(line, "# yaml-language-server: $schema=ci/schema/scenario.schema.json");
        // From elsewhere there is no way that holds on another machine.
        let line = Described::Baseline.first_line(Path::new("/elsewhere/b.toml"));
        assert!(line.starts_with("#:schema /") && line.ends_with("ci/schema/baseline.schema.json"));
    }
}
