//! Tests of `mcp-hil-native` as a program.

mod mutants;
mod process;
mod server;
mod stimuli;
