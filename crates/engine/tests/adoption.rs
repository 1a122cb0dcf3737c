//! Children of a parent that is reset: the run that lives on takes them on.

use steadfast_proto::enums::ParentClosePolicy as Policy;

use crate::common::{Rig, child_with, complete, continue_as_new, queue, survives, timer};

/// A parent with a child that it leaves alone, closed, and reset to when it had just heard of the
/// child's start.
const AFTER_START: i64 = 9;

async fn begin(rig: &Rig, policy: Policy) {
    rig.start("order-1").await;
    rig.step(vec![child_with("child-1", |it| it.parent_close_policy = policy.into())]).await;
    rig.step(vec![complete("wrong")]).await;
}

/// What the newest run of the parent has heard of its child.
async fn heard(rig: &Rig) -> String {
    let text = rig.text("order-1", "").await;
    let lines = text.lines().filter(|line| line.contains("ChildWorkflowExecution"));
    lines.map(|line| line[16..].to_owned()).collect::<Vec<_>>().join("\n")
}

#[tokio::test(start_paused = true)]
async fn a_reset_parent_hears_of_a_child_that_ends_later() {
    let told = survives(async |rig: &Rig| {
        begin(rig, Policy::Abandon).await;
        rig.reset("order-1", AFTER_START).await.expect("reset");
        rig.step(vec![timer("t", 3_600)]).await;
        rig.step_on("children", vec![complete("grown")]).await;
        rig.step(vec![complete("right")]).await;
        heard(rig).await
    });
    insta::assert_snapshot!(told.await, @r#"
    StartChildWorkflowExecutionInitiated child-1 Child
    ChildWorkflowExecutionStarted #5
    ChildWorkflowExecutionCompleted #5 "grown"
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_reset_parent_hears_of_a_child_that_ended_while_it_was_closed() {
    let told = survives(async |rig: &Rig| {
        begin(rig, Policy::Abandon).await;
        rig.step_on("children", vec![complete("grown")]).await;
        rig.reset("order-1", AFTER_START).await.expect("reset");
        while !heard(rig).await.contains("Completed") {
            rig.step(vec![]).await;
        }
        heard(rig).await
    });
    insta::assert_snapshot!(told.await, @r#"
    StartChildWorkflowExecutionInitiated child-1 Child
    ChildWorkflowExecutionStarted #5
    ChildWorkflowExecutionCompleted #5 "grown"
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_child_is_found_when_it_went_on_and_its_id_has_another_owner() {
    let told = survives(async |rig: &Rig| {
        begin(rig, Policy::Abandon).await;
        rig.step_on("children", vec![continue_as_new()]).await;
        rig.step_on("children", vec![complete("grown")]).await;
        let other = rig.start_with("child-1", |it| it.task_queue = Some(queue("others")));
        other.await.expect("a start");
        rig.reset("order-1", AFTER_START).await.expect("reset");
        while !heard(rig).await.contains("Completed") {
            rig.step(vec![]).await;
        }
        heard(rig).await
    });
    insta::assert_snapshot!(told.await, @r#"
    StartChildWorkflowExecutionInitiated child-1 Child
    ChildWorkflowExecutionStarted #5
    ChildWorkflowExecutionCompleted #5 "grown"
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_was_deleted_is_not_waited_for() {
    let told = survives(async |rig: &Rig| {
        begin(rig, Policy::Abandon).await;
        rig.step_on("children", vec![complete("grown")]).await;
        rig.delete("child-1").await.expect("deleted");
        rig.reset("order-1", AFTER_START).await.expect("reset");
        while !heard(rig).await.contains("Terminated") {
            rig.step(vec![]).await;
        }
        heard(rig).await
    });
    insta::assert_snapshot!(told.await, @r"
    StartChildWorkflowExecutionInitiated child-1 Child
    ChildWorkflowExecutionStarted #5
    ChildWorkflowExecutionTerminated #5
    ");
}

#[tokio::test(start_paused = true)]
async fn the_close_of_a_reset_parent_counts_for_the_child_that_it_took_on() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![child_with("child-1", |it| {
            it.parent_close_policy = Policy::Terminate.into();
        })])
        .await;
        rig.step(vec![timer("t", 3_600)]).await;
        for request in ["reset-1", "reset-2"] {
            rig.reset_as(request, "order-1", AFTER_START).await.expect("reset");
            rig.wait(1).await;
        }
        rig.step(vec![complete("right")]).await;
        rig.wait(1).await;
        let text = rig.text("child-1", "").await;
        text.lines().next_back().expect("a line")[16..].to_owned()
    });
    assert_eq!(told.await, "WorkflowExecutionTerminated by parent close policy");
}
