//! What became of a workflow's activities, with every attempt that failed on the way.

use std::collections::BTreeMap;

use serde::Serialize;
use steadfast_proto::history::{HistoryEvent, history_event::Attributes as E};
use steadfast_store::{AttemptLog, AttemptRow};

use super::{Client, error::ClientError, handle::WorkflowHandle};
use crate::{
    error::{AttemptError, millis},
    payload,
};

/// How an activity ended.
///
/// ```no_run
/// # async fn f(order: steadfast::WorkflowHandle<String>) -> Result<(), steadfast::ClientError> {
/// for activity in order.activities().await? {
///     let attempts = activity.retry_metadata.map_or(1, |it| it.total_attempts);
///     println!("{}: {attempts} attempts", activity.activity_name);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ActivityOutcome {
    /// Its name.
    pub activity_name: String,
    /// Its result, if it has one that is JSON.
    pub result: Option<serde_json::Value>,
    /// Its attempts, if there was more than one or the only one failed.
    pub retry_metadata: Option<RetryMetadata>,
}

/// The attempts of an activity.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RetryMetadata {
    /// How many, the successful one included.
    pub total_attempts: u32,
    /// How long it was retried: to the start of the attempt that succeeded, or to the end of the last.
    pub total_duration_ms: u64,
    /// Whether it was given up.
    pub exhausted: bool,
    /// What the last attempt that failed said.
    pub last_error: ErrorInfo,
    /// The attempts that failed; of very many, the first and the last.
    pub errors: Vec<AttemptError>,
}

/// What an attempt failed with.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ErrorInfo {
    /// The type of the error.
    pub error_type: String,
    /// Its words.
    pub message: String,
}

/// An activity that was tried more than once.
///
/// ```no_run
/// # async fn f(client: steadfast::Client) -> Result<(), steadfast::ClientError> {
/// for activity in client.activities_tried_more_often(3).await? {
///     println!("{} of {}", activity.activity_name, activity.workflow_id);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RetriedActivity {
    /// Its workflow.
    pub workflow_id: String,
    /// The run.
    pub run_id: String,
    /// Its name.
    pub activity_name: String,
    /// How many of its attempts have ended.
    pub total_attempts: u32,
}

impl Client {
    /// The activities of all workflows that were tried more often than this, of the newest run
    /// first. Known where the engine is in the same process.
    pub async fn activities_tried_more_often(
        &self,
        more_than: u32,
    ) -> Result<Vec<RetriedActivity>, ClientError> {
        let Some(engine) = self.door.engine() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let page =
                engine.activities_tried_more_often(&self.namespace, more_than, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(found) };
            after = Some((last.run, last.last.activity));
            found.extend(page.into_iter().map(|it| RetriedActivity {
                workflow_id: it.identity.workflow_id,
                run_id: it.identity.run_id,
                activity_name: it.last.activity_type,
                total_attempts: it.last.attempt,
            }));
        }
    }
}

impl<T: serde::de::DeserializeOwned> WorkflowHandle<T> {
    /// What became of its activities that have ended, in the order in which they were called. The
    /// attempts are known where the engine is in the same process.
    pub async fn activities(&self) -> Result<Vec<ActivityOutcome>, ClientError> {
        let history = self.history().await?;
        let mut outcomes = Vec::new();
        for (scheduled, ended) in ended(&history) {
            let attempts = self.attempts(scheduled).await?;
            outcomes.push(ActivityOutcome {
                activity_name: ended.name,
                retry_metadata: metadata(&attempts, ended.succeeded),
                result: ended.result,
            });
        }
        Ok(outcomes)
    }

    async fn attempts(&self, scheduled_event_id: i64) -> Result<AttemptLog, ClientError> {
        let Client { door, namespace, .. } = self.client();
        match door.engine() {
            Some(engine) => {
                let execution = self.execution();
                Ok(engine.activity_attempts(namespace, execution, scheduled_event_id).await?)
            }
            None => Ok(AttemptLog::default()),
        }
    }
}

struct Ended {
    name: String,
    succeeded: bool,
    result: Option<serde_json::Value>,
}

/// The activities that have ended, by the event that scheduled them.
fn ended(history: &[HistoryEvent]) -> BTreeMap<i64, Ended> {
    let mut names = BTreeMap::new();
    let mut ended = BTreeMap::new();
    for event in history {
        let (scheduled, succeeded, result) = match &event.attributes {
            Some(E::ActivityTaskScheduledEventAttributes(it)) => {
                let name = it.activity_type.as_ref().map(|it| it.name.clone());
                names.insert(event.event_id, name.unwrap_or_default());
                continue;
            }
            Some(E::ActivityTaskCompletedEventAttributes(it)) => {
                let result = payload::decode_one(it.result.as_ref()).ok();
                (it.scheduled_event_id, true, result)
            }
            Some(E::ActivityTaskFailedEventAttributes(it)) => (it.scheduled_event_id, false, None),
            Some(E::ActivityTaskTimedOutEventAttributes(it)) => {
                (it.scheduled_event_id, false, None)
            }
            _ => continue,
        };
        let name = names.remove(&scheduled).unwrap_or_default();
        ended.insert(scheduled, Ended { name, succeeded, result });
    }
    ended
}

/// What is to be said of attempts; nothing, if none failed.
fn metadata(log: &AttemptLog, succeeded: bool) -> Option<RetryMetadata> {
    let failed: Vec<&AttemptRow> = log.rows.iter().filter(|row| !row.message.is_empty()).collect();
    let (first, last) = (log.rows.first()?, log.rows.last()?);
    let last_failed = failed.last()?;
    let began = first.started_at.unwrap_or(first.scheduled_at);
    let until = if succeeded { last.started_at.unwrap_or(last.ended_at) } else { last.ended_at };
    Some(RetryMetadata {
        total_attempts: last.attempt,
        total_duration_ms: millis(until).saturating_sub(millis(began)),
        exhausted: !succeeded,
        last_error: ErrorInfo {
            error_type: last_failed.error_type.clone(),
            message: last_failed.message.clone(),
        },
        errors: failed.into_iter().map(AttemptError::of).collect(),
    })
}

const PAGE: i32 = 1000;
