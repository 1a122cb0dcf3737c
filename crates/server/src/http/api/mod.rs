//! The HTTP/JSON API: what operators see and do about failures.
//!
//! ```text
//!   routes ─── one line a call: its method, its path, the right it takes, its handler
//!     ├─────▶ route: a request checked, its body read, its answer written
//!     └─────▶ document: the `OpenAPI` document, from the same lines
//!   errors, activities, resume_policies, policies, settings, resume_jobs, webhooks ─── the calls
//! ```
//!
//! *Boundary:* paths, names of fields and meanings are kept; fields may be added to answers.

mod acting;
mod attempts;
mod call;
mod changing;
mod document;
mod errors;
mod explain;
mod fault;
mod input;
mod policies;
mod resume_jobs;
mod resume_policies;
mod route;
mod routes;
mod settings;
mod webhooks;
mod wire;

pub(super) use fault::{Fault, denied_status, status};

use axum::{Router, routing::get};
use http::StatusCode;

use super::Pages;

/// The API, and the document that describes it.
pub(super) fn router() -> Router<Pages> {
    let (router, document) = routes::all().finish();
    router.route("/api/v1/openapi.json", get(async move || fault::json(StatusCode::OK, &document)))
}

/// The `OpenAPI` document of the HTTP API.
pub fn openapi() -> utoipa::openapi::OpenApi {
    routes::all().finish().1
}

/// What is said of a path that leads nowhere.
pub(super) fn unknown_path() -> Fault {
    Fault::not_found("there is no such path; /api/v1/openapi.json lists those that there are")
}
