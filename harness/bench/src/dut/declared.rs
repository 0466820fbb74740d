//! Boards that somebody has declared, by a file: whether they are there, and what may stand in for one that
//! is not.
//!
//! A declared board that is absent ends a run with exit code 3. Another device is judged in its place only
//! where `--fallback` or the board's file allows it, and then every report says so.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use mcp_hil_boards::board::{SelectError, UsbBoard, attached};

use super::auto::{Failed, attempt, order, told};
use super::files::Files;
use super::{Asked, Dut, DutFile, How};
use mcp_hil_args::{Kind, RunArgs};
use mcp_hil_record::error::UserError;

/// How long a board is looked for: one with USB in its chip goes away for a moment with each reset, and
/// the run before this one may have ended with such.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often it is looked for meanwhile.
const LOOK: Duration = Duration::from_millis(100);

/// Which devices may be taken.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice<'a> {
    /// What `--dut auto` tries, in this order; empty for the usual one.
    pub prefer: &'a [Kind],
    /// What may stand in for a declared board that is absent, in this order; empty for whatever `--dut auto`
    /// tries. `None` where nothing may, unless the board's file allows it.
    pub fallback: Option<&'a [Kind]>,
}

impl<'a> From<&'a RunArgs> for Choice<'a> {
    fn from(args: &'a RunArgs) -> Self {
        Self { prefer: &args.prefer, fallback: args.fallback.as_deref() }
    }
}

/// The board for which another device stands in.
#[derive(Debug, Clone)]
pub struct InPlaceOf {
    /// Its file.
    pub file: DutFile,
    /// Why it is not tested itself, in words.
    pub why: String,
}

/// A declared board that is not there.
#[derive(Debug)]
pub struct Absent<'a> {
    file: &'a DutFile,
    why: String,
}

impl Absent<'_> {
    /// Its file.
    pub(super) fn path(&self) -> &str {
        &self.file.path
    }

    /// Why the board is absent, in words.
    pub(super) fn why(&self) -> &str {
        &self.why
    }

    /// It, its file, and what is wrong, in one line.
    pub fn line(&self) -> String {
        let Self { file, why } = self;
        format!("the board `{}` of `{}` is not attached: {why}", file.name, file.path)
    }
}

/// The declared board, if it is absent for longer than a reset takes.
pub fn absent(file: &DutFile) -> Option<Absent<'_>> {
    all_absent([file].into_iter()).ok()?.into_iter().next()
}

/// The boards of these files, if all of them are absent for longer than a reset takes; else the first that
/// is there, and those that are not.
pub(super) fn all_absent<'a>(
    files: impl Iterator<Item = &'a DutFile> + Clone,
) -> Result<Vec<Absent<'a>>, (&'a DutFile, Vec<Absent<'a>>)> {
    let until = Instant::now() + PATIENCE;
    loop {
        let boards = attached().boards;
        let (mut here, mut gone) = (None, Vec::new());
        for file in files.clone() {
            match missing(file, &boards) {
                Some(why) => gone.push(Absent { file, why }),
                None => here = here.or(Some(file)),
            }
        }
        match here {
            Some(file) => return Err((file, gone)),
            None if gone.is_empty() || Instant::now() >= until => return Ok(gone),
            None => sleep(LOOK),
        }
    }
}

/// Why the board of a file is none of those that are attached. Of one that may be there, the bridge tells
/// what is in the way.
fn missing(file: &DutFile, boards: &[UsbBoard]) -> Option<String> {
    let board = file.board.as_ref()?;
    if let Some(port) = &board.port {
        let why = || format!("there is no port `{}`", port.display());
        return (!port.exists()).then(why);
    }
    match board.selector()?.select(boards) {
        Err(error @ SelectError::None { .. }) => Some(error.to_string()),
        _ => None,
    }
}

/// What is said where declared boards are absent and nothing may stand in.
pub fn refusal(absent: &[Absent<'_>]) -> UserError {
    let lines: Vec<String> = absent.iter().map(Absent::line).collect();
    UserError::bench(
        lines.join("\n"),
        "plug it in, with a cable that has data lines: `mcp-hil duts` shows what is attached; to \
         test another device in its place, use `--fallback`, or `fallback = true` in the board's \
         file",
    )
}

/// What may stand in for boards: what the command line allows, else what all of their files do.
pub fn allowed(choice: &Choice<'_>, absent: &[Absent<'_>]) -> Option<Vec<Kind>> {
    let of_files = || {
        let mut files = absent.iter().map(|absent| absent.file.fallback.as_deref());
        let first = files.next()??;
        files.all(|other| other.is_some()).then_some(first)
    };
    choice.fallback.or_else(of_files).map(<[Kind]>::to_vec)
}

/// The device that a word of `--dut` other than `auto` means; what may stand in for a board that is not
/// there. `say` is told what was passed over, a line each.
///
/// # Errors
///
/// As [`Dut::find`]. An absent board is none: the run with it fails, so that its reports say so.
pub fn named(
    spec: &str,
    choice: &Choice<'_>,
    asked: &Asked<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<Dut, UserError> {
    let dut = Dut::find(spec, asked)?;
    let file = match (&dut.how, &dut.file) {
        (How::Board(_), Some(file)) => file.clone(),
        _ => return Ok(dut),
    };
    match absent(&file) {
        None => Ok(dut),
        Some(absent) => without(&[absent], dut, choice, asked, say),
    }
}

/// The device to be taken in the place of absent boards, else `board`, which is the first of them.
pub(super) fn without(
    absent: &[Absent<'_>],
    board: Dut,
    choice: &Choice<'_>,
    asked: &Asked<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<Dut, UserError> {
    let (Some(kinds), Some(first)) = (allowed(choice, absent), absent.first()) else {
        return Ok(Dut { absent: Some(refusal(absent).to_string()), ..board });
    };
    let kinds = match &kinds[..] {
        [] => order(choice.prefer)?,
        _ => kinds,
    };
    let kinds: Vec<Kind> = kinds.into_iter().filter(|kind| *kind != Kind::Board).collect();
    for kind in &kinds {
        let boots = matches!(kind, Kind::QemuEsp | Kind::Wokwi | Kind::EspEmu);
        let image = asked.firmware.or(first.file.firmware.as_deref());
        let asked = Asked {
            // The firmware of the board, where it can be booted without the board.
            firmware: image.filter(|_| boots),
            difference: asked.difference,
            arguments: &[],
            host: None,
        };
        let passed = match attempt(*kind, &asked) {
            Ok(dut) => {
                let in_place_of = InPlaceOf { file: first.file.clone(), why: first.why.clone() };
                return Ok(Dut { in_place_of: Some(Box::new(in_place_of)), ..dut });
            }
            Err(Failed::Passed(passed)) => told(&passed),
            Err(Failed::Refused(refusal)) => refusal.what.clone(),
        };
        say(&format!("fallback: skipped {}: {passed}", kind.name()));
    }
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    let lines: Vec<String> = absent.iter().map(Absent::line).collect();
    Err(UserError::bench(
        format!(
            "{}\nand no replacement is available: tried {}",
            lines.join("\n"),
            names.join(", ")
        ),
        "plug it in, resolve what is reported above, or name other kinds with `--fallback=KINDS`",
    ))
}

/// Refuses a board in the place of a board.
///
/// # Errors
///
/// There is one among the kinds.
pub fn check_kinds(kinds: Option<&[Kind]>) -> Result<(), UserError> {
    match kinds {
        Some(kinds) if kinds.contains(&Kind::Board) => Err(UserError::usage(
            "`--fallback=board`: expected kinds that can replace an absent board, such as `qemu,native`",
            "choose another board with `--dut`",
        )),
        _ => Ok(()),
    }
}

/// The files of boards in `folder` but one, to tell that they are passed over, and why.
pub(super) fn passed_over(
    files: &Files,
    chosen: Option<&Path>,
    why: &dyn Fn(&DutFile) -> String,
    say: &mut dyn FnMut(&str),
) {
    let others = files.boards.iter();
    for file in others.filter(|file| chosen != Some(Path::new(&file.path))) {
        let (name, path, why) = (&file.name, &file.path, why(file));
        say(&format!("auto: skipped board `{name}` of `{path}`: {why}"));
    }
    for refusal in &files.broken {
        say(&format!("auto: skipped a board: {}", refusal.what));
    }
}
