//! `ietf-c`: the form of draft-ietf-httpapi-ratelimit-headers-08 to -10, a list of named policies.
//!
//! `RateLimit-Policy: "burst";q=100;w=60, "daily";q=1000;w=86400` and
//! `RateLimit: "burst";r=50;t=30, "daily";r=990;t=40000`. A draft: never to be called a standard.

use http::header::HeaderName;

use super::Told;
use super::lines::Lines;

pub(super) static HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("ratelimit-policy"), HeaderName::from_static("ratelimit")];

pub(super) fn write(told: &Told<'_, '_>, lines: &mut Lines) {
    let [policy, rate_limit] = &HEADERS;
    for (answer, figures) in told.members() {
        lines.next_member();
        lines.string(answer.limit().name());
        lines.raw(";q=");
        lines.integer(figures.limit);
        lines.raw(";w=");
        lines.integer(figures.window);
    }
    lines.append(policy);
    for (answer, figures) in told.members() {
        lines.next_member();
        lines.string(answer.limit().name());
        lines.raw(";r=");
        lines.integer(figures.remaining);
        // No wait makes room for what exceeds the capacity.
        if !figures.never {
            lines.raw(";t=");
            lines.integer(figures.after);
        }
    }
    lines.append(rate_limit);
}
