//! Values of arguments that more than one command has.

use std::time::Duration;

/// How long an answer is waited for unless told otherwise, in seconds: real cameras take long.
pub(super) const DEFAULT_DEADLINE: f64 = 10.0;

/// A time with its unit: `500ms`, `90s`, `5m`, `1h`; a plain number is seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let units = [
        ("ms", 0.001),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
        ("", 1.0),
    ];
    let parsed = units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * factor)
    });
    match parsed {
        Some(seconds) if seconds > 0.0 && seconds <= 86_400.0 => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err("expected a time above 0 and up to a day, such as `90s` or `5m`".into()),
    }
}

/// A number of seconds.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err("expected a number of seconds above 0 and up to a day".into()),
    }
}
