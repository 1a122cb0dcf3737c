//! Resets of runs that went on as others: what came from outside to any of them is kept.

use steadfast_proto::enums::{ParentClosePolicy, ResetReapplyExcludeType as Exclude};

use crate::{
    common::{
        QUEUE, Rig, child_with, complete, continue_as_new, execution, fail, retries, survives,
        timer,
    },
    updates::accept_update,
};

/// Resets a run that may not be the newest, and shows the new one from the reset on.
async fn reset(rig: &Rig, base: &str, to: i64, exclude: &[Exclude]) -> String {
    let without = exclude.iter().map(|it| i32::from(*it)).collect();
    let reset = rig.reset_with("order-1", to, |it| {
        it.workflow_execution = Some(execution("order-1", base));
        it.reset_reapply_exclude_types = without;
    });
    let new = reset.await.expect("reset");
    let text = rig.text("order-1", &new).await;
    let since = text.lines().map(|line| line[16..].trim()).skip_while(|it| !it.contains("Reset"));
    since.collect::<Vec<_>>().join("\n")
}

/// A run that is signalled and updated and goes on; the next one is signalled and updated, and signalled again
/// while a workflow task is under way. Both have a child, by an event of the same number, and an
/// update of the same id. Gives the first run's id.
async fn go_on(rig: &Rig) -> String {
    let alone =
        |id: &str| child_with(id, |it| it.parent_close_policy = ParentClosePolicy::Abandon.into());
    let first = rig.start("order-1").await;
    rig.step(vec![alone("child-1")]).await;
    rig.step(vec![]).await;
    accept_update(rig, "u-1").await;
    rig.signal("order-1", "one").await.expect("taken");
    rig.step(vec![continue_as_new()]).await;
    rig.step(vec![alone("child-2")]).await;
    rig.step(vec![]).await;
    accept_update(rig, "u-1").await;
    accept_update(rig, "u-2").await;
    rig.signal("order-1", "two").await.expect("taken");
    while rig.describe("child-2").await.expect("a run").pending_workflow_task.is_some() {
        let task = rig.next_task("children").await;
        let execution = task.workflow_execution.clone().unwrap_or_default();
        let does =
            if execution.workflow_id == "child-2" { complete("grown") } else { timer("t", 60) };
        // The plug may have been pulled; then it comes again.
        let _ = rig.complete_task(&task, vec![does]).await;
    }
    while !rig.text("order-1", "").await.contains("ChildWorkflowExecutionCompleted") {
        rig.step(vec![]).await;
    }
    rig.signal("order-1", "three").await.expect("taken");
    let _under_way = rig.next_task(QUEUE).await;
    rig.signal("order-1", "four").await.expect("taken");
    first
}

/// The end of the first run's second workflow task, when it had heard of its child's start.
const AFTER_CHILD: i64 = 9;

#[tokio::test(start_paused = true)]
async fn a_reset_of_a_run_that_went_on_keeps_signals_and_updates_of_the_later_ones() {
    let told = survives(async |rig: &Rig| {
        let first = go_on(rig).await;
        reset(rig, &first, AFTER_CHILD, &[]).await
    });
    insta::assert_snapshot!(told.await, @r#"
    WorkflowTaskFailed ResetWorkflow "once more"
    WorkflowExecutionUpdateAdmitted u-1
    WorkflowExecutionSignaled one
    WorkflowExecutionUpdateAdmitted u-2
    WorkflowExecutionSignaled two
    WorkflowExecutionSignaled three
    WorkflowExecutionSignaled four
    WorkflowTaskScheduled
    "#);
}

#[tokio::test(start_paused = true)]
async fn what_a_reset_is_to_leave_out_is_left_out_of_later_runs_too() {
    for (exclude, left) in [(Exclude::Signal, "Update"), (Exclude::Update, "Signaled")] {
        let rig = Rig::new().await;
        let first = go_on(&rig).await;
        let text = reset(&rig, &first, AFTER_CHILD, &[exclude]).await;
        let kept: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("Signaled") || line.contains("Update"))
            .collect();
        assert!(!kept.is_empty() && kept.iter().all(|line| line.contains(left)), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_keeps_the_signals_of_later_attempts_and_later_turns() {
    let told = survives(async |rig: &Rig| {
        let start = rig.start_with("order-1", |it| {
            it.retry_policy = Some(retries(1, 1.0, 2));
            it.cron_schedule = "0 * * * *".to_owned();
        });
        let first = start.await.expect("a start").run_id;
        rig.step(vec![fail("no luck")]).await;
        rig.signal("order-1", "to the second attempt").await.expect("taken");
        rig.step(vec![complete("tick")]).await;
        rig.signal("order-1", "to the next turn").await.expect("taken");
        reset(rig, &first, 4, &[]).await
    });
    insta::assert_snapshot!(told.await, @r#"
    WorkflowTaskFailed ResetWorkflow "once more"
    WorkflowExecutionSignaled to the second attempt
    WorkflowExecutionSignaled to the next turn
    WorkflowTaskScheduled
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_reset_takes_nothing_from_a_run_that_only_has_the_same_id() {
    let rig = Rig::new().await;
    let first = rig.start("order-1").await;
    rig.step(vec![complete("done")]).await;
    rig.start("order-1").await;
    let _under_way = rig.next_task(QUEUE).await;
    rig.signal("order-1", "to another").await.expect("taken");
    let text = reset(&rig, &first, 4, &[]).await;
    assert!(!text.contains("Signaled"), "{text}");
}
