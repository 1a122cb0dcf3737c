//! Time as a policy sees it: a number it is handed, never one it looks up.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Nanoseconds since the unix epoch. Spans between two of them are [`Duration`]s.
///
/// ```
/// # use std::time::Duration;
/// # use steadfast_retry::Timestamp;
/// let start = Timestamp::from_secs(10);
/// assert_eq!(start.after(Duration::from_millis(500)).since(start), Duration::from_millis(500));
/// assert_eq!(start.since(start.after(Duration::MAX)), Duration::ZERO);
/// ```
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The last instant there is; `after` stops here.
    pub const MAX: Self = Self(i64::MAX);

    /// Whole seconds since the unix epoch, saturating.
    #[must_use]
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Milliseconds since the unix epoch, saturating.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the unix epoch.
    #[must_use]
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// The instant `delay` after this one, or the end of time.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        let delay = i128::try_from(delay.as_nanos()).unwrap_or(i128::MAX);
        let nanos = i128::from(self.0).saturating_add(delay);
        Self(i64::try_from(nanos).unwrap_or(i64::MAX))
    }

    /// The span from `earlier` to this instant; zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        let nanos = i128::from(self.0) - i128::from(earlier.0);
        Duration::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Timestamp {
    /// Seconds since the epoch, with as many decimals as there are: `7`, `0.5`, `-1.25`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (secs, nanos) = (self.0.unsigned_abs() / NANOS, self.0.unsigned_abs() % NANOS);
        let text = match nanos {
            0 => format!("{sign}{secs}"),
            _ => format!("{sign}{secs}.{}", format!("{nanos:09}").trim_end_matches('0')),
        };
        f.pad(&text)
    }
}

const NANOS: u64 = 1_000_000_000;
