//! The engine's end: whoever waits for long also waits for this.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use steadfast_store::Error as StoreError;
use tokio::sync::Notify;

/// Why an engine can do nothing more with its data, and never will: another process has it, its file
/// is gone or damaged, or the store was closed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", if self.is_taken_over() { TAKEN_OVER.to_owned() } else { self.0.to_string() })]
pub struct Lost(Arc<StoreError>);

impl Lost {
    fn is_taken_over(&self) -> bool {
        matches!(*self.0, StoreError::Fenced { .. })
    }
}

const TAKEN_OVER: &str =
    "the data was opened again, by another process or by this one, and belongs to that now";

/// Whether the engine has ended: it stops, or its data is lost to it.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    is_set: AtomicBool,
    lost: OnceLock<Lost>,
    news: Notify,
}

impl Ended {
    /// The engine ends now.
    pub(crate) fn set(&self) {
        self.is_set.store(true, Ordering::Release);
        self.news.notify_waiters();
    }

    /// The engine ends now, for its store says so.
    pub(crate) fn lose(&self, error: StoreError) {
        // Of several reasons the first one counts.
        let _ = self.lost.set(Lost(Arc::new(error)));
        self.set();
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    pub(crate) fn lost(&self) -> Option<&Lost> {
        self.lost.get()
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
