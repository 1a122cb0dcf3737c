//! The one place where the engine learns what time it is.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use steadfast_retry::Timestamp;

/// A wait that ends.
pub type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A source of time. Tests and the simulation bring their own.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// What time it is. It may jump, also backwards: whoever needs order must see to it.
    fn now(&self) -> Timestamp;

    /// Waits for as long, by a clock that does not jump.
    fn sleep(&self, span: Duration) -> Wait;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    }

    fn sleep(&self, span: Duration) -> Wait {
        #[expect(clippy::disallowed_methods, reason = "this is where waiting comes from")]
        let sleep = tokio::time::sleep(span);
        Box::pin(sleep)
    }
}
