//! The same story, with the plug pulled at every turn of it.

use steadfast::orchestration::RetryPolicy;

use super::rig::{ALWAYS, Flaky, listing, ms, retried, retried_with_crashes};

/// The moments at which the plug is pulled, in milliseconds.
const MOMENTS: [u64; 9] = [0, 50, 100, 150, 199, 200, 250, 450, 700];

/// Whatever is pulled when, the call comes to the same result by the same events.
async fn survives(fails: u32, takes: u64, policy: RetryPolicy) {
    let flaky = || Flaky::failing(fails).taking(ms(takes));
    let expected = retried(&flaky(), policy.clone()).await;
    for moment in MOMENTS {
        let told = retried_with_crashes(&flaky(), policy.clone(), &[ms(moment)]).await;
        assert_eq!(told.result, expected.result, "with a crash at {moment} ms");
        assert_eq!(listing(&told.events), listing(&expected.events), "with a crash at {moment} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn x_20_x_24_x_26_x_t10_x_t11_attempts_survive_crashes() {
    survives(2, 0, RetryPolicy::new(3)).await;
    survives(2, 100, RetryPolicy::new(3)).await;
    survives(ALWAYS, 100, RetryPolicy::new(3)).await;
}

#[tokio::test(start_paused = true)]
async fn x_22_x_30_x_t34_deadlines_survive_crashes() {
    survives(2, 100, RetryPolicy::new(3).with_timeout(ms(10_000))).await;
}

#[tokio::test(start_paused = true)]
async fn x_21_x_32_x_t17_a_timeout_survives_crashes() {
    survives(0, 5000, RetryPolicy::new(3).with_timeout(ms(1000))).await;
}

#[tokio::test(start_paused = true)]
async fn x_t30_a_call_survives_crash_upon_crash() {
    let flaky = Flaky::failing(2).taking(ms(100));
    let crashes = [ms(10); 20];
    let told = retried_with_crashes(&flaky, RetryPolicy::new(3), &crashes).await;
    // More often than a worker may die over one attempt, but never over the same one.
    assert_eq!(told.count("ActivityScheduled"), 3);
    assert_eq!(told.result, Ok("ok".to_owned()));
}
