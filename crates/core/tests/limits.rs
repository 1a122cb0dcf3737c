//! Everything has a limit.

use steadfast_core::Limits;

use crate::common::{World, check, check_within};

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

/// What a step costs does not depend on how much is pending.
#[test]
fn a_step_writes_what_it_changed_and_nothing_else() {
    let all: Vec<String> =
        (0..300).map(|n| format!("schedule(a{n},A,stc=1h) timer(t{n},1h)")).collect();
    let mut world = World::default().play(&format!("0 run Order {}", all.join(" ")));
    let mut written = |line: &str| {
        world.line(line);
        world.stories[0].written
    };
    assert_eq!(written("1 take a7"), 1);
    assert_eq!(written("2 beat a7 half"), 1);
    assert_eq!(written("3 finish a7 ok"), 1);
    assert_eq!(written("4 signal s id=r1"), 1);
    assert_eq!(written("5 take-task"), 0);
    assert_eq!(written("6 signal s"), 1, "the buffered event");
    assert_eq!(written("7 complete cancel-timer(t7)"), 2, "the timer and the buffered event");
    assert_eq!(written("3600 tick"), 299, "the timers that fired");
}
