//! What stock firmware keeps under which name.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use reference_device::{Identity, Transport};

use crate::nvs::Nvs;

/// Wireless networks that may be kept: without a number, then 1 to 9.
const NETWORKS: usize = 10;

/// A wireless network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Its name.
    pub ssid: String,
    /// Its password; empty when it is open.
    pub password: String,
}

/// The wireless networks in their order. As in stock firmware one counts only with both its parts.
pub fn networks(nvs: &Nvs) -> Vec<Network> {
    let network = |index| {
        let number = match index {
            0 => String::new(),
            index => format!("{index}"),
        };
        Some(Network {
            ssid: nvs.text("wifi", &format!("ssid{number}"))?.into(),
            password: nvs.text("wifi", &format!("password{number}"))?.into(),
        })
    };
    (0..NETWORKS).filter_map(network).collect()
}

/// Takes over who the device is and where it dials. What is not kept stays as it is.
pub fn apply(nvs: &Nvs, identity: &mut Identity) {
    let mqtt = &mut identity.mqtt;
    for (namespace, name, setting) in [
        ("wifi", "ota_url", &mut identity.ota_url),
        ("board", "uuid", &mut identity.client_id),
        ("websocket", "url", &mut identity.url),
        ("websocket", "token", &mut identity.token),
        ("mqtt", "endpoint", &mut mqtt.endpoint),
        ("mqtt", "client_id", &mut mqtt.client_id),
        ("mqtt", "username", &mut mqtt.username),
        ("mqtt", "password", &mut mqtt.password),
        ("mqtt", "publish_topic", &mut mqtt.publish_topic),
    ] {
        if let Some(text) = nvs.text(namespace, name).filter(|text| !text.is_empty()) {
            *setting = text.into();
        }
    }
    if let Some(version) = nvs.number("websocket", "version")
        && let Some(version) = u8::try_from(version).ok().filter(|v| (1..=3).contains(v))
    {
        identity.websocket_version = version;
    }
    if let Some(seconds) = nvs.number("mqtt", "keepalive")
        && let Ok(seconds) = u16::try_from(seconds)
    {
        identity.mqtt.keep_alive_s = seconds;
    }
    // Only without an address to ask does it matter which of the two is known.
    if identity.url.is_empty() && !identity.mqtt.endpoint.is_empty() {
        identity.transport = Transport::Mqtt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvs::PAGE;
    use alloc::vec;

    fn stock() -> Nvs {
        let mut bytes = include_bytes!("../tests/stock.bin").to_vec();
        bytes.resize(PAGE, 0xff);
        Nvs::read(PAGE as u32, |offset, buffer| {
            buffer.copy_from_slice(&bytes[offset as usize..offset as usize + buffer.len()]);
            true
        })
    }

    #[test]
    fn a_network_without_a_password_of_its_own_is_passed_over() {
        let ssids: Vec<_> = networks(&stock())
            .into_iter()
            .map(|network| (network.ssid, network.password.len()))
            .collect();
        assert_eq!(ssids, [("MyAP".into(), 61), ("Guests".into(), 0)]);
        assert_eq!(networks(&Nvs::default()), vec![]);
    }

    #[test]
    fn stock_settings_say_who_the_device_is_and_where_it_dials() {
        let mut identity = Identity::default();
        apply(&stock(), &mut identity);
        assert_eq!(identity.ota_url, "http://192.168.1.10:8003/xiaozhi/ota/");
        assert_eq!(identity.client_id, "3c0e5bd5-8f31-4d57-9bd4-6a1a4a1ff7f2");
        assert_eq!(identity.url, "ws://192.168.1.10:8000/xiaozhi/v1/");
        assert_eq!(identity.token, "no-token");
        assert_eq!(identity.websocket_version, 3);
        assert_eq!(identity.mqtt.endpoint, "192.168.1.10:1883");
        assert_eq!(identity.mqtt.publish_topic, "device-server");
        assert_eq!(identity.mqtt.keep_alive_s, 60);
        assert_eq!(identity.transport, Transport::Websocket);
    }

    #[test]
    fn nothing_kept_changes_nothing() {
        let mut identity = Identity::default();
        apply(&Nvs::default(), &mut identity);
        let before = Identity::default();
        assert_eq!(identity.client_id, before.client_id);
        assert_eq!(identity.mqtt, before.mqtt);
        assert_eq!(identity.transport, before.transport);
    }
}
