//! A server: the doors, open until it is asked to stop.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use steadfast_engine::Engine;
use tokio::{sync::watch, task::JoinSet};

use crate::{
    grpc::{self, OPERATOR, WORKFLOW},
    http::{self, Names, Pages},
    keys::Keys,
    listen::{BindError, Listener, Welcome},
    metrics::Metrics,
    tls::{Tls, TlsError, TlsFiles},
    wrong_door::Directions,
};

/// How a server is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the official SDKs knock.
    pub grpc: SocketAddr,
    /// Where health, numbers and pages are: the same at each of these.
    pub http: Vec<SocketAddr>,
    /// Certificates, if connections are to be encrypted.
    pub tls: Option<TlsFiles>,
    /// Who may do what; none for everybody everything.
    pub keys: Keys,
    /// The names by which the pages may be asked for where there are neither keys nor certificates,
    /// besides addresses and `localhost`: in lower case, without ports.
    pub http_names: Vec<String>,
    /// What holds for other machines where neither keys nor certificates are asked for.
    pub strangers: Strangers,
}

/// Whether other machines may come in though nothing asks who they are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Strangers {
    /// No: such a server is not opened.
    #[default]
    Refused,
    /// Yes, as a development server in a container has to.
    Welcome,
}

impl Default for Options {
    fn default() -> Self {
        let at = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        Self {
            grpc: at(7233),
            http: vec![at(8233)],
            tls: None,
            keys: Keys::default(),
            http_names: Vec::new(),
            strangers: Strangers::Refused,
        }
    }
}

/// Why a server could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// An address could not be taken.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Others than this machine could come in, and nothing would ask who they are.
    #[error(
        "{address} can be reached from other machines, and nothing asks who calls: \
         listen on 127.0.0.1, or set keys (`steadfast key create` makes one), \
         or ask clients for certificates (--tls-cert, --tls-key and --tls-client-ca)"
    )]
    Exposed {
        /// The address.
        address: SocketAddr,
    },
}

/// Doors that have their places and are still shut: whoever knocks waits.
///
/// What is wrong with an address or a certificate is known before there is an engine, so that a server
/// that cannot be opened has not touched any data.
#[derive(Debug)]
pub struct Doors {
    options: Options,
    grpc: Listener,
    http: Vec<Listener>,
    grpc_tls: Option<Arc<Tls>>,
    http_tls: Option<Arc<Tls>>,
}

/// Doors that are open.
#[derive(Debug)]
pub struct Server {
    grpc: SocketAddr,
    http: Vec<SocketAddr>,
    engine: Engine,
    stop: watch::Sender<bool>,
    serving: JoinSet<()>,
}

impl Doors {
    /// Takes the addresses, and reads the certificates.
    pub async fn take(options: Options) -> Result<Self, OpenError> {
        options.check_exposure()?;
        let tls = |protocol| {
            let files = options.tls.clone();
            files.map(|files| Tls::open(files, protocol).map(Arc::new)).transpose()
        };
        let (grpc_tls, http_tls) = (tls(b"h2")?, tls(b"http/1.1")?);
        let grpc = Listener::bind(options.grpc).await?;
        let mut http = Vec::new();
        for address in &options.http {
            http.push(Listener::bind(*address).await?);
        }
        Ok(Self { options, grpc, http, grpc_tls, http_tls })
    }

    /// Opens them. There must be a runtime, which then answers.
    pub fn open(self, engine: Engine) -> Server {
        let metrics = Arc::new(Metrics::new(&[WORKFLOW, OPERATOR]));
        let (stop, stopped) = watch::channel(false);
        let grpc = self.grpc.address();
        let http: Vec<SocketAddr> = self.http.iter().map(Listener::address).collect();
        let mut serving = JoinSet::new();
        let welcome = Welcome { tls: self.http_tls, metrics: None };
        for listener in self.http {
            let (engine, metrics) = (engine.clone(), Arc::clone(&metrics));
            let (keys, names) = (self.options.keys.clone(), self.options.names());
            let pages = Pages { engine, keys, names, metrics, grpc };
            serving.spawn(http::serve(pages, listener.incoming(&welcome), stopped.clone()));
        }
        let welcome = Welcome { tls: self.grpc_tls, metrics: Some(Arc::clone(&metrics)) };
        let incoming = self.grpc.incoming(&welcome);
        let directions = Directions::to_pages(http.first().copied());
        let (engine_too, keys) = (engine.clone(), self.options.keys);
        serving.spawn(grpc::serve(engine_too, keys, metrics, incoming, directions, stopped));
        Server { grpc, http, engine, stop, serving }
    }
}

impl Server {
    /// Opens the doors of an engine.
    pub async fn open(engine: Engine, options: Options) -> Result<Self, OpenError> {
        Ok(Doors::take(options).await?.open(engine))
    }

    /// Where the gRPC door is.
    pub fn grpc(&self) -> SocketAddr {
        self.grpc
    }

    /// Where the HTTP door is, if there is one; the first, if there are more.
    pub fn http(&self) -> Option<SocketAddr> {
        self.http.first().copied()
    }

    /// Everywhere that the HTTP door is.
    pub fn http_doors(&self) -> &[SocketAddr] {
        &self.http
    }

    /// Stops: no more connections are taken, what was begun becomes durable, and whoever waits
    /// hears of it.
    #[expect(clippy::disallowed_methods, reason = "the sockets live in the machine's own time")]
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        self.engine.stop().await;
        let last_answers = async { while self.serving.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_ANSWERS, last_answers).await;
    }
}

impl Options {
    /// A page from elsewhere has no key, and no certificate for the name that it asks for.
    fn names(&self) -> Names {
        if self.keys.is_empty() && self.tls.is_none() {
            Names::These(self.http_names.as_slice().into())
        } else {
            Names::Any
        }
    }

    /// Strangers may knock only where somebody asks who they are.
    fn check_exposure(&self) -> Result<(), OpenError> {
        let asks = !self.keys.is_empty()
            || self.tls.as_ref().is_some_and(|files| files.client_ca.is_some());
        let mut doors = [self.grpc].into_iter().chain(self.http.iter().copied());
        match (doors.find(|address| !asks && !address.ip().is_loopback()), self.strangers) {
            (None, _) => Ok(()),
            (Some(address), Strangers::Refused) => Err(OpenError::Exposed { address }),
            (Some(address), Strangers::Welcome) => {
                tracing::warn!(%address, "other machines can reach this, and nothing asks who calls");
                Ok(())
            }
        }
    }
}

/// How long the last answers may take to be sent.
const LAST_ANSWERS: Duration = Duration::from_millis(800);
