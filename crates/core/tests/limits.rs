//! Everything has a limit.

use steadfast_core::Limits;

use crate::common::{check, check_within};

#[test]
fn a_history_with_too_many_events_is_ended() {
    let limits = Limits { history_events_max: 6, ..Limits::default() };
    insta::assert_snapshot!(check_within(limits, "
        0 run Order
        1 signal s1
        2 signal s2
        3 signal s3
    "), @r"
       5     1.000  WorkflowExecutionSignaled s1
       6     1.000  WorkflowTaskScheduled
       7     2.000  WorkflowExecutionSignaled s2
       8     2.000  WorkflowExecutionTerminated Workflow history count exceeds limit.
    refused at 3: workflow execution already completed
    ");
}

#[test]
fn a_history_with_too_many_bytes_is_ended() {
    let limits = Limits { history_bytes_max: 2_000, ..Limits::default() };
    insta::assert_snapshot!(check_within(limits, "
        0 run Order
        1 signal s1 big:1500
        2 signal s2 big:500
    ").replace(&"x".repeat(100), ""), @r"
    5     1.000  WorkflowExecutionSignaled s1 
    6     1.000  WorkflowTaskScheduled
    7     2.000  WorkflowExecutionSignaled s2 
    8     2.000  WorkflowExecutionTerminated Workflow history size exceeds limit.
    ");
}

#[test]
fn an_id_may_be_as_long_as_the_limit_and_no_longer() {
    let limits = Limits { id_bytes_max: 3, ..Limits::default() };
    insta::assert_snapshot!(check_within(limits, "
        0 start Order
        0 take-task
        1 complete timer(abc,1s)
        2 tick
        2 take-task
        2 complete timer(abcd,1s)
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskCompleted
       5     1.000  TimerStarted abc 1s
       6     2.000  TimerFired abc
       7     2.000  WorkflowTaskScheduled
       8     2.000  WorkflowTaskStarted
       9     2.000  WorkflowTaskFailed BadStartTimerAttributes "BadStartTimerAttributes: TimerId exceeds length limit."
    answered at 2: BadStartTimerAttributes: TimerId exceeds length limit.
    "#);
}

#[test]
fn spans_over_a_hundred_years_count_as_a_hundred_years() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,40000d)
        0 show due
    "), @r"
       5     0.000  TimerStarted t1 3153600000s
    due at 0: 3153600000
    ");
}
