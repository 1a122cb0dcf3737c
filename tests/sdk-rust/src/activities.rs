//! Activities that fail in the ways that the suite is about.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::anyhow;
use temporalio_macros::activities;
use temporalio_sdk::{
    ApplicationFailure,
    activities::{ActivityContext, ActivityError},
};
use tokio::sync::Notify;

/// Work that is counted.
#[derive(Clone, Debug, Default)]
pub struct Work {
    starts: Arc<Mutex<HashMap<String, u32>>>,
    patient_is_at_work: Arc<Notify>,
}

impl Work {
    /// How often an activity was started, by a key of the test's choice.
    pub fn starts(&self, key: &str) -> u32 {
        self.starts.lock().expect("no test panics in here").get(key).copied().unwrap_or_default()
    }

    /// Returns when [`Work::patient`] has begun.
    pub async fn patient_is_at_work(&self) {
        self.patient_is_at_work.notified().await;
    }

    fn count(&self, key: String) {
        *self.starts.lock().expect("no test panics in here").entry(key).or_default() += 1;
    }
}

#[activities]
impl Work {
    /// Fails until an attempt of this number.
    #[activity]
    pub async fn flaky(
        self: Arc<Self>,
        ctx: ActivityContext,
        (key, succeeds_at): (String, u32),
    ) -> Result<u32, ActivityError> {
        self.count(key);
        let attempt = ctx.info().attempt;
        if attempt < succeeds_at {
            return Err(anyhow!("attempt {attempt} fails").into());
        }
        Ok(attempt)
    }

    /// Fails for good.
    #[activity]
    pub async fn fatal(
        self: Arc<Self>,
        _ctx: ActivityContext,
        key: String,
    ) -> Result<(), ActivityError> {
        self.count(key);
        let failure = ApplicationFailure::builder(anyhow!("it cannot be"))
            .type_name("Fatal".to_owned())
            .non_retryable(true)
            .build();
        Err(ActivityError::application(failure))
    }

    /// Fails once, and says itself when to come back.
    #[activity]
    pub async fn come_back(ctx: ActivityContext, soon_ms: u64) -> Result<u32, ActivityError> {
        if ctx.info().attempt > 1 {
            return Ok(ctx.info().attempt);
        }
        let failure = ApplicationFailure::builder(anyhow!("not yet"))
            .next_retry_delay(Duration::from_millis(soon_ms))
            .build();
        Err(ActivityError::application(failure))
    }

    /// Hangs in its first attempt, and tells the second what it had done.
    #[activity]
    pub async fn resumed(ctx: ActivityContext) -> Result<u32, ActivityError> {
        if let Some(done) = ctx.heartbeat_details().deserialize()? {
            return Ok(done);
        }
        ctx.record_heartbeat(5_u32).await?;
        ctx.cancelled().await;
        Err(ActivityError::cancelled())
    }

    /// Tells of itself until it is cancelled.
    #[activity]
    pub async fn patient(self: Arc<Self>, ctx: ActivityContext) -> Result<(), ActivityError> {
        self.patient_is_at_work.notify_one();
        let mut beat = tokio::time::interval(Duration::from_millis(100));
        loop {
            tokio::select! {
                () = ctx.cancelled() => return Err(ActivityError::cancelled()),
                _ = beat.tick() => ctx.record_heartbeat(()).await?,
            }
        }
    }

    /// Does not end by itself.
    #[activity]
    pub async fn silent(ctx: ActivityContext) -> Result<(), ActivityError> {
        ctx.cancelled().await;
        Err(ActivityError::cancelled())
    }
}
