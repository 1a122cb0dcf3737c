//! A tour of the retry policies: what each of them says, and then what happens, on virtual time.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use std::time::Duration;

use steadfast::{
    AGGRESSIVE, ActivityContext, ActivityError, CONSERVATIVE, DEFAULT, Failure, INFINITE,
    RetryPolicy, TemporalPolicy, WorkflowContext, testing::TestEnv,
};
use tokio::time::Instant;

/// When a service is back that is asked without end.
const BACK_AT: u32 = 9;

fn presets() -> [(&'static str, RetryPolicy); 5] {
    [
        ("DEFAULT: most calls", DEFAULT.into()),
        ("AGGRESSIVE: low latency, critical", AGGRESSIVE.into()),
        ("CONSERVATIVE: rate limits, batches", CONSERVATIVE.into()),
        ("INFINITE: it must succeed", INFINITE.into()),
        ("Temporal's default", TemporalPolicy::default().into()),
    ]
}

/// An outage: the service answers at an attempt that only patient policies come to.
async fn ask(ctx: ActivityContext, began: Duration) -> Result<u32, Failure> {
    let now = ctx.state::<Instant>().map(|start| start.elapsed()).unwrap_or_default();
    print!(" {:.1}", now.saturating_sub(began).as_secs_f64());
    match ctx.info().max_attempts {
        None if ctx.attempt() == BACK_AT => Ok(BACK_AT),
        _ => Err(Failure::new("503").of_type("ServiceUnavailable")),
    }
}

async fn outage(
    ctx: WorkflowContext,
    (number, began): (usize, Duration),
) -> Result<String, Failure> {
    let policy = presets().into_iter().nth(number).map(|(_, policy)| policy).unwrap_or_default();
    match ctx.activity(ask, began).retry(policy).await {
        Ok(attempt) => Ok(format!("answered at attempt {attempt}")),
        Err(ActivityError::RetryExhausted(error)) => Ok(error.to_string()),
        Err(error) => Err(error.into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let build = move |app: steadfast::AppBuilder| app.workflow(outage).activity(ask).state(start);
    let env = TestEnv::start(build).await?;
    for (number, (name, policy)) in presets().into_iter().enumerate() {
        println!("=== {name}\n{}\n", policy.explain()?);
        print!("attempts at");
        let ended = env.client().start(outage, (number, start.elapsed())).await?.result().await?;
        println!(" s\n{ended}\n");
    }
    println!("{:.0} s of waiting, all of it virtual", env.elapsed().as_secs_f64());
    Ok(())
}
