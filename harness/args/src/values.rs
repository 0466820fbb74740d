//! Values of arguments that more than one command has.

use std::time::Duration;

/// How long an answer is waited for unless told otherwise: real cameras take long.
pub(super) const DEFAULT_DEADLINE: &str = "10s";

/// A time with its unit: `500ms`, `90s`, `5m`, `1h`; a plain number is seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
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

/// The same, and `0` for none.
pub(super) fn duration_or_none(text: &str) -> Result<Duration, String> {
    match text {
        "0" | "0ms" | "0s" | "0m" => Ok(Duration::ZERO),
        _ => duration(text).map_err(|expected| format!("{expected}, or `0` for none")),
    }
}

/// A time as an argument that `duration` reads.
pub fn argument(time: Duration) -> String {
    format!("{}s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_with_its_unit_and_written_so_that_it_reads_back() {
        for (text, written) in [
            (DEFAULT_DEADLINE, DEFAULT_DEADLINE),
            ("2.5", "2.5s"),
            ("2m", "120s"),
            ("0.4ms", "0.0004s"),
        ] {
            let time = duration(text).unwrap();
            assert_eq!(argument(time), written);
            assert_eq!(duration(&argument(time)), Ok(time));
        }
        for wrong in ["0", "-1s", "soon", "2 days"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        for none in ["0", &argument(Duration::ZERO)] {
            assert_eq!(duration_or_none(none), Ok(Duration::ZERO), "{none}");
        }
        assert!(duration_or_none("soon").unwrap_err().contains("`0` for none"));
    }
}
