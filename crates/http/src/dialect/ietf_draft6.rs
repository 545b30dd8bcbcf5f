//! `ietf-draft6`: draft-ietf-httpapi-ratelimit-headers-04 to -06, the triple and its policies.
//!
//! `RateLimit-Limit: 10`, `RateLimit-Remaining: 1`, `RateLimit-Reset: 7` and
//! `RateLimit-Policy: 10;w=1, 1000;w=3600`.

use http::header::{HeaderMap, HeaderName};

use super::Told;
use super::line::{Line, number};

pub(super) static HEADERS: [HeaderName; 4] = [
    HeaderName::from_static("ratelimit-policy"),
    HeaderName::from_static("ratelimit-limit"),
    HeaderName::from_static("ratelimit-remaining"),
    HeaderName::from_static("ratelimit-reset"),
];

pub(super) fn write(told: &Told<'_, '_>, line: &mut Line, headers: &mut HeaderMap) {
    let [policy, limit, remaining, reset] = &HEADERS;
    if told.stays(super::read_number(headers, remaining)) {
        return;
    }
    write_policies(told, line);
    headers.insert(policy, line.take());
    headers.insert(limit, number(told.figures.limit));
    headers.insert(remaining, number(told.figures.remaining));
    headers.insert(reset, number(told.figures.after));
}

/// The policies as `100;w=60, 1000;w=3600`. The draft lets no two of them share a quota, so of
/// those that do the first is named, and the deciding one before any other.
pub(super) fn write_policies(told: &Told<'_, '_>, line: &mut Line) {
    let mut named = Vec::new();
    let decisive = told.figures;
    let others = told.members().map(|(_, figures)| figures);
    let figures = others
        .filter(|figures| figures.limit != decisive.limit || figures.window == decisive.window);
    for figures in figures {
        if !named.contains(&figures.limit) {
            named.push(figures.limit);
            line.next_member();
            line.integer(figures.limit);
            line.raw(";w=");
            line.integer(figures.window);
        }
    }
}
