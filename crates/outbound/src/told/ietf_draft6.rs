//! The drafts before -07: `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`, each a number.
//!
//! Up to -03 the policies stand behind the limit, `RateLimit-Limit: 10, 10;w=1, 1000;w=3600`; from -04 on
//! in `RateLimit-Policy`.

use http::HeaderMap;
use sfv::{Item, List, ListEntry, Parser};
use tollgate_core::Span;

use super::{Allowance, lines};

pub(super) fn read(headers: &HeaderMap) -> Option<Allowance> {
    let limits = lines::joined(headers, "ratelimit-limit");
    let limit = limits.as_deref().and_then(first);
    let window = window_of(limit, lines::joined(headers, "ratelimit-policy"))
        .or_else(|| window_of(limit, limits));
    Some(Allowance {
        left: first(&lines::joined(headers, "ratelimit-remaining")?)?,
        reset: lines::joined(headers, "ratelimit-reset")
            .and_then(|reset| first(&reset))
            .map(Span::from_secs),
        limit,
        window,
    })
}

/// The number that a list begins with.
pub(super) fn first(list: &str) -> Option<u64> {
    items(list).first().and_then(number)
}

/// The window of the policy whose quota is `limit`: no two policies may share one.
pub(super) fn window_of(limit: Option<u64>, policies: Option<String>) -> Option<Span> {
    let (limit, policies) = (limit?, policies?);
    let of_limit = items(&policies).into_iter().filter(|policy| number(policy) == Some(limit));
    let window = of_limit.filter_map(|policy| policy.params.get("w")?.as_integer()).next()?;
    u64::try_from(i64::from(window)).ok().filter(|seconds| *seconds > 0).map(Span::from_secs)
}

fn items(list: &str) -> Vec<Item> {
    let members = Parser::new(list).parse::<List>().unwrap_or_default().into_iter();
    let item = |member| match member {
        ListEntry::Item(item) => Some(item),
        ListEntry::InnerList(_) => None,
    };
    members.filter_map(item).collect()
}

fn number(item: &Item) -> Option<u64> {
    u64::try_from(i64::from(item.bare_item.as_integer()?)).ok()
}
