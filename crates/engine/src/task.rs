//! What waits in a queue, and what a worker is given for it.

use std::time::Duration;

use steadfast_proto::workflowservice::PollWorkflowTaskQueueResponse;
use steadfast_store::{RunNumber, ShardNumber};

use crate::{
    graves::{Graves, OfferKey},
    hands::Place,
};

/// A workflow task that waits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct TaskOffer {
    /// The shard that owns its run.
    pub(crate) shard: ShardNumber,
    pub(crate) run: RunNumber,
    pub(crate) what: TaskWhat,
}

/// What the workflow's code is to be run for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum TaskWhat {
    /// To go on.
    Task {
        /// The task's scheduled event.
        scheduled_event_id: i64,
        /// Its attempt.
        attempt: u32,
    },
    /// To answer a query.
    Query {
        /// Its id.
        id: String,
    },
}

/// An activity that waits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ActivityOffer {
    /// The shard that owns its run.
    pub(crate) shard: ShardNumber,
    pub(crate) run: RunNumber,
    pub(crate) scheduled_event_id: i64,
    pub(crate) attempt: u32,
    pub(crate) stamp: u32,
    /// Whether it matters what else its worker has in hand.
    pub(crate) is_watched: bool,
    /// Whether that is to be nothing.
    pub(crate) is_for_alone: bool,
}

/// What a queue has to know of what waits in it.
pub(crate) trait Waits {
    /// What tells it from all else that waits; `None` for a query, which is known by its id.
    fn key(&self) -> Option<OfferKey>;

    /// Whether nobody wants it any more.
    fn is_dead(&self, graves: &Graves) -> bool {
        self.key().is_some_and(|key| graves.has_offer(&key))
    }

    /// The activity, if it matters what else its worker has in hand.
    fn watched(&self) -> Option<Place> {
        None
    }

    /// Whether its worker is to have nothing else in hand.
    fn is_for_alone(&self) -> bool {
        false
    }
}

impl Waits for TaskOffer {
    fn key(&self) -> Option<OfferKey> {
        match self.what {
            TaskWhat::Task { scheduled_event_id, attempt } => {
                Some(OfferKey { run: self.run, scheduled_event_id, turn: attempt })
            }
            TaskWhat::Query { .. } => None,
        }
    }

    /// A run that has closed still answers queries.
    fn is_dead(&self, graves: &Graves) -> bool {
        match &self.what {
            TaskWhat::Task { .. } => self.key().is_some_and(|key| graves.has_offer(&key)),
            TaskWhat::Query { id } => graves.queries.contains(id),
        }
    }
}

/// A Nexus task, of which there are none: nobody can make an endpoint that would have them.
#[derive(Debug)]
pub(crate) enum NexusOffer {}

impl Waits for NexusOffer {
    fn key(&self) -> Option<OfferKey> {
        match *self {}
    }
}

impl Waits for ActivityOffer {
    fn key(&self) -> Option<OfferKey> {
        let Self { run, scheduled_event_id, stamp, .. } = *self;
        Some(OfferKey { run, scheduled_event_id, turn: stamp })
    }

    fn watched(&self) -> Option<Place> {
        self.is_watched.then_some((self.run, self.scheduled_event_id))
    }

    fn is_for_alone(&self) -> bool {
        self.is_for_alone
    }
}

/// What a worker is given for a workflow task.
#[derive(Debug)]
pub(crate) struct TaskGift {
    pub(crate) response: Box<PollWorkflowTaskQueueResponse>,
    /// What its history still lacks and must be read from the store.
    pub(crate) missing: Option<MissingHistory>,
}

/// Events to be read before a worker can have its task.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct MissingHistory {
    pub(crate) run: RunNumber,
    pub(crate) first: i64,
    /// The last event that is in the store.
    pub(crate) last: i64,
    /// The started event of the task.
    pub(crate) task_started_event_id: i64,
}

/// A poll that takes a task.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Taker {
    pub(crate) identity: String,
    pub(crate) request_id: String,
    /// The sticky queue that was polled; `None` for the normal one.
    pub(crate) sticky_queue: Option<String>,
    /// The worker's own key, if it has told it.
    pub(crate) worker: String,
    /// The engine's process, if the worker is inside it; otherwise 0.
    pub(crate) process: u64,
    /// Whether it has just answered the task before, so that it knows the history up to there.
    pub(crate) goes_on: bool,
    /// What it wants to read in the headers of its attempts.
    pub(crate) header: HeaderWish,
    /// After how much silence it counts as lost, if it gives signs of life by itself; otherwise zero.
    pub(crate) silence_max: Duration,
}

/// What a worker wants to read in the header of an attempt.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum HeaderWish {
    /// What the workflow wrote.
    #[default]
    AsWritten,
    /// The idempotency key and the fence too.
    WithKeys,
    /// Only these.
    Keys,
}
