//! What an attempt of an activity knows, and can say while it runs.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use rusqlite::Connection;
use serde::{Serialize, de::DeserializeOwned};
use steadfast_engine::{Error as ServiceError, FENCE_HEADER, IDEMPOTENCY_HEADER};
use steadfast_proto::{
    common::{Payloads, WorkflowExecution},
    workflowservice::{DescribeWorkflowExecutionRequest, PollActivityTaskQueueResponse},
};
use steadfast_store::AttemptLog;
use tokio::sync::watch;

use super::{line::Line, token::ActivityToken};
use crate::{
    door::Door,
    error::{AttemptError, Cancelled, Failure, HeartbeatError},
    header::is_spoken_for,
    payload::{self, CodecError},
    span,
    state::States,
};

/// Which attempt of which activity this is.
///
/// ```
/// # use steadfast::{ActivityContext, Failure};
/// async fn copy(ctx: ActivityContext, file: String) -> Result<(), Failure> {
///     let info = ctx.info();
///     println!("attempt {} of {} for {}", info.attempt, info.activity_type, info.workflow_id);
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ActivityInfo {
    /// The name of the activity.
    pub activity_type: String,
    /// Its id within the run.
    pub activity_id: String,
    /// The namespace of the workflow that called it.
    pub namespace: String,
    /// The workflow that called it.
    pub workflow_id: String,
    /// The run that called it.
    pub run_id: String,
    /// The name of that workflow.
    pub workflow_type: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The most attempts that there will be, if that is limited.
    pub max_attempts: Option<u32>,
    /// How long this attempt may take.
    pub start_to_close: Option<Duration>,
    /// How long it may be silent.
    pub heartbeat_timeout: Option<Duration>,
    /// Grows with every attempt that is handed to a worker, whatever is reset: what is written with a
    /// lower one than was seen before is from an attempt that the engine has given up.
    pub fence: u64,
    /// Whether it is a local activity, which is run within the step of its workflow. It has no
    /// heartbeat, and cannot write with its result.
    pub is_local: bool,
    /// What the attempts before it said last.
    heartbeat: Option<Payloads>,
    /// The same at every attempt, as the engine says it.
    idempotency_key: Option<String>,
    token: Vec<u8>,
}

impl ActivityInfo {
    pub(crate) fn of(namespace: &str, task: &mut PollActivityTaskQueueResponse) -> Self {
        let run = task.workflow_execution.take().unwrap_or_default();
        let attempts = task.retry_policy.as_ref().map_or(0, |policy| policy.maximum_attempts);
        Self {
            activity_type: task.activity_type.take().unwrap_or_default().name,
            activity_id: std::mem::take(&mut task.activity_id),
            namespace: namespace.to_owned(),
            workflow_id: run.workflow_id,
            run_id: run.run_id,
            workflow_type: task.workflow_type.take().unwrap_or_default().name,
            attempt: u32::try_from(task.attempt).unwrap_or(1),
            max_attempts: u32::try_from(attempts).ok().filter(|attempts| *attempts > 0),
            start_to_close: span::limit(task.start_to_close_timeout.as_ref()),
            heartbeat_timeout: heartbeat_timeout(task),
            heartbeat: task.heartbeat_details.take(),
            fence: said(task, FENCE_HEADER).unwrap_or_default(),
            is_local: false,
            idempotency_key: said(task, IDEMPOTENCY_HEADER),
            token: task.task_token.clone(),
        }
    }
}

impl ActivityInfo {
    /// An attempt of a local activity of this run.
    pub(crate) fn local(namespace: &str, run: &WorkflowExecution) -> Self {
        Self {
            namespace: namespace.to_owned(),
            workflow_id: run.workflow_id.clone(),
            run_id: run.run_id.clone(),
            is_local: true,
            ..Self::default()
        }
    }
}

/// How long the code may be silent, which is no matter where its worker speaks for it.
fn heartbeat_timeout(task: &PollActivityTaskQueueResponse) -> Option<Duration> {
    let limit = span::limit(task.heartbeat_timeout.as_ref());
    limit.filter(|_| !is_spoken_for(task.header.as_ref()))
}

/// What the engine says about the attempt in its header.
fn said<T: DeserializeOwned>(task: &PollActivityTaskQueueResponse, field: &str) -> Option<T> {
    let payload = task.header.as_ref()?.fields.get(field)?;
    serde_json::from_slice(&payload.data).ok()
}

/// What an attempt knows, and can say while it runs.
///
/// ```
/// # use steadfast::{ActivityContext, Failure};
/// async fn charge(ctx: ActivityContext, order: String) -> Result<String, Failure> {
///     // A bank that is told the same key does nothing twice.
///     let key = ctx.idempotency_key();
///     Ok(format!("{order} is paid at attempt {}, key {key}", ctx.attempt()))
/// }
/// ```
#[derive(Clone)]
pub struct ActivityContext {
    info: Arc<ActivityInfo>,
    line: Arc<Line>,
    surroundings: Surroundings,
}

/// What all attempts of a worker share.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) states: States,
    pub(crate) door: Door,
    /// Becomes true when the worker stops.
    pub(crate) stop: watch::Receiver<bool>,
}

impl ActivityContext {
    pub(crate) fn new(info: ActivityInfo, line: Arc<Line>, surroundings: Surroundings) -> Self {
        Self { info: Arc::new(info), line, surroundings }
    }

    /// Which attempt of which activity this is.
    pub fn info(&self) -> &ActivityInfo {
        &self.info
    }

    /// The attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.info.attempt
    }

    /// Whether this is the last attempt that the number of attempts allows.
    pub fn is_last_attempt(&self) -> bool {
        self.info.max_attempts.is_some_and(|max| self.info.attempt >= max)
    }

    /// A key that is the same at every attempt and different for every call: for services that do
    /// nothing twice if they are asked twice. It stays when the workflow is retried or reset. A server
    /// that says none leaves it to the names of the call, which do not.
    pub fn idempotency_key(&self) -> String {
        let ActivityInfo { workflow_id, run_id, activity_id, idempotency_key, .. } = &*self.info;
        let names = || format!("{workflow_id}/{run_id}/{activity_id}");
        idempotency_key.clone().unwrap_or_else(names)
    }

    /// What the attempts before this one have failed with, the first one first; of very many, the
    /// first and the last. A server tells of the last one only, and of a local activity nothing is
    /// known but its end.
    pub async fn previous_failures(&self) -> Result<Vec<AttemptError>, ServiceError> {
        let ActivityInfo { namespace, workflow_id, run_id, activity_id, attempt, .. } = &*self.info;
        if self.info.is_local {
            return Ok(Vec::new());
        }
        let execution =
            WorkflowExecution { workflow_id: workflow_id.clone(), run_id: run_id.clone() };
        let Some(engine) = self.surroundings.door.engine() else {
            let request = DescribeWorkflowExecutionRequest {
                namespace: namespace.clone(),
                execution: Some(execution),
            };
            let described = self.surroundings.door.describe_workflow_execution(request).await?;
            let mut pending = described.pending_activities.iter();
            let this = pending.find(|it| it.activity_id == *activity_id);
            return Ok(this.and_then(AttemptError::last_of).into_iter().collect());
        };
        let all = engine.workflow_attempts(namespace, &execution).await?;
        // An id may be used again once its activity is over: the newest is the one that runs.
        let is_this = |log: &&AttemptLog| {
            log.rows.first().is_some_and(|row| row.activity > 0 && row.activity_id == *activity_id)
        };
        let rows = all.iter().rev().find(is_this).map_or(&[][..], |log| &log.rows);
        let failed = rows.iter().filter(|row| row.attempt < *attempt && !row.message.is_empty());
        Ok(failed.map(AttemptError::of).collect())
    }

    /// Says that the attempt is alive and how far it is. An error if it has been cancelled.
    ///
    /// It does not wait: the newest details are told in the background.
    pub fn heartbeat<T: Serialize + ?Sized>(&self, details: &T) -> Result<(), HeartbeatError> {
        self.line.beat(payload::encode_one(details)?);
        self.check()?;
        Ok(())
    }

    /// How far the attempts before this one came, by their heartbeats.
    pub fn last_heartbeat<T: DeserializeOwned>(&self) -> Option<Result<T, CodecError>> {
        let details = self.info.heartbeat.as_ref()?;
        Some(payload::decode_one(Some(details)))
    }

    /// An error if the activity has been cancelled.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.line.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// Nobody waits for this attempt any more.
    pub(super) fn give_up(&self) {
        self.line.cancel();
    }

    /// Waits until the activity is cancelled.
    pub async fn cancelled(&self) {
        self.line.cancelled().await;
    }

    /// The name of this attempt, for whoever ends it from elsewhere.
    pub fn token(&self) -> ActivityToken {
        ActivityToken::new(self.info.token.clone())
    }

    /// Ends the code but not the attempt: how it ends comes from elsewhere, by its
    /// [token](Self::token), to [`Client::activity`](crate::Client::activity). Its times run on: say
    /// how long it may take.
    ///
    /// The attempt outlives the worker, and the program if that embeds the engine. A local activity
    /// cannot do so.
    ///
    /// ```
    /// # use steadfast::{ActivityContext, Failure};
    /// # async fn send_mail(to: &str, text: String) -> Result<(), Failure> { Ok(()) }
    /// async fn ask(ctx: ActivityContext, whom: String) -> Result<bool, Failure> {
    ///     send_mail(&whom, format!("https://shop.example/answer/{}", ctx.token())).await?;
    ///     ctx.complete_later()
    /// }
    /// ```
    pub fn complete_later<T>(&self) -> Result<T, Failure> {
        if self.info.is_local {
            return Err(Failure::terminal("a local activity cannot be completed later"));
        }
        Err(Failure::later())
    }

    /// Waits until the worker is about to stop: time to heartbeat how far it is, and to end. What is
    /// not done when the application's patience is over is left to the next attempt.
    ///
    /// ```
    /// # use steadfast::{ActivityContext, Failure};
    /// # async fn copy(page: u32) -> Result<(), Failure> { Ok(()) }
    /// async fn copy_all(ctx: ActivityContext, pages: u32) -> Result<(), Failure> {
    ///     let first = ctx.last_heartbeat::<u32>().transpose()?.unwrap_or_default();
    ///     for page in first..pages {
    ///         ctx.heartbeat(&page)?;
    ///         if ctx.is_worker_stopping() {
    ///             return Err(Failure::new("the worker stops"));
    ///         }
    ///         copy(page).await?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub async fn worker_stopping(&self) {
        let mut stop = self.surroundings.stop.clone();
        // An error means that the worker is gone.
        let _ = stop.wait_for(|stop| *stop).await;
    }

    /// Whether the worker is about to stop.
    pub fn is_worker_stopping(&self) -> bool {
        *self.surroundings.stop.borrow()
    }

    /// Writes into tables of its own, in the transaction that records the attempt's result: both are
    /// durable, or neither. If the attempt fails, nothing is written; if the writing fails, the
    /// attempt has failed.
    ///
    /// Only where the engine is in the same process, on a file. The closure may be run more than
    /// once, if a commit has to be tried again, and holds up everybody else's writing: it must do the
    /// same each time, nothing but write, and be short.
    ///
    /// ```
    /// # use steadfast::{ActivityContext, Failure};
    /// async fn charge(ctx: ActivityContext, order: String) -> Result<(), Failure> {
    ///     ctx.write_with_result(move |db| {
    ///         db.execute("INSERT INTO payments (order_id) VALUES (?1)", [&order])?;
    ///         Ok(())
    ///     });
    ///     Ok(())
    /// }
    /// ```
    pub fn write_with_result(
        &self,
        write: impl Fn(&Connection) -> Result<(), Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    ) {
        self.line.write(Box::new(write));
    }

    /// What was given to the application for its activities.
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.surroundings.states.get()
    }
}

impl fmt::Debug for ActivityContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivityContext").field("info", &self.info).finish_non_exhaustive()
    }
}
