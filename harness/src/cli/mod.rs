//! The command line: what commands there are, and in the modules below what arguments each one takes.

mod baseline;
mod coverage;
mod diff;
mod doctor;
mod duts;
mod explain;
mod firmware;
mod flash;
mod gateway;
mod list;
mod merge;
mod output;
mod replay;
mod run;
mod self_test;
mod serve;
mod setup;
mod values;

use clap::{Parser, Subcommand};

pub use baseline::{BaselineArgs, BaselineCommand};
pub use coverage::CoverageArgs;
pub use diff::DiffArgs;
pub use doctor::DoctorArgs;
pub use duts::{AskChipArgs, DUTS, DutsArgs};
pub use explain::ExplainArgs;
pub use firmware::{BuildArgs, FirmwareCommand, ImageArgs, ImageSize, NvsArgs};
pub use flash::{FlashArgs, Part, SettingsArgs};
pub use gateway::{DeviceTransport, GatewayArgs};
pub use list::ListArgs;
pub use merge::MergeArgs;
pub use output::{Color, Format, OutputArgs};
pub use replay::ReplayArgs;
pub use run::{RunArgs, Sut, Transports};
pub use self_test::SelfTestArgs;
pub use serve::{ServeArgs, Served};
pub use setup::{Cores, SetupArgs, SetupCommand};

/// Plays the backend to an MCP device (xiaozhi family), judges every answer, writes reports.
#[derive(Debug, Parser)]
#[command(name = "mcp-hil", version, about, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the suite against a device
    Run(Box<RunArgs>),
    /// Take device_control messages over MQTT, drive a device, and bring its answers back
    Gateway(Box<GatewayArgs>),
    /// List the cases, or the requirements
    List(ListArgs),
    /// Explain a requirement or a case
    Explain(ExplainArgs),
    /// Judge the transcripts of an earlier run again, without a device
    Replay(ReplayArgs),
    /// Compare two runs: verdicts, findings, answers, tools, and how long answers took
    Diff(DiffArgs),
    /// Write the list of known failures off a run, or bring one up to date with it
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Join runs of several machines (shards, devices, transports) to one report
    Merge(MergeArgs),
    /// Tell which requirements runs have exercised, by what, on which device, and which never
    Coverage(CoverageArgs),
    /// Build images of the reference device, and make flash images
    #[command(subcommand)]
    Firmware(FirmwareCommand),
    /// Flash a board at a serial port: a program, a vendor's image, or parts, with settings
    Flash(Box<FlashArgs>),
    /// Flash what standard input says; its parent ends it when the board hangs it
    #[command(hide = true)]
    FlashWorker,
    /// List the boards that are attached, the files that mean them, and who uses them
    Duts(DutsArgs),
    /// What talks to a chip for `duts`, in a process of its own
    #[command(hide = true)]
    AskChip(AskChipArgs),
    /// Tell what is here to run devices on, what is missing, and what brings it
    Doctor(DoctorArgs),
    /// Bring in a program that no package manager has
    #[command(subcommand)]
    Setup(SetupCommand),
    /// Play the backend for devices on the bench and show the traffic, without testing
    Serve(ServeArgs),
    /// Test the harness: are all known defects found, and nothing in devices that do no wrong
    SelfTest(SelfTestArgs),
    /// Be the process between a run and the serial port of a board
    #[command(hide = true)]
    Bridge,
}
