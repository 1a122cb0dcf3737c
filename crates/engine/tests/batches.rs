//! Batches: one thing done to many workflows, with the plug pulled in between.

use steadfast_engine::{Code, Error};
use steadfast_proto::{
    batch,
    common::{Execution, ResetOptions, reset_options},
    enums::BatchOperationState as State,
    workflowservice as ws,
    workflowservice::start_batch_operation_request::Operation,
};

use crate::common::{
    Fault, NAMESPACE, QUEUE, Rig, activity, calls, complete, execution, payloads, survives, timer,
};

fn of(operation: Operation) -> ws::StartBatchOperationRequest {
    ws::StartBatchOperationRequest {
        namespace: NAMESPACE.to_owned(),
        visibility_query: "WorkflowType = 'Order'".to_owned(),
        job_id: "job-1".to_owned(),
        reason: "clean up".to_owned(),
        operation: Some(operation),
        ..ws::StartBatchOperationRequest::default()
    }
}

fn terminate() -> Operation {
    Operation::TerminationOperation(batch::BatchOperationTermination {
        identity: "operator".to_owned(),
        ..batch::BatchOperationTermination::default()
    })
}

fn signal() -> Operation {
    Operation::SignalOperation(batch::BatchOperationSignal {
        signal: "go".to_owned(),
        input: Some(payloads("now")),
        ..batch::BatchOperationSignal::default()
    })
}

async fn start(rig: &Rig, request: ws::StartBatchOperationRequest) -> Result<(), Error> {
    rig.point().await;
    rig.engine().start_batch_operation(request).await.map(drop)
}

async fn describe(rig: &Rig, job_id: &str) -> Result<ws::DescribeBatchOperationResponse, Error> {
    let request = ws::DescribeBatchOperationRequest {
        namespace: NAMESPACE.to_owned(),
        job_id: job_id.to_owned(),
    };
    rig.engine().describe_batch_operation(request).await
}

/// Waits for the end of a batch: how many it was for, how many went well, how many did not.
async fn ended(rig: &Rig, job_id: &str) -> (State, i64, i64, i64) {
    for _ in 0..1_000 {
        let told = describe(rig, job_id).await.expect("a batch");
        if told.state() != State::Running {
            assert!(told.close_time.is_some());
            return (
                told.state(),
                told.total_operation_count,
                told.complete_operation_count,
                told.failure_operation_count,
            );
        }
        rig.wait(1).await;
    }
    panic!("the batch does not end")
}

async fn stop(rig: &Rig) {
    let request = ws::StopBatchOperationRequest {
        namespace: NAMESPACE.to_owned(),
        job_id: "job-1".to_owned(),
        reason: "a mistake".to_owned(),
        identity: "operator".to_owned(),
    };
    rig.engine().stop_batch_operation(request).await.expect("stopped");
}

async fn asleep(rig: &Rig, count: usize) {
    for n in 0..count {
        rig.start(&format!("order-{n}")).await;
        rig.step(vec![timer("t", 36_000)]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn every_workflow_that_matches_has_its_turn_once_also_after_a_crash() {
    let told = survives(async |rig: &Rig| {
        asleep(rig, 3).await;
        let slow =
            ws::StartBatchOperationRequest { max_operations_per_second: 1.0, ..of(signal()) };
        start(rig, slow).await.expect("started");
        for _ in 0..3 {
            rig.point().await;
            rig.wait(1).await;
        }
        let ended = ended(rig, "job-1").await;
        let mut signals = Vec::new();
        for n in 0..3 {
            let names = rig.names(&format!("order-{n}")).await;
            signals.push(names.iter().filter(|it| it.ends_with("ExecutionSignaled")).count());
        }
        format!("{ended:?} {signals:?}")
    });
    assert_eq!(told.await, "(Completed, 3, 3, 0) [1, 1, 1]");
}

#[tokio::test(start_paused = true)]
async fn a_batch_goes_no_faster_than_it_may_and_can_be_stopped() {
    let rig = Rig::new().await;
    asleep(&rig, 10).await;
    let slow = ws::StartBatchOperationRequest { max_operations_per_second: 0.5, ..of(terminate()) };
    start(&rig, slow.clone()).await.expect("started");
    rig.wait(5).await;
    let told = describe(&rig, "job-1").await.expect("a batch");
    assert_eq!((told.state(), told.total_operation_count), (State::Running, 10));
    assert_eq!((told.complete_operation_count, told.identity.as_str()), (3, "operator"));
    assert_eq!((told.reason.as_str(), told.query.as_str()), ("clean up", "WorkflowType = 'Order'"));
    let busy = ws::StartBatchOperationRequest { job_id: "job-2".to_owned(), ..slow.clone() };
    let busy = start(&rig, busy).await.expect_err("one at a time");
    assert_eq!(
        (busy.code, busy.message.as_str()),
        (Code::ResourceExhausted, "Max concurrent batch operations is reached")
    );
    stop(&rig).await;
    rig.wait(60).await;
    assert_eq!(ended(&rig, "job-1").await, (State::Failed, 10, 3, 0));
    assert_eq!(rig.count("ExecutionStatus = 'Terminated'").await, Ok(3));
    let again = start(&rig, slow).await.expect_err("that id is taken");
    assert_eq!(again.code, Code::AlreadyExists);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_fails_for_minutes_is_not_a_failure_of_the_workflows() {
    let rig = Rig::new().await;
    asleep(&rig, 3).await;
    rig.crash().await;
    rig.store().fail_loads([Fault::LostBefore; 600]);
    let delete = Operation::DeletionOperation(batch::BatchOperationDeletion::default());
    start(&rig, of(delete)).await.expect("started");
    rig.wait(120).await;
    let told = describe(&rig, "job-1").await.expect("a batch");
    assert_eq!((told.state(), told.failure_operation_count), (State::Running, 0), "it waits");
    assert_eq!(ended(&rig, "job-1").await, (State::Completed, 3, 3, 0));
    assert_eq!(rig.count("").await, Ok(0));
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_waits_for_the_disk_can_be_stopped() {
    let rig = Rig::new().await;
    asleep(&rig, 3).await;
    rig.crash().await;
    rig.store().fail_loads([Fault::LostBefore; 600]);
    start(&rig, of(terminate())).await.expect("started");
    rig.wait(10).await;
    stop(&rig).await;
    assert_eq!(ended(&rig, "job-1").await, (State::Failed, 3, 0, 0));
    rig.wait(600).await;
    assert_eq!(rig.count("ExecutionStatus = 'Running'").await, Ok(3));
}

#[tokio::test(start_paused = true)]
async fn a_workflow_that_can_never_be_read_does_not_hold_up_the_others() {
    let rig = Rig::new().await;
    asleep(&rig, 3).await;
    rig.crash().await;
    rig.store().fail_loads([Fault::Rejected]);
    start(&rig, of(terminate())).await.expect("started");
    assert_eq!(ended(&rig, "job-1").await, (State::Completed, 3, 2, 1));
    assert_eq!(rig.count("ExecutionStatus = 'Terminated'").await, Ok(2));
}

#[tokio::test(start_paused = true)]
async fn workflows_can_be_named_one_by_one_and_those_that_are_gone_do_not_matter() {
    let rig = Rig::new().await;
    asleep(&rig, 2).await;
    #[expect(deprecated, reason = "older tools name them there")]
    let named = ws::StartBatchOperationRequest {
        visibility_query: String::new(),
        executions: vec![execution("order-0", ""), execution("nobody", "")],
        target_executions: vec![Execution {
            business_id: "order-1".to_owned(),
            ..Execution::default()
        }],
        ..of(Operation::DeletionOperation(batch::BatchOperationDeletion::default()))
    };
    start(&rig, named).await.expect("started");
    assert_eq!(ended(&rig, "job-1").await, (State::Completed, 3, 3, 0));
    assert_eq!(rig.count("").await, Ok(0));
    assert_eq!(describe(&rig, "job-1").await.expect("a batch").executions.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn many_workflows_are_cancelled_page_by_page() {
    let rig = Rig::new().await;
    for n in 0..1_100 {
        rig.start(&format!("order-{n}")).await;
    }
    let fast = ws::StartBatchOperationRequest {
        max_operations_per_second: 500.0,
        ..of(Operation::CancellationOperation(batch::BatchOperationCancellation::default()))
    };
    start(&rig, fast).await.expect("started");
    rig.wait(1).await;
    rig.crash().await;
    assert_eq!(ended(&rig, "job-1").await, (State::Completed, 1_100, 1_100, 0));
    let names = rig.names("order-1099").await;
    let cancels = names.iter().filter(|it| it.contains("CancelRequested")).count();
    assert_eq!(cancels, 1);
}

#[tokio::test(start_paused = true)]
async fn workflows_are_reset_to_their_first_or_last_task() {
    for (target, expected) in [
        (reset_options::Target::FirstWorkflowTask(()), 4),
        (reset_options::Target::LastWorkflowTask(()), 10),
    ] {
        let rig = Rig::new().await;
        rig.start("order-0").await;
        rig.step(vec![activity("a")]).await;
        let work = rig.next_activity().await;
        rig.complete_activity(&work, "ok").await.expect("taken");
        rig.step(vec![timer("t", 36_000)]).await;
        let reset = batch::BatchOperationReset {
            options: Some(ResetOptions { target: Some(target), ..ResetOptions::default() }),
            ..batch::BatchOperationReset::default()
        };
        start(&rig, of(Operation::ResetOperation(reset))).await.expect("started");
        assert_eq!(ended(&rig, "job-1").await, (State::Completed, 1, 1, 0));
        let task = rig.next_task(QUEUE).await;
        let events = task.history.as_ref().expect("a history").events.clone();
        let failed = events.iter().find(|it| calls::name(it) == "WorkflowTaskFailed");
        assert_eq!(failed.expect("the reset point").event_id, expected);
        rig.complete_task(&task, vec![complete("done")]).await.expect("taken");
    }
}

#[tokio::test(start_paused = true)]
async fn the_activities_of_many_workflows_are_let_go_on() {
    let rig = Rig::new().await;
    for n in 0..2 {
        rig.start(&format!("order-{n}")).await;
        rig.step(vec![activity("a")]).await;
        let pause = ws::PauseActivityRequest {
            namespace: NAMESPACE.to_owned(),
            execution: Some(execution(&format!("order-{n}"), "")),
            activity: Some(ws::pause_activity_request::Activity::Id("a".to_owned())),
            ..ws::PauseActivityRequest::default()
        };
        rig.engine().pause_activity(pause).await.expect("paused");
    }
    let unpause = batch::BatchOperationUnpauseActivities {
        activity: Some(batch::batch_operation_unpause_activities::Activity::MatchAll(true)),
        ..batch::BatchOperationUnpauseActivities::default()
    };
    start(&rig, of(Operation::UnpauseActivitiesOperation(unpause))).await.expect("started");
    assert_eq!(ended(&rig, "job-1").await, (State::Completed, 2, 2, 0));
    for _ in 0..2 {
        rig.next_activity().await;
    }
    rig.wait(1).await;
    let again = ws::StartBatchOperationRequest { job_id: "job-2".to_owned(), ..of(terminate()) };
    start(&rig, again).await.expect("started");
    assert_eq!(ended(&rig, "job-2").await, (State::Completed, 2, 2, 0));
    let mut jobs = Vec::new();
    let mut next_page_token = Vec::new();
    loop {
        let request = ws::ListBatchOperationsRequest {
            namespace: NAMESPACE.to_owned(),
            page_size: 1,
            next_page_token,
        };
        let page = rig.engine().list_batch_operations(request).await.expect("a page");
        jobs.extend(page.operation_info.into_iter().map(|it| (it.job_id.clone(), it.state())));
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            break;
        }
    }
    let jobs: Vec<(&str, State)> = jobs.iter().map(|(id, state)| (id.as_str(), *state)).collect();
    assert_eq!(jobs, [("job-2", State::Completed), ("job-1", State::Completed)]);
}

#[tokio::test(start_paused = true)]
async fn a_bad_batch_is_refused_by_name() {
    let rig = Rig::new().await;
    let good = || of(terminate());
    #[expect(deprecated, reason = "older tools name them there")]
    let both = ws::StartBatchOperationRequest { executions: vec![execution("a", "")], ..good() };
    let cases = [
        (ws::StartBatchOperationRequest { job_id: String::new(), ..good() }, "JobId"),
        (ws::StartBatchOperationRequest { reason: String::new(), ..good() }, "Reason"),
        (ws::StartBatchOperationRequest { visibility_query: String::new(), ..good() }, "Query"),
        (both, "exclusive"),
        (
            ws::StartBatchOperationRequest { visibility_query: "Nope = 1".to_owned(), ..good() },
            "'Nope'",
        ),
        (ws::StartBatchOperationRequest { operation: None, ..good() }, "operation"),
        (
            ws::StartBatchOperationRequest { max_operations_per_second: -1.0, ..good() },
            "max_operations_per_second",
        ),
        (of(Operation::SignalOperation(batch::BatchOperationSignal::default())), "SignalName"),
    ];
    for (request, named) in cases {
        let refused = start(&rig, request).await.expect_err("bad");
        assert_eq!(refused.code, Code::InvalidArgument, "{refused}");
        assert!(refused.message.contains(named), "{refused}");
    }
    assert_eq!(describe(&rig, "job-1").await.expect_err("none").code, Code::NotFound);
}
