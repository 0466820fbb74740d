//! What a device is started as, and what it and its user are told of where to dial.

use mcp_hil_boards::{Board, Command, Process, Target};
use mcp_hil_core::transport::Transport;

use super::RunError;
use crate::plan::Plan;
use mcp_hil_bench::dut::How;
use mcp_hil_bench::program;

/// The target, not yet started. It is told by its environment where to dial; the names are a
/// public contract.
///
/// # Errors
///
/// The run's folder cannot be written, or what is to be flashed cannot be.
pub(super) fn target(
    plan: &Plan,
    transport: Transport,
    url: &str,
    ota_url: &str,
) -> Result<Target, RunError> {
    let folder = plan.folder_of(transport);
    let unwritable = |reason| RunError::Write { path: folder.display().to_string(), reason };
    let env = environment(plan, transport, url, ota_url);
    if let How::Board(board) = &plan.dut.how {
        let flash = board
            .file
            .flash(board.firmware.as_deref(), ota_url)
            .map_err(|refusal| RunError::NoConnection(refusal.to_string()))?;
        let bridge =
            program::path().map_err(|refusal| RunError::NoConnection(refusal.to_string()))?;
        let setup = board.file.setup(bridge, &plan.folder, ota_url, env, flash);
        return Ok(Target::Board(Box::new(Board::new(setup))));
    }
    let Some(command) = plan.dut.command(ota_url, &folder).map_err(unwritable)? else {
        return Ok(Target::Wait);
    };
    let told = |command: Command, (name, value)| command.env(name, value);
    let command = env.into_iter().fold(command, told);
    Ok(Target::Process(Process::new(command)))
}

/// What a program finds in its environment: where the device is to dial.
fn environment(
    plan: &Plan,
    transport: Transport,
    url: &str,
    ota_url: &str,
) -> Vec<(String, String)> {
    let token = plan.token.as_deref().unwrap_or_default();
    let mqtt = &plan.mqtt;
    let dial = match transport {
        Transport::WebSocket => vec![("MCP_HIL_WS_URL", url), ("MCP_HIL_WS_TOKEN", token)],
        Transport::Mqtt => vec![
            ("MCP_HIL_MQTT_ENDPOINT", url),
            ("MCP_HIL_MQTT_CLIENT_ID", &mqtt.client_id),
            ("MCP_HIL_MQTT_USERNAME", &mqtt.username),
            ("MCP_HIL_MQTT_PASSWORD", &mqtt.password),
            ("MCP_HIL_MQTT_PUBLISH_TOPIC", &mqtt.publish_topic),
            ("MCP_HIL_MQTT_SUBSCRIBE_TOPIC", &mqtt.subscribe_topic),
        ],
    };
    let always = [("MCP_HIL_TRANSPORT", transport.name()), ("MCP_HIL_OTA_URL", ota_url)];
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    always.into_iter().chain(dial).map(owned).collect()
}

/// What a person must do for the device to connect, if anything.
pub(super) fn invitation(
    plan: &Plan,
    transport: Transport,
    url: &str,
    ota_url: &str,
) -> Option<String> {
    let How::Wait = plan.dut.how else { return None };
    let seconds = plan.connect_deadline.as_secs_f64();
    if let (Transport::Mqtt, Some(_)) = (transport, &plan.mqtt.broker) {
        return Some(format!(
            "waiting up to {seconds} s for a device at the broker {url} that listens on `{}` \
             and publishes to `{}`",
            plan.mqtt.subscribe_topic, plan.mqtt.publish_topic
        ));
    }
    let token = match (&plan.token, transport) {
        (None, _) => "",
        (Some(_), Transport::WebSocket) => ", with the token that you gave",
        (Some(_), Transport::Mqtt) => ", with the token that you gave as the password",
    };
    let by = match transport {
        Transport::WebSocket => "",
        Transport::Mqtt => " over MQTT",
    };
    Some(format!(
        "waiting up to {seconds} s for a device to connect to {url}{by}{token}, or to request \
         its configuration from {ota_url}"
    ))
}
