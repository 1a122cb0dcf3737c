//! Code that keeps its thread: while it does, nobody else can use it, the engine in the same process
//! included. It works, but slowly and for all; so the log names it.

use std::time::Duration;

use steadfast_engine::{Clock, Timestamp};

/// A thread that is lent to somebody's code.
#[derive(Debug)]
pub(super) struct Held<'a> {
    clock: &'a dyn Clock,
    since: Timestamp,
}

impl<'a> Held<'a> {
    pub(super) fn by(clock: &'a dyn Clock) -> Self {
        Self { clock, since: clock.now() }
    }

    /// It was a workflow's.
    pub(super) fn by_workflow(self, workflow_type: impl FnOnce() -> String) {
        if let Some(held) = self.for_long() {
            tracing::warn!(
                workflow_type = workflow_type(),
                ?held,
                "a workflow's code kept its thread for long: what takes its time belongs into an activity"
            );
        }
    }

    /// It was an activity's.
    pub(super) fn by_activity(self, activity_type: &str) {
        if let Some(held) = self.for_long() {
            tracing::warn!(
                activity_type,
                ?held,
                "an activity kept its thread for long: let it be a plain `fn`, which has one of its own, or \
                 await what it waits for"
            );
        }
    }

    fn for_long(&self) -> Option<Duration> {
        let held = self.clock.now().since(self.since);
        (held > LONG).then_some(held)
    }
}

const LONG: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use steadfast_engine::Wait;

    use super::*;

    /// A clock that is a second later each time that somebody looks.
    #[derive(Debug, Default)]
    struct Hasty(AtomicU64);

    impl Clock for Hasty {
        fn now(&self) -> Timestamp {
            let seconds = self.0.fetch_add(1, Ordering::Relaxed);
            Timestamp(0).after(Duration::from_secs(seconds))
        }

        fn sleep(&self, _: Duration) -> Wait {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn a_thread_that_is_kept_for_more_than_two_seconds_is_kept_for_long() {
        let clock = Hasty::default();
        let held = Held::by(&clock);
        assert_eq!(held.for_long(), None);
        assert_eq!(held.for_long(), None, "two seconds");
        assert_eq!(held.for_long(), Some(Duration::from_secs(3)));
    }
}
