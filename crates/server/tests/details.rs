//! Errors as SDKs read them: a code, a text, and one detail of a known type.

use std::time::Duration;

use steadfast_engine::Limits;
use steadfast_proto::{
    common::Payloads,
    enums::{QueryResultType, ResourceExhaustedCause},
    errordetails::{
        MultiOperationExecutionFailure, NamespaceAlreadyExistsFailure, NamespaceNotFoundFailure,
        NotFoundFailure, QueryFailedFailure, ResourceExhaustedFailure,
        WorkflowExecutionAlreadyStartedFailure, WorkflowNotReadyFailure,
    },
    failure::{Failure, MultiOperationExecutionAborted},
    prost::{Message, Name},
    rpc, update, workflowservice as ws,
};
use tonic::{Code, Status};

use crate::common::{
    NAMESPACE, QUEUE, World, answer, doors, execution, query, seconds, soon, start, task_poll,
    within,
};

/// The detail that SDKs look at, which repeats what the status says.
pub(crate) fn detail<M: Message + Name + Default>(status: &Status) -> M {
    let wire = rpc::Status::decode(status.details()).expect("a status");
    assert_eq!(wire.code, i32::from(status.code()));
    assert_eq!(wire.message, status.message());
    assert_eq!(wire.details.len(), 1);
    let any = wire.details.first().expect("a detail");
    assert_eq!(any.type_url, format!("type.googleapis.com/{}", M::full_name()));
    M::decode(any.value.as_slice()).expect("the detail")
}

#[tokio::test]
async fn what_is_not_there_is_told_with_its_kind() {
    let world = World::new().await;
    let mut client = world.client().await;
    let nobody = client.query_workflow(query("nobody")).await.expect_err("not there");
    assert_eq!(nobody.code(), Code::NotFound);
    let _: NotFoundFailure = detail(&nobody);

    let elsewhere =
        ws::StartWorkflowExecutionRequest { namespace: "elsewhere".to_owned(), ..start("order-1") };
    let elsewhere = client.start_workflow_execution(elsewhere).await.expect_err("not there");
    assert_eq!(elsewhere.code(), Code::NotFound);
    assert_eq!(detail::<NamespaceNotFoundFailure>(&elsewhere).namespace, "elsewhere");
}

#[tokio::test]
async fn what_is_there_already_is_told_with_its_kind() {
    let world = World::new().await;
    let mut client = world.client().await;
    let first = client.start_workflow_execution(start("order-1")).await.expect("a start");
    let again =
        ws::StartWorkflowExecutionRequest { request_id: "other".to_owned(), ..start("order-1") };
    let again = client.start_workflow_execution(again).await.expect_err("it runs");
    assert_eq!(again.code(), Code::AlreadyExists);
    let found: WorkflowExecutionAlreadyStartedFailure = detail(&again);
    assert_eq!(found.run_id, first.into_inner().run_id);
    assert_eq!(found.start_request_id, "start order-1");

    let namespace = ws::RegisterNamespaceRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_execution_retention_period: Some(seconds(86_400)),
        ..ws::RegisterNamespaceRequest::default()
    };
    let twice = client.register_namespace(namespace).await.expect_err("it is there");
    assert_eq!(twice.code(), Code::AlreadyExists);
    let _: NamespaceAlreadyExistsFailure = detail(&twice);
}

#[tokio::test]
async fn a_query_that_the_workflow_refuses_tells_its_failure() {
    let world = World::new().await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("order-1")).await.expect("a start");
    let task = client.poll_workflow_task_queue(task_poll(QUEUE)).await.expect("a task");
    client
        .respond_workflow_task_completed(answer(&task.into_inner(), vec![]))
        .await
        .expect("an answer");
    let mut worker = world.client().await;
    let refuse = async {
        let task = worker.poll_workflow_task_queue(task_poll(QUEUE)).await.expect("a task");
        let failure = Failure { message: "ask later".to_owned(), ..Failure::default() };
        let refusal = ws::RespondQueryTaskCompletedRequest {
            task_token: task.into_inner().task_token,
            completed_type: QueryResultType::Failed.into(),
            error_message: "no such query".to_owned(),
            failure: Some(failure),
            query_result: None::<Payloads>,
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondQueryTaskCompletedRequest::default()
        };
        worker.respond_query_task_completed(refusal).await.expect("taken");
    };
    let (asked, ()) =
        soon(async { tokio::join!(client.query_workflow(query("order-1")), refuse) }).await;
    let refused = asked.expect_err("it was refused");
    assert_eq!((refused.code(), refused.message()), (Code::InvalidArgument, "no such query"));
    let told: QueryFailedFailure = detail(&refused);
    assert_eq!(told.failure.expect("a failure").message, "ask later");
}

#[tokio::test]
async fn a_workflow_that_never_ran_is_not_ready_for_queries() {
    let world = World::new().await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("order-1")).await.expect("a start");
    let end = ws::TerminateWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_execution: Some(execution("order-1")),
        ..ws::TerminateWorkflowExecutionRequest::default()
    };
    client.terminate_workflow_execution(end).await.expect("it ends");
    let status = client.query_workflow(query("order-1")).await.expect_err("it never ran");
    assert_eq!(status.code(), Code::FailedPrecondition);
    let _: WorkflowNotReadyFailure = detail(&status);
}

#[tokio::test]
async fn too_much_at_once_is_told_with_its_cause() {
    let limits = Limits { queries_max: 0, ..Limits::default() };
    let world = World::with(limits, doors()).await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("order-1")).await.expect("a start");
    let status = client.query_workflow(query("order-1")).await.expect_err("too many");
    assert_eq!(status.code(), Code::ResourceExhausted);
    let told: ResourceExhaustedFailure = detail(&status);
    assert_eq!(told.cause(), ResourceExhaustedCause::BusyWorkflow);
}

#[tokio::test]
async fn of_several_operations_each_is_told_what_became_of_it() {
    use ws::execute_multi_operation_request::{Operation, operation::Operation as Kind};
    let world = World::new().await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("order-1")).await.expect("a start");
    let started =
        ws::StartWorkflowExecutionRequest { request_id: "other".to_owned(), ..start("order-1") };
    let change = ws::UpdateWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_execution: Some(execution("order-1")),
        request: Some(update::Request {
            meta: Some(update::Meta { update_id: "u".to_owned(), ..update::Meta::default() }),
            input: Some(update::Input { name: "add".to_owned(), ..update::Input::default() }),
            ..update::Request::default()
        }),
        wait_policy: Some(update::WaitPolicy { lifecycle_stage: 2 }),
        ..ws::UpdateWorkflowExecutionRequest::default()
    };
    let operations = [Kind::StartWorkflow(started), Kind::UpdateWorkflow(change)];
    let request = ws::ExecuteMultiOperationRequest {
        namespace: NAMESPACE.to_owned(),
        operations: operations.map(|it| Operation { operation: Some(it) }).into(),
        ..ws::ExecuteMultiOperationRequest::default()
    };
    let request = within(Duration::from_secs(10), request);
    let status = client.execute_multi_operation(request).await.expect_err("it runs already");
    assert_eq!(status.code(), Code::AlreadyExists, "{status:?}");
    let told: MultiOperationExecutionFailure = detail(&status);
    let codes: Vec<i32> = told.statuses.iter().map(|it| it.code).collect();
    assert_eq!(codes, [i32::from(Code::AlreadyExists), i32::from(Code::Aborted)]);
    let kinds: Vec<String> =
        told.statuses.iter().flat_map(|it| &it.details).map(|it| it.type_url.clone()).collect();
    let url = |name: String| format!("type.googleapis.com/{name}");
    assert_eq!(
        kinds,
        [
            url(WorkflowExecutionAlreadyStartedFailure::full_name()),
            url(MultiOperationExecutionAborted::full_name()),
        ]
    );
}
