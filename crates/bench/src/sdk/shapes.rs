//! What the workflows of a case do, as a user writes them.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use steadfast::{
    ActivityContext, ActivityError, AppBuilder, Client, ClientError, Failure, RetryPolicy,
    WorkflowContext, WorkflowHandle, join_all,
};

use super::large::{self, shelf};
use crate::usage::{now, pause};

/// What goes in and out of every workflow and activity: a few dozen bytes, as a real one has.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Order {
    order: String,
    amount: u32,
}

/// What a workflow does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// One activity.
    One,
    /// 20 activities at once.
    FanOut,
    /// One activity that fails twice, and is retried after 1 ms.
    FailTwice,
    /// 5 activities of 10 ms at once.
    Stress,
    /// 40 activities, most of them one after the other, with 10 to 125 KiB each.
    Large,
}

/// When each step of a chain was begun.
#[derive(Clone, Debug, Default)]
pub(super) struct Times(Arc<Mutex<Vec<Instant>>>);

impl Order {
    pub(super) fn sample() -> Self {
        Self { order: "4711".to_owned(), amount: 1250 }
    }
}

impl Shape {
    /// Starts a workflow and waits for its result.
    pub(super) async fn run(self, client: &Client, id: String, order: Order) -> anyhow::Result<()> {
        match self {
            Self::One => end(client.start(one, order).id(id)).await,
            Self::FanOut => end(client.start(fan_out, order).id(id)).await,
            Self::FailTwice => end(client.start(fail_twice, order).id(id)).await,
            Self::Stress => end(client.start(stress, order).id(id)).await,
            Self::Large => end(client.start(shelf, order).id(id)).await,
        }
    }

    /// Activities that complete in one workflow.
    pub(super) fn steps(self) -> usize {
        match self {
            Self::One | Self::FailTwice => 1,
            Self::FanOut => WIDTH,
            Self::Stress => TASKS,
            Self::Large => large::STEPS,
        }
    }
}

impl Times {
    /// All of them since they were taken last.
    pub(super) fn take(&self) -> Vec<Instant> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, time: Instant) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(time);
    }
}

/// An application with all of it.
pub(super) fn register(app: AppBuilder, times: &Times) -> AppBuilder {
    large::register(app)
        .workflow(one)
        .workflow(chain)
        .workflow(fan_out)
        .workflow(fail_twice)
        .workflow(stress)
        .activity(charge)
        .activity(step)
        .activity(flaky)
        .activity(slow)
        .state(times.clone())
}

/// Has a workflow started and waits for its result.
async fn end<T: DeserializeOwned>(
    start: impl IntoFuture<Output = Result<WorkflowHandle<T>, ClientError>>,
) -> anyhow::Result<()> {
    start.await?.result().await?;
    Ok(())
}

async fn one(ctx: WorkflowContext, order: Order) -> Result<Order, Failure> {
    Ok(ctx.activity(charge, &order).await?)
}

/// So many activities, one after the other.
pub(super) async fn chain(ctx: WorkflowContext, steps: usize) -> Result<Order, Failure> {
    let mut order = Order::sample();
    for _ in 0..steps {
        order = ctx.activity(step, &order).await?;
    }
    Ok(order)
}

async fn fan_out(ctx: WorkflowContext, order: Order) -> Result<Order, Failure> {
    let calls = (0..WIDTH).map(|_| ctx.activity(charge, &order));
    all(join_all(calls).await, order)
}

async fn fail_twice(ctx: WorkflowContext, order: Order) -> Result<Order, Failure> {
    let soon = RetryPolicy::new().initial_interval(Duration::from_millis(1));
    Ok(ctx.activity(flaky, &order).retry(soon.backoff_coefficient(1.0)).await?)
}

async fn stress(ctx: WorkflowContext, order: Order) -> Result<Order, Failure> {
    let calls = (0..TASKS).map(|_| ctx.activity(slow, &order));
    all(join_all(calls).await, order)
}

fn all(done: Vec<Result<Order, ActivityError>>, order: Order) -> Result<Order, Failure> {
    done.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(order)
}

async fn charge(order: Order) -> Result<Order, Failure> {
    Ok(order)
}

async fn step(ctx: ActivityContext, order: Order) -> Result<Order, Failure> {
    if let Some(times) = ctx.state::<Times>() {
        times.add(now());
    }
    Ok(order)
}

async fn flaky(ctx: ActivityContext, order: Order) -> Result<Order, Failure> {
    match ctx.attempt() {
        ..3 => Err(Failure::new("the card was declined")),
        _ => Ok(order),
    }
}

async fn slow(order: Order) -> Result<Order, Failure> {
    pause(Duration::from_millis(10)).await;
    Ok(order)
}

const WIDTH: usize = 20;
const TASKS: usize = 5;
