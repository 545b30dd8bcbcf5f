//! draft-ietf-httpapi-ratelimit-headers-07: one dictionary, `RateLimit: limit=100, remaining=50, reset=5`,
//! and `RateLimit-Policy: 100;w=10`.

use http::HeaderMap;
use sfv::{Dictionary, ListEntry, Parser};
use tollgate_core::Span;

use super::ietf_draft6::window_of;
use super::{Allowance, lines};

pub(super) fn read(headers: &HeaderMap) -> Option<Allowance> {
    let field = lines::joined(headers, "ratelimit")?;
    let dictionary: Dictionary = Parser::new(&field).parse().ok()?;
    let whole = |key: &str| match dictionary.get(key)? {
        ListEntry::Item(item) => u64::try_from(i64::from(item.bare_item.as_integer()?)).ok(),
        ListEntry::InnerList(_) => None,
    };
    let limit = whole("limit");
    Some(Allowance {
        left: whole("remaining")?,
        reset: whole("reset").map(Span::from_secs),
        limit,
        window: window_of(limit, lines::joined(headers, "ratelimit-policy")),
    })
}
