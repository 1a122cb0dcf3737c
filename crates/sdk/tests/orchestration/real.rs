//! On the real clock, since what these promise is about real time: that delays are really waited
//! for, and that a caller really gets its answer in time.

use std::time::Duration;

use steadfast::orchestration::{BackoffStrategy, OrchestrationStatus, RetryPolicy, Runtime};
use tokio::time::Instant;

use super::rig::{Flaky, LONG, ONE, ms, retrying};

async fn run(target: &str, flaky: &Flaky, policy: RetryPolicy) -> (OrchestrationStatus, Duration) {
    let runtime =
        Runtime::start(target, flaky.registered(), retrying(policy)).await.expect("it starts");
    let begun = Instant::now();
    runtime.client().start_orchestration(ONE, "Retry", "x").await.expect("it starts");
    let status = runtime.client().wait_for_orchestration(ONE, LONG).await.expect("it ends");
    // Not shut down in good order: an activity that nobody wants any more is not waited for.
    drop(runtime);
    (status, begun.elapsed())
}

fn ok() -> OrchestrationStatus {
    OrchestrationStatus::Completed { output: "ok".to_owned() }
}

#[tokio::test]
async fn x_t42_delays_are_really_waited_for() {
    let policy = RetryPolicy::new(3).with_backoff(BackoffStrategy::Fixed { delay: ms(30) });
    let (status, took) = run("memory:", &Flaky::failing(2), policy).await;
    assert_eq!(status, ok());
    assert!(took >= ms(60), "{took:?}");
}

#[tokio::test]
async fn x_t43_a_timeout_ends_a_slow_activity_in_time() {
    let slow = Flaky::failing(0).taking(ms(2000));
    let (status, took) = run("memory:", &slow, RetryPolicy::new(3).with_timeout(ms(200))).await;
    let OrchestrationStatus::Failed { details } = status else { panic!("{status:?}") };
    assert_eq!(details.to_string(), "timeout: activity timed out");
    assert!((ms(200)..ms(1000)).contains(&took), "{took:?}");
}

#[tokio::test]
async fn x_02_the_helper_needs_nothing_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", folder.path().join("retry.db").display());
    for target in ["memory:", &file] {
        let policy = RetryPolicy::new(3).with_backoff(BackoffStrategy::Fixed { delay: ms(5) });
        let (status, _) = run(target, &Flaky::failing(2), policy).await;
        assert_eq!(status, ok(), "on {target}");
    }
}
