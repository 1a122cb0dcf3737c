//! Workers that report, and workers that shut down.

use steadfast_engine::{Code, Limits};
use steadfast_proto::{
    deployment::WorkerDeploymentVersion,
    enums::WorkerStatus,
    worker::{WorkerHeartbeat, WorkerHostInfo},
    workflowservice as ws,
};

use crate::common::{
    Base, NAMESPACE, QUEUE, Rig, calls, complete, queue, sticky, sticky_queue, timer,
};

fn heartbeat(key: &str, status: WorkerStatus) -> WorkerHeartbeat {
    WorkerHeartbeat {
        worker_instance_key: key.to_owned(),
        worker_identity: format!("{key}@host"),
        host_info: Some(WorkerHostInfo {
            host_name: "host".to_owned(),
            process_id: "7".to_owned(),
            ..WorkerHostInfo::default()
        }),
        task_queue: QUEUE.to_owned(),
        deployment_version: Some(WorkerDeploymentVersion {
            deployment_name: "shop".to_owned(),
            build_id: "1.0".to_owned(),
        }),
        sdk_name: "temporal-rust".to_owned(),
        status: status.into(),
        start_time: Some(steadfast_proto::prost_types::Timestamp { seconds: 1_000, nanos: 0 }),
        ..WorkerHeartbeat::default()
    }
}

async fn report(
    rig: &Rig,
    heartbeats: Vec<WorkerHeartbeat>,
) -> Result<(), steadfast_engine::Error> {
    let request = ws::RecordWorkerHeartbeatRequest {
        namespace: NAMESPACE.to_owned(),
        worker_heartbeat: heartbeats,
        ..ws::RecordWorkerHeartbeatRequest::default()
    };
    rig.engine().record_worker_heartbeat(request).await.map(drop)
}

async fn list(rig: &Rig, query: &str) -> Result<String, steadfast_engine::Error> {
    let mut keys = Vec::new();
    let mut next_page_token = Vec::new();
    loop {
        let request = ws::ListWorkersRequest {
            namespace: NAMESPACE.to_owned(),
            query: query.to_owned(),
            page_size: 1,
            next_page_token,
            ..ws::ListWorkersRequest::default()
        };
        let page = rig.engine().list_workers(request).await?;
        #[expect(deprecated, reason = "older clients look there")]
        let infos = page.workers_info.len();
        assert_eq!(page.workers.len(), infos);
        assert!(infos <= 1);
        keys.extend(page.workers.into_iter().map(|it| it.worker_instance_key));
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            return Ok(keys.join(" "));
        }
    }
}

fn shutdown(key: &str) -> ws::ShutdownWorkerRequest {
    ws::ShutdownWorkerRequest {
        namespace: NAMESPACE.to_owned(),
        sticky_task_queue: sticky_queue().name,
        worker_instance_key: key.to_owned(),
        worker_heartbeat: Some(heartbeat(key, WorkerStatus::ShuttingDown)),
        ..ws::ShutdownWorkerRequest::default()
    }
}

fn task_poll(key: &str) -> ws::PollWorkflowTaskQueueRequest {
    ws::PollWorkflowTaskQueueRequest {
        worker_instance_key: key.to_owned(),
        ..calls::task_poll(QUEUE)
    }
}

#[tokio::test(start_paused = true)]
async fn workers_that_report_are_found_by_what_they_say() {
    let rig = Rig::new().await;
    let mut other = heartbeat("w-2", WorkerStatus::ShuttingDown);
    other.task_queue = "other".to_owned();
    other.start_time = Some(steadfast_proto::prost_types::Timestamp { seconds: 2_000, nanos: 0 });
    report(&rig, vec![heartbeat("w-1", WorkerStatus::Running), other]).await.expect("heard");
    for (query, expected) in [
        ("", "w-1 w-2"),
        ("TaskQueue = 'other'", "w-2"),
        ("WorkerStatus = 'Running'", "w-1"),
        ("Status != 'WORKER_STATUS_RUNNING'", "w-2"),
        ("WorkerInstanceKey IN ('w-2', 'w-9')", "w-2"),
        ("HostName STARTS_WITH 'ho' AND BuildId = '1.0'", "w-1 w-2"),
        ("DeploymentName = 'shop' AND NOT (SdkName = 'temporal-rust')", ""),
        ("StartTime > '1970-01-01T00:20:00Z'", "w-2"),
        ("StartTime BETWEEN '1970-01-01T00:00:00Z' AND '1970-01-01T00:20:00Z'", "w-1"),
        ("LastHeartbeatTime IS NULL OR SdkVersion = 'x'", "w-1 w-2"),
    ] {
        assert_eq!(list(&rig, query).await.as_deref(), Ok(expected), "{query}");
    }
    let bad = list(&rig, "WorkflowId = 'x'").await.expect_err("no run is asked for");
    assert!(bad.message.contains("'WorkflowId' is not a valid search attribute"), "{bad}");
    let request = ws::CountWorkersRequest {
        namespace: NAMESPACE.to_owned(),
        ..ws::CountWorkersRequest::default()
    };
    assert_eq!(rig.engine().count_workers(request).await.expect("a count").count, 2);
    let nameless = report(&rig, vec![WorkerHeartbeat::default()]).await.expect_err("no key");
    assert_eq!(nameless.code, Code::InvalidArgument);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_falls_silent_is_forgotten_after_a_while() {
    let rig = Rig::new().await;
    let describe = |key: &str| {
        let request = ws::DescribeWorkerRequest {
            namespace: NAMESPACE.to_owned(),
            worker_instance_key: key.to_owned(),
        };
        let engine = rig.engine();
        async move { engine.describe_worker(request).await }
    };
    report(&rig, vec![heartbeat("w-1", WorkerStatus::Running)]).await.expect("heard");
    rig.wait(200).await;
    let told = describe("w-1").await.expect("known").worker_info.expect("an info");
    assert_eq!(told.worker_heartbeat.expect("a heartbeat").worker_identity, "w-1@host");
    report(&rig, vec![heartbeat("w-1", WorkerStatus::Running)]).await.expect("heard");
    rig.wait(200).await;
    describe("w-1").await.expect("heard of again");
    rig.wait(200).await;
    assert_eq!(describe("w-1").await.expect_err("silent").code, Code::NotFound);
    assert_eq!(list(&rig, "").await.as_deref(), Ok(""));
}

#[tokio::test(start_paused = true)]
async fn the_polls_of_a_worker_that_shuts_down_end_and_those_of_others_go_on() {
    let rig = Rig::new().await;
    let engine = rig.engine();
    let activity_poll = ws::PollActivityTaskQueueRequest {
        worker_instance_key: "w-1".to_owned(),
        ..calls::activity_poll(QUEUE)
    };
    let (task, work, other, ()) = tokio::join!(
        engine.poll_workflow_task_queue(task_poll("w-1")),
        engine.poll_activity_task_queue(activity_poll),
        engine.poll_workflow_task_queue(task_poll("w-2")),
        async {
            rig.wait(1).await;
            engine.shutdown_worker(shutdown("w-1")).await.expect("heard");
            rig.wait(1).await;
            rig.start("order-1").await;
        }
    );
    assert_eq!(task.expect("a poll"), calls::Task::default());
    assert_eq!(work.expect("a poll"), calls::Work::default());
    assert!(!other.expect("a poll").task_token.is_empty());
    assert_eq!(rig.elapsed(), 2);
    rig.start("order-2").await;
    let late = engine.poll_workflow_task_queue(task_poll("w-1")).await.expect("a poll");
    assert_eq!((late, rig.elapsed()), (calls::Task::default(), 2), "it gets nothing more");
    assert!(!rig.poll_task(QUEUE).await.task_token.is_empty());
    assert_eq!(list(&rig, "Status = 'ShuttingDown'").await.as_deref(), Ok("w-1"));
}

/// SDKs send heartbeats by a second worker with the same key, and stop that one when a worker goes on
/// with another connection.
#[tokio::test(start_paused = true)]
async fn a_worker_leaves_the_queue_that_it_names_and_no_other() {
    let rig = Rig::new().await;
    let engine = rig.engine();
    let leave = |queue: &str| ws::ShutdownWorkerRequest {
        task_queue: queue.to_owned(),
        sticky_task_queue: String::new(),
        ..shutdown("w-1")
    };
    let (task, ()) = tokio::join!(engine.poll_workflow_task_queue(task_poll("w-1")), async {
        rig.wait(1).await;
        engine.shutdown_worker(leave("heartbeats")).await.expect("heard");
        rig.wait(1).await;
        rig.start("order-1").await;
    });
    assert!(!task.expect("a poll").task_token.is_empty(), "it was on another queue");
    let (task, ()) = tokio::join!(engine.poll_workflow_task_queue(task_poll("w-1")), async {
        rig.wait(1).await;
        engine.shutdown_worker(leave(QUEUE)).await.expect("heard");
    });
    assert_eq!((task.expect("a poll"), rig.elapsed()), (calls::Task::default(), 3));
}

/// A worker that was told so cancels its polls itself, and may still take what is left to do.
#[tokio::test(start_paused = true)]
async fn polls_outlast_a_shutdown_where_that_is_set_and_workers_are_told() {
    let limits = Limits { polls_end_at_shutdown: false, ..Limits::default() };
    let rig = Rig::with(Base::memory(), limits).await;
    let engine = rig.engine();
    let name =
        ws::DescribeNamespaceRequest { namespace: NAMESPACE.to_owned(), ..Default::default() };
    let described = engine.describe_namespace(name).await.expect("it is there");
    let told = described.namespace_info.and_then(|it| it.capabilities).expect("told");
    assert!(!told.worker_poll_complete_on_shutdown);
    let (task, ()) = tokio::join!(engine.poll_workflow_task_queue(task_poll("w-1")), async {
        rig.wait(1).await;
        engine.shutdown_worker(shutdown("w-1")).await.expect("heard");
        rig.start("order-1").await;
    });
    assert!(!task.expect("a poll").task_token.is_empty());
}

/// Workers with Nexus handlers do their other work, and can stop.
#[tokio::test(start_paused = true)]
async fn a_poll_for_nexus_tasks_waits_in_vain_until_its_worker_shuts_down() {
    let rig = Rig::new().await;
    let engine = rig.engine();
    let poll = || ws::PollNexusTaskQueueRequest {
        namespace: NAMESPACE.to_owned(),
        task_queue: Some(queue(QUEUE)),
        worker_instance_key: "w-1".to_owned(),
        ..ws::PollNexusTaskQueueRequest::default()
    };
    let vain = engine.poll_nexus_task_queue(poll()).await.expect("a poll");
    assert_eq!(vain, ws::PollNexusTaskQueueResponse::default());
    let waited = rig.elapsed();
    assert!(waited >= 50, "as long as other polls: {waited}");
    let (cut, ()) = tokio::join!(engine.poll_nexus_task_queue(poll()), async {
        rig.wait(1).await;
        engine.shutdown_worker(shutdown("w-1")).await.expect("heard");
    });
    assert_eq!(cut.expect("a poll"), ws::PollNexusTaskQueueResponse::default());
    assert_eq!(rig.elapsed(), waited + 1);
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_worker_that_shuts_down_goes_to_others_at_once() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    let sticking = |it: &mut ws::RespondWorkflowTaskCompletedRequest| {
        it.sticky_attributes = Some(sticky());
    };
    rig.complete_task_with(&task, vec![timer("t", 3_600)], sticking).await.expect("taken");
    // It seems to be alive: it polled a moment ago.
    let engine = rig.engine().within(std::time::Duration::from_millis(10));
    let poll = ws::PollWorkflowTaskQueueRequest {
        task_queue: Some(sticky_queue()),
        ..calls::task_poll(QUEUE)
    };
    engine.poll_workflow_task_queue(poll).await.expect("a poll");
    rig.signal("order-1", "go").await.expect("taken");
    let engine = rig.engine();
    let (shut, task) = tokio::join!(engine.shutdown_worker(shutdown("")), rig.next_task(QUEUE));
    shut.expect("heard");
    assert_eq!(rig.elapsed(), 0, "at once");
    assert_eq!(task.history.as_ref().expect("a history").events[0].event_id, 1, "all of it");
    rig.complete_task(&task, vec![complete("done")]).await.expect("taken");
    let mut unknown = shutdown("w-9");
    unknown.sticky_task_queue = "nobody's".to_owned();
    rig.engine().shutdown_worker(unknown).await.expect("never an error");
}
