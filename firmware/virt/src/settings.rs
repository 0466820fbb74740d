//! What the device is to be, as the console tells it.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};

use reference_body::{Defect, mutants, variants};
use reference_device::Identity;
use serde_json::{Map, Value};

/// Version and build of this image; both are also in `serverInfo.version`.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("BUILD_ID"));

/// The same where a program finds it in the file.
#[used]
static MARK: &str = concat!(
    "mcp-hil-image=virt ",
    env!("CARGO_PKG_VERSION"),
    "+",
    env!("BUILD_ID"),
    ";"
);

/// The address of the network card, which is also the device's `Device-Id`.
pub(crate) const MAC: [u8; 6] = [0x02, 0x00, 0x00, 0x4d, 0x43, 0x50];

/// All of it.
pub(crate) struct Settings {
    pub(crate) identity: Identity,
    pub(crate) defect: Option<Defect>,
    /// Milliseconds by which answers come later.
    pub(crate) delay_ms: u64,
}

/// Reads a line `config {...}`. Members are all optional: `ota_url` (where the device asks for the
/// rest at every boot), `url` and `token` (of a WebSocket server, when there is no `ota_url`),
/// `no_hello` (over MQTT), `mutant`, `variant` and `delay_ms`.
pub(crate) fn read(line: &str) -> Result<Settings, String> {
    let json = line
        .strip_prefix("config ")
        .ok_or("expected a line `config {...}`")?;
    let config: Map<String, Value> =
        serde_json::from_str(json).map_err(|error| format!("no JSON object: {error}"))?;
    let mut settings = Settings {
        identity: Identity {
            version: VERSION.to_string(),
            ..Identity::default()
        },
        defect: None,
        delay_ms: 0,
    };
    for (name, value) in &config {
        let text = || {
            value
                .as_str()
                .map(ToOwned::to_owned)
                .ok_or_else(|| format!("`{name}` is no text"))
        };
        match &**name {
            "ota_url" => settings.identity.ota_url = text()?,
            "url" => settings.identity.url = text()?,
            "token" => settings.identity.token = text()?,
            "no_hello" => settings.identity.opens_channel = value != &Value::Bool(true),
            "mutant" => {
                let wanted = text()?;
                let found = mutants::all().find(|mutant| mutant.name == wanted);
                let mutant = found.ok_or_else(|| format!("there is no mutant `{wanted}`"))?;
                settings.defect = Some((mutant.build)());
            }
            "variant" => {
                let wanted = text()?;
                let found = variants::all().find(|variant| variant.name == wanted);
                let variant = found.ok_or_else(|| format!("there is no variant `{wanted}`"))?;
                settings.defect = Some((variant.build)());
            }
            "delay_ms" => {
                let delay = value.as_u64();
                settings.delay_ms = delay.ok_or("`delay_ms` is no number of milliseconds")?;
            }
            other => return Err(format!("unknown member `{other}`")),
        }
    }
    Ok(settings)
}
