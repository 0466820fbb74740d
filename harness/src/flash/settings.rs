//! Settings of stock firmware, of arguments and of the environment.

use mcp_hil_rig::flash::nvs::Settings;
use mcp_hil_rig::flash::{MqttSettings, Network, Secret, StockSettings, WebSocketSettings};

use crate::cli::SettingsArgs;
use crate::plan::Refusal;

/// The settings that were asked for; none when nothing was.
pub(super) fn asked(args: &SettingsArgs) -> Result<Option<Settings>, Refusal> {
    let wanted = args.wifi.is_some()
        || args.ota_url.is_some()
        || args.uuid.is_some()
        || args.websocket_url.is_some()
        || args.mqtt_endpoint.is_some();
    match wanted {
        true => settings(args).map(Some),
        false => Ok(None),
    }
}

/// The settings of some arguments.
pub(crate) fn settings(args: &SettingsArgs) -> Result<Settings, Refusal> {
    let secret = |variable: &Option<String>| match variable {
        Some(name) => from_environment(name),
        None => Ok(Secret::default()),
    };
    let network = match &args.wifi {
        Some(ssid) => Some(Network {
            ssid: ssid.clone(),
            password: secret(&args.wifi_password_env)?,
        }),
        None => None,
    };
    let websocket = match &args.websocket_url {
        Some(url) => Some(WebSocketSettings {
            url: url.clone(),
            token: secret(&args.websocket_token_env)?,
            version: args.websocket_version,
        }),
        None => None,
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mqtt = match &args.mqtt_endpoint {
        Some(endpoint) => Some(MqttSettings {
            endpoint: endpoint.clone(),
            client_id: text(&args.mqtt_client_id),
            username: text(&args.mqtt_username),
            password: secret(&args.mqtt_password_env)?,
            publish_topic: text(&args.mqtt_topic),
            keepalive: args.mqtt_keepalive,
        }),
        None => None,
    };
    let stock = StockSettings {
        networks: network.into_iter().collect(),
        ota_url: args.ota_url.clone(),
        sleep: false,
        uuid: args.uuid.clone(),
        websocket,
        mqtt,
    };
    stock.settings().map_err(|error| refused(&error))
}

/// Something of the user's that cannot be flashed; its message has a hint.
pub(super) fn refused(error: &dyn std::error::Error) -> Refusal {
    Refusal {
        text: error.to_string(),
        exit: crate::exit::USAGE,
    }
}

fn from_environment(name: &str) -> Result<Secret, Refusal> {
    let text = std::env::var(name).map_err(|error| {
        let got = match error {
            std::env::VarError::NotPresent => "none",
            std::env::VarError::NotUnicode(_) => "one that is no text",
        };
        Refusal::usage(
            format!("the environment variable `{name}` holds no password: expected one, got {got}"),
            "set it in the shell, or among the secrets of the CI job; passwords are no arguments",
        )
    })?;
    Ok(Secret::new(text))
}
