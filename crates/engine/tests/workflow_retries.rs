//! Workflows that fail and are tried again, run after run, and those on a schedule.

use steadfast_core::text;
use steadfast_engine::{Code, Error};
use steadfast_proto::{
    enums::WorkflowExecutionStatus as Status,
    history::{
        HistoryEvent, WorkflowExecutionStartedEventAttributes as Started, history_event::Attributes,
    },
    workflowservice as ws,
};
use steadfast_retry::preset::cadence;

use crate::common::{
    QUEUE, Rig,
    calls::{Task, start_request},
    cancelled, child_with, complete, continue_as_new, fail, retries, seconds, survives,
};

fn started(events: &[HistoryEvent]) -> Started {
    match &events[0].attributes {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(it)) => *it.clone(),
        other => panic!("a history begins with its start: {other:?}"),
    }
}

async fn status(rig: &Rig, run_id: &str) -> Status {
    let seen = rig.describe_run("order-1", run_id).await.expect("a run");
    seen.workflow_execution_info.expect("an info").status()
}

async fn start_retried(rig: &Rig, initial: i64, attempts: i32) -> String {
    let start =
        rig.start_with("order-1", |it| it.retry_policy = Some(retries(initial, 1.0, attempts)));
    start.await.expect("a start").run_id
}

#[tokio::test(start_paused = true)]
async fn c_04_t_01_a_workflow_is_retried_and_who_waits_by_its_id_gets_the_last_result() {
    let told = survives(async |rig: &Rig| {
        let first = start_retried(rig, 1, 2).await;
        rig.step(vec![fail("no luck")]).await;
        rig.step(vec![complete("lucky")]).await;
        let mut run_id = first;
        loop {
            let close = rig.closed("order-1", &run_id).await;
            let Some(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(it)) =
                close.attributes
            else {
                break;
            };
            run_id = it.new_execution_run_id;
        }
        rig.text("order-1", &run_id).await
    });
    insta::assert_snapshot!(told.await, @r#"
    1     0.000  WorkflowExecutionStarted Order attempt=2 backoff=1s initiator=Retry
    2     1.000  WorkflowTaskScheduled
    3     1.000  WorkflowTaskStarted
    4     1.000  WorkflowTaskCompleted
    5     1.000  WorkflowExecutionCompleted "lucky"
    "#);
}

#[tokio::test(start_paused = true)]
async fn t_04_a_workflow_without_a_policy_is_not_retried() {
    let rig = Rig::new().await;
    let run_id = rig.start("order-1").await;
    rig.step(vec![fail("no luck")]).await;
    let close = rig.closed("order-1", &run_id).await;
    assert_eq!(text::line(&close), "WorkflowExecutionFailed RetryPolicyNotSet \"no luck\"");
    assert_eq!(rig.poll_task(QUEUE).await, Task::default());
    assert_eq!(rig.count("").await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn c_40_c_41_c_42_t_30_t_31_t_32_who_waits_for_a_retried_run_is_sent_on_to_the_next() {
    let rig = Rig::new().await;
    let first = start_retried(&rig, 30, 2).await;
    rig.step(vec![fail("no luck")]).await;
    let close = rig.closed("order-1", &first).await;
    assert_eq!(text::line(&close), "WorkflowExecutionContinuedAsNew initiator=Retry \"no luck\"");
    let Some(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(it)) = close.attributes
    else {
        panic!("it goes on")
    };
    assert_eq!(status(&rig, &it.new_execution_run_id).await, Status::Running);
    assert_eq!(it.backoff_start_interval, Some(seconds(30)));
}

#[tokio::test(start_paused = true)]
async fn c_41_other_ways_to_go_on_name_their_own_initiator() {
    let rig = Rig::new().await;
    let first = rig.start("order-1").await;
    rig.step(vec![continue_as_new()]).await;
    let close = rig.closed("order-1", &first).await;
    assert_eq!(text::line(&close), "WorkflowExecutionContinuedAsNew initiator=Workflow");
    rig.terminate("order-1").await.expect("ended");

    let start = rig.start_with("order-2", |it| it.cron_schedule = "@every 60s".to_owned());
    let first = start.await.expect("a start").run_id;
    rig.step(vec![complete("tick")]).await;
    let close = rig.closed("order-2", &first).await;
    assert_eq!(text::line(&close), "WorkflowExecutionCompleted \"tick\" (goes on)");
    let next = text::line(&rig.history("order-2", "").await[0]);
    assert!(next.ends_with("initiator=CronSchedule"), "{next}");
}

#[tokio::test(start_paused = true)]
async fn c_43_t_33_the_next_run_exists_at_the_instant_at_which_the_first_closes() {
    let rig = Rig::new().await;
    let first = start_retried(&rig, 30, 2).await;
    rig.step(vec![fail("no luck")]).await;
    assert_eq!(rig.millis(), 0);
    assert_ne!(status(&rig, &first).await, Status::Running);
    assert_eq!(rig.count("ExecutionStatus = 'Running'").await, Ok(1));
    assert_eq!(status(&rig, "").await, Status::Running);
}

#[tokio::test(start_paused = true)]
async fn c_44_c_45_t_34_t_35_the_next_runs_code_waits_for_the_backoff_that_its_start_names() {
    let told = survives(async |rig: &Rig| {
        start_retried(rig, 30, 2).await;
        rig.step(vec![fail("no luck")]).await;
        let events = rig.history("order-1", "").await;
        assert_eq!(events.len(), 1, "no workflow task yet");
        assert_eq!(started(&events).first_workflow_task_backoff, Some(seconds(30)));
        rig.next_task(QUEUE).await;
        assert_eq!(rig.elapsed(), 30);
        String::new()
    });
    told.await;
}

#[tokio::test(start_paused = true)]
async fn c_108_attempts_grow_from_run_to_run_and_the_expiration_stays() {
    let rig = Rig::new().await;
    let start = rig.start_with("order-1", |it| {
        it.retry_policy = Some(retries(5, 1.0, 3));
        it.workflow_execution_timeout = Some(seconds(3_600));
    });
    start.await.expect("a start");
    let mut seen = Vec::new();
    for _ in 0..3 {
        let it = started(&rig.history("order-1", "").await);
        let expires = it.workflow_execution_expiration_time.expect("it expires").seconds;
        seen.push((it.attempt, expires));
        rig.step(vec![fail("no luck")]).await;
    }
    assert_eq!(seen, [(1, 1_003_600), (2, 1_003_600), (3, 1_003_600)]);
    assert_eq!(status(&rig, "").await, Status::Failed);
}

#[tokio::test(start_paused = true)]
async fn c_109_a_later_run_is_cut_to_what_is_left_of_the_whole() {
    let rig = Rig::new().await;
    let start = rig.start_with("order-1", |it| {
        it.retry_policy = Some(retries(1, 1.0, 0));
        it.workflow_execution_timeout = Some(seconds(90 * 60));
        it.workflow_run_timeout = Some(seconds(60 * 60));
    });
    let first = start.await.expect("a start").run_id;
    rig.wait(50 * 60).await;
    rig.step(vec![fail("no luck")]).await;
    let run_expires = async |run_id: &str| {
        let seen = rig.describe_run("order-1", run_id).await.expect("a run");
        seen.workflow_extended_info.expect("more").run_expiration_time.expect("it expires").seconds
    };
    assert_eq!(run_expires(&first).await, 1_000_000 + 60 * 60);
    assert_eq!(run_expires("").await, 1_000_000 + 90 * 60);
    rig.wait(41 * 60).await;
    assert_eq!(status(&rig, "").await, Status::TimedOut);
    assert_eq!(rig.count("").await, Ok(2));
}

#[tokio::test(start_paused = true)]
async fn c_110_a_run_that_times_out_is_retried_too() {
    let told = survives(async |rig: &Rig| {
        let start = rig.start_with("order-1", |it| {
            it.retry_policy = Some(retries(1, 1.0, 2));
            it.workflow_run_timeout = Some(seconds(20));
        });
        let first = start.await.expect("a start").run_id;
        rig.point().await;
        let close = text::line(&rig.closed("order-1", &first).await);
        rig.step(vec![complete("in time")]).await;
        assert_eq!(rig.elapsed(), 21);
        close
    });
    assert_eq!(told.await, "WorkflowExecutionContinuedAsNew initiator=Retry \"workflow timeout\"");
}

#[tokio::test(start_paused = true)]
async fn c_111_retries_come_first_and_the_schedule_when_they_are_used_up() {
    let rig = Rig::new().await;
    let start = rig.start_with("order-1", |it| {
        it.retry_policy = Some(retries(1, 1.0, 2));
        it.cron_schedule = "*/5 * * * *".to_owned();
    });
    start.await.expect("a start");
    let mut seen = Vec::new();
    for _ in 0..4 {
        let it = started(&rig.history("order-1", "").await);
        seen.push((
            it.initiator().as_str_name()["CONTINUE_AS_NEW_INITIATOR_".len()..].to_owned(),
            it.attempt,
        ));
        rig.step(vec![fail("no luck")]).await;
    }
    let seen: Vec<(&str, i32)> =
        seen.iter().map(|(who, attempt)| (who.as_str(), *attempt)).collect();
    assert_eq!(seen, [("CRON_SCHEDULE", 1), ("RETRY", 2), ("CRON_SCHEDULE", 1), ("RETRY", 2)]);
}

#[tokio::test(start_paused = true)]
async fn c_111_in_cadences_terms_a_cron_run_has_the_expiration_anew() {
    let told = survives(async |rig: &Rig| {
        start_in_cadence_terms(rig, "@every 60s", 20).await.expect("a start");
        let mut taken = Vec::new();
        for _ in 0..8 {
            rig.step(vec![fail("no luck")]).await;
            taken.push(rig.elapsed());
        }
        format!("{taken:?}")
    });
    // The next wait would be 16 s and end after 80, so the schedule goes on, 60 s after 75; from
    // there the 20 s are counted anew.
    assert_eq!(told.await, "[60, 61, 63, 67, 75, 135, 136, 138]");
}

#[tokio::test(start_paused = true)]
async fn c_112_in_cadences_terms_a_workflow_that_fails_after_a_cancel_request_is_cancelled() {
    let told = survives(async |rig: &Rig| {
        start_in_cadence_terms(rig, "@every 60s", 20).await.expect("a start");
        rig.cancel("order-1").await.expect("asked");
        rig.step(vec![fail("no luck")]).await;
        assert_eq!(rig.count("").await, Ok(1));
        assert_eq!(rig.poll_task(QUEUE).await, Task::default());
        format!("{:?}", status(rig, "").await)
    });
    assert_eq!(told.await, "Canceled");
}

#[tokio::test(start_paused = true)]
async fn a_policy_in_cadences_terms_is_checked_at_the_door() {
    let rig = Rig::new().await;
    let refused = start_in_cadence_terms(&rig, "@every 60s", -1).await.expect_err("negative");
    assert_eq!(refused.code, Code::InvalidArgument);
    assert_eq!(refused.message, "retry policy: ExpirationInterval cannot be negative, not -1");
    assert_eq!(rig.count("").await, Ok(0));
}

/// One second, doubling, as often as fits into the expiration.
async fn start_in_cadence_terms(rig: &Rig, cron: &str, expiration: i32) -> Result<(), Error> {
    rig.point().await;
    let policy = cadence::RetryPolicy {
        initial_interval: 1,
        maximum_attempts: 9,
        expiration_interval: expiration,
        ..cadence::RetryPolicy::default()
    };
    let request = ws::StartWorkflowExecutionRequest {
        request_id: "start-order-1".to_owned(),
        cron_schedule: cron.to_owned(),
        ..start_request("order-1")
    };
    rig.engine().start_workflow_in_cadence_terms(request, &policy).await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn c_112_a_cancelled_workflow_never_starts_another_run() {
    let rig = Rig::new().await;
    let start = rig.start_with("order-1", |it| {
        it.retry_policy = Some(retries(1, 1.0, 5));
        it.cron_schedule = "@every 60s".to_owned();
    });
    start.await.expect("a start");
    rig.cancel("order-1").await.expect("asked");
    rig.step(vec![cancelled()]).await;
    assert_eq!(status(&rig, "").await, Status::Canceled);
    assert_eq!(rig.count("").await, Ok(1));
    assert_eq!(rig.poll_task(QUEUE).await, Task::default());
}

#[tokio::test(start_paused = true)]
async fn c_112_a_workflow_that_fails_after_a_cancel_request_starts_no_other_run() {
    let rig = Rig::new().await;
    let start = rig.start_with("order-1", |it| {
        it.retry_policy = Some(retries(1, 1.0, 5));
        it.cron_schedule = "@every 60s".to_owned();
    });
    start.await.expect("a start");
    rig.cancel("order-1").await.expect("asked");
    rig.step(vec![fail("no luck")]).await;
    // What the workflow said stands, as the public API has it: decision 7.
    assert_eq!(status(&rig, "").await, Status::Failed);
    assert_eq!(rig.count("").await, Ok(1));
    assert_eq!(rig.poll_task(QUEUE).await, Task::default());
}

#[tokio::test(start_paused = true)]
async fn t_24_the_execution_timeout_bounds_all_runs_together() {
    let rig = Rig::new().await;
    let start = rig.start_with("order-1", |it| {
        it.retry_policy = Some(retries(3, 1.0, 0));
        it.workflow_execution_timeout = Some(seconds(10));
    });
    start.await.expect("a start");
    let mut runs = Vec::new();
    loop {
        let task = rig.poll_task(QUEUE).await;
        if task.task_token.is_empty() {
            break;
        }
        runs.push(rig.elapsed());
        rig.complete_task(&task, vec![fail("no luck")]).await.expect("taken");
    }
    assert_eq!(runs, [0, 3, 6, 9]);
    assert_eq!(rig.count("ExecutionStatus = 'Running'").await, Ok(0));
}

#[tokio::test(start_paused = true)]
async fn c_03_a_child_is_retried_and_its_parent_sees_one_end() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![child_with("child-1", |it| it.retry_policy = Some(retries(1, 1.0, 2)))])
            .await;
        rig.step_on("children", vec![fail("no luck")]).await;
        rig.step(vec![]).await;
        rig.step_on("children", vec![complete("lucky")]).await;
        rig.step(vec![complete("done")]).await;
        let text = rig.text("order-1", "").await;
        let lines = text.lines().filter(|line| line.contains("Child"));
        lines.map(|line| &line[16..]).collect::<Vec<_>>().join("\n")
    });
    insta::assert_snapshot!(told.await, @r#"
    StartChildWorkflowExecutionInitiated child-1 Child
    ChildWorkflowExecutionStarted #5
    ChildWorkflowExecutionCompleted #5 "lucky"
    "#);
}

#[tokio::test(start_paused = true)]
async fn t_03_workflow_tasks_are_retried_for_ever_and_the_workflow_lives_on() {
    let rig = Rig::new().await;
    let start = rig.start_with("order-1", |it| it.workflow_task_timeout = Some(seconds(1)));
    start.await.expect("a start");
    for n in 1..=50 {
        let task = rig.next_task(QUEUE).await;
        assert_eq!(task.attempt, n);
        rig.fail_task(&task).await.expect("taken");
        assert_eq!(status(&rig, "").await, Status::Running);
    }
    rig.step(vec![complete("mended")]).await;
    insta::assert_snapshot!(rig.text("order-1", "").await, @r#"
    1     0.000  WorkflowExecutionStarted Order
    2     0.000  WorkflowTaskScheduled
    3     0.000  WorkflowTaskStarted
    4     0.000  WorkflowTaskFailed WorkflowWorkerUnhandledFailure "a bug"
    5 25235.000  WorkflowTaskScheduled attempt=51
    6 25235.000  WorkflowTaskStarted
    7 25235.000  WorkflowTaskCompleted
    8 25235.000  WorkflowExecutionCompleted "mended"
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_reports_the_same_fault_over_and_over_is_slowed_down() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        let mut taken = Vec::new();
        while taken.len() < 6 {
            let task = rig.next_task(QUEUE).await;
            let now = (task.attempt, rig.elapsed());
            // A task whose start was not durable when the plug was pulled comes again.
            if rig.fail_task(&task).await.is_ok() {
                taken.push(now);
            }
        }
        rig.point().await;
        rig.signal("order-1", "go").await.expect("taken");
        // The signal is news, so it does not wait for the 40 seconds to pass.
        rig.step(vec![complete("mended")]).await;
        format!("{taken:?}, mended at {}", rig.elapsed())
    });
    assert_eq!(told.await, "[(1, 0), (2, 0), (3, 0), (4, 5), (5, 15), (6, 35)], mended at 35");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_schedule_is_refused_and_nothing_is_started() {
    let rig = Rig::new().await;
    let start = rig.start_with("order-1", |it| it.cron_schedule = "every full moon".to_owned());
    let refused = start.await.expect_err("no schedule");
    assert_eq!(refused.code, Code::InvalidArgument);
    assert!(refused.message.starts_with("Invalid CronSchedule."), "{refused}");
    assert_eq!(rig.count("").await, Ok(0));
}
