//! Queries that were handed to workers as tasks of their own, until they are answered.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use steadfast_proto::{common, failure, prost::Message as _, query::WorkflowQuery};
use tokio::sync::oneshot;

/// What a worker says to a query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// The answer.
    Answered(Option<common::Payloads>),
    /// The workflow's code refused it.
    Failed {
        /// Why, for people.
        message: String,
        /// Why, for programs.
        failure: Option<Box<failure::Failure>>,
    },
    /// The run needs no workflow task any more: ask again, directly.
    AskAgain,
}

impl Answer {
    /// An answer that is kept small enough to be sent.
    pub(crate) fn answered(result: Option<common::Payloads>, bytes_max: usize) -> Self {
        if result.as_ref().is_some_and(|result| result.encoded_len() > bytes_max) {
            let message = "Blob data size exceeds limit.".to_owned();
            return Self::Failed { message, failure: None };
        }
        Self::Answered(result)
    }
}

/// A query on its way.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) query: WorkflowQuery,
    pub(crate) slot: oneshot::Sender<Answer>,
}

/// All queries on their way as tasks of their own.
#[derive(Debug, Default)]
pub(crate) struct Queries(Mutex<BTreeMap<String, Waiting>>);

impl Queries {
    pub(crate) fn insert(&self, id: String, waiting: Waiting) {
        self.lock().insert(id, waiting);
    }

    /// The query, if it still waits.
    pub(crate) fn get(&self, id: &str) -> Option<WorkflowQuery> {
        self.lock().get(id).map(|waiting| waiting.query.clone())
    }

    /// Takes a query out: it is answered, or its caller has gone.
    pub(crate) fn remove(&self, id: &str) -> Option<Waiting> {
        self.lock().remove(id)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
