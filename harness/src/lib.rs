//! `mcp-hil`: plays the backend to an MCP device, judges every answer, writes reports.
//!
//! The program itself is thin: `main` reads the command line and calls the packages beside this one. Here are the
//! commands that belong to none of them. [`clean`] deletes old runs, [`doctor`] says what is missing on this machine, [`explain`] shows
//! requirements and cases, [`init`] writes the files with which a folder begins, [`install`] what shells and editors
//! know of the program, [`review`] shows answers that wait for review, [`replay`] judges the transcripts of an earlier run once more, and [`self_test`] runs the
//! program over and over, to test the harness itself.

// With the feature `hil` the tests of devices are meant, and those alone: see `tests/hil`.
#![cfg(not(all(test, feature = "hil")))]

pub mod clean;
pub mod doctor;
pub mod explain;
pub mod init;
pub mod install;
pub mod replay;
pub mod review;
pub mod self_test;
