//! Tests of `mcp-hil-native` as a program.

mod bootstrap;
mod broker;
mod memory;
mod mqtt;
mod mutants;
mod process;
mod program;
mod server;
mod stock;
mod variants;
mod vision;
mod web;
