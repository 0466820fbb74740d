//! Boards on USB: which are attached, which one is meant, who uses them, and what is done to them.

pub mod bridge;
pub mod discover;
mod known;
pub mod ladder;
pub mod lock;
mod mac;
pub mod port;
pub mod protocol;
pub mod queue;
mod select;
pub mod trigger;

pub use discover::{Attached, UsbBoard, attached, attached_under};
pub use known::{KNOWN, KnownUsb, UsbId, UsbKind};
pub use lock::{BoardLock, Holder, LockError};
pub use mac::Mac;
pub use select::{SelectError, Selector};
