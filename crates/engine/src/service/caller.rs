//! Who calls: what is known of a caller beside its request, by how it calls.

use std::{sync::Arc, time::Duration};

use steadfast_core::Timestamp;

use super::Engine;
use crate::task::{HeaderWish, Taker};

/// What a caller has said of itself. By default it has said nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Caller {
    /// When whoever called gives up, if it said so.
    pub(super) deadline: Option<Timestamp>,
    /// Where it is.
    pub(super) place: Place,
    /// What whoever calls wants to read in the headers of attempts.
    pub(super) header: HeaderWish,
    /// Whether whoever calls may be a worker that reads the history of the task it has.
    pub(super) reads_for_task: bool,
    /// The version of the rules for failures that whoever calls has seen, if it said so.
    pub(super) seen_book: Option<u64>,
    /// After how much silence it counts as lost, if it is a worker that gives signs of life by itself;
    /// otherwise zero.
    pub(super) silence_max: Duration,
    /// Whether it leaves the attempt that it speaks of to somebody else.
    pub(super) leaves: bool,
}

/// Where a caller is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Place {
    /// In another process, as far as is known.
    #[default]
    Elsewhere,
    /// In the engine's own process.
    Here,
    /// The same, and it is a worker: what it has in hand ends with the process.
    WorkerHere,
}

impl Engine {
    /// The same engine for a caller that waits no longer than `span` from now: calls that wait
    /// answer by then. A poll answers empty, a history with how far it is, a query or an update
    /// that it timed out. For the time that an answer travels, ask for less than there is.
    #[must_use]
    pub fn within(&self, span: Duration) -> Self {
        let deadline = self.now().after(span);
        self.with(Caller { deadline: Some(deadline), ..self.caller })
    }

    /// The same engine for workers in its own process. What they have in hand when the process ends,
    /// nobody works on any more: the next engine on the same data hands workflow tasks out again at
    /// once, and ends activity attempts at once, as failed with
    /// [`WORKER_LOST`](steadfast_core::failure::WORKER_LOST). Such an attempt counts, and is retried
    /// by its policy.
    ///
    /// They also wait as [others here](Self::for_own_callers) do. Not for workers that may outlive the
    /// engine, as those that call over a network.
    #[must_use]
    pub fn for_own_workers(&self) -> Self {
        self.with(Caller { place: Place::WorkerHere, ..self.caller })
    }

    /// The same engine for workers that want to know the idempotency key and the fence of each attempt
    /// of an activity: fields [`IDEMPOTENCY_HEADER`](crate::IDEMPOTENCY_HEADER) and
    /// [`FENCE_HEADER`](crate::FENCE_HEADER) of its header, which other workers do not get.
    #[must_use]
    pub fn with_attempt_keys(&self) -> Self {
        self.with(Caller { header: HeaderWish::WithKeys, ..self.caller })
    }

    /// The same engine for workers that read nothing in the header of an attempt but these two fields,
    /// which are bare JSON for them.
    #[must_use]
    pub fn with_attempt_keys_alone(&self) -> Self {
        self.with(Caller { header: HeaderWish::Keys, ..self.caller })
    }

    /// The same engine for somebody who may be a worker: a whole history ends with the workflow task
    /// that is under way, also while that is not written. A worker that has been given the end of a
    /// history and has forgotten its beginning reads all of it, and must come to its task.
    #[must_use]
    pub fn with_task_under_way(&self) -> Self {
        self.with(Caller { reads_for_task: true, ..self.caller })
    }

    /// The same engine for somebody who has seen this version of a namespace's settings and policies
    /// for failures, and changes them only if nobody else has since.
    #[must_use]
    pub fn if_book_is(&self, version: u64) -> Self {
        self.with(Caller { seen_book: Some(version), ..self.caller })
    }

    /// The same engine for workers that give signs of life by themselves: an attempt of theirs for which
    /// the workflow asks for no heartbeats ends when nothing is heard of it for this long, and has the
    /// field [`SPOKEN_FOR_HEADER`](crate::SPOKEN_FOR_HEADER) in its header, with the keys.
    #[must_use]
    pub fn with_signs_of_life(&self, silence_max: Duration) -> Self {
        self.with(Caller { silence_max, ..self.caller })
    }

    /// The same engine for a worker that leaves what it records a heartbeat of to somebody else, who will
    /// end it by its token or its id. It does not end with the worker, nor with the process.
    #[must_use]
    pub fn leaving(&self) -> Self {
        self.with(Caller { leaves: true, ..self.caller })
    }

    /// The same engine for callers in its own process. While storage is so far behind that requests are
    /// refused, theirs wait instead: what they ask for is in this process's memory anyway.
    #[must_use]
    pub fn for_own_callers(&self) -> Self {
        self.with(Caller { place: Place::Here, ..self.caller })
    }

    fn with(&self, caller: Caller) -> Self {
        Self { running: Arc::clone(&self.running), caller }
    }

    /// The worker that calls, as far as it is known by how it calls.
    pub(super) fn taker(&self) -> Taker {
        let Caller { place, header, silence_max, .. } = self.caller;
        let process = if place == Place::WorkerHere { self.shared().process } else { 0 };
        Taker { process, header, silence_max, ..Taker::default() }
    }

    /// How long a call may wait that may wait for `span` by itself.
    pub(super) fn patience(&self, span: Duration) -> Duration {
        self.caller.deadline.map_or(span, |deadline| deadline.since(self.now()).min(span))
    }
}
