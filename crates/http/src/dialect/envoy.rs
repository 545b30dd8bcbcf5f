//! `envoy`: the headers of Envoy's rate limit filter (`DRAFT_VERSION_03`), so that its clients need
//! no change.
//!
//! `X-RateLimit-Limit: 10, 10;w=1;name="per-ip", 1000;w=3600;name="hour"`, the deciding capacity
//! first, `X-RateLimit-Remaining`, `X-RateLimit-Reset` in seconds from now, and
//! `X-Envoy-RateLimited: true` on a refusal, which keeps an Envoy in front from retrying it.

use http::header::HeaderName;

use super::lines::Lines;
use super::said::Told;

pub(super) static HEADERS: [HeaderName; 4] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
    HeaderName::from_static("x-envoy-ratelimited"),
];

pub(super) fn write(told: Told<'_>, lines: &mut Lines<'_>) {
    let [limit, remaining, reset, rate_limited] = &HEADERS;
    let Some((decisive, figures)) = told.decisive() else { return };
    if lines.stay(remaining, |text| text.parse().ok(), figures.remaining) {
        return;
    }
    lines.raw(&decisive.limit_line);
    for (terms, _) in told.members() {
        lines.next_member();
        lines.raw(&terms.limit_line);
        lines.raw(";w=");
        lines.integer(terms.window);
        lines.raw(";name=");
        lines.raw(&terms.name);
    }
    lines.insert(limit);
    lines.insert_integer(remaining, figures.remaining);
    lines.insert_integer(reset, figures.after);
    if told.is_refusal() {
        lines.raw("true");
        lines.insert(rate_limited);
    }
}
