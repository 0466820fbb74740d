//! The reference device as a process on the host: [`reference_device`] with a socket, a clock and a
//! console, and on request with one seeded defect (`--mutant`) or another harmless way of doing
//! things (`--variant`).
//!
//! Where to dial comes from the environment, as for every program that `mcp-hil run --dut exec:`
//! starts. With `MCP_HIL_OTA_URL` the device asks there at every boot, and nothing else counts.
//! Without it `MCP_HIL_TRANSPORT` says how messages travel, and `MCP_HIL_WS_*` or `MCP_HIL_MQTT_*`
//! where to.
//!
//! [`Arguments`] is all of its command line. It is called in two ways: as the program `mcp-hil-native`, and as
//! the command `native` of the harness, so that whoever has that program has the device, too.

mod frames;
mod http;
mod link;
mod memory;
mod mend;
mod mqtt;
mod platform;
mod tamper;
mod udp;

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use reference_body::{Body, Defect, GivenUp, Life, Row, mutants, variants};
use reference_device::{Identity, MqttSettings, Transport};

use crate::platform::Host;

/// The reference device as a process: a conforming xiaozhi MCP server, or one with a known defect.
///
/// With MCP_HIL_OTA_URL it asks there where to dial, at every boot. Otherwise MCP_HIL_TRANSPORT
/// tells: `websocket` dials MCP_HIL_WS_URL with the bearer token MCP_HIL_WS_TOKEN, which may be
/// empty; `mqtt` connects to MCP_HIL_MQTT_ENDPOINT (host:port) with MCP_HIL_MQTT_CLIENT_ID,
/// MCP_HIL_MQTT_USERNAME and MCP_HIL_MQTT_PASSWORD, and publishes to MCP_HIL_MQTT_PUBLISH_TOPIC.
/// Its stdout is the device's console.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    /// Behave with this one defect.
    #[arg(long, value_name = "NAME")]
    mutant: Option<String>,

    /// Print the defects, one a line: name, area, description, separated by tabs.
    #[arg(long)]
    list_mutants: bool,

    /// Do things in this other way, which no document forbids (repeatable, and beside a defect).
    #[arg(long, value_name = "NAME")]
    variant: Vec<String>,

    /// Print the harmless variations, one a line: name, description, separated by a tab.
    #[arg(long)]
    list_variants: bool,

    /// Give every answer this many milliseconds late.
    #[arg(long, value_name = "N", default_value_t = 0)]
    delay_ms: u64,

    /// Over MQTT: open no audio channel, like a device whose button nobody presses.
    #[arg(long)]
    no_hello: bool,

    /// Live as unmodified stock firmware: over WebSocket dial only when a line `button` comes on standard
    /// input, never again by itself, and listen until the next one; over MQTT dial at boot. How it
    /// answers is another matter: `--mutant stock-2.4`.
    #[arg(long)]
    stock: bool,

    /// With --stock: somebody presses the button so many milliseconds after the device got idle.
    #[arg(long, value_name = "N", requires = "stock")]
    button_after_ms: Option<u64>,

    /// Be no device: connect and send every message back as it came. A benchmark compares.
    #[arg(long, conflicts_with_all = ["mutant", "variant", "delay_ms", "no_hello", "stock"])]
    echo: bool,
}

/// Usage or configuration.
const EXIT_USAGE: u8 = 2;
/// Nobody listens.
const EXIT_NO_SERVER: u8 = 1;

impl Arguments {
    /// Is the device until it gives up, or prints what was asked for.
    ///
    /// The exit code is 0 after a list, 1 when nobody listens at the address that the device was told, and 2
    /// for a mistake in arguments or environment, which is told on standard error.
    pub fn run(&self) -> ExitCode {
        if self.list_mutants {
            return print_rows(mutants::all().map(|mutant| {
                let (name, area, description) = (mutant.name, mutant.area, mutant.description);
                format!("{name}\t{area}\t{description}")
            }));
        }
        if self.list_variants {
            return print_rows(
                variants::all().map(|variant| format!("{}\t{}", variant.name, variant.description)),
            );
        }
        let done = if self.echo {
            identity().and_then(|identity| match identity.transport {
                Transport::Websocket => link::echo(&identity.url),
                Transport::Mqtt => mqtt::echo(&identity.mqtt),
            })
        } else {
            prepare(self).map(|mut body| {
                let GivenUp = body.run();
                EXIT_NO_SERVER
            })
        };
        match done {
            Ok(code) => ExitCode::from(code),
            Err(message) => {
                eprintln!("error: {message}");
                ExitCode::from(EXIT_USAGE)
            }
        }
    }
}

fn print_rows(rows: impl Iterator<Item = String>) -> ExitCode {
    let mut out = io::stdout().lock();
    for row in rows {
        // Whoever closed the pipe has read enough.
        if writeln!(out, "{row}").is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn prepare(arguments: &Arguments) -> Result<Body<Host>, String> {
    let mut layers = Vec::new();
    if let Some(name) = &arguments.mutant {
        layers.push(find("mutant", name, mutants::all())?);
    }
    for name in &arguments.variant {
        layers.push(find("variant", name, variants::all())?);
    }
    // How a device answers lies inside of how it lives: late answers are the ones that it gives.
    let defect = layers.into_iter().reduce(|inner, outer| outer.over(inner));
    let mut identity = match variable("MCP_HIL_OTA_URL") {
        Some(ota_url) => Identity { ota_url, ..Identity::default() },
        None => identity()?,
    };
    identity.opens_channel = !arguments.no_hello;
    let (host, life) = match arguments.stock {
        true => {
            let button_after_ms = arguments.button_after_ms;
            (Host::with_button(), Life::Stock { button_after_ms })
        }
        false => (Host::new(), Life::Eager),
    };
    if defect.is_none() {
        // Defects and variations are layers that no real device has, and keep whole messages as trees.
        memory::limit();
    }
    Ok(Body::new(host, identity, defect, arguments.delay_ms).live(life))
}

/// The device with the settings that the environment gives directly.
fn identity() -> Result<Identity, String> {
    let mut identity = Identity::default();
    match variable("MCP_HIL_TRANSPORT").as_deref() {
        None | Some("websocket") => {
            identity.url = address("MCP_HIL_WS_URL")?;
            identity.token = variable("MCP_HIL_WS_TOKEN").unwrap_or_default();
        }
        Some("mqtt") => {
            identity.transport = Transport::Mqtt;
            identity.mqtt = MqttSettings {
                endpoint: address("MCP_HIL_MQTT_ENDPOINT")?,
                client_id: variable("MCP_HIL_MQTT_CLIENT_ID").unwrap_or_default(),
                username: variable("MCP_HIL_MQTT_USERNAME").unwrap_or_default(),
                password: variable("MCP_HIL_MQTT_PASSWORD").unwrap_or_default(),
                publish_topic: address("MCP_HIL_MQTT_PUBLISH_TOPIC")?,
                ..MqttSettings::default()
            };
        }
        Some(other) => {
            return Err(format!(
                "`MCP_HIL_TRANSPORT` is `{other}`, but must be `websocket` or `mqtt`"
            ));
        }
    }
    Ok(identity)
}

/// An environment variable that is set to something.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// An environment variable without which the device has nowhere to go.
fn address(name: &str) -> Result<String, String> {
    variable(name).ok_or_else(|| {
        format!(
            "`{name}` is not set\n\nhint: this program is a device under test; \
             `mcp-hil run` starts it and tells it where to dial"
        )
    })
}

/// Builds the layer of this name around the device.
fn find(kind: &str, name: &str, rows: impl Iterator<Item = Row>) -> Result<Defect, String> {
    let rows: Vec<_> = rows.collect();
    if let Some(row) = rows.iter().find(|row| row.name == name) {
        return Ok((row.build)());
    }
    let likeness = |known: &str| strsim::jaro_winkler(known, name);
    let names = rows.iter().map(|row| row.name);
    let nearest = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let hint =
        nearest.map_or(String::new(), |nearest| format!("\n\nhint: did you mean `{nearest}`?"));
    Err(format!("there is no {kind} `{name}`; `--list-{kind}s` shows them all{hint}"))
}
