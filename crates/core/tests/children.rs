//! Child workflows, as their parent sees them.

use steadfast_core::span::from_wire;
use steadfast_proto::{enums, history::history_event::Attributes};

use crate::common::{World, check};

#[test]
fn a_child_is_started_and_its_end_told() {
    insta::assert_snapshot!(check("
        0 run Order child(c,Kid)
        0 show effects work
        1 child-started c
        1 show effects work
        2 take-task
        2 complete
        3 child-closed c completed done
    "), @r"
       5     0.000  StartChildWorkflowExecutionInitiated c Kid
       6     1.000  ChildWorkflowExecutionStarted #5
       7     1.000  WorkflowTaskScheduled
       8     2.000  WorkflowTaskStarted
       9     2.000  WorkflowTaskCompleted
      10     3.000  ChildWorkflowExecutionCompleted #5 done
      11     3.000  WorkflowTaskScheduled
    effects at 0: start #5
    work at 0: true
    effects at 1: task
    work at 1: true
    ");
}

#[test]
fn a_child_may_end_in_five_ways() {
    let end = |how: &str| {
        let text = check(&format!(
            "
            0 run Order child(c,Kid)
            1 child-started c
            2 child-closed c {how}
        "
        ));
        text.lines().last().unwrap_or_default().trim().to_owned()
    };
    let ways = ["completed ok", "failed boom", "cancelled", "timed-out", "terminated", "continued"];
    insta::assert_snapshot!(ways.map(end).join("\n"), @r#"
    8     2.000  ChildWorkflowExecutionCompleted #5 ok
    8     2.000  ChildWorkflowExecutionFailed #5 "boom"
    8     2.000  ChildWorkflowExecutionCanceled #5
    8     2.000  ChildWorkflowExecutionTimedOut #5
    8     2.000  ChildWorkflowExecutionTerminated #5
    refused at 2: workflow execution not found
    "#);
}

#[test]
fn a_child_that_cannot_be_started_is_told_to_the_workflow() {
    insta::assert_snapshot!(check("
        0 run Order child(c,Kid)
        1 child-not-started c
        1 show effects work
        2 child-started c
        2 child-not-started c
    "), @r"
       5     0.000  StartChildWorkflowExecutionInitiated c Kid
       6     1.000  StartChildWorkflowExecutionFailed #5
       7     1.000  WorkflowTaskScheduled
    effects at 1: task
    work at 1: true
    refused at 2: workflow execution not found
    refused at 2: workflow execution not found
    ");
}

#[test]
fn what_is_told_twice_changes_nothing() {
    insta::assert_snapshot!(check("
        0 run Order child(c,Kid)
        1 child-started c
        1 child-started c
        1 child-not-started c
        2 child-closed c completed done
        2 child-closed #5 completed done
    "), @r"
       5     0.000  StartChildWorkflowExecutionInitiated c Kid
       6     1.000  ChildWorkflowExecutionStarted #5
       7     1.000  WorkflowTaskScheduled
       8     2.000  ChildWorkflowExecutionCompleted #5 done
    refused at 1: workflow execution not found
    refused at 2: workflow execution not found
    ");
}

#[test]
fn an_end_that_comes_before_the_start_is_told_has_the_start_written_first() {
    insta::assert_snapshot!(check("
        0 run Order child(c,Kid)
        2 child-closed c completed done
        3 child-started #5
    "), @r"
       5     0.000  StartChildWorkflowExecutionInitiated c Kid
       6     2.000  ChildWorkflowExecutionStarted #5
       7     2.000  ChildWorkflowExecutionCompleted #5 done
       8     2.000  WorkflowTaskScheduled
    refused at 3: workflow execution not found
    ");
}

#[test]
fn an_end_of_another_run_than_the_one_that_was_started_is_refused() {
    insta::assert_snapshot!(check("
        0 run Order child(c,Kid)
        1 child-started c mine
        2 child-closed c completed done first=other
        3 child-closed c completed done first=mine last=successor
    "), @r"
       5     0.000  StartChildWorkflowExecutionInitiated c Kid
       6     1.000  ChildWorkflowExecutionStarted #5
       7     1.000  WorkflowTaskScheduled
       8     3.000  ChildWorkflowExecutionCompleted #5 done
    refused at 2: workflow execution not found
    ");
}

#[test]
fn a_closing_parent_tells_its_children_what_they_are_to_do() {
    insta::assert_snapshot!(check("
        0 run Order child(a,Kid) child(b,Kid,close=cancel) child(c,Kid,close=abandon) child(d,Kid,close=terminate)
        1 child-started a run-a
        1 child-started b run-b
        1 child-started c run-c
        2 take-task
        2 complete done(ok)
        2 show messages effects
        3 crash
        3 delivered 0
        3 show messages
    "), @r"
       5     0.000  StartChildWorkflowExecutionInitiated a Kid
       6     0.000  StartChildWorkflowExecutionInitiated b Kid
       7     0.000  StartChildWorkflowExecutionInitiated c Kid
       8     0.000  StartChildWorkflowExecutionInitiated d Kid
       9     1.000  ChildWorkflowExecutionStarted #5
      10     1.000  WorkflowTaskScheduled
      11     1.000  ChildWorkflowExecutionStarted #6
      12     1.000  ChildWorkflowExecutionStarted #7
      13     2.000  WorkflowTaskStarted
      14     2.000  WorkflowTaskCompleted
      15     2.000  WorkflowExecutionCompleted ok
    messages at 2: 0: terminate to a run-a; 1: cancel to b run-b; 2: terminate to d
    effects at 2: message 0; message 1; message 2; closed
    messages at 3: 1: cancel to b run-b; 2: terminate to d
    ");
}

#[test]
fn every_close_of_the_parent_counts_also_when_another_run_goes_on() {
    insta::assert_snapshot!(check("
        0 run Order child(a,Kid)
        1 child-started a run-a
        2 take-task
        2 complete continue(Order)
        2 show work
    "), @r"
       5     0.000  StartChildWorkflowExecutionInitiated a Kid
       6     1.000  ChildWorkflowExecutionStarted #5
       7     1.000  WorkflowTaskScheduled
       8     2.000  WorkflowTaskStarted
       9     2.000  WorkflowTaskCompleted
      10     2.000  WorkflowExecutionContinuedAsNew initiator=Workflow
    run 2:
       1     0.000  WorkflowExecutionStarted Order initiator=Workflow
       2     0.000  WorkflowTaskScheduled
    work at 2: true
    ");
    let world = World::default().play(
        "
        0 run Order child(a,Kid)
        1 child-started a run-a
        2 take-task
        2 complete continue(Order)
    ",
    );
    assert_eq!(world.stories[0].run.messages().len(), 1);
}

#[test]
fn a_child_that_was_never_started_is_not_started_once_its_parent_has_closed() {
    insta::assert_snapshot!(check("
        0 run Order child(a,Kid,close=abandon) done(ok)
        0 show effects
        1 child-started #5
    "), @r"
       5     0.000  StartChildWorkflowExecutionInitiated a Kid
       6     0.000  WorkflowExecutionCompleted ok
    effects at 0: closed
    refused at 1: workflow execution already completed
    ");
}

#[test]
fn what_a_child_was_not_told_is_filled_from_its_parent() {
    let world = World::default().play("0 run Order child(c,Kid,exec=60s)");
    let event = world.story().events.iter().find_map(|event| match &event.attributes {
        Some(Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(it)) => Some(it),
        _ => None,
    });
    let event = event.expect("a child was initiated");
    assert_eq!(event.namespace, "ns");
    assert_eq!(event.task_queue.as_ref().unwrap().name, "q");
    assert_eq!(event.parent_close_policy(), enums::ParentClosePolicy::Terminate);
    assert_eq!(event.workflow_id_reuse_policy(), enums::WorkflowIdReusePolicy::AllowDuplicate);
    assert_eq!(from_wire(event.workflow_run_timeout.as_ref()).as_secs(), 60);
    assert_eq!(from_wire(event.workflow_task_timeout.as_ref()).as_secs(), 10);
    assert!(event.retry_policy.is_none(), "workflows are not retried unless they ask for it");
}
