//! A server: the doors, open until it is asked to stop.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use steadfast_engine::Engine;
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{
    grpc,
    listen::{BindError, Listener},
};

/// How a server is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the official SDKs knock.
    pub grpc: SocketAddr,
}

impl Default for Options {
    fn default() -> Self {
        Self { grpc: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7233) }
    }
}

/// Doors that are open.
#[derive(Debug)]
pub struct Server {
    grpc: SocketAddr,
    engine: Engine,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Server {
    /// Opens the doors of an engine.
    pub async fn open(engine: Engine, options: Options) -> Result<Self, BindError> {
        let listener = Listener::bind(options.grpc).await?;
        let grpc = listener.address();
        let (stop, stopped) = oneshot::channel();
        // Asked to stop, or left alone: both end it.
        let stopped = async move { drop(stopped.await) };
        let serving = tokio::spawn(grpc::serve(engine.clone(), listener.incoming(), stopped));
        Ok(Self { grpc, engine, stop, serving })
    }

    /// Where the gRPC door is.
    pub fn grpc(&self) -> SocketAddr {
        self.grpc
    }

    /// Stops: no more connections are taken, what was begun becomes durable, and whoever waits
    /// hears of it.
    #[expect(clippy::disallowed_methods, reason = "the sockets live in the machine's own time")]
    pub async fn stop(self) {
        let _ = self.stop.send(());
        self.engine.stop().await;
        if let Ok(Ok(Err(error))) = tokio::time::timeout(LAST_ANSWERS, self.serving).await {
            tracing::warn!(%error, "the gRPC door did not close well");
        }
    }
}

/// How long the last answers may take to be sent.
const LAST_ANSWERS: std::time::Duration = std::time::Duration::from_secs(5);
