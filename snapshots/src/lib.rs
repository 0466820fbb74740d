//! Reviewed answers of devices. This package holds tests only.
//!
//! A scenario marks an answer that is worth a look with `snapshot: <name>`. The test of this
//! package runs those cases and compares each marked answer with the one that a person has
//! reviewed, in `<device>/<area>/<name>.snap`. The checks say whether an answer is *allowed*; a
//! snapshot says whether it is *the same as before*: a reworded error, a renamed tool or another
//! description shows here and nowhere else.
//!
//! What differs from run to run is replaced: ids, the session id, times since boot and free
//! memory. Everything else stands as the device sent it, in its order.
//!
//! After a change that is meant: `cargo insta review`, or without that tool
//! `INSTA_UPDATE=always cargo test -p mcp-hil-snapshots` and a look at the difference in version
//! control. A snapshot that no step asks for any more fails the test, too.
