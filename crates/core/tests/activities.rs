//! Activities: attempts, retries, time limits, cancellation, heartbeats.

use steadfast_core::Limits;
use steadfast_proto::{
    enums::TimeoutType, failure::failure::FailureInfo, history::history_event::Attributes,
};

use crate::common::{World, check, check_within};

#[test]
fn a_success_writes_start_and_end_together_when_it_ends() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s)
        0 show effects
        1 take a
        1 show effects task activities
        3 finish a paid
        3 show effects activities attempts
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     1.000  ActivityTaskStarted #5 attempt=1
       7     3.000  ActivityTaskCompleted #5 paid
       8     3.000  WorkflowTaskScheduled
    effects at 0: activity #5
    effects at 1: none
    task at 1: none
    activities at 1: a STARTED attempt=1;
    effects at 3: task
    activities at 3: none
    attempts at 3: none
    ");
}

#[test]
fn an_activity_is_taken_once_but_the_same_poll_may_ask_twice() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s)
        1 take a poll=p1
        1 take a poll=p1
        1 take a poll=p2
        1 take a
        2 finish a ok
        3 take a
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     1.000  ActivityTaskStarted #5 attempt=1
       7     2.000  ActivityTaskCompleted #5 ok
       8     2.000  WorkflowTaskScheduled
    refused at 1: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 1: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 3: invalid activityID or activity already timed out or invoking workflow is completed
    ");
}

#[test]
fn an_offer_that_is_out_of_date_is_void() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s)
        1 take a attempt=2
        1 take a stamp=3
        1 take a
        2 fail a boom
        2.5 take a
        3 tick
        3 take a attempt=1
        3 take a
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
    refused at 1: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 1: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 2.5: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 3: invalid activityID or activity already timed out or invoking workflow is completed
    ");
}

#[test]
fn an_eager_activity_is_offered_to_the_worker_that_asked() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s,eager) schedule(b,Charge,stc=10s,eager,queue=other)
        0 show effects
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
    effects at 0: activity #5 eager; activity #6
    ");
}

#[test]
fn a_worker_that_went_away_before_it_saw_the_attempt_gives_it_back() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s,attempts=1)
        1 take a
        2 return a
        2 show effects activities
        3 finish a late
        4 take a
        5 finish a#1 late
        6 finish a ok
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     4.000  ActivityTaskStarted #5 attempt=1
       7     6.000  ActivityTaskCompleted #5 ok
       8     6.000  WorkflowTaskScheduled
    effects at 2: activity #5
    activities at 2: a SCHEDULED attempt=1/1;
    refused at 3: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 5: invalid activityID or activity already timed out or invoking workflow is completed
    ");
}

#[test]
fn without_a_policy_it_is_retried_for_ever_with_growing_waits() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s)
        0 take a
        0 fail a one
        0 show activities due
        1 tick
        1 take a
        1 fail a two
        1 show due
        3 tick
        3 take a
        3 fail a three
        3 show due activities attempts
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    activities at 0: a SCHEDULED attempt=2 last="one" wait=1s;
    due at 0: 1
    due at 1: 3
    due at 3: 7
    activities at 3: a SCHEDULED attempt=4 last="three" wait=4s;
    attempts at 3: a/1: retry in 1s: backoff, next 1; a/2: retry in 2s: backoff, next 3; a/3: retry in 4s: backoff, next 7
    "#);
}

#[test]
fn waits_grow_by_the_coefficient_up_to_the_maximum() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s,init=2s,coef=3,max=10s)
        0 take a
        0 fail a one
        2 tick
        2 take a
        2 fail a two
        8 tick
        8 take a
        8 fail a three
        8 show attempts
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
    attempts at 8: a/1: retry in 2s: backoff, next 2; a/2: retry in 6s: backoff, next 8; a/3: retry in 10s: backoff, next 18
    ");
}

#[test]
fn a_failure_may_say_itself_when_to_try_again() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s,max=2s)
        0 take a
        0 fail a busy next=60s
        0 show due
        60 tick
        60 take a
        60 fail a boom
        60 show due
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
    due at 0: 60
    due at 60: 62
    ");
}

#[test]
fn c_36_t_28_the_start_is_not_in_the_history_while_it_is_retried() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s,attempts=10)
        0 take a
        0 fail a one
        1 tick
        1 take a
        1 fail a two
        3 tick
        3 take a
        3 fail a three
        7 tick
        7 take a
    "), @"   5     0.000  ActivityTaskScheduled a Charge");
}

#[test]
fn c_37_t_28_the_start_is_written_with_its_attempt_when_it_completes() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s)
        0 take a
        0 fail a one
        1 tick
        1 take a
        1 fail a two
        3 tick
        3 take a
        4 finish a ok
    "), @r#"
    5     0.000  ActivityTaskScheduled a Charge
    6     3.000  ActivityTaskStarted #5 attempt=3 "two"
    7     4.000  ActivityTaskCompleted #5 ok
    8     4.000  WorkflowTaskScheduled
    "#);
}

#[test]
fn c_38_t_28_the_start_is_written_with_its_attempt_when_it_finally_fails() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s,attempts=3)
        0 take a
        0 fail a one
        1 tick
        1 take a
        1 fail a two
        3 tick
        3 take a
        4 fail a three
        4 show attempts
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     3.000  ActivityTaskStarted #5 attempt=3 "two"
       7     4.000  ActivityTaskFailed #5 MaximumAttemptsReached "three"
       8     4.000  WorkflowTaskScheduled
    attempts at 4: a/1: retry in 1s: backoff, next 1; a/2: retry in 2s: backoff, next 3; a/3: exhausted, fail: max attempts (3) reached
    "#);
}

#[test]
fn c_106_a_late_answer_of_an_old_attempt_is_refused() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s)
        0 take a by=slow
        5 tick
        6 tick
        6 take a by=fast
        7 finish a#1 old
        7 fail a#1 old
        7 beat a#1 old
        7 cancelled a#1
        8 finish a#2 new
        9 finish a#2 again
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     6.000  ActivityTaskStarted #5 attempt=2 "activity StartToClose timeout"
       7     8.000  ActivityTaskCompleted #5 new
       8     8.000  WorkflowTaskScheduled
    refused at 7: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 7: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 7: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 7: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 9: invalid activityID or activity already timed out or invoking workflow is completed
    "#);
}

#[test]
fn c_107_a_retry_timer_that_fires_twice_starts_one_attempt() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s)
        0 take a
        0 fail a one
        1 tick
        1 show effects
        1 tick
        1 show effects
        1 take a
        1 take a
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
    effects at 1: activity #5
    effects at 1: none
    refused at 1: invalid activityID or activity already timed out or invoking workflow is completed
    ");
}

#[test]
fn failures_end_it_for_these_reasons() {
    let script = |options: &str, failure: &str| {
        let text = check(&format!(
            "
            0 run Order schedule(a,Charge,{options})
            0 take a
            2 fail a boom {failure}
        "
        ));
        let end = text.lines().find(|line| line.contains("ActivityTaskFailed"));
        let end = end.map_or("retried", |line| line.split_once("Failed ").unwrap().1);
        format!("{options:<25} {failure:<20} {end}")
    };
    let cases = [
        ("stc=10s", ""),
        ("stc=10s", "final"),
        ("stc=10s,non=Bad", "type=Bad"),
        ("stc=10s,non=Bad", "type=Worse"),
        ("stc=10s,attempts=1", ""),
        ("stc=10s,s2c=3s", ""),
        ("stc=10s,s2c=2.9s", ""),
        ("stc=10s,s2c=60s", "next=58s"),
        ("stc=10s,s2c=60s", "next=58.1s"),
        ("stc=10s", "as-cancel"),
        ("stc=10s,attempts=1", "final"),
    ];
    let all = cases.iter().map(|(options, failure)| script(options, failure));
    insta::assert_snapshot!(all.collect::<Vec<_>>().join("\n"), @r#"
    stc=10s                                        retried
    stc=10s                   final                #5 NonRetryableFailure "boom"
    stc=10s,non=Bad           type=Bad             #5 NonRetryableFailure "boom"
    stc=10s,non=Bad           type=Worse           retried
    stc=10s,attempts=1                             #5 MaximumAttemptsReached "boom"
    stc=10s,s2c=3s                                 retried
    stc=10s,s2c=2.9s                               #5 Timeout "boom"
    stc=10s,s2c=60s           next=58s             retried
    stc=10s,s2c=60s           next=58.1s           #5 Timeout "boom"
    stc=10s                   as-cancel            #5 NonRetryableFailure "boom"
    stc=10s,attempts=1        final                #5 NonRetryableFailure "boom"
    "#);
}

#[test]
fn an_attempt_that_takes_too_long_is_retried_until_the_attempts_are_used_up() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s,attempts=2)
        0 take a
        0 beat a half
        4.9 tick
        5 tick
        5 show activities
        6 tick
        6 take a
        11 tick
        11 show attempts
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     6.000  ActivityTaskStarted #5 attempt=2 "activity StartToClose timeout"
       7    11.000  ActivityTaskTimedOut #5 MaximumAttemptsReached "activity StartToClose timeout" after "activity StartToClose timeout"
       8    11.000  WorkflowTaskScheduled
    activities at 5: a SCHEDULED attempt=2/2 last="activity StartToClose timeout" beat=half wait=1s;
    attempts at 11: a/1: retry in 1s: backoff, next 6; a/2: exhausted, fail: max attempts (2) reached
    "#);
}

#[test]
fn a_worker_that_goes_quiet_is_given_up() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=1h,hb=3s,attempts=1)
        0 take a
        2 beat a one
        4 beat a two
        6.9 tick
        7 tick
    "), @r#"
    5     0.000  ActivityTaskScheduled a Charge
    6     0.000  ActivityTaskStarted #5 attempt=1
    7     7.000  ActivityTaskTimedOut #5 MaximumAttemptsReached "activity Heartbeat timeout"
    8     7.000  WorkflowTaskScheduled
    "#);
}

#[test]
fn an_attempt_that_nobody_takes_in_time_ends_it() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s,s2s=3s)
        3 tick
    "), @r#"
    5     0.000  ActivityTaskScheduled a Charge
    6     3.000  ActivityTaskTimedOut #5 (not started) Timeout "activity ScheduleToStart timeout"
    7     3.000  WorkflowTaskScheduled
    "#);
}

#[test]
fn the_wait_for_a_worker_is_counted_for_every_attempt() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s,s2s=3s)
        2 take a
        4 fail a boom
        5 tick
        7.9 tick
        8 tick
    "), @r#"
    5     0.000  ActivityTaskScheduled a Charge
    6     8.000  ActivityTaskTimedOut #5 (not started) Timeout "activity ScheduleToStart timeout" after "boom"
    7     8.000  WorkflowTaskScheduled
    "#);
}

#[test]
fn all_attempts_together_may_not_take_too_long() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,s2c=10s,stc=9s)
        8 take a
        10 tick
    "), @r#"
    5     0.000  ActivityTaskScheduled a Charge
    6     8.000  ActivityTaskStarted #5 attempt=1
    7    10.000  ActivityTaskTimedOut #5 Timeout "Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying"
    8    10.000  WorkflowTaskScheduled
    "#);
}

#[test]
fn when_two_limits_are_passed_at_once_the_nearer_cause_is_told() {
    insta::assert_snapshot!(check("
        0 run Order schedule(waits,Charge,s2c=10s) schedule(runs,Charge,s2c=10s,attempts=1)
        0 take runs
        10 tick
    "), @r#"
     5     0.000  ActivityTaskScheduled waits Charge
     6     0.000  ActivityTaskScheduled runs Charge
     7    10.000  ActivityTaskTimedOut #5 (not started) Timeout "activity ScheduleToStart timeout"
     8     0.000  ActivityTaskStarted #6 attempt=1
     9    10.000  ActivityTaskTimedOut #6 MaximumAttemptsReached "activity StartToClose timeout"
    10    10.000  WorkflowTaskScheduled
    "#);
}

#[test]
fn the_limit_over_all_attempts_holds_while_it_waits_for_the_next_one() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,s2c=10s,stc=9s,init=9s)
        0 take a
        0.5 fail a boom
        9.5 tick
        10 tick
        10 show attempts
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6    10.000  ActivityTaskTimedOut #5 (not started) Timeout "Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying" after "boom"
       7    10.000  WorkflowTaskScheduled
    attempts at 10: a/1: retry in 9s: backoff, next 9.5
    "#);
}

#[test]
fn a_slow_attempt_that_leaves_no_time_for_another_ends_with_the_limit_over_all() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,s2c=10s,stc=8s,init=3s)
        0 take a
        0 beat a half
        8 tick
    "), @r#"
    5     0.000  ActivityTaskScheduled a Charge
    6     0.000  ActivityTaskStarted #5 attempt=1
    7     8.000  ActivityTaskTimedOut #5 Timeout "Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying"
    8     8.000  WorkflowTaskScheduled
    "#);
}

#[test]
fn a_timeout_that_is_listed_is_not_retried() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s,non=TemporalTimeout:StartToClose)
        0 take a
        5 tick
    "), @r#"
    5     0.000  ActivityTaskScheduled a Charge
    6     0.000  ActivityTaskStarted #5 attempt=1
    7     5.000  ActivityTaskTimedOut #5 NonRetryableFailure "activity StartToClose timeout"
    8     5.000  WorkflowTaskScheduled
    "#);
}

#[test]
fn an_engine_that_slept_through_a_retry_and_the_last_limit_writes_the_limit() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,s2c=10s,stc=5s)
        0 take a
        1 fail a boom
        60 tick
        60 show due
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6    60.000  ActivityTaskTimedOut #5 (not started) Timeout "Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying" after "boom"
       7    60.000  WorkflowTaskScheduled
    due at 60: never
    "#);
}

#[test]
fn one_that_no_worker_has_is_cancelled_at_once() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s) schedule(b,Charge,stc=5s)
        0 take b
        0 fail b boom
        1 signal s
        1 take-task
        1 complete cancel-activity(a) cancel-activity(b)
        1 show activities effects
        2 take a
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
       7     1.000  WorkflowExecutionSignaled s
       8     1.000  WorkflowTaskScheduled
       9     1.000  WorkflowTaskStarted
      10     1.000  WorkflowTaskCompleted
      11     1.000  ActivityTaskCancelRequested #5
      12     1.000  ActivityTaskCanceled #5 (not started)
      13     1.000  ActivityTaskCancelRequested #6
      14     1.000  ActivityTaskCanceled #6 (not started)
      15     1.000  WorkflowTaskScheduled
    activities at 1: none
    effects at 1: task
    refused at 2: invalid activityID or activity already timed out or invoking workflow is completed
    ");
}

#[test]
fn one_that_was_asked_for_and_cancelled_in_one_completion_is_never_offered() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s) cancel-activity(#5)
        0 show effects
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskCancelRequested #5
       7     0.000  ActivityTaskCanceled #5 (not started)
       8     0.000  WorkflowTaskScheduled
    effects at 0: task
    ");
}

#[test]
fn a_worker_that_has_it_hears_of_the_cancellation_and_decides() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s) schedule(b,Charge,stc=50s) schedule(c,Charge,stc=50s)
        0 take a
        0 take b
        0 take c
        1 cancelled a early
        1 signal s
        1 take-task
        1 complete cancel-activity(a) cancel-activity(b) cancel-activity(c)
        1 show activities
        2 cancelled a bye
        2 finish b done
        2 fail c boom
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
       7     0.000  ActivityTaskScheduled c Charge
       8     1.000  WorkflowExecutionSignaled s
       9     1.000  WorkflowTaskScheduled
      10     1.000  WorkflowTaskStarted
      11     1.000  WorkflowTaskCompleted
      12     1.000  ActivityTaskCancelRequested #5
      13     1.000  ActivityTaskCancelRequested #6
      14     1.000  ActivityTaskCancelRequested #7
      15     0.000  ActivityTaskStarted #5 attempt=1
      16     2.000  ActivityTaskCanceled #5
      17     2.000  WorkflowTaskScheduled
      18     0.000  ActivityTaskStarted #6 attempt=1
      19     2.000  ActivityTaskCompleted #6 done
      20     0.000  ActivityTaskStarted #7 attempt=1
      21     2.000  ActivityTaskFailed #7 CancelRequested "boom"
    refused at 1: unable to mark activity as canceled without activity being request canceled first
    activities at 1: a CANCEL_REQUESTED attempt=1; b CANCEL_REQUESTED attempt=1; c CANCEL_REQUESTED attempt=1;
    "#);
}

#[test]
fn a_cancelled_one_that_takes_too_long_is_not_retried() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s)
        0 take a
        1 signal s
        1 take-task
        1 complete cancel-activity(a)
        5 tick
    "), @r#"
     5     0.000  ActivityTaskScheduled a Charge
     6     1.000  WorkflowExecutionSignaled s
     7     1.000  WorkflowTaskScheduled
     8     1.000  WorkflowTaskStarted
     9     1.000  WorkflowTaskCompleted
    10     1.000  ActivityTaskCancelRequested #5
    11     0.000  ActivityTaskStarted #5 attempt=1
    12     5.000  ActivityTaskTimedOut #5 CancelRequested "activity StartToClose timeout"
    13     5.000  WorkflowTaskScheduled
    "#);
}

#[test]
fn a_workflow_that_completes_leaves_its_activities_to_themselves() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=5s)
        0 take a
        1 signal s
        1 take-task
        1 complete done(ok)
        2 beat a
        2 finish a ok
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     1.000  WorkflowExecutionSignaled s
       7     1.000  WorkflowTaskScheduled
       8     1.000  WorkflowTaskStarted
       9     1.000  WorkflowTaskCompleted
      10     1.000  WorkflowExecutionCompleted ok
    refused at 2: workflow execution already completed
    refused at 2: workflow execution already completed
    ");
}

#[test]
fn whoever_knows_its_id_may_answer_for_it() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s) schedule(b,Charge,stc=50s) schedule(c,Charge,stc=50s)
        0 take b
        1 beat-id a x
        1 fail-id a boom
        1 cancelled-id a
        1 finish-id nobody
        2 finish-id a done
        2 beat-id b x
        2 fail-id b boom final
        3 finish-id b done
        3 crash
        3 finish-id c done
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
       7     0.000  ActivityTaskScheduled c Charge
       8     2.000  ActivityTaskStarted #5 attempt=1
       9     2.000  ActivityTaskCompleted #5 done
      10     2.000  WorkflowTaskScheduled
      11     0.000  ActivityTaskStarted #6 attempt=1
      12     2.000  ActivityTaskFailed #6 NonRetryableFailure "boom"
      13     3.000  ActivityTaskStarted #7 attempt=1
      14     3.000  ActivityTaskCompleted #7 done
    refused at 1: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 1: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 1: invalid activityID or activity already timed out or invoking workflow is completed
    refused at 1: cannot find pending activity with ActivityID nobody, check workflow execution history for more details
    refused at 3: cannot find pending activity with ActivityID b, check workflow execution history for more details
    "#);
}

#[test]
fn the_last_heartbeat_is_there_for_the_next_attempt_and_in_the_last_timeout() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s,hb=5s,attempts=3)
        0 take a
        1 beat a ten
        1 beat a twenty
        2 fail a boom
        2 show activities
        3 tick
        3 take a
        3 show activities
        8 tick
        10 tick
        10 take a
        11 fail a bang beat=thirty
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6    10.000  ActivityTaskStarted #5 attempt=3 "activity Heartbeat timeout"
       7    11.000  ActivityTaskFailed #5 MaximumAttemptsReached "bang"
       8    11.000  WorkflowTaskScheduled
    activities at 2: a SCHEDULED attempt=2/3 last="boom" beat=twenty wait=1s;
    activities at 3: a STARTED attempt=2/3 last="boom" beat=twenty;
    "#);
}

#[test]
fn the_last_timeout_tells_the_last_heartbeat() {
    let world = World::default().play(
        "
        0 run Order schedule(a,Charge,stc=50s,hb=5s,attempts=1)
        0 take a
        1 beat a ten
        6 tick
    ",
    );
    let failure = world.story().events.iter().find_map(|event| match &event.attributes {
        Some(Attributes::ActivityTaskTimedOutEventAttributes(end)) => end.failure.clone(),
        _ => None,
    });
    let failure = failure.expect("it timed out");
    assert_eq!(failure.source, "Server");
    let Some(FailureInfo::TimeoutFailureInfo(info)) = failure.failure_info else {
        panic!("a timeout says so");
    };
    assert_eq!(info.timeout_type(), TimeoutType::Heartbeat);
    assert_eq!(info.last_heartbeat_details.unwrap().payloads[0].data, b"ten");
}

#[test]
fn a_heartbeat_without_details_forgets_those_before() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s)
        0 take a
        1 beat a ten
        2 beat a
        2 show activities
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
    activities at 2: a STARTED attempt=1;
    ");
}

#[test]
fn c_114_what_is_too_large_is_not_retried_but_a_failure_that_is_too_large_is() {
    let limits = Limits { blob_bytes_max: 100, last_failure_bytes_max: 60, ..Limits::default() };
    let script = |answer: &str| {
        let text = check_within(
            limits.clone(),
            &format!(
                "
            0 run Order schedule(a,Charge,stc=50s)
            0 take a
            1 signal s
            1 take-task
            1 complete cancel-activity(a)
            2 {answer}
        "
            ),
        );
        let end = text.lines().rfind(|line| line.contains("ActivityTask"));
        end.unwrap_or_default().trim().to_owned()
    };
    let told = |answer: &str| {
        let text = check_within(
            limits.clone(),
            &format!(
                "
            0 run Order schedule(a,Charge,stc=50s)
            0 take a
            2 {answer}
            2 show activities
        "
            ),
        );
        let of = |line: &&str| line.contains("Failed") || line.contains("activities");
        text.lines().filter(of).map(str::trim).collect::<Vec<_>>().join("\n")
    };
    let all = [
        told("finish a big:200"),
        told("finish-id a big:200"),
        told("beat a big:200"),
        told("fail a boom beat=big:200"),
        told("fail a boom details=big:200"),
        told("fail a boom details=big:200 final"),
        script("cancelled a big:200"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    7     2.000  ActivityTaskFailed #5 NonRetryableFailure "Complete result exceeds size limit."
    activities at 2: none
    7     2.000  ActivityTaskFailed #5 NonRetryableFailure "Complete result exceeds size limit."
    activities at 2: none
    7     2.000  ActivityTaskFailed #5 NonRetryableFailure "Heartbeat details exceed size limit."
    activities at 2: none
    7     2.000  ActivityTaskFailed #5 NonRetryableFailure "Heartbeat details exceed size limit."
    activities at 2: none
    activities at 2: a SCHEDULED attempt=2 last="Failure exceeds size limit." wait=1s;
    7     2.000  ActivityTaskFailed #5 NonRetryableFailure "Failure exceeds size limit." after "boom"
    activities at 2: none
    12     2.000  ActivityTaskFailed #5 NonRetryableFailure "Cancel details exceed size limit."
    "#);
}

#[test]
fn a_restart_keeps_attempts_waits_and_tokens() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s)
        0 take a
        1 beat a ten
        1 crash
        2 fail a boom
        2 crash
        2 show activities due
        3 tick
        3 crash
        3 take a
        4 crash
        5 finish a ok
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     3.000  ActivityTaskStarted #5 attempt=2 "boom"
       7     5.000  ActivityTaskCompleted #5 ok
       8     5.000  WorkflowTaskScheduled
    activities at 2: a SCHEDULED attempt=2 last="boom" beat=ten wait=1s;
    due at 2: 3
    "#);
}
