//! Timers.

use crate::common::check;

#[test]
fn a_timer_fires_once_when_it_is_due() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        0 complete timer(t1,5s)
        4.999 tick
        5 tick
        9 tick
    "), @r"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     0.000  WorkflowTaskStarted
    4     0.000  WorkflowTaskCompleted
    5     0.000  TimerStarted t1 5s
    6     5.000  TimerFired t1
    7     5.000  WorkflowTaskScheduled
    ");
}

#[test]
fn timers_that_are_due_together_fire_in_order_and_with_one_task() {
    insta::assert_snapshot!(check("
        0 run Order timer(late,7s) timer(b,5s) timer(a,5s)
        8 tick
    "), @r"
     5     0.000  TimerStarted late 7s
     6     0.000  TimerStarted b 5s
     7     0.000  TimerStarted a 5s
     8     8.000  TimerFired b
     9     8.000  TimerFired a
    10     8.000  TimerFired late
    11     8.000  WorkflowTaskScheduled
    ");
}

#[test]
fn a_cancelled_timer_does_not_fire() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,5s)
        1 signal s
        1 take-task
        1 complete cancel-timer(t1)
        9 tick
        9 show due
    "), @r"
       5     0.000  TimerStarted t1 5s
       6     1.000  WorkflowExecutionSignaled s
       7     1.000  WorkflowTaskScheduled
       8     1.000  WorkflowTaskStarted
       9     1.000  WorkflowTaskCompleted
      10     1.000  TimerCanceled t1
    due at 9: never
    ");
}

#[test]
fn a_timer_may_be_cancelled_and_started_again_under_its_id() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,5s)
        1 signal s
        1 take-task
        1 complete cancel-timer(t1) timer(t1,2s)
        3 tick
    "), @r"
     5     0.000  TimerStarted t1 5s
     6     1.000  WorkflowExecutionSignaled s
     7     1.000  WorkflowTaskScheduled
     8     1.000  WorkflowTaskStarted
     9     1.000  WorkflowTaskCompleted
    10     1.000  TimerCanceled t1
    11     1.000  TimerStarted t1 2s
    12     3.000  TimerFired t1
    13     3.000  WorkflowTaskScheduled
    ");
}

#[test]
fn a_completion_that_fails_leaves_the_timers_and_their_ids_as_they_were() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,5s)
        1 signal s
        1 take-task
        1 complete cancel-timer(t1) timer(t1,2s) timer(t1,3s)
        1 take-task
        1 complete cancel-timer(t1)
    "), @r#"
       5     0.000  TimerStarted t1 5s
       6     1.000  WorkflowExecutionSignaled s
       7     1.000  WorkflowTaskScheduled
       8     1.000  WorkflowTaskStarted
       9     1.000  WorkflowTaskFailed StartTimerDuplicateId "StartTimerDuplicateId: timer with ID t1 is pending already"
      10     1.000  WorkflowTaskScheduled attempt=2
      11     1.000  WorkflowTaskStarted
      12     1.000  WorkflowTaskCompleted
      13     1.000  TimerCanceled t1
    answered at 1: StartTimerDuplicateId: timer with ID t1 is pending already
    "#);
}

#[test]
fn a_timer_is_never_early_even_when_the_clock_goes_back() {
    insta::assert_snapshot!(check("
        100 run Order
        100 signal s
        90 take-task
        90 complete timer(t1,5s)
        104.9 tick
        105 tick
    "), @r"
     5     0.000  WorkflowExecutionSignaled s
     6     0.000  WorkflowTaskScheduled
     7     0.000  WorkflowTaskStarted
     8     0.000  WorkflowTaskCompleted
     9     0.000  TimerStarted t1 5s
    10     5.000  TimerFired t1
    11     5.000  WorkflowTaskScheduled
    ");
}

#[test]
fn an_engine_that_slept_fires_all_that_was_due_meanwhile() {
    insta::assert_snapshot!(check("
        0 run Order timer(a,1s) timer(b,1h) timer(c,2h)
        4000 tick
        4000 show due
    "), @r"
       5     0.000  TimerStarted a 1s
       6     0.000  TimerStarted b 3600s
       7     0.000  TimerStarted c 7200s
       8  4000.000  TimerFired a
       9  4000.000  TimerFired b
      10  4000.000  WorkflowTaskScheduled
    due at 4000: 7200
    ");
}

#[test]
fn a_timer_of_no_length_fires_at_once() {
    insta::assert_snapshot!(check("
        0 run Order timer(t,0s)
        0 show due
        0 tick
    "), @r"
       5     0.000  TimerStarted t 0ns
       6     0.000  TimerFired t
       7     0.000  WorkflowTaskScheduled
    due at 0: 0
    ");
}
