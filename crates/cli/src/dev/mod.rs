//! `steadfast server start-dev`: a server for tests, with the flags that SDK test environments and
//! fingers know. In memory unless a file is named.

mod args;
mod dynamic_config;
mod storage;

pub(crate) use args::Args;

use std::{net::SocketAddr, sync::Arc};

use anyhow::{Context as _, Result};
use steadfast_engine::{Engine, Options, Webhooks};
use steadfast_proto::{
    operatorservice::AddSearchAttributesRequest, prost_types::Duration,
    workflowservice::RegisterNamespaceRequest,
};
use steadfast_server::{Doors, HttpWebhooks, OpenError, Options as DoorOptions, Server, Strangers};
use steadfast_store::Store;

use self::args::{Command, LogFormat, Pages, StartDev};
use crate::{
    config::CONTINUE_AS_NEW_INTERVAL, logs::Logs, operator::kind, output::say, serve::LOST, stop,
    threads, trouble::Trouble,
};

/// Serves until somebody asks to stop, or nothing can be done with the data any more.
pub(crate) fn run(args: &Args) -> Result<()> {
    let Command::StartDev(args) = &args.command;
    let asked = stop::Asked::listen()?;
    logs(args)?.begin();
    let mut options = Options::default();
    options.limits.run.continue_as_new_interval = CONTINUE_AS_NEW_INTERVAL;
    let unknown = dynamic_config::apply(&args.dynamic_config_value, &mut options.limits)?;
    let runtime = threads::runtime(None)?;
    let doors = runtime.block_on(take_doors(args))?;
    let store = storage::open(args)?;
    for flag in args.in_vain().map(str::to_owned).chain(unknown).chain(store.in_vain) {
        tracing::warn!("{flag} has no effect here");
    }
    let store = store.store;
    let engine = runtime.block_on(open(args, Arc::clone(&store), options))?;
    let server = runtime.block_on(async { doors.open(engine.clone()) });
    // A suite that reads no output, or has gone, is served all the same.
    let _ = say(&banner(args, &server));
    let ended = asked.wait(&engine);
    let stopped = runtime.block_on(async {
        server.stop().await;
        store.close().await
    });
    // Whoever still holds a connection does not hold the process.
    runtime.shutdown_background();
    ended.context(LOST)?;
    stopped?;
    let _ = say("stopped");
    Ok(())
}

fn logs(args: &StartDev) -> Result<Logs> {
    let mut logs = Logs::default();
    logs.json = args.log_format == LogFormat::Json;
    let level = if args.log_level == "never" { "off" } else { &args.log_level };
    let wrong = |error| Trouble::usage(format!("--log-level: {error}"));
    logs.set_level(level).map_err(wrong)?;
    Ok(logs)
}

/// The engine with the namespaces and search attributes that were asked for.
async fn open(args: &StartDev, store: Arc<dyn Store>, options: Options) -> Result<Engine> {
    let webhooks: Arc<dyn Webhooks> = Arc::new(HttpWebhooks::default());
    let options = Options { webhooks: Some(webhooks), ..options };
    let engine = Engine::open(store, options).await.context("cannot start on the data")?;
    for name in &args.namespace {
        add_namespace(&engine, name).await?;
    }
    let names = args.namespace.iter().map(String::as_str);
    for namespace in names.chain(["default"]) {
        add_search_attributes(&engine, namespace, args).await?;
    }
    Ok(engine)
}

/// On other machines' addresses, too, without asking who calls: a container has no other.
async fn take_doors(args: &StartDev) -> Result<Doors> {
    let at = |port: u16| SocketAddr::from((args.ip.address(), port));
    let http = args.http().map(at);
    let doors = |pages: Option<SocketAddr>| DoorOptions {
        grpc: at(args.port),
        http: http.into_iter().chain(pages.filter(|pages| Some(*pages) != http)).collect(),
        http_names: args.http_names.clone(),
        strangers: Strangers::Welcome,
        ..DoorOptions::default()
    };
    match args.pages() {
        Pages::Nowhere => Ok(Doors::take(doors(None)).await?),
        Pages::At(pages) => Ok(Doors::take(doors(Some(pages))).await?),
        Pages::IfFree(pages) => match Doors::take(doors(Some(pages))).await {
            Err(OpenError::Bind(error)) if error.address == pages => {
                tracing::warn!("there are no pages: {error}");
                Ok(Doors::take(doors(None)).await?)
            }
            taken => Ok(taken?),
        },
    }
}

/// Makes a namespace, unless the file has it already.
async fn add_namespace(engine: &Engine, name: &str) -> Result<()> {
    let request = RegisterNamespaceRequest {
        namespace: name.to_owned(),
        workflow_execution_retention_period: Some(Duration { seconds: 24 * 3_600, nanos: 0 }),
        ..RegisterNamespaceRequest::default()
    };
    match engine.register_namespace(request).await {
        Ok(_) => Ok(()),
        Err(error) if error.code == steadfast_engine::Code::AlreadyExists => Ok(()),
        Err(error) => Err(error).with_context(|| format!("--namespace {name}")),
    }
}

async fn add_search_attributes(engine: &Engine, namespace: &str, args: &StartDev) -> Result<()> {
    let mut request = AddSearchAttributesRequest {
        namespace: namespace.to_owned(),
        ..AddSearchAttributesRequest::default()
    };
    for pair in &args.search_attribute {
        let wrong = |error| {
            Trouble::usage(format!("--search-attribute {}={}: {error}", pair.key, pair.value))
        };
        let kind = kind(&pair.value).map_err(wrong)?;
        request.search_attributes.insert(pair.key.clone(), kind.into());
    }
    if !request.search_attributes.is_empty() {
        engine.add_search_attributes(request).await.context("--search-attribute")?;
    }
    Ok(())
}

fn banner(args: &StartDev, server: &Server) -> String {
    let data = match &args.db_filename {
        Some(path) => path.display().to_string(),
        None => "in memory, gone when it stops".to_owned(),
    };
    let http = server.http_doors().iter().map(|at| format!("HTTP   http://{at}\n"));
    let http = http.collect::<Vec<_>>().concat();
    format!(
        "steadfast {version}, a server for tests\n\
         data   {data}\n\
         gRPC   {grpc}\n\
         {http}\
         press Ctrl-C to stop\n",
        version = env!("CARGO_PKG_VERSION"),
        grpc = server.grpc(),
    )
}
