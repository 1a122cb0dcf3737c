//! What a run answers from outside while it goes on: queries, which only look, and updates, which
//! are checked, recorded, and may take their time.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use steadfast_proto::{common::Payloads, update};

use crate::{call::Called, error::Failure};

/// Answers a query.
pub(crate) type QueryHandler =
    Arc<dyn Fn(Option<Payloads>) -> Result<Option<Payloads>, Failure> + Send + Sync>;

/// Says whether an update may be accepted, and carries it out.
#[derive(Clone)]
pub(crate) struct UpdateHandler {
    pub(crate) validate: Arc<dyn Fn(Option<Payloads>) -> Result<(), Failure> + Send + Sync>,
    pub(crate) handle: Arc<dyn Fn(Option<Payloads>) -> Called + Send + Sync>,
}

/// An update that has come and is to be looked at.
#[derive(Clone, Debug)]
pub(crate) struct UpdateTurn {
    pub(crate) id: String,
    pub(crate) request: update::Request,
    /// The message that it came in, and the event before which it is to be looked at.
    pub(crate) message_id: String,
    pub(crate) sequencing_event_id: i64,
    /// History says that it was accepted, so it is not asked again whether it may be.
    pub(crate) accepted: bool,
}

/// The handlers of a run, by name.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) queries: BTreeMap<String, QueryHandler>,
    pub(crate) updates: BTreeMap<String, UpdateHandler>,
}

impl Handlers {
    pub(crate) fn is_empty(&self) -> bool {
        self.queries.is_empty() && self.updates.is_empty()
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queries: Vec<_> = self.queries.keys().collect();
        let updates: Vec<_> = self.updates.keys().collect();
        f.debug_struct("Handlers").field("queries", &queries).field("updates", &updates).finish()
    }
}

/// State that a workflow's code shares with its handlers.
///
/// ```
/// let total = steadfast::StateCell::new(0);
/// let seen_by_a_handler = total.clone();
/// total.change(|total| *total += 5);
/// assert_eq!(seen_by_a_handler.get(), 5);
/// ```
#[derive(Debug, Default)]
pub struct StateCell<T>(Arc<Mutex<T>>);

impl<T> StateCell<T> {
    /// A cell that holds this.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    /// Looks at what it holds.
    pub fn with<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.lock())
    }

    /// Changes what it holds.
    pub fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.lock())
    }

    /// Puts something else in.
    pub fn set(&self, value: T) {
        *self.lock() = value;
    }

    /// A copy of what it holds.
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for StateCell<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
