//! `ietf-draft7`: draft-ietf-httpapi-ratelimit-headers-07, one dictionary.
//!
//! `RateLimit: limit=100, remaining=50, reset=5` and `RateLimit-Policy: 100;w=10`.

use http::header::{HeaderMap, HeaderName};

use super::Told;
use super::ietf_draft6::write_policies;
use super::line::Line;

pub(super) static HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("ratelimit-policy"), HeaderName::from_static("ratelimit")];

pub(super) fn write(told: &Told<'_, '_>, line: &mut Line, headers: &mut HeaderMap) {
    let [policy, rate_limit] = &HEADERS;
    if told.stays(headers.get(rate_limit).and_then(|value| remaining(value.to_str().ok()?))) {
        return;
    }
    write_policies(told, line);
    headers.insert(policy, line.take());
    line.raw("limit=");
    line.integer(told.figures.limit);
    line.raw(", remaining=");
    line.integer(told.figures.remaining);
    line.raw(", reset=");
    line.integer(told.figures.after);
    headers.insert(rate_limit, line.take());
}

/// The `remaining` of a dictionary that is there already.
fn remaining(dictionary: &str) -> Option<u64> {
    let mut members = dictionary.split(',');
    members.find_map(|member| member.trim().strip_prefix("remaining=")?.parse().ok())
}
