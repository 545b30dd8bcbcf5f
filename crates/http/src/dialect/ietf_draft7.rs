//! `ietf-draft7`: draft-ietf-httpapi-ratelimit-headers-07, one dictionary.
//!
//! `RateLimit: limit=100, remaining=50, reset=5` and `RateLimit-Policy: 100;w=10`.

use http::header::HeaderName;

use super::Told;
use super::ietf_draft6::write_policies;
use super::lines::{Family, Lines};

pub(super) static HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("ratelimit-policy"), HeaderName::from_static("ratelimit")];

pub(super) fn write(told: &Told<'_, '_>, lines: &mut Lines) {
    let [policy, rate_limit] = &HEADERS;
    let left = told.figures.remaining;
    lines.family(Family { name: rate_limit, read: remaining, remaining: left });
    write_policies(told, lines);
    lines.insert(policy);
    lines.raw("limit=");
    lines.integer(told.figures.limit);
    lines.raw(", remaining=");
    lines.integer(told.figures.remaining);
    lines.raw(", reset=");
    lines.integer(told.figures.after);
    lines.insert(rate_limit);
}

/// The `remaining` of a dictionary that is there already.
fn remaining(dictionary: &str) -> Option<u64> {
    let mut members = dictionary.split(',');
    members.find_map(|member| member.trim().strip_prefix("remaining=")?.parse().ok())
}
