//! What happens while a worker has the workflow task: it counts at once, and gets its place when the
//! task ends.

use steadfast_core::Limits;

use crate::common::{check, check_within};

#[test]
fn what_comes_in_goes_behind_the_commands_and_makes_a_new_task() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 signal s1
        2 signal s2
        2 show task
        3 complete marker(m) timer(t1,9s)
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     3.000  WorkflowTaskCompleted
       5     3.000  MarkerRecorded m
       6     3.000  TimerStarted t1 9s
       7     3.000  WorkflowExecutionSignaled s1
       8     3.000  WorkflowExecutionSignaled s2
       9     3.000  WorkflowTaskScheduled
    task at 2: started attempt=1
    ");
}

#[test]
fn ends_of_activities_and_children_go_behind_everything_else() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s) schedule(b,Ship,stc=10s) child(c,Kid) timer(t1,4s) signal-external(x,go)
        0 take a
        0 take b
        1 signal s1
        1 take-task
        2 finish a one
        3 child-started c
        3 child-closed c completed done
        4 tick
        5 fail b boom final
        6 signal s2
        6 cancel why
        6 answered x
        7 complete marker(m)
    "), @r#"
     5     0.000  ActivityTaskScheduled a Charge
     6     0.000  ActivityTaskScheduled b Ship
     7     0.000  StartChildWorkflowExecutionInitiated c Kid
     8     0.000  TimerStarted t1 4s
     9     0.000  SignalExternalWorkflowExecutionInitiated x go
    10     1.000  WorkflowExecutionSignaled s1
    11     1.000  WorkflowTaskScheduled
    12     1.000  WorkflowTaskStarted
    13     7.000  WorkflowTaskCompleted
    14     7.000  MarkerRecorded m
    15     0.000  ActivityTaskStarted #5 attempt=1
    16     7.000  ChildWorkflowExecutionStarted #7
    17     7.000  TimerFired t1
    18     0.000  ActivityTaskStarted #6 attempt=1
    19     7.000  WorkflowExecutionSignaled s2
    20     7.000  WorkflowExecutionCancelRequested why
    21     7.000  ExternalWorkflowExecutionSignaled #9
    22     7.000  ActivityTaskCompleted #5 one
    23     7.000  ChildWorkflowExecutionCompleted #7 done
    24     7.000  ActivityTaskFailed #6 NonRetryableFailure "boom"
    25     7.000  WorkflowTaskScheduled
    "#);
}

#[test]
fn a_child_that_starts_and_ends_in_the_buffer_has_its_start_named_by_its_end() {
    let world = crate::common::World::default().play(
        "
        0 run Order child(c,Kid)
        1 signal s
        1 take-task
        2 child-started c
        3 child-closed c completed done
        4 complete
    ",
    );
    let events = &world.story().events;
    let id_of = |name: &str| {
        let found = events.iter().find(|event| steadfast_core::text::line(event).starts_with(name));
        found.map(|event| event.event_id)
    };
    let end = events.iter().find_map(|event| match &event.attributes {
        Some(steadfast_proto::history::history_event::Attributes::ChildWorkflowExecutionCompletedEventAttributes(end)) => Some(end.started_event_id),
        _ => None,
    });
    assert_eq!(end, id_of("ChildWorkflowExecutionStarted"));
}

#[test]
fn a_task_that_only_waits_for_a_worker_buffers_nothing() {
    insta::assert_snapshot!(check("
        0 start Order
        1 signal s1
        2 signal s2
        3 take-task
        4 complete
    "), @r"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     1.000  WorkflowExecutionSignaled s1
    4     2.000  WorkflowExecutionSignaled s2
    5     3.000  WorkflowTaskStarted
    6     4.000  WorkflowTaskCompleted
    ");
}

#[test]
fn a_timer_that_fired_in_the_buffer_can_be_cancelled_by_the_task_that_has_not_seen_it() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,5s)
        4 signal s
        4 take-task
        5 tick
        6 complete cancel-timer(t1)
        6 show task
    "), @r"
       5     0.000  TimerStarted t1 5s
       6     4.000  WorkflowExecutionSignaled s
       7     4.000  WorkflowTaskScheduled
       8     4.000  WorkflowTaskStarted
       9     6.000  WorkflowTaskCompleted
      10     6.000  TimerCanceled t1
    task at 6: none
    ");
}

#[test]
fn a_close_is_fine_when_the_only_thing_in_the_buffer_was_the_timer_it_cancels() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,5s)
        4 signal s
        4 take-task
        5 tick
        6 complete cancel-timer(t1) done(ok)
    "), @r"
     5     0.000  TimerStarted t1 5s
     6     4.000  WorkflowExecutionSignaled s
     7     4.000  WorkflowTaskScheduled
     8     4.000  WorkflowTaskStarted
     9     6.000  WorkflowTaskCompleted
    10     6.000  TimerCanceled t1
    11     6.000  WorkflowExecutionCompleted ok
    ");
}

#[test]
fn an_activity_whose_end_is_in_the_buffer_may_be_asked_to_cancel() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s)
        0 take a
        1 signal s
        1 take-task
        2 finish a ok
        3 complete cancel-activity(#5)
    "), @r"
     5     0.000  ActivityTaskScheduled a Charge
     6     1.000  WorkflowExecutionSignaled s
     7     1.000  WorkflowTaskScheduled
     8     1.000  WorkflowTaskStarted
     9     3.000  WorkflowTaskCompleted
    10     3.000  ActivityTaskCancelRequested #5
    11     0.000  ActivityTaskStarted #5 attempt=1
    12     3.000  ActivityTaskCompleted #5 ok
    13     3.000  WorkflowTaskScheduled
    ");
}

#[test]
fn a_close_is_refused_while_something_is_in_the_buffer() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 signal s1
        2 complete done(ok)
        3 signal s2
        4 take-task
        5 signal s3
        5 update u1
        6 complete done(ok)
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskFailed UnhandledCommand "UnhandledCommand"
       5     2.000  WorkflowExecutionSignaled s1
       6     2.000  WorkflowTaskScheduled
       7     3.000  WorkflowExecutionSignaled s2
       8     4.000  WorkflowTaskStarted
       9     6.000  WorkflowTaskCompleted
      10     6.000  WorkflowExecutionCompleted ok
    answered at 2: UnhandledCommand
    refused at 5: workflow operation can not be applied because workflow is closing
    refused at 5: workflow operation can not be applied because workflow is closing
    "#);
}

#[test]
fn a_run_that_was_kept_from_closing_takes_signals_again_once_its_task_is_done() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 signal s1
        2 complete done(ok)
        3 take-task
        4 complete
        5 signal s2
        5 take-task
        6 signal s3
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskFailed UnhandledCommand "UnhandledCommand"
       5     2.000  WorkflowExecutionSignaled s1
       6     2.000  WorkflowTaskScheduled
       7     3.000  WorkflowTaskStarted
       8     4.000  WorkflowTaskCompleted
       9     5.000  WorkflowExecutionSignaled s2
      10     5.000  WorkflowTaskScheduled
      11     5.000  WorkflowTaskStarted
    answered at 2: UnhandledCommand
    "#);
}

#[test]
fn a_terminated_run_keeps_what_was_in_the_buffer() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 signal s1
        2 terminate enough
    "), @r"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     0.000  WorkflowTaskStarted
    4     2.000  WorkflowTaskFailed ForceCloseCommand
    5     2.000  WorkflowExecutionSignaled s1
    6     2.000  WorkflowExecutionTerminated enough
    ");
}

#[test]
fn too_much_in_the_buffer_fails_the_task() {
    let limits = Limits { buffered_events_max: 2, ..Limits::default() };
    insta::assert_snapshot!(check_within(limits, "
        0 start Order
        0 take-task
        1 signal s1
        1 signal s2
        1 show task
        2 signal s3
        3 complete
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskFailed ForceCloseCommand
       5     2.000  WorkflowExecutionSignaled s1
       6     2.000  WorkflowExecutionSignaled s2
       7     2.000  WorkflowExecutionSignaled s3
       8     2.000  WorkflowTaskScheduled
    task at 1: started attempt=1
    refused at 3: Workflow task not found.
    ");
}

#[test]
fn too_many_bytes_in_the_buffer_fail_the_task() {
    let limits = Limits { buffered_bytes_max: 1_000, ..Limits::default() };
    insta::assert_snapshot!(check_within(limits, "
        0 start Order
        0 take-task
        1 signal s1 big:900
        1 show task
        2 signal s2 big:100
        2 show task
    ").replace(&"x".repeat(100), "…"), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskFailed ForceCloseCommand
       5     2.000  WorkflowExecutionSignaled s1 ………………………
       6     2.000  WorkflowExecutionSignaled s2 …
       7     2.000  WorkflowTaskScheduled
    task at 1: started attempt=1
    task at 2: scheduled attempt=1
    ");
}
