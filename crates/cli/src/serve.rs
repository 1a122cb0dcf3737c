//! `steadfast serve`: the engine on a data file, with its doors open.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf, absolute},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use steadfast_engine::Engine;
use steadfast_server::{Doors, HttpWebhooks, OpenError, Server};
use steadfast_store::{Sqlite, Store, sqlite};
use tokio::runtime::Runtime;

use crate::{
    config::{Config, Flags},
    output::say,
    stop, threads,
};

/// What can be said to `serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    flags: Flags,
}

/// Serves until somebody asks to stop, or nothing can be done with the data any more.
pub(crate) fn run(args: &Args) -> Result<()> {
    // Listened for before anything is printed: whoever reads the last line may ask at once.
    let asked = stop::Asked::listen()?;
    let config = Config::gather(&args.flags)?;
    config.logs.begin();
    open_files();
    let serving = Serving::open(config)?;
    // Whoever started it may have stopped to listen; it serves all the same.
    let _ = say(&banner(&serving));
    let ended = asked.wait(&serving.engine);
    let stopped = serving.stop();
    ended.context(LOST)?;
    stopped?;
    let _ = say("stopped");
    Ok(())
}

/// Each client is an open file, and the usual limit is far below what the system allows.
fn open_files() {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(limit) => tracing::info!(limit, "open files"),
        Err(error) => tracing::warn!(%error, "the limit of open files stays as it is"),
    }
}

/// An engine at work on a data file.
#[derive(Debug)]
struct Serving {
    path: PathBuf,
    is_encrypted: bool,
    runtime: Runtime,
    engine: Engine,
    server: Server,
    store: Arc<dyn Store>,
}

impl Serving {
    /// Opens the file, or creates it, and starts the engine on it: not before all else is known to be
    /// well, so that a server which cannot be reached leaves the data as it is.
    fn open(config: Config) -> Result<Self> {
        let path = absolute(&config.db).context("finding the data file")?;
        let is_encrypted = config.doors.tls.is_some();
        let runtime = threads::runtime(config.threads)?;
        let doors = runtime.block_on(take_doors(&config.doors))?;
        let store = open_store(&path, &config.sqlite)?;
        let options = steadfast_engine::Options {
            webhooks: Some(Arc::new(HttpWebhooks::default())),
            ..config.engine
        };
        let engine = runtime
            .block_on(Engine::open(Arc::clone(&store), options))
            .with_context(|| format!("cannot start on the data file {}", path.display()))?;
        let server = runtime.block_on(async { doors.open(engine.clone()) });
        Ok(Self { path, is_encrypted, runtime, engine, server, store })
    }

    /// Makes everything durable that was begun, and lets go of the file.
    fn stop(self) -> Result<()> {
        self.runtime.block_on(async {
            self.server.stop().await;
            self.store.close().await
        })?;
        // Whoever still holds a connection open keeps nobody waiting.
        self.runtime.shutdown_background();
        Ok(())
    }
}

/// What comes before the reason.
pub(crate) const LOST: &str = "the data is lost to this server";

/// Takes the addresses. A server that was just killed has them until it is gone, and whoever starts the
/// next one at once should not have to try again.
#[expect(clippy::disallowed_methods, reason = "another process lives in the machine's own time")]
async fn take_doors(options: &steadfast_server::Options) -> Result<Doors, OpenError> {
    for tried in 0..TRIES {
        match Doors::take(options.clone()).await {
            Err(OpenError::Bind(taken)) if taken.error.kind() == ErrorKind::AddrInUse => {
                if tried == 0 {
                    tracing::warn!("{taken}; waiting for it a little");
                }
                tokio::time::sleep(BETWEEN_TRIES).await;
            }
            other => return other,
        }
    }
    Doors::take(options.clone()).await
}

/// Together two seconds, as the data file waits for.
const TRIES: u32 = 40;
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

fn open_store(path: &Path, options: &sqlite::Options) -> Result<Arc<dyn Store>> {
    ensure!(!path.is_dir(), "{} is a folder; --db names a file", path.display());
    let store = Sqlite::open(path, options)
        .with_context(|| format!("cannot open the data file {}", path.display()))?;
    Ok(Arc::new(store))
}

fn banner(serving: &Serving) -> String {
    let scheme = if serving.is_encrypted { "https" } else { "http" };
    let grpc = serving.server.grpc();
    let http = serving.server.http().map(|at| format!("HTTP   {scheme}://{at}\n"));
    // Commands look where the server is if nobody says otherwise.
    let address = if grpc == steadfast_server::Options::default().grpc {
        String::new()
    } else {
        format!(" --address {grpc}")
    };
    format!(
        "steadfast {version}\n\
         data   {data}\n\
         gRPC   {grpc}\n\
         {http}\
         try    steadfast workflow list{address}\n\
         press Ctrl-C to stop\n",
        version = env!("CARGO_PKG_VERSION"),
        data = serving.path.display(),
        http = http.unwrap_or_default(),
    )
}
