//! Signs of life: what a worker at a server says for its attempts, without their code.
//!
//! ```text
//!   the call says how often     header, heartbeat timeout     the worker of the attempt
//!   its code will be heard  ──▶          no               ──▶ tells what the code says
//!   nothing                 ──▶  yes, a time of the SDK's ──▶ says by itself that it lives
//! ```
//!
//! A worker that is killed, and an attempt that never reached one, are noticed by it and not by the end
//! of the attempt's time, which may be a day away. What is left to somebody else is not watched any more.

use std::time::Duration;

use steadfast_engine::{Code, Error};
use steadfast_proto::{
    activity::ActivityOptions,
    common::WorkflowExecution,
    prost_types::FieldMask,
    workflowservice::{
        PollActivityTaskQueueResponse, UpdateActivityOptionsRequest,
        update_activity_options_request::Activity,
    },
};

use super::Shared;
use crate::{header, span};

/// An attempt for which its worker gives signs of life.
#[derive(Debug)]
pub(super) struct Watched {
    every: Duration,
    execution: Option<WorkflowExecution>,
    activity_id: String,
}

impl Watched {
    /// The attempt, if it is watched.
    pub(super) fn of(task: &PollActivityTaskQueueResponse) -> Option<Self> {
        if !header::is_watched(task.header.as_ref()) {
            return None;
        }
        let limit = span::limit(task.heartbeat_timeout.as_ref())?;
        // Of three in a row one is heard.
        let every = limit.checked_div(3).filter(|every| !every.is_zero())?;
        let execution = task.workflow_execution.clone();
        Some(Self { every, execution, activity_id: task.activity_id.clone() })
    }

    /// How long to wait at the most after a heartbeat was told, so that the next sign is in time.
    pub(super) fn pace(&self, pace: Duration) -> Duration {
        pace.min(self.every)
    }

    /// Waits until it is time for a sign.
    pub(super) async fn sign(&self, shared: &Shared) {
        shared.clock.sleep(self.every).await;
    }

    /// Has the server watch it no more. An error means that it will not do so.
    pub(super) async fn end(&self, shared: &Shared) -> Result<(), Error> {
        let mut failures = 0;
        loop {
            match shared.door.update_activity_options(self.unwatched(shared)).await {
                Ok(_) => return Ok(()),
                // Somebody was very quick, or the attempt is not wanted any more.
                Err(error) if error.code == Code::NotFound => return Ok(()),
                Err(error) if shared.door.asks_again(&error) => shared.pause(&mut failures).await,
                Err(error) => return Err(error),
            }
        }
    }

    fn unwatched(&self, shared: &Shared) -> UpdateActivityOptionsRequest {
        UpdateActivityOptionsRequest {
            namespace: shared.settings.namespace.clone(),
            execution: self.execution.clone(),
            identity: shared.settings.identity.clone(),
            activity_options: Some(ActivityOptions::default()),
            update_mask: Some(FieldMask { paths: vec!["heartbeat_timeout".to_owned()] }),
            activity: Some(Activity::Id(self.activity_id.clone())),
            ..UpdateActivityOptionsRequest::default()
        }
    }
}
