//! Whose page sent what a browser sends.
//!
//! A browser sends what any page tells it to, and with it the key that its user once gave. But it
//! says whose page that was. What changes something is taken from pages of this server alone.

use std::net::IpAddr;

use http::{
    HeaderMap, HeaderName,
    header::{HOST, ORIGIN},
    uri::Authority,
};

/// Why something is not taken.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Stranger {
    #[error(
        "this was not sent by a page of this server (its origin is {origin}, and the server was asked \
         for as {host}); open the page here and send it from there"
    )]
    Elsewhere { origin: String, host: String },
    #[error(
        "without keys and TLS, pages can change something only where the server is asked for by its \
         address or as localhost, not as {0}: whoever has that name could lead it here"
    )]
    ByName(String),
}

/// Whether a page of ours sent it, and nobody else's that pretends to be ours.
pub(super) fn check(headers: &HeaderMap, anybody_may: bool) -> Result<(), Stranger> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn from(origin: Option<&'static str>, host: &'static str) -> HeaderMap {
        let origin = origin.map(|origin| (ORIGIN, origin.parse().expect("a value")));
        origin.into_iter().chain([(HOST, host.parse().expect("a value"))]).collect()
    }

    #[test]
    fn what_changes_something_comes_from_a_page_of_ours() {
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
