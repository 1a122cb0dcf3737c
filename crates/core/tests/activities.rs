//! Activities: attempts, retries, time limits.

use crate::common::check;

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
fn a_worker_that_nobody_could_hear_has_its_time_again() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=1h,hb=3s,attempts=1) schedule(b,Charge,stc=61s,hb=3s,attempts=1)
        0 take a
        0 take b
        2 beat a one
        60 workers since=60s
        60 tick
        60 show activities
        61 tick
        62.9 tick
        63 tick
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
       7     0.000  ActivityTaskStarted #6 attempt=1
       8    61.000  ActivityTaskTimedOut #6 MaximumAttemptsReached "activity StartToClose timeout"
       9    61.000  WorkflowTaskScheduled
      10     0.000  ActivityTaskStarted #5 attempt=1
      11    63.000  ActivityTaskTimedOut #5 MaximumAttemptsReached "activity Heartbeat timeout"
    activities at 60: a STARTED attempt=1/1 beat=one; b STARTED attempt=1/1;
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

#[test]
fn no_event_comes_between_those_of_the_commands() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 complete schedule(a,X,stc=5s) cancel-activity(#5) schedule(b,X,stc=5s) cancel-activity(#7)
        1 show activities
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskCompleted
       5     1.000  ActivityTaskScheduled a X
       6     1.000  ActivityTaskCancelRequested #5
       7     1.000  ActivityTaskScheduled b X
       8     1.000  ActivityTaskCancelRequested #7
       9     1.000  ActivityTaskCanceled #5 (not started)
      10     1.000  ActivityTaskCanceled #7 (not started)
      11     1.000  WorkflowTaskScheduled
    activities at 1: none
    ");
}
