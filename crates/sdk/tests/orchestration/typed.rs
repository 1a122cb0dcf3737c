//! Calls with types.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use serde::{Deserialize, Serialize, Serializer};
use steadfast::orchestration::{
    ActivityContext, ActivityRegistry, OrchestrationContext, OrchestrationRegistry, RetryPolicy,
};

use super::rig::{ALWAYS, Flaky, ONE, Stage, count};

#[derive(Debug, Deserialize, Serialize)]
struct In {
    a: u32,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Out {
    b: String,
}

/// `Flaky`, but typed.
fn activities(flaky: &Flaky) -> ActivityRegistry {
    let flaky = flaky.clone();
    let run = move |ctx: ActivityContext, input: In| {
        let flaky = flaky.clone();
        async move { Ok(Out { b: format!("{} {}", input.a, flaky.run(ctx).await?) }) }
    };
    ActivityRegistry::builder().register_typed("Flaky", run).build()
}

async fn typed(ctx: OrchestrationContext, input: In) -> Result<Out, String> {
    ctx.schedule_activity_with_retry_typed("Flaky", &input, RetryPolicy::new(3)).await
}

async fn called(flaky: &Flaky) -> Result<String, String> {
    let orchestrations = OrchestrationRegistry::builder().register_typed("Typed", typed).build();
    let stage = Stage::new(&activities(flaky), orchestrations).await;
    let started = stage.client().start_orchestration_typed(ONE, "Typed", &In { a: 7 }).await;
    started.expect("it starts");
    let result = stage.result().await;
    stage.replays().await;
    result
}

#[tokio::test(start_paused = true)]
async fn x_05_x_t25_typed_success_after_a_failure() {
    let result = called(&Flaky::failing(1)).await.unwrap();
    assert_eq!(serde_json::from_str::<Out>(&result).unwrap(), Out { b: "7 ok".to_owned() });
}

#[tokio::test(start_paused = true)]
async fn x_t26_typed_failure_is_text() {
    assert_eq!(called(&Flaky::failing(ALWAYS)).await, Err("e3".to_owned()));
}

/// An input that counts how often it is written.
struct Counting(Arc<AtomicU32>);

impl Serialize for Counting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.fetch_add(1, Ordering::SeqCst);
        serializer.serialize_str("counted")
    }
}

#[tokio::test(start_paused = true)]
async fn x_28_x_t27_three_attempts_write_the_input_once() {
    let written: Arc<AtomicU32> = Arc::default();
    let counter = Arc::clone(&written);
    let call = move |ctx: OrchestrationContext, _: String| {
        let input = Counting(Arc::clone(&counter));
        async move {
            let policy = RetryPolicy::new(3);
            ctx.schedule_activity_with_retry_typed::<_, String>("Flaky", &input, policy).await
        }
    };
    let orchestrations = OrchestrationRegistry::builder().register("Call", call).build();
    let flaky = Flaky::failing(ALWAYS);
    let stage = Stage::new(&flaky.registered(), orchestrations).await;
    stage.start("Call", "").await;
    assert_eq!(stage.result().await, Err("e3".to_owned()));
    assert_eq!(count(&stage.events(1).await, "ActivityScheduled"), 3);
    assert_eq!(written.load(Ordering::SeqCst), 1);
}
