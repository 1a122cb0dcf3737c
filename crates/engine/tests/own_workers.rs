//! Workers inside the engine's process: when it dies, what they had in hand is not waited for.

use std::sync::atomic::Ordering;

use steadfast_engine::Code;
use steadfast_proto::command::Command;

use crate::common::{
    NAMESPACE, QUEUE, Rig, activity_with,
    calls::{Task, Work, activity_poll, task_poll},
    complete, retries, seconds, survives, timer,
};

/// An activity that may take an hour.
fn long(initial: i64, attempts: i32) -> Command {
    activity_with("a", |it| {
        it.start_to_close_timeout = Some(seconds(3_600));
        it.retry_policy = Some(retries(initial, 1.0, attempts));
    })
}

/// The next activity, for a worker in the engine's process.
async fn own_activity(rig: &Rig) -> Work {
    rig.point().await;
    let engine = rig.engine().for_own_workers();
    let work = engine.poll_activity_task_queue(activity_poll(QUEUE)).await.expect("a poll");
    assert!(!work.task_token.is_empty(), "there is one");
    work
}

/// The next workflow task, for a worker in the engine's process.
async fn own_task(rig: &Rig) -> Task {
    let engine = rig.engine().for_own_workers();
    let task = engine.poll_workflow_task_queue(task_poll(QUEUE)).await.expect("a poll");
    assert!(!task.task_token.is_empty(), "there is one");
    task
}

#[tokio::test(start_paused = true)]
async fn p_21_an_attempt_whose_process_died_is_tried_again_by_its_policy() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![long(5, 0)]).await;
        let first = own_activity(rig).await;
        rig.crash().await;
        let second = rig.next_activity().await;
        assert_eq!((second.attempt, rig.elapsed()), (2, 5));
        let late = rig.complete_activity(&first, "late").await.expect_err("it was given up");
        assert_eq!(late.code, Code::NotFound);
        rig.complete_activity(&second, "ok").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        rig.attempts("order-1").await
    });
    let expected =
        "1 Failed WorkerLost \"the process that ran this attempt ended\"\n2 Completed  \"\"";
    assert_eq!(told.await, expected);
}

#[tokio::test(start_paused = true)]
async fn p_21_one_attempt_is_at_most_one_also_when_its_process_died() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![long(5, 1)]).await;
        own_activity(rig).await;
        rig.crash().await;
        rig.step(vec![complete("gave up")]).await;
        assert_eq!(rig.elapsed(), 0);
        assert_eq!(rig.poll_activity(QUEUE).await, Work::default());
        rig.text("order-1", "").await
    });
    let told = told.await;
    let expected = "ActivityTaskFailed #5 MaximumAttemptsReached \
                    \"the process that ran this attempt ended\"";
    assert!(told.contains(expected), "{told}");
}

#[tokio::test(start_paused = true)]
async fn p_21_a_stop_in_good_order_leaves_no_attempt_behind_either() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    rig.step(vec![long(5, 0)]).await;
    own_activity(&rig).await;
    rig.restart().await;
    let second = rig.next_activity().await;
    assert_eq!((second.attempt, rig.elapsed()), (2, 5));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_of_a_worker_elsewhere_survives_the_engine() {
    let told = survives(async |rig: &Rig| {
        rig.start("order-1").await;
        rig.step(vec![long(5, 1)]).await;
        let work = rig.next_activity().await;
        rig.crash().await;
        rig.wait(1_000).await;
        rig.complete_activity(&work, "ok").await.expect("taken");
        rig.step(vec![complete("done")]).await;
        rig.attempts("order-1").await
    });
    assert_eq!(told.await, "");
}

#[tokio::test(start_paused = true)]
async fn p_21_a_workflow_task_whose_process_died_is_handed_out_at_once() {
    for crash_after in [false, true] {
        let rig = Rig::new().await;
        rig.start("order-1").await;
        let first = own_task(&rig).await;
        if crash_after {
            // That a worker has it is durable.
            rig.wait(1).await;
        }
        let before = rig.elapsed();
        rig.crash().await;
        let second = own_task(&rig).await;
        assert_eq!(rig.elapsed(), before);
        let late = rig.complete_task(&first, vec![complete("late")]).await.expect_err("given up");
        assert_eq!(late.code, Code::NotFound);
        rig.complete_task(&second, vec![complete("done")]).await.expect("taken");
    }
}

#[tokio::test(start_paused = true)]
async fn p_21_what_is_handed_back_with_an_answer_is_taken_back_too() {
    let rig = Rig::new().await;
    rig.start("order-1").await;
    let task = own_task(&rig).await;
    let eager = activity_with("a", |it| {
        it.start_to_close_timeout = Some(seconds(3_600));
        it.retry_policy = Some(retries(5, 1.0, 0));
        it.request_eager_execution = true;
    });
    let request = steadfast_proto::workflowservice::RespondWorkflowTaskCompletedRequest {
        task_token: task.task_token.clone(),
        commands: vec![eager],
        namespace: NAMESPACE.to_owned(),
        ..steadfast_proto::workflowservice::RespondWorkflowTaskCompletedRequest::default()
    };
    let engine = rig.engine().for_own_workers();
    let answer = engine.respond_workflow_task_completed(request).await.expect("taken");
    assert_eq!(answer.activity_tasks.len(), 1);
    rig.crash().await;
    assert_eq!(rig.next_activity().await.attempt, 2);
    assert_eq!(rig.elapsed(), 5);
}

#[tokio::test(start_paused = true)]
async fn p_21_sleeping_runs_are_not_read_to_find_what_was_lost() {
    let rig = Rig::new().await;
    for n in 0..100 {
        rig.start(&format!("sleeper-{n}")).await;
        rig.step(vec![timer("t", 86_400)]).await;
    }
    rig.start("order-1").await;
    rig.step(vec![long(5, 0)]).await;
    own_activity(&rig).await;
    let before = rig.store().tally.loads.load(Ordering::Relaxed);
    rig.crash().await;
    assert_eq!(rig.next_activity().await.attempt, 2);
    let loads = rig.store().tally.loads.load(Ordering::Relaxed) - before;
    assert_eq!(loads, 1);
}
