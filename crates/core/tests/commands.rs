//! Commands that a workflow cannot have: all of a completion counts, or none of it.

use steadfast_core::Limits;

use crate::common::{check, check_within};

const BAD: &[&str] = &[
    r#"schedule("",Charge,stc=1s)"#,
    "schedule(a)",
    "schedule(a,Charge)",
    "schedule(a,Charge,stc=-1s)",
    "schedule(a,Charge,stc=1s,queue=/_sys/q)",
    "schedule(a,Charge,stc=1s,coef=0.5)",
    "schedule(a,Charge,stc=1s,attempts=-1)",
    "schedule(a,Charge,stc=1s,init=5s,max=1s)",
    "schedule(a,Charge,stc=1s,non=TemporalTimeout:Never)",
    "schedule(averylongname,Charge,stc=1s)",
    "schedule(a,Charge,stc=1s) schedule(a,Charge,stc=1s)",
    "cancel-activity(#5)",
    r#"timer("",1s)"#,
    "timer(t)",
    "timer(t,-1s)",
    "timer(t,1s) timer(t,1s)",
    "cancel-timer()",
    "cancel-timer(t)",
    "marker()",
    "upsert(nothing)",
    "memo(nothing)",
    r#"child("",Kid)"#,
    "child(c)",
    "child(c,Kid,run=-1s)",
    "child(c,Kid,cron=never)",
    "child(c,Kid,coef=0.5)",
    "child(c,Kid) cancel-external(c)",
    r#"signal-external("",go)"#,
    "signal-external(x)",
    "signal-external(x,go,run=nonsense)",
    "cancel-external()",
    "cancel-external(x,run=nonsense)",
    "continue(Other,run=-1s)",
    "continue(Other,cron=never)",
    "continue(Other,coef=0.5)",
    "fail()",
    "message(unknown)",
    "respond(u1,ok)",
    "accept(u1)",
    "reject(u1,no)",
    "babble(u1)",
    "nexus",
];

/// Each line: commands, and the cause and words with which the task fails.
#[test]
fn a_bad_command_fails_its_task_with_the_cause_that_sdks_know() {
    let limits = Limits { id_bytes_max: 12, blob_bytes_max: 100_000, ..Limits::default() };
    let fate = |commands: &&str| {
        let text = check_within(
            limits.clone(),
            &format!(
                "
            0 start Order
            0 take-task
            1 complete {commands}
        "
            ),
        );
        let told = text.lines().find_map(|line| line.split_once("answered at 1: "));
        let written = text.lines().filter(|line| line.contains("WorkflowTaskFailed")).count();
        let next = text.lines().nth(4).is_some_and(|line| line.starts_with("answered"));
        assert!(written == 1 && next, "one failure and a repetition: {text}");
        format!("{commands:<55} {}", told.map_or("taken", |(_, why)| why))
    };
    insta::assert_snapshot!(BAD.iter().map(fate).collect::<Vec<_>>().join("\n"), @r#"
    schedule("",Charge,stc=1s)                              BadScheduleActivityAttributes: ActivityId is not set on command.
    schedule(a)                                             BadScheduleActivityAttributes: ActivityType is not set on command.
    schedule(a,Charge)                                      BadScheduleActivityAttributes: a valid StartToCloseTimeout or ScheduleToCloseTimeout must be set on the activity. ActivityId=a ActivityType=Charge
    schedule(a,Charge,stc=-1s)                              BadScheduleActivityAttributes: invalid StartToCloseTimeout: -1 s and 0 ns do not make a duration: it must not be negative
    schedule(a,Charge,stc=1s,queue=/_sys/q)                 BadScheduleActivityAttributes: task queue name cannot start with reserved prefix /_sys/
    schedule(a,Charge,stc=1s,coef=0.5)                      BadScheduleActivityAttributes: BackoffCoefficient cannot be less than 1 on retry policy.
    schedule(a,Charge,stc=1s,attempts=-1)                   BadScheduleActivityAttributes: MaximumAttempts cannot be negative on retry policy.
    schedule(a,Charge,stc=1s,init=5s,max=1s)                BadScheduleActivityAttributes: MaximumInterval cannot be less than InitialInterval on retry policy.
    schedule(a,Charge,stc=1s,non=TemporalTimeout:Never)     BadScheduleActivityAttributes: Invalid timeout type value: Never.
    schedule(averylongname,Charge,stc=1s)                   BadScheduleActivityAttributes: ActivityId exceeds length limit.
    schedule(a,Charge,stc=1s) schedule(a,Charge,stc=1s)     ScheduleActivityDuplicateId: activity with ID a is pending already
    cancel-activity(#5)                                     BadRequestCancelActivityAttributes: no pending activity with scheduled event id 5
    timer("",1s)                                            BadStartTimerAttributes: TimerId is not set on command.
    timer(t)                                                BadStartTimerAttributes: A valid StartToFireTimeout is not set on command.
    timer(t,-1s)                                            BadStartTimerAttributes: invalid StartToFireTimeout: -1 s and 0 ns do not make a duration: it must not be negative
    timer(t,1s) timer(t,1s)                                 StartTimerDuplicateId: timer with ID t is pending already
    cancel-timer()                                          BadCancelTimerAttributes: TimerId is not set on command.
    cancel-timer(t)                                         BadCancelTimerAttributes: no pending timer with ID t
    marker()                                                BadRecordMarkerAttributes: MarkerName is not set on command.
    upsert(nothing)                                         BadSearchAttributes: SearchAttributes is not set on command.
    memo(nothing)                                           BadModifyWorkflowPropertiesAttributes: UpsertedMemo is not set on command.
    child("",Kid)                                           BadStartChildExecutionAttributes: WorkflowId is not set on command.
    child(c)                                                BadStartChildExecutionAttributes: WorkflowType is not set on command.
    child(c,Kid,run=-1s)                                    BadStartChildExecutionAttributes: invalid WorkflowRunTimeout: -1 s and 0 ns do not make a duration: it must not be negative
    child(c,Kid,cron=never)                                 BadStartChildExecutionAttributes: invalid CronSchedule: "never" is not five cron fields: it has 1
    child(c,Kid,coef=0.5)                                   BadStartChildExecutionAttributes: BackoffCoefficient cannot be less than 1 on retry policy.
    child(c,Kid) cancel-external(c)                         BadRequestCancelExternalWorkflowExecutionAttributes: start and cancel of child "c" in the same workflow task
    signal-external("",go)                                  BadSignalWorkflowExecutionAttributes: WorkflowId is not set on command.
    signal-external(x)                                      BadSignalWorkflowExecutionAttributes: SignalName is not set on command.
    signal-external(x,go,run=nonsense)                      BadSignalWorkflowExecutionAttributes: Invalid RunId set on command.
    cancel-external()                                       BadRequestCancelExternalWorkflowExecutionAttributes: WorkflowId is not set on command.
    cancel-external(x,run=nonsense)                         BadRequestCancelExternalWorkflowExecutionAttributes: Invalid RunId set on command.
    continue(Other,run=-1s)                                 BadContinueAsNewAttributes: invalid WorkflowRunTimeout: -1 s and 0 ns do not make a duration: it must not be negative
    continue(Other,cron=never)                              BadContinueAsNewAttributes: invalid CronSchedule: "never" is not five cron fields: it has 1
    continue(Other,coef=0.5)                                BadContinueAsNewAttributes: BackoffCoefficient cannot be less than 1 on retry policy.
    fail()                                                  BadFailWorkflowExecutionAttributes: Failure is not set on command.
    message(unknown)                                        BadUpdateWorkflowExecutionMessage: message "unknown" is not part of the completion
    respond(u1,ok)                                          BadUpdateWorkflowExecutionMessage: update u1 is not under way
    accept(u1)                                              BadUpdateWorkflowExecutionMessage: update u1 is not known
    reject(u1,no)                                           BadUpdateWorkflowExecutionMessage: update u1 is not known
    babble(u1)                                              BadUpdateWorkflowExecutionMessage: unknown message "type.googleapis.com/temporal.api.update.v1.Nonsense"
    nexus                                                   FeatureDisabled: Nexus operations are not supported
    "#);
}

#[test]
fn a_command_that_closes_must_be_the_last_and_nothing_is_recorded_otherwise() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 complete done(ok) timer(t1,1s)
        1 complete cancelled done(ok)
        1 complete nothing
        2 complete done(ok)
    "), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskCompleted
       5     2.000  WorkflowExecutionCompleted ok
    refused at 1: commands: a command that closes the workflow must be the last one
    refused at 1: commands: a command that closes the workflow must be the last one
    refused at 1: commands: a command has no attributes
    ");
}

#[test]
fn a_bad_command_of_a_repetition_is_only_told_to_its_worker() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 fail-task nondeterminism oops
        1 take-task
        2 complete timer(t)
        2 show task
        11 tick
        11 show task
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskFailed NonDeterministicError "oops"
    refused at 2: BadStartTimerAttributes: A valid StartToFireTimeout is not set on command.
    task at 2: started attempt=2
    task at 11: scheduled attempt=3
    "#);
}

#[test]
fn a_refused_close_counts_also_for_a_repetition() {
    insta::assert_snapshot!(check("
        0 start Order
        0 take-task
        1 fail-task nondeterminism oops
        1 take-task
        2 signal s
        3 complete done(ok)
        3 show task
    "), @r#"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     0.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskFailed NonDeterministicError "oops"
       5     2.000  WorkflowExecutionSignaled s
       6     3.000  WorkflowTaskScheduled
    answered at 3: UnhandledCommand
    task at 3: scheduled attempt=1
    "#);
}

#[test]
fn an_activity_may_be_cancelled_once_only() {
    insta::assert_snapshot!(check("
        0 run Order schedule(a,Charge,stc=10s)
        0 take a
        1 signal s
        1 take-task
        1 complete cancel-activity(a)
        2 signal s
        2 take-task
        2 complete cancel-activity(a)
    "), @r#"
       5     0.000  ActivityTaskScheduled a Charge
       6     1.000  WorkflowExecutionSignaled s
       7     1.000  WorkflowTaskScheduled
       8     1.000  WorkflowTaskStarted
       9     1.000  WorkflowTaskCompleted
      10     1.000  ActivityTaskCancelRequested #5
      11     2.000  WorkflowExecutionSignaled s
      12     2.000  WorkflowTaskScheduled
      13     2.000  WorkflowTaskStarted
      14     2.000  WorkflowTaskFailed BadRequestCancelActivityAttributes "BadRequestCancelActivityAttributes: cancellation of the activity scheduled by 5 was requested before"
    answered at 2: BadRequestCancelActivityAttributes: cancellation of the activity scheduled by 5 was requested before
    "#);
}

#[test]
fn a_command_that_is_too_large_ends_the_run() {
    let limits = Limits { blob_bytes_max: 50, ..Limits::default() };
    let script = |command: &str| {
        format!(
            "
        0 start Order
        0 take-task
        1 complete {command}
    "
        )
    };
    let cases = [
        "schedule(a,Charge,stc=1s,input=big:51)",
        "child(c,Kid,input=big:51)",
        "signal-external(x,go,input=big:51)",
        "continue(Other,input=big:51)",
        "done(big:51)",
        "fail(boom,details=big:51)",
        "cancelled(big:51)",
        "upsert(City=0123456789012345678901234567890123456789012345678901)",
    ];
    let fate = |command: &&str| {
        let text = check_within(limits.clone(), &script(command));
        let events: Vec<&str> = text.lines().skip(3).map(str::trim).collect();
        events.join("\n")
    };
    insta::assert_snapshot!(cases.iter().map(fate).collect::<Vec<_>>().join("\n"), @r#"
    4     1.000  WorkflowTaskFailed BadScheduleActivityAttributes "BadScheduleActivityAttributes: ScheduleActivityTaskCommandAttributes.Input exceeds size limit."
    5     1.000  WorkflowExecutionTerminated BadScheduleActivityAttributes: ScheduleActivityTaskCommandAttributes.Input exceeds size limit.
    answered at 1: BadScheduleActivityAttributes: ScheduleActivityTaskCommandAttributes.Input exceeds size limit.
    4     1.000  WorkflowTaskFailed BadStartChildExecutionAttributes "BadStartChildExecutionAttributes: StartChildWorkflowExecutionCommandAttributes.Input exceeds size limit."
    5     1.000  WorkflowExecutionTerminated BadStartChildExecutionAttributes: StartChildWorkflowExecutionCommandAttributes.Input exceeds size limit.
    answered at 1: BadStartChildExecutionAttributes: StartChildWorkflowExecutionCommandAttributes.Input exceeds size limit.
    4     1.000  WorkflowTaskFailed BadSignalWorkflowExecutionAttributes "BadSignalWorkflowExecutionAttributes: SignalExternalWorkflowExecutionCommandAttributes.Input exceeds size limit."
    5     1.000  WorkflowExecutionTerminated BadSignalWorkflowExecutionAttributes: SignalExternalWorkflowExecutionCommandAttributes.Input exceeds size limit.
    answered at 1: BadSignalWorkflowExecutionAttributes: SignalExternalWorkflowExecutionCommandAttributes.Input exceeds size limit.
    4     1.000  WorkflowTaskFailed BadContinueAsNewAttributes "BadContinueAsNewAttributes: ContinueAsNewWorkflowExecutionCommandAttributes.Input exceeds size limit."
    5     1.000  WorkflowExecutionTerminated BadContinueAsNewAttributes: ContinueAsNewWorkflowExecutionCommandAttributes.Input exceeds size limit.
    answered at 1: BadContinueAsNewAttributes: ContinueAsNewWorkflowExecutionCommandAttributes.Input exceeds size limit.
    4     1.000  WorkflowTaskFailed BadScheduleActivityAttributes "BadScheduleActivityAttributes: CompleteWorkflowExecutionCommandAttributes.Result exceeds size limit."
    5     1.000  WorkflowExecutionTerminated BadScheduleActivityAttributes: CompleteWorkflowExecutionCommandAttributes.Result exceeds size limit.
    answered at 1: BadScheduleActivityAttributes: CompleteWorkflowExecutionCommandAttributes.Result exceeds size limit.
    4     1.000  WorkflowTaskFailed BadFailWorkflowExecutionAttributes "BadFailWorkflowExecutionAttributes: FailWorkflowExecutionCommandAttributes.Failure exceeds size limit."
    5     1.000  WorkflowExecutionTerminated BadFailWorkflowExecutionAttributes: FailWorkflowExecutionCommandAttributes.Failure exceeds size limit.
    answered at 1: BadFailWorkflowExecutionAttributes: FailWorkflowExecutionCommandAttributes.Failure exceeds size limit.
    4     1.000  WorkflowTaskFailed BadCancelWorkflowExecutionAttributes "BadCancelWorkflowExecutionAttributes: CancelWorkflowExecutionCommandAttributes.Details exceeds size limit."
    5     1.000  WorkflowExecutionTerminated BadCancelWorkflowExecutionAttributes: CancelWorkflowExecutionCommandAttributes.Details exceeds size limit.
    answered at 1: BadCancelWorkflowExecutionAttributes: CancelWorkflowExecutionCommandAttributes.Details exceeds size limit.
    4     1.000  WorkflowTaskFailed BadSearchAttributes "BadSearchAttributes: SearchAttributes exceeds size limit."
    5     1.000  WorkflowExecutionTerminated BadSearchAttributes: SearchAttributes exceeds size limit.
    answered at 1: BadSearchAttributes: SearchAttributes exceeds size limit.
    "#);
}

#[test]
fn there_is_a_limit_to_everything_that_is_pending() {
    let limits = Limits { pending_max: 2, ..Limits::default() };
    let cases = [
        "schedule(a,A,stc=1s) schedule(b,A,stc=1s) schedule(c,A,stc=1s)",
        "child(a,A) child(b,A) child(c,A)",
        "signal-external(a,s) signal-external(b,s) signal-external(c,s)",
        "cancel-external(a) cancel-external(b) cancel-external(c)",
        "signal-external(a,s) signal-external(b,s) cancel-external(c)",
    ];
    let fate = |commands: &&str| {
        let text = check_within(
            limits.clone(),
            &format!(
                "
            0 start Order
            0 take-task
            1 complete {commands}
        "
            ),
        );
        text.lines().last().unwrap_or_default().to_owned()
    };
    insta::assert_snapshot!(cases.iter().map(fate).collect::<Vec<_>>().join("\n"), @r"
    answered at 1: PendingActivitiesLimitExceeded: the number of pending activities, 2, has reached the per-workflow limit of 2
    answered at 1: PendingChildWorkflowsLimitExceeded: the number of pending child workflows, 2, has reached the per-workflow limit of 2
    answered at 1: PendingSignalsLimitExceeded: the number of pending signals, 2, has reached the per-workflow limit of 2
    answered at 1: PendingRequestCancelLimitExceeded: the number of pending requests to cancel, 2, has reached the per-workflow limit of 2
       7     1.000  RequestCancelExternalWorkflowExecutionInitiated c
    ");
}
