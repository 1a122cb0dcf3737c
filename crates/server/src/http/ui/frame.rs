//! The frame around every page.

use axum::response::{IntoResponse as _, Response};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
        X_CONTENT_TYPE_OPTIONS,
    },
};
use maud::{DOCTYPE, Markup, html};

use super::{STYLE, link};

/// Where in a namespace a page is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Section {
    Workflows,
    Errors,
    Schedules,
    Workers,
}

/// What is said about a page beside what is on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) title: &'a str,
    /// Empty for pages about all of them.
    pub(super) namespace: &'a str,
    pub(super) section: Option<Section>,
    /// Whether the page is asked for again by itself.
    pub(super) is_live: bool,
}

/// A page.
pub(super) fn page(frame: Frame<'_>, body: &Markup) -> Response {
    framed(StatusCode::OK, frame, body)
}

/// A page of a section.
pub(super) fn section(namespace: &str, section: Section, title: &str, body: &Markup) -> Response {
    page(Frame { title, namespace, section: Some(section), is_live: false }, body)
}

/// The way to what of a list is not on its page, if there is more.
pub(super) fn rest(here: &str, question: &[(&str, &str)], token: &[u8], words: &str) -> Markup {
    let token = link::token(token);
    let question: Vec<_> = question.iter().copied().chain([("page", token.as_str())]).collect();
    html! { @if !token.is_empty() { p { a href=(link::asking(here, &question)) { (words) } } } }
}

/// A page that says why there is none.
pub(super) fn trouble(status: StatusCode, namespace: &str, reason: &str) -> Response {
    let frame = Frame { title: "Trouble", namespace, section: None, is_live: false };
    let body = html! {
        h1 { (status.canonical_reason().unwrap_or("Trouble")) }
        p.trouble { (reason) }
    };
    framed(status, frame, &body)
}

fn framed(status: StatusCode, frame: Frame<'_>, body: &Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                @if frame.is_live { meta http-equiv="refresh" content=(EVERY); }
                title { (frame.title) " · Steadfast" }
                link rel="stylesheet" href=(STYLE);
            }
            body {
                header {
                    a.name href="/namespaces" { "Steadfast" }
                    @if !frame.namespace.is_empty() { (sections(frame)) }
                }
                main { (body) }
            }
        }
    };
    let headers: [(HeaderName, HeaderValue); 5] = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(ALLOWED)),
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (status, headers, page.into_string()).into_response()
}

fn sections(frame: Frame<'_>) -> Markup {
    let class = |section| (frame.section == Some(section)).then_some("here");
    html! {
        span.namespace { (frame.namespace) }
        nav {
            a class=[class(Section::Workflows)] href=(link::workflows(frame.namespace)) { "Workflows" }
            a class=[class(Section::Errors)] href=(link::errors(frame.namespace)) { "Errors" }
            a class=[class(Section::Schedules)] href=(link::schedules(frame.namespace)) { "Schedules" }
            a class=[class(Section::Workers)] href=(link::workers(frame.namespace)) { "Workers" }
        }
    }
}

/// What a browser may load for a page: its style, from here. What users' data holds is never run.
const ALLOWED: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// After how many seconds a live page is asked for again.
const EVERY: u32 = 3;
