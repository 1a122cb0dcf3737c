//! The runs that follow one another: continue-as-new, cron, retries, time limits.

use std::time::Duration;

use steadfast_core::{Limits, Timestamp, span::from_wire};
use steadfast_proto::{enums::ContinueAsNewInitiator, history::history_event::Attributes};

use crate::common::{
    World, check,
    world::{BEGIN, Story},
};

fn last_event(story: &Story) -> &Attributes {
    story.events.last().and_then(|event| event.attributes.as_ref()).expect("a last event")
}

fn seconds(at: Timestamp) -> u64 {
    at.since(BEGIN).as_secs()
}

#[test]
fn a_workflow_may_go_on_as_a_new_run() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,5s)
        5 tick
        5 take-task
        6 complete continue(Order2,input=state)
        6 show task
        7 take-task
        8 complete done(ok)
    "), @r"
       5     0.000  TimerStarted t1 5s
       6     5.000  TimerFired t1
       7     5.000  WorkflowTaskScheduled
       8     5.000  WorkflowTaskStarted
       9     6.000  WorkflowTaskCompleted
      10     6.000  WorkflowExecutionContinuedAsNew initiator=Workflow
    run 2:
       1     0.000  WorkflowExecutionStarted Order2 initiator=Workflow
       2     0.000  WorkflowTaskScheduled
       3     1.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskCompleted
       5     2.000  WorkflowExecutionCompleted ok
    task at 6: scheduled attempt=1
    ");
}

#[test]
fn runs_of_a_workflow_that_only_goes_on_begin_with_an_interval() {
    let limits = Limits { continue_as_new_interval: Duration::from_secs(3), ..Limits::default() };
    let mut world = World::within(limits);
    for line in
        ["0 run Order continue()", "3 tick", "3 take-task", "4 complete continue(backoff=1s)"]
    {
        world.line(line);
    }
    let waits: Vec<u64> = world.stories[1..]
        .iter()
        .map(|it| from_wire(it.run.started().first_workflow_task_backoff.as_ref()).as_secs())
        .collect();
    assert_eq!(waits, [3, 2], "the second began after 3 s and lived for one");
    let Attributes::WorkflowExecutionContinuedAsNewEventAttributes(event) =
        last_event(&world.stories[1])
    else {
        panic!("it has gone on")
    };
    let asked = from_wire(event.backoff_start_interval.as_ref());
    assert_eq!(asked.as_secs(), 1, "the event says what the workflow asked for");
    let long = World::within(world.limits).play(
        "
        0 run Order timer(t1,5s)
        5 tick
        5 take-task
        5 complete continue()
    ",
    );
    assert!(long.stories[1].run.task().is_some(), "it goes on at once");
}

#[test]
fn the_new_run_has_what_the_command_says_and_else_what_the_old_one_had() {
    let world = World::default().play("
        0 run Order continue(queue=other,run=30s,backoff=5s,last=result,attempts=4) run=60s exec=100s cron=@hourly attempts=2
    ");
    let (old, new) = (&world.stories[0].run, &world.stories[1].run);
    let started = new.started();
    assert_eq!(new.workflow_type(), "Order");
    assert_eq!(new.task_queue(), "other");
    assert_eq!(from_wire(started.workflow_run_timeout.as_ref()).as_secs(), 30);
    assert_eq!(
        started.workflow_execution_expiration_time,
        old.started().workflow_execution_expiration_time
    );
    assert_eq!(started.first_execution_run_id, old.identity().run_id);
    assert_eq!(started.continued_execution_run_id, old.identity().run_id);
    assert_eq!(started.original_execution_run_id, new.identity().run_id);
    assert_eq!(started.cron_schedule, "", "as the command says");
    assert_eq!(started.retry_policy.as_ref().unwrap().maximum_attempts, 4);
    assert_eq!(started.attempt, 1);
    assert!(started.last_completion_result.is_some());
    assert_eq!(new.next_due().map(seconds), Some(5), "the first task waits");
    assert_eq!(started.initiator(), ContinueAsNewInitiator::Workflow);
}

#[test]
fn c_40_t_30_a_failed_run_that_is_retried_closes_as_continued() {
    insta::assert_snapshot!(check("
        0 run Order fail(boom) attempts=3
        0 show status
        1 tick
        1 take-task
        1 complete fail(bang)
        3 tick
        3 take-task
        3 complete fail(crash)
        3 show status
    "), @r#"
       5     0.000  WorkflowExecutionContinuedAsNew initiator=Retry "boom"
    run 2:
       1     0.000  WorkflowExecutionStarted Order attempt=2 backoff=1s initiator=Retry
       2     1.000  WorkflowTaskScheduled
       3     1.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskCompleted
       5     1.000  WorkflowExecutionContinuedAsNew initiator=Retry "bang"
    run 3:
       1     0.000  WorkflowExecutionStarted Order attempt=3 backoff=2s initiator=Retry
       2     2.000  WorkflowTaskScheduled
       3     2.000  WorkflowTaskStarted
       4     2.000  WorkflowTaskCompleted
       5     2.000  WorkflowExecutionFailed MaximumAttemptsReached "crash"
    status at 0: Running
    status at 3: Failed
    "#);
}

#[expect(deprecated, reason = "the failure is what a retried run is asked for")]
#[test]
fn c_41_c_42_c_43_t_31_t_32_t_33_the_event_names_the_policy_and_the_run_that_exists_at_once() {
    let world = World::default().play("0 run Order fail(boom) attempts=3 init=30s");
    let Attributes::WorkflowExecutionContinuedAsNewEventAttributes(event) =
        last_event(&world.stories[0])
    else {
        panic!("a retried run continues");
    };
    let next = &world.stories[1];
    assert_eq!(event.initiator(), ContinueAsNewInitiator::Retry);
    assert_eq!(event.new_execution_run_id, next.run.identity().run_id);
    assert_eq!(event.failure.as_ref().unwrap().message, "boom");
    assert!(next.run.is_open(), "it exists at once");
    assert_eq!(next.run.started_at(), world.stories[0].run.closed_at().unwrap());
}

#[test]
fn c_44_c_45_t_34_t_35_the_first_task_waits_for_the_backoff_that_the_first_event_tells() {
    let mut world = World::default().play("0 run Order fail(boom) attempts=3 init=30s");
    let started = world.story().run.started().clone();
    assert_eq!(from_wire(started.first_workflow_task_backoff.as_ref()).as_secs(), 30);
    world.line("29.9 tick");
    assert!(world.story().run.task().is_none());
    world.line("30 tick");
    assert!(world.story().run.task().is_some());
}

#[test]
fn a_retried_run_begins_with_what_the_first_event_says_and_not_what_came_later() {
    let world = World::default().play(
        "
        0 run Order memo(a=1) upsert(City=Oslo) fail(boom) attempts=3 input=in
    ",
    );
    let started = world.story().run.started();
    assert_eq!(started.input, world.stories[0].run.started().input);
    assert!(world.story().run.memo().is_none() && world.story().run.search_attributes().is_none());
    assert_eq!(started.continued_failure.as_ref().unwrap().message, "boom");
    assert_eq!(started.attempt, 2);
}

#[test]
fn c_108_attempts_grow_and_the_end_of_the_chain_stays() {
    let world = World::default().play(
        "
        0 run Order fail(a) attempts=3 exec=600s
        1 tick
        1 take-task
        1 complete fail(b)
        3 tick
        3 take-task
        3 complete fail(c)
    ",
    );
    let attempts: Vec<i32> = world.stories.iter().map(|it| it.run.started().attempt).collect();
    assert_eq!(attempts, [1, 2, 3]);
    for story in &world.stories {
        let end = story.run.started().workflow_execution_expiration_time;
        assert_eq!(end, world.stories[0].run.started().workflow_execution_expiration_time);
    }
    let Attributes::WorkflowExecutionFailedEventAttributes(end) = last_event(world.story()) else {
        panic!("the last run failed");
    };
    assert_eq!(end.retry_state().as_str_name(), "RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED");
}

#[test]
fn c_109_a_later_run_may_not_outlast_the_chain() {
    let mut world = World::default().play(
        "
        0 start Order attempts=3 run=60m exec=90m init=1s
        3000 take-task
        3000 complete fail(late)
    ",
    );
    world.line("3001 tick");
    world.line("3001 take-task");
    assert_eq!(
        world.stories[0].run.state().run_expires_at,
        BEGIN.after(Duration::from_secs(3_600)).0
    );
    assert_eq!(world.story().run.state().run_expires_at, BEGIN.after(Duration::from_secs(5_400)).0);
}

#[test]
fn c_110_a_run_that_times_out_is_retried_too() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,1h) attempts=2 run=10s
        10 tick
        11 tick
        21 tick
        21 show status
    "), @r#"
       5     0.000  TimerStarted t1 3600s
       6    10.000  WorkflowExecutionContinuedAsNew initiator=Retry "workflow timeout"
    run 2:
       1     0.000  WorkflowExecutionStarted Order attempt=2 backoff=1s initiator=Retry
       2     1.000  WorkflowTaskScheduled
       3    11.000  WorkflowExecutionTimedOut MaximumAttemptsReached
    status at 21: TimedOut
    "#);
}

#[test]
fn a_run_that_is_not_to_be_retried_fails_with_the_reason() {
    let end = |(options, failure): (&str, &str)| {
        let text = check(&format!("0 run Order fail(boom{failure}) {options}"));
        let line = text.lines().next().unwrap_or_default();
        format!("{options:<22} {failure:<10} {}", line.trim())
    };
    let cases = [
        ("", ""),
        ("attempts=3", ""),
        ("attempts=1", ""),
        ("attempts=3", ",final"),
        ("non=Bad", ",type=Bad"),
        ("attempts=3", ",as-cancel"),
        ("init=30s exec=30s", ""),
        ("init=31s exec=30s", ""),
        ("max=5s init=1s", ",next=60s"),
    ];
    insta::assert_snapshot!(cases.map(end).join("\n"), @r#"
                                      5     0.000  WorkflowExecutionFailed RetryPolicyNotSet "boom"
    attempts=3                        5     0.000  WorkflowExecutionContinuedAsNew initiator=Retry "boom"
    attempts=1                        5     0.000  WorkflowExecutionFailed MaximumAttemptsReached "boom"
    attempts=3             ,final     5     0.000  WorkflowExecutionFailed NonRetryableFailure "boom"
    non=Bad                ,type=Bad  5     0.000  WorkflowExecutionFailed NonRetryableFailure "boom"
    attempts=3             ,as-cancel 5     0.000  WorkflowExecutionFailed NonRetryableFailure "boom"
    init=30s exec=30s                 5     0.000  WorkflowExecutionContinuedAsNew initiator=Retry "boom"
    init=31s exec=30s                 5     0.000  WorkflowExecutionFailed Timeout "boom"
    max=5s init=1s         ,next=60s  5     0.000  WorkflowExecutionContinuedAsNew initiator=Retry "boom"
    "#);
}

#[test]
fn a_chain_whose_time_is_over_ends() {
    insta::assert_snapshot!(check("
        0 run Order timer(t1,1h) attempts=5 exec=10s run=10s
        0 show due
        10 tick
        10 show status
    "), @r"
       5     0.000  TimerStarted t1 3600s
       6    10.000  WorkflowExecutionTimedOut Timeout
    due at 0: 10
    status at 10: TimedOut
    ");
}

#[test]
fn a_chain_ends_also_while_a_later_run_waits_for_its_backoff() {
    insta::assert_snapshot!(check("
        0 run Order fail(boom) attempts=5 exec=10s init=8s
        8 tick
        8 take-task
        9 complete timer(t1,1h)
        10 tick
    "), @r#"
       5     0.000  WorkflowExecutionContinuedAsNew initiator=Retry "boom"
    run 2:
       1     0.000  WorkflowExecutionStarted Order attempt=2 backoff=8s initiator=Retry
       2     8.000  WorkflowTaskScheduled
       3     8.000  WorkflowTaskStarted
       4     9.000  WorkflowTaskCompleted
       5     9.000  TimerStarted t1 3600s
       6    10.000  WorkflowExecutionTimedOut Timeout
    "#);
}

#[test]
fn a_run_that_times_out_fails_its_task_and_keeps_what_was_in_the_buffer() {
    insta::assert_snapshot!(check("
        0 start Order run=5s
        0 take-task
        1 signal s
        5 tick
    "), @r"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     0.000  WorkflowTaskStarted
    4     5.000  WorkflowTaskFailed ForceCloseCommand
    5     5.000  WorkflowExecutionSignaled s
    6     5.000  WorkflowExecutionTimedOut RetryPolicyNotSet
    ");
}

#[test]
fn the_time_of_a_run_begins_after_its_delay() {
    insta::assert_snapshot!(check("
        0 start Order run=5s delay=60s
        10 tick
        60 tick
        64.9 tick
        65 tick
    "), @r"
    1     0.000  WorkflowExecutionStarted Order backoff=60s
    2    60.000  WorkflowTaskScheduled
    3    65.000  WorkflowExecutionTimedOut RetryPolicyNotSet
    ");
}

#[test]
fn a_cron_run_is_followed_by_the_next_one() {
    insta::assert_snapshot!(check(r#"
        0 start Order cron="*/5 * * * *" delay=300s
        300 tick
        300 take-task
        301 complete done(one)
        600 tick
        600 take-task
        601 complete fail(boom)
        601 show due
    "#), @r#"
       1     0.000  WorkflowExecutionStarted Order backoff=300s
       2   300.000  WorkflowTaskScheduled
       3   300.000  WorkflowTaskStarted
       4   301.000  WorkflowTaskCompleted
       5   301.000  WorkflowExecutionCompleted one (goes on)
    run 2:
       1     0.000  WorkflowExecutionStarted Order backoff=299s initiator=CronSchedule
       2   299.000  WorkflowTaskScheduled
       3   299.000  WorkflowTaskStarted
       4   300.000  WorkflowTaskCompleted
       5   300.000  WorkflowExecutionFailed RetryPolicyNotSet "boom" (goes on)
    run 3:
       1     0.000  WorkflowExecutionStarted Order backoff=299s initiator=CronSchedule
    due at 601: 900
    "#);
}

#[test]
fn a_cron_run_hands_on_the_last_result_also_over_a_failure() {
    let world = World::default().play(
        r#"
        0 start Order cron="*/5 * * * *" delay=300s
        300 tick
        300 take-task
        301 complete done(one)
        600 tick
        600 take-task
        601 complete fail(boom)
        900 tick
        900 take-task
        901 complete done
    "#,
    );
    let handed_on = |at: usize| {
        let started = world.stories[at].run.started();
        let result = started.last_completion_result.as_ref();
        let result = result.map(|it| String::from_utf8_lossy(&it.payloads[0].data).into_owned());
        let failure = started.continued_failure.as_ref().map(|it| it.message.clone());
        (result, failure, started.attempt, started.initiator())
    };
    let cron = ContinueAsNewInitiator::CronSchedule;
    assert_eq!(handed_on(1), (Some("one".to_owned()), None, 1, cron));
    assert_eq!(handed_on(2), (Some("one".to_owned()), Some("boom".to_owned()), 1, cron));
    assert_eq!(handed_on(3), (None, None, 1, cron));
}

#[test]
fn c_111_retries_come_first_and_then_the_next_cron_run() {
    insta::assert_snapshot!(check(r#"
        0 start Order cron="*/5 * * * *" attempts=2 delay=300s
        300 tick
        300 take-task
        300 complete fail(one)
        301 tick
        301 take-task
        301 complete fail(two)
        301 show due
    "#), @r#"
       1     0.000  WorkflowExecutionStarted Order backoff=300s
       2   300.000  WorkflowTaskScheduled
       3   300.000  WorkflowTaskStarted
       4   300.000  WorkflowTaskCompleted
       5   300.000  WorkflowExecutionContinuedAsNew initiator=Retry "one"
    run 2:
       1     0.000  WorkflowExecutionStarted Order attempt=2 backoff=1s initiator=Retry
       2     1.000  WorkflowTaskScheduled
       3     1.000  WorkflowTaskStarted
       4     1.000  WorkflowTaskCompleted
       5     1.000  WorkflowExecutionFailed MaximumAttemptsReached "two" (goes on)
    run 3:
       1     0.000  WorkflowExecutionStarted Order backoff=299s initiator=CronSchedule
    due at 301: 600
    "#);
}

#[test]
fn c_111_in_cadences_terms_each_cron_run_has_the_whole_expiration_for_its_retries() {
    let world = World::default().play(
        r#"
        0 start Order cron="*/5 * * * *" attempts=9 run=1h cadence=90s delay=300s
        300 tick
        300 take-task
        350 complete fail(one)
        351 tick
        352 take-task
        389 complete fail(two)
        600 tick
        600 take-task
        650 complete fail(three)
    "#,
    );
    let seen = |at: usize| {
        let run = &world.stories[at].run;
        let retries_end = run.state().cadence.expect("Cadence's terms").expires_at;
        let ends = [retries_end, run.state().run_expires_at].map(|at| seconds(Timestamp(at)));
        (run.started().initiator(), run.started().attempt, ends)
    };
    let (cron, retry) = (ContinueAsNewInitiator::CronSchedule, ContinueAsNewInitiator::Retry);
    assert_eq!(seen(0), (ContinueAsNewInitiator::Unspecified, 1, [390, 3_900]));
    assert_eq!(seen(1), (retry, 2, [390, 390]), "cut to what is left");
    assert_eq!(
        seen(2),
        (cron, 1, [690, 4_200]),
        "no third attempt fits in, and the next has it all"
    );
    assert_eq!(seen(3), (retry, 2, [690, 690]));
}

#[test]
fn in_cadences_terms_a_run_that_is_cut_off_by_the_expiration_is_not_retried() {
    insta::assert_snapshot!(check("
        0 run Order fail(boom) attempts=9 cadence=10s
        1 tick
        1 take-task
        10 show due
        10 tick
    "), @r#"
       5     0.000  WorkflowExecutionContinuedAsNew initiator=Retry "boom"
    run 2:
       1     0.000  WorkflowExecutionStarted Order attempt=2 backoff=1s initiator=Retry
       2     1.000  WorkflowTaskScheduled
       3     1.000  WorkflowTaskStarted
       4    10.000  WorkflowTaskFailed ForceCloseCommand
       5    10.000  WorkflowExecutionTimedOut Timeout
    due at 10: 10
    "#);
}

#[test]
fn a_cron_run_that_times_out_is_followed_by_the_next_one() {
    insta::assert_snapshot!(check(r#"
        0 start Order cron="*/5 * * * *" run=10s delay=300s
        300 tick
        310 tick
        310 show due
    "#), @r"
       1     0.000  WorkflowExecutionStarted Order backoff=300s
       2   300.000  WorkflowTaskScheduled
       3   310.000  WorkflowExecutionTimedOut RetryPolicyNotSet (goes on)
    run 2:
       1     0.000  WorkflowExecutionStarted Order backoff=290s initiator=CronSchedule
    due at 310: 600
    ");
}

#[test]
fn c_112_a_cancelled_workflow_starts_no_new_run() {
    let fate = |command: &str| {
        check(&format!(
            r#"
            0 start Order cron="*/5 * * * *" attempts=9
            1 cancel
            1 take-task
            1 complete {command}
            1 show status
        "#
        ))
        .lines()
        .skip(5)
        .collect::<Vec<_>>()
        .join("\n")
    };
    insta::assert_snapshot!([fate("cancelled"), fate("fail(boom)"), fate("done(ok)")].join("\n"), @r#"
       6     1.000  WorkflowExecutionCanceled
    status at 1: Canceled
       6     1.000  WorkflowExecutionFailed CancelRequested "boom"
    status at 1: Failed
       6     1.000  WorkflowExecutionCompleted ok
    status at 1: Completed
    "#);
}

#[test]
fn c_112_in_cadences_terms_a_failure_after_a_cancel_request_is_a_cancellation() {
    insta::assert_snapshot!(check(r#"
        0 start Order cron="*/5 * * * *" attempts=9 cadence=60s
        1 cancel
        1 take-task
        1 complete fail(boom)
        1 show status
    "#), @r"
       1     0.000  WorkflowExecutionStarted Order
       2     0.000  WorkflowTaskScheduled
       3     1.000  WorkflowExecutionCancelRequested
       4     1.000  WorkflowTaskStarted
       5     1.000  WorkflowTaskCompleted
       6     1.000  WorkflowExecutionCanceled
    status at 1: Canceled
    ");
}

#[test]
fn a_terminated_cron_run_is_the_last() {
    insta::assert_snapshot!(check("
        0 start Order cron=@hourly delay=60s
        1 terminate enough
    "), @r"
    1     0.000  WorkflowExecutionStarted Order backoff=60s
    2     1.000  WorkflowExecutionTerminated enough
    ");
}

#[test]
fn a_chain_that_ends_before_the_next_cron_time_ends_now() {
    insta::assert_snapshot!(check("
        0 run Order done(ok) cron=@hourly exec=600s run=600s
    "), @r"
       5     0.000  WorkflowExecutionCompleted ok
    ");
}

#[test]
fn a_parent_hears_of_the_last_run_only() {
    let world = World::default().play(
        "
        0 run Order fail(boom) attempts=2 parent=p
        1 tick
        1 take-task
        1 complete fail(bang)
    ",
    );
    let messages: Vec<usize> = world.stories.iter().map(|it| it.run.messages().len()).collect();
    assert_eq!(messages, [0, 1]);
}
