//! What devices run on: boards at serial ports and debug probes, emulators and processes.
//!
//! Nothing here judges. A device's misdeed comes out as data (a [`TargetOutput`]); an
//! `Err(`[`TargetError`]`)` is trouble of the bench.
//!
//! * [`target`]: how the device under test is run;
//! * [`board`]: which boards are attached, who uses them, and the bridge to them;
//! * [`flash`]: what goes into the flash memory of a chip, and how;
//! * [`signals`] and [`reset`]: the lines DTR and RTS of a port; [`users`]: who else has it open.

pub mod board;
pub mod flash;
mod lines;
pub mod reset;
pub mod signals;
pub mod target;
pub mod users;

pub use target::{
    Board, BoardSetup, CONSOLE_PORT, Command, LONGEST_INPUT, Part, Process, Target, TargetError,
    TargetOutput, Trigger,
};
