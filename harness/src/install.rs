//! What shells, readers and editors know of the program: completions, manual pages, schemas.

use std::path::Path;

use clap::Command;
use mcp_hil_args::{CompletionsArgs, Described, ManArgs, SchemaArgs, profile_schema};
use mcp_hil_bench::dut::DutFile;
use mcp_hil_core::baseline::Baseline;
use mcp_hil_record::error::UserError;
use serde_json::Value;

/// Formats of what the program writes. They are kept by hand: readers rely on them from version to version.
const REPORT: &str = include_str!("../schema/report.schema.json");
const EVENTS: &str = include_str!("../schema/events.schema.json");

/// The script with which a shell completes the commands and options of the program.
pub fn completions(args: &CompletionsArgs, mut program: Command) -> String {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut program, "mcp-hil", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// The manual page of the program, or, as files in a folder, that of each command.
///
/// # Errors
///
/// The folder cannot be written.
pub fn man(args: &ManArgs, program: Command) -> Result<String, UserError> {
    let Some(folder) = &args.out else {
        let mut text = Vec::new();
        let done = clap_mangen::Man::new(program).render(&mut text);
        return done
            .map(|()| String::from_utf8_lossy(&text).into_owned())
            .map_err(|error| unwritable(Path::new("the page"), &error));
    };
    let done =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(program, folder));
    done.map_err(|error| unwritable(folder, &error))?;
    Ok(format!(
        "wrote the pages into `{}`; read one with `man {}/mcp-hil.1`\n",
        folder.display(),
        folder.display()
    ))
}

/// A schema, or all that people's files need, written into a folder.
///
/// # Errors
///
/// The folder cannot be written.
pub fn schema(args: &SchemaArgs, program: &Command) -> Result<String, UserError> {
    if let Some(name) = args.name {
        return Ok(text(name, program));
    }
    let Some(folder) = &args.write else { return Ok(String::new()) };
    let mut told = String::new();
    for kind in Described::WRITTEN {
        let path = folder.join(kind.file());
        let done = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, text(kind, program)));
        done.map_err(|error| unwritable(&path, &error))?;
        told.push_str(&format!("wrote {}\n", path.display()));
    }
    Ok(told)
}

/// The text of a schema; `program` is the whole command line.
pub fn text(kind: Described, program: &Command) -> String {
    let derived: Value = match kind {
        Described::Scenario => mcp_hil_scenario::schema(),
        Described::Device => DutFile::schema(),
        Described::Baseline => Baseline::schema(),
        Described::Profiles => profile_schema(program),
        Described::Report => return REPORT.to_owned(),
        Described::Events => return EVENTS.to_owned(),
    };
    format!("{derived:#}\n")
}

fn unwritable(path: &Path, error: &std::io::Error) -> UserError {
    UserError::bench(
        format!("cannot write `{}`: {error}", path.display()),
        "name a folder in which you have write permission",
    )
}
