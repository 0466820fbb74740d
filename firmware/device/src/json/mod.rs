//! JSON without trees: messages are read where they lie and answers are written as text, because the
//! memory of a chip holds one copy of a large message and not two.

mod read;
mod write;

pub(crate) use read::{Object, Text, Value};
pub(crate) use write::{push_string, string};
