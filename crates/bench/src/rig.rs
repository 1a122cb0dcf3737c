//! An engine on a file, as a server or an embedding program opens it.

use std::{path::Path, sync::Arc};

use anyhow::Result;
use steadfast_engine::{Engine, Options};
use steadfast_store::{
    Sqlite, Store,
    sqlite::{Options as SqliteOptions, Synchronous},
};

/// An engine and its file.
#[derive(Clone, Debug)]
pub(crate) struct Rig {
    /// The engine.
    pub(crate) engine: Engine,
    store: Arc<Sqlite>,
}

impl Rig {
    /// Opens the file, or makes it, and an engine on it.
    pub(crate) async fn open(path: &Path, synchronous: Synchronous) -> Result<Self> {
        let options = SqliteOptions { synchronous, ..SqliteOptions::default() };
        let store = Arc::new(Sqlite::open(path, &options)?);
        let shared: Arc<dyn Store> = store.clone();
        let engine = Engine::open(shared, Options::default()).await?;
        Ok(Self { engine, store })
    }

    /// Commits so far, each of which is one fsync at `synchronous=FULL`.
    pub(crate) fn commits(&self) -> u64 {
        self.store.stats().commits
    }

    /// Ends in good order.
    pub(crate) async fn close(self) -> Result<()> {
        self.engine.stop().await;
        Ok(self.store.close().await?)
    }
}
