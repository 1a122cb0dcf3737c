//! The engine: runs that survive crashes, in this process.
//!
//! ```text
//!  callers, workers ──▶ Engine ──▶ shards ──▶ committer ──▶ store
//!         ▲                          │  ▲                     │
//!         └──── releases ◀───────────┼──┼─────────────────────┘ durable
//!                                    ▼  │
//!                               task queues
//! ```
//!
//! An [`Engine`] takes the public requests and gives the public responses. It answers when what
//! it says is durable, and not before.
//!
//! A caller with a deadline of its own calls [`Engine::within`] of it: `engine.within(left)` is the
//! same engine, whose waits end in time. A caller that goes away drops its future; what was on its
//! way to it goes to somebody else.

mod batch;
mod clock;
mod committer;
mod ended;
mod engine;
mod errands;
mod error;
pub mod failures;
pub mod fingerprint;
mod gift;
mod graves;
mod hands;
mod histogram;
mod history;
mod ids;
mod jobs;
mod known_ids;
mod limits;
mod listing;
mod matching;
mod namespaces;
mod pace;
mod query;
mod rows;
mod running;
mod schedules;
mod service;
mod shard;
mod start;
pub mod tally;
mod task;
mod token;
mod visibility;
mod waking;
mod webhooks;
mod workers;

pub use clock::{Clock, SystemClock, Wait};
pub use committer::CommitStats;
pub use ended::Lost;
pub use engine::{OpenError, Options};
pub use error::{Code, Detail, Error};
pub use histogram::Histogram;
pub use limits::Limits;
pub use service::{AsideError, Change, Engine, Moved, Preview, Unwell};
pub use shard::Held;
pub use steadfast_core::{
    ATTEMPT_KEYS, FENCE_HEADER, IDEMPOTENCY_HEADER, LEAVES, SILENCE_LONGEST, SILENCE_MAX,
    SPOKEN_FOR_HEADER, Timestamp, failure, policy,
};
pub use webhooks::{PostError, Posted, Undelivered, Webhooks};
