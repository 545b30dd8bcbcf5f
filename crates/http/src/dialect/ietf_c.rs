//! `ietf-c`: the form of draft-ietf-httpapi-ratelimit-headers-08 to -10, a list of named policies.
//!
//! `RateLimit-Policy: "burst";q=100;w=60, "daily";q=1000;w=86400` and
//! `RateLimit: "burst";r=50;t=30, "daily";r=990;t=40000`. A draft: never to be called a standard.

use http::header::HeaderName;

use super::lines::Lines;
use super::said::Told;

pub(super) static HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("ratelimit-policy"), HeaderName::from_static("ratelimit")];

pub(super) fn write(told: Told<'_>, lines: &mut Lines<'_>) {
    let [policy, rate_limit] = &HEADERS;
    if let Some(only) = told.only() {
        lines.append_whole(policy, only.policy_line.clone());
    } else {
        for (terms, _) in told.members() {
            lines.next_member();
            lines.raw(&terms.policy_line);
        }
        lines.append(policy);
    }
    for (terms, figures) in told.members() {
        lines.next_member();
        lines.raw(&terms.name);
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
