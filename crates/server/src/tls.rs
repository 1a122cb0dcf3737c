//! Certificates: read from files, and read again when the files have changed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
        server::{VerifierBuilderError, WebPkiClientVerifier},
    },
};

/// Where the certificates are, as PEM.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TlsFiles {
    /// The server's certificate, and those between it and its root.
    pub cert: PathBuf,
    /// The key to it.
    pub key: PathBuf,
    /// If given, only clients with a certificate of this authority may connect.
    pub client_ca: Option<PathBuf>,
}

/// Certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{} holds no usable {what}: {error}", path.display())]
    Pem {
        /// Which.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// Why it does not.
        error: pem::Error,
    },
    /// The certificate and the key do not fit, or are of an unknown kind.
    #[error("the certificate cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
    /// The clients' authority cannot be used.
    #[error("the clients' authority cannot be used: {0}")]
    Authority(#[from] VerifierBuilderError),
}

/// The certificates in use.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    protocol: &'static [u8],
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    stamps: Vec<Stamp>,
    config: Arc<ServerConfig>,
}

/// What tells a changed file from the one that was read.
type Stamp = Option<(SystemTime, u64)>;

impl Tls {
    /// Reads the files, for connections that speak `protocol`.
    pub(crate) fn open(files: TlsFiles, protocol: &'static [u8]) -> Result<Self, TlsError> {
        let stamps = files.stamps();
        let config = Arc::new(files.read(protocol)?);
        Ok(Self { files, protocol, current: Mutex::new(Current { stamps, config }) })
    }

    /// Takes a connection with the certificates that the files hold now. If they have become
    /// unusable, those that were read before stay in use.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let stamps = self.files.stamps();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if stamps != current.stamps {
            match self.files.read(self.protocol) {
                Ok(config) => {
                    tracing::info!(cert = %self.files.cert.display(), "certificates were read again");
                    current.config = Arc::new(config);
                }
                Err(error) => {
                    tracing::error!(%error, "changed certificates are not used; the old ones are");
                }
            }
            current.stamps = stamps;
        }
        TlsAcceptor::from(Arc::clone(&current.config))
    }
}

impl TlsFiles {
    fn read(&self, protocol: &[u8]) -> Result<ServerConfig, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(path)? {
                    roots.add(authority)?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build()?)
            }
        };
        let mut config = builder.with_single_cert(certificates(&self.cert)?, key(&self.key)?)?;
        config.alpn_protocols.push(protocol.to_vec());
        Ok(config)
    }

    fn stamps(&self) -> Vec<Stamp> {
        let files = [Some(&self.cert), Some(&self.key), self.client_ca.as_ref()];
        files.into_iter().flatten().map(|path| stamp(path)).collect()
    }
}

fn stamp(path: &Path) -> Stamp {
    let about = fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let what = "certificate";
    let pem = |error| TlsError::Pem { path: path.to_owned(), what, error };
    let bytes = bytes(path)?;
    let found: Vec<_> =
        CertificateDer::pem_slice_iter(&bytes).collect::<Result<_, _>>().map_err(pem)?;
    if found.is_empty() {
        return Err(pem(pem::Error::NoItemsFound));
    }
    Ok(found)
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let what = "private key";
    PrivateKeyDer::from_pem_slice(&bytes(path)?).map_err(|error| TlsError::Pem {
        path: path.to_owned(),
        what,
        error,
    })
}

fn bytes(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|error| TlsError::Read { path: path.to_owned(), error })
}
