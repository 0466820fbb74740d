//! The files of joined runs, in one folder: reports name transcripts, and who reads them has them.

use std::fs;
use std::io;
use std::path::Path;

use super::Part;
use mcp_hil_record::error::UserError;

/// Copies the runs into `runs/<number>-<name>` of the folder, and lets their reports say so. Machines
/// that began in the same second gave their runs the same name.
///
/// # Errors
///
/// The folder has files in it, or cannot be written.
pub(super) fn copy(parts: &mut [Part], out: &Path) -> Result<(), UserError> {
    if fs::read_dir(out).is_ok_and(|mut there| there.next().is_some()) {
        return Err(UserError::usage(
            format!("`{}` is not empty", out.display()),
            "name a new folder with `--out`",
        ));
    }
    for (number, part) in (1..).zip(parts) {
        let name = format!("runs/{number}-{}", part.record.run.run);
        let folder = out.join(&name);
        copy_folder(&part.folder, &folder).map_err(|error| {
            let (from, to) = (part.folder.display(), folder.display());
            UserError::bench(
                format!("cannot copy `{from}` to `{to}`: {error}"),
                "choose another place with `--out`",
            )
        })?;
        let (before, after) = (part.record.summary.folder.clone(), folder.display().to_string());
        for case in &mut part.record.cases {
            case.belongs_to(&name, &before, &after);
        }
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type()? {
            kind if kind.is_dir() => copy_folder(&from, &to)?,
            kind if kind.is_file() => drop(fs::copy(&from, &to)?),
            // No run leaves anything else in its folder.
            _ => {}
        }
    }
    Ok(())
}
