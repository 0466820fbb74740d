//! An HTTP request of a device and how the harness answered it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::wire::Frame;

/// An HTTP request of a device, as far as it came, and how the harness answered it.
///
/// It may hold secrets until the recorder has scrubbed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpExchange {
    /// What the request was for, by its path.
    pub endpoint: HttpEndpoint,
    /// The method, such as `POST`; empty when the request line did not come.
    pub method: String,
    /// Path and query, as the device wrote them; empty when the request line did not come.
    pub path: String,
    /// The headers, names in lower case; several of one name are joined by `, `.
    pub headers: BTreeMap<String, String>,
    /// The body: text when it is UTF-8. `None` when there is none, or when it is an upload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Frame>,
    /// What a picture's upload held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<Upload>,
    /// Status code of the answer; `None` when the connection ended without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The MQTT client id that the answer told the device to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The version of the framing of binary messages that the answer told the device to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary_version: Option<u8>,
    /// Why the request could not be taken as it should be: too large, too slow, not multipart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What an HTTP request was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HttpEndpoint {
    /// The configuration (`/xiaozhi/ota/`).
    Bootstrap,
    /// The activation (`/xiaozhi/ota/activate`).
    Activate,
    /// The explanation of a picture (`/mcp/vision/explain`).
    Vision,
    /// Nothing that the harness offers, or not known.
    #[default]
    Other,
}

/// What the upload of a picture held, without the picture itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Upload {
    /// Part `question`, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// File name of part `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
    /// Content type of part `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_type: Option<String>,
    /// Length of part `file` in bytes; `None` when there is no such part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// The first four bytes of part `file`, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<String>,
    /// Whether the last two bytes of a picture (FF D9 in a JPEG) stand anywhere in part `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<bool>,
}

impl HttpExchange {
    /// A request of which nothing is known yet.
    pub fn unread() -> Self {
        Self {
            endpoint: HttpEndpoint::Other,
            method: String::new(),
            path: String::new(),
            headers: BTreeMap::new(),
            body: None,
            upload: None,
            status: None,
            client_id: None,
            binary_version: None,
            problem: None,
        }
    }

    /// A header's value, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}
