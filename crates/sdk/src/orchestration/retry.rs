//! Retries as code of the orchestration: a loop of attempts, waits between them, a race of each
//! attempt against its deadline.

use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};

use super::{
    combine::{Either2, first_of},
    context::OrchestrationContext,
    counters::Counters,
    plan::RetryPlan,
    text,
};

/// What a call ends with whose attempt took too long.
const ATTEMPT_TIMED_OUT: &str = "timeout: activity timed out";
/// What a call ends with whose attempts all together took too long.
const CALL_TIMED_OUT: &str = "timeout: retry deadline exceeded";

/// Calls with retry.
impl OrchestrationContext {
    /// Calls an activity, and calls it again when it fails, as the policy says.
    ///
    /// Each attempt is an activity of its own in history. With a timeout, each attempt is raced
    /// against a timer of its own, which is made before it; the time that the attempt waits for a
    /// worker counts. An attempt that takes too long is cancelled and **not** tried again: the call
    /// ends at once with `timeout: activity timed out`. After the last attempt it ends with that
    /// attempt's error.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use steadfast::orchestration::{BackoffStrategy, OrchestrationContext, RetryPolicy};
    /// # async fn f(ctx: OrchestrationContext) -> Result<String, String> {
    /// let policy = RetryPolicy::new(5)
    ///     .with_timeout(Duration::from_secs(30))
    ///     .with_backoff(BackoffStrategy::Fixed { delay: Duration::from_secs(1) });
    /// let receipt = ctx.schedule_activity_with_retry("Charge", "order 17", policy).await?;
    /// # Ok(receipt) }
    /// ```
    pub async fn schedule_activity_with_retry(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
        policy: impl Into<RetryPlan>,
    ) -> Result<String, String> {
        let (name, input) = (name.into(), input.into());
        self.retried(&policy.into(), &name, || {
            let activity = self.start_activity(&name, &input);
            self.heard(activity)
        })
        .await
    }

    /// As [`schedule_activity_with_retry`](Self::schedule_activity_with_retry), with types. The
    /// input is written once, however many attempts there are.
    pub async fn schedule_activity_with_retry_typed<In, Out>(
        &self,
        name: impl Into<String>,
        input: &In,
        policy: impl Into<RetryPlan>,
    ) -> Result<Out, String>
    where
        In: Serialize,
        Out: DeserializeOwned,
    {
        let input = text::of(input)?;
        text::read(&self.schedule_activity_with_retry(name, input, policy).await?)
    }

    /// Calls a sub-orchestration, and calls it again, as a new instance, when it fails.
    pub async fn schedule_sub_orchestration_with_retry(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
        policy: impl Into<RetryPlan>,
    ) -> Result<String, String> {
        let (name, input) = (name.into(), input.into());
        self.retried(&policy.into(), &name, || self.call_sub_orchestration(&name, &input)).await
    }

    /// Makes attempts until one succeeds, or the plan has no more, or time is up.
    async fn retried<Attempt>(
        &self,
        plan: &RetryPlan,
        name: &str,
        begin: impl Fn() -> Attempt,
    ) -> Result<String, String>
    where
        Attempt: Future<Output = Result<String, String>>,
    {
        plan.check()?;
        let Some(total) = plan.total_timeout else {
            return self.attempts(plan, name, begin).await;
        };
        let deadline = self.timer(total);
        match first_of(self.attempts(plan, name, begin), deadline).await {
            Either2::First(result) => result,
            Either2::Second(()) => {
                self.count(Counters::timeout);
                Err(CALL_TIMED_OUT.to_owned())
            }
        }
    }

    async fn attempts<Attempt>(
        &self,
        plan: &RetryPlan,
        name: &str,
        begin: impl Fn() -> Attempt,
    ) -> Result<String, String>
    where
        Attempt: Future<Output = Result<String, String>>,
    {
        let mut attempt = 1;
        loop {
            let result = self.in_time(plan.policy.timeout, &begin).await;
            let Some(result) = result else {
                self.count(Counters::timeout);
                return Err(ATTEMPT_TIMED_OUT.to_owned());
            };
            let error = match result {
                Err(error) if plan.retries(&error) => error,
                result => return result,
            };
            let max = plan.policy.max_attempts;
            if attempt >= max {
                self.count(Counters::exhausted);
                return Err(error);
            }
            self.count(Counters::retry);
            self.trace_warn(format!("{name}: attempt {attempt} of {max} failed: {error}"));
            let delay = plan.delay(attempt, || self.workflow().random());
            if !delay.is_zero() {
                self.timer(delay).await;
            }
            attempt += 1;
        }
    }

    /// Begins an attempt and waits for it, but not longer than this.
    async fn in_time<Attempt>(
        &self,
        timeout: Option<Duration>,
        begin: impl Fn() -> Attempt,
    ) -> Option<Result<String, String>>
    where
        Attempt: Future<Output = Result<String, String>>,
    {
        let Some(timeout) = timeout else { return Some(begin().await) };
        // The deadline is made first: history has it before the attempt. Whoever loses is dropped,
        // and so cancelled.
        let deadline = self.timer(timeout);
        match first_of(begin(), deadline).await {
            Either2::First(result) => Some(result),
            Either2::Second(()) => None,
        }
    }
}
