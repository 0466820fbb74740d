//! The limits that keep a misbehaving device from taking the harness down.
//!
//! Each is far above what a conforming device needs. When one strikes, the transcript says so by
//! name and value, and a check turns it into a finding about the device.

/// Longest message taken from a device, in bytes. Real devices send at most 64 KiB in
/// one frame; the largest legal answer is a page of 8,000 bytes.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// Deepest nesting of a JSON text from a device that is looked into.
pub const MAX_JSON_DEPTH: usize = 128;

/// Most pages that one listing walks before it is called endless.
pub const MAX_PAGES: usize = 100;

/// Longest console line kept, in bytes; the rest of a longer line is cut.
pub const MAX_CONSOLE_LINE_BYTES: usize = 4 * 1024;

/// Most console lines kept in one case; further lines are counted only.
pub const MAX_CONSOLE_LINES_PER_CASE: usize = 20_000;

/// Most frames that a device may send in one case beyond those that were asked for.
pub const MAX_UNASKED_FRAMES_PER_CASE: usize = 5_000;

/// Most bytes that a device may send in one case. A conforming device stays below 1 MiB.
pub const MAX_BYTES_PER_CASE: usize = 64 * 1024 * 1024;

/// Bytes of a binary (audio) frame that the transcript keeps.
pub const BINARY_BYTES_KEPT: usize = 32;

/// Largest result of one `tools/list` page, in bytes of compact JSON (xiaozhi MCP flow).
pub const MAX_PAGE_BYTES: usize = 8_000;

/// Largest MQTT packet that the published gateway takes from a device, in bytes, header and topic
/// included; it closes the connection on a larger one (device-protocol 3.4).
pub const GATEWAY_PACKET_BYTES: usize = 8_192;

/// Longest request that has to be answered, in bytes. A parser may limit the size of texts (RFC 8259, section 9), and one
/// measured device takes no message of more than 4,096 bytes (device-protocol 2.2), to which a zero may belong.
pub const MAX_ANSWERED_MESSAGE_BYTES: usize = 4_095;

/// Deepest nesting of a request that has to be answered, its envelope included. A parser may limit the depth (RFC 8259,
/// section 9), and a usual one of small devices does at ten unless it is told otherwise.
pub const MAX_ANSWERED_DEPTH: usize = 10;

/// Longest message that a device has to take, in bytes: documented servers send no longer one, and their gateway takes
/// none (device-protocol 3.4). A longer one may be refused by closing the connection (RFC 6455, 7.4.1).
pub const MAX_OWED_MESSAGE_BYTES: usize = GATEWAY_PACKET_BYTES;

/// Longest body of an HTTP request taken from a device, in bytes, an upload of a picture aside.
/// The configuration request of real firmware has about 2 KiB.
pub const MAX_HTTP_BODY_BYTES: usize = 1024 * 1024;

/// Longest upload of a picture, in bytes. Cameras of the family send JPEG of 10 to 200 KiB.
pub const MAX_UPLOAD_BYTES: usize = 8 * 1024 * 1024;

/// Longest question beside a picture that is kept, in bytes; the rest of a longer one is cut.
pub const MAX_QUESTION_BYTES: usize = 64 * 1024;

/// Most headers of an HTTP request. Real firmware sends about ten.
pub const MAX_HTTP_HEADERS: usize = 64;

/// Longest head (request line and headers) of an HTTP request, in bytes.
pub const MAX_HTTP_HEAD_BYTES: usize = 16 * 1024;

/// How long a whole HTTP request may take, in seconds. Stock firmware itself waits 30 s for an
/// answer; its requests are sent within one.
pub const MAX_HTTP_REQUEST_S: u64 = 10;

/// Most HTTP connections at the same time; further ones are dropped.
pub const MAX_HTTP_CONNECTIONS: usize = 64;
