//! Resets and the press of a button, as sequences on DTR and RTS.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::signals::{SignalError, Signals};

/// How long a chip is held in reset: its EN pin has a capacitor.
const HELD: Duration = Duration::from_millis(100);

/// What the lines reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Circuit {
    /// The pins EN and GPIO0, behind a USB converter.
    #[default]
    Uart,
    /// The chip's own USB port, which resets the chip itself. No pin is moved.
    UsbSerialJtag,
}

/// Releases both lines, as they have to be while the chip runs. The system asserts both when a port is
/// opened; RTS goes first, or the chip would be reset on the way.
///
/// # Errors
/// The port has no such lines, or is gone.
pub fn release(signals: &mut impl Signals) -> Result<(), SignalError> {
    signals.rts(false)?;
    signals.dtr(false)
}

/// Resets the chip; it boots from its flash.
///
/// # Errors
/// The port has no such lines, or is gone. That a chip's own port goes with the reset is none.
pub fn reset(signals: &mut impl Signals, circuit: Circuit) -> Result<(), SignalError> {
    // GPIO0 high: a chip that finds it low waits for its flash to be written.
    signals.dtr(false)?;
    if circuit == Circuit::UsbSerialJtag {
        signals.pause(HELD);
    }
    signals.rts(true)?;
    let rest = hold_and_let_go(signals, circuit);
    match (circuit, rest) {
        (Circuit::UsbSerialJtag, Err(SignalError::Lost(_))) => Ok(()),
        (_, rest) => rest,
    }
}

fn hold_and_let_go(signals: &mut impl Signals, circuit: Circuit) -> Result<(), SignalError> {
    if circuit == Circuit::UsbSerialJtag {
        // Some drivers tell the device of DTR only with RTS.
        signals.dtr(false)?;
        signals.rts(true)?;
    }
    signals.pause(HELD);
    signals.rts(false)
}

/// Presses the button at GPIO0 for a time. RTS stays released: with it the chip would be reset.
///
/// # Errors
/// As [`release`].
pub fn press(signals: &mut impl Signals, time: Duration) -> Result<(), SignalError> {
    signals.rts(false)?;
    signals.dtr(true)?;
    signals.pause(time);
    signals.dtr(false)
}
