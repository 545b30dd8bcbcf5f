//! `envoy`: the headers of Envoy's rate limit filter (`DRAFT_VERSION_03`), so that its clients need
//! no change.
//!
//! `X-RateLimit-Limit: 10, 10;w=1;name="per-ip", 1000;w=3600;name="hour"`, the deciding capacity
//! first, `X-RateLimit-Remaining`, `X-RateLimit-Reset` in seconds from now, and
//! `X-Envoy-RateLimited: true` on a refusal, which keeps an Envoy in front from retrying it.

use http::header::HeaderName;

use super::Told;
use super::lines::{Family, Lines};

pub(super) static HEADERS: [HeaderName; 4] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
    HeaderName::from_static("x-envoy-ratelimited"),
];

pub(super) fn write(told: &Told<'_, '_>, lines: &mut Lines) {
    let [limit, remaining, reset, rate_limited] = &HEADERS;
    lines.family(Family::of(remaining, told.figures.remaining));
    lines.integer(told.figures.limit);
    for (answer, figures) in told.members() {
        lines.next_member();
        lines.integer(figures.limit);
        lines.raw(";w=");
        lines.integer(figures.window);
        lines.raw(";name=");
        lines.string(answer.limit().name());
    }
    lines.insert(limit);
    lines.insert_integer(remaining, told.figures.remaining);
    lines.insert_integer(reset, told.figures.after);
    if told.decision.is_denied() {
        lines.raw("true");
        lines.insert(rate_limited);
    }
}
