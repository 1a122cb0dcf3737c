//! Everything has a limit, and they are named here.

use std::time::Duration;

/// The limits of one run. An operator may change them; the defaults are what SDK users expect.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Bytes of an id, a type name, a signal name, an identity.
    pub id_bytes_max: usize,
    /// Bytes of one input, result, failure or details.
    pub blob_bytes_max: usize,
    /// Bytes of a memo.
    pub memo_bytes_max: usize,
    /// Bytes of a failure that is shown with the next attempt; longer ones are cut.
    pub last_failure_bytes_max: usize,
    /// Bytes of a retry policy in an activity's header.
    pub retry_policy_bytes_max: usize,
    /// Pending activities, and as many children, signals and cancel requests to others.
    pub pending_max: usize,
    /// Dead letters of one run; what would be one more is parked instead.
    pub dead_letters_max: usize,
    /// Signals that one run takes.
    pub signals_max: i64,
    /// Events that wait for a workflow task to end; with more the task is failed, and its worker has
    /// to begin anew. As many as there may be signals: a limit below what comes during one task
    /// would fail every task, and what is signalled all the time would get nowhere.
    pub buffered_events_max: usize,
    /// Bytes of them: several of the largest that there may be.
    pub buffered_bytes_max: usize,
    /// Events after which a run is terminated.
    pub history_events_max: i64,
    /// Bytes after which a run is terminated.
    pub history_bytes_max: i64,
    /// Events after which a run is asked to continue as new.
    pub history_events_suggest: i64,
    /// Bytes after which a run is asked to continue as new.
    pub history_bytes_suggest: i64,
    /// Updates under way at once.
    pub updates_in_flight_max: usize,
    /// Updates that one run takes.
    pub updates_max: usize,
    /// How long a workflow task may take, unless the start says otherwise.
    pub task_timeout: Duration,
    /// The longest that a start may say.
    pub task_timeout_max: Duration,
    /// How long a workflow task may be kept alive without a command.
    pub task_heartbeat_max: Duration,
    /// How long a workflow task waits on a sticky queue, unless its worker says otherwise.
    pub sticky_timeout: Duration,
    /// How long after a run its workflow may go on as a new one, from beginning to beginning: a
    /// workflow that does nothing else must not fill the disk. Zero for at once.
    pub continue_as_new_interval: Duration,
    /// How long a closed run is kept.
    pub retention: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            id_bytes_max: 1_000,
            blob_bytes_max: 2 << 20,
            memo_bytes_max: 2 << 20,
            last_failure_bytes_max: 4 << 10,
            retry_policy_bytes_max: 64 << 10,
            pending_max: 2_000,
            dead_letters_max: 1_000,
            signals_max: 10_000,
            buffered_events_max: 10_000,
            buffered_bytes_max: 16 << 20,
            history_events_max: 51_200,
            history_bytes_max: 50 << 20,
            history_events_suggest: 4_096,
            history_bytes_suggest: 4 << 20,
            updates_in_flight_max: 10,
            updates_max: 2_000,
            task_timeout: Duration::from_secs(10),
            task_timeout_max: Duration::from_secs(120),
            task_heartbeat_max: Duration::from_secs(30 * 60),
            sticky_timeout: Duration::from_secs(5),
            continue_as_new_interval: Duration::ZERO,
            retention: Duration::from_secs(3 * 24 * 3_600),
        }
    }
}

/// How many builds of its workers a run remembers.
pub(crate) const BUILDS_MAX: usize = 10;

/// How long the name of a build may be, to be remembered.
pub(crate) const BUILD_BYTES_MAX: usize = 1_000;
