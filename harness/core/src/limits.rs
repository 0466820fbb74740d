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
