//! Activities that fail and are tried again: when, how often, and what the next attempt knows.

use steadfast_engine::{Code, Error};
use steadfast_proto::{
    command::Command, enums, failure::failure::FailureInfo, workflowservice as ws,
};

use crate::common::{
    Fault, NAMESPACE, QUEUE, Rig, activity, activity_with, calls::Work, cancel_activity, complete,
    execution, failure, payloads, queue, retried, retries, seconds, survives, typed_failure,
};

/// What happens next.
enum Next {
    Attempt(Box<Work>),
    Task,
}

async fn next(rig: &Rig) -> Next {
    tokio::select! {
        biased;
        work = rig.next_activity() => Next::Attempt(Box::new(work)),
        _ = rig.next_task(QUEUE) => Next::Task,
    }
}

/// Runs one activity that fails `failures` times. Gives the seconds at which attempts began, and
/// the last line of the activity's history.
async fn run(rig: &Rig, command: Command, failures: usize) -> (Vec<u64>, String) {
    rig.start("order-1").await;
    rig.step(vec![command]).await;
    let mut starts = Vec::new();
    loop {
        match next(rig).await {
            Next::Attempt(work) if starts.len() < failures => {
                starts.push(rig.elapsed());
                rig.fail_activity(&work, "no network").await.expect("taken");
            }
            Next::Attempt(work) => {
                starts.push(rig.elapsed());
                rig.complete_activity(&work, "ok").await.expect("taken");
            }
            Next::Task => break,
        }
        assert!(starts.len() < 100, "it goes on for ever: {starts:?}");
    }
    let text = rig.text("order-1", "").await;
    let end = text.lines().rfind(|line| line.contains("ActivityTask")).expect("an end");
    (starts, end.get(16..).expect("a line").to_owned())
}

#[tokio::test(start_paused = true)]
async fn c_02_t_02_a_policy_in_the_options_makes_a_failed_activity_try_again() {
    let (starts, end) = run(&Rig::new().await, retried("a", 1, 2.0, 2), 1).await;
    assert_eq!(starts, [0, 1]);
    assert_eq!(end, "ActivityTaskCompleted #5 \"ok\"");
}

#[tokio::test(start_paused = true)]
async fn c_05_the_initial_interval_passes_before_the_first_retry() {
    let (starts, _) = run(&Rig::new().await, retried("a", 7, 2.0, 2), 1).await;
    assert_eq!(starts, [0, 7]);
}

#[tokio::test(start_paused = true)]
async fn c_06_with_coefficient_one_every_interval_is_the_same() {
    let (starts, end) = run(&Rig::new().await, retried("a", 3, 1.0, 4), 9).await;
    assert_eq!(starts, [0, 3, 6, 9]);
    assert_eq!(end, "ActivityTaskFailed #5 MaximumAttemptsReached \"no network\"");
}

#[tokio::test(start_paused = true)]
async fn t_05_an_activity_without_a_policy_is_retried_by_the_default_one() {
    let (starts, end) = run(&Rig::new().await, activity("a"), 3).await;
    assert_eq!(starts, [0, 1, 3, 7]);
    assert_eq!(end, "ActivityTaskCompleted #5 \"ok\"");
}

#[tokio::test(start_paused = true)]
async fn t_07_a_policy_in_the_options_takes_the_place_of_the_default_one() {
    let (starts, _) = run(&Rig::new().await, retried("a", 5, 3.0, 3), 9).await;
    assert_eq!(starts, [0, 5, 20]);
}

#[tokio::test(start_paused = true)]
async fn t_19_after_the_last_attempt_the_workflow_gets_the_last_error() {
    let (starts, end) = run(&Rig::new().await, retried("a", 1, 2.0, 3), 9).await;
    assert_eq!(starts, [0, 1, 3]);
    assert_eq!(end, "ActivityTaskFailed #5 MaximumAttemptsReached \"no network\"");
}

#[tokio::test(start_paused = true)]
async fn t_20_zero_attempts_means_as_many_as_it_takes() {
    let (starts, end) = run(&Rig::new().await, retried("a", 1, 1.0, 0), 60).await;
    assert_eq!(starts.len(), 61);
    assert_eq!(end, "ActivityTaskCompleted #5 \"ok\"");
}

#[tokio::test(start_paused = true)]
async fn t_21_one_attempt_means_no_retry() {
    let (starts, end) = run(&Rig::new().await, retried("a", 1, 2.0, 1), 9).await;
    assert_eq!(starts, [0]);
    assert_eq!(end, "ActivityTaskFailed #5 MaximumAttemptsReached \"no network\"");
}

#[tokio::test(start_paused = true)]
async fn t_22_a_negative_number_of_attempts_is_refused_and_nothing_is_scheduled() {
    let rig = Rig::new().await;
    let refused = rig.start_with("order-1", |it| it.retry_policy = Some(retries(1, 2.0, -1)));
    let refused = refused.await.expect_err("a bad policy");
    assert_eq!(refused.code, Code::InvalidArgument);
    assert!(refused.message.contains("MaximumAttempts"), "{refused}");
    assert_eq!(rig.describe("order-1").await.expect_err("no run").code, Code::NotFound);

    rig.start("order-1").await;
    let task = rig.next_task(QUEUE).await;
    let bad = rig.complete_task(&task, vec![retried("a", 1, 2.0, -1)]).await.expect_err("bad");
    assert_eq!(bad.code, Code::InvalidArgument);
    assert!(bad.message.contains("MaximumAttempts"), "{bad}");
    assert!(!rig.names("order-1").await.contains(&"ActivityTaskScheduled".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn t_23_schedule_to_close_bounds_all_attempts_together() {
    let command = activity_with("a", |it| {
        it.schedule_to_close_timeout = Some(seconds(10));
        it.retry_policy = Some(retries(4, 1.0, 0));
    });
    let (starts, end) = run(&Rig::new().await, command, 99).await;
    assert_eq!(starts, [0, 4, 8]);
    assert_eq!(end, "ActivityTaskFailed #5 Timeout \"no network\"");
}

#[tokio::test(start_paused = true)]
async fn t_06_a_retry_goes_to_the_activitys_own_queue_and_any_worker_of_it() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity_with("a", |it| it.task_queue = Some(queue("q2")))]).await;
    let first = rig.poll_activity("q2").await;
    rig.fail_activity(&first, "no network").await.expect("taken");
    let engine = rig.engine();
    let request = ws::PollActivityTaskQueueRequest {
        namespace: NAMESPACE.to_owned(),
        task_queue: Some(queue("q2")),
        identity: "another worker".to_owned(),
        ..ws::PollActivityTaskQueueRequest::default()
    };
    let (elsewhere, second) =
        tokio::join!(rig.poll_activity(QUEUE), engine.poll_activity_task_queue(request));
    assert_eq!(elsewhere, Work::default());
    assert_eq!(second.expect("a poll").attempt, 2);
}

#[tokio::test(start_paused = true)]
async fn c_27_a_heartbeat_that_does_not_come_is_a_failure_and_is_retried() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity_with("a", |it| it.heartbeat_timeout = Some(seconds(30)))]).await;
    rig.next_activity().await;
    let second = rig.next_activity().await;
    assert_eq!(second.attempt, 2);
    assert_eq!(rig.elapsed(), 31);
}

#[tokio::test(start_paused = true)]
async fn c_28_c_29_the_next_attempt_gets_the_last_heartbeat_and_the_first_gets_none() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![activity("a")]).await;
        let first = rig.next_activity().await;
        assert_eq!(first.heartbeat_details, None);
        rig.heartbeat(&first, "4").await.expect("taken");
        rig.fail_activity(&first, "no network").await.expect("taken");
        let second = rig.next_activity().await;
        assert_eq!(second.heartbeat_details, Some(payloads("4")));
        String::new()
    });
    told.await;
}

#[tokio::test(start_paused = true)]
async fn c_32_details_survive_an_attempt_that_ends_by_timeout() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![activity_with("a", |it| it.heartbeat_timeout = Some(seconds(30)))]).await;
        let first = rig.next_activity().await;
        rig.heartbeat(&first, "4").await.expect("taken");
        // The worker is gone: nothing more is heard of it.
        let second = rig.next_activity().await;
        assert_eq!(second.heartbeat_details, Some(payloads("4")));
        assert_eq!(second.attempt, 2);
        let seen = rig.describe("order-1").await.expect("a run");
        let last = seen.pending_activities[0].last_failure.clone().expect("why it ended");
        let Some(FailureInfo::TimeoutFailureInfo(timeout)) = last.failure_info else {
            panic!("{last:?}")
        };
        assert_eq!(timeout.last_heartbeat_details, None, "they are the activity's, and said once");
        String::new()
    });
    told.await;
}

#[tokio::test(start_paused = true)]
async fn c_106_p_08_the_late_answer_of_an_old_attempt_is_refused() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let first = rig.next_activity().await;
    let second = rig.next_activity().await;
    assert_eq!(second.attempt, 2);
    let late = rig.complete_activity(&first, "old").await.expect_err("too late");
    assert_eq!(late.code, Code::NotFound);
    rig.complete_activity(&second, "new").await.expect("taken");
    rig.step(vec![complete("done")]).await;
    let text = rig.text("order-1", "").await;
    assert!(text.contains("ActivityTaskCompleted #5 \"new\""), "{text}");
    assert!(!text.contains("old"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn c_107_an_attempt_is_handed_out_once_however_often_its_timer_is_seen() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let first = rig.next_activity().await;
    rig.fail_activity(&first, "no network").await.expect("taken");
    // The timer is read again by the engine that takes over, and fires in the middle of it.
    rig.crash().await;
    rig.crash().await;
    let (one, two) = tokio::join!(rig.poll_activity(QUEUE), rig.poll_activity(QUEUE));
    let attempts: Vec<i32> =
        [one, two].iter().filter(|it| !it.task_token.is_empty()).map(|it| it.attempt).collect();
    // Nobody answers, so after its minute comes the third, but the second came once.
    assert_eq!(attempts.iter().filter(|it| **it == 2).count(), 1, "{attempts:?}");
}

#[tokio::test(start_paused = true)]
async fn c_114_what_is_too_large_is_not_tried_again_but_a_large_failure_is() {
    let large = "x".repeat(3_000_000);
    for (what, retried) in [("result", false), ("heartbeat", false), ("failure", true)] {
        let rig = Rig::new().await;
        rig.start("order-1").await;
        rig.step(vec![activity("a")]).await;
        let work = rig.next_activity().await;
        let _ = match what {
            "result" => rig.complete_activity(&work, &large).await,
            "heartbeat" => rig.heartbeat(&work, &large).await.map(drop),
            _ => rig.fail_activity_as(&work, failure(&large)).await,
        };
        let again = match next(&rig).await {
            Next::Attempt(work) => Some(work.attempt),
            Next::Task => None,
        };
        assert_eq!(again, retried.then_some(2), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn e_102_p_15_attempts_are_counted_by_the_work_not_by_the_process() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![retried("a", 1, 1.0, 4)]).await;
        let mut starts = 0;
        for _ in 0..4 {
            let work = rig.next_activity().await;
            starts += 1;
            assert_eq!(work.attempt, starts);
            rig.fail_activity(&work, "no network").await.expect("taken");
        }
        rig.step(vec![complete("gave up")]).await;
        rig.text("order-1", "").await
    });
    let told = told.await;
    assert!(told.contains("ActivityTaskStarted #5 attempt=4"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn e_104_cancelling_in_backoff_stops_the_retries() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![retried("a", 10, 1.0, 0)]).await;
        let work = rig.next_activity().await;
        rig.fail_activity(&work, "no network").await.expect("taken");
        rig.signal("order-1", "stop").await.expect("taken");
        rig.step(vec![cancel_activity(5)]).await;
        rig.step(vec![complete("stopped")]).await;
        assert_eq!(rig.poll_activity(QUEUE).await, Work::default());
        rig.text("order-1", "").await
    });
    let told = told.await;
    assert!(told.contains("ActivityTaskCanceled #5 (not started)"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn e_106_a_storage_error_is_not_the_activitys_failure() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    let work = rig.next_activity().await;
    let faults = [Fault::Busy, Fault::Full, Fault::LostBefore, Fault::LostAfter];
    rig.store().fail_commits(faults);
    rig.complete_activity(&work, "paid").await.expect("it is written in the end");
    rig.step(vec![complete("done")]).await;
    assert_eq!(rig.poll_activity(QUEUE).await, Work::default());
    let text = rig.text("order-1", "").await;
    assert!(text.contains("ActivityTaskStarted #5 attempt=1"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn e_110_a_retry_under_way_shows_its_attempt_its_time_and_its_last_error() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![retried("a", 60, 1.0, 5)]).await;
    let work = rig.next_activity().await;
    rig.fail_activity(&work, "no network").await.expect("taken");
    let seen = rig.describe("order-1").await.expect("a run").pending_activities.remove(0);
    assert_eq!(seen.attempt, 2);
    assert_eq!(seen.maximum_attempts, 5);
    assert_eq!(seen.state(), enums::PendingActivityState::Scheduled);
    assert_eq!(seen.last_failure.expect("a failure").message, "no network");
    assert_eq!(seen.next_attempt_schedule_time.expect("a time").seconds, 1_000_060);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_the_policy_names_is_not_retried() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let command = activity_with("a", |it| {
        let mut policy = retries(1, 2.0, 0);
        policy.non_retryable_error_types = vec!["InvalidInput".to_owned()];
        it.retry_policy = Some(policy);
    });
    rig.step(vec![command]).await;
    let work = rig.next_activity().await;
    let told = rig.fail_activity_as(&work, typed_failure("InvalidInput", "no such user")).await;
    told.expect("taken");
    rig.step(vec![complete("done")]).await;
    let text = rig.text("order-1", "").await;
    assert!(text.contains("NonRetryableFailure \"no such user\""), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_activity_can_be_answered_by_its_id() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![activity("a")]).await;
    rig.next_activity().await;
    let engine = rig.engine();
    let by_id = |activity_id: &str| ws::RespondActivityTaskCompletedByIdRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_id: execution("order-1", "").workflow_id,
        activity_id: activity_id.to_owned(),
        result: Some(payloads("by hand")),
        ..ws::RespondActivityTaskCompletedByIdRequest::default()
    };
    let unknown: Error =
        engine.respond_activity_task_completed_by_id(by_id("b")).await.expect_err("unknown");
    assert_eq!(unknown.code, Code::NotFound);
    assert!(unknown.message.contains("ActivityID b"), "{unknown}");
    engine.respond_activity_task_completed_by_id(by_id("a")).await.expect("taken");
    rig.step(vec![complete("done")]).await;
    assert!(rig.text("order-1", "").await.contains("\"by hand\""));
}
