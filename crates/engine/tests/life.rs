//! The life of a workflow, from its start to its result, straight through and with the plug pulled.

mod common;

use std::sync::Arc;

use common::{Rig, activity, complete, timer};
use steadfast_store::Memory;

#[tokio::test(start_paused = true)]
async fn a_workflow_with_one_activity_runs_to_its_result() {
    let rig = Rig::open(Arc::new(Memory::new())).await;
    let run_id = rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let task = rig.poll_activity().await;
    rig.complete_activity(&task, "paid").await.expect("taken");
    rig.step(vec![complete("done")]).await;
    insta::assert_snapshot!(rig.text("order-1", &run_id).await, @r#"
     1     0.000  WorkflowExecutionStarted Order
     2     0.000  WorkflowTaskScheduled
     3     0.000  WorkflowTaskStarted
     4     0.000  WorkflowTaskCompleted
     5     0.000  ActivityTaskScheduled a Charge
     6     0.000  ActivityTaskStarted #5 attempt=1
     7     0.000  ActivityTaskCompleted #5 "paid"
     8     0.000  WorkflowTaskScheduled
     9     0.000  WorkflowTaskStarted
    10     0.000  WorkflowTaskCompleted
    11     0.000  WorkflowExecutionCompleted "done"
    "#);
}

#[tokio::test(start_paused = true)]
async fn an_activity_that_fails_is_tried_again_also_after_a_crash() {
    let mut rig = Rig::open(Arc::new(Memory::new())).await;
    let run_id = rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let first = rig.poll_activity().await;
    rig.fail_activity(&first, "no network").await.expect("taken");
    rig.crash().await;
    let second = rig.poll_activity().await;
    assert_eq!(second.attempt, 2);
    rig.fail_activity(&second, "no network").await.expect("taken");
    let third = rig.poll_activity().await;
    rig.crash().await;
    rig.complete_activity(&third, "paid").await.expect("taken");
    rig.crash().await;
    rig.step(vec![timer("t", 3_600)]).await;
    rig.crash().await;
    rig.step(vec![complete("done")]).await;
    rig.crash().await;
    insta::assert_snapshot!(rig.text("order-1", &run_id).await, @r#"
     1     0.000  WorkflowExecutionStarted Order
     2     0.000  WorkflowTaskScheduled
     3     0.000  WorkflowTaskStarted
     4     0.000  WorkflowTaskCompleted
     5     0.000  ActivityTaskScheduled a Charge
     6     3.000  ActivityTaskStarted #5 attempt=3 "no network"
     7     3.000  ActivityTaskCompleted #5 "paid"
     8     3.000  WorkflowTaskScheduled
     9     3.000  WorkflowTaskStarted
    10     3.000  WorkflowTaskCompleted
    11     3.000  TimerStarted t 3600s
    12  3603.000  TimerFired t
    13  3603.000  WorkflowTaskScheduled
    14  3603.000  WorkflowTaskStarted
    15  3603.000  WorkflowTaskCompleted
    16  3603.000  WorkflowExecutionCompleted "done"
    "#);
    let close = rig.closed("order-1", "").await;
    assert_eq!(close.event_id, rig.history("order-1", "").await.len() as i64);
}
