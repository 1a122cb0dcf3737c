//! How many activities begin in a second: to the millisecond, on virtual time.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use steadfast::{
    ActivityContext, App, Failure, StartError, WorkflowContext, join_all,
    proto::{taskqueue::TaskQueue, workflowservice::PollActivityTaskQueueRequest},
    testing::TestEnv,
};
use tokio::time::Instant;

/// When attempts began.
#[derive(Clone, Debug)]
struct Begun(Arc<Mutex<Vec<u128>>>, Instant);

impl Begun {
    fn new() -> Self {
        Self(Arc::default(), Instant::now())
    }

    /// In milliseconds; those that were taken are not there any more.
    fn take(&self) -> Vec<u128> {
        std::mem::take(&mut *self.0.lock().expect("it works"))
    }
}

async fn call(ctx: ActivityContext, (): ()) -> Result<(), Failure> {
    let begun = ctx.state::<Begun>().expect("a list");
    begun.0.lock().expect("it works").push(begun.1.elapsed().as_millis());
    Ok(())
}

async fn calls(ctx: WorkflowContext, count: u32) -> Result<(), Failure> {
    for called in join_all((0..count).map(|_| ctx.activity(call, ()).into_future())).await {
        called?;
    }
    Ok(())
}

async fn env(rate: f64, begun: &Begun) -> TestEnv {
    let begun = begun.clone();
    let env = TestEnv::start(move |app| {
        app.workflow(calls).activity(call).state(begun.clone()).activities_per_second(rate)
    });
    env.await.expect("it starts")
}

async fn run(env: &TestEnv, count: u32) {
    let run = env.client().start(calls, count).await.expect("it is started");
    run.result().await.expect("it completes");
}

#[tokio::test(start_paused = true)]
async fn a_second_of_them_begins_at_once_and_then_one_at_a_time() {
    let begun = Begun::new();
    let env = env(4.0, &begun).await;
    run(&env, 9).await;
    assert_eq!(begun.take(), [0, 0, 0, 0, 250, 500, 750, 1000, 1250]);
    // However long nothing is to be done, there is no more than a second of them.
    env.wait(Duration::from_millis(60_000 - 1250)).await;
    run(&env, 6).await;
    assert_eq!(begun.take(), [60_000, 60_000, 60_000, 60_000, 60_250, 60_500]);
    // And if it is shorter, what has come meanwhile.
    env.wait(Duration::from_millis(500)).await;
    run(&env, 4).await;
    assert_eq!(begun.take(), [61_000, 61_000, 61_250, 61_500]);
}

#[tokio::test(start_paused = true)]
async fn less_than_one_a_second_is_one_every_so_many_seconds() {
    let begun = Begun::new();
    run(&env(0.1, &begun).await, 3).await;
    assert_eq!(begun.take(), [0, 10_000, 20_000]);
}

#[tokio::test(start_paused = true)]
async fn what_a_worker_may_not_begin_is_there_for_another_one() {
    let begun = Begun::new();
    let env = env(0.001, &begun).await;
    let run = env.client().start(calls, 2).await.unwrap();
    let poll = PollActivityTaskQueueRequest {
        namespace: "default".to_owned(),
        task_queue: Some(TaskQueue { name: "default".to_owned(), ..TaskQueue::default() }),
        ..PollActivityTaskQueueRequest::default()
    };
    // The worker's own poll was there first, and it has the first of them.
    let engine = env.app().engine().unwrap();
    let task = engine.poll_activity_task_queue(poll).await.unwrap();
    assert_eq!(task.workflow_execution.unwrap().run_id, run.run_id());
    assert_eq!(begun.take(), [0]);
    assert_eq!(env.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_queue_has_a_pace_for_all_its_workers() {
    let begun = Begun::new();
    let kept = begun.clone();
    let env = TestEnv::start(move |app| {
        app.workflow(calls).activity(call).state(kept.clone()).queue_activities_per_second(0.1)
    });
    run(&env.await.unwrap(), 3).await;
    assert_eq!(begun.take(), [0, 10_000, 20_000]);
}

#[tokio::test]
async fn a_pace_that_makes_no_sense_is_named() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused =
            App::builder("memory:").activities_per_second(rate).start().await.unwrap_err();
        let words = format!(
            "activities_per_second is {rate}: give a number above zero, or leave it out for no limit"
        );
        assert_eq!(refused.to_string(), words);
    }
    let refused = App::builder("memory:").queue_activities_per_second(0.0).start().await;
    assert!(matches!(
        refused,
        Err(StartError::Rate { option: "queue_activities_per_second", rate: 0.0 })
    ));
}
