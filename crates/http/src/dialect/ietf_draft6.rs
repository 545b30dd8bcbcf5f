//! `ietf-draft6`: draft-ietf-httpapi-ratelimit-headers-04 to -06, the triple and its policies.
//!
//! `RateLimit-Limit: 10`, `RateLimit-Remaining: 1`, `RateLimit-Reset: 7` and
//! `RateLimit-Policy: 10;w=1, 1000;w=3600`.

use http::header::HeaderName;

use super::lines::Lines;
use super::said::Told;

pub(super) static HEADERS: [HeaderName; 4] = [
    HeaderName::from_static("ratelimit-policy"),
    HeaderName::from_static("ratelimit-limit"),
    HeaderName::from_static("ratelimit-remaining"),
    HeaderName::from_static("ratelimit-reset"),
];

pub(super) fn write(told: Told<'_>, lines: &mut Lines<'_>) {
    let [policy, limit, remaining, reset] = &HEADERS;
    let Some((terms, figures)) = told.decisive() else { return };
    if lines.stay(remaining, |text| text.parse().ok(), figures.remaining) {
        return;
    }
    write_policies(told, lines);
    lines.insert(policy);
    lines.insert_whole(limit, terms.limit_line.clone());
    lines.insert_integer(remaining, figures.remaining);
    lines.insert_integer(reset, figures.after);
}

/// The policies as `100;w=60, 1000;w=3600`. The draft lets no two of them share a quota, so of
/// those that do the first is named, and the deciding one before any other.
pub(super) fn write_policies(told: Told<'_>, lines: &mut Lines<'_>) {
    let mut named = Vec::new();
    let Some((decisive, _)) = told.decisive() else { return };
    let all = told.members().map(|(terms, _)| terms);
    for terms in all.filter(|t| t.limit != decisive.limit || t.window == decisive.window) {
        if !named.contains(&terms.limit) {
            named.push(terms.limit);
            lines.next_member();
            lines.raw(&terms.limit_line);
            lines.raw(";w=");
            lines.integer(terms.window);
        }
    }
}
