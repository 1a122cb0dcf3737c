//! When an error is resumed.

use std::time::Duration;

use serde::Serialize;

use super::{ActionError, Policy};
use crate::{seed::Unit, time::Timestamp};

/// How long to wait, in seconds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackOff {
    /// The base.
    pub delay: u64,
    /// The cap, or the upper end of the random range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<u64>,
    /// Multiplies delay and attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplier: Option<u64>,
    /// Whether the wait is drawn between delay and the cap.
    pub random: bool,
}

/// A resume that has been scheduled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Resume<'a> {
    /// The error's stop time plus the wait.
    pub at: Timestamp,
    /// The wait.
    pub delay: Duration,
    /// The policy's name.
    pub reason: &'a str,
}

impl Policy {
    /// When and why an error that the policy takes is resumed. `unit` is used only by `random`.
    #[must_use]
    pub fn resume(&self, error: &ActionError<'_>, unit: Unit) -> Resume<'_> {
        let delay = self.back_off.wait(error.attempts, unit);
        Resume { at: error.stopped_at.after(delay), delay, reason: &self.name }
    }
}

impl BackOff {
    /// The wait after so many attempts. Whole seconds; what is too large saturates.
    ///
    /// `random` wins over `multiplier`; without either, `max_delay` means nothing.
    #[must_use]
    pub fn wait(&self, attempts: u32, unit: Unit) -> Duration {
        let seconds = match (self.random, self.max_delay, self.multiplier) {
            (true, Some(max), _) => draw(self.delay, max, unit),
            (_, max, Some(multiplier)) => {
                let product = self.delay.saturating_mul(multiplier);
                product.saturating_mul(u64::from(attempts)).min(max.unwrap_or(u64::MAX))
            }
            (_, _, None) => self.delay,
        };
        Duration::from_secs(seconds)
    }
}

/// A whole second from `low` to `high`, both included, each as likely as the others.
fn draw(low: u64, high: u64, unit: Unit) -> u64 {
    let seconds = u128::from(high.saturating_sub(low)) + 1;
    low.saturating_add(u64::try_from(unit.of(seconds)).unwrap_or(u64::MAX)).min(high.max(low))
}
