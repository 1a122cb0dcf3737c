//! TLS towards the HTTP door, by the same flags as towards the other one.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, ConfigBuilder, RootCertStore,
        client::WantsClientCert,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    },
};

use crate::{credentials::Credentials, trouble::Trouble};

/// How to be sure of a server.
#[derive(Clone, Debug)]
pub(crate) struct Secured {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Secured {
    /// As the flags say, for a server at `address`.
    pub(super) fn new(credentials: &Credentials, address: &str) -> Result<Self> {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = server_name(credentials.server_name().unwrap_or(host))?;
        let builder = builder(roots(credentials)?)?;
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

    /// As this machine would be of anybody called `host`.
    pub(crate) fn by_machine(host: &str) -> Result<Self> {
        let config = builder(machine_roots())?.with_no_client_auth();
        Ok(Self { config: Arc::new(config), name: server_name(host)? })
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

fn builder(roots: RootCertStore) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().context("TLS cannot be spoken")?;
    Ok(builder.with_root_certificates(roots))
}

fn server_name(name: &str) -> Result<ServerName<'static>> {
    ServerName::try_from(name.to_owned())
        .map_err(|_| Trouble::usage(format!("{name:?} is not the name of a server")))
}

fn roots(credentials: &Credentials) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    match credentials.ca()? {
        Some(pem) => {
            for authority in certificates("--tls-ca-path", &pem)? {
                roots.add(authority).context("--tls-ca-path")?;
            }
        }
        None => return Ok(machine_roots()),
    }
    Ok(roots)
}

fn machine_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    // Some of a machine's roots may be odd; the rest will do.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn certificates(flag: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| Trouble::usage(format!("{flag}: {error}")))
}
