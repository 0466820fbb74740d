//! `mcp-hil flash`: a board is flashed, by a child process that is ended when the board hangs it.

mod settings;
mod watch;

use std::path::Path;

use mcp_hil_boards::flash::worker::{Place, WorkerEvent, WorkerJob};
use mcp_hil_boards::flash::{
    Attached, Chip, FlashImage, FlashJob, FlashSegment, FlashSize, ImageParts, Provision,
};

use mcp_hil_args::{FlashArgs, ImageSize};
use mcp_hil_record::error::{Diagnostic, UserError};
pub(crate) use settings::of_image;
use settings::refused;

pub use settings::settings;
pub use watch::{Bar, watched};

/// How an ELF file begins.
const ELF: &[u8] = b"\x7fELF";

/// Flashes a board: what was done, as text.
///
/// # Errors
///
/// What is to be flashed is not what it should be, or the bench fails: no port, no answer, another
/// chip, a board that hangs.
pub fn flash(args: &FlashArgs, bar: Bar) -> Result<String, UserError> {
    let place = match (&args.port, &args.probe) {
        (Some(port), _) => Place::Port(port.clone()),
        (None, probe) => Place::Probe(probe.clone().flatten()),
    };
    let job = WorkerJob { place: place.clone(), job: job(args)? };
    let silence = std::time::Duration::from_secs(args.silence);
    let began = std::time::Instant::now();
    match watched(&job, silence, bar)? {
        WorkerEvent::Done { attached, written, skipped, verified } => {
            let what =
                attached.map_or_else(|| "board".to_owned(), |attached| named_board(&attached));
            let done = match (written, verified) {
                (0, true) => format!("nothing written: all {skipped} bytes were already there"),
                (_, true) => format!(
                    "{written} bytes written and verified, {skipped} bytes were already there"
                ),
                (_, false) => {
                    format!("{written} bytes written, not verified: the chip is locked")
                }
            };
            let seconds = began.elapsed().as_secs_f64();
            Ok(format!("{what}, {place}\n{done}, in {seconds:.1} s\n"))
        }
        WorkerEvent::Failed { kind, text, hint } => {
            let what = format!("cannot flash the board {place}: {text}");
            let options = " (`--probe VID:PID:SERIAL`, `--chip`)";
            let hint = hint.map(|hint| if kind == "probe" { hint + options } else { hint });
            Err(UserError { what, hint, exit: mcp_hil_record::exit::BENCH })
        }
        WorkerEvent::Step { .. } => Err(UserError::bench(
            "the process that flashes ended before it was done",
            "its messages are above; flash again",
        )),
    }
}

/// `esp32c3 v0.4, 4 MB, f4:12:fa:00:11:22`
fn named_board(attached: &Attached) -> String {
    let mut text = attached.chip.clone();
    if let Some((major, minor)) = attached.revision {
        text.push_str(&format!(" v{major}.{minor}"));
    }
    text.push_str(&format!(", {} MB", attached.flash_size / (1024 * 1024)));
    if let Some(mac) = &attached.mac {
        text.push_str(&format!(", {mac}"));
    }
    text
}

/// What the arguments say is to be flashed.
pub fn job(args: &FlashArgs) -> Result<FlashJob, UserError> {
    let nvs = args.nvs.as_deref().map(|path| read(path, "--nvs"));
    let nvs = nvs.transpose()?;
    let settings = settings::asked(&args.settings)?;
    let provision = match (&nvs, &settings) {
        (Some(image), _) => Provision::Image(image),
        (None, Some(settings)) => Provision::Settings(settings),
        (None, None) => Provision::Nothing,
    };
    let size = args.size.map(|size| FlashSize::from(size).bytes() as u32);
    let job = match &args.firmware {
        Some(path) => {
            let file = read(path, "--firmware")?;
            match file.starts_with(ELF) {
                true => program(args.chip, args.size, &file, provision)?,
                false => FlashJob::merged(args.chip, size, &file, provision)
                    .map_err(|error| named(path, &error))?,
            }
        }
        None => {
            let mut parts = Vec::new();
            for part in &args.parts {
                let name = part.file.file_name().unwrap_or(part.file.as_os_str());
                parts.push(FlashSegment {
                    name: name.to_string_lossy().into_owned().into(),
                    offset: part.offset,
                    bytes: read(&part.file, "--part")?,
                });
            }
            FlashJob::parts(args.chip, size, parts, provision).map_err(|error| refused(&error))?
        }
    };
    let baud = args.baud;
    Ok(FlashJob { baud, ..job })
}

fn program(
    chip: Option<Chip>,
    size: Option<ImageSize>,
    elf: &[u8],
    provision: Provision<'_>,
) -> Result<FlashJob, UserError> {
    let chip = chip.ok_or_else(|| {
        UserError::usage(
            "the chip is unknown: expected `--chip` with a program, got none",
            "name the chip that the program is for, such as `--chip esp32c3`",
        )
    })?;
    let image = FlashImage::new(ImageParts {
        chip,
        size: size.map(FlashSize::from).unwrap_or_default(),
        elf,
        nvs: None,
        partitions: None,
    });
    let image = image.map_err(|error| of_image(&error))?;
    FlashJob::program(chip, &image, provision).map_err(|error| refused(&error))
}

/// The file stands before what is wrong with it.
fn named(path: &Path, error: &dyn Diagnostic) -> UserError {
    refused(error).about(format_args!("`{}`", path.display()))
}

/// Reads a file that `argument` names.
pub fn read(path: &Path, argument: &str) -> Result<Vec<u8>, UserError> {
    std::fs::read(path).map_err(|error| {
        UserError::usage(
            format!("cannot read `{}`: {error}", path.display()),
            &format!("check `{argument}`"),
        )
    })
}
