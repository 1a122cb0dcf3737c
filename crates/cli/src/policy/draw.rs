//! Lines that show how long something is beside something longer.

use std::time::Duration;

/// A bar for a wait, as long as its share of the longest, in eighths of a character.
pub(crate) fn bar(wait: Duration, longest: Duration) -> String {
    if longest.is_zero() || wait.is_zero() {
        return String::new();
    }
    let eighths = wait.as_nanos().saturating_mul(WIDTH * 8) / longest.as_nanos();
    let eighths = usize::try_from(eighths).unwrap_or_default().max(1);
    let (full, rest) = (eighths / 8, eighths % 8);
    let tip = PARTS.get(rest).copied().unwrap_or_default();
    format!("{}{tip}", "█".repeat(full))
}

/// Characters that the longest bar takes.
const WIDTH: u128 = 24;
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        let second = Duration::from_secs(1);
        assert_eq!(bar(24 * second, 24 * second), "█".repeat(24));
        assert_eq!(bar(second / 2, 24 * second), "▌");
        assert_eq!(bar(second / 1000, 24 * second), "▏", "what there is can be seen");
        assert_eq!(bar(Duration::ZERO, second), "");
        assert_eq!(bar(second, Duration::ZERO), "");
    }
}
