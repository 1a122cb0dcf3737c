//! Waits for several things at once, in workflows that are registered, where futures must be `Send`.

use std::time::Duration;

use steadfast::{ActivityError, Failure, WorkflowContext, join_all, testing::TestEnv};

async fn double(number: u32) -> Result<u32, Failure> {
    Ok(number * 2)
}

async fn all(ctx: WorkflowContext, numbers: Vec<u32>) -> Result<Vec<u32>, Failure> {
    // The calls borrow the list, which is not held while they are waited for.
    let calls = numbers.iter().map(|number| ctx.activity(double, number));
    let doubled: Result<Vec<u32>, ActivityError> = join_all(calls).await.into_iter().collect();
    Ok(doubled?)
}

async fn first(ctx: WorkflowContext, patience: Duration) -> Result<String, Failure> {
    let mut words = ctx.signals::<String>("word");
    Ok(steadfast::select! {
        word = words.receive() => word?,
        _ = ctx.sleep(patience) => "silence".to_owned(),
    })
}

#[tokio::test]
async fn a_join_gives_results_in_the_order_of_the_calls() {
    let env = TestEnv::start(|app| app.workflow(all).activity(double)).await.unwrap();
    let numbers: Vec<u32> = (0..50).collect();
    let doubled = env.client().start(all, &numbers).await.unwrap().result().await.unwrap();
    assert_eq!(doubled, (0..50).map(|number| number * 2).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_select_takes_what_comes_first() {
    let env = TestEnv::start(|app| app.workflow(first)).await.unwrap();
    let day = Duration::from_secs(24 * 60 * 60);
    let told = env.client().start(first, day).await.unwrap();
    told.signal("word", &"yes").await.unwrap();
    assert_eq!(told.result().await.unwrap(), "yes");
    let silent = env.client().start(first, day).await.unwrap();
    assert_eq!(silent.result().await.unwrap(), "silence");
    assert_eq!(env.elapsed().as_secs(), day.as_secs());
}
