//! What the gateway says when it answers in place of the upstream.

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use serde_json::json;
use tollgate_http::grpc;

use crate::body::{Whole, whole};
use crate::framing::Fault;

/// An `application/problem+json` (RFC 9457) that no cache keeps.
pub(crate) fn problem(fault: Fault) -> Response<Whole> {
    let text = json!({
        "type": "about:blank",
        "title": fault.status.canonical_reason().unwrap_or("Error"),
        "status": fault.status.as_u16(),
        "detail": fault.detail,
    });
    let mut response = Response::new(whole(text.to_string()));
    *response.status_mut() = fault.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
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
    response.headers_mut().insert(CONTENT_TYPE, content_type);
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
