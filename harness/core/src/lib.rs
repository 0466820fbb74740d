//! The judge of `mcp-hil`, without sockets, files, threads or a clock.
//!
//! Data flows one way: a [`transcript`] of what was sent, received and logged goes in, a
//! [`verdict`] comes out. Read the modules in this order:
//!
//! 1. [`wire`]: what a device may send (anything) and what the harness may send (legal messages);
//! 2. [`transcript`]: the record of a session, with offsets and directions;
//! 3. [`catalogue`]: the requirements, as data;
//! 4. [`scenario`]: the scripted stimuli and their expectations, as data;
//!    [`generate`] draws further ones by chance;
//! 5. [`conversation`]: ids, what is in flight, how long to be patient;
//! 6. [`check`]: pure judgements over the transcript;
//! 7. [`compare`]: what two transports answered to the same requests;
//! 8. [`verdict`] and [`baseline`]: what the findings amount to.
//!
//! Beside that flow stands [`gateway`]: the volume gateway, which shares nothing with its judge
//! [`check::gateway`].
//!
//! Time is an argument everywhere (microseconds since the session began); nothing here sleeps.

pub mod baseline;
pub mod capability;
pub mod catalogue;
pub mod check;
pub mod compare;
pub mod conversation;
pub mod gateway;
pub mod generate;
pub mod identity;

pub mod limits;
pub mod obligation;
pub mod problem;
pub mod scenario;
pub mod transcript;
pub mod verdict;
pub mod wire;
