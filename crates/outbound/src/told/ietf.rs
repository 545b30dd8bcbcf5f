//! draft-ietf-httpapi-ratelimit-headers-08 and later: lists of named policies.
//!
//! `RateLimit-Policy: "burst";q=100;w=60, "daily";q=1000;w=86400` and
//! `RateLimit: "burst";r=50;t=30, "daily";r=990;t=40000`. A name may be a token, as in the draft's own
//! examples.

use http::HeaderMap;
use sfv::{BareItem, Item, List, ListEntry, Parser};
use tollgate_core::Span;

use super::{Allowance, MOST, lines};

/// A policy that counts anything but calls says nothing of how many calls are left.
const CALLS: &str = "requests";

pub(super) fn read(headers: &HeaderMap) -> Vec<Allowance> {
    let policies = named(headers, "ratelimit-policy");
    let told = |item: &Item| {
        let name = name(item)?;
        let policy = policies.iter().find(|policy| self::name(policy) == Some(name));
        let unit = policy.and_then(|policy| policy.params.get("qu")?.as_string());
        if unit.is_some_and(|unit| unit.as_str() != CALLS) {
            return None;
        }
        Some(Allowance {
            left: whole(item, "r")?,
            reset: whole(item, "t").map(Span::from_secs),
            limit: policy.and_then(|policy| whole(policy, "q")),
            window: policy.and_then(|policy| whole(policy, "w")).map(Span::from_secs),
        })
    };
    named(headers, "ratelimit").iter().filter_map(told).collect()
}

/// The first members of a list that have a name; none when it is no list. All are looked for among all
/// policies, so that a server could else make this take seconds.
fn named(headers: &HeaderMap, field: &str) -> Vec<Item> {
    let list = lines::joined(headers, field);
    let list = list.and_then(|list| Parser::new(&list).parse::<List>().ok()).unwrap_or_default();
    let items = list.into_iter().filter_map(|member| match member {
        ListEntry::Item(item) => Some(item),
        ListEntry::InnerList(_) => None,
    });
    items.filter(|item| name(item).is_some()).take(MOST).collect()
}

fn name(item: &Item) -> Option<&str> {
    match &item.bare_item {
        BareItem::String(name) => Some(name.as_str()),
        BareItem::Token(name) => Some(name.as_str()),
        _ => None,
    }
}

/// A parameter that is a whole number, not below zero.
fn whole(item: &Item, parameter: &str) -> Option<u64> {
    u64::try_from(i64::from(item.params.get(parameter)?.as_integer()?)).ok()
}
