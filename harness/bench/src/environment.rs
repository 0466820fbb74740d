//! Variables of the environment, as people set them.

use std::ffi::OsString;

/// The value of a variable. One that is set and empty counts as one that is not set.
pub fn given(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
