//! An application: workflows and activities, on an engine of its own or as a worker of a server.

mod backup;
mod builder;
mod target;

use std::{sync::Arc, time::Duration};

use steadfast_engine::Engine;
use steadfast_store::{Sqlite, Store as _};

pub use backup::BackupError;
pub use builder::{AppBuilder, StartError};
pub use steadfast_store::sqlite::Synchronous;

use crate::{client::Client, worker::Worker};

/// Workflows and activities that run.
///
/// ```no_run
/// use steadfast::{App, Failure, WorkflowContext};
///
/// async fn charge(order: String) -> Result<String, Failure> {
///     Ok(format!("{order} is paid"))
/// }
///
/// async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
///     Ok(ctx.activity(charge, &id).await?)
/// }
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let app = App::builder("sqlite:orders.db").workflow(order).activity(charge).start().await?;
///     let order = app.client().start(order, "order 17").id("order-17").await?;
///     println!("{}", order.result().await?);
///     app.shutdown().await;
///     Ok(())
/// }
/// ```
#[derive(Debug)]
#[must_use = "dropped, it stops at once"]
pub struct App {
    client: Client,
    worker: Worker,
    own: Option<Own>,
    patience: Duration,
}

/// The engine of an application that has its own.
#[derive(Debug)]
pub(crate) struct Own {
    engine: Engine,
    file: Option<Arc<Sqlite>>,
}

impl App {
    /// An application on `sqlite:` and a file, on `memory:`, or as a worker of the server at
    /// `host:port`.
    ///
    /// A worker of a server outlives it: while the server is away it asks again, at most every few
    /// seconds, and goes on where it was when it is back. What activities do meanwhile is told then.
    pub fn builder(target: impl Into<String>) -> AppBuilder {
        AppBuilder::new(target.into())
    }

    /// Starts workflows and talks to them.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The engine, if the application has its own.
    pub fn engine(&self) -> Option<&Engine> {
        self.own.as_ref().map(|own| &own.engine)
    }

    /// Stops: nothing more is taken, what is under way is waited for a while, and all of it is
    /// durable.
    ///
    /// ```no_run
    /// # async fn f(app: steadfast::App) -> std::io::Result<()> {
    /// # async fn stop_was_asked_for() {}
    /// stop_was_asked_for().await;
    /// app.shutdown().await;
    /// # Ok(()) }
    /// ```
    pub async fn shutdown(self) {
        self.worker.stop(self.patience).await;
        if let Some(own) = self.own {
            own.engine.stop().await;
            if let Some(file) = own.file
                && let Err(error) = file.close().await
            {
                tracing::warn!(%error, "the file was not closed in good order");
            }
        }
    }

    /// Ends at once, like a crash: what is not durable is lost, and was never shown.
    pub fn abandon(self) {
        if let Some(own) = &self.own {
            own.engine.abandon();
        }
    }
}
