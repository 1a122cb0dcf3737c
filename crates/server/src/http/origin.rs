//! Whose page sent what a browser sends, and by which name it asked for the server.
//!
//! A browser sends what any page tells it to, and with it the key that its user once gave. But it
//! says whose page that was. What changes something is taken from pages of this server alone.
//!
//! Whoever has a name can lead it to this machine, and a page that came from it is then ours to the
//! browser. Keys are not given to such a page, and with TLS it has no certificate; where there is
//! neither, it is known by the name that it asks for.

use std::{net::IpAddr, sync::Arc};

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
        "without keys and TLS the server is asked for by its address or as localhost, not as {0}: \
         whoever has that name could lead it here; if it is yours, start the server with \
         --http-names {0}"
    )]
    ByName(String),
}

/// The names by which pages and the API may be asked for, besides addresses and `localhost`.
#[derive(Clone, Debug)]
pub(crate) enum Names {
    /// Every one: something else shows who asks, or who answers.
    Any,
    /// These alone.
    These(Arc<[String]>),
}

impl Names {
    /// Whether a caller asks for this server by a name that is its own. Programs that say no name are
    /// no browsers.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Stranger> {
        let Self::These(names) = self else { return Ok(()) };
        let Some(host) = said(headers, HOST) else { return Ok(()) };
        let name = host.parse::<Authority>().map(|authority| authority.host().to_lowercase());
        match name {
            Ok(name) if is_an_address(&name) || names.contains(&name) => Ok(()),
            Ok(name) => Err(Stranger::ByName(name)),
            Err(_) => Err(Stranger::ByName(host.to_owned())),
        }
    }
}

/// Whether a page of ours sent it.
pub(super) fn check(headers: &HeaderMap) -> Result<(), Stranger> {
    let host = said(headers, HOST).unwrap_or_default();
    let origin = said(headers, ORIGIN).unwrap_or("unknown");
    let (_, page) = origin.split_once("://").unwrap_or_default();
    if page.is_empty() || !page.eq_ignore_ascii_case(host) {
        return Err(Stranger::Elsewhere { origin: origin.to_owned(), host: host.to_owned() });
    }
    Ok(())
}

fn said(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether it cannot be a name that somebody else has lead here.
fn is_an_address(name: &str) -> bool {
    let number = name.trim_start_matches('[').trim_end_matches(']');
    number.parse::<IpAddr>().is_ok() || name == "localhost" || name.ends_with(".localhost")
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
        for host in ["127.0.0.1:8233", "flows.example"] {
            let headers = from(Some(format!("http://{host}").leak()), host);
            assert_eq!(check(&headers), Ok(()), "{host}");
        }
        for origin in [None, Some("null"), Some("http://evil.test"), Some("http://127.0.0.1:80")] {
            let refused = check(&from(origin, "127.0.0.1:8233"));
            assert!(matches!(refused, Err(Stranger::Elsewhere { .. })), "{origin:?}: {refused:?}");
        }
    }

    #[test]
    fn nobody_leads_a_name_of_theirs_here() {
        let names = Names::These(Arc::from(["flows.example".to_owned()]));
        let ours = ["127.0.0.1:8233", "[::1]:8233", "LocalHost:8233", "10.0.0.7", "a.localhost"];
        for host in ours.into_iter().chain(["flows.example:8233", "Flows.Example"]) {
            assert_eq!(names.check(&from(None, host)), Ok(()), "{host}");
        }
        assert_eq!(names.check(&HeaderMap::new()), Ok(()), "no browser");
        for host in ["evil.test:8233", "localhost.evil.test", "127.0.0.1.evil.test", "a b"] {
            let refused = names.check(&from(None, host));
            assert!(matches!(refused, Err(Stranger::ByName(_))), "{host}: {refused:?}");
            assert_eq!(Names::Any.check(&from(None, host)), Ok(()), "{host}");
        }
    }
}
