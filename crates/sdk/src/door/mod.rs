//! The way to an engine: in this process, or over the network. Workers and clients do not know which.

mod access;
#[cfg(feature = "remote")]
mod again;
mod busy;
mod history;
#[cfg(feature = "remote")]
mod remote;

use std::{fmt, pin::Pin};

use steadfast_engine::{Code, Engine, Error};
use steadfast_proto::{
    operatorservice::{AddSearchAttributesRequest, AddSearchAttributesResponse},
    workflowservice as ws,
};

use crate::codec::Codec;

pub(crate) use access::Access;
#[cfg(feature = "remote")]
pub use remote::BadServer;
#[cfg(feature = "remote")]
pub(crate) use remote::Remote;

/// The way to an engine, and what payloads go through on it.
///
/// All calls are made by it, so that nothing leaves as it is when there is a codec. A worker has one
/// without: what its codec cannot change it has to tell the engine.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    way: Way,
    codec: Codec,
}

/// Where the engine is.
#[derive(Clone)]
enum Way {
    /// In this process: nothing is serialised that is not stored.
    Embedded(Engine),
    /// A server of the same protocol.
    #[cfg(feature = "remote")]
    Remote(Box<Remote>),
}

/// An answer on its way. It is boxed: many are waited for at once, in futures that are moved about.
type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// One function a call, the same on both ways. The first word says how often it is made.
macro_rules! calls {
    ($often:ident; $($name:ident: $request:ident -> $response:ident;)+) => {
        impl Door {
            $(
                pub(crate) fn $name(
                    &self,
                    mut request: ws::$request,
                ) -> impl Future<Output = Result<ws::$response, Error>> + Send + '_ {
                    let encoded = self.codec.encode(&mut request);
                    let asked = encoded.map(|()| -> Answer<'_, ws::$response> {
                        match &self.way {
                            Way::Embedded(engine) => calls!(@within $often, engine.$name(request)),
                            #[cfg(feature = "remote")]
                            Way::Remote(remote) => Box::pin(remote.$name(request)),
                        }
                    });
                    async move {
                        let answered = asked?.await;
                        let mut answer =
                            answered.map_err(|error| self.codec.decode_error(error))?;
                        self.codec.decode(&mut answer)?;
                        Ok(answer)
                    }
                }
            )+
        }

        #[cfg(feature = "remote")]
        impl Remote {
            $(
                async fn $name(&self, request: ws::$request) -> Result<ws::$response, Error> {
                    let call = |request| async {
                        let called = self.client().$name(self.request(request)).await;
                        let answer = called.map_err(|status| remote::error(&status))?;
                        Ok(answer.into_inner())
                    };
                    again::$often(self.patience(), request, call).await
                }
            )+
        }
    };
    (@within until_taken, $engine:ident.$name:ident($request:ident)) => {
        Box::pin(busy::until_taken($request, |request| $engine.$name(request)))
    };
    (@within $often:ident, $engine:ident.$name:ident($request:ident)) => {
        Box::pin($engine.$name($request))
    };
}

calls! {
    once;
    poll_activity_task_queue: PollActivityTaskQueueRequest -> PollActivityTaskQueueResponse;
    poll_workflow_task_queue: PollWorkflowTaskQueueRequest -> PollWorkflowTaskQueueResponse;
}

calls! {
    until_answered;
    count_workflow_executions: CountWorkflowExecutionsRequest -> CountWorkflowExecutionsResponse;
    create_schedule: CreateScheduleRequest -> CreateScheduleResponse;
    delete_schedule: DeleteScheduleRequest -> DeleteScheduleResponse;
    delete_workflow_execution: DeleteWorkflowExecutionRequest -> DeleteWorkflowExecutionResponse;
    describe_schedule: DescribeScheduleRequest -> DescribeScheduleResponse;
    describe_workflow_execution: DescribeWorkflowExecutionRequest -> DescribeWorkflowExecutionResponse;
    get_workflow_execution_history: GetWorkflowExecutionHistoryRequest -> GetWorkflowExecutionHistoryResponse;
    list_schedule_matching_times: ListScheduleMatchingTimesRequest -> ListScheduleMatchingTimesResponse;
    list_schedules: ListSchedulesRequest -> ListSchedulesResponse;
    list_workflow_executions: ListWorkflowExecutionsRequest -> ListWorkflowExecutionsResponse;
    patch_schedule: PatchScheduleRequest -> PatchScheduleResponse;
    poll_workflow_execution_update: PollWorkflowExecutionUpdateRequest -> PollWorkflowExecutionUpdateResponse;
    query_workflow: QueryWorkflowRequest -> QueryWorkflowResponse;
    record_activity_task_heartbeat: RecordActivityTaskHeartbeatRequest -> RecordActivityTaskHeartbeatResponse;
    record_activity_task_heartbeat_by_id: RecordActivityTaskHeartbeatByIdRequest -> RecordActivityTaskHeartbeatByIdResponse;
    record_worker_heartbeat: RecordWorkerHeartbeatRequest -> RecordWorkerHeartbeatResponse;
    request_cancel_workflow_execution: RequestCancelWorkflowExecutionRequest -> RequestCancelWorkflowExecutionResponse;
    reset_workflow_execution: ResetWorkflowExecutionRequest -> ResetWorkflowExecutionResponse;
    respond_activity_task_canceled: RespondActivityTaskCanceledRequest -> RespondActivityTaskCanceledResponse;
    respond_activity_task_canceled_by_id: RespondActivityTaskCanceledByIdRequest -> RespondActivityTaskCanceledByIdResponse;
    respond_activity_task_completed: RespondActivityTaskCompletedRequest -> RespondActivityTaskCompletedResponse;
    respond_activity_task_completed_by_id: RespondActivityTaskCompletedByIdRequest -> RespondActivityTaskCompletedByIdResponse;
    respond_activity_task_failed: RespondActivityTaskFailedRequest -> RespondActivityTaskFailedResponse;
    respond_activity_task_failed_by_id: RespondActivityTaskFailedByIdRequest -> RespondActivityTaskFailedByIdResponse;
    respond_query_task_completed: RespondQueryTaskCompletedRequest -> RespondQueryTaskCompletedResponse;
    respond_workflow_task_completed: RespondWorkflowTaskCompletedRequest -> RespondWorkflowTaskCompletedResponse;
    respond_workflow_task_failed: RespondWorkflowTaskFailedRequest -> RespondWorkflowTaskFailedResponse;
    shutdown_worker: ShutdownWorkerRequest -> ShutdownWorkerResponse;
    start_workflow_execution: StartWorkflowExecutionRequest -> StartWorkflowExecutionResponse;
    terminate_workflow_execution: TerminateWorkflowExecutionRequest -> TerminateWorkflowExecutionResponse;
    update_schedule: UpdateScheduleRequest -> UpdateScheduleResponse;
}

calls! {
    until_taken;
    execute_multi_operation: ExecuteMultiOperationRequest -> ExecuteMultiOperationResponse;
    signal_with_start_workflow_execution: SignalWithStartWorkflowExecutionRequest -> SignalWithStartWorkflowExecutionResponse;
    signal_workflow_execution: SignalWorkflowExecutionRequest -> SignalWorkflowExecutionResponse;
    update_workflow_execution: UpdateWorkflowExecutionRequest -> UpdateWorkflowExecutionResponse;
}

impl Door {
    /// The way to an engine in this process.
    pub(crate) fn embedded(engine: &Engine, codec: Codec) -> Self {
        Self { way: Way::Embedded(engine.for_own_callers()), codec }
    }

    /// The way to a server.
    #[cfg(feature = "remote")]
    pub(crate) fn remote(remote: Remote, codec: Codec) -> Self {
        Self { way: Way::Remote(Box::new(remote)), codec }
    }

    /// Makes search attributes known to a namespace.
    pub(crate) async fn add_search_attributes(
        &self,
        request: AddSearchAttributesRequest,
    ) -> Result<AddSearchAttributesResponse, Error> {
        match &self.way {
            Way::Embedded(engine) => Box::pin(engine.add_search_attributes(request)).await,
            #[cfg(feature = "remote")]
            Way::Remote(remote) => Box::pin(remote.add_search_attributes(request)).await,
        }
    }

    /// The same way, for a worker that leaves what it records a heartbeat of to somebody else.
    pub(crate) fn leaving(&self) -> Self {
        let way = match &self.way {
            Way::Embedded(engine) => Way::Embedded(engine.leaving()),
            #[cfg(feature = "remote")]
            Way::Remote(remote) => Way::Remote(Box::new(remote.leaving())),
        };
        Self { way, codec: self.codec.clone() }
    }

    /// The same way over a connection of its own, which belongs to the runtime of whoever calls.
    pub(crate) fn apart(&self) -> Self {
        let way = match &self.way {
            Way::Embedded(engine) => Way::Embedded(engine.clone()),
            #[cfg(feature = "remote")]
            Way::Remote(remote) => Way::Remote(Box::new(remote.apart())),
        };
        Self { way, codec: self.codec.clone() }
    }

    /// The same way, for a worker, and the codec, which is the worker's business: what one inside the
    /// engine's process has in hand ends with it. A server learns with every call that the keys of
    /// attempts are wanted.
    pub(crate) fn for_worker(&self) -> (Self, Codec) {
        let way = match &self.way {
            Way::Embedded(engine) => {
                Way::Embedded(engine.for_own_workers().with_attempt_keys_alone())
            }
            #[cfg(feature = "remote")]
            Way::Remote(_) => self.way.clone(),
        };
        (Self { way, codec: Codec::default() }, self.codec.clone())
    }

    /// Whether somebody who waits for something that will come may ask again after this error, as often
    /// as it takes. A server that is away comes back; an engine in this process does not.
    pub(crate) fn asks_again(&self, error: &Error) -> bool {
        error.code == Code::DeadlineExceeded || (is_passing(error.code) && self.engine().is_none())
    }

    /// The engine, if it is in this process.
    #[cfg_attr(
        not(feature = "remote"),
        expect(clippy::unnecessary_wraps, reason = "there is no other way without `remote`")
    )]
    pub(crate) fn engine(&self) -> Option<&Engine> {
        match &self.way {
            Way::Embedded(engine) => Some(engine),
            #[cfg(feature = "remote")]
            Way::Remote(_) => None,
        }
    }
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(_) => f.write_str("Embedded"),
            #[cfg(feature = "remote")]
            Self::Remote(_) => f.write_str("Remote"),
        }
    }
}

/// Whether a server that said so may answer the same call a moment later.
const fn is_passing(code: Code) -> bool {
    matches!(code, Code::Unavailable | Code::ResourceExhausted)
}
