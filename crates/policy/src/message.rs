//! What a refused client is told.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::config::nearest;

/// A text with the placeholders `{retry_after}`, `{limit}` and `{name}`; other braces are text.
///
/// ```
/// use tollgate_policy::Message;
/// let message: Message = "Too many logins. Try again in {retry_after}.".parse()?;
/// assert_eq!(message.with("40 seconds", 5, "login"), "Too many logins. Try again in 40 seconds.");
/// assert!("again in {retry_afer}".parse::<Message>().is_err());
/// # Ok::<(), tollgate_policy::MessageError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    RetryAfter,
    Limit,
    Name,
}

const PLACEHOLDERS: [(&str, Piece); 3] =
    [("retry_after", Piece::RetryAfter), ("limit", Piece::Limit), ("name", Piece::Name)];

impl Message {
    /// The most bytes a message may have: it is sent with every refusal.
    pub const MOST: usize = 1024;

    /// The text with the time to wait, the capacity and the limit's name in their places.
    #[must_use]
    pub fn with(&self, retry_after: impl fmt::Display, limit: u64, name: &str) -> String {
        self.filled(Filling::Plain, retry_after, limit, name)
    }

    /// The text with its places filled in this way.
    pub(crate) fn filled(
        &self,
        filling: Filling,
        retry_after: impl fmt::Display,
        limit: u64,
        name: &str,
    ) -> String {
        let filled = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::RetryAfter => retry_after.to_string(),
            Piece::Limit => limit.to_string(),
            Piece::Name => match filling {
                Filling::Plain => name.to_owned(),
                Filling::Json => in_json(name),
            },
        });
        filled.collect()
    }
}

/// How a name is written into a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filling {
    /// As it is.
    Plain,
    /// As it stands within the quotes of a JSON string (RFC 8259, 7).
    Json,
}

fn in_json(text: &str) -> String {
    let mut json = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if c.is_control() => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    json.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => json.push(c),
        }
    }
    json
}

impl FromStr for Message {
    type Err = MessageError;

    /// Reads a text with placeholders.
    ///
    /// # Errors
    /// When it is longer than 1,024 bytes, or a word in braces is nearly a placeholder.
    fn from_str(text: &str) -> Result<Message, MessageError> {
        if text.len() > Message::MOST {
            return Err(MessageError(Fault::TooLong));
        }
        let (mut pieces, mut plain) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            plain.push_str(before);
            let (word, behind) = after.split_once('}').unwrap_or((after, ""));
            match PLACEHOLDERS.iter().find(|(known, _)| *known == word) {
                Some((_, piece)) => {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    pieces.push(piece.clone());
                    rest = behind;
                }
                None => {
                    let meant = nearest(word, PLACEHOLDERS.iter().map(|(known, _)| *known));
                    if let Some(meant) = meant {
                        return Err(MessageError(Fault::Nearly(meant)));
                    }
                    plain.push('{');
                    rest = after;
                }
            }
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        Ok(Message(pieces))
    }
}

/// Why a text is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageError(Fault);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    TooLong,
    Nearly(&'static str),
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Fault::TooLong => write!(f, "a message of more than {} bytes", Message::MOST),
            Fault::Nearly(meant) => write!(f, "not a placeholder, but nearly `{{{meant}}}`"),
        }
    }
}

impl Error for MessageError {}
