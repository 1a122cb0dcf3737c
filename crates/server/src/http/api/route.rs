//! From a line of the table to a call: let in, read, carried out, answered.

use std::future::Future;

use axum::{
    Router,
    extract::{RawPathParams, Request, State},
    response::{IntoResponse as _, Response},
    routing::{MethodFilter, on},
};
use http::StatusCode;
use serde::Serialize;
use utoipa::{ToSchema, openapi::OpenApi};

use super::{
    call::Call,
    document::Document,
    fault::{Fault, json},
    input::Input,
};
use crate::{http::Pages, metrics::HttpCall, rpc::Right};

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) method: Method,
    /// Below the namespace.
    pub(super) path: &'static str,
    pub(super) right: Right,
    /// What programs that are made from the document call it.
    pub(super) id: &'static str,
    /// What it does.
    pub(super) about: &'static str,
}

/// The methods that are used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

/// The table in the making: a router and a document that say the same.
#[derive(Default)]
pub(super) struct Routes {
    router: Router<Pages>,
    document: Document,
}

impl Routes {
    /// One more line.
    pub(super) fn add<I, O, A>(
        mut self,
        route: Route,
        handler: impl Fn(Call, I) -> A + Clone + Send + Sync + 'static,
    ) -> Self
    where
        I: Input,
        O: Serialize + ToSchema + 'static,
        A: Future<Output = Result<O, Fault>> + Send + 'static,
    {
        self.document.add::<I, O>(&route);
        let answering =
            move |State(pages): State<Pages>, params: RawPathParams, request: Request| {
                let handler = handler.clone();
                async move {
                    let counted = HttpCall::begin(&pages.metrics, route.id);
                    let answer = match carry_out(route, handler, &pages, &params, request).await {
                        Ok(answer) => json(StatusCode::OK, &answer),
                        Err(fault) => fault.into_response(),
                    };
                    counted.answered(answer.status());
                    answer
                }
            };
        let path = full_path(route.path);
        self.router = self.router.route(&path, on(route.method.filter(), answering));
        self
    }

    /// What has been made.
    pub(super) fn finish(self) -> (Router<Pages>, OpenApi) {
        let router = self.router.method_not_allowed_fallback(wrong_method);
        (router, self.document.finish())
    }
}

impl Method {
    fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// A path from the root of the door.
pub(super) fn full_path(path: &str) -> String {
    format!("/api/v1/namespaces/{{namespace}}/{path}")
}

async fn wrong_method() -> Response {
    Fault::wrong_method().into_response()
}

/// Nothing of a body is read before it is known who sends it.
async fn carry_out<I: Input, O, A: Future<Output = Result<O, Fault>>>(
    route: Route,
    handler: impl Fn(Call, I) -> A,
    pages: &Pages,
    params: &RawPathParams,
    request: Request,
) -> Result<O, Fault> {
    let (parts, body) = request.into_parts();
    let call = Call::enter(pages, route.right, params, &parts)?;
    let body = axum::body::to_bytes(body, BODY_MAX).await;
    let body = body.map_err(|_| Fault::too_large(BODY_MAX))?;
    let input = I::read(&parts, &body)?;
    handler(call, input).await
}

/// Bytes of a body: a set of policies, or a changed input.
const BODY_MAX: usize = 4 * 1024 * 1024;
