//! `ietf-draft6`: draft-ietf-httpapi-ratelimit-headers-04 to -06, the triple and its policies.
//!
//! `RateLimit-Limit: 10`, `RateLimit-Remaining: 1`, `RateLimit-Reset: 7` and
//! `RateLimit-Policy: 10;w=1, 1000;w=3600`.

use http::header::HeaderName;

use super::Told;
use super::lines::{Family, Lines};

pub(super) static HEADERS: [HeaderName; 4] = [
    HeaderName::from_static("ratelimit-policy"),
    HeaderName::from_static("ratelimit-limit"),
    HeaderName::from_static("ratelimit-remaining"),
    HeaderName::from_static("ratelimit-reset"),
];

pub(super) fn write(told: &Told<'_, '_>, lines: &mut Lines) {
    let [policy, limit, remaining, reset] = &HEADERS;
    lines.family(Family::of(remaining, told.figures.remaining));
    write_policies(told, lines);
    lines.insert(policy);
    lines.insert_integer(limit, told.figures.limit);
    lines.insert_integer(remaining, told.figures.remaining);
    lines.insert_integer(reset, told.figures.after);
}

/// The policies as `100;w=60, 1000;w=3600`. The draft lets no two of them share a quota, so of
/// those that do the first is named, and the deciding one before any other.
pub(super) fn write_policies(told: &Told<'_, '_>, lines: &mut Lines) {
    let mut named = Vec::new();
    let decisive = told.figures;
    let others = told.members().map(|(_, figures)| figures);
    let figures = others
        .filter(|figures| figures.limit != decisive.limit || figures.window == decisive.window);
    for figures in figures {
        if !named.contains(&figures.limit) {
            named.push(figures.limit);
            lines.next_member();
            lines.integer(figures.limit);
            lines.raw(";w=");
            lines.integer(figures.window);
        }
    }
}
