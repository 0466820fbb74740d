//! The two lines of a serial port that reach a chip: DTR and RTS.
//!
//! On boards with a converter and the usual two transistors, DTR alone pulls GPIO0 low, RTS alone holds
//! the chip in reset, and both together do nothing. The USB port that a chip has itself knows the same
//! lines and does the same inside (`espflash/src/connection/reset.rs`).

use std::io;
use std::time::Duration;

use nix::errno::Errno;
use serialport::{SerialPort as _, TTYPort};

/// Why a line could not be set.
#[derive(Debug)]
pub enum SignalError {
    /// The port has no such lines: it is a pseudo terminal, or a cable with three wires.
    Absent,
    /// The port does not work any more.
    Lost(io::Error),
}

/// A port with these lines.
pub trait Signals {
    /// Asserts DTR, or releases it.
    ///
    /// # Errors
    /// There is no such line, or the port is gone.
    fn dtr(&mut self, asserted: bool) -> Result<(), SignalError>;

    /// Asserts RTS, or releases it.
    ///
    /// # Errors
    /// There is no such line, or the port is gone.
    fn rts(&mut self, asserted: bool) -> Result<(), SignalError>;

    /// Lets time pass between two of them.
    fn pause(&mut self, time: Duration);
}

impl Signals for TTYPort {
    fn dtr(&mut self, asserted: bool) -> Result<(), SignalError> {
        self.write_data_terminal_ready(asserted).map_err(why)
    }

    fn rts(&mut self, asserted: bool) -> Result<(), SignalError> {
        self.write_request_to_send(asserted).map_err(why)
    }

    fn pause(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The library keeps of the system's number only its text.
fn why(error: serialport::Error) -> SignalError {
    let absent = [Errno::ENOTTY, Errno::EINVAL].map(Errno::desc);
    match absent.contains(&error.description.as_str()) {
        true => SignalError::Absent,
        false => SignalError::Lost(error.into()),
    }
}
