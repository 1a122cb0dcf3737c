//! Signals.

use steadfast_core::Limits;

use crate::common::{check, check_within};

#[test]
fn a_signal_makes_a_task_unless_there_is_one() {
    insta::assert_snapshot!(check("
        0 run Order
        1 signal s1 hello
        2 signal s2
        3 take-task
        4 complete
        4 show task
    "), @r"
       5     1.000  WorkflowExecutionSignaled s1 hello
       6     1.000  WorkflowTaskScheduled
       7     2.000  WorkflowExecutionSignaled s2
       8     3.000  WorkflowTaskStarted
       9     4.000  WorkflowTaskCompleted
    task at 4: none
    ");
}

#[test]
fn the_same_request_is_taken_once() {
    insta::assert_snapshot!(check("
        0 run Order
        1 signal s1 id=r1
        2 signal s1 id=r1
        2 crash
        3 signal s1 id=r1
        3 signal s1 id=r2
        3 signal s1
        3 signal s1
    "), @r"
    5     1.000  WorkflowExecutionSignaled s1
    6     1.000  WorkflowTaskScheduled
    7     3.000  WorkflowExecutionSignaled s1
    8     3.000  WorkflowExecutionSignaled s1
    9     3.000  WorkflowExecutionSignaled s1
    ");
}

#[test]
fn a_run_starts_with_the_signal_that_it_was_started_with() {
    insta::assert_snapshot!(check("
        0 start Order signal=first
    "), @r"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowExecutionSignaled first
    3     0.000  WorkflowTaskScheduled
    ");
}

#[test]
fn a_signal_waits_for_a_delayed_start_unless_it_wakes_the_run() {
    insta::assert_snapshot!(check("
        0 start Order delay=60s
        1 signal s1
        1 show task due
        2 signal s2 wakes
        2 show task
        60 tick
    "), @r"
       1     0.000  WorkflowExecutionStarted Order backoff=60s
       2     1.000  WorkflowExecutionSignaled s1
       3     2.000  WorkflowExecutionSignaled s2
       4     2.000  WorkflowTaskScheduled
    task at 1: none
    due at 1: 60
    task at 2: scheduled attempt=1
    ");
}

#[test]
fn a_signal_for_a_child_only_reaches_no_other_run() {
    insta::assert_snapshot!(check("
        0 start Order parent=p
        1 signal s1 child-of=q
        2 signal s2 child-of=p
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     2.000  WorkflowExecutionSignaled s2
    refused at 1: workflow execution not found
    ");
}

#[test]
fn there_is_a_limit_to_signals() {
    let limits = Limits { signals_max: 2, ..Limits::default() };
    insta::assert_snapshot!(check_within(limits, "
        0 run Order
        1 signal s1
        1 signal s2
        1 signal s3
    "), @r"
       5     1.000  WorkflowExecutionSignaled s1
       6     1.000  WorkflowTaskScheduled
       7     1.000  WorkflowExecutionSignaled s2
    refused at 1: exceeded workflow execution limit for signal events
    ");
}

#[test]
fn a_closed_run_takes_no_signal() {
    insta::assert_snapshot!(check("
        0 run Order done(ok)
        1 signal s1
    "), @r"
       5     0.000  WorkflowExecutionCompleted ok
    refused at 1: workflow execution already completed
    ");
}
