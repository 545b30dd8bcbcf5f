//! `Retry-After` (RFC 9110, 10.2.3): whole seconds, or an instant.

use http::HeaderMap;
use http::header::RETRY_AFTER;
use tollgate_core::{Span, Tick};

use super::number::digits;
use super::{date, lines};

/// The longest of what is said; an instant that has passed is no wait. More seconds than can be
/// counted are the longest span: never come back.
pub(super) fn read(headers: &HeaderMap, now: Tick) -> Option<Span> {
    lines::each(headers, RETRY_AFTER.as_str()).filter_map(|line| one(line, now)).max()
}

fn one(line: &str, now: Tick) -> Option<Span> {
    if !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Span::from_secs(digits(line).unwrap_or(u64::MAX)));
    }
    Some(date::read(line)?.since(now))
}
