//! `steadfast serve`: the engine on a data file, with its doors open.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf, absolute},
    sync::Arc,
};

use anyhow::{Context as _, Result, ensure};
use steadfast_engine::{Engine, Options};
use steadfast_server::{Options as Doors, Server};
use steadfast_store::{Sqlite, Store, sqlite};
use tokio::runtime::{Builder, Runtime};

use crate::stop;

/// What can be said to `serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where runs are kept; the file is created if it is not there
    #[arg(long, value_name = "FILE", default_value = "steadfast.db")]
    db: PathBuf,

    /// Where SDKs connect
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7233")]
    grpc: SocketAddr,
}

/// Serves until somebody asks to stop.
pub(crate) fn run(args: &Args) -> Result<()> {
    // Listened for before anything is printed: whoever reads the last line may ask at once.
    let asked = stop::Asked::listen()?;
    let serving = Serving::open(&args.db, args.grpc)?;
    print!("{}", banner(&serving));
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
    server: Server,
    store: Arc<dyn Store>,
}

impl Serving {
    /// Opens the file, or creates it, and starts the engine on it.
    fn open(path: &Path, grpc: SocketAddr) -> Result<Self> {
        let path = absolute(path).context("finding the data file")?;
        ensure!(!path.is_dir(), "{} is a folder; --db names a file", path.display());
        let store = Sqlite::open(&path, &sqlite::Options::default())
            .with_context(|| format!("cannot open the data file {}", path.display()))?;
        let store: Arc<dyn Store> = Arc::new(store);
        let runtime = Builder::new_multi_thread().enable_all().build().context("starting up")?;
        let engine = runtime
            .block_on(Engine::open(Arc::clone(&store), Options::default()))
            .with_context(|| format!("cannot start on the data file {}", path.display()))?;
        let server = runtime.block_on(Server::open(engine, Doors { grpc }))?;
        Ok(Self { path, runtime, server, store })
    }

    /// Makes everything durable that was begun, and lets go of the file.
    fn stop(self) -> Result<()> {
        self.runtime.block_on(async {
            self.server.stop().await;
            self.store.close().await
        })?;
        Ok(())
    }
}

fn banner(serving: &Serving) -> String {
    format!(
        "steadfast {version}\n\
         data   {data}\n\
         gRPC   {grpc}\n\
         press Ctrl-C to stop\n",
        version = env!("CARGO_PKG_VERSION"),
        data = serving.path.display(),
        grpc = serving.server.grpc(),
    )
}
