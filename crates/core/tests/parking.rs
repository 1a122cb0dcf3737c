//! What is not tried any more is kept, and resumed: by a person, by a policy, or not at all.

use crate::common::check;

#[test]
fn an_exhausted_activity_is_parked_where_the_namespace_says_so() {
    insta::assert_snapshot!(check("
        0 rules ending=park
        0 run Order schedule(a,Charge,stc=50s,s2c=100s,attempts=2)
        1 take a
        2 fail a boom type=Bad
        3 tick
        3 take a
        4 fail a boom type=Bad
        4 show activities due errors attempts work
        4 take a
        500 tick
        500 show errors
        501 resume a why=fixed by=ann
        501 show activities due effects errors changes
        502 take a
        503 finish a ok
        503 show errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6   502.000  ActivityTaskStarted #5 attempt=3 "boom"
       7   503.000  ActivityTaskCompleted #5 ok
       8   503.000  WorkflowTaskScheduled
    activities at 4: a PAUSED attempt=3/2 last="boom";
    due at 4: never
    errors at 4: #5 parked x2 "Bad" "boom" 2..4 "max attempts (2) reached"
    attempts at 4: a/1: retry in 1s: backoff, next 3; a/2: park: max attempts (2) reached
    work at 4: false
    refused at 4: invalid activityID or activity already timed out or invoking workflow is completed
    errors at 500: #5 parked x2 "Bad" "boom" 2..4 "max attempts (2) reached"
    activities at 501: a SCHEDULED attempt=3/2 last="boom";
    due at 501: 601
    effects at 501: activity #5
    errors at 501: #5 retrying x2 "Bad" "boom" 2..4 next=501 "resumed by ann" resumes=1
    changes at 501: a resumed by ann "fixed"
    errors at 503: none
    "#);
}

#[test]
fn d_02_the_workflow_hears_nothing_of_what_is_parked() {
    insta::assert_snapshot!(check("
        0 rules ending=park
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        1 take a
        2 fail a boom final
        2 show task errors
        900 tick
        900 show task
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    task at 2: none
    errors at 2: #5 parked x1 "" "boom" 2..2 "non-retryable"
    task at 900: none
    "#);
}

#[test]
fn what_no_rule_speaks_of_fails_as_it_always_did() {
    insta::assert_snapshot!(check("
        0 rules ending=park activity=Other*
        0 run Order schedule(a,Charge,stc=50s,attempts=1) schedule(b,OtherThing,stc=50s,attempts=1)
        1 take a
        1 take b
        2 fail a boom
        2 fail b boom
        2 show activities errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b OtherThing
       7     1.000  ActivityTaskStarted #5 attempt=1
       8     2.000  ActivityTaskFailed #5 MaximumAttemptsReached "boom"
       9     2.000  WorkflowTaskScheduled
    activities at 2: b PAUSED attempt=2/1 last="boom";
    errors at 2: #6 parked x1 "" "boom" 2..2 "max attempts (1) reached"
    "#);
}

#[test]
fn one_more_attempt_and_the_policy_is_still_used_up() {
    insta::assert_snapshot!(check("
        0 rules ending=park
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        1 take a
        2 fail a boom
        3 resume a
        3 take a
        4 fail a again
        4 show activities errors log
        5 resume a reset-attempts
        5 show activities
        5 take a
        6 fail a third
        6 show activities errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    activities at 4: a PAUSED attempt=3/1 last="again";
    errors at 4: #5 parked x2 "" "again" 2..4 "max attempts (1) reached" resumes=1
    log at 4: a/1 [] call site/temporal park unknown parked; a/2 [] call site/temporal park unknown parked
    activities at 5: a SCHEDULED attempt=1/1 last="again";
    activities at 6: a PAUSED attempt=2/1 last="third";
    errors at 6: #5 parked x3 "" "third" 2..6 "max attempts (1) reached" resumes=2
    "#);
}

#[test]
fn d_29_a_resume_policy_brings_it_back_by_itself() {
    insta::assert_snapshot!(check(r#"
        0 rules resume={"name":"nightly","flow":"Order","maxAttempts":3,"backOff":{"delay":100}}
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        1 take a
        2 fail a boom
        2 show due errors log
        101 tick
        102 tick
        102 show activities effects
        103 take a
        104 fail a boom
        104 show due errors
        204 tick
        205 take a
        206 fail a boom
        206 show errors
    "#), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6   205.000  ActivityTaskStarted #5 attempt=3 "boom"
       7   206.000  ActivityTaskFailed #5 MaximumAttemptsReached "boom"
       8   206.000  WorkflowTaskScheduled
    due at 2: 102
    errors at 2: #5 parked x1 "" "boom" 2..2 next=102 "nightly"
    log at 2: a/1 [] call site/temporal resume 100s unknown parked
    activities at 102: a SCHEDULED attempt=2/1 last="boom";
    effects at 102: activity #5
    due at 104: 204
    errors at 104: #5 parked x2 "" "boom" 2..104 next=204 "nightly" resumes=1
    errors at 206: none
    "#);
}

#[test]
fn d_16_a_used_up_policy_lets_the_next_one_have_its_turn() {
    insta::assert_snapshot!(check(r#"
        0 rules resume1={"name":"A","flow":"Order","maxAttempts":2,"priority":100,"backOff":{"delay":10}} resume2={"name":"B","flow":"Order","maxAttempts":4,"backOff":{"delay":20}} ending=park
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        0 take a
        0 fail a boom
        10 tick
        10 take a
        10 fail a boom
        10 show errors
        30 tick
        30 take a
        30 fail a boom
        50 tick
        50 take a
        50 fail a boom
        50 show errors due
    "#), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    errors at 10: #5 parked x2 "" "boom" 0..10 next=30 "B" resumes=1
    errors at 50: #5 parked x4 "" "boom" 0..50 "max attempts (1) reached" resumes=3
    due at 50: never
    "#);
}

#[test]
fn d_104_resumes_by_hand_count_as_attempts_too() {
    insta::assert_snapshot!(check(r#"
        0 rules resume={"name":"A","flow":"Order","maxAttempts":3,"backOff":{"delay":1000}} ending=park
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        0 take a
        0 fail a boom
        1 resume a
        1 take a
        1 fail a boom
        2 resume a
        2 take a
        2 fail a boom
        2 show errors due
    "#), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    errors at 2: #5 parked x3 "" "boom" 0..2 "max attempts (1) reached" resumes=2
    due at 2: never
    "#);
}

#[test]
fn d_109_an_acknowledged_error_is_not_resumed_by_a_policy() {
    insta::assert_snapshot!(check(r#"
        0 rules resume={"name":"A","flow":"Order","maxAttempts":3,"backOff":{"delay":10}}
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        0 take a
        0 fail a boom
        1 acknowledge a why="known bug"
        1 acknowledge a why="known bug"
        1 show errors due changes
        20 tick
        20 show activities
        21 schedule-resume a 30s A
        22 resume a
        22 show errors
    "#), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    errors at 1: #5 parked x1 "" "boom" 0..0 "max attempts (1) reached" ack=operator:"known bug"
    due at 1: never
    changes at 1: a acknowledged by operator "known bug"
    activities at 20: a PAUSED attempt=2/1 last="boom";
    refused at 21: the error of activity a is acknowledged: resume it by hand
    errors at 22: #5 retrying x1 "" "boom" 0..0 next=22 "resumed by operator" resumes=1
    "#);
}

#[test]
fn d_108_a_policy_can_be_applied_to_what_is_parked_already() {
    insta::assert_snapshot!(check("
        0 rules ending=park
        0 run Order schedule(a,Charge,stc=50s,attempts=1) schedule(b,Charge,stc=50s)
        0 take a
        0 fail a boom
        1 schedule-resume a 30s nightly
        1 schedule-resume b 30s nightly
        1 schedule-resume all 40s nightly
        1 show errors due
        2 clear-resume a why=no
        2 show errors due changes
        3 clear-resume a
        4 schedule-resume #5 50s weekly
        50 tick
        50 show activities effects
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
    refused at 1: activity b is not parked
    errors at 1: #5 parked x1 "" "boom" 0..0 next=40 "nightly"
    due at 1: 40
    errors at 2: #5 parked x1 "" "boom" 0..0 "max attempts (1) reached"
    due at 2: never
    changes at 2: a resume called off by operator "no"
    activities at 50: a SCHEDULED attempt=2/1 last="boom"; b SCHEDULED attempt=1;
    effects at 50: activity #5
    "#);
}

#[test]
fn d_114_what_a_resume_brings_is_seen_by_the_next_attempt_only() {
    insta::assert_snapshot!(check("
        0 rules ending=park
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        0 take a
        0 fail a boom
        1 resume a header=k:v input=better
        1 show header input
        1 take a
        1 show header input
        2 return a
        2 show header
        2 take a
        3 fail a boom
        3 show header input
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
    header at 1: k=v
    input at 1: better
    header at 1: k=v
    input at 1: better
    header at 2: k=v
    header at 3: none
    input at 3: better
    ");
}

#[test]
fn only_what_is_parked_is_resumed_and_a_repeated_request_changes_nothing() {
    insta::assert_snapshot!(check("
        0 rules ending=park
        0 run Order schedule(a,Charge,stc=50s,attempts=1) schedule(b,Charge,stc=50s)
        0 resume b
        0 resume nobody
        0 take a
        0 fail a boom
        1 resume a id=r1
        1 resume a id=r1
        1 show errors
        2 resume a id=r2
        2 resume all id=r2
        2 give-up b
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
    refused at 0: activity b is not parked
    refused at 0: Can't find pending activity with such ID. Invalid activityID or activity already completed
    errors at 1: #5 retrying x1 "" "boom" 0..0 next=1 "resumed by operator" resumes=1
    refused at 2: activity a is not parked
    refused at 2: activity a is not parked
    refused at 2: activity b is not parked
    "#);
}

#[test]
fn a_resume_may_be_put_off_and_the_time_in_all_counts_from_then() {
    insta::assert_snapshot!(check("
        0 rules ending=park
        0 run Order schedule(a,Charge,s2c=10s,attempts=1)
        0 take a
        0 fail a boom
        100 resume a delay=7s
        100 show due activities
        101 options a stc=5s
        101 show due
        107 tick
        107 show due effects
        117 tick
        117 show errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    due at 100: 107
    activities at 100: a SCHEDULED attempt=2/1 last="boom" wait=107s;
    due at 101: 107
    due at 107: 117
    effects at 107: activity #5
    errors at 117: #5 parked x1 "Timeout:SCHEDULE_TO_START" "activity ScheduleToStart timeout: boom" 0..117 "the timeout spans all attempts" resumes=1
    "#);
}

#[test]
fn an_activity_that_was_given_up_fails_with_its_last_failure() {
    insta::assert_snapshot!(check("
        0 rules ending=park
        0 run Order schedule(a,Charge,stc=50s,attempts=2)
        0 take a
        1 fail a first
        2 tick
        2 take a
        3 fail a second type=Bad
        9 give-up a why=hopeless
        9 show errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     2.000  ActivityTaskStarted #5 attempt=2
       7     9.000  ActivityTaskFailed #5 MaximumAttemptsReached "second"
       8     9.000  WorkflowTaskScheduled
    errors at 9: none
    "#);
}

#[test]
fn an_operator_parks_what_waits_and_what_runs() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s) schedule(b,Charge,stc=50s) schedule(c,Charge,stc=50s)
        0 take b
        0 take c
        1 park all why=maintenance
        1 park a why=again
        1 show activities due errors
        2 take a
        2 finish b ok
        3 fail c boom
        3 show activities errors
        4 give-up a why=unwanted
        5 resume c
        5 show activities errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
       7     0.000  ActivityTaskScheduled c Charge
       8     0.000  ActivityTaskStarted #6 attempt=1
       9     2.000  ActivityTaskCompleted #6 ok
      10     2.000  WorkflowTaskScheduled
      11     4.000  ActivityTaskFailed #5 (not started) NonRetryableFailure "given up by operator: unwanted"
    activities at 1: a PAUSED attempt=1; b PAUSE_REQUESTED attempt=1; c PAUSE_REQUESTED attempt=1;
    due at 1: 50
    errors at 1: #5 parked x0 "" "" 1..1 "maintenance"; #6 parked x0 "" "" 1..1 "maintenance"; #7 parked x0 "" "" 1..1 "maintenance"
    refused at 2: invalid activityID or activity already timed out or invoking workflow is completed
    activities at 3: a PAUSED attempt=1; c PAUSED attempt=2 last="boom";
    errors at 3: #5 parked x0 "" "" 1..1 "maintenance"; #7 parked x1 "" "boom" 3..3 "maintenance"
    activities at 5: c SCHEDULED attempt=2 last="boom";
    errors at 5: #7 retrying x1 "" "boom" 3..3 next=5 "resumed by operator" resumes=1
    "#);
}

#[test]
fn a_parked_attempt_that_still_runs_goes_on_when_it_is_resumed() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=50s)
        0 take a
        1 park a
        1 give-up a
        2 resume a
        2 show activities
        3 finish a ok
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskStarted #5 attempt=1
       7     3.000  ActivityTaskCompleted #5 ok
       8     3.000  WorkflowTaskScheduled
    refused at 1: activity a is with a worker: wait until its attempt has ended
    activities at 2: a STARTED attempt=1;
    ");
}

#[test]
fn what_nobody_resumes_in_time_fails_or_leaves_a_dead_letter() {
    insta::assert_snapshot!(check("
        0 rules ending=park ttl=60s then=dead_letter
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        0 take a
        0 fail a boom type=Bad
        0 show due
        60 tick
        60 show errors
        61 acknowledge #5 why=seen
        61 crash
        61 acknowledge #5 why=seen
        61 show errors
        62 take-task
        62 complete done(ok)
        62 acknowledge #5 why=again
        62 show errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskStarted #5 attempt=1
       7    60.000  ActivityTaskFailed #5 MaximumAttemptsReached "boom"
       8    60.000  WorkflowTaskScheduled
       9    62.000  WorkflowTaskStarted
      10    62.000  WorkflowTaskCompleted
      11    62.000  WorkflowExecutionCompleted ok
    due at 0: 60
    errors at 60: #5 dead x1 "Bad" "boom" 0..60 "dead_letter: nobody resumed it in time: max attempts (1) reached"
    errors at 61: #5 dead x1 "Bad" "boom" 0..60 "dead_letter: nobody resumed it in time: max attempts (1) reached" ack=operator:"seen"
    errors at 62: #5 dead x1 "Bad" "boom" 0..60 "dead_letter: nobody resumed it in time: max attempts (1) reached" ack=operator:"again"
    "#);
}

#[test]
fn a_dead_letter_stays_when_the_workflow_goes_on() {
    insta::assert_snapshot!(check("
        0 rules ending=dead_letter
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        0 take a
        0 fail a boom type=Bad
        0 show errors log
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskStarted #5 attempt=1
       7     0.000  ActivityTaskFailed #5 MaximumAttemptsReached "boom"
       8     0.000  WorkflowTaskScheduled
    errors at 0: #5 dead x1 "Bad" "boom" 0..0 "dead_letter: max attempts (1) reached"
    log at 0: a/1 [] call site/temporal  unknown
    "#);
}

#[test]
fn clocks_that_span_the_attempts_park_too() {
    insta::assert_snapshot!(check("
        0 rules ending=park
        0 run Order schedule(a,Charge,s2c=20s,s2s=5s) schedule(b,Charge,s2c=20s)
        0 take b
        5 tick
        20 tick
        20 show activities errors due
        21 finish b late
        22 resume all
        22 show due
        23 take a
        24 give-up a
        25 finish a ok
        27 tick
        42 tick
        42 show errors
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
       7    23.000  ActivityTaskStarted #5 attempt=1 "activity ScheduleToStart timeout"
       8    25.000  ActivityTaskCompleted #5 ok
       9    25.000  WorkflowTaskScheduled
    activities at 20: a PAUSED attempt=1 last="activity ScheduleToStart timeout"; b PAUSED attempt=2 last="activity StartToClose timeout";
    errors at 20: #5 parked x0 "Timeout:SCHEDULE_TO_START" "activity ScheduleToStart timeout" 5..5 "the timeout spans all attempts"; #6 parked x1 "Timeout:START_TO_CLOSE" "activity StartToClose timeout" 20..20 "the deadline (1704067220) would be passed"
    due at 20: never
    refused at 21: invalid activityID or activity already timed out or invoking workflow is completed
    due at 22: 27
    refused at 24: activity a is not parked
    errors at 42: #6 parked x1 "Timeout:SCHEDULE_TO_START" "activity ScheduleToStart timeout: activity StartToClose timeout" 20..42 "the timeout spans all attempts" resumes=1
    "#);
}

#[test]
fn the_author_may_ask_for_it_in_the_policy() {
    insta::assert_snapshot!(check(r#"
        0 run Order schedule(a,Charge,stc=50s) schedule(b,Charge,stc=50s)
        0 change a policy={"name":"mine","rules":[{"match":{"type":"Bad"},"action":"park"}],"max_attempts":2,"on_exhausted":"park"}
        0 take a
        1 fail a boom type=Bad
        1 show errors log
        2 resume a
        2 take a
        3 fail a boom type=Other
        3 show errors log
    "#), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     0.000  ActivityTaskScheduled b Charge
    errors at 1: #5 parked x1 "Bad" "boom" 1..1 "the rule says so (rule 1)"
    log at 1: a/1 [type=Bad] operator/mine park unknown parked
    errors at 3: #5 parked x2 "Other" "boom" 1..3 "max attempts (2) reached" resumes=1
    log at 3: a/1 [type=Bad] operator/mine park unknown parked; a/2 [] operator/mine park unknown parked
    "#);
}

#[test]
fn cancelling_a_parked_activity_ends_it() {
    insta::assert_snapshot!(check("
        0 rules ending=park
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        0 take a
        0 fail a boom
        1 signal s
        1 take-task
        1 complete cancel-activity(a)
        1 show errors
    "), @r"
       5     0.000  ActivityTaskScheduled a Charge
       6     1.000  WorkflowExecutionSignaled s
       7     1.000  WorkflowTaskScheduled
       8     1.000  WorkflowTaskStarted
       9     1.000  WorkflowTaskCompleted
      10     1.000  ActivityTaskCancelRequested #5
      11     1.000  ActivityTaskCanceled #5 (not started)
      12     1.000  WorkflowTaskScheduled
    errors at 1: none
    ");
}

#[test]
fn unpausing_what_is_parked_resumes_it() {
    insta::assert_snapshot!(check("
        0 rules ending=park
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        0 take a
        0 fail a boom
        1 unpause a
        1 show activities effects
        2 take a
        3 fail a boom
        4 reset-activity a
        4 show activities effects
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    activities at 1: a SCHEDULED attempt=2/1 last="boom";
    effects at 1: activity #5
    activities at 4: a SCHEDULED attempt=1/1 last="boom";
    effects at 4: activity #5
    "#);
}

#[test]
fn what_is_parked_and_paused_waits_for_both() {
    insta::assert_snapshot!(check("
        0 rules ending=park
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        0 take a
        0 fail a boom
        1 pause a
        2 resume a
        2 show activities effects
        2 take a
        3 unpause a
        3 show activities effects
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    activities at 2: a PAUSED attempt=2/1 last="boom";
    effects at 2: none
    refused at 2: invalid activityID or activity already timed out or invoking workflow is completed
    activities at 3: a SCHEDULED attempt=2/1 last="boom";
    effects at 3: activity #5
    "#);
}
