//! How an application is put together.

use std::{sync::Arc, time::Duration};

use steadfast_engine::{Clock, Engine, Limits, OpenError, Options, SILENCE_LONGEST, SystemClock};
use steadfast_store::{
    Memory, Sqlite, Store,
    sqlite::{Options as SqliteOptions, Synchronous},
};

use super::{
    App, Own,
    target::{InvalidTarget, Target},
};
use crate::{
    activity::{Activity, ActivityFn, ActivityOptions},
    client::{Client, fresh_id},
    codec::{Codec, PayloadCodec},
    door::{Access, Door},
    policy::{InvalidPolicy, RetryPolicy},
    span::FOREVER,
    state::States,
    worker::{Pollers, Settings, Worker},
    workflow::Registry,
    workflow::{Workflow, WorkflowFn},
};

/// An application that is being put together.
///
/// ```no_run
/// # use std::time::Duration;
/// # use steadfast::{App, Failure, RetryPolicy, StartError, WorkflowContext};
/// # async fn charge(order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> { Ok(id) }
/// # struct Bank;
/// # async fn f() -> Result<(), StartError> {
/// let app = App::builder("sqlite:orders.db")
///     .workflow(order)
///     .activity(charge)
///     .state(Bank)
///     .retry(RetryPolicy::new().max_attempts(10))
///     .activities_at_once(50)
///     .shutdown_patience(Duration::from_secs(30))
///     .start()
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "nothing runs before start()"]
pub struct AppBuilder {
    target: String,
    access: Access,
    codec: Codec,
    namespace: String,
    task_queue: String,
    identity: Option<String>,
    registry: Registry,
    states: States,
    twice: Option<String>,
    activities_at_once: usize,
    activities_per_second: Option<f64>,
    queue_activities_per_second: Option<f64>,
    cached_workflows: usize,
    patience: Duration,
    sqlite: SqliteOptions,
    clock: Arc<dyn Clock>,
    store: Option<Arc<dyn Store>>,
    limits: Limits,
    seed: Option<u64>,
}

/// Why an application did not start.
///
/// ```
/// # use steadfast::{App, StartError};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let nowhere = App::builder("nowhere").start().await;
/// assert!(matches!(nowhere, Err(StartError::Target(_))));
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The place is none.
    #[error(transparent)]
    Target(#[from] InvalidTarget),
    /// Two workflows, or two activities, have the same name.
    #[error("{name} is registered twice: give one of them another name")]
    Twice {
        /// The name.
        name: String,
    },
    /// A policy makes no sense.
    #[error("the retry policy of {of}: {error}")]
    Policy {
        /// Whose.
        of: String,
        /// What is wrong with it.
        error: InvalidPolicy,
    },
    /// A number of activities a second that makes no sense.
    #[error("{option} is {rate}: give a number above zero, or leave it out for no limit")]
    Rate {
        /// What was given.
        option: &'static str,
        /// The number.
        rate: f64,
    },
    /// A time after which a worker counts as lost that makes no sense.
    #[error("lost_after is {span:?}: give a millisecond to a day, or zero for never")]
    LostAfter {
        /// What was given.
        span: Duration,
    },
    /// The file cannot be used.
    #[error(transparent)]
    Store(#[from] steadfast_store::Error),
    /// The engine cannot be opened on it.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is no way to the server.
    #[cfg(feature = "remote")]
    #[error("the server: {0}")]
    Server(#[from] crate::door::BadServer),
    /// The crate was built without the feature for it.
    #[error("workers of a server need the feature `remote`")]
    NoRemote,
}

impl AppBuilder {
    pub(crate) fn new(target: String) -> Self {
        Self {
            target,
            access: Access::default(),
            codec: Codec::default(),
            namespace: "default".to_owned(),
            task_queue: "default".to_owned(),
            identity: None,
            registry: Registry::default(),
            states: States::default(),
            twice: None,
            activities_at_once: 200,
            activities_per_second: None,
            queue_activities_per_second: None,
            cached_workflows: CACHED,
            patience: Duration::from_secs(10),
            sqlite: SqliteOptions::embedded(),
            clock: Arc::new(SystemClock),
            store: None,
            limits: limits(),
            seed: None,
        }
    }

    /// Has a workflow, under the name of its function.
    pub fn workflow<F, Shape>(self, workflow: F) -> Self
    where
        F: WorkflowFn<Shape>,
    {
        self.register_workflow(Workflow::new(workflow))
    }

    /// Has an activity, under the name of its function.
    pub fn activity<F, Shape>(self, activity: F) -> Self
    where
        F: ActivityFn<Shape>,
    {
        self.register_activity(Activity::new(activity))
    }

    /// Has a workflow under another name.
    pub fn register_workflow(mut self, workflow: Workflow) -> Self {
        let before = self.registry.add_workflow(workflow);
        self.twice = self.twice.or_else(|| Some(format!("workflow {}", before?.name())));
        self
    }

    /// Has an activity under another name, or with a policy and limits of its own.
    pub fn register_activity(mut self, activity: Activity) -> Self {
        let before = self.registry.add_activity(activity);
        self.twice = self.twice.or_else(|| Some(format!("activity {}", before?.name())));
        self
    }

    /// How activities are tried again that have no policy of their own.
    pub fn retry(mut self, policy: impl Into<RetryPolicy>) -> Self {
        self.registry.defaults = self.registry.defaults.retry(policy);
        self
    }

    /// How activities are run that nothing else is said of.
    pub fn activity_defaults(mut self, options: ActivityOptions) -> Self {
        self.registry.defaults = options;
        self
    }

    /// Something that activities share: see [`ActivityContext::state`](crate::ActivityContext::state).
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states = self.states.with(value);
        self
    }

    /// The queue that its workflows and activities are on.
    pub fn task_queue(self, name: impl Into<String>) -> Self {
        Self { task_queue: name.into(), ..self }
    }

    /// The namespace.
    pub fn namespace(self, name: impl Into<String>) -> Self {
        Self { namespace: name.into(), ..self }
    }

    /// The key that a server asks for.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.access.api_key = Some(key.into());
        self
    }

    /// How long a server may be away before a call to it fails; 30 seconds if not said. Until then the
    /// same call is made again and again. Whoever waits for a result, and workers, wait on beyond it.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use steadfast::App;
    /// // A program for people at a terminal: a wrong address is told at once.
    /// let app = App::builder("127.0.0.1:7233").server_patience(Duration::from_secs(2));
    /// ```
    pub fn server_patience(mut self, span: Duration) -> Self {
        self.access.patience = span;
        self
    }

    /// Speaks TLS to a server whose certificate this authority has signed, as PEM. Without it, an
    /// address with `https://` is believed on the word of the machine's own authorities.
    pub fn tls_ca(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.access.ca = Some(pem.into());
        self
    }

    /// Shows a server that asks for one this certificate, as PEM, with its key.
    pub fn tls_identity(
        mut self,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        self.access.identity = Some((certificate.into(), key.into()));
        self
    }

    /// The name in a server's certificate, if it is not the one in its address.
    pub fn tls_server_name(mut self, name: impl Into<String>) -> Self {
        self.access.server_name = Some(name.into());
        self
    }

    /// What all payloads go through on their way to the engine, and back: see [`PayloadCodec`].
    pub fn payload_codec(self, codec: impl PayloadCodec) -> Self {
        Self { codec: Codec::new(codec), ..self }
    }

    /// Who it is, in history.
    pub fn identity(self, identity: impl Into<String>) -> Self {
        Self { identity: Some(identity.into()), ..self }
    }

    /// How many activities run at once.
    pub fn activities_at_once(self, limit: usize) -> Self {
        Self { activities_at_once: limit.max(1), ..self }
    }

    /// How many attempts of activities this worker begins in a second; as many as there are, if nothing
    /// is said. Less than one is fine: `0.5` is one every two seconds.
    ///
    /// After a pause as many as come in a second may begin at once, and at least one. While it may not
    /// begin any it takes none, so that another worker of the queue can have them. Every worker counts
    /// for itself: see [`queue_activities_per_second`](Self::queue_activities_per_second) for what all of
    /// them do together. Local activities are not counted.
    ///
    /// ```no_run
    /// # use steadfast::{App, Failure, StartError};
    /// # async fn charge(order: String) -> Result<String, Failure> { Ok(order) }
    /// # async fn f() -> Result<(), StartError> {
    /// // The bank takes five calls a second from each machine.
    /// let app = App::builder("localhost:7233")
    ///     .activity(charge)
    ///     .task_queue("bank")
    ///     .activities_per_second(5.0)
    ///     .start()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn activities_per_second(self, rate: f64) -> Self {
        Self { activities_per_second: Some(rate), ..self }
    }

    /// How many attempts of activities all workers of the task queue together are given in a second. The
    /// engine keeps it, and the worker that asked last has said it: give the same to all of them.
    ///
    /// ```no_run
    /// # use steadfast::{App, Failure, StartError};
    /// # async fn charge(order: String) -> Result<String, Failure> { Ok(order) }
    /// # async fn f() -> Result<(), StartError> {
    /// // The bank takes five calls a second from all of us.
    /// let app = App::builder("localhost:7233")
    ///     .activity(charge)
    ///     .task_queue("bank")
    ///     .queue_activities_per_second(5.0)
    ///     .start()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn queue_activities_per_second(self, rate: f64) -> Self {
        Self { queue_activities_per_second: Some(rate), ..self }
    }

    /// How many workflows are kept in memory between their steps; 1,000, if nothing is said. All others
    /// are on disk alone, and are read again when something happens to them.
    pub fn cached_workflows(self, limit: usize) -> Self {
        let limits = Limits { cached_runs_max: limit, ..self.limits };
        Self { cached_workflows: limit, limits, ..self }
    }

    /// How long a shutdown waits for activities that are under way, and for a server that is away to
    /// hear how they ended; ten seconds, if nothing is said.
    pub fn shutdown_patience(self, span: Duration) -> Self {
        Self { patience: span, ..self }
    }

    /// How long after a worker of a server was heard of last its attempts count as lost, and are tried
    /// again by their policies; 30 seconds, if nothing is said. Zero is never: then they are waited for
    /// until their time is over, which is a day unless the activity has limits of its own.
    ///
    /// The worker gives signs of life by itself, from a thread of its own: code may be silent, and may
    /// hold its thread. Where a call asks for a [heartbeat](ActivityOptions::heartbeat) its code must be
    /// heard of instead. A program that is stopped for longer, as in a debugger, is taken for lost.
    ///
    /// This is between this SDK and a Steadfast server; others wait until an attempt's time is over. In a
    /// program that embeds the engine there is nothing to wait for: what it had in hand is tried again
    /// when it is back.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use steadfast::App;
    /// let app = App::builder("127.0.0.1:7233").lost_after(Duration::from_secs(5));
    /// ```
    pub fn lost_after(mut self, span: Duration) -> Self {
        self.access.lost_after = Some(span).filter(|span| !span.is_zero());
        self
    }

    /// What a commit to the file waits for.
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.sqlite.synchronous = synchronous;
        self
    }

    /// How much memory is for pages of the file, in KiB; 1,024, if nothing is said. More spares reads
    /// where very many workflows sleep and wake in any order.
    pub fn page_cache_kib(mut self, size: u32) -> Self {
        self.sqlite.writer_cache_kib = size;
        self
    }

    /// Where time comes from.
    #[doc(hidden)]
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// A store that is open already.
    #[doc(hidden)]
    pub fn store(self, store: Arc<dyn Store>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Where chance comes from.
    #[doc(hidden)]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// What is too much.
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Opens the engine, or connects to the server, and begins to work.
    pub async fn start(self) -> Result<App, StartError> {
        self.check()?;
        let (door, own) = self.open().await?;
        let identity = self.identity.unwrap_or_else(|| format!("steadfast-{}", fresh_id()));
        let registry = Arc::new(self.registry);
        let settings = Settings {
            namespace: self.namespace.clone(),
            task_queue: self.task_queue.clone(),
            identity: identity.clone(),
            key: fresh_id().to_string(),
            activities_at_once: self.activities_at_once,
            activities_per_second: self.activities_per_second,
            queue_activities_per_second: self.queue_activities_per_second,
            cached_workflows: self.cached_workflows,
            pollers: if own.is_some() { EMBEDDED_POLLERS } else { REMOTE_POLLERS },
        };
        let client = Client {
            door: door.clone(),
            registry: Arc::clone(&registry),
            namespace: self.namespace,
            task_queue: self.task_queue,
            identity,
        };
        let worker = Worker::start(door.for_worker(), registry, settings, self.clock, self.states);
        Ok(App { client, worker, own, patience: self.patience })
    }

    fn check(&self) -> Result<(), StartError> {
        if let Some(name) = self.twice.clone() {
            return Err(StartError::Twice { name });
        }
        let rates = [
            ("activities_per_second", self.activities_per_second),
            ("queue_activities_per_second", self.queue_activities_per_second),
        ];
        for (option, rate) in rates {
            if let Some(rate) = rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
                return Err(StartError::Rate { option, rate });
            }
        }
        let sense = LOST_AFTER_MIN..=SILENCE_LONGEST;
        if let Some(span) = self.access.lost_after.filter(|span| !sense.contains(span)) {
            return Err(StartError::LostAfter { span });
        }
        let (_, names) = self.registry.names();
        let activities = names.into_iter().filter_map(|name| self.registry.activity(name));
        let own =
            activities.map(|it| (format!("activity {}", it.name()), it.options.retry.as_ref()));
        let defaults = ("the application".to_owned(), self.registry.defaults.retry.as_ref());
        for (of, policy) in own.chain([defaults]) {
            let checked = policy.map_or(Ok(()), RetryPolicy::check);
            checked.map_err(|error| StartError::Policy { of, error })?;
        }
        Ok(())
    }

    async fn open(&self) -> Result<(Door, Option<Own>), StartError> {
        let target = Target::read(&self.target)?;
        let (store, file): (Arc<dyn Store>, _) = match (&self.store, &target) {
            (Some(store), _) => (Arc::clone(store), None),
            (None, Target::Sqlite(path)) => {
                let file = Arc::new(Sqlite::open(path, &self.sqlite)?);
                let store: Arc<dyn Store> = file.clone();
                (store, Some(file))
            }
            (None, Target::Memory) => (Arc::new(Memory::new()), None),
            (None, Target::Server(address)) => return Ok((self.connect(address)?, None)),
        };
        let options = Options {
            clock: Arc::clone(&self.clock),
            seed: self.seed,
            limits: self.limits.clone(),
            ..Options::default()
        };
        let engine = Engine::open(store, options).await?;
        let door = Door::embedded(&engine, self.codec.clone());
        Ok((door, Some(Own { engine, file })))
    }

    #[cfg(feature = "remote")]
    fn connect(&self, address: &str) -> Result<Door, StartError> {
        let remote = crate::door::Remote::new(address, &self.access)?;
        Ok(Door::remote(remote, self.codec.clone()))
    }

    #[cfg(not(feature = "remote"))]
    #[expect(clippy::unused_self, reason = "as with the feature")]
    fn connect(&self, _: &str) -> Result<Door, StartError> {
        Err(StartError::NoRemote)
    }
}

/// Whoever waits within this process is not cut off by a network: it waits for what it waits for, and
/// sleeping workflows wake nobody. What is over it has been told, and hardly asks for again.
fn limits() -> Limits {
    Limits {
        poll_wait: FOREVER,
        read_wait: FOREVER,
        cached_runs_max: CACHED,
        cached_closed_runs_max: CACHED_CLOSED,
        ..Limits::default()
    }
}

/// Workflows that are kept in memory between their steps.
const CACHED: usize = 1_000;
/// Runs that are over and stay there.
const CACHED_CLOSED: usize = 32;
/// How many polls of each kind are under way at a server.
const REMOTE_POLLERS: Pollers = Pollers { workflows: 5, activities: 5 };
/// The same where the engine is in this process and a poll is a future. An attempt is given out when
/// its start is durable, so as many as there are polls share one commit; a workflow task does not wait.
const EMBEDDED_POLLERS: Pollers = Pollers { workflows: 16, activities: 64 };

/// A server counts the silence of a worker in milliseconds.
const LOST_AFTER_MIN: Duration = Duration::from_millis(1);
