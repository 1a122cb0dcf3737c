//! Runs that go on as others, start over, are deleted, or end by themselves.

use steadfast_engine::Code;
use steadfast_proto::{enums::WorkflowExecutionStatus as Status, workflowservice as ws};

use crate::common::{
    NAMESPACE, QUEUE, Rig, activity, complete, continue_as_new, execution, seconds, survives, timer,
};

#[tokio::test(start_paused = true)]
async fn a_workflow_goes_on_as_new_run_after_run() {
    let told = survives(async |rig: &Rig| {
        let first = rig.start("order-1").await;
        for _ in 0..3 {
            rig.step(vec![continue_as_new()]).await;
        }
        rig.step(vec![complete("done")]).await;
        assert_eq!(rig.count("").await, Ok(4));
        assert_eq!(rig.count("ExecutionStatus = 'ContinuedAsNew'").await, Ok(3));
        let info = rig.describe("order-1").await.expect("a run").workflow_execution_info;
        assert_eq!(info.expect("an info").first_run_id, first);
        rig.text("order-1", &first).await
    });
    insta::assert_snapshot!(told.await, @r"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     0.000  WorkflowTaskStarted
    4     0.000  WorkflowTaskCompleted
    5     0.000  WorkflowExecutionContinuedAsNew initiator=Workflow
    ");
}

#[tokio::test(start_paused = true)]
async fn a_signal_that_comes_while_a_run_goes_on_is_not_lost() {
    let rig = Rig::new().await;
    let first = rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    rig.signal("order-1", "go").await.expect("taken");
    let refused = rig.complete_task(&task, vec![continue_as_new()]).await.expect_err("not yet");
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (Code::InvalidArgument, "UnhandledCommand")
    );
    rig.step(vec![continue_as_new()]).await;
    assert!(rig.text("order-1", &first).await.contains("WorkflowExecutionSignaled go"));
}

#[tokio::test(start_paused = true)]
async fn a_schedule_starts_run_after_run_and_skips_what_it_missed() {
    let told = survives(async |rig: &Rig| {
        let start = rig.start_with("order-1", |it| it.cron_schedule = "*/10 * * * *".to_owned());
        start.await.expect("a start");
        let mut times = Vec::new();
        for n in 0..3 {
            // The second one takes longer than the time to the next.
            let first = if n == 1 { timer("t", 1_500) } else { complete("tick") };
            rig.step(vec![first]).await;
            times.push(rig.elapsed());
            if n == 1 {
                rig.step(vec![complete("tick")]).await;
            }
        }
        rig.terminate("order-1").await.expect("ended");
        assert_eq!(rig.count("ExecutionStatus = 'Running'").await, Ok(0));
        format!("{times:?}")
    });
    assert_eq!(told.await, "[200, 800, 2600]");
}

#[tokio::test(start_paused = true)]
async fn a_reset_starts_over_from_an_earlier_point_and_keeps_the_signals() {
    let told = survives(async |rig: &Rig| {
        let first = rig.start("order-1").await;
        rig.step(vec![activity("a")]).await;
        let work = rig.next_activity().await;
        rig.complete_activity(&work, "wrong").await.expect("taken");
        rig.step(vec![timer("t", 3_600)]).await;
        rig.signal("order-1", "go").await.expect("taken");
        let second = rig.reset("order-1", 4).await.expect("reset");
        assert_ne!(first, second);
        assert_eq!(rig.reset("order-1", 4).await, Ok(second.clone()), "the same reset once more");
        let old = rig.describe_run("order-1", &first).await.expect("a run");
        assert_eq!(old.workflow_execution_info.expect("an info").status(), Status::Terminated);
        rig.step(vec![complete("done")]).await;
        rig.text("order-1", &second).await
    });
    insta::assert_snapshot!(told.await, @r#"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     0.000  WorkflowTaskStarted
    4     0.000  WorkflowTaskFailed ResetWorkflow "once more"
    5     0.000  WorkflowExecutionSignaled go
    6     0.000  WorkflowTaskScheduled
    7     0.000  WorkflowTaskStarted
    8     0.000  WorkflowTaskCompleted
    9     0.000  WorkflowExecutionCompleted "done"
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_reset_to_where_no_task_was_is_refused_and_changes_nothing() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![timer("t", 3_600)]).await;
    let before = rig.text("order-1", "").await;
    for to in [-1, 0, 1, 2, 99] {
        let refused = rig.reset("order-1", to).await.expect_err("nothing to reset to");
        assert_eq!(refused.code, Code::InvalidArgument, "{to}: {refused}");
    }
    assert_eq!(rig.text("order-1", "").await, before);
    assert_eq!(rig.count("").await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_workflow_is_gone_from_everywhere_and_its_id_is_free() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![complete("done")]).await;
        rig.delete("order-1").await.expect("deleted");
        rig.point().await;
        assert_eq!(rig.describe("order-1").await.expect_err("gone").code, Code::NotFound);
        assert_eq!(rig.count("").await, Ok(0));
        let page = rig.history_page("order-1", |_| {}).await;
        assert_eq!(page.expect_err("gone").code, Code::NotFound);
        rig.start("order-1").await;
        // One that runs is ended first.
        rig.delete("order-1").await.expect("deleted");
        rig.point().await;
        assert_eq!(rig.describe("order-1").await.expect_err("gone").code, Code::NotFound);
        assert_eq!(rig.poll_task(QUEUE).await.task_token, Vec::<u8>::new());
        rig.delete("order-1").await.expect_err("there is none").message
    });
    assert_eq!(told.await, "workflow not found for ID: order-1");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_and_what_comes_right_after_it_do_not_get_mixed_up() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let (deleted, signalled, described) =
        tokio::join!(rig.delete("order-1"), rig.signal("order-1", "go"), rig.describe("order-1"));
    deleted.expect("deleted");
    assert_eq!(signalled.expect_err("gone").code, Code::NotFound);
    assert_eq!(described.expect_err("gone").code, Code::NotFound);
    let (deleted, started) = tokio::join!(
        async {
            rig.start("order-2").await;
            rig.delete("order-2").await
        },
        async { rig.start_with("order-2", |it| it.identity = "second".to_owned()).await }
    );
    deleted.expect("deleted");
    drop(started);
    rig.crash().await;
    assert_eq!(rig.count("WorkflowId = 'order-1'").await, Ok(0));
}

#[tokio::test(start_paused = true)]
async fn closed_workflows_are_kept_for_the_retention_and_then_deleted() {
    let told = survives(async |rig: &Rig| {
        let register = ws::RegisterNamespaceRequest {
            namespace: "short".to_owned(),
            workflow_execution_retention_period: Some(seconds(3_600)),
            ..ws::RegisterNamespaceRequest::default()
        };
        rig.engine().register_namespace(register).await.expect("registered");
        rig.point().await;
        let start = rig.start_with("order-1", |it| it.namespace = "short".to_owned());
        start.await.expect("a start");
        let end = ws::TerminateWorkflowExecutionRequest {
            namespace: "short".to_owned(),
            workflow_execution: Some(execution("order-1", "")),
            ..ws::TerminateWorkflowExecutionRequest::default()
        };
        rig.engine().terminate_workflow_execution(end).await.expect("ended");
        rig.point().await;
        let describe = async || {
            let request = ws::DescribeWorkflowExecutionRequest {
                namespace: "short".to_owned(),
                execution: Some(execution("order-1", "")),
            };
            rig.engine().describe_workflow_execution(request).await
        };
        rig.wait(3_590).await;
        describe().await.expect("still there");
        rig.point().await;
        rig.wait(20).await;
        describe().await.expect_err("gone").code.to_string()
    });
    assert_eq!(told.await, "not found");
}

#[tokio::test(start_paused = true)]
async fn a_delayed_start_runs_no_code_before_its_time() {
    let told = survives(async |rig: &Rig| {
        let start = rig.start_with("order-1", |it| it.workflow_start_delay = Some(seconds(90)));
        start.await.expect("a start");
        rig.signal("order-1", "early").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        assert_eq!(rig.elapsed(), 90);
        assert_eq!(rig.list("").await, Ok(vec![execution("order-1", "").workflow_id]));
        rig.text("order-1", "").await
    });
    insta::assert_snapshot!(told.await, @r#"
    1     0.000  WorkflowExecutionStarted Order backoff=90s
    2     0.000  WorkflowExecutionSignaled early
    3    90.000  WorkflowTaskScheduled
    4    90.000  WorkflowTaskStarted
    5    90.000  WorkflowTaskCompleted
    6    90.000  WorkflowExecutionCompleted "done"
    "#);
}

#[tokio::test(start_paused = true)]
async fn who_names_the_first_run_of_a_chain_reaches_its_last() {
    let rig = Rig::new().await;
    let first = rig.start("order-1").await;
    rig.step(vec![continue_as_new()]).await;
    let cancel = ws::RequestCancelWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_execution: Some(execution("order-1", &first)),
        first_execution_run_id: first.clone(),
        ..ws::RequestCancelWorkflowExecutionRequest::default()
    };
    rig.engine().request_cancel_workflow_execution(cancel).await.expect("taken");
    let names = rig.names("order-1").await.join(" ");
    assert!(names.contains("WorkflowExecutionCancelRequested"), "{names}");
    let terminate = ws::TerminateWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_execution: Some(execution("order-1", &first)),
        first_execution_run_id: first,
        ..ws::TerminateWorkflowExecutionRequest::default()
    };
    rig.engine().terminate_workflow_execution(terminate).await.expect("taken");
    let names = rig.names("order-1").await.join(" ");
    assert!(names.ends_with("WorkflowExecutionTerminated"), "{names}");
}
