//! Boards on USB: which are attached, which one is meant, and who uses them.

pub mod discover;
mod known;
pub mod lock;
mod mac;
mod select;

pub use discover::{Attached, UsbBoard, attached, attached_under};
pub use known::{KNOWN, KnownUsb, UsbId, UsbKind};
pub use lock::{BoardLock, Holder, LockError};
pub use mac::Mac;
pub use select::{SelectError, Selector};
