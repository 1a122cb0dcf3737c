//! The HTTP door of a server, as commands call it: JSON out, JSON back.
//!
//! A connection a call: a command makes few, and none is made before the first.

mod host;
mod tls;

use std::{fmt::Write as _, time::Duration};

use anyhow::{Context as _, Result};
use http::{
    Method, Request, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use http_body_util::Full;
use hyper::body::Bytes;
use serde_json::Value;

pub(crate) use self::{
    host::{Host, Silence},
    tls::Secured,
};
use crate::{credentials::Credentials, trouble::Trouble};

/// Where the server's HTTP door is, and who calls.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct HttpConnection {
    /// The server's HTTP door, as host:port [default: 127.0.0.1:8233]
    #[arg(long, global = true, env = "STEADFAST_HTTP_ADDRESS", value_name = "HOST:PORT")]
    http_address: Option<String>,

    #[command(flatten)]
    credentials: Credentials,
}

/// Somebody who can call.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    host: Host,
    authorization: Option<String>,
    timeout: Duration,
    pub(crate) namespace: String,
    pub(crate) identity: String,
}

impl HttpConnection {
    /// Gets ready to call. Nothing is sent yet.
    pub(crate) fn caller(&self) -> Result<Caller> {
        let address = self.http_address.as_deref().unwrap_or("127.0.0.1:8233");
        let bare = address.split_once("://").map_or(address, |(_, bare)| bare);
        let bare = bare.trim_end_matches('/');
        let has_port = bare.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        if !has_port {
            let message = format!("--http-address {address:?} is not of the form host:port");
            return Err(Trouble::usage(message));
        }
        let secured = if self.credentials.wants_tls(address.starts_with("https://")) {
            Some(Secured::new(&self.credentials, bare)?)
        } else {
            None
        };
        Ok(Caller {
            host: Host { address: bare.to_owned(), secured },
            authorization: self.credentials.authorization(),
            timeout: self.credentials.timeout(),
            namespace: self.credentials.namespace(),
            identity: self.credentials.identity(),
        })
    }
}

impl Caller {
    /// Asks for what is at `path`, which is below the namespace.
    pub(crate) async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<Value> {
        let pairs: Vec<String> =
            query.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
        let mark = if pairs.is_empty() { "" } else { "?" };
        self.call(Method::GET, &format!("{path}{mark}{}", pairs.join("&")), None).await
    }

    /// Asks for something to be done.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.call(Method::POST, path, Some(body)).await
    }

    /// Puts something in its place.
    pub(crate) async fn put(&self, path: &str, body: &Value) -> Result<Value> {
        self.call(Method::PUT, path, Some(body)).await
    }

    /// Changes some of something.
    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Result<Value> {
        self.call(Method::PATCH, path, Some(body)).await
    }

    /// Takes something away.
    pub(crate) async fn delete(&self, path: &str) -> Result<Value> {
        self.call(Method::DELETE, path, None).await
    }

    #[expect(clippy::disallowed_methods, reason = "the sockets live in the machine's own time")]
    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let asking = Box::pin(self.ask(method, path, body));
        match tokio::time::timeout(self.timeout, asking).await {
            Ok(answer) => answer,
            Err(_) => Err(Trouble::unreachable(format!(
                "the server at {} did not answer in time; --command-timeout gives it longer",
                self.host.address
            ))),
        }
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let request = self.request(method, path, body)?;
        let (status, bytes) =
            self.host.ask(request).await.map_err(|silence| self.unanswered(silence))?;
        self.read(status, &bytes)
    }

    fn unanswered(&self, silence: Silence) -> anyhow::Error {
        let address = &self.host.address;
        match silence {
            Silence::Unreachable(error) => Trouble::unreachable(format!(
                "cannot reach the server at {address} ({error}); start one with `steadfast serve`, or \
                 name another with --http-address"
            )),
            Silence::Untrusted(error) => error,
            Silence::Broken(error) => Trouble::unreachable(format!(
                "the server at {address} broke off ({error}); if it speaks TLS, so must --tls, and \
                 if it does not, nothing may say so"
            )),
        }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Request<Full<Bytes>>> {
        let namespace = escaped(&self.namespace);
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/api/v1/namespaces/{namespace}/{path}"))
            .header(HOST, &self.host.address)
            .header(CONTENT_TYPE, "application/json")
            .header("steadfast-identity", &self.identity);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        request.body(Full::from(body)).map_err(|_| {
            Trouble::usage("--api-key or --identity has characters that no header can have")
        })
    }

    /// The value in an answer, or what to do about there being none.
    fn read(&self, status: StatusCode, bytes: &[u8]) -> Result<Value> {
        let said = serde_json::from_slice::<Value>(bytes);
        if status.is_success() {
            return said.with_context(|| {
                format!("the server at {} did not answer JSON", self.host.address)
            });
        }
        if status == StatusCode::MISDIRECTED_REQUEST {
            return Err(Trouble::unreachable(format!(
                "the server at {} says: {} (--tls speaks TLS, --http-address names another address)",
                self.host.address,
                String::from_utf8_lossy(bytes).trim_end()
            )));
        }
        let said = said.unwrap_or_default();
        let message = said["error"]["message"].as_str().map(str::to_owned);
        let message = message.unwrap_or_else(|| {
            format!(
                "the server at {} answered {status}: is it a Steadfast server?",
                self.host.address
            )
        });
        Err(match status {
            StatusCode::NOT_FOUND => Trouble::not_found(message),
            StatusCode::UNAUTHORIZED => anyhow::anyhow!("{message}; name a key with --api-key"),
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => Trouble::unreachable(
                format!("the server at {} is not available: {message}", self.host.address),
            ),
            _ => anyhow::anyhow!("{message}"),
        })
    }
}

/// A text as a part of a path or of a query.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            // Writing to a text does not fail.
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_url_cannot_hold_is_escaped() {
        assert_eq!(escaped("order 1/é"), "order%201%2F%C3%A9");
        assert_eq!(escaped("a-b_c.d~e"), "a-b_c.d~e");
    }
}
