//! What an application keeps in memory.

use std::time::Duration;

use steadfast::{Failure, WorkflowContext, testing::TestEnv};

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn nap(ctx: WorkflowContext, number: u32) -> Result<u32, Failure> {
    ctx.sleep(DAY).await?;
    Ok(number)
}

#[tokio::test]
async fn of_those_that_sleep_no_more_are_kept_than_it_is_told() {
    let env = TestEnv::start(|app| app.workflow(nap).cached_workflows(8)).await.unwrap();
    let mut asleep = Vec::new();
    for number in 0..40 {
        asleep.push(env.client().start(nap, number).await.unwrap());
    }
    env.wait(Duration::from_secs(1)).await;
    let held = env.app().engine().expect("it has one of its own").held();
    assert!((1..=8).contains(&held.runs), "{held:?}");
    env.wait(DAY).await;
    for (number, run) in (0..).zip(asleep) {
        assert_eq!(run.result().await.unwrap(), number);
    }
}
