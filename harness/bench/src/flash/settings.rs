//! Settings of stock firmware, of arguments and of the environment.

use mcp_hil_boards::flash::nvs::Settings;
use mcp_hil_boards::flash::{
    ImageError, MqttSettings, Network, Secret, StockSettings, WebSocketSettings,
};

use mcp_hil_args::SettingsArgs;
use mcp_hil_record::error::{Diagnostic, UserError};

/// The settings that were asked for; none when nothing was.
pub(super) fn asked(args: &SettingsArgs) -> Result<Option<Settings>, UserError> {
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
pub fn settings(args: &SettingsArgs) -> Result<Settings, UserError> {
    let secret = |variable: &Option<String>| match variable {
        Some(name) => from_environment(name),
        None => Ok(Secret::default()),
    };
    let network = match &args.wifi {
        Some(ssid) => {
            Some(Network { ssid: ssid.clone(), password: secret(&args.wifi_password_env)? })
        }
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

/// Something of the user's that cannot be flashed.
pub(super) fn refused(error: &dyn Diagnostic) -> UserError {
    UserError::from_below(mcp_hil_record::exit::USAGE, error)
}

/// What is wrong with an image, with the option that helps: packages below know no options.
pub(crate) fn of_image(error: &ImageError) -> UserError {
    let refused = refused(error);
    let option = match error {
        ImageError::WrongChip { .. } => " (`--chip`)",
        ImageError::TooBig { .. } | ImageError::Table(_) => " (`--size`)",
        _ => "",
    };
    UserError { hint: refused.hint.map(|hint| hint + option), ..refused }
}

fn from_environment(name: &str) -> Result<Secret, UserError> {
    let text = std::env::var(name).map_err(|error| {
        let got = match error {
            std::env::VarError::NotPresent => "none",
            std::env::VarError::NotUnicode(_) => "one that is not valid Unicode",
        };
        UserError::usage(
            format!("the environment variable `{name}` holds no password: expected one, got {got}"),
            "set it in the shell, or as a secret of the CI job; passwords are not passed as arguments",
        )
    })?;
    Ok(Secret::new(text))
}
