//! Reviewed answers of devices. This package holds tests only.
//!
//! A scenario marks an answer that is worth a look with `snapshot: <name>`. The test of this
//! package runs those cases and compares each marked answer with the one that a person has
//! reviewed, in `<device>/<area>/<name>.snap`. The checks say whether an answer is *allowed*; a
//! snapshot says whether it is *the same as before*: a reworded error, a renamed tool or another
//! description shows here and nowhere else.
//!
//! What differs from run to run is replaced, by rules in `harness/runner/src/snapshots/redactions.toml`.
//! Everything else stands as the device sent it, in its order.
//!
//! `mcp-hil run` compares the same files, for any device; this test does so through `insta`, for the
//! reference device, and looks whether the files of others can be read and are asked for. After a change
//! that is meant: `cargo insta review`, or without that tool `mcp-hil run --snapshots update` and a look
//! at the difference in version control. A snapshot that no step asks for any more fails the test, too.
