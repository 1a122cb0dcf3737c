//! The workflow task of an update that nothing else needs.

use crate::common::check;

#[test]
fn a_refused_update_leaves_no_trace_and_the_next_event_has_the_next_id() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        2 show updates unwritten
        3 complete reject(u1,no,unplaced)
        3 show effects task
        4 signal s
        5 take-task
    "), @r"
       5     4.000  WorkflowExecutionSignaled s
       6     4.000  WorkflowTaskScheduled
       7     5.000  WorkflowTaskStarted
    updates at 2: u1/request
    unwritten at 2: 5 WorkflowTaskScheduled; 6 WorkflowTaskStarted
    effects at 3: update u1 failed: no
    task at 3: none
    ");
}

#[test]
fn an_accepted_update_has_its_task_in_the_history() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 complete accept(u1) respond(u1,yes)
    "), @r"
    5     1.000  WorkflowTaskScheduled
    6     2.000  WorkflowTaskStarted
    7     3.000  WorkflowTaskCompleted
    8     3.000  WorkflowExecutionUpdateAccepted u1
    9     3.000  WorkflowExecutionUpdateCompleted u1
    ");
}

#[test]
fn a_delayed_start_is_still_due_after_a_refused_update() {
    insta::assert_snapshot!(check("
        0 start Order delay=60s
        1 update u1
        2 take-task
        3 complete reject(u1,no,unplaced)
        3 show task due
        60 tick
    "), @r"
       1     0.000  WorkflowExecutionStarted Order backoff=60s
       2    60.000  WorkflowTaskScheduled
    task at 3: none
    due at 3: 60
    ");
}

#[test]
fn a_start_that_becomes_due_meanwhile_needs_the_task() {
    insta::assert_snapshot!(check("
        0 start Order delay=60s
        59 update u1
        60 tick
        60 show task
        61 take-task
        62 complete reject(u1,no,unplaced)
    "), @r"
       1     0.000  WorkflowExecutionStarted Order backoff=60s
       2    59.000  WorkflowTaskScheduled
       3    61.000  WorkflowTaskStarted
       4    62.000  WorkflowTaskCompleted
    task at 60: scheduled attempt=1
    ");
    insta::assert_snapshot!(check("
        0 start Order delay=60s
        58 update u1
        59 take-task
        60 tick
        61 complete reject(u1,no,unplaced)
        61 show task
    "), @r"
       1     0.000  WorkflowExecutionStarted Order backoff=60s
       2    58.000  WorkflowTaskScheduled
       3    59.000  WorkflowTaskStarted
       4    61.000  WorkflowTaskCompleted
    task at 61: none
    ");
}

#[test]
fn what_happens_before_a_worker_takes_it_needs_the_task_too() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 signal s
        2 show effects task
        3 take-task
        3 show updates
        4 complete reject(u1,no,unplaced)
    "), @r"
       5     2.000  WorkflowExecutionSignaled s
       6     2.000  WorkflowTaskScheduled
       7     3.000  WorkflowTaskStarted
       8     4.000  WorkflowTaskCompleted
    effects at 2: task; withdraw task #5.1
    task at 2: scheduled attempt=1
    updates at 3: u1/request
    ");
}

#[test]
fn what_happens_while_a_worker_has_it_needs_the_next_task() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 signal s
        4 complete reject(u1,no,unplaced)
        4 show task
    "), @r"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7     4.000  WorkflowTaskCompleted
       8     4.000  WorkflowExecutionSignaled s
       9     4.000  WorkflowTaskScheduled
    task at 4: scheduled attempt=1
    ");
}

#[test]
fn a_task_that_fails_or_times_out_is_in_the_history() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 fail-task
        3 show task
        4 take-task
        4 show updates
        5 complete reject(u1,no,unplaced)
    "), @r"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7     3.000  WorkflowTaskFailed WorkflowWorkerUnhandledFailure
       8     3.000  WorkflowTaskScheduled attempt=2
       9     4.000  WorkflowTaskStarted
      10     5.000  WorkflowTaskCompleted
    task at 3: scheduled attempt=2
    updates at 4: u1/request
    ");
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        12 tick
        12 show task
    "), @r"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7    12.000  WorkflowTaskTimedOut StartToClose
    task at 12: scheduled attempt=2
    ");
}

#[test]
fn a_worker_that_has_gone_loses_it_to_the_normal_queue() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        0 complete sticky=w1 within=5s
        1 update u1
        1 show task
        6 tick
        6 show task
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     0.000  WorkflowTaskCompleted
       5     1.000  WorkflowTaskScheduled sticky=w1
       6     6.000  WorkflowTaskTimedOut ScheduleToStart
       7     6.000  WorkflowTaskScheduled
    task at 1: scheduled attempt=1 sticky
    task at 6: scheduled attempt=1
    ");
}

#[test]
fn a_run_may_close_while_it_waits() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 terminate
    "), @r"
       5     2.000  WorkflowExecutionTerminated
    ");
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 terminate
    "), @r"
    5     1.000  WorkflowTaskScheduled
    6     2.000  WorkflowTaskStarted
    7     3.000  WorkflowTaskFailed ForceCloseCommand
    8     3.000  WorkflowExecutionTerminated
    ");
}

#[test]
fn events_are_shown_again_to_workers_that_can_bear_it() {
    let story = |answer: &str| {
        check(&format!(
            "
            0 start Order
            0 take-task
            0 complete timer(t1,1h)
            1 update u1
            2 take-task
            3 complete {answer}
            "
        ))
    };
    insta::assert_snapshot!(story("reject(u1,no,unplaced)"), @r"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     0.000  WorkflowTaskStarted
    4     0.000  WorkflowTaskCompleted
    5     0.000  TimerStarted t1 3600s
    6     1.000  WorkflowTaskScheduled
    7     2.000  WorkflowTaskStarted
    8     3.000  WorkflowTaskCompleted
    ");
    insta::assert_snapshot!(story("again reject(u1,no,unplaced)"), @r"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     0.000  WorkflowTaskStarted
    4     0.000  WorkflowTaskCompleted
    5     0.000  TimerStarted t1 3600s
    ");
}

#[test]
fn the_next_update_gets_a_task_of_its_own() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 update u2
        4 complete reject(u1,no,unplaced)
        4 show task
        5 take-task
        5 show updates
        6 complete accept(u2) respond(u2,yes)
    "), @r"
       5     4.000  WorkflowTaskScheduled
       6     5.000  WorkflowTaskStarted
       7     6.000  WorkflowTaskCompleted
       8     6.000  WorkflowExecutionUpdateAccepted u2
       9     6.000  WorkflowExecutionUpdateCompleted u2
    task at 4: scheduled attempt=1
    updates at 5: u2/request
    ");
}
