//! Gateways: one of our own, the tests of others', and a server that only shows what devices say.

pub mod mqtt;
pub mod serve;
pub mod server;
pub mod suite;
