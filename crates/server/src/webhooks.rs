//! Documents that are posted to addresses outside, when work is parked or given up.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use http::{
    Request, Uri,
    header::{CONTENT_TYPE, HOST, USER_AGENT},
};
use http_body_util::Full;
use hyper::{body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use steadfast_engine::{PostError, Posted, Webhooks};
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName},
};

/// Posts over HTTP, and over TLS by the authorities that this machine trusts.
#[derive(Clone, Debug, Default)]
pub struct HttpWebhooks {
    /// Read when it is needed for the first time: most servers post to nobody.
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

/// Where a document goes.
struct Address<'a> {
    uri: &'a Uri,
    host: &'a str,
    port: u16,
    is_secure: bool,
}

impl Webhooks for HttpWebhooks {
    #[expect(clippy::disallowed_methods, reason = "the sockets live in the machine's own time")]
    fn post<'a>(&'a self, url: &'a str, body: &'a str) -> Posted<'a> {
        Box::pin(async move {
            match tokio::time::timeout(PATIENCE, self.send(url, body)).await {
                Ok(posted) => posted,
                Err(_) => Err(PostError::NotTaken(format!("no answer within {PATIENCE:?}"))),
            }
        })
    }
}

impl HttpWebhooks {
    async fn send(&self, url: &str, body: &str) -> Result<(), PostError> {
        let uri: Uri = url.parse().map_err(|error| PostError::Address(format!("{error}")))?;
        let address = Address::of(&uri)?;
        let request = address.request(body)?;
        let stream = TcpStream::connect((address.host, address.port)).await.map_err(not_taken)?;
        if !address.is_secure {
            return exchange(TokioIo::new(stream), request).await;
        }
        let config = self.tls.get_or_init(tls_config).as_ref().map_err(not_taken)?;
        let name = ServerName::try_from(address.host.to_owned())
            .map_err(|error| PostError::Address(error.to_string()))?;
        let connector = TlsConnector::from(Arc::clone(config));
        let stream = connector.connect(name, stream).await.map_err(not_taken)?;
        exchange(TokioIo::new(stream), request).await
    }
}

impl<'a> Address<'a> {
    fn of(uri: &'a Uri) -> Result<Self, PostError> {
        let wrong = || PostError::Address(format!("{uri} is not http://… or https://…"));
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong()),
        };
        let host = uri.host().ok_or_else(wrong)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        Ok(Self { uri, host, port, is_secure })
    }

    fn request(&self, body: &str) -> Result<Request<Full<Bytes>>, PostError> {
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let host = self.uri.authority().map_or(self.host, |authority| authority.as_str());
        Request::post(path)
            .header(HOST, host)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("steadfast/", env!("CARGO_PKG_VERSION")))
            .body(Full::from(body.to_owned()))
            .map_err(|error| PostError::Address(error.to_string()))
    }
}

/// How to be sure of whom a document is posted to.
fn tls_config() -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    // Some of a machine's roots may be odd; the rest will do.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = builder
        .with_safe_default_protocol_versions()
        .map(|builder| Arc::new(builder.with_root_certificates(roots).with_no_client_auth()));
    config.map_err(|error| error.to_string())
}

async fn exchange<I>(io: I, request: Request<Full<Bytes>>) -> Result<(), PostError>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(io).await.map_err(not_taken)?;
    tokio::spawn(connection);
    let status = sender.send_request(request).await.map_err(not_taken)?.status();
    if status.is_success() { Ok(()) } else { Err(not_taken(status)) }
}

fn not_taken(why: impl std::fmt::Display) -> PostError {
    PostError::NotTaken(format!("{why}"))
}

/// How long somebody may take to take a document.
const PATIENCE: Duration = Duration::from_secs(10);
