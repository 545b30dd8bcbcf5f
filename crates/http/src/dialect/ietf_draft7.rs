//! `ietf-draft7`: draft-ietf-httpapi-ratelimit-headers-07, one dictionary.
//!
//! `RateLimit: limit=100, remaining=50, reset=5` and `RateLimit-Policy: 100;w=10`.

use http::header::HeaderName;

use super::ietf_draft6::write_policies;
use super::lines::Lines;
use super::said::Told;

pub(super) static HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("ratelimit-policy"), HeaderName::from_static("ratelimit")];

pub(super) fn write(told: Told<'_>, lines: &mut Lines<'_>) {
    let [policy, rate_limit] = &HEADERS;
    let Some((terms, figures)) = told.decisive() else { return };
    if lines.stay(rate_limit, remaining, figures.remaining) {
        return;
    }
    write_policies(told, lines);
    lines.insert(policy);
    lines.raw("limit=");
    lines.integer(terms.limit);
    lines.raw(", remaining=");
    lines.integer(figures.remaining);
    lines.raw(", reset=");
    lines.integer(figures.after);
    lines.insert(rate_limit);
}

/// The `remaining` of a dictionary that is there already.
fn remaining(dictionary: &str) -> Option<u64> {
    let mut members = dictionary.split(',');
    members.find_map(|member| member.trim().strip_prefix("remaining=")?.parse().ok())
}
