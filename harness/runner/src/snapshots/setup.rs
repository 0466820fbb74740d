//! What is to become of answers in a run: read from arguments and files before anything starts.

use std::collections::BTreeMap;
use std::path::Path;

use mcp_hil_scenario::Case;

use super::answers::{Key, asked};
use super::redact::Redactions;
use super::reviewed::Reviewed;
use mcp_hil_args::Mode;
use mcp_hil_bench::dut::{Dut, How, SnapshotsFile};
use mcp_hil_record::error::UserError;

/// What is to become of the answers of a run.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Whether answers are compared, written, or neither (`--snapshots`).
    pub mode: Mode,
    /// The reviewed answers.
    pub reviewed: Reviewed,
    /// What is taken out before answers are compared.
    pub rules: Redactions,
    /// Whether this is a CI run.
    pub ci: bool,
    /// Whether all steps are tried that could ask for an answer.
    pub whole: bool,
}

impl Setup {
    /// Reads what there is, for cases that are the `whole` suite or a part of it. Without a mode, answers are
    /// compared where there are reviewed ones of the device, unless it is to differ on purpose.
    ///
    /// # Errors
    ///
    /// A damaged file, a rule that is none, a family without folder, a place that two cases ask for.
    pub fn new(
        mode: Option<Mode>,
        root: &Path,
        dut: &Dut,
        cases: &[Case],
        whole: bool,
    ) -> Result<Option<Self>, UserError> {
        let without = without_file(dut, root);
        let file = dut.file.as_ref().map_or(&without, |file| &file.snapshots);
        // A mistake in the device's file is told whatever is done with it.
        let rules = Redactions::of(file)?;
        let family = file.family.as_deref();
        if let Some(family) =
            family.filter(|family| root.is_dir() && !Reviewed::are_there(root, family))
        {
            return Err(UserError::usage(
                format!(
                    "`[snapshots] family = \"{family}\"`: there are no snapshots of `{family}` in `{}`",
                    root.display()
                ),
                "the family is a folder next to those of the devices",
            ));
        }
        let are_there = || {
            let mut folders = [Some(&*dut.name), family].into_iter().flatten();
            folders.any(|name| Reviewed::are_there(root, name))
        };
        let mode = match mode {
            Some(mode) => mode,
            None if dut.difference().is_none() && are_there() => Mode::Check,
            None => Mode::Off,
        };
        if mode == Mode::Off {
            return Ok(None);
        }
        let mut places: BTreeMap<Key, &Case> = BTreeMap::new();
        for case in cases {
            for key in asked(case) {
                if let Some(other) = places.insert(key.clone(), case) {
                    return Err(UserError::usage(
                        format!(
                            "`{}` and `{}` both have a snapshot `{key}`",
                            other.file, case.file
                        ),
                        "rename one of them",
                    ));
                }
            }
        }
        Ok(Some(Self {
            mode,
            reviewed: Reviewed::read(root, &dut.name, family)?,
            rules,
            ci: is_ci(),
            whole,
        }))
    }

    /// Whether files may be written.
    pub fn writes(&self) -> bool {
        !(self.ci && self.mode == Mode::Check)
    }
}

/// What holds for a device that has no file. On an emulated CPU that is the reference device, which says what
/// the native one says, but for the build in its version; `ci/duts/qemu.toml` says the same.
fn without_file(dut: &Dut, root: &Path) -> SnapshotsFile {
    const NATIVE: &str = "native";
    match dut.how {
        How::Qemu(_) if Reviewed::are_there(root, NATIVE) => SnapshotsFile {
            family: Some(NATIVE.to_owned()),
            redact: vec!["build".to_owned()],
            rule: Vec::new(),
        },
        _ => SnapshotsFile::default(),
    }
}

/// Whether a CI system runs this, by the variable that all of them set.
fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(&*value, "" | "0" | "false"))
}
