//! The life of a workflow, from its start to its result, straight through and with the plug pulled.

use steadfast_proto::{enums::EventType, history::HistoryEvent};

use crate::common::{QUEUE, Rig, activity, complete, survives, timer};

#[tokio::test(start_paused = true)]
async fn a_workflow_with_one_activity_runs_to_its_result() {
    let told = survives(async |rig: &Rig| {
        let run_id = rig.start("order-1").await;
        rig.step(vec![activity("a")]).await;
        let task = rig.next_activity().await;
        rig.complete_activity(&task, "paid").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        rig.text("order-1", &run_id).await
    });
    insta::assert_snapshot!(told.await, @r#"
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
async fn a_task_is_not_failed_for_the_signals_that_come_meanwhile() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    for number in 0..1_000 {
        if number == 500 {
            rig.crash().await;
        }
        rig.signal("order-1", "more").await.expect("taken");
    }
    rig.complete_task(&task, vec![]).await.expect("its worker was in time");
    rig.step(vec![complete("done")]).await;
    let kinds: Vec<EventType> =
        rig.history("order-1", "").await.iter().map(HistoryEvent::event_type).collect();
    let count = |wanted| kinds.iter().filter(|kind| **kind == wanted).count();
    assert_eq!(count(EventType::WorkflowExecutionSignaled), 1_000);
    assert_eq!(count(EventType::WorkflowTaskCompleted), 2);
    assert_eq!(count(EventType::WorkflowTaskFailed), 0);
}

#[tokio::test(start_paused = true)]
async fn an_activity_that_fails_is_tried_again_also_after_a_crash() {
    let told = survives(async |rig: &Rig| {
        let run_id = rig.start("order-1").await;
        rig.step(vec![activity("a")]).await;
        for attempt in 1..=2 {
            let task = rig.next_activity().await;
            assert_eq!(task.attempt, attempt);
            rig.fail_activity(&task, "no network").await.expect("taken");
        }
        let third = rig.next_activity().await;
        rig.complete_activity(&third, "paid").await.expect("taken");
        rig.step(vec![timer("t", 3_600)]).await;
        rig.step(vec![complete("done")]).await;
        let close = rig.closed("order-1", "").await;
        let text = rig.text("order-1", &run_id).await;
        assert_eq!(usize::try_from(close.event_id), Ok(text.lines().count()));
        text
    });
    insta::assert_snapshot!(told.await, @r#"
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
}
