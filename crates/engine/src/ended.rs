//! The engine's end: whoever waits for long also waits for this.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Whether the engine has ended: it stops, or another one has its data.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    is_set: AtomicBool,
    news: Notify,
}

impl Ended {
    /// The engine ends now.
    pub(crate) fn set(&self) {
        self.is_set.store(true, Ordering::Release);
        self.news.notify_waiters();
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Waits for the end.
    pub(crate) async fn wait(&self) {
        let mut news = std::pin::pin!(self.news.notified());
        // From here on no news is missed, so it is not too late to look.
        news.as_mut().enable();
        if !self.is_set() {
            news.await;
        }
    }
}
