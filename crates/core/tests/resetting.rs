//! Resets: a new run with the history up to a point.

use steadfast_proto::history::history_event::Attributes;

use crate::common::{World, check, world::Story};

#[test]
fn a_reset_run_has_the_history_up_to_the_end_of_a_task_and_does_that_task_again() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 complete timer(t1,5s)
        6 tick
        6 take-task
        7 complete done(wrong)
        60 reset 8 bug
        61 take-task
        62 complete done(right)
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskCompleted
       5     1.000  TimerStarted t1 5s
       6     6.000  TimerFired t1
       7     6.000  WorkflowTaskScheduled
       8     6.000  WorkflowTaskStarted
       9     7.000  WorkflowTaskCompleted
      10     7.000  WorkflowExecutionCompleted wrong
    run 2:
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskCompleted
       5     1.000  TimerStarted t1 5s
       6     6.000  TimerFired t1
       7     6.000  WorkflowTaskScheduled
       8    60.000  WorkflowTaskStarted
       9    60.000  WorkflowTaskFailed ResetWorkflow "bug"
      10    60.000  WorkflowTaskScheduled
      11    61.000  WorkflowTaskStarted
      12    62.000  WorkflowTaskCompleted
      13    62.000  WorkflowExecutionCompleted right
    "#);
}

#[test]
fn the_point_must_be_the_end_of_a_task() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,5s)
        6 tick
        6 take-task
        7 complete done(ok)
        8 reset 1
        8 reset 11
        8 reset 2
        8 reset 6
        8 reset 7
        8 reset 10
    "), @r"
       5     0.000  TimerStarted t1 5s
       6     6.000  TimerFired t1
       7     6.000  WorkflowTaskScheduled
       8     6.000  WorkflowTaskStarted
       9     7.000  WorkflowTaskCompleted
      10     7.000  WorkflowExecutionCompleted ok
    refused at 8: workflow_task_finish_event_id: Workflow task finish ID must be > 1 && <= workflow last event ID.
    refused at 8: workflow_task_finish_event_id: Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, WorkflowTaskStarted + 1]: 11
    refused at 8: workflow_task_finish_event_id: Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, WorkflowTaskStarted + 1]: 2
    refused at 8: workflow_task_finish_event_id: Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, WorkflowTaskStarted + 1]: 6
    refused at 8: workflow_task_finish_event_id: Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, WorkflowTaskStarted + 1]: 7
    refused at 8: workflow_task_finish_event_id: Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, WorkflowTaskStarted + 1]: 10
    ");
}

#[test]
fn an_open_run_is_ended_and_tells_nobody() {
    let world = World::default().play(
        "
        0 run Order child(c,Kid) timer(t1,1h) parent=p
        1 child-started c
        2 take-task
        3 reset 10 again
    ",
    );
    let base = &world.stories[0].run;
    assert!(base.messages().is_empty(), "neither its parent nor its children are told");
    assert_eq!(base.extended_info().reset_run_id, world.story().run.identity().run_id);
    insta::assert_snapshot!(world.text(), @r#"
       5     0.000  StartChildWorkflowExecutionInitiated c Kid
       6     0.000  TimerStarted t1 3600s
       7     1.000  ChildWorkflowExecutionStarted #5
       8     1.000  WorkflowTaskScheduled
       9     2.000  WorkflowTaskStarted
      10     3.000  WorkflowTaskFailed ForceCloseCommand
      11     3.000  WorkflowExecutionTerminated again
    run 2:
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     0.000  WorkflowTaskCompleted
       5     0.000  StartChildWorkflowExecutionInitiated c Kid
       6     0.000  TimerStarted t1 3600s
       7     1.000  ChildWorkflowExecutionStarted #5
       8     1.000  WorkflowTaskScheduled
       9     2.000  WorkflowTaskStarted
      10     3.000  WorkflowTaskFailed ResetWorkflow "again"
      11     3.000  WorkflowTaskScheduled
    "#);
}

#[test]
fn signals_and_updates_that_came_after_the_point_are_taken_over() {
    insta::assert_snapshot!(check("
        0 run Order
        1 signal s1
        2 take-task
        2 update u1
        3 complete
        4 take-task
        5 complete accept(u1)
        6 signal s2
        7 cancel
        8 reset 4 again
        9 take-task
        9 show updates
        10 complete accept(u1) respond(u1,yes)
    "), @r#"
       5     1.000  WorkflowExecutionSignaled s1
       6     1.000  WorkflowTaskScheduled
       7     2.000  WorkflowTaskStarted
       8     3.000  WorkflowTaskCompleted
       9     3.000  WorkflowTaskScheduled
      10     4.000  WorkflowTaskStarted
      11     5.000  WorkflowTaskCompleted
      12     5.000  WorkflowExecutionUpdateAccepted u1
      13     6.000  WorkflowExecutionSignaled s2
      14     6.000  WorkflowTaskScheduled
      15     7.000  WorkflowExecutionCancelRequested
      16     8.000  WorkflowExecutionTerminated again
    run 2:
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     8.000  WorkflowTaskFailed ResetWorkflow "again"
       5     8.000  WorkflowExecutionSignaled s1
       6     8.000  WorkflowExecutionUpdateAdmitted u1
       7     8.000  WorkflowExecutionSignaled s2
       8     8.000  WorkflowTaskScheduled
       9     9.000  WorkflowTaskStarted
      10    10.000  WorkflowTaskCompleted
      11    10.000  WorkflowExecutionUpdateAccepted u1
      12    10.000  WorkflowExecutionUpdateCompleted u1
    updates at 9: none
    "#);
}

#[test]
fn a_reset_may_leave_signals_or_updates_out() {
    let script = |without: &str| {
        let text = check(&format!(
            "
            0 run Order
            1 signal s1
            2 update u1
            2 take-task
            3 complete accept(u1)
            8 reset 4 again without={without}
        "
        ));
        let later = text.lines().skip_while(|line| !line.starts_with("run 2"));
        later.skip(5).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!([script("signal"), script("update")].join("\n"), @r"
    5     8.000  WorkflowExecutionUpdateAdmitted u1
    6     8.000  WorkflowTaskScheduled
    5     8.000  WorkflowExecutionSignaled s1
    6     8.000  WorkflowTaskScheduled
    ");
}

#[test]
fn pending_activities_begin_anew_and_timers_keep_their_time() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s,s2c=60s) timer(t1,20s)
        0 take a
        1 fail a boom
        2 signal s
        2 take-task
        3 complete done(ok)
        100 reset 9 again
        100 show activities due effects
        100 tick
        101 take a
        102 finish a ok
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  TimerStarted t1 20s
       7     2.000  WorkflowExecutionSignaled s
       8     2.000  WorkflowTaskScheduled
       9     2.000  WorkflowTaskStarted
      10     3.000  WorkflowTaskCompleted
      11     3.000  WorkflowExecutionCompleted ok
    run 2:
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     0.000  WorkflowTaskCompleted
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  TimerStarted t1 20s
       7     2.000  WorkflowExecutionSignaled s
       8     2.000  WorkflowTaskScheduled
       9   100.000  WorkflowTaskStarted
      10   100.000  WorkflowTaskFailed ResetWorkflow "again"
      11   100.000  WorkflowTaskScheduled
      12   100.000  TimerFired t1
      13   101.000  ActivityTaskStarted #5 attempt=1
      14   102.000  ActivityTaskCompleted #5 ok
    activities at 100: a SCHEDULED attempt=1;
    due at 100: 20
    effects at 100: activity #5; task; withdraw task #8.1
    "#);
}

#[test]
fn what_was_asked_of_other_runs_and_not_answered_is_asked_again() {
    insta::assert_snapshot!(check("
        0 run Order child(c,Kid) signal-external(x,go)
        1 signal s
        1 take-task
        2 complete
        3 child-started c
        4 answered x
        5 reset 9 again
        5 show effects work
    "), @r#"
       5     0.000  StartChildWorkflowExecutionInitiated c Kid
       6     0.000  SignalExternalWorkflowExecutionInitiated x go
       7     1.000  WorkflowExecutionSignaled s
       8     1.000  WorkflowTaskScheduled
       9     1.000  WorkflowTaskStarted
      10     2.000  WorkflowTaskCompleted
      11     3.000  ChildWorkflowExecutionStarted #5
      12     3.000  WorkflowTaskScheduled
      13     4.000  ExternalWorkflowExecutionSignaled #6
      14     5.000  WorkflowExecutionTerminated again
    run 2:
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     0.000  WorkflowTaskCompleted
       5     0.000  StartChildWorkflowExecutionInitiated c Kid
       6     0.000  SignalExternalWorkflowExecutionInitiated x go
       7     1.000  WorkflowExecutionSignaled s
       8     1.000  WorkflowTaskScheduled
       9     5.000  WorkflowTaskStarted
      10     5.000  WorkflowTaskFailed ResetWorkflow "again"
      11     5.000  ChildWorkflowExecutionStarted #5
      12     5.000  WorkflowTaskScheduled
    effects at 5: message 0; send #6; task; withdraw task #8.1
    work at 5: true
    "#);
}

#[test]
fn the_time_limits_of_a_reset_run_are_counted_anew() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,1h) run=10s exec=50s
        10 tick
        1000 reset 4 again
        1000 show due
        1010 tick
    "), @r#"
       5     0.000  TimerStarted t1 3600s
       6    10.000  WorkflowExecutionTimedOut RetryPolicyNotSet
    run 2:
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4  1000.000  WorkflowTaskFailed ResetWorkflow "again"
       5  1000.000  WorkflowTaskScheduled
       6  1010.000  WorkflowExecutionTimedOut RetryPolicyNotSet
    due at 1000: 1010
    "#);
}

#[test]
fn an_update_that_came_with_the_reset_survives_a_task_that_fails() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 complete accept(u1)
        8 reset 4 again
        9 take-task
        9 complete timer(bad)
        10 take-task
        10 fail-task nondeterminism one
        11 take-task
        12 complete accept(u1) respond(u1,yes)
    "), @r#"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7     3.000  WorkflowTaskCompleted
       8     3.000  WorkflowExecutionUpdateAccepted u1
       9     8.000  WorkflowExecutionTerminated again
    run 2:
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     8.000  WorkflowTaskFailed ResetWorkflow "again"
       5     8.000  WorkflowExecutionUpdateAdmitted u1
       6     8.000  WorkflowTaskScheduled
       7     9.000  WorkflowTaskStarted
       8     9.000  WorkflowTaskFailed BadStartTimerAttributes "BadStartTimerAttributes: A valid StartToFireTimeout is not set on command."
       9    10.000  WorkflowTaskScheduled attempt=3
      10    11.000  WorkflowTaskStarted
      11    12.000  WorkflowTaskCompleted
      12    12.000  WorkflowExecutionUpdateAccepted u1
      13    12.000  WorkflowExecutionUpdateCompleted u1
    answered at 9: BadStartTimerAttributes: A valid StartToFireTimeout is not set on command.
    "#);
}

#[test]
fn a_restart_keeps_a_reset_run() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s)
        1 signal s
        1 update u1
        2 take-task
        3 complete accept(u1) done(ok)
        10 reset 9 again
        10 crash
        11 take-task
        11 show activities
        12 complete accept(u1)
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     1.000  WorkflowExecutionSignaled s
       7     1.000  WorkflowTaskScheduled
       8     2.000  WorkflowTaskStarted
       9     3.000  WorkflowTaskCompleted
      10     3.000  WorkflowExecutionUpdateAccepted u1
      11     3.000  WorkflowExecutionCompleted ok
    run 2:
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     0.000  WorkflowTaskCompleted
       5     0.000  ActivityTaskScheduled a Charge
       6     1.000  WorkflowExecutionSignaled s
       7     1.000  WorkflowTaskScheduled
       8     2.000  WorkflowTaskStarted
       9    10.000  WorkflowTaskFailed ResetWorkflow "again"
      10    10.000  WorkflowExecutionUpdateAdmitted u1
      11    10.000  WorkflowTaskScheduled
      12    11.000  WorkflowTaskStarted
      13    12.000  WorkflowTaskCompleted
      14    12.000  WorkflowExecutionUpdateAccepted u1
    activities at 11: a SCHEDULED attempt=1;
    "#);
}

#[test]
fn the_children_of_a_reset_run_are_told_whose_they_are_now() {
    insta::assert_snapshot!(check("
        0 run Order child(a,Kid,close=abandon) child(b,Kid,close=abandon) child(c,Kid)
        1 child-started a run-a
        1 child-started b run-b
        2 take-task
        3 complete
        4 child-closed b completed first=run-b
        5 take-task
        6 complete done(ok)
        60 reset 11 again
        60 show messages effects work
        60 crash
        60 show messages work
        61 delivered 0
        62 child-closed a completed ok first=run-a
    "), @r#"
       5     0.000  StartChildWorkflowExecutionInitiated a Kid
       6     0.000  StartChildWorkflowExecutionInitiated b Kid
       7     0.000  StartChildWorkflowExecutionInitiated c Kid
       8     1.000  ChildWorkflowExecutionStarted #5
       9     1.000  WorkflowTaskScheduled
      10     1.000  ChildWorkflowExecutionStarted #6
      11     2.000  WorkflowTaskStarted
      12     3.000  WorkflowTaskCompleted
      13     4.000  ChildWorkflowExecutionCompleted #6
      14     4.000  WorkflowTaskScheduled
      15     5.000  WorkflowTaskStarted
      16     6.000  WorkflowTaskCompleted
      17     6.000  WorkflowExecutionCompleted ok
    run 2:
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     0.000  WorkflowTaskCompleted
       5     0.000  StartChildWorkflowExecutionInitiated a Kid
       6     0.000  StartChildWorkflowExecutionInitiated b Kid
       7     0.000  StartChildWorkflowExecutionInitiated c Kid
       8     1.000  ChildWorkflowExecutionStarted #5
       9     1.000  WorkflowTaskScheduled
      10     1.000  ChildWorkflowExecutionStarted #6
      11    60.000  WorkflowTaskStarted
      12    60.000  WorkflowTaskFailed ResetWorkflow "again"
      13    60.000  ChildWorkflowExecutionCompleted #6
      14    60.000  WorkflowTaskScheduled
      15    62.000  ChildWorkflowExecutionCompleted #5 ok
    messages at 60: 0: adopt #5 to a run-a
    effects at 60: message 0; start #7; task; withdraw task #9.1
    work at 60: true
    messages at 60: 0: adopt #5 to a run-a
    work at 60: true
    "#);
}

#[test]
fn what_is_told_of_a_child_names_its_start_in_the_new_history() {
    let world = World::default().play(
        "
        0 run Order child(c,Kid)
        1 signal s
        1 take-task
        2 complete
        3 signal s
        4 child-started c
        5 child-closed c completed ok
        6 reset 9 again without=signal
    ",
    );
    let started = |story: &Story| {
        let mut ends = story.events.iter().filter_map(|event| match &event.attributes {
            Some(Attributes::ChildWorkflowExecutionStartedEventAttributes(_)) => {
                Some(event.event_id)
            }
            Some(Attributes::ChildWorkflowExecutionCompletedEventAttributes(end)) => {
                Some(end.started_event_id)
            }
            _ => None,
        });
        (ends.next(), ends.next())
    };
    assert_eq!(started(&world.stories[0]), (Some(12), Some(12)));
    assert_eq!(started(world.story()), (Some(10), Some(10)));
}

#[test]
fn a_child_of_a_reset_parent_answers_to_the_new_run() {
    insta::assert_snapshot!(check("
        0 start Order parent=p
        1 adopt q
        1 adopt p
        1 adopt p
        2 terminate why child-of=p
        3 terminate why child-of=p run=new-parent-run
        3 show messages
        4 adopt p yet-another
        4 adopt p yet-another
        4 show messages
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     3.000  WorkflowExecutionTerminated why
    refused at 1: workflow execution not found
    refused at 2: workflow execution not found
    messages at 3: 0: child-closed #5 to p new-parent-run
    messages at 4: 0: child-closed #5 to p new-parent-run; 1: child-closed #5 to p yet-another
    ");
}

#[test]
fn a_child_that_went_on_is_adopted_where_it_is_now() {
    insta::assert_snapshot!(check("
        0 start Order parent=p
        1 adopt p
        1 take-task
        2 complete continue(Order)
        3 take-task
        4 complete done(ok)
        4 show messages
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     1.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskCompleted
       5     2.000  WorkflowExecutionContinuedAsNew initiator=Workflow
    run 2:
       1     0.000  WorkflowExecutionStarted Order initiator=Workflow
       2     0.000  WorkflowTaskScheduled
       3     1.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskCompleted
       5     2.000  WorkflowExecutionCompleted ok
    messages at 4: 0: child-closed #5 to p new-parent-run
    ");
}
