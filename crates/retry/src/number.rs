//! The few conversions between integers and floats, each with its rounding said aloud.

use std::time::Duration;

/// The nearest float; above 2^53 the low bits are lost.
#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "rounding is the contract")]
pub(crate) fn float(n: u128) -> f64 {
    n as f64
}

/// The nearest whole number of nanoseconds: negative and not-a-number give 0, too large saturates.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, which is the contract"
)]
pub(crate) fn nanos(x: f64) -> u128 {
    x.round() as u128
}

/// The duration of so many nanoseconds, saturating at the longest there is.
pub(crate) fn duration(nanos: u128) -> Duration {
    const NANOS: u128 = 1_000_000_000;
    // Six centuries fit into 64 bits, and dividing 128 of them is slow.
    if let Ok(nanos) = u64::try_from(nanos) {
        return Duration::from_nanos(nanos);
    }
    match (u64::try_from(nanos / NANOS), u32::try_from(nanos % NANOS)) {
        (Ok(secs), Ok(rest)) => Duration::new(secs, rest),
        _ => Duration::MAX,
    }
}

/// `span` times `factor`, saturating.
pub(crate) fn scale(span: Duration, factor: f64) -> Duration {
    duration(nanos(float(span.as_nanos()) * factor))
}

/// `base` to the power of `exponent` by squaring.
///
/// Only IEEE multiplications, so the result is the same on every machine, and 32 rounds at the
/// most, so the four-billionth attempt costs what the fourth does.
pub(crate) fn power(base: f64, exponent: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}
