//! Every RPC that is served, once: a story. That it leaves none out is seen from the server's own
//! numbers.

#![expect(clippy::needless_update, reason = "requests are all written in the same way")]

use std::collections::BTreeMap;

use steadfast_proto::{
    batch::BatchOperationSignal,
    clients::OperatorServiceClient,
    command::{
        Command, ProtocolMessageCommandAttributes, RequestCancelActivityTaskCommandAttributes,
        ScheduleActivityTaskCommandAttributes,
    },
    common::ActivityType,
    enums::{EventType, IndexedValueType, QueryResultType},
    failure::{ApplicationFailureInfo, Failure, failure::FailureInfo},
    operatorservice as os,
    prost::Message as _,
    prost_types::{Any, Timestamp},
    protocol,
    schedule::{Schedule, SchedulePatch},
    update,
    worker::WorkerHeartbeat,
    workflowservice::{
        self as ws, start_batch_operation_request::Operation as Batched,
        update_activity_options_request,
    },
};
use steadfast_server::{OPERATOR, State, WORKFLOW};

use crate::common::{
    Client, NAMESPACE, QUEUE, World, activity_poll, answer, execution, history, payloads, query,
    queue, request, seconds, soon, start, starting, task_poll,
};

#[tokio::test(flavor = "multi_thread")]
async fn every_rpc_that_is_served_does_its_work() {
    let world = World::new().await;
    let mut client = world.client().await;
    namespaces(&mut client).await;
    let run_id = activities(&mut client).await;
    updates(&world, &mut client).await;
    queries(&world, &mut client).await;
    reading(&mut client).await;
    workers(&mut client).await;
    batches(&mut client).await;
    schedules(&mut client).await;
    ends(&mut client, run_id).await;
    operators(&world).await;

    let served = [WORKFLOW, OPERATOR].into_iter().flat_map(|it| it.rpcs);
    for rpc in served.filter(|rpc| rpc.state != State::Refused) {
        let number = format!(r#"steadfast_rpc_seconds_count{{method="{}",code="OK"}}"#, rpc.name());
        assert!(
            world.number(&number).await > 0,
            "{} is served, but this story lacks it",
            rpc.name()
        );
    }
}

async fn namespaces(client: &mut Client) {
    client.get_system_info(ws::GetSystemInfoRequest::default()).await.expect("known");
    client.get_cluster_info(ws::GetClusterInfoRequest::default()).await.expect("known");
    let other = ws::RegisterNamespaceRequest {
        namespace: "other".to_owned(),
        workflow_execution_retention_period: Some(seconds(86_400)),
        ..ws::RegisterNamespaceRequest::default()
    };
    client.register_namespace(other).await.expect("registered");
    client.describe_namespace(request!(DescribeNamespaceRequest {})).await.expect("described");
    client.list_namespaces(ws::ListNamespacesRequest::default()).await.expect("listed");
    client.update_namespace(request!(UpdateNamespaceRequest {})).await.expect("updated");
}

/// A workflow with seven activities, each of which meets another end.
async fn activities(client: &mut Client) -> String {
    let run = client.start_workflow_execution(start("it")).await.expect("a start").into_inner();
    let task = client.poll_workflow_task_queue(task_poll(QUEUE)).await.expect("a task");
    let task_token = task.into_inner().task_token;
    let failed = request!(RespondWorkflowTaskFailedRequest { task_token });
    client.respond_workflow_task_failed(failed).await.expect("noted");
    let task = soon(client.poll_workflow_task_queue(task_poll(QUEUE))).await.expect("a task");
    let commands = (1..=7).map(schedule).collect();
    let scheduled = answer(&task.into_inner(), commands);
    client.respond_workflow_task_completed(scheduled).await.expect("scheduled");
    let mut tokens = BTreeMap::new();
    for _ in 1..=7 {
        let work = soon(client.poll_activity_task_queue(activity_poll(QUEUE))).await.expect("work");
        let work = work.into_inner();
        tokens.insert(work.activity_id, work.task_token);
    }
    let mut token = |id: &str| tokens.remove(id).expect("it was given out");
    let workflow_id = || "it".to_owned();
    let id = |id: &str| id.to_owned();
    let kind = Some(FailureInfo::ApplicationFailureInfo(ApplicationFailureInfo::default()));
    let failure = || {
        Some(Failure { message: "no".to_owned(), failure_info: kind.clone(), ..Failure::default() })
    };

    let task_token = token("1");
    let beat = request!(RecordActivityTaskHeartbeatRequest { task_token: task_token.clone() });
    client.record_activity_task_heartbeat(beat).await.expect("noted");
    let done = request!(RespondActivityTaskCompletedRequest { task_token });
    client.respond_activity_task_completed(done).await.expect("done");

    let (workflow, activity_id) = (workflow_id(), id("2"));
    let beat =
        request!(RecordActivityTaskHeartbeatByIdRequest { workflow_id: workflow, activity_id });
    client.record_activity_task_heartbeat_by_id(beat).await.expect("noted");
    let (workflow, activity_id) = (workflow_id(), id("2"));
    let done =
        request!(RespondActivityTaskCompletedByIdRequest { workflow_id: workflow, activity_id });
    client.respond_activity_task_completed_by_id(done).await.expect("done");

    let failed =
        request!(RespondActivityTaskFailedRequest { task_token: token("3"), failure: failure() });
    client.respond_activity_task_failed(failed).await.expect("failed");
    let (workflow, activity_id) = (workflow_id(), id("4"));
    let failed = request!(RespondActivityTaskFailedByIdRequest {
        workflow_id: workflow,
        activity_id,
        failure: failure(),
    });
    client.respond_activity_task_failed_by_id(failed).await.expect("failed");

    let cancel = request!(RequestCancelWorkflowExecutionRequest {
        workflow_execution: Some(execution("it")),
    });
    client.request_cancel_workflow_execution(cancel).await.expect("asked");
    let task = soon(client.poll_workflow_task_queue(task_poll(QUEUE))).await.expect("a task");
    let task = task.into_inner();
    let events = &task.history.as_ref().expect("a history").events;
    let scheduled = |number: i64| {
        let first = events.iter().find(|event| event.event_type() == SCHEDULED);
        first.expect("it was scheduled").event_id + number - 1
    };
    let cancelled = answer(&task, [5, 6].map(|number| cancel_activity(scheduled(number))).into());
    client.respond_workflow_task_completed(cancelled).await.expect("asked");
    let ended = request!(RespondActivityTaskCanceledRequest { task_token: token("5") });
    client.respond_activity_task_canceled(ended).await.expect("cancelled");
    let (workflow, activity_id) = (workflow_id(), id("6"));
    let ended =
        request!(RespondActivityTaskCanceledByIdRequest { workflow_id: workflow, activity_id });
    client.respond_activity_task_canceled_by_id(ended).await.expect("cancelled");

    operator(client).await;
    run.run_id
}

const SCHEDULED: EventType = EventType::ActivityTaskScheduled;

async fn operator(client: &mut Client) {
    use ws::{
        pause_activity_request::Activity as Paused, reset_activity_request::Activity as Reset,
        unpause_activity_request::Activity as Unpaused,
    };
    let it = || Some(execution("it"));
    let id = || "7".to_owned();
    let pause =
        request!(PauseActivityRequest { execution: it(), activity: Some(Paused::Id(id())) });
    client.pause_activity(pause).await.expect("paused");
    let go_on =
        request!(UnpauseActivityRequest { execution: it(), activity: Some(Unpaused::Id(id())) });
    client.unpause_activity(go_on).await.expect("it goes on");
    let change = request!(UpdateActivityOptionsRequest {
        execution: it(),
        activity: Some(update_activity_options_request::Activity::Id(id())),
        activity_options: Some(steadfast_proto::activity::ActivityOptions {
            start_to_close_timeout: Some(seconds(5)),
            ..steadfast_proto::activity::ActivityOptions::default()
        }),
        update_mask: Some(prost_types::FieldMask {
            paths: vec!["start_to_close_timeout".to_owned()],
        }),
    });
    client.update_activity_options(change).await.expect("changed");
    let reset = request!(ResetActivityRequest { execution: it(), activity: Some(Reset::Id(id())) });
    client.reset_activity(reset).await.expect("reset");
}

async fn updates(world: &World, client: &mut Client) {
    use ws::execute_multi_operation_request::{Operation, operation::Operation as Kind};
    let wanted = |update_id: &str| {
        let update_id = update_id.to_owned();
        request!(UpdateWorkflowExecutionRequest {
            workflow_execution: Some(execution("updated")),
            request: Some(update::Request {
                meta: Some(update::Meta { update_id, ..update::Meta::default() }),
                input: Some(update::Input { name: "add".to_owned(), ..update::Input::default() }),
                ..update::Request::default()
            }),
            wait_policy: Some(update::WaitPolicy { lifecycle_stage: 2 }),
        })
    };
    let mut worker = world.client().await;
    let started = ws::StartWorkflowExecutionRequest {
        task_queue: Some(queue("updated")),
        ..start("updated")
    };
    let operations = [Kind::StartWorkflow(started), Kind::UpdateWorkflow(wanted("first"))];
    let both = request!(ExecuteMultiOperationRequest {
        operations: operations.map(|it| Operation { operation: Some(it) }).into(),
    });
    let both = client.execute_multi_operation(both);
    soon(async { tokio::join!(both, accept(&mut worker)) }).await.0.expect("both");
    let second = client.update_workflow_execution(wanted("second"));
    soon(async { tokio::join!(second, accept(&mut worker)) }).await.0.expect("accepted");
    let look = request!(PollWorkflowExecutionUpdateRequest {
        update_ref: Some(update::UpdateRef {
            workflow_execution: Some(execution("updated")),
            update_id: "second".to_owned(),
        }),
        wait_policy: Some(update::WaitPolicy { lifecycle_stage: 2 }),
    });
    client.poll_workflow_execution_update(look).await.expect("it was accepted");
}

/// A worker accepts the update that its next task brings.
async fn accept(worker: &mut Client) {
    let task = worker.poll_workflow_task_queue(task_poll("updated")).await.expect("a task");
    let task = task.into_inner();
    let asked = task.messages.first().expect("an update");
    let acceptance = update::Acceptance {
        accepted_request_message_id: asked.id.clone(),
        ..update::Acceptance::default()
    };
    let message_id = "accept".to_owned();
    let message = protocol::Message {
        id: message_id.clone(),
        protocol_instance_id: asked.protocol_instance_id.clone(),
        body: Some(Any {
            type_url: "type.googleapis.com/temporal.api.update.v1.Acceptance".to_owned(),
            value: acceptance.encode_to_vec(),
        }),
        ..protocol::Message::default()
    };
    let attributes = ProtocolMessageCommandAttributes { message_id };
    let command = Command::of(attributes);
    let mut said = answer(&task, vec![command]);
    said.messages = vec![message];
    worker.respond_workflow_task_completed(said).await.expect("taken");
}

async fn queries(world: &World, client: &mut Client) {
    let started =
        ws::StartWorkflowExecutionRequest { task_queue: Some(queue("asked")), ..start("asked") };
    client.start_workflow_execution(started).await.expect("a start");
    let mut worker = world.client().await;
    let work = async {
        let task = worker.poll_workflow_task_queue(task_poll("asked")).await.expect("a task");
        let rest = answer(&task.into_inner(), vec![]);
        worker.respond_workflow_task_completed(rest).await.expect("taken");
        let task = worker.poll_workflow_task_queue(task_poll("asked")).await.expect("a task");
        let answer = request!(RespondQueryTaskCompletedRequest {
            task_token: task.into_inner().task_token,
            completed_type: QueryResultType::Answered.into(),
            query_result: Some(payloads("well")),
        });
        worker.respond_query_task_completed(answer).await.expect("taken");
    };
    let asked = client.query_workflow(query("asked"));
    soon(async { tokio::join!(asked, work) }).await.0.expect("an answer");
    let reset = request!(ResetStickyTaskQueueRequest { execution: Some(execution("asked")) });
    client.reset_sticky_task_queue(reset).await.expect("reset");
}

async fn reading(client: &mut Client) {
    let it = || Some(execution("it"));
    client.get_workflow_execution_history(history("it")).await.expect("a history");
    let back = request!(GetWorkflowExecutionHistoryReverseRequest { execution: it() });
    client.get_workflow_execution_history_reverse(back).await.expect("a history");
    let describe = request!(DescribeWorkflowExecutionRequest { execution: it() });
    client.describe_workflow_execution(describe).await.expect("described");
    let describe = request!(DescribeTaskQueueRequest { task_queue: Some(queue(QUEUE)) });
    client.describe_task_queue(describe).await.expect("described");
    let list = request!(ListWorkflowExecutionsRequest {});
    client.list_workflow_executions(list).await.expect("listed");
    let count = request!(CountWorkflowExecutionsRequest {});
    client.count_workflow_executions(count).await.expect("counted");
    let scan = request!(ScanWorkflowExecutionsRequest {});
    client.scan_workflow_executions(scan).await.expect("listed");
    let open = request!(ListOpenWorkflowExecutionsRequest {});
    client.list_open_workflow_executions(open).await.expect("listed");
    let closed = request!(ListClosedWorkflowExecutionsRequest {});
    client.list_closed_workflow_executions(closed).await.expect("listed");
    let known = ws::GetSearchAttributesRequest {};
    client.get_search_attributes(known).await.expect("listed");
    let parts = request!(ListTaskQueuePartitionsRequest { task_queue: Some(queue(QUEUE)) });
    client.list_task_queue_partitions(parts).await.expect("listed");
}

async fn workers(client: &mut Client) {
    let worker_instance_key = || "worker-1".to_owned();
    let heartbeat = WorkerHeartbeat {
        worker_instance_key: worker_instance_key(),
        task_queue: QUEUE.to_owned(),
        ..WorkerHeartbeat::default()
    };
    let beat = request!(RecordWorkerHeartbeatRequest { worker_heartbeat: vec![heartbeat] });
    client.record_worker_heartbeat(beat).await.expect("noted");
    client.list_workers(request!(ListWorkersRequest {})).await.expect("listed");
    client.count_workers(request!(CountWorkersRequest {})).await.expect("counted");
    let describe = request!(DescribeWorkerRequest { worker_instance_key: worker_instance_key() });
    client.describe_worker(describe).await.expect("described");
    let leave = request!(ShutdownWorkerRequest { worker_instance_key: worker_instance_key() });
    client.shutdown_worker(leave).await.expect("it leaves");
    let poll = request!(PollNexusTaskQueueRequest {
        task_queue: Some(queue(QUEUE)),
        worker_instance_key: worker_instance_key(),
    });
    client.poll_nexus_task_queue(poll).await.expect("it is answered at once, as it has left");
}

async fn batches(client: &mut Client) {
    let job_id = || "job-1".to_owned();
    let begin = request!(StartBatchOperationRequest {
        visibility_query: "WorkflowType = 'Order'".to_owned(),
        job_id: job_id(),
        reason: "a test".to_owned(),
        operation: Some(Batched::SignalOperation(BatchOperationSignal {
            signal: "more".to_owned(),
            ..BatchOperationSignal::default()
        })),
    });
    client.start_batch_operation(begin).await.expect("begun");
    let describe = request!(DescribeBatchOperationRequest { job_id: job_id() });
    client.describe_batch_operation(describe).await.expect("described");
    client.list_batch_operations(request!(ListBatchOperationsRequest {})).await.expect("listed");
    let end = request!(StopBatchOperationRequest { job_id: job_id(), reason: "enough".to_owned() });
    client.stop_batch_operation(end).await.expect("stopped");
}

async fn schedules(client: &mut Client) {
    let schedule_id = || "daily".to_owned();
    let schedule = || Some(Schedule { action: Some(starting("scheduled")), ..Schedule::default() });
    let create = request!(CreateScheduleRequest {
        schedule_id: schedule_id(),
        schedule: schedule(),
        request_id: "create".to_owned(),
    });
    client.create_schedule(create).await.expect("created");
    let describe = request!(DescribeScheduleRequest { schedule_id: schedule_id() });
    client.describe_schedule(describe).await.expect("described");
    let change =
        request!(UpdateScheduleRequest { schedule_id: schedule_id(), schedule: schedule() });
    client.update_schedule(change).await.expect("changed");
    let patch = SchedulePatch { pause: "for now".to_owned(), ..SchedulePatch::default() };
    let pause = request!(PatchScheduleRequest { schedule_id: schedule_id(), patch: Some(patch) });
    client.patch_schedule(pause).await.expect("paused");
    let (start_time, end_time) = (Some(instant(0)), Some(instant(60)));
    let times = request!(ListScheduleMatchingTimesRequest {
        schedule_id: schedule_id(),
        start_time,
        end_time,
    });
    client.list_schedule_matching_times(times).await.expect("listed");
    client.list_schedules(request!(ListSchedulesRequest {})).await.expect("listed");
    client.count_schedules(request!(CountSchedulesRequest {})).await.expect("counted");
    let delete = request!(DeleteScheduleRequest { schedule_id: schedule_id() });
    client.delete_schedule(delete).await.expect("deleted");
}

fn instant(seconds: i64) -> Timestamp {
    Timestamp { seconds, nanos: 0 }
}

async fn operators(world: &World) {
    let mut client = OperatorServiceClient::new(world.channel().await);
    let namespace = || NAMESPACE.to_owned();
    let name = || "Customer".to_owned();
    let add = os::AddSearchAttributesRequest {
        namespace: namespace(),
        search_attributes: [(name(), IndexedValueType::Keyword.into())].into_iter().collect(),
    };
    client.add_search_attributes(add).await.expect("added");
    let list = os::ListSearchAttributesRequest { namespace: namespace() };
    client.list_search_attributes(list).await.expect("listed");
    let search_attributes = vec![name()];
    let remove = os::RemoveSearchAttributesRequest { namespace: namespace(), search_attributes };
    client.remove_search_attributes(remove).await.expect("removed");
    client.list_clusters(os::ListClustersRequest::default()).await.expect("listed");
    let delete = os::DeleteNamespaceRequest {
        namespace: "other".to_owned(),
        ..os::DeleteNamespaceRequest::default()
    };
    client.delete_namespace(delete).await.expect("deleted");
}

async fn ends(client: &mut Client, run_id: String) {
    let it = || Some(execution("it"));
    let signal = request!(SignalWorkflowExecutionRequest {
        workflow_execution: it(),
        signal_name: "more".to_owned(),
    });
    client.signal_workflow_execution(signal).await.expect("taken");
    let started = start("signalled");
    let signal = request!(SignalWithStartWorkflowExecutionRequest {
        workflow_id: started.workflow_id,
        workflow_type: started.workflow_type,
        task_queue: started.task_queue,
        signal_name: "more".to_owned(),
    });
    client.signal_with_start_workflow_execution(signal).await.expect("started");
    let mut old = execution("it");
    old.run_id = run_id;
    let task = client.get_workflow_execution_history(history("it")).await.expect("a history");
    let events = task.into_inner().history.expect("a history").events;
    let completed = EventType::WorkflowTaskCompleted;
    let first = events.iter().find(|event| event.event_type() == completed).expect("a task");
    let reset = request!(ResetWorkflowExecutionRequest {
        workflow_execution: Some(old),
        workflow_task_finish_event_id: first.event_id,
        request_id: "reset".to_owned(),
    });
    client.reset_workflow_execution(reset).await.expect("reset");
    let end = request!(TerminateWorkflowExecutionRequest { workflow_execution: it() });
    client.terminate_workflow_execution(end).await.expect("ended");
    let delete = request!(DeleteWorkflowExecutionRequest { workflow_execution: it() });
    client.delete_workflow_execution(delete).await.expect("deleted");
}

fn schedule(number: i64) -> Command {
    let attributes = ScheduleActivityTaskCommandAttributes {
        activity_id: number.to_string(),
        activity_type: Some(ActivityType { name: "Charge".to_owned() }),
        task_queue: Some(queue(QUEUE)),
        start_to_close_timeout: Some(seconds(600)),
        ..ScheduleActivityTaskCommandAttributes::default()
    };
    Command::of(attributes)
}

fn cancel_activity(scheduled_event_id: i64) -> Command {
    let attributes = RequestCancelActivityTaskCommandAttributes { scheduled_event_id };
    Command::of(attributes)
}
