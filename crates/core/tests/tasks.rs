//! Workflow tasks: attempts, repetitions, sticky queues, time limits.

use steadfast_core::{Limits, span::from_wire};
use steadfast_proto::history::history_event::Attributes;

use crate::common::{World, check, check_within, world::BEGIN};

#[test]
fn a_simple_workflow_has_five_events() {
    insta::assert_snapshot!(check("
        0 start Order
        0 show effects
        1 take-task
        2 complete done(ok)
        2 show effects status
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     1.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskCompleted
       5     2.000  WorkflowExecutionCompleted ok
    effects at 0: task
    effects at 2: closed
    status at 2: Completed
    ");
}

#[test]
fn a_delayed_start_schedules_its_first_task_when_it_is_due() {
    insta::assert_snapshot!(check("
        0 start Order delay=30s
        29.9 tick
        30 tick
        30 show effects
    "), @r"
       1     0.000  WorkflowExecutionStarted Order backoff=30s
       2    30.000  WorkflowTaskScheduled
    effects at 30: task
    ");
}

#[test]
fn a_task_is_taken_once_but_the_same_poll_may_ask_twice() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task poll=p1
        1 take-task poll=p1
        1 take-task poll=p2
        1 take-task
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
    refused at 1: Workflow task not found.
    refused at 1: Workflow task not found.
    ");
}

#[test]
fn a_task_that_is_no_longer_on_offer_is_not_given() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task scheduled=9
        0 take-task attempt=2
        1 take-task
        2 complete
        3 take-task scheduled=2
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     1.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskCompleted
    refused at 0: Workflow task not found.
    refused at 0: Workflow task not found.
    refused at 3: Workflow task not found.
    ");
}

#[test]
fn only_the_first_failure_is_written_and_repetitions_only_when_one_succeeds() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 fail-task nondeterminism first
        1 show task
        2 take-task
        2 show unwritten
        3 fail-task nondeterminism second
        3 show task
        4 take-task
        5 fail-task nondeterminism third
        10 tick
        11 take-task
        12 complete timer(t1,1s)
        12 show task
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskFailed NonDeterministicError "first"
       5    10.000  WorkflowTaskScheduled attempt=4
       6    11.000  WorkflowTaskStarted
       7    12.000  WorkflowTaskCompleted
       8    12.000  TimerStarted t1 1s
    task at 1: scheduled attempt=2
    unwritten at 2: 5 WorkflowTaskScheduled attempt=2; 6 WorkflowTaskStarted
    task at 3: scheduled attempt=3
    task at 12: none
    "#);
}

#[test]
fn an_event_that_overtakes_a_repetition_makes_it_a_first_attempt_again() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 fail-task nondeterminism oops
        2 signal s1
        2 show task
        3 take-task
        3 show task unwritten
        4 complete
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskFailed NonDeterministicError "oops"
       5     2.000  WorkflowExecutionSignaled s1
       6     3.000  WorkflowTaskScheduled
       7     3.000  WorkflowTaskStarted
       8     4.000  WorkflowTaskCompleted
    task at 2: scheduled attempt=2
    task at 3: started attempt=1
    unwritten at 3: none
    "#);
}

#[test]
fn an_event_that_comes_while_a_repetition_runs_makes_the_next_one_a_first_attempt() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 fail-task nondeterminism oops
        2 take-task
        3 signal s1
        4 fail-task nondeterminism again
        4 show task
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskFailed NonDeterministicError "oops"
       5     3.000  WorkflowExecutionSignaled s1
       6     4.000  WorkflowTaskScheduled
    task at 4: scheduled attempt=1
    "#);
}

#[test]
fn the_first_failure_on_a_sticky_queue_only_costs_the_queue() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,1s) sticky=mine
        1 tick
        1 show task
        1 take-task sticky=mine
        2 fail-task nondeterminism one
        2 show task
        3 take-task
        4 fail-task nondeterminism two
        4 show task
    "), @r#"
       5     0.000  TimerStarted t1 1s
       6     1.000  TimerFired t1
       7     1.000  WorkflowTaskScheduled sticky=mine
       8     1.000  WorkflowTaskStarted
       9     2.000  WorkflowTaskFailed NonDeterministicError "one"
      10     2.000  WorkflowTaskScheduled
      11     3.000  WorkflowTaskStarted
      12     4.000  WorkflowTaskFailed NonDeterministicError "two"
    task at 1: scheduled attempt=1 sticky
    task at 2: scheduled attempt=1
    task at 4: scheduled attempt=2
    "#);
}

#[test]
fn a_sticky_task_that_nobody_takes_goes_to_the_normal_queue() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,1s) sticky=mine within=3s
        1 tick
        1 show due
        4 tick
        4 show task effects
        5 take-task sticky=mine
        5 take-task
    "), @r"
       5     0.000  TimerStarted t1 1s
       6     1.000  TimerFired t1
       7     1.000  WorkflowTaskScheduled sticky=mine
       8     4.000  WorkflowTaskTimedOut ScheduleToStart
       9     4.000  WorkflowTaskScheduled
      10     5.000  WorkflowTaskStarted
    due at 1: 4
    task at 4: scheduled attempt=1
    effects at 4: task; withdraw task #7.1
    refused at 5: Workflow task not found.
    ");
}

#[test]
fn a_sticky_queue_without_a_time_limit_gets_the_usual_one() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,1s) sticky=mine
        1 tick
        1 show due
    "), @r"
       5     0.000  TimerStarted t1 1s
       6     1.000  TimerFired t1
       7     1.000  WorkflowTaskScheduled sticky=mine
    due at 1: 6
    ");
}

#[test]
fn a_normal_poller_may_take_a_sticky_task_and_ends_the_stickiness() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,1s) sticky=mine
        1 tick
        1 take-task
        2 complete timer(t2,1s)
        3 tick
    "), @r"
     5     0.000  TimerStarted t1 1s
     6     1.000  TimerFired t1
     7     1.000  WorkflowTaskScheduled sticky=mine
     8     1.000  WorkflowTaskStarted
     9     2.000  WorkflowTaskCompleted
    10     2.000  TimerStarted t2 1s
    11     3.000  TimerFired t2
    12     3.000  WorkflowTaskScheduled
    ");
}

#[test]
fn resetting_the_sticky_queue_offers_the_task_on_the_normal_one() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,1s) sticky=mine
        1 tick
        2 reset-sticky
        2 show task effects due
        2 reset-sticky
        3 take-task sticky=mine
        3 take-task
    "), @r"
       5     0.000  TimerStarted t1 1s
       6     1.000  TimerFired t1
       7     1.000  WorkflowTaskScheduled sticky=mine
       8     3.000  WorkflowTaskStarted
    task at 2: scheduled attempt=1
    effects at 2: task
    due at 2: never
    refused at 3: Workflow task not found.
    ");
}

#[test]
fn a_completion_without_a_sticky_queue_ends_the_stickiness() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,1s) sticky=mine
        1 tick
        1 take-task sticky=mine
        1 complete timer(t2,1s)
        2 tick
    "), @r"
     5     0.000  TimerStarted t1 1s
     6     1.000  TimerFired t1
     7     1.000  WorkflowTaskScheduled sticky=mine
     8     1.000  WorkflowTaskStarted
     9     1.000  WorkflowTaskCompleted
    10     1.000  TimerStarted t2 1s
    11     2.000  TimerFired t2
    12     2.000  WorkflowTaskScheduled
    ");
}

#[test]
fn a_task_that_takes_too_long_is_repeated_and_its_answer_refused() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        9.9 tick
        10 tick
        10 show task
        11 complete done(late)
        12 take-task
        22 tick
        22 show task
        23 take-task
        24 complete old done(late)
        25 complete done(ok)
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4    10.000  WorkflowTaskTimedOut StartToClose
       5    22.000  WorkflowTaskScheduled attempt=3
       6    23.000  WorkflowTaskStarted
       7    25.000  WorkflowTaskCompleted
       8    25.000  WorkflowExecutionCompleted ok
    task at 10: scheduled attempt=2
    refused at 11: Workflow task not found.
    task at 22: scheduled attempt=3
    refused at 24: Workflow task not found.
    ");
}

#[test]
fn a_start_may_give_its_tasks_another_time_limit() {
    insta::assert_snapshot!(check("
        0 start Order task=3s
        0 take-task
        3 tick
    "), @r"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     0.000  WorkflowTaskStarted
    4     3.000  WorkflowTaskTimedOut StartToClose
    ");
}

/// From the fourth attempt on the limit grows, up to ten minutes, less up to a fifth by chance.
#[test]
fn a_task_that_fails_over_and_over_gets_more_and_more_time() {
    let mut world = World::default().play("0 start Order");
    let mut limits = Vec::new();
    for second in (0..14).map(|n| n * 700) {
        limits.push(world.story().run.task().unwrap().timeout / 1_000_000_000);
        world.line(&format!("{second} tick"));
        world.line(&format!("{second} take-task"));
        world.line(&format!("{second} fail-task nondeterminism oops"));
    }
    assert_eq!(limits[..3], [10, 10, 10]);
    let full = [15, 20, 30, 50, 90, 170, 330, 600, 600, 600, 600];
    for (limit, full) in limits[3..].iter().zip(full) {
        assert!((full * 8 / 10..=full).contains(limit), "{limit} of {full}");
    }
    assert_eq!(world.story().events.len(), 4, "the repetitions are not in the history");
}

#[test]
fn a_heartbeat_completes_the_task_and_makes_a_new_one() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        4 complete force sticky=mine
        4 take-task sticky=mine
        8 complete force sticky=mine
        8 take-task sticky=mine
        9 complete done(ok)
    "), @r"
     1     0.000  WorkflowExecutionStarted Order
     2     0.000  WorkflowTaskScheduled
     3     0.000  WorkflowTaskStarted
     4     4.000  WorkflowTaskCompleted
     5     4.000  WorkflowTaskScheduled sticky=mine
     6     4.000  WorkflowTaskStarted
     7     8.000  WorkflowTaskCompleted
     8     8.000  WorkflowTaskScheduled sticky=mine
     9     8.000  WorkflowTaskStarted
    10     9.000  WorkflowTaskCompleted
    11     9.000  WorkflowExecutionCompleted ok
    ");
}

#[test]
fn heartbeats_without_a_command_end_after_half_an_hour() {
    let limits =
        Limits { task_heartbeat_max: std::time::Duration::from_secs(10), ..Limits::default() };
    insta::assert_snapshot!(check_within(limits, "
        0 start Order
        0 take-task
        8 complete force sticky=mine
        8 take-task sticky=mine
        11 complete force sticky=mine
        11 show task
        12 take-task sticky=mine
        12 take-task
        13 complete done(ok)
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     8.000  WorkflowTaskCompleted
       5     8.000  WorkflowTaskScheduled sticky=mine
       6     8.000  WorkflowTaskStarted
       7    11.000  WorkflowTaskTimedOut StartToClose
       8    11.000  WorkflowTaskScheduled
       9    12.000  WorkflowTaskStarted
      10    13.000  WorkflowTaskCompleted
      11    13.000  WorkflowExecutionCompleted ok
    answered at 11: workflow task heartbeat timeout
    task at 11: scheduled attempt=1
    refused at 12: Workflow task not found.
    ");
}

#[test]
fn a_command_with_the_heartbeat_begins_the_half_hour_anew() {
    let limits =
        Limits { task_heartbeat_max: std::time::Duration::from_secs(10), ..Limits::default() };
    insta::assert_snapshot!(check_within(limits, "
        0 start Order
        0 take-task
        8 complete marker(m) force
        8 take-task
        17 complete force
        17 show task
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     8.000  WorkflowTaskCompleted
       5     8.000  MarkerRecorded m
       6     8.000  WorkflowTaskScheduled
       7     8.000  WorkflowTaskStarted
       8    17.000  WorkflowTaskCompleted
       9    17.000  WorkflowTaskScheduled
    task at 17: scheduled attempt=1
    ");
}

#[test]
fn a_message_that_is_too_large_for_the_wire_ends_the_run() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 fail-task too-large oops
    "), @r"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     0.000  WorkflowTaskStarted
    4     1.000  WorkflowTaskFailed ForceCloseCommand
    5     1.000  WorkflowExecutionTerminated GrpcMessageTooLarge
    ");
}

#[test]
fn a_worker_is_told_the_size_of_the_history_and_when_to_continue_as_new() {
    let limits = Limits { history_events_suggest: 6, ..Limits::default() };
    let world = World::within(limits).play(
        "
        0 run Order timer(t1,1s)
        1 tick
        1 take-task
        2 complete
    ",
    );
    let started = world.story().events.iter().filter_map(|event| match &event.attributes {
        Some(Attributes::WorkflowTaskStartedEventAttributes(started)) => {
            Some((started.history_size_bytes > 0, started.suggest_continue_as_new))
        }
        _ => None,
    });
    assert_eq!(started.collect::<Vec<_>>(), [(true, false), (true, true)]);
}

#[test]
fn the_first_event_of_a_task_names_its_queue_and_time_limit() {
    let world = World::default().play("0 run Order timer(t1,1s) sticky=mine\n1 tick");
    let scheduled = world.story().events.iter().filter_map(|event| match &event.attributes {
        Some(Attributes::WorkflowTaskScheduledEventAttributes(it)) => {
            let queue = it.task_queue.clone().unwrap();
            let limit = from_wire(it.start_to_close_timeout.as_ref());
            Some(format!("{} {} {limit:?}", queue.name, queue.normal_name))
        }
        _ => None,
    });
    assert_eq!(scheduled.collect::<Vec<_>>(), ["q  10s", "mine q 10s"]);
}

#[test]
fn a_restart_changes_nothing_for_the_worker_that_has_the_task() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 signal s
        1 crash
        2 complete timer(t1,5s)
        2 take-task
        3 fail-task nondeterminism oops
        3 take-task
        4 crash
        5 complete cancel-timer(t1) done(ok)
    "), @r#"
     1     0.000  WorkflowExecutionStarted Order
     2     0.000  WorkflowTaskScheduled
     3     0.000  WorkflowTaskStarted
     4     2.000  WorkflowTaskCompleted
     5     2.000  TimerStarted t1 5s
     6     2.000  WorkflowExecutionSignaled s
     7     2.000  WorkflowTaskScheduled
     8     2.000  WorkflowTaskStarted
     9     3.000  WorkflowTaskFailed NonDeterministicError "oops"
    10     3.000  WorkflowTaskScheduled attempt=2
    11     3.000  WorkflowTaskStarted
    12     5.000  WorkflowTaskCompleted
    13     5.000  TimerCanceled t1
    14     5.000  WorkflowExecutionCompleted ok
    "#);
}

#[test]
fn a_task_that_fails_again_and_again_is_held_back_longer_each_time() {
    let mut world = World::default().play("0 start Order");
    let mut waits = Vec::new();
    let mut now = 0;
    for _ in 0..14 {
        world.line(&format!("{now} take-task"));
        world.line(&format!("{now} fail-task nondeterminism oops"));
        let due = world.story().run.next_due().filter(|_| !world.story().run.task_is_ready());
        let wait = due.map_or(0, |at| at.since(BEGIN).as_secs() - now);
        waits.push(wait);
        now += wait;
        world.line(&format!("{now} tick"));
        assert!(world.story().run.task_is_ready(), "after {wait} s it is offered");
    }
    assert_eq!(waits, [0, 0, 5, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600, 600]);
}

#[test]
fn something_new_lets_a_task_go_that_is_held_back() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        0 fail-task nondeterminism one
        0 take-task
        0 fail-task nondeterminism two
        0 take-task
        0 fail-task nondeterminism three
        1 show task due effects work
        1 take-task
        1 crash
        1 show due work
        2 signal s
        2 show task effects work
        2 take-task
        3 complete done(ok)
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     0.000  WorkflowTaskFailed NonDeterministicError "one"
       5     2.000  WorkflowExecutionSignaled s
       6     2.000  WorkflowTaskScheduled
       7     2.000  WorkflowTaskStarted
       8     3.000  WorkflowTaskCompleted
       9     3.000  WorkflowExecutionCompleted ok
    task at 1: scheduled attempt=4
    due at 1: 5
    effects at 1: none
    work at 1: false
    refused at 1: Workflow task not found.
    due at 1: 5
    work at 1: false
    task at 2: scheduled attempt=4
    effects at 2: task
    work at 2: true
    "#);
}
