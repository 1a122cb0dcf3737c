//! The pages for people with a browser: what runs, what fails, and every attempt.
//!
//! ```text
//!   /namespaces                           namespaces: what there is, and how much of it
//!     …/{namespace}/workflows             workflows: found by a query
//!     …/{namespace}/workflows/{id}/{run}  run: what it waits for, its attempts (chart), its history
//!     …/{namespace}/errors                errors: what fails alike, and each of it
//!     …/{namespace}/schedules             schedules: what they start and when
//!     …/{namespace}/workers               workers: who works here
//! ```
//!
//! A page is made by the server and shows what there is when it is asked for. It needs no script. What
//! can be done is on it as a button and as the command to type; a button posts a form (form), which
//! is carried out (deeds), and leads back to the page.

mod attempts;
mod chart;
mod deeds;
mod errors;
mod form;
mod frame;
mod history;
mod link;
mod namespaces;
mod run;
mod schedules;
mod visit;
mod words;
mod workers;
mod workflows;

use axum::{Router, response::IntoResponse as _, routing::get};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};

use super::Pages;

/// The pages.
pub(super) fn router() -> Router<Pages> {
    Router::new()
        .route("/namespaces", get(namespaces::show))
        .route("/namespaces/{namespace}", get(namespaces::enter))
        .route("/namespaces/{namespace}/workflows", get(workflows::show))
        .route("/namespaces/{namespace}/workflows/{workflow}", get(run::show))
        .route(
            "/namespaces/{namespace}/workflows/{workflow}/{run}",
            get(run::show).post(deeds::to_run),
        )
        .route("/namespaces/{namespace}/errors", get(errors::show).post(deeds::to_errors))
        .route("/namespaces/{namespace}/schedules", get(schedules::show).post(schedules::change))
        .route("/namespaces/{namespace}/workers", get(workers::show))
        .route(STYLE, get(style))
}

async fn style() -> axum::response::Response {
    let kind = HeaderValue::from_static("text/css; charset=utf-8");
    let kept = HeaderValue::from_static("max-age=300");
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, kept)], include_str!("style.css")).into_response()
}

/// Where the style of all pages is.
const STYLE: &str = "/style.css";
