//! Envoy: its policies stand behind the limit, `X-RateLimit-Limit: 10, 10;w=1;name="per-ip", 1000;w=3600`,
//! and a refusal has a mark.

use http::HeaderMap;
use tollgate_core::Span;

use super::ietf_draft6::window_of;
use super::lines;

/// The window of the policy that the limit is of.
pub(super) fn window(headers: &HeaderMap, field: &str, limit: Option<u64>) -> Option<Span> {
    window_of(limit, lines::joined(headers, field))
}

/// Whether Envoy's rate limit filter refused the call, under whatever status.
pub(super) fn has_refused(headers: &HeaderMap) -> bool {
    headers.contains_key("x-envoy-ratelimited")
}
