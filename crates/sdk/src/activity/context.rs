//! What an attempt of an activity knows, and can say while it runs.

use std::{fmt, sync::Arc};

/// Which attempt of which activity this is.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ActivityInfo {
    /// The name of the activity.
    pub activity_type: String,
    /// Its id within the workflow.
    pub activity_id: String,
    /// The workflow that called it.
    pub workflow_id: String,
    /// The run that called it.
    pub run_id: String,
    /// The attempt, from 1.
    pub attempt: u32,
}

/// What an attempt knows, and can say while it runs.
#[derive(Clone)]
pub struct ActivityContext {
    info: Arc<ActivityInfo>,
}

impl ActivityContext {
    /// Which attempt of which activity this is.
    pub fn info(&self) -> &ActivityInfo {
        &self.info
    }
}

impl fmt::Debug for ActivityContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivityContext").field("info", &self.info).finish_non_exhaustive()
    }
}
