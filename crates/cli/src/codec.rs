//! Payloads that only a codec server can read: they are sent there on their way in and out.
//!
//! It is the protocol that codec servers for other tools have: `POST <endpoint>/decode` and `/encode`,
//! with a list of payloads as JSON, and as long a list back.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{
    Request, StatusCode, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use http_body_util::Full;
use hyper::body::Bytes;
use serde::{Deserialize, Serialize};
use steadfast_proto::{EachPayload, common::Payload};

use crate::{
    caller::{Host, Secured, Silence},
    credentials::variable,
    trouble::Trouble,
};

/// Who reads payloads for those who cannot.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct CodecArgs {
    /// A codec server, which encodes and decodes payloads: an address with http:// or https://, in which
    /// {namespace} is the namespace [env also: `TEMPORAL_CODEC_ENDPOINT`]
    #[arg(long, global = true, env = "STEADFAST_CODEC_ENDPOINT", value_name = "URL")]
    codec_endpoint: Option<String>,

    /// What the codec server is told in the authorization header [env also: `TEMPORAL_CODEC_AUTH`]
    #[arg(
        long,
        global = true,
        env = "STEADFAST_CODEC_AUTH",
        hide_env_values = true,
        value_name = "TEXT"
    )]
    codec_auth: Option<String>,
}

/// A codec server.
#[derive(Clone, Debug)]
pub(crate) struct Codec {
    host: Host,
    /// What comes before `/decode`.
    path: String,
    authorization: Option<String>,
    namespace: String,
    timeout: Duration,
}

/// A list of payloads, as a codec server has it.
#[derive(Debug, Deserialize, Serialize)]
struct Listed {
    #[serde(default)]
    payloads: Vec<Written>,
}

/// A payload, with its bytes in base64.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Written {
    metadata: BTreeMap<String, String>,
    data: String,
}

impl CodecArgs {
    /// The codec server, if one is named.
    pub(crate) fn codec(&self, namespace: &str, timeout: Duration) -> Result<Option<Codec>> {
        let given = self.codec_endpoint.clone().or_else(|| variable("TEMPORAL_CODEC_ENDPOINT"));
        let Some(endpoint) = given else { return Ok(None) };
        let endpoint = endpoint.replace("{namespace}", namespace);
        let wrong = || {
            Trouble::usage(format!(
                "--codec-endpoint {endpoint:?} is not an address with http:// or https://"
            ))
        };
        let uri: Uri = endpoint.parse().map_err(|_| wrong())?;
        let host = uri.host().ok_or_else(wrong)?;
        let (secured, usual) = match uri.scheme_str() {
            Some("http") => (None, 80),
            Some("https") => (Some(Secured::by_machine(host)?), 443),
            _ => return Err(wrong()),
        };
        let address = format!("{host}:{}", uri.port_u16().unwrap_or(usual));
        Ok(Some(Codec {
            host: Host { address, secured },
            path: uri.path().trim_end_matches('/').to_owned(),
            authorization: self.codec_auth.clone().or_else(|| variable("TEMPORAL_CODEC_AUTH")),
            namespace: namespace.to_owned(),
            timeout,
        }))
    }
}

impl Codec {
    /// Makes a message ready to be sent to the server.
    pub(crate) async fn encode(&self, message: &mut impl EachPayload) -> Result<()> {
        self.change("encode", message).await
    }

    /// Makes a message of the server ready to be read.
    pub(crate) async fn decode(&self, message: &mut impl EachPayload) -> Result<()> {
        self.change("decode", message).await
    }

    /// Has all payloads of a message changed, in one call.
    async fn change(&self, doing: &str, message: &mut impl EachPayload) -> Result<()> {
        let mut payloads = Vec::new();
        message.each_payload(&mut |payload| payloads.push(Written::of(payload)));
        if payloads.is_empty() {
            return Ok(());
        }
        let count = payloads.len();
        let changed = self.ask(doing, &Listed { payloads }).await?.payloads;
        let changed: Option<Vec<Payload>> = changed.into_iter().map(Written::read).collect();
        let changed = changed.filter(|changed| changed.len() == count).ok_or_else(|| {
            self.trouble(
                doing,
                &format!("did not give {count} payloads back, with their bytes in base64"),
            )
        })?;
        let mut changed = changed.into_iter();
        message.each_payload(&mut |payload| *payload = changed.next().unwrap_or_default());
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "the sockets live in the machine's own time")]
    async fn ask(&self, doing: &str, listed: &Listed) -> Result<Listed> {
        let request = self.request(doing, listed)?;
        let Ok(answer) = tokio::time::timeout(self.timeout, self.host.ask(request)).await else {
            return Err(self.trouble(doing, "did not answer in time"));
        };
        let (status, bytes) = answer.map_err(|silence| {
            let why = match silence {
                Silence::Unreachable(error) => format!("cannot be reached ({error})"),
                Silence::Untrusted(error) => error.to_string(),
                Silence::Broken(error) => format!("broke off ({error})"),
            };
            self.trouble(doing, &why)
        })?;
        if status != StatusCode::OK {
            let said = String::from_utf8_lossy(&bytes);
            return Err(self.trouble(doing, &format!("answered {status}: {}", said.trim())));
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| self.trouble(doing, &format!("did not answer JSON: {error}")))
    }

    fn request(&self, doing: &str, listed: &Listed) -> Result<Request<Full<Bytes>>> {
        let mut request = Request::post(format!("{}/{doing}", self.path))
            .header(HOST, &self.host.address)
            .header(CONTENT_TYPE, "application/json")
            .header("x-namespace", &self.namespace);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let body = Full::from(serde_json::to_vec(listed)?);
        request.body(body).map_err(|_| {
            Trouble::usage("--codec-auth or --namespace has characters that no header can have")
        })
    }

    fn trouble(&self, doing: &str, why: &str) -> anyhow::Error {
        let address = &self.host.address;
        Trouble::unreachable(format!(
            "the codec server at {address}, which is to {doing} payloads, {why}; without \
             --codec-endpoint they are shown and sent as they are"
        ))
    }
}

impl Written {
    fn of(payload: &Payload) -> Self {
        let encode = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
        let metadata = payload.metadata.iter().map(|(key, it)| (key.to_owned(), encode(it)));
        Self { metadata: metadata.collect(), data: encode(&payload.data) }
    }

    fn read(self) -> Option<Payload> {
        let decode = |text: String| BASE64_STANDARD.decode(text).ok();
        let metadata = self.metadata.into_iter().map(|(key, it)| Some((key, decode(it)?)));
        let metadata = metadata.collect::<Option<_>>()?;
        Some(Payload { metadata, data: decode(self.data)?, ..Payload::default() })
    }
}
