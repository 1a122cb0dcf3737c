//! Requests to cancel a run.

use crate::common::check;

#[test]
fn a_request_to_cancel_is_told_to_the_workflow_which_decides() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,9s)
        1 cancel changed-my-mind
        2 take-task
        3 complete cancel-timer(t1) cancelled(bye)
        3 show status
    "), @r"
       5     0.000  TimerStarted t1 9s
       6     1.000  WorkflowExecutionCancelRequested changed-my-mind
       7     1.000  WorkflowTaskScheduled
       8     2.000  WorkflowTaskStarted
       9     3.000  WorkflowTaskCompleted
      10     3.000  TimerCanceled t1
      11     3.000  WorkflowExecutionCanceled
    status at 3: Canceled
    ");
}

#[test]
fn a_second_request_changes_nothing_even_while_the_first_is_buffered() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 cancel a
        1 cancel b
        2 complete
        3 cancel c
    "), @r"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     0.000  WorkflowTaskStarted
    4     2.000  WorkflowTaskCompleted
    5     2.000  WorkflowExecutionCancelRequested a
    6     2.000  WorkflowTaskScheduled
    ");
}

#[test]
fn a_request_to_cancel_does_not_wait_for_a_delayed_start() {
    insta::assert_snapshot!(check("
        0 start Order delay=60s
        1 cancel
        1 show task due
    "), @r"
       1     0.000  WorkflowExecutionStarted Order backoff=60s
       2     1.000  WorkflowExecutionCancelRequested
       3     1.000  WorkflowTaskScheduled
    task at 1: scheduled attempt=1
    due at 1: never
    ");
}

#[test]
fn a_closed_run_has_what_whoever_cancels_it_wants() {
    insta::assert_snapshot!(check("
        0 run Order done(ok)
        1 cancel
    "), @"   5     0.000  WorkflowExecutionCompleted ok");
}

#[test]
fn a_request_for_a_child_only_reaches_no_other_run() {
    insta::assert_snapshot!(check("
        0 start Order parent=p
        1 cancel child-of=q
        2 cancel child-of=p
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     2.000  WorkflowExecutionCancelRequested
    refused at 1: workflow execution not found
    ");
}
