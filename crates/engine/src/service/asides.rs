//! Activities that write tables of their own together with their result.

use std::sync::Arc;

use steadfast_core::{CompleteActivity, Input, Refused};
use steadfast_proto::workflowservice::{
    RespondActivityTaskCompletedRequest, RespondActivityTaskCompletedResponse,
};
use steadfast_store::{Aside, RunNumber};
use tokio::sync::oneshot;

use super::Engine;
use crate::{
    error::Error,
    shard::{Address, Desk, Job},
};

/// Why an activity's result was not recorded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AsideError {
    /// The aside failed: nothing of it is in the file, and the attempt is still under way. Report
    /// it as failed, or try again.
    #[error("nothing was written: {reason}")]
    Failed {
        /// Why, in the aside's own words.
        reason: String,
    },
    /// The engine did not take the result, and the aside was not run, or nothing of it is left.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl Engine {
    /// As [`respond_activity_task_completed`](Self::respond_activity_task_completed), with something
    /// that is written in the very transaction that records the result: when this answers `Ok`, both
    /// are durable, otherwise neither is. Other requests for the same run wait until it is known
    /// which.
    ///
    /// Only for stores in a `SQLite` file; others refuse every aside.
    pub async fn respond_activity_task_completed_with(
        &self,
        request: RespondActivityTaskCompletedRequest,
        aside: Aside,
    ) -> Result<RespondActivityTaskCompletedResponse, AsideError> {
        let (address, token) = self.activity(&request.task_token, &request.namespace)?;
        let input = CompleteActivity { token, result: request.result, identity: request.identity };
        let (slot, reply) = oneshot::channel();
        let aside = Arc::new(aside);
        self.post(AsideJob { address, input, aside: Arc::clone(&aside), slot });
        match (reply.await, aside.failure()) {
            (Ok(outcome), _) => outcome?,
            (Err(_), Some(reason)) => return Err(AsideError::Failed { reason }),
            (Err(_), None) => return Err(self.no_answer().into()),
        }
        Ok(RespondActivityTaskCompletedResponse {})
    }
}

struct AsideJob {
    address: Address,
    input: CompleteActivity,
    aside: Arc<Aside>,
    slot: oneshot::Sender<Result<(), Error>>,
}

impl Job for AsideJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let Self { input, aside, slot, .. } = *self;
        let outcome = match found {
            Some(number) => complete(desk, number, input, &aside),
            None => Err(Refused::ActivityNotFound.into()),
        };
        desk.release(move || drop(slot.send(outcome)));
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

fn complete(
    desk: &mut Desk<'_>,
    number: RunNumber,
    input: CompleteActivity,
    aside: &Arc<Aside>,
) -> Result<(), Error> {
    let bytes = input.result.as_ref().map_or(0, prost::Message::encoded_len);
    let bytes_max = desk.entry(number).map_or(usize::MAX, |it| it.limits.blob_bytes_max);
    if bytes > bytes_max {
        // Without an aside the activity would fail with this.
        let what = format!("result has {bytes} bytes; at most {bytes_max} are allowed");
        return Err(Error::invalid(what));
    }
    Ok(desk.try_with(number, Input::CompleteActivity(input), aside)?)
}
