//! What those read who watch this process: its metrics, and whether it lives and is ready.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use tokio::sync::watch;
use tower_service::Service;

use crate::body::{ClientBody, Whole, whole};
use crate::framing::Fault;
use crate::metrics::Metrics;
use crate::probes::Phase;
use crate::problem::problem;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const NOT_HERE: Fault =
    Fault::new(StatusCode::NOT_FOUND, "expected `GET` of `/metrics`, `/live` or `/ready`");
const NOT_ME: Fault = Fault::new(
    StatusCode::MISDIRECTED_REQUEST,
    "expected an address or `localhost` as the host, or a name of `metrics_hosts` in `[server]`",
);

/// `/metrics`, `/live`, `/ready` and nothing else.
#[derive(Clone)]
pub(crate) struct Page {
    pub(crate) metrics: Arc<Metrics>,
    /// Names by which it may be asked for, in small letters, beside `localhost`.
    pub(crate) hosts: Arc<[Box<str>]>,
    pub(crate) phase: watch::Receiver<Phase>,
}

impl Page {
    /// Whether it may be asked for by this name. Else the page of anybody could read it through the
    /// browser of whoever is on this machine, by a name of its own that it turns to this address (DNS
    /// rebinding). An address cannot be turned, and who says no host is no browser.
    fn is_named(&self, headers: &HeaderMap) -> bool {
        let Some(host) = headers.get(HOST) else { return true };
        let authority = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
        authority.is_some_and(|authority| {
            let name = authority.host();
            let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
            name == "localhost"
                || address.unwrap_or(name).parse::<IpAddr>().is_ok()
                || self.hosts.iter().any(|host| **host == *name)
        })
    }

    fn answer(&self, method: &Method, path: &str) -> Response<Whole> {
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
    type Response = Response<Whole>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Whole>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientBody>) -> Self::Future {
        ready(Ok(match self.is_named(request.headers()) {
            true => self.answer(request.method(), request.uri().path()),
            false => problem(NOT_ME),
        }))
    }
}
