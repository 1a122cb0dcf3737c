//! Workers that must be heard of: by what their code says, or because they said that they would be.

use std::time::Duration;

use steadfast_engine::{Engine, SPOKEN_FOR_HEADER};
use steadfast_proto::{
    command::Command,
    workflowservice::{RecordActivityTaskHeartbeatRequest, RespondWorkflowTaskCompletedRequest},
};

use crate::common::{
    NAMESPACE, QUEUE, Rig, activity_with,
    calls::{Work, activity_poll, task_poll},
    complete, payloads, retries, seconds, survives,
};

/// A long one that must be heard of every ten seconds.
fn heard(attempts: i32) -> Command {
    activity_with("a", |it| {
        it.start_to_close_timeout = Some(seconds(3_600));
        it.heartbeat_timeout = Some(seconds(10));
        it.retry_policy = Some(retries(5, 1.0, attempts));
    })
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_was_away_does_not_take_its_workers_for_silent() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![heard(1)]).await;
        let work = rig.next_activity().await;
        rig.be_away(60).await;
        rig.wait(9).await;
        rig.heartbeat(&work, "half").await.expect("it is listened to again");
        rig.wait(9).await;
        rig.complete_activity(&work, "ok").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        rig.attempts("order-1").await
    });
    assert_eq!(told.await, "");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_died_while_the_engine_was_away_is_noticed() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![heard(0)]).await;
        rig.next_activity().await;
        rig.be_away(60).await;
        let second = rig.next_activity().await;
        assert_eq!((second.attempt, rig.elapsed()), (2, 60 + 10 + 5));
        rig.complete_activity(&second, "ok").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        rig.attempts("order-1").await
    });
    let expected = "1 TimedOut Timeout:HEARTBEAT \"activity Heartbeat timeout\"\n2 Completed  \"\"";
    assert_eq!(told.await, expected);
}

/// A machine that sleeps for an hour: nobody's turn comes in between.
#[tokio::test(start_paused = true)]
async fn an_engine_that_stood_still_does_not_take_its_workers_for_silent() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![heard(1)]).await;
    let work = rig.next_activity().await;
    rig.wait(8).await;
    tokio::time::advance(Duration::from_secs(1_800)).await;
    rig.wait(9).await;
    rig.heartbeat(&work, "half").await.expect("it has its time again");
    rig.wait(9).await;
    rig.complete_activity(&work, "ok").await.expect("taken");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_silent_after_the_engine_stood_still_is_lost() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![heard(0)]).await;
    rig.next_activity().await;
    rig.wait(3).await;
    tokio::time::advance(Duration::from_secs(4)).await;
    let second = rig.next_activity().await;
    assert_eq!((second.attempt, rig.elapsed()), (2, 3 + 4 + 10 + 5));
}

/// The engine for a worker that says that it lives, and is lost if it has not for thirty seconds.
fn ours(rig: &Rig) -> Engine {
    rig.engine().with_attempt_keys().with_signs_of_life(Duration::from_secs(30))
}

/// A long one that need not be heard of.
fn silent(attempts: i32) -> Command {
    activity_with("a", |it| {
        it.start_to_close_timeout = Some(seconds(3_600));
        it.retry_policy = Some(retries(5, 1.0, attempts));
    })
}

/// The next activity, for such a worker.
async fn next(rig: &Rig) -> Work {
    rig.point().await;
    let work = ours(rig).poll_activity_task_queue(activity_poll(QUEUE)).await.expect("a poll");
    assert!(!work.task_token.is_empty(), "there is one");
    work
}

fn is_spoken_for(work: &Work) -> bool {
    work.header.as_ref().is_some_and(|it| it.fields.contains_key(SPOKEN_FOR_HEADER))
}

/// A sign of life that says nothing.
async fn sign(rig: &Rig, engine: fn(&Rig) -> Engine, work: &Work) {
    rig.point().await;
    let request = RecordActivityTaskHeartbeatRequest {
        task_token: work.task_token.clone(),
        namespace: NAMESPACE.to_owned(),
        ..RecordActivityTaskHeartbeatRequest::default()
    };
    engine(rig).record_activity_task_heartbeat(request).await.expect("it is heard");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_gave_its_word_and_is_silent_is_lost() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![silent(0)]).await;
        let first = next(rig).await;
        assert!(is_spoken_for(&first));
        assert_eq!(first.heartbeat_timeout, Some(seconds(30)));
        // Of a worker that has given no word nothing is wanted.
        let second = rig.next_activity().await;
        assert_eq!((second.attempt, rig.elapsed()), (2, 30 + 5));
        assert!(!is_spoken_for(&second));
        rig.wait(3_000).await;
        rig.complete_activity(&second, "ok").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        rig.attempts("order-1").await
    });
    let expected = "1 TimedOut Timeout:HEARTBEAT \"activity Heartbeat timeout: no sign of life from \
                    its worker\"\n2 Completed  \"\"";
    assert_eq!(told.await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_says_that_it_lives_is_waited_for() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![silent(1)]).await;
        let work = next(rig).await;
        for _ in 0..10 {
            rig.wait(29).await;
            sign(rig, ours, &work).await;
        }
        rig.complete_activity(&work, "ok").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        rig.attempts("order-1").await
    });
    assert_eq!(told.await, "");
}

#[tokio::test(start_paused = true)]
async fn what_the_workflow_asks_for_is_above_what_the_worker_says() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![heard(0)]).await;
    let work = next(&rig).await;
    assert!(!is_spoken_for(&work), "its code is to be heard");
    assert_eq!(work.heartbeat_timeout, Some(seconds(10)));
    let second = next(&rig).await;
    assert_eq!((second.attempt, rig.elapsed()), (2, 10 + 5));
}

#[tokio::test(start_paused = true)]
async fn what_is_left_to_somebody_else_is_waited_for_without_a_sign() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![silent(1)]).await;
        let work = next(rig).await;
        rig.heartbeat(&work, "half").await.expect("it is heard");
        rig.wait(20).await;
        sign(rig, |rig| ours(rig).leaving(), &work).await;
        rig.wait(3_000).await;
        let shown = rig.describe("order-1").await.expect("a run");
        assert_eq!(shown.pending_activities[0].heartbeat_details, Some(payloads("half")));
        rig.complete_activity(&work, "ok").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        rig.attempts("order-1").await
    });
    assert_eq!(told.await, "");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_handed_an_activity_with_its_answer_has_given_its_word_too() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = ours(&rig).poll_workflow_task_queue(task_poll(QUEUE)).await.expect("a task");
    let eager = activity_with("a", |it| {
        it.start_to_close_timeout = Some(seconds(3_600));
        it.retry_policy = Some(retries(5, 1.0, 0));
        it.request_eager_execution = true;
    });
    let request = RespondWorkflowTaskCompletedRequest {
        task_token: task.task_token,
        commands: vec![eager],
        namespace: NAMESPACE.to_owned(),
        ..RespondWorkflowTaskCompletedRequest::default()
    };
    let answer = ours(&rig).respond_workflow_task_completed(request).await.expect("taken");
    assert!(is_spoken_for(&answer.activity_tasks[0]));
    let second = next(&rig).await;
    assert_eq!((second.attempt, rig.elapsed()), (2, 30 + 5));
}
