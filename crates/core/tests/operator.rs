//! What an operator does to pending activities, and what a description shows of them.

use steadfast_core::span::instant_from_wire;

use crate::common::{World, check};

#[test]
fn a_paused_activity_is_not_handed_out_until_it_is_let_go() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s)
        1 pause a id=r1 why=broken
        1 show activities work
        2 take a
        2 take a stamp=0
        3 unpause a
        3 show activities effects
        4 take a
        5 finish a ok
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     4.000  ActivityTaskStarted #5 attempt=1
       7     5.000  ActivityTaskCompleted #5 ok
       8     5.000  WorkflowTaskScheduled
    activities at 1: a PAUSED attempt=1;
    work at 1: false
    refused at 2: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 2: invalid activityID or activity already timed out or invoking workflow is completed
    activities at 3: a SCHEDULED attempt=1;
    effects at 3: activity #5
    ");
}

#[test]
fn pausing_again_is_fine_for_the_same_request_and_refused_for_another() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s) schedule(b,Charge,stc=50s)
        1 pause a id=r1
        1 pause a id=r1
        2 pause a id=r2
        3 pause all id=r3
        3 show activities
        4 pause nobody
        4 pause - type=Nothing
        4 unpause nobody
        5 unpause - type=Charge
        5 unpause all
        5 show activities
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
    refused at 2: activity is already paused
    activities at 3: a PAUSED attempt=1; b PAUSED attempt=1;
    refused at 4: Can't find pending activity with such ID. Invalid activityID or activity already completed
    refused at 4: Can't find pending activity with such ID. Invalid activityID or activity already completed
    refused at 4: Can't find pending activity with such ID. Invalid activityID or activity already completed
    activities at 5: a SCHEDULED attempt=1; b SCHEDULED attempt=1;
    ");
}

#[test]
fn a_running_attempt_goes_on_when_it_is_paused_but_is_not_tried_again() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s)
        0 take a
        1 pause a
        1 show activities
        2 fail a boom
        2 show activities due
        90 tick
        90 unpause a
        90 show activities effects
        90 take a
        91 finish a ok
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6    90.000  ActivityTaskStarted #5 attempt=2 "boom"
       7    91.000  ActivityTaskCompleted #5 ok
       8    91.000  WorkflowTaskScheduled
    activities at 1: a PAUSE_REQUESTED attempt=1;
    activities at 2: a PAUSED attempt=2 last="boom";
    due at 2: never
    activities at 90: a SCHEDULED attempt=2 last="boom";
    effects at 90: activity #5
    "#);
}

#[test]
fn a_running_attempt_that_succeeds_while_paused_ends_it() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s)
        0 take a
        1 pause a
        2 finish a ok
    "), @r"
    5     0.000  ActivityTaskScheduled a Charge
    6     0.000  ActivityTaskStarted #5 attempt=1
    7     2.000  ActivityTaskCompleted #5 ok
    8     2.000  WorkflowTaskScheduled
    ");
}

#[test]
fn a_pause_stops_the_wait_for_the_next_attempt_but_not_the_limit_over_all() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s,s2c=60s)
        0 take a
        0 fail a boom
        0.5 pause a
        0.5 show due activities
        1 tick
        1 show effects
        60 tick
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6    60.000  ActivityTaskTimedOut #5 (not started) Timeout "Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying" after "boom"
       7    60.000  WorkflowTaskScheduled
    due at 0.5: 60
    activities at 0.5: a PAUSED attempt=2 last="boom";
    effects at 1: none
    "#);
}

#[test]
fn unpausing_may_count_anew_and_forget_the_heartbeat() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s,attempts=3)
        0 take a
        0 beat a half
        0 fail a boom
        1 pause a
        2 unpause a reset-attempts reset-heartbeat
        2 show activities
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    activities at 2: a SCHEDULED attempt=1/3 last="boom";
    "#);
}

#[test]
fn unpausing_may_be_spread_over_a_while() {
    let world = World::default().play(
        "
        0 run Order schedule(a,Charge,stc=50s)
        1 pause a
        2 unpause a jitter=10s
    ",
    );
    let run = &world.story().run;
    let due = run.next_due().expect("it is due some time");
    let wait = due.since(world.now);
    assert!(!wait.is_zero() && wait.as_secs() < 10, "{wait:?}");
    assert_eq!(run.ready_activities().count(), 0);
}

#[test]
fn resetting_one_that_waits_makes_it_begin_at_once_with_the_first_attempt() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s,attempts=3)
        0 take a
        0 fail a boom
        0.5 reset-activity a
        0.5 show activities effects
        0.5 take a
        1 finish a ok
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.500  ActivityTaskStarted #5 attempt=1 "boom"
       7     1.000  ActivityTaskCompleted #5 ok
       8     1.000  WorkflowTaskScheduled
    activities at 0.5: a SCHEDULED attempt=1/3 last="boom";
    effects at 0.5: activity #5
    "#);
}

#[test]
fn resetting_a_running_one_lets_it_go_on_as_the_first_attempt() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s,attempts=2)
        0 take a
        0 fail a one
        1 tick
        1 take a
        1 beat a half
        2 reset-activity a reset-heartbeat
        2 show activities
        3 fail a two
        3 show activities attempts
        4 tick
        4 take a
        5 fail a three
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     4.000  ActivityTaskStarted #5 attempt=2 "two"
       7     5.000  ActivityTaskFailed #5 MaximumAttemptsReached "three"
       8     5.000  WorkflowTaskScheduled
    activities at 2: a STARTED attempt=2/2 last="one" beat=half;
    activities at 3: a SCHEDULED attempt=2/2 last="two" wait=1s;
    attempts at 3: a/1: retry in 1s: backoff, next 1; a/2: retry in 1s: backoff, next 4
    "#);
}

#[test]
fn resetting_a_paused_one_lets_it_go_unless_it_is_to_stay_paused() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s) schedule(b,Charge,stc=50s)
        1 pause all
        2 reset-activity a keep-paused
        2 reset-activity b
        2 show activities
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
    activities at 2: a PAUSED attempt=1; b SCHEDULED attempt=1;
    ");
}

#[test]
fn changed_options_hold_from_then_on_and_make_older_offers_void() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s)
        1 options a stc=5s attempts=2 queue=other
        1 show effects activities
        1 take a stamp=0
        1 take a
        6 tick
        6 show activities
        7 tick
        7 take a
        8 fail a boom
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     7.000  ActivityTaskStarted #5 attempt=2 "activity StartToClose timeout"
       7     8.000  ActivityTaskFailed #5 MaximumAttemptsReached "boom"
       8     8.000  WorkflowTaskScheduled
    effects at 1: activity #5; withdraw activity #5.0
    activities at 1: a SCHEDULED attempt=1/2;
    refused at 1: invalid activityID or activity already timed out or invoking workflow is completed
    activities at 6: a SCHEDULED attempt=2/2 last="activity StartToClose timeout" wait=1s;
    "#);
}

#[test]
fn a_changed_policy_holds_for_the_wait_that_has_begun() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s,init=60s,coef=1)
        0 take a
        1 fail a boom
        1 show due
        2 options a init=5s
        2 show due
        3 options a restore
        3 show due
        4 options a attempts=1
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskStarted #5 attempt=1
       7     4.000  ActivityTaskFailed #5 MaximumAttemptsReached "boom"
       8     4.000  WorkflowTaskScheduled
    due at 1: 61
    due at 2: 6
    due at 3: 61
    "#);
}

#[test]
fn a_shorter_limit_holds_for_the_attempt_that_runs() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s)
        0 take a
        1 options a stc=5s
        1 show due
        1 options a restore
        1 show due
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
    due at 1: 5
    due at 1: 50
    ");
}

#[test]
fn options_that_make_no_sense_are_refused_and_change_nothing() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s)
        1 options a
        1 options a stc=5s restore
        1 options a mask=colour
        1 options a stc=0s
        1 options a coef=0.5
        1 options a s2c=-1s
        1 options nobody stc=5s
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    refused at 1: update_mask: either names what to change, or restores what the workflow asked for
    refused at 1: update_mask: either names what to change, or restores what the workflow asked for
    refused at 1: update_mask: unknown path "colour"
    refused at 1: activity_options: start_to_close_timeout or schedule_to_close_timeout must be set
    refused at 1: activity_options.retry_policy: BackoffCoefficient cannot be less than 1 on retry policy.
    refused at 1: schedule_to_close_timeout: -1 s and 0 ns do not make a duration: it must not be negative
    refused at 1: Can't find pending activity with such ID. Invalid activityID or activity already completed
    "#);
}

#[test]
fn c_39_t_29_a_description_tells_the_attempt() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s)
        0 take a
        0 fail a one
        1 tick
        1 take a
        1 fail a two
        1.5 show activities
        3 tick
        3 take a
        3 show activities
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    activities at 1.5: a SCHEDULED attempt=3 last="two" wait=2s;
    activities at 3: a STARTED attempt=3 last="two";
    "#);
}

#[test]
fn c_113_a_description_tells_everything_about_a_pending_activity() {
    let world = World::default().play(
        "
        0 run Order schedule(a,Charge,stc=50s,s2c=600s,attempts=5)
        2 take a by=first
        3 beat a half
        4 fail a boom
        4 show activities
        5 tick
        6 take a by=second
    ",
    );
    let info = world.story().run.pending_activities().remove(0);
    let second = |wire: Option<steadfast_proto::prost_types::Timestamp>| {
        wire.map(|wire| instant_from_wire(&wire).since(crate::common::world::BEGIN).as_secs())
    };
    assert_eq!(info.activity_id, "a");
    assert_eq!(info.activity_type.unwrap().name, "Charge");
    assert_eq!((info.attempt, info.maximum_attempts), (2, 5));
    assert_eq!(second(info.scheduled_time), Some(5));
    assert_eq!(second(info.last_started_time), Some(6));
    assert_eq!(second(info.last_heartbeat_time), Some(3));
    assert_eq!(second(info.last_attempt_complete_time), Some(4));
    assert_eq!(second(info.expiration_time), Some(600));
    assert_eq!(info.heartbeat_details.unwrap().payloads[0].data, b"half");
    assert_eq!(info.last_failure.unwrap().message, "boom");
    assert_eq!(info.last_worker_identity, "second");
    assert!(info.next_attempt_schedule_time.is_none(), "it does not wait");
    assert!(info.activity_options.is_some());
}

#[test]
fn a_description_tells_who_paused_an_activity_and_not_when_it_would_be_tried() {
    let world = World::default().play(
        "
        0 run Order schedule(a,Charge,stc=50s)
        0 take a
        0 fail a boom
        1 pause a why=broken
    ",
    );
    let info = world.story().run.pending_activities().remove(0);
    assert!(info.paused && info.pause_info.is_some());
    assert!(info.next_attempt_schedule_time.is_none() && info.current_retry_interval.is_none());
}

#[test]
fn a_pause_gives_no_attempt_that_the_policy_does_not_have() {
    let fate = |unpause: &str| {
        check(&format!(
            "
            0 run Order schedule(a,Charge,stc=5s,attempts=1)
            0 take a
            1 pause a
            2 fail a boom
            3 {unpause}
            3 show activities effects
            4 take a
        "
        ))
    };
    insta::assert_snapshot!([fate("unpause a"), fate("unpause a reset-attempts")].join("\n"), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskStarted #5 attempt=1
       7     3.000  ActivityTaskFailed #5 MaximumAttemptsReached "boom"
       8     3.000  WorkflowTaskScheduled
    activities at 3: none
    effects at 3: task
    refused at 4: invalid activityID or activity already timed out or invoking workflow is completed

       5     0.000  ActivityTaskScheduled a Charge
    activities at 3: a SCHEDULED attempt=1/1 last="boom";
    effects at 3: activity #5
    "#);
}

#[test]
fn an_attempt_that_times_out_while_paused_may_have_been_the_last() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s,attempts=2,init=1s)
        0 take a
        1 fail a boom
        2 tick
        2 take a
        3 pause a
        7 tick
        7 show activities
        8 unpause a
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     2.000  ActivityTaskStarted #5 attempt=2
       7     8.000  ActivityTaskTimedOut #5 MaximumAttemptsReached "activity StartToClose timeout"
       8     8.000  WorkflowTaskScheduled
    activities at 7: a PAUSED attempt=3/2 last="activity StartToClose timeout";
    "#);
}

#[test]
fn a_wait_that_is_not_over_goes_on_after_a_pause() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s,init=10s)
        0 take a
        0 fail a boom
        1 pause a
        2 unpause a
        2 show activities due
        10 tick
        10 take a
        10 pause a
        11 fail a boom
        12 unpause a
        12 show activities due
        13 pause a
        14 unpause a reset-attempts
        14 show activities effects
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    activities at 2: a SCHEDULED attempt=2 last="boom" wait=10s;
    due at 2: 10
    activities at 12: a SCHEDULED attempt=3 last="boom" wait=20s;
    due at 12: 31
    activities at 14: a SCHEDULED attempt=1 last="boom";
    effects at 14: activity #5
    "#);
}
