//! Bad input gets a clear error that names the field, and changes nothing. Namespaces.

use steadfast_engine::{Code, Detail};
use steadfast_proto::{common, prost_types::Duration, taskqueue::TaskQueue, workflowservice as ws};

use crate::common::{NAMESPACE, QUEUE, Rig, calls, execution, payloads, queue, seconds, survives};

#[tokio::test(start_paused = true)]
async fn a_bad_start_names_what_is_wrong_and_starts_nothing() {
    type Change = fn(&mut ws::StartWorkflowExecutionRequest);
    let table: [(Change, &str); 13] = [
        (|it| it.workflow_id.clear(), "WorkflowId is not set on request."),
        (|it| it.workflow_id = "x".repeat(1_001), "WorkflowId exceeds length limit."),
        (|it| it.workflow_type = None, "WorkflowType is not set on request."),
        (|it| it.task_queue = None, "taskQueue is not set"),
        (|it| it.task_queue = Some(TaskQueue::default()), "missing task queue name"),
        (|it| it.request_id = "x".repeat(1_001), "RequestId exceeds length limit."),
        (|it| it.input = Some(payloads(&"x".repeat(3_000_000))), "Blob data size exceeds limit."),
        (
            |it| it.workflow_run_timeout = Some(Duration { seconds: -1, nanos: 0 }),
            "Invalid WorkflowRunTimeout",
        ),
        (
            |it| it.workflow_execution_timeout = Some(Duration { seconds: -1, nanos: 0 }),
            "Invalid WorkflowExecutionTimeout",
        ),
        (
            |it| it.workflow_start_delay = Some(Duration { seconds: -1, nanos: 0 }),
            "Invalid WorkflowStartDelay",
        ),
        (
            |it| {
                it.cron_schedule = "@hourly".to_owned();
                it.workflow_start_delay = Some(seconds(1));
            },
            "CronSchedule and WorkflowStartDelay may not be used together.",
        ),
        (
            |it| {
                it.retry_policy = Some(common::RetryPolicy {
                    backoff_coefficient: 0.5,
                    ..common::RetryPolicy::default()
                });
            },
            "BackoffCoefficient cannot be less than 1 on retry policy.",
        ),
        (|it| it.namespace.clear(), "Namespace not set on request."),
    ];
    let rig = Rig::new().await;
    for (change, said) in table {
        let refused = rig.start_with("order-1", change).await.expect_err(said);
        assert_eq!(refused.code, Code::InvalidArgument, "{refused}");
        assert!(refused.message.starts_with(said), "{refused} is not {said}");
    }
    assert_eq!(rig.count("").await, Ok(0));
    assert_eq!(rig.store().tally.commits.load(std::sync::atomic::Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn other_bad_requests_name_what_is_wrong_too() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let before = rig.text("order-1", "").await;
    let engine = rig.engine();
    let nameless = rig.signal("order-1", "").await.expect_err("no name");
    assert_eq!(nameless.message, "SignalName is not set on request.");
    let long = rig.signal("order-1", &"x".repeat(1_001)).await.expect_err("too long");
    assert_eq!(long.message, "SignalName exceeds length limit.");
    let large = rig.signal_with("order-1", "go", |it| {
        it.input = Some(payloads(&"x".repeat(3_000_000)));
    });
    assert_eq!(large.await.expect_err("too large").message, "Blob data size exceeds limit.");
    let mut poll = calls::task_poll(QUEUE);
    poll.task_queue = None;
    let queueless = engine.poll_workflow_task_queue(poll).await.expect_err("no queue");
    assert_eq!(queueless.message, "missing task queue name");
    let elsewhere = ws::TerminateWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_execution: Some(execution("order-1", "")),
        first_execution_run_id: "00000000-0000-0000-0000-000000000000".to_owned(),
        ..ws::TerminateWorkflowExecutionRequest::default()
    };
    let refused = engine.terminate_workflow_execution(elsewhere).await.expect_err("other chain");
    assert_eq!(refused.code, Code::NotFound);
    let query = ws::QueryWorkflowRequest { query: None, ..calls::query("order-1") };
    let refused = engine.query_workflow(query).await.expect_err("no query");
    assert_eq!(refused.message, "WorkflowQuery is not set on request.");
    assert_eq!(rig.text("order-1", "").await, before);
}

#[tokio::test(start_paused = true)]
async fn p_23_a_signal_beyond_the_limit_is_refused_not_dropped() {
    let mut limits = steadfast_engine::Limits::default();
    limits.run.signals_max = 3;
    let rig = Rig::with(crate::common::Base::memory(), limits).await;
    rig.start("order-1").await;
    for _ in 0..3 {
        rig.signal("order-1", "go").await.expect("taken");
    }
    let refused = rig.signal("order-1", "go").await.expect_err("enough");
    assert_eq!(refused.code, Code::InvalidArgument);
    assert_eq!(refused.message, "exceeded workflow execution limit for signal events");
    let unknown = rig.signal("order-2", "go").await.expect_err("there is no such workflow");
    assert_eq!(unknown.code, Code::NotFound);
    assert_eq!(rig.history("order-1", "").await.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_is_there_as_soon_as_it_is_registered_and_for_good() {
    let told = survives(async |rig: &Rig| {
        rig.point().await;
        let register = || ws::RegisterNamespaceRequest {
            namespace: "shop".to_owned(),
            description: "a shop".to_owned(),
            workflow_execution_retention_period: Some(seconds(86_400)),
            ..ws::RegisterNamespaceRequest::default()
        };
        rig.engine().register_namespace(register()).await.expect("registered");
        rig.point().await;
        let twice = rig.engine().register_namespace(register()).await.expect_err("twice");
        assert_eq!(twice.code, Code::AlreadyExists);
        let start = rig.start_with("order-1", |it| it.namespace = "shop".to_owned());
        start.await.expect("a start");
        assert_eq!(rig.count("").await, Ok(0), "the others do not see it");
        let update = ws::UpdateNamespaceRequest {
            namespace: "shop".to_owned(),
            update_info: Some(steadfast_proto::namespace::UpdateNamespaceInfo {
                owner_email: "ann@example.org".to_owned(),
                ..steadfast_proto::namespace::UpdateNamespaceInfo::default()
            }),
            ..ws::UpdateNamespaceRequest::default()
        };
        rig.engine().update_namespace(update).await.expect("updated");
        rig.point().await;
        let describe = ws::DescribeNamespaceRequest {
            namespace: "shop".to_owned(),
            ..ws::DescribeNamespaceRequest::default()
        };
        let seen = rig.engine().describe_namespace(describe).await.expect("a namespace");
        let info = seen.namespace_info.expect("an info");
        let retention = seen.config.expect("a config").workflow_execution_retention_ttl;
        assert_eq!(retention, Some(seconds(86_400)));
        let all = rig.engine().list_namespaces(ws::ListNamespacesRequest::default()).await;
        assert_eq!(all.expect("a list").namespaces.len(), 2);
        format!("{} {} {}", info.name, info.description, info.owner_email)
    });
    assert_eq!(told.await, "shop a shop ann@example.org");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_not_there_is_named_in_the_answer() {
    let rig = Rig::new().await;
    let refused = rig.start_with("order-1", |it| it.namespace = "nowhere".to_owned()).await;
    let refused = refused.expect_err("there is none");
    assert_eq!(refused.code, Code::NotFound);
    assert!(refused.message.contains("nowhere"), "{refused}");
    assert!(matches!(refused.detail.as_deref(), Some(Detail::NamespaceNotFound(_))));
    let poll = ws::PollWorkflowTaskQueueRequest {
        namespace: "nowhere".to_owned(),
        task_queue: Some(queue(QUEUE)),
        ..ws::PollWorkflowTaskQueueRequest::default()
    };
    let refused = rig.engine().poll_workflow_task_queue(poll).await.expect_err("there is none");
    assert_eq!(refused.code, Code::NotFound);
    let short = ws::RegisterNamespaceRequest {
        namespace: "shop".to_owned(),
        workflow_execution_retention_period: Some(seconds(1)),
        ..ws::RegisterNamespaceRequest::default()
    };
    let refused = rig.engine().register_namespace(short).await.expect_err("too short");
    assert!(refused.message.contains("Retention period"), "{refused}");
}
