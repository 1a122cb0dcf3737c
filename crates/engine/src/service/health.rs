//! Whether work can be done.

use std::time::Duration;

use super::{Engine, within};
use crate::ended::Lost;

/// Why no work can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unwell {
    /// It was asked to stop.
    #[error("the engine is stopping")]
    Stopping,
    /// Nothing can be done with the data any more.
    #[error("{0}; this process is of no more use")]
    Lost(Lost),
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
        if let Some(lost) = self.lost() {
            return Err(Unwell::Lost(lost.clone()));
        }
        let now = self.now().to_string().into_bytes();
        let write = self.store().put_setting(PROBE.to_owned(), Some(now));
        Ok(within(self.shared(), PATIENCE, write).await.ok_or(Unwell::Slow)??)
    }
}

const PROBE: &str = "health.probe";
const PATIENCE: Duration = Duration::from_secs(2);
