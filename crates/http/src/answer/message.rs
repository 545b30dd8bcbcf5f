//! The sentence a person reads, with the numbers of the refusal filled in.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use tollgate_core::{Answer, Span};

/// A message with places for `{retry_after}`, `{limit}` and `{name}`; `{{` and `}}` are braces.
///
/// `{retry_after}` is the `Retry-After` of the same answer, written for people (`14m30s`), `{limit}`
/// the capacity of the limit that refuses, `{name}` its name.
///
/// ```
/// use tollgate_http::Message;
/// assert!("Try again in {retry_after}.".parse::<Message>().is_ok());
/// assert!("Try again in {retry}.".parse::<Message>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    RetryAfter,
    Limit,
    Name,
}

impl Default for Message {
    fn default() -> Message {
        Message(vec![Part::Text("Too many requests, please try again later.".to_owned())])
    }
}

impl Message {
    pub(super) fn render(&self, answer: &Answer<'_>, retry_after: u64) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::RetryAfter => text.push_str(&Span::from_secs(retry_after).to_string()),
                Part::Limit => text.push_str(&answer.limit().capacity().to_string()),
                Part::Name => text.push_str(answer.limit().name()),
            }
        }
        text
    }
}

impl FromStr for Message {
    type Err = MessageError;

    /// Reads a message.
    ///
    /// # Errors
    /// When a brace is not closed, stands alone, or names nothing that can be filled in.
    fn from_str(text: &str) -> Result<Message, MessageError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = split_at_brace(rest) {
            plain.push_str(before);
            if let Some((brace, after)) = doubled_brace(after) {
                plain.push(brace);
                rest = after;
                continue;
            }
            let inner = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let (name, after) = inner.ok_or(MessageError { place: None })?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(match name {
                "retry_after" => Part::RetryAfter,
                "limit" => Part::Limit,
                "name" => Part::Name,
                other => return Err(MessageError { place: Some(other.to_owned()) }),
            });
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Message(parts))
    }
}

fn split_at_brace(text: &str) -> Option<(&str, &str)> {
    text.find(['{', '}']).map(|at| text.split_at(at))
}

fn doubled_brace(text: &str) -> Option<(char, &str)> {
    let opening = text.strip_prefix("{{").map(|after| ('{', after));
    opening.or_else(|| text.strip_prefix("}}").map(|after| ('}', after)))
}

/// Why a text is not a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageError {
    place: Option<String>,
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(
                f,
                "expected `{{retry_after}}`, `{{limit}}` or `{{name}}`, found `{{{place}}}`"
            ),
            None => f.write_str("expected `{{` or `}}` for a brace that stands alone"),
        }
    }
}

impl Error for MessageError {}
