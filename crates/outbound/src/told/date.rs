//! The server's own time: the `Date` of its answer, in any of the three forms of RFC 9110, 5.6.7.

use std::time::UNIX_EPOCH;

use http::HeaderMap;
use http::header::{AGE, DATE};
use tollgate_core::{Span, Tick};

/// What the server's clock showed.
pub(super) fn of(headers: &HeaderMap) -> Option<Tick> {
    read(headers.get(DATE)?.to_str().ok()?)
}

/// An instant in one of the three forms, none before 1970.
pub(super) fn read(text: &str) -> Option<Tick> {
    let instant = httpdate::parse_http_date(text.trim()).ok()?;
    let since = instant.duration_since(UNIX_EPOCH).ok()?;
    Some(Tick::EPOCH.after(Span::from(since)))
}

/// Whether the answer was kept by a cache, so that its numbers are of another call.
pub(super) fn is_from_a_cache(headers: &HeaderMap) -> bool {
    let age = headers.get(AGE).and_then(|age| age.to_str().ok());
    age.and_then(|age| age.trim().parse::<u64>().ok()).is_some_and(|seconds| seconds > 0)
}
