//! Terminations.

use crate::common::check;

#[test]
fn a_termination_ends_the_run_at_once_and_everything_that_it_waits_for() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s) timer(t1,9s) child(c,Kid) signal-external(x,go)
        0 take a
        1 terminate enough
        1 show effects due work
        2 beat a
        2 finish a ok
        2 take-task
        2 terminate again
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  TimerStarted t1 9s
       7     0.000  StartChildWorkflowExecutionInitiated c Kid
       8     0.000  SignalExternalWorkflowExecutionInitiated x go
       9     1.000  WorkflowExecutionTerminated enough
    effects at 1: message 0; closed
    due at 1: 259201
    work at 1: true
    refused at 2: workflow execution already completed
    refused at 2: workflow execution already completed
    refused at 2: Workflow task not found.
    refused at 2: workflow execution already completed
    ");
}

#[test]
fn a_task_that_a_worker_has_is_failed_first() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 terminate enough
        2 complete done(ok)
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskFailed ForceCloseCommand
       5     1.000  WorkflowExecutionTerminated enough
    refused at 2: Workflow task not found.
    ");
}

#[test]
fn a_repeated_task_leaves_no_trace_when_the_run_is_terminated() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 fail-task nondeterminism oops
        1 take-task
        2 terminate enough
    "), @r#"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     0.000  WorkflowTaskStarted
    4     1.000  WorkflowTaskFailed NonDeterministicError "oops"
    5     2.000  WorkflowExecutionTerminated enough
    "#);
}

#[test]
fn a_parent_hears_of_the_end_and_the_message_stays_until_it_is_delivered() {
    insta::assert_snapshot!(check("
        0 start Order parent=p
        1 terminate enough child-of=q
        2 terminate enough child-of=p
        2 show messages work
        3 crash
        3 delivered 0
        3 show messages work
        4 delivered 0
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     2.000  WorkflowExecutionTerminated enough
    refused at 1: workflow execution not found
    messages at 2: 0: child-closed #5 to p parent-run
    work at 2: true
    messages at 3: none
    work at 3: false
    ");
}

#[test]
fn a_closed_run_is_deleted_when_its_time_is_over() {
    insta::assert_snapshot!(check("
        0 run Order done(ok)
        0 show due
        259199 tick
        259199 show effects
        259200 tick
        259200 show effects
    "), @r"
       5     0.000  WorkflowExecutionCompleted ok
    due at 0: 259200
    effects at 259199: none
    effects at 259200: delete
    ");
}
