//! Queries: what the workflow's code says of itself, without a trace in its history.

use std::sync::Arc;

use steadfast_core::QueryRoute;
use steadfast_proto::{
    enums::{QueryResultType, ResourceExhaustedCause},
    errordetails::QueryFailedFailure,
    query::{QueryRejected, WorkflowQuery},
    workflowservice::{
        QueryWorkflowRequest, QueryWorkflowResponse, RespondQueryTaskCompletedRequest,
        RespondQueryTaskCompletedResponse,
    },
};
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

use super::{Engine, address, call_end::LeaveOnDrop, not_found, within};
use crate::{
    error::{Code, Detail, Error},
    matching::QueueName,
    query::{Answer, Waiting},
    shard::{Address, Desk, Job, earlier},
};

impl Engine {
    /// Asks the workflow's code something.
    pub async fn query_workflow(
        &self,
        request: QueryWorkflowRequest,
    ) -> Result<QueryWorkflowResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let address = address(&namespace, request.execution.as_ref())?;
        let condition = request.query_reject_condition();
        let missing = || Error::invalid("WorkflowQuery is not set on request.");
        let query = request.query.ok_or_else(missing)?;
        if query.query_type.is_empty() {
            return Err(Error::invalid("QueryType is not set on request."));
        }
        let deadline = self.now().after(self.patience(self.shared().limits.query_wait));
        let mut sticky = true;
        loop {
            let left = deadline.since(self.now());
            if left.is_zero() {
                return Err(timed_out());
            }
            let asked = Ask { address: address.clone(), query: query.clone(), condition, sticky };
            match self.ask(asked, left).await? {
                Asked::Rejected(status) => {
                    return Ok(QueryWorkflowResponse {
                        query_rejected: Some(QueryRejected { status }),
                        ..QueryWorkflowResponse::default()
                    });
                }
                Asked::Answered(Answer::Answered(query_result)) => {
                    return Ok(QueryWorkflowResponse {
                        query_result,
                        ..QueryWorkflowResponse::default()
                    });
                }
                Asked::Answered(Answer::Failed { message, failure }) => {
                    let detail = QueryFailedFailure { failure: failure.map(|it| *it) };
                    return Err(Error::invalid(message).with(Detail::QueryFailed(Box::new(detail))));
                }
                Asked::Answered(Answer::AskAgain) => {}
                Asked::NoAnswer => sticky = false,
            }
        }
    }

    /// Takes a worker's answer to a query that was a task of its own.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn respond_query_task_completed(
        &self,
        request: RespondQueryTaskCompletedRequest,
    ) -> Result<RespondQueryTaskCompletedResponse, Error> {
        let token = self.task_token(&request.task_token, &request.namespace)?;
        let gone = || Error::not_found("query task not found, or already expired");
        let waiting = self.shared().queries.remove(&token.query_id).ok_or_else(gone)?;
        let answer = match request.completed_type() {
            QueryResultType::Failed => Answer::Failed {
                message: request.error_message,
                failure: request.failure.map(Box::new),
            },
            QueryResultType::Unspecified | QueryResultType::Answered => {
                let bytes_max = self.shared().limits.run.blob_bytes_max;
                Answer::answered(request.query_result, bytes_max)
            }
        };
        waiting.slot.send(answer).map_err(|_| gone())?;
        Ok(RespondQueryTaskCompletedResponse {})
    }

    /// Asks once, one way or the other.
    async fn ask(&self, ask: Ask, left: std::time::Duration) -> Result<Asked, Error> {
        let shared = self.shared();
        let id = shared.ids.id();
        let (slot, reply) = oneshot::channel();
        let (answer_slot, waiting) = oneshot::channel();
        let sticky = ask.sticky;
        let job =
            AskJob { address: ask.address.clone(), ask, id: id.clone(), answer: answer_slot, slot };
        self.post(job);
        let _forget = LeaveOnDrop::new(|| {
            if shared.queries.remove(&id).is_some() {
                shared.tasks.bury_query(id.clone());
            }
        });
        let (queue, patience) = match self.answer(reply).await? {
            Route::Rejected(status) => return Ok(Asked::Rejected(status)),
            Route::Direct { queue, is_sticky } if is_sticky && sticky => {
                (queue, left.min(shared.limits.sticky_query_wait))
            }
            Route::WithTask { queue } | Route::Direct { queue, .. } => (queue, left),
        };
        match within(shared, patience, waiting).await {
            Some(Ok(answer)) => Ok(Asked::Answered(answer)),
            Some(Err(_)) => Ok(Asked::Answered(Answer::AskAgain)),
            None if patience < left => self.check_running().map(|()| Asked::NoAnswer),
            None => self.check_running().and_then(|()| Err(self.why_unanswered(&queue))),
        }
    }

    /// Nobody has answered in time: there are no workers, or they take long.
    fn why_unanswered(&self, queue: &QueueName) -> Error {
        let since = earlier(self.now(), self.shared().limits.poller_idle_max);
        if self.shared().tasks.is_attended(queue, since) {
            return timed_out();
        }
        let down = "no poller seen for task queue recently, worker may be down";
        Error::new(Code::FailedPrecondition, down)
    }
}

/// A query to be asked.
struct Ask {
    address: Address,
    query: WorkflowQuery,
    condition: steadfast_proto::enums::QueryRejectCondition,
    /// Whether the worker that has the run in its cache is asked first.
    sticky: bool,
}

/// What came of asking.
enum Asked {
    Rejected(i32),
    Answered(Answer),
    NoAnswer,
}

/// The way that a query went, and the queue that the run's workers poll.
enum Route {
    Rejected(i32),
    WithTask { queue: QueueName },
    Direct { queue: QueueName, is_sticky: bool },
}

struct AskJob {
    address: Address,
    ask: Ask,
    id: String,
    answer: oneshot::Sender<Answer>,
    slot: oneshot::Sender<Result<Route, Error>>,
}

impl Job for AskJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let Self { address, ask, id, answer, slot } = *self;
        let outcome = match found {
            None => Err(not_found(&address)),
            Some(number) => route(desk, number, ask, &id, answer),
        };
        desk.release(move || drop(slot.send(outcome)));
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

fn route(
    desk: &mut Desk<'_>,
    number: RunNumber,
    ask: Ask,
    id: &str,
    slot: oneshot::Sender<Answer>,
) -> Result<Route, Error> {
    let queries_max = desk.shared().limits.queries_max;
    let shared = Arc::clone(desk.shared());
    let Some(entry) = desk.entry(number) else { return Err(not_found(&ask.address)) };
    let waiting = Waiting { query: ask.query, slot };
    let queue = QueueName {
        namespace_id: entry.run.identity().namespace_id.clone(),
        name: entry.run.task_queue().to_owned(),
    };
    match entry.run.query_route(ask.condition) {
        QueryRoute::Rejected(status) => Ok(Route::Rejected(status.into())),
        QueryRoute::NeverRan => {
            Err(Error::not_ready("Workflow execution closed before WorkflowTaskStarted event"))
        }
        QueryRoute::TaskFailing => {
            Err(Error::not_ready("Unable to query workflow due to Workflow Task in failed state."))
        }
        QueryRoute::WithTask => {
            entry.queries.retain(|_, it| !it.slot.is_closed());
            if entry.queries.len() >= queries_max {
                let cause = ResourceExhaustedCause::BusyWorkflow;
                return Err(Error::exhausted("too many queries wait for this workflow", cause));
            }
            entry.queries.insert(id.to_owned(), waiting);
            Ok(Route::WithTask { queue })
        }
        QueryRoute::Direct => {
            let is_sticky = entry.run.state().sticky.is_some();
            shared.queries.insert(id.to_owned(), waiting);
            desk.offer_query(number, id, ask.sticky);
            Ok(Route::Direct { queue, is_sticky })
        }
    }
}

fn timed_out() -> Error {
    Error::new(Code::DeadlineExceeded, "query timed out before a worker could process it")
}
