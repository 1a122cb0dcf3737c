//! A call that was let in: who calls, in which namespace, about what.

use axum::extract::RawPathParams;
use http::request::Parts;
use steadfast_engine::{Engine, failures::Who};

use super::fault::Fault;
use crate::{
    http::{Pages, origin},
    keys::{Place, Wanted},
    rpc::Right,
};

/// A call that was let in.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) engine: Engine,
    pub(super) namespace: String,
    /// Who calls, as they say.
    identity: String,
    /// The parts of the path that have names.
    path: Vec<(String, String)>,
}

impl Call {
    /// Lets a call in, or says why not.
    pub(super) fn enter(
        pages: &Pages,
        right: Right,
        params: &RawPathParams,
        parts: &Parts,
    ) -> Result<Self, Fault> {
        let path: Vec<(String, String)> =
            params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let namespace = part(&path, "namespace").to_owned();
        let key = parts.headers.get(http::header::AUTHORIZATION).map(http::HeaderValue::as_bytes);
        let wanted = Wanted { right, place: Place::Namespace(&namespace) };
        pages.keys.check(key, wanted).map_err(|denied| Fault::from(&denied))?;
        let stranger = |stranger| Fault::from(&stranger);
        pages.names.check(&parts.headers).map_err(stranger)?;
        // Programs do not say where a call comes from. A browser does if it may change something.
        if right != Right::Read && parts.headers.contains_key(http::header::ORIGIN) {
            origin::check(&parts.headers).map_err(stranger)?;
        }
        let identity = parts.headers.get(IDENTITY).and_then(|value| value.to_str().ok());
        let identity = identity.unwrap_or("http").to_owned();
        let engine = match seen(parts)? {
            Some(version) => pages.engine.if_book_is(version),
            None => pages.engine.clone(),
        };
        Ok(Self { engine, namespace, identity, path })
    }

    /// A named part of the path.
    pub(super) fn part(&self, name: &str) -> &str {
        part(&self.path, name)
    }

    /// Who calls, and why.
    pub(super) fn who(&self, reason: Option<String>) -> Who {
        Who { identity: self.identity.clone(), reason: reason.unwrap_or_default() }
    }
}

/// The version of the settings and policies that the caller has seen, if it says so.
fn seen(parts: &Parts) -> Result<Option<u64>, Fault> {
    let Some(given) = parts.headers.get(http::header::IF_MATCH) else { return Ok(None) };
    let version = given.to_str().ok().and_then(|text| text.trim_matches('"').parse().ok());
    let wrong = "if-match must be the version of the settings and policies, a number";
    version.map(Some).ok_or_else(|| Fault::invalid(wrong).at("if-match"))
}

fn part<'a>(path: &'a [(String, String)], name: &str) -> &'a str {
    path.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
}

/// Where callers say who they are, for the record of changes.
pub(super) const IDENTITY: &str = "steadfast-identity";
