//! The command line: what commands there are, and in the modules below what arguments each one takes.

mod baseline;
mod bridge;
mod clean;
mod coverage;
mod diff;
mod doctor;
mod duts;
mod explain;
mod firmware;
mod flash;
mod gateway;
mod groups;
mod image_size;
mod init;
mod install;
mod kind;
mod list;
mod merge;
mod output;
mod profile;
mod replay;
mod review;
mod run;
mod self_test;
mod serve;
mod setup;
mod snapshots;
mod soak;
mod values;

use clap::{Parser, Subcommand};

pub use baseline::{BaselineArgs, BaselineCommand};
pub use bridge::BridgeArgs;
pub use clean::CleanArgs;
pub use coverage::CoverageArgs;
pub use diff::DiffArgs;
pub use doctor::DoctorArgs;
pub use duts::{AskChipArgs, DUTS, DutsArgs};
pub use explain::ExplainArgs;
pub use firmware::{BuildArgs, FirmwareCommand, HostArgs, ImageArgs, NvsArgs};
pub use flash::{FlashArgs, Part, SettingsArgs};
pub use gateway::{DeviceTransport, GatewayArgs};
pub use groups::command;
pub use image_size::ImageSize;
pub use init::InitArgs;
pub use install::{CompletionsArgs, Described, ManArgs, SCHEMAS, SchemaArgs};
pub use kind::{AUTO, Kind};
pub use list::ListArgs;
pub use merge::MergeArgs;
pub use output::{Color, Format, OutputArgs};
pub use profile::{PROFILES, from_profile, profile_schema};
pub use replay::ReplayArgs;
pub use review::ReviewArgs;
pub use run::baseline_argument;
pub use run::{DEFAULT_INPUTS, FlakyResult, RunArgs, Sut, Transports};
pub use self_test::SelfTestArgs;
pub use serve::{ServeArgs, Served};
pub use setup::{Cores, SetupArgs, SetupCommand};
pub use snapshots::Mode;
pub use soak::SoakArgs;
pub use values::argument;

/// Plays the backend for an MCP device (xiaozhi family), judges every answer, and writes reports.
#[derive(Debug, Parser)]
#[command(
    name = "mcp-hil",
    version,
    about = "Tests whether an ESP32 device of the xiaozhi family follows its MCP protocol",
    max_term_width = 100
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write the files with which a folder begins to test its device
    Init(InitArgs),
    /// Run the suite against a device
    Run(Box<RunArgs>),
    /// Repeat the suite for hours on a device that lives on
    Soak(Box<SoakArgs>),
    /// Execute device_control messages from MQTT on a device
    Gateway(Box<GatewayArgs>),
    /// List the cases, or the requirements
    List(ListArgs),
    /// Explain a requirement or a case
    Explain(ExplainArgs),
    /// Judge an earlier run again from its transcripts
    Replay(ReplayArgs),
    /// Compare two runs: verdicts, findings, answers, tools, latency
    Diff(DiffArgs),
    /// Look at answers that wait for review; accept or reject them
    Review(ReviewArgs),
    /// Create or update a list of known failures from runs
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Join runs from several machines into one report
    Merge(MergeArgs),
    /// Show which requirements runs exercised, and which they did not
    Coverage(CoverageArgs),
    /// Delete the folders of old runs
    Clean(CleanArgs),
    /// Build images of the reference device; create flash images
    #[command(subcommand)]
    Firmware(FirmwareCommand),
    /// Flash a board: a program, an image, or parts, with settings
    Flash(Box<FlashArgs>),
    /// Flash what standard input says; the parent process ends it if the board makes it hang
    #[command(hide = true)]
    FlashWorker,
    /// List attached boards, their device files, and who uses them
    Duts(DutsArgs),
    /// The process that talks to a chip for `duts`
    #[command(hide = true)]
    AskChip(AskChipArgs),
    /// Show what can run devices here, and how to install the rest
    Doctor(DoctorArgs),
    /// Download a program that no package manager has
    #[command(subcommand)]
    Setup(SetupCommand),
    /// Play the backend for devices and show the traffic
    Serve(ServeArgs),
    /// Test the harness itself with seeded defects and harmless variations
    SelfTest(SelfTestArgs),
    /// Print the script with which a shell completes commands and options
    Completions(CompletionsArgs),
    /// Print the manual page
    Man(ManArgs),
    /// Print the JSON Schema of a kind of file, for editors and programs
    Schema(SchemaArgs),
    /// The process between a run and the serial port of a board
    #[command(hide = true)]
    Bridge(BridgeArgs),
}
