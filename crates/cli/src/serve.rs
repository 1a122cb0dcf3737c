//! `steadfast serve`: the engine on a data file.
//!
//! It runs what is in the file: timers fire, retries come due. The doors (gRPC, HTTP) are not built
//! yet, and it says that, rather than listening on a port that answers nothing.

use std::{
    path::{Path, PathBuf, absolute},
    sync::Arc,
};

use anyhow::{Context as _, Result, ensure};
use steadfast_engine::{Engine, Options};
use steadfast_store::{Sqlite, Store, sqlite};
use tokio::runtime::{Builder, Runtime};

use crate::stop;

/// What can be said to `serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where runs are kept; the file is created if it is not there
    #[arg(long, value_name = "FILE", default_value = "steadfast.db")]
    db: PathBuf,
}

/// Serves until somebody asks to stop.
pub(crate) fn run(args: &Args) -> Result<()> {
    // Listened for before anything is printed: whoever reads the last line may ask at once.
    let asked = stop::Asked::listen()?;
    let serving = Serving::open(&args.db)?;
    print!("{}", banner(&serving.path));
    asked.wait();
    serving.stop()?;
    println!("stopped");
    Ok(())
}

/// An engine at work on a data file.
#[derive(Debug)]
struct Serving {
    path: PathBuf,
    runtime: Runtime,
    engine: Engine,
    store: Arc<dyn Store>,
}

impl Serving {
    /// Opens the file, or creates it, and starts the engine on it.
    fn open(path: &Path) -> Result<Self> {
        let path = absolute(path).context("finding the data file")?;
        ensure!(!path.is_dir(), "{} is a folder; --db names a file", path.display());
        let store = Sqlite::open(&path, &sqlite::Options::default())
            .with_context(|| format!("cannot open the data file {}", path.display()))?;
        let store: Arc<dyn Store> = Arc::new(store);
        let runtime = Builder::new_multi_thread().enable_all().build().context("starting up")?;
        let engine = runtime
            .block_on(Engine::open(Arc::clone(&store), Options::default()))
            .with_context(|| format!("cannot start on the data file {}", path.display()))?;
        Ok(Self { path, runtime, engine, store })
    }

    /// Makes everything durable that was begun, and lets go of the file.
    fn stop(self) -> Result<()> {
        self.runtime.block_on(async {
            self.engine.stop().await;
            self.store.close().await
        })?;
        Ok(())
    }
}

fn banner(data: &Path) -> String {
    format!(
        "steadfast {version}\n\
         data   {data}\n\
         gRPC   not built yet in this release\n\
         HTTP   not built yet in this release\n\
         press Ctrl-C to stop\n",
        version = env!("CARGO_PKG_VERSION"),
        data = data.display(),
    )
}
