//! A scenario file as serde reads it, before anything is checked. The comments of members are what editors show.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use mcp_hil_core::wire::OddFrame;

use super::model::Linger;
use super::pieces;

/// A scenario file, as it is written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCase {
    /// One line for people.
    pub(super) title: String,
    /// Capabilities without which the case does not apply.
    #[serde(default)]
    #[schemars(schema_with = "pieces::needs")]
    pub(super) needs: Vec<Spanned<String>>,
    /// Whether it begins with a new connection.
    #[serde(default)]
    pub(super) fresh: bool,
    /// What is done, in order.
    #[schemars(with = "Vec<RawStep>", length(min = 1))]
    pub(super) steps: Vec<Spanned<RawStep>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStep {
    /// Sends a request; without `id` it gets a unique integer.
    pub(super) request: Option<RawRequest>,
    /// Sends a tools/call.
    pub(super) call: Option<RawCall>,
    /// Calls self.get_device_status.
    pub(super) status: Option<Nothing>,
    /// Sends a notification.
    pub(super) notify: Option<RawNotify>,
    /// Sends any JSON as the payload of a correct envelope.
    pub(super) payload: Option<Value>,
    /// Sends raw text as the payload, for spellings that a JSON value cannot express.
    pub(super) payload_text: Option<String>,
    /// Sends any JSON as the whole message.
    pub(super) envelope: Option<Value>,
    /// Sends a raw text frame.
    pub(super) text: Option<String>,
    /// Sends a text frame of any bytes, in hexadecimal: they need not be UTF-8.
    #[schemars(schema_with = "pieces::hex")]
    pub(super) text_bytes: Option<String>,
    /// Sends a binary frame, in hexadecimal.
    #[schemars(schema_with = "pieces::hex")]
    pub(super) binary: Option<String>,
    /// Sends a WebSocket ping.
    pub(super) ping: Option<RawPing>,
    /// Sends a WebSocket pong that answers no ping.
    pub(super) pong: Option<RawPing>,
    /// Sends tools/list, and follows all pages.
    pub(super) list: Option<RawList>,
    /// Sends steps back to back, then waits for all answers.
    #[schemars(with = "Option<Vec<RawStep>>", length(min = 1))]
    pub(super) burst: Option<Vec<Spanned<RawStep>>>,
    /// Closes TCP, and waits until the device has connected again.
    // `drop` is its old name.
    #[serde(alias = "drop")]
    pub(super) disconnect: Option<RawDisconnect>,
    /// Tells the device to restart, and waits until it has connected again.
    pub(super) reboot: Option<Nothing>,
    /// Offers another version of the binary framing, and restarts the device.
    pub(super) configure: Option<RawConfigure>,
    /// Sends a Close frame, and waits for the device's; the last step of a case.
    pub(super) close: Option<RawClose>,
    /// Waits until an MQTT device sends PINGREQ.
    pub(super) keep_alive: Option<Nothing>,
    /// Stays connected for half of the time of `--linger`.
    #[schemars(extend("enum" = ["quiet", "busy", "each"]))]
    #[schemars(with = "Option<String>")]
    pub(super) linger: Option<Linger>,
    /// Listens to audio for so many milliseconds, or until the next packet (`next`).
    pub(super) audio: Option<RawAudio>,
    /// Waits up to 2 s for a console line that matches.
    pub(super) console: Option<String>,
    /// Repeats the steps in `do` for each row; the members of a row are variables.
    #[schemars(length(min = 1))]
    pub(super) each: Option<Vec<Map<String, Value>>>,

    /// The steps that `each` repeats.
    #[serde(rename = "do")]
    #[schemars(with = "Option<Vec<RawStep>>", length(min = 1))]
    pub(super) body: Option<Vec<Spanned<RawStep>>>,
    /// How often `burst` sends its steps.
    pub(super) times: Option<usize>,
    /// What must be true of the answer.
    #[schemars(schema_with = "pieces::expectations")]
    pub(super) expect: Option<Value>,
    /// What the line of `console`, or the times of `linger`, show.
    #[schemars(schema_with = "pieces::requirement")]
    pub(super) requirement: Option<String>,
    /// Stores parts of the answer in variables: name and JSON pointer.
    #[serde(default)]
    #[schemars(schema_with = "pieces::bind")]
    pub(super) bind: BTreeMap<String, String>,
    /// The requirement that is broken if the step changes the device's settings.
    #[schemars(schema_with = "pieces::requirement")]
    pub(super) unchanged: Option<String>,
    /// Sends the text in pieces of so many bytes.
    pub(super) fragment: Option<usize>,
    /// Sends a WebSocket ping, and a piece that is empty, between the pieces of `fragment`.
    #[serde(default)]
    pub(super) ping_between: bool,
    /// Ends the pieces of `fragment` with one that is empty.
    #[serde(default)]
    pub(super) empty_end: bool,
    /// Sends the message in TCP segments of 1, 2, 4 and so many bytes, each a moment after the other.
    #[serde(default)]
    pub(super) segments: bool,
    /// Sends the text in a WebSocket frame in which no server may send it.
    pub(super) odd_frame: Option<OddFrame>,
    /// MQTT's quality of service.
    #[schemars(range(min = 0, max = 1))]
    pub(super) qos: Option<u8>,
    /// Sends it with MQTT's flag of what is sent again, though it is not.
    #[serde(default)]
    pub(super) dup: bool,
    /// Makes the answer a reviewed answer of this name.
    pub(super) snapshot: Option<String>,
    /// Names a plain message, of which others are variations.
    pub(super) control: Option<String>,
    /// The control of which this message is a variation.
    pub(super) like: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClose {
    /// The reason that stands behind the code.
    #[schemars(length(max = 123))]
    pub(super) reason: Option<String>,
    /// Whether it has no code, and nothing else.
    #[serde(default)]
    pub(super) bare: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPing {
    /// How many bytes of data it has at least, with all values from 0; with 0 it has none.
    #[schemars(range(max = 125))]
    pub(super) bytes: Option<u8>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum RawAudio {
    Listen(u64),
    Next(Next),
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Next {
    Next,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConfigure {
    #[schemars(range(min = 1, max = 3))]
    pub(super) version: u8,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDisconnect {
    /// Steps that are sent just before, without waiting for answers.
    #[schemars(with = "Option<Vec<RawStep>>", length(min = 1))]
    pub(super) after: Option<Vec<Spanned<RawStep>>>,
    /// Whether half a message is sent behind that.
    #[serde(default)]
    pub(super) inside: bool,
    /// Whether a WebSocket ping comes directly behind the response to the next handshake.
    #[serde(default)]
    pub(super) pinged: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRequest {
    pub(super) method: Value,
    #[serde(default, deserialize_with = "present")]
    pub(super) params: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    pub(super) id: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCall {
    pub(super) tool: Value,
    #[serde(default, deserialize_with = "present")]
    pub(super) arguments: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    pub(super) id: Option<Value>,
    pub(super) meta: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNotify {
    pub(super) method: Value,
    #[serde(default, deserialize_with = "present")]
    pub(super) params: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawList {
    #[serde(rename = "withUserTools", default, deserialize_with = "present")]
    pub(super) with_user_tools: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    pub(super) cursor: Option<Value>,
}

/// An explicit `null` is a value to send, unlike an absent member.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
