//! What can be seen of an activity while it is tried, and what is left of it in the history.

use std::time::Duration;

use steadfast_core::{Timeouts, policy, span};
use steadfast_proto::{enums, history::history_event::Attributes, workflow::PendingActivityInfo};
use steadfast_retry::preset::cadence;
use steadfast_store::AttemptOutcome;

use steadfast_engine::Code;

use crate::common::{
    NAMESPACE, Rig, activity, activity_with, child, complete, execution, payloads, retried,
    retries, seconds, survives, typed_failure,
};

fn activity_lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.contains("Activity")).map(|line| &line[16..]).collect()
}

/// What the history says an activity may take, when its policy is declared in Cadence's terms.
async fn recorded_limits(policy: cadence::RetryPolicy) -> String {
    let given = Timeouts {
        schedule_to_start: Duration::from_secs(5),
        schedule_to_close: Duration::from_secs(5),
        start_to_close: Duration::from_secs(2),
        heartbeat: Duration::ZERO,
    };
    let limits = policy::cadence_timeouts(given, &policy, Duration::from_secs(3_600));
    survives(async |rig: &Rig| {
        rig.start_with("order-1", |start| start.workflow_run_timeout = Some(seconds(3_600)))
            .await
            .expect("a good start");
        let wanted = activity_with("a", |wanted| {
            wanted.schedule_to_start_timeout = span::to_wire(limits.schedule_to_start);
            wanted.schedule_to_close_timeout = span::to_wire(limits.schedule_to_close);
            wanted.start_to_close_timeout = span::to_wire(limits.start_to_close);
        });
        rig.step(vec![wanted]).await;
        let history = rig.history("order-1", "").await;
        let scheduled = history.iter().find_map(|event| match &event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(it)) => Some(it),
            _ => None,
        });
        let scheduled = scheduled.expect("it was scheduled");
        let shown = |wire: Option<_>| span::from_wire(wire.as_ref()).as_secs();
        format!(
            "to start {}, to close {}",
            shown(scheduled.schedule_to_start_timeout),
            shown(scheduled.schedule_to_close_timeout)
        )
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn c_33_c_34_the_scheduled_event_shows_limits_raised_to_the_expiration() {
    let policy = cadence::RetryPolicy {
        initial_interval: 1,
        expiration_interval: 600,
        ..cadence::RetryPolicy::default()
    };
    assert_eq!(recorded_limits(policy).await, "to start 600, to close 600");
}

#[tokio::test(start_paused = true)]
async fn c_35_without_an_expiration_both_limits_are_the_workflow_timeout() {
    let policy = cadence::RetryPolicy {
        initial_interval: 1,
        maximum_attempts: 3,
        ..cadence::RetryPolicy::default()
    };
    assert_eq!(recorded_limits(policy).await, "to start 3600, to close 3600");
}

#[tokio::test(start_paused = true)]
async fn c_36_t_28_started_is_not_in_history_while_an_activity_is_tried_again() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![retried("a", 1, 1.0, 10)]).await;
    for _ in 0..3 {
        let work = rig.next_activity().await;
        rig.fail_activity(&work, "no network").await.expect("taken");
        let text = rig.text("order-1", "").await;
        assert_eq!(activity_lines(&text), ["ActivityTaskScheduled a Charge"]);
    }
}

#[tokio::test(start_paused = true)]
async fn c_36_c_37_t_28_started_is_written_with_the_end() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![retried("a", 1, 1.0, 10)]).await;
        for _ in 0..2 {
            let work = rig.next_activity().await;
            rig.fail_activity(&work, "no network").await.expect("taken");
        }
        let work = rig.next_activity().await;
        rig.complete_activity(&work, "ok").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        rig.text("order-1", "").await
    });
    let told = told.await;
    insta::assert_snapshot!(activity_lines(&told).join("\n"), @r#"
    ActivityTaskScheduled a Charge
    ActivityTaskStarted #5 attempt=3 "no network"
    ActivityTaskCompleted #5 "ok"
    "#);
}

#[tokio::test(start_paused = true)]
async fn c_38_t_28_started_is_written_when_it_finally_fails() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![retried("a", 1, 1.0, 3)]).await;
    for n in 1..=3 {
        let work = rig.next_activity().await;
        rig.fail_activity(&work, &format!("no network, {n}")).await.expect("taken");
    }
    rig.step(vec![complete("done")]).await;
    let text = rig.text("order-1", "").await;
    insta::assert_snapshot!(activity_lines(&text).join("\n"), @r#"
    ActivityTaskScheduled a Charge
    ActivityTaskStarted #5 attempt=3 "no network, 2"
    ActivityTaskFailed #5 MaximumAttemptsReached "no network, 3"
    "#);
}

#[tokio::test(start_paused = true)]
async fn c_39_t_29_describe_tells_the_attempt_of_a_pending_activity() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![retried("a", 1, 1.0, 10)]).await;
    for attempt in 1..=3 {
        let work = rig.next_activity().await;
        let seen = rig.describe("order-1").await.expect("a run").pending_activities.remove(0);
        assert_eq!((seen.attempt, seen.state()), (attempt, enums::PendingActivityState::Started));
        rig.fail_activity(&work, "no network").await.expect("taken");
    }
    let seen = rig.describe("order-1").await.expect("a run").pending_activities.remove(0);
    assert_eq!(seen.attempt, 4);
}

#[tokio::test(start_paused = true)]
async fn a_closed_run_is_described_with_what_it_left_behind_and_nobody_works_on_it() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![retried("a", 5, 1.0, 10), activity("b"), child("kid-1")]).await;
        let first = rig.next_activity().await;
        rig.fail_activity(&first, "no network").await.expect("taken");
        let second = rig.next_activity().await;
        rig.heartbeat(&second, "half").await.expect("taken");
        rig.point().await;
        rig.terminate("order-1").await.expect("ended");
        rig.point().await;
        let gone = rig.complete_activity(&second, "late").await.expect_err("nobody waits for it");
        assert_eq!(gone.code, Code::NotFound);
        rig.wait(60).await;
        rig.point().await;
        let seen = rig.describe("order-1").await.expect("a run");
        let activity = |it: &PendingActivityInfo| {
            let failed = it.last_failure.as_ref().map(|why| why.message.clone());
            format!("{} {} {:?} {failed:?}\n", it.activity_id, it.attempt, it.state())
        };
        let activities: String = seen.pending_activities.iter().map(activity).collect();
        let children = seen.pending_children.iter().map(|it| it.workflow_id.clone());
        activities + &children.collect::<String>()
    });
    insta::assert_snapshot!(told.await, @r#"
    a 2 Scheduled Some("no network")
    b 1 Started None
    kid-1
    "#);
}

#[tokio::test(start_paused = true)]
async fn c_113_a_pending_activity_is_described_in_full() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        let command = activity_with("a", |it| {
            it.schedule_to_close_timeout = Some(seconds(600));
            it.retry_policy = Some(retries(5, 1.0, 7));
        });
        rig.step(vec![command]).await;
        let first = rig.next_activity().await;
        rig.fail_activity(&first, "no network").await.expect("taken");
        let second = rig.next_activity().await;
        rig.heartbeat(&second, "half").await.expect("taken");
        rig.point().await;
        let seen = rig.describe("order-1").await.expect("a run").pending_activities.remove(0);
        assert_eq!(seen.activity_id, "a");
        assert_eq!(seen.activity_type.expect("a type").name, "Charge");
        assert_eq!((seen.attempt, seen.maximum_attempts), (2, 7));
        assert_eq!(seen.heartbeat_details, Some(payloads("half")));
        assert_eq!(seen.last_failure.expect("a failure").message, "no network");
        assert_eq!(seen.last_worker_identity, "worker");
        assert_eq!(seen.scheduled_time.expect("a time").seconds, 1_000_005);
        assert_eq!(seen.last_started_time.expect("a time").seconds, 1_000_005);
        assert_eq!(seen.last_heartbeat_time.expect("a time").seconds, 1_000_005);
        assert_eq!(seen.expiration_time.expect("a time").seconds, 1_000_600);
        String::new()
    });
    told.await;
}

#[tokio::test(start_paused = true)]
async fn every_attempt_is_kept_with_its_outcome_and_why_it_was_retried() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![retried("a", 1, 1.0, 10)]).await;
        for n in 1..=2 {
            let work = rig.next_activity().await;
            rig.fail_activity(&work, &format!("no network, {n}")).await.expect("taken");
        }
        let work = rig.next_activity().await;
        rig.complete_activity(&work, "ok").await.expect("taken");
        rig.point().await;
        let engine = rig.engine();
        let log = engine.activity_attempts(NAMESPACE, &execution("order-1", ""), 5).await;
        let rows = log.expect("a log").rows;
        let outcomes: Vec<AttemptOutcome> = rows.iter().map(|row| row.outcome).collect();
        assert_eq!(
            outcomes,
            [AttemptOutcome::Failed, AttemptOutcome::Failed, AttemptOutcome::Completed]
        );
        assert_eq!(rows[0].fingerprint, rows[1].fingerprint, "they differ only in a number");
        let lines = rows.iter().map(|row| format!("{} {} {}", row.attempt, row.message, row.why));
        lines.collect::<Vec<_>>().join("\n")
    });
    insta::assert_snapshot!(told.await, @r"
    1 no network, 1 retry in 1s: backoff
    2 no network, 2 retry in 1s: backoff
    3
    ");
}

/// What the attempts say of an activity, as Edda's metadata have it: the attempts, the milliseconds
/// between the first one's beginning and the last one's, and each error with its time.
async fn metadata(rig: &Rig) -> String {
    let engine = rig.engine();
    let log = engine.activity_attempts(NAMESPACE, &execution("order-1", ""), 5).await;
    let rows = log.expect("a log").rows;
    let [first, .., last] = rows.as_slice() else { panic!("two attempts at least") };
    let began = |row: &steadfast_store::AttemptRow| row.started_at.expect("it was taken");
    let errors = rows.iter().filter(|row| row.outcome == AttemptOutcome::Failed).map(|row| {
        let at = row.ended_at.since(began(first)).as_millis();
        format!("; {} {} {:?} at {at}", row.attempt, row.error_type, row.message)
    });
    format!(
        "{} attempts, {} ms, last {:?}{}",
        last.attempt,
        began(last).since(began(first)).as_millis(),
        last.outcome,
        errors.collect::<String>()
    )
}

#[tokio::test(start_paused = true)]
async fn e_52_e_53_e_55_e_56_e_57_e_58_e_59_every_attempt_of_a_closed_activity_is_told() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![retried("a", 1, 2.0, 0)]).await;
        for (kind, message) in [("ConnectionError", "refused"), ("TimeoutError", "too slow")] {
            let work = rig.next_activity().await;
            rig.fail_activity_as(&work, typed_failure(kind, message)).await.expect("taken");
        }
        let work = rig.next_activity().await;
        rig.complete_activity(&work, "ok").await.expect("taken");
        rig.point().await;
        let while_open = metadata(rig).await;
        rig.step(vec![complete("done")]).await;
        rig.point().await;
        assert_eq!(metadata(rig).await, while_open);
        while_open
    });
    let expected = "3 attempts, 3000 ms, last Completed; 1 ConnectionError \"refused\" at 0; \
                    2 TimeoutError \"too slow\" at 1000";
    assert_eq!(told.await, expected);
}

#[tokio::test(start_paused = true)]
async fn e_54_e_109_the_attempts_of_one_that_failed_for_good_tell_its_last_error_too() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![retried("a", 1, 2.0, 2)]).await;
        for kind in ["ConnectionError", "TerminalError"] {
            let work = rig.next_activity().await;
            rig.fail_activity_as(&work, typed_failure(kind, "no")).await.expect("taken");
        }
        rig.step(vec![complete("gave up")]).await;
        let log = rig.engine().activity_attempts(NAMESPACE, &execution("order-1", ""), 5).await;
        let why = log.expect("a log").rows.last().expect("one").why.clone();
        format!("{}; {why}", metadata(rig).await)
    });
    let expected = "2 attempts, 1000 ms, last Failed; 1 ConnectionError \"no\" at 0; \
                    2 TerminalError \"no\" at 1000; \
                    exhausted, fail: max attempts (2) reached";
    assert_eq!(told.await, expected);
}

#[tokio::test(start_paused = true)]
async fn e_60_activities_with_more_than_so_many_attempts_are_found_over_all_workflows() {
    let told = survives(async |rig: &Rig| {
        for (id, failures) in [("order-1", 0), ("order-2", 3), ("order-3", 4), ("order-4", 2)] {
            rig.start(id).await;
            let command = if failures == 0 { activity("a") } else { retried("a", 1, 1.0, 0) };
            rig.step(vec![command]).await;
            for _ in 0..failures {
                let work = rig.next_activity().await;
                rig.fail_activity(&work, "no network").await.expect("taken");
            }
            let work = rig.next_activity().await;
            rig.complete_activity(&work, "ok").await.expect("taken");
            rig.step(vec![complete("done")]).await;
        }
        rig.point().await;
        let engine = rig.engine();
        let found =
            engine.activities_tried_more_often(NAMESPACE, 3, None, 1).await.expect("a page");
        let last = found.last().map(|it| (it.run, it.last.activity));
        let rest =
            engine.activities_tried_more_often(NAMESPACE, 3, last, 10).await.expect("a page");
        let line = |it: &steadfast_store::Retried| {
            format!("{} {} {}", it.identity.workflow_id, it.last.activity_id, it.last.attempt)
        };
        found.iter().chain(&rest).map(line).collect::<Vec<_>>().join("; ")
    });
    assert_eq!(told.await, "order-3 a 5; order-2 a 4");
    let rig = Rig::new().await;
    let none = rig.engine().activities_tried_more_often(NAMESPACE, 0, None, 1).await;
    assert_eq!(none.expect_err("not known").code, Code::InvalidArgument);
}
