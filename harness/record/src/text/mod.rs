//! Text for people: what devices say is made harmless, lines fit a terminal.

pub mod clean;
pub mod layout;
