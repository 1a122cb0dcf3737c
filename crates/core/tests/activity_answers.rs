//! Activities: cancellation, heartbeats, answers by id, answers that are too large.

use steadfast_core::Limits;
use steadfast_proto::{
    enums::TimeoutType, failure::failure::FailureInfo, history::history_event::Attributes,
};

use crate::common::{World, check, check_within};

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
      12     1.000  ActivityTaskCancelRequested #6
      13     1.000  ActivityTaskCanceled #5 (not started)
      14     1.000  ActivityTaskCanceled #6 (not started)
      15     1.000  WorkflowTaskScheduled
    activities at 1: none
    effects at 1: task; withdraw activity #5.0
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
