//! Whether work can be done.

use std::time::Duration;

use super::{Engine, within};

/// Why no work can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unwell {
    /// It was asked to stop.
    #[error("the engine is stopping")]
    Stopping,
    /// Another process has taken the data over.
    #[error("another process has taken the data over; this one is of no more use")]
    Fenced,
    /// The store does not take what is written.
    #[error("the store does not take what is written: {0}")]
    Store(#[from] steadfast_store::Error),
    /// The store does not answer.
    #[error("the store has not answered for {PATIENCE:?}")]
    Slow,
}

impl Engine {
    /// Whether what is asked of the engine now would become durable. It is tried: a row that means
    /// nothing is written.
    pub async fn check_health(&self) -> Result<(), Unwell> {
        if self.running.is_stopped() {
            return Err(Unwell::Stopping);
        }
        if self.is_fenced() {
            return Err(Unwell::Fenced);
        }
        let now = self.now().to_string().into_bytes();
        let write = self.store().put_setting(PROBE.to_owned(), Some(now));
        Ok(within(self.shared(), PATIENCE, write).await.ok_or(Unwell::Slow)??)
    }
}

const PROBE: &str = "health.probe";
const PATIENCE: Duration = Duration::from_secs(2);
