//! What an image is to be, as one line on its console tells it after the boot.

use reference_device::{Identity, Transport};
use serde_json::{Map, Value};

use crate::defect::Defect;
use crate::prelude::*;
use crate::{mutants, variants};

/// All that can be told.
#[derive(Debug)]
pub struct Config {
    /// Who the device is and where it dials.
    pub identity: Identity,
    /// The mutant or the variation that it is.
    pub defect: Option<Defect>,
    /// Milliseconds by which answers come later.
    pub delay_ms: u64,
    /// Name and password of the wireless network; an open one has an empty password. Other networks
    /// need none.
    pub wifi: Option<(String, String)>,
}

impl Config {
    /// A good device that nobody has told anything.
    pub fn new(identity: Identity) -> Self {
        Config { identity, defect: None, delay_ms: 0, wifi: None }
    }

    /// Whether it is known where the device dials.
    pub fn is_sufficient(&self) -> bool {
        let identity = &self.identity;
        [&identity.ota_url, &identity.url, &identity.mqtt.endpoint]
            .iter()
            .any(|address| !address.is_empty())
    }

    /// Reads a line `config {...}` over what is there. Members are all optional: `ota_url` (where the
    /// device asks for the rest at every boot), `url` and `token` (of a WebSocket server, when there
    /// is no `ota_url`), `no_hello` (over MQTT), `mutant`, `variant`, `delay_ms`, `ssid` and
    /// `password`.
    ///
    /// # Errors
    ///
    /// The line is no such line, or names what is not there; the message is for the console.
    pub fn read(&mut self, line: &str) -> Result<(), String> {
        let json = line.strip_prefix("config ").ok_or("expected a line `config {...}`")?;
        let members: Map<String, Value> =
            serde_json::from_str(json).map_err(|error| format!("not a JSON object: {error}"))?;
        let identity = &mut self.identity;
        if members.contains_key("url") && !members.contains_key("ota_url") {
            // Or an older address for the rest, or of a broker, would win.
            identity.ota_url.clear();
            identity.transport = Transport::Websocket;
        }
        for (name, value) in &members {
            let text = || {
                let text = value.as_str().map(ToString::to_string);
                text.ok_or_else(|| format!("`{name}` is not a string"))
            };
            match &**name {
                "ota_url" => identity.ota_url = text()?,
                "url" => identity.url = text()?,
                "token" => identity.token = text()?,
                "no_hello" => identity.opens_channel = value != &Value::Bool(true),
                "mutant" | "variant" => {
                    let wanted = text()?;
                    let row = match &**name {
                        "mutant" => mutants::all().find(|row| row.name == wanted),
                        _ => variants::all().find(|row| row.name == wanted),
                    };
                    let row = row.ok_or_else(|| format!("there is no {name} `{wanted}`"))?;
                    self.defect = Some((row.build)());
                }
                "delay_ms" => {
                    let delay = value.as_u64();
                    self.delay_ms = delay.ok_or("`delay_ms` is not a number of milliseconds")?;
                }
                "ssid" => self.wifi.get_or_insert_default().0 = text()?,
                "password" => self.wifi.get_or_insert_default().1 = text()?,
                other => return Err(format!("unknown member `{other}`")),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(line: &str) -> Result<Config, String> {
        let mut config =
            Config::new(Identity { ota_url: "http://stored/".to_string(), ..Identity::default() });
        config.read(line).map(|()| config)
    }

    #[test]
    fn what_is_told_replaces_what_was_there() {
        let line = r#"config {"ota_url":"http://h/","token":"t","delay_ms":20,"ssid":"n"}"#;
        let config = config(line).expect("a good line");
        assert_eq!(config.identity.ota_url, "http://h/");
        assert_eq!(config.identity.token, "t");
        assert_eq!(config.delay_ms, 20);
        assert_eq!(config.wifi, Some(("n".to_string(), String::new())));
        assert!(config.defect.is_none() && config.is_sufficient());
    }

    #[test]
    fn what_is_not_told_stays() {
        let config = config("config {}").expect("a good line");
        assert_eq!(config.identity.ota_url, "http://stored/");
        assert_eq!(config.wifi, None);
        assert!(!Config::new(Identity::default()).is_sufficient());
    }

    #[test]
    fn an_address_to_dial_wins_over_an_older_one_to_ask() {
        let config = config(r#"config {"url":"ws://h/"}"#).expect("a good line");
        assert_eq!(config.identity.ota_url, "");
        assert_eq!(config.identity.url, "ws://h/");
    }

    #[test]
    fn mutants_and_variants_are_found_by_name() {
        let mutant = mutants::all().next().expect("a mutant").name;
        let line = format!(r#"config {{"mutant":"{mutant}"}}"#);
        assert!(config(&line).expect("a good line").defect.is_some());
        let variant = variants::all().next().expect("a variant").name;
        let line = format!(r#"config {{"variant":"{variant}"}}"#);
        assert!(config(&line).expect("a good line").defect.is_some());
    }

    #[test]
    fn a_wrong_line_says_what_is_wrong() {
        for (line, expected) in [
            ("", "expected a line"),
            ("config [1]", "not a JSON object"),
            (r#"config {"mutant":"none"}"#, "there is no mutant `none`"),
            (r#"config {"variant":"none"}"#, "there is no variant `none`"),
            (r#"config {"url":1}"#, "`url` is not a string"),
            (r#"config {"delay_ms":-1}"#, "`delay_ms` is not a number"),
            (r#"config {"oat_url":""}"#, "unknown member `oat_url`"),
        ] {
            let error = config(line).expect_err(line);
            assert!(error.starts_with(expected), "{line}: {error}");
        }
    }
}
