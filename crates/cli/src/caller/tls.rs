//! TLS towards the HTTP door, by the same flags as towards the other one.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    },
};

use crate::{credentials::Credentials, trouble::Trouble};

/// How to be sure of a server.
#[derive(Clone, Debug)]
pub(super) struct Secured {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Secured {
    /// As the flags say, for a server at `address`.
    pub(super) fn new(credentials: &Credentials, address: &str) -> Result<Self> {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = credentials.server_name().unwrap_or(host).to_owned();
        let name = ServerName::try_from(name.clone())
            .map_err(|_| Trouble::usage(format!("{name:?} is not the name of a server")))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .context("TLS cannot be spoken")?
            .with_root_certificates(roots(credentials)?);
        let config = match credentials.certificate()? {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let key = PrivateKeyDer::from_pem_slice(&key)
                    .map_err(|error| Trouble::usage(format!("--tls-key-path: {error}")))?;
                builder
                    .with_client_auth_cert(certificates("--tls-cert-path", &cert)?, key)
                    .context("the --tls flags do not fit together")?
            }
        };
        Ok(Self { config: Arc::new(config), name })
    }

    /// Agrees on encryption.
    pub(super) async fn connect(&self, stream: TcpStream) -> Result<TlsStream<TcpStream>> {
        let connector = TlsConnector::from(Arc::clone(&self.config));
        connector.connect(self.name.clone(), stream).await.map_err(|error| {
            Trouble::unreachable(format!(
                "the server cannot be trusted, or does not speak TLS: {error}"
            ))
        })
    }
}

fn roots(credentials: &Credentials) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    match credentials.ca()? {
        Some(pem) => {
            for authority in certificates("--tls-ca-path", &pem)? {
                roots.add(authority).context("--tls-ca-path")?;
            }
        }
        None => {
            // Some of a machine's roots may be odd; the rest will do.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

fn certificates(flag: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| Trouble::usage(format!("{flag}: {error}")))
}
