//! GitHub refuses with 429, or with 403, which is also what it says to those who may not.
//!
//! Its primary limit has nothing left; its secondary limits have `Retry-After`.

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};

use super::lines;

/// Whether a 403 is a refusal by a limit. Others than GitHub may say 403 in answer to the last call
/// that is left, so there it takes a `Retry-After`, which nobody sends to those who may not.
pub(super) fn has_refused(status: StatusCode, headers: &HeaderMap) -> bool {
    let is_github = headers.contains_key("x-github-request-id");
    let has_none_left = || lines::each(headers, "x-ratelimit-remaining").any(|left| left == "0");
    status == StatusCode::FORBIDDEN
        && (headers.contains_key(RETRY_AFTER) || (is_github && has_none_left()))
}
