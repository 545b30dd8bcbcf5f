//! What is counted, for Prometheus. Every label comes from the config or from a list in here.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tower_service::Service;

use crate::body::{AnswerBody, ClientBody, whole};
use crate::framing::Fault;
use crate::problem::problem;

/// Seconds; from what a refusal takes to what no client waits for.
const BUCKETS: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The counters, their handles made once.
pub(crate) struct Metrics {
    registry: Registry,
    /// One for each class of statuses, 1xx to 5xx.
    answers: [Counter; 5],
    seconds: Histogram,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Class {
    class: &'static str,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("tollgate");
        let answers = Family::<Class, Counter>::default();
        registry.register("answers", "Answers given, by class of status", answers.clone());
        let seconds = Histogram::new(BUCKETS);
        let help = "Seconds from the head of a request to the head of its answer";
        registry.register("answer_seconds", help, seconds.clone());
        let answers = ["1xx", "2xx", "3xx", "4xx", "5xx"]
            .map(|class| answers.get_or_create(&Class { class }).clone());
        Metrics { registry, answers, seconds }
    }

    /// Takes note of an answer.
    pub(crate) fn answered(&self, status: StatusCode, took: Duration) {
        let class = usize::from(status.as_u16() / 100).checked_sub(1);
        if let Some(counter) = class.and_then(|class| self.answers.get(class)) {
            counter.inc();
        }
        self.seconds.observe(took.as_secs_f64());
    }

    /// Everything counted, as OpenMetrics text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// The page that Prometheus reads: `/metrics` and nothing else.
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
