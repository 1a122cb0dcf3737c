//! Somebody who wants to hear of failures.

use std::sync::atomic::{AtomicUsize, Ordering};

use steadfast_engine::{Posted, Webhooks};
use tokio::sync::Semaphore;

/// Takes whatever it is told, once it is at home.
#[derive(Debug)]
pub(crate) struct Hook {
    heard: AtomicUsize,
    /// Whoever has it keeps the hook from hearing anything.
    pub(crate) door: Semaphore,
}

impl Default for Hook {
    fn default() -> Self {
        Self { heard: AtomicUsize::new(0), door: Semaphore::new(1) }
    }
}

impl Hook {
    /// How many documents it was told.
    pub(crate) fn heard(&self) -> usize {
        self.heard.load(Ordering::Relaxed)
    }
}

impl Webhooks for Hook {
    fn post<'a>(&'a self, _: &'a str, _: &'a str) -> Posted<'a> {
        Box::pin(async move {
            let _home = self.door.acquire().await;
            self.heard.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    }
}
