//! One workflow for each thing that the suite is about.

use std::time::Duration;

use temporalio_common::{RetryPolicy, search_attributes::SearchAttributeKey};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityExecutionError, ActivityOptions, ChildWorkflowOptions, ContinueAsNewOptions,
    LocalActivityOptions, SyncWorkflowContext, WorkflowCancellationToken, WorkflowContext,
    WorkflowContextView, WorkflowResult,
};

use crate::activities::Work;

/// Tries again after 50 ms, as often as this; 0 is for ever.
fn quick(attempts: u32) -> ActivityOptions {
    patient(Duration::from_millis(50), attempts)
}

fn patient(interval: Duration, attempts: u32) -> ActivityOptions {
    let policy = RetryPolicy::builder()
        .initial_interval(interval)
        .backoff_coefficient(1.0)
        .maximum_attempts(attempts)
        .build();
    ActivityOptions::with_start_to_close_timeout(Duration::from_secs(20))
        .heartbeat_timeout(Duration::from_secs(1))
        .retry_policy(policy)
        .build()
}

/// Waits for an activity that fails at first.
#[workflow]
#[derive(Default)]
pub struct Retried;

#[workflow_methods]
impl Retried {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, key: String) -> WorkflowResult<u32> {
        Ok(ctx.execute_activity(Work::flaky, (key, 3), quick(0)).await?)
    }
}

/// Waits for an activity that may be tried three times.
#[workflow]
#[derive(Default)]
pub struct UsedUp;

#[workflow_methods]
impl UsedUp {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, key: String) -> WorkflowResult<u32> {
        Ok(ctx.execute_activity(Work::flaky, (key, 99), quick(3)).await?)
    }
}

/// Waits for an activity that fails for good.
#[workflow]
#[derive(Default)]
pub struct NotRetried;

#[workflow_methods]
impl NotRetried {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, key: String) -> WorkflowResult<()> {
        Ok(ctx.execute_activity(Work::fatal, key, quick(0)).await?)
    }
}

/// Waits for an activity that comes back before its policy would let it.
#[workflow]
#[derive(Default)]
pub struct Delayed;

#[workflow_methods]
impl Delayed {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<u32> {
        let options = patient(Duration::from_secs(3600), 0);
        Ok(ctx.execute_activity(Work::come_back, 100_u64, options).await?)
    }
}

/// Waits for an activity that is lost once.
#[workflow]
#[derive(Default)]
pub struct Heartbeats;

#[workflow_methods]
impl Heartbeats {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<u32> {
        Ok(ctx.execute_activity(Work::resumed, (), quick(0)).await?)
    }
}

/// Gives an activity half a second.
#[workflow]
#[derive(Default)]
pub struct TimesOut;

#[workflow_methods]
impl TimesOut {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        let options = ActivityOptions::with_start_to_close_timeout(Duration::from_millis(500))
            .retry_policy(RetryPolicy::builder().maximum_attempts(1).build())
            .build();
        Ok(ctx.execute_activity(Work::silent, (), options).await?)
    }
}

/// Waits for nothing.
#[workflow]
#[derive(Default)]
pub struct Waits;

#[workflow_methods]
impl Waits {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        ctx.wait_condition(|_| false).await?;
        Ok(())
    }
}

/// Tidies up when its activity is cancelled.
#[workflow]
#[derive(Default)]
pub struct TidiesUp;

#[workflow_methods]
impl TidiesUp {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let Err(ActivityExecutionError::Cancelled(_)) =
            ctx.execute_activity(Work::patient, (), quick(0)).await
        else {
            return Ok("not cancelled".to_owned());
        };
        let mut options = quick(0);
        options.cancellation_token = Some(WorkflowCancellationToken::new());
        ctx.execute_activity(Work::flaky, ("tidied".to_owned(), 2), options).await?;
        Ok("tidied up".to_owned())
    }
}

/// Adds up what it is told by signals and updates.
#[workflow]
#[derive(Default)]
pub struct Adder {
    total: i64,
    done: bool,
}

#[workflow_methods]
impl Adder {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<i64> {
        ctx.wait_condition(|state| state.done).await?;
        Ok(ctx.state(|state| state.total))
    }

    #[signal]
    pub fn add(&mut self, _ctx: &mut SyncWorkflowContext<Self>, value: i64) {
        self.total += value;
    }

    #[signal]
    pub fn finish(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.done = true;
    }

    #[query]
    pub fn sum(&self, _ctx: &WorkflowContextView) -> i64 {
        self.total
    }

    #[update_validator(add_and_tell)]
    fn only_up(
        &self,
        _ctx: &WorkflowContextView,
        value: &i64,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if *value < 0 { Err("only up".into()) } else { Ok(()) }
    }

    #[update]
    pub async fn add_and_tell(ctx: &mut WorkflowContext<Self>, value: i64) -> i64 {
        ctx.timer(Duration::from_millis(10)).await;
        ctx.state_mut(|state| {
            state.total += value;
            state.total
        })
    }
}

/// Waits for its child, which waits for an activity.
#[workflow]
#[derive(Default)]
pub struct Parent;

#[workflow_methods]
impl Parent {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, key: String) -> WorkflowResult<u32> {
        let options = ChildWorkflowOptions::workflow_id(format!("{key}-child"));
        let child = ctx.start_child_workflow(Retried::run, key, options).await?;
        Ok(child.result().await?)
    }
}

/// Goes on as new until it is at zero.
#[workflow]
#[derive(Default)]
pub struct CountsDown;

#[workflow_methods]
impl CountsDown {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, from: u32) -> WorkflowResult<String> {
        if from > 0 {
            ctx.continue_as_new(from - 1, ContinueAsNewOptions::default())?;
        }
        Ok("zero".to_owned())
    }
}

/// Runs an activity in its own worker.
#[workflow]
#[derive(Default)]
pub struct Local;

#[workflow_methods]
impl Local {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, key: String) -> WorkflowResult<u32> {
        let policy = RetryPolicy::builder().initial_interval(Duration::from_millis(20)).build();
        let options = LocalActivityOptions::builder()
            .start_to_close_timeout(Duration::from_secs(10))
            .retry_policy(policy)
            .build();
        Ok(ctx.execute_local_activity(Work::flaky, (key, 2), options).await?)
    }
}

/// An attribute that the suite adds to the server.
pub const COLOUR: SearchAttributeKey<String> = SearchAttributeKey::keyword("Colour");

/// Says what can be found about it.
#[workflow]
#[derive(Default)]
pub struct Coloured;

#[workflow_methods]
impl Coloured {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let before = ctx.search_attributes().get(&COLOUR).unwrap_or_default();
        ctx.upsert_search_attributes([COLOUR.value_set("green".to_owned())]);
        Ok(before)
    }
}

/// One step of load: an activity that fails once, a version, a timer.
#[workflow]
#[derive(Default)]
pub struct Load;

#[workflow_methods]
impl Load {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, key: String) -> WorkflowResult<String> {
        ctx.execute_activity(Work::flaky, (key.clone(), 2), quick(0)).await?;
        let version = u32::from(ctx.patched("greeting"));
        ctx.timer(Duration::from_millis(100)).await;
        Ok(format!("{key} v{version}"))
    }
}

/// What `Load` was in another life: it does not fit the same history.
pub mod elsewhere {
    use super::{Duration, WorkflowContext, WorkflowResult, workflow, workflow_methods};

    /// Begins with a timer.
    #[workflow]
    #[derive(Default)]
    pub struct Load;

    #[workflow_methods]
    impl Load {
        #[run]
        pub async fn run(ctx: &mut WorkflowContext<Self>, key: String) -> WorkflowResult<String> {
            ctx.timer(Duration::from_millis(100)).await;
            Ok(key)
        }
    }
}
