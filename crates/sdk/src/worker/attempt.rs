//! One attempt of an activity, watched: it is heard of, a cancellation reaches it, its time is kept, a
//! panic is a failure like any other.

use std::{
    any::Any, convert::Infallible, future::poll_fn, panic::AssertUnwindSafe, sync::Arc,
    time::Duration,
};

use futures_util::FutureExt as _;
use steadfast_engine::{AsideError, Code, Error};
use steadfast_proto::{common::Payloads, failure as wire, workflowservice as ws};
use steadfast_store::Aside;
use tokio::sync::OwnedSemaphorePermit;

use super::{
    Shared,
    activities::Key,
    beats::{Heard, Rhythm},
    held::Held,
};
use crate::{
    activity::{ActivityContext, ActivityInfo, Line, Write},
    call::Called,
    codec::{Codec, Unchanged},
    error::{Failure, PANIC, UNKNOWN_ACTIVITY},
    span::{self, FOREVER},
    workflow::words,
};

/// How an attempt ended.
enum Ended {
    Said(Result<Option<Payloads>, Failure>),
    /// Its time is up; the engine knows it by itself.
    OutOfTime,
}

/// What is known of an attempt while it runs.
struct Attempt {
    activity_type: String,
    token: Vec<u8>,
    key: Key,
    line: Arc<Line>,
    rhythm: Rhythm,
    /// How long it may take.
    allowed: Duration,
}

/// Runs an attempt and tells the engine how it ended, unless the worker is dropped before.
///
/// Many are under way at once, and most of them wait for something. So what comes before is done here,
/// and what is returned keeps no more than it needs.
pub(crate) fn run(
    shared: Arc<Shared>,
    task: ws::PollActivityTaskQueueResponse,
    slot: OwnedSemaphorePermit,
) -> impl Future<Output = ()> + Send {
    let (attempt, code) = Attempt::of(&shared, task);
    async move {
        tokio::select! {
            biased;
            () = shared.gone() => {}
            () = async {
                let ended = match code {
                    Ok(code) => watch(&shared, &attempt, code).await,
                    Err(failure) => Ended::Said(Err(failure)),
                };
                shared.attempts.remove(&attempt.key);
                shared.report.attempts.count(matches!(ended, Ended::Said(Ok(_))));
                if let Ended::Said(result) = ended {
                    conclude(&shared, &attempt, result).await;
                }
            } => {}
        }
        drop(slot);
    }
}

impl Attempt {
    /// An attempt, and its code if there is any for it.
    fn of(
        shared: &Shared,
        mut task: ws::PollActivityTaskQueueResponse,
    ) -> (Self, Result<Called, Failure>) {
        let decoded = shared.codec.decode(&mut task);
        let input = task.input.take();
        let before = task.heartbeat_details.clone().filter(|_| decoded.is_ok());
        let (rhythm, line) = (Rhythm::of(&task), Arc::new(Line::after(before)));
        let info = ActivityInfo::of(&shared.settings.namespace, &mut task);
        let attempt = Self {
            activity_type: info.activity_type.clone(),
            token: task.task_token,
            key: (info.run_id.clone(), info.activity_id.clone()),
            line: Arc::clone(&line),
            rhythm,
            allowed: span::limit(task.start_to_close_timeout.as_ref()).unwrap_or(Duration::MAX),
        };
        shared.attempts.add(attempt.key.clone(), Arc::clone(&line));
        let code = match (decoded, shared.registry.activity(&attempt.activity_type)) {
            (Err(unchanged), _) => Err(unchanged.into()),
            (Ok(()), None) => Err(unknown(shared, &attempt.activity_type)),
            (Ok(()), Some(activity)) => {
                Ok(activity.run(ActivityContext::new(info, line, shared.surroundings()), input))
            }
        };
        (attempt, code)
    }

    fn heard(&self) -> Heard<'_> {
        Heard { token: &self.token, line: &self.line, rhythm: self.rhythm }
    }
}

/// The failure of an attempt of an activity that nobody has registered.
pub(super) fn unknown(shared: &Shared, name: &str) -> Failure {
    let known = shared.registry.names().1;
    // Another worker of the queue, or the next version of this one, may have it.
    Failure::new(format!("no activity {name:?} is registered here; there are {known:?}"))
        .of_type(UNKNOWN_ACTIVITY)
}

async fn watch(shared: &Arc<Shared>, attempt: &Attempt, code: Called) -> Ended {
    let heard = attempt.heard();
    let apart = heard.apart(shared);
    let beats = async {
        if apart.is_none() {
            heard.told(shared, &shared.door).await;
        }
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        biased;
        ended = caught(shared, &attempt.activity_type, code) => Ended::Said(ended),
        () = shared.clock.sleep(attempt.allowed.min(FOREVER)) => Ended::OutOfTime,
        never = beats => match never {},
    }
}

/// Runs an attempt. A panic is a failure like any other.
pub(super) fn caught(
    shared: &Shared,
    activity_type: &str,
    code: Called,
) -> impl Future<Output = Result<Option<Payloads>, Failure>> {
    let mut code = AssertUnwindSafe(code).catch_unwind();
    let failure = |panic: Box<dyn Any + Send>| Failure::new(words(panic.as_ref())).of_type(PANIC);
    poll_fn(move |cx| {
        let held = Held::by(&*shared.clock);
        let polled = code.poll_unpin(cx);
        held.by_activity(activity_type);
        polled.map(|ended| ended.unwrap_or_else(|panic| Err(failure(panic))))
    })
}

/// Does what an attempt that has ended has left to do.
async fn conclude(
    shared: &Arc<Shared>,
    attempt: &Attempt,
    result: Result<Option<Payloads>, Failure>,
) {
    if result.as_ref().is_err_and(Failure::is_later) {
        return Box::pin(attempt.heard().left(shared)).await;
    }
    let result = match (result, attempt.line.take_writes()) {
        (Ok(result), writes) if !writes.is_empty() => {
            match Box::pin(write(shared, attempt.token.clone(), result, writes)).await {
                Ok(()) => return,
                Err(failure) => Err(failure),
            }
        }
        (result, _) => result,
    };
    tell(shared, attempt, result).await;
}

/// Records a result and what the attempt writes with it, in one transaction.
async fn write(
    shared: &Shared,
    task_token: Vec<u8>,
    result: Option<Payloads>,
    writes: Vec<Write>,
) -> Result<(), Failure> {
    let Some(engine) = shared.door.engine() else {
        let words = "an activity can write with its result only where the engine is in its process";
        return Err(Failure::terminal(words));
    };
    let aside = Aside::new(move |db| writes.iter().try_for_each(|write| write(db)));
    let mut request = completion(shared, task_token, result);
    shared.codec.encode(&mut request).map_err(Failure::from)?;
    match engine.respond_activity_task_completed_with(request, aside).await {
        Ok(_) => Ok(()),
        Err(AsideError::Failed { reason }) => Err(Failure::new(reason).of_type(UNWRITTEN)),
        // The next engine on this file will end the attempt.
        Err(AsideError::Engine(error)) if error.code == Code::Unavailable => Ok(()),
        // As without a write: it would be too large again.
        Err(AsideError::Engine(error)) if error.code == Code::InvalidArgument => {
            Err(Failure::new(error.message).of_type(UNWRITTEN).non_retryable())
        }
        // If the attempt has ended meanwhile, nobody takes its failure either.
        Err(error) => Err(Failure::new(error.to_string()).of_type(UNWRITTEN)),
    }
}

/// The type of the failure of an attempt whose result and writes were not taken.
const UNWRITTEN: &str = "WriteError";

/// How an attempt ended, as the engine is told.
#[derive(Clone)]
enum End {
    Completed(Option<Payloads>),
    Canceled,
    Failed {
        failure: Box<wire::Failure>,
        /// Heartbeats that were not told yet are there for the next attempt.
        details: Option<Payloads>,
    },
}

impl End {
    fn of(line: &Line, result: Result<Option<Payloads>, Failure>) -> Self {
        match result {
            Ok(result) => Self::Completed(result),
            Err(failure) if failure.is_cancelled() && line.is_cancelled() => Self::Canceled,
            Err(failure) => {
                Self::Failed { failure: Box::new(failure.into_wire()), details: line.last_beat() }
            }
        }
    }

    fn encoded(mut self, codec: &Codec) -> Result<Self, Unchanged> {
        match &mut self {
            Self::Completed(result) => result.iter_mut().try_for_each(|it| codec.encode(it))?,
            Self::Canceled => {}
            Self::Failed { failure, details } => {
                codec.encode(failure.as_mut())?;
                details.iter_mut().try_for_each(|it| codec.encode(it))?;
            }
        }
        Ok(self)
    }
}

/// Tells the engine how an attempt ended. What it does not hear is told again, for as long as there is
/// this worker: work that was done is not done again because nobody was there when it ended.
async fn tell(
    shared: &Arc<Shared>,
    Attempt { token, line, .. }: &Attempt,
    result: Result<Option<Payloads>, Failure>,
) {
    let end = End::of(line, result);
    let end = end.encoded(&shared.codec).unwrap_or_else(|unchanged| {
        // What has no payloads can always be told.
        End::Failed { failure: Box::new(Failure::from(unchanged).into_wire()), details: None }
    });
    let mut failures = 0;
    loop {
        let told = match end.clone() {
            End::Completed(result) => completed(shared, token.clone(), result).await,
            End::Canceled => canceled(shared, token.clone()).await,
            End::Failed { failure, details } => {
                Box::pin(failed(shared, token.clone(), details, failure)).await
            }
        };
        match told {
            Ok(()) => return,
            Err(error)
                if error.code == Code::ResourceExhausted || shared.door.asks_again(&error) =>
            {
                tracing::warn!(%error, failures, "the server did not hear how an attempt ended");
                shared.pause(&mut failures).await;
            }
            Err(error) => {
                tracing::debug!(%error, "the end of an attempt came too late");
                return;
            }
        }
    }
}

async fn completed(
    shared: &Shared,
    task_token: Vec<u8>,
    result: Option<Payloads>,
) -> Result<(), Error> {
    let request = completion(shared, task_token, result);
    shared.door.respond_activity_task_completed(request).await.map(drop)
}

fn completion(
    shared: &Shared,
    task_token: Vec<u8>,
    result: Option<Payloads>,
) -> ws::RespondActivityTaskCompletedRequest {
    ws::RespondActivityTaskCompletedRequest {
        task_token,
        result,
        identity: shared.settings.identity.clone(),
        namespace: shared.settings.namespace.clone(),
        ..ws::RespondActivityTaskCompletedRequest::default()
    }
}

async fn failed(
    shared: &Shared,
    task_token: Vec<u8>,
    last_heartbeat_details: Option<Payloads>,
    failure: Box<wire::Failure>,
) -> Result<(), Error> {
    let request = ws::RespondActivityTaskFailedRequest {
        task_token,
        failure: Some(*failure),
        last_heartbeat_details,
        identity: shared.settings.identity.clone(),
        namespace: shared.settings.namespace.clone(),
        ..ws::RespondActivityTaskFailedRequest::default()
    };
    shared.door.respond_activity_task_failed(request).await.map(drop)
}

async fn canceled(shared: &Shared, task_token: Vec<u8>) -> Result<(), Error> {
    let request = ws::RespondActivityTaskCanceledRequest {
        task_token,
        identity: shared.settings.identity.clone(),
        namespace: shared.settings.namespace.clone(),
        ..ws::RespondActivityTaskCanceledRequest::default()
    };
    shared.door.respond_activity_task_canceled(request).await.map(drop)
}
