//! Names that the parts of a run go by.

/// Stands for the transport in the report of a comparison of both.
pub const BOTH: &str = "both";

/// Stands for the device in the record of a gateway's tests.
pub const GATEWAY: &str = "gateway";

/// A device over a transport: `native/websocket`.
pub fn dut_over(dut: &str, transport: &str) -> String {
    format!("{dut}/{transport}")
}

/// The file of a case's transcript, relative to the run's folder.
pub fn transcript_name(case: &str) -> String {
    format!("transcripts/{}.jsonl", case.replace('/', "."))
}
