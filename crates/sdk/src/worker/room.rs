//! Room for attempts: so many at once, and so many a second.
//!
//! ```text
//!   slots ──▶ pace ──▶ poll ──▶ attempt          a poll holds a slot and a token;
//!     ▲         ▲        │         │             in vain, it gives back both,
//!     └─────────┴────────┘◀────────┘ slot        with a task, the token is spent
//! ```

use std::sync::Arc;

use steadfast_engine::Clock;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::pace::{Pace, Token};

/// Room for attempts.
#[derive(Debug)]
pub(crate) struct Room {
    slots: Arc<Semaphore>,
    at_once: usize,
    pace: Option<Pace>,
}

impl Room {
    pub(super) fn new(at_once: usize, per_second: Option<f64>, clock: &Arc<dyn Clock>) -> Self {
        let pace = per_second.map(|rate| Pace::new(rate, Arc::clone(clock)));
        Self { slots: Arc::new(Semaphore::new(at_once)), at_once, pace }
    }

    /// Waits until one more attempt may begin. Whoever has no room does not ask for a task, so that
    /// another worker can have it.
    pub(super) async fn enter(
        &self,
    ) -> Result<(OwnedSemaphorePermit, Option<Token<'_>>), AcquireError> {
        let slot = Arc::clone(&self.slots).acquire_owned().await?;
        let token = match &self.pace {
            Some(pace) => Some(pace.token().await),
            None => None,
        };
        Ok((slot, token))
    }

    /// Room for an attempt that comes with the answer to a workflow task, if there is some at once.
    /// There is none where attempts are counted by the second: those come by polls.
    pub(super) fn try_enter(&self) -> Option<OwnedSemaphorePermit> {
        match self.pace {
            Some(_) => None,
            None => Arc::clone(&self.slots).try_acquire_owned().ok(),
        }
    }

    /// Waits until no attempt is under way.
    pub(super) async fn empty(&self) {
        let all = u32::try_from(self.at_once).unwrap_or(u32::MAX);
        // An error means that nothing is under way any more either.
        let _all = self.slots.acquire_many(all).await;
    }
}
