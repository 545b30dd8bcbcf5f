//! `ietf-c`: the form of draft-ietf-httpapi-ratelimit-headers-08 to -10, a list of named policies.
//!
//! `RateLimit-Policy: "burst";q=100;w=60, "daily";q=1000;w=86400` and
//! `RateLimit: "burst";r=50;t=30, "daily";r=990;t=40000`. A draft: never to be called a standard.

use http::header::{HeaderMap, HeaderName};

use super::Told;
use super::line::Line;

pub(super) static HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("ratelimit-policy"), HeaderName::from_static("ratelimit")];

pub(super) fn write(told: &Told<'_, '_>, line: &mut Line, headers: &mut HeaderMap) {
    let [policy, rate_limit] = &HEADERS;
    for (answer, figures) in told.members() {
        line.next_member();
        line.string(answer.limit().name());
        line.raw(";q=");
        line.integer(figures.limit);
        line.raw(";w=");
        line.integer(figures.window);
    }
    headers.append(policy, line.take());
    for (answer, figures) in told.members() {
        line.next_member();
        line.string(answer.limit().name());
        line.raw(";r=");
        line.integer(figures.remaining);
        // No wait makes room for what exceeds the capacity.
        if !figures.never {
            line.raw(";t=");
            line.integer(figures.after);
        }
    }
    headers.append(rate_limit, line.take());
}
