//! What the gateway says when it answers in place of the upstream.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use serde_json::json;
use tollgate_http::grpc;

use crate::body::{Whole, whole};
use crate::framing::Fault;

static GRPC_PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// An `application/problem+json` (RFC 9457) that no cache keeps.
pub(crate) fn problem(fault: Fault) -> Response<Whole> {
    let mut text = json!({
        "type": "about:blank",
        "title": fault.status.canonical_reason().unwrap_or("Error"),
        "status": fault.status.as_u16(),
        "detail": fault.detail,
    });
    if let (Some(later), Some(text)) = (fault.later, text.as_object_mut()) {
        text.insert("code".to_owned(), later.code.into());
    }
    let mut response = Response::new(whole(text.to_string()));
    *response.status_mut() = fault.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(later) = fault.later {
        headers.insert(RETRY_AFTER, later.seconds.into());
    }
    response
}

/// The same for a client of gRPC, which looks for a status of its own and takes any body for messages.
pub(crate) fn grpc_problem(fault: &Fault, content_type: HeaderValue) -> Response<Whole> {
    // The statuses that clients make of those of HTTP by themselves.
    let code = match fault.status {
        StatusCode::BAD_REQUEST => 13,
        StatusCode::NOT_FOUND => 12,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            14
        }
        _ => 2,
    };
    let mut response = grpc::answer(code, &fault.detail).map(|_| whole(""));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, content_type);
    if let Some(later) = fault.later {
        headers.insert(RETRY_AFTER, later.seconds.into());
        headers.insert(&GRPC_PUSHBACK, later.seconds.saturating_mul(1_000).into());
    }
    response
}

/// The upstream could not be reached or did not speak HTTP.
pub(crate) const BAD_GATEWAY: Fault = Fault::new(
    StatusCode::BAD_GATEWAY,
    "the upstream could not be reached or gave no valid answer",
);

/// The upstream was tried or asked, and was not there in time.
pub(crate) const GATEWAY_TIMEOUT: Fault =
    Fault::new(StatusCode::GATEWAY_TIMEOUT, "the upstream did not answer in time");

/// No server of the upstream was up, and those that were tried all the same could not be reached.
pub(crate) const UNAVAILABLE: Fault =
    Fault::new(StatusCode::SERVICE_UNAVAILABLE, "no server of the upstream is up");
