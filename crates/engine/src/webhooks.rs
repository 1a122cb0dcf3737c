//! Documents that are sent to addresses outside, until somebody has taken them.
//!
//! A document is a message of its run, kept until it was taken: a restart sends it again. One that
//! nobody takes for days is set aside, stays in sight, and is sent again when somebody wants it to be.
//! The engine knows no HTTP; whoever opens it says how a document is posted.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use steadfast_core::{Identity, Timestamp, Told};
use tokio::sync::Notify;

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

/// A document that nobody has taken yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Undelivered {
    /// Its name, as long as this process runs.
    pub id: u64,
    /// The address that it is for.
    pub url: String,
    /// What it says.
    pub body: String,
    /// The workflow that it is about.
    pub workflow_id: String,
    /// The run.
    pub run_id: String,
    /// Attempts that were made.
    pub attempts: u32,
    /// When the first of them failed.
    pub since: Timestamp,
    /// Why the last of them failed.
    pub problem: String,
    /// Whether it is not sent again until somebody wants it to be, or the server starts anew.
    pub is_given_up: bool,
}

/// The documents that nobody has taken yet. They are kept by their runs; this is what is known of the
/// attempts to send them.
#[derive(Debug, Default)]
pub(crate) struct Undeliverable {
    all: Mutex<BTreeMap<u64, Kept>>,
    next: AtomicU64,
    /// Told when somebody wants them to be sent again.
    pub(crate) again: Notify,
}

#[derive(Debug)]
struct Kept {
    post: Post,
    attempts: u32,
    since: Timestamp,
    problem: String,
    is_given_up: bool,
}

impl Kept {
    fn told(&self, id: u64) -> Undelivered {
        let Post { from, told, .. } = &self.post;
        Undelivered {
            id,
            url: told.to.clone(),
            body: told.body.clone(),
            workflow_id: from.workflow_id.clone(),
            run_id: from.run_id.clone(),
            attempts: self.attempts,
            since: self.since,
            problem: self.problem.clone(),
            is_given_up: self.is_given_up,
        }
    }
}

impl Undeliverable {
    /// A new name.
    pub(crate) fn id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// An attempt was in vain.
    pub(crate) fn note(
        &self,
        id: u64,
        post: &Post,
        attempts: u32,
        why: &PostError,
        now: Timestamp,
    ) {
        let mut all = self.lock();
        let since = all.get(&id).map_or(now, |kept| kept.since);
        let (post, problem) = (post.clone(), why.to_string());
        all.insert(id, Kept { post, attempts, since, problem, is_given_up: false });
    }

    /// It is not sent any more.
    pub(crate) fn give_up(&self, id: u64) {
        if let Some(kept) = self.lock().get_mut(&id) {
            kept.is_given_up = true;
        }
    }

    /// It was taken, or nobody wants it to be.
    pub(crate) fn forget(&self, id: u64) {
        self.lock().remove(&id);
    }

    /// What was not taken.
    pub(crate) fn post(&self, id: u64) -> Option<Post> {
        self.lock().get(&id).map(|kept| kept.post.clone())
    }

    /// Whether it is still wanted.
    pub(crate) fn has(&self, id: u64) -> bool {
        self.lock().contains_key(&id)
    }

    /// Those of a namespace, the oldest first.
    pub(crate) fn of_namespace(&self, namespace_id: &str) -> Vec<Undelivered> {
        let all = self.lock();
        let own = all.iter().filter(|(_, kept)| kept.post.from.namespace_id == namespace_id);
        own.map(|(id, kept)| kept.told(*id)).collect()
    }

    /// How many are sent again and again, and how many are given up.
    pub(crate) fn count(&self) -> (usize, usize) {
        let all = self.lock();
        let given_up = all.values().filter(|kept| kept.is_given_up).count();
        (all.len() - given_up, given_up)
    }

    /// Takes those out that are given up among these.
    pub(crate) fn take_given_up(&self, ids: &BTreeSet<u64>) -> Vec<Post> {
        let mut all = self.lock();
        let given_up = ids.iter().filter(|id| all.get(id).is_some_and(|it| it.is_given_up));
        let given_up: Vec<u64> = given_up.copied().collect();
        given_up.iter().filter_map(|id| all.remove(id)).map(|kept| kept.post).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Kept>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long to wait after so many vain attempts: a second, doubling to five minutes.
pub(crate) fn wait(attempts: u32) -> Duration {
    let doubled = 1_u64.checked_shl(attempts.saturating_sub(1)).unwrap_or(u64::MAX);
    Duration::from_secs(doubled.clamp(1, 300))
}

/// Attempts after which a document is set aside: about three days.
pub(crate) const ATTEMPTS_MAX: u32 = 900;

/// Documents under way at once.
pub(crate) const AT_ONCE_MAX: usize = 16;

/// Documents that are under way or wait for their next attempt.
pub(crate) const UNDER_WAY_MAX: usize = 1_000;
