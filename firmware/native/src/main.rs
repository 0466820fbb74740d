//! The reference device as a process on the host: [`reference_device`] with a socket, a clock and a
//! console, and on request with one seeded defect (`--mutant`).
//!
//! Where to dial comes from the environment, as for every program that `mcp-hil run --dut exec:`
//! starts: `MCP_HIL_TRANSPORT`, `MCP_HIL_WS_URL`, `MCP_HIL_WS_TOKEN`.

mod body;
mod console;
mod defect;
mod frames;
mod hooks;
mod link;
mod mutants;

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use reference_device::Identity;

use crate::body::Body;
use crate::defect::Defect;

/// The reference device as a process: a conforming xiaozhi MCP server, or one with a known defect.
///
/// Dials MCP_HIL_WS_URL (MCP_HIL_TRANSPORT must be `websocket`) with the bearer token
/// MCP_HIL_WS_TOKEN, which may be empty. Its stdout is the device's console.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Behave with this one defect.
    #[arg(long, value_name = "NAME")]
    mutant: Option<String>,

    /// Print the defects, one a line: name, area, description, separated by tabs.
    #[arg(long)]
    list_mutants: bool,

    /// Give every answer this many milliseconds late.
    #[arg(long, value_name = "N", default_value_t = 0)]
    delay_ms: u64,

    /// Be no device: connect and send every text frame back as it came. A benchmark compares.
    #[arg(long, conflicts_with_all = ["mutant", "delay_ms"])]
    echo: bool,
}

/// Usage or configuration.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.list_mutants {
        return list_mutants();
    }
    let done = if arguments.echo {
        url().and_then(|url| link::echo(&url))
    } else {
        prepare(&arguments).map(|mut body| body.run())
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn list_mutants() -> ExitCode {
    let mut out = io::stdout().lock();
    for mutant in mutants::all() {
        // Whoever closed the pipe has read enough.
        if writeln!(
            out,
            "{}\t{}\t{}",
            mutant.name, mutant.area, mutant.description
        )
        .is_err()
        {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn prepare(arguments: &Arguments) -> Result<Body, String> {
    let defect = arguments.mutant.as_deref().map(find_mutant).transpose()?;
    let transport = env::var("MCP_HIL_TRANSPORT").unwrap_or_else(|_| "websocket".to_string());
    if transport != "websocket" {
        return Err(format!(
            "`MCP_HIL_TRANSPORT` is `{transport}`, but only `websocket` is supported"
        ));
    }
    let url = url()?;
    let token = env::var("MCP_HIL_WS_TOKEN").unwrap_or_default();
    let identity = Identity {
        url,
        token,
        ..Identity::default()
    };
    Ok(Body::new(identity, defect, arguments.delay_ms))
}

fn url() -> Result<String, String> {
    env::var("MCP_HIL_WS_URL").map_err(|_| {
        "`MCP_HIL_WS_URL` is not set\n\nhint: this program is a device under test; \
         `mcp-hil run` starts it and tells it where to dial"
            .to_string()
    })
}

fn find_mutant(name: &str) -> Result<Defect, String> {
    if let Some(mutant) = mutants::all().find(|mutant| mutant.name == name) {
        return Ok((mutant.build)());
    }
    let nearest = mutants::all()
        .map(|mutant| mutant.name)
        .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)));
    let hint = nearest.map_or(String::new(), |nearest| {
        format!("\n\nhint: did you mean `{nearest}`?")
    });
    Err(format!(
        "there is no mutant `{name}`; `--list-mutants` shows them all{hint}"
    ))
}
