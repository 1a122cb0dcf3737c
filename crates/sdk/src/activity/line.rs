//! The line between an attempt and its worker: heartbeats one way, a cancellation the other.

use std::{
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::Connection;
use steadfast_proto::common::Payloads;
use tokio::sync::Notify;

/// What an attempt and its worker tell each other.
#[derive(Default)]
pub(crate) struct Line {
    beat: Mutex<Beat>,
    beaten: Notify,
    cancelled: AtomicBool,
    cancelling: Notify,
    writes: Mutex<Vec<Write>>,
}

/// What an attempt writes into tables of its own, together with its result.
pub(crate) type Write = Box<dyn Fn(&Connection) -> Result<(), WriteError> + Send + Sync>;
/// Why nothing was written.
pub(crate) type WriteError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, Default)]
struct Beat {
    details: Option<Payloads>,
    /// How many heartbeats there were.
    said: u64,
    /// The last of them that the engine has heard.
    heard: u64,
}

impl Line {
    /// A line on which the attempts before have said this.
    pub(crate) fn after(details: Option<Payloads>) -> Self {
        Self { beat: Mutex::new(Beat { details, said: 0, heard: 0 }), ..Self::default() }
    }

    /// The attempt is alive, and so far.
    pub(super) fn beat(&self, details: Option<Payloads>) {
        {
            let mut beat = self.lock();
            beat.details = details;
            beat.said += 1;
        }
        self.beaten.notify_one();
    }

    /// Waits for a heartbeat that the engine has not heard: its number, and what it says.
    pub(crate) async fn next_beat(&self) -> (u64, Option<Payloads>) {
        loop {
            {
                let beat = self.lock();
                if beat.said > beat.heard {
                    return (beat.said, beat.details.clone());
                }
            }
            self.beaten.notified().await;
        }
    }

    /// What was said last, heard or not, and its number.
    pub(crate) fn said(&self) -> (u64, Option<Payloads>) {
        let beat = self.lock();
        (beat.said, beat.details.clone())
    }

    /// The engine has heard this heartbeat, and with it all before.
    pub(crate) fn heard(&self, number: u64) {
        self.lock().heard = number;
    }

    /// The last heartbeat, if the engine may not have heard it.
    pub(crate) fn last_beat(&self) -> Option<Payloads> {
        let beat = self.lock();
        (beat.said > beat.heard).then(|| beat.details.clone()).flatten()
    }

    /// The activity is cancelled.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.cancelling.notify_waiters();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Waits until the activity is cancelled.
    pub(crate) async fn cancelled(&self) {
        loop {
            let cancelling = self.cancelling.notified();
            if self.is_cancelled() {
                return;
            }
            cancelling.await;
        }
    }

    /// Something is to be written together with the result.
    pub(super) fn write(&self, write: Write) {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner).push(write);
    }

    /// What is to be written, if there is something. A second attempt begins anew.
    pub(crate) fn take_writes(&self) -> Vec<Write> {
        std::mem::take(&mut *self.writes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock(&self) -> MutexGuard<'_, Beat> {
        self.beat.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("cancelled", &self.cancelled).finish_non_exhaustive()
    }
}
