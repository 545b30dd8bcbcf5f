//! The body of a refusal, in the form a service speaks.

use http::HeaderValue;

use super::Refusal;
use crate::escape::json;

const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// The form of the body of a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `application/problem+json` (RFC 9457): type, title, status, detail and, when limits refuse,
    /// `violated-policies` with their names.
    #[default]
    Problem,
    /// `application/json`: `{"error":"…"}`.
    Json,
    /// `text/plain`, UTF-8.
    Text,
}

impl Format {
    /// The media type and the body.
    pub(super) fn write(self, refusal: &Refusal<'_>, text: &str) -> (HeaderValue, String) {
        match self {
            Format::Problem => {
                (HeaderValue::from_static("application/problem+json"), problem(refusal, text))
            }
            Format::Json => {
                let mut body = String::from("{\"error\":");
                json(text, &mut body);
                body.push('}');
                (HeaderValue::from_static("application/json"), body)
            }
            Format::Text => {
                (HeaderValue::from_static("text/plain; charset=utf-8"), text.to_owned())
            }
        }
    }
}

fn problem(refusal: &Refusal<'_>, text: &str) -> String {
    let status = refusal.status();
    let (type_uri, title) = match refusal {
        Refusal::Limited(_) => (QUOTA_EXCEEDED, "Quota Exceeded"),
        // A problem without a type of its own is titled as its status is (RFC 9457, 4.2.1).
        _ => ("about:blank", status.canonical_reason().unwrap_or_default()),
    };
    let mut body = String::with_capacity(256);
    body.push_str("{\"type\":");
    json(type_uri, &mut body);
    body.push_str(",\"title\":");
    json(title, &mut body);
    body.push_str(",\"status\":");
    body.push_str(status.as_str());
    body.push_str(",\"detail\":");
    json(text, &mut body);
    for (position, name) in refusal.violated().enumerate() {
        body.push_str(if position == 0 { ",\"violated-policies\":[" } else { "," });
        json(name, &mut body);
    }
    body.push_str(if refusal.decisive().is_some() { "]}" } else { "}" });
    body
}
