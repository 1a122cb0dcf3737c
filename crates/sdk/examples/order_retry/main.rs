//! Automatic retries: the default policy, a custom one, errors that are final, attempts that run
//! out, and what history keeps of all that.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use std::time::Duration;

use steadfast::{
    Activity, ActivityContext, ActivityError, App, Failure, RetryPolicy, TerminalError,
    WorkflowContext, WorkflowHandle, proto::history::history_event::Attributes,
};
use tokio::time::Instant;

/// One: the default policy, 5 attempts, after 1 s, 2 s, 4 s, 8 s.
async fn default_retry(ctx: WorkflowContext, url: String) -> Result<String, Failure> {
    Ok(ctx.activity(call_flaky_api, &url).await?)
}

async fn call_flaky_api(ctx: ActivityContext, url: String) -> Result<String, Failure> {
    say(&ctx, &url);
    match ctx.attempt() {
        ..3 => Err(Failure::new("Network timeout").of_type("ConnectionError")),
        _ => Ok("API response".to_owned()),
    }
}

/// Two: a policy of the activity's own, given where it is registered.
async fn custom_retry(ctx: WorkflowContext, amount: f64) -> Result<String, Failure> {
    Ok(ctx.activity(process_critical_payment, amount).await?)
}

async fn process_critical_payment(ctx: ActivityContext, amount: f64) -> Result<String, Failure> {
    say(&ctx, &format!("${amount}"));
    match ctx.attempt() {
        ..4 => Err(Failure::new("Payment gateway timeout").of_type("ConnectionError")),
        attempt => Ok(format!("TXN-{attempt}")),
    }
}

fn payment_policy() -> RetryPolicy {
    RetryPolicy::new()
        .max_attempts(10)
        .initial_interval(Duration::from_millis(500))
        .backoff_coefficient(1.5)
        .max_interval(Duration::from_secs(10))
        .max_duration(Duration::from_secs(60))
}

/// Three: an error that says of itself that trying again cannot help.
async fn terminal_error(ctx: WorkflowContext, user: String) -> Result<String, Failure> {
    match ctx.activity(validate_user, &user).await {
        Err(ActivityError::Terminal(error)) => Ok(format!("failed, not retried: {error}")),
        validated => Ok(validated?),
    }
}

async fn validate_user(ctx: ActivityContext, user: String) -> Result<String, TerminalError> {
    say(&ctx, &user);
    match user.as_str() {
        "invalid_user" => Err(TerminalError::new(format!("User {user} not found"))),
        _ => Ok(format!("{user} is valid")),
    }
}

/// Four: attempts run out; the workflow catches that and goes another way.
async fn retry_exhausted(ctx: WorkflowContext, order: String) -> Result<String, Failure> {
    let policy = RetryPolicy::new().max_attempts(3).initial_interval(Duration::from_millis(100));
    match ctx.activity(place_order, &order).retry(policy).await {
        Err(ActivityError::RetryExhausted(error)) => {
            ctx.activity(notify_failure, &order).await?;
            let cause = error.cause();
            Ok(format!("{error}; caused by {}: {cause}", cause.error_type()))
        }
        placed => Ok(placed?),
    }
}

async fn place_order(ctx: ActivityContext, order: String) -> Result<String, Failure> {
    say(&ctx, &order);
    Err(Failure::new("Order service unavailable").of_type("ConnectionError"))
}

async fn notify_failure(ctx: ActivityContext, order: String) -> Result<(), Failure> {
    say(&ctx, &order);
    Ok(())
}

/// Five: what came before a success is in history.
async fn tell_attempts(workflow: &WorkflowHandle<String>) -> Result<(), steadfast::ClientError> {
    for event in workflow.history().await? {
        if let Some(Attributes::ActivityTaskStartedEventAttributes(started)) = event.attributes {
            let last = started.last_failure.map(Failure::from_wire);
            println!("  in history: attempt {}, after {last:?}", started.attempt);
        }
    }
    Ok(())
}

/// Prints which attempt of what this is, and when it comes.
fn say(ctx: &ActivityContext, what: &str) {
    let since = ctx.state::<Instant>().map(|began| began.elapsed()).unwrap_or_default();
    let name = &ctx.info().activity_type;
    println!("  {:>5.2} s  {name} {what}: attempt {}", since.as_secs_f64(), ctx.attempt());
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let given = std::env::args().nth(1);
    let file = given.unwrap_or_else(|| folder.path().join("retry.db").display().to_string());
    let app = App::builder(format!("sqlite:{file}"))
        .workflow(default_retry)
        .workflow(custom_retry)
        .workflow(terminal_error)
        .workflow(retry_exhausted)
        .activity(call_flaky_api)
        .register_activity(Activity::new(process_critical_payment).retry(payment_policy()))
        .activity(validate_user)
        .activity(place_order)
        .activity(notify_failure)
        .state(Instant::now())
        .start()
        .await?;
    let client = app.client();

    println!("1. the default policy: fails twice, then succeeds");
    let fetched = client.start(default_retry, "https://api.example.com/data").await?;
    println!("  {}", fetched.result().await?);

    println!("2. a custom policy: 0.5 s, 0.75 s, 1.125 s");
    let paid = client.start(custom_retry, 99.99).await?;
    println!("  {}", paid.result().await?);

    println!("3. a terminal error is not retried");
    println!("  {}", client.start(terminal_error, "invalid_user").await?.result().await?);

    println!("4. attempts run out");
    println!("  {}", client.start(retry_exhausted, "ORDER-123").await?.result().await?);

    println!("5. what history keeps of the first two");
    tell_attempts(&fetched).await?;
    tell_attempts(&paid).await?;
    app.shutdown().await;
    Ok(())
}
