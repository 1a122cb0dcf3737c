//! The connection to a server.

use std::{env, error::Error, fs, future::Future, path::PathBuf, time::Duration};

use anyhow::{Context as _, Result};
use steadfast_proto::clients::{HealthClient, OperatorServiceClient, WorkflowServiceClient};
use tonic::{
    Code, Request, Response, Status,
    codec::CompressionEncoding::Gzip,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};

use crate::trouble::Trouble;

/// Where the server is, and who calls.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Connection {
    /// The server, as host:port [default: 127.0.0.1:7233; env also: `TEMPORAL_ADDRESS`]
    #[arg(long, global = true, env = "STEADFAST_ADDRESS", value_name = "HOST:PORT")]
    address: Option<String>,

    /// The namespace [default: default; env also: `TEMPORAL_NAMESPACE`]
    #[arg(long, short = 'n', global = true, env = "STEADFAST_NAMESPACE", value_name = "NAME")]
    namespace: Option<String>,

    /// The key that lets you in [env also: `TEMPORAL_API_KEY`]
    #[arg(long, global = true, env = "STEADFAST_API_KEY", hide_env_values = true)]
    api_key: Option<String>,

    /// Speak TLS; any of the other --tls flags says so too
    #[arg(
        long,
        global = true,
        env = "STEADFAST_TLS",
        num_args = 0..=1,
        default_missing_value = "true",
        require_equals = true,
        value_name = "BOOL"
    )]
    tls: Option<bool>,

    /// Who may vouch for the server, a PEM file; without it, those that this machine trusts
    #[arg(long, global = true, env = "STEADFAST_TLS_CA_PATH", value_name = "FILE")]
    tls_ca_path: Option<PathBuf>,

    /// Your certificate, a PEM file
    #[arg(
        long,
        global = true,
        env = "STEADFAST_TLS_CERT_PATH",
        value_name = "FILE",
        requires = "tls_key_path"
    )]
    tls_cert_path: Option<PathBuf>,

    /// Your certificate's key, a PEM file
    #[arg(
        long,
        global = true,
        env = "STEADFAST_TLS_KEY_PATH",
        value_name = "FILE",
        requires = "tls_cert_path"
    )]
    tls_key_path: Option<PathBuf>,

    /// The name that the server's certificate is for, if it is not the address's
    #[arg(long, global = true, env = "STEADFAST_TLS_SERVER_NAME", value_name = "NAME")]
    tls_server_name: Option<String>,

    /// Who you are, for the history; by default `user@host`
    #[arg(long, global = true, value_name = "NAME")]
    identity: Option<String>,

    /// How long one answer may take
    #[arg(long, global = true, value_name = "DURATION", default_value = "10s")]
    command_timeout: crate::time::Span,
}

/// A connected caller.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) workflow: WorkflowServiceClient<Line>,
    pub(crate) operator: OperatorServiceClient<Line>,
    pub(crate) health: HealthClient<Line>,
    pub(crate) namespace: String,
    pub(crate) identity: String,
    address: String,
}

/// What calls go through.
pub(crate) type Line = InterceptedService<Channel, Headers>;

impl Connection {
    /// The namespace that commands are about.
    pub(crate) fn namespace(&self) -> String {
        let given = self.namespace.clone().or_else(|| variable("TEMPORAL_NAMESPACE"));
        given.unwrap_or_else(|| "default".to_owned())
    }

    /// Connects, or says what to do.
    pub(crate) async fn connect(&self) -> Result<Client> {
        let address = self.address();
        let endpoint = self.endpoint(&address)?;
        let channel = endpoint.connect().await.map_err(|error| unreachable_at(&address, &error))?;
        let headers = self.headers()?;
        let line = InterceptedService::new(channel, headers);
        let workflow = WorkflowServiceClient::new(line.clone())
            .accept_compressed(Gzip)
            .max_decoding_message_size(usize::MAX);
        Ok(Client {
            workflow,
            operator: OperatorServiceClient::new(line.clone()),
            health: HealthClient::new(line),
            namespace: self.namespace(),
            identity: self.identity.clone().unwrap_or_else(whoami),
            address,
        })
    }

    fn address(&self) -> String {
        let given = self.address.clone().or_else(|| variable("TEMPORAL_ADDRESS"));
        given.unwrap_or_else(|| "127.0.0.1:7233".to_owned())
    }

    fn endpoint(&self, address: &str) -> Result<Endpoint> {
        let bare = address.split_once("://").map_or(address, |(_, bare)| bare);
        let has_port = bare.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let wrong =
            || Trouble::usage(format!("--address {address:?} is not of the form host:port"));
        if !has_port {
            return Err(wrong());
        }
        let tls = self.tls(address.starts_with("https://"))?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{bare}")).map_err(|_| wrong())?;
        let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT).tcp_nodelay(true);
        match tls {
            None => Ok(endpoint),
            Some(tls) => endpoint.tls_config(tls).context("the --tls flags do not fit together"),
        }
    }

    fn tls(&self, address_says_so: bool) -> Result<Option<ClientTlsConfig>> {
        let implied = address_says_so
            || self.tls_ca_path.is_some()
            || self.tls_cert_path.is_some()
            || self.tls_server_name.is_some()
            || variable("TEMPORAL_TLS").is_some_and(|value| value == "true");
        if !self.tls.unwrap_or(implied) {
            return Ok(None);
        }
        let mut tls = ClientTlsConfig::new();
        tls = match &self.tls_ca_path {
            Some(path) => tls.ca_certificate(Certificate::from_pem(pem("--tls-ca-path", path)?)),
            None => tls.with_native_roots(),
        };
        if let (Some(cert), Some(key)) = (&self.tls_cert_path, &self.tls_key_path) {
            let cert = pem("--tls-cert-path", cert)?;
            tls = tls.identity(Identity::from_pem(cert, pem("--tls-key-path", key)?));
        }
        Ok(Some(match &self.tls_server_name {
            Some(name) => tls.domain_name(name),
            None => tls,
        }))
    }

    fn headers(&self) -> Result<Headers> {
        let key = self.api_key.clone().or_else(|| variable("TEMPORAL_API_KEY"));
        let authorization = key
            .map(|key| format!("Bearer {key}").parse())
            .transpose()
            .map_err(|_| Trouble::usage("--api-key has characters that no key can have"))?;
        let namespace = self
            .namespace()
            .parse()
            .map_err(|_| Trouble::usage("--namespace has characters that no name can have"))?;
        let timeout = self.command_timeout.wire();
        let millis = timeout.seconds.saturating_mul(1_000) + i64::from(timeout.nanos / 1_000_000);
        let timeout = Duration::from_millis(u64::try_from(millis.max(1)).unwrap_or(u64::MAX));
        Ok(Headers { authorization, namespace, timeout })
    }
}

impl Client {
    /// The answer to a call, or what to do about there being none.
    pub(crate) fn answer<'a, T>(
        &'a self,
        call: impl Future<Output = Result<Response<T>, Status>> + 'a,
    ) -> impl Future<Output = Result<T>> + 'a {
        // Calls hold their requests, some of which are large.
        let call = Box::pin(call);
        async { call.await.map(Response::into_inner).map_err(|status| self.told(&status)) }
    }

    fn told(&self, status: &Status) -> anyhow::Error {
        // An answer has no cause: this one was made here, where the connection broke.
        if let Some(cause) = status.source() {
            return broken(&self.address, cause);
        }
        let message = status.message().trim_end_matches('.');
        match status.code() {
            Code::NotFound => Trouble::not_found(message),
            Code::Unavailable => Trouble::unreachable(format!(
                "the server at {} is not available: {message}",
                self.address
            )),
            Code::DeadlineExceeded | Code::Cancelled => Trouble::unreachable(format!(
                "the server at {} did not answer in time; --command-timeout gives it longer",
                self.address
            )),
            Code::Unimplemented => anyhow::anyhow!("the server does not do this: {message}"),
            Code::Unauthenticated => anyhow::anyhow!("{message}; name a key with --api-key"),
            Code::Ok
            | Code::Unknown
            | Code::InvalidArgument
            | Code::AlreadyExists
            | Code::PermissionDenied
            | Code::ResourceExhausted
            | Code::FailedPrecondition
            | Code::Aborted
            | Code::OutOfRange
            | Code::Internal
            | Code::DataLoss => anyhow::anyhow!("{message}"),
        }
    }
}

/// A call that may wait for something to happen.
pub(crate) fn patient<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(PATIENCE);
    request
}

/// A name that nobody else has: of a request, a workflow, a job.
#[expect(clippy::disallowed_methods, reason = "made once a command, at the edge")]
pub(crate) fn fresh_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// What every call carries.
#[derive(Clone, Debug)]
pub(crate) struct Headers {
    authorization: Option<MetadataValue<Ascii>>,
    namespace: MetadataValue<Ascii>,
    timeout: Duration,
}

impl Interceptor for Headers {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if !request.metadata().contains_key("grpc-timeout") {
            request.set_timeout(self.timeout);
        }
        let metadata = request.metadata_mut();
        metadata.insert("temporal-namespace", self.namespace.clone());
        metadata.insert("client-name", MetadataValue::from_static("steadfast-cli"));
        metadata.insert("client-version", MetadataValue::from_static(env!("CARGO_PKG_VERSION")));
        if let Some(authorization) = &self.authorization {
            metadata.insert("authorization", authorization.clone());
        }
        Ok(request)
    }
}

fn unreachable_at(address: &str, error: &tonic::transport::Error) -> anyhow::Error {
    Trouble::unreachable(format!(
        "cannot reach the server at {address} ({}); start one with `steadfast serve`, or \
         name another with --address",
        innermost(error)
    ))
}

fn broken(address: &str, error: &(dyn Error + 'static)) -> anyhow::Error {
    Trouble::unreachable(format!(
        "the server at {address} broke off ({}); if it speaks TLS, so must --tls, and \
         --tls-cert-path names a certificate if it wants one",
        innermost(error)
    ))
}

fn innermost<'a>(mut error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    while let Some(cause) = error.source() {
        error = cause;
    }
    error
}

fn pem(flag: &str, path: &PathBuf) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| {
        Trouble::usage(format!("{flag} {} cannot be read: {error}", path.display()))
    })
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn whoami() -> String {
    let user = variable("USER").or_else(|| variable("USERNAME"));
    let host = variable("HOSTNAME")
        .or_else(|| fs::read_to_string("/etc/hostname").ok().map(|host| host.trim().to_owned()));
    let user = user.unwrap_or_else(|| "steadfast-cli".to_owned());
    host.map_or_else(|| user.clone(), |host| format!("{user}@{host}"))
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer than the server lets anybody wait, so that it is the one who ends a wait.
const PATIENCE: Duration = Duration::from_secs(70);
