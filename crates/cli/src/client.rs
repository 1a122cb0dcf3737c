//! The connection to a server.

use std::{error::Error, future::Future, time::Duration};

use anyhow::{Context as _, Result};
use steadfast_proto::{
    EachPayload,
    clients::{HealthClient, OperatorServiceClient, WorkflowServiceClient},
};
use steadfast_server::WRONG_DOOR;
use tokio_rustls::rustls::{self, InvalidMessage};
use tonic::{
    Code, Request, Response, Status,
    codec::CompressionEncoding::Gzip,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};

use crate::{
    codec::{Codec, CodecArgs},
    credentials::{Credentials, variable},
    trouble::Trouble,
};

/// Where the server is, and who calls.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Connection {
    /// The server, as host:port [default: 127.0.0.1:7233; env also: `TEMPORAL_ADDRESS`]
    #[arg(long, global = true, env = "STEADFAST_ADDRESS", value_name = "HOST:PORT")]
    address: Option<String>,

    #[command(flatten)]
    codec: CodecArgs,

    #[command(flatten)]
    credentials: Credentials,
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
    codec: Option<Codec>,
}

/// What calls go through.
pub(crate) type Line = InterceptedService<Channel, Headers>;

impl Connection {
    /// Connects, or says what to do.
    pub(crate) async fn connect(&self) -> Result<Client> {
        let address = self.address();
        let namespace = self.credentials.namespace();
        let codec = self.codec.codec(&namespace, self.credentials.timeout())?;
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
            namespace,
            identity: self.credentials.identity(),
            address,
            codec,
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
        if !self.credentials.wants_tls(address_says_so) {
            return Ok(None);
        }
        let mut tls = ClientTlsConfig::new();
        tls = match self.credentials.ca()? {
            Some(ca) => tls.ca_certificate(Certificate::from_pem(ca)),
            None => tls.with_native_roots(),
        };
        if let Some((cert, key)) = self.credentials.certificate()? {
            tls = tls.identity(Identity::from_pem(cert, key));
        }
        Ok(Some(match self.credentials.server_name() {
            Some(name) => tls.domain_name(name),
            None => tls,
        }))
    }

    fn headers(&self) -> Result<Headers> {
        let authorization = self
            .credentials
            .authorization()
            .map(|value| value.parse())
            .transpose()
            .map_err(|_| Trouble::usage("--api-key has characters that no key can have"))?;
        let namespace = self
            .credentials
            .namespace()
            .parse()
            .map_err(|_| Trouble::usage("--namespace has characters that no name can have"))?;
        Ok(Headers { authorization, namespace, timeout: self.credentials.timeout() })
    }
}

impl Client {
    /// A request, as those see it who have only the server's view.
    pub(crate) async fn encoded<T: EachPayload>(&self, mut request: T) -> Result<T> {
        if let Some(codec) = &self.codec {
            codec.encode(&mut request).await?;
        }
        Ok(request)
    }

    /// The answer to a call, ready to be read, or what to do about there being none.
    pub(crate) fn answer<'a, T: EachPayload>(
        &'a self,
        call: impl Future<Output = Result<Response<T>, Status>> + 'a,
    ) -> impl Future<Output = Result<T>> + 'a {
        // Calls hold their requests, some of which are large.
        let call = Box::pin(call);
        async {
            let answer = call.await.map_err(|status| self.told(&status))?;
            let mut answer = answer.into_inner();
            if let Some(codec) = &self.codec {
                codec.decode(&mut answer).await?;
            }
            Ok(answer)
        }
    }

    fn told(&self, status: &Status) -> anyhow::Error {
        // An answer has no cause: this one was made here, where the connection broke.
        if let Some(cause) = status.source() {
            return broken(&self.address, cause);
        }
        if status.metadata().contains_key(WRONG_DOOR) {
            return Trouble::unreachable(format!(
                "the server at {} says: {} (--tls speaks TLS, --address names another address)",
                self.address,
                status.message()
            ));
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
    if is_not_tls(error) {
        return Trouble::unreachable(format!(
            "the server at {address} does not speak TLS: leave out what asks for it, --tls and the flags \
             and variables that begin so, and https:// in the address"
        ));
    }
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

/// Whether what came from the server was not TLS.
fn is_not_tls(error: &(dyn Error + 'static)) -> bool {
    let io = innermost(error).downcast_ref::<std::io::Error>();
    let said = io.and_then(std::io::Error::get_ref).and_then(|it| it.downcast_ref());
    matches!(said, Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)))
}

fn innermost<'a>(mut error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    while let Some(cause) = error.source() {
        error = cause;
    }
    error
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer than the server lets anybody wait, so that it is the one who ends a wait.
const PATIENCE: Duration = Duration::from_secs(70);
