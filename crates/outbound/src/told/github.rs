//! GitHub refuses with 429, or with 403, which is also what it says to those who may not.
//!
//! Its primary limit has nothing left; its secondary limits have `Retry-After`, or say nothing but in
//! the body.

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use tollgate_core::Span;

use super::lines;

/// Whether a 403 is a refusal by a limit. Others than GitHub may say 403 in answer to the last call
/// that is left, so there it takes a `Retry-After`, which nobody sends to those who may not.
pub(super) fn has_refused(status: StatusCode, headers: &HeaderMap) -> bool {
    let has_none_left = || lines::each(headers, "x-ratelimit-remaining").any(|left| left == "0");
    status == StatusCode::FORBIDDEN
        && (headers.contains_key(RETRY_AFTER) || (is_github(headers) && has_none_left()))
}

/// What its documentation asks for where a secondary limit has refused without a word of when to come
/// back ("Rate limits for the REST API", exceeding the rate limit): a minute at least, and more each
/// time that it goes on. Without the body only a 429 tells of one: a 403 is mostly said to those who may
/// not, and must not hold all other calls.
pub(super) fn least_wait(status: StatusCode, headers: &HeaderMap) -> Option<Span> {
    (status == StatusCode::TOO_MANY_REQUESTS && is_github(headers)).then_some(Span::MINUTE)
}

fn is_github(headers: &HeaderMap) -> bool {
    headers.contains_key("x-github-request-id")
}
