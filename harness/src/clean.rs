//! `clean`: deletes the folders of old runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use mcp_hil_args::CleanArgs;
use mcp_hil_record::error::UserError;
use mcp_hil_record::report::size;
use mcp_hil_record::text::layout::count;

/// A run that has ended.
#[derive(Debug)]
struct Run {
    folder: PathBuf,
    ended: SystemTime,
    bytes: u64,
}

/// Deletes all but the newest runs. What has no report is no run that has ended, and stays; so does what
/// `latest` names. Links are not followed.
///
/// # Errors
///
/// The folder cannot be read, or one of a run not be deleted.
pub fn clean(args: &CleanArgs) -> Result<String, UserError> {
    let refuse = |path: &Path, error: &io::Error| {
        UserError::bench(
            format!("cannot clean `{}`: {error}", path.display()),
            "name the folder of your runs with `--out`, and check who owns it",
        )
    };
    let mut runs = runs(&args.out).map_err(|error| refuse(&args.out, &error))?;
    runs.sort_by(|a, b| (b.ended, &b.folder).cmp(&(a.ended, &a.folder)));
    let latest = fs::canonicalize(args.out.join("latest")).ok();
    let is_latest = |run: &Run| latest.is_some() && fs::canonicalize(&run.folder).ok() == latest;
    let old: Vec<Run> = runs.into_iter().skip(args.keep).filter(|run| !is_latest(run)).collect();
    for run in old.iter().filter(|_| !args.dry_run) {
        fs::remove_dir_all(&run.folder).map_err(|error| refuse(&run.folder, &error))?;
    }
    let bytes: u64 = old.iter().map(|run| run.bytes).sum();
    let verb = if args.dry_run { "would delete" } else { "deleted" };
    let mut text = format!("{verb} {}, {} MiB", count(old.len(), "run"), bytes.div_ceil(1 << 20));
    for run in &old {
        text.push_str(&format!("\n  {}", run.folder.display()));
    }
    Ok(text + "\n")
}

fn runs(out: &Path) -> io::Result<Vec<Run>> {
    let mut runs = Vec::new();
    for entry in fs::read_dir(out)? {
        let entry = entry?;
        let folder = entry.path();
        let report = fs::symlink_metadata(folder.join("report.json"));
        // A link to a run is no run of its own.
        if let (true, Ok(report)) = (entry.file_type()?.is_dir(), report) {
            let (ended, bytes) = (report.modified()?, size(&folder)?);
            runs.push(Run { folder, ended, bytes });
        }
    }
    Ok(runs)
}
