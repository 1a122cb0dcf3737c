//! A form that was posted: by whom, with what, and whether a page of ours sent it.
//!
//! A browser sends what any page tells it to, and with it the key that its user once gave. But it
//! says whose page that was. A form that does not come from here is refused.

use std::net::IpAddr;

use axum::{
    body::to_bytes,
    extract::{FromRequest, FromRequestParts as _, Request},
    response::Response,
};
use http::{
    HeaderMap, HeaderName, StatusCode,
    header::{HOST, ORIGIN},
    uri::Authority,
};
use steadfast_engine::failures::Who;

use super::{
    frame,
    visit::{Visit, named, turned_away},
};
use crate::http::Pages;

/// A form of a visitor who may change things.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) visit: Visit,
    fields: Vec<(String, String)>,
}

/// Why a form is not taken.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
enum Stranger {
    #[error(
        "this form was not sent by a page of this server (its origin is {origin}, and the server was \
         asked for as {host}); open the page here and send it from there"
    )]
    Elsewhere { origin: String, host: String },
    #[error(
        "without keys and TLS, forms are taken only where the server is asked for by its address or \
         as localhost, not as {0}: whoever has that name could lead it here"
    )]
    ByName(String),
}

impl FromRequest<Pages> for Form {
    type Rejection = Response;

    async fn from_request(request: Request, pages: &Pages) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let visit = Visit::from_request_parts(&mut parts, pages).await?;
        visit.may_change().map_err(|denied| turned_away(&denied))?;
        let refused = |status, why: &str| frame::trouble(status, &visit.namespace, why);
        check(&parts.headers, pages.keys.is_empty())
            .map_err(|stranger| refused(StatusCode::FORBIDDEN, &stranger.to_string()))?;
        let body = to_bytes(body, FORM_MAX).await.map_err(|_| {
            let why = format!("a form may have {FORM_MAX} bytes; this one has more");
            refused(StatusCode::PAYLOAD_TOO_LARGE, &why)
        })?;
        let fields = form_urlencoded::parse(&body).into_owned().collect();
        Ok(Self { visit, fields })
    }
}

impl Form {
    /// What a field holds; nothing if there is no such field.
    pub(super) fn field(&self, name: &str) -> &str {
        named(&self.fields, name).unwrap_or_default().trim()
    }

    /// What is written of a change that a form makes.
    pub(super) fn who(&self) -> Who {
        Who { identity: IDENTITY.to_owned(), reason: self.field("reason").to_owned() }
    }
}

/// Whether a page of ours sent it, and nobody else's that pretends to be ours.
fn check(headers: &HeaderMap, anybody_may: bool) -> Result<(), Stranger> {
    let said = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let host = said(HOST).unwrap_or_default();
    let origin = said(ORIGIN).unwrap_or("unknown");
    let (scheme, page) = origin.split_once("://").unwrap_or_default();
    if page.is_empty() || !page.eq_ignore_ascii_case(host) {
        return Err(Stranger::Elsewhere { origin: origin.to_owned(), host: host.to_owned() });
    }
    // With TLS the name was proved to be ours.
    if anybody_may && scheme != "https" && !is_an_address(host) {
        return Err(Stranger::ByName(host.to_owned()));
    }
    Ok(())
}

/// Whether it cannot be a name that somebody else has lead here.
fn is_an_address(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let host = authority.host();
    let number = host.trim_start_matches('[').trim_end_matches(']');
    let is_local = |name: &str| name == "localhost" || name.ends_with(".localhost");
    number.parse::<IpAddr>().is_ok() || is_local(&host.to_ascii_lowercase())
}

/// Who did what a form asked for, in records.
const IDENTITY: &str = "browser";
/// Bytes of a form.
const FORM_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn from(origin: Option<&'static str>, host: &'static str) -> HeaderMap {
        let origin = origin.map(|origin| (ORIGIN, origin.parse().expect("a value")));
        origin.into_iter().chain([(HOST, host.parse().expect("a value"))]).collect()
    }

    #[test]
    fn a_form_comes_from_a_page_of_ours() {
        for host in ["127.0.0.1:8233", "[::1]:8233", "localhost:8233", "10.0.0.7", "a.localhost"] {
            let headers = from(Some(format!("http://{host}").leak()), host);
            assert_eq!(check(&headers, true), Ok(()), "{host}");
        }
        for origin in [None, Some("null"), Some("http://evil.test"), Some("http://127.0.0.1:80")] {
            let refused = check(&from(origin, "127.0.0.1:8233"), true);
            assert!(matches!(refused, Err(Stranger::Elsewhere { .. })), "{origin:?}: {refused:?}");
        }
    }

    #[test]
    fn without_keys_nobody_leads_a_name_of_theirs_here() {
        let headers = from(Some("http://evil.test:8233"), "evil.test:8233");
        assert_eq!(check(&headers, true), Err(Stranger::ByName("evil.test:8233".to_owned())));
        let headers = from(Some("http://flows.example"), "flows.example");
        assert_eq!(check(&headers, false), Ok(()), "a browser gives no key to another's page");
        let headers = from(Some("https://flows.example"), "flows.example");
        assert_eq!(check(&headers, true), Ok(()), "nobody else has a certificate for the name");
    }
}
