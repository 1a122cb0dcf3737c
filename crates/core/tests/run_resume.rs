//! What goes on by itself waits for its time: a parked activity for the next search, a failed run for
//! whoever resets it.

use crate::common::check;

#[test]
fn d_41_what_is_due_waits_for_the_next_search() {
    insta::assert_snapshot!(check(r#"
        0 rules sweep=60s resume={"name":"nightly","flow":"Order","maxAttempts":9,"backOff":{"delay":98}}
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        1 take a
        2 fail a boom
        100 tick
        100 show due errors
        119 tick
        119 show activities
        119 sweep-changed
        119 show due
        119 tick
        119 show due
        120 tick
        120 show activities errors
    "#), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    due at 100: 120
    errors at 100: #5 parked x1 "" "boom" 2..2 next=100 "nightly"
    activities at 119: a PAUSED attempt=2/1 last="boom" wait=98s;
    due at 119: 100
    due at 119: 120
    activities at 120: a SCHEDULED attempt=2/1 last="boom";
    errors at 120: #5 retrying x1 "" "boom" 2..2 next=120 "resumed by nightly" resumes=1
    "#);
}

#[test]
fn a_failed_run_whose_time_has_come_is_handed_over_once() {
    insta::assert_snapshot!(check(r#"
        0 rules resume={"name":"runs","flow":"Order","actionType":"WORKFLOW","maxAttempts":3,"backOff":{"delay":10}}
        0 run Order fail(boom)
        0 show due errors
        9 tick
        9 show effects
        10 tick
        10 show effects due errors
        70 tick
        70 show effects due
        71 resumed
        71 show errors due
    "#), @r#"
       5     0.000  WorkflowExecutionFailed RetryPolicyNotSet "boom"
    due at 0: 10
    errors at 0: #0 failed x1 "" "boom" 0..0 next=10 "runs"
    effects at 9: none
    effects at 10: start over
    due at 10: never
    errors at 10: #0 failed x1 "" "boom" 0..0 next=10 "runs"
    effects at 70: none
    due at 70: never
    errors at 71: none
    due at 71: 259200
    "#);
}

#[test]
fn a_run_is_resumed_only_by_a_policy_for_workflows_and_until_somebody_has_seen_to_it() {
    insta::assert_snapshot!(check(r#"
        0 rules resume={"name":"steps","flow":"Order","maxAttempts":3,"backOff":{"delay":10}}
        0 run Order fail(boom)
        0 show errors
        1 schedule-resume #0 30s runs
        1 show errors due
        2 clear-resume #0 by=ann why=no
        2 show errors
        3 schedule-resume #0 30s runs
        4 acknowledge run by=bob why=known
        4 show errors
        5 schedule-resume #0 30s runs
    "#), @r#"
       5     0.000  WorkflowExecutionFailed RetryPolicyNotSet "boom"
    errors at 0: #0 failed x1 "" "boom" 0..0 "fail: no retry policy"
    errors at 1: #0 failed x1 "" "boom" 0..0 next=30 "runs"
    due at 1: 30
    errors at 2: #0 failed x1 "" "boom" 0..0 "resume called off by ann: no"
    errors at 4: #0 failed x1 "" "boom" 0..0 "resume called off by ann: no" ack=bob:"known"
    refused at 5: the error of activity w is acknowledged: resume it by hand
    "#);
}
