//! Time that moves only when a test says so.

use std::{sync::Arc, time::Duration};

use steadfast_engine::{Clock, Timestamp, Wait};
use tokio::sync::watch;

/// A clock that stands still.
#[derive(Debug)]
pub(crate) struct StillClock {
    now: watch::Sender<Timestamp>,
}

impl StillClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { now: watch::Sender::new(Timestamp::from_secs(1_000_000)) })
    }

    /// Lets time pass. Whoever has waited long enough is woken.
    pub(crate) fn pass(&self, span: Duration) {
        self.now.send_modify(|now| *now = now.after(span));
    }
}

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        *self.now.borrow()
    }

    fn sleep(&self, span: Duration) -> Wait {
        let mut seen = self.now.subscribe();
        let until = self.now().after(span);
        Box::pin(async move {
            // A clock that is gone wakes nobody: its engine is gone, too.
            if seen.wait_for(|now| *now >= until).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}
