//! Discord's `X-RateLimit-Reset-After`: seconds with a fraction, beside a reset in Unix seconds with one.

use http::HeaderMap;
use tollgate_core::Span;

use super::{lines, reset};

/// The reset in the form that leaves nothing open.
pub(super) fn reset(headers: &HeaderMap) -> Option<Span> {
    lines::each(headers, "x-ratelimit-reset-after").filter_map(reset::seconds).max()
}
