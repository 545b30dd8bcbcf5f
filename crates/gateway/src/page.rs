//! What those read who watch this process: its metrics, and whether it lives and is ready.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use tokio::sync::watch;
use tower_service::Service;

use crate::body::{AnswerBody, ClientBody, whole};
use crate::framing::Fault;
use crate::metrics::Metrics;
use crate::probes::Phase;
use crate::problem::problem;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const NOT_HERE: Fault =
    Fault::new(StatusCode::NOT_FOUND, "expected `GET` of `/metrics`, `/live` or `/ready`");

/// `/metrics`, `/live`, `/ready` and nothing else.
#[derive(Clone)]
pub(crate) struct Page {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) phase: watch::Receiver<Phase>,
}

impl Page {
    fn answer(&self, method: &Method, path: &str) -> Response<AnswerBody> {
        let (status, kind, text) = match path {
            _ if method != Method::GET => return problem(NOT_HERE),
            "/metrics" => (StatusCode::OK, OPEN_METRICS, self.metrics.text()),
            // Whoever can answer lives.
            "/live" => (StatusCode::OK, "text/plain", "live\n".to_owned()),
            "/ready" => {
                let (status, text) = self.phase.borrow().answer();
                (status, "text/plain", text.to_owned())
            }
            _ => return problem(NOT_HERE),
        };
        let mut response = Response::new(whole(text));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

impl Service<Request<ClientBody>> for Page {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Ready<Result<Response<AnswerBody>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientBody>) -> Self::Future {
        ready(Ok(self.answer(request.method(), request.uri().path())))
    }
}
