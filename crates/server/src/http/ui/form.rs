//! A form: as it is on a page, and as it was posted, by whom, with what, and whether a page of ours
//! sent it.

use axum::{
    body::to_bytes,
    extract::{FromRequest, FromRequestParts as _, Request},
    response::Response,
};
use http::StatusCode;
use maud::{Markup, html};
use steadfast_engine::failures::Who;

use super::{
    frame,
    visit::{Visit, named, turned_away},
};
use crate::http::{Pages, origin};

/// A form of a visitor who may change things.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) visit: Visit,
    fields: Vec<(String, String)>,
}

impl FromRequest<Pages> for Form {
    type Rejection = Response;

    async fn from_request(request: Request, pages: &Pages) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let visit = Visit::from_request_parts(&mut parts, pages).await?;
        visit.may_change().map_err(|denied| turned_away(&denied))?;
        let refused = |status, why: &str| frame::trouble(status, &visit.namespace, why);
        origin::check(&parts.headers)
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

/// A form on a page, if its visitor may send it. The enter key sends nothing: it would press the
/// first button, so that one does nothing.
pub(super) fn posting(visit: &Visit, action: &str, fields: &Markup) -> Markup {
    html! {
        @if visit.may_change().is_ok() {
            form.deeds method="post" action=(action) {
                button disabled hidden {}
                (fields)
            }
        }
    }
}

/// Who did what a form asked for, in records.
const IDENTITY: &str = "browser";
/// Bytes of a form.
const FORM_MAX: usize = 64 * 1024;
