//! A program that runs orchestrations.

use std::sync::Arc;

use super::{
    client::Client,
    counters::Counters,
    registry::{ActivityRegistry, OrchestrationRegistry},
};
use crate::app::{App, StartError};

/// Orchestrations and activities that run.
#[derive(Debug)]
#[must_use = "dropped, it stops at once"]
pub struct Runtime {
    app: App,
    counters: Arc<Counters>,
}

impl Runtime {
    /// Runs orchestrations on `sqlite:` and a file, in `memory:`, or as a worker of the server at
    /// `host:port`. For more to set, see [`AppBuilder::orchestrations`](crate::AppBuilder).
    pub async fn start(
        target: impl Into<String>,
        activities: ActivityRegistry,
        orchestrations: OrchestrationRegistry,
    ) -> Result<Self, StartError> {
        let counters = Arc::clone(orchestrations.counters());
        let app = App::builder(target).orchestrations(&activities, &orchestrations).start().await?;
        Ok(Self { app, counters })
    }

    /// Starts orchestrations and talks to them.
    pub fn client(&self) -> Client {
        Client::new(self.app.client().clone())
    }

    /// What the retries came to.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Stops: nothing more is taken, what is under way is waited for a while.
    pub async fn shutdown(self) {
        self.app.shutdown().await;
    }
}
