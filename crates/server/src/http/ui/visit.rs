//! A visit: who asks for a page, where, and with what question.

use axum::{
    extract::{FromRequestParts, RawPathParams},
    response::{IntoResponse, Response},
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as TOKEN},
};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{AUTHORIZATION, WWW_AUTHENTICATE},
    request::Parts,
};
use maud::Markup;
use steadfast_engine::{Engine, Error, Timestamp};

use super::frame::{self, Section};
use crate::{
    http::{Pages, api, origin::Stranger},
    keys::{Denied, Keys, Place, Wanted},
    rpc::Right,
};

/// A visitor who was let in.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) engine: Engine,
    pub(super) namespace: String,
    pub(super) now: Timestamp,
    /// The page that is asked for, with its question.
    pub(super) here: String,
    path: Vec<(String, String)>,
    question: Vec<(String, String)>,
    keys: Keys,
    key: Option<Vec<u8>>,
}

impl FromRequestParts<Pages> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, pages: &Pages) -> Result<Self, Response> {
        let stranger = |why: Stranger| frame::trouble(StatusCode::FORBIDDEN, "", &why.to_string());
        pages.names.check(&parts.headers).map_err(stranger)?;
        let path = RawPathParams::from_request_parts(parts, pages).await;
        let path = path.map_err(IntoResponse::into_response)?;
        let path: Vec<(String, String)> =
            path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let question = parts.uri.query().unwrap_or_default().as_bytes();
        let visit = Self {
            engine: pages.engine.clone(),
            namespace: named(&path, "namespace").unwrap_or_default().to_owned(),
            now: pages.engine.now(),
            here: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
            question: form_urlencoded::parse(question).into_owned().collect(),
            path,
            keys: pages.keys.clone(),
            key: key(&parts.headers),
        };
        let place = if visit.namespace.is_empty() {
            Place::Anywhere
        } else {
            Place::Namespace(&visit.namespace)
        };
        match visit.may(Right::Read, place) {
            Ok(()) => Ok(visit),
            Err(denied) => Err(turned_away(&denied)),
        }
    }
}

impl Visit {
    /// A named part of the path, if there is something in it.
    pub(super) fn part(&self, name: &str) -> &str {
        named(&self.path, name).unwrap_or_default()
    }

    /// What was asked by this name, if something was.
    pub(super) fn asked(&self, name: &str) -> Option<&str> {
        named(&self.question, name).filter(|text| !text.trim().is_empty())
    }

    /// The token that was asked by this name; an empty one if none was, or none that can be read.
    pub(super) fn token(&self, name: &str) -> Vec<u8> {
        self.asked(name).and_then(|text| TOKEN.decode(text).ok()).unwrap_or_default()
    }

    /// Whether the visitor may look at a namespace.
    pub(super) fn may_see(&self, namespace: &str) -> bool {
        self.may(Right::Read, Place::Namespace(namespace)).is_ok()
    }

    /// Whether the visitor may change what is in the namespace.
    pub(super) fn may_change(&self) -> Result<(), Denied> {
        self.may(Right::Write, Place::Namespace(&self.namespace))
    }

    fn may(&self, right: Right, place: Place<'_>) -> Result<(), Denied> {
        self.keys.check(self.key.as_deref(), Wanted { right, place })
    }
}

/// A page of a section, or why there is none.
pub(super) fn answered(
    visit: &Visit,
    section: Section,
    title: &str,
    body: Result<Markup, Error>,
) -> Response {
    match body {
        Ok(body) => frame::section(&visit.namespace, section, title, &body),
        Err(error) => refused(visit, &error),
    }
}

/// A question that could not be answered, as a page.
pub(super) fn refused(visit: &Visit, error: &Error) -> Response {
    let (status, _) = api::status(error.code);
    frame::trouble(status, &visit.namespace, &error.message)
}

/// Why a visitor is not let in, as a page.
pub(super) fn turned_away(denied: &Denied) -> Response {
    let status = api::denied_status(denied);
    let mut answer = frame::trouble(status, "", &denied.to_string());
    if status == StatusCode::UNAUTHORIZED {
        let ask = HeaderValue::from_static(r#"Basic realm="Steadfast: the password is a key""#);
        answer.headers_mut().insert(WWW_AUTHENTICATE, ask);
    }
    answer
}

/// The key as programs send it. A browser asks for a name and a password, and the key is the password.
fn key(headers: &HeaderMap) -> Option<Vec<u8>> {
    let given = headers.get(AUTHORIZATION)?.as_bytes();
    let Some(basic) = given.strip_prefix(b"Basic ") else { return Some(given.to_vec()) };
    let login = BASE64.decode(basic.trim_ascii()).ok()?;
    let colon = login.iter().position(|byte| *byte == b':')?;
    Some([b"Bearer ", login.get(colon + 1..)?].concat())
}

/// The first of these pairs that has this name.
pub(super) fn named<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}
