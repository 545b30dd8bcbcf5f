//! What a limit answers whom it refuses, beside or instead of the usual.

use crate::finding::Complaint;
use crate::key::is_token;
use crate::message::{Filling, Message};

/// The answer of one limit to whoever it refuses, where it differs from the usual.
///
/// ```
/// use tollgate_policy::LimitAnswer;
/// let body = r#"{"error": "{name}", "seconds": {retry_after}, "limit": {limit}}"#.parse()?;
/// let answer = LimitAnswer::default()
///     .with_status(503)
///     .with_content_type("application/problem+json")
///     .with_body(body);
/// assert_eq!((answer.status(), answer.content_type()), (Some(503), Some("application/problem+json")));
/// let filled = answer.body(Some(40), 5, r#"the "login" limit"#);
/// let expected = r#"{"error": "the \"login\" limit", "seconds": 40, "limit": 5}"#;
/// assert_eq!(filled.as_deref(), Some(expected));
/// # Ok::<(), tollgate_policy::MessageError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitAnswer {
    status: Option<u16>,
    content_type: Option<Box<str>>,
    body: Option<Message>,
}

impl LimitAnswer {
    /// The same with this status, from 400 to 599.
    #[must_use]
    pub fn with_status(self, status: u16) -> LimitAnswer {
        LimitAnswer { status: Some(status), ..self }
    }

    /// The same with this type of its body.
    #[must_use]
    pub fn with_content_type(self, content_type: &str) -> LimitAnswer {
        LimitAnswer { content_type: Some(content_type.into()), ..self }
    }

    /// The same with this body.
    #[must_use]
    pub fn with_body(self, body: Message) -> LimitAnswer {
        LimitAnswer { body: Some(body), ..self }
    }

    /// The status instead of the usual one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// The type of the body; `None` for plain text, or the usual body.
    #[must_use]
    pub fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// Whether it has a body instead of the usual one.
    #[must_use]
    pub fn has_body(&self) -> bool {
        self.body.is_some()
    }

    /// The body instead of the usual one: the seconds to wait (`None` for ever), the capacity and the
    /// limit's name in their places, written as JSON has it in a body of that type.
    #[must_use]
    pub fn body(&self, retry_after: Option<u64>, limit: u64, name: &str) -> Option<String> {
        let body = self.body.as_ref()?;
        let filling = if self.is_json() { Filling::Json } else { Filling::Plain };
        Some(match retry_after {
            Some(seconds) => body.filled(filling, seconds, limit, name),
            None if filling == Filling::Json => body.filled(filling, "null", limit, name),
            None => body.filled(filling, "never", limit, name),
        })
    }

    /// Whether its body is JSON: `application/json`, or a type that ends in `+json` (RFC 6839).
    fn is_json(&self) -> bool {
        let whole = self.content_type.as_deref().unwrap_or_default();
        let essence = whole.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        essence == "application/json" || essence.ends_with("+json")
    }

    /// Whether its parts fit together.
    pub(crate) fn check(&self) -> Result<(), Complaint> {
        let Some(content_type) = &self.content_type else { return Ok(()) };
        let expected = "a type such as `application/json` or `text/html; charset=utf-8`";
        if self.body.is_none() {
            let message = "`content_type` says what `body` is, and there is none";
            return Err(Complaint::new(message, "`body` beside it"));
        }
        let essence = content_type.split(';').next().unwrap_or_default().trim_end();
        let is_type = essence.split_once('/').is_some_and(|(kind, of)| {
            let token = |text: &str| !text.is_empty() && text.bytes().all(is_token);
            token(kind) && token(of)
        });
        let is_plain = content_type.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if is_type && is_plain {
            return Ok(());
        }
        Err(Complaint::new("this is not the type of a body", expected))
    }
}
