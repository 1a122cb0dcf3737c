//! A server of the same protocol, over gRPC.

use std::time::Duration;

use steadfast_engine::{ATTEMPT_KEYS, Code, Detail, Error, LEAVES, SILENCE_MAX};
use steadfast_proto::{
    clients::{OperatorServiceClient, WorkflowServiceClient},
    errordetails::{
        MultiOperationExecutionFailure, QueryFailedFailure, WorkflowExecutionAlreadyStartedFailure,
        multi_operation_execution_failure::OperationStatus,
    },
    failure::MultiOperationExecutionAborted,
    operatorservice::{AddSearchAttributesRequest, AddSearchAttributesResponse},
    prost::{Message as _, Name},
    prost_types::Any,
    rpc,
};
use tonic::{
    Request, Status,
    codec::CompressionEncoding::Gzip,
    metadata::{Ascii, MetadataValue, errors::InvalidMetadataValue},
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};

use super::{Access, again};

/// A connection, which is made when it is needed and made again when it is lost.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    endpoint: Endpoint,
    client: WorkflowServiceClient<Channel>,
    operator: OperatorServiceClient<Channel>,
    /// What each call says of who calls.
    authorization: Option<MetadataValue<Ascii>>,
    /// After how many milliseconds of silence whoever calls counts as lost, if it does.
    silence_max: Option<MetadataValue<Ascii>>,
    /// Whether whoever calls leaves the attempt that it speaks of to somebody else.
    leaves: bool,
    /// How long the server may be away before a call fails.
    patience: Duration,
}

/// Why there is no way to a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadServer {
    /// The address or the certificates cannot be used.
    #[error("the address or the certificates cannot be used: {0}")]
    Transport(#[from] tonic::transport::Error),
    /// The key has characters that cannot be sent.
    #[error("the API key has characters that cannot be sent: {0}")]
    Key(#[from] InvalidMetadataValue),
}

impl Remote {
    /// A server at `host:port`, or at an address with `http://` or `https://`.
    pub(crate) fn new(address: &str, access: &Access) -> Result<Self, BadServer> {
        let tls = address.starts_with("https://") || access.has_tls();
        let scheme = if tls { "https" } else { "http" };
        let named = address.rsplit_once("://").map_or(address, |(_, named)| named);
        let address = format!("{scheme}://{named}");
        let mut endpoint = Endpoint::from_shared(address)?
            .connect_timeout(CONNECT.min(access.patience))
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_while_idle(true);
        if tls {
            endpoint = endpoint.tls_config(tls_config(access))?;
        }
        let key = access.api_key.as_ref().map(|key| format!("Bearer {key}").parse());
        let authorization = key.transpose()?;
        let silence_max = access.lost_after.map(|span| span.as_millis().to_string().parse());
        let silence_max = silence_max.transpose()?;
        let (client, operator) = clients(&endpoint);
        let patience = access.patience;
        let leaves = false;
        Ok(Self { endpoint, client, operator, authorization, silence_max, leaves, patience })
    }

    /// The same server, for a worker that leaves the attempt that it speaks of to somebody else.
    pub(super) fn leaving(&self) -> Self {
        Self { leaves: true, ..self.clone() }
    }

    /// The same server, over a connection of its own.
    pub(super) fn apart(&self) -> Self {
        let (client, operator) = clients(&self.endpoint);
        Self { client, operator, ..self.clone() }
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    pub(super) fn client(&self) -> WorkflowServiceClient<Channel> {
        self.client.clone()
    }

    pub(super) async fn add_search_attributes(
        &self,
        request: AddSearchAttributesRequest,
    ) -> Result<AddSearchAttributesResponse, Error> {
        let call = |request| async {
            let called = self.operator.clone().add_search_attributes(self.request(request)).await;
            Ok(called.map_err(|status| error(&status))?.into_inner())
        };
        again::until_answered(self.patience, request, call).await
    }

    pub(super) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(key) = &self.authorization {
            request.metadata_mut().insert("authorization", key.clone());
        }
        request.metadata_mut().insert(ATTEMPT_KEYS, MetadataValue::from_static("true"));
        if let Some(millis) = &self.silence_max {
            request.metadata_mut().insert(SILENCE_MAX, millis.clone());
        }
        if self.leaves {
            request.metadata_mut().insert(LEAVES, MetadataValue::from_static("true"));
        }
        // The longest call is a long poll.
        request.set_timeout(LONGEST);
        request
    }
}

fn clients(
    endpoint: &Endpoint,
) -> (WorkflowServiceClient<Channel>, OperatorServiceClient<Channel>) {
    let channel = endpoint.connect_lazy();
    let operator = OperatorServiceClient::new(channel.clone());
    let client = WorkflowServiceClient::new(channel)
        .accept_compressed(Gzip)
        .max_decoding_message_size(MESSAGE_MAX)
        .max_encoding_message_size(MESSAGE_MAX);
    (client, operator)
}

fn tls_config(access: &Access) -> ClientTlsConfig {
    let mut tls = match &access.ca {
        None => ClientTlsConfig::new().with_enabled_roots(),
        Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
    };
    if let Some((certificate, key)) = &access.identity {
        tls = tls.identity(Identity::from_pem(certificate, key));
    }
    match &access.server_name {
        None => tls,
        Some(name) => tls.domain_name(name),
    }
}

/// An error as the engine tells it.
pub(super) fn error(status: &Status) -> Error {
    // What has a cause did not come from the server: the way to it broke.
    let broke = std::error::Error::source(status).is_some();
    let code = if broke { Code::Unavailable } else { code(status.code()) };
    Error { code, message: status.message().to_owned(), detail: detail(status) }
}

fn detail(status: &Status) -> Option<Box<Detail>> {
    let wire = rpc::Status::decode(status.details()).ok()?;
    detail_of(status.code(), wire.details.first()?).map(Box::new)
}

/// What an error says for programs.
fn detail_of(code: tonic::Code, any: &Any) -> Option<Detail> {
    let is = |name: String| any.type_url.ends_with(&name);
    let value = any.value.as_slice();
    Some(if is(WorkflowExecutionAlreadyStartedFailure::full_name()) {
        Detail::AlreadyStarted(WorkflowExecutionAlreadyStartedFailure::decode(value).ok()?)
    } else if is(QueryFailedFailure::full_name()) {
        Detail::QueryFailed(Box::new(QueryFailedFailure::decode(value).ok()?))
    } else if is(MultiOperationExecutionFailure::full_name()) {
        let failure = MultiOperationExecutionFailure::decode(value).ok()?;
        Detail::MultiOperation(failure.statuses.into_iter().map(operation).collect())
    } else if is(MultiOperationExecutionAborted::full_name()) {
        Detail::MultiOperationAborted
    } else if code == tonic::Code::NotFound {
        Detail::NotFound
    } else {
        return None;
    })
}

/// What became of one operation of several.
fn operation(status: OperationStatus) -> Error {
    let of_wire = tonic::Code::from_i32(status.code);
    let detail = status.details.first().and_then(|any| detail_of(of_wire, any));
    Error { code: code(of_wire), message: status.message, detail: detail.map(Box::new) }
}

fn code(code: tonic::Code) -> Code {
    match code {
        tonic::Code::InvalidArgument | tonic::Code::OutOfRange => Code::InvalidArgument,
        tonic::Code::NotFound => Code::NotFound,
        tonic::Code::AlreadyExists => Code::AlreadyExists,
        tonic::Code::FailedPrecondition => Code::FailedPrecondition,
        tonic::Code::ResourceExhausted => Code::ResourceExhausted,
        // A call that was cut off may be made again.
        tonic::Code::Unavailable | tonic::Code::Cancelled | tonic::Code::Unknown => {
            Code::Unavailable
        }
        tonic::Code::DeadlineExceeded => Code::DeadlineExceeded,
        tonic::Code::PermissionDenied | tonic::Code::Unauthenticated => Code::PermissionDenied,
        tonic::Code::Unimplemented => Code::Unimplemented,
        tonic::Code::Aborted => Code::Aborted,
        tonic::Code::Internal | tonic::Code::DataLoss | tonic::Code::Ok => Code::Internal,
    }
}

const CONNECT: Duration = Duration::from_secs(10);
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(70);
const MESSAGE_MAX: usize = 128 * 1024 * 1024;
