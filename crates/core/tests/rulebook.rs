//! What operators say about failures, beside what the authors say; and what they change by hand.

use crate::common::{World, check};

#[test]
fn rules_before_the_authors_come_first_and_may_force_a_retry() {
    insta::assert_snapshot!(check(r#"
        0 rules before={"match":{"type":"Bad"},"force":true,"backoff":{"kind":"constant","initial":"7s","jitter":"none"},"max_attempts":3}
        0 run Order schedule(a,Charge,stc=50s,attempts=9)
        0 take a
        0 fail a boom type=Bad final
        0 show due
        7 tick
        7 take a
        7 fail a boom type=Bad final
        14 tick
        14 take a
        14 fail a boom type=Bad final
        14 show log
    "#), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6    14.000  ActivityTaskStarted #5 attempt=3 "boom"
       7    14.000  ActivityTaskFailed #5 NonRetryableFailure "boom"
       8    14.000  WorkflowTaskScheduled
    due at 0: 7
    log at 14: a/1 [type=Bad] operator/ops@1 backoff 7s unknown; a/2 [type=Bad] operator/ops@1 backoff 7s unknown; a/3 [] call site/temporal  unknown
    "#);
}

#[test]
fn rules_after_the_authors_come_before_their_default() {
    insta::assert_snapshot!(check(r#"
        0 rules after={"match":{"message":"timeout"},"backoff":{"kind":"constant","initial":"30s","jitter":"none"}}
        0 run Order schedule(a,Charge,stc=50s,non=Bad)
        0 take a
        0 fail a timeout
        0 show due
        30 tick
        30 take a
        30 fail a other
        30 show due
        31 tick
        31 take a
        31 fail a timeout type=Bad
        31 show log
    "#), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6    31.000  ActivityTaskStarted #5 attempt=3 "other"
       7    31.000  ActivityTaskFailed #5 NonRetryableFailure "timeout"
       8    31.000  WorkflowTaskScheduled
    due at 0: 30
    due at 30: 31
    log at 31: a/1 [message="timeout"] namespace/ops@1 backoff 30s unknown; a/2 [] call site/temporal backoff 1s unknown; a/3 [type=Bad] call site/temporal  unknown
    "#);
}

#[test]
fn deferrals_by_a_rule_do_not_use_up_the_authors_attempts() {
    insta::assert_snapshot!(check(r#"
        0 rules before={"match":{"type":"Throttled"},"counts":false,"backoff":{"kind":"constant","initial":"1s","jitter":"none"}}
        0 run Order schedule(a,Charge,stc=50s,attempts=2)
        0 take a
        0 fail a slow type=Throttled
        1 tick
        1 take a
        1 fail a slow type=Throttled
        2 tick
        2 take a
        2 fail a boom
        2 show due
        3 tick
        3 take a
        3 fail a boom
        3 show attempts
    "#), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     3.000  ActivityTaskStarted #5 attempt=4 "boom"
       7     3.000  ActivityTaskFailed #5 MaximumAttemptsReached "boom"
       8     3.000  WorkflowTaskScheduled
    due at 2: 3
    attempts at 3: a/1: retry in 1s: backoff (rule 1), next 1; a/2: retry in 1s: backoff (rule 1), next 2; a/3: retry in 1s: backoff, next 3; a/4: exhausted, fail: max attempts (2) reached
    "#);
}

#[test]
fn a_rule_that_is_taken_back_leaves_the_count_of_attempts() {
    insta::assert_snapshot!(check(r#"
        0 rules before={"match":{"type":"Bad"},"backoff":{"kind":"constant","initial":"1s","jitter":"none"}}
        0 run Order schedule(a,Charge,stc=50s,attempts=3)
        0 take a
        0 fail a boom type=Bad
        1 tick
        1 rules poison=9
        1 take a
        1 fail a boom type=Bad
        1 show due attempts
    "#), @r"
       5     0.000  ActivityTaskScheduled a Charge
    due at 1: 3
    attempts at 1: a/1: retry in 1s: backoff (rule 1), next 1; a/2: retry in 2s: backoff, next 3
    ");
}

#[test]
fn what_ends_its_workers_is_parked_as_poison() {
    insta::assert_snapshot!(check("
        0 rules poison=2
        0 run Order schedule(a,Charge,stc=50s,hb=5s,init=1s,coef=1) schedule(b,Charge,stc=50s)
        0 take a
        0 take b process=1 by=p1
        5 tick
        5 show due
        6 tick
        6 take a
        7 fail a boom
        8 tick
        8 take a
        13 tick
        14 tick
        14 take a by=other
        19 tick
        19 show activities errors attempts
        20 take-back 2
        21 tick
        21 take b process=2 by=p2
        22 take-back 3
        22 show errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
    due at 5: 6
    activities at 19: a PAUSED attempt=5 last="activity Heartbeat timeout"; b STARTED attempt=1;
    errors at 19: #5 parked x4 "Timeout:HEARTBEAT" "activity Heartbeat timeout" 5..19 "2 attempts in a row ended with their worker"
    attempts at 19: a/1: retry in 1s: backoff, next 6; a/2: retry in 1s: backoff, next 8; a/3: retry in 1s: backoff, next 14; a/4: park: 2 attempts in a row ended with their worker
    errors at 22: #5 parked x4 "Timeout:HEARTBEAT" "activity Heartbeat timeout" 5..19 "2 attempts in a row ended with their worker"; #6 parked x2 "WorkerLost" "the process that ran this attempt ended" 20..22 "2 attempts in a row ended with their worker"
    "#);
}

#[test]
fn nothing_is_poison_where_nobody_asked_for_it() {
    let told = check(
        "
        0 run Order schedule(a,Charge,stc=50s,hb=5s,init=1s,coef=1)
        0 take a
        5 tick
        6 tick
        6 take a
        11 tick
        12 tick
        12 take a
        17 tick
        18 tick
        18 take a
        23 tick
        23 show activities
    ",
    );
    assert!(told.contains("a SCHEDULED attempt=5"), "{told}");
}

#[test]
fn a_retry_is_had_at_once_without_counting_more_than_it_would() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s,init=60s,attempts=3) schedule(b,Charge,stc=50s)
        0 retry-now b
        0 take a
        0 fail a boom
        0 show due
        5 retry-now a why=fixed by=ann
        5 show activities effects changes
        5 retry-now a
        5 take a
        5 retry-now a
        6 fail a boom
        7 park a
        7 retry-now a
        8 resume a
        8 pause a
        8 retry-now a
        9 retry-now all
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
    refused at 0: activity b does not wait for its next attempt: it waits for a worker
    due at 0: 60
    activities at 5: a SCHEDULED attempt=2/3 last="boom"; b SCHEDULED attempt=1;
    effects at 5: activity #5
    changes at 5: a tried at once by ann "fixed"
    refused at 5: activity a does not wait for its next attempt: it waits for a worker
    refused at 5: activity a does not wait for its next attempt: a worker is at it
    refused at 7: activity a does not wait for its next attempt: it is parked; resume it
    refused at 8: activity a does not wait for its next attempt: it is paused; unpause it
    "#);
}

#[test]
fn a_changed_policy_holds_from_the_next_failure_or_now() {
    insta::assert_snapshot!(check(r#"
        0 run Order schedule(a,Charge,stc=50s,init=60s,coef=1)
        0 take a
        0 fail a boom
        5 change a policy={"name":"new","default":{"backoff":{"kind":"constant","initial":"20s","jitter":"none"}}}
        5 show due
        60 tick
        60 take a
        60 fail a boom
        60 show due
        65 change a policy={"name":"newer","default":{"backoff":{"kind":"constant","initial":"10s","jitter":"none"}}} now
        65 show due
        66 change a policy={"name":"newest","default":{"backoff":{"kind":"constant","initial":"1s","jitter":"none"}}} now by=ann
        66 show due effects log changes
    "#), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    due at 5: 60
    due at 60: 80
    due at 65: 70
    due at 66: never
    effects at 66: activity #5
    log at 66: a/1 [] call site/temporal backoff 60s unknown; a/2 [] operator/new backoff 20s unknown
    changes at 66: a changed policy by operator ""; a changed policy by operator ""; a changed policy by ann ""
    "#);
}

#[test]
fn a_change_that_leaves_no_attempt_ends_or_parks_the_activity() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s,init=60s)
        0 take a
        0 fail a boom
        5 change a attempts=1 now
        5 show errors
        6 rules ending=park
        6 take-task
        6 complete schedule(b,Charge,stc=50s,init=60s)
        6 take b
        6 fail b boom
        7 change b attempts=1 now
        7 show errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskStarted #5 attempt=1
       7     5.000  ActivityTaskFailed #5 MaximumAttemptsReached "boom"
       8     5.000  WorkflowTaskScheduled
       9     6.000  WorkflowTaskStarted
      10     6.000  WorkflowTaskCompleted
      11     6.000  ActivityTaskScheduled b Charge
    errors at 5: none
    errors at 7: #11 parked x1 "" "boom" 6..6 "max attempts (1) reached"
    "#);
}

#[test]
fn changes_that_cannot_be_are_refused_and_name_the_field() {
    insta::assert_snapshot!(check(r#"
        0 run Order schedule(a,Charge,stc=50s)
        0 change a policy={"max_attempt":1}
        0 change a stc=-1s
        0 change a mask=colour
        0 change nobody stc=1s
        0 change a
        0 show changes
    "#), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    refused at 0: policy: it is not the JSON of a retry policy: unknown field `max_attempt`, expected one of `name`, `rules`, `default`, `max_attempts`, `max_elapsed`, `max_execution`, `on_exhausted`, `idempotency` at line 1 column 14
    refused at 0: start_to_close_timeout: -1 s and 0 ns do not make a duration: it must not be negative
    refused at 0: update_mask: unknown path "colour"
    refused at 0: Can't find pending activity with such ID. Invalid activityID or activity already completed
    changes at 0: none
    "#);
}

#[test]
fn a_changed_policy_gives_way_to_changed_options_and_to_the_original() {
    insta::assert_snapshot!(check(r#"
        0 run Order schedule(a,Charge,stc=50s,init=9s)
        0 change a policy={"name":"new","default":{"backoff":{"kind":"constant","initial":"20s","jitter":"none"}}}
        0 options a init=3s
        0 take a
        0 fail a boom
        0 show due
        3 tick
        3 change a policy={"name":"new","default":{"backoff":{"kind":"constant","initial":"20s","jitter":"none"}}}
        3 options a restore
        3 take a
        3 fail a boom
        3 show due log
    "#), @r"
       5     0.000  ActivityTaskScheduled a Charge
    due at 0: 3
    due at 3: 21
    log at 3: a/1 [] operator/temporal backoff 3s unknown; a/2 [] call site/temporal backoff 18s unknown
    ");
}

#[test]
fn a_run_that_failed_is_an_error_until_it_is_reset() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        0 take a
        0 fail a boom type=Bad
        1 take-task
        1 complete fail(hopeless,type=Worse)
        1 show errors log
        2 acknowledge run why=known
        2 acknowledge run why=known
        2 acknowledge task
        2 crash
        2 show errors
        3 resumed
        3 show errors
        3 resumed
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskStarted #5 attempt=1
       7     0.000  ActivityTaskFailed #5 MaximumAttemptsReached "boom"
       8     0.000  WorkflowTaskScheduled
       9     1.000  WorkflowTaskStarted
      10     1.000  WorkflowTaskCompleted
      11     1.000  WorkflowExecutionFailed RetryPolicyNotSet "hopeless"
    errors at 1: #0 failed x1 "Worse" "hopeless" 1..1 "fail: no retry policy"
    log at 1: a/1 [] call site/temporal  unknown; /1 [] /  unknown
    refused at 2: nothing has failed there that is not settled
    errors at 2: #0 failed x1 "Worse" "hopeless" 1..1 "fail: no retry policy" ack=operator:"known"
    errors at 3: none
    "#);
}

#[test]
fn a_run_that_is_retried_is_logged_and_no_error_until_its_attempts_are_used_up() {
    insta::assert_snapshot!(check("
        0 run Order fail(boom,type=Bad) attempts=2
        0 show errors log
        1 tick
        1 take-task
        1 complete fail(boom,type=Bad)
        1 show errors log
    "), @r#"
       5     0.000  WorkflowExecutionContinuedAsNew initiator=Retry "boom"
    run 2:
       1     0.000  WorkflowExecutionStarted Order attempt=2 backoff=1s initiator=Retry
       2     1.000  WorkflowTaskScheduled
       3     1.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskCompleted
       5     1.000  WorkflowExecutionFailed MaximumAttemptsReached "boom"
    errors at 0: none
    log at 0: none
    errors at 1: #0 failed x2 "Bad" "boom" 1..1 "exhausted, fail: max attempts (2) reached"
    log at 1: /2 [] /temporal  unknown
    "#);
}

#[test]
fn a_run_out_of_time_is_an_error_too_and_one_that_was_ended_is_none() {
    insta::assert_snapshot!(check("
        0 run Order run=10s
        10 tick
        10 show errors log
    "), @r#"
       5    10.000  WorkflowExecutionTimedOut RetryPolicyNotSet
    errors at 10: #0 failed x1 "Timeout:START_TO_CLOSE" "workflow timeout" 10..10 "fail: no retry policy"
    log at 10: /1 [] /  timeout
    "#);
    insta::assert_snapshot!(check("
        0 run Order
        1 terminate why
        1 show errors log
    "), @r"
       5     1.000  WorkflowExecutionTerminated why
    errors at 1: none
    log at 1: none
    ");
}

#[test]
fn a_failing_workflow_task_is_an_error_until_one_succeeds() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 fail-task nondeterminism oops
        1 show errors log
        1 take-task
        2 fail-task nondeterminism again
        2 acknowledge task why=known
        2 take-task
        13 tick
        13 show errors log
        13 take-task
        14 complete timer(t,9s)
        14 show errors
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskFailed NonDeterministicError "oops"
       5    13.000  WorkflowTaskScheduled attempt=4
       6    13.000  WorkflowTaskStarted
       7    14.000  WorkflowTaskCompleted
       8    14.000  TimerStarted t 9s
    errors at 1: #-1 retrying x1 "NonDeterministicError" "oops" 1..1 "retry: workflow tasks are tried until one succeeds"
    log at 1: /1 [] /
    errors at 13: #-1 retrying x3 "Timeout:START_TO_CLOSE" "workflow task timeout" 1..13 "retry: workflow tasks are tried until one succeeds" ack=operator:"known"
    log at 13: /1 [] /  ; /2 [] /  ; /3 [] /
    errors at 14: none
    "#);
}

#[test]
fn what_is_nobodys_failure_is_no_error_of_the_task() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        0 signal s
        1 complete done(ok)
        1 show errors log
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskFailed UnhandledCommand "UnhandledCommand"
       5     1.000  WorkflowExecutionSignaled s
       6     1.000  WorkflowTaskScheduled
    answered at 1: UnhandledCommand
    errors at 1: none
    log at 1: none
    "#);
}

#[test]
fn a_key_stays_over_attempts_resets_and_retries_and_is_another_for_other_work() {
    let keys = |script: &str| -> Vec<String> {
        let world = World::default().play(script);
        world.stories.iter().map(|story| story.run.idempotency_key("a")).collect()
    };
    let retried = keys(
        "
        0 run Order fail(boom) attempts=9
        1 tick
        1 take-task
        1 complete fail(boom)
        3 tick
        3 take-task
        3 complete schedule(a,Charge,stc=9s)
    ",
    );
    assert_eq!(retried.len(), 3);
    assert!(retried.iter().all(|key| *key == retried[0]), "{retried:?}");
    let reset = keys(
        "
        0 run Order schedule(a,Charge,stc=50s)
        1 reset 4 again
    ",
    );
    assert_eq!(reset, [reset[0].clone(), reset[0].clone()]);
    let continued = keys(
        "
        0 run Order continue(Order)
        1 take-task
    ",
    );
    assert_ne!(continued[0], continued[1]);
}

#[test]
fn the_header_of_an_attempt_has_its_key_and_a_fence_that_grows() {
    let mut world = World::default().play(
        "
        0 rules ending=park
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        0 take a
    ",
    );
    let fields = |world: &World| -> Vec<(String, String)> {
        let run = &world.story().run;
        let activity = run.activities().get(&5).unwrap();
        let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
        let mut fields: Vec<_> = run.task_header_with_keys(activity).fields.into_iter().collect();
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        fields.into_iter().map(|(name, value)| (name, text(&value.data))).collect()
    };
    let first = fields(&world);
    for line in ["1 fail a boom", "2 resume a header=k:v reset-attempts", "2 take a"] {
        world.line(line);
    }
    let second = fields(&world);
    assert_eq!(first[0], ("steadfast-fence".to_owned(), "1".to_owned()));
    assert_eq!(second[0], ("k".to_owned(), "v".to_owned()));
    assert_eq!(second[1], ("steadfast-fence".to_owned(), "2".to_owned()));
    assert_eq!(first[1], second[2]);
    assert_eq!(first[1].1.len(), 28);
    let run = &world.story().run;
    let unasked = run.activities().get(&5).unwrap().task_header();
    assert_eq!(unasked.fields.into_keys().collect::<Vec<_>>(), ["k"]);
}

#[test]
fn c_115_a_failure_may_say_how_it_is_to_be_taken() {
    // Polls that are no failures, a wait that is spread, details sent with the failure, a wait that
    // the failure asks for, and one that is fatal.
    insta::assert_snapshot!(check(r#"
        0 run Order schedule(a,Charge,stc=50s)
        0 change a policy={"rules":[{"match":{"type":"NotYet"},"counts":false,"backoff":{"kind":"constant","initial":"5s","jitter":"none"}}],"default":{"backoff":{"kind":"exponential","initial":"8s","jitter":"equal"}},"max_attempts":3}
        0 take a
        0 fail a pending type=NotYet
        5 tick
        5 take a
        5 fail a pending type=NotYet
        10 tick
        10 take a
        10 fail a boom beat=half
        10 show due activities
        18 tick
        18 take a
        18 fail a slow next=40s
        18 show due
        71 tick
        71 take a
        71 fail a hopeless final
        71 show log
    "#), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6    71.000  ActivityTaskStarted #5 attempt=5 "slow"
       7    71.000  ActivityTaskFailed #5 NonRetryableFailure "hopeless"
       8    71.000  WorkflowTaskScheduled
    due at 10: 14.07388339
    activities at 10: a SCHEDULED attempt=4 last="boom" beat=half wait=4.07388339s;
    due at 18: 70.593151149
    log at 71: a/1 [type=NotYet] operator/ backoff 5s unknown; a/2 [type=NotYet] operator/ backoff 5s unknown; a/3 [] operator/ backoff 4.07388339s unknown; a/4 [] operator/ next_delay 52.593151149s unknown; a/5 [] operator/  unknown
    "#);
}
