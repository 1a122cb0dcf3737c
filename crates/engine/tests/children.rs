//! Children and their parents, and what workflows say to others.

use steadfast_engine::Code;
use steadfast_proto::{
    common,
    enums::{ParentClosePolicy as Policy, WorkflowExecutionStatus as Status},
    sdk,
};

use crate::common::{
    QUEUE, Rig, cancel_external, child, child_with, complete, continue_as_new, fail, queue,
    seconds, signal_external, survives,
};

async fn status(rig: &Rig, workflow_id: &str) -> Status {
    let seen = rig.describe(workflow_id).await.expect("a run");
    seen.workflow_execution_info.expect("an info").status()
}

#[tokio::test(start_paused = true)]
async fn a_parent_hears_of_its_childs_start_and_end() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![child("child-1")]).await;
        rig.step(vec![]).await;
        rig.step_on("children", vec![complete("grown")]).await;
        rig.step(vec![complete("done")]).await;
        let parent = rig.text("order-1", "").await;
        format!("{parent}{}", rig.text("child-1", "").await)
    });
    insta::assert_snapshot!(told.await, @r#"
     1     0.000  WorkflowExecutionStarted Order
     2     0.000  WorkflowTaskScheduled
     3     0.000  WorkflowTaskStarted
     4     0.000  WorkflowTaskCompleted
     5     0.000  StartChildWorkflowExecutionInitiated child-1 Child
     6     0.000  ChildWorkflowExecutionStarted #5
     7     0.000  WorkflowTaskScheduled
     8     0.000  WorkflowTaskStarted
     9     0.000  WorkflowTaskCompleted
    10     0.000  ChildWorkflowExecutionCompleted #5 "grown"
    11     0.000  WorkflowTaskScheduled
    12     0.000  WorkflowTaskStarted
    13     0.000  WorkflowTaskCompleted
    14     0.000  WorkflowExecutionCompleted "done"
     1     0.000  WorkflowExecutionStarted Child
     2     0.000  WorkflowTaskScheduled
     3     0.000  WorkflowTaskStarted
     4     0.000  WorkflowTaskCompleted
     5     0.000  WorkflowExecutionCompleted "grown"
    "#);
}

#[tokio::test(start_paused = true)]
async fn p_07_a_parent_always_hears_of_its_childs_end() {
    for how in ["failed", "terminated", "timed out", "deleted", "too much history"] {
        let told = survives(async |rig: &Rig| {
            rig.start("order-1").await;
            rig.step(vec![child_with("child-1", |it| {
                it.workflow_run_timeout = (how == "timed out").then(|| seconds(30));
            })])
            .await;
            rig.step(vec![]).await;
            match how {
                "failed" => rig.step_on("children", vec![fail("no luck")]).await,
                "terminated" => rig.terminate("child-1").await.expect("ended"),
                "deleted" => rig.delete("child-1").await.expect("deleted"),
                "too much history" => {
                    let large = "x".repeat(3_000_000);
                    // A task whose cause was not durable when the plug was pulled comes again.
                    let refused = async || {
                        let task = rig.next_task("children").await;
                        let refused = rig.complete_task(&task, vec![complete(&large)]).await;
                        refused.expect_err("too large").code
                    };
                    while refused().await != Code::InvalidArgument {}
                }
                _ => {}
            }
            rig.step(vec![complete("done")]).await;
            let names = rig.names("order-1").await;
            names.into_iter().filter(|name| name.starts_with("Child")).collect::<Vec<_>>().join(" ")
        });
        let expected = match how {
            "failed" => "ChildWorkflowExecutionStarted ChildWorkflowExecutionFailed",
            "timed out" => "ChildWorkflowExecutionStarted ChildWorkflowExecutionTimedOut",
            _ => "ChildWorkflowExecutionStarted ChildWorkflowExecutionTerminated",
        };
        assert_eq!(told.await, expected, "{how}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_becomes_of_a_child_when_its_parent_ends_is_the_parents_choice() {
    for (policy, expected) in [
        (Policy::Unspecified, "WorkflowExecutionTerminated by parent close policy"),
        (Policy::Terminate, "WorkflowExecutionTerminated by parent close policy"),
        (Policy::RequestCancel, "WorkflowExecutionCancelRequested by parent close policy"),
        (Policy::Abandon, "WorkflowTaskScheduled"),
    ] {
        let told = survives(async |rig: &Rig| {
            rig.start("order-1").await;
            rig.step(vec![child_with("child-1", |it| it.parent_close_policy = policy.into())])
                .await;
            rig.step(vec![complete("done")]).await;
            rig.point().await;
            rig.wait(1).await;
            let text = rig.text("child-1", "").await;
            let mut lines = text.lines().filter(|line| !line.contains("WorkflowTask"));
            let last = lines.next_back().expect("a line")[16..].to_owned();
            if policy == Policy::Abandon {
                assert_eq!(status(rig, "child-1").await, Status::Running);
                return "WorkflowTaskScheduled".to_owned();
            }
            last
        });
        assert_eq!(told.await, expected, "{policy:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_whose_id_is_taken_is_not_started_and_its_parent_hears_so() {
    let told = survives(async |rig: &Rig| {
        let taken = rig.start_with("child-1", |it| it.task_queue = Some(queue("children")));
        taken.await.expect("a start");
        rig.start("order-1").await;
        rig.step(vec![child("child-1")]).await;
        rig.step(vec![complete("done")]).await;
        let names = rig.names("order-1").await;
        names.into_iter().filter(|name| name.contains("Child")).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(
        told.await,
        "StartChildWorkflowExecutionInitiated StartChildWorkflowExecutionFailed"
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_workflow_says_of_its_child_is_shown_with_the_child() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        let summary = common::Payload { data: b"\"a parcel\"".to_vec(), ..Default::default() };
        let mut young = child("child-1");
        young.user_metadata =
            Some(sdk::UserMetadata { summary: Some(summary), ..sdk::UserMetadata::default() });
        rig.step(vec![young]).await;
        rig.step_on("children", vec![]).await;
        let seen = rig.describe("child-1").await.expect("a child").execution_config;
        let summary = seen.and_then(|it| it.user_metadata).and_then(|it| it.summary);
        String::from_utf8(summary.expect("a summary").data).expect("text")
    });
    assert_eq!(told.await, "\"a parcel\"");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_goes_on_as_new_is_one_child() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![child("child-1")]).await;
        rig.step(vec![]).await;
        rig.step_on("children", vec![continue_as_new()]).await;
        rig.step_on("children", vec![complete("grown")]).await;
        rig.step(vec![complete("done")]).await;
        let names = rig.names("order-1").await;
        names.into_iter().filter(|name| name.starts_with("Child")).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(told.await, "ChildWorkflowExecutionStarted ChildWorkflowExecutionCompleted");
}

#[tokio::test(start_paused = true)]
async fn a_signal_to_another_workflow_arrives_once() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![signal_external("order-2", "hello")]).await;
        rig.step(vec![]).await;
        rig.start_with("order-2", |it| it.task_queue = Some(queue("children")))
            .await
            .expect("a start");
        rig.signal("order-1", "again").await.expect("taken");
        rig.step(vec![signal_external("order-2", "hello")]).await;
        rig.step(vec![complete("done")]).await;
        rig.step_on("children", vec![complete("heard")]).await;
        let sender = rig.text("order-1", "").await;
        let lines = sender.lines().filter(|line| line.contains("External"));
        let heard = rig.text("order-2", "").await;
        let heard = heard.lines().filter(|line| line.contains("Signaled"));
        lines.chain(heard).map(|line| &line[16..]).collect::<Vec<_>>().join("\n")
    });
    insta::assert_snapshot!(told.await, @r"
    SignalExternalWorkflowExecutionInitiated order-2 hello
    SignalExternalWorkflowExecutionFailed #5 ExternalWorkflowExecutionNotFound
    SignalExternalWorkflowExecutionInitiated order-2 hello
    ExternalWorkflowExecutionSignaled #14
    WorkflowExecutionSignaled hello
    ");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_request_to_another_workflow_arrives_once() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.start_with("order-2", |it| it.task_queue = Some(queue("children")))
            .await
            .expect("a start");
        rig.step(vec![cancel_external("order-2")]).await;
        rig.step(vec![cancel_external("order-3")]).await;
        rig.step(vec![complete("done")]).await;
        rig.step_on("children", vec![complete("heard")]).await;
        let sender = rig.names("order-1").await;
        let heard = rig.names("order-2").await;
        let mut all: Vec<String> = sender.into_iter().chain(heard).collect();
        all.retain(|name| name.contains("Cancel") || name.contains("External"));
        all.sort();
        all.join("\n")
    });
    insta::assert_snapshot!(told.await, @r"
    ExternalWorkflowExecutionCancelRequested
    RequestCancelExternalWorkflowExecutionFailed
    RequestCancelExternalWorkflowExecutionInitiated
    RequestCancelExternalWorkflowExecutionInitiated
    WorkflowExecutionCancelRequested
    ");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_children_of_one_parent_all_end_and_are_all_heard() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let children: Vec<String> = (0..100).map(|n| format!("child-{n}")).collect();
    rig.step(children.iter().map(|id| child(id)).collect()).await;
    for _ in &children {
        rig.step_on("children", vec![complete("grown")]).await;
    }
    loop {
        let names = rig.names("order-1").await;
        let ended = names.iter().filter(|name| *name == "ChildWorkflowExecutionCompleted").count();
        if ended == children.len() {
            break;
        }
        let task = rig.next_task(QUEUE).await;
        rig.complete_task(&task, vec![]).await.expect("taken");
    }
    assert!(rig.describe("order-1").await.expect("a run").pending_children.is_empty());
    assert_eq!(rig.signal("child-1", "too late").await.expect_err("closed").code, Code::NotFound);
}
