//! Errors as callers get them: a code for programs, a message for people, the field that is wrong.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde::Serialize;
use steadfast_engine::{Code, Detail, Error};
use utoipa::ToSchema;

use crate::{http::origin::Stranger, keys::Denied};

/// Why a call was not carried out.
#[derive(Clone, Debug)]
pub(in crate::http) struct Fault {
    status: StatusCode,
    body: Explained,
}

/// What every answer that is no success holds.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct ErrorBody {
    error: Explained,
}

/// Why a call was not carried out.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ErrorDetail)]
pub(super) struct Explained {
    /// What kind of trouble, for programs: `invalid_argument`, `not_found`, `failed_precondition`, …
    #[schema(value_type = String)]
    code: &'static str,
    /// What happened and what to do, for people.
    message: String,
    /// The field that is wrong, as a path: `backOff.delay`, `rules[0].match`.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// Everything that is wrong, where that is more than one thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<String>,
}

impl Fault {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let body = Explained { code, message: message.into(), field: None, faults: Vec::new() };
        Self { status, body }
    }

    /// The request is wrong.
    pub(in crate::http) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_argument", message)
    }

    /// There is no such thing.
    pub(in crate::http) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// The path is there, but not for this method.
    pub(super) fn wrong_method() -> Self {
        let message = "this path is not for this method; /api/v1/openapi.json says which it is for";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
    }

    /// The body is not said to be JSON.
    pub(super) fn not_json() -> Self {
        let message = "send the body with `content-type: application/json`, as `curl --json` does";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)
    }

    /// The body is too large.
    pub(super) fn too_large(limit: usize) -> Self {
        let message = format!("the body is larger than {limit} bytes, or did not come whole");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", message)
    }

    /// What is said of it, without the status.
    pub(super) fn explained(self) -> Explained {
        self.body
    }

    /// The field that is wrong.
    pub(super) fn at(mut self, field: impl Into<String>) -> Self {
        let field = field.into();
        self.body.field = (!field.is_empty() && field != ".").then_some(field);
        self
    }
}

impl From<&Denied> for Fault {
    fn from(denied: &Denied) -> Self {
        let code = match denied {
            Denied::NoKey | Denied::UnknownKey => "unauthenticated",
            Denied::NotEnough { .. } => "permission_denied",
        };
        Self::new(denied_status(denied), code, denied.to_string())
    }
}

impl From<&Stranger> for Fault {
    fn from(stranger: &Stranger) -> Self {
        Self::new(StatusCode::FORBIDDEN, "permission_denied", stranger.to_string())
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let (status, code) = status(error.code);
        let mut fault = Self::new(status, code, error.message);
        if let Some(Detail::Faults(faults)) = error.detail.map(|detail| *detail) {
            fault.body.faults = faults;
        }
        fault
    }
}

/// The status for an error of the engine, and its name for programs.
pub(in crate::http) const fn status(code: Code) -> (StatusCode, &'static str) {
    match code {
        Code::InvalidArgument => (StatusCode::BAD_REQUEST, "invalid_argument"),
        Code::NotFound => (StatusCode::NOT_FOUND, "not_found"),
        Code::AlreadyExists => (StatusCode::CONFLICT, "already_exists"),
        Code::FailedPrecondition => (StatusCode::CONFLICT, "failed_precondition"),
        Code::ResourceExhausted => (StatusCode::TOO_MANY_REQUESTS, "resource_exhausted"),
        Code::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        Code::DeadlineExceeded => (StatusCode::GATEWAY_TIMEOUT, "deadline_exceeded"),
        Code::PermissionDenied => (StatusCode::FORBIDDEN, "permission_denied"),
        Code::Unimplemented => (StatusCode::NOT_IMPLEMENTED, "unimplemented"),
        Code::Aborted => (StatusCode::CONFLICT, "aborted"),
        Code::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    }
}

/// The status for somebody who is not let in.
pub(in crate::http) fn denied_status(denied: &Denied) -> StatusCode {
    match denied {
        Denied::NoKey | Denied::UnknownKey => StatusCode::UNAUTHORIZED,
        Denied::NotEnough { .. } => StatusCode::FORBIDDEN,
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        json(self.status, &ErrorBody { error: self.body })
    }
}

/// An answer in JSON.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => {
            let kind = HeaderValue::from_static("application/json");
            (status, [(CONTENT_TYPE, kind)], bytes).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
