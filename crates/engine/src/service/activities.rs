//! Activities: workers poll for them, report on them and answer them.

use steadfast_core::{
    ActivityToken, CancelActivity, CompleteActivity, FailActivity, Heartbeat, Input, Run,
};
use steadfast_proto::{
    common::Payloads,
    failure::{Failure, failure::FailureInfo},
    workflowservice::{
        PollActivityTaskQueueRequest, PollActivityTaskQueueResponse,
        RecordActivityTaskHeartbeatByIdRequest, RecordActivityTaskHeartbeatByIdResponse,
        RecordActivityTaskHeartbeatRequest, RecordActivityTaskHeartbeatResponse,
        RespondActivityTaskCanceledByIdRequest, RespondActivityTaskCanceledByIdResponse,
        RespondActivityTaskCanceledRequest, RespondActivityTaskCanceledResponse,
        RespondActivityTaskCompletedByIdRequest, RespondActivityTaskCompletedByIdResponse,
        RespondActivityTaskCompletedRequest, RespondActivityTaskCompletedResponse,
        RespondActivityTaskFailedByIdRequest, RespondActivityTaskFailedByIdResponse,
        RespondActivityTaskFailedRequest, RespondActivityTaskFailedResponse,
    },
};
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

use super::{Engine, checked_address, queues::scaling};
use crate::{
    error::Error,
    gift::Gift,
    matching::QueueName,
    shard::{Address, Desk, Job},
    task::{ActivityOffer, Taker},
};

impl Engine {
    /// Waits for an activity. An empty response means that there was none, or that the engine
    /// stops: whoever asks again then is told so.
    pub async fn poll_activity_task_queue(
        &self,
        request: PollActivityTaskQueueRequest,
    ) -> Result<PollActivityTaskQueueResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let queue = request.task_queue.unwrap_or_default();
        if queue.name.is_empty() {
            return Err(Error::invalid("missing task queue name"));
        }
        let rate = request.task_queue_metadata.and_then(|it| it.max_tasks_per_second);
        if rate.is_some_and(|rate| !rate.is_finite() || rate < 0.0) {
            return Err(Error::invalid(
                "task_queue_metadata.max_tasks_per_second must be a number that is not negative",
            ));
        }
        let name = QueueName { namespace_id: namespace.id.clone(), name: queue.name };
        let taker = Taker {
            identity: request.identity,
            request_id: self.shared().ids.id(),
            worker: request.worker_instance_key,
            ..self.taker()
        };
        if let Some(rate) = rate {
            self.shared().activities.set_rate(&name, rate);
        }
        let begun = self.now();
        let deadline = begun.after(self.patience(self.shared().limits.poll_wait));
        self.check_running()?;
        while self.check_running().is_ok() {
            let left = deadline.since(self.now());
            let take = |offer, slot| self.take_activity(offer, taker.clone(), slot);
            let next = self.next(&self.shared().activities, (&name, &taker), left, take);
            let Some(gift) = next.await else { break };
            if let Some(response) = gift.take() {
                let waited = self.now().since(begun);
                let poller_scaling_decision = scaling(waited, self.shared().activities.age(&name));
                return Ok(PollActivityTaskQueueResponse { poller_scaling_decision, ..*response });
            }
        }
        Ok(PollActivityTaskQueueResponse::default())
    }

    /// Takes an activity's result.
    pub async fn respond_activity_task_completed(
        &self,
        request: RespondActivityTaskCompletedRequest,
    ) -> Result<RespondActivityTaskCompletedResponse, Error> {
        let (address, token) = self.activity(&request.task_token, &request.namespace)?;
        let input = CompleteActivity { token, result: request.result, identity: request.identity };
        self.apply(address, String::new(), Input::CompleteActivity(input), |_| ()).await?;
        Ok(RespondActivityTaskCompletedResponse {})
    }

    /// As [`respond_activity_task_completed`](Self::respond_activity_task_completed), for whoever
    /// knows the activity's id.
    pub async fn respond_activity_task_completed_by_id(
        &self,
        request: RespondActivityTaskCompletedByIdRequest,
    ) -> Result<RespondActivityTaskCompletedByIdResponse, Error> {
        let (address, token) = self.activity_by_id(
            &request.namespace,
            &request.workflow_id,
            &request.run_id,
            &request.activity_id,
        )?;
        let input = CompleteActivity { token, result: request.result, identity: request.identity };
        self.apply(address, String::new(), Input::CompleteActivity(input), |_| ()).await?;
        Ok(RespondActivityTaskCompletedByIdResponse {})
    }

    /// Takes an activity's failure; whether it is tried again is decided here.
    pub async fn respond_activity_task_failed(
        &self,
        request: RespondActivityTaskFailedRequest,
    ) -> Result<RespondActivityTaskFailedResponse, Error> {
        let activity = self.activity(&request.task_token, &request.namespace)?;
        let heartbeat = request.last_heartbeat_details;
        self.failed(activity, request.failure, heartbeat, request.identity).await?;
        Ok(RespondActivityTaskFailedResponse::default())
    }

    /// As [`respond_activity_task_failed`](Self::respond_activity_task_failed), for whoever knows
    /// the activity's id.
    pub async fn respond_activity_task_failed_by_id(
        &self,
        request: RespondActivityTaskFailedByIdRequest,
    ) -> Result<RespondActivityTaskFailedByIdResponse, Error> {
        let activity = self.activity_by_id(
            &request.namespace,
            &request.workflow_id,
            &request.run_id,
            &request.activity_id,
        )?;
        let heartbeat = request.last_heartbeat_details;
        self.failed(activity, request.failure, heartbeat, request.identity).await?;
        Ok(RespondActivityTaskFailedByIdResponse::default())
    }

    /// Takes note that an activity ended because it was asked to.
    pub async fn respond_activity_task_canceled(
        &self,
        request: RespondActivityTaskCanceledRequest,
    ) -> Result<RespondActivityTaskCanceledResponse, Error> {
        let (address, token) = self.activity(&request.task_token, &request.namespace)?;
        let input = CancelActivity { token, details: request.details, identity: request.identity };
        self.apply(address, String::new(), Input::CancelActivity(input), |_| ()).await?;
        Ok(RespondActivityTaskCanceledResponse {})
    }

    /// As [`respond_activity_task_canceled`](Self::respond_activity_task_canceled), for whoever
    /// knows the activity's id.
    pub async fn respond_activity_task_canceled_by_id(
        &self,
        request: RespondActivityTaskCanceledByIdRequest,
    ) -> Result<RespondActivityTaskCanceledByIdResponse, Error> {
        let (address, token) = self.activity_by_id(
            &request.namespace,
            &request.workflow_id,
            &request.run_id,
            &request.activity_id,
        )?;
        let input = CancelActivity { token, details: request.details, identity: request.identity };
        self.apply(address, String::new(), Input::CancelActivity(input), |_| ()).await?;
        Ok(RespondActivityTaskCanceledByIdResponse {})
    }

    /// Takes a sign of life, and says whether the activity should stop.
    pub async fn record_activity_task_heartbeat(
        &self,
        request: RecordActivityTaskHeartbeatRequest,
    ) -> Result<RecordActivityTaskHeartbeatResponse, Error> {
        let (address, token) = self.activity(&request.task_token, &request.namespace)?;
        self.heartbeat(address, token, request.details).await
    }

    /// As [`record_activity_task_heartbeat`](Self::record_activity_task_heartbeat), for whoever
    /// knows the activity's id.
    pub async fn record_activity_task_heartbeat_by_id(
        &self,
        request: RecordActivityTaskHeartbeatByIdRequest,
    ) -> Result<RecordActivityTaskHeartbeatByIdResponse, Error> {
        let (address, token) = self.activity_by_id(
            &request.namespace,
            &request.workflow_id,
            &request.run_id,
            &request.activity_id,
        )?;
        let seen = self.heartbeat(address, token, request.details).await?;
        Ok(RecordActivityTaskHeartbeatByIdResponse {
            cancel_requested: seen.cancel_requested,
            activity_paused: seen.activity_paused,
            activity_reset: seen.activity_reset,
        })
    }

    async fn heartbeat(
        &self,
        address: Address,
        token: ActivityToken,
        details: Option<Payloads>,
    ) -> Result<RecordActivityTaskHeartbeatResponse, Error> {
        let look = {
            let token = token.clone();
            move |run: &Run| heard(run, &token)
        };
        let input = Input::Heartbeat(Heartbeat { token, details, leaves: self.caller.leaves });
        self.apply(address, String::new(), input, look).await
    }

    pub(super) fn activity(
        &self,
        bytes: &[u8],
        namespace: &str,
    ) -> Result<(Address, ActivityToken), Error> {
        let token = self.task_token(bytes, namespace)?;
        let activity = token.activity();
        Ok((Address::of(token.namespace_id, token.workflow_id, token.run_id), activity))
    }

    fn activity_by_id(
        &self,
        namespace: &str,
        workflow_id: &str,
        run_id: &str,
        activity_id: &str,
    ) -> Result<(Address, ActivityToken), Error> {
        let namespace = self.namespace(namespace)?;
        if activity_id.is_empty() {
            return Err(Error::invalid("ActivityId is not set on request."));
        }
        let address = checked_address(&namespace, workflow_id, run_id)?;
        Ok((address, ActivityToken::Id(activity_id.to_owned())))
    }

    /// Has an activity started that waited in the queue.
    fn take_activity(&self, offer: ActivityOffer, taker: Taker, slot: Slot) {
        let shard = offer.shard;
        let job = TakeJob { address: Address::Number(offer.run), offer, taker, slot };
        self.send(shard, job);
    }

    async fn failed(
        &self,
        (address, token): (Address, ActivityToken),
        failure: Option<Failure>,
        last_heartbeat_details: Option<Payloads>,
        identity: String,
    ) -> Result<(), Error> {
        check_failure(failure.as_ref())?;
        let input = FailActivity { token, failure, last_heartbeat_details, identity };
        self.apply(address, String::new(), Input::FailActivity(input), |_| ()).await
    }
}

type Slot = oneshot::Sender<Gift<Box<PollActivityTaskQueueResponse>>>;

/// A poll takes an activity that waited in the queue.
struct TakeJob {
    address: Address,
    offer: ActivityOffer,
    taker: Taker,
    slot: Slot,
}

impl Job for TakeJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn must_be_done(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, _: Option<RunNumber>) {
        if self.slot.is_closed() {
            desk.offer_activity_again(&self.offer);
            return;
        }
        match desk.start_activity(&self.offer, self.taker) {
            Ok(response) => desk.deliver_activity(&self.offer, response, self.slot),
            Err(_) => drop(self.slot.send(Gift::empty())),
        }
    }

    fn fail(self: Box<Self>, error: Error) {
        // Who has it in hand is forgotten after a while.
        tracing::warn!(%error, offer = ?self.offer, "an activity could not be taken");
    }
}

/// What a worker hears in return for a sign of life. If the activity is gone it failed by it.
fn heard(run: &Run, token: &ActivityToken) -> RecordActivityTaskHeartbeatResponse {
    let activity = match token {
        ActivityToken::Attempt { scheduled_event_id, .. } => {
            run.activities().get(scheduled_event_id)
        }
        ActivityToken::Id(name) => {
            run.activities().named(name).and_then(|id| run.activities().get(id))
        }
    };
    RecordActivityTaskHeartbeatResponse {
        cancel_requested: activity.is_none_or(steadfast_core::Activity::is_cancel_requested),
        activity_paused: activity.is_some_and(steadfast_core::Activity::is_paused),
        activity_reset: activity.is_some_and(|activity| activity.row.reset),
    }
}

fn check_failure(failure: Option<&Failure>) -> Result<(), Error> {
    let info = failure.map(|failure| &failure.failure_info);
    match info {
        None | Some(Some(FailureInfo::ApplicationFailureInfo(_))) => Ok(()),
        Some(_) => Err(Error::invalid("Failure must have ApplicationFailureInfo.")),
    }
}
