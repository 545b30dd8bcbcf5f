//! The body of a refusal, in the form a service speaks.

use http::{HeaderValue, StatusCode};

use super::Refusal;
use crate::escape::json;

/// How the problem begins that a limit is (draft-ietf-httpapi-ratelimit-headers-09, 5).
const LIMITED: &str = "{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\
                       \"title\":\"Quota Exceeded\",\"status\":";

/// What stands between its status and its text.
const DETAIL: &str = ",\"detail\":";

/// How the problem begins that a store which cannot be asked is.
const UNASKED: &str = "{\"type\":\"https://github.com/tollgate-rs/tollgate/blob/main/crates/http/docs/\
                       answer.md#when-limits-cannot-be-checked\",\"title\":\"Limiter Unavailable\",\
                       \"status\":503,\"detail\":";

/// What programs tell that problem by.
const UNASKED_CODE: &str = ",\"code\":\"limiter_unavailable\"";

/// The media type of plain text.
pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// How its list of limits begins.
const NAMES: &str = ",\"violated-policies\":[";

/// The form of the body of a refusal.
///
/// ```
/// use http::{HeaderMap, header::CONTENT_TYPE};
/// use tollgate_http::{Format, Refusal, Responder};
/// let responder = Responder::default().format(Format::Json);
/// let answer = responder.refuse(&HeaderMap::new(), Refusal::Denied, None);
/// assert_eq!(answer.headers()[CONTENT_TYPE], "application/json");
/// assert!(answer.body().starts_with(b"{"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `application/problem+json` (RFC 9457): type, title, status, detail and, when limits refuse,
    /// `violated-policies` with their names, or, when they cannot be checked, the `code`
    /// `limiter_unavailable`.
    #[default]
    Problem,
    /// `application/json`: `{"error":"…"}`, with that `code` if limits cannot be checked.
    Json,
    /// `text/plain`, UTF-8.
    Text,
}

impl Format {
    /// The media type and the body.
    pub(super) fn write(
        self,
        refusal: &Refusal<'_>,
        status: StatusCode,
        text: &str,
    ) -> (HeaderValue, String) {
        match self {
            Format::Problem => (
                HeaderValue::from_static("application/problem+json"),
                problem(refusal, status, text),
            ),
            Format::Json => {
                let mut body = String::from("{\"error\":");
                json(text, &mut body);
                body.push_str(code(refusal));
                body.push('}');
                (HeaderValue::from_static("application/json"), body)
            }
            Format::Text => (HeaderValue::from_static(TEXT), text.to_owned()),
        }
    }
}

fn code(refusal: &Refusal<'_>) -> &'static str {
    if let Refusal::Unasked(_) = refusal { UNASKED_CODE } else { "" }
}

fn problem(refusal: &Refusal<'_>, status: StatusCode, text: &str) -> String {
    let named: usize = refusal.violated().map(|name| name.len() + 3).sum();
    let mut body = match refusal {
        Refusal::Limited(_) => {
            // Exact when nothing has to be escaped, so that the body need not be moved to fit.
            let rest = text.len() + 2 + NAMES.len() + named + 1;
            let mut body = String::with_capacity(LIMITED.len() + 3 + DETAIL.len() + rest);
            body.push_str(LIMITED);
            body.push_str(status.as_str());
            body.push_str(DETAIL);
            body
        }
        Refusal::Unasked(_) => UNASKED.to_owned(),
        // A problem without a type of its own is titled as its status is (RFC 9457, 4.2.1).
        _ => {
            let title = status.canonical_reason().unwrap_or_default();
            format!(
                "{{\"type\":\"about:blank\",\"title\":\"{title}\",\"status\":{},\"detail\":",
                status.as_u16()
            )
        }
    };
    json(text, &mut body);
    body.push_str(code(refusal));
    for (position, name) in refusal.violated().enumerate() {
        body.push_str(if position == 0 { NAMES } else { "," });
        json(name, &mut body);
    }
    body.push_str(if named > 0 { "]}" } else { "}" });
    body
}
