//! The header that tells for which limits the store could not be asked.

use http::header::{HeaderName, HeaderValue};
use tollgate_core::{Decision, Source};

use crate::dialect::quote;

/// Where it is told.
pub(super) static HEADER: HeaderName = HeaderName::from_static("x-ratelimit-degraded");

/// The limits for which the store could not be asked, as a list (RFC 9651) with who decided instead;
/// `None` when it was asked for all.
pub(super) fn line(decision: &Decision<'_>) -> Option<HeaderValue> {
    let mut line = Vec::new();
    for answer in decision.answers() {
        let instead = match answer.source() {
            Source::Store => continue,
            Source::Share(replicas) => format!(";local={replicas}"),
            Source::Nobody => ";allow".to_owned(),
        };
        if !line.is_empty() {
            line.extend(b", ");
        }
        quote(answer.limit().name(), &mut line);
        line.extend(instead.into_bytes());
    }
    let written = (!line.is_empty()).then(|| HeaderValue::from_bytes(&line))?;
    Some(written.expect("only printable ASCII was written"))
}
