//! Everything has a limit, and the engine's are named here. Those of one run are in the core.

use std::time::Duration;

/// What is too much, and how long is too long.
#[derive(Clone, Debug)]
pub struct Limits {
    /// What one run may take.
    pub run: steadfast_core::Limits,
    /// Runs that all shards together keep in memory, beyond those that are in use.
    pub cached_runs_max: usize,
    /// Bytes that they may take of what users sent: inputs, what is pending, newest events.
    pub cached_bytes_max: usize,
    /// Closed runs among them that are kept for whoever asks how they went.
    pub cached_closed_runs_max: usize,
    /// Schedules that all shards together keep in memory, beyond those that are in use.
    pub cached_schedules_max: usize,
    /// Bytes that they may take.
    pub cached_schedule_bytes_max: usize,
    /// Events of a run's newest history that are kept in memory for its next workflow task.
    pub tail_events_max: usize,
    /// Events on one page of history.
    pub history_page_max: usize,
    /// Runs on one page of a listing.
    pub list_page_max: usize,
    /// How long a poll waits for a task.
    pub poll_wait: Duration,
    /// Whether the polls of a worker end when it says that it shuts down. Workers are told, and cancel
    /// their polls themselves where they do not.
    pub polls_end_at_shutdown: bool,
    /// How long a history read waits for a new event, and an update for its stage.
    pub read_wait: Duration,
    /// How long a query waits for its answer.
    pub query_wait: Duration,
    /// How long a query waits on a sticky queue before it goes to the normal one.
    pub sticky_query_wait: Duration,
    /// How long after its last poll a sticky queue counts as abandoned.
    pub sticky_idle_max: Duration,
    /// How long after the last poll a task queue counts as one without workers.
    pub poller_idle_max: Duration,
    /// How far ahead due runs are kept in memory.
    pub due_horizon: Duration,
    /// How many due runs are read at once.
    pub due_page_max: usize,
    /// How many runs with work are brought back at once after a start.
    pub recovery_page_max: usize,
    /// How many pieces of work one commit holds at the most.
    pub commit_works_max: usize,
    /// How long a commit waits at the most for more work while a lot of it comes in. Workers
    /// elsewhere send theirs all the time, and a page that many of them change is written once. Zero
    /// for workers in this process: they wait for the commit themselves.
    pub commit_wait: Duration,
    /// How many pieces of work a shard hands in ahead of what is durable.
    pub unreleased_works_max: u64,
    /// Bytes of what was done that all shards together may have ahead of what is durable: more is
    /// refused until storage has caught up.
    pub unwritten_bytes_max: usize,
    /// How long to wait before a failed commit is tried again, at first and at the most.
    pub commit_retry: (Duration, Duration),
    /// Queries that wait for one run.
    pub queries_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            run: steadfast_core::Limits::default(),
            cached_runs_max: 20_000,
            cached_bytes_max: 128 << 20,
            cached_closed_runs_max: 200,
            cached_schedules_max: 1_000,
            cached_schedule_bytes_max: 16 << 20,
            tail_events_max: 256,
            history_page_max: 256,
            list_page_max: 1_000,
            poll_wait: Duration::from_secs(60),
            polls_end_at_shutdown: true,
            read_wait: Duration::from_secs(20),
            query_wait: Duration::from_secs(30),
            sticky_query_wait: Duration::from_secs(5),
            sticky_idle_max: Duration::from_secs(10),
            poller_idle_max: Duration::from_secs(20),
            due_horizon: Duration::from_secs(60),
            due_page_max: 10_000,
            recovery_page_max: 500,
            commit_works_max: 4_096,
            commit_wait: Duration::ZERO,
            unreleased_works_max: 5_000,
            unwritten_bytes_max: 256 << 20,
            commit_retry: (Duration::from_millis(10), Duration::from_secs(1)),
            queries_max: 100,
        }
    }
}

/// How long a query of the visibility language may be.
pub(crate) const QUERY_BYTES_MAX: usize = 16 * 1024;
/// How many parentheses and `NOT`s may be open at once in it.
pub(crate) const QUERY_NESTING_MAX: usize = 100;
/// How many search attributes may be set at once.
pub(crate) const SEARCH_KEYS_MAX: usize = 100;
/// How large the value of one may be.
pub(crate) const SEARCH_VALUE_BYTES_MAX: usize = 2 * 1024;
/// How large their names and values may be together.
pub(crate) const SEARCH_TOTAL_BYTES_MAX: usize = 40 * 1024;
/// How long the name of one may be.
pub(crate) const SEARCH_NAME_BYTES_MAX: usize = 255;
