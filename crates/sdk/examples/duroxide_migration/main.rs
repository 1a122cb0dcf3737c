//! A program for duroxide, moved: first with its own names, where only the start changes, then as a
//! workflow.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use std::{error::Error, time::Duration};

/// The first step: `use duroxide::…` has become `use steadfast::orchestration::…`.
mod moved {
    use std::time::Duration;

    use steadfast::orchestration::{
        ActivityContext, ActivityRegistry, BackoffStrategy, OrchestrationContext,
        OrchestrationRegistry, RetryPolicy,
    };

    pub(super) fn activities() -> ActivityRegistry {
        ActivityRegistry::builder()
            .register("Reserve", |_: ActivityContext, order: String| async move {
                Ok(format!("{order} reserved"))
            })
            .register("Charge", |_: ActivityContext, order: String| async move {
                Ok(format!("{order} charged"))
            })
            .build()
    }

    pub(super) fn orchestrations() -> OrchestrationRegistry {
        OrchestrationRegistry::builder()
            .register("Order", |ctx: OrchestrationContext, order: String| async move {
                let policy = RetryPolicy::new(3)
                    .with_backoff(BackoffStrategy::Fixed { delay: Duration::from_millis(100) });
                let reserved = ctx.schedule_activity("Reserve", order.clone()).await?;
                let charged = ctx.schedule_activity_with_retry("Charge", order, policy).await?;
                let approval = ctx.schedule_wait("approved").await;
                Ok(format!("{reserved}, {charged}, approved by {approval}"))
            })
            .build()
    }
}

/// The second: functions instead of names, types instead of text, policies that wait in the engine
/// instead of in history.
mod native {
    use std::time::Duration;

    use steadfast::{Failure, RetryPolicy, WorkflowContext};

    pub(super) async fn reserve(order: String) -> Result<String, Failure> {
        Ok(format!("{order} reserved"))
    }

    pub(super) async fn charge(order: String) -> Result<String, Failure> {
        Ok(format!("{order} charged"))
    }

    pub(super) async fn order(ctx: WorkflowContext, order: String) -> Result<String, Failure> {
        let policy = RetryPolicy::new()
            .max_attempts(3)
            .initial_interval(Duration::from_millis(100))
            .backoff_coefficient(1.0);
        let reserved = ctx.activity(reserve, &order).await?;
        let charged = ctx.activity(charge, &order).retry(policy).await?;
        let approval: String = ctx.signals("approved").receive().await?;
        Ok(format!("{reserved}, {charged}, approved by {approval}"))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let given = std::env::args().nth(1);
    let file = given.unwrap_or_else(|| folder.path().join("orders.db").display().to_string());
    let target = format!("sqlite:{file}");

    println!("moved");
    let runtime = steadfast::orchestration::Runtime::start(
        &target,
        moved::activities(),
        moved::orchestrations(),
    )
    .await?;
    let client = runtime.client();
    client.start_orchestration("order-1", "Order", "order 1").await?;
    client.raise_event("order-1", "approved", "Ada").await?;
    let ended = client.wait_for_orchestration("order-1", Duration::from_secs(10)).await?;
    println!("  {ended:?}");
    for event in client.read_execution_history("order-1", 1).await? {
        println!("  {event}");
    }
    runtime.shutdown().await;

    println!("as a workflow");
    let app = steadfast::App::builder(&target)
        .workflow(native::order)
        .activity(native::reserve)
        .activity(native::charge)
        .start()
        .await?;
    let order = app.client().start(native::order, "order 2").id("order-2").await?;
    order.signal("approved", &"Ada").await?;
    println!("  {}", order.result().await?);
    app.shutdown().await;
    Ok(())
}
