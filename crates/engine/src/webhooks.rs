//! Documents that are sent to addresses outside, until somebody has taken them.
//!
//! A document is a message of its run, kept until it was taken: a restart sends it again. The engine
//! knows no HTTP; whoever opens it says how a document is posted.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use steadfast_core::{Identity, Told};
use tokio::sync::mpsc;

/// How a document is posted.
pub trait Webhooks: fmt::Debug + Send + Sync + 'static {
    /// Posts a JSON document to an address. It was taken if the answer says so.
    fn post<'a>(&'a self, url: &'a str, body: &'a str) -> Posted<'a>;
}

/// What comes of a post.
pub type Posted<'a> = Pin<Box<dyn Future<Output = Result<(), PostError>> + Send + 'a>>;

/// Why a document was not taken.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PostError {
    /// The address cannot be used: trying again is no use.
    #[error("the address cannot be used: {0}")]
    Address(String),
    /// Nobody answered, or the answer was no.
    #[error("not taken: {0}")]
    NotTaken(String),
}

/// A document on its way.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    /// The run that has it among its messages.
    pub(crate) from: Identity,
    /// Its number there.
    pub(crate) message: u64,
    pub(crate) told: Told,
}

/// Where things are put that somebody does in the background.
#[derive(Debug)]
pub(crate) struct Outbox<T> {
    sender: mpsc::UnboundedSender<T>,
    /// Taken by whoever does them.
    receiver: Mutex<Option<mpsc::UnboundedReceiver<T>>>,
}

impl<T> Default for Outbox<T> {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { sender, receiver: Mutex::new(Some(receiver)) }
    }
}

impl<T> Outbox<T> {
    pub(crate) fn send(&self, thing: T) {
        // If nobody takes it any more, the engine ends; the next one does it.
        let _ = self.sender.send(thing);
    }

    /// What was put here, for the one who does it.
    pub(crate) fn take(&self) -> Option<mpsc::UnboundedReceiver<T>> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// How long to wait after so many vain attempts: a second, doubling to five minutes.
pub(crate) fn wait(attempts: u32) -> Duration {
    let doubled = 1_u64.checked_shl(attempts.saturating_sub(1)).unwrap_or(u64::MAX);
    Duration::from_secs(doubled.clamp(1, 300))
}

/// Attempts after which a document is given up: about three days.
pub(crate) const ATTEMPTS_MAX: u32 = 900;

/// Documents under way at once.
pub(crate) const AT_ONCE_MAX: usize = 16;

/// Documents that are under way or wait for their next attempt.
pub(crate) const UNDER_WAY_MAX: usize = 1_000;
