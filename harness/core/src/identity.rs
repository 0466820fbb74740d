//! What a device is, by its own words in the configuration request.
//!
//! The request is the best record of identity there is: board, version, hash of the program,
//! partitions. It is read as far as it makes sense; nothing in it is relied on.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::transcript::{HttpEndpoint, HttpExchange};
use crate::wire::{Frame, as_integer};

/// Longest text kept of a member, in characters.
const LONGEST: usize = 128;

/// Most partitions kept: the table of an ESP32 has room for 95.
const MOST_PARTITIONS: usize = 95;

/// What a device says that it is. Each member is absent when the device did not tell it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// `board.type`, such as `bread-compact-wifi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub board_type: Option<String>,
    /// `board.name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub board_name: Option<String>,
    /// `application.name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// `application.version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `application.elf_sha256`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elf_sha256: Option<String>,
    /// `application.idf_version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idf_version: Option<String>,
    /// `chip_model_name`, such as `esp32s3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chip: Option<String>,
    /// `mac_address`, or else the header `Device-Id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// `flash_size` in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flash_bytes: Option<i64>,
    /// Labels of the partitions, in the order of the table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<String>,
}

/// In one line: `board bread-compact-wifi, xiaozhi 2.4.2, chip esp32s3, mac aa:bb:..`; what the
/// device did not tell is left out.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = match (&self.application, &self.version) {
            (Some(name), Some(version)) => Some(format!("{name} {version}")),
            (name, version) => name.clone().or_else(|| version.clone()),
        };
        let named =
            |name: &str, value: Option<&String>| value.map(|value| format!("{name} {value}"));
        let board = self.board_name.as_ref().or(self.board_type.as_ref());
        let short = |hash: &String| hash.chars().take(12).collect::<String>();
        let elf = self.elf_sha256.as_ref().map(short);
        let parts = [
            named("board", board),
            program,
            named("chip", self.chip.as_ref()),
            named("mac", self.mac.as_ref()),
            named("elf", elf.as_ref()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

impl Identity {
    /// Reads the body of a configuration request; `None` when it is no JSON object.
    pub fn read(body: &str) -> Option<Self> {
        let body: Value = serde_json::from_str(body).ok()?;
        body.is_object().then(|| Self::of_body(&body))
    }

    /// Reads a configuration request; `None` when it is none, or its body is no JSON object.
    pub fn of_exchange(exchange: &HttpExchange) -> Option<Self> {
        let Some(Frame::Text(body)) = &exchange.body else {
            return None;
        };
        if exchange.endpoint != HttpEndpoint::Bootstrap {
            return None;
        }
        let mut identity = Self::read(body)?;
        if identity.mac.is_none() {
            identity.mac = exchange.header("device-id").and_then(short);
        }
        Some(identity)
    }

    fn of_body(body: &Value) -> Self {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).and_then(short);
        let table = body.get("partition_table").and_then(Value::as_array);
        Self {
            board_type: text("/board/type"),
            board_name: text("/board/name"),
            application: text("/application/name"),
            version: text("/application/version"),
            elf_sha256: text("/application/elf_sha256"),
            idf_version: text("/application/idf_version"),
            chip: text("/chip_model_name"),
            mac: text("/mac_address"),
            flash_bytes: body.get("flash_size").and_then(as_integer),
            partitions: table
                .into_iter()
                .flatten()
                .filter_map(|partition| partition.get("label")?.as_str().and_then(short))
                .take(MOST_PARTITIONS)
                .collect(),
        }
    }
}

/// The text without control characters, cut to what a report can show; `None` when it is empty.
fn short(text: &str) -> Option<String> {
    let short: String = text.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    (!short.is_empty()).then_some(short)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_stock_firmware_says_is_read() {
        let body = json!({
            "version": 2, "flash_size": 16_777_216, "mac_address": "aa:bb:cc:dd:ee:ff",
            "chip_model_name": "esp32s3",
            "application": {"name": "xiaozhi", "version": "2.4.2", "idf_version": "v6.0.2",
                "elf_sha256": "abc"},
            "partition_table": [{"label": "nvs"}, {"address": 1}, {"label": "ota_0"}],
            "board": {"type": "bread-compact-wifi", "name": "bread\ncompact"}
        });
        let identity = Identity::read(&body.to_string()).unwrap();
        assert_eq!(identity.board_type.as_deref(), Some("bread-compact-wifi"));
        assert_eq!(identity.board_name.as_deref(), Some("breadcompact"));
        assert_eq!(identity.version.as_deref(), Some("2.4.2"));
        assert_eq!(identity.chip.as_deref(), Some("esp32s3"));
        assert_eq!(identity.elf_sha256.as_deref(), Some("abc"));
        assert_eq!(identity.flash_bytes, Some(16_777_216));
        assert_eq!(identity.partitions, ["nvs", "ota_0"]);
        let stored = serde_json::to_string(&identity).unwrap();
        assert_eq!(serde_json::from_str::<Identity>(&stored).unwrap(), identity);
    }

    #[test]
    fn the_header_stands_in_for_the_address() {
        let mut exchange = HttpExchange {
            endpoint: HttpEndpoint::Bootstrap,
            headers: [("device-id".into(), "aa".into())].into(),
            body: Some(Frame::Text("{}".into())),
            ..HttpExchange::unread()
        };
        let mac = |exchange: &HttpExchange| Identity::of_exchange(exchange)?.mac;
        assert_eq!(mac(&exchange).as_deref(), Some("aa"));
        exchange.endpoint = HttpEndpoint::Other;
        assert_eq!(mac(&exchange), None);
    }

    #[test]
    fn what_is_no_object_is_no_identity() {
        for body in ["", "[]", "1", "{", "null"] {
            assert_eq!(Identity::read(body), None);
        }
        let odd = r#"{"board":7,"application":[],"partition_table":{},"flash_size":"16"}"#;
        assert_eq!(Identity::read(odd), Some(Identity::default()));
        let long = json!({"chip_model_name": "ä".repeat(9999)}).to_string();
        assert_eq!(Identity::read(&long).unwrap().chip.unwrap().chars().count(), 128);
    }

    proptest! {
        #[test]
        fn any_body_is_read_or_refused(body in ".*") {
            let _ = Identity::read(&body);
        }

        #[test]
        fn any_members_are_read(name in "[a-z_]{1,16}", value in r#"(-?[1-9][0-9]{0,30}|"[a-z]{0,9}"|\[\]|null|\{"label":1\})"#) {
            let body = format!(r#"{{"{name}":{value},"partition_table":[{value}],"board":{value},"flash_size":{value}}}"#);
            prop_assert!(Identity::read(&body).is_some(), "{}", body);
        }
    }
}
