//! How much of what others send the device takes. A chip has a few hundred KiB of memory: what a peer
//! controls is measured before memory is taken for it.

/// Largest message from the server in bytes, and largest body of an HTTP answer. Client frames of stock
/// firmware end at the same size (device-protocol 2.3), and strings of 60,000 bytes with what stands
/// around them fit. One such message may lie in memory at a time.
pub const LARGEST_MESSAGE: usize = 65_535;

/// Longest text that is stored as a setting, in bytes: what the non-volatile storage of the family takes
/// as a string, 4,000 bytes with the NUL at its end.
pub(crate) const LONGEST_SETTING: usize = 3_999;

/// Longest text that is an argument of a tool, in bytes. A language model writes no longer ones, and a
/// tool keeps its own copy.
pub(crate) const LONGEST_ARGUMENT: usize = 4_096;

/// Longest session id in bytes: it goes into every message. Servers use UUIDs.
pub(crate) const LONGEST_SESSION: usize = 1_024;

/// What an error says of a name that the peer made up, in bytes; a longer one is cut.
pub(crate) const LONGEST_ECHO: usize = 1_024;

/// Longest explanation of a picture in bytes: as an answer it still fits the 8,192 bytes of a packet that
/// the protocol gateway takes (device-protocol 3.4), unless it is nothing but escapes.
pub(crate) const LONGEST_EXPLANATION: usize = 7_680;
