//! What `core` has not got for numbers with a fraction.

/// Towards zero.
pub(crate) fn trunc(value: f64) -> f64 {
    // From here on there is no fraction, and the cast would lose something.
    const TWO_TO_53: f64 = 9_007_199_254_740_992.0;
    if value.abs() < TWO_TO_53 { value as i64 as f64 } else { value }
}

/// To the nearest, halves away from zero.
pub(crate) fn round(value: f64) -> f64 {
    let whole = trunc(value);
    if (value - whole).abs() < 0.5 { whole } else { whole + 1_f64.copysign(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_what_std_does() {
        for value in [
            0.0,
            0.4,
            0.5,
            0.499_999_999_999_999_94,
            1.5,
            2.5,
            -0.5,
            -2.5,
            -7.9,
            1e15,
            1e16,
            1e300,
            -1e300,
        ] {
            assert_eq!(trunc(value), f64::trunc(value), "{value}");
            assert_eq!(round(value), f64::round(value), "{value}");
        }
    }
}
