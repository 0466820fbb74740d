//! Debug probes, through probe-rs: flashing by JTAG where a board's serial port does not do it.
//!
//! Behind the cargo feature `jtag`, because it triples the time that a build takes. Like a serial port a
//! probe can hang whoever talks to it: this belongs in the process that is ended then.

use std::sync::Once;

use probe_rs::config::Registry;
use probe_rs::flashing::{DownloadOptions, FlashProgress, ProgressEvent, ProgressOperation};
use probe_rs::probe::list::{Accessibility, Lister};
use probe_rs::probe::{DebugProbeInfo, DebugProbeSelector};
use probe_rs::{Permissions, Session};

use crate::flash::{Chip, FlashJob};

/// What is wrong with a probe, or with the board behind it.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum ProbeError {
    /// There is none, or several and none was chosen.
    #[error("expected one debug probe, got {0}")]
    #[diagnostic(help("plug it in, or choose one by USB vendor, product and serial number"))]
    Which(String),
    /// This user may not use it.
    #[error("no permission to use the debug probe `{0}`")]
    #[diagnostic(help("install the udev rules in `ci/` and reconnect it"))]
    Denied(String),
    /// Nothing says what is behind it.
    #[error("the chip behind the probe is unknown: expected one, got none")]
    #[diagnostic(help("say which chip it is"))]
    NoChip,
    /// The probe, or the chip, did not do it.
    #[error("cannot {what} through the debug probe: {got}")]
    #[diagnostic(help(
        "is the board powered, is it this chip, and is JTAG not locked in its fuses?"
    ))]
    Failed {
        /// What was to be done.
        what: &'static str,
        /// What probe-rs says.
        got: String,
    },
}

/// An attached probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// How it is chosen: USB vendor, product and serial number, `303a:1001:F4:12:FA:00:11:22`.
    pub selector: String,
    /// Whether this user may use it.
    pub usable: bool,
}

/// The probes that are attached, also those that this user may not use.
pub fn list() -> Vec<Found> {
    register();
    let listed = Lister::new().list_all_with_access();
    let found = listed.into_iter().map(|item| Found {
        name: item.info.identifier.clone(),
        selector: selector(&item.info),
        usable: item.accessibility == Accessibility::Accessible,
    });
    found.collect()
}

/// Flashes what is not there yet, reads it back, and resets the chip. Tells the bytes that are done, of
/// how many.
///
/// # Errors
///
/// There is no such probe, it may not be used, or the chip does not do what it is told.
pub fn flash(
    chosen: Option<&str>,
    job: &FlashJob,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), ProbeError> {
    let chip = job.chip.ok_or(ProbeError::NoChip)?;
    let mut session = attach(chosen, chip)?;
    let mut loader = session.target().flash_loader();
    for piece in &job.segments {
        // Flash memory begins at 0 in probe-rs's maps of these chips.
        let added = loader.add_data(piece.offset.into(), &piece.bytes);
        added.map_err(|error| failed("place the image", &error))?;
    }
    let (mut done, total) = (0, job.bytes());
    let mut options = DownloadOptions::new();
    options.preverify = true;
    options.verify = true;
    options.progress = FlashProgress::new(|event| {
        if let ProgressEvent::Progress { operation: ProgressOperation::Program, size, .. } = event {
            done += size;
            progress(done.min(total), total);
        }
    });
    let written = loader.commit(&mut session, options);
    written.map_err(|error| failed("write the flash memory", &error))?;
    let core = session.core(0);
    let reset = core.and_then(|mut core| core.reset());
    reset.map_err(|error| failed("reset the chip", &error))
}

fn attach(chosen: Option<&str>, chip: Chip) -> Result<Session, ProbeError> {
    let found = list();
    let matching = |found: &&Found| match chosen {
        Some(chosen) => found.selector.eq_ignore_ascii_case(chosen),
        None => true,
    };
    let mut matching = found.iter().filter(matching);
    let one = match (matching.next(), matching.next()) {
        (Some(one), None) => one,
        _ => {
            let all: Vec<&str> = found.iter().map(|found| found.selector.as_str()).collect();
            let got = match all.is_empty() {
                true => "none".to_owned(),
                false => all.join(", "),
            };
            return Err(ProbeError::Which(got));
        }
    };
    if !one.usable {
        return Err(ProbeError::Denied(one.selector.clone()));
    }
    let selector = one.selector.parse::<DebugProbeSelector>();
    let selector = selector.map_err(|error| failed("choose", &error))?;
    let probe = Lister::new().open(selector);
    let probe = probe.map_err(|error| failed("open", &error))?;
    probe
        .attach(chip.name(), Permissions::default())
        .map_err(|error| failed("reach the chip", &error))
}

fn selector(info: &DebugProbeInfo) -> String {
    let serial = info.serial_number.as_deref().unwrap_or_default();
    format!("{:04x}:{:04x}:{serial}", info.vendor_id, info.product_id)
}

fn failed(what: &'static str, error: &dyn std::error::Error) -> ProbeError {
    let mut got = error.to_string();
    let mut next = error.source();
    while let Some(reason) = next {
        got.push_str(&format!(": {reason}"));
        next = reason.source();
    }
    ProbeError::Failed { what, got }
}

/// Tells probe-rs of Espressif's chips and probes.
fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(probe_rs_espressif::register_plugin);
}

/// Whether probe-rs knows a chip.
pub fn knows(chip: Chip) -> bool {
    register();
    let registry = Registry::from_builtin_families();
    registry.get_target_by_name(chip.name()).is_ok()
}

#[cfg(test)]
mod tests {
    use miette::Diagnostic as _;

    use super::*;
    use crate::flash::{FlashSegment, Provision};

    #[test]
    fn every_chip_is_known_to_the_probes() {
        for chip in Chip::ALL {
            assert!(knows(chip), "{chip}");
        }
    }

    #[test]
    fn a_probe_that_is_not_there_is_told_as_such() {
        let parts =
            vec![FlashSegment { name: "app".into(), offset: 0x1_0000, bytes: vec![1, 2, 3, 4] }];
        let mut job = FlashJob::parts(None, None, parts, Provision::Nothing).unwrap();
        let mut refused = |job: &FlashJob| {
            let done = flash(Some("0000:0000:none"), job, &mut |_, _| {});
            let error = done.unwrap_err();
            format!("{error}, {}", error.help().unwrap())
        };
        assert!(refused(&job).contains("say which chip it is"));
        job.chip = Some(Chip::Esp32c3);
        let told = refused(&job);
        assert!(told.contains("expected one debug probe"), "{told}");
    }
}
