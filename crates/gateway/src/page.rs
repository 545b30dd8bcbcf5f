//! The page that Prometheus reads.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use tower_service::Service;

use crate::body::{AnswerBody, ClientBody, whole};
use crate::framing::Fault;
use crate::metrics::Metrics;
use crate::problem::problem;

/// `/metrics` and nothing else.
#[derive(Clone)]
pub(crate) struct Page(pub(crate) Arc<Metrics>);

impl Service<Request<ClientBody>> for Page {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Ready<Result<Response<AnswerBody>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientBody>) -> Self::Future {
        if request.method() != Method::GET || request.uri().path() != "/metrics" {
            let fault = Fault::new(StatusCode::NOT_FOUND, "expected `GET /metrics`");
            return ready(Ok(problem(fault)));
        }
        let mut response = Response::new(whole(self.0.text()));
        let form = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(form));
        ready(Ok(response))
    }
}
