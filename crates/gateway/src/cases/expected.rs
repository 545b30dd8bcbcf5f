//! What is expected of an answer.

use std::fmt;

use http::{HeaderName, StatusCode};
use tollgate_core::Span;

use super::rig::Came;

/// What is expected of an answer; what is not said may be anything.
#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    pub(super) status: Option<StatusCode>,
    /// A limit that refuses, others may too.
    pub(super) limit: Option<String>,
    /// Seconds, as in `Retry-After`.
    pub(super) retry_after: Option<u64>,
    /// In a queue.
    pub(super) wait: Option<Span>,
    pub(super) remaining: Option<u64>,
    /// The upstream that is asked.
    pub(super) upstream: Option<String>,
    pub(super) headers: Vec<(HeaderName, Header)>,
}

/// What a header is expected to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Header {
    Is(String),
    Present,
    Absent,
}

impl Expected {
    pub(super) fn is_met(&self, came: &Came) -> bool {
        let is = |header: &(HeaderName, Header)| {
            let (name, wanted) = header;
            let mut values = came.headers.get_all(name).iter();
            match wanted {
                Header::Present => values.next().is_some(),
                Header::Absent => values.next().is_none(),
                Header::Is(text) => values.any(|value| value.as_bytes() == text.as_bytes()),
            }
        };
        self.status.is_none_or(|status| status == came.status)
            && self.limit.as_ref().is_none_or(|limit| came.limits.contains(limit))
            && self.retry_after.is_none_or(|seconds| came.retry_after == Some(seconds))
            && self.wait.is_none_or(|wait| wait == came.wait)
            && self.remaining.is_none_or(|remaining| came.remaining == Some(remaining))
            && self.upstream.as_ref().is_none_or(|name| came.upstream.as_ref() == Some(name))
            && self.headers.iter().all(is)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.status.map(|status| status.as_u16().to_string()));
        parts.extend(self.limit.as_ref().map(|limit| format!("by `{limit}`")));
        parts.extend(self.retry_after.map(|seconds| format!("retry-after: {seconds}")));
        parts.extend(self.wait.map(|wait| match wait.is_zero() {
            true => "without a wait".to_owned(),
            false => format!("after a wait of {wait}"),
        }));
        parts.extend(self.remaining.map(|remaining| format!("{remaining} remaining")));
        parts.extend(self.upstream.as_ref().map(|name| format!("from the upstream `{name}`")));
        parts.extend(self.headers.iter().map(|(name, header)| match header {
            Header::Is(text) => format!("{name}: {text}"),
            Header::Present => format!("a header {name}"),
            Header::Absent => format!("no header {name}"),
        }));
        f.write_str(&parts.join(", "))
    }
}
