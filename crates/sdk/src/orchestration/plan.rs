//! A retry policy, and what it can be given beyond the seed's three fields.

use std::{fmt, sync::Arc, time::Duration};

use steadfast_retry::preset::duroxide::RetryPolicy;

/// A retry policy with more to say: which errors are retried, waits that are spread, a limit for all
/// attempts together. Any [`RetryPolicy`] is one.
///
/// ```
/// use std::time::Duration;
/// use steadfast::orchestration::{RetryPlan, RetryPolicy};
///
/// let plan = RetryPlan::from(RetryPolicy::new(5))
///     .retry_if(|error| !error.contains("declined"))
///     .with_jitter(0.2)
///     .with_total_timeout(Duration::from_secs(60));
/// ```
#[derive(Clone)]
pub struct RetryPlan {
    pub(super) policy: RetryPolicy,
    pub(super) total_timeout: Option<Duration>,
    jitter: f64,
    retry_if: Option<Predicate>,
}

type Predicate = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl RetryPlan {
    /// Retries only errors of which this is true. It is code of the orchestration, and must say the
    /// same at every replay.
    #[must_use]
    pub fn retry_if(self, predicate: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self { retry_if: Some(Arc::new(predicate)), ..self }
    }

    /// Makes each wait shorter by up to this share of it, by chance; the same at every replay.
    #[must_use]
    pub fn with_jitter(self, share: f64) -> Self {
        Self { jitter: share, ..self }
    }

    /// No more time than this for all attempts and waits together.
    #[must_use]
    pub fn with_total_timeout(self, timeout: Duration) -> Self {
        Self { total_timeout: Some(timeout), ..self }
    }

    /// Whether it makes sense; if not, the field and what it should be.
    pub(super) fn check(&self) -> Result<(), String> {
        self.policy.validate().map_err(|error| error.to_string())?;
        match self.jitter {
            jitter if (0.0..=1.0).contains(&jitter) => Ok(()),
            jitter => Err(format!("jitter must be from 0 to 1, not {jitter}")),
        }
    }

    pub(super) fn retries(&self, error: &str) -> bool {
        self.retry_if.as_ref().is_none_or(|predicate| predicate(error))
    }

    /// The wait after this attempt failed. Chance is drawn only if it matters.
    pub(super) fn delay(&self, attempt: u32, draw: impl FnOnce() -> u64) -> Duration {
        let delay = self.policy.delay_for_attempt(attempt);
        if self.jitter <= 0.0 || delay.is_zero() {
            return delay;
        }
        // As fine as a f64 in 0..1 can be.
        #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "53 bits fit")]
        let share = (draw() >> 11) as f64 / (1_u64 << 53) as f64;
        delay.mul_f64(1.0 - self.jitter * share)
    }
}

impl From<RetryPolicy> for RetryPlan {
    fn from(policy: RetryPolicy) -> Self {
        Self { policy, total_timeout: None, jitter: 0.0, retry_if: None }
    }
}

impl fmt::Debug for RetryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryPlan")
            .field("policy", &self.policy)
            .field("total_timeout", &self.total_timeout)
            .field("jitter", &self.jitter)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_shortens_by_its_share_at_most() {
        let plan = RetryPlan::from(RetryPolicy::new(3)).with_jitter(0.5);
        assert_eq!(plan.delay(1, || 0), Duration::from_millis(100));
        assert_eq!(plan.delay(1, || u64::MAX).as_millis(), 50);
        assert!(plan.check().is_ok());
        let error = plan.with_jitter(1.5).check().unwrap_err();
        assert_eq!(error, "jitter must be from 0 to 1, not 1.5");
    }
}
