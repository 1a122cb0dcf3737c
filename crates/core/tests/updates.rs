//! Updates: requests that the workflow may refuse, and that have an outcome.

use steadfast_core::Limits;

use crate::common::{check, check_within};

#[test]
fn an_update_is_accepted_and_completed() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,1h)
        1 update u1
        1 show effects updates
        2 take-task
        2 show updates
        3 complete accept(u1) timer(t2,1s) respond(u1,yes)
        3 show effects task
    "), @r"
       5     0.000  TimerStarted t1 3600s
       6     1.000  WorkflowTaskScheduled
       7     2.000  WorkflowTaskStarted
       8     3.000  WorkflowTaskCompleted
       9     3.000  WorkflowExecutionUpdateAccepted u1
      10     3.000  TimerStarted t2 1s
      11     3.000  WorkflowExecutionUpdateCompleted u1
    effects at 1: task
    updates at 1: none
    updates at 2: u1/request
    effects at 3: update u1 accepted; update u1 gave yes
    task at 3: none
    ");
}

#[test]
fn an_update_may_be_completed_by_a_later_task_and_survives_a_restart() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 complete accept(u1)
        3 show effects
        3 crash
        4 signal s
        4 take-task
        4 show updates
        5 complete respond(u1,yes)
        5 show effects
    "), @r"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7     3.000  WorkflowTaskCompleted
       8     3.000  WorkflowExecutionUpdateAccepted u1
       9     4.000  WorkflowExecutionSignaled s
      10     4.000  WorkflowTaskScheduled
      11     4.000  WorkflowTaskStarted
      12     5.000  WorkflowTaskCompleted
      13     5.000  WorkflowExecutionUpdateCompleted u1
    effects at 3: update u1 accepted
    updates at 4: none
    effects at 5: update u1 gave yes
    ");
}

#[test]
fn a_rejected_update_leaves_no_event_of_its_own() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 complete reject(u1,no)
        3 show effects task
    "), @r"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7     3.000  WorkflowTaskCompleted
    effects at 3: update u1 failed: no
    task at 3: none
    ");
}

#[test]
fn messages_whose_place_no_command_tells_come_after_the_commands_but_before_a_close() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 complete accept(u1,unplaced) marker(m) respond(u1,yes,unplaced) done(ok)
        3 show effects
    "), @r"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7     3.000  WorkflowTaskCompleted
       8     3.000  MarkerRecorded m
       9     3.000  WorkflowExecutionUpdateAccepted u1
      10     3.000  WorkflowExecutionUpdateCompleted u1
      11     3.000  WorkflowExecutionCompleted ok
    effects at 3: update u1 accepted; update u1 gave yes; closed
    ");
}

#[test]
fn the_same_update_is_taken_once() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        1 update u1
        2 take-task
        3 complete accept(u1)
        4 update u1
        5 signal s
        5 take-task
        5 complete respond(u1,yes)
        6 update u1
        6 show effects
    "), @r"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7     3.000  WorkflowTaskCompleted
       8     3.000  WorkflowExecutionUpdateAccepted u1
       9     5.000  WorkflowExecutionSignaled s
      10     5.000  WorkflowTaskScheduled
      11     5.000  WorkflowTaskStarted
      12     5.000  WorkflowTaskCompleted
      13     5.000  WorkflowExecutionUpdateCompleted u1
    effects at 6: none
    ");
}

#[test]
fn updates_go_out_in_the_order_in_which_they_came() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update zebra
        1 update ant
        2 update moose
        3 take-task
        3 show updates
    "), @r"
    updates at 3: zebra/request; ant/request; moose/request
    ");
}

#[test]
fn an_update_that_comes_while_a_worker_has_the_task_waits_for_the_next_one() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 update u1
        1 show updates
        2 complete timer(t1,1h)
        2 show task
        3 take-task
        3 show updates
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskCompleted
       5     2.000  TimerStarted t1 3600s
    updates at 1: none
    task at 2: scheduled attempt=1
    updates at 3: u1/request
    ");
}

#[test]
fn an_update_that_no_worker_has_seen_does_not_keep_a_run_from_closing() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 update u1
        2 complete done(ok)
        2 show effects
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskCompleted
       5     2.000  WorkflowExecutionCompleted ok
    effects at 2: update u1 aborted: Closed; closed
    ");
}

#[test]
fn an_update_that_the_worker_says_nothing_to_is_rejected() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 complete
        3 show effects task
    "), @r"
    effects at 3: update u1 failed: Workflow Update is rejected because it wasn't processed by worker. Probably, Workflow Update is not supported by the worker.
    task at 3: none
    ");
}

#[test]
fn a_heartbeat_need_not_answer_and_the_update_is_not_sent_again() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 complete force
        3 take-task
        3 show updates
        4 complete force
        4 take-task
        5 complete
        5 show effects
    "), @r"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7     3.000  WorkflowTaskCompleted
       8     3.000  WorkflowTaskScheduled
       9     3.000  WorkflowTaskStarted
      10     4.000  WorkflowTaskCompleted
      11     4.000  WorkflowTaskScheduled
      12     4.000  WorkflowTaskStarted
      13     5.000  WorkflowTaskCompleted
    updates at 3: none
    effects at 5: update u1 failed: Workflow Update is rejected because it wasn't processed by worker. Probably, Workflow Update is not supported by the worker.
    ");
}

#[test]
fn an_update_is_sent_again_when_its_task_fails_or_is_lost() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 fail-task nondeterminism oops
        3 take-task
        3 show updates
        13 tick
        13 take-task
        13 show updates
        14 complete accept(u1) respond(u1,yes)
    "), @r#"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7     3.000  WorkflowTaskFailed NonDeterministicError "oops"
       8    13.000  WorkflowTaskScheduled attempt=3
       9    13.000  WorkflowTaskStarted
      10    14.000  WorkflowTaskCompleted
      11    14.000  WorkflowExecutionUpdateAccepted u1
      12    14.000  WorkflowExecutionUpdateCompleted u1
    updates at 3: u1/request
    updates at 13: u1/request
    "#);
}

#[test]
fn a_bad_command_aborts_the_updates_that_its_task_carried() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        2 update u2
        3 complete timer(t)
        3 show effects
        4 take-task
        4 show updates
    "), @r#"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7     3.000  WorkflowTaskFailed BadStartTimerAttributes "BadStartTimerAttributes: A valid StartToFireTimeout is not set on command."
    answered at 3: BadStartTimerAttributes: A valid StartToFireTimeout is not set on command.
    effects at 3: update u1 aborted: TaskFailed; task
    updates at 4: u2/request
    "#);
}

#[test]
fn a_close_that_is_refused_keeps_the_update_for_the_next_task() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 signal s
        4 complete accept(u1) respond(u1,yes) done(ok)
        4 show effects
        5 take-task
        5 show updates
    "), @r#"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7     4.000  WorkflowTaskFailed UnhandledCommand "UnhandledCommand"
       8     4.000  WorkflowExecutionSignaled s
       9     4.000  WorkflowTaskScheduled
      10     5.000  WorkflowTaskStarted
    answered at 4: UnhandledCommand
    effects at 4: task
    updates at 5: u1/request
    "#);
}

#[test]
fn a_workflow_task_that_fails_over_and_over_takes_no_update() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        0 fail-task nondeterminism one
        0 take-task
        0 fail-task nondeterminism two
        1 show task
        1 update u1
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     0.000  WorkflowTaskFailed NonDeterministicError "one"
    task at 1: scheduled attempt=3
    refused at 1: Unable to perform workflow execution update due to Workflow Task in failed state.
    "#);
}

#[test]
fn an_update_outlives_a_task_that_fails_over_and_over() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        0 update u1
        0 fail-task nondeterminism one
        0 take-task
        0 show updates
        1 fail-task nondeterminism two
        1 show effects
        1 take-task
        1 show updates
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     0.000  WorkflowTaskFailed NonDeterministicError "one"
    updates at 0: u1/request
    effects at 1: task
    updates at 1: u1/request
    "#);
}

#[test]
fn a_close_fails_the_updates_that_were_accepted_and_aborts_the_others() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,1h)
        1 update u1
        2 take-task
        3 complete accept(u1)
        4 signal s
        4 take-task
        5 update u2
        6 complete done(ok)
        6 show effects
    "), @r"
       5     0.000  TimerStarted t1 3600s
       6     1.000  WorkflowTaskScheduled
       7     2.000  WorkflowTaskStarted
       8     3.000  WorkflowTaskCompleted
       9     3.000  WorkflowExecutionUpdateAccepted u1
      10     4.000  WorkflowExecutionSignaled s
      11     4.000  WorkflowTaskScheduled
      12     4.000  WorkflowTaskStarted
      13     6.000  WorkflowTaskCompleted
      14     6.000  WorkflowExecutionCompleted ok
    effects at 6: update u1 failed: Workflow Update failed because the Workflow completed before the Update completed.; update u2 aborted: Closed; closed
    ");
}

#[test]
fn an_update_for_a_run_that_goes_on_as_another_is_to_be_asked_again() {
    let world = crate::common::World::default().play(
        "
        0 start Order
        0 take-task
        1 update u1
        2 complete continue(Order)
    ",
    );
    let effects = format!("{:?}", world.stories[0].effects);
    assert!(effects.contains("Aborted(Continued)"), "{effects}");
}

#[test]
fn answers_that_make_no_sense_fail_the_task() {
    let fate = |answers: &str| {
        let text = check(&format!(
            "
            0 run Order
            1 update u1
            2 take-task
            3 complete accept(u1)
            4 signal s
            4 take-task
            5 complete {answers}
        "
        ));
        let last = text.lines().last().unwrap_or_default();
        format!("{answers:<28} {last}")
    };
    let cases = [
        "accept(u1)",
        "reject(u1,no)",
        "respond(u1,a) respond(u1,b)",
        "respond(u2,a)",
        "accept(u2)",
        "respond(u1,a,no-meta)",
    ];
    insta::assert_snapshot!(cases.map(fate).join("\n"), @r"
    accept(u1)                   answered at 5: BadUpdateWorkflowExecutionMessage: update u1 was accepted before
    reject(u1,no)                answered at 5: BadUpdateWorkflowExecutionMessage: update u1 was accepted before
    respond(u1,a) respond(u1,b)  answered at 5: BadUpdateWorkflowExecutionMessage: update u1 is not under way
    respond(u2,a)                answered at 5: BadUpdateWorkflowExecutionMessage: update u2 is not under way
    accept(u2)                   answered at 5: BadUpdateWorkflowExecutionMessage: update u2 is not known
    respond(u1,a,no-meta)          13     5.000  WorkflowExecutionUpdateCompleted u1
    ");
}

#[test]
fn an_update_that_the_engine_has_lost_comes_back_with_its_acceptance() {
    insta::assert_snapshot!(check("
        0 run Order
        1 update u1
        2 take-task
        3 crash
        4 complete accept(u1,with-request) respond(u1,yes)
        4 show effects
    "), @r"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7     4.000  WorkflowTaskCompleted
       8     4.000  WorkflowExecutionUpdateAccepted u1
       9     4.000  WorkflowExecutionUpdateCompleted u1
    effects at 4: update u1 accepted; update u1 gave yes
    ");
}

#[test]
fn there_are_limits_to_updates() {
    let limits = Limits { updates_in_flight_max: 2, updates_max: 3, ..Limits::default() };
    insta::assert_snapshot!(check_within(limits, "
        0 run Order
        1 update
        1 update u1
        1 update u2
        1 update u3
        2 take-task
        2 complete accept(u1) respond(u1,a) accept(u2) respond(u2,b)
        3 update u3
        4 update u4
        4 update u1
    "), @r"
       5     1.000  WorkflowTaskScheduled
       6     2.000  WorkflowTaskStarted
       7     2.000  WorkflowTaskCompleted
       8     2.000  WorkflowExecutionUpdateAccepted u1
       9     2.000  WorkflowExecutionUpdateCompleted u1
      10     2.000  WorkflowExecutionUpdateAccepted u2
      11     2.000  WorkflowExecutionUpdateCompleted u2
    refused at 1: update_id: must be set
    refused at 1: limit on number of concurrent in-flight updates has been reached (2)
    refused at 4: limit on the total number of distinct updates in this workflow has been reached (3)
    ");
}

#[test]
fn an_update_does_not_wait_for_a_delayed_start() {
    insta::assert_snapshot!(check("
        0 start Order delay=60s
        1 update u1
        1 show effects
        2 take-task
        2 show updates
        3 complete accept(u1) respond(u1,yes)
        60 tick
    "), @r"
       1     0.000  WorkflowExecutionStarted Order backoff=60s
       2     1.000  WorkflowTaskScheduled
       3     2.000  WorkflowTaskStarted
       4     3.000  WorkflowTaskCompleted
       5     3.000  WorkflowExecutionUpdateAccepted u1
       6     3.000  WorkflowExecutionUpdateCompleted u1
    effects at 1: task
    updates at 2: u1/request
    ");
}
