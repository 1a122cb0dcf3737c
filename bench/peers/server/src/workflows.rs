//! The shapes that the load is made of.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use anyhow::anyhow;
use temporalio_common::RetryPolicy;
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, SyncWorkflowContext, WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

/// What goes in and comes out of every activity.
pub const INPUT: &str = r#"{"order":"4711","amount":1250}"#;
/// Activities of a chain.
pub const STEPS: usize = 100;

/// Work that takes no time.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// When each step of a chain began.
    pub begun: Arc<Mutex<Vec<Instant>>>,
}

#[activities]
impl Work {
    /// Gives back what it was given.
    #[activity]
    pub async fn echo(_ctx: ActivityContext, input: String) -> Result<String, ActivityError> {
        Ok(input)
    }

    /// The same, and notes when it was asked.
    #[activity]
    pub async fn step(
        self: Arc<Self>,
        _ctx: ActivityContext,
        input: String,
    ) -> Result<String, ActivityError> {
        self.begun.lock().map_err(|_| anyhow!("a step panicked"))?.push(Instant::now());
        Ok(input)
    }

    /// Succeeds when it is tried for the third time.
    #[activity]
    pub async fn fail_twice(ctx: ActivityContext, input: String) -> Result<String, ActivityError> {
        if ctx.info().attempt < 3 {
            return Err(anyhow!("not yet").into());
        }
        Ok(input)
    }
}

fn options() -> ActivityOptions {
    let policy = RetryPolicy::builder()
        .initial_interval(Duration::from_millis(1))
        .backoff_coefficient(1.0)
        .build();
    ActivityOptions::with_start_to_close_timeout(Duration::from_secs(60))
        .retry_policy(policy)
        .build()
}

/// One activity.
#[workflow]
#[derive(Default)]
pub struct One;

#[workflow_methods]
impl One {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, input: String) -> WorkflowResult<String> {
        Ok(ctx.execute_activity(Work::echo, input, options()).await?)
    }
}

/// A hundred, one after the other.
#[workflow]
#[derive(Default)]
pub struct Chain;

#[workflow_methods]
impl Chain {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, input: String) -> WorkflowResult<String> {
        let mut last = input;
        for _ in 0..STEPS {
            last = ctx.execute_activity(Work::step, last, options()).await?;
        }
        Ok(last)
    }
}

/// One that fails twice.
#[workflow]
#[derive(Default)]
pub struct FailTwice;

#[workflow_methods]
impl FailTwice {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, input: String) -> WorkflowResult<String> {
        Ok(ctx.execute_activity(Work::fail_twice, input, options()).await?)
    }
}

/// Waits for so many signals.
#[workflow]
#[derive(Default)]
pub struct Signalled {
    heard: usize,
}

#[workflow_methods]
impl Signalled {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, wanted: usize) -> WorkflowResult<usize> {
        ctx.wait_condition(move |state| state.heard >= wanted).await?;
        Ok(wanted)
    }

    #[signal]
    pub fn hear(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _said: String) {
        self.heard += 1;
    }
}
