//! An application on a file, as an embedding program opens it.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Result;
use steadfast::{App, Client};
use steadfast_store::{
    Sqlite, Store,
    sqlite::{Options, Synchronous},
};

use super::shapes::{self, Order, Shape, Times};
use crate::{args::Sync, cases::synchronous, client::for_all, usage::now};

/// Where a case runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// An empty folder.
    pub(super) folder: &'a Path,
    pub(super) sync: Sync,
}

/// An application and its file.
#[derive(Debug)]
pub(super) struct Opened {
    app: App,
    store: Arc<Sqlite>,
    /// When each step of a chain was begun.
    pub(super) times: Times,
}

impl Place<'_> {
    /// Opens an application on a new file. Its settings are those that it comes with.
    pub(super) async fn open(&self) -> Result<Opened> {
        let synchronous: Synchronous = synchronous(self.sync);
        let path = self.folder.join("bench.db");
        let options = Options { synchronous, ..Options::embedded() };
        let store = Arc::new(Sqlite::open(&path, &options)?);
        let times = Times::default();
        // Opened here, because its commits are counted.
        let shared: Arc<dyn Store> = store.clone();
        let builder = App::builder(format!("sqlite:{}", path.display())).store(shared);
        let app = shapes::register(builder, &times).start().await?;
        Ok(Opened { app, store, times })
    }
}

impl Opened {
    pub(super) fn client(&self) -> &Client {
        self.app.client()
    }

    /// Commits so far, each of which is one fsync at `synchronous=FULL`.
    pub(super) fn commits(&self) -> u64 {
        self.store.stats().commits
    }

    /// Has so many workflows done, so many of them at any time, and tells how long each took.
    pub(super) async fn run(
        &self,
        shape: Shape,
        prefix: &str,
        workflows: usize,
        concurrency: usize,
    ) -> Result<Vec<Duration>> {
        let (sender, spans) = std::sync::mpsc::channel();
        let client = self.client().clone();
        let each = move |id: String| {
            let (client, sender) = (client.clone(), sender.clone());
            async move {
                let began = now();
                shape.run(&client, id, Order::sample()).await?;
                Ok(sender.send(began.elapsed())?)
            }
        };
        for_all(prefix, workflows, concurrency, each).await?;
        Ok(spans.into_iter().collect())
    }

    /// Ends in good order.
    pub(super) async fn close(self) -> Result<()> {
        self.app.shutdown().await;
        Ok(self.store.close().await?)
    }
}
