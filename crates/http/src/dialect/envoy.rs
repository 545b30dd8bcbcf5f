//! `envoy`: the headers of Envoy's rate limit filter (`DRAFT_VERSION_03`), so that its clients need
//! no change.
//!
//! `X-RateLimit-Limit: 10, 10;w=1;name="per-ip", 1000;w=3600;name="hour"`, the deciding capacity
//! first, `X-RateLimit-Remaining`, `X-RateLimit-Reset` in seconds from now, and
//! `X-Envoy-RateLimited: true` on a refusal, which keeps an Envoy in front from retrying it.

use http::HeaderValue;
use http::header::{HeaderMap, HeaderName};

use super::Told;
use super::line::{Line, number};

pub(super) static HEADERS: [HeaderName; 4] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
    HeaderName::from_static("x-envoy-ratelimited"),
];

pub(super) fn write(told: &Told<'_, '_>, line: &mut Line, headers: &mut HeaderMap) {
    let [limit, remaining, reset, rate_limited] = &HEADERS;
    if told.stays(super::read_number(headers, remaining)) {
        return;
    }
    line.integer(told.figures.limit);
    for (answer, figures) in told.members() {
        line.next_member();
        line.integer(figures.limit);
        line.raw(";w=");
        line.integer(figures.window);
        line.raw(";name=");
        line.string(answer.limit().name());
    }
    headers.insert(limit, line.take());
    headers.insert(remaining, number(told.figures.remaining));
    headers.insert(reset, number(told.figures.after));
    if told.decision.is_denied() {
        headers.insert(rate_limited, HeaderValue::from_static("true"));
    }
}
