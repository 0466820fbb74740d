//! The folder of a run.

use std::path::{Path, PathBuf};

use mcp_hil_record::error::UserError;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Plan;

impl Plan {
    /// Makes the folder of the run below `out`, from which it has its name.
    ///
    /// # Errors
    ///
    /// The folder cannot be made.
    pub fn in_folder(mut self, out: &Path) -> Result<Self, UserError> {
        let stamp = self.started.replace(':', "");
        (self.run, self.folder) = make_folder(out, &stamp, &self.dut.name)?;
        Ok(self)
    }

    /// Makes the folder of a run that is one of several, below that of all.
    ///
    /// # Errors
    ///
    /// The folder cannot be made.
    pub(crate) fn in_folder_of_all(mut self, all: &Path) -> Result<Self, UserError> {
        self.run.clone_from(&self.dut.name);
        self.folder = all.join(PART).join(&self.run);
        std::fs::create_dir_all(&self.folder).map_err(|error| refused(&self.folder, &error))?;
        Ok(self)
    }
}

impl Plan {
    /// The plan of one of several rounds on the same device, below the folder of all; that is not made yet. What only a
    /// device shows that was just started is left out unless it `starts` the device.
    pub(crate) fn round(&self, name: &str, seed: u64, starts: bool) -> Self {
        let mut plan = self.clone();
        (plan.seed, plan.started, plan.run) = (seed, now(), name.to_owned());
        plan.folder = self.folder.join(PART).join(name);
        // Each would start the device, or compare what is new with every seed.
        (plan.confirms, plan.snapshots, plan.limit) = (false, None, None);
        if !starts {
            plan.cases.retain(|case| !case.restarts());
            plan.whole_suite = false;
        }
        plan
    }
}

/// Where the folders of runs are that are part of another one.
pub(crate) const PART: &str = "runs";

fn refused(path: &Path, error: &std::io::Error) -> UserError {
    UserError::bench(
        format!("cannot create the run's folder `{}`: {error}", path.display()),
        "choose another place with `--out`",
    )
}

/// The time as reports write it: RFC 3339, UTC, whole seconds.
pub fn now() -> String {
    OffsetDateTime::now_utc()
        .replace_nanosecond(0)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
        .format(&Rfc3339)
        .unwrap_or_default()
}

/// Makes the folder of a run, and the link `latest` to it.
pub fn make_folder(out: &Path, stamp: &str, dut: &str) -> Result<(String, PathBuf), UserError> {
    std::fs::create_dir_all(out).map_err(|error| refused(out, &error))?;
    let names = (1..).map(|n| match n {
        1 => format!("{stamp}-{dut}"),
        n => format!("{stamp}-{dut}-{n}"),
    });
    for name in names {
        let folder = out.join(&name);
        match std::fs::create_dir(&folder) {
            Ok(()) => {
                link_latest(out, &name);
                return Ok((name, folder));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(refused(&folder, &error)),
        }
    }
    unreachable!("there are more numbers than folders")
}

/// Points `latest` at the run, from one moment to the next: who is killed here leaves the link to an earlier run. Where
/// links cannot be made there is none, and nothing is lost.
fn link_latest(out: &Path, name: &str) {
    let link = out.join("latest");
    if link.symlink_metadata().is_ok_and(|there| !there.is_symlink()) {
        // Copied from elsewhere, perhaps: it may hold what somebody needs. Who looks there for this run is told.
        mcp_hil_core::notice!(
            "`{}` is no link, and stays as it is: this run is in `{}`; if `latest` is moved away, the next run links it again",
            link.display(),
            out.join(name).display()
        );
        return;
    }
    let beside = out.join(format!(".latest.{}", std::process::id()));
    #[cfg(unix)]
    if std::os::unix::fs::symlink(name, &beside).is_err()
        || std::fs::rename(&beside, &link).is_err()
    {
        let _ = std::fs::remove_file(&beside);
    }
}
