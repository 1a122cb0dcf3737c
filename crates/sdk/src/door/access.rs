//! What a server wants to see of whoever calls it.

use std::{fmt, time::Duration};

/// What a server wants to see of whoever calls it: a key, certificates, or nothing.
#[derive(Clone)]
pub(crate) struct Access {
    /// Sent with each call.
    pub(crate) api_key: Option<String>,
    /// Who is believed to be the server, as PEM; the machine's own authorities if not given.
    pub(crate) ca: Option<Vec<u8>>,
    /// The certificate and the key that the caller shows, as PEM.
    pub(crate) identity: Option<(Vec<u8>, Vec<u8>)>,
    /// The name that the server's certificate must have, if it is not that of the address.
    pub(crate) server_name: Option<String>,
    /// How long the server may be away before a call fails.
    pub(crate) patience: Duration,
    /// After how much silence the caller counts as lost, if it is a worker; it says so to the server.
    pub(crate) lost_after: Option<Duration>,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            api_key: None,
            ca: None,
            identity: None,
            server_name: None,
            patience: Duration::from_secs(30),
            lost_after: Some(Duration::from_secs(30)),
        }
    }
}

impl Access {
    /// Whether it asks for TLS.
    pub(crate) fn has_tls(&self) -> bool {
        self.ca.is_some() || self.identity.is_some() || self.server_name.is_some()
    }
}

/// Keys are not shown.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("api_key", &self.api_key.is_some())
            .field("tls", &self.has_tls())
            .finish_non_exhaustive()
    }
}
