//! Wire types on two levels: [`Frame`] and [`Inbound`] hold anything that a device sends, so that
//! what cannot be understood is still recorded in full; [`outbound`] only makes legal messages.

mod audio;
mod frame;
mod inbound;
pub mod outbound;
mod scan;

pub use audio::{AUDIO_HEADER_BYTES, AudioHeader};
pub use frame::{Frame, OddFrame, from_hex, to_hex};
pub use inbound::{Inbound, Message, Payload};
pub use scan::{as_integer, id_key, narrows_to, recover_id, same_value, without_lone_surrogates};
pub(crate) use scan::{forgiven, read_json, recover_ids};

/// The path of the URL that a device is told to dial over WebSocket.
pub const WEBSOCKET_PATH: &str = "/xiaozhi/v1/";
