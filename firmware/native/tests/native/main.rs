//! Tests of `mcp-hil-native` as a program.

mod process;
mod server;
