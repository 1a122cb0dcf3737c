//! Activities whose end comes from elsewhere: a person, a webhook, another program.

use serde::Serialize;
use steadfast_proto::{common::WorkflowExecution, workflowservice as ws};

use super::{Client, error::ClientError};
use crate::{activity::ActivityToken, error::Failure, payload};

/// An activity whose attempt said that its end comes from elsewhere: see
/// [`ActivityContext::complete_later`](crate::ActivityContext::complete_later).
///
/// ```no_run
/// # use steadfast::{ActivityToken, Client, ClientError, Failure};
/// async fn on_webhook(client: Client, token: String, paid: bool) -> Result<(), ClientError> {
///     let Ok(token) = token.parse::<ActivityToken>() else { return Ok(()) };
///     let activity = client.activity(token);
///     if paid {
///         activity.complete(&"paid").await
///     } else {
///         activity.fail(Failure::new("the card was declined").of_type("CardDeclined")).await
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ActivityHandle {
    client: Client,
    which: Which,
}

#[derive(Clone, Debug)]
enum Which {
    /// This very attempt.
    Token(ActivityToken),
    /// Whichever attempt of the activity is under way.
    Id { run: WorkflowExecution, activity_id: String },
}

/// Activities whose end comes from elsewhere.
impl Client {
    /// The activity of this attempt, to be completed from here.
    pub fn activity(&self, token: ActivityToken) -> ActivityHandle {
        ActivityHandle { client: self.clone(), which: Which::Token(token) }
    }

    /// The activity with this id in the latest run of a workflow, to be completed from here.
    pub fn activity_by_id(
        &self,
        workflow_id: impl Into<String>,
        activity_id: impl Into<String>,
    ) -> ActivityHandle {
        let run = WorkflowExecution { workflow_id: workflow_id.into(), run_id: String::new() };
        let which = Which::Id { run, activity_id: activity_id.into() };
        ActivityHandle { client: self.clone(), which }
    }
}

impl ActivityHandle {
    /// It has succeeded.
    pub async fn complete<T: Serialize + ?Sized>(&self, result: &T) -> Result<(), ClientError> {
        let result = payload::encode_one(result)?;
        let Client { door, namespace, identity, .. } = &self.client;
        let (namespace, identity) = (namespace.clone(), identity.clone());
        match &self.which {
            Which::Token(token) => {
                let request = ws::RespondActivityTaskCompletedRequest {
                    task_token: token.bytes(),
                    result,
                    identity,
                    namespace,
                    ..ws::RespondActivityTaskCompletedRequest::default()
                };
                door.respond_activity_task_completed(request).await?;
            }
            Which::Id { run, activity_id } => {
                let request = ws::RespondActivityTaskCompletedByIdRequest {
                    namespace,
                    workflow_id: run.workflow_id.clone(),
                    run_id: run.run_id.clone(),
                    activity_id: activity_id.clone(),
                    result,
                    identity,
                    ..ws::RespondActivityTaskCompletedByIdRequest::default()
                };
                door.respond_activity_task_completed_by_id(request).await?;
            }
        }
        Ok(())
    }

    /// It has failed. Its policy says what happens then.
    pub async fn fail(&self, failure: impl Into<Failure>) -> Result<(), ClientError> {
        let failure = Some(failure.into().into_wire());
        let Client { door, namespace, identity, .. } = &self.client;
        let (namespace, identity) = (namespace.clone(), identity.clone());
        match &self.which {
            Which::Token(token) => {
                let request = ws::RespondActivityTaskFailedRequest {
                    task_token: token.bytes(),
                    failure,
                    identity,
                    namespace,
                    ..ws::RespondActivityTaskFailedRequest::default()
                };
                door.respond_activity_task_failed(request).await?;
            }
            Which::Id { run, activity_id } => {
                let request = ws::RespondActivityTaskFailedByIdRequest {
                    namespace,
                    workflow_id: run.workflow_id.clone(),
                    run_id: run.run_id.clone(),
                    activity_id: activity_id.clone(),
                    failure,
                    identity,
                    ..ws::RespondActivityTaskFailedByIdRequest::default()
                };
                door.respond_activity_task_failed_by_id(request).await?;
            }
        }
        Ok(())
    }

    /// It has stopped because its workflow cancelled it.
    pub async fn cancelled(&self) -> Result<(), ClientError> {
        let Client { door, namespace, identity, .. } = &self.client;
        let (namespace, identity) = (namespace.clone(), identity.clone());
        match &self.which {
            Which::Token(token) => {
                let request = ws::RespondActivityTaskCanceledRequest {
                    task_token: token.bytes(),
                    identity,
                    namespace,
                    ..ws::RespondActivityTaskCanceledRequest::default()
                };
                door.respond_activity_task_canceled(request).await?;
            }
            Which::Id { run, activity_id } => {
                let request = ws::RespondActivityTaskCanceledByIdRequest {
                    namespace,
                    workflow_id: run.workflow_id.clone(),
                    run_id: run.run_id.clone(),
                    activity_id: activity_id.clone(),
                    identity,
                    ..ws::RespondActivityTaskCanceledByIdRequest::default()
                };
                door.respond_activity_task_canceled_by_id(request).await?;
            }
        }
        Ok(())
    }

    /// It is alive, and so far. Says whether its workflow wants it to stop.
    pub async fn heartbeat<T: Serialize + ?Sized>(&self, details: &T) -> Result<bool, ClientError> {
        let details = payload::encode_one(details)?;
        let Client { door, namespace, identity, .. } = &self.client;
        let (namespace, identity) = (namespace.clone(), identity.clone());
        Ok(match &self.which {
            Which::Token(token) => {
                let request = ws::RecordActivityTaskHeartbeatRequest {
                    task_token: token.bytes(),
                    details,
                    identity,
                    namespace,
                    ..ws::RecordActivityTaskHeartbeatRequest::default()
                };
                door.record_activity_task_heartbeat(request).await?.cancel_requested
            }
            Which::Id { run, activity_id } => {
                let request = ws::RecordActivityTaskHeartbeatByIdRequest {
                    namespace,
                    workflow_id: run.workflow_id.clone(),
                    run_id: run.run_id.clone(),
                    activity_id: activity_id.clone(),
                    details,
                    identity,
                    ..ws::RecordActivityTaskHeartbeatByIdRequest::default()
                };
                door.record_activity_task_heartbeat_by_id(request).await?.cancel_requested
            }
        })
    }
}
