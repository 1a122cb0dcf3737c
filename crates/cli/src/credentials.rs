//! Who calls, and how they are sure of the server: the same for both of its doors.

use std::{env, fs, path::PathBuf, time::Duration};

use anyhow::Result;

use crate::trouble::Trouble;

/// Who calls.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Credentials {
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

impl Credentials {
    /// The namespace that commands are about.
    pub(crate) fn namespace(&self) -> String {
        let given = self.namespace.clone().or_else(|| variable("TEMPORAL_NAMESPACE"));
        given.unwrap_or_else(|| "default".to_owned())
    }

    /// Who it is, for the history.
    pub(crate) fn identity(&self) -> String {
        self.identity.clone().unwrap_or_else(whoami)
    }

    /// What the `authorization` header says, if there is a key.
    pub(crate) fn authorization(&self) -> Option<String> {
        let key = self.api_key.clone().or_else(|| variable("TEMPORAL_API_KEY"));
        key.map(|key| format!("Bearer {key}"))
    }

    /// How long one answer may take.
    pub(crate) fn timeout(&self) -> Duration {
        let timeout = self.command_timeout.wire();
        let millis = timeout.seconds.saturating_mul(1_000) + i64::from(timeout.nanos / 1_000_000);
        Duration::from_millis(u64::try_from(millis.max(1)).unwrap_or(u64::MAX))
    }

    /// Whether to speak TLS.
    pub(crate) fn wants_tls(&self, address_says_so: bool) -> bool {
        let implied = address_says_so
            || self.tls_ca_path.is_some()
            || self.tls_cert_path.is_some()
            || self.tls_server_name.is_some()
            || variable("TEMPORAL_TLS").is_some_and(|value| value == "true");
        self.tls.unwrap_or(implied)
    }

    /// Who may vouch for the server, in PEM.
    pub(crate) fn ca(&self) -> Result<Option<Vec<u8>>> {
        self.tls_ca_path.as_ref().map(|path| pem("--tls-ca-path", path)).transpose()
    }

    /// The caller's own certificate and its key, in PEM.
    pub(crate) fn certificate(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let (Some(cert), Some(key)) = (&self.tls_cert_path, &self.tls_key_path) else {
            return Ok(None);
        };
        Ok(Some((pem("--tls-cert-path", cert)?, pem("--tls-key-path", key)?)))
    }

    /// The name that the server's certificate is for, if it is not the address's.
    pub(crate) fn server_name(&self) -> Option<&str> {
        self.tls_server_name.as_deref()
    }
}

fn pem(flag: &str, path: &PathBuf) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| {
        Trouble::usage(format!("{flag} {} cannot be read: {error}", path.display()))
    })
}

/// A variable of the environment that says something.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn whoami() -> String {
    let user = variable("USER").or_else(|| variable("USERNAME"));
    let host = variable("HOSTNAME")
        .or_else(|| fs::read_to_string("/etc/hostname").ok().map(|host| host.trim().to_owned()));
    let user = user.unwrap_or_else(|| "steadfast-cli".to_owned());
    host.map_or_else(|| user.clone(), |host| format!("{user}@{host}"))
}
